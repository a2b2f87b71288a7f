/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-band telemetry as bytes: 42 of them between UDP and BTH, for HPCC.  docs/internals/packet.md says what follows
 * the authors' simulator and what is ours.
 *
 *     bits   4  number of hops, 0..5
 *            1  echo: on its way back in an answer; switches leave it alone
 *           11  0
 *     then five hops, unused ones 0:
 *            4  rate of the port: its place in rate_told[]
 *           24  when the packet left: ns, modulo 2^24
 *           20  bytes that the port has sent: units of 128, modulo 2^20
 *           16  bytes behind the packet in its queue: units of 80, at most 65535 of them
 *
 * The sender makes the room, so no length and no header behind it moves on the way.  A UDP checksum, where there is
 * one, is changed by the difference (RFC 1624).
 */
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/codec.h"
#include "packet/protocol.h"
#include "packet/telemetry.h"

#define ECHO_BIT 0x0800u
#define HOPS_SHIFT 12
#define HOP_BYTES 8u
_Static_assert(2 + CODEC_TELEMETRY_HOPS * HOP_BYTES == CODEC_TELEMETRY_BYTES, "a word and five hops");
_Static_assert(CODEC_TELEMETRY_HOPS <= PKT_INT_HOPS, "a record holds what a frame can tell");

/* Rising; a rate between two is told as the lower one. */
static const uint64_t rate_told[16] = {
    0,
    UINT64_C(1000000000),
    UINT64_C(2500000000),
    UINT64_C(5000000000),
    UINT64_C(10000000000),
    UINT64_C(20000000000),
    UINT64_C(25000000000),
    UINT64_C(40000000000),
    UINT64_C(50000000000),
    UINT64_C(56000000000),
    UINT64_C(100000000000),
    UINT64_C(200000000000),
    UINT64_C(400000000000),
    UINT64_C(800000000000),
    UINT64_C(1600000000000),
    UINT64_C(3200000000000),
};

static uint64_t hop_pack(const struct pkt_hop *hop)
{
    uint64_t rate = 0, queue = hop->queue_bytes / TELEMETRY_QUEUE_UNIT;
    while (rate < 15 && rate_told[rate + 1] <= hop->rate_bps)
        rate++;
    if (queue > 0xffff) queue = 0xffff;
    return rate << 60 | (hop->at % TELEMETRY_TIME_WRAP / PS_NS) << 36 |
           (hop->tx_bytes % TELEMETRY_TX_WRAP / TELEMETRY_TX_UNIT) << 16 | queue;
}

static struct pkt_hop hop_unpack(uint64_t packed)
{
    return (struct pkt_hop){.at = (packed >> 36 & 0xffffff) * PS_NS,
                            .tx_bytes = (packed >> 16 & 0xfffff) * TELEMETRY_TX_UNIT,
                            .rate_bps = rate_told[packed >> 60],
                            .queue_bytes = (uint32_t)(packed & 0xffff) * TELEMETRY_QUEUE_UNIT};
}

static void record_pack(const struct pkt_int *record, uint8_t to[CODEC_TELEMETRY_BYTES])
{
    unsigned hops = record->hops < CODEC_TELEMETRY_HOPS ? record->hops : CODEC_TELEMETRY_HOPS;
    memset(to, 0, CODEC_TELEMETRY_BYTES);
    store_be16(to, (uint16_t)(hops << HOPS_SHIFT | (record->echo ? ECHO_BIT : 0)));
    for (unsigned i = 0; i < hops; i++)
        store_be64(to + 2 + i * HOP_BYTES, hop_pack(&record->hop[i]));
}

static void record_unpack(const uint8_t *from, struct pkt_int *ret)
{
    unsigned head = load_be16(from);
    memset(ret, 0, sizeof *ret);
    ret->hops = (uint8_t)(head >> HOPS_SHIFT);
    ret->echo = head & ECHO_BIT;
    CHECK(ret->hops <= CODEC_TELEMETRY_HOPS); /* the parser has looked */
    for (unsigned i = 0; i < ret->hops; i++)
        ret->hop[i] = hop_unpack(load_be64(from + 2 + i * HOP_BYTES));
}

static void checksum_replace(uint8_t *checksum, const uint8_t *old, const uint8_t *new, uint32_t bytes)
{
    uint32_t sum = (uint16_t)~load_be16(checksum);
    for (uint32_t at = 0; at < bytes; at += 2)
        sum += (uint32_t)(uint16_t)~load_be16(old + at) + load_be16(new + at);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    uint16_t value = (uint16_t)~sum;
    store_be16(checksum, value ? value : 0xffff); /* 0 would say that there is none (RFC 768) */
}

void codec_telemetry_read(const uint8_t *frame, const struct codec_layout *layout, struct pkt_int *ret)
{
    CHECK(codec_has_telemetry(layout));
    record_unpack(frame + layout->bth_at - CODEC_TELEMETRY_BYTES, ret);
}

void codec_telemetry_write(uint8_t *frame, const struct codec_layout *layout, const struct pkt_int *record)
{
    uint8_t packed[CODEC_TELEMETRY_BYTES];
    CHECK(codec_has_telemetry(layout));
    uint8_t *at = frame + layout->bth_at - CODEC_TELEMETRY_BYTES;
    record_pack(record, packed);
    if (load_be16(frame + layout->udp_at + 6))
        checksum_replace(frame + layout->udp_at + 6, at, packed, CODEC_TELEMETRY_BYTES);
    memcpy(at, packed, CODEC_TELEMETRY_BYTES);
}

struct pkt_int codec_telemetry_rounded(const struct pkt_int *record)
{
    uint8_t packed[CODEC_TELEMETRY_BYTES];
    struct pkt_int rounded;
    record_pack(record, packed);
    record_unpack(packed, &rounded);
    return rounded;
}
