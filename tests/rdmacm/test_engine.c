/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two connection machines and a network that loses, repeats and reorders their messages.
 *
 * Programs on both sides decide at random: accept, refuse, wait, disconnect, give up.  Whatever happens on the
 * way, both sides must see the same end of every connection, each event once, and nothing may be left over.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "seed.h"
#include "verbs/rdmacm/cm_engine.h"

#define MS 1000000ULL
#define SECOND (1000 * MS)
#define CONNS 24
#define FLIGHTS 512
#define SERVICE 0x0000000001061234ULL
#define END (600 * SECOND)

struct flight {
    uint64_t at_ns; /* 0: free */
    unsigned to;
    struct cm_send send;
};

struct half { /* one side of one connection */
    struct cm_conn *conn;
    unsigned side, number;
    unsigned requests, replies, established, rejected, unreachable, disconnected, exits, sidr;
    int status;
    uint64_t act_ns; /* when its program does the next thing; 0: nothing */
    bool accepted, refused, wants_end, asked_end, released;
};

static uint64_t seed_now; /* told when a test ends */

struct world {
    struct rng rng;
    uint64_t now_ns;
    struct cm_engine *engine[2];
    struct flight flight[FLIGHTS];
    struct half half[2][CONNS];
    unsigned loss_ppm, repeat_ppm, delay_ms;
    bool sidr, decisions;
};

static struct cm_peer peer_to(unsigned side)
{
    struct cm_peer peer = {.port = NULL};

    peer.local.byte[15] = (uint8_t)(side == 0 ? 2 : 1);
    peer.remote.byte[15] = (uint8_t)(side == 0 ? 1 : 2);
    return peer; /* to side `side`: from the other one */
}

static void carry(struct world *w, unsigned from)
{
    struct cm_send send;

    while (cm_next_send(w->engine[from], &send)) {
        unsigned copies = 1 + (unsigned)rng_chance(&w->rng, w->repeat_ppm);
        for (; copies > 0; copies--) {
            unsigned i = 0;
            if (rng_chance(&w->rng, w->loss_ppm)) continue;
            while (i < FLIGHTS && w->flight[i].at_ns != 0)
                i++;
            assert_in_range(i, 0, FLIGHTS - 1);
            w->flight[i].to = !from;
            w->flight[i].send = send;
            w->flight[i].at_ns = w->now_ns + 1 + rng_below(&w->rng, w->delay_ms * MS);
        }
    }
}

static void later(struct world *w, struct half *half)
{
    half->act_ns = w->now_ns + 1 + rng_below(&w->rng, 3 * SECOND);
}

static void told(struct world *w, unsigned side, const struct cm_event *event)
{
    struct half *half = event->app;

    if (event->kind == CM_EVENT_REQUEST) {
        unsigned number = load_be32(event->msg.private_data);
        assert_in_range(number, 0, CONNS - 1);
        half = &w->half[side][number];
        half->conn = event->conn;
        cm_conn_set_app(event->conn, half);
        cm_conn_set_slot(event->conn, side + 1);
        half->requests++;
        later(w, half);
        return;
    }
    assert_ptr_equal(half->conn, event->conn);
    assert_false(half->released);
    half->replies += event->kind == CM_EVENT_REPLY;
    half->established += event->kind == CM_EVENT_ESTABLISHED;
    half->rejected += event->kind == CM_EVENT_REJECTED;
    half->unreachable += event->kind == CM_EVENT_UNREACHABLE;
    half->disconnected += event->kind == CM_EVENT_DISCONNECTED;
    half->exits += event->kind == CM_EVENT_TIMEWAIT_EXIT;
    half->sidr += event->kind == CM_EVENT_SIDR_REPLY;
    half->status = event->status;
    if (event->kind == CM_EVENT_REPLY || event->kind == CM_EVENT_ESTABLISHED) later(w, half);
    if (event->kind == CM_EVENT_REJECTED && event->status == CM_REJECT_CONSUMER && event->msg.mad.attribute == CM_REJ &&
        side == 0 && half->replies == 0)
        assert_int_equal(load_be32(event->msg.private_data), half->number + 7);
}

