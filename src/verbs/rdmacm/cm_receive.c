/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection machine: what each message does in each state (volume 1, 12.9).
 *
 * Messages get lost, come twice and out of order.  The rules that make every connection end the same way
 * on both sides: a repeated message is answered again with the same answer; a message about a connection
 * that is not known is answered so that its sender stops waiting (REJ to a REP, DREP to a DREQ); ids are
 * believed only from the address the connection is with.
 *
 * A REQ from a queue pair that already has a connection here tells that the peer forgot it: the REQ is rejected as
 * stale and the old connection ends with a DREQ (12.9.8.3.1).  But anybody can send such a REQ.  So before that the
 * peer is asked whether it still knows the connection, and goes on if it does, or if its queue pair is heard of.
 */
#include <string.h>

#include "verbs/rdmacm/cm_int.h"

/* Answers without a connection. */
static void reject_unknown(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg,
                           uint8_t message, uint16_t reason)
{
    struct cm_msg answer = {.local_id = message == 0 ? 0 : msg->remote_id,
                            .remote_id = msg->local_id,
                            .message = message,
                            .reason = reason};

    answer.mad.attribute = CM_REJ;
    answer.mad.tid = msg->mad.tid;
    cm_say(engine, NULL, from, &answer);
}

static void refuse_sidr(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg, uint8_t status)
{
    struct cm_msg answer = {.local_id = msg->local_id, .service_id = msg->service_id, .status = status};

    answer.mad.attribute = CM_SIDR_REP;
    answer.mad.tid = msg->mad.tid;
    cm_say(engine, NULL, from, &answer);
}

void cm_decline(struct cm_conn *conn, uint64_t now_ns)
{
    (void)now_ns;
    if (conn->sidr)
        refuse_sidr(conn->engine, &conn->peer, &conn->request, CM_SIDR_REJECT);
    else
        reject_unknown(conn->engine, &conn->peer, &conn->request, 0, CM_REJECT_CONSUMER);
    cm_conn_free(conn);
}

/* The connection a message is about, if its sender is the one it is with. */
static struct cm_conn *conn_of(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg,
                               bool peer_id_known)
{
    struct cm_conn *conn = cm_find_id(engine, msg->remote_id);

    if (conn == NULL || memcmp(&conn->peer.remote, &from->remote, sizeof from->remote) != 0) return NULL;
    if (peer_id_known && conn->remote_id != msg->local_id) return NULL;
    return conn;
}

static void say_mra(struct cm_conn *conn, uint8_t message)
{
    struct cm_msg msg = {.message = message, .service_timeout = CM_MRA_TIMEOUT};

    cm_tell(conn, CM_MRA, &msg);
}

static void repeated_request(struct cm_conn *conn)
{
    switch (conn->state) {
    case CM_REQ_RECEIVED:
        say_mra(conn, 0); /* the program has not decided */
        return;
    case CM_REP_SENT:
        cm_say_again(conn);
        return;
    case CM_REJECTED:
    case CM_SIDR_ANSWERED:
        cm_answer_again(conn);
        return;
    default:
        return; /* it came late: the answer is known */
    }
}

static void on_request(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg, uint64_t now_ns)
{
    bool sidr = msg->mad.attribute == CM_SIDR_REQ;
    struct cm_conn *conn = cm_find_remote(engine, msg->local_id, from, sidr);
    struct cm_listener *listener;

    if (conn != NULL) {
        repeated_request(conn);
        return;
    }
    if (!sidr && msg->qpn != 0 && (conn = cm_find_qp(engine, msg->qpn, from)) != NULL) {
        if (conn->state == CM_ESTABLISHED && conn->doubts == 0) cm_doubt(conn, now_ns);
        reject_unknown(engine, from, msg, 0, CM_REJECT_STALE);
        return;
    }
    listener = cm_find_listener(engine, msg->service_id, &from->local);
    if (listener == NULL) {
        if (sidr)
            refuse_sidr(engine, from, msg, CM_SIDR_UNSUPPORTED);
        else
            reject_unknown(engine, from, msg, 0, CM_REJECT_INVALID_SERVICE);
        return;
    }
    if (!cm_admit(engine, from, msg, now_ns) || (conn = cm_conn_new(engine, from)) == NULL) return;
    conn->passive = true;
    conn->sidr = sidr;
    conn->state = sidr ? CM_SIDR_RECEIVED : CM_REQ_RECEIVED;
    conn->request = *msg;
    conn->tid = msg->mad.tid;
    conn->remote_id = msg->local_id;
    cm_index_add(conn, CM_BY_REMOTE);
    if (!sidr && msg->qpn != 0) {
        conn->remote_qp = msg->qpn;
        cm_index_add(conn, CM_BY_QP);
    }
    cm_event(conn, CM_EVENT_REQUEST, listener->app, 0, msg);
}

