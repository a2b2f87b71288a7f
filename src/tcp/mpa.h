/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPA (RFC 5044), DDP (RFC 5041) and RDMAP (RFC 5040) as sizes: what an iWARP adapter adds to a segment's payload.
 *
 * FPDUs are aligned: each segment is one.  Sequence numbers here count payload alone; frames are as long as they are on
 * the wire.
 */
#ifndef ROCELAB_TCP_MPA_H
#define ROCELAB_TCP_MPA_H

#include <stdbool.h>
#include <stdint.h>

#define MPA_LENGTH_BYTES 2u    /* before the header */
#define MPA_TAGGED_BYTES 14u   /* DDP and RDMAP header of an RDMA WRITE: control 2, STag 4, offset 8 */
#define MPA_UNTAGGED_BYTES 18u /* of a SEND: control 2, reserved or STag 4, queue 4, number 4, offset 4 */
#define MPA_CRC_BYTES 4u
#define MPA_MARKER_BYTES 4u
#define MPA_MARKER_EVERY 512u /* of stream */

struct mpa_config {
    bool on, markers, untagged;
};

/* The payload of a full segment of `mss` bytes; 0: none fits. */
uint32_t mpa_payload(const struct mpa_config *config, uint32_t mss);
/* What a FPDU with so much payload takes of the stream. */
uint32_t mpa_bytes(const struct mpa_config *config, uint32_t payload);

#endif
