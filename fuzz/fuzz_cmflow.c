/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two connection machines, a network that the input is, and somebody who forges.
 *
 * Each byte is a step: messages are delivered, lost, repeated, kept and replayed much later, changed in a
 * byte; requests are forged, in floods, with the ids and queue pairs of living connections; programs connect, accept,
 * refuse, disconnect, give up; time passes.  Whatever comes, the machines stay within their bounds, an event names a
 * connection that its program holds, and when both processes leave nothing is left.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "verbs/rdmacm/cm_engine.h"

#define SERVICE 0x0000000001061234ULL
#define SECOND 1000000000ULL
#define HELD 32u    /* connections of one program */
#define FLIGHTS 64u /* messages on the way, of one direction */
#define BACKLOG 8u
#define RECORDS_MAX (1024u + 3 * HELD + 256u + 16u) /* refusals kept, what programs held, a burst of requests */
#define SENDS_MAX (256u + 4u * RECORDS_MAX)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct side {
    struct cm_engine *engine;
    struct cm_conn *held[HELD];
    bool request[HELD]; /* not accepted yet */
    uint8_t flight[FLIGHTS][MAD_BYTES];
    unsigned flights;          /* to this side */
    uint8_t old[8][MAD_BYTES]; /* for a replay */
    unsigned olds;
};

struct input {
    const uint8_t *at, *end;
};

static struct side side[2];
static uint64_t now_ns;

static uint8_t byte(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static struct cm_peer peer_of(unsigned to, uint8_t address)
{
    struct cm_peer peer = {.port = NULL};

    peer.local.byte[15] = (uint8_t)(to + 1);
    peer.remote.byte[15] = address ? address : (uint8_t)(2 - to);
    return peer;
}

static unsigned free_place(const struct side *s)
{
    unsigned i = 0;

    while (i < HELD && s->held[i] != NULL)
        i++;
    return i;
}

static void on_request(struct side *s, const struct cm_event *event)
{
    unsigned place = free_place(s), waiting = 0;

    for (unsigned i = 0; i < HELD; i++)
        waiting += s->held[i] != NULL && s->request[i];
    if (place == HELD || waiting >= BACKLOG) {
        cm_ignore(event->conn, now_ns);
        return;
    }
    if (event->msg.private_data[0] == 0xff) {
        cm_decline(event->conn, now_ns);
        return;
    }
    cm_conn_set_slot(event->conn, 1 + (unsigned)(s - side));
    cm_conn_set_app(event->conn, &s->held[place]);
    s->held[place] = event->conn;
    s->request[place] = true;
}

static void settle(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct side *s = &side[i];
        struct cm_event event;
        struct cm_send send;

        while (cm_next_event(s->engine, &event)) {
            if (event.kind == CM_EVENT_REQUEST) {
                on_request(s, &event);
                continue;
            }
            struct cm_conn **place = event.app;
            CHECK(place >= s->held && place < s->held + HELD && *place == event.conn);
            if (event.kind == CM_EVENT_DOUBTED && event.status > 1) cm_heard(event.conn);
        }
        CHECK(cm_conns(s->engine) <= RECORDS_MAX && cm_sends(s->engine) <= SENDS_MAX);
        while (cm_next_send(s->engine, &send)) {
            struct side *other = &side[!i];
            if (send.to.remote.byte[15] > 2 || other->flights == FLIGHTS) continue; /* the forger's, or lost */
            memcpy(other->flight[other->flights++], send.data, MAD_BYTES);
        }
    }
}

static void deliver(unsigned to, const uint8_t mad[MAD_BYTES], uint8_t address)
{
    struct cm_peer from = peer_of(to, address);

    cm_receive(side[to].engine, &from, mad, now_ns);
    settle();
}

/* One of those on the way: how says what becomes of it. */
static void flight(unsigned to, uint8_t which, unsigned how, struct input *in)
{
    struct side *s = &side[to];
    uint8_t mad[MAD_BYTES];

    if (s->flights == 0) return;
    unsigned i = which % s->flights;
    memcpy(mad, s->flight[i], MAD_BYTES);
    if (how != 1) memcpy(s->flight[i], s->flight[--s->flights], MAD_BYTES); /* 1: it will come again */
    if (how == 2) return;
    if (how == 3) memcpy(s->old[s->olds++ % 8], mad, MAD_BYTES);
    if (how == 4) mad[16 + byte(in) % 120] ^= byte(in);
    deliver(to, mad, how == 5 ? 9 : 0);
}

