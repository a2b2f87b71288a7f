/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round-trip times, the retransmission timer (RFC 6298), tail loss probes (RFC 8985).
 *
 * RTTs are those of timestamps, so segments sent again are measured too.  Linux's RTO is srtt + max(4 rttvar, rto_min);
 * ns-3's is max(srtt + max(1 ms, 4 rttvar), rto_min), and its timestamps count milliseconds, where no time is 1 us.
 */
#include "tcp/tcp_int.h"

#define NS3_CLOCK PS_MS

ps_t rto_start(const struct tcp *tcp)
{
    return tcp->config.handshake ? tcp->config.rto_first : tcp->config.rto_min;
}

ps_t rtt_measured(const struct tcp *tcp, uint32_t stamp, ps_t now)
{
    ps_t rtt = (ps_t)(stamp_of(now) - stamp) * PKT_TCP_TICK_PS;

    if (!tcp->config.ns3) return rtt ? rtt : 1;
    ps_t coarse = (now / NS3_CLOCK - (now - least(rtt, now)) / NS3_CLOCK) * NS3_CLOCK;
    return coarse ? coarse : PS_US;
}

void rtt_sample(struct tcp *tcp, struct tcp_conn *conn, ps_t rtt)
{
    if (conn->srtt == 0) {
        conn->srtt = rtt;
        conn->rttvar = rtt / 2;
    } else {
        ps_t apart = most(conn->srtt, rtt) - least(conn->srtt, rtt);
        conn->rttvar = conn->rttvar - conn->rttvar / 4 + apart / 4;
        conn->srtt = conn->srtt - conn->srtt / 8 + rtt / 8;
    }
    conn->min_rtt = least(conn->min_rtt, rtt);
    if (tcp->config.ns3)
        conn->rto = most(conn->srtt + most(NS3_CLOCK, 4 * conn->rttvar), tcp->config.rto_min);
    else
        conn->rto = conn->srtt + most(4 * conn->rttvar, tcp->config.rto_min);
    conn->rto = least(conn->rto, tcp->config.rto_max);
}

static ps_t rto_now(const struct tcp *tcp, const struct tcp_conn *conn)
{
    ps_t rto = conn->rto;

    for (uint32_t i = 0; i < conn->backoff && rto < tcp->config.rto_max; i++)
        rto *= 2;
    return least(rto, tcp->config.rto_max);
}

/* RFC 8985, 7.2: two round trips after the last segment; a lone one may wait for a delayed acknowledgement. */
static ps_t probe_time(const struct tcp *tcp, const struct tcp_conn *conn, ps_t now)
{
    bool may = tcp->config.probes && conn->cwnd_state == CWND_OPEN && conn->srtt && conn->sacked == 0;

    if (!may) return PS_NEVER;
    bool alone = conn->nxt - conn->una <= tcp->payload;
    return now + 2 * conn->srtt + TCP_TIMEOUT_MIN + (alone ? tcp->config.ack_delay : 0);
}

void rto_arm(struct tcp *tcp, struct tcp_conn *conn, ps_t now)
{
    conn->rto_at = conn->probe_at = PS_NEVER;
    if (conn->una == conn->nxt && conn->state != CONN_SYN_SENT) return;
    conn->rto_at = now + rto_now(tcp, conn);
    ps_t probe = probe_time(tcp, conn, now);
    if (probe < conn->rto_at) conn->probe_at = probe;
    conn_timer(tcp, conn, least(conn->rto_at, conn->probe_at));
}

void rto_ensure(struct tcp *tcp, struct tcp_conn *conn, ps_t now)
{
    if (conn->rto_at == PS_NEVER) {
        rto_arm(tcp, conn, now);
    } else if (conn->probe_at != PS_NEVER) {
        ps_t probe = probe_time(tcp, conn, now);
        conn->probe_at = probe < conn->rto_at ? probe : PS_NEVER;
    }
}

static void timeout(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io)
{
    tcp->counters.timeouts++;
    conn->rto_at = conn->probe_at = PS_NEVER;
    if (++conn->backoff > tcp->config.retries) {
        conn_fail(tcp, conn, io);
        return;
    }
    if (conn->state == CONN_SYN_SENT) {
        tcp->counters.syn_retrans++;
        conn->syn_due = true;
        ack_push(tcp, conn, io);
    } else {
        recovery_timeout(tcp, conn);
    }
    rto_arm(tcp, conn, now);
}

void rto_due(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io)
{
    if (conn->rto_at <= now) {
        timeout(tcp, conn, now, io);
    } else if (conn->probe_at <= now) {
        conn->probe_at = PS_NEVER;
        conn->probe_due = true;
    }
}