static void on_reply(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg, uint64_t now_ns)
{
    struct cm_conn *conn = conn_of(engine, from, msg, false);

    if (conn == NULL || conn->passive || conn->sidr) {
        reject_unknown(engine, from, msg, 1, CM_REJECT_INVALID_COMM_ID);
        return;
    }
    switch (conn->state) {
    case CM_REQ_SENT:
        conn->remote_id = msg->local_id;
        conn->remote_qp = msg->qpn;
        conn->reply = *msg;
        if (msg->qpn != 0) cm_index_add(conn, CM_BY_QP);
        cm_not_refused(conn, now_ns);
        conn->state = CM_REP_RECEIVED;
        cm_arm(conn, CM_NEVER);
        cm_event(conn, CM_EVENT_REPLY, conn->app, 0, msg);
        return;
    case CM_REP_RECEIVED:
        if (conn->remote_id == msg->local_id) say_mra(conn, 1);
        return;
    case CM_ESTABLISHED:
    case CM_DREQ_SENT:
    case CM_TIMEWAIT:
        if (conn->remote_id == msg->local_id) {
            cm_heard(conn);
            struct cm_msg again = {.reason = 0}; /* the RTU was lost; a DREQ may be what is being repeated */
            again.mad.attribute = CM_RTU;
            again.mad.tid = conn->tid;
            again.local_id = conn->local_id;
            again.remote_id = conn->remote_id;
            cm_say(engine, conn, &conn->peer, &again);
        }
        return;
    case CM_REJECTED:
        cm_say_again(conn);
        return;
    default: /* we gave up, and said so; that was lost */
        conn->remote_id = msg->local_id;
        reject_unknown(engine, from, msg, 1, CM_REJECT_CONSUMER);
        return;
    }
}

static void on_ready(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg)
{
    struct cm_conn *conn = conn_of(engine, from, msg, true);

    if (conn != NULL && conn->state == CM_ESTABLISHED) {
        if (conn->passive && conn->doubts == 0) say_mra(conn, 2); /* it may be doubted over there */
        cm_heard(conn);
        return;
    }
    if (conn == NULL || conn->state != CM_REP_SENT) return;
    conn->state = CM_ESTABLISHED;
    cm_arm(conn, CM_NEVER);
    cm_event(conn, CM_EVENT_ESTABLISHED, conn->app, 0, msg);
}

static void on_reject(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg, uint64_t now_ns)
{
    struct cm_conn *conn = conn_of(engine, from, msg, false);

    /* A requester that gave up names no connection but its own: ours is found by that, as long as it may not have heard
     * of it. */
    if (conn == NULL && msg->local_id != 0 && msg->remote_id == 0) {
        conn = cm_find_remote(engine, msg->local_id, from, false);
        if (conn != NULL && conn->state != CM_REQ_RECEIVED && conn->state != CM_REP_SENT) return;
    }
    if (conn == NULL || conn->sidr) return;
    if (conn->state == CM_REQ_SENT && msg->reason == CM_REJECT_INVALID_SERVICE) {
        cm_refused(conn, msg, now_ns);
        return;
    }
    switch (conn->state) {
    case CM_REP_RECEIVED:
    case CM_REP_SENT:
    case CM_REQ_RECEIVED:
        if (conn->remote_id != msg->local_id) return;
        __attribute__((fallthrough));
    case CM_REQ_SENT:
        cm_event(conn, CM_EVENT_REJECTED, conn->app, msg->reason, msg);
        cm_wait_out(conn, CM_CLOSED, now_ns);
        return;
    case CM_ESTABLISHED:
    case CM_DREQ_SENT:
        if (conn->remote_id != msg->local_id) return;
        cm_event(conn, CM_EVENT_DISCONNECTED, conn->app, 0, NULL);
        cm_wait_out(conn, CM_TIMEWAIT, now_ns);
        return;
    default:
        return;
    }
}

