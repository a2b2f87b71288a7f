/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pause graph: which queue stands still because of which other.
 *
 * A node is an egress queue (port and priority) or a NIC that pauses its switch.  An edge leads from a queue that
 * stands still to the queue of the switch behind it in which those packets wait, or to the NIC behind it.  Where the
 * input knows the cause (a simulation) it is taken, else the long and the paused queues of that switch are.  A root is
 * a node that others stand still for and that is not paused itself, or hardly.  Private to src/diagnose.
 */
#ifndef ROCELAB_DIAGNOSE_GRAPH_INT_H
#define ROCELAB_DIAGNOSE_GRAPH_INT_H

#include "diagnose/rule_int.h"

/* That a queue stands still for good: all of the time between the last looks; for longer than a pause lasts that is not
 * said again; by so few frames for the time that hardly one took a pause back; by frames alone, without having sent
 * anything between the last looks. */
enum graph_stuck { GRAPH_MOVES, GRAPH_STUCK_LATELY, GRAPH_STUCK_ON, GRAPH_STUCK_REPEATED, GRAPH_STUCK_SILENT };

struct graph_node {
    uint32_t port; /* the queue's; of a NIC that pauses: the NIC's */
    uint8_t priority;
    bool host;          /* a NIC that pauses */
    uint8_t stuck;      /* enum graph_stuck */
    double paused;      /* share of time that it stood still */
    double in, own;     /* most that one stood still for it; and of that, while it was not paused itself */
    uint32_t out, outs; /* edges to what it waits for: edge[out ... out + outs - 1] */
    uint32_t back;      /* first edge that leads here; next_back of each goes on; EVIDENCE_NONE: none */
    uint32_t circle;    /* number of the circle it is in; EVIDENCE_NONE */
};
struct graph_edge {
    uint32_t from, to, next_back;
    double share;  /* of time that `from` stood still because of `to` */
    double passed; /* of that, while `to` stood still itself */
};
struct hashing {
    double expected, rare;
};
#define HASHING_KEPT 64
struct hashing_thrown {
    uint32_t count, links;
    struct hashing hashing;
};
struct diagnose_graph {
    struct graph_node *node;
    uint32_t nodes;
    struct graph_edge *edge;
    uint32_t edges;
    uint32_t circles;
    uint32_t *root; /* nodes, those that most stood still for first */
    uint32_t roots;
    uint32_t *of;                /* [objects * 8] node of a queue + 1; private to graph.c */
    uint32_t *nic_of;            /* the same of NICs that pause */
    uint8_t *tier;               /* [objects] of devices: 0 hosts, 1 switches with hosts, and so on; GRAPH_NO_TIER */
    double *flows;               /* [objects] of switches: flows that leave upwards (hashing.c) */
    uint32_t *uplinks;           /* [objects] of switches: links upwards */
    uint64_t *rates;             /* [objects] of switches: the highest rate of those */
    struct siblings *siblings;   /* [objects * 2] of devices: what was measured, up and down (topology.c) */
    double most_ns, most_frames; /* of all pauses: what stands for the time where there was one look */
    struct diagnose_idle *idle;  /* private to rules_idle.c */
    struct hashing_thrown thrown[HASHING_KEPT]; /* private to hashing.c */
    bool cables_whole;                          /* private to topology.c: as cables_are_whole() has it */
    double cables_lack; /* private to topology.c: share of its packets that half of the cables lack at most */
    uint8_t lossless;   /* priorities that are lossless somewhere, a bit each */
};
#define GRAPH_NO_TIER 0xff
#define GRAPH_QUANTA_BITS (65535.0 * 512.0) /* what one pause frame can ask for */
/* Of that: a pause is said again when about half of it is over, so that more a frame, over pauses and their ends
 * together, leaves hardly room for ends: pauses last four times the most that a frame can ask for, or longer. */
#define GRAPH_REPEATED_SHARE 0.4

/* The node of a queue (or of a NIC that pauses); NULL: it has nothing to do with pauses. */
const struct graph_node *graph_queue(const struct diagnose *diagnose, uint32_t port, unsigned priority);
/* Pause frames that a queue received, by either end of its cable; NULL: nobody counts them. */
const struct evidence_value *graph_frames(const struct diagnose *diagnose, uint32_t port, unsigned priority);
bool graph_is_root(const struct diagnose *diagnose, uint32_t port);
/* Who stands still because of a node: victims of the finding, for at least limits.paused_share. */
void graph_victims(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t node);
/* Tier of a port's device, of its peer's; GRAPH_NO_TIER. */
uint8_t graph_tier(const struct diagnose *diagnose, uint32_t port);
uint8_t graph_peer_tier(const struct diagnose *diagnose, uint32_t port);
static inline bool graph_peer_is_host(const struct diagnose *diagnose, uint32_t port)
{
    return graph_peer_tier(diagnose, port) == 0;
}

void topology_tiers(struct diagnose *diagnose);                   /* topology.c */
bool topology_up(const struct diagnose *diagnose, uint32_t port); /* leads to a higher tier */
void hashing_prepare(struct diagnose *diagnose);                  /* hashing.c */
void shares_prepare(struct diagnose *diagnose);                   /* shares.c */
void circles_find(struct diagnose *diagnose);                     /* circles.c */
void idle_prepare(struct diagnose *diagnose);                     /* rules_idle.c */
void cables_prepare(struct diagnose *diagnose);                   /* topology.c */
/* The share of time in which this port could have sent what adapters with data for its host were held back with. */
double idle_could_carry(const struct diagnose *diagnose, uint32_t port);
/* Whether so large a share of the time is most of what some slow job lost against its ideal. */
bool idle_explains_most(const struct diagnose *diagnose, double lost);

/* The port has credits to wait for, and whoever gives them takes what comes at once (rules_credits.c). */
bool waits_for_credits(const struct diagnose *diagnose, uint32_t port);
/* Of a switch with credits, a port neither full nor held up: what waits there for its sake waits for the line. */
bool is_idle_behind_credits(const struct diagnose *diagnose, uint32_t port);

/* Links that share a load: those by which a switch reaches the tier above, or (down) by which that tier reaches it. */
struct siblings {
    uint32_t device; /* the lower one */
    bool down, measured;
    uint32_t count, busiest; /* links; the port of the busiest */
    uint32_t downs, a_down;  /* links that are down; one of them */
    uint32_t empty;          /* links with next to nothing */
    double most, mean;       /* of their lines' share that was sent */
};
bool siblings_of(const struct diagnose *diagnose, uint32_t port, struct siblings *siblings);
/* The device whose links the port is one of; EVIDENCE_NONE: of none. */
uint32_t siblings_device(const struct diagnose *diagnose, uint32_t port);
void siblings_measure(const struct diagnose *diagnose, uint32_t device, bool down, struct siblings *siblings);
/* The next port of the group: begin with EVIDENCE_NONE, ends with it. */
uint32_t siblings_next(const struct diagnose *diagnose, const struct siblings *siblings, uint32_t after);

/* What an ideal hash of so many equal flows over so many links gives: most / mean, as expected, and what it is rarely
 * above; and how many links stay empty. */
struct hashing hashing_most(const struct diagnose *diagnose, double flows, uint32_t links);
double hashing_empty(double flows, uint32_t links);
/* How many equal flows leave a switch upwards, as far as it is known; at least. */
double hashing_flows(const struct diagnose *diagnose, uint32_t device);

#endif
