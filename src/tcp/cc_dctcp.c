/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DCTCP (RFC 8257): alpha follows the share of bytes that arrived marked, once a window; a mark takes alpha / 2 of the
 * window, at most once a window (recovery.c), a loss takes half.  ns-3 takes alpha / 2 for a loss too, and has no least
 * window of two segments.
 */
#include "tcp/tcp_int.h"

#define DCTCP_G_SHIFT 4u /* g = 1/16 */

void dctcp_init(struct tcp_conn *conn)
{
    conn->dctcp = (struct dctcp){.window_end = conn->una, .alpha = DCTCP_ONE};
}

void dctcp_acked(struct tcp_conn *conn, const struct ack_news *news)
{
    struct dctcp *dctcp = &conn->dctcp;

    if (news->acked == 0) return;
    dctcp->acked += news->acked;
    if (news->ece) dctcp->marked += news->acked;
    if (conn->una < dctcp->window_end) return;
    uint32_t share = (uint32_t)(dctcp->marked * DCTCP_ONE / dctcp->acked);
    dctcp->alpha = dctcp->alpha - (dctcp->alpha >> DCTCP_G_SHIFT) + (share >> DCTCP_G_SHIFT);
    dctcp->acked = dctcp->marked = 0;
    dctcp->window_end = conn->nxt;
}

uint64_t dctcp_ssthresh(const struct tcp *tcp, const struct tcp_conn *conn, bool marked)
{
    uint64_t less = (uint64_t)((u128)conn->cwnd * conn->dctcp.alpha / (2ULL * DCTCP_ONE));

    if (tcp->config.ns3) return most(conn->cwnd - less, tcp->payload);
    return most(marked ? conn->cwnd - less : conn->cwnd / 2, 2ULL * tcp->payload);
}
