/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is reported at the end, beside what the watch counted by itself.
 *
 * Ports that a link's fall or a storm of their own concerned are left out where the watch does not know what was
 * void at which moment.
 */
#include "swarm.h"

#include "fabric/fabric.h"

static void same(const struct watch *watch, uint32_t port, const char *what, uint64_t said, uint64_t counted)
{
    char name[FABRIC_NAME];

    HOLDS(said == counted, "what is reported is what happened", "%s: %s: %lu, should be %lu",
          fabric_port_name(watch->fabric, port, name), what, (unsigned long)said, (unsigned long)counted);
}

/* A run that stands still is said to end with its last frame; pauses that outlive it are counted whole. */
static ps_t paused_by(const struct line *line, int p, ps_t now)
{
    ps_t end = line->paused_until[p] < now ? line->paused_until[p] : now;

    if (line->paused_from[p] == PS_NEVER || end <= line->paused_from[p]) return line->paused_sum[p];
    return line->paused_sum[p] + end - line->paused_from[p];
}

static bool storms(const struct watch *watch, uint32_t node)
{
    for (uint32_t f = 0; f < watch->fabric->faults; f++)
        if (watch->fabric->fault[f].kind == FABRIC_FAULT_PAUSE && watch->fabric->fault[f].node == node) return true;
    return false;
}

static void switch_port(const struct watch *watch, const struct sim_port *port, ps_t now, bool stuck)
{
    const struct line *line = &watch->line[port->port];
    const struct fabric_port *from = &watch->fabric->port[port->port];
    const struct switch_watch *s = &watch->sw[from->node - watch->fabric->hosts];
    const struct sw_port_counters *c = port->sw;
    uint64_t dropped = 0;

    same(watch, port->port, "packets sent", c->tx_packets, line->count.frames);
    same(watch, port->port, "bytes sent", c->tx_bytes, line->count.bytes);
    same(watch, port->port, "packets received", c->rx_packets, line->count.came);
    same(watch, port->port, "bytes received", c->rx_bytes, line->count.came_bytes);
    same(watch, port->port, "marks", port->ecn_marked, line->count.marked);
    bool moves = watch->plan->routes_move;
    same(watch, port->port, "drops without a reason",
         c->drop[SW_DROP_mtu] + (moves ? 0 : c->drop[SW_DROP_ttl] + c->drop[SW_DROP_no_route]), 0);
    if (!watch->plan->watched) same(watch, port->port, "watchdog drops", c->drop[SW_DROP_watchdog], 0);
    if (!watch->plan->goes_down) same(watch, port->port, "drops of a port down", c->drop[SW_DROP_port_down], 0);
    for (int d = 0; d < SW_DROPS; d++)
        dropped += c->drop[d];
    same(watch, port->port, "drops", port->drops, dropped);
    for (int p = 0; p < 8; p++) {
        same(watch, port->port, "longest queue", c->prio[p].queue_max_bytes, s->port[from->index].queue[p].most);
        if (line->was_down) continue;
        same(watch, port->port, "XOFF received", c->prio[p].rx_xoff, line->count.xoff_came[p]);
        same(watch, port->port, "XON received", c->prio[p].rx_xon, line->count.xon_came[p]);
        if (s->config->port[from->index]->pfc_rx >> p & 1 && !stuck)
            if (!stuck) same(watch, port->port, "time paused", c->prio[p].rx_pause_ps, paused_by(line, p, now));
        if (storms(watch, from->node)) continue;
        same(watch, port->port, "XOFF sent", c->prio[p].tx_xoff + c->prio[p].tx_xoff_refresh, line->count.xoff[p]);
        same(watch, port->port, "XON sent", c->prio[p].tx_xon, line->count.xon[p]);
        if (!stuck)
            same(watch, port->port, "time pausing", c->prio[p].tx_pause_ps,
                 line->told_sum[p] + (line->told >> p & 1 ? now - line->told_from[p] : 0));
    }
    if (line->was_down) return;
    same(watch, port->port, "PFC frames received", c->rx_pfc_frames, line->count.pauses_came);
    if (!storms(watch, from->node)) same(watch, port->port, "PFC frames sent", c->tx_pfc_frames, line->count.pauses);
}

