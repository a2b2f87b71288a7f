/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has which address: IP addresses, GIDs and MAC addresses to endpoints, for whoever reads frames from a line.
 *
 * A frame names addresses, machines know endpoints: pkt.src_node and pkt.dst_node are 0 when a frame was parsed, and
 * directory_resolve() fills them in.  One table, in memory of the caller's, written before the run and only read in
 * it.  IPv4 addresses are mapped, as everywhere (pkt.h), so a GID needs no entry of its own.
 */
#ifndef ROCELAB_PACKET_DIRECTORY_H
#define ROCELAB_PACKET_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/pkt.h"

#define DIRECTORY_NOBODY UINT32_MAX

struct directory_entry;
struct directory {
    struct directory_entry *entry;
    uint32_t mask;  /* slots - 1, a power of two less one */
    uint32_t count; /* entries in use */
    uint32_t most;  /* as directory_init() was told */
};

/* Memory for so many addresses, IP and MAC together. */
size_t directory_bytes(uint32_t addresses);
/* `memory` has directory_bytes(addresses), aligned as malloc() does, and stays the caller's. */
void directory_init(struct directory *directory, void *memory, uint32_t addresses);
/* 0; -EEXIST: another endpoint has it; -ENOSPC: more than was asked for; -EINVAL: the endpoint is DIRECTORY_NOBODY. */
int directory_add(struct directory *directory, const struct pkt_addr *addr, uint32_t endpoint);
int directory_add_mac(struct directory *directory, const uint8_t mac[6], uint32_t endpoint);
/* The endpoint, or DIRECTORY_NOBODY. */
uint32_t directory_find(const struct directory *directory, const struct pkt_addr *addr);
uint32_t directory_find_mac(const struct directory *directory, const uint8_t mac[6]);

/* Fills src_node and dst_node of a packet that was read from a frame: by IP address or GID where it has one, else (or
 * where nobody has that address) by MAC address.  True when the destination is known; what is not known stays 0. */
bool directory_resolve(const struct directory *directory, struct pkt *pkt, const struct pkt_cold *cold);

#endif
