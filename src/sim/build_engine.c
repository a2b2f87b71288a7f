/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's nodes, links and tiles from the fabric's.
 *
 * Tiles are the fabric's pods, and each switch of no pod alone.  With threads to feed and too few of those, an
 * edge switch and its hosts are a tile, or every node is: the result is the same for any choice.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "packet/frame.h"
#include "sim/sim_int.h"

#define TILES_A_THREAD 2
#define MIN_LINE_BYTES 84
#define CBFC_SET_BYTES 8 /* an update is a control ordered set */

/* The tile of a node, at three finenesses; not yet numbered without holes. */
static uint64_t tile_key(const struct fabric *fabric, uint32_t node, int fineness)
{
    const uint64_t alone = (uint64_t)1 << 33;
    const struct fabric_node *self = &fabric->node[node];

    if (fineness == 2) return alone | node;
    if (fineness == 0) return self->pod == FABRIC_NONE ? alone | node : self->pod;
    if (self->kind == FABRIC_SWITCH || self->ports == 0) return alone | node;
    uint32_t peer = fabric->port[self->first_port].peer;
    return alone | (peer == FABRIC_NONE ? node : fabric->port[peer].node);
}

struct keyed {
    uint64_t key;
    uint32_t node;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int find_tiles(const struct sim *sim, struct engine_node *node)
{
    const struct fabric *fabric = sim->fabric;
    struct keyed *keyed = calloc(fabric->nodes + 1u, sizeof(*keyed));
    uint32_t tiles = 0;

    if (keyed == NULL) return -ENOMEM;
    for (int fineness = 0; fineness < 3; fineness++) {
        for (uint32_t i = 0; i < fabric->nodes; i++)
            keyed[i] = (struct keyed){tile_key(fabric, i, fineness), i};
        qsort(keyed, fabric->nodes, sizeof(*keyed), compare_keyed);
        tiles = 0;
        for (uint32_t i = 0; i < fabric->nodes; i++) {
            tiles += i == 0 || keyed[i].key != keyed[i - 1].key;
            node[keyed[i].node].tile = tiles - 1;
        }
        if (sim->options.threads == 1 || tiles >= TILES_A_THREAD * sim->options.threads) break;
    }
    free(keyed);
    return 0;
}

/* A switch may begin to send what still arrives when no port of it is faster than the one it arrives by. */
bool sim_cuts_through(const struct fabric *fabric, const struct fabric_port *in)
{
    const struct fabric_node *node = &fabric->node[in->node];

    if (node->kind != FABRIC_SWITCH || !fabric->sw[in->node - fabric->hosts].cut_through) return false;
    for (uint32_t p = 0; p < node->ports; p++)
        if (fabric->port[node->first_port + p].rate_bps > in->rate_bps) return false;
    return true;
}

static struct engine_end end_of(const struct fabric *fabric, uint32_t index)
{
    const struct fabric_port *port = &fabric->port[index];
    ps_t latency;

    if (fabric->node[port->node].kind == FABRIC_SWITCH)
        latency = fabric->sw[port->node - fabric->hosts].latency_ps;
    else
        latency = fabric->nic[fabric->endpoint[fabric->first_endpoint[port->node] + port->index].nic].latency_ps;
    return (struct engine_end){.node = port->node,
                               .port = port->index,
                               .latency = latency,
                               .reaction = port->pause_reaction_ps,
                               .loss_ppm = port->error_ppm,
                               .cut_through = sim_cuts_through(fabric, port)};
}

static void llr_of(const struct fabric *fabric, uint32_t port, struct engine_link *link)
{
    uint64_t rate = fabric->port[port].rate_bps, buffer = fabric_llr_buffer(fabric, port);
    struct rate spacing = rate_of(rate);
    uint32_t frames = 1;

    while (frames < LLR_FRAMES_MAX && (uint64_t)frames * MIN_LINE_BYTES < buffer)
        frames *= 2;
    link->llr = (struct llr_config){.buffer_bytes = (uint32_t)buffer,
                                    .largest_bytes = fabric_line_bytes(fabric),
                                    .frames = frames,
                                    .replays = (uint32_t)fabric->llr.replays,
                                    .timer_ps = fabric_llr_timer(fabric, port),
                                    .spacing_ps = rate_take(&spacing, FABRIC_LLR_SPACING)};
    link->llr_reaction = fabric->llr.reaction_ps;
}

static uint32_t find_links(const struct fabric *fabric, struct engine_link *link)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct fabric_port *port = &fabric->port[i];
        if (port->peer == FABRIC_NONE || port->peer < i || !port->up) continue;
        if (link)
            link[count] = (struct engine_link){.end = {end_of(fabric, i), end_of(fabric, port->peer)},
                                               .rate_bps = port->rate_bps,
                                               .propagation = port->propagation_ps};
        if (link && port->llr) llr_of(fabric, i, &link[count]);
        count++;
    }
    return count;
}

