/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: nodes, the links between them, and windows of time.
 *
 * A node is whatever is coupled without latency: a switch, or a host with all its adapters.  Nodes meet
 * only through links, and nothing sent on a link arrives sooner than its latency; so all nodes may
 * run through a window of the smallest latency without looking at each other, each taking its own events in
 * order of (time, kind, port).  Where windows begin and end, which node runs first and on which thread
 * cannot be seen in the result.
 *
 * What a node is, it does not look at: a node brings a visit function, made from the template in visit.h with the
 * calls of node/node.h inlined, and a machine.  The tests bring toys.
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

#include "base/time.h"
#include "engine/link.h"
#include "node/llr.h"
#include "node/node.h"
#include "packet/pktpool.h"

struct event { /* an arrival in a worker's list */
    uint64_t key;
    uint32_t what;
    uint32_t spare;
};

struct worker;
struct node;
typedef void (*visit_fn)(struct worker *worker, struct node *node, ps_t end);

struct node_line { /* of a port with link-level retry (line.c) */
    struct llr llr;
    ps_t latency; /* of its words and of the news of a frame: propagation, PHY */
    ps_t free_at; /* of a port that is held: when the line is */
    ps_t word_at; /* when the last word arrives */
};

struct node {
    _Alignas(64) visit_fn visit;
    void *machine;
    struct port *port;
    struct port_extra *extra;
    struct link *in; /* [ports] by receiving port */
    uint64_t *tree;  /* winner tree of port-free events; [1] is the earliest */
    uint64_t tick;   /* key of the machine's deadline */
    uint64_t *heard; /* [2 * ports] digests (node/digest.h) of each port's frames, then of each port's control words */
    uint32_t *link_in; /* [ports] the link's number, for the digest */
    uint32_t leaves;   /* of the tree; a power of two */
    uint32_t id;       /* as the caller numbers nodes */
    uint32_t index;    /* as the engine does: by tile */
    uint16_t ports;
    uint16_t lost_arrivals; /* ports that are down, and lose what arrives */
    bool allocates;         /* takes packets from the pool when visited */
    struct node_line *line; /* [ports]; NULL: no port has link-level retry */
    ps_t line_at;           /* the earliest of their deadlines */
};

struct tile {
    uint32_t first, count;                   /* nodes, by index */
    uint32_t boundary_first, boundary_count; /* into engine.boundary: nodes that hear from other tiles */
    ps_t window;                             /* smallest latency inside */
    ps_t next;                               /* earliest event, after a visit */
};

struct worker {
    _Alignas(128) struct engine *engine; /* two lines: processors fetch them in pairs */
    uint32_t min_bytes, line_bytes;      /* of the line model: least frame; all that is added to one */
    struct pktpool pool;
    struct link_store store;
    struct event *list, *list_other; /* arrivals of the node being visited; room for sorting */
    uint32_t list_capacity;
    uint32_t number;
    uint64_t hops;
    ps_t from;    /* nothing of the window being run is earlier */
    ps_t far_min; /* earliest arrival sent to another tile in this window */
    ps_t next;
    const uint32_t *tile; /* [tiles] what it runs */
    uint32_t tiles;
    struct node_io io; /* for the machines' calls */
};

struct engine_node {
    visit_fn visit;
    void *machine;
    uint16_t ports;
    bool allocates;
    uint32_t tile;
};

struct engine_end {
    uint32_t node;
    uint16_t port;
    ps_t latency;      /* of this end, when it receives: forwarding, or the adapter's */
    ps_t reaction;     /* of this end to a pause */
    uint32_t loss_ppm; /* frames corrupted on their way to this end */
    bool cut_through;  /* has a packet when PORT_CUT_BYTES of it are there */
};

struct engine_link {
    struct engine_end end[2];
    uint64_t rate_bps;
    ps_t propagation;
    struct llr_config llr; /* of both ends; buffer_bytes 0: there is none */
    ps_t llr_reaction;     /* of either end to its words */
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
    uint32_t burst;      /* packets a visit may take at most */
    bool cold;           /* packets have their cold record */
    bool telemetry;      /* packets have room for in-band telemetry */
    uint32_t bytes_each; /* packets have room for so many bytes of a real frame (packet/frame.h); 0: none */
    struct line_model model;
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
/* Before a port goes down: link-level retry begins anew, and what its replay buffer holds is lost. */
void node_line_reset(struct worker *worker, struct node *node, uint32_t port, ps_t now);
/* When the line is free, whether the port is held or not. */
ps_t node_line_free_at(const struct node *node, uint32_t port);
/* The port's line rate from now on. */
void node_port_rate(struct node *node, uint16_t port, uint64_t rate_bps, const struct line_model *model);

/* Between windows: everything before has been run; windows run so far; the earliest event that is known. */
ps_t engine_now(const struct engine *engine);
uint64_t engine_windows(const struct engine *engine);
ps_t engine_next(const struct engine *engine);
/* The same, but for what the node itself decides: its machine's deadline. */
ps_t engine_next_beside(const struct engine *engine, uint32_t id);
/* Nothing was left to run before `at`: the time is now that. */
void engine_pass_to(struct engine *engine, ps_t at);
const struct line_model *engine_model(const struct engine *engine);

struct engine_totals {
    uint64_t hops, digest, windows;
    uint64_t packets_live;     /* taken from the pools and not given back */
    uint64_t packets_on_links; /* of them, travelling */
    uint64_t packets_peak;     /* descriptors ever used */
    ps_t now, great_window, small_window;
    size_t memory_bytes;
};
struct engine_totals engine_totals(const struct engine *engine);

#endif
