/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints and a toy fabric between them, for tests: each path value hashes to one of a few paths with a delay of its
 * own; each endpoint has one queue in front of it that marks, and trims or drops what it cannot hold.  The fabric may
 * lose, double and hold back packets, and paths may be dead.  Time is virtual.
 *
 * The fabric keeps a book of its own: which numbers of each PDC arrived whole.  A message that completes at either end
 * before all of it arrived is a failure, as is one that completes twice or out of turn.
 */
#ifndef ROCELAB_TESTS_UET_LINE_H
#define ROCELAB_TESTS_UET_LINE_H

#include "base/rng.h"
#include "uet/uet.h"

#define LINE_HOSTS 8u
#define LINE_PDCS 16u
#define LINE_PATHS 8u
#define LINE_PACKETS 4096u
#define LINE_MESSAGES 64u
#define LINE_NUMBERS 8192u
#define LINE_DEPTH 4u
#define LINE_FIRST 17u /* the number of an endpoint's first end */

struct line_config {
    uint32_t hosts;
    ps_t delay_ps; /* of each path; path i has i/16 more */
    uint32_t lose_ppm, double_ppm, late_ppm, mark_ppm, trim_ppm;
    uint32_t lose_control_ppm;
    ps_t late_ps;         /* at most */
    uint64_t queue_bytes; /* in front of an endpoint; 0: any */
    uint64_t mark_bytes;  /* 0: none is marked */
    uint32_t dead;        /* bit i: path i loses everything */
    bool last_hop;        /* the queue in front of an endpoint says so when it trims */
};

struct line_message {
    uint64_t bytes;
    uint32_t end; /* the number after its last packet */
};
struct line_pdc {
    uint32_t from, to; /* hosts */
    struct uet_source *source;
    struct uet_sink *sink;
    void *memory[2];
    uint32_t source_number, sink_number;
    struct line_message message[LINE_MESSAGES];
    uint32_t messages, posted, sent, failed, received;
    bool arrived[LINE_NUMBERS];
    uint32_t highest; /* the number after the highest that arrived whole */
    ps_t done_at;
};

struct line_event {
    ps_t at;
    uint64_t order;
    pkt_t id;
    uint32_t to;
};

struct line {
    struct line_config config;
    struct uet_config uet;
    struct pktpool pool;
    struct uet *host[LINE_HOSTS];
    void *memory[LINE_HOSTS];
    uint32_t ends[LINE_HOSTS];
    ps_t free_at[LINE_HOSTS], drain_at[LINE_HOSTS]; /* the sending line; when the queue in front is empty */
    struct line_pdc pdc[LINE_PDCS];
    uint32_t pdcs;
    struct line_event event[LINE_PACKETS];
    uint32_t events;
    uint64_t order;
    struct rng rng;
    ps_t now;
    uint64_t trimmed, dropped, marked, data, control;
    uint64_t by_path[LINE_PATHS]; /* data */
    bool audits;
    void (*watch)(struct line *line, uint32_t from, const struct pkt *pkt); /* what leaves; NULL: nobody */
    void *watcher;
};

void line_open(struct line *line, const struct line_config *config, const struct uet_config *uet, uint64_t seed);
uint32_t line_connect(struct line *line, uint32_t from, uint32_t to);
void line_message(struct line *line, uint32_t pdc, uint64_t bytes);
/* Until nothing is left to do, or `until`.  True: everything that was to be sent is there, and known to be. */
bool line_run(struct line *line, ps_t until);
void line_close(struct line *line);
uint32_t line_path(uint16_t value);

#endif
