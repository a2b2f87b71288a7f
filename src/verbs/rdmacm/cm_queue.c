/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection machine: what waits to be sent, what waits for its time, and what is too much.
 *
 * Anybody can send a REQ, as many as the wire carries.  So nothing here grows with what comes in.  Messages wait in two
 * queues: those of connections, a few of each, go first; answers to messages of no connection wait in a short one,
 * and what finds no room is dropped, for whoever asks repeats.
 *
 * Deadlines are rounded up to 1/16 s and stand in a wheel by their number: only what is due is looked at under the
 * lock, however many connections there are.
 *
 * Once a listener had no room for a request, a request is looked at when it comes the second time.  A
 * forger that makes up ids never asks twice, a requester does within seconds.  Of the first time a hash
 * is kept, in a table that forgets by being written over.
 *
 * Not here: what is repeated and how often (cm_engine.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "verbs/rdmacm/cm_int.h"

#define PRESSED_NS 1000000000ULL

void cm_queue_init(struct cm_engine *engine, uint64_t secret)
{
    for (unsigned i = 0; i < CM_QUEUES; i++)
        engine->queue[i].end = &engine->queue[i].first;
    engine->kept_end = &engine->kept;
    engine->deadline_ns = CM_NEVER;
    engine->secret = secret;
}

void cm_queue_free(struct cm_engine *engine)
{
    struct cm_send send;

    while (cm_next_send(engine, &send))
        ;
    free(engine->asked);
}

void cm_queue_forget(struct cm_conn *conn)
{
    for (struct cm_send_item *item = conn->engine->queue[CM_QUEUE_OWN].first; conn->queued > 0; item = item->next) {
        CHECK(item != NULL); /* what it queued is there */
        if (item->conn == conn) {
            item->conn = NULL;
            conn->queued--;
        }
    }
}

void cm_enqueue(struct cm_engine *engine, struct cm_conn *conn, const struct cm_peer *to, const uint8_t data[MAD_BYTES])
{
    struct cm_send_queue *queue = &engine->queue[conn != NULL ? CM_QUEUE_OWN : CM_QUEUE_STRANGERS];
    bool full = conn != NULL ? conn->queued == CM_QUEUED_MAX : queue->count == CM_STRANGERS_MAX;
    struct cm_send_item *item = full ? NULL : calloc(1, sizeof *item);

    if (item == NULL) return; /* as good as lost on the way */
    item->conn = conn;
    item->send.to = *to;
    memcpy(item->send.data, data, MAD_BYTES);
    if (conn != NULL) conn->queued++;
    *queue->end = item;
    queue->end = &item->next;
    queue->count++;
}

bool cm_next_send(struct cm_engine *engine, struct cm_send *ret)
{
    struct cm_send_queue *queue =
        &engine->queue[engine->queue[CM_QUEUE_OWN].first != NULL ? CM_QUEUE_OWN : CM_QUEUE_STRANGERS];
    struct cm_send_item *item = queue->first;

    if (item == NULL) return false;
    queue->first = item->next;
    if (queue->first == NULL) queue->end = &queue->first;
    CHECK(queue->count > 0 && (queue->first == NULL) == (queue->count == 1));
    queue->count--;
    CHECK(item->conn == NULL || item->conn->queued > 0);
    if (item->conn != NULL) item->conn->queued--;
    *ret = item->send;
    free(item);
    return true;
}

unsigned cm_sends(const struct cm_engine *engine)
{
    return engine->queue[CM_QUEUE_OWN].count + engine->queue[CM_QUEUE_STRANGERS].count;
}

bool cm_has_send(const struct cm_engine *engine)
{
    return cm_sends(engine) > 0;
}

static void link_due(struct cm_conn *conn, struct cm_conn **head)
{
    CHECK(conn->due_link == NULL); /* in one place of the wheel */
    conn->due_next = *head;
    if (conn->due_next != NULL) conn->due_next->due_link = &conn->due_next;
    conn->due_link = head;
    *head = conn;
}

static void unlink_due(struct cm_conn *conn)
{
    if (conn->due_link == NULL) return;
    CHECK(*conn->due_link == conn);
    *conn->due_link = conn->due_next;
    if (conn->due_next != NULL) conn->due_next->due_link = conn->due_link;
    conn->due_link = NULL;
}

void cm_arm(struct cm_conn *conn, uint64_t deadline_ns)
{
    struct cm_engine *engine = conn->engine;
    uint64_t grain;

    unlink_due(conn);
    conn->deadline_ns = CM_NEVER;
    if (deadline_ns == CM_NEVER) return;
    grain = deadline_ns / CM_GRAIN_NS + 1;
    conn->deadline_ns = grain * CM_GRAIN_NS;
    link_due(conn, &engine->wheel[grain % CM_WHEEL]);
    if (conn->deadline_ns < engine->deadline_ns) engine->deadline_ns = conn->deadline_ns;
}

static uint64_t next_deadline(const struct cm_engine *engine, uint64_t grain)
{
    for (unsigned i = 1; i <= CM_WHEEL; i++)
        if (engine->wheel[(grain + i) % CM_WHEEL] != NULL) return (grain + i) * CM_GRAIN_NS;
    return CM_NEVER;
}

void cm_tick(struct cm_engine *engine, uint64_t now_ns)
{
    uint64_t from = engine->deadline_ns / CM_GRAIN_NS, to = now_ns / CM_GRAIN_NS;
    struct cm_conn *due = NULL;

    if (now_ns < engine->deadline_ns) return;
    if (to - from >= CM_WHEEL) from = to - CM_WHEEL + 1;
    for (uint64_t grain = from; grain <= to; grain++)
        for (struct cm_conn *conn = engine->wheel[grain % CM_WHEEL], *next; conn != NULL; conn = next) {
            next = conn->due_next;
            if (conn->deadline_ns > now_ns) continue; /* of the next turn */
            unlink_due(conn);
            link_due(conn, &due);
        }
    engine->deadline_ns = next_deadline(engine, to);
    while (due != NULL) { /* one that expires may end others */
        struct cm_conn *conn = due;
        cm_arm(conn, CM_NEVER);
        cm_expire(conn, now_ns);
    }
}

uint64_t cm_deadline(const struct cm_engine *engine)
{
    return engine->deadline_ns;
}

void cm_unkeep(struct cm_conn *conn)
{
    struct cm_engine *engine = conn->engine;

    if (conn->kept_link == NULL) return;
    CHECK(*conn->kept_link == conn && engine->kept_count > 0);
    *conn->kept_link = conn->kept_next;
    if (conn->kept_next != NULL)
        conn->kept_next->kept_link = conn->kept_link;
    else
        engine->kept_end = conn->kept_link;
    conn->kept_link = NULL;
    engine->kept_count--;
}

void cm_press(struct cm_engine *engine, uint64_t now_ns)
{
    engine->pressed_until_ns = now_ns + PRESSED_NS;
    if (engine->asked == NULL) engine->asked = calloc(CM_ASKED, sizeof *engine->asked);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 29;
}

bool cm_admit(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg, uint64_t now_ns)
{
    uint64_t address[2], hash;
    uint32_t *at, mark;

    if (now_ns >= engine->pressed_until_ns || engine->asked == NULL) return true;
    memcpy(address, from->remote.byte, sizeof address);
    hash = mix(mix(mix(mix(engine->secret, address[0]), address[1]), msg->local_id), msg->mad.tid);
    at = &engine->asked[hash % CM_ASKED];
    mark = (uint32_t)(hash >> 32) | 1u; /* never 0: an empty place matches nothing */
    if (*at == mark) return true;
    *at = mark;
    return false;
}
