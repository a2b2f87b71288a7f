/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The systems a fabric can be: what `system:` in the file stands for.  Part of fabric.h.
 *
 * A row says what is true of a system whatever the file says (headers, link control, endpoint), and what holds where
 * the file is silent (latencies, classes, congestion control).  It runs nothing and reads no file.
 */
#ifndef ROCELAB_FABRIC_SYSTEMS_H
#define ROCELAB_FABRIC_SYSTEMS_H

#include <stdbool.h>
#include <stdint.h>

enum fabric_system {
    FABRIC_ROCEV2,
    FABRIC_ROCEV1,
    FABRIC_INFINIBAND,
    FABRIC_UET,
    FABRIC_TCP,
    FABRIC_IWARP,
    FABRIC_SYSTEMS,
};
#define FABRIC_SYSTEM(system) (1u << (system)) /* bits of several */

enum fabric_endpoint_kind { /* which machine a host's port has */
                            FABRIC_ENDPOINT_NIC,
                            FABRIC_ENDPOINT_UET,
                            FABRIC_ENDPOINT_TCP,
};

enum fabric_link_control { /* how a receiver holds back the sender at the other end of its line */
                           FABRIC_LINK_PFC,
                           FABRIC_LINK_CREDITS,
                           FABRIC_LINK_NONE,
};

struct fabric_system_row {
    const char *name, *title; /* in the file; as people write it */
    uint8_t endpoint, link;   /* enum fabric_endpoint_kind, fabric_link_control */
    bool runs;                /* it can be simulated */
    bool ecn;                 /* switches can mark its packets */
    bool entropy;             /* its packets have a number that switches hash, beside addresses */
    /* Bytes: of a full data packet without its payload, of an acknowledgement; from the destination MAC (LRH), without
     * what the line adds. */
    uint16_t header_bytes, ack_bytes;
    struct { /* what the line adds */
        uint16_t min_bytes, before, after, gap;
        uint16_t control_bytes; /* a pause or a credit update, all in all */
    } line;
    /* Where the file is silent. */
    const char *data_class;       /* of the class `rdma`: the keys beside name, dscp, priority and share */
    const char *congestion;       /* nics.congestion; "none" where the endpoint has keys of its own */
    uint32_t mtu_bytes;           /* payload a packet */
    uint32_t switch_ns;           /* latency of a switch; 0: its model's */
    uint32_t nic_ns;              /* latency of an adapter */
    uint32_t software_ns;         /* of a host's software, to post and again to see a completion */
    uint8_t balance, hash_fields; /* enum sw_balance_kind; SW_HASH_* */
};

extern const struct fabric_system_row fabric_systems[FABRIC_SYSTEMS];
extern const char *const fabric_system_names[FABRIC_SYSTEMS + 1];
/* A system by its name, or by what else people call it (`ib`), in letters of either case; FABRIC_SYSTEMS: none. */
enum fabric_system fabric_system_find(const char *name);

#endif
