/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel leaves to an adapter, done in software: checksums, and cutting a row of segments into frames.
 *
 * A frame that a kernel hands to a packet socket may be no frame of a line: its TCP or UDP checksum is not there yet,
 * or it is up to 64 KB that the adapter was to cut.  Who puts it on a line that knows frames alone calls these first.
 * Anything may be in a frame: what does not fit is refused, and nothing outside of it is read.
 */
#ifndef ROCELAB_PACKET_OFFLOAD_H
#define ROCELAB_PACKET_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* The checksum of all from `start` on goes to `start + offset`, where that of the pseudo header stands (as
 * CHECKSUM_PARTIAL and virtio's NEEDS_CSUM have it).  False: it is not in the frame. */
bool offload_checksum(uint8_t *frame, uint32_t bytes, uint32_t start, uint32_t offset);

/* A tag that was handed over beside a frame goes back into it.  The frame begins 4 bytes behind `room`, and at `room`
 * afterwards. */
void offload_tag(uint8_t *room, uint16_t tpid, uint16_t tci);

/* A row of TCP or UDP segments over IPv4, `segment` bytes of payload in each but the last. */
struct offload_row {
    const uint8_t *frame;
    uint32_t ip_at, transport_at, payload_at;
    uint32_t end; /* of the payload */
    uint32_t segment;
    uint32_t count; /* of segments */
    bool tcp;
};
/* False: it is no such frame.  Padding behind the IP packet is not part of the row. */
bool offload_row(const uint8_t *frame, uint32_t bytes, uint32_t segment, struct offload_row *ret);
/* Writes segment `index` as a frame of its own, with lengths, IP identification, TCP sequence and flags, and both
 * checksums; answers its length, or 0: it is longer than `cap`. */
uint32_t offload_segment(const struct offload_row *row, uint32_t index, uint8_t *out, uint32_t cap);

#endif