static void settle(struct world *w)
{
    for (unsigned side = 0; side < 2; side++) {
        struct cm_event event;
        while (cm_next_event(w->engine[side], &event))
            told(w, side, &event);
        carry(w, side);
    }
}

/* The passive program decides about a request. */
static void decide(struct world *w, struct half *half)
{
    struct cm_msg reply = {.qpn = 100 + half->number};
    uint8_t private_data[4];

    if (half->rejected) return;
    if (w->decisions && rng_below(&w->rng, 4) == 0) {
        store_be32(private_data, half->number + 7);
        half->refused = true;
        assert_int_equal(cm_reject(half->conn, CM_REJECT_CONSUMER, private_data, 4, w->now_ns), 0);
        return;
    }
    half->accepted = true;
    assert_int_equal(cm_accept(half->conn, &reply, w->now_ns), 0);
}

static void act(struct world *w, struct half *half)
{
    half->act_ns = 0;
    if (half->released || half->disconnected) return;
    if (half->side == 1 && !half->accepted && !half->refused) {
        decide(w, half);
    } else if (half->side == 0 && half->replies && !half->established && !half->rejected) {
        assert_int_equal(cm_establish(half->conn, w->now_ns), 0);
        half->established++;
        later(w, half);
    } else if (half->established && half->wants_end && !half->asked_end) {
        half->asked_end = true;
        assert_int_equal(cm_disconnect(half->conn, w->now_ns), 0);
    }
}

/* The next thing that happens; false: nothing any more. */
static bool step(struct world *w)
{
    uint64_t next_ns = CM_NEVER;
    struct flight *flight = NULL;
    struct half *actor = NULL;

    for (unsigned side = 0; side < 2; side++) {
        uint64_t deadline_ns = cm_deadline(w->engine[side]);
        if (deadline_ns < next_ns) next_ns = deadline_ns;
        for (unsigned i = 0; i < CONNS; i++)
            if (w->half[side][i].act_ns && w->half[side][i].act_ns < next_ns) {
                actor = &w->half[side][i];
                next_ns = actor->act_ns;
            }
    }
    for (unsigned i = 0; i < FLIGHTS; i++)
        if (w->flight[i].at_ns && w->flight[i].at_ns < next_ns) {
            flight = &w->flight[i];
            next_ns = flight->at_ns;
        }
    if (next_ns == CM_NEVER) return false;
    if (next_ns > w->now_ns) w->now_ns = next_ns;
    if (flight != NULL) {
        struct cm_peer from = peer_to(flight->to);
        flight->at_ns = 0;
        cm_receive(w->engine[flight->to], &from, flight->send.data, w->now_ns);
    } else if (actor != NULL) {
        act(w, actor);
    } else {
        cm_tick(w->engine[0], w->now_ns);
        cm_tick(w->engine[1], w->now_ns);
    }
    settle(w);
    return true;
}

static void begin(struct world *w, uint64_t seed, unsigned loss_ppm, unsigned repeat_ppm, unsigned delay_ms)
{
    memset(w, 0, sizeof *w);
    seed_now = seed;
    rng_init(&w->rng, seed, 1);
    w->now_ns = SECOND;
    w->loss_ppm = loss_ppm;
    w->repeat_ppm = repeat_ppm;
    w->delay_ms = delay_ms;
    for (unsigned side = 0; side < 2; side++) {
        w->engine[side] = cm_engine_create(seed + side);
        assert_non_null(w->engine[side]);
        for (unsigned i = 0; i < CONNS; i++) {
            w->half[side][i].side = side;
            w->half[side][i].number = i;
        }
    }
    assert_int_equal(cm_listen(w->engine[1], SERVICE, NULL, w), 0);
}

static void connect_all(struct world *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct cm_msg msg = {.service_id = SERVICE, .qpn = 1000 + i, .mtu = 3};
        struct cm_peer peer = peer_to(0);
        msg.mad.attribute = w->sidr ? CM_SIDR_REQ : CM_REQ;
        store_be32(msg.private_data, i);
        w->half[0][i].conn = cm_connect(w->engine[0], 1, &peer, &msg, &w->half[0][i], w->now_ns);
        w->half[0][i].wants_end = w->decisions && rng_below(&w->rng, 2);
        w->half[1][i].wants_end = w->decisions && rng_below(&w->rng, 2);
    }
    settle(w);
}