static void forge(unsigned to, unsigned count, uint8_t address, uint32_t qpn, bool sidr)
{
    static uint32_t id;

    for (unsigned i = 0; i < count; i++) {
        struct cm_msg msg = {.service_id = SERVICE + (id % 5 == 0), .local_id = 0x1000000 + id, .qpn = qpn, .mtu = 3};
        uint8_t mad[MAD_BYTES];

        msg.mad = (struct mad){.base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .method = 3};
        msg.mad.attribute = sidr ? CM_SIDR_REQ : CM_REQ;
        msg.mad.tid = id++;
        msg.private_data[0] = id % 7 == 0 ? 0xff : 0;
        CHECK(cm_emit(&msg, mad) == 0);
        struct cm_peer from = peer_of(to, address);
        cm_receive(side[to].engine, &from, mad, now_ns);
        if (i % 256 == 255) settle();
    }
    settle();
}

static void connect_one(unsigned from, uint8_t option)
{
    struct side *s = &side[from];
    struct cm_msg msg = {.service_id = SERVICE + (option % 8 == 7), .qpn = 100 + option % 16, .mtu = 3};
    struct cm_peer peer = peer_of(from, 0);
    unsigned place = free_place(s);

    if (place == HELD) return;
    msg.mad.attribute = option & 64 ? CM_SIDR_REQ : CM_REQ;
    s->held[place] = cm_connect(s->engine, from + 1, &peer, &msg, &s->held[place], now_ns);
    s->request[place] = false;
    CHECK(s->held[place] != NULL);
}

static void program(unsigned who, uint8_t what, uint8_t which)
{
    struct side *s = &side[who];
    struct cm_conn *conn = s->held[which % HELD];
    struct cm_msg reply = {.qpn = 200 + which % 16};

    if (conn == NULL) return;
    switch (what % 7) {
    case 0:
        if (s->request[which % HELD] && cm_accept(conn, &reply, now_ns) == 0) s->request[which % HELD] = false;
        break;
    case 1:
        if (cm_reject(conn, CM_REJECT_CONSUMER, "no", 2, now_ns) == 0) s->request[which % HELD] = false;
        break;
    case 2:
        (void)cm_establish(conn, now_ns);
        break;
    case 3:
        (void)cm_notice(conn, now_ns);
        break;
    case 4:
        (void)cm_disconnect(conn, now_ns);
        break;
    case 5:
        cm_peer_gone(conn, now_ns);
        break;
    default:
        s->held[which % HELD] = NULL;
        cm_release(conn, now_ns);
        break;
    }
}

static void pass(uint64_t ns)
{
    now_ns += ns;
    for (unsigned i = 0; i < 2; i++)
        cm_tick(side[i].engine, now_ns);
    settle();
}

static void step(struct input *in)
{
    uint8_t code = byte(in);
    unsigned who = code & 1;
    uint8_t more = byte(in);

    switch (code >> 1 & 15) {
    case 0:
    case 1:
        connect_one(who, more);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        program(who, more, more >> 3);
        break;
    case 6:
    case 7:
    case 8:
    case 9:
        flight(who, more >> 3, more & 1, in);
        break;
    case 10:
        flight(who, more >> 3, more & 7, in);
        break;
    case 11:
        if (side[who].olds > 0) deliver(who, side[who].old[more % (side[who].olds < 8 ? side[who].olds : 8)], 0);
        break;
    case 12: /* a flood, or one in another's name */
        forge(who, more >= 240 ? 300 : 1, more & 64 ? 0 : 9, more & 32 ? 0 : 100 + more % 16, more & 16);
        break;
    case 13:
        pass((uint64_t)more * SECOND / 16);
        break;
    case 14:
        pass(more < 250 ? SECOND / 1000 : 70 * SECOND);
        break;
    default:
        if (more % 4 == 0)
            cm_unlisten(side[who].engine, SERVICE, NULL);
        else
            (void)cm_listen(side[who].engine, SERVICE, NULL, &side[who]);
        break;
    }
    settle();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};

    memset(side, 0, sizeof side);
    now_ns = SECOND;
    for (unsigned i = 0; i < 2; i++) {
        side[i].engine = cm_engine_create(i + 1);
        CHECK(side[i].engine != NULL);
        CHECK(cm_listen(side[i].engine, SERVICE, NULL, &side[i]) == 0);
    }
    for (unsigned steps = 0; in.at < in.end && steps < 4000; steps++)
        step(&in);
    for (unsigned i = 0; i < 2; i++) {
        memset(side[i].held, 0, sizeof side[i].held);
        cm_release_all(side[i].engine, now_ns);
    }
    for (unsigned i = 0; i < 200 && (cm_conns(side[0].engine) > 0 || cm_conns(side[1].engine) > 0); i++)
        pass(SECOND);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cm_conns(side[i].engine) == 0);
        cm_engine_destroy(side[i].engine);
    }
    return 0;
}
