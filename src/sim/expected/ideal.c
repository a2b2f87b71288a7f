/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a message takes when it is alone: what a flow's slowdown is measured against.
 *
 * The message's packets leave back to back and pass the links of one shortest path, each stored before it is
 * forwarded, or forwarded when its header is there where the switch cuts through; the acknowledgement of the last comes
 * back the same way.  Where a later link is slower the packets queue in front of it, which the two times carried along
 * (of the first packet and of the last) tell exactly.  A window, or a rate below the line's, is not looked at.  What
 * frames are made of is asked of the adapters and of the engine, so that it is written down once.
 *
 * Where switches spread the packets of a flow over several next hops, the links of all its ways together carry the
 * train, and each packet one of them.  That is a bound, which a flow may miss (ways that meet again are counted as
 * often as they parted) and cannot beat by more than its last packet, if that is shorter and overtakes the others.
 */
#include "sim/sim_int.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define HOPS_MAX 32
#define WAYS_MAX 4096

struct hop {
    uint64_t rate_bps;
    ps_t latency;
    bool cut;      /* the next node has a packet when its first bytes are there */
    uint32_t ways; /* links that packets of one flow may take at the same time */
};

static ps_t span(uint64_t rate_bps, uint64_t bytes)
{
    struct rate rate = rate_of(rate_bps);

    return rate_take(&rate, bytes);
}

/* `count` frames of that length, one after the other. */
static ps_t spans(const struct line_model *model, uint64_t rate_bps, uint64_t bytes, uint64_t count)
{
    ps_t one = span(rate_bps, bytes);

    return model->whole_ns ? (one - one % PS_NS) * count : span(rate_bps, bytes * count);
}

static ps_t receive_latency(const struct fabric *fabric, const struct fabric_port *port)
{
    if (fabric->node[port->node].kind == FABRIC_SWITCH) return fabric->sw[port->node - fabric->hosts].latency_ps;
    return fabric->nic[fabric->endpoint[fabric->first_endpoint[port->node] + port->index].nic].latency_ps;
}

static bool spreads(const struct fabric_switch *sw)
{
    return sw->balance.kind == SW_SPRAY || sw->balance.kind == SW_ADAPTIVE || sw->balance.kind == SW_FLOWLET;
}

/* The links from src to dst, by the first of equal ways; 0: no way. */
static uint32_t find_path(const struct fabric *fabric, uint32_t src, uint32_t dst, struct hop hop[HOPS_MAX])
{
    uint32_t at = fabric->endpoint[src].port, hops = 0, ways = 1;

    while (hops < HOPS_MAX) {
        const struct fabric_port *out = &fabric->port[at];
        if (out->peer == FABRIC_NONE) return 0;
        const struct fabric_port *in = &fabric->port[out->peer];
        hop[hops++] = (struct hop){out->rate_bps, out->propagation_ps + receive_latency(fabric, in),
                                   sim_cuts_through(fabric, in), ways};
        const struct fabric_node *node = &fabric->node[in->node];
        if (node->kind == FABRIC_HOST) return out->peer == fabric->endpoint[dst].port ? hops : 0;
        const struct fabric_route *route = &fabric->route[in->node - fabric->hosts];
        uint32_t edge = fabric->edge_of[dst], port;
        if (edge == route->own_edge) {
            port = fabric->local_port[dst];
            ways = 1;
        } else {
            uint16_t group = route->group_of[edge];
            if (group == FABRIC_NO_GROUP) return 0;
            port = fabric->route_port[route->group[group].first];
            if (spreads(&fabric->sw[in->node - fabric->hosts]) && ways <= WAYS_MAX) ways *= route->group[group].count;
        }
        at = node->first_port + port;
    }
    return 0;
}

struct train {                    /* packets back to back, each with all that is added to it on the line */
    uint64_t first, middle, last; /* bytes; a train of one has only `last` */
    uint64_t middles;
    bool one;
};

/* From a frame's first bit on the line until the next node has it, without what is behind the line. */
static ps_t handed(const struct line_model *model, const struct hop *hop, uint64_t on_line)
{
    uint64_t bytes = on_line - model->gap, header = PORT_CUT_BYTES + model->before;

    return spans(model, hop->rate_bps, hop->cut && bytes > header ? header : bytes, 1);
}

static ps_t send_all(const struct hop *hop, uint32_t hops, const struct train *train, const struct line_model *model)
{
    ps_t first = 0, end = 0;

    for (uint32_t i = 0; i < hops; i++) {
        uint64_t rate = hop[i].rate_bps * hop[i].ways;
        ps_t start = first;
        if (!train->one)
            start += spans(model, rate, train->first, 1) + spans(model, rate, train->middle, train->middles);
        if (start < end) start = end;
        first += handed(model, &hop[i], train->one ? train->last : train->first) + hop[i].latency;
        end = start + handed(model, &hop[i], train->last) + hop[i].latency;
    }
    return end;
}

static uint64_t on_line(const struct line_model *model, uint64_t frame)
{
    if (frame < model->min_bytes) frame = model->min_bytes;
    return frame + model->before + model->after + model->gap;
}

/* A message of `bytes` from src, as packets; 0 bytes is a packet all the same. */
static struct train train_of(const struct sim *sim, uint32_t src, uint64_t bytes)
{
    const struct line_model line = sim_line_model(sim->fabric), *model = &line;
    const struct sim_frames from = sim->endpoint->frames(sim, src);
    uint64_t mtu = from.mtu_bytes, header = from.header_bytes, extra = from.first_extra;
    uint64_t packets = bytes ? (bytes - 1) / mtu + 1 : 1, rest = bytes - (packets - 1) * mtu;

    rest = (rest + from.payload_padded - 1) / from.payload_padded * from.payload_padded;
    return (struct train){.first = on_line(model, header + extra + mtu),
                          .middle = on_line(model, header + mtu),
                          .last = on_line(model, header + rest + (packets == 1 ? extra : 0)),
                          .middles = packets > 2 ? packets - 2 : 0,
                          .one = packets == 1};
}

ps_t sim_ideal_line(const struct sim *sim, uint32_t src, uint64_t rate_bps, uint64_t bytes)
{
    const struct line_model line = sim_line_model(sim->fabric), *model = &line;
    struct train train = train_of(sim, src, bytes);
    ps_t time = spans(model, rate_bps, train.last, 1);

    if (!train.one)
        time += spans(model, rate_bps, train.first, 1) + spans(model, rate_bps, train.middle, train.middles);
    return time;
}

ps_t sim_ideal_arrival(const struct sim *sim, uint32_t src, uint32_t dst, uint64_t bytes)
{
    struct hop hop[HOPS_MAX];
    uint32_t hops = find_path(sim->fabric, src, dst, hop);
    struct train data = train_of(sim, src, bytes);
    const struct line_model model = sim_line_model(sim->fabric);

    return hops ? send_all(hop, hops, &data, &model) : PS_NEVER;
}

ps_t sim_ideal(const struct sim *sim, uint32_t src, uint32_t dst, uint64_t bytes)
{
    const struct line_model line = sim_line_model(sim->fabric), *model = &line;
    uint64_t ack = sim->endpoint->frames(sim, dst).ack_bytes;
    struct train data = train_of(sim, src, bytes), answer = {.last = on_line(model, ack), .one = true};
    struct hop hop[HOPS_MAX], back[HOPS_MAX];
    uint32_t hops = find_path(sim->fabric, src, dst, hop);

    if (hops == 0 || bytes == 0 || find_path(sim->fabric, dst, src, back) != hops) return PS_NEVER;
    return send_all(hop, hops, &data, model) + send_all(back, hops, &answer, model);
}
