/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who paused whom, and because of whom.
 *
 * A switch pauses the peer of a port because what came in by it waits; the packet that crossed the threshold says
 * where: the queue it is to leave by.  If that queue is paused itself, the pause has been passed on from there; if
 * not, the queue is where it began.  Put together over all switches that is a forest: its roots are queues that were
 * full without being paused, and hosts that pause; its leaves are the senders that stood still.
 *
 * One packet stands for all that wait, and the state at the beginning of a pause for all of its time.  Nothing is done
 * for packets: only where a pause is sent or ended.  A log belongs to its switch and is written by that switch's visits
 * alone; memory comes with the first pause.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "sim/sim_int.h"

struct pause_edge {
    uint16_t in, cause;
    uint8_t prio;
    uint64_t count;
    ps_t time, passed_on;
};

struct pause_open { /* of a port and priority that is paused */
    ps_t since;
    uint32_t edge; /* + 1; 0: it is not */
    bool passed_on;
};

struct pause_log {
    struct pause_edge *edge;
    uint32_t *slot; /* hash -> edge + 1 */
    uint32_t edges, room, slots;
    uint16_t ports;
    struct pause_open open[]; /* [ports * SW_PRIOS] */
};

static struct pause_log *log_of(struct sim_switch *sw)
{
    if (sw->log == NULL) {
        sw->log = calloc(1, sizeof(*sw->log) + (size_t)sw->plant->config.ports * SW_PRIOS * sizeof(struct pause_open));
        CHECK(sw->log != NULL);
        sw->log->ports = sw->plant->config.ports;
    }
    return sw->log;
}

static uint32_t slot_of(const struct pause_log *log, uint16_t in, uint16_t cause, uint8_t prio)
{
    uint64_t hash = ((uint64_t)in << 24 | (uint64_t)cause << 8 | prio) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 32) & (log->slots - 1);

    for (; log->slot[at]; at = (at + 1) & (log->slots - 1)) {
        const struct pause_edge *edge = &log->edge[log->slot[at] - 1];
        if (edge->in == in && edge->cause == cause && edge->prio == prio) break;
    }
    return at;
}

static void grow(struct pause_log *log)
{
    log->room = log->room ? log->room * 2 : 16;
    log->slots = log->room * 2;
    log->edge = realloc(log->edge, log->room * sizeof(*log->edge));
    free(log->slot);
    log->slot = calloc(log->slots, sizeof(*log->slot));
    CHECK(log->edge != NULL && log->slot != NULL);
    for (uint32_t i = 0; i < log->edges; i++)
        log->slot[slot_of(log, log->edge[i].in, log->edge[i].cause, log->edge[i].prio)] = i + 1;
}

static void end_one(struct pause_log *log, struct pause_open *open, ps_t now)
{
    if (open->edge == 0) return;
    struct pause_edge *edge = &log->edge[open->edge - 1];
    ps_t span = now > open->since ? now - open->since : 0;
    edge->time += span;
    if (open->passed_on) edge->passed_on += span;
    open->edge = 0;
}

static void begin_one(struct pause_log *log, const struct node_control *pause, uint8_t prio, ps_t now)
{
    struct pause_open *open = &log->open[pause->port * SW_PRIOS + prio];

    end_one(log, open, now);
    if (log->edges == log->room) grow(log);
    uint32_t at = slot_of(log, pause->port, pause->cause, prio);
    if (log->slot[at] == 0) {
        log->edge[log->edges++] = (struct pause_edge){.in = pause->port, .cause = pause->cause, .prio = prio};
        log->slot[at] = log->edges;
    }
    *open = (struct pause_open){.since = now, .edge = log->slot[at], .passed_on = pause->passed_on};
    log->edge[open->edge - 1].count++;
}

