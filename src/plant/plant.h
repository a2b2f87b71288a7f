/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plant: what a fabric's machines are configured with.
 *
 * A fabric file says what people say; a machine is told numbers.  The way from the one to the other is here, once, for
 * whoever drives the machines: switches (ports, routes, balancing), adapters, queue pairs, congestion control by name.
 * A driver adds what is its own (how many queue pairs, from which number on) and makes the machines.
 *
 * Configurations lie here because machines keep pointers to them.  Nothing runs here, and no machine is made.
 */
#ifndef ROCELAB_PLANT_PLANT_H
#define ROCELAB_PLANT_PLANT_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/errors.h"
#include "nic/nic.h"
#include "switch/config.h"
#include "switch/switch.h"

struct fabric;
struct fabric_class;
struct fabric_nic;

struct plant_options {
    uint64_t seed; /* of this run; the fabric has its own */
    bool rtt;      /* adapters measure round-trip times, whatever their congestion control */
};

struct plant_switch {
    struct sw_config config;
    struct sw_routes routes; /* the driver may change them: sw_set_routes() */
    uint16_t *local_port;    /* its own tables, where ports may be forgotten or routes be wrong; NULL: the fabric's */
    uint32_t *edge_of;
    struct sw_raise *raise; /* NULL: it raises no classes */
};

struct plant {
    const struct fabric *fabric;
    struct plant_options options;
    struct plant_switch *sw; /* [switches] */
    struct cc_config *cc;    /* [nics] */
    struct cc_needs needs;   /* of all adapters together, without rtt */
    /* Private: what configurations point to. */
    struct sw_port_config *port_config;       /* [settings] */
    const struct sw_port_config **port_table; /* [ports] */
    uint64_t *port_rate;                      /* [ports] */
    struct sw_credit_port *credit_port;       /* [ports]; NULL: no credits */
};

/* 0, -EINVAL with errors, -ENOMEM.  In any case plant_release() follows.  The fabric outlives the plant. */
int plant_init(struct plant *plant, const struct fabric *fabric, const struct plant_options *options,
               struct fabric_errors *errors);
void plant_release(struct plant *plant);

/*
 * An adapter, by what it is itself and what is around it.  A host that no fabric file describes has
 * fabric_nic_default() and nothing around it that anybody knows of.  docs/internals/plant.md lists who decides each
 * field of nic_config.
 */
struct plant_nic {
    uint64_t line_bps;
    uint32_t endpoint; /* 0 where packets have addresses instead */
    bool hpcc_ns3;     /* the model of the HPCC authors' simulator */
    bool tagged;       /* the port at the other end goes by the 802.1Q tag */
    const struct fabric_nic *nic;
    const struct cc_config *cc;
    const struct cc_needs *peers;                     /* of all who may send to it, together */
    const struct fabric_class *ack_class, *cnp_class; /* NULL: that of the data; DSCP 48, priority 6 */
};
/* Of queue pairs (max_qps, first_qpn) and memory it says nothing: they are the driver's. */
struct nic_config plant_nic_config(const struct plant_nic *from);
/* The adapter of an endpoint of the fabric. */
struct nic_config plant_adapter(const struct plant *plant, uint32_t endpoint);
/* A queue pair of such an adapter, without its peer, class, rings and queues. */
struct nic_qp_config plant_qp_config(const struct fabric_nic *nic, const struct cc_config *cc);

/* What a NIC of the fabric has for congestion control; false with errors. */
bool plant_congestion(const struct fabric_nic *nic, struct cc_config *ret, struct fabric_errors *errors);
fabric_nic_judge plant_judge_nic; /* for fabric_load_with() */

/* The credits of an adapter's port, of a fabric that has some. */
struct credit_port_config plant_credit_port(const struct fabric *fabric, uint32_t endpoint);

#endif
