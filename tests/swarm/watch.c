/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch as a whole: made from a simulation, asked between windows and at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "swarm.h"
#include "verbs.h"

#define FIRST_QPN 0x11
#define FRAME_HEADERS_MAX 128u

struct watch *watching;

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    CHECK(memory);
    return memory;
}

static bool cuts(const struct fabric *fabric, const struct fabric_port *in)
{
    const struct fabric_node *node = &fabric->node[in->node];

    if (node->kind != FABRIC_SWITCH || !fabric->sw[in->node - fabric->hosts].cut_through) return false;
    for (uint32_t p = 0; p < node->ports; p++)
        if (fabric->port[node->first_port + p].rate_bps > in->rate_bps) return false;
    return true;
}

/* Whether pauses between the two ends of this port's line are repeated: as its switch says. */
static bool refreshes(const struct fabric *fabric, uint32_t port)
{
    uint32_t node = fabric->port[port].node;

    if (node < fabric->hosts) node = fabric->port[fabric->port[port].peer].node;
    return node < fabric->hosts || fabric->sw[node - fabric->hosts].refresh_pauses;
}

static void lines_begin(struct watch *watch)
{
    const struct fabric *fabric = watch->fabric;

    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct fabric_port *port = &fabric->port[i];
        if (port->peer == FABRIC_NONE) continue;
        const struct fabric_port *peer = &fabric->port[port->peer];
        bool host = fabric->node[peer->node].kind == FABRIC_HOST;
        ps_t latency =
            host ? fabric->nic[fabric->endpoint[fabric->first_endpoint[peer->node] + peer->index].nic].latency_ps
                 : fabric->sw[peer->node - fabric->hosts].latency_ps;
        watch->line[i] = (struct line){.quantum_bps = port->rate_bps,
                                       .latency = port->propagation_ps + latency,
                                       .reaction = port->propagation_ps + peer->pause_reaction_ps,
                                       .cut = cuts(fabric, peer),
                                       .forever = !refreshes(fabric, host ? i : port->peer)};
        line_rate(watch, &watch->line[i], port->rate_bps);
        for (int p = 0; p < 8; p++)
            watch->line[i].paused_from[p] = PS_NEVER;
    }
    for (uint32_t f = 0; f < fabric->faults; f++) {
        const struct fabric_fault *fault = &fabric->fault[f];
        if (fault->kind != FABRIC_FAULT_CORRUPT && fault->kind != FABRIC_FAULT_DROP) continue;
        const struct fabric_node *node = &fabric->node[fault->node];
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
            watch->line[p].loss += fault->way != FABRIC_WAY_IN;
            watch->line[fabric->port[p].peer].loss += fault->way != FABRIC_WAY_OUT;
        }
    }
}

static void pairs_begin(struct watch *watch)
{
    const struct sim *sim = watch->sim;
    const struct fabric *fabric = watch->fabric;

    watch->pairs = workload_connections(sim->workload);
    watch->pair = take(watch->pairs, sizeof(*watch->pair));
    watch->flow = take(watch->pairs, sizeof(*watch->flow));
    watch->window_packets = take(watch->pairs, sizeof(*watch->window_packets));
    watch->first_pair = take(fabric->endpoints + 1, sizeof(*watch->first_pair));
    watch->shared_received = take(fabric->endpoints, sizeof(*watch->shared_received));
    watch->pair_at = take(2 * watch->pairs, sizeof(*watch->pair_at));
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        watch->first_pair[e + 1] = watch->first_pair[e] + sim->pairs_at[e];
    for (uint32_t i = 0; i < watch->pairs; i++) {
        const struct workload_connection *from = workload_connection(sim->workload, i);
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[from->src].nic];
        watch->pair_at[watch->first_pair[from->src] + sim->connection[i].from.number - FIRST_QPN] = i << 1;
        watch->pair_at[watch->first_pair[from->dst] + sim->connection[i].to.number - FIRST_QPN] = i << 1 | 1;
        watch->pair[i].base = (uint32_t)verbs_base(from->src, sim->connection[i].from.number);
        watch->pair[i].mtu = nic->mtu_bytes;
        watch->pair[i].transport = verbs_transport(i);
        watch->window_packets[i] = nic->window_packets;
    }
}

