/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cables of the evidence make: tiers of devices, and links that share a load.
 *
 * The tier of a switch is its distance from the nearest host, whatever it is called.  A cable between two tiers
 * belongs to its lower end: that device's links upwards are siblings, and so are the same cables looked at from above,
 * since what comes down over them was hashed the same way.
 *
 * And packets that went into a cable and did not come out of it, though no counter of errors says so.  Both ends count
 * packets, but a collector reads them one after the other, so that the counts of a good cable differ by what passed in
 * between, one way up and the other way down.  A cable loses packets if it lacks much more than most cables do, and if
 * its two ways do not differ as they do when one end was read later.
 */
#include <stdlib.h>

#include "base/check.h"
#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"

#define EMPTY_SHARE 0.01 /* of the mean: what control traffic leaves on a link that no flow was hashed to */

uint8_t graph_tier(const struct diagnose *diagnose, uint32_t port)
{
    if (port == EVIDENCE_NONE || !diagnose->graph->tier) return GRAPH_NO_TIER;
    return diagnose->graph->tier[evidence_device_of(diagnose->evidence, port)];
}

uint8_t graph_peer_tier(const struct diagnose *diagnose, uint32_t port)
{
    return graph_tier(diagnose, diagnose->evidence->object[port].peer);
}

static void spread(struct diagnose *diagnose, uint32_t *queue, uint32_t count)
{
    const struct evidence *evidence = diagnose->evidence;
    uint8_t *tier = diagnose->graph->tier;

    for (uint32_t i = 0; i < count; i++) {
        EVIDENCE_EACH_PORT(evidence, queue[i], port)
        {
            uint32_t peer = evidence->object[port].peer;
            if (peer == EVIDENCE_NONE) continue;
            uint32_t device = evidence_device_of(evidence, peer);
            if (tier[device] != GRAPH_NO_TIER || tier[queue[i]] == GRAPH_NO_TIER - 1) continue;
            tier[device] = (uint8_t)(tier[queue[i]] + 1);
            queue[count++] = device;
        }
    }
}

void topology_tiers(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_graph *graph = diagnose->graph;
    uint32_t *queue = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects), count = 0;

    graph->tier = DIAGNOSE_NEW(diagnose, uint8_t, evidence->objects);
    graph->siblings = DIAGNOSE_NEW(diagnose, struct siblings, 2 * (size_t)evidence->objects);
    if (!queue || !graph->tier || !graph->siblings) return;
    for (uint32_t id = 0; id < evidence->objects; id++)
        graph->tier[id] = GRAPH_NO_TIER;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!device_is_host(evidence, device)) continue;
        graph->tier[device] = 0;
        queue[count++] = device;
    }
    spread(diagnose, queue, count);
}

/* --- siblings --- */

bool topology_up(const struct diagnose *diagnose, uint32_t port)
{
    uint8_t own = graph_tier(diagnose, port), peer = graph_peer_tier(diagnose, port);

    return own != GRAPH_NO_TIER && peer != GRAPH_NO_TIER && own > 0 && peer > own;
}

uint32_t siblings_next(const struct diagnose *diagnose, const struct siblings *siblings, uint32_t after)
{
    const struct evidence_object *object = diagnose->evidence->object;
    uint32_t port = after;

    if (after != EVIDENCE_NONE && siblings->down) port = object[after].peer;
    port = after == EVIDENCE_NONE ? object[siblings->device].next : object[port].next;
    while (port != EVIDENCE_NONE && !topology_up(diagnose, port))
        port = object[port].next;
    return port != EVIDENCE_NONE && siblings->down ? object[port].peer : port;
}

static void measure(const struct diagnose *diagnose, struct siblings *siblings)
{
    double sum = 0;
    uint32_t known = 0;

    for (uint32_t port = siblings_next(diagnose, siblings, EVIDENCE_NONE); port != EVIDENCE_NONE;
         port = siblings_next(diagnose, siblings, port)) {
        struct share busy = share_busy(diagnose, port);
        siblings->count++;
        if (link_is_down(diagnose->evidence, port) && !siblings->downs++) siblings->a_down = port;
        if (!busy.known) continue;
        known++;
        sum += busy.value;
        if (siblings->busiest != EVIDENCE_NONE && busy.value <= siblings->most) continue;
        siblings->busiest = port;
        siblings->most = busy.value;
    }
    siblings->mean = known ? sum / known : 0;
    for (uint32_t port = siblings_next(diagnose, siblings, EVIDENCE_NONE); port != EVIDENCE_NONE;
         port = siblings_next(diagnose, siblings, port)) {
        struct share busy = share_busy(diagnose, port);
        siblings->empty +=
            busy.known && busy.value < EMPTY_SHARE * siblings->mean && !link_is_down(diagnose->evidence, port);
    }
}

/* Several rules ask for the same group, some once a link: it is measured once. */
void siblings_measure(const struct diagnose *diagnose, uint32_t device, bool down, struct siblings *siblings)
{
    CHECK(diagnose->evidence->object[device].scope == EVIDENCE_DEVICE);
    struct siblings *kept = &diagnose->graph->siblings[2 * (size_t)device + down];

    if (!kept->measured) {
        *kept = (struct siblings){
            .device = device, .down = down, .measured = true, .busiest = EVIDENCE_NONE, .a_down = EVIDENCE_NONE};
        measure(diagnose, kept);
    }
    *siblings = *kept;
}

