/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: nodes, the wires between them, and windows of time.
 *
 * A node is whatever is coupled without latency: a switch, or a host with all its adapters.  Nodes meet
 * only through wires, and nothing sent on a wire arrives sooner than its latency; so all nodes may
 * run through a window of the smallest latency without looking at each other, each taking its own events in
 * order of (time, kind, port).  Where windows begin and end, which node runs first and on which thread
 * cannot be seen in the result.
 *
 * The engine knows neither switches nor adapters: a node brings a visit function, made from the template in
 * visit.h with the machine's calls inlined, and a machine.  The tests bring toys.
 *
 * Tiles.  Nodes are grouped (a pod).  A tile runs alone, in its own small windows, through a great
 * window: the smallest latency between tiles.  Its state stays in cache meanwhile.  A tile runs on one
 * thread; between great windows all threads meet, and one of them does what concerns all.
 */
#ifndef ROCELAB_ENGINE_ENGINE_H
#define ROCELAB_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/time.h"
#include "engine/link.h"
#include "packet/pktpool.h"

/*
 * Events of a node are ordered by one key: time << 12 | kind << 10 | port.  52 bits of picoseconds
 * are 75 minutes of virtual time; longer runs are refused when they are set up.
 */
#define EVENT_BITS 12
#define EVENT_PORT_BITS 10
#define ENGINE_PORTS_MAX (1u << EVENT_PORT_BITS)
#define ENGINE_TIME_MAX (PS_NEVER >> EVENT_BITS)
#define EVENT_NEVER UINT64_MAX
enum event_kind { EVENT_PAUSE, EVENT_ARRIVAL, EVENT_FREE, EVENT_TICK };

static inline uint64_t event_key(ps_t at, enum event_kind kind, uint32_t port)
{
    return at >= ENGINE_TIME_MAX ? EVENT_NEVER : at << EVENT_BITS | (uint64_t)kind << EVENT_PORT_BITS | port;
}

/* Where `at` is known to be a time of the run. */
static inline uint64_t event_key_near(ps_t at, enum event_kind kind, uint32_t port)
{
    return at << EVENT_BITS | (uint64_t)kind << EVENT_PORT_BITS | port;
}

static inline ps_t event_time(uint64_t key)
{
    ps_t at = key >> EVENT_BITS;
    return at >= ENGINE_TIME_MAX ? PS_NEVER : at;
}

/* What a frame occupies; the same for the whole run. */
struct wire_model {
    uint16_t min_bytes;   /* frames are padded to this, without FCS */
    uint16_t before;      /* preamble */
    uint16_t after;       /* FCS: still part of the frame */
    uint16_t gap;         /* until the next may start */
    uint16_t pause_bytes; /* all that a PFC frame occupies, gap included */
    bool whole_ns;        /* times on the line are cut to nanoseconds, as some simulators do */
};
#define WIRE_MODEL_ETHERNET                                                                                            \
    {                                                                                                                  \
        .min_bytes = 60, .before = 8, .after = 4, .gap = 12, .pause_bytes = 84                                         \
    }

#define PORT_NONE UINT32_MAX
#define PORT_FAR 1u     /* the other end is in another tile */
#define PORT_DOWN 2u    /* nothing goes out */
#define PORT_CORRUPT 4u /* loses packets: see port_extra */
#define PORT_CUT 8u     /* the other end begins with the header, before the last byte is there */
#define PORT_DIVIDED 16u
#define PORT_TAP 32u /* somebody listens: port_extra.tap */

struct port {                  /* the sending half, owned by its node */
    _Alignas(64) ps_t free_at; /* ENGINE_TIME_MAX: the port is down */
    struct wire *wire;         /* NULL: nothing plugged in */
    ps_t *peer_next;           /* the other end's earliest event, where that is in the same tile */
    ps_t behind; /* from when the port is free again to the other end's call; wraps where that is before */
    uint32_t ps_per_byte;
    uint32_t queued; /* packets the machine holds for this port, as far as the engine knows: 0 saves asking */
    uint32_t peer;   /* node */
    uint16_t flags;
    uint16_t spare;
    uint64_t sent_bytes;  /* of line, gaps included: utilisation */
    uint64_t sent_frames; /* data and pauses */
};
_Static_assert(sizeof(struct port) == 64, "a port's sending half fits a cache line");

struct port_extra { /* what the common case does not read */
    struct rate rate;
    ps_t latency; /* from the last bit sent to the machine's call at the other end */
    ps_t pause_latency;
    uint32_t loss_ppm;
    uint64_t keeps;                  /* of bytes: the probability that one arrives unharmed, 2^64 is 1; 0: all do */
    uint32_t drop_every, until_drop; /* each so-manieth packet; 0: none */
    uint64_t lost;                   /* packets: by corruption, or arrived while the link was down */
    uint64_t lost_bytes;             /* of their frames */
    uint64_t pauses_sent;
    struct rng rng;
    struct tap *tap; /* tap.h */
};

struct event { /* an arrival in a worker's list */
    uint64_t key;
    uint32_t what;
    uint32_t spare;
};

struct worker;
struct node;
typedef void (*visit_fn)(struct worker *worker, struct node *node, ps_t end);

