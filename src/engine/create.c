/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building an engine: nodes in order of their tiles, links, windows, workers.
 *
 * What a visit touches lies together (node, ports, input links, tree), node after node, tile after tile; what it
 * rarely touches (port_extra) lies elsewhere.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/memory.h"
#include "engine/engine_int.h"
#include "engine/run_int.h"
#include "node/digest.h"
#include "packet/frame.h"
#include "packet/telemetry.h"

#define LIST_CAPACITY 1024

static void *engine_memory(struct engine *engine, size_t bytes)
{
    CHECK(engine->memories < sizeof(engine->memory) / sizeof(engine->memory[0]));
    void *at = pages_map(bytes ? bytes : 1);
    if (at == NULL) return NULL;
    engine->memory[engine->memories] = at;
    engine->memory_bytes[engine->memories++] = bytes ? bytes : 1;
    return at;
}

static uint32_t leaves_for(uint32_t ports)
{
    uint32_t leaves = 1;

    while (leaves < ports)
        leaves *= 2;
    return leaves;
}

static size_t node_bytes(uint32_t ports)
{
    return lines_up(ports * sizeof(struct port)) + ports * sizeof(struct link) +
           lines_up(2 * leaves_for(ports) * sizeof(uint64_t)) +
           lines_up(ports * (2 * sizeof(uint64_t) + sizeof(uint32_t)));
}

/* Nodes by tile, in the order the caller gave them within one. */
static int order_nodes(struct engine *engine, const struct engine_config *config)
{
    uint32_t tiles = 0;

    for (uint32_t i = 0; i < config->nodes; i++)
        if (config->node[i].tile + 1 > tiles) tiles = config->node[i].tile + 1;
    engine->tiles = tiles;
    engine->tile = calloc(tiles + 1, sizeof(*engine->tile));
    engine->index_of = calloc(config->nodes, sizeof(*engine->index_of));
    engine->boundary = calloc(config->nodes, sizeof(*engine->boundary));
    if (!engine->tile || !engine->index_of || !engine->boundary) return -ENOMEM;
    for (uint32_t i = 0; i < config->nodes; i++)
        engine->tile[config->node[i].tile + 1].first++;
    for (uint32_t i = 1; i <= tiles; i++)
        engine->tile[i].first += engine->tile[i - 1].first;
    for (uint32_t i = 0; i < config->nodes; i++) {
        struct tile *tile = &engine->tile[config->node[i].tile];
        engine->index_of[i] = tile->first + tile->count++;
    }
    return 0;
}

static int make_nodes(struct engine *engine, const struct engine_config *config)
{
    size_t bytes = 0, extras = 0;

    for (uint32_t i = 0; i < config->nodes; i++) {
        if (config->node[i].ports > NODE_PORTS_MAX) return -EINVAL;
        bytes += node_bytes(config->node[i].ports);
        extras += config->node[i].ports;
    }
    uint8_t *at = engine_memory(engine, bytes);
    struct port_extra *extra = engine_memory(engine, extras * sizeof(*extra));
    engine->node = engine_memory(engine, config->nodes * sizeof(*engine->node));
    engine->next = engine_memory(engine, config->nodes * sizeof(ps_t));
    engine->far_next[0] = engine_memory(engine, config->nodes * sizeof(ps_t));
    engine->far_next[1] = engine_memory(engine, config->nodes * sizeof(ps_t));
    if (!at || !extra || !engine->node || !engine->next || !engine->far_next[0] || !engine->far_next[1]) return -ENOMEM;
    for (uint32_t i = 0; i < config->nodes; i++)
        engine->node[engine->index_of[i]].id = i;
    for (uint32_t index = 0; index < config->nodes; index++) {
        struct node *node = &engine->node[index];
        const struct engine_node *from = &config->node[node->id];
        node->visit = from->visit;
        node->machine = from->machine;
        node->ports = from->ports;
        node->allocates = from->allocates;
        node->index = index;
        node->leaves = leaves_for(from->ports);
        node->tick = EVENT_NEVER;
        node->line_at = PS_NEVER;
        node->extra = extra;
        extra += from->ports;
        node->port = (struct port *)(void *)at;
        node->in = (struct link *)(void *)(at + lines_up(from->ports * sizeof(struct port)));
        node->tree = (uint64_t *)(void *)(node->in + from->ports);
        node->heard = (uint64_t *)(void *)((uint8_t *)node->tree + lines_up(2 * node->leaves * sizeof(uint64_t)));
        node->link_in = (uint32_t *)(void *)(node->heard + 2 * from->ports);
        at += node_bytes(from->ports);
        for (uint32_t i = 0; i < 2 * node->leaves; i++)
            node->tree[i] = EVENT_NEVER;
        engine->next[index] = engine->far_next[0][index] = engine->far_next[1][index] = PS_NEVER;
    }
    return 0;
}

