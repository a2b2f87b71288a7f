/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses, from the side of who sends them, and the watchdog.
 *
 * A switch stops its peer when a group must stop and only then, repeats that before half of the pause is over, and lets
 * the peer go when the group has drained as far as the rules say, not before.  A slow receiver does the same by its
 * own bucket.  The watchdog acts on a queue that was paused and held packets without a break for the time it was
 * given, soon after, and lets go when nothing paused it for the other.
 */
#include <string.h>

#include "swarm.h"

#include "fabric/fabric.h"

#define PORTS_MAX 128

void __real_sw_tick(struct sw *sw, ps_t now, struct sw_io *io);
void __wrap_sw_tick(struct sw *sw, ps_t now, struct sw_io *io);
void __real_nic_receive_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io);
void __wrap_nic_receive_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io);
void __real_sw_port_state(struct sw *sw, uint16_t port, bool up, ps_t now, struct sw_io *io);
void __wrap_sw_port_state(struct sw *sw, uint16_t port, bool up, ps_t now, struct sw_io *io);

static ps_t pause_ps(const struct line *line, uint16_t quanta)
{
    return line_time(line->quantum_bps, 64ull * quanta);
}

static void switch_told(struct watch *watch, uint32_t index, uint16_t port, uint8_t enable, uint16_t quanta, ps_t now)
{
    const struct switch_watch *s = &watch->sw[index];
    const struct sw_port_config *config = s->config->port[port];
    struct line *line = &watch->line[s->first_port + port];
    char name[FABRIC_NAME];

    fabric_port_name(watch->fabric, s->first_port + port, name);
    HOLDS(enable && (enable & ~config->pfc_tx) == 0, "pauses are for lossless priorities", "%s: %x", name, enable);
    HOLDS(quanta == 0 || quanta == config->pause_quanta, "a pause is as long as configured", "%s: %u", name, quanta);
    for (int p = 0; p < 8; p++) {
        uint8_t pg = config->tc_to_pg[p];
        if (!(enable >> p & 1)) continue;
        bool told = line->told >> p & 1;
        HOLDS(!told || !s->config->refresh_pauses ||
                  now - line->told_at[p] <= pause_ps(line, config->pause_quanta) / 2 + 2,
              "a pause is repeated in time", "%s priority %d: after %lu ps", name, p,
              (unsigned long)(now - line->told_at[p]));
        if (quanta == 0) {
            HOLDS(told, "only who was stopped is let go", "%s priority %d", name, p);
            HOLDS(group_may_go(watch, index, port, pg), "a peer goes on when its group has drained", "%s group %u",
                  name, pg);
            watch->xons++;
        } else if (!told) {
            HOLDS(group_must_stop(watch, index, port, pg), "a peer is stopped when its group is full",
                  "%s group %u at %lu ps", name, pg, (unsigned long)now);
            watch->xoffs++;
        } else {
            HOLDS(s->config->refresh_pauses, "a pause is repeated where that was asked for", "%s priority %d", name, p);
            watch->renewals++;
        }
    }
}

/* The bucket of a slow receiver, to a byte or two. */
static void bucket_drain(struct watch *watch, const struct nic *nic, ps_t now)
{
    uint32_t e = nic->config.endpoint;
    double gone = (double)(now - watch->bucket_at[e]) * (double)nic->config.rx_bps / 8e12;

    watch->bucket[e] = gone < watch->bucket[e] ? watch->bucket[e] - gone : 0;
    watch->bucket_at[e] = now;
}

void receiver_took(struct watch *watch, const struct nic *nic, uint32_t bytes, ps_t now)
{
    if (!nic->config.rx_bps) return;
    bucket_drain(watch, nic, now);
    watch->bucket[nic->config.endpoint] += bytes;
    watch->bucket_slack[nic->config.endpoint] += 2;
}

/* What was taken until now was taken at the old rate; at none the bucket is not looked at, and empty. */
void __wrap_nic_receive_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io)
{
    if (watching) {
        uint32_t e = nic->config.endpoint;
        bucket_drain(watching, nic, now);
        if (bps == 0 || nic->config.rx_bps == 0) watching->bucket[e] = watching->bucket_slack[e] = 0;
    }
    __real_nic_receive_rate(nic, bps, now, io);
}

