/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of systems.h.
 *
 * Headers are sums, so that each part can be seen: Ethernet 14, IPv4 20, UDP 8, GRH 40, BTH 12, ICRC 4, AETH 4, LRH 8,
 * UET's PDS 12 and SES 44 (an ACK with congestion state 32, and its SES response 12), TCP 20 with timestamps 12, MPA
 * 2, DDP/RDMAP 14, CRC32c 4.
 */
#include "fabric/systems.h"

#include <stddef.h>
#include <strings.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "switch/config.h"

#define ETHERNET .min_bytes = 60, .before = 8, .after = 4, .gap = 12, .control_bytes = 84
#define FIVE_TUPLE (SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT)
/* Marks from 0.2 to 0.8 of what is under way in a round trip of 8 us, all above; what is trimmed goes with control. */
#define TRIMS                                                                                                          \
    "trim: {bytes: 64, dscp: 40, last-hop-dscp: 41}, ecn: {min: 20KB, max: 80KB, probability: 100%, per: 100G}"
#define MARKS "ecn: {min: 500KB, max: 1500KB, probability: 10%}"

const struct fabric_system_row fabric_systems[FABRIC_SYSTEMS] = {
    [FABRIC_ROCEV2] = {.name = "rocev2",
                       .title = "RoCEv2",
                       .endpoint = FABRIC_ENDPOINT_NIC,
                       .link = FABRIC_LINK_PFC,
                       .runs = true,
                       .ecn = true,
                       .entropy = true,
                       .header_bytes = 14 + 20 + 8 + 12 + 4,
                       .ack_bytes = 14 + 20 + 8 + 12 + 4 + 4,
                       .line = {ETHERNET},
                       .data_class = "lossless: true, " MARKS,
                       .congestion = "dcqcn/connectx",
                       .mtu_bytes = 4096,
                       .nic_ns = 600,
                       .balance = SW_ECMP,
                       .hash_fields = FIVE_TUPLE},
    /* A GRH where IP and UDP are: nothing that a switch marks, no port to hash. */
    [FABRIC_ROCEV1] = {.name = "rocev1",
                       .title = "RoCEv1",
                       .endpoint = FABRIC_ENDPOINT_NIC,
                       .link = FABRIC_LINK_PFC,
                       .runs = true,
                       .header_bytes = 14 + 40 + 12 + 4,
                       .ack_bytes = 14 + 40 + 12 + 4 + 4,
                       .line = {ETHERNET},
                       .data_class = "lossless: true",
                       .congestion = "none",
                       .mtu_bytes = 4096,
                       .nic_ns = 600,
                       .balance = SW_ECMP,
                       .hash_fields = SW_HASH_SRC | SW_HASH_DST},
    /* No preamble and no gap: coding is in the rate.  VCRC is what the line adds.  A flow-control packet is 6 bytes
     * and 2 of delimiters.  A destination has one route: its LID's. */
    [FABRIC_INFINIBAND] = {.name = "infiniband",
                           .title = "InfiniBand",
                           .endpoint = FABRIC_ENDPOINT_NIC,
                           .link = FABRIC_LINK_CREDITS,
                           .runs = true,
                           .ecn = true, /* FECN */
                           .header_bytes = 8 + 12 + 4,
                           .ack_bytes = 8 + 12 + 4 + 4,
                           .line = {.after = 2, .control_bytes = 8},
                           .data_class = "lossless: true",
                           .congestion = "none",
                           .mtu_bytes = 4096,
                           .switch_ns = 225,
                           .nic_ns = 300,
                           .balance = SW_ECMP,
                           .hash_fields = SW_HASH_DST},
    [FABRIC_UET] = {.name = "uet",
                    .title = "Ultra Ethernet",
                    .endpoint = FABRIC_ENDPOINT_UET,
                    .link = FABRIC_LINK_NONE,
                    .runs = true,
                    .ecn = true,
                    .entropy = true,
                    .header_bytes = 14 + 20 + 8 + 12 + 44,
                    .ack_bytes = 14 + 20 + 8 + 32 + 12,
                    .line = {ETHERNET},
                    .data_class = TRIMS,
                    .congestion = "none",
                    .mtu_bytes = 4096,
                    .nic_ns = 600,
                    .balance = SW_ECMP,
                    .hash_fields = FIVE_TUPLE},
    [FABRIC_TCP] = {.name = "tcp",
                    .title = "TCP",
                    .endpoint = FABRIC_ENDPOINT_TCP,
                    .link = FABRIC_LINK_NONE,
                    .runs = true,
                    .ecn = true,
                    .entropy = true,
                    .header_bytes = 14 + 20 + 32,
                    .ack_bytes = 14 + 20 + 32,
                    .line = {ETHERNET},
                    .data_class = "ecn: {min: 97500B, max: 97500B, probability: 100%, per: 10G}",
                    .congestion = "none",
                    .mtu_bytes = 8948,
                    .nic_ns = 600,
                    .software_ns = 5000,
                    .balance = SW_ECMP,
                    .hash_fields = FIVE_TUPLE},
    /* TCP in the adapter, without timestamps; an MPA length, a tagged header and a CRC in each packet. */
    [FABRIC_IWARP] = {.name = "iwarp",
                      .title = "iWARP",
                      .endpoint = FABRIC_ENDPOINT_TCP,
                      .link = FABRIC_LINK_NONE,
                      .runs = true,
                      .ecn = true,
                      .entropy = true,
                      .header_bytes = 14 + 20 + 20 + 2 + 14 + 4,
                      .ack_bytes = 14 + 20 + 20,
                      .line = {ETHERNET},
                      .data_class = "ecn: {min: 97500B, max: 97500B, probability: 100%, per: 10G}",
                      .congestion = "none",
                      .mtu_bytes = 8940,
                      .nic_ns = 600,
                      .balance = SW_ECMP,
                      .hash_fields = FIVE_TUPLE},
};

const char *const fabric_system_names[FABRIC_SYSTEMS + 1] = {"rocev2", "rocev1", "infiniband", "uet",
                                                             "tcp",    "iwarp",  NULL};

static const struct {
    const char *name;
    enum fabric_system system;
} other_names[] = {
    {"roce", FABRIC_ROCEV2},    {"roce2", FABRIC_ROCEV2},  {"roce-v2", FABRIC_ROCEV2},     {"roce1", FABRIC_ROCEV1},
    {"roce-v1", FABRIC_ROCEV1}, {"ib", FABRIC_INFINIBAND}, {"ultra-ethernet", FABRIC_UET}, {"uec", FABRIC_UET},
};

enum fabric_system fabric_system_find(const char *name)
{
    for (unsigned s = 0; s < FABRIC_SYSTEMS; s++)
        if (strcasecmp(name, fabric_system_names[s]) == 0) return (enum fabric_system)s;
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
        if (strcasecmp(name, other_names[i].name) == 0) return other_names[i].system;
    return FABRIC_SYSTEMS;
}

const struct fabric_system_row *fabric_system(const struct fabric *fabric)
{
    return &fabric_systems[fabric->system];
}

uint32_t fabric_systems_used(const struct fabric *fabric)
{
    uint32_t used = FABRIC_SYSTEM(fabric->system);

    for (uint32_t c = 0; c < fabric->class_count; c++)
        used |= FABRIC_SYSTEM(fabric->classes[c].system);
    return used;
}
