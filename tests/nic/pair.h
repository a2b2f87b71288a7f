/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two adapters and a wire between them, for tests: the wire has a rate and a delay and may lose, double, hold
 * back and mark packets, by chance or by a filter.  Time is virtual; a run ends when nothing is left to happen.
 */
#ifndef ROCELAB_TESTS_NIC_PAIR_H
#define ROCELAB_TESTS_NIC_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/time.h"
#include "nic/nic.h"
#include "packet/pktpool.h"

#define PAIR_PACKETS 8192u
#define PAIR_SQ 64u
#define PAIR_RQ 64u
#define PAIR_CQ 1024u
#define PAIR_RESOURCES 16u
#define PAIR_SELECTIVE 256u
#define PAIR_LOG 65536u

struct pair;
/* What becomes of a packet put on the wire by side `from`. */
enum pair_fate { PAIR_PASS, PAIR_LOSE };
typedef enum pair_fate (*pair_filter)(struct pair *pair, int from, struct pkt *p, ps_t now);

struct pair_end { /* a QP and all it needs */
    struct nic_qp *qp;
    struct nic_cq send_cq, recv_cq;
    struct nic_cqe send_cqe[PAIR_CQ], recv_cqe[PAIR_CQ];
    struct nic_wr sq[PAIR_SQ];
    struct nic_recv rq[PAIR_RQ];
    struct nic_resource resource[PAIR_RESOURCES];
    void *selective;
};

struct pair_seen { /* a packet as it went onto the wire */
    ps_t at;
    struct pkt pkt;
    uint8_t from;
    bool lost;
};

struct pair_arrival {
    ps_t at;
    uint64_t order;
    pkt_t id;
    int to;
};

struct pair {
    struct pktpool pool;
    struct nic *nic[2];
    void *memory[2];
    struct nic_io io[2];
    ps_t free_at[2], tick_at[2];
    bool ask[2];
    struct rate rate[2];
    ps_t delay_ps;
    ps_t now;
    struct pair_arrival *arrival; /* a binary heap by (at, order) */
    uint32_t arrivals;
    uint64_t order;
    struct rng rng;
    uint32_t lose_ppm, double_ppm, hold_ppm, mark_ppm; /* of packets; held back up to 20 delays */
    pair_filter filter;
    void *context;
    struct pair_seen *seen;
    uint32_t seen_count;   /* the first PAIR_LOG are kept */
    uint64_t atomic_value; /* the 8 bytes atomics work on */
    uint64_t placed_bytes[2];
    uint32_t pauses_sent[2];
    /* packets carry no more than real ones; where the payload of each belongs is remembered here, by descriptor */
    bool foreign[2]; /* sends no marks */
    uint64_t *tag;
    uint64_t kept[2], misplaced;
    uint64_t steps;
};

void pair_init(struct pair *pair, const struct nic_config config[2], uint64_t seed);
/* 100G, 1 us, default adapters with `qps` QPs each. */
void pair_init_default(struct pair *pair, uint32_t qps, uint64_t seed);
void pair_release(struct pair *pair);
/* A connected pair of QPs; the configuration without rings, numbers and peers, which are filled in.  PSNs start at
 * 0xfffff0: they wrap soon. */
void pair_connect(struct pair *pair, const struct nic_qp_config *config, struct pair_end end[2]);
void pair_disconnect(struct pair *pair, struct pair_end end[2]);
struct nic_qp_config pair_qp_config(void);
/* Posts on side 0's end (or side's), CHECKing that it goes. */
void pair_send(struct pair *pair, int side, struct pair_end *end, struct nic_wr wr);
void pair_recv(struct pair *pair, int side, struct pair_end *end, uint64_t wr_id, uint64_t length);
/* One event; false: nothing left before `until`. */
bool pair_step(struct pair *pair, ps_t until);
/* Until nothing is left to happen (or `until`); audits both adapters as it goes. */
void pair_run(struct pair *pair, ps_t until);

#endif
