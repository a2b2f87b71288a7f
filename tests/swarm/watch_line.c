/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines: what physics allows.
 *
 * A port sends no faster than its rate, one frame at a time, pauses included; what it sends arrives in order, at the
 * time that length, rate, cable and latency give, to the picosecond (a fraction may be rounded); nothing vanishes on a
 * line that has no fault.  Times are worked out here from the fabric's numbers alone.
 */
#include <stdlib.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "swarm.h"

#define PAUSE_LINE_BYTES 84u
#define GAP_BYTES 12u
#define CUT_BYTES 72u
#define BARE_PAUSE_BYTES 43u

void __real_node_send_control(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now);
void __wrap_node_send_control(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now);
void __real_node_port_down(struct node *node, uint16_t port, bool down);
void __wrap_node_port_down(struct node *node, uint16_t port, bool down);
void __real_node_port_rate(struct node *node, uint16_t port, uint64_t rate_bps, const struct line_model *model);
void __wrap_node_port_rate(struct node *node, uint16_t port, uint64_t rate_bps, const struct line_model *model);
void __real_pktpool_put(struct pktpool *pool, pkt_t id);
void __wrap_pktpool_put(struct pktpool *pool, pkt_t id);

void lane_push(struct lane *lane, uint32_t what, ps_t at)
{
    if (lane->tail == lane->size && lane->head > lane->size / 2) {
        uint32_t count = lane->tail - lane->head;
        for (uint32_t i = 0; i < count; i++)
            lane->item[i] = lane->item[lane->head + i];
        lane->head = 0;
        lane->tail = count;
    }
    if (lane->tail == lane->size) {
        lane->size = lane->size ? 2 * lane->size : 32;
        lane->item = realloc(lane->item, lane->size * sizeof(*lane->item));
        CHECK(lane->item);
    }
    lane->item[lane->tail++] = (struct lane_item){what, at};
}

ps_t line_time(uint64_t rate_bps, uint64_t bytes)
{
    return (ps_t)((u128)bytes * 8 * PS_S / rate_bps);
}

/* Of `bytes` on the line; the bare model cuts each to whole nanoseconds. */
static ps_t span(const struct watch *watch, const struct line *line, uint64_t bytes)
{
    ps_t time = line_time(line->rate_bps, bytes);
    return watch->plan->bare ? time - time % PS_NS : time;
}

uint32_t line_of_switch(const struct watch *watch, uint32_t sw, uint32_t port)
{
    return watch->sw[sw].first_port + port;
}

uint32_t line_of_nic(const struct watch *watch, uint32_t endpoint)
{
    return watch->fabric->endpoint[endpoint].port;
}

/* Fractions of a picosecond are carried by the product and cut here, so a run of frames back to back may differ by
 * one for each; a bug in the arithmetic of a line is off by a byte's time, hundreds. */
#define FRACTIONS_PS 128

static bool near(const struct line *line, ps_t a, ps_t b)
{
    ps_t off = a > b ? a - b : b - a;
    return off <= line->fraction;
}

void line_rate(const struct watch *watch, struct line *line, uint64_t rate_bps)
{
    line->rate_bps = rate_bps;
    /* A fraction carried over the edge of a nanosecond is a whole one where those are cut. */
    if (8 * PS_S % rate_bps) line->fraction = FRACTIONS_PS + (watch->plan->bare ? PS_NS : 0);
}

void line_send(struct watch *watch, uint32_t index, const struct pkt *pkt, pkt_t id, ps_t now)
{
    struct line *line = &watch->line[index];
    struct packet_watch *packet = &watch->packet[id];
    bool bare = watch->plan->bare;
    uint32_t bytes = bare ? pkt->frame_bytes : (pkt->frame_bytes < 60 ? 60u : pkt->frame_bytes) + GAP_BYTES;
    uint32_t first = line->cut && bytes > CUT_BYTES ? CUT_BYTES : bytes;
    char name[FABRIC_NAME];

    HOLDS(packet->where == AT_ADAPTER || packet->where == IN_HANDS, "a packet is in one place",
          "packet %u is sent while it is elsewhere", id);
    HOLDS(!line->down, "a port that is down sends nothing", "%s at %lu ps",
          fabric_port_name(watch->fabric, index, name), (unsigned long)now);
    HOLDS(now + line->fraction >= line->free_at, "no port sends faster than its rate",
          "%s starts at %lu ps, is free at %lu", fabric_port_name(watch->fabric, index, name), (unsigned long)now,
          (unsigned long)line->free_at);
    line->free_at = now + span(watch, line, bytes + (bare ? 0 : GAP_BYTES));
    line->count.frames++;
    line->count.bytes += pkt->frame_bytes;
    line->count.line_bytes += bytes + (bare ? 0 : GAP_BYTES);
    lane_push(&line->data, id, now + span(watch, line, first) + line->latency);
    packet->where = ON_LINE;
    packet->at = index;
    watch->on_line++;
}

void line_arrive(struct watch *watch, uint32_t to, pkt_t id, ps_t now)
{
    uint32_t from = watch->fabric->port[to].peer;
    struct lane *lane = &watch->line[from].data;
    char name[FABRIC_NAME];

    while (lane->head != lane->tail && lane->item[lane->head].what == LANE_GONE)
        lane->head++;
    HOLDS(lane->head != lane->tail && lane->item[lane->head].what == id, "frames arrive in the order they were sent",
          "packet %u at %s", id, fabric_port_name(watch->fabric, to, name));
    HOLDS(near(&watch->line[from], lane->item[lane->head].at, now), "a frame arrives when rate, length and latency say",
          "at %s: %lu ps, due %lu", fabric_port_name(watch->fabric, to, name), (unsigned long)now,
          (unsigned long)lane->item[lane->head].at);
    lane->head++;
    watch->line[to].count.came++;
    watch->line[to].count.came_bytes += engine_worker(watch->sim->engine, 0)->pool.hot[id].frame_bytes;
    watch->packet[id].where = IN_HANDS;
    watch->on_line--;
}

