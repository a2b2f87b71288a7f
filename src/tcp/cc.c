/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control, chosen by the endpoint's configuration; what the three have in common.
 */
#include "tcp/tcp_int.h"

void control_init(const struct tcp *tcp, struct tcp_conn *conn)
{
    if (tcp->config.cc == TCP_DCTCP) dctcp_init(conn);
    if (tcp->config.cc == TCP_CUBIC) cubic_reset(conn);
}

void control_acked(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now)
{
    if (tcp->config.cc == TCP_DCTCP) dctcp_acked(conn, news);
    if (tcp->config.cc == TCP_CUBIC && news->delivered) cubic_acked(tcp, conn, news, now);
}

uint64_t slow_start(struct tcp_conn *conn, uint64_t acked)
{
    uint64_t room = conn->ssthresh - conn->cwnd, by = least(acked, room);

    conn->cwnd += by;
    return acked - by;
}

void control_grow(struct tcp *tcp, struct tcp_conn *conn, uint64_t acked, ps_t now)
{
    if (conn->cwnd < conn->ssthresh) acked = slow_start(conn, acked);
    if (acked == 0) return;
    if (tcp->config.cc == TCP_CUBIC)
        cubic_grow(tcp, conn, acked, now);
    else
        reno_grow(conn, acked, tcp->payload);
}

uint64_t control_ssthresh(struct tcp *tcp, struct tcp_conn *conn, bool marked)
{
    uint64_t floor = 2ULL * tcp->payload;

    switch (tcp->config.cc) {
    case TCP_DCTCP:
        return dctcp_ssthresh(tcp, conn, marked);
    case TCP_CUBIC:
        return most(cubic_ssthresh(tcp, conn), floor);
    default:
        return most((tcp->config.ns3 ? conn_pipe(conn) : conn->cwnd) / 2, floor);
    }
}

void control_timeout(const struct tcp *tcp, struct tcp_conn *conn)
{
    if (tcp->config.cc == TCP_CUBIC && tcp->config.ns3) conn->cubic.w_max = 0;
    if (tcp->config.cc == TCP_CUBIC) cubic_reset(conn);
}

uint32_t tcp_conn_alpha_ppm(const struct tcp_conn *conn)
{
    return conn->cc == TCP_DCTCP ? (uint32_t)((uint64_t)conn->dctcp.alpha * 1000000 / DCTCP_ONE) : 0;
}