/* The direction from end `from` to the other. */
static int make_direction(struct engine *engine, const struct engine_config *config, uint32_t number, int from)
{
    const struct engine_link *link = &config->link[number];
    const struct engine_end *a = &link->end[from], *b = &link->end[!from];

    if (a->node >= config->nodes || b->node >= config->nodes || link->rate_bps == 0) return -EINVAL;
    struct node *node = &engine->node[engine->index_of[a->node]], *peer = &engine->node[engine->index_of[b->node]];
    if (a->port >= node->ports || b->port >= peer->ports || node->port[a->port].link) return -EINVAL;
    if (link->propagation + b->latency == 0 || link->propagation + b->reaction == 0) return -EINVAL;

    struct port *port = &node->port[a->port];
    struct port_extra *extra = &node->extra[a->port];
    *extra = (struct port_extra){.rate = rate_of(link->rate_bps),
                                 .latency = link->propagation + b->latency,
                                 .control_latency = link->propagation + b->reaction,
                                 .loss_ppm = b->loss_ppm};
    rng_init(&extra->rng, config->seed, 0x10000000000ULL | (uint64_t)number << 1 | (uint64_t)from);
    *port = (struct port){.link = &peer->in[b->port], .peer_next = &engine->next[peer->index], .peer = peer->index};
    node_port_rate(node, a->port, link->rate_bps, &config->model);
    if (b->loss_ppm) port->flags |= PORT_CORRUPT;
    if (b->cut_through && !link->llr.buffer_bytes) port->flags |= PORT_CUT; /* what may be damaged is taken whole */
    if (config->node[a->node].tile != config->node[b->node].tile) port->flags |= PORT_FAR;
    peer->link_in[b->port] = number << 1 | (uint32_t)from;
    return 0;
}

static void note_window(struct engine *engine, const struct engine_config *config, const struct engine_link *link,
                        int from)
{
    const struct engine_end *a = &link->end[from], *b = &link->end[!from];
    ps_t data = link->propagation + b->latency, pause = link->propagation + b->reaction;
    ps_t least = data < pause ? data : pause;
    if (link->llr.buffer_bytes && link->propagation + link->llr_reaction < least)
        least = link->propagation + link->llr_reaction;
    uint32_t ta = config->node[a->node].tile, tb = config->node[b->node].tile;

    if (least < engine->small_window) engine->small_window = least;
    if (ta != tb && least < engine->window) engine->window = least;
    if (ta == tb && least < engine->tile[ta].window) engine->tile[ta].window = least;
}

static int make_links(struct engine *engine, const struct engine_config *config)
{
    engine->window = engine->small_window = config->sync_latency;
    for (uint32_t i = 0; i < engine->tiles; i++)
        engine->tile[i].window = PS_NEVER;
    for (uint32_t i = 0; i < config->links; i++) {
        for (int from = 0; from < 2; from++) {
            int error = make_direction(engine, config, i, from);
            if (error) return error;
            note_window(engine, config, &config->link[i], from);
        }
    }
    if (config->no_tiles) engine->window = engine->small_window;
    for (uint32_t i = 0; i < engine->tiles; i++)
        if (engine->tile[i].window > engine->window) engine->tile[i].window = engine->window;
    return 0;
}

