/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARP over Ethernet for IPv4 (RFC 826): who has an address, for whoever answers for others or looks for a neighbour.
 */
#ifndef ROCELAB_PACKET_ARP_H
#define ROCELAB_PACKET_ARP_H

#include <stdbool.h>
#include <stdint.h>

#define ARP_FRAME_BYTES 60u /* padded, as on a line */

struct arp {
    bool reply; /* else a request */
    uint8_t sender_mac[6], target_mac[6];
    uint8_t sender[4], target[4]; /* IPv4; sender 0.0.0.0: a probe (RFC 5227), which changes no neighbour's table */
};

/* False: it is no such frame.  Frames with a tag are none. */
bool arp_parse(const uint8_t *frame, uint32_t bytes, struct arp *ret);
/* A request goes to all, a reply to its target. */
void arp_emit(const struct arp *arp, uint8_t frame[ARP_FRAME_BYTES]);

#endif