struct node {
    _Alignas(64) visit_fn visit;
    void *machine;
    struct port *port;
    struct port_extra *extra;
    struct wire *in;   /* [ports] by receiving port */
    uint64_t *tree;    /* winner tree of port-free events; [1] is the earliest */
    uint64_t tick;     /* key of the machine's deadline */
    uint32_t *link_in; /* [ports] the link's number, for the digest */
    uint32_t leaves;   /* of the tree; a power of two */
    uint32_t id;       /* as the caller numbers nodes */
    uint32_t index;    /* as the engine does: by tile */
    uint16_t ports;
    uint16_t lost_arrivals; /* ports that are down, and lose what arrives */
    bool allocates;         /* takes packets from the pool when visited */
};

struct tile {
    uint32_t first, count;                   /* nodes, by index */
    uint32_t boundary_first, boundary_count; /* into engine.boundary: nodes that hear from other tiles */
    ps_t window;                             /* smallest latency inside */
    ps_t next;                               /* earliest event, after a visit */
};

struct worker {
    _Alignas(128) struct engine *engine; /* two lines: processors fetch them in pairs */
    uint32_t min_bytes, line_bytes;      /* of the wire model: least frame; all that is added to one */
    struct pktpool pool;
    struct wire_store store;
    struct event *list, *list_other; /* arrivals of the node being visited; room for sorting */
    uint32_t list_capacity;
    uint32_t number;
    uint64_t hops, digest;
    ps_t from;    /* nothing of the window being run is earlier */
    ps_t far_min; /* earliest arrival sent to another tile in this window */
    ps_t next;
    const uint32_t *tile; /* [tiles] what it runs */
    uint32_t tiles;
    void *scratch; /* the machines' */
};

struct engine_node {
    visit_fn visit;
    void *machine;
    uint16_t ports;
    bool allocates;
    uint32_t tile;
};

#define WIRE_CUT_BYTES 64u /* of a frame, without preamble */
struct engine_end {
    uint32_t node;
    uint16_t port;
    ps_t latency;      /* of this end, when it receives: forwarding, or the adapter's */
    ps_t reaction;     /* of this end to a pause */
    uint32_t loss_ppm; /* frames corrupted on their way to this end */
    bool cut_through;  /* has a packet when WIRE_CUT_BYTES of it are there */
};

struct engine_link {
    struct engine_end end[2];
    uint64_t rate_bps;
    ps_t propagation;
};

struct engine_config {
    const struct engine_node *node;
    uint32_t nodes;
    const struct engine_link *link;
    uint32_t links;
    uint32_t threads;
    bool no_tiles;     /* great windows no longer than the smallest latency: for comparison */
    ps_t sync_latency; /* no great window is longer: what couples nodes otherwise takes at least this */
    uint64_t seed;
    uint32_t packets_max;
    uint32_t burst; /* packets a visit may take at most */
    bool cold;      /* packets have their cold record */
    bool telemetry; /* packets have room for in-band telemetry */
    struct wire_model model;
    size_t scratch_bytes; /* for each worker */
};

struct engine;

/* 0, -EINVAL (a link without latency or rate, a port used twice), -ENOMEM. */
int engine_create(const struct engine_config *config, struct engine **ret);
void engine_free(struct engine *engine);

enum engine_state {
    ENGINE_RUNNING, /* more to do */
    ENGINE_IDLE,    /* nothing will ever happen */
    ENGINE_UNTIL,   /* reached the time asked for */
    ENGINE_STOPPED, /* the coordinator said so */
};
/* Called between great windows, alone; everything before `now` has been run.  It may wake nodes at `now` or later.
 * True: stop here. */
typedef bool (*coordinate_fn)(void *context, ps_t now);
/* Runs `windows` great windows at most, events before `until` only. */
enum engine_state engine_run(struct engine *engine, uint64_t windows, ps_t until, coordinate_fn coordinate,
                             void *context);

struct node *engine_node(struct engine *engine, uint32_t id);
struct worker *engine_worker(struct engine *engine, uint32_t number);
uint32_t engine_workers(const struct engine *engine);
/* For machines that learn of something between windows: the node has an event at `at`. */
void engine_wake(struct engine *engine, uint32_t id, ps_t at);
/* The port at both ends of a link goes down or comes up at once; to be called from the end's own visit. */
void node_port_down(struct node *node, uint16_t port, bool down);
/* The port's line rate from now on. */
void node_port_rate(struct node *node, uint16_t port, uint64_t rate_bps, const struct wire_model *model);

/* Between windows: everything before has been run; windows run so far; the earliest event that is known. */
ps_t engine_now(const struct engine *engine);
uint64_t engine_windows(const struct engine *engine);
ps_t engine_next(const struct engine *engine);
/* Nothing was left to run before `at`: the time is now that. */
void engine_pass_to(struct engine *engine, ps_t at);
const struct wire_model *engine_model(const struct engine *engine);

struct engine_totals {
    uint64_t hops, digest, windows;
    uint64_t packets_live;    /* taken from the pools and not given back */
    uint64_t packets_on_wire; /* of them, travelling */
    uint64_t packets_peak;    /* descriptors ever used */
    ps_t now, great_window, small_window;
    size_t memory_bytes;
};
struct engine_totals engine_totals(const struct engine *engine);

#endif