static void run_out(struct world *w)
{
    unsigned steps = 0;

    while (w->now_ns < END && step(w))
        assert_in_range(++steps, 0, 1000000);
    assert_true(w->now_ns < END);
}

/* Everything is released; the machines must forget it all. */
static void finish(struct world *w)
{
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < CONNS; i++)
            if (w->half[side][i].conn != NULL && !w->half[side][i].released) {
                w->half[side][i].released = true;
                cm_release(w->half[side][i].conn, w->now_ns);
            }
    settle(w);
    w->now_ns += SECOND;
    run_out(w);
    for (unsigned side = 0; side < 2; side++) {
        assert_int_equal(cm_conns(w->engine[side]), 0);
        assert_int_equal(cm_deadline(w->engine[side]), CM_NEVER);
        cm_engine_destroy(w->engine[side]);
    }
}

static void check_same_end(const struct world *w)
{
    for (unsigned i = 0; i < CONNS; i++) {
        const struct half *a = &w->half[0][i], *b = &w->half[1][i];

        assert_int_equal(b->requests, 1);
        assert_int_equal(a->unreachable + b->unreachable, 0);
        if (b->refused) {
            assert_int_equal(a->rejected, 1);
            assert_int_equal(a->status, CM_REJECT_CONSUMER);
            assert_int_equal(a->replies + b->established + b->disconnected, 0);
            continue;
        }
        assert_int_equal(a->replies, 1);
        assert_int_equal(a->established, 1);
        assert_in_range(b->established, b->disconnected ? 0 : 1, 1); /* a DREQ may pass the RTU */
        assert_int_equal(a->rejected + b->rejected, 0);
        assert_int_equal(a->disconnected, a->asked_end || b->asked_end);
        assert_int_equal(b->disconnected, a->disconnected);
        assert_int_equal(a->exits, a->disconnected);
        assert_int_equal(b->exits, b->disconnected);
    }
}

static void test_every_connection_ends_alike(void **state)
{
    static const struct {
        unsigned loss_ppm, repeat_ppm, delay_ms;
    } wires[] = {{0, 0, 1}, {0, 300000, 900}, {100000, 100000, 50}, {150000, 200000, 400}};
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (unsigned round = 0; round < 60; round++)
        for (unsigned i = 0; i < sizeof wires / sizeof wires[0]; i++) {
            uint64_t seed = test_seed_or(1) + round * 16 + i;
            begin(w, seed, wires[i].loss_ppm, wires[i].repeat_ppm, wires[i].delay_ms);
            w->decisions = true;
            connect_all(w, CONNS);
            run_out(w);
            check_same_end(w);
            finish(w);
        }
    free(w);
}

static void test_sidr(void **state)
{
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (unsigned round = 0; round < 100; round++) {
        begin(w, test_seed_or(1) + round, 200000, 200000, 200);
        w->sidr = true;
        connect_all(w, CONNS);
        run_out(w);
        for (unsigned i = 0; i < CONNS; i++) {
            assert_int_equal(w->half[0][i].sidr, 1);
            assert_int_equal(w->half[1][i].requests, 1);
            assert_int_equal(cm_conn_reply(w->half[0][i].conn)->qpn, 100 + i);
        }
        finish(w);
    }
    free(w);
}

static void test_nobody_answers(void **state)
{
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    begin(w, 1, 1000000, 0, 1);
    connect_all(w, 2);
    run_out(w);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(w->half[0][i].unreachable, 1);
        assert_int_equal(w->half[0][i].status, -ETIMEDOUT);
    }
    assert_in_range(w->now_ns, 40 * SECOND, 100 * SECOND);
    finish(w);
    free(w);
}

static void test_nobody_listens(void **state)
{
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (int sidr = 0; sidr < 2; sidr++) {
        begin(w, 1, 0, 0, 1);
        cm_unlisten(w->engine[1], SERVICE, NULL);
        w->sidr = sidr;
        connect_all(w, 1);
        run_out(w);
        assert_int_equal(w->half[0][0].rejected, !sidr);
        assert_int_equal(w->half[0][0].unreachable, sidr);
        assert_int_equal(w->half[0][0].status, sidr ? (int)CM_SIDR_UNSUPPORTED : (int)CM_REJECT_INVALID_SERVICE);
        finish(w);
    }
    free(w);
}