static void host_port(const struct watch *watch, const struct sim_port *port, ps_t now, bool stuck)
{
    const struct line *line = &watch->line[port->port];
    const struct fabric_port *from = &watch->fabric->port[port->port];
    const struct nic *nic = watch->sim->adapter[watch->fabric->first_endpoint[from->node] + from->index].nic;
    const struct nic_counters *c = &nic->counters;
    uint64_t sent = 0, bytes = 0;

    for (int p = 0; p < NIC_PRIOS; p++) {
        sent += c->prio[p].tx_packets;
        bytes += c->prio[p].tx_bytes;
        if (line->was_down) continue;
        same(watch, port->port, "XOFF received", c->prio[p].rx_pause, line->count.xoff_came[p]);
        same(watch, port->port, "XON received", c->prio[p].rx_resume, line->count.xon_came[p]);
        if (!stuck) same(watch, port->port, "time paused", c->prio[p].rx_pause_ps, paused_by(line, p, now));
        if (storms(watch, from->node)) continue;
        same(watch, port->port, "XOFF sent", c->prio[p].tx_pause, line->count.xoff[p]);
        same(watch, port->port, "XON sent", c->prio[p].tx_resume, line->count.xon[p]);
    }
    same(watch, port->port, "packets sent", sent, line->count.frames);
    same(watch, port->port, "packets repeated", c->retransmitted_packets, watch->repeated[nic->config.endpoint]);
    same(watch, port->port, "payload sent", c->tx_payload_bytes, watch->payload[nic->config.endpoint]);
    same(watch, port->port, "bytes sent", bytes, line->count.bytes);
    same(watch, port->port, "packets received", c->rx_packets, line->count.came);
    same(watch, port->port, "bytes received", c->rx_bytes, line->count.came_bytes);
}

void counts_check(struct watch *watch, const struct sim_result *result)
{
    bool stuck = result->state == SIM_STUCK;
    ps_t now = stuck ? result->virtual_ps : watch->sim->engine->now;

    for (uint32_t i = 0; i < result->nics && watch->fabric->system == FABRIC_ROCEV1; i++)
        HOLDS(result->nic[i].common.marked == 0 && result->nic[i].counters->np_cnp_sent == 0,
              "nothing of RoCEv1 is marked", "adapter %u: %lu marked, %lu CNPs", i,
              (unsigned long)result->nic[i].common.marked, (unsigned long)result->nic[i].counters->np_cnp_sent);
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        const struct line *line = &watch->line[port->port];
        double share = now ? (double)line->count.line_bytes * 8e12 / (double)now / (double)line->quantum_bps : 0;
        double slack = now ? 10000 * 8e12 / (double)now / (double)line->quantum_bps + 0.001 : 1;
        HOLDS(port->paused_ps <= 8 * (watch->sim->engine->now > now ? watch->sim->engine->now : now),
              "nobody is paused for longer than the run", "port %u: %lu ps", port->port,
              (unsigned long)port->paused_ps);
        same(watch, port->port, "frames", port->frames, line->count.frames + line->count.pauses);
        same(watch, port->port, "pauses and credits", port->pauses_sent + port->credits_sent, line->count.pauses);
        same(watch, port->port, "bytes of line", port->line_bytes, line->count.line_bytes);
        HOLDS(port->utilisation_ppm / 1e6 <= share + slack && port->utilisation_ppm / 1e6 >= share - slack,
              "what is reported is what happened", "port %u: utilisation %u ppm, should be %.6f", port->port,
              port->utilisation_ppm, share);
        if (port->sw)
            switch_port(watch, port, now, stuck);
        else
            host_port(watch, port, now, stuck);
    }
}
