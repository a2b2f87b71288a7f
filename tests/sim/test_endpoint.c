/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoint seam: hosts with a transport that is not RoCE, through a switch, in the engine.
 *
 * The transport is a toy: datagrams of one size at a fixed rate, never acknowledged, paused by priority 3.  A message
 * is sent when its last datagram is, and received when that arrives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/visit.h"
#include "fabric/fabric.h"
#include "load/load.h"
#include "node/host_calls.h"
#include "node/switch_inline.h"
#include "plant/plant.h"

#define HOSTS 3 /* two send to the third */
#define MESSAGES 20u
#define PAYLOAD 1000u
#define DATAGRAMS 50u /* a message */
#define FRAME (PAYLOAD + 42)
#define GAP_PS (90 * PS_NS) /* 92.6 Gb/s of frames: two of them are more than a line takes */
#define PRIORITY 3
#define RING 64u

struct message {
    struct app_post post;
    uint32_t to, left;
};

struct datagrams { /* an endpoint */
    uint32_t self;
    bool paused;
    ps_t next_at, wake_at;
    struct message message[RING];
    uint32_t head, tail;
    struct endpoint_completion done[RING];
    uint32_t done_head, done_tail;
    uint64_t sent, received, pauses;
    ps_t last_at, least_gap;
};

static const uint32_t endpoint_of[] = {2, 2}; /* [connection] */

static void complete(struct datagrams *own, struct endpoint_completion done, struct node_io *io)
{
    own->done[own->done_tail++ % RING] = done;
    io->endpoint.completed = true;
}

static void dgram_post(struct node_adapter *adapter, const struct node_connection *connection,
                       const struct app_post *post, ps_t now, struct node_io *io)
{
    struct datagrams *own = adapter->endpoint;

    (void)connection;
    (void)now;
    own->message[own->tail++ % RING] =
        (struct message){*post, endpoint_of[post->connection], (uint32_t)(post->bytes / PAYLOAD)};
    io->endpoint.kick = true;
}

static pkt_t dgram_tx(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct datagrams *own = adapter->endpoint;
    struct message *message = &own->message[own->head % RING];
    bool waits = own->head != own->tail && !own->paused;

    own->wake_at = io->endpoint.deadline = waits && now < own->next_at ? own->next_at : PS_NEVER;
    if (!waits || now < own->next_at) return PKT_NONE;
    pkt_t id = pktpool_get(io->pool);
    CHECK(id != PKT_NONE);
    io->pool->hot[id] = (struct pkt){.kind = PKT_OTHER,
                                     .tos = 26 << 2,
                                     .pcp = PRIORITY,
                                     .ttl = 64,
                                     .dest_qp = message->post.connection,
                                     .psn = --message->left,
                                     .imm = message->post.imm,
                                     .src_node = own->self,
                                     .dst_node = message->to,
                                     .payload_bytes = PAYLOAD,
                                     .frame_bytes = FRAME};
    if (own->sent++ && now - own->last_at < own->least_gap) own->least_gap = now - own->last_at;
    own->last_at = now;
    own->next_at = now + GAP_PS;
    if (message->left) return id;
    own->head++;
    complete(
        own,
        (struct endpoint_completion){.connection = message->post.connection, .word = message->post.tag, .good = true},
        io);
    return id;
}

static void dgram_rx(struct node_adapter *adapter, pkt_t id, ps_t now, struct node_io *io)
{
    struct datagrams *own = adapter->endpoint;
    const struct pkt *pkt = &io->pool->hot[id];

    (void)now;
    own->received++;
    if (pkt->psn == 0)
        complete(
            own,
            (struct endpoint_completion){.connection = pkt->dest_qp, .word = pkt->imm, .receive = true, .good = true},
            io);
    pktpool_put(io->pool, id);
    io->endpoint.deadline = own->wake_at;
}

static void dgram_tick(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct datagrams *own = adapter->endpoint;

    (void)now;
    own->wake_at = io->endpoint.deadline = PS_NEVER;
    io->endpoint.kick = true;
}

