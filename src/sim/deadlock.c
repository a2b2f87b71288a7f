/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlocks: queues that are paused and wait for each other in a circle.
 *
 * A queue that is paused waits until its peer lets it go on; the peer does so when enough of what came in by that
 * port has left; that waits in queues of the peer, which may be paused in turn.  All switches are looked at at one
 * moment, between windows, when nothing runs.  Suspects are the queues towards switches that are paused and not
 * empty.  Then whoever can be let go is let go, in the best case: a suspect is acquitted if its peer would resume it
 * once everything that does not wait in a suspect's queue had left.  What remains when nobody can be acquitted any
 * more will wait for ever, whatever else happens: packets on their way only add to it.  So a pause that is only long
 * is never taken for a deadlock, and one that a host holds (a slow receiver, a storm) is none.
 *
 * The circle is closed when the last of its queues was paused: before that moment one of them could still send.  That
 * is read off the switches and does not depend on when it was looked.  While a run goes on only pauses that have held
 * for DEADLOCK_HELD are looked at, at multiples of it: there the engine stops for a moment, which changes nothing
 * else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "sim/sim_int.h"

static struct sw *switch_at(const struct sim *sim, uint32_t port)
{
    return sim->sw[sim->fabric->port[port].node - sim->fabric->hosts].sw;
}

int sim_deadlock_init(struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;
    struct deadlock_watch *watch = &sim->watch;
    bool pauses = false;

    watch->next = PS_NEVER;
    for (uint32_t i = 0; i < fabric->settings_count; i++)
        pauses |= fabric->settings[i].pfc_tx & fabric->settings[i].lossless;
    if (!pauses || fabric->switches < 2) return 0;
    watch->stuck = calloc(fabric->ports + 1u, sizeof(*watch->stuck));
    watch->cells = calloc((size_t)fabric->ports * SW_PRIOS + 1, sizeof(*watch->cells));
    watch->fresh = calloc(fabric->switches + 1u, sizeof(*watch->fresh));
    if (!watch->stuck || !watch->cells || !watch->fresh) return -ENOMEM;
    watch->next = DEADLOCK_HELD;
    return 0;
}

void sim_deadlock_free(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->watch.count; i++)
        free(sim->watch.found[i].wait);
    free(sim->watch.found);
    free(sim->watch.stuck);
    free(sim->watch.cells);
    free(sim->watch.fresh);
}

/* Priorities for which this queue's peer, a switch, holds it. */
static uint16_t held_for(const struct sim *sim, uint32_t port, uint8_t queue)
{
    const struct fabric_port *own = &sim->fabric->port[port], *peer = &sim->fabric->port[own->peer];

    return sw_waiting_prios(switch_at(sim, port), own->index, queue) &
           sw_pausing(switch_at(sim, own->peer), peer->index);
}

static bool held_since(const struct sim *sim, uint32_t port, uint16_t prios, ps_t before)
{
    for (uint32_t mask = prios; mask; mask &= mask - 1) {
        uint8_t prio = (uint8_t)__builtin_ctz(mask);
        if (sw_paused_from(switch_at(sim, port), sim->fabric->port[port].index, prio) <= before) return true;
    }
    return false;
}

static uint32_t find_suspects(struct sim *sim, ps_t before)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t count = 0;

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        sim->watch.stuck[p] = 0;
        if (port->peer == FABRIC_NONE || fabric->port[port->peer].node < fabric->hosts) continue;
        for (uint32_t mask = sw_waiting(switch_at(sim, p), port->index); mask; mask &= mask - 1) {
            uint8_t queue = (uint8_t)__builtin_ctz(mask);
            uint16_t prios = held_for(sim, p, queue);
            if (!held_since(sim, p, prios, before)) continue;
            sim->watch.stuck[p] |= (uint16_t)(1u << queue);
            count++;
        }
    }
    return count;
}

static const struct pkt *packets(const struct sim *sim)
{
    return engine_worker(sim->engine, 0)->pool.hot;
}

