/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric's graph: nodes, ports, endpoints, and the routes between them.  Part of fabric.h, which says how they are
 * numbered.
 */
#ifndef ROCELAB_FABRIC_NODES_H
#define ROCELAB_FABRIC_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/words.h"

#define FABRIC_NO_GROUP UINT16_MAX
#define FABRIC_NO_RAIL UINT16_MAX

enum fabric_kind { FABRIC_HOST, FABRIC_SWITCH };
/* hpcc-ns3: frame sizes, feedback, MMU, marking and pauses as the HPCC authors' simulator has them.  uet-htsim: frame
 * sizes and the constants of transports as the Ultra Ethernet Consortium's simulator has them.  ns3-tcp: frames and TCP
 * as ns-3 has them. */
enum fabric_behaviour { FABRIC_NATIVE, FABRIC_HPCC_NS3, FABRIC_UET_HTSIM, FABRIC_NS3_TCP };

struct fabric_node {
    const char *name;
    uint8_t kind, role;  /* enum fabric_kind, fabric_role */
    uint16_t ports;      /* that are cabled or named; numbers 0 .. ports-1 */
    uint16_t gpus;       /* of a host */
    uint16_t gpu_ports;  /* of a host's ports, those its GPUs share out; the others are of the storage network */
    uint32_t first_port; /* into port[] */
    uint32_t pod;        /* nodes that talk much; FABRIC_NONE: of no pod (spines, cores) */
    uint32_t number;     /* in its name (`leaf12`: 12), else its index within its role */
    uint16_t rail;       /* of a switch, where all its hosts hang on it by this adapter; else FABRIC_NO_RAIL */
    uint8_t tier;        /* 0 for hosts; 1, 2, 3 for leaves, spines, cores */
};

struct fabric_port {
    uint32_t node;
    uint32_t peer; /* a port; FABRIC_NONE: not cabled */
    uint64_t rate_bps;
    uint64_t cable_mm;
    ps_t propagation_ps;
    ps_t pause_reaction_ps; /* from the arrival of a pause frame here to the sender standing still */
    uint32_t settings;      /* into settings[] */
    uint32_t error_ppm;     /* frames corrupted on arrival here, parts per million */
    uint16_t index;         /* within its node */
    uint16_t rail;          /* of its cable: the host's adapter, the leaf's rail; FABRIC_NO_RAIL: none */
    bool up;
    bool cable_known; /* the file says how long it is */
    bool llr;         /* damaged frames are sent again by the port */
};

struct fabric_endpoint {
    uint32_t host;  /* node */
    uint32_t port;  /* into port[] */
    uint32_t nic;   /* into nic[] */
    uint16_t index; /* NIC number within the host */
    uint8_t address[4];
};

struct sw_group;
struct fabric_route {  /* of a switch */
    uint32_t own_edge; /* FABRIC_NONE: no endpoint hangs on it */
    uint32_t groups;
    const uint16_t *group_of;     /* [edge]; FABRIC_NO_GROUP: unreachable, or its own edge */
    const struct sw_group *group; /* [groups] */
};

#endif