static void dgram_gate(struct node_adapter *adapter, uint32_t word, ps_t now, struct node_io *io)
{
    struct datagrams *own = adapter->endpoint;

    (void)now;
    io->endpoint.deadline = own->wake_at;
    if (!(control_enable(word) >> PRIORITY & 1)) return;
    own->pauses += !own->paused && control_quanta(word);
    own->paused = control_quanta(word) != 0;
    io->endpoint.kick = !own->paused;
}

static void dgram_link(struct node_adapter *adapter, bool up, ps_t now, struct node_io *io)
{
    (void)up;
    (void)now;
    io->endpoint.deadline = ((struct datagrams *)adapter->endpoint)->wake_at;
}

static void dgram_receive_rate(struct node_adapter *adapter, uint64_t bps, ps_t now, struct node_io *io)
{
    (void)bps;
    dgram_link(adapter, true, now, io);
}

static ps_t dgram_deadline(const struct node_adapter *adapter)
{
    return ((const struct datagrams *)adapter->endpoint)->wake_at;
}

static bool dgram_waits(const struct node_adapter *adapter)
{
    const struct datagrams *own = adapter->endpoint;
    return own->done_head != own->done_tail;
}

static bool dgram_completion(struct node_adapter *adapter, struct endpoint_completion *ret)
{
    struct datagrams *own = adapter->endpoint;

    if (own->done_head == own->done_tail) return false;
    *ret = own->done[own->done_head++ % RING];
    return true;
}

static void dgram_take(struct node_adapter *adapter, const struct node_connection *connection, uint32_t number,
                       ps_t now, struct node_io *io)
{
    (void)adapter;
    (void)connection;
    (void)number;
    (void)now;
    (void)io;
}

static void dgram_drained(struct node_adapter *adapter)
{
    CHECK(!dgram_waits(adapter));
}

static uint64_t dgram_acked_bytes(const struct node_end *from)
{
    (void)from;
    return 0;
}

static void dgram_observe(struct node_adapter *adapter, ps_t now, struct node_view *ret)
{
    (void)now;
    *ret = (struct node_view){.paused = ((struct datagrams *)adapter->endpoint)->paused ? 1u << PRIORITY : 0};
}

static bool dgram_kicked(struct node_io *io)
{
    bool kick = io->endpoint.kick;
    io->endpoint.kick = false;
    return kick;
}

static bool dgram_completed(struct node_io *io)
{
    bool completed = io->endpoint.completed;
    io->endpoint.completed = false;
    return completed;
}

static bool dgram_answered(const struct node_io *io)
{
    return io->endpoint.completed;
}

static bool dgram_wants_word(struct node_io *io, uint32_t *ret)
{
    (void)io;
    (void)ret;
    return false;
}

static ps_t dgram_deadline_of(const struct node_io *io)
{
    return io->endpoint.deadline;
}

static void dgram_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);

static const struct endpoint_calls dgram_calls = {
    .post = dgram_post,
    .rx = dgram_rx,
    .tx = dgram_tx,
    .tick = dgram_tick,
    .gate = dgram_gate,
    .link = dgram_link,
    .receive_rate = dgram_receive_rate,
    .deadline = dgram_deadline,
    .waits = dgram_waits,
    .completion = dgram_completion,
    .take = dgram_take,
    .drained = dgram_drained,
    .acked_bytes = dgram_acked_bytes,
    .observe = dgram_observe,
    .kicked = dgram_kicked,
    .completed = dgram_completed,
    .wants_word = dgram_wants_word,
    .answered = dgram_answered,
    .deadline_of = dgram_deadline_of,
    .host_answers = dgram_host_answers,
};

HOST_CALL uint32_t dgram_host_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                 struct node_io *io)
{
    return host_rx(&dgram_calls, node, port, id, turn, now, io);
}

HOST_CALL pkt_t dgram_host_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    return host_tx(&dgram_calls, node, port, now, io);
}

static __attribute__((noinline)) void dgram_host_answers(struct node_host *self, uint32_t port, ps_t now,
                                                         struct node_io *io)
{
    host_answers(&dgram_calls, self, port, now, io);
}