/* A priority for which the peer would hold this queue for ever; SW_PRIOS: none. */
static uint8_t stuck_for(struct sim *sim, uint32_t port, uint8_t queue)
{
    const struct fabric *fabric = sim->fabric;
    struct deadlock_watch *watch = &sim->watch;
    uint32_t peer = fabric->port[port].peer, node = fabric->port[peer].node, s = node - fabric->hosts;
    uint32_t first = fabric->node[node].first_port;

    if (watch->fresh[s]) {
        sw_stuck_cells(sim->sw[s].sw, packets(sim), watch->stuck + first, watch->cells + (size_t)first * SW_PRIOS);
        watch->fresh[s] = false;
    }
    for (uint32_t mask = held_for(sim, port, queue); mask; mask &= mask - 1) {
        uint8_t prio = (uint8_t)__builtin_ctz(mask);
        if (!sw_would_resume(sim->sw[s].sw, fabric->port[peer].index, prio, watch->cells + (size_t)first * SW_PRIOS))
            return prio;
    }
    return SW_PRIOS;
}

/* Until nobody can be acquitted; answers how many are left. */
static uint32_t acquit(struct sim *sim, uint32_t count)
{
    const struct fabric *fabric = sim->fabric;
    struct deadlock_watch *watch = &sim->watch;
    uint32_t before;

    for (uint32_t s = 0; s < fabric->switches; s++)
        watch->fresh[s] = true;
    do {
        before = count;
        for (uint32_t p = fabric->endpoints; p < fabric->ports && count; p++) {
            for (uint32_t mask = watch->stuck[p]; mask; mask &= mask - 1) {
                uint8_t queue = (uint8_t)__builtin_ctz(mask);
                if (stuck_for(sim, p, queue) != SW_PRIOS) continue;
                watch->stuck[p] &= (uint16_t) ~(1u << queue);
                watch->fresh[fabric->port[p].node - fabric->hosts] = true;
                count--;
            }
        }
    } while (count && count != before);
    return count;
}

struct waiting {
    uint32_t port;
    uint8_t queue, prio;
};

static struct waiting first_stuck(const struct sim *sim)
{
    uint32_t p = sim->fabric->endpoints;

    while (sim->watch.stuck[p] == 0)
        p++;
    return (struct waiting){.port = p, .queue = (uint8_t)__builtin_ctz(sim->watch.stuck[p])};
}

/* The first queue of the peer that holds what this one waits for. */
static struct waiting waits_for(struct sim *sim, struct waiting *one)
{
    const struct fabric *fabric = sim->fabric;
    const struct fabric_port *peer = &fabric->port[fabric->port[one->port].peer];
    const struct fabric_node *node = &fabric->node[peer->node];

    one->prio = stuck_for(sim, one->port, one->queue);
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        for (uint32_t mask = sim->watch.stuck[p]; mask; mask &= mask - 1) {
            uint8_t queue = (uint8_t)__builtin_ctz(mask);
            if (sw_queue_holds(switch_at(sim, p), packets(sim), fabric->port[p].index, queue, peer->index, one->prio))
                return (struct waiting){.port = p, .queue = queue};
        }
    }
    CHECK(false); /* it was not acquitted, so something of it is stuck there */
}

static bool same(struct waiting a, struct waiting b)
{
    return a.port == b.port && a.queue == b.queue;
}

/* From any stuck queue on, as many steps as there are lead into a circle; once round tells how long it is. */
static int read_circle(struct sim *sim, uint32_t stuck, struct sim_deadlock *ret)
{
    struct waiting at = first_stuck(sim), start, least;

    for (uint32_t i = 0; i < stuck; i++)
        at = waits_for(sim, &at);
    start = least = at;
    do {
        at = waits_for(sim, &at);
        ret->waits++;
        if (at.port < least.port || (at.port == least.port && at.queue < least.queue)) least = at;
    } while (!same(at, start));
    ret->wait = calloc(ret->waits, sizeof(*ret->wait));
    if (ret->wait == NULL) return -ENOMEM;
    at = least;
    for (uint32_t i = 0; i < ret->waits; i++) {
        struct waiting one = at;
        at = waits_for(sim, &one);
        ret->wait[i] = (struct sim_wait){.port = one.port, .priority = one.prio};
        ps_t from = sw_paused_from(switch_at(sim, one.port), sim->fabric->port[one.port].index, one.prio);
        if (from > ret->closed) ret->closed = from;
    }
    return 0;
}

