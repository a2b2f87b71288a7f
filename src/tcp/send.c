/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments out: what goes next, and what it looks like.
 *
 * Lost ones first, then new data, as the window allows. A tail loss probe is new data where there is some, else the
 * last segment once more.
 */
#include "tcp/tcp_int.h"

static uint64_t new_bytes(const struct tcp *tcp, const struct tcp_conn *conn)
{
    return least(tcp->payload, conn->message[conn->cur & conn->mask].end - conn->nxt);
}

static bool window_has(const struct tcp_conn *conn, uint64_t bytes)
{
    uint64_t pipe = conn_pipe(conn);

    return pipe == 0 || pipe + bytes <= conn->cwnd;
}

/* ns-3 (RFC 6675, NextSeg(), rule 3, of everything in flight): in recovery, when nothing else is left to send. */
static bool may_rescue(const struct tcp *tcp, const struct tcp_conn *conn)
{
    uint64_t start, end;

    return tcp->config.ns3 && conn->cwnd_state == CWND_RECOVERY && window_has(conn, tcp->payload) &&
           board_next(conn, RUN_SENT, &start, &end);
}

bool conn_may_send(const struct tcp *tcp, const struct tcp_conn *conn)
{
    if (conn->state != CONN_OPEN) return false;
    if (conn->probe_due || conn->head_due) return true;
    if (conn->lost) return window_has(conn, least(tcp->payload, conn->lost));
    if (conn->nxt == conn->posted) return may_rescue(tcp, conn);
    uint64_t bytes = new_bytes(tcp, conn);
    return window_has(conn, bytes) && conn->nxt - conn->una + bytes <= tcp->config.window_bytes;
}

pkt_t segment_make(struct tcp *tcp, struct tcp_conn *conn, enum pkt_tcp_type type, ps_t now, struct tcp_io *io)
{
    pkt_t id = pktpool_get(io->pool);

    if (id == PKT_NONE) return id;
    io->pool->hot[id] = (struct pkt){.kind = PKT_TCP,
                                     .opcode = (uint8_t)type,
                                     .tos = conn->tos,
                                     .pcp = conn->prio,
                                     .ttl = tcp->config.ttl,
                                     .dest_qp = conn->remote_number,
                                     .frame_bytes = tcp->config.header_bytes,
                                     .sport = conn->sport,
                                     .net = tcp->config.net,
                                     .src_node = tcp->config.endpoint,
                                     .dst_node = conn->remote,
                                     .tcp.stamp = stamp_of(now)};
    return id;
}

/* Where the last segment sent begins: they are cut from their message's start. */
static uint64_t last_segment(const struct tcp *tcp, const struct tcp_conn *conn)
{
    uint64_t start = conn->una;

    for (uint32_t i = conn->head; i != conn->tail && conn->message[i & conn->mask].end < conn->nxt; i++)
        start = conn->message[i & conn->mask].end;
    return start + (conn->nxt - 1 - start) / tcp->payload * tcp->payload;
}

/* What goes next; true: again. */
static bool choose(const struct tcp *tcp, const struct tcp_conn *conn, uint64_t *ret_start, uint64_t *ret_end)
{
    if (conn->lost && board_next(conn, RUN_LOST, ret_start, ret_end)) return true;
    if (conn->nxt != conn->posted) {
        *ret_start = conn->nxt;
        *ret_end = conn->nxt + new_bytes(tcp, conn);
        return false;
    }
    if (conn->probe_due) {
        *ret_start = last_segment(tcp, conn);
        *ret_end = conn->nxt;
        return true;
    }
    if (!board_next(conn, RUN_SENT, ret_start, ret_end)) CHECK(board_next(conn, RUN_RESENT, ret_start, ret_end));
    return true;
}

static void note_sent(struct tcp *tcp, struct tcp_conn *conn, uint32_t bytes, bool again, ps_t now)
{
    tcp->counters.out_data_segs++;
    tcp->counters.out_payload += bytes;
    if (again) {
        tcp->counters.retrans_segs++;
        conn->resent_segments++;
        tcp->counters.retrans_payload += bytes;
        if (conn->cwnd_state == CWND_RECOVERY) tcp->counters.fast_retrans++;
        if (conn->cwnd_state == CWND_LOSS) tcp->counters.slow_start_retrans++;
        if (conn->undo_ssthresh) conn->undo_left++;
    } else {
        tcp->counters.out_segs++;
    }
    if (conn->probe_due) tcp->counters.loss_probes++;
    if (conn->cwnd_state == CWND_RECOVERY || conn->cwnd_state == CWND_CWR) conn->prr_out += bytes;
    conn->last_tx = now;
    conn->burst_left -= (uint32_t)least(bytes, conn->burst_left);
}

/* The connection's core, and the host's, are busy with it. */
static void charge(struct tcp *tcp, struct tcp_conn *conn, uint32_t bytes, ps_t now)
{
    if (tcp->config.cpu_bps) conn->cpu_at = most(conn->cpu_at, now) + rate_take(&conn->cpu, bytes);
    if (tcp->config.host_bps) tcp->host_tx_at = most(tcp->host_tx_at, now) + rate_take(&tcp->host_tx, bytes);
}

pkt_t conn_send(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io)
{
    pkt_t id = segment_make(tcp, conn, PKT_TCP_DATA, now, io);
    uint64_t start, end;
    uint32_t imm;

    if (id == PKT_NONE) return id;
    struct pkt *p = &io->pool->hot[id];
    bool again = choose(tcp, conn, &start, &end);
    uint64_t message = message_end(conn, start, &imm);
    uint32_t bytes = (uint32_t)least(least(end, message) - start, tcp->payload);
    end = start + bytes;
    if (again) {
        board_resent(tcp, conn, start, end, p->tcp.stamp);
    } else {
        board_sent(tcp, conn, end);
        if (end == message) conn->cur++;
        conn->last_stamp = p->tcp.stamp;
    }
    note_sent(tcp, conn, bytes, again, now);
    conn->probe_due = conn->head_due = false;
    charge(tcp, conn, bytes, now);
    p->psn = (uint32_t)start;
    p->payload_bytes = (uint16_t)bytes;
    p->frame_bytes = (uint16_t)(tcp->config.header_bytes + mpa_bytes(&tcp->config.mpa, bytes));
    if (end == message) {
        p->flags |= PKT_TCP_END;
        p->imm = imm;
    }
    if (conn->burst_left < tcp->payload || !conn_may_send(tcp, conn)) p->flags |= PKT_TCP_BURST_END;
    if (tcp->config.cc == TCP_DCTCP) p->tos |= PKT_ECN_ECT0;
    rto_ensure(tcp, conn, now);
    return id;
}
