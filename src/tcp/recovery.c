/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was lost, and the window while that is repaired.
 *
 * Lost is what three segments have overtaken (RFC 6675).  With probes on, time tells too, as in RACK (RFC 8985), of the
 * little that is kept: a segment sent again is lost when one sent later arrived; all that was sent once is, when a
 * segment sent after all of it arrived (the answer to a probe); and a gap that is a quarter of the least RTT old.  Once
 * segments have been seen to change places, age alone counts, and duplicates that the peer reports make it longer.
 *
 * In recovery, and after marks (DCTCP), the window shrinks in proportion to what arrives (RFC 6937). When every
 * segment that was sent again turns out to have arrived twice, nothing was lost and the window is restored.
 */
#include "tcp/tcp_int.h"

#define REORDER_STEPS_MAX 16u

static ps_t reorder_window(const struct tcp_conn *conn)
{
    return least(conn->min_rtt / 4 * (conn->reorder_steps + 1u), conn->srtt);
}

static bool find_by_age(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now)
{
    ps_t by = conn->reorders ? reorder_window(conn) : 0;
    uint64_t highest = board_highest(conn), start, end;
    bool lost = false;

    if (news->delivered) {
        lost |= board_lose_resent(tcp, conn, news->stamp, by);
        if (stamp_after(news->stamp, conn->last_stamp, by)) lost |= board_lose_below(conn, conn->nxt);
    }
    if (conn->hole_at <= now) {
        lost |= board_lose_below(conn, conn->hole_until);
        conn->hole_at = PS_NEVER;
    }
    bool gap = highest != conn->una && board_next(conn, RUN_SENT, &start, &end) && start < highest;
    if (!gap) {
        conn->hole_at = PS_NEVER;
    } else if (conn->hole_at == PS_NEVER) {
        conn->hole_at = now + reorder_window(conn);
        conn->hole_until = highest;
        conn_timer(tcp, conn, conn->hole_at + TCP_TIMEOUT_MIN);
    }
    return lost;
}

static bool find_losses(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now)
{
    bool lost = false;

    if (conn->sacked && !(tcp->config.probes && conn->reorders)) lost = board_lose(conn, tcp->payload);
    if (tcp->config.probes) lost |= find_by_age(tcp, conn, news, now);
    return lost;
}

static void shrink_begins(struct tcp *tcp, struct tcp_conn *conn, enum cwnd_state state)
{
    conn->undo_cwnd = conn->cwnd;
    conn->undo_ssthresh = conn->ssthresh;
    conn->undo_left = 0;
    conn->ssthresh = control_ssthresh(tcp, conn, state == CWND_CWR);
    conn->cwnd_state = (uint8_t)state;
    conn->recover = conn->nxt;
    conn->prr_delivered = conn->prr_out = 0;
    conn->prr_flight = conn->nxt - conn->una;
    conn->partial = false;
    if (state == CWND_CWR) conn->undo_ssthresh = 0;
}

/* RFC 6937 with the slow start reduction bound while what was sent again arrives. */
static void shrink(const struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news)
{
    uint64_t pipe = conn_pipe(conn), send;

    conn->prr_delivered += news->delivered;
    if (pipe > conn->ssthresh) {
        uint64_t share =
            (uint64_t)(((u128)conn->prr_delivered * conn->ssthresh + conn->prr_flight - 1) / most(conn->prr_flight, 1));
        send = share > conn->prr_out ? share - conn->prr_out : 0;
    } else {
        uint64_t limit = news->delivered;
        if (news->resent) {
            bool ahead = conn->prr_out > conn->prr_delivered;
            uint64_t behind = ahead ? 0 : conn->prr_delivered - conn->prr_out, by = conn->prr_out - conn->prr_delivered;
            limit = most(behind, limit) + tcp->payload;
            /* ns-3: one that has sent more than was delivered waits until that is made up for */
            if (tcp->config.ns3 && ahead) limit = by < tcp->payload ? tcp->payload - by : 0;
        }
        send = least(limit, conn->ssthresh - pipe);
    }
    if (conn->prr_out == 0) send = most(send, tcp->payload);
    conn->cwnd = most(pipe + send, 1);
}