void watch_begin(struct watch *watch, struct sim *sim, const struct plan *plan)
{
    const struct fabric *fabric = sim->fabric;

    *watch = (struct watch){.sim = sim, .fabric = fabric, .plan = plan};
    watch->selective = fabric->nic[0].recovery == NIC_SELECTIVE;
    watch->line = take(fabric->ports, sizeof(*watch->line));
    watch->packet = take(SWARM_PACKETS, sizeof(*watch->packet));
    watch->owner = take(SWARM_PACKETS, sizeof(*watch->owner));
    watch->repeated = take(fabric->endpoints, sizeof(*watch->repeated));
    watch->outrun = take(fabric->endpoints, sizeof(*watch->outrun));
    watch->payload = take(fabric->endpoints, sizeof(*watch->payload));
    watch->bucket = take(fabric->endpoints, sizeof(*watch->bucket));
    watch->bucket_slack = take(fabric->endpoints, sizeof(*watch->bucket_slack));
    watch->bucket_at = take(fabric->endpoints, sizeof(*watch->bucket_at));
    watch->sw = take(fabric->switches, sizeof(*watch->sw));
    for (uint32_t i = 0; i < fabric->switches; i++) {
        const struct fabric_node *node = &fabric->node[fabric->hosts + i];
        watch->sw[i] = (struct switch_watch){.config = &sim->plant.sw[i].config,
                                             .port = take(node->ports, sizeof(struct port_watch)),
                                             .first_port = node->first_port};
    }
    lines_begin(watch);
    pairs_begin(watch);
    watching = watch;
}

/* Packets are somewhere, all of them. */
static void check_packets(const struct watch *watch)
{
    struct engine_totals totals = engine_totals(watch->sim->engine);
    uint64_t adapters = 0;

    for (uint32_t e = 0; e < watch->fabric->endpoints; e++) {
        const struct nic *nic = watch->sim->adapter[e].nic;
        adapters += nic->control_count;
        for (uint32_t q = 0; q < nic->config.max_qps; q++)
            if (nic->qp[q].qpn && nic->qp[q].selective) adapters += nic->qp[q].selective->kept_count;
    }
    HOLDS(totals.packets_live == watch->on_line + watch->queued + adapters, "packets are conserved",
          "%lu are alive; %lu on lines, %lu in switches, %lu in adapters", (unsigned long)totals.packets_live,
          (unsigned long)watch->on_line, (unsigned long)watch->queued, (unsigned long)adapters);
    HOLDS(totals.packets_on_links == watch->on_line, "packets are conserved", "%lu on lines, should be %lu",
          (unsigned long)totals.packets_on_links, (unsigned long)watch->on_line);
}

static void check_free(struct watch *watch, pkt_t id)
{
    HOLDS(id < SWARM_PACKETS && watch->owner[id] != watch->audits, "a descriptor has one owner",
          "packet %u is free twice", id);
    HOLDS(watch->packet[id].where == AT_ADAPTER, "a descriptor has one owner", "packet %u is free and in use", id);
    watch->owner[id] = watch->audits;
}

/* What is free is free once, and nobody has it; free and alive together are all that were ever handed out. */
static void check_owners(struct watch *watch)
{
    const struct engine *engine = watch->sim->engine;
    uint64_t free_ones = engine->reserve.packets;

    watch->audits++;
    for (uint32_t i = 0; i < engine->reserve.packets; i++)
        check_free(watch, engine->reserve.packet[i]);
    for (uint32_t w = 0; w < engine->threads; w++) {
        const struct pktpool *pool = &engine_worker(watch->sim->engine, w)->pool;
        free_ones += pool->free_count;
        for (uint32_t i = 0; i < pool->free_count; i++)
            check_free(watch, pool->free[i]);
    }
    struct engine_totals totals = engine_totals(watch->sim->engine);
    HOLDS(free_ones + totals.packets_live == engine->reserve.packet_fresh, "a descriptor has one owner",
          "%lu free and %lu alive of %u", (unsigned long)free_ones, (unsigned long)totals.packets_live,
          engine->reserve.packet_fresh);
}

/* A pause that was sent has arrived when its time is over. */
static void check_pauses(const struct watch *watch)
{
    ps_t now = watch->sim->engine->now;

    for (uint32_t i = 0; i < watch->fabric->ports; i++) {
        const struct line *line = &watch->line[i];
        if (line->was_down || line->pause.head == line->pause.tail) continue;
        HOLDS(line->pause.item[line->pause.head].at + 4 + line->fraction >= now, "pauses arrive as they were sent",
              "port %u: one due at %lu ps has not at %lu", i, (unsigned long)line->pause.item[line->pause.head].at,
              (unsigned long)now);
    }
}

