/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 40 bytes in front of every UD payload (volume 1, 11.4.1.2; annex A17.4.5.2): the GRH of a v1 packet, the
 * IPv6 header, or 20 bytes that mean nothing and the IPv4 header.
 *
 * The wire shows addresses and a few fields, not the header, so it is written anew.  Programs read from it
 * who sent the datagram (ibv_init_ah_from_wc), which is all that is promised.
 */
#include <string.h>

#include "base/bytes.h"
#include "live/live_int.h"

#define UDP_BYTES 8u
#define PROTO_UDP 17u
#define NEXT_BTH 0x1bu

void grh_fill(uint8_t grh[40], const struct wire_packet *packet)
{
    if (packet->net != PKT_NET_IPV4) {
        bool v1 = packet->net == PKT_NET_V1;
        store_be32(grh, 6u << 28 | (uint32_t)packet->tos << 20 | (packet->flow_label & 0xfffff));
        store_be16(grh + 4, (uint16_t)(packet->bytes + (v1 ? 0 : UDP_BYTES)));
        grh[6] = v1 ? NEXT_BTH : PROTO_UDP;
        grh[7] = packet->ttl;
        memcpy(grh + 8, packet->src.byte, 16);
        memcpy(grh + 24, packet->dst.byte, 16);
        return;
    }
    uint8_t *ip = grh + 20;
    uint32_t sum = 0;
    memset(grh, 0, 40);
    ip[0] = 0x45;
    ip[1] = packet->tos;
    store_be16(ip + 2, (uint16_t)(20 + UDP_BYTES + packet->bytes));
    store_be16(ip + 4, packet->ip_id);
    store_be16(ip + 6, 0x4000);
    ip[8] = packet->ttl;
    ip[9] = PROTO_UDP;
    memcpy(ip + 12, packet->src.byte + 12, 4);
    memcpy(ip + 16, packet->dst.byte + 12, 4);
    for (int i = 0; i < 20; i += 2)
        sum += load_be16(ip + i);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    store_be16(ip + 10, (uint16_t)~sum);
}
