/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ICRC of a packet whose network header nobody has as bytes.
 *
 * A socket is told addresses, ports and lengths; the header that the kernel will write (or has taken off) follows
 * from them, so it is built here, masked as in icrc.c, and the CRC goes over it and the packet.
 *
 * One field does not follow on the receiving side: the IPv4 identification.  A CRC is linear, so the ICRC found
 * and the one computed for identification 0 differ by what the identification alone contributes: its two bytes, moved
 * on by every byte that follows.  Moving the difference back by as many bytes (a multiplication by x^-8n modulo
 * the CRC's polynomial) must leave a number of 16 bits, which is the identification; damage leaves any of 2^32.
 * The powers for every length are made at the first call, 18 KB.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/icrc.h"
#include "packet/protocol.h"

#define CRC_OF_EIGHT_FF 0x2144df1cu
#define POLYNOMIAL 0xedb88320u /* reflected: bit 31 is x^0 */
#define HEADERS_MAX (PROTO_IPV6_BYTES + PROTO_UDP_BYTES + PROTO_BTH_BYTES)
#define COPIED_REST_MAX 64u

/* From the identification to the ICRC: the rest of the IPv4 header, UDP, and the packet. */
#define ID_AT 4u
#define SHIFT_MAX (PROTO_IPV4_BYTES - ID_AT + PROTO_UDP_BYTES + PROTO_BTH_BYTES + 32u + PROTO_UNKNOWN_PAYLOAD_MAX + 4u)

static uint32_t shift_back[SHIFT_MAX]; /* x^-8n; written under shift_once, read-only after */
static pthread_once_t shift_once = PTHREAD_ONCE_INIT;

static void shift_fill(void)
{
    uint32_t power = 1u << 31;
    for (uint32_t n = 0; n < SHIFT_MAX; n++) {
        shift_back[n] = power;
        for (int bit = 0; bit < 8; bit++) {
            uint32_t out = power >> 31; /* what a step forward would have shifted out */
            power = (power ^ (out ? POLYNOMIAL : 0)) << 1 | out;
        }
    }
}

/* a * b modulo the polynomial. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (int bit = 0; bit < 32; bit++) {
        product ^= b & (0u - (a >> 31));
        a <<= 1;
        b = b >> 1 ^ (POLYNOMIAL & (0u - (b & 1)));
    }
    return product;
}

/* IP or GRH and UDP, what routers may change as ones; `bytes` as for icrc_detached(). */
static uint32_t put_headers(uint8_t *at, const struct pkt_envelope *envelope, uint16_t ip_frag, uint32_t bytes)
{
    uint32_t udp_bytes = envelope->net == PKT_NET_V1 ? bytes : bytes + PROTO_UDP_BYTES;
    uint8_t *udp;
    if (envelope->net == PKT_NET_IPV4) {
        at[0] = 0x45;
        at[1] = 0xff;
        store_be16(at + 2, (uint16_t)(PROTO_IPV4_BYTES + udp_bytes));
        store_be16(at + 4, envelope->ip_id);
        store_be16(at + 6, ip_frag);
        at[8] = 0xff;
        at[9] = PROTO_IP_UDP;
        store_be16(at + 10, 0xffff);
        memcpy(at + 12, envelope->src.byte + 12, 4);
        memcpy(at + 16, envelope->dst.byte + 12, 4);
        udp = at + PROTO_IPV4_BYTES;
    } else {
        store_be32(at, 0x6fffffff);
        store_be16(at + 4, (uint16_t)udp_bytes);
        at[6] = envelope->net == PKT_NET_V1 ? PROTO_GRH_NEXT_BTH : PROTO_IP_UDP;
        at[7] = 0xff;
        memcpy(at + 8, envelope->src.byte, 16);
        memcpy(at + 24, envelope->dst.byte, 16);
        udp = at + PROTO_IPV6_BYTES;
        if (envelope->net == PKT_NET_V1) return PROTO_IPV6_BYTES;
    }
    store_be16(udp, envelope->sport);
    store_be16(udp + 2, PROTO_PORT_ROCE);
    store_be16(udp + 4, (uint16_t)udp_bytes);
    store_be16(udp + 6, 0xffff);
    return (uint32_t)(udp - at) + PROTO_UDP_BYTES;
}

uint32_t icrc_detached(const struct pkt_envelope *envelope, uint16_t ip_frag, const uint8_t *bth, uint32_t bytes)
{
    uint8_t copy[HEADERS_MAX + COPIED_REST_MAX];
    CHECK(bytes >= PROTO_BTH_BYTES + PROTO_ICRC_BYTES && bytes <= UINT16_MAX - HEADERS_MAX);
    CHECK(envelope->net != PKT_NET_NONE);

    uint32_t headers = put_headers(copy, envelope, ip_frag, bytes);
    memcpy(copy + headers, bth, PROTO_BTH_BYTES);
    copy[headers + 4] = 0xff; /* resv8a */
    headers += PROTO_BTH_BYTES;

    const uint8_t *rest = bth + PROTO_BTH_BYTES;
    uint32_t rest_bytes = bytes - PROTO_BTH_BYTES - PROTO_ICRC_BYTES;
    if (rest_bytes <= COPIED_REST_MAX) { /* a call costs more than the copy */
        memcpy(copy + headers, rest, rest_bytes);
        return crc32_ieee(CRC_OF_EIGHT_FF, copy, headers + rest_bytes);
    }
    return crc32_ieee(crc32_ieee(CRC_OF_EIGHT_FF, copy, headers), rest, rest_bytes);
}

bool icrc_fits_some_id(const struct pkt_envelope *envelope, uint16_t ip_frag, const uint8_t *bth, uint32_t bytes,
                       uint32_t icrc, uint16_t *ret_id)
{
    struct pkt_envelope zero = *envelope;
    zero.ip_id = 0;
    uint32_t difference = icrc ^ icrc_detached(&zero, ip_frag, bth, bytes);
    uint32_t id = 0;
    if (difference != 0) {
        uint32_t shift = PROTO_IPV4_BYTES - ID_AT + PROTO_UDP_BYTES + bytes - PROTO_ICRC_BYTES;
        if (envelope->net != PKT_NET_IPV4 || shift >= SHIFT_MAX) return false;
        pthread_once(&shift_once, shift_fill);
        uint32_t back = multiply(difference, shift_back[shift]);
        if (back > UINT16_MAX) return false;
        id = (back & 0xff) << 8 | back >> 8; /* the register takes the first byte at its low end */
    }
    if (ret_id) *ret_id = (uint16_t)id;
    return true;
}
