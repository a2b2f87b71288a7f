/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See loop.h.
 */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "engine/engine_int.h"
#include "fabric/fabric.h"
#include "node/digest.h"
#include "packet/directory.h"
#include "packet/frame.h"
#include "packet/icrc.h"

#define PACKETS (1u << 14)
#define FRAME_ROOM 4608u
#define FRAME_LEAST 60u
#define STEP (500 * PS_NS) /* between looks at the jobs; below what couples two of them */

struct travelling { /* on a line */
    struct travelling *next;
    ps_t at;
    uint32_t bytes;
    uint8_t data[];
};

struct lane { /* one direction of a line: frames, or control frames */
    struct travelling *first, *last;
};

struct loop_port {
    struct lane data, control; /* what comes in */
    uint64_t ask;              /* key; EVENT_NEVER: not to be asked */
    struct loop_node *peer;    /* NULL: no cable */
    uint32_t peer_port, number;
    uint64_t frames, words; /* digests */
    uint8_t mac[6];
};

struct loop_node {
    const struct node_ops *ops;
    void *machine;
    struct node *node; /* the engine's: its ports' clocks, and what faults do to them */
    struct fault_list *faults;
    struct loop_port *port;
    uint32_t ports;
    bool host;
    ps_t deadline; /* the machine's */
    uint64_t next; /* key of the earliest event */
};

struct loop {
    struct sim *sim;
    struct loop_node *node;
    struct loop_port *port;
    struct pktpool pool;
    struct node_io io;
    struct directory directory;
    struct loop_totals totals;
    ps_t now;
    uint8_t payload[UINT16_MAX];
};

/* What a packet's payload is: the same at both ends, and no two alike. */
static void fill_payload(struct loop *loop, const struct pkt *pkt)
{
    uint32_t word = pkt->dest_qp * 2654435761u ^ pkt->psn * 40503u;

    for (uint32_t i = 0; i < pkt->payload_bytes; i++)
        loop->payload[i] = (uint8_t)((word >> (i & 3) * 8) + i);
}

static void lane_push(struct lane *lane, const uint8_t *data, uint32_t bytes, ps_t at)
{
    struct travelling *one = malloc(sizeof(*one) + bytes);

    CHECK(one != NULL && (lane->first == NULL || lane->last->at <= at));
    *one = (struct travelling){.at = at, .bytes = bytes};
    memcpy(one->data, data, bytes);
    if (lane->first)
        lane->last->next = one;
    else
        lane->first = one;
    lane->last = one;
}

static struct travelling *lane_pop(struct lane *lane)
{
    struct travelling *one = lane->first;

    lane->first = one->next;
    return one;
}

static void earlier(struct loop_node *node, uint64_t key)
{
    if (key < node->next) node->next = key;
}

static uint64_t tick_key(const struct loop_node *node, ps_t now)
{
    ps_t faults = faults_next(node->faults), at = node->deadline < faults ? node->deadline : faults;

    return event_key(at > now ? at : now, EVENT_TICK, 0);
}

static void find_next(struct loop_node *node, ps_t now)
{
    node->next = tick_key(node, now);
    for (uint32_t p = 0; p < node->ports; p++) {
        const struct loop_port *port = &node->port[p];
        if (port->control.first) earlier(node, event_key(port->control.first->at, EVENT_CONTROL, p));
        if (port->data.first) earlier(node, event_key(port->data.first->at, EVENT_ARRIVAL, p));
        earlier(node, port->ask);
    }
}

static void ask(struct loop_node *node, uint32_t port, ps_t now)
{
    ps_t free_at = node->node->port[port].free_at;
    uint64_t key = event_key(free_at > now ? free_at : now, EVENT_FREE, port);

    if (key < node->port[port].ask) node->port[port].ask = key;
}