/* The peer begins to listen at any moment: then all connections come about, or none was ever seen. */
static void test_all_or_none(void **state)
{
    unsigned all = 0, none = 0;
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (unsigned round = 0; round < 400; round++) {
        unsigned answered = 0, asked = 0, refused = 0;

        begin(w, test_seed_or(1) + round, 0, 0, 40);
        cm_unlisten(w->engine[1], SERVICE, NULL);
        w->sidr = round % 2;
        uint64_t listen_ns = w->now_ns + rng_below(&w->rng, SECOND);
        connect_all(w, CONNS);
        while (w->now_ns < listen_ns && step(w))
            ;
        assert_int_equal(cm_listen(w->engine[1], SERVICE, NULL, w), 0);
        run_out(w);
        for (unsigned i = 0; i < CONNS; i++) {
            const struct half *half = &w->half[0][i];
            answered += w->sidr ? half->sidr : half->established;
            refused += w->sidr ? half->unreachable : half->rejected;
            asked += w->half[1][i].requests;
        }
        assert_int_equal(answered, asked);
        assert_int_equal(answered + refused, CONNS);
        assert_true(answered == 0 || refused == 0);
        *(answered ? &all : &none) += 1;
        finish(w);
    }
    assert_in_range(all, 50, 350); /* both ends were seen */
    assert_in_range(none, 50, 350);
    free(w);
}

/* A program that gives up leaves the asking to the next of its connections. */
static void test_scout_released(void **state)
{
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    begin(w, 6, 0, 0, 1);
    cm_unlisten(w->engine[1], SERVICE, NULL);
    w->sidr = true;
    connect_all(w, 3);
    for (unsigned i = 0; i < 6; i++) /* three requests, three refusals */
        assert_true(step(w));
    for (unsigned i = 0; i < 2; i++) {
        cm_release(w->half[0][i].conn, w->now_ns);
        w->half[0][i].released = true;
        assert_false(cm_has_send(w->engine[0]));
    }
    assert_int_equal(cm_listen(w->engine[1], SERVICE, NULL, w), 0);
    run_out(w);
    assert_int_equal(w->half[0][2].sidr, 1);
    assert_int_equal(w->half[1][0].requests + w->half[1][1].requests, 0);
    w->half[0][0].conn = w->half[0][1].conn = NULL;
    finish(w);
    free(w);
}

/* A peer that forgot its connection connects again from the same queue pair. */
static void test_stale(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct cm_engine *again;

    (void)state;
    assert_non_null(w);
    begin(w, 3, 0, 0, 1);
    connect_all(w, 1);
    run_out(w);
    assert_int_equal(w->half[1][0].established, 1);
    again = cm_engine_create(99);
    cm_engine_destroy(w->engine[0]);
    w->engine[0] = again;
    memset(&w->half[0][0], 0, sizeof w->half[0][0]);
    connect_all(w, 1);
    run_out(w);
    assert_int_equal(w->half[0][0].rejected, 1);
    assert_int_equal(w->half[0][0].status, CM_REJECT_STALE);
    assert_int_equal(w->half[1][0].disconnected, 1);
    assert_int_equal(w->half[1][0].requests, 1);
    finish(w);
    free(w);
}

/* Ids are believed only from the address the connection is with. */
static void test_forged(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct cm_send send;
    struct cm_peer forger = peer_to(1);

    (void)state;
    assert_non_null(w);
    begin(w, 4, 0, 0, 1);
    connect_all(w, 1);
    run_out(w);
    assert_int_equal(cm_disconnect(w->half[0][0].conn, w->now_ns), 0);
    assert_true(cm_next_send(w->engine[0], &send));
    forger.remote.byte[15] = 9;
    cm_receive(w->engine[1], &forger, send.data, w->now_ns);
    assert_true(cm_conn_connected(w->half[1][0].conn));
    cm_release_all(w->engine[1], w->now_ns);
    w->half[1][0].released = true;
    finish(w);
    free(w);
}

