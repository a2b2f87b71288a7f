/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Toy machines on a fat tree; see toy.h.
 */
#include "toy.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "engine/visit.h"

#define ACK 0x11
#define DATA 0x07

struct toy_queue {
    pkt_t head, tail;
    uint32_t count;
};

struct toy_switch {
    struct toy *toy;
    uint8_t level; /* 0 edge, 1 aggregation, 2 core */
    uint32_t pod, index;
    uint64_t paused;  /* output ports */
    uint64_t pausing; /* input ports told to stop */
    uint64_t pauses;
    struct toy_queue queue[64];
};

struct toy_host {
    struct toy *toy;
    uint32_t self, peer;
    uint32_t sent, answered;
    uint32_t acks_due;
    uint32_t ack_to, ack_psn;
    bool paused, started;
    pkt_t answer_head, answer_tail;
};

struct toy {
    struct toy_config config;
    struct engine *engine;
    struct toy_switch *sw;
    struct toy_host *host;
    uint32_t hosts, switches;
};

static uint32_t out_port(const struct toy_switch *sw, const struct pkt *pkt)
{
    uint32_t half = sw->toy->config.k / 2, k = sw->toy->config.k;
    uint32_t dst = pkt->dst_node, pod = dst / (half * half), edge = dst / half % half;
    uint32_t hash = (pkt->src_node * 2654435761u ^ dst * 40503u) >> 16;

    if (sw->level == 2) return pod;
    if (sw->level == 1) return pod == sw->pod ? edge : half + hash / 7 % half;
    if (pod == sw->pod && edge == sw->index) return dst % half;
    (void)k;
    return half + hash % half;
}

static inline void tell(struct node_io *io, uint32_t port, uint16_t quanta)
{
    io->control[io->controls++] = (struct node_control){.word = control_pause(8, quanta), .port = (uint16_t)port};
    io->answers |= NODE_CONTROLS;
}

static inline uint32_t toy_sw_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                 struct node_io *io)
{
    (void)turn;
    struct toy_switch *sw = node;
    struct pkt *pkt = &io->pool->hot[id];
    uint32_t out = out_port(sw, pkt), pause_at = sw->toy->config.pause_at;
    struct toy_queue *queue = &sw->queue[out];

    pkt->in_port = (uint16_t)port;
    pkt->next = PKT_NONE;
    if (queue->count++)
        io->pool->hot[queue->tail].next = id;
    else
        queue->head = id;
    queue->tail = id;
    if (pause_at && queue->count >= pause_at && !(sw->pausing >> port & 1)) {
        sw->pausing |= 1ULL << port;
        sw->pauses++;
        tell(io, port, 65535);
        node_io_deadline(io, now + 5 * PS_US); /* lets go again, whatever the queues are */
    }
    return sw->paused >> out & 1 ? NODE_NO_PORT : out;
}

static inline pkt_t toy_sw_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct toy_switch *sw = node;
    struct toy_queue *queue = &sw->queue[port];

    (void)now;
    if (queue->count == 0 || sw->paused >> port & 1) return PKT_NONE;
    pkt_t id = queue->head;
    queue->head = io->pool->hot[id].next;
    queue->count--;
    return id;
}

static inline bool toy_sw_more(const void *node, uint32_t port)
{
    return ((const struct toy_switch *)node)->queue[port].count != 0;
}

static inline void toy_sw_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    struct toy_switch *sw = node;

    (void)now;
    if (control_quanta(word)) {
        sw->paused |= 1ULL << port;
    } else {
        sw->paused &= ~(1ULL << port);
        node_io_kick(io, port);
    }
}

static inline void toy_sw_tick(void *node, ps_t now, struct node_io *io)
{
    struct toy_switch *sw = node;

    (void)now;
    for (uint32_t p = 0; p < sw->toy->config.k; p++)
        if (sw->pausing >> p & 1) tell(io, p, 0);
    sw->pausing = 0;
    node_io_deadline(io, PS_NEVER);
}