/* The frame of a packet: of a host made anew, whatever its descriptor was before; of a switch what came in, patched. */
static void write_frame(struct loop *loop, const struct loop_node *node, uint32_t port, pkt_t id)
{
    struct pktpool *pool = &loop->pool;
    const struct fabric *fabric = loop->sim->fabric;
    const struct loop_port *out = &node->port[port];
    const struct pkt *pkt = &pool->hot[id];
    struct frame_path path;

    if (!node->host) {
        frame_patch(pool, id);
        codec_rewrite_macs(frame_data(pool, id), out->peer->port[out->peer_port].mac, out->mac);
        return;
    }
    path = (struct frame_path){.src = pkt_addr_ipv4(load_be32(fabric->endpoint[pkt->src_node].address)),
                               .dst = pkt_addr_ipv4(load_be32(fabric->endpoint[pkt->dst_node].address))};
    memcpy(path.dmac, out->peer->port[out->peer_port].mac, sizeof(path.dmac));
    memcpy(path.smac, out->mac, sizeof(path.smac));
    frame_address(&path, pkt, &pool->cold[id]);
    fill_payload(loop, pkt);
    CHECK(frame_build(pool, id, loop->payload) == pkt->frame_bytes);
}

static void send(struct loop *loop, struct loop_node *node, uint32_t port, pkt_t id, ps_t now)
{
    const struct line_model *model = engine_model(loop->sim->engine);
    struct pktpool *pool = &loop->pool;
    struct port *clock = &node->node->port[port];
    struct port_extra *extra = &node->node->extra[port];
    const struct loop_port *out = &node->port[port];
    uint32_t bytes = pool->hot[id].frame_bytes;

    CHECK(out->peer != NULL);
    write_frame(loop, node, port, id);
    uint8_t *frame = frame_data(pool, id);
    uint32_t line = port_line_bytes(bytes, model->min_bytes, (uint32_t)(model->before + model->after + model->gap));
    struct port_sent sent = port_send_slowly(clock, extra, model, line, now);
    if (!sent.lost) {
        if (bytes < FRAME_LEAST) memset(frame + bytes, 0, FRAME_LEAST - bytes);
        lane_push(&out->peer->port[out->peer_port].data, frame, bytes < FRAME_LEAST ? FRAME_LEAST : bytes,
                  sent.arrival);
        earlier(out->peer, event_key(sent.arrival, EVENT_ARRIVAL, out->peer_port));
    }
    pktpool_put(pool, id);
}

static void send_control(struct loop *loop, const struct loop_node *node, const struct node_control *control, ps_t now)
{
    const struct line_model *model = engine_model(loop->sim->engine);
    const struct loop_port *out = &node->port[control->port];
    uint16_t quanta[8];
    struct pkt pkt;
    struct frame_path path = {0};
    struct pkt_cold cold;
    uint8_t frame[FRAME_ROOM] = {0};

    if (out->peer == NULL) return;
    for (int p = 0; p < 8; p++)
        quanta[p] = control_quanta(control->word);
    pkt = control->word & CONTROL_PAUSE_ALL ? frame_pause(quanta[0]) : frame_pfc(control_enable(control->word), quanta);
    memcpy(path.smac, out->mac, sizeof(path.smac));
    frame_address(&path, &pkt, &cold);
    int bytes = codec_emit(&pkt, &cold, NULL, frame, sizeof(frame));
    CHECK(bytes > 0 && bytes <= (int)FRAME_LEAST);
    struct port_sent sent =
        port_send_control(&node->node->port[control->port], &node->node->extra[control->port], model, now);
    lane_push(&out->peer->port[out->peer_port].control, frame, FRAME_LEAST, sent.arrival);
    earlier(out->peer, event_key(sent.arrival, EVENT_CONTROL, out->peer_port));
}

/* What the call answered beside its value. */
static void settle(struct loop *loop, struct loop_node *node, ps_t now)
{
    struct node_io *io = &loop->io;

    for (uint32_t i = 0; i < io->controls; i++)
        send_control(loop, node, &io->control[i], now);
    for (uint32_t i = 0; i < io->kicks; i++)
        ask(node, io->kick[i], now);
    if (io->answers & NODE_DEADLINE) node->deadline = io->deadline;
    io->controls = io->kicks = io->answers = 0;
}