/* The process ends and its DREQ is lost: it is sent again until the peer has answered. */
static void test_leaving(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct cm_send send;
    struct cm_event event;
    struct cm_peer server = peer_to(0), client = peer_to(1);

    (void)state;
    assert_non_null(w);
    begin(w, 5, 0, 0, 1);
    connect_all(w, 1);
    run_out(w);
    assert_false(cm_leaving(w->engine[0]));
    cm_release_all(w->engine[0], w->now_ns);
    w->half[0][0].released = true;
    assert_true(cm_leaving(w->engine[0]));
    assert_true(cm_next_send(w->engine[0], &send));
    assert_false(cm_has_send(w->engine[0]));
    w->now_ns = cm_deadline(w->engine[0]);
    cm_tick(w->engine[0], w->now_ns);
    assert_true(cm_next_send(w->engine[0], &send));
    assert_true(cm_leaving(w->engine[0]));
    cm_receive(w->engine[1], &client, send.data, w->now_ns);
    assert_true(cm_next_event(w->engine[1], &event));
    assert_int_equal(event.kind, CM_EVENT_DISCONNECTED);
    assert_true(cm_next_send(w->engine[1], &send));
    cm_receive(w->engine[0], &server, send.data, w->now_ns);
    assert_false(cm_leaving(w->engine[0]));
    assert_false(cm_next_event(w->engine[0], &event)); /* nobody is left to be told */
    finish(w);
    free(w);
}

/* A message from the address of the other side, by somebody else. */
static void inject(struct world *w, unsigned to, uint8_t address, struct cm_msg *msg)
{
    struct cm_peer from = peer_to(to);
    uint8_t data[MAD_BYTES];

    if (address) from.remote.byte[15] = address;
    msg->mad.base_version = 1;
    msg->mad.mgmt_class = MAD_CLASS_CM;
    msg->mad.class_version = 2;
    msg->mad.method = 3;
    assert_int_equal(cm_emit(msg, data), 0);
    cm_receive(w->engine[to], &from, data, w->now_ns);
}

static void forge(struct world *w, uint64_t service_id, uint32_t id, uint8_t address)
{
    struct cm_msg msg = {.service_id = service_id, .local_id = id, .qpn = 0, .mtu = 3};

    msg.mad.attribute = CM_REQ;
    msg.mad.tid = id;
    store_be32(msg.private_data, CONNS); /* not one of ours */
    inject(w, 1, address, &msg);
}

/* A REQ that names the queue pair of the other side. */
static void forge_stale(struct world *w, unsigned to)
{
    struct cm_msg msg = {.service_id = SERVICE, .local_id = 0x777777, .qpn = to == 1 ? 1000 : 100, .mtu = 3};

    msg.mad.attribute = CM_REQ;
    inject(w, to, 0, &msg);
    settle(w);
}

/* Anybody can say that a peer has forgotten its connection.  The peer is asked, and it has not. */
static void test_stale_forged(void **state)
{
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (unsigned to = 0; to < 2; to++) {
        begin(w, test_seed_or(1) + to, 100000, 100000, 50);
        connect_all(w, 1);
        run_out(w);
        for (unsigned i = 0; i < 3; i++) {
            forge_stale(w, to);
            run_out(w);
        }
        for (unsigned side = 0; side < 2; side++) {
            assert_true(cm_conn_connected(w->half[side][0].conn));
            assert_int_equal(w->half[side][0].disconnected + w->half[side][0].rejected, 0);
        }
        assert_int_equal(w->half[1][0].requests, 1);
        finish(w);
    }
    free(w);
}

