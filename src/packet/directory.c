/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of addresses: open addressing, at most half full, in memory of the caller's; see directory.h.
 *
 * Nothing is ever taken out, so a free slot ends a search.  A MAC address is kept as 16 bytes beside a mark that it is
 * one, so that it cannot be taken for an IP address.
 */
#include "packet/directory.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"

enum address_kind { ADDRESS_NONE, ADDRESS_IP, ADDRESS_MAC };

struct directory_entry {
    struct pkt_addr addr;
    uint32_t endpoint;
    uint32_t kind; /* enum address_kind */
};

static uint32_t slots_for(uint32_t addresses)
{
    uint32_t slots = 16;
    CHECK(addresses <= UINT32_C(1) << 28);
    while (slots < 2 * addresses)
        slots *= 2;
    return slots;
}

size_t directory_bytes(uint32_t addresses)
{
    return slots_for(addresses) * sizeof(struct directory_entry);
}

void directory_init(struct directory *directory, void *memory, uint32_t addresses)
{
    uint32_t slots = slots_for(addresses);
    memset(memory, 0, slots * sizeof(struct directory_entry));
    *directory = (struct directory){.entry = memory, .mask = slots - 1, .most = addresses};
}

static struct pkt_addr mac_key(const uint8_t mac[6])
{
    struct pkt_addr key = {{0}};
    memcpy(key.byte, mac, 6);
    return key;
}

static uint32_t slot_of(const struct directory *directory, const struct pkt_addr *addr, uint32_t kind)
{
    uint64_t word[2];
    memcpy(word, addr->byte, sizeof word);
    uint64_t hash = (word[0] ^ kind) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32 ^ word[1]) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) & directory->mask;
}

/* The entry that has the address, or the free one where it would be. */
static struct directory_entry *look(const struct directory *directory, const struct pkt_addr *addr, uint32_t kind)
{
    for (uint32_t slot = slot_of(directory, addr, kind);; slot = (slot + 1) & directory->mask) {
        struct directory_entry *entry = &directory->entry[slot];
        if (entry->kind == ADDRESS_NONE) return entry;
        if (entry->kind == kind && memcmp(&entry->addr, addr, sizeof *addr) == 0) return entry;
    }
}

static int add_address(struct directory *directory, const struct pkt_addr *addr, uint32_t kind, uint32_t endpoint)
{
    struct directory_entry *entry = look(directory, addr, kind);
    if (endpoint == DIRECTORY_NOBODY) return -EINVAL;
    if (entry->kind != ADDRESS_NONE) return entry->endpoint == endpoint ? 0 : -EEXIST;
    if (directory->count == directory->most) return -ENOSPC;
    *entry = (struct directory_entry){.addr = *addr, .endpoint = endpoint, .kind = kind};
    directory->count++;
    return 0;
}

static uint32_t find(const struct directory *directory, const struct pkt_addr *addr, uint32_t kind)
{
    const struct directory_entry *entry = look(directory, addr, kind);
    return entry->kind == ADDRESS_NONE ? DIRECTORY_NOBODY : entry->endpoint;
}

int directory_add(struct directory *directory, const struct pkt_addr *addr, uint32_t endpoint)
{
    return add_address(directory, addr, ADDRESS_IP, endpoint);
}

int directory_add_mac(struct directory *directory, const uint8_t mac[6], uint32_t endpoint)
{
    struct pkt_addr key = mac_key(mac);
    return add_address(directory, &key, ADDRESS_MAC, endpoint);
}

uint32_t directory_find(const struct directory *directory, const struct pkt_addr *addr)
{
    return find(directory, addr, ADDRESS_IP);
}

uint32_t directory_find_mac(const struct directory *directory, const uint8_t mac[6])
{
    struct pkt_addr key = mac_key(mac);
    return find(directory, &key, ADDRESS_MAC);
}

static uint32_t who(const struct directory *directory, bool network, const struct pkt_addr *addr, const uint8_t mac[6])
{
    uint32_t endpoint = network ? directory_find(directory, addr) : DIRECTORY_NOBODY;
    return endpoint != DIRECTORY_NOBODY ? endpoint : directory_find_mac(directory, mac);
}

bool directory_resolve(const struct directory *directory, struct pkt *pkt, const struct pkt_cold *cold)
{
    bool network = pkt->net != PKT_NET_NONE;
    uint32_t src = who(directory, network, &cold->src, cold->smac);
    uint32_t dst = who(directory, network, &cold->dst, cold->dmac);
    pkt->src_node = src == DIRECTORY_NOBODY ? 0 : src;
    pkt->dst_node = dst == DIRECTORY_NOBODY ? 0 : dst;
    return dst != DIRECTORY_NOBODY;
}
