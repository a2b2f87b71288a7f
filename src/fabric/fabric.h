/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric: what a fabric file says, resolved into plain arrays.
 *
 * Nodes are hosts first (0 .. hosts-1), then switches; a switch's index is its node minus hosts.
 * A node's ports lie together in port[], in order of their number.  An endpoint is a NIC port:
 * endpoint[] is host-major, and endpoint e of a host is that host's port e - first.  A place is a
 * switch with endpoints (an edge); routes lead to places, so that their size grows with edges and
 * not with hosts.
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
#include "switch/config.h"

#define FABRIC_NONE UINT32_MAX
#define FABRIC_NO_GROUP UINT16_MAX
#define FABRIC_PRIOS SW_PRIOS
#define FABRIC_UNLIMITED UINT64_MAX

enum fabric_kind { FABRIC_HOST, FABRIC_SWITCH };
#define FABRIC_ROLE_LIST(X)                                                                                            \
    X(HOST, "host", "h")                                                                                               \
    X(LEAF, "leaf", "leaf")                                                                                            \
    X(SPINE, "spine", "spine")                                                                                         \
    X(CORE, "core", "core")                                                                                            \
    X(SWITCH, "switch", "sw")
enum fabric_role {
#define X(id, name, prefix) FABRIC_ROLE_##id,
    FABRIC_ROLE_LIST(X)
#undef X
        FABRIC_ROLES,
};
/* hpcc-ns3: frame sizes, feedback, MMU, marking and pauses as the HPCC authors' simulator has them. */
enum fabric_behaviour { FABRIC_NATIVE, FABRIC_HPCC_NS3 };

struct fabric_at { /* where the file says it; line 0: nowhere */
    uint32_t line, column;
};

struct fabric_node {
    const char *name;
    uint8_t kind, role;  /* enum fabric_kind, fabric_role */
    uint16_t ports;      /* that are cabled or named; numbers 0 .. ports-1 */
    uint16_t gpus;       /* of a host */
    uint16_t gpu_ports;  /* of a host's ports, those its GPUs share out; the others are of the storage network */
    uint32_t first_port; /* into port[] */
    uint32_t pod;        /* nodes that talk much; FABRIC_NONE: of no pod (spines, cores) */
    uint32_t number;     /* in its name (`leaf12`: 12), else its index within its role */
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
    bool up;
    bool cable_known; /* the file says how long it is */
};

struct fabric_endpoint {
    uint32_t host;  /* node */
    uint32_t port;  /* into port[] */
    uint32_t nic;   /* into nic[] */
    uint16_t index; /* NIC number within the host */
    uint8_t address[4];
};

struct fabric_class {
    const char *name;
    uint64_t dscps;   /* bit d: DSCP d is of this class; 0 for the class of everything else */
    uint8_t dscp;     /* that NICs send; 0 when none is named */
    uint8_t priority; /* 802.1p, traffic class, queue and priority group unless maps say otherwise */
    bool lossless, strict;
    uint32_t share_ppm; /* 0: strict, or nothing said */
    struct fabric_at at;
};

struct fabric_queue {
    union {
        struct sw_queue_config sw;
        struct sw_queue_config; /* the same: ECN is for this port's rate (`per` is applied), weights follow share */
    };
    uint32_t share_ppm;
};

struct fabric_pg {
    union {
        struct sw_pg_config sw;
        struct sw_pg_config; /* the same */
    };
    bool headroom_given;
};

struct fabric_settings { /* of a port, resolved; ports configured alike share one */
    union {
        struct sw_port_rules sw;
        struct sw_port_rules; /* the same */
    };
    uint8_t lossless;                                 /* bit p: priority p is lossless */
    bool pfc_auto;                                    /* PFC is negotiated (DCBX), not forced */
    uint8_t watched;                                  /* bit p: the watchdog, where it is on, looks at priority p */
    uint8_t fec;                                      /* enum fabric_fec */
    uint32_t headroom_cable_mm, headroom_frame_bytes; /* that the headroom was chosen for; 0: the port's own */
    struct fabric_queue queue[FABRIC_PRIOS];
    struct fabric_pg pg[FABRIC_PRIOS];
};

struct fabric_watchdog {
    union {
        struct sw_watchdog sw;
        struct sw_watchdog; /* the same */
    };
    bool shutdown; /* it would shut the port down; simulated as drop, which is then set too */
    bool assumed;  /* the file says nothing: check and config take what operators have, a run has none */
};

static inline bool fabric_watchdog_runs(const struct fabric_watchdog *watchdog)
{
    return watchdog->on && !watchdog->assumed;
}

