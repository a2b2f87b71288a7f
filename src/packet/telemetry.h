/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-band telemetry: what the switches of a path write into a packet, for HPCC.
 *
 * A parallel array of the pool, there only when a fabric's congestion control asks for it.  Each
 * switch adds a hop when the packet leaves it; the receiving adapter copies the record into the ACK and sets `echo`,
 * so that switches on the way back leave it alone.  A frame packs a hop into 64 bits with coarse units
 * (codec_telemetry.c); here the numbers are whole.
 */
#ifndef ROCELAB_PACKET_TELEMETRY_H
#define ROCELAB_PACKET_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define PKT_INT_HOPS 6

/* What a frame tells of a hop: times in ns and bytes in units, both counted round and round; see telemetry_after(). */
#define TELEMETRY_TIME_WRAP (PS_NS << 24)
#define TELEMETRY_TX_UNIT 128u
#define TELEMETRY_TX_WRAP (UINT64_C(128) << 20)
#define TELEMETRY_QUEUE_UNIT 80u

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

/* The least number not below `known` that is `low` modulo `wrap`: a count that a frame told, when it was at least
 * `known` and has not gone round since. */
static inline uint64_t telemetry_after(uint64_t known, uint64_t low, uint64_t wrap)
{
    uint64_t ahead = (low % wrap + wrap - known % wrap) % wrap;
    return known + ahead;
}

/* A time that a frame told, seen at `now`: the last one that was not later. */
static inline ps_t telemetry_before(ps_t now, ps_t low)
{
    uint64_t behind =
        (now % TELEMETRY_TIME_WRAP + TELEMETRY_TIME_WRAP - low % TELEMETRY_TIME_WRAP) % TELEMETRY_TIME_WRAP;
    return now >= behind ? now - behind : low;
}

#endif