/* A peer that says nothing is given up, with a DREQ, unless its queue pair is heard of. */
static void test_stale_silent(void **state)
{
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (unsigned round = 0; round < 4; round++) {
        unsigned to = round % 2, doubts = 0, goodbyes = 0;
        bool speaks = round >= 2;
        struct half *half;
        struct cm_event event;
        struct cm_send send;

        begin(w, test_seed_or(1) + round, 0, 0, 1);
        connect_all(w, 1);
        run_out(w);
        half = &w->half[to][0];
        forge_stale(w, to);
        memset(w->flight, 0, sizeof w->flight);
        doubts++; /* the first event went to told() */
        while (cm_deadline(w->engine[to]) != CM_NEVER) {
            w->now_ns = cm_deadline(w->engine[to]);
            cm_tick(w->engine[to], w->now_ns);
            while (cm_next_event(w->engine[to], &event)) {
                told(w, to, &event);
                if (event.kind != CM_EVENT_DOUBTED) continue;
                assert_int_equal(event.status, doubts++);
                if (speaks) cm_heard(event.conn);
            }
            while (cm_next_send(w->engine[to], &send)) {
                struct cm_msg msg;
                assert_int_equal(cm_parse(send.data, MAD_BYTES, &msg), 0);
                goodbyes += msg.mad.attribute == CM_DREQ;
            }
        }
        assert_int_equal(doubts, speaks ? 2 : 4);
        assert_int_equal(half->disconnected, !speaks);
        assert_int_equal(goodbyes, speaks ? 0 : 10);
        assert_int_equal(cm_conn_connected(half->conn), speaks);
        finish(w);
    }
    free(w);
}

/* A DREQ names the queue pair it ends, a DREP the DREQ it answers; a REJ that names one id ends no connection. */
static void test_disconnect_forged(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct cm_msg msg;
    struct cm_send send;

    (void)state;
    assert_non_null(w);
    begin(w, 8, 0, 0, 1);
    connect_all(w, 2);
    run_out(w);
    msg = (struct cm_msg){.local_id = cm_conn_remote_id(w->half[1][0].conn), .reason = CM_REJECT_TIMEOUT};
    msg.mad.attribute = CM_REJ;
    inject(w, 1, 0, &msg);
    assert_true(cm_conn_connected(w->half[1][0].conn));
    /* and one id tells nothing about the next */
    assert_true(cm_conn_remote_id(w->half[1][1].conn) - msg.local_id + 64 > 128);
    assert_int_equal(cm_disconnect(w->half[0][0].conn, w->now_ns), 0);
    assert_true(cm_next_send(w->engine[0], &send));
    assert_int_equal(cm_parse(send.data, MAD_BYTES, &msg), 0);
    assert_int_equal(msg.qpn, 100);
    msg.qpn = 101;
    inject(w, 1, 0, &msg);
    assert_false(cm_has_send(w->engine[1]));
    assert_true(cm_conn_connected(w->half[1][0].conn));
    uint32_t ours = msg.local_id;
    msg.mad.attribute = CM_DREP;
    msg.mad.tid++;
    msg.local_id = msg.remote_id;
    msg.remote_id = ours;
    inject(w, 0, 0, &msg);
    assert_true(cm_leaving(w->engine[0]));
    run_out(w); /* the DREQ is repeated */
    assert_int_equal(w->half[0][0].disconnected, 1);
    assert_int_equal(w->half[1][0].disconnected, 1);
    finish(w);
    free(w);
}

#define BACKLOG 4u
struct flood {
    unsigned waiting; /* requests that the program has not looked at */
    unsigned records, sends;
    bool refuses; /* the program looks at each, and refuses */
};

/* Side 1 as librdmacm does: requests beyond the backlog are ignored. */
static void flood_events(struct world *w, struct flood *f)
{
    struct cm_event event;

    while (cm_next_event(w->engine[1], &event)) {
        bool forged = event.kind == CM_EVENT_REQUEST && load_be32(event.msg.private_data) == CONNS;
        if (!forged && (event.kind != CM_EVENT_REQUEST || f->waiting < BACKLOG)) {
            told(w, 1, &event);
        } else if (f->waiting >= BACKLOG) {
            cm_ignore(event.conn, w->now_ns);
        } else if (f->refuses) {
            cm_conn_set_slot(event.conn, 2);
            cm_release(event.conn, w->now_ns);
        } else {
            cm_conn_set_slot(event.conn, 2);
            cm_conn_set_app(event.conn, NULL);
            f->waiting++;
        }
    }
    if (cm_conns(w->engine[1]) > f->records) f->records = cm_conns(w->engine[1]);
    if (cm_sends(w->engine[1]) > f->sends) f->sends = cm_sends(w->engine[1]);
}