/* Link-level retry: the state of each port of a node that has some, and the rings. */
static int make_lines(struct engine *engine, const struct engine_config *config)
{
    uint64_t lines = 0, frames = 0;

    for (uint32_t i = 0; i < config->links; i++) {
        if (config->link[i].llr.buffer_bytes == 0) continue;
        if (config->link[i].propagation + config->link[i].llr_reaction == 0) return -EINVAL;
        frames += 2 * (uint64_t)config->link[i].llr.frames;
        for (int end = 0; end < 2; end++) {
            struct node *node = &engine->node[engine->index_of[config->link[i].end[end].node]];
            if (node->line_at == PS_NEVER) lines += node->ports;
            node->line_at = 0; /* it has some */
        }
    }
    if (frames == 0) return 0;
    struct node_line *line = engine_memory(engine, lines * sizeof(*line));
    struct llr_frame *ring = engine_memory(engine, frames * sizeof(*ring));
    if (!line || !ring) return -ENOMEM;
    for (uint32_t i = 0; i < config->nodes; i++) {
        struct node *node = &engine->node[i];
        if (node->line_at == PS_NEVER) continue;
        node->line_at = PS_NEVER;
        node->line = line;
        line += node->ports;
    }
    for (uint32_t i = 0; i < config->links; i++) {
        const struct engine_link *link = &config->link[i];
        for (int end = 0; end < 2 && link->llr.buffer_bytes; end++, ring += link->llr.frames) {
            struct node *node = &engine->node[engine->index_of[link->end[end].node]];
            struct node_line *at = &node->line[link->end[end].port];
            llr_init(&at->llr, &link->llr, ring);
            at->latency = link->propagation + link->llr_reaction;
            node->port[link->end[end].port].flags |= PORT_LLR;
        }
    }
    return 0;
}

static void find_boundaries(struct engine *engine)
{
    uint32_t found = 0;

    for (uint32_t t = 0; t < engine->tiles; t++) {
        struct tile *tile = &engine->tile[t];
        tile->boundary_first = found;
        for (uint32_t i = tile->first; i < tile->first + tile->count; i++) {
            bool far = false;
            /* Links have two directions, so whoever speaks to another tile also hears from it. */
            for (uint32_t p = 0; p < engine->node[i].ports; p++)
                far |= (engine->node[i].port[p].flags & PORT_FAR) != 0;
            if (far) engine->boundary[found++] = i;
        }
        tile->boundary_count = found - tile->boundary_first;
    }
}

struct tile_weight {
    uint64_t weight;
    uint32_t tile, worker;
};

static int heavier(const void *a, const void *b)
{
    const struct tile_weight *x = a, *y = b;

    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->tile < y->tile ? -1 : x->tile > y->tile;
}

/*
 * Tiles to workers: the heaviest first, each to whoever has least.  The weight is ports; a host's count twice, for an
 * adapter does about twice as much for a packet as a switch.
 */