static void take_control(struct loop *loop, struct loop_node *node, uint32_t port, ps_t now)
{
    struct travelling *one = lane_pop(&node->port[port].control);
    struct codec_frame frame = {.data = one->data, .captured = one->bytes, .length = one->bytes};
    struct codec_layout layout;
    struct pkt_cold cold;
    struct pkt pkt;
    enum codec_fault fault;
    uint8_t enable;
    uint16_t quanta[8];

    CHECK(codec_parse(&frame, &pkt, &cold, &layout, &fault) == 0);
    CHECK(frame_pauses(&pkt, &enable, quanta) && enable);
    uint32_t word =
        control_pause(enable, quanta[__builtin_ctz(enable)]) | (pkt.kind == PKT_PAUSE ? CONTROL_PAUSE_ALL : 0);
    digest_word(&node->port[port].words, node->port[port].number, now, word);
    loop->totals.hops++;
    loop->totals.controls++;
    free(one);
    node->ops->control(node->machine, port, word, now, &loop->io);
    settle(loop, node, now);
}

/* At a host: the payload is what was sent, and the ICRC fits after all that switches have written. */
static void check_frame(struct loop *loop, pkt_t id)
{
    struct pktpool *pool = &loop->pool;
    const struct pkt *pkt = &pool->hot[id];
    struct codec_frame frame = {
        .data = frame_data(pool, id), .captured = pool->frame[id].bytes, .length = pool->frame[id].bytes};
    const struct codec_layout *layout = &pool->frame[id].layout;

    fill_payload(loop, pkt);
    if (icrc_check(&frame, pkt, &pool->cold[id], layout) != ICRC_GOOD ||
        memcmp(codec_payload(&frame, layout), loop->payload, pkt->payload_bytes) != 0)
        loop->totals.wrong++;
}

static void take_frame(struct loop *loop, struct loop_node *node, uint32_t port, ps_t now)
{
    struct pktpool *pool = &loop->pool;
    struct travelling *one = lane_pop(&node->port[port].data);
    pkt_t id = pktpool_get(pool);
    enum codec_fault fault;

    CHECK(id != PKT_NONE && frame_in(pool, id, one->data, one->bytes, &fault) == 0);
    CHECK(directory_resolve(&loop->directory, &pool->hot[id], &pool->cold[id]));
    pool->hot[id].mark = pool->cold[id].resv7;
    digest_frame(&node->port[port].frames, node->port[port].number, now, &pool->hot[id]);
    loop->totals.hops++;
    loop->totals.frames++;
    loop->totals.bytes += one->bytes;
    free(one);
    if (node->host) check_frame(loop, id);
    uint32_t to = node->ops->rx(node->machine, port, id, NULL, now, &loop->io);
    settle(loop, node, now);
    for (uint32_t p = 0; to == NODE_ALL_PORTS && p < node->ports; p++)
        if (node->port[p].peer) ask(node, p, now);
    if (to < NODE_AT_ONCE) ask(node, to, now);
}

static void port_turn(struct loop *loop, struct loop_node *node, uint32_t port, ps_t now)
{
    node->port[port].ask = EVENT_NEVER;
    if (node->node->port[port].free_at > now) { /* a control frame went first */
        ask(node, port, now);
        return;
    }
    pkt_t id = node->ops->tx(node->machine, port, now, &loop->io);
    if (id != PKT_NONE) {
        send(loop, node, port, id, now);
        if (node->ops->more(node->machine, port)) ask(node, port, now);
    }
    settle(loop, node, now);
}

static void tick(struct loop *loop, struct loop_node *node, ps_t now)
{
    if (faults_next(node->faults) <= now)
        faults_run(node->faults, engine_worker(loop->sim->engine, 0), node->node, now);
    node->ops->tick(node->machine, now, &loop->io);
    settle(loop, node, now);
}