struct fabric_balance {
    union {
        struct sw_balance sw; /* the seed is the run's */
        struct sw_balance;    /* the same */
    };
    const struct fabric_at *pin_at; /* [pins] where the file has them */
};

struct fabric_switch {
    const char *model;
    uint64_t buffer_bytes;
    uint32_t cell_bytes;
    ps_t latency_ps;
    bool cut_through, mark_at_dequeue, refresh_pauses;
    bool raise_bounce;            /* what turns from down to up goes on in the next lossless class */
    bool drop_unknown;            /* lossless frames for an endpoint whose port is forgotten are dropped, not flooded */
    uint64_t headroom_pool_bytes; /* 0: headroom is dedicated */
    uint8_t hash_fields;
    bool weighted; /* ECMP in proportion to rates */
    struct fabric_balance balance;
    struct sw_voq_config voq;
    uint64_t hash_seed;
    uint8_t nos;                                     /* enum fabric_nos */
    bool bridged;                                    /* frames are switched by address and flooded, not routed */
    uint64_t reserved_sum_bytes, headroom_sum_bytes; /* over its cabled ports */
    struct fabric_watchdog watchdog;
};

struct fabric_param { /* name and value as text; the owner of the name reads the value */
    const char *name, *value;
    struct fabric_at at;
};

enum fabric_recovery { FABRIC_GO_BACK_N, FABRIC_GO_BACK_0, FABRIC_SELECTIVE }; /* as enum nic_recovery */

struct fabric_software { /* what a host's software takes; all 0 where the file says nothing */
    ps_t post_ps;        /* to post a work request */
    ps_t poll_ps;        /* until a completion is seen */
    ps_t clock_ps;       /* to read the clock, of a program */
    ps_t hop_ps;         /* from one thread of a program to another */
};

struct fabric_nic {         /* NICs configured alike share one */
    uint32_t mtu_bytes;     /* payload a packet at most */
    const char *congestion; /* `dcqcn/connectx` */
    struct fabric_at congestion_at;
    const struct fabric_param *param; /* single parameters overridden */
    uint32_t params;
    uint32_t ack_every, ack_request_every;
    uint8_t timeout, retry, rnr_retry, min_rnr_timer; /* as in verbs; timeout 0: never */
    uint8_t recovery;                                 /* enum fabric_recovery; selective where reorder_packets is set */
    uint32_t reorder_packets; /* packets out of order are no loss up to this distance ...; 0: they are at once */
    ps_t reorder_ps;          /* ... and this time */
    ps_t nak_repeat_ps;       /* a sequence NAK is repeated after this time, if the gap is still there; 0: never */
    ps_t adaptive_ps;         /* adaptive retransmission: the first timeout; 0: none */
    uint32_t adaptive_each;   /* and how many of one length there are before it doubles */
    uint32_t max_read;
    uint32_t window_packets;  /* 0: no limit but the machine's own */
    uint64_t window_bytes;    /* 0: none */
    ps_t latency_ps;          /* receive: from the last bit to the adapter's answer */
    uint64_t pcie_bps;        /* of the bus, as the file says; it is in rx_rate_bps where it matters */
    uint64_t rx_rate_bps;     /* the host drains no faster; 0: line rate */
    uint64_t rx_buffer_bytes; /* 0: none, and rx_rate_bps is 0 */
    uint64_t rx_xoff_bytes, rx_xon_bytes;
    struct fabric_software software;
    uint32_t cnp_class, ack_class; /* into class[]; FABRIC_NONE: the class of the data */
    /* What operators set on the host and no simulation needs. */
    uint8_t cnp_dscp;                /* FABRIC_UNSAID: that of the class */
    uint8_t dcqcn_rp, dcqcn_np;      /* reaction and notification point: truth, or FABRIC_UNSAID */
    uint8_t dcbx_willing;            /* truth, or FABRIC_UNSAID */
    uint8_t dcbx_mode;               /* FABRIC_UNSAID, or an index of fabric_dcbx_names */
    uint64_t cable_mm;               /* the adapter's own setting; 0: not said */
    const struct fabric_param *nccl; /* NCCL_IB_TC ... */
    uint32_t nccls;
};

struct fabric_nic fabric_nic_default(void); /* nic.c: as where a file says nothing */

struct fabric_route {   /* of a switch */
    uint32_t own_place; /* FABRIC_NONE: no endpoint hangs on it */
    uint32_t groups;
    const uint16_t *group_of;     /* [place]; FABRIC_NO_GROUP: unreachable, or its own place */
    const struct sw_group *group; /* [groups] */
};