void pauses_note(struct sim_switch *sw, const struct node_control *control, ps_t now)
{
    bool stops = control_quanta(control->word) != 0;

    if (control->word & CREDIT_WORD) return;
    if (stops && control->cause == SW_NO_CAUSE) return; /* again, before it expires */
    struct pause_log *log = log_of(sw);
    for (uint32_t mask = control_enable(control->word); mask; mask &= mask - 1) {
        uint8_t prio = (uint8_t)__builtin_ctz(mask);
        if (stops)
            begin_one(log, control, prio, now);
        else
            end_one(log, &log->open[control->port * SW_PRIOS + prio], now);
    }
}

void pauses_forget(struct sim_switch *sw, uint16_t port, ps_t now)
{
    if (sw->log == NULL) return;
    for (uint32_t prio = 0; prio < SW_PRIOS; prio++)
        end_one(sw->log, &sw->log->open[port * SW_PRIOS + prio], now);
}

void pauses_free(struct sim_switch *sw)
{
    if (sw->log == NULL) return;
    free(sw->log->edge);
    free(sw->log->slot);
    free(sw->log);
}

static int compare_pauses(const void *a, const void *b)
{
    const struct sim_pause *x = a, *y = b;

    if (x->port != y->port) return x->port < y->port ? -1 : 1;
    if (x->priority != y->priority) return x->priority < y->priority ? -1 : 1;
    return x->cause < y->cause ? -1 : x->cause > y->cause;
}

/* What still holds counts up to the end, and no further for being read. */
static void read_log(const struct sim *sim, uint32_t index, ps_t now, struct sim_result *ret)
{
    const struct pause_log *log = sim->sw[index].log;
    uint32_t first = sim->fabric->node[sim->fabric->hosts + index].first_port;
    struct sim_pause *to = &ret->pause[ret->pauses];

    for (uint32_t i = 0; i < log->edges; i++) {
        const struct pause_edge *edge = &log->edge[i];
        to[i] = (struct sim_pause){.port = first + edge->in,
                                   .cause = first + edge->cause,
                                   .priority = edge->prio,
                                   .count = edge->count,
                                   .time_ps = edge->time,
                                   .passed_on_ps = edge->passed_on};
    }
    for (uint32_t i = 0; i < (uint32_t)log->ports * SW_PRIOS; i++) {
        const struct pause_open *open = &log->open[i];
        if (open->edge == 0 || open->since >= now) continue;
        to[open->edge - 1].time_ps += now - open->since;
        if (open->passed_on) to[open->edge - 1].passed_on_ps += now - open->since;
    }
    ret->pauses += log->edges;
}

/* A host that pauses is known by what its switch's port counted. */
static void read_host(const struct sim *sim, uint32_t endpoint, struct sim_result *ret)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t own = fabric->endpoint[endpoint].port, peer = fabric->port[own].peer;

    if (peer == FABRIC_NONE || fabric->port[peer].node < fabric->hosts) return;
    const struct sw_port_counters *counters =
        sw_port_counters(sim->sw[fabric->port[peer].node - fabric->hosts].sw, fabric->port[peer].index);
    for (uint8_t prio = 0; prio < SW_PRIOS; prio++) {
        if (counters->prio[prio].rx_pause_ps == 0) continue;
        ret->pause[ret->pauses++] = (struct sim_pause){.port = own,
                                                       .cause = UINT32_MAX,
                                                       .priority = prio,
                                                       .count = counters->prio[prio].rx_xoff,
                                                       .time_ps = counters->prio[prio].rx_pause_ps};
    }
}

int sim_pauses_read(struct sim *sim, struct sim_result *ret)
{
    const struct fabric *fabric = sim->fabric;
    uint64_t room = (uint64_t)fabric->endpoints * SW_PRIOS + 1;

    for (uint32_t i = 0; i < fabric->switches; i++)
        if (sim->sw[i].log) room += sim->sw[i].log->edges;
    ret->pause = calloc(room, sizeof(*ret->pause));
    if (ret->pause == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->switches; i++)
        if (sim->sw[i].log) read_log(sim, i, ret->virtual_ps, ret);
    for (uint32_t i = 0; i < fabric->endpoints; i++)
        read_host(sim, i, ret);
    qsort(ret->pause, ret->pauses, sizeof(*ret->pause), compare_pauses);
    return 0;
}