static inline uint32_t toy_host_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                   struct node_io *io)
{
    (void)turn;
    struct toy_host *host = node;
    struct pkt *pkt = &io->pool->hot[id];

    if (pkt->opcode == ACK) {
        host->answered++;
        pktpool_put(io->pool, id);
    } else { /* the packet itself becomes its answer */
        uint32_t from = pkt->src_node;
        pkt->opcode = ACK;
        pkt->frame_bytes = 62;
        pkt->src_node = host->self;
        pkt->dst_node = from;
        pkt->next = PKT_NONE;
        if (host->answer_head == PKT_NONE)
            host->answer_head = id;
        else
            io->pool->hot[host->answer_tail].next = id;
        host->answer_tail = id;
    }
    (void)now;
    return port;
}

static inline pkt_t toy_host_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct toy_host *host = node;
    const struct toy_config *config = &host->toy->config;

    (void)now;
    (void)port;
    if (host->answer_head != PKT_NONE) {
        pkt_t id = host->answer_head;
        host->answer_head = io->pool->hot[id].next;
        return id;
    }
    if (!host->started || host->paused || host->sent == config->packets ||
        host->sent - host->answered >= config->window)
        return PKT_NONE;
    pkt_t id = pktpool_get(io->pool);
    CHECK(id != PKT_NONE);
    io->pool->hot[id] = (struct pkt){.kind = PKT_ROCE,
                                     .opcode = DATA,
                                     .psn = host->sent++,
                                     .src_node = host->self,
                                     .dst_node = host->peer,
                                     .payload_bytes = (uint16_t)config->payload,
                                     .frame_bytes = (uint16_t)(config->payload + 58)};
    return id;
}

static inline bool toy_host_more(const void *node, uint32_t port)
{
    (void)node;
    (void)port;
    return true;
}

static inline void toy_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    struct toy_host *host = node;

    (void)now;
    host->paused = control_quanta(word) != 0;
    node_io_kick(io, port);
}

static inline void toy_host_tick(void *node, ps_t now, struct node_io *io)
{
    struct toy_host *host = node;

    (void)now;
    host->started = true;
    node_io_deadline(io, PS_NEVER);
    node_io_kick(io, 0);
}

static void settle(struct worker *worker, struct node *node, ps_t now)
{
    node_settle(worker, node, PS_NEVER, now);
}

static void visit_switch(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {
        .node = {toy_sw_rx, toy_sw_tx, toy_sw_more, toy_sw_control, toy_sw_tick, NULL, NULL}, .settle = settle};
    node_visit(worker, node, end, &calls);
}

static void visit_host(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {
        .node = {toy_host_rx, toy_host_tx, toy_host_more, toy_host_control, toy_host_tick, NULL, NULL},
        .settle = settle};
    node_visit(worker, node, end, &calls);
}

static uint32_t tile_of(const struct toy *toy, uint32_t node, uint32_t pod)
{
    switch (toy->config.tiling) {
    case 2:
        return node;
    case 3:
        return 0;
    default:
        return pod;
    }
}

static struct engine_link cable(const struct toy_config *config, uint32_t a, uint32_t pa, uint32_t b, uint32_t pb,
                                ps_t propagation)
{
    return (struct engine_link){.end = {{.node = a,
                                         .port = (uint16_t)pa,
                                         .latency = config->latency,
                                         .reaction = config->latency,
                                         .loss_ppm = config->loss_ppm},
                                        {.node = b,
                                         .port = (uint16_t)pb,
                                         .latency = config->latency,
                                         .reaction = config->latency,
                                         .loss_ppm = config->loss_ppm}},
                                .rate_bps = config->rate_bps,
                                .propagation = propagation};
}

/* Hosts, then edges, aggregations and cores. */
static uint32_t make_links(const struct toy *toy, struct engine_link *link)
{
    const struct toy_config *config = &toy->config;
    uint32_t half = config->k / 2, n = 0;
    uint32_t edge0 = toy->hosts, agg0 = edge0 + config->k * half, core0 = agg0 + config->k * half;

    for (uint32_t h = 0; h < toy->hosts; h++)
        link[n++] = cable(config, h, 0, edge0 + h / half, h % half, config->host_link);
    for (uint32_t pod = 0; pod < config->k; pod++) {
        for (uint32_t e = 0; e < half; e++)
            for (uint32_t a = 0; a < half; a++)
                link[n++] =
                    cable(config, edge0 + pod * half + e, half + a, agg0 + pod * half + a, e, config->fabric_link);
        for (uint32_t a = 0; a < half; a++)
            for (uint32_t c = 0; c < half; c++)
                link[n++] =
                    cable(config, agg0 + pod * half + a, half + c, core0 + a * half + c, pod, config->core_link);
    }
    return n;
}