static void repaired(struct tcp *tcp, struct tcp_conn *conn)
{
    if (conn->cwnd_state == CWND_RECOVERY || conn->cwnd_state == CWND_CWR)
        conn->cwnd = most(conn->ssthresh, tcp->payload);
    conn->cwnd_state = CWND_OPEN;
}

/* A duplicate arrived at the peer: something was sent again for nothing. */
static void duplicate_told(struct tcp *tcp, struct tcp_conn *conn)
{
    tcp->counters.dsacks_seen++;
    if (conn->reorder_steps < REORDER_STEPS_MAX) conn->reorder_steps++;
    if (conn->undo_ssthresh == 0 || conn->undo_left == 0 || --conn->undo_left > 0) return;
    tcp->counters.undos++;
    conn->reorders = true;
    conn->cwnd = most(conn->cwnd, conn->undo_cwnd);
    conn->ssthresh = conn->undo_ssthresh;
    conn->cwnd_state = CWND_OPEN;
    conn->undo_ssthresh = 0;
}

/* A window that was not used says nothing. */
static bool was_full(const struct tcp *tcp, const struct tcp_conn *conn, const struct ack_news *news)
{
    uint64_t used = news->pipe + tcp->payload;

    return used > conn->cwnd || (conn->cwnd < conn->ssthresh && 2 * used > conn->cwnd);
}

void recovery_ack(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now)
{
    if (news->dsack) duplicate_told(tcp, conn);
    control_acked(tcp, conn, news, now);
    bool shrinks = conn->cwnd_state == CWND_RECOVERY || conn->cwnd_state == CWND_CWR;
    bool over =
        conn->cwnd_state == CWND_CWR ? conn->una > conn->recover || conn->una == conn->nxt : conn->una >= conn->recover;
    if (news->acked && conn->cwnd_state != CWND_OPEN && over) {
        repaired(tcp, conn);
        shrinks = false;
    }
    bool lost = find_losses(tcp, conn, news, now);
    bool ns3 = tcp->config.ns3;
    if (news->ece && news->acked && (conn->cwnd_state == CWND_OPEN || (ns3 && conn->cwnd_state != CWND_CWR))) {
        shrink_begins(tcp, conn, CWND_CWR);
        shrinks = true;
    }
    if (lost && (conn->cwnd_state == CWND_OPEN || (!ns3 && conn->cwnd_state == CWND_CWR))) {
        tcp->counters.fast_recoveries++;
        shrink_begins(tcp, conn, CWND_RECOVERY);
        conn->probe_at = PS_NEVER;
        shrinks = true;
    }
    if (ns3 && conn->cwnd_state == CWND_CWR && news->acked < tcp->payload) return;
    if (shrinks && conn->cwnd_state != CWND_OPEN)
        shrink(tcp, conn, news);
    else if (news->acked && was_full(tcp, conn, news))
        control_grow(tcp, conn, news->acked, now);
    conn->head_due = ns3 && news->acked && conn->cwnd_state == CWND_RECOVERY && board_first_waits(conn);
}

void recovery_hole_due(struct tcp *tcp, struct tcp_conn *conn, ps_t now)
{
    struct ack_news nothing = {.before = conn->una};

    conn->hole_at = least(conn->hole_at, now);
    recovery_ack(tcp, conn, &nothing, now);
}

void recovery_timeout(struct tcp *tcp, struct tcp_conn *conn)
{
    if (conn->cwnd_state != CWND_LOSS || tcp->config.ns3) {
        conn->undo_cwnd = conn->cwnd;
        conn->undo_ssthresh = conn->ssthresh;
        conn->undo_left = 0;
        conn->ssthresh = control_ssthresh(tcp, conn, false);
    }
    board_lose_all(conn);
    conn->cwnd = tcp->payload;
    conn->grown = 0;
    conn->cwnd_state = CWND_LOSS;
    conn->recover = conn->nxt;
    conn->hole_at = PS_NEVER;
    conn->probe_due = false;
    control_timeout(tcp, conn);
}
