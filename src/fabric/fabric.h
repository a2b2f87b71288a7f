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
 * Everything here is read-only after fabric_load() and lives until fabric_free().  What classes, ports and switches are
 * set to is in switches.h, ways through the fabric in routing.h, places in the file in places.h.
 */
#ifndef ROCELAB_FABRIC_FABRIC_H
#define ROCELAB_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "fabric/errors.h"
#include "fabric/handle.h"
#include "fabric/lanes.h"
#include "fabric/llr.h"
#include "fabric/names.h"
#include "fabric/nics.h"
#include "fabric/nodes.h"
#include "fabric/systems.h"
#include "fabric/uet.h"
#include "fabric/work.h"

struct fabric_class;
struct fabric_settings;
struct fabric_switch;

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

/* Of the largest packet that any NIC sends, with all that a line with credits counts. */
uint32_t fabric_packet_blocks(const struct fabric *fabric);
/* Bytes that the line to this port carries until it is told that the first of them are free; what the port has to
 * promise for that: a packet goes when all of its blocks are there, and an eighth may be free and not yet told. */
uint64_t fabric_credit_loop(const struct fabric *fabric, uint32_t port);
uint64_t fabric_credit_needs(const struct fabric *fabric, uint32_t port);

/* A fault more, in the words of the file: `down leaf0:3 for 5ms`.  at: when, where they do not say; nothing is
 * earlier.  Of a simulation that runs: sim_fault().  0, -EINVAL with errors, -ENOMEM. */
int fabric_faults_add(struct fabric *fabric, const char *text, ps_t at, struct fabric_errors *errors);

/* Adapters next to a GPU, gpu_nic[gpu] the first of them: where a host has more of them than GPUs each has its own (the
 * ports of a dual-port adapter), else several GPUs share one.  0 where the host has none. */
uint32_t fabric_gpu_nics(const struct fabric *fabric, uint32_t gpu);

#endif
