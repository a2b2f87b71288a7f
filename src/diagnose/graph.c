/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the pause graph (graph_int.h): nodes from counters of pauses, edges from the causes that a simulation knows or
 * from what the switch behind a paused port looks like, roots, and who stands still for a root.
 *
 * One packet is blamed for a simulated pause, the one that crossed the threshold, wherever most of its group waits:
 * where another queue of that switch is more than twice as long, that one is taken.  Of a switch the likeliest queues
 * alone are looked at, so that the work grows with the ports.
 */
#include "diagnose/graph_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "diagnose/nics_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define LONG_QUEUE 0.5     /* of the longest queue: as likely a cause */
#define SHORT_QUEUE 0.1    /* of it: too short to be one */
#define CANDIDATES_MOST 16 /* queues of a switch that are looked at as causes */
#define STUCK_SHARE 0.1    /* a pause without end must have been there for so long to be called one */
#define ROOT_SHARE 0.5     /* of what others stood still for it, while it was not paused itself */

static uint32_t slot(uint32_t port, unsigned priority)
{
    CHECK(priority < EVIDENCE_PRIORITIES);
    return port * EVIDENCE_PRIORITIES + priority;
}

/* --- nodes --- */

/* A pause that lasted longer than its frame allows was said again and again, and never taken back. */
static bool never_resumed(const struct diagnose *diagnose, uint32_t port, unsigned priority, const struct share *paused)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t events = evidence_get(evidence, port, priority, EVIDENCE_RX_PAUSE_EVENTS),
             rate = line_rate(diagnose, port);
    const struct evidence_value *time = evidence_find(evidence, port, priority, EVIDENCE_RX_PAUSE_NS);

    if (!events || !rate || !time || paused->value < STUCK_SHARE) return false;
    return (double)time->grown / (double)events > GRAPH_QUANTA_BITS / (double)rate * 1e9;
}

const struct evidence_value *graph_frames(const struct diagnose *diagnose, uint32_t port, unsigned priority)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;
    const struct evidence_value *frames = evidence_find(evidence, port, priority, EVIDENCE_RX_PAUSE_FRAMES);

    if (!frames && diagnose->graph->lossless == 1u << priority)
        frames = evidence_find(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_PAUSE_FRAMES);
    if (!frames && peer != EVIDENCE_NONE) frames = evidence_find(evidence, peer, priority, EVIDENCE_TX_PAUSE_FRAMES);
    return frames;
}

/* Of a system that does not count how often pauses began: so few frames for so much time. */
static bool only_repeated(const struct diagnose *diagnose, uint32_t port, unsigned priority, const struct share *paused)
{
    const struct evidence_value *frames = graph_frames(diagnose, port, priority);
    uint64_t rate = line_rate(diagnose, port);

    if (evidence_find(diagnose->evidence, port, priority, EVIDENCE_RX_PAUSE_EVENTS)) return false;
    if (!paused->known || paused->bound || paused->since_boot || paused->value < STUCK_SHARE) return false;
    if (!frames || frames->looks < 2 || !frames->grown || !rate) return false;
    return (double)paused->from->grown / (double)frames->grown >
           GRAPH_REPEATED_SHARE * GRAPH_QUANTA_BITS / (double)rate * 1e9;
}

/* Between the last two looks: frames that ask for all of the time, and not a packet that left. */
static bool sent_nothing(const struct diagnose *diagnose, uint32_t port, unsigned priority, const struct share *paused)
{
    const struct evidence_value *sent = evidence_find(diagnose->evidence, port, priority, EVIDENCE_TX_PACKETS);

    if (!sent) sent = evidence_find(diagnose->evidence, port, priority, EVIDENCE_TX_BYTES);
    if (!sent || sent->looks < 2 || paused->lately < diagnose->limits.storm_share) return false;
    return sent->looks > 2 ? sent->grown == sent->grown_before : sent->grown == 0;
}

static void node_paused(struct diagnose *diagnose, struct graph_node *node)
{
    struct share paused = share_paused(diagnose, node->port, node->priority);

    node->paused = paused.value;
    if (!paused.bound && paused.lately >= diagnose->limits.storm_share)
        node->stuck = GRAPH_STUCK_LATELY;
    else if (never_resumed(diagnose, node->port, node->priority, &paused))
        node->stuck = GRAPH_STUCK_ON;
    else if (only_repeated(diagnose, node->port, node->priority, &paused))
        node->stuck = GRAPH_STUCK_REPEATED;
    else if (paused.bound && sent_nothing(diagnose, node->port, node->priority, &paused))
        node->stuck = GRAPH_STUCK_SILENT;
}

