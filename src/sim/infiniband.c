/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a port of InfiniBand counts, out of what switches and adapters count: observe/infiniband.def.
 */
#include "base/time.h"
#include "fabric/fabric.h"
#include "observe/sample.h"
#include "sim/sim_int.h"

#define TICK_BYTES 4u

/* Ticks of a time: words that the line would have carried. */
static uint64_t ticks(uint64_t rate_bps, ps_t time)
{
    return rate_bytes_in(rate_bps, time) / TICK_BYTES;
}

static void of_switch(const struct sw_port_counters *from, uint64_t rate_bps, struct observe_infiniband *ret)
{
    ps_t waited = 0;

    for (int p = 0; p < SW_PRIOS; p++)
        waited += from->prio[p].rx_pause_ps;
    ret->xmit_data = from->tx_bytes;
    ret->rcv_data = from->rx_bytes;
    ret->xmit_pkts = from->tx_packets;
    ret->rcv_pkts = from->rx_packets;
    ret->xmit_wait = ticks(rate_bps, waited);
    ret->xmit_discards = from->drop[SW_DROP_egress] + from->drop[SW_DROP_port_down] + from->drop[SW_DROP_lifetime];
    ret->relay_errors = from->drop[SW_DROP_no_route] + from->drop[SW_DROP_mtu] + from->drop[SW_DROP_not_mine];
    ret->buffer_overruns = from->drop[SW_DROP_buffer] + from->drop[SW_DROP_headroom];
}

static void of_adapter(const struct nic_counters *from, uint64_t rate_bps, struct observe_infiniband *ret)
{
    ps_t waited = 0;

    for (int p = 0; p < NIC_PRIOS; p++)
        waited += from->prio[p].rx_pause_ps;
    ret->xmit_data = from->tx_bytes;
    ret->rcv_data = from->rx_bytes;
    ret->xmit_pkts = from->tx_packets;
    ret->rcv_pkts = from->rx_packets;
    ret->xmit_wait = ticks(rate_bps, waited);
    ret->buffer_overruns = from->drop[NIC_DROP_rx_buffer];
    ret->rcv_fecn = from->np_ecn_marked_roce_packets;
    ret->rcv_becn = from->rp_cnp_handled;
}

void sim_infiniband(const struct sim *sim, uint32_t index, struct observe_infiniband *ret)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    const struct node *node = engine_node(sim->engine, from->node);

    *ret = (struct observe_infiniband){.link_downed = node->extra[from->index].downs};
    if (from->peer != FABRIC_NONE) {
        const struct fabric_port *peer = &sim->fabric->port[from->peer];
        ret->rcv_errors = ret->symbol_errors = engine_node(sim->engine, peer->node)->extra[peer->index].corrupted;
    }
    if (sim->fabric->node[from->node].kind == FABRIC_SWITCH) {
        const struct sim_switch *sw = &sim->sw[from->node - sim->fabric->hosts];
        of_switch(sw_port_counters(sw->sw, from->index), from->rate_bps, ret);
    } else if (sim->endpoint->nic_counters) {
        uint32_t endpoint = sim->fabric->first_endpoint[from->node] + from->index;
        of_adapter(sim->endpoint->nic_counters(&sim->adapter[endpoint]), from->rate_bps, ret);
    }
}