struct fabric_flow {
    uint32_t src, dst; /* endpoints */
    uint64_t bytes;
    ps_t at; /* after the job's start */
};

/* How a job's ranks work: they send messages; they are GPUs, with an algorithm or from rank to rank; they run a program
 * of compute and communication (fabric_job.training). */
enum fabric_job_form { FABRIC_FORM_TRANSFERS, FABRIC_FORM_ALGORITHM, FABRIC_FORM_PAIRS, FABRIC_FORM_PROGRAM };
/* Every kind of job, once: X(ID, name in files, form).  Whoever does something of his own for a kind has a case for it;
 * all else goes by the form. */
#define FABRIC_JOB_LIST(X)                                                                                             \
    X(ALLREDUCE, "allreduce", ALGORITHM)                                                                               \
    X(REDUCESCATTER, "reducescatter", ALGORITHM)                                                                       \
    X(ALLGATHER, "allgather", ALGORITHM)                                                                               \
    X(FLOWS, "flows", TRANSFERS)                                                                                       \
    X(PERMUTATION, "permutation", TRANSFERS)                                                                           \
    X(INCAST, "incast", TRANSFERS)                                                                                     \
    X(ALL_TO_ALL, "all-to-all", TRANSFERS)                                                                             \
    X(RANDOM, "random", TRANSFERS)                                                                                     \
    X(POISSON, "poisson", TRANSFERS)                                                                                   \
    X(BROADCAST, "broadcast", ALGORITHM)                                                                               \
    X(REDUCE, "reduce", ALGORITHM)                                                                                     \
    X(GATHER, "gather", PAIRS)       /* every rank `size` to one */                                                    \
    X(SENDRECV, "sendrecv", PAIRS)   /* a pipeline: each rank to the next */                                           \
    X(ALLTOALL, "alltoall", PAIRS)   /* as NCCL runs it: GPUs, rounds, PXN; all-to-all is bare transfers */            \
    X(TRAINING, "training", PROGRAM) /* steps of compute and communication */                                          \
    X(INFERENCE, "inference", PROGRAM)                                                                                 \
    X(TRACE, "trace", PROGRAM) /* the same, read from a trace file */
enum fabric_job_kind {
#define X(id, name, form) FABRIC_JOB_##id,
    FABRIC_JOB_LIST(X)
#undef X
        FABRIC_JOB_KINDS,
};
static inline enum fabric_job_form fabric_job_form(enum fabric_job_kind kind)
{
    static const uint8_t forms[FABRIC_JOB_KINDS] = {
#define X(id, name, form) FABRIC_FORM_##form,
        FABRIC_JOB_LIST(X)
#undef X
    };
    return (enum fabric_job_form)forms[kind];
}
/* Its ranks are GPUs that run a program. */
static inline bool fabric_job_trains(enum fabric_job_kind kind)
{
    return fabric_job_form(kind) == FABRIC_FORM_PROGRAM;
}
/* Its ranks are GPUs that run a collective. */
static inline bool fabric_job_collective(enum fabric_job_kind kind)
{
    return fabric_job_form(kind) == FABRIC_FORM_ALGORITHM || fabric_job_form(kind) == FABRIC_FORM_PAIRS;
}
/* It goes from rank to rank: there is no algorithm to choose. */
static inline bool fabric_job_pairs(enum fabric_job_kind kind)
{
    return fabric_job_form(kind) == FABRIC_FORM_PAIRS;
}

/* How a collective is run; AUTO: as NCCL's tuner chooses by size. */
enum fabric_algorithm {
    FABRIC_ALGORITHM_AUTO,
    FABRIC_ALGORITHM_RING,
    FABRIC_ALGORITHM_TREE,         /* double binary tree over hosts, chains within */
    FABRIC_ALGORITHM_NVLS,         /* reduced and multicast by the switches of one domain */
    FABRIC_ALGORITHM_NVLS_TREE,    /* that within a domain, trees between */
    FABRIC_ALGORITHM_HIERARCHICAL, /* scatter within a host, ring on each rail, gather within */
};
#define FABRIC_ALGORITHMS (FABRIC_ALGORITHM_HIERARCHICAL + 1)
enum fabric_protocol { FABRIC_PROTOCOL_AUTO, FABRIC_PROTOCOL_SIMPLE, FABRIC_PROTOCOL_LL, FABRIC_PROTOCOL_LL128 };
#define FABRIC_PROTOCOLS (FABRIC_PROTOCOL_LL128 + 1)
extern const char *const fabric_job_names[FABRIC_JOB_KINDS];
const char *fabric_algorithm_name(enum fabric_algorithm algorithm); /* as in the file */
const char *fabric_protocol_name(enum fabric_protocol protocol);

