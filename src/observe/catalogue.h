/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue: every metric, once, with the name, unit and help that every output uses.
 *
 * Made of the machines' own lists (nic/counters.def, switch/counters.def) and of catalogue.def.  A metric says which
 * kind of object has it and where in that object's struct its value lies; whoever has objects (the simulator, a fabric
 * that is up, a live NIC) fills the structs and walks the list.
 *
 * NICs have the names that dashboards for real ones ask for: rdma_<counter>_total as rdma_exporter makes them of mlx5's
 * hw_counters, and pauses as rdma_roce_pfc_*.  Ports of InfiniBand and connections of TCP have node_exporter's:
 * node_infiniband_*, node_netstat_*.
 */
#ifndef ROCELAB_OBSERVE_CATALOGUE_H
#define ROCELAB_OBSERVE_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

enum observe_object {                               /* and the struct its values are in */
                      OBSERVE_OBJECT_RUN,           /* observe_run */
                      OBSERVE_OBJECT_NIC,           /* nic_counters */
                      OBSERVE_OBJECT_NIC_PRIO,      /* nic_prio_counters */
                      OBSERVE_OBJECT_PORT,          /* sw_port_counters: a switch's */
                      OBSERVE_OBJECT_PORT_COUNTERS, /* sw_prio_counters: a switch's port and priority */
                      OBSERVE_OBJECT_PORT_PRIO,     /* observe_port_prio: the same, as it is now */
                      OBSERVE_OBJECT_LINK,          /* observe_link */
                      OBSERVE_OBJECT_SWITCH,        /* observe_switch */
                      OBSERVE_OBJECT_JOB,           /* observe_job */
                      OBSERVE_OBJECT_CONNECTION,    /* observe_connection */
                      OBSERVE_OBJECT_LIMITS,        /* observe_limits: a switch's port and priority; does not change */
                      OBSERVE_OBJECT_CABLE,         /* observe_cable: of a link; does not change */
                      OBSERVE_OBJECT_CLASS,         /* observe_class; does not change */
                      OBSERVE_OBJECT_RANK,          /* observe_rank: of training jobs */
                      OBSERVE_OBJECT_TIER,          /* observe_tier: known when the run is over */
                      OBSERVE_OBJECT_COMMUNICATOR,  /* observe_communicator: of live programs alone (src/nccl) */
                      OBSERVE_OBJECT_INFINIBAND,    /* observe_infiniband: a port of a fabric of InfiniBand */
                      OBSERVE_OBJECT_UET,           /* uet_counters: an adapter of Ultra Ethernet */
                      OBSERVE_OBJECT_TCP,           /* tcp_counters: an adapter of TCP or iWARP */
                      OBSERVE_OBJECTS
};

/* SPARSE: a gauge that says nothing where it is 0: what the model has no physics for, and a fault may set. */
enum observe_metric_kind { OBSERVE_COUNTER, OBSERVE_GAUGE, OBSERVE_SPARSE };
enum observe_unit {
    OBSERVE_NONE,
    OBSERVE_BYTES,
    OBSERVE_SECONDS,      /* the value is in picoseconds */
    OBSERVE_MICROSECONDS, /* so is this: where a real exporter has them */
    OBSERVE_NANOSECONDS,  /* exported as seconds: sums over many objects that picoseconds would soon overflow */
    OBSERVE_RATIO,        /* the value is in millionths */
    OBSERVE_PER_SECOND,   /* bytes or bits a second */
    OBSERVE_CELSIUS,
    OBSERVE_BIT_ERRORS, /* a share of bits: the value is in 10^-18 */
};

struct observe_metric {
    char name[80];            /* in Prometheus */
    const char *series;       /* in JSON's series; NULL: it is not there */
    const char *label, *word; /* one more label and its value: reason, direction; NULL: none */
    const char *help;
    enum observe_object object;
    enum observe_metric_kind kind;
    enum observe_unit unit;
    size_t offset; /* of the uint64_t, in the object's struct */
};

#define OBSERVE_METRICS_MAX 384
struct observe_catalogue {
    struct observe_metric metric[OBSERVE_METRICS_MAX]; /* of one name together, of one object mostly */
    uint32_t count;
};
void observe_catalogue(struct observe_catalogue *ret);

#define OBSERVE_PRIORITIES 8
/* How many priorities an object of this kind has: 8, or 1 where it has none. */
uint32_t observe_priorities(enum observe_object object);
const char *observe_unit_name(enum observe_unit unit); /* "bytes", "ps", ...: of the value itself */

#endif