/* The node of a queue, or of a NIC that pauses, made where it is not there; EVIDENCE_NONE: no memory. */
static uint32_t node_of(struct diagnose *diagnose, uint32_t port, unsigned priority, bool host)
{
    struct diagnose_graph *graph = diagnose->graph;
    uint32_t *of = host ? &graph->nic_of[slot(port, priority)] : &graph->of[slot(port, priority)];

    if (*of) return *of - 1;
    if (!MORE(diagnose, graph->node, graph->nodes)) return EVIDENCE_NONE;
    struct graph_node *node = &graph->node[graph->nodes++];
    *node = (struct graph_node){
        .port = port, .priority = (uint8_t)priority, .host = host, .back = EVIDENCE_NONE, .circle = EVIDENCE_NONE};
    if (!host) node_paused(diagnose, node);
    *of = graph->nodes;
    return graph->nodes - 1;
}

/* Whose queue stood still by this value; EVIDENCE_NONE: it says nothing of that, or the other end is not known. */
static uint32_t paused_by(const struct evidence *evidence, const struct evidence_value *value)
{
    if (!value->grown) return EVIDENCE_NONE;
    if (evidence->object[value->object].scope != EVIDENCE_PORT) return EVIDENCE_NONE;
    if (evidence->object[value->object].same_as != EVIDENCE_NONE) return EVIDENCE_NONE;
    switch (value->counter) {
    case EVIDENCE_RX_PAUSE_NS:
    case EVIDENCE_RX_PAUSE_FRAMES:
    case EVIDENCE_PORT_RX_PAUSE_FRAMES:
        return value->object;
    case EVIDENCE_TX_PAUSE_NS:
    case EVIDENCE_TX_PAUSE_FRAMES:
    case EVIDENCE_PORT_TX_PAUSE_FRAMES:
        return evidence->object[value->object].peer;
    default:
        return EVIDENCE_NONE;
    }
}

/* Of frames without a priority: of the one that is lossless, if it is one. */
static unsigned priority_of(const struct diagnose *diagnose, const struct evidence_value *value)
{
    unsigned lossless = diagnose->graph->lossless;

    if (value->priority != EVIDENCE_NO_PRIORITY) return value->priority;
    return lossless && !(lossless & (lossless - 1)) ? (unsigned)__builtin_ctz(lossless) : EVIDENCE_NO_PRIORITY;
}

static void find_paused(struct diagnose *diagnose)
{
    static const enum evidence_counter pauses[] = {EVIDENCE_RX_PAUSE_NS,          EVIDENCE_TX_PAUSE_NS,
                                                   EVIDENCE_RX_PAUSE_FRAMES,      EVIDENCE_TX_PAUSE_FRAMES,
                                                   EVIDENCE_PORT_RX_PAUSE_FRAMES, EVIDENCE_PORT_TX_PAUSE_FRAMES};
    const struct evidence *evidence = diagnose->evidence;
    bool any = false;

    for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++)
        any |= diagnose->counters[pauses[i]].most > 0;
    if (!any) return;
    for (uint32_t i = 0; i < evidence->values && !diagnose->full; i++) {
        uint32_t port = paused_by(evidence, &evidence->value[i]);
        unsigned priority = priority_of(diagnose, &evidence->value[i]);
        if (port == EVIDENCE_NONE || priority == EVIDENCE_NO_PRIORITY) continue;
        if (share_paused(diagnose, port, priority).value > 0) node_of(diagnose, port, priority, false);
    }
}

/* --- edges --- */

static void edge_add(struct diagnose *diagnose, uint32_t from, uint32_t to, double share, double passed)
{
    struct diagnose_graph *graph = diagnose->graph;

    if (from == EVIDENCE_NONE || to == EVIDENCE_NONE || from == to || share <= 0) return;
    CHECK(from < graph->nodes && to < graph->nodes);
    if (!MORE(diagnose, graph->edge, graph->edges)) return;
    /* edges of a node stand together, one after the other */
    CHECK(!graph->node[from].outs || graph->node[from].out + graph->node[from].outs == graph->edges);
    if (!graph->node[from].outs++) graph->node[from].out = graph->edges;
    graph->edge[graph->edges++] =
        (struct graph_edge){.from = from, .to = to, .next_back = EVIDENCE_NONE, .share = share, .passed = passed};
}

