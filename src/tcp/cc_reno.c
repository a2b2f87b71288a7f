/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NewReno in congestion avoidance (RFC 5681, 3.1, by bytes as RFC 3465): a segment a window acknowledged.
 */
#include "tcp/tcp_int.h"

void reno_grow(struct tcp_conn *conn, uint64_t acked, uint32_t mss)
{
    conn->grown += acked;
    while (conn->grown >= conn->cwnd) {
        conn->grown -= conn->cwnd;
        conn->cwnd += mss;
    }
}
