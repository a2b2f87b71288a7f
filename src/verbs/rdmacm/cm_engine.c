/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection machine: its tables, what it repeats, and what the program asks for.
 *
 * A message that waits for its answer is kept as bytes and repeated.  The specification lets an answer take
 * 4.096 us * 2^20, 4.3 s, fifteen times over; that is also what our REQ grants the peer.  Repeating early costs
 * a datagram (a peer that knows the message answers it again, or with an MRA) while waiting
 * costs whoever lost one four seconds: so the gap begins with a quarter of a second and doubles up to four
 * seconds.
 *
 * After a connection has ended its record stays for two seconds to answer a repeated DREQ; a refusal and a SIDR answer
 * stay for a minute, as long as a requester has patience, so that a request that was answered is never a new one.  Of
 * those that only wait for this, a thousand stay: more come from nobody with good intentions.
 */
#include "verbs/rdmacm/cm_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "packet/codec.h"

#define SECOND_NS 1000000000ULL
#define REPEAT_FIRST_NS (SECOND_NS / 4)
#define REPEAT_LAST_NS (4 * SECOND_NS)
#define TRIES_CONNECT 16u /* the first and fifteen more */
#define TRIES_DISCONNECT 10u
#define TRIES_FAST 5u /* after so many the gap grows no more */
#define DOUBTS_MAX 4u /* questions: 4 s */
#define TIMEWAIT_NS (2 * SECOND_NS)
#define ANSWERED_NS (60 * SECOND_NS)
#define ID_BITS CM_SLOT_SHIFT

static unsigned bucket_of(uint32_t key)
{
    return (key * 2654435761u) >> 22;
}

static uint32_t key_of(const struct cm_conn *conn, enum cm_index index)
{
    switch (index) {
    case CM_BY_ID:
        return conn->local_id;
    case CM_BY_REMOTE:
        return conn->remote_id;
    case CM_BY_SERVICE:
        return (uint32_t)conn->request.service_id;
    default:
        return conn->remote_qp;
    }
}

void cm_index_add(struct cm_conn *conn, enum cm_index index)
{
    struct cm_conn **head = &conn->engine->bucket[index][bucket_of(key_of(conn, index))];

    CHECK(!conn->indexed[index]);
    conn->chain[index] = *head;
    *head = conn;
    conn->indexed[index] = true;
}

void cm_index_remove(struct cm_conn *conn, enum cm_index index)
{
    struct cm_conn **link = &conn->engine->bucket[index][bucket_of(key_of(conn, index))];

    if (!conn->indexed[index]) return;
    while (*link != conn)
        link = &(*link)->chain[index];
    *link = conn->chain[index];
    conn->indexed[index] = false;
}

static bool same_peer(const struct cm_peer *a, const struct cm_peer *b)
{
    return memcmp(&a->remote, &b->remote, sizeof a->remote) == 0;
}

struct cm_conn *cm_find_id(struct cm_engine *engine, uint32_t id)
{
    struct cm_conn *conn = engine->bucket[CM_BY_ID][bucket_of(id)];

    while (conn != NULL && conn->local_id != id)
        conn = conn->chain[CM_BY_ID];
    return conn;
}

/* Ids of connections and of SIDR exchanges are separate numbers of the peer. */
struct cm_conn *cm_find_remote(struct cm_engine *engine, uint32_t id, const struct cm_peer *peer, bool sidr)
{
    struct cm_conn *conn = engine->bucket[CM_BY_REMOTE][bucket_of(id)];

    while (conn != NULL && (conn->remote_id != id || conn->sidr != sidr || !same_peer(&conn->peer, peer)))
        conn = conn->chain[CM_BY_REMOTE];
    return conn;
}

struct cm_conn *cm_find_qp(struct cm_engine *engine, uint32_t qpn, const struct cm_peer *peer)
{
    struct cm_conn *conn = engine->bucket[CM_BY_QP][bucket_of(qpn)];

    while (conn != NULL && (conn->remote_qp != qpn || !same_peer(&conn->peer, peer)))
        conn = conn->chain[CM_BY_QP];
    return conn;
}

struct cm_conn *cm_find_scout(const struct cm_conn *like)
{
    struct cm_conn *conn = like->engine->bucket[CM_BY_SERVICE][bucket_of(key_of(like, CM_BY_SERVICE))];