/* Who was told to stop knows it: the two ends of a line agree once no pause is under way between them. */
static void check_buffers(const struct watch *watch)
{
    for (uint32_t i = 0; i < watch->fabric->switches; i++) {
        const struct sw *sw = watch->sim->sw[i].sw;
        uint64_t shared = 0, pool = watch->sw[i].config->headroom_pool_bytes, headroom = 0;
        for (uint16_t p = 0; p < watch->sw[i].config->ports; p++) {
            HOLDS(sw->slow[p].down || (sw->port[p].refuse & ~sw->slow[p].storm) == 0,
                  "only a queue that the watchdog acts on refuses", "switch %u port %u", i, p);
            for (uint8_t g = 0; g < 8; g++) {
                HOLDS(sw_pg_bytes(sw, p, g) == watch->sw[i].port[p].pg_bytes[g],
                      "a group holds what came in and has not left", "switch %u port %u group %u", i, p, g);
                HOLDS(sw_queue_bytes(sw, p, g) == watch->sw[i].port[p].queue[g].bytes,
                      "a queue holds what came in and has not left", "switch %u port %u queue %u", i, p, g);
                headroom += sw_pg_headroom_bytes(sw, p, g);
                shared += sw_pg_bytes(sw, p, g) - sw_pg_headroom_bytes(sw, p, g);
            }
        }
        HOLDS(sw_shared_used(sw) <= shared && sw_shared_used(sw) <= sw_shared_bytes(sw), "buffers are never negative",
              "switch %u", i);
        HOLDS(pool == 0 || headroom < pool + watch->sw[i].config->cell_bytes, "the headroom pool is not overdrawn",
              "switch %u", i);
    }
}

void watch_audit(struct watch *watch)
{
    sim_audit(watch->sim);
    check_packets(watch);
    check_owners(watch);
    check_pauses(watch);
    check_buffers(watch);
    pfc_audit(watch);
}

struct due { /* at an endpoint: what must have come, and what may have */
    uint64_t bytes, messages, may_bytes, may_messages;
};

/* One connection's part of it. */
static void check_pair(const struct watch *watch, uint32_t index, struct due *due)
{
    const struct pair_watch *pair = &watch->pair[index];
    const struct workload_connection *from = workload_connection(watch->sim->workload, index);
    bool reliable = pair->transport == NIC_RC, shares = watch->plan->shared && !from->notifies;
    uint32_t atomics = 0, told = 0;

    /* A collective is over when its data is there; the last acknowledgements may be on their way. */
    HOLDS(pair->completed == pair->posted || (from->kind != WORKLOAD_TRANSFERS && pair->received == pair->posted),
          "every request completes", "connection %u: %u of %u", index, pair->completed, pair->posted);
    for (uint32_t r = 0; r < pair->posted; r++) {
        const struct request *request = &pair->request[r];
        struct due *at = &due[request->verb == NIC_READ ? from->src : from->dst];
        atomics += request->verb >= NIC_CAS;
        told += request->verb < NIC_READ && request->verb != NIC_WRITE;
        if (request->verb < NIC_CAS) *(reliable ? &at->bytes : &at->may_bytes) += request->bytes;
    }
    HOLDS(pair->atomics_done == atomics, "an atomic happens once", "connection %u: %u of %u", index, pair->atomics_done,
          atomics);
    if (shares)
        *(reliable ? &due[from->dst].messages : &due[from->dst].may_messages) += told;
    else
        HOLDS(reliable ? pair->received == told : pair->received <= told, "a message is received once",
              "connection %u: %lu of %u", index, (unsigned long)pair->received, told);
}

/* Every byte posted has been received, once; unreliably, at most once. */
static void check_bytes(const struct watch *watch)
{
    struct due *due = take(watch->fabric->endpoints, sizeof(*due));

    for (uint32_t i = 0; i < watch->pairs; i++)
        check_pair(watch, i, due);
    for (uint32_t e = 0; e < watch->fabric->endpoints; e++) {
        uint64_t got = nic_counters(watch->sim->adapter[e].nic)->rx_payload_bytes, shared = watch->shared_received[e];
        HOLDS(got >= due[e].bytes && (got <= due[e].bytes + due[e].may_bytes || watch->plan->go_back_0),
              "bytes are conserved", "endpoint %u received %lu of %lu", e, (unsigned long)got,
              (unsigned long)due[e].bytes);
        HOLDS(shared >= due[e].messages && shared <= due[e].messages + due[e].may_messages,
              "a message is received once", "endpoint %u: %lu of %lu", e, (unsigned long)shared,
              (unsigned long)due[e].messages);
    }
    free(due);
}