static void dgram_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    host_control(&dgram_calls, node, port, word, now, io);
}

static void dgram_host_tick(void *node, ps_t now, struct node_io *io)
{
    host_tick(&dgram_calls, node, now, io);
}

struct script { /* what runs on a host: each message is posted when the one before it is sent */
    uint32_t posted, sent, received[2], in_order;
};

static void next_message(struct script *script, uint32_t host, struct app_out *out)
{
    if (host == HOSTS - 1 || script->posted == MESSAGES) return;
    out->post[out->posts++] = (struct app_post){.connection = host,
                                                .bytes = (uint64_t)DATAGRAMS * PAYLOAD,
                                                .tag = script->posted,
                                                .imm = 1000 * host + script->posted};
    script->posted++;
}

static ps_t script_next(const void *app, uint32_t host)
{
    return host < HOSTS - 1 && ((const struct script *)app)->posted == 0 ? 0 : PS_NEVER;
}

static void script_timer(void *app, uint32_t host, ps_t now, struct app_out *out)
{
    struct script *script = app;

    (void)now;
    if (script->posted == 0) next_message(script, host, out);
}

static void script_sent(void *app, uint32_t host, uint32_t connection, uint32_t tag, bool good, ps_t now,
                        struct app_out *out)
{
    struct script *script = app;

    (void)now;
    script->in_order += good && connection == host && tag == script->sent;
    script->sent++;
    next_message(script, host, out);
}

static void script_received(void *app, uint32_t host, uint32_t connection, uint32_t imm, ps_t now, struct app_out *out)
{
    struct script *script = app;

    (void)host;
    (void)now;
    (void)out;
    script->in_order += imm == 1000 * connection + script->received[connection];
    script->received[connection]++;
}

static void settle(struct worker *worker, struct node *node, ps_t now)
{
    node_settle(worker, node, PS_NEVER, now);
}

static void visit_host(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = dgram_host_rx,
                                                      .tx = dgram_host_tx,
                                                      .more = host_more,
                                                      .control = dgram_host_control,
                                                      .tick = dgram_host_tick},
                                             .settle = settle};
    node_visit(worker, node, end, &calls);
}

static void visit_switch(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = node_switch_rx_simple,
                                                      .tx = node_switch_tx_simple,
                                                      .more = node_switch_more,
                                                      .control = node_switch_control,
                                                      .tick = node_switch_tick},
                                             .settle = settle};
    node_visit(worker, node, end, &calls);
}

struct lab {
    struct fabric *fabric;
    struct plant plant;
    struct engine *engine;
    void *memory;
    struct node_switch sw;
    struct node_host host[HOSTS];
    struct node_adapter adapter[HOSTS];
    struct node_connection connection[2];
    struct datagrams datagrams[HOSTS];
    struct script script[HOSTS];
};

static void lab_engine(struct lab *lab, uint32_t threads)
{
    struct engine_node node[HOSTS + 1];
    struct engine_link link[HOSTS];

    for (uint32_t h = 0; h < HOSTS; h++) {
        const struct fabric_port *port = &lab->fabric->port[lab->fabric->endpoint[h].port];
        node[h] = (struct engine_node){visit_host, &lab->host[h], 1, true, h};
        link[h] = (struct engine_link){.end = {{.node = h, .latency = 100 * PS_NS, .reaction = 100 * PS_NS},
                                               {.node = HOSTS,
                                                .port = lab->fabric->port[port->peer].index,
                                                .latency = 100 * PS_NS,
                                                .reaction = 100 * PS_NS}},
                                       .rate_bps = port->rate_bps,
                                       .propagation = port->propagation_ps};
    }
    node[HOSTS] = (struct engine_node){visit_switch, &lab->sw, HOSTS, false, HOSTS};
    struct engine_config config = {.node = node,
                                   .nodes = HOSTS + 1,
                                   .link = link,
                                   .links = HOSTS,
                                   .threads = threads,
                                   .sync_latency = 2 * PS_US,
                                   .packets_max = 1u << 16,
                                   .burst = 4096,
                                   .model = LINE_MODEL_ETHERNET};
    assert_int_equal(engine_create(&config, &lab->engine), 0);
    for (uint32_t h = 0; h < HOSTS; h++) {
        node_host_wake(&lab->host[h]);
        if (lab->host[h].deadline == PS_NEVER) continue;
        node_deadline(engine_node(lab->engine, h), lab->host[h].deadline, 0);
        engine_wake(lab->engine, h, lab->host[h].deadline);
    }
}

