/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which MAC address a packet to an IP address goes to: the kernel's routes and neighbour table, asked over netlink.
 */
#ifndef ROCELAB_WIRE_NEIGHBOUR_H
#define ROCELAB_WIRE_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/pkt.h"

#define NEIGHBOURS 256u

struct neighbour {
    struct pkt_addr addr;
    uint8_t mac[6];
    bool known;
    uint64_t asked_ns, first_ns; /* first: when we began to ask in vain */
};

struct neighbours {
    int netlink, probe4, probe6;
    uint32_t sequence; /* of what the kernel was asked */
    unsigned ifindex;
    uint8_t own_mac[6];
    struct neighbour entry[NEIGHBOURS]; /* by hash; a newcomer takes the place */
};

int neighbours_open(struct neighbours *table, const char *ifname);
void neighbours_close(struct neighbours *table);

/* 0: *ret_mac; -EAGAIN: being asked for, try again; -EHOSTUNREACH: asked for a second, nobody answers. */
int neighbour_find(struct neighbours *table, const struct pkt_addr *addr, bool v1, uint64_t now_ns, uint8_t ret_mac[6]);

#endif