/* What cells make of the worst frame length, over what it takes on the wire: at least 1. */
static double worst_fill(uint32_t cell)
{
    static double known[512];
    double worst = 1;

    if (cell < 512 && known[cell] > 0) return known[cell];
    for (uint32_t frame = 64; frame < 2048; frame++) {
        double fill = (double)((frame + cell - 1) / cell * cell) / (frame + 20);
        if (fill > worst) worst = fill;
    }
    if (cell < 512) known[cell] = worst;
    return worst;
}

/* F x (2 frames + 84 + 2 L R / v + 64 Q(R) + t R), and a frame (docs/fabric.md); IEEE 802.3 31B.3.7 for Q. */
static void check_formula(const struct watch *watch, uint32_t port, const struct sw_port_config *config)
{
    static const double gbps[] = {10, 25, 40, 50, 100, 200, 400, 800};
    static const double quanta[] = {67, 80, 118, 147, 394, 453, 905, 1810};
    const struct fabric_port *own = &watch->fabric->port[port];
    const struct fabric_switch *sw = &watch->fabric->sw[own->node - watch->fabric->hosts];
    double rate = (double)own->rate_bps, frame = config->mtu_bytes, cell = sw->cell_bytes;
    int step = 0;
    while (gbps[step] * 1e9 < rate)
        step++;
    double wire = 2 * frame + 84 + 2 * (double)own->cable_mm / 1e3 * 5e-9 * rate / 8 + 64 * quanta[step] +
                  (rate > 100e9 ? 1.02e-6 : 0.34e-6) * rate / 8;
    double due = worst_fill(sw->cell_bytes) * wire + frame;
    char name[FABRIC_NAME];

    for (int g = 0; g < 8; g++)
        HOLDS(!config->pg[g].lossless || ((double)config->pg[g].headroom_bytes > due - 16 &&
                                          (double)config->pg[g].headroom_bytes < due + 2 * cell + 16),
              "headroom is what the formula gives", "%s group %d: %lu, should be %.0f",
              fabric_port_name(watch->fabric, port, name), g, (unsigned long)config->pg[g].headroom_bytes, due);
}

/*
 * Whether the port's headroom holds the worst case, as worked out here from times alone.  A packet that crosses the
 * threshold is charged to headroom itself, and XOFF comes with it.
 */
static bool suffices(const struct watch *watch, uint32_t port, const struct sw_port_config *config)
{
    const struct fabric_port *own = &watch->fabric->port[port];
    const struct switch_watch *s = &watch->sw[own->node - watch->fabric->hosts];
    uint64_t frame = watch->fabric->nic[0].mtu_bytes + FRAME_HEADERS_MAX, line = frame + 24;
    ps_t stops = watch->line[own->peer].latency + watch->line[port].reaction + line_time(own->rate_bps, line + 84);
    uint64_t under_way = own->rate_bps / 8000 * (stops / PS_NS) / 1000000 + line;
    double fill = worst_fill(s->config->cell_bytes);

    for (int g = 0; g < 8; g++)
        if (config->pg[g].lossless && (double)config->pg[g].headroom_bytes < (double)frame + (double)under_way * fill)
            return false;
    return true;
}

/* Whether pauses of a lossless class are not sent here, or not obeyed at the other end. */
static bool deaf(const struct watch *watch, uint32_t port)
{
    const struct fabric_port *own = &watch->fabric->port[port], *peer = &watch->fabric->port[own->peer];
    const struct fabric_settings *here = &watch->fabric->settings[own->settings];
    const struct fabric_settings *there = &watch->fabric->settings[peer->settings];

    return here->lossless & ~here->pfc_tx || there->lossless & ~there->pfc_rx;
}

static void check_lossless(struct watch *watch, const struct sim_result *result)
{
    const struct plan *plan = watch->plan;
    bool formula = !plan->bare && !plan->short_headroom && !plan->headroom_bytes;
    char name[FABRIC_NAME];

    for (uint32_t i = 0; i < result->ports; i++) {
        const struct fabric_port *port = &watch->fabric->port[result->port[i].port];
        if (!result->port[i].sw) continue;
        const struct fabric_switch *sw = &watch->fabric->sw[port->node - watch->fabric->hosts];
        const struct sw_port_config *config = watch->sw[port->node - watch->fabric->hosts].config->port[port->index];
        if (formula) check_formula(watch, result->port[i].port, config);
        if (plan->short_headroom || plan->goes_down || deaf(watch, result->port[i].port)) continue;
        /* A watchdog that forwards sends against pauses that were meant. */
        if (watch->fabric->sw[0].watchdog.on && !watch->fabric->sw[0].watchdog.drop) continue;
        if (sw->headroom_pool_bytes && sw->headroom_pool_bytes < sw->headroom_sum_bytes) continue;
        bool enough = suffices(watch, result->port[i].port, config);
        if (formula)
            HOLDS(enough, "headroom that was worked out holds the worst case", "%s",
                  fabric_port_name(watch->fabric, result->port[i].port, name));
        watch->excused += !enough;
        if (!enough) continue;
        watch->lossless_checked++;
        HOLDS(result->port[i].sw->drop[SW_DROP_headroom] == 0, "a lossless class with its headroom loses nothing",
              "%s dropped %lu", fabric_port_name(watch->fabric, result->port[i].port, name),
              (unsigned long)result->port[i].sw->drop[SW_DROP_headroom]);
    }
}