static void adapter_told(struct watch *watch, uint32_t line_index, const struct nic *nic, uint8_t enable,
                         uint16_t quanta, ps_t now)
{
    struct line *line = &watch->line[line_index];
    uint32_t e = nic->config.endpoint;

    HOLDS(nic->config.rx_bps || quanta == 0, "only a slow receiver pauses", "endpoint %u", e);
    bucket_drain(watch, nic, now);
    if (quanta == 0)
        HOLDS(watch->bucket[e] <= nic->config.rx_xon_bytes + 8, "a peer goes on when the receiver has drained",
              "endpoint %u holds %.0f", e, watch->bucket[e]);
    else if (enable & ~line->told)
        HOLDS(watch->bucket[e] + watch->bucket_slack[e] + 8 > nic->config.rx_xoff_bytes,
              "a peer is stopped when the receiver is full", "endpoint %u holds %.0f to %.0f, XOFF at %u", e,
              watch->bucket[e], watch->bucket[e] + watch->bucket_slack[e], nic->config.rx_xoff_bytes);
    HOLDS((line->told & ~enable) == 0, "a receiver speaks of all it paused", "endpoint %u", e);
}

void pfc_told(struct watch *watch, uint32_t node, uint32_t port, uint8_t enable, uint16_t quanta, ps_t now)
{
    const struct fabric *fabric = watch->fabric;
    uint32_t index = fabric->node[node].first_port + port;
    struct line *line = &watch->line[index];
    bool storms = false;

    for (uint32_t f = 0; f < fabric->faults; f++)
        storms |= fabric->fault[f].kind == FABRIC_FAULT_PAUSE && fabric->fault[f].node == node;
    if (line->down || fabric->port[index].peer == FABRIC_NONE) return;
    if (!storms && node >= fabric->hosts)
        switch_told(watch, node - fabric->hosts, (uint16_t)port, enable, quanta, now);
    else if (!storms)
        adapter_told(watch, index, watch->sim->adapter[fabric->first_endpoint[node] + port].nic, enable, quanta, now);
    for (int p = 0; p < 8; p++) {
        if (!(enable >> p & 1)) continue;
        if (quanta == 0) {
            line->count.xon[p]++;
            line->told_sum[p] += line->told >> p & 1 ? now - line->told_from[p] : 0;
        } else {
            line->count.xoff[p]++;
            if (!(line->told >> p & 1)) line->told_from[p] = now;
            line->told_at[p] = now;
        }
    }
    line->told = quanta ? line->told | enable : line->told & (uint8_t)~enable;
}

/* Since when the queue has been paused and held packets, without a break; PS_NEVER: it is not. */
static ps_t stuck_since(const struct watch *watch, const struct switch_watch *s, uint16_t port, uint32_t queue,
                        ps_t now)
{
    const struct sw_port_config *config = s->config->port[port];
    const struct line *line = &watch->line[s->first_port + port];
    const struct queue_watch *q = &s->port[port].queue[queue];
    ps_t since = PS_NEVER;

    if (q->fifo.head == q->fifo.tail) return PS_NEVER;
    for (int p = 0; p < 8; p++)
        if (config->tc_to_queue[p] == queue && config->pfc_rx >> p & 1 && line->paused_from[p] < since &&
            line->paused_until[p] >= now)
            since = line->paused_from[p];
    if (since == PS_NEVER) return since;
    return since > q->filled_at ? since : q->filled_at;
}

/* When a storm on the queue is over: no pause is left, and none came for a while. */
static ps_t quiet_at(const struct watch *watch, const struct switch_watch *s, uint16_t port, uint32_t queue)
{
    const struct sw_port_config *config = s->config->port[port];
    const struct line *line = &watch->line[s->first_port + port];
    ps_t at = 0;

    for (int p = 0; p < 8; p++) {
        ps_t seen = ps_add(line->xoff_seen[p], s->config->watchdog.restore_ps);
        if (config->tc_to_queue[p] != queue) continue;
        if (line->xoff_seen[p] && seen > at) at = seen;
        if (line->paused_until[p] > at) at = line->paused_until[p];
    }
    return at;
}