static int share_tiles(struct engine *engine)
{
    struct tile_weight *tile = calloc(engine->tiles + 1u, sizeof(*tile));
    uint64_t *load = calloc(engine->threads, sizeof(*load));
    uint32_t at = 0;

    engine->shared_out = calloc(engine->tiles + 1u, sizeof(*engine->shared_out));
    if (tile && load && engine->shared_out) {
        for (uint32_t t = 0; t < engine->tiles; t++) {
            const struct node *node = &engine->node[engine->tile[t].first];
            tile[t].tile = t;
            for (uint32_t i = 0; i < engine->tile[t].count; i++)
                tile[t].weight += node[i].ports * (node[i].allocates ? 2u : 1u);
        }
        qsort(tile, engine->tiles, sizeof(*tile), heavier);
        for (uint32_t t = 0; t < engine->tiles; t++) {
            for (uint32_t w = 1; w < engine->threads; w++)
                if (load[w] < load[tile[t].worker]) tile[t].worker = w;
            load[tile[t].worker] += tile[t].weight;
        }
        for (uint32_t w = 0; w < engine->threads; w++) {
            engine->worker[w].tile = &engine->shared_out[at];
            for (uint32_t t = 0; t < engine->tiles; t++)
                if (tile[t].worker == w) engine->shared_out[at++] = tile[t].tile;
            engine->worker[w].tiles = (uint32_t)(&engine->shared_out[at] - engine->worker[w].tile);
        }
    }
    int error = tile && load && engine->shared_out ? 0 : -ENOMEM;
    free(tile);
    free(load);
    return error;
}

/* How often a thread looks before it lets others run: about what the unevenness of a window takes. */
static uint32_t spins_for(uint32_t threads)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0 || (uint32_t)CPU_COUNT(&set) < threads) return 0;
    return 2000;
}

static int make_workers(struct engine *engine, const struct engine_config *config)
{
    engine->thread = calloc(config->threads, sizeof(*engine->thread));
    if (!engine->thread) return -ENOMEM;
    engine->worker = aligned_alloc(_Alignof(struct worker), config->threads * sizeof(*engine->worker));
    if (!engine->worker) return -ENOMEM;
    for (uint32_t i = 0; i < config->threads; i++) {
        struct worker *worker = &engine->worker[i];
        *worker = (struct worker){.engine = engine, .number = i, .next = PS_NEVER, .far_min = PS_NEVER};
        worker->min_bytes = config->model.min_bytes;
        worker->line_bytes = (uint32_t)config->model.before + config->model.after + config->model.gap;
    }
    for (uint32_t i = 0; i < config->threads; i++) {
        struct worker *worker = &engine->worker[i];
        worker->store.reserve = &engine->reserve;
        worker->list_capacity = LIST_CAPACITY;
        worker->list = malloc(LIST_CAPACITY * sizeof(struct event));
        worker->list_other = malloc(LIST_CAPACITY * sizeof(struct event));
        worker->pool = (struct pktpool){.hot = engine->hot,
                                        .cold = engine->cold,
                                        .telemetry = engine->telemetry,
                                        .frame = engine->frame,
                                        .bytes = engine->bytes,
                                        .bytes_each = config->bytes_each,
                                        .free_capacity = config->packets_max};
        worker->pool.free = pages_map((size_t)config->packets_max * sizeof(uint32_t));
        if (!worker->list || !worker->list_other || !worker->pool.free) return -ENOMEM;
        node_io_init(&worker->io, &worker->pool);
    }
    return 0;
}

static int start_threads(struct engine *engine)
{
    engine->barrier.threads = engine->threads;
    engine->barrier.spins = spins_for(engine->threads);
    for (uint32_t i = 1; i < engine->threads; i++) {
        int error = pthread_create(&engine->thread[i], NULL, engine_thread, &engine->worker[i]);
        if (error) {
            /* The barrier counts on all of them: those that were made wait for the ones that could not be. */
            engine->barrier.threads = i;
            return error == EAGAIN ? memory_ran_out() : -error; /* glibc's, for a stack that there is no memory for */
        }
        engine->started = i;
    }
    return 0;
}

