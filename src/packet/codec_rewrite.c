/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Into a frame that passes: what a switch has changed in its descriptor.
 *
 * A switch keeps the bytes it was given; a few of them change on the way (RFC 1812, section 5.3: TTL and checksum;
 * RFC 3168: ECN; IEEE 802.1Q: priority; MAC addresses of a routed frame).  All of them are outside of the ICRC, or
 * counted as ones in it (icrc.c), so a frame that was right stays right and one that was damaged stays damaged.
 *
 * The IPv4 checksum is changed by the difference (RFC 1624, equation 3), never computed anew, for the same reason.
 * 0 is what a frame shows that left its checksum to an adapter; it stays 0 unless the header adds up with it.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/codec.h"
#include "packet/protocol.h"

static uint32_t fold(uint32_t sum)
{
    sum = (sum >> 16) + (sum & 0xffff);
    return (sum >> 16) + (sum & 0xffff);
}

static bool adds_up(const uint8_t *ip)
{
    uint32_t sum = 0;
    for (uint32_t at = 0; at < (ip[0] & 15u) * 4; at += 2)
        sum += load_be16(ip + at);
    return fold(sum) == 0xffff;
}

static void rewrite_ipv4(uint8_t *ip, const struct pkt *pkt)
{
    uint16_t tos_word = load_be16(ip), ttl_word = load_be16(ip + 8), checksum = load_be16(ip + 10);
    bool left_out = checksum == 0 && !adds_up(ip);
    ip[1] = pkt->tos;
    ip[8] = pkt->ttl;
    if (left_out) return;
    uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~tos_word + load_be16(ip) + (uint32_t)(uint16_t)~ttl_word +
                   load_be16(ip + 8);
    store_be16(ip + 10, (uint16_t)~fold(sum));
    if (load_be16(ip + 10) == 0 && !adds_up(ip)) store_be16(ip + 10, 0xffff); /* as wrong, but not left out */
}

static void rewrite_ipv6(uint8_t *ip, const struct pkt *pkt)
{
    store_be32(ip, (load_be32(ip) & ~(0xffu << 20)) | (uint32_t)pkt->tos << 20);
    ip[7] = pkt->ttl;
}

void codec_rewrite(uint8_t *frame, const struct codec_layout *layout, const struct pkt *pkt)
{
    CHECK(!(pkt->flags & PKT_TUNNEL));
    if (layout->tag_at) {
        uint8_t *tag = frame + layout->tag_at;
        store_be16(tag, (uint16_t)((load_be16(tag) & 0x1fff) | pkt->pcp << 13));
    }
    if (layout->l3_at == 0) return;
    if (pkt->net == PKT_NET_IPV4)
        rewrite_ipv4(frame + layout->l3_at, pkt);
    else if (pkt->net != PKT_NET_NONE)
        rewrite_ipv6(frame + layout->l3_at, pkt);
}

void codec_rewrite_macs(uint8_t *frame, const uint8_t dmac[6], const uint8_t smac[6])
{
    memcpy(frame, dmac, 6);
    memcpy(frame + 6, smac, 6);
}

bool codec_stays_on_link(const uint8_t dmac[6])
{
    static const uint8_t reserved[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};
    return memcmp(dmac, reserved, sizeof reserved) == 0 && dmac[5] < 16;
}
