/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariant CRC of RoCEv2 over IPv4 and IPv6 and of RoCEv1 (InfiniBand 1.x vol. 1, 7.8.1;
 * annexes A16.5.1 and A17.3.3).
 *
 * The headers up to the BTH are copied to the stack, masked on the way, then it takes at most two
 * calls: one over the copy, one over what follows in place.  Short packets (an ACK has four bytes
 * behind its BTH) are copied whole, since a call costs more than the copy.  The eight 0xff that
 * stand for the LRH are always the same, so the CRC starts from their result.
 */
#include "packet/icrc.h"

#include <string.h>

#include "base/check.h"
#include "packet/protocol.h"

#define CRC_OF_EIGHT_FF 0x2144df1cu
#define COPIED_HEADERS_MAX (60u + PROTO_UDP_BYTES + PROTO_BTH_BYTES) /* IPv4 with all its options */
#define COPIED_REST_MAX 64u

#define IPV4_HEADERS (PROTO_IPV4_BYTES + PROTO_UDP_BYTES + PROTO_BTH_BYTES)
#define IPV6_HEADERS (PROTO_IPV6_BYTES + PROTO_UDP_BYTES + PROTO_BTH_BYTES)
#define V1_HEADERS (PROTO_IPV6_BYTES + PROTO_BTH_BYTES)

/* What routers may change, as ones.  IPv4: TOS, TTL, checksum; IPv6 and GRH: traffic class, flow label, hop
 * limit; UDP: checksum; BTH: resv8a. */
static const uint8_t mask_ipv4[IPV4_HEADERS] = {
    [1] = 0xff, [8] = 0xff, [10] = 0xff, [11] = 0xff, [26] = 0xff, [27] = 0xff, [32] = 0xff,
};
static const uint8_t mask_ipv6[IPV6_HEADERS] = {
    [0] = 0x0f, [1] = 0xff, [2] = 0xff, [3] = 0xff, [7] = 0xff, [46] = 0xff, [47] = 0xff, [52] = 0xff,
};
static const uint8_t mask_v1[V1_HEADERS] = {
    [0] = 0x0f, [1] = 0xff, [2] = 0xff, [3] = 0xff, [7] = 0xff, [44] = 0xff,
};

/* `bytes` is a constant at every call, a multiple of 4: wide moves, which the CRC's wide loads can
 * be fed from at once (byte stores would have to reach the cache first). */
static inline void copy_masked(uint8_t *to, const uint8_t *from, const uint8_t *mask, uint32_t bytes)
{
    typedef uint64_t wide __attribute__((vector_size(16)));
    uint32_t at = 0;
    for (; at + 16 <= bytes; at += 16) {
        wide value, ones;
        memcpy(&value, from + at, 16);
        memcpy(&ones, mask + at, 16);
        value |= ones;
        memcpy(to + at, &value, 16);
    }
    for (; at < bytes; at += 4) {
        uint32_t value, ones;
        memcpy(&value, from + at, 4);
        memcpy(&ones, mask + at, 4);
        value |= ones;
        memcpy(to + at, &value, 4);
    }
}

/* Options lie between what the mask knows: the fixed header before them, UDP and BTH behind. */
static void copy_with_options(uint8_t *to, const uint8_t *from, uint32_t headers)
{
    memcpy(to, from, headers);
    for (uint32_t i = 0; i < PROTO_IPV4_BYTES; i++)
        to[i] |= mask_ipv4[i];
    for (uint32_t i = PROTO_IPV4_BYTES; i < IPV4_HEADERS; i++)
        to[headers - IPV4_HEADERS + i] |= mask_ipv4[i];
}

static inline void copy_rest(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (bytes == 4) /* an ACK: no call for four bytes */
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

uint32_t icrc_compute(const uint8_t *frame, const struct codec_layout *layout)
{
    uint8_t copy[COPIED_HEADERS_MAX + COPIED_REST_MAX];
    const uint8_t *l3 = frame + layout->l3_at;
    uint32_t rest_at = layout->bth_at + PROTO_BTH_BYTES;
    uint32_t headers = rest_at - layout->l3_at;
    uint32_t rest = layout->icrc_at - rest_at;
    uint8_t joined[COPIED_HEADERS_MAX];
    if (__builtin_expect(codec_has_telemetry(layout), 0)) { /* telemetry changes on the way: what is around it counts */
        headers -= CODEC_TELEMETRY_BYTES;
        CHECK(headers <= COPIED_HEADERS_MAX);
        memcpy(joined, l3, headers - PROTO_BTH_BYTES);
        memcpy(joined + headers - PROTO_BTH_BYTES, frame + layout->bth_at, PROTO_BTH_BYTES);
        l3 = joined;
    }
    CHECK(layout->bth_at && layout->icrc_at >= rest_at && headers <= COPIED_HEADERS_MAX);
    CHECK(headers >= IPV4_HEADERS && (layout->udp_at || headers == V1_HEADERS));

    if (!layout->udp_at)
        copy_masked(copy, l3, mask_v1, V1_HEADERS);
    else if (l3[0] >> 4 == 6 && headers == IPV6_HEADERS)
        copy_masked(copy, l3, mask_ipv6, IPV6_HEADERS);
    else if (headers == IPV4_HEADERS)
        copy_masked(copy, l3, mask_ipv4, IPV4_HEADERS);
    else
        copy_with_options(copy, l3, headers);

    if (rest <= COPIED_REST_MAX) {
        copy_rest(copy + headers, frame + rest_at, rest);
        return crc32_ieee(CRC_OF_EIGHT_FF, copy, headers + rest);
    }
    uint32_t crc = crc32_ieee(CRC_OF_EIGHT_FF, copy, headers);
    return crc32_ieee(crc, frame + rest_at, rest);
}

enum icrc_verdict icrc_check(const struct codec_frame *frame, const struct pkt *pkt, const struct pkt_cold *cold,
                             const struct codec_layout *layout)
{
    if (pkt->kind != PKT_ROCE || !layout->icrc_at) return ICRC_UNKNOWN;
    return icrc_compute(frame->data, layout) == cold->icrc ? ICRC_GOOD : ICRC_BAD;
}