static double queue_length(const struct evidence *evidence, uint32_t port, unsigned priority)
{
    uint64_t peak = evidence_get(evidence, port, priority, EVIDENCE_QUEUE_PEAK);
    uint64_t now = evidence_get(evidence, port, priority, EVIDENCE_QUEUE_BYTES);

    return (double)(peak > now ? peak : now);
}

/* What packets of a priority may wait for in a switch: its likeliest queues, the likeliest first. */
struct candidate {
    uint32_t port;
    double length, paused, busy;
    double likely; /* 0 to 1 */
};
struct candidates {
    struct candidate *list;
    uint32_t count, room;
    uint32_t device;
    unsigned priority;
    double longest, most_paused, busiest; /* of all */
};

static bool candidate_add(struct candidates *all, const struct candidate *one)
{
    if (!GROW(all->list, all->count, all->room)) return false;
    if (one->length > all->longest) all->longest = one->length;
    if (one->paused > all->most_paused) all->most_paused = one->paused;
    if (one->busy > all->busiest) all->busiest = one->busy;
    all->list[all->count++] = *one;
    return true;
}

/* How likely packets wait in this queue.  By its length, where anybody says lengths; else by whether it was paused
 * itself; else by its load. */
static double likely(const struct diagnose *diagnose, const struct candidates *all, const struct candidate *one)
{
    uint64_t full = evidence_get(diagnose->evidence, one->port, all->priority, EVIDENCE_ECN_MAX);

    if (all->longest > 0) {
        bool is_long = one->length >= LONG_QUEUE * all->longest || (full && one->length >= (double)full);
        bool stood = one->paused > diagnose->limits.paused_share && one->length > SHORT_QUEUE * all->longest;
        return is_long || stood ? one->length / all->longest : 0;
    }
    if (all->most_paused > diagnose->limits.paused_share) return one->paused / all->most_paused;
    return all->busiest > 0 && one->busy >= LONG_QUEUE * all->busiest ? one->busy / all->busiest : 0;
}

static int by_likelihood(const void *a, const void *b)
{
    const struct candidate *one = a, *two = b;

    if (one->likely != two->likely) return one->likely > two->likely ? -1 : 1;
    return one->port < two->port ? -1 : one->port > two->port;
}

static void take_candidates(struct diagnose *diagnose, struct candidates *all, uint32_t device, unsigned priority)
{
    const struct evidence *evidence = diagnose->evidence;

    if (all->device == device && all->priority == priority) return;
    *all = (struct candidates){.list = all->list, .room = all->room, .device = device, .priority = priority};
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        struct candidate one = {.port = port,
                                .length = queue_length(evidence, port, priority),
                                .paused = share_paused(diagnose, port, priority).value,
                                .busy = share_busy(diagnose, port).value};
        if (!candidate_add(all, &one)) break;
    }
    for (uint32_t i = 0; i < all->count; i++)
        all->list[i].likely = likely(diagnose, all, &all->list[i]);
    if (all->count) qsort(all->list, all->count, sizeof all->list[0], by_likelihood);
    if (all->count > CANDIDATES_MOST) all->count = CANDIDATES_MOST;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Edges from a queue to those of the switch behind it, by what these look like.  What came in by a port does not leave
 * by it. */
static void infer_edges(struct diagnose *diagnose, struct candidates *all, uint32_t from, uint32_t pauser)
{
    struct graph_node node = diagnose->graph->node[from];
    double sum = 0;

    take_candidates(diagnose, all, diagnose->evidence->object[pauser].parent, node.priority);
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].port != pauser) sum += all->list[i].likely;
    for (uint32_t i = 0; i < all->count && sum > 0; i++) {
        const struct candidate *one = &all->list[i];
        if (one->port == pauser || one->likely <= 0) continue;
        double share = node.paused * one->likely / sum;
        edge_add(diagnose, from, node_of(diagnose, one->port, node.priority, false), share,
                 smaller(share, one->paused));
    }
}

/* The queue that a simulated pause is for: the one it blames, unless another is much longer. */
static uint32_t blamed(const struct diagnose *diagnose, const struct candidates *all,
                       const struct evidence_pause *pause)
{
    double length = queue_length(diagnose->evidence, pause->cause, pause->priority);

    for (uint32_t i = 0; i < all->count && length < LONG_QUEUE * all->longest; i++)
        if (all->list[i].port != pause->port && all->list[i].length > length) return all->list[i].port;
    return pause->cause;
}

