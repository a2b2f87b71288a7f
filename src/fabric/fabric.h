/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric: what a fabric file says, resolved into plain arrays.
 *
 * Nodes are hosts first (0 .. hosts-1), then switches; a switch's index is its node minus hosts.
 * A node's ports lie together in port[], in order of their number.  An endpoint is a NIC port:
 * endpoint[] is host-major, and endpoint e of a host is that host's port e - first.  An edge is
 * a switch with endpoints; routes lead to edges, so that their size grows with these and not with
 * hosts.
 *
 * Everything here is read-only after fabric_load() and lives until fabric_free().
 */
#ifndef ROCELAB_FABRIC_FABRIC_H
#define ROCELAB_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/time.h"
#include "fabric/lanes.h"
#include "fabric/llr.h"
#include "fabric/nics.h"
#include "fabric/nodes.h"
#include "fabric/switches.h"
#include "fabric/systems.h"
#include "fabric/uet.h"
#include "fabric/work.h"

struct fabric {
    const char *name, *path;
    uint8_t behaviour; /* enum fabric_behaviour */
    uint8_t system;    /* enum fabric_system */
    struct fabric_at system_at;
    struct fabric_lanes lanes;
    struct fabric_sm sm;
    struct fabric_llr llr;
    struct fabric_uet uet; /* of Ultra Ethernet */
    uint64_t seed;
    ps_t stop;             /* PS_NEVER: when the jobs are done */
    uint64_t gpu_line_bps; /* between GPUs of one host, each way */
    uint64_t gpu_rate_bps; /* of that, what copies reach */
    ps_t gpu_latency_ps;
    ps_t gpu_launch_ps;    /* from the start of a collective to the first byte: kernels, barriers */
    uint32_t gpu_nvls_ppm; /* of gpu_rate_bps that reductions and multicasts in the switch reach */

    uint32_t nodes, hosts, switches, ports, endpoints, edges;
    uint32_t storage_hosts; /* of hosts, the last so many: on a network of their own, without GPUs */
    const struct fabric_node *node;
    const struct fabric_port *port;
    const struct fabric_endpoint *endpoint;
    const uint32_t *first_endpoint; /* [hosts + 1] of a host */
    /* GPUs are numbered host-major, as endpoints are; a host with as many of either has the same numbers. */
    uint32_t gpus;
    const uint32_t *first_gpu; /* [hosts + 1] */
    const uint32_t *gpu_nic;   /* [gpus] the endpoint nearest to it; FABRIC_NONE: its host has none */
    const uint32_t *gpu_host;  /* [gpus] */

    const struct fabric_class *classes;
    uint32_t class_count;
    const struct fabric_settings *settings;
    uint32_t settings_count;
    const struct fabric_switch *sw; /* [switches] */
    const struct fabric_nic *nic;
    uint32_t nics;

    const uint32_t *edge_of;          /* [endpoint]; FABRIC_NONE: cabled to another host */
    const uint16_t *local_port;       /* [endpoint] the edge switch's port */
    const uint32_t *edge_switch;      /* [edge] switch index */
    const struct fabric_route *route; /* [switches] */
    const uint16_t *route_port;
    uint32_t route_ports;

    const struct fabric_job *job;
    uint32_t jobs;
    const struct fabric_fault *fault;
    uint32_t faults;
    uint32_t slow_gpus, hot_optics; /* of these */
    struct fabric_converge converge;
    struct fabric_operations operations;

    uint64_t run_hash;    /* of what a run can see; 0 unless values were replaced */
    uint64_t source_hash; /* of what the file says, and of the files it names; not of layout and comments */
    struct arena arena;
    void *names; /* private: name -> node */
};

#define FABRIC_ERRORS_MAX 20
struct fabric_error {
    struct fabric_at at;
    char text[300];
};
struct fabric_errors { /* a zeroed struct is empty */
    const char *path;
    uint32_t count; /* kept, in order of the file */
    uint32_t more;  /* found besides */
    struct fabric_error error[FABRIC_ERRORS_MAX];
};
void fabric_errors_print(const struct fabric_errors *errors, FILE *to); /* `file:line:col: error: …` a line */
/* For those who read what fabric leaves as text (congestion parameters). */
__attribute__((format(printf, 3, 4))) void fabric_errors_add(struct fabric_errors *errors, struct fabric_at at,
                                                             const char *format, ...);

/* Judges a NIC's congestion control, whose names belong to src/nic: called for each layer of NICs that is read. */
typedef void fabric_nic_judge(const struct fabric_nic *nic, struct fabric_errors *errors);
static inline const struct fabric_system_row *fabric_system(const struct fabric *fabric)
{
    return &fabric_systems[fabric->system];
}