static struct lab *lab_open(uint32_t threads)
{
    static const struct app_ops script = {script_next, script_timer, script_sent, script_received};
    static const char text[] = "rocelab: 1\nfabric: datagrams\n"
                               "topology: {leaf-spine: {leaves: 1, spines: 0, hosts: 3}}\n"
                               "links: {host: {rate: 100G, cable: 3m}}\nswitches: {buffer: 600KB}\n";
    struct plant_options options = {0};
    struct fabric_errors errors = {0};
    struct lab *lab = calloc(1, sizeof(*lab));

    assert_non_null(lab);
    if (fabric_load("datagrams", text, &lab->fabric, &errors) != 0 ||
        plant_init(&lab->plant, lab->fabric, &options, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail();
    }
    const struct sw_config *config = &lab->plant.sw[0].config;
    size_t bytes = (sw_memory_bytes(config) + 63) & ~(size_t)63;
    lab->memory = aligned_alloc(64, bytes);
    assert_non_null(lab->memory);
    memset(lab->memory, 0, bytes);
    node_switch_init(&lab->sw, sw_init(lab->memory, config, &lab->plant.sw[0].routes), config);
    for (uint32_t h = 0; h < HOSTS; h++) {
        lab->datagrams[h] = (struct datagrams){.self = h, .wake_at = PS_NEVER, .least_gap = PS_NEVER};
        lab->adapter[h] = (struct node_adapter){.endpoint = &lab->datagrams[h], .deadline = PS_NEVER};
        lab->host[h] = (struct node_host){.adapter = &lab->adapter[h],
                                          .adapters = 1,
                                          .number = h,
                                          .app = &script,
                                          .app_state = &lab->script[h],
                                          .connection = lab->connection,
                                          .failure = {.at = PS_NEVER}};
    }
    lab_engine(lab, threads);
    return lab;
}

static void lab_close(struct lab *lab)
{
    engine_free(lab->engine);
    plant_release(&lab->plant);
    fabric_free(lab->fabric);
    free(lab->memory);
    free(lab);
}

static void test_datagrams(void **state)
{
    (void)state;
    uint64_t digest = 0;

    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct lab *lab = lab_open(threads);
        while (engine_run(lab->engine, 1000, 10 * PS_MS, NULL, NULL) == ENGINE_RUNNING)
            continue;
        struct engine_totals totals = engine_totals(lab->engine);
        const struct script *to = &lab->script[HOSTS - 1];
        for (uint32_t h = 0; h < HOSTS - 1; h++) {
            assert_int_equal(lab->script[h].sent, MESSAGES);
            assert_int_equal(lab->script[h].in_order, MESSAGES);
            assert_int_equal(to->received[h], MESSAGES);
            assert_int_equal(lab->datagrams[h].sent, MESSAGES * DATAGRAMS);
            assert_true(lab->datagrams[h].least_gap >= GAP_PS); /* its rate is its own, not the line's */
            assert_true(lab->datagrams[h].pauses > 0);          /* and the switch says when to stop */
        }
        assert_int_equal(to->in_order, 2 * MESSAGES);
        assert_int_equal(lab->datagrams[HOSTS - 1].received, 2 * MESSAGES * DATAGRAMS); /* so nothing was lost */
        assert_int_equal(totals.packets_live, 0);
        sw_audit(lab->sw.sw);
        if (threads > 1) assert_int_equal(totals.digest, digest);
        digest = totals.digest;
        lab_close(lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_datagrams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