struct fabric_training;

struct fabric_cdf { /* of flow sizes; at least two points, probability ends at 1,000,000,000 */
    uint64_t bytes;
    uint32_t ppb; /* flows of at most `bytes`, parts per billion */
};

struct fabric_job {
    const char *name;
    uint8_t kind;         /* enum fabric_job_kind */
    uint32_t job_class;   /* into class[] */
    uint64_t size_bytes;  /* a rank's buffer (the largest of sizes), or of each transfer; 0 with flows and poisson */
    ps_t at;              /* start; with `after`, later than that job's end by so much */
    uint32_t after;       /* a job, FABRIC_NONE: none */
    uint32_t repeat;      /* 1: once */
    ps_t gap_ps;          /* between repetitions: end to start */
    uint32_t channels;    /* rings; 0: as many as a host has adapters */
    uint32_t qps;         /* a connection */
    uint64_t chunk_bytes; /* 0: the workload's own */
    const uint32_t *rank; /* that take part, in order of rank: GPUs of a collective or a training job, endpoints of
                           * the rest; all of them when not named.  Placement has been applied. */
    uint32_t ranks;
    uint8_t algorithm, protocol; /* of a collective: enum fabric_algorithm, fabric_protocol */
    bool pxn;                    /* all-to-all: by the GPU of the same host that is on the receiver's rail */
    bool clear_to_send;          /* a sender waits until the receiver has said that its buffer is free */
    const uint64_t *sizes;       /* a collective's runs, each with its repetitions; NULL: size_bytes alone */
    uint32_t size_count;
    uint32_t root; /* broadcast, reduce, gather: a rank's number */
    uint32_t
        degree; /* incast: senders; random: pairs; permutation: shift, 0: drawn; all-to-all: peers at a time, 0: all */
    uint32_t bursts; /* incast: how many, from start to start `every_ps` apart; 0: one */
    ps_t every_ps;
    uint32_t to; /* incast: receiver; FABRIC_NONE: drawn from the seed */
    const struct fabric_flow *flow;
    uint32_t flows;
    const struct fabric_cdf *cdf;
    uint32_t cdf_points;
    uint32_t load_ppm;               /* of the endpoints' line rate */
    ps_t until;                      /* last arrival, after the job's start */
    const uint32_t *from, *receiver; /* poisson: who sends, who is sent to; NULL: all ranks */
    uint32_t froms, receivers;
    const struct fabric_training *training; /* training.h; NULL: not of these kinds */
    struct fabric_at where;
};

enum fabric_way { FABRIC_WAY_BOTH, FABRIC_WAY_IN, FABRIC_WAY_OUT }; /* of a link, seen from the port that is named */

enum fabric_fault_kind {
    FABRIC_FAULT_DOWN,
    FABRIC_FAULT_CORRUPT,
    FABRIC_FAULT_DROP,
    FABRIC_FAULT_PAUSE,
    FABRIC_FAULT_SLOW,
    FABRIC_FAULT_WITHDRAW, /* routes avoid it, though it works */
    FABRIC_FAULT_FLOOD,    /* its edge has forgotten the port of an endpoint */
    FABRIC_FAULT_RECEIVE,  /* a host takes data more slowly */
    FABRIC_FAULT_MISROUTE  /* a switch sends what is for some endpoints by this port */
};
#define FABRIC_FAULT_KINDS (FABRIC_FAULT_MISROUTE + 1)

struct fabric_fault {
    uint8_t kind; /* enum fabric_fault_kind */
    ps_t at;
    ps_t lasts_ps;         /* PS_NEVER: to the end */
    uint32_t node;         /* the target */
    uint32_t port;         /* into port[]; FABRIC_NONE: the whole node */
    uint32_t ppm;          /* corrupt: of frames; slow: of the line rate that is left */
    uint32_t every;        /* drop: every Nth data packet */
    uint8_t way;           /* corrupt, drop: enum fabric_way */
    uint8_t priority;      /* pause */
    uint64_t ber;          /* corrupt: of bits, 2^64 is all; 0: of frames, by ppm */
    uint64_t rate_bps;     /* receive */
    uint32_t to, to_count; /* misroute: endpoints */
    const char *word;      /* what the file calls it: `flap` and `reset` are downs */
    struct fabric_at where;
};