static bool watchdog_near(const struct sim *sim, const struct sim_deadlock *deadlock)
{
    for (uint32_t i = 0; i < deadlock->waits; i++)
        if (fabric_watchdog_runs(
                &sim->fabric->sw[sim->fabric->port[deadlock->wait[i].port].node - sim->fabric->hosts].watchdog))
            return true;
    return false;
}

/* Of the circle's first port. */
static void note_event(const struct sim *sim, const struct sim_deadlock *deadlock, enum record_event_kind kind,
                       ps_t now)
{
    const struct fabric_port *port = &sim->fabric->port[deadlock->wait[0].port];

    record_note(sim_events_of(sim, port->node),
                (struct record_event){.at = now,
                                      .a = kind == RECORD_DEADLOCK ? deadlock->waits : 0,
                                      .port = port->index,
                                      .priority = deadlock->wait[0].priority,
                                      .kind = (uint8_t)kind});
}

static const struct sim_deadlock *note(struct sim *sim, uint32_t stuck, ps_t now)
{
    struct deadlock_watch *watch = &sim->watch;
    struct sim_deadlock found = {.seen = now, .ended = PS_NEVER, .stuck = stuck};

    CHECK(GROW(watch->found, watch->count, watch->room));
    CHECK(read_circle(sim, stuck, &found) == 0);
    watch->found[watch->count] = found;
    note_event(sim, &found, RECORD_DEADLOCK, now);
    return &watch->found[watch->count++];
}

bool sim_deadlock_look(struct sim *sim, ps_t now, ps_t held)
{
    struct deadlock_watch *watch = &sim->watch;

    if (watch->stuck == NULL) return false;
    uint32_t suspects = find_suspects(sim, now > held ? now - held : 0);
    uint32_t stuck = suspects > 1 ? acquit(sim, suspects) : 0;
    if (stuck == 0) {
        if (watch->holds) {
            watch->found[watch->count - 1].ended = now;
            note_event(sim, &watch->found[watch->count - 1], RECORD_DEADLOCK_OVER, now);
        }
        watch->holds = false;
        return false;
    }
    if (watch->holds) {
        watch->found[watch->count - 1].stuck = stuck;
        return false;
    }
    watch->holds = true;
    return !watchdog_near(sim, note(sim, stuck, now));
}

/* Idle time is jumped over, but not before it was looked at what the last events left. */
ps_t sim_deadlock_next(struct sim *sim, ps_t now)
{
    ps_t next = engine_next(sim->engine);
    uint64_t windows = sim->watch.windows;

    sim->watch.windows = engine_windows(sim->engine);
    if (windows != sim->watch.windows) return now - now % DEADLOCK_HELD + DEADLOCK_HELD;
    if (next == PS_NEVER || next < now) next = now;
    return next - next % DEADLOCK_HELD + DEADLOCK_HELD;
}

int sim_deadlock_read(const struct sim *sim, struct sim_result *ret)
{
    const struct deadlock_watch *watch = &sim->watch;

    ret->deadlock = calloc(watch->count + 1u, sizeof(*ret->deadlock));
    if (ret->deadlock == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < watch->count; i++) {
        struct sim_deadlock *to = &ret->deadlock[i];
        *to = watch->found[i];
        to->wait = calloc(to->waits, sizeof(*to->wait));
        if (to->wait == NULL) return -ENOMEM;
        memcpy(to->wait, watch->found[i].wait, to->waits * sizeof(*to->wait));
        ret->deadlocks++;
    }
    return 0;
}