/* The peer's program takes its time.  Asking goes on at the slow pace: the answer itself can get lost. */
static void on_delay(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg, uint64_t now_ns)
{
    struct cm_conn *conn = conn_of(engine, from, msg, false);
    bool asked;

    if (conn != NULL && conn->remote_id == msg->local_id) cm_heard(conn);
    if (conn == NULL || conn->delays == CM_DELAYS_MAX) return;
    asked = (conn->state == CM_REQ_SENT && msg->message == 0) ||
            (conn->state == CM_REP_SENT && msg->message == 1 && conn->remote_id == msg->local_id);
    if (!asked) return;
    conn->delays++;
    cm_not_refused(conn, now_ns);
    cm_be_patient(conn, now_ns);
}

static void on_disconnect(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg,
                          uint64_t now_ns)
{
    struct cm_conn *conn = conn_of(engine, from, msg, true);
    struct cm_msg answer = {.local_id = msg->remote_id, .remote_id = msg->local_id};

    answer.mad.attribute = CM_DREP;
    answer.mad.tid = msg->mad.tid;
    if (conn != NULL && msg->qpn != cm_conn_qpn(conn)) return; /* of another connection than it says */
    if (conn != NULL && (conn->state == CM_REP_RECEIVED || conn->state == CM_REQ_RECEIVED)) {
        cm_event(conn, CM_EVENT_REJECTED, conn->app, CM_REJECT_CONSUMER, NULL);
        cm_wait_out(conn, CM_CLOSED, now_ns);
    } else if (conn != NULL &&
               (conn->state == CM_ESTABLISHED || conn->state == CM_REP_SENT || conn->state == CM_DREQ_SENT)) {
        cm_event(conn, CM_EVENT_DISCONNECTED, conn->app, 0, NULL);
        cm_wait_out(conn, CM_TIMEWAIT, now_ns);
    }
    cm_say(engine, conn, from, &answer);
}

static void on_disconnected(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg,
                            uint64_t now_ns)
{
    struct cm_conn *conn = conn_of(engine, from, msg, true);

    if (conn == NULL || conn->state != CM_DREQ_SENT || msg->mad.tid != conn->tid) return;
    cm_event(conn, CM_EVENT_DISCONNECTED, conn->app, 0, NULL);
    cm_wait_out(conn, CM_TIMEWAIT, now_ns);
}

static void on_sidr_reply(struct cm_engine *engine, const struct cm_peer *from, const struct cm_msg *msg,
                          uint64_t now_ns)
{
    struct cm_conn *conn = cm_find_id(engine, msg->local_id);

    if (conn == NULL || conn->state != CM_SIDR_SENT) return;
    if (memcmp(&conn->peer.remote, &from->remote, sizeof from->remote) != 0) return;
    if (msg->status == CM_SIDR_UNSUPPORTED) {
        cm_refused(conn, msg, now_ns);
        return;
    }
    conn->reply = *msg;
    if (msg->status == CM_SIDR_SUCCESS)
        cm_event(conn, CM_EVENT_SIDR_REPLY, conn->app, 0, msg);
    else
        cm_event(conn, CM_EVENT_UNREACHABLE, conn->app, msg->status, msg);
    cm_wait_out(conn, CM_CLOSED, now_ns);
}

void cm_receive(struct cm_engine *engine, const struct cm_peer *from, const uint8_t data[MAD_BYTES], uint64_t now_ns)
{
    struct cm_msg msg;

    if (cm_parse(data, MAD_BYTES, &msg) != 0) return;
    switch ((enum cm_attribute)msg.mad.attribute) {
    case CM_REQ:
    case CM_SIDR_REQ:
        on_request(engine, from, &msg, now_ns);
        return;
    case CM_REP:
        on_reply(engine, from, &msg, now_ns);
        return;
    case CM_RTU:
        on_ready(engine, from, &msg);
        return;
    case CM_REJ:
        on_reject(engine, from, &msg, now_ns);
        return;
    case CM_MRA:
        on_delay(engine, from, &msg, now_ns);
        return;
    case CM_DREQ:
        on_disconnect(engine, from, &msg, now_ns);
        return;
    case CM_DREP:
        on_disconnected(engine, from, &msg, now_ns);
        return;
    case CM_SIDR_REP:
        on_sidr_reply(engine, from, &msg, now_ns);
        return;
    }
}