uint32_t siblings_device(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence_object *object = &diagnose->evidence->object[port];

    if (object->scope != EVIDENCE_PORT) return EVIDENCE_NONE;
    if (topology_up(diagnose, port)) return object->parent;
    if (object->peer != EVIDENCE_NONE && topology_up(diagnose, object->peer))
        return diagnose->evidence->object[object->peer].parent;
    return EVIDENCE_NONE;
}

bool siblings_of(const struct diagnose *diagnose, uint32_t port, struct siblings *siblings)
{
    uint32_t device = siblings_device(diagnose, port);

    if (device == EVIDENCE_NONE) return false;
    siblings_measure(diagnose, device, diagnose->evidence->object[port].parent != device, siblings);
    return true;
}

/* --- packets that did not come out of a cable --- */

#define UNDER_WAY_S 1e-6   /* of a line's time: what is on it, and in its two ports, when both ends are read at once */
#define UNDER_WAY 2        /* packets, besides */
#define MOST_BPS 800e9     /* of a line whose rate nobody says */
#define ABOVE_OTHERS 8     /* times what half of the cables lack */
#define GAPS_SHARE 0.1     /* of the gaps that NICs were told of: so few packets that lack are not what was missing */
#define READ_LATER_SHARE 2 /* one of so many that a way lacks, the other has too much where an end was read late */

/* One way over a cable: what its sender counted, and how much of that its receiver did not; below 0: it has more. */
struct way {
    bool known;
    double sent, lacks;
};

static bool read_alike(const struct evidence_value *sent, const struct evidence_value *came)
{
    return sent->looks > 1 && sent->looks == came->looks && !sent->reset && !came->reset;
}

static struct way way_to(const struct evidence *evidence, uint32_t port)
{
    static const enum evidence_counter known[] = {EVIDENCE_CRC_ERRORS, EVIDENCE_MTU_DROPS, EVIDENCE_RX_DISCARDS};
    uint32_t peer = evidence->object[port].peer;
    struct way way = {0};

    if (peer == EVIDENCE_NONE) return way;
    const struct evidence_value *sent = port_find(evidence, peer, EVIDENCE_PORT_TX_PACKETS);
    const struct evidence_value *came = port_find(evidence, port, EVIDENCE_PORT_RX_PACKETS);
    if (!sent || !came || !read_alike(sent, came)) return way;
    way.known = true;
    way.sent = (double)sent->grown;
    way.lacks = way.sent - (double)came->grown;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        way.lacks -= way.lacks > 0 ? (double)port_get(evidence, port, known[i]) : 0;
    return way;
}

/* Packets of a way that may be under way. */
static double under_way(const struct diagnose *diagnose, uint32_t port, const struct way *way)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;
    uint64_t bytes = port_get(evidence, peer, EVIDENCE_PORT_TX_BYTES), rate = line_rate(diagnose, peer);

    if (!bytes) bytes = port_sum(evidence, peer, EVIDENCE_TX_BYTES);
    double line = (rate ? (double)rate : MOST_BPS) / 8 * UNDER_WAY_S;
    return UNDER_WAY + (bytes ? line * way->sent / (double)bytes : 0);
}

static int by_size(const void *a, const void *b)
{
    const double *one = a, *two = b;

    return (*one > *two) - (*one < *two);
}

void cables_prepare(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_graph *graph = diagnose->graph;
    double *share = DIAGNOSE_NEW(diagnose, double, evidence->objects + 1u), lack = 0;
    uint32_t count = 0;
    bool known = true;

    if (!share || evidence->exact) return;
    EACH_PORT(evidence, device, port)
    {
        struct way way = way_to(evidence, port);
        if (evidence->object[port].peer == EVIDENCE_NONE) continue;
        known &= way.known;
        lack += way.lacks > 0 ? way.lacks : 0;
        if (way.known && way.sent > 0) share[count++] = (way.lacks < 0 ? -way.lacks : way.lacks) / way.sent;
    }
    graph->cables_whole = known && lack <= GAPS_SHARE * (double)diagnose->total[EVIDENCE_SEQUENCE_NAKS];
    if (!count) return;
    qsort(share, count, sizeof share[0], by_size);
    graph->cables_lack = share[(count - 1) / 2];
}

bool cables_are_whole(const struct diagnose *diagnose)
{
    return diagnose->evidence->exact || diagnose->graph->cables_whole;
}

/* One end was read later than the other: what one way lacks the other has too much, of the same time. */
static bool read_later(const struct way *way, const struct way *back)
{
    double much = way->lacks / way->sent * back->sent / READ_LATER_SHARE;

    return back->known && much > UNDER_WAY && -back->lacks > much;
}

uint64_t cable_lost(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;
    struct way way = way_to(evidence, port);

    if (evidence->exact || !way.known || !nics_resend(diagnose)) return 0; /* a run says itself what a line lost */
    struct way back = way_to(evidence, peer);
    double pauses = (double)port_sum(evidence, peer, EVIDENCE_TX_PAUSE_FRAMES); /* of which only one end may count */
    if (!(pauses > 0)) pauses = (double)port_get(evidence, peer, EVIDENCE_PORT_TX_PAUSE_FRAMES);
    double most = ABOVE_OTHERS * diagnose->graph->cables_lack * way.sent + under_way(diagnose, port, &way);
    if (way.lacks < diagnose->limits.resent_share * way.sent || way.lacks <= most || way.lacks <= pauses ||
        read_later(&way, &back))
        return 0;
    return (uint64_t)way.lacks;
}