static void run_one(struct loop *loop, struct loop_node *node)
{
    uint64_t key = node->next;
    uint32_t port = event_port(key);
    ps_t now = event_time(key);

    loop->now = now;
    switch (event_kind(key)) {
    case EVENT_CONTROL:
        take_control(loop, node, port, now);
        break;
    case EVENT_ARRIVAL:
        take_frame(loop, node, port, now);
        break;
    case EVENT_FREE:
        port_turn(loop, node, port, now);
        break;
    case EVENT_TICK:
        tick(loop, node, now);
        break;
    }
    find_next(node, now);
}

static struct loop_node *first_node(const struct loop *loop)
{
    struct loop_node *first = &loop->node[0];

    for (uint32_t i = 1; i < loop->sim->fabric->nodes; i++)
        if (loop->node[i].next < first->next) first = &loop->node[i];
    return first;
}

ps_t loop_next(const struct loop *loop)
{
    return event_time(first_node(loop)->next);
}

void loop_step(struct loop *loop, ps_t until)
{
    for (;;) {
        struct loop_node *node = first_node(loop);
        if (event_time(node->next) >= until) break;
        run_one(loop, node);
    }
    loop->now = until;
}

/* Jobs end and begin; true: all are over. */
static bool coordinate(struct loop *loop, ps_t now)
{
    struct sim *sim = loop->sim;
    uint32_t count;

    while ((count = workload_coordinate(sim->workload, now, sim->wake, sim->fabric->hosts)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            struct loop_node *node = &loop->node[sim->wake[i]];
            if (workload_next(sim->workload, sim->wake[i]) == PS_NEVER) continue;
            node_host_wake(&sim->host[sim->wake[i]].node);
            node->deadline = sim->host[sim->wake[i]].node.deadline;
            find_next(node, now);
        }
    }
    return workload_finished(sim->workload);
}

bool loop_run(struct loop *loop)
{
    struct sim *sim = loop->sim;
    ps_t end = 0;
    bool done = coordinate(loop, 0);

    while (!done && loop_next(loop) != PS_NEVER && loop->now < sim->until) {
        ps_t step = loop_next(loop) + STEP;
        loop_step(loop, step < sim->until ? step : sim->until);
        done = coordinate(loop, loop->now);
    }
    if (!done) return false;
    for (uint32_t i = 0; i < workload_instances(sim->workload); i++) {
        const struct workload_instance *instance = workload_instance(sim->workload, i);
        ps_t one = instance->end != PS_NEVER ? instance->end : instance->failed;
        if (one > end) end = one;
    }
    end += sim->sync_latency;
    loop_step(loop, end < sim->until ? end : sim->until);
    return true;
}

static const char *in_no_header(const struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;

    if (fabric->behaviour == FABRIC_HPCC_NS3) return "frames of hpcc-ns3 are no frames";
    if (sim->plant.needs.telemetry) return "telemetry is whole in the simulator and rounded on a wire";
    for (uint32_t i = 0; i < fabric->nics; i++) {
        if (fabric->nic[i].mtu_bytes > 4096) return "payload above 4096 bytes";
        if (sim->plant.cc[i].kind == CC_SWIFT) return "the time a receiver holds an ACK is in no header";
    }
    for (uint32_t i = 0; i < fabric->faults; i++) {
        enum fabric_fault_kind kind = fabric->fault[i].kind;
        if (kind != FABRIC_FAULT_CORRUPT && kind != FABRIC_FAULT_DROP && kind != FABRIC_FAULT_SLOW)
            return "a fault that is not of a line";
    }
    return NULL;
}

static void make_port(struct loop *loop, uint32_t index)
{
    const struct fabric *fabric = loop->sim->fabric;
    const struct fabric_port *from = &fabric->port[index];
    struct loop_node *node = &loop->node[from->node];
    struct loop_port *port = &loop->port[index];

    *port = (struct loop_port){.ask = EVENT_NEVER, .mac = {0x02}, .number = node->node->link_in[from->index]};
    store_be32(port->mac + 2, index);
    if (node->node->port[from->index].link == NULL) return;
    port->peer = &loop->node[fabric->port[from->peer].node];
    port->peer_port = fabric->port[from->peer].index;
}

