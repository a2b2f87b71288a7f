/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-band telemetry: what the switches of a path write into a packet (HPCC, SIGCOMM 2019, figure 7).
 *
 * A parallel array of the pool, there only when a fabric's congestion control asks for it.  Each
 * switch adds a hop when the packet leaves it; the receiving adapter copies the record into the ACK and sets `echo`,
 * so that switches on the way back leave it alone.  The paper packs a hop into 64 bits with
 * coarse units; here the numbers are whole, and what the bytes cost on the line is the adapter's
 * header size.
 */
#ifndef ROCELAB_PACKET_TELEMETRY_H
#define ROCELAB_PACKET_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define PKT_INT_HOPS 6

struct pkt_hop {
    ps_t at;           /* when the packet left */
    uint64_t tx_bytes; /* sent by the port so far */
    uint64_t rate_bps;
    uint32_t queue_bytes; /* behind the packet, in its queue */
};

struct pkt_int {
    uint8_t hops; /* written so far; hops past the last are not recorded */
    bool echo;    /* on its way back: not to be written to */
    struct pkt_hop hop[PKT_INT_HOPS];
};

static inline void pkt_int_add(struct pkt_int *record, ps_t at, uint64_t tx_bytes, uint64_t rate_bps,
                               uint32_t queue_bytes)
{
    if (record->echo || record->hops >= PKT_INT_HOPS) return;
    record->hop[record->hops++] =
        (struct pkt_hop){.at = at, .tx_bytes = tx_bytes, .rate_bps = rate_bps, .queue_bytes = queue_bytes};
}

#endif
