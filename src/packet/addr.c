/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses as people write them.  IPv4 travels as its mapped IPv6 address (RFC 4291, 2.5.5.2), which
 * is also its GID (annex A17), so one comparison serves both families.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/codec.h"

struct pkt_addr pkt_addr_ipv4(uint32_t host_order)
{
    struct pkt_addr addr = {.byte = {[10] = 0xff, [11] = 0xff}};
    store_be32(addr.byte + 12, host_order);
    return addr;
}

const char *pkt_addr_format(const struct pkt_addr *addr, char buf[PKT_ADDR_TEXT])
{
    const char *text;
    if (pkt_addr_is_ipv4(addr))
        text = inet_ntop(AF_INET, addr->byte + 12, buf, PKT_ADDR_TEXT);
    else
        text = inet_ntop(AF_INET6, addr->byte, buf, PKT_ADDR_TEXT);
    CHECK(text != NULL);
    return text;
}

unsigned pkt_addr_families(const struct pkt_addr *addr)
{
    if (addr == NULL) return PKT_FAMILY_IPV4 | PKT_FAMILY_IPV6;
    return pkt_addr_is_ipv4(addr) ? PKT_FAMILY_IPV4 : PKT_FAMILY_IPV6;
}

bool pkt_addr_unspecified(const struct pkt_addr *addr)
{
    static const uint8_t zero[16];

    if (addr == NULL) return true;
    return pkt_addr_is_ipv4(addr) ? memcmp(&addr->byte[12], zero, 4) == 0 : memcmp(addr->byte, zero, 16) == 0;
}