void __wrap_sw_tick(struct sw *sw, ps_t now, struct sw_io *io)
{
    struct watch *watch = watching;
    if (!watch || !sw->config->watchdog.on) {
        __real_sw_tick(sw, now, io);
        return;
    }
    const struct switch_watch *s = &watch->sw[watch_find_switch(watch, sw)];
    static uint64_t acts[PORTS_MAX][8], ends[PORTS_MAX][8];
    static ps_t since[PORTS_MAX][8];
    CHECK(sw->ports <= PORTS_MAX);
    for (uint16_t p = 0; p < sw->ports; p++)
        for (uint32_t q = 0; q < 8; q++) {
            acts[p][q] = sw->counters[p].prio[q].watchdog_detected;
            ends[p][q] = sw->counters[p].prio[q].watchdog_restored;
            since[p][q] = stuck_since(watch, s, p, q, now);
        }
    __real_sw_tick(sw, now, io);
    for (uint16_t p = 0; p < sw->ports; p++)
        for (uint32_t q = 0; q < 8; q++) {
            if (sw->counters[p].prio[q].watchdog_detected != acts[p][q]) {
                HOLDS(since[p][q] != PS_NEVER && now - since[p][q] >= sw->config->watchdog.detect_ps,
                      "the watchdog acts on what stands still all the time", "port %u queue %u at %lu ps", p, q,
                      (unsigned long)now);
                watch->detected++;
            }
            if (sw->counters[p].prio[q].watchdog_restored != ends[p][q]) {
                HOLDS(quiet_at(watch, s, p, q) <= now, "a storm is over when no pause came for a while",
                      "port %u queue %u", p, q);
                watch->restored++;
            }
        }
}

/* What either end told the other was void with the link: who is full says so anew. */
void __wrap_sw_port_state(struct sw *sw, uint16_t port, bool up, ps_t now, struct sw_io *io)
{
    __real_sw_port_state(sw, port, up, now, io);
    if (!watching || !up) return;
    uint32_t index = watch_find_switch(watching, sw);
    const struct sw_port_config *config = sw->config->port[port];
    for (uint8_t p = 0; p < 8; p++)
        HOLDS(!(config->pfc_tx >> p & 1) || !config->pg[config->tc_to_pg[p]].lossless ||
                  !group_full(watching, index, port, config->tc_to_pg[p]) || sw_pausing(sw, port) >> p & 1,
              "a link that comes up is paused anew", "switch %u port %u priority %u", index, port, p);
}

/* What is due has been done. */
static void audit_port(const struct watch *watch, const struct switch_watch *s, const struct sw *sw, uint16_t p,
                       ps_t now)
{
    const struct sw_watchdog *dog = &s->config->watchdog;
    const struct line *line = &watch->line[s->first_port + p];

    for (uint32_t q = 0; q < 8 && dog->on && !line->down; q++) {
        bool storm = sw->slow[p].storm >> q & 1;
        ps_t since = storm ? PS_NEVER : stuck_since(watch, s, p, q, now);
        HOLDS(since == PS_NEVER || now - since <= dog->detect_ps + 2 * dog->poll_ps, "the watchdog acts in time",
              "port %u queue %u: %lu ps", p, q, (unsigned long)(now - since));
        HOLDS(!storm || now <= ps_add(quiet_at(watch, s, p, q), dog->poll_ps), "the watchdog lets go in time",
              "port %u queue %u", p, q);
    }
    for (uint8_t prio = 0; prio < 8 && !line->down; prio++)
        HOLDS(sw_pg_headroom_bytes(sw, p, s->config->port[p]->tc_to_pg[prio]) == 0 ||
                  !(s->config->port[p]->pfc_tx >> prio & 1) || sw_pausing(sw, p) >> prio & 1,
              "a group in its headroom has paused its peer", "port %u priority %d", p, prio);
    for (int prio = 0; prio < 8 && s->config->refresh_pauses; prio++)
        HOLDS(!(sw_pausing(sw, p) >> prio & 1) ||
                  now - line->told_at[prio] <= pause_ps(line, s->config->port[p]->pause_quanta) / 2 + 2,
              "a pause is repeated in time", "port %u priority %d", p, prio);
}

void pfc_audit(struct watch *watch)
{
    ps_t now = watch->sim->engine->now;

    for (uint32_t i = 0; i < watch->fabric->switches; i++)
        for (uint16_t p = 0; p < watch->sw[i].config->ports; p++)
            audit_port(watch, &watch->sw[i], watch->sim->sw[i].sw, p, now);
}
