/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sending end: an acknowledgement came.
 *
 * First the scoreboard, then the round-trip time, then what recovery and congestion control make of it, then messages
 * that are complete.  One that acknowledges less than is known is old: what it says of pieces is old too, and it is
 * left out, but for what it says of a duplicate.
 */
#include "tcp/tcp_int.h"

static void handshake_done(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, ps_t now, struct tcp_io *io)
{
    if (conn->state != CONN_SYN_SENT) return;
    conn->state = CONN_OPEN;
    conn->syn_due = false;
    conn->backoff = 0;
    conn->rto_at = PS_NEVER;
    rtt_sample(tcp, conn, rtt_measured(tcp, p->tcp.stamp, now));
    conn_wake(tcp, conn, now, io);
    io->deadline = tcp_deadline(tcp);
}

/* What it says of pieces, as bytes that were not known to have arrived. */
static uint64_t read_blocks(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p)
{
    uint64_t fresh = 0;

    if (p->flags & PKT_TCP_SACK && !(p->flags & PKT_TCP_DSACK))
        fresh += board_sacked(tcp, conn, wide(p->tcp.block, conn->una), wide(p->imm, conn->una));
    if (p->flags & PKT_TCP_SACK2)
        fresh += board_sacked(tcp, conn, wide(p->tcp.second, conn->una), wide(p->tcp.second_end, conn->una));
    return fresh;
}

void receive_ack(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, ps_t now, struct tcp_io *io)
{
    if (p->opcode == PKT_TCP_SYN_ACK) {
        handshake_done(tcp, conn, p, now, io);
        return;
    }
    uint64_t ack = wide(p->psn, conn->una);
    tcp->counters.pure_acks++;
    if (conn->state != CONN_OPEN || (int64_t)(ack - conn->nxt) > 0) {
        tcp->counters.ghosts++;
        return;
    }
    struct ack_news news = {.before = conn->una,
                            .pipe = conn_pipe(conn),
                            .ece = p->flags & PKT_TCP_ECE,
                            .dsack = p->flags & PKT_TCP_DSACK,
                            .stamp = p->tcp.stamp};
    if ((int64_t)(ack - conn->una) > 0) {
        news.acked = ack - conn->una;
        board_acked(tcp, conn, ack, &news.delivered, &news.resent);
        conn->backoff = 0;
    }
    if (ack == conn->una) news.delivered += read_blocks(tcp, conn, p);
    if (news.delivered) {
        news.rtt = rtt_measured(tcp, p->tcp.stamp, now);
        rtt_sample(tcp, conn, news.rtt);
    }
    if (news.ece && news.acked) tcp->counters.delivered_ce += (news.acked + tcp->payload - 1) / tcp->payload;
    recovery_ack(tcp, conn, &news, now);
    if (news.acked) {
        conn_acknowledged(tcp, conn, io);
        /* ns-3: in recovery the first that acknowledges a part sets the timer, those after it do not (RFC 6582, 4) */
        bool recovers = tcp->config.ns3 && conn->cwnd_state == CWND_RECOVERY;
        if (!recovers || !conn->partial) rto_arm(tcp, conn, now);
        conn->partial = recovers;
    }
    conn_wake(tcp, conn, now, io);
}