/* Of the largest packet that any NIC sends, with all that a line with credits counts. */
uint32_t fabric_packet_blocks(const struct fabric *fabric);
/* Bytes that the line to this port carries until it is told that the first of them are free; what the port has to
 * promise for that: a packet goes when all of its blocks are there, and an eighth may be free and not yet told. */
uint64_t fabric_credit_loop(const struct fabric *fabric, uint32_t port);
uint64_t fabric_credit_needs(const struct fabric *fabric, uint32_t port);

/* Its own and those of its classes: FABRIC_SYSTEM() of each. */
static inline uint32_t fabric_systems_used(const struct fabric *fabric)
{
    uint32_t used = FABRIC_SYSTEM(fabric->system);

    for (uint32_t c = 0; c < fabric->class_count; c++)
        used |= FABRIC_SYSTEM(fabric->classes[c].system);
    return used;
}

struct fabric_override { /* a value of the file replaced, by its path: `classes.rdma.ecn.min`, `jobs.0.size` */
    const char *path, *value;
};
void fabric_free(struct fabric *fabric);
/* What the arrays hold now. */
size_t fabric_memory_bytes(const struct fabric *fabric);

/* A host of this name stands for what an imported configuration does not say: the other end of its port. */
#define FABRIC_UNKNOWN "unknown."
static inline bool fabric_node_unknown(const struct fabric *fabric, uint32_t node)
{
    return __builtin_strncmp(fabric->node[node].name, FABRIC_UNKNOWN, sizeof(FABRIC_UNKNOWN) - 1) == 0;
}

/* A fault more, in the words of the file: `down leaf0:3 for 5ms`.  at: when, where they do not say; nothing is
 * earlier.  Of a simulation that runs: sim_fault().  0, -EINVAL with errors, -ENOMEM. */
int fabric_faults_add(struct fabric *fabric, const char *text, ps_t at, struct fabric_errors *errors);

/* FABRIC_NONE where there is no such thing.  `h0` is its first endpoint where an endpoint is asked for. */
uint32_t fabric_find_node(const struct fabric *fabric, const char *name);
uint32_t fabric_find_port(const struct fabric *fabric, const char *name);     /* `leaf0:3` */
uint32_t fabric_find_endpoint(const struct fabric *fabric, const char *name); /* `h0:2`, `h0` */
#define FABRIC_NAME 96
const char *fabric_port_name(const struct fabric *fabric, uint32_t port, char buf[FABRIC_NAME]);
bool fabric_reaches(const struct fabric *fabric, uint32_t src, uint32_t dst); /* endpoints */
/* Links between two endpoints on a shortest path; 0 when unreachable. */
uint32_t fabric_hops(const struct fabric *fabric, uint32_t src, uint32_t dst);

/* Adapters next to a GPU, gpu_nic[gpu] the first of them: where a host has more of them than GPUs each has its own (the
 * ports of a dual-port adapter), else several GPUs share one.  0 where the host has none. */
uint32_t fabric_gpu_nics(const struct fabric *fabric, uint32_t gpu);

/* Where the file says a thing (places.c).  `text` is what was loaded and must outlive the places. */
struct fabric_places;
int fabric_places_open(const struct fabric *fabric, const char *text, struct fabric_places **ret); /* 0, -ENOMEM */
void fabric_places_free(struct fabric_places *places);
/* The value of `path` ("classes.rdma.ecn.min", "pfc", "watchdog.poll") for a port, in the innermost layer that says it:
 * port, device, role, all, class definition, links; FABRIC_NONE for a port: the node's.  With node FABRIC_NONE: from
 * the top of the file.  Where nothing says it, what encloses it, and the topology at last. */
struct fabric_at fabric_where(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path);
/* True where a layer of exactly this port, or of this device, says it. */
bool fabric_says(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path);

/* Routes when ports are down, for the simulator and for checks: as fabric's own, without the links of which
 * either end is marked in down[port] (or not up).  0 or -ENOMEM. */
struct fabric_routing {
    const struct fabric_route *route; /* [switches] */
    const uint16_t *route_port;
    uint32_t route_ports;
    struct arena arena;
};
int fabric_reroute(const struct fabric *fabric, const uint8_t *down, struct fabric_routing **ret);
void fabric_routing_free(struct fabric_routing *routing);

/* [edge] the first edge whose switch has the same neighbours in order of its ports (itself, where it is the first).
 * neighbour[port of switches] is a switch, or FABRIC_NONE.  NULL: there is no memory. */
uint32_t *fabric_twins(const struct fabric *fabric, const uint32_t *neighbour, struct arena *arena);

#endif