struct fabric_converge { /* how routes follow what is up and down */
    bool on;             /* false: they do not */
    ps_t detect_ps;      /* until the switch beside a failure knows */
    ps_t step_ps;        /* until each next switch does */
};
/* `converge: true`: a link that says it is down, and a routing protocol on a switch's processor. */
#define FABRIC_CONVERGE_USUAL                                                                                          \
    {                                                                                                                  \
        .on = true, .detect_ps = 1 * PS_MS, .step_ps = 200 * PS_US                                                     \
    }

#define FABRIC_QPS_MAX 64 /* queue pairs a connection of a collective has */

/* Operations: what the fabric is made of and who answers for it (operations.c). */
#define FABRIC_UNSAID UINT8_MAX
enum fabric_nos { FABRIC_NOS_UNSAID, FABRIC_NOS_NXOS, FABRIC_NOS_EOS, FABRIC_NOS_SONIC, FABRIC_NOS_NVUE };
#define FABRIC_NOSES (FABRIC_NOS_NVUE + 1)
extern const char *const fabric_nos_names[FABRIC_NOSES + 1];
enum fabric_fec { FABRIC_FEC_UNSAID, FABRIC_FEC_NONE, FABRIC_FEC_FC, FABRIC_FEC_RS };
extern const char *const fabric_fec_names[FABRIC_FEC_RS + 2];
extern const char *const fabric_dcbx_names[]; /* "ieee", "cee", "off" */
/* Parts of a device whose version is approved for its role. */
#define FABRIC_PART_LIST(X)                                                                                            \
    X(NOS, "nos")                                                                                                      \
    X(FIRMWARE, "firmware")                                                                                            \
    X(NIC, "nic")                                                                                                      \
    X(CABLE, "cable")                                                                                                  \
    X(OPTICS, "optics")
enum fabric_part {
#define X(id, name) FABRIC_PART_##id,
    FABRIC_PART_LIST(X)
#undef X
        FABRIC_PARTS,
};
extern const char *const fabric_part_names[FABRIC_PARTS + 1];
enum fabric_routing_kind { FABRIC_SHORTEST, FABRIC_VALLEY_FREE };

struct fabric_device {                   /* of a node that the file says something of */
    const char *installed[FABRIC_PARTS]; /* NULL: not said */
    struct fabric_at at[FABRIC_PARTS];
};

struct fabric_approved { /* for a role: any of these */
    const char *const *version[FABRIC_PARTS];
    uint32_t versions[FABRIC_PARTS];
};

struct fabric_ignore {                /* findings of `rocelab check` that somebody answers for */
    const char *rule, *device, *port; /* device, port NULL: any */
    const char *reason;
    struct fabric_at at;
};

struct fabric_operations {
    uint8_t routing;                     /* enum fabric_routing_kind: how routes are made again */
    const struct fabric_device **device; /* [node], NULL where nothing is said; NULL: of none */
    const char **port_name;              /* [port], as its system calls it, or NULL; NULL: of none */
    struct fabric_approved approved[FABRIC_ROLES];
    const struct fabric_param *owner; /* `ecn`: "team-fabric" */
    uint32_t owners;
    const struct fabric_ignore *ignore;
    uint32_t ignores;
    uint32_t fan_in;                 /* ports that send to one at the same time by design; 0: not said */
    uint32_t share_ppm;              /* least share of the lossless classes; 0: not said */
    bool oversubscribed;             /* the file says that it is, and how much */
    const struct fabric_at *link_at; /* [port] where an explicit link is written; NULL: made by a builder */
};

struct fabric {
    const char *name, *path;
    uint8_t behaviour; /* enum fabric_behaviour */
    uint64_t seed;
    ps_t stop;             /* PS_NEVER: when the jobs are done */
    uint64_t gpu_line_bps; /* between GPUs of one host, each way */
    uint64_t gpu_rate_bps; /* of that, what copies reach */
    ps_t gpu_latency_ps;
    ps_t gpu_launch_ps;    /* from the start of a collective to the first byte: kernels, barriers */
    uint32_t gpu_nvls_ppm; /* of gpu_rate_bps that reductions and multicasts in the switch reach */

    uint32_t nodes, hosts, switches, ports, endpoints, places;
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

    const uint32_t *place_of;         /* [endpoint]; FABRIC_NONE: cabled to another host */
    const uint16_t *local_port;       /* [endpoint] the edge switch's port */
    const uint32_t *place_switch;     /* [place] switch index */
    const struct fabric_route *route; /* [switches] */
    const uint16_t *route_port;
    uint32_t route_ports;

    const struct fabric_job *job;
    uint32_t jobs;
    const struct fabric_fault *fault;
    uint32_t faults;
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

#endif