static void make_nodes(struct loop *loop)
{
    struct sim *sim = loop->sim;
    const struct fabric *fabric = sim->fabric;

    for (uint32_t i = 0; i < fabric->nodes; i++) {
        bool host = i < fabric->hosts;
        struct sim_switch *sw = host ? NULL : &sim->sw[i - fabric->hosts];
        loop->node[i] = (struct loop_node){.ops = host ? &node_host_ops : &node_switch_ops,
                                           .machine = host ? (void *)&sim->host[i].node : (void *)&sw->node,
                                           .node = engine_node(sim->engine, i),
                                           .faults = host ? &sim->host[i].faults : &sw->faults,
                                           .port = loop->port + fabric->node[i].first_port,
                                           .ports = fabric->node[i].ports,
                                           .host = host,
                                           .deadline = host ? sim->host[i].node.deadline : PS_NEVER};
    }
    for (uint32_t i = 0; i < fabric->ports; i++)
        make_port(loop, i);
    for (uint32_t i = 0; i < fabric->nodes; i++)
        find_next(&loop->node[i], 0);
}

static void make_pool(struct loop *loop)
{
    struct pktpool *pool = &loop->pool;

    *pool = (struct pktpool){.hot = calloc(PACKETS, sizeof(*pool->hot)),
                             .cold = calloc(PACKETS, sizeof(*pool->cold)),
                             .frame = calloc(PACKETS, sizeof(*pool->frame)),
                             .bytes = calloc(PACKETS, FRAME_ROOM),
                             .bytes_each = FRAME_ROOM,
                             .free = calloc(PACKETS, sizeof(*pool->free)),
                             .free_count = PACKETS,
                             .free_capacity = PACKETS};
    CHECK(pool->hot && pool->cold && pool->frame && pool->bytes && pool->free);
    for (uint32_t i = 0; i < PACKETS; i++)
        pool->free[i] = PACKETS - 1 - i;
    node_io_init(&loop->io, pool);
}

struct loop *loop_create(struct sim *sim, const char **ret_why)
{
    const struct fabric *fabric = sim->fabric;

    *ret_why = in_no_header(sim);
    if (*ret_why) return NULL;
    struct loop *loop = calloc(1, sizeof(*loop));
    CHECK(loop != NULL);
    loop->sim = sim;
    loop->node = calloc(fabric->nodes + 1u, sizeof(*loop->node));
    loop->port = calloc(fabric->ports + 1u, sizeof(*loop->port));
    void *memory = calloc(1, directory_bytes(fabric->endpoints));
    CHECK(loop->node && loop->port && memory);
    directory_init(&loop->directory, memory, fabric->endpoints);
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        struct pkt_addr addr = pkt_addr_ipv4(load_be32(fabric->endpoint[e].address));
        CHECK(directory_add(&loop->directory, &addr, e) == 0);
    }
    make_pool(loop);
    make_nodes(loop);
    return loop;
}

struct loop_totals loop_totals(const struct loop *loop)
{
    struct loop_totals totals = loop->totals;

    for (uint32_t p = 0; p < loop->sim->fabric->ports; p++)
        totals.digest += digest_link(loop->port[p].number, loop->port[p].frames, loop->port[p].words);
    totals.left = loop->pool.taken - loop->pool.given;
    return totals;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL) return;
    for (uint32_t i = 0; i < loop->sim->fabric->ports; i++) {
        while (loop->port[i].data.first)
            free(lane_pop(&loop->port[i].data));
        while (loop->port[i].control.first)
            free(lane_pop(&loop->port[i].control));
    }
    free(loop->directory.entry);
    free(loop->node);
    free(loop->port);
    free(loop->pool.hot);
    free(loop->pool.cold);
    free(loop->pool.frame);
    free(loop->pool.bytes);
    free(loop->pool.free);
    free(loop);
}