/* Of a simulation.  False: it does not know the cause. */
static bool exact_edge(struct diagnose *diagnose, struct candidates *all, const struct evidence_pause *pause,
                       uint32_t from)
{
    double span = span_s(diagnose), share = span > 0 ? (double)pause->time_ns / 1e9 / span : 0;
    double passed = span > 0 ? (double)pause->passed_on_ns / 1e9 / span : 0;

    if (pause->cause == EVIDENCE_NONE) return false;
    take_candidates(diagnose, all, diagnose->evidence->object[pause->port].parent, pause->priority);
    uint32_t cause = blamed(diagnose, all, pause);
    double stood = share_paused(diagnose, cause, pause->priority).value;
    if (cause != pause->cause) passed = smaller(share, stood);
    if (stood + share - 1 > passed) passed = stood + share - 1; /* so long at least both stood still */
    edge_add(diagnose, from, node_of(diagnose, cause, pause->priority, false), share, smaller(passed, share));
    return true;
}

struct pauses { /* of a simulation, by who was paused */
    const struct evidence_pause **list;
    uint32_t count;
};

static int by_paused(const void *a, const void *b)
{
    const struct evidence_pause *one = *(const struct evidence_pause *const *)a;
    const struct evidence_pause *two = *(const struct evidence_pause *const *)b;

    if (one->paused != two->paused) return one->paused < two->paused ? -1 : 1;
    if (one->priority != two->priority) return one->priority < two->priority ? -1 : 1;
    return one < two ? -1 : one > two;
}

static uint32_t first_of(const struct pauses *pauses, uint32_t port, unsigned priority)
{
    uint32_t low = 0, high = pauses->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct evidence_pause *pause = pauses->list[middle];
        if (pause->paused < port || (pause->paused == port && pause->priority < priority))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void edges_of(struct diagnose *diagnose, struct candidates *all, const struct pauses *pauses, uint32_t from)
{
    const struct evidence *evidence = diagnose->evidence;
    struct graph_node node = diagnose->graph->node[from];
    uint32_t pauser = evidence->object[node.port].peer;
    bool known = false;

    if (node.host || pauser == EVIDENCE_NONE || node.paused <= 0) return;
    if (graph_tier(diagnose, pauser) == 0) {
        edge_add(diagnose, from, node_of(diagnose, pauser, node.priority, true), node.paused, 0);
        return;
    }
    for (uint32_t i = first_of(pauses, node.port, node.priority); i < pauses->count; i++) {
        const struct evidence_pause *pause = pauses->list[i];
        if (pause->paused != node.port || pause->priority != node.priority) break;
        known |= exact_edge(diagnose, all, pause, from);
    }
    if (!known) infer_edges(diagnose, all, from, pauser);
}

static void find_edges(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct candidates all = {.device = EVIDENCE_NONE};
    struct pauses pauses = {DIAGNOSE_NEW(diagnose, const struct evidence_pause *, evidence->pauses + 1u), 0};
    uint32_t nodes = diagnose->graph->nodes;

    if (!pauses.list) return;
    for (uint32_t i = 0; i < evidence->pauses; i++)
        pauses.list[pauses.count++] = &evidence->pause[i];
    qsort(pauses.list, pauses.count, sizeof pauses.list[0], by_paused);
    for (uint32_t from = 0; from < nodes && !diagnose->full; from++)
        edges_of(diagnose, &all, &pauses, from);
    free(all.list);
}

/* --- roots --- */

static void tie_back(struct diagnose_graph *graph)
{
    for (uint32_t i = 0; i < graph->edges; i++) {
        struct graph_edge *edge = &graph->edge[i];
        struct graph_node *to = &graph->node[edge->to];
        double own = edge->share - edge->passed;
        edge->next_back = to->back;
        to->back = i;
        if (edge->share > to->in) to->in = edge->share;
        if (own > to->own) to->own = own;
    }
}

static bool is_root(const struct diagnose *diagnose, const struct graph_node *node)
{
    return node->own >= diagnose->limits.paused_share && node->own >= ROOT_SHARE * node->in;
}

static const struct graph_node *sorted; /* of roots, while they are sorted */
static int by_weight(const void *a, const void *b)
{
    const struct graph_node *one = &sorted[*(const uint32_t *)a], *two = &sorted[*(const uint32_t *)b];

    if (one->own != two->own) return one->own > two->own ? -1 : 1;
    return one->port < two->port ? -1 : one->port > two->port;
}

static void find_roots(struct diagnose *diagnose)
{
    struct diagnose_graph *graph = diagnose->graph;

    graph->root = DIAGNOSE_NEW(diagnose, uint32_t, graph->nodes + 1u);
    if (!graph->root) return;
    for (uint32_t i = 0; i < graph->nodes; i++)
        if (is_root(diagnose, &graph->node[i])) graph->root[graph->roots++] = i;
    sorted = graph->node;
    qsort(graph->root, graph->roots, sizeof graph->root[0], by_weight);
}

const struct graph_node *graph_queue(const struct diagnose *diagnose, uint32_t port, unsigned priority)
{
    const struct diagnose_graph *graph = diagnose->graph;
    uint32_t at = priority < EVIDENCE_PRIORITIES && graph->of ? graph->of[slot(port, priority)] : 0;

    return at ? &graph->node[at - 1] : NULL;
}

bool graph_is_root(const struct diagnose *diagnose, uint32_t port)
{
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct graph_node *node = graph_queue(diagnose, port, p);
        if (node && is_root(diagnose, node)) return true;
    }
    return false;
}

