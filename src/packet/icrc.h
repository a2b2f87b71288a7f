/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariant CRC (InfiniBand 1.x vol. 1, 7.8.1; annexes A16 RoCE, A17 RoCEv2).
 *
 * CRC-32 (IEEE) over eight 0xff bytes (a masked LRH), then the network header, UDP, BTH and all
 * that follows up to the ICRC, with what routers may change taken as ones: IPv4 TOS, TTL,
 * checksum; IPv6 and GRH traffic class, flow label, hop limit; UDP checksum; BTH resv8a (where
 * FECN and BECN are).  In-band telemetry, which switches write between UDP and BTH, is left out.  Stored little-endian.
 */
#ifndef ROCELAB_PACKET_ICRC_H
#define ROCELAB_PACKET_ICRC_H

#include <stdbool.h>
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

/* The ICRC of BTH .. ICRC, `bytes` in all, for those who never see the headers before it as bytes: sockets.  Its own
 * last four bytes are not read.  bytes >= 16.  No IP options, no extension headers.
 * `ip_frag`, of IPv4: PROTO_IPV4_DF for whoever sets "don't fragment", as RoCE adapters and our sockets do. */
uint32_t icrc_detached(const struct pkt_envelope *envelope, uint16_t ip_frag, const uint8_t *bth, uint32_t bytes);

/* A UDP receiver does not see the IPv4 identification, which the ICRC covers.  Of the 2^16 at most one fits a given
 * ICRC: true when there is one (then in *ret_id, which may be NULL).  envelope->ip_id is not looked at.  A damaged
 * packet passes once in 2^16.
 * IPv6 and v1 have no identification: then this is a plain check of `icrc`. */
bool icrc_fits_some_id(const struct pkt_envelope *envelope, uint16_t ip_frag, const uint8_t *bth, uint32_t bytes,
                       uint32_t icrc, uint16_t *ret_id);

#endif