static void pair_hosts(struct toy *toy)
{
    struct rng rng;
    uint32_t *to = malloc(toy->hosts * sizeof(*to));

    CHECK(to != NULL);
    rng_init(&rng, toy->config.seed, 1);
    for (uint32_t i = 0; i < toy->hosts; i++)
        to[i] = i;
    for (uint32_t i = toy->hosts; i-- > 1;) { /* Sattolo: one cycle, so nobody sends to itself */
        uint32_t j = (uint32_t)rng_below(&rng, i), other = to[i];
        to[i] = to[j];
        to[j] = other;
    }
    for (uint32_t i = 0; i < toy->hosts; i++) {
        uint32_t peer = toy->config.incast > 1 ? i / toy->config.incast * toy->config.incast : to[i];
        if (peer == i) peer = (i + toy->config.incast) % toy->hosts;
        toy->host[i].peer = peer;
    }
    free(to);
}

struct toy *toy_create(const struct toy_config *config)
{
    uint32_t k = config->k, half = k / 2, hosts = k * half * half, switches = k * k + half * half;
    struct toy *toy = calloc(1, sizeof(*toy));
    struct engine_node *node = calloc(hosts + switches, sizeof(*node));
    struct engine_link *link = calloc(3 * hosts, sizeof(*link));

    CHECK(toy && node && link && k <= 64);
    *toy = (struct toy){.config = *config, .hosts = hosts, .switches = switches};
    toy->sw = calloc(switches, sizeof(*toy->sw));
    toy->host = calloc(hosts, sizeof(*toy->host));
    CHECK(toy->sw && toy->host);
    for (uint32_t i = 0; i < hosts; i++) {
        toy->host[i] = (struct toy_host){.toy = toy, .self = i, .answer_head = PKT_NONE};
        node[i] = (struct engine_node){visit_host, &toy->host[i], 1, true, tile_of(toy, i, i / (half * half))};
    }
    for (uint32_t i = 0; i < switches; i++) {
        bool core = i >= k * k;
        uint32_t in_level = i % (k * half);
        uint32_t pod = core ? k + (i - k * k) / half : in_level / half;
        toy->sw[i] = (struct toy_switch){
            .toy = toy, .level = (uint8_t)(core ? 2 : i / (k * half)), .pod = pod, .index = in_level % half};
        node[hosts + i] =
            (struct engine_node){visit_switch, &toy->sw[i], (uint16_t)k, false, tile_of(toy, hosts + i, pod)};
    }
    pair_hosts(toy);
    struct engine_config engine = {.node = node,
                                   .nodes = hosts + switches,
                                   .link = link,
                                   .links = make_links(toy, link),
                                   .threads = config->threads,
                                   .no_tiles = config->tiling == 1,
                                   .sync_latency = 5 * PS_US,
                                   .seed = config->seed,
                                   .packets_max = 1u << 24,
                                   .burst = 4096,
                                   .model = LINE_MODEL_ETHERNET};
    CHECK(engine_create(&engine, &toy->engine) == 0);
    for (uint32_t i = 0; i < hosts; i++) {
        node_deadline(engine_node(toy->engine, i), i * config->start_gap, 0);
        engine_wake(toy->engine, i, i * config->start_gap);
    }
    free(node);
    free(link);
    return toy;
}

void toy_free(struct toy *toy)
{
    engine_free(toy->engine);
    free(toy->sw);
    free(toy->host);
    free(toy);
}

enum engine_state toy_run(struct toy *toy, uint64_t windows, ps_t until)
{
    return engine_run(toy->engine, windows, until, NULL, NULL);
}

struct engine_totals toy_totals(const struct toy *toy)
{
    return engine_totals(toy->engine);
}

uint64_t toy_delivered(const struct toy *toy)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < toy->hosts; i++)
        sum += toy->host[i].answered;
    return sum;
}

uint64_t toy_queued(const struct toy *toy)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < toy->switches; i++)
        for (uint32_t p = 0; p < toy->config.k; p++)
            sum += toy->sw[i].queue[p].count;
    return sum;
}

uint64_t toy_pauses(const struct toy *toy)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < toy->switches; i++)
        sum += toy->sw[i].pauses;
    return sum;
}

uint32_t toy_hosts(const struct toy *toy)
{
    return toy->hosts;
}