/* Where nothing is lost nothing is repeated, but for gaps that packets on another path have left too far behind. */
static void check_clean(const struct watch *watch, const struct sim_result *result)
{
    const struct plan *plan = watch->plan;
    uint64_t dropped = 0;

    if (plan->loses || plan->goes_down || plan->storm || plan->hasty || plan->slow_receiver || plan->controlled) return;
    if (plan->early) return;
    if (plan->slow_line || plan->routes_move || plan->endless || plan->drains_slowly) return;
    for (uint32_t i = 0; i < result->ports; i++)
        dropped += result->port[i].sw ? result->port[i].drops : 0;
    if (dropped) return;
    for (uint32_t i = 0; i < result->nics; i++) {
        const struct nic_counters *c = result->nic[i].counters;
        HOLDS(c->local_ack_timeout_err == 0, "nothing is lost, so no timer runs out", "endpoint %u", i);
        if (c->rnr_nak_retry_err || watch->outrun[i]) continue;
        HOLDS(c->retransmitted_packets == 0, "nothing is lost, so nothing is repeated", "endpoint %u", i);
        HOLDS(c->packet_seq_err == 0 && c->implied_nak_seq_err == 0, "nothing is lost, so nothing is missed",
              "endpoint %u", i);
        /* An ACK in a class of its own may be overtaken by the READ response after it: it says nothing new then. */
        HOLDS(c->drop[NIC_DROP_ghost] == 0 || (plan->verbs && plan->acks_apart),
              "nothing is lost, so no answer is out of place", "endpoint %u", i);
    }
}

void watch_end(struct watch *watch, const struct sim_result *result)
{
    const struct plan *plan = watch->plan;
    watch_audit(watch);
    watch_slope();
    check_lossless(watch, result);
    check_clean(watch, result);
    if (plan_must_end(plan)) {
        HOLDS(result->state == SIM_DONE, "jobs end", "the run stands in state %d at %lu ps", (int)result->state,
              (unsigned long)result->virtual_ps);
        HOLDS(result->work_failed == 0, "no request fails", "%lu did", (unsigned long)result->work_failed);
    }
    /* What is unreliable has no timer: it is complete when sent, and behind a link that is down, or in a queue of
     * a deadlock, it never is. */
    bool excused = !plan->timers || (plan->unreliable && plan->goes_down) || result->deadlocks;
    HOLDS(result->state != SIM_STUCK || excused, "nobody waits for ever",
          "nothing will ever happen, and jobs are not done");
    HOLDS(result->state != SIM_FAILED || result->work_failed, "a job is given up for a reason", "no request failed");
    counts_check(watch, result);
    work_check(watch, result);
    if (result->state != SIM_DONE || result->work_failed) return;
    check_bytes(watch);
}

void watch_free(struct watch *watch)
{
    watching = NULL;
    for (uint32_t i = 0; i < watch->fabric->ports; i++) {
        free(watch->line[i].data.item);
        free(watch->line[i].pause.item);
    }
    for (uint32_t i = 0; i < watch->fabric->switches; i++) {
        for (uint32_t p = 0; p < watch->sw[i].config->ports; p++)
            for (int q = 0; q < 8; q++)
                free(watch->sw[i].port[p].queue[q].fifo.item);
        free(watch->sw[i].port);
    }
    for (uint32_t i = 0; i < watch->pairs; i++) {
        free(watch->pair[i].request);
        free(watch->pair[i].there);
        free(watch->pair[i].posts.item);
        free(watch->pair[i].sents.item);
        free(watch->pair[i].comes.item);
    }
    free(watch->line);
    free(watch->packet);
    free(watch->owner);
    free(watch->repeated);
    free(watch->outrun);
    free(watch->payload);
    free(watch->bucket);
    free(watch->bucket_slack);
    free(watch->bucket_at);
    free(watch->sw);
    free(watch->pair);
    free(watch->flow);
    free(watch->window_packets);
    free(watch->first_pair);
    free(watch->pair_at);
    free(watch->shared_received);
}