    while (conn != NULL && (conn->request.service_id != like->request.service_id || conn->sidr != like->sidr ||
                            !same_peer(&conn->peer, &like->peer)))
        conn = conn->chain[CM_BY_SERVICE];
    return conn;
}

struct cm_listener *cm_find_listener(struct cm_engine *engine, uint64_t service_id, const struct pkt_addr *address)
{
    struct cm_listener *any = NULL;

    for (struct cm_listener *l = engine->listeners; l != NULL; l = l->next) {
        if (l->service_id != service_id) continue;
        if (l->any & pkt_addr_families(address))
            any = l;
        else if (!l->any && memcmp(&l->address, address, sizeof *address) == 0)
            return l;
    }
    return any;
}

static unsigned any_of(const struct pkt_addr *address)
{
    return pkt_addr_unspecified(address) ? pkt_addr_families(address) : 0;
}

/* The one with the same addresses, or one of whose families an `any` shares. */
static struct cm_listener **listener_at(struct cm_engine *engine, uint64_t service_id, const struct pkt_addr *address)
{
    struct cm_listener **link = &engine->listeners;

    for (; *link != NULL; link = &(*link)->next) {
        struct cm_listener *l = *link;
        if (l->service_id != service_id || !l->any != !any_of(address)) continue;
        if (l->any ? l->any & any_of(address) : memcmp(&l->address, address, sizeof *address) == 0) break;
    }
    return link;
}

int cm_listen(struct cm_engine *engine, uint64_t service_id, const struct pkt_addr *address, void *app)
{
    struct cm_listener **link = listener_at(engine, service_id, address), *listener;

    if (*link != NULL) return -EADDRINUSE;
    listener = calloc(1, sizeof *listener);
    if (listener == NULL) return -ENOMEM;
    listener->service_id = service_id;
    listener->any = any_of(address);
    if (address != NULL) listener->address = *address;
    listener->app = app;
    *link = listener;
    return 0;
}

void cm_unlisten(struct cm_engine *engine, uint64_t service_id, const struct pkt_addr *address)
{
    struct cm_listener **link = listener_at(engine, service_id, address), *listener = *link;

    if (listener == NULL) return;
    *link = listener->next;
    free(listener);
}

struct cm_engine *cm_engine_create(uint64_t seed)
{
    struct cm_engine *engine = calloc(1, sizeof *engine);

    if (engine == NULL) return NULL;
    engine->events_end = &engine->events;
    rng_init(&engine->rng, seed, 0);
    cm_queue_init(engine, (uint64_t)rng_u32(&engine->rng) << 32 | rng_u32(&engine->rng));
    engine->next_id = rng_u32(&engine->rng);
    return engine;
}

static void free_listeners(struct cm_engine *engine)
{
    while (engine->listeners != NULL) {
        struct cm_listener *listener = engine->listeners;
        engine->listeners = listener->next;
        free(listener);
    }
}

void cm_engine_destroy(struct cm_engine *engine)
{
    struct cm_event event;

    if (engine == NULL) return;
    while (engine->conns != NULL)
        cm_conn_free(engine->conns);
    cm_queue_free(engine);
    while (cm_next_event(engine, &event))
        ;
    free_listeners(engine);
    free(engine);
}

struct cm_conn *cm_conn_new(struct cm_engine *engine, const struct cm_peer *peer)
{
    struct cm_conn *conn = calloc(1, sizeof *conn);

    if (conn == NULL) return NULL;
    conn->engine = engine;
    conn->peer = *peer;
    conn->deadline_ns = CM_NEVER;
    conn->link = &engine->conns;
    conn->next = engine->conns;
    if (conn->next != NULL) conn->next->link = &conn->next;
    engine->conns = conn;
    engine->count++;
    return conn;
}