/* One millisecond: a hundred forged requests, of which each side may send eight messages. */
static void flood_millisecond(struct world *w, struct flood *f, uint64_t service_id, uint32_t *id)
{
    struct cm_send send;

    for (unsigned i = 0; i < 100; i++, ++*id)
        forge(w, service_id, *id, (uint8_t)(10 + *id % 3));
    flood_events(w, f);
    for (unsigned side = 0; side < 2; side++) {
        struct cm_event event;
        for (unsigned i = 0; i < 8 && cm_next_send(w->engine[side], &send); i++) {
            struct cm_peer from = peer_to(!side);
            if (send.to.remote.byte[15] > 2) continue; /* to the forger */
            cm_receive(w->engine[!side], &from, send.data, w->now_ns);
        }
        while (side == 1 && cm_next_event(w->engine[0], &event))
            told(w, 0, &event);
    }
    for (unsigned side = 0; side < 2; side++)
        if (w->half[side][0].act_ns != 0 && w->half[side][0].act_ns <= w->now_ns) act(w, &w->half[side][0]);
    w->now_ns += MS;
    cm_tick(w->engine[0], w->now_ns);
    cm_tick(w->engine[1], w->now_ns);
    flood_events(w, f);
}

/* A hundred thousand forged requests a second: nothing grows, and a connection comes about meanwhile. */
static void test_flood(void **state)
{
    static const struct {
        uint64_t service_id;
        bool refuses;
    } floods[] = {{SERVICE + 1, false}, {SERVICE, true}, {SERVICE, false}};
    struct world *w = malloc(sizeof *w);

    (void)state;
    assert_non_null(w);
    for (unsigned i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        struct flood f = {.refuses = floods[i].refuses};
        uint32_t id = 0;

        begin(w, test_seed_or(1) + i, 0, 0, 1);
        for (unsigned ms = 0; ms < 500; ms++)
            flood_millisecond(w, &f, floods[i].service_id, &id);
        connect_all(w, 1);
        for (unsigned ms = 0; ms < 10000 && w->half[1][0].established == 0; ms++) {
            /* The program looks at what waits, now and then. */
            if (ms % 50 == 0) f.waiting = 0;
            flood_millisecond(w, &f, floods[i].service_id, &id);
        }
        assert_int_equal(w->half[0][0].established, 1);
        assert_int_equal(w->half[1][0].established, 1);
        assert_in_range(f.records, 0, 2000);
        assert_in_range(f.sends, 0, 300);
        cm_release_all(w->engine[1], w->now_ns);
        w->half[1][0].released = true;
        finish(w);
    }
    free(w);
}

/* The process ends with one more refusal to remember than there is room for: the one that goes is looked at no more. */
static void test_leaving_after_refusals(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct cm_event event;

    (void)state;
    assert_non_null(w);
    begin(w, test_seed_or(1), 0, 0, 1);
    for (uint32_t id = 0; id < 1025; id++) {
        forge(w, SERVICE, id, 10);
        assert_true(cm_next_event(w->engine[1], &event));
        if (id != 1) cm_release(event.conn, w->now_ns);
    }
    cm_release_all(w->engine[1], w->now_ns);
    assert_in_range(cm_conns(w->engine[1]), 1, 1024);
    finish(w);
    free(w);
}

static int tell_seed(void **state)
{
    (void)state;
    print_message("the last network's seed: %llu\n", (unsigned long long)seed_now);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_every_connection_ends_alike, tell_seed),
        cmocka_unit_test_teardown(test_sidr, tell_seed),
        cmocka_unit_test_teardown(test_nobody_answers, tell_seed),
        cmocka_unit_test_teardown(test_nobody_listens, tell_seed),
        cmocka_unit_test_teardown(test_all_or_none, tell_seed),
        cmocka_unit_test_teardown(test_scout_released, tell_seed),
        cmocka_unit_test_teardown(test_stale, tell_seed),
        cmocka_unit_test_teardown(test_forged, tell_seed),
        cmocka_unit_test_teardown(test_leaving, tell_seed),
        cmocka_unit_test_teardown(test_stale_forged, tell_seed),
        cmocka_unit_test_teardown(test_stale_silent, tell_seed),
        cmocka_unit_test_teardown(test_disconnect_forged, tell_seed),
        cmocka_unit_test_teardown(test_flood, tell_seed),
        cmocka_unit_test_teardown(test_leaving_after_refusals, tell_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
