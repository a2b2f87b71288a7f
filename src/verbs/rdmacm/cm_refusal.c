/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection machine: requests for a service that nobody listens for.
 *
 * Programs listen, connect, and listen anew on the same port, and count on a peer whose addresses take a while to
 * resolve.  Ours take none: so whoever does not listen yet is asked again.
 *
 * A program often asks for several connections to one service and counts them on both sides (udaddy, ucmatose).  Would
 * each be asked again by itself, the peer could begin to listen between the last refusal of one and the next request of
 * another: the program is told of a refusal and leaves, and the peer waits for ever with connections to nobody.  With
 * SIDR nothing can take back what was answered (12.11).  So only one asks, the scout; the others that were refused wait
 * for what it finds out.  Either all of them are asked again, or all of them are refused.
 */
#include "verbs/rdmacm/cm_int.h"

static void wait_behind(struct cm_conn *conn, struct cm_conn *scout)
{
    conn->behind_next = scout->behind;
    if (conn->behind_next != NULL) conn->behind_next->behind_link = &conn->behind_next;
    conn->behind_link = &scout->behind;
    scout->behind = conn;
    cm_arm(conn, CM_NEVER);
}

static void leave(struct cm_conn *conn)
{
    *conn->behind_link = conn->behind_next;
    if (conn->behind_next != NULL) conn->behind_next->behind_link = conn->behind_link;
    conn->behind_next = NULL;
    conn->behind_link = NULL;
}

static void refuse(struct cm_conn *conn, const struct cm_msg *msg, uint64_t now_ns)
{
    if (conn->sidr)
        cm_event(conn, CM_EVENT_UNREACHABLE, conn->app, msg->status, msg);
    else
        cm_event(conn, CM_EVENT_REJECTED, conn->app, msg->reason, msg);
    cm_wait_out(conn, CM_CLOSED, now_ns);
}

void cm_refused(struct cm_conn *conn, const struct cm_msg *msg, uint64_t now_ns)
{
    struct cm_conn *scout = cm_find_scout(conn);

    if (conn->refused) return;
    conn->refused = true;
    if (scout != NULL && scout != conn) {
        wait_behind(conn, scout);
        return;
    }
    if (conn->refusals < CM_REFUSALS_MAX) {
        if (scout == NULL) cm_index_add(conn, CM_BY_SERVICE);
        conn->refusals++;
        cm_arm(conn, now_ns + CM_REFUSAL_NS);
        return;
    }
    while (conn->behind != NULL) {
        struct cm_conn *other = conn->behind;
        leave(other);
        refuse(other, msg, now_ns);
    }
    refuse(conn, msg, now_ns);
}

void cm_not_refused(struct cm_conn *conn, uint64_t now_ns)
{
    if (conn->behind_link != NULL) leave(conn);
    cm_index_remove(conn, CM_BY_SERVICE);
    while (conn->behind != NULL) {
        struct cm_conn *other = conn->behind;
        leave(other);
        other->refused = false;
        cm_say_again(other);
        cm_begin_wait(other, other->state, now_ns);
    }
}

void cm_refusal_forget(struct cm_conn *conn)
{
    struct cm_conn *heir = conn->behind;

    if (conn->behind_link != NULL) leave(conn);
    cm_index_remove(conn, CM_BY_SERVICE);
    if (heir == NULL) return;
    leave(heir);
    heir->behind = conn->behind;
    if (heir->behind != NULL) heir->behind->behind_link = &heir->behind;
    conn->behind = NULL;
    heir->refusals = conn->refusals;
    cm_index_add(heir, CM_BY_SERVICE);
    cm_arm(heir, conn->deadline_ns);
}