void cm_conn_free(struct cm_conn *conn)
{
    struct cm_engine *engine = conn->engine;

    cm_refusal_forget(conn);
    cm_arm(conn, CM_NEVER);
    cm_unkeep(conn);
    cm_queue_forget(conn);
    for (int i = 0; i < CM_INDICES; i++)
        cm_index_remove(conn, (enum cm_index)i);
    /* Events that wait name it: they go with it. */
    for (struct cm_event_item **link = &engine->events; *link != NULL;) {
        struct cm_event_item *item = *link;
        if (item->event.conn != conn) {
            link = &item->next;
            continue;
        }
        *link = item->next;
        if (*link == NULL) engine->events_end = link;
        free(item);
    }
    CHECK(*conn->link == conn && engine->count > 0);
    *conn->link = conn->next;
    if (conn->next != NULL) conn->next->link = conn->link;
    engine->count--;
    free(conn);
}

/* Whoever asks for a connection is told an id of ours.  The others' must not follow from it, for who knows both ids of
 * a connection can end it; and none may come again soon.  So they count, and a Feistel network puts them in another
 * order. */
static uint32_t shuffled(const struct cm_engine *engine, uint32_t number)
{
    const uint32_t key[2] = {(uint32_t)engine->secret, (uint32_t)(engine->secret >> 32)};
    uint32_t half = (1u << ID_BITS / 2) - 1, left = number >> ID_BITS / 2 & half, right = number & half;

    for (uint32_t round = 0; round < 4; round++) {
        uint32_t drawn[4], before = right;
        rng_philox((const uint32_t[4]){round, right}, key, drawn);
        right = left ^ (drawn[0] & half);
        left = before;
    }
    return left << ID_BITS / 2 | right;
}

static uint32_t new_id(struct cm_engine *engine, uint32_t slot)
{
    uint32_t id;

    do
        id = slot << ID_BITS | shuffled(engine, engine->next_id++);
    while (id == 0 || cm_find_id(engine, id) != NULL);
    return id;
}

void cm_conn_set_slot(struct cm_conn *conn, uint32_t slot)
{
    cm_index_remove(conn, CM_BY_ID);
    conn->local_id = new_id(conn->engine, slot);
    cm_index_add(conn, CM_BY_ID);
}

static bool compose(const struct cm_msg *msg, uint8_t ret_data[MAD_BYTES])
{
    struct cm_msg m = *msg;

    m.mad.base_version = 1;
    m.mad.mgmt_class = MAD_CLASS_CM;
    m.mad.class_version = 2;
    m.mad.method = 3; /* Send() */
    return cm_emit(&m, ret_data) == 0;
}

void cm_say(struct cm_engine *engine, struct cm_conn *conn, const struct cm_peer *to, const struct cm_msg *msg)
{
    uint8_t data[MAD_BYTES];

    if (compose(msg, data)) cm_enqueue(engine, conn, to, data);
}

void cm_say_again(struct cm_conn *conn)
{
    cm_enqueue(conn->engine, conn, &conn->peer, conn->last);
}

void cm_answer_again(struct cm_conn *conn)
{
    cm_enqueue(conn->engine, NULL, &conn->peer, conn->last);
}

void cm_tell(struct cm_conn *conn, enum cm_attribute attribute, struct cm_msg *msg)
{
    uint8_t data[MAD_BYTES];
    /* A request that was not accepted may be anybody's. */
    bool stranger = conn->state == CM_REQ_RECEIVED && (attribute == CM_MRA || attribute == CM_REJ);

    msg->mad.attribute = (uint16_t)attribute;
    msg->mad.tid = conn->tid;
    msg->local_id = attribute == CM_SIDR_REP ? conn->remote_id : conn->local_id;
    msg->remote_id = attribute == CM_REQ || attribute == CM_SIDR_REQ ? 0 : conn->remote_id;
    if (!compose(msg, data)) return;
    cm_enqueue(conn->engine, stranger ? NULL : conn, &conn->peer, data);
    /* What may have to be repeated is kept. */
    if (attribute != CM_MRA && attribute != CM_DREP) memcpy(conn->last, data, MAD_BYTES);
}

void cm_tell_reject(struct cm_conn *conn, uint16_t reason, const void *private_data, size_t bytes)
{
    struct cm_msg msg = {.reason = reason, .message = conn->passive ? 0 : 1};

    if (conn->state == CM_REQ_SENT || conn->state == CM_REP_SENT) msg.message = 2;
    if (bytes > 148) bytes = 148;
    if (bytes > 0) memcpy(msg.private_data, private_data, bytes);
    cm_tell(conn, CM_REJ, &msg);
}