/* What a host can send in the longest window, and answer, in the smallest frames. */
static uint32_t largest_burst(const struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;
    uint64_t most = 0;

    for (uint32_t h = 0; h < fabric->hosts; h++) {
        uint64_t packets = 0;
        for (uint32_t p = 0; p < fabric->node[h].ports; p++) {
            uint64_t rate = fabric->port[fabric->node[h].first_port + p].rate_bps;
            packets += rate_bytes_in(rate, sim->sync_latency) / MIN_LINE_BYTES + 64;
        }
        if (packets > most) most = packets;
    }
    return (uint32_t)(2 * most + 64);
}

struct line_model sim_line_model(const struct fabric *fabric)
{
    const struct fabric_system_row *system = fabric_system(fabric);

    if (fabric->behaviour == FABRIC_HPCC_NS3) return (struct line_model){.pause_bytes = 43, .whole_ns = true};
    if (fabric->behaviour == FABRIC_UET_HTSIM) return (struct line_model){.pause_bytes = 64};
    if (fabric->behaviour == FABRIC_NS3_TCP) return (struct line_model){.pause_bytes = 54};
    return (struct line_model){.min_bytes = system->line.min_bytes,
                               .before = system->line.before,
                               .after = system->line.after,
                               .gap = system->line.gap,
                               .pause_bytes = fabric->lanes.cbfc ? CBFC_SET_BYTES : system->line.control_bytes};
}

static int check_ports(const struct fabric *fabric, struct fabric_errors *errors)
{
    for (uint32_t i = 0; i < fabric->nodes; i++) {
        if (fabric->node[i].ports <= NODE_PORTS_MAX) continue;
        fabric_errors_add(errors, (struct fabric_at){0}, "'%s' has %u ports; the most that can be simulated is %u",
                          fabric->node[i].name, fabric->node[i].ports, NODE_PORTS_MAX);
        return -EINVAL;
    }
    return 0;
}

static visit_fn switch_visit(const struct sim_switch *sw)
{
    static const visit_fn visit[] = {[SW_SIMPLE] = sim_visit_switch_simple,
                                     [SW_FORWARDS] = sim_visit_switch_forwards,
                                     [SW_CREDITS] = sim_visit_switch_credits,
                                     [SW_WHOLE] = sim_visit_switch_whole};

    return visit[sw_form(&sw->plant->config)];
}

static bool any_foreign(const struct sim *sim)
{
    return sim->options.programs && sim->options.programs->foreign;
}

int sim_build_engine(struct sim *sim, struct fabric_errors *errors)
{
    const struct fabric *fabric = sim->fabric;
    struct engine_node *node = calloc(fabric->nodes + 1u, sizeof(*node));
    struct engine_link *link = calloc(fabric->ports + 1u, sizeof(*link));
    int error = node && link ? check_ports(fabric, errors) : -ENOMEM;

    for (uint32_t i = 0; i < fabric->nodes && !error; i++) {
        bool host = i < fabric->hosts;
        visit_fn visit_host = sim->options.programs ? sim_visit_programs : sim->endpoint->visit;
        if (host && sim_is_foreign(sim, i)) visit_host = sim_visit_foreign;
        node[i] = (struct engine_node){.visit = host ? visit_host : switch_visit(&sim->sw[i - fabric->hosts]),
                                       .machine = host ? (void *)&sim->host[i] : (void *)&sim->sw[i - fabric->hosts],
                                       .ports = fabric->node[i].ports,
                                       .allocates = host};
    }
    if (!error) error = find_tiles(sim, node);
    if (!error) {
        struct engine_config config = {.node = node,
                                       .nodes = fabric->nodes,
                                       .link = link,
                                       .links = find_links(fabric, link),
                                       .threads = sim->options.threads,
                                       .no_tiles = sim->options.no_tiles,
                                       .sync_latency = sim->sync_latency,
                                       .seed = sim->options.seed,
                                       .packets_max =
                                           sim->options.packets_max ? sim->options.packets_max : SIM_PACKETS_MAX,
                                       .burst = largest_burst(sim),
                                       .cold = sim->options.programs != NULL, /* operands of atomics */
                                       .telemetry = sim->plant.needs.telemetry,
                                       .bytes_each = any_foreign(sim) ? FRAME_BYTES_MAX : 0,
                                       .model = sim_line_model(fabric)};
        error = engine_create(&config, &sim->engine);
        if (error == -EINVAL) /* ports and rates were checked */
            fabric_errors_add(errors, (struct fabric_at){0},
                              "a link has no latency at all: give it a cable, or the device behind it a latency");
    }
    free(node);
    free(link);
    return error;
}