/* --- who stands still for a node --- */

void graph_victims(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t node)
{
    struct diagnose_graph *graph = diagnose->graph;
    uint32_t *reached = calloc(graph->nodes + 1u, sizeof reached[0]), count = 0;
    bool *seen = calloc(graph->nodes + 1u, sizeof seen[0]);
    double least = diagnose->limits.paused_share;

    if (reached && seen) {
        reached[count++] = node;
        seen[node] = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t e = graph->node[reached[i]].back; e != EVIDENCE_NONE; e = graph->edge[e].next_back) {
            const struct graph_edge *edge = &graph->edge[e];
            if (seen[edge->from] || (i ? edge->passed : edge->share) < least) continue;
            seen[edge->from] = true;
            reached[count++] = edge->from;
            finding_victim(diagnose, finding, graph->node[edge->from].port);
        }
    }
    free(reached);
    free(seen);
}

/* Which priorities are lossless: counters or the file say it, or pauses were seen.  Where ports pause and nobody says
 * which priority, it is the one that NICs send RDMA in. */
static void priorities(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct diagnose_counter *of = diagnose->counters;
    const struct fabric *fabric = evidence->fabric;
    bool data[EVIDENCE_PRIORITIES];

    for (uint32_t i = 0; fabric && i < fabric->class_count; i++)
        if (fabric->classes[i].lossless) diagnose->graph->lossless |= (uint8_t)(1u << fabric->classes[i].priority);
    diagnose->graph->lossless |= of[EVIDENCE_LOSSLESS].priorities | of[EVIDENCE_PFC_ON].priorities |
                                 of[EVIDENCE_TX_PAUSE_FRAMES].priorities | of[EVIDENCE_RX_PAUSE_FRAMES].priorities;
    if (diagnose->graph->lossless || !(of[EVIDENCE_PORT_RX_PAUSE_FRAMES].most | of[EVIDENCE_PORT_TX_PAUSE_FRAMES].most))
        return;
    data_priorities(diagnose, data);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (data[p]) diagnose->graph->lossless |= (uint8_t)(1u << p);
}

void graph_build(struct diagnose *diagnose)
{
    size_t slots = (size_t)diagnose->evidence->objects * EVIDENCE_PRIORITIES;
    struct diagnose_graph *graph = DIAGNOSE_NEW(diagnose, struct diagnose_graph, 1);

    if (!graph) return;
    diagnose->graph = graph;
    graph->of = DIAGNOSE_NEW(diagnose, uint32_t, slots + 1);
    graph->nic_of = DIAGNOSE_NEW(diagnose, uint32_t, slots + 1);
    topology_tiers(diagnose);
    if (diagnose->full) return;
    priorities(diagnose);
    shares_prepare(diagnose);
    hashing_prepare(diagnose);
    idle_prepare(diagnose);
    cables_prepare(diagnose);
    find_paused(diagnose);
    find_edges(diagnose);
    tie_back(graph);
    find_roots(diagnose);
    circles_find(diagnose);
}