void cm_event(struct cm_conn *conn, enum cm_event_kind kind, void *app, int status, const struct cm_msg *msg)
{
    struct cm_event_item *item;

    if (conn->released) return;
    item = calloc(1, sizeof *item);
    CHECK(item != NULL);
    item->event = (struct cm_event){.kind = kind, .conn = conn, .app = app, .status = status};
    if (msg != NULL) item->event.msg = *msg;
    *conn->engine->events_end = item;
    conn->engine->events_end = &item->next;
}

void cm_wait_out(struct cm_conn *conn, enum cm_state state, uint64_t now_ns)
{
    cm_not_refused(conn, now_ns);
    conn->state = state;
    cm_index_remove(conn, CM_BY_QP);
    cm_arm(conn, now_ns + (state == CM_SIDR_ANSWERED || state == CM_REJECTED ? ANSWERED_NS : TIMEWAIT_NS));
    if (conn->released) cm_keep(conn);
}

void cm_keep(struct cm_conn *conn)
{
    struct cm_engine *engine = conn->engine;

    if (conn->state != CM_REJECTED && conn->state != CM_SIDR_ANSWERED) return;
    CHECK(conn->kept_link == NULL);
    conn->kept_link = engine->kept_end;
    *engine->kept_end = conn;
    engine->kept_end = &conn->kept_next;
    if (++engine->kept_count > CM_KEPT_MAX) cm_conn_free(engine->kept);
}

/* No answer came to the last message sent: again, or no more. */
static void repeat(struct cm_conn *conn, uint64_t now_ns)
{
    unsigned most = conn->state == CM_DREQ_SENT ? TRIES_DISCONNECT : TRIES_CONNECT;
    uint64_t gap_ns = conn->tries >= TRIES_FAST ? REPEAT_LAST_NS : REPEAT_FIRST_NS << conn->tries;

    if (conn->tries < most) {
        conn->tries++;
        conn->refused = false;
        cm_say_again(conn);
        cm_arm(conn, now_ns + (gap_ns < REPEAT_LAST_NS ? gap_ns : REPEAT_LAST_NS));
        return;
    }
    if (conn->state == CM_DREQ_SENT) {
        cm_event(conn, CM_EVENT_DISCONNECTED, conn->app, 0, NULL);
        cm_wait_out(conn, CM_TIMEWAIT, now_ns);
        return;
    }
    if (conn->state != CM_SIDR_SENT) cm_tell_reject(conn, CM_REJECT_TIMEOUT, NULL, 0);
    cm_event(conn, CM_EVENT_UNREACHABLE, conn->app, -ETIMEDOUT, NULL);
    cm_wait_out(conn, CM_CLOSED, now_ns);
}

void cm_be_patient(struct cm_conn *conn, uint64_t now_ns)
{
    conn->tries = TRIES_FAST;
    cm_arm(conn, now_ns + REPEAT_LAST_NS);
}

void cm_begin_wait(struct cm_conn *conn, enum cm_state state, uint64_t now_ns)
{
    conn->state = state;
    conn->tries = 1;
    cm_arm(conn, now_ns + REPEAT_FIRST_NS);
}

/* A passive peer has no message to which a REP would be the answer, an active one answers a REP with its RTU.  The
 * other way round the RTU asks: an MRA answers it where the peer is ours, and a kernel ignores both. */
void cm_doubt(struct cm_conn *conn, uint64_t now_ns)
{
    struct cm_msg ready = {.reason = 0};

    if (conn->doubts == DOUBTS_MAX) {
        (void)cm_disconnect(conn, now_ns);
        return;
    }
    if (conn->passive)
        cm_tell(conn, CM_REP, &conn->reply);
    else
        cm_tell(conn, CM_RTU, &ready);
    cm_event(conn, CM_EVENT_DOUBTED, conn->app, (int)conn->doubts, NULL);
    cm_arm(conn, now_ns + (REPEAT_FIRST_NS << conn->doubts++));
}

void cm_peer_gone(struct cm_conn *conn, uint64_t now_ns)
{
    if (conn->state != CM_ESTABLISHED && conn->state != CM_DREQ_SENT && conn->state != CM_REP_SENT) return;
    cm_event(conn, CM_EVENT_DISCONNECTED, conn->app, 0, NULL);
    cm_wait_out(conn, CM_TIMEWAIT, now_ns);
}

