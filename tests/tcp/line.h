/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two TCP endpoints and a line between them, for tests: the line has a rate and a delay, may lose, double, hold back
 * and mark packets, by chance or by a filter, and may be dead for a time. Time is virtual.
 *
 * The line keeps books of its own: which bytes of each stream have reached the receiver.  No acknowledgement may say
 * more.  Connections go from side 0 to side 1 unless `back`.
 */
#ifndef ROCELAB_TESTS_TCP_LINE_H
#define ROCELAB_TESTS_TCP_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/time.h"
#include "tcp/tcp.h"

#define LINE_PACKETS 16384u
#define LINE_CONNS 8u
#define LINE_DEPTH 8u
#define LINE_BYTES_MAX (1u << 24) /* of a stream */
#define LINE_LOG 65536u

struct line;
typedef bool (*line_filter)(struct line *line, int from, struct pkt *p, ps_t now); /* false: lost */

struct line_conn {
    struct tcp_conn *from, *to;
    int side; /* that sends */
    void *memory[2];
    uint8_t *arrived; /* [byte] at the receiver */
    uint64_t whole;   /* all before it has arrived */
    uint64_t posted_bytes;
    uint32_t posted, sent, received, failed; /* messages */
    uint64_t end[65536];                     /* of messages, in stream bytes */
    ps_t received_at, sent_at;               /* of the last */
};

struct line_seen { /* a packet as it went onto the line */
    ps_t at;
    struct pkt pkt;
    uint8_t from;
    bool lost;
};

struct line_arrival {
    ps_t at;
    uint64_t order;
    pkt_t id;
    int to;
};

struct line {
    struct pktpool pool;
    struct tcp *tcp[2];
    void *memory[2];
    struct tcp_io io[2];
    ps_t free_at[2], tick_at[2];
    bool ask[2];
    struct rate rate[2];
    uint32_t overhead_bytes;
    ps_t delay_ps, now;
    ps_t dead_from, dead_to; /* nothing that is sent then arrives */
    struct line_arrival *arrival;
    uint32_t arrivals;
    uint64_t order, lost, doubled;
    struct rng rng;
    uint32_t lose_ppm, double_ppm, hold_ppm, mark_ppm;
    ps_t hold_ps; /* at most; 0: twenty delays */
    line_filter filter;
    uint32_t count; /* the filter's */
    struct line_seen *seen;
    uint32_t seen_count;
    struct line_conn conn[LINE_CONNS];
    uint32_t conns;
    bool audits;
};

/* 10 Gb/s, 5 us. */
void line_init(struct line *line, const struct tcp_config config[2], uint64_t seed);
void line_release(struct line *line);
uint32_t line_connect(struct line *line, bool back, bool notifies);
void line_post(struct line *line, uint32_t conn, uint64_t bytes);
/* Until nothing is left to happen, or `until`. */
void line_run(struct line *line, ps_t until);
/* All that was posted is sent and received, and nothing else; no packet is left. */
void line_finished(struct line *line);
uint32_t line_sent(const struct line *line, int from, enum pkt_tcp_type type);

#endif