static int make_packets(struct engine *engine, const struct engine_config *config)
{
    size_t packets = config->packets_max;

    engine->hot = engine_memory(engine, packets * sizeof(struct pkt));
    if (config->cold) engine->cold = engine_memory(engine, packets * sizeof(struct pkt_cold));
    if (config->telemetry) engine->telemetry = engine_memory(engine, packets * sizeof(struct pkt_int));
    if (config->bytes_each) {
        engine->frame = engine_memory(engine, packets * sizeof(struct pkt_frame));
        engine->bytes = engine_memory(engine, packets * config->bytes_each);
    }
    bool all = engine->hot && (!config->cold || engine->cold) && (!config->telemetry || engine->telemetry) &&
               (!config->bytes_each || (engine->frame && engine->bytes));
    return all ? 0 : -ENOMEM;
}

int engine_create(const struct engine_config *config, struct engine **ret)
{
    struct engine *engine = aligned_alloc(_Alignof(struct engine), sizeof(*engine));
    int error;

    if (engine == NULL) return -ENOMEM;
    *engine = (struct engine){0};
    CHECK(config->threads > 0 && config->burst > 0 && config->sync_latency > 0);
    engine->model = config->model;
    engine->nodes = config->nodes;
    engine->links = config->links;
    engine->threads = config->threads;
    engine->packets_max = config->packets_max;
    engine->burst = config->burst;
    engine->wake_min = PS_NEVER;
    error = reserve_init(&engine->reserve, config->packets_max);
    if (!error) error = make_packets(engine, config);
    if (!error) error = order_nodes(engine, config);
    if (!error) error = make_nodes(engine, config);
    if (!error) error = make_links(engine, config);
    if (!error) error = make_lines(engine, config);
    if (!error) error = make_workers(engine, config);
    if (!error) {
        find_boundaries(engine);
        error = share_tiles(engine);
        if (!error) error = start_threads(engine);
    }
    if (error) {
        engine_free(engine);
        return error;
    }
    *ret = engine;
    return 0;
}

void engine_free(struct engine *engine)
{
    if (engine == NULL) return;
    engine_stop_threads(engine);
    for (uint32_t i = 0; engine->worker && i < engine->threads; i++) {
        struct worker *worker = &engine->worker[i];
        free(worker->list);
        free(worker->list_other);
        pages_unmap(worker->pool.free, (size_t)engine->packets_max * sizeof(uint32_t));
    }
    free(engine->worker);
    free(engine->thread);
    reserve_release(&engine->reserve);
    for (uint32_t i = 0; i < engine->memories; i++)
        pages_unmap(engine->memory[i], engine->memory_bytes[i]);
    free(engine->tile);
    free(engine->shared_out);
    free(engine->index_of);
    free(engine->boundary);
    free(engine);
}

struct node *engine_node(struct engine *engine, uint32_t id)
{
    CHECK(id < engine->nodes);
    return &engine->node[engine->index_of[id]];
}

struct worker *engine_worker(struct engine *engine, uint32_t number)
{
    CHECK(number < engine->threads);
    return &engine->worker[number];
}

uint32_t engine_workers(const struct engine *engine)
{
    return engine->threads;
}

struct engine_totals engine_totals(const struct engine *engine)
{
    struct engine_totals totals = {.windows = engine->windows,
                                   .now = engine->now,
                                   .great_window = engine->window,
                                   .small_window = engine->small_window,
                                   .packets_peak = engine->reserve.packet_fresh,
                                   .memory_bytes = engine->reserve.memory_bytes};

    for (uint32_t i = 0; i < engine->threads; i++) {
        const struct worker *worker = &engine->worker[i];
        totals.hops += worker->hops;
        totals.packets_live += worker->pool.taken - worker->pool.given;
    }
    for (uint32_t i = 0; i < engine->nodes; i++)
        for (uint32_t p = 0; p < engine->node[i].ports; p++) {
            const struct node *node = &engine->node[i];
            totals.packets_on_links += fifo_count(&node->in[p].data);
            totals.digest += digest_link(node->link_in[p], node->heard[p], node->heard[node->ports + p]);
        }
    for (uint32_t i = 0; i < engine->nodes; i++)
        totals.packets_on_links += node_line_packets(&engine->node[i]);
    return totals;
}
