/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariant CRC (InfiniBand 1.x vol. 1, 7.8.1; annexes A16 RoCE, A17 RoCEv2).
 *
 * CRC-32 (IEEE) over eight 0xff bytes (a masked LRH), then the network header, UDP, BTH and all
 * that follows up to the ICRC, with what routers may change taken as ones: IPv4 TOS, TTL,
 * checksum; IPv6 and GRH traffic class, flow label, hop limit; UDP checksum; BTH resv8a (where
 * FECN and BECN are).  Stored little-endian.
 */
#ifndef ROCELAB_PACKET_ICRC_H
#define ROCELAB_PACKET_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "packet/codec.h"

/* CRC-32 (IEEE, reflected), continued: crc32_ieee(0, data) is the CRC of data alone. */
uint32_t crc32_ieee(uint32_t crc, const uint8_t *data, size_t length);
/* The same from a table: what crc32_ieee() is where ISA-L is absent. */
uint32_t crc32_table(uint32_t crc, const uint8_t *data, size_t length);

/* Over the frame's covered bytes, as stored in the frame when read little-endian.  The layout is
 * that of a parsed, uncut RoCE packet. */
uint32_t icrc_compute(const uint8_t *frame, const struct codec_layout *layout);

enum icrc_verdict { ICRC_GOOD, ICRC_BAD, ICRC_UNKNOWN /* cut, or not RoCE */ };
enum icrc_verdict icrc_check(const struct codec_frame *frame, const struct pkt *pkt, const struct pkt_cold *cold,
                             const struct codec_layout *layout);

#endif