/* A pause of which nothing is left ends, at `now` at the latest. */
static void pause_over(struct line *line, int p, ps_t now)
{
    ps_t end = line->paused_until[p] < now ? line->paused_until[p] : now;

    if (line->paused_from[p] == PS_NEVER) return;
    line->paused_sum[p] += end - line->paused_from[p];
    line->paused_from[p] = PS_NEVER;
}

void line_paused(struct watch *watch, uint32_t port, uint8_t enable, uint16_t quanta, ps_t now)
{
    struct line *line = &watch->line[port];

    line->count.pauses_came++;
    for (int p = 0; p < 8; p++) {
        if (!(enable >> p & 1)) continue;
        if (quanta)
            line->count.xoff_came[p]++;
        else
            line->count.xon_came[p]++;
        if (!quanta || line->paused_until[p] <= now) pause_over(line, p, now);
        if (quanta && line->paused_from[p] == PS_NEVER) line->paused_from[p] = now;
        if (quanta) line->xoff_seen[p] = now;
        line->paused_until[p] = !quanta         ? now
                                : line->forever ? PS_NEVER
                                                : now + line_time(line->quantum_bps, 64ull * quanta);
    }
}

void line_pause_arrives(struct watch *watch, uint32_t to, uint8_t enable, uint16_t quanta, ps_t now)
{
    struct line *line = &watch->line[watch->fabric->port[to].peer];
    uint32_t what = enable | (uint32_t)quanta << 8;
    char name[FABRIC_NAME];

    while (line->was_down && line->pause.head != line->pause.tail &&
           line->pause.item[line->pause.head].at + line->fraction < now)
        line->pause.head++;
    HOLDS(line->pause.head != line->pause.tail && line->pause.item[line->pause.head].what == what,
          "pauses arrive as they were sent", "at %s", fabric_port_name(watch->fabric, to, name));
    HOLDS(near(line, line->pause.item[line->pause.head].at, now), "a pause acts after propagation and reaction",
          "at %s: %lu ps, due %lu", fabric_port_name(watch->fabric, to, name), (unsigned long)now,
          (unsigned long)line->pause.item[line->pause.head].at);
    line->pause.head++;
}

void __wrap_node_send_control(struct worker *worker, struct node *node, uint32_t port, uint32_t word, ps_t now)
{
    if (watching) {
        uint8_t enable = control_enable(word);
        uint16_t quanta = control_quanta(word);
        struct line *line = &watching->line[watching->fabric->node[node->id].first_port + port];
        pfc_told(watching, node->id, port, enable, quanta, now);
        if (!line->down) {
            ps_t start = line->free_at > now ? line->free_at : now;
            bool bare = watching->plan->bare;
            uint32_t bytes = bare ? BARE_PAUSE_BYTES : PAUSE_LINE_BYTES;
            line->free_at = start + span(watching, line, bytes);
            line->count.pauses++;
            line->count.line_bytes += bytes;
            lane_push(&line->pause, enable | (uint32_t)quanta << 8,
                      start + span(watching, line, bare ? bytes : bytes - GAP_BYTES) + line->reaction);
        }
    }
    __real_node_send_control(worker, node, port, word, now);
}

void __wrap_node_port_down(struct node *node, uint16_t port, bool down)
{
    if (watching) {
        uint32_t index = watching->fabric->node[node->id].first_port + port;
        struct line *line = &watching->line[index];
        line->down = down;
        line->was_down = true;
        line->free_at = 0;
        watching->line[watching->fabric->port[index].peer].was_down = true;
        line->told = 0;
        for (int p = 0; p < 8; p++) {
            line->paused_until[p] = 0;
            line->paused_from[p] = PS_NEVER;
        }
    }
    __real_node_port_down(node, port, down);
}

void __wrap_node_port_rate(struct node *node, uint16_t port, uint64_t rate_bps, const struct line_model *model)
{
    if (watching) line_rate(watching, &watching->line[watching->fabric->node[node->id].first_port + port], rate_bps);
    __real_node_port_rate(node, port, rate_bps, model);
}

/* Nothing is given back but by whoever has it. */
void __wrap_pktpool_put(struct pktpool *pool, pkt_t id)
{
    if (watching) {
        struct packet_watch *packet = &watching->packet[id];
        if (packet->where == ON_LINE) {
            struct line *line = &watching->line[packet->at];
            uint32_t i = line->data.head;
            char name[FABRIC_NAME];
            HOLDS(line->loss || line->was_down, "a line without a fault loses nothing", "%s",
                  fabric_port_name(watching->fabric, packet->at, name));
            while (i < line->data.tail && line->data.item[i].what != id)
                i++;
            CHECK(i < line->data.tail);
            line->data.item[i].what = LANE_GONE;
            watching->on_line--;
        } else if (packet->where == IN_QUEUE) {
            switch_flushed(watching, id);
        }
        packet->where = AT_ADAPTER;
    }
    __real_pktpool_put(pool, id);
}