void cm_heard(struct cm_conn *conn)
{
    if (conn->doubts == 0 || conn->state != CM_ESTABLISHED) return;
    conn->doubts = 0;
    cm_arm(conn, CM_NEVER);
}

void cm_expire(struct cm_conn *conn, uint64_t now_ns)
{
    switch (conn->state) {
    case CM_REQ_SENT:
    case CM_REP_SENT:
    case CM_DREQ_SENT:
    case CM_SIDR_SENT:
        repeat(conn, now_ns);
        return;
    case CM_ESTABLISHED:
        cm_doubt(conn, now_ns);
        return;
    case CM_TIMEWAIT:
        cm_event(conn, CM_EVENT_TIMEWAIT_EXIT, conn->app, 0, NULL);
        conn->state = CM_CLOSED;
        break;
    case CM_REJECTED:
    case CM_SIDR_ANSWERED:
        conn->state = CM_CLOSED;
        break;
    default:
        break;
    }
    if (conn->state == CM_CLOSED) cm_index_remove(conn, CM_BY_REMOTE);
    if (conn->released && conn->state == CM_CLOSED) cm_conn_free(conn);
}

bool cm_next_event(struct cm_engine *engine, struct cm_event *ret)
{
    struct cm_event_item *item = engine->events;

    if (item == NULL) return false;
    engine->events = item->next;
    if (engine->events == NULL) engine->events_end = &engine->events;
    *ret = item->event;
    free(item);
    return true;
}

struct cm_conn *cm_connect(struct cm_engine *engine, uint32_t slot, const struct cm_peer *peer,
                           const struct cm_msg *request, void *app, uint64_t now_ns)
{
    struct cm_conn *conn = cm_conn_new(engine, peer);

    if (conn == NULL) return NULL;
    conn->app = app;
    conn->request = *request;
    conn->sidr = request->mad.attribute == CM_SIDR_REQ;
    cm_conn_set_slot(conn, slot);
    conn->tid = (uint64_t)rng_u32(&engine->rng) << 32 | conn->local_id;
    cm_tell(conn, (enum cm_attribute)request->mad.attribute, &conn->request);
    cm_begin_wait(conn, conn->sidr ? CM_SIDR_SENT : CM_REQ_SENT, now_ns);
    return conn;
}

int cm_accept(struct cm_conn *conn, const struct cm_msg *reply, uint64_t now_ns)
{
    if (conn->state != (conn->sidr ? CM_SIDR_RECEIVED : CM_REQ_RECEIVED)) return -EINVAL;
    conn->reply = *reply;
    cm_tell(conn, conn->sidr ? CM_SIDR_REP : CM_REP, &conn->reply);
    if (conn->sidr)
        cm_wait_out(conn, CM_SIDR_ANSWERED, now_ns);
    else
        cm_begin_wait(conn, CM_REP_SENT, now_ns);
    return 0;
}

int cm_reject(struct cm_conn *conn, uint16_t reason, const void *private_data, size_t bytes, uint64_t now_ns)
{
    if (conn->state == CM_SIDR_RECEIVED) {
        struct cm_msg msg = {.status = CM_SIDR_REJECT, .service_id = conn->request.service_id};
        if (bytes > 0) memcpy(msg.private_data, private_data, bytes < 136 ? bytes : 136);
        cm_tell(conn, CM_SIDR_REP, &msg);
        cm_wait_out(conn, CM_SIDR_ANSWERED, now_ns);
        return 0;
    }
    if (conn->state != CM_REQ_RECEIVED && conn->state != CM_REP_RECEIVED && conn->state != CM_REP_SENT) return -EINVAL;
    cm_tell_reject(conn, reason, private_data, bytes);
    cm_wait_out(conn, CM_REJECTED, now_ns);
    return 0;
}

int cm_establish(struct cm_conn *conn, uint64_t now_ns)
{
    struct cm_msg msg = {.reason = 0};

    (void)now_ns;
    if (conn->state != CM_REP_RECEIVED) return -EINVAL;
    cm_tell(conn, CM_RTU, &msg);
    conn->state = CM_ESTABLISHED;
    cm_arm(conn, CM_NEVER);
    return 0;
}

