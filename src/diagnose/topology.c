/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cables of the evidence make: tiers of devices, and links that share a load.
 *
 * The tier of a switch is its distance from the nearest host, whatever it is called.  A cable between two tiers
 * belongs to its lower end: that device's links upwards are siblings, and so are the same cables looked at from above,
 * since what comes down over them was hashed the same way.
 */
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