int cm_notice(struct cm_conn *conn, uint64_t now_ns)
{
    (void)now_ns;
    if (conn->state == CM_ESTABLISHED) return -EISCONN;
    if (conn->state != CM_REP_SENT) return -EINVAL;
    conn->state = CM_ESTABLISHED;
    cm_arm(conn, CM_NEVER);
    cm_event(conn, CM_EVENT_ESTABLISHED, conn->app, 0, NULL);
    return 0;
}

int cm_disconnect(struct cm_conn *conn, uint64_t now_ns)
{
    struct cm_msg msg = {.qpn = conn->remote_qp};

    /* The requester may not have the REP: a REJ ends its waiting in every state it can be in. */
    if (conn->state == CM_REP_SENT) {
        cm_tell_reject(conn, CM_REJECT_CONSUMER, NULL, 0);
        cm_event(conn, CM_EVENT_DISCONNECTED, conn->app, 0, NULL);
        cm_wait_out(conn, CM_REJECTED, now_ns);
        return 0;
    }
    if (conn->state != CM_ESTABLISHED) return -EINVAL;
    cm_tell(conn, CM_DREQ, &msg);
    cm_begin_wait(conn, CM_DREQ_SENT, now_ns);
    return 0;
}

void cm_release(struct cm_conn *conn, uint64_t now_ns)
{
    conn->released = true;
    conn->app = NULL;
    switch (conn->state) {
    case CM_REQ_SENT:
        cm_refusal_forget(conn);
        cm_tell_reject(conn, CM_REJECT_TIMEOUT, NULL, 0);
        cm_wait_out(conn, CM_CLOSED, now_ns);
        return;
    case CM_REQ_RECEIVED:
    case CM_REP_RECEIVED:
    case CM_REP_SENT:
    case CM_SIDR_RECEIVED:
        (void)cm_reject(conn, CM_REJECT_CONSUMER, NULL, 0, now_ns);
        return;
    case CM_ESTABLISHED:
        (void)cm_disconnect(conn, now_ns);
        return;
    case CM_SIDR_SENT:
        cm_conn_free(conn);
        return;
    case CM_CLOSED:
        /* A wait that is still armed keeps answering late messages. */
        if (conn->deadline_ns == CM_NEVER) cm_conn_free(conn);
        return;
    case CM_REJECTED:
    case CM_SIDR_ANSWERED:
        cm_keep(conn);
        return;
    default:
        return;
    }
}

void cm_ignore(struct cm_conn *conn, uint64_t now_ns)
{
    cm_press(conn->engine, now_ns);
    cm_conn_free(conn);
}

void cm_release_all(struct cm_engine *engine, uint64_t now_ns)
{
    free_listeners(engine);
    while (engine->kept != NULL) /* nobody answers any more; and none of them goes while the others are looked at */
        cm_conn_free(engine->kept);
    for (struct cm_conn *conn = engine->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        if (!conn->released) cm_release(conn, now_ns);
    }
}

bool cm_leaving(const struct cm_engine *engine)
{
    for (const struct cm_conn *conn = engine->conns; conn != NULL; conn = conn->next)
        if (conn->state == CM_DREQ_SENT) return true;
    return false;
}

void cm_conn_set_app(struct cm_conn *conn, void *app)
{
    conn->app = app;
}

const struct cm_peer *cm_conn_peer(const struct cm_conn *conn)
{
    return &conn->peer;
}

const struct cm_msg *cm_conn_request(const struct cm_conn *conn)
{
    return &conn->request;
}

const struct cm_msg *cm_conn_reply(const struct cm_conn *conn)
{
    return &conn->reply;
}

uint32_t cm_conn_remote_id(const struct cm_conn *conn)
{
    return conn->remote_id;
}

uint32_t cm_conn_qpn(const struct cm_conn *conn)
{
    return conn->passive ? conn->reply.qpn : conn->request.qpn;
}

bool cm_conn_connected(const struct cm_conn *conn)
{
    return conn->state == CM_ESTABLISHED;
}

unsigned cm_conns(const struct cm_engine *engine)
{
    return engine->count;
}
