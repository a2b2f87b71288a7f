/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's insides: what an end is, and who does what.
 *
 * pdc.c makes ends, takes messages and gives completions; send.c chooses what leaves the port; receive.c is the sink;
 * ack.c is what a source learns from ACKs and NACKs; loss.c finds and queues what is to be sent again; nscc.c, rccc.c
 * and paths.c are congestion control and path choice; timer.c keeps the deadlines.
 */
#ifndef ROCELAB_UET_UET_INT_H
#define ROCELAB_UET_UET_INT_H

#include "base/check.h"
#include "base/rng.h"
#include "uet/uet.h"

#define UET_NONE UINT32_MAX
#define UET_RECENT 8u    /* path values that REPS keeps */
#define UET_QUANTUM 256u /* bytes, of credit */
#define UET_NO_RECORD UINT16_MAX

static inline int32_t psn_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

enum uet_record_state { RECORD_HERE, RECORD_OUT, RECORD_LOST }; /* acknowledged; under way; to be sent again */
struct uet_record {                                             /* of a number that was sent */
    ps_t sent;
    uint16_t payload;
    uint16_t before, after; /* of those under way, in the order they were sent */
    uint8_t sends;          /* saturates */
    uint8_t state;
};
_Static_assert(sizeof(struct uet_record) == 16, "four to a cache line");

struct uet_message {
    uint64_t bytes;
    uint32_t tag, imm;
    uint32_t end; /* the number after its last packet, once that was sent */
    bool sent;    /* all of it */
    bool failed;
};

struct nscc {
    uint64_t cwnd, max_window;
    ps_t base_ps, average_ps;
    ps_t qa_end, decreased_at, adjusted_at;
    uint64_t increase; /* bytes x bytes */
    uint64_t achieved, received, ignored, to_ignore, fast_bytes;
    bool growing, trigger;
};

struct paths {
    struct rng rng;
    uint8_t *penalty;  /* [paths] */
    uint16_t *recycle; /* ring: [paths] of mixed, [UET_RECENT] of REPS */
    uint32_t recycle_head, recycle_count;
    uint32_t index, mix; /* of the round */
    uint16_t fixed;      /* the bits of a value above the paths */
    uint16_t marked;     /* values with a penalty */
    uint16_t explore;    /* REPS: so many at random */
    uint16_t frozen_next;
    bool frozen;
    ps_t frozen_until;
    ps_t changed_at; /* ROD: the one value */
};

struct uet_link { /* of an end, in a list that is served from the front */
    struct uet_link *next;
    void *end;
    bool in;
};
struct uet_list {
    struct uet_link *head, *tail;
    uint32_t count;
};
static inline void list_push(struct uet_list *list, struct uet_link *link, void *end)
{
    if (link->in) return;
    *link = (struct uet_link){.end = end, .in = true};
    if (list->head)
        list->tail->next = link;
    else
        list->head = link;
    list->tail = link;
    list->count++;
}
static inline void *list_pop(struct uet_list *list) /* NULL: it is empty */
{
    struct uet_link *link = list->head;

    if (link == NULL) return NULL;
    list->head = link->next;
    link->in = false;
    list->count--;
    return link->end;
}

struct uet_source {
    struct uet_peer peer;
    uint32_t index;          /* of the end */
    uint32_t una, next;      /* numbers: not acknowledged before all, not sent yet */
    uint32_t mask;           /* of window_packets */
    uint16_t oldest, newest; /* records under way */
    struct uet_link ready, done;
    int64_t inflight; /* nominal bytes: sent, less those received, trimmed or lost */
    uint64_t backlog; /* nominal bytes not sent for the first time yet */
    uint64_t lost_bytes;
    uint32_t lost, out; /* packets */
    uint32_t heap_at;   /* place in the timers' heap; UET_NONE: not there */
    uint32_t resent_packets;
    ps_t timer;
    struct nscc nscc;
    struct paths paths;
    int64_t credit;
    uint32_t pulled; /* quanta, so far */
    bool speculating, started, failed;
    /* loss */
    uint8_t backoff;
    ps_t backoff_at, rts_at, heard_at, probe_at, probe_sent_at;
    uint32_t probe; /* number of the last */
    bool recovering;
    uint32_t recovery_end, resent_to;
    /* messages: ring of depth, [first, first + posted); of them the first `complete` wait to be told */
    struct uet_message *message;
    uint32_t first, posted, complete, current; /* current: messages before it are sent whole */
    uint64_t left;                             /* of the current one's payload */
    uint64_t acked_bytes;
    uint64_t received;              /* as the ACKs counted, in units */
    uint64_t sent_nominal, counted; /* of each number once; of it said to have been received */
    struct uet_record *record;
    uint64_t *lost_map;
};

struct uet_end { /* of a message, at the sink */
    uint32_t psn, imm;
};
struct uet_sink {
    struct uet_peer peer;
    uint32_t index;
    uint32_t expected;
    uint32_t mask;
    uint32_t waiting; /* packets after a gap */
    uint32_t since_ack;
    uint64_t received; /* nominal bytes, each number once */
    bool notifies, ack_asked, any, gap_told;
    struct uet_link done, pull, idle;
    uint32_t pulled, target; /* quanta */
    uint16_t path;
    uint16_t ends, complete;
    uint16_t room; /* of `end` */
    struct uet_end *end;
    uint64_t *map;
};

struct uet {
    struct uet_config config;
    struct uet_counters counters;
    struct uet_source **source; /* [ends], by index; NULL: it is none */
    struct uet_sink **sink;
    uint32_t *heap; /* indices of sources, by their timer */
    uint32_t heap_count;
    struct uet_list ready, pull, idle; /* of sources with a packet, of sinks with a want, without one */
    struct uet_list done_sources, done_sinks;
    pkt_t control_head, control_tail;
    uint32_t control_count;
    uint32_t turn; /* control before data 10:1 */
    /* constants made from config */
    uint64_t fair, eta;    /* fi, eta: bytes */
    uint64_t alpha_q16_ns; /* alpha a nanosecond, times 65,536 */
    /* RCCC: the sink's side */
    ps_t pull_at, rate_at;
    ps_t quantum_q8_ps; /* time of one, times 256 */
    uint32_t rate_q16, marked_q16, rate_steps;
    uint32_t seen_data, seen_marked, seen_trimmed;
    /* pauses, and a slow host */
    uint16_t paused, data_prios;
    ps_t paused_until[UET_PRIOS], paused_since;
    uint64_t rx_bps, rx_level;
    ps_t rx_at;
};

static inline uint32_t uet_nominal(const struct uet *uet, uint32_t payload)
{
    return payload + uet->config.nominal_bytes;
}

static inline struct uet_record *uet_record(const struct uet_source *source, uint32_t psn)
{
    return &source->record[psn & source->mask];
}

static inline bool map_has(const uint64_t *map, uint32_t bit)
{
    return map[bit / 64] >> bit % 64 & 1;
}
static inline void map_set(uint64_t *map, uint32_t bit)
{
    map[bit / 64] |= 1ULL << bit % 64;
}
static inline void map_clear(uint64_t *map, uint32_t bit)
{
    map[bit / 64] &= ~(1ULL << bit % 64);
}

/* pdc.c */
void uet_source_done(struct uet *uet, struct uet_source *source); /* messages that are acknowledged */
void uet_source_fail(struct uet *uet, struct uet_source *source);
void uet_sink_done(struct uet *uet, struct uet_sink *sink);

/* send.c */
bool uet_permitted(const struct uet *uet, const struct uet_source *source);
void uet_offer(struct uet *uet, struct uet_source *source); /* it may have something to send */
/* A control packet, filled in as far as every one is; PKT_NONE: there is none.  `id`: one that may be used. */
pkt_t uet_control(struct uet *uet, pkt_t id, const struct uet_peer *peer, enum pkt_uet type, struct pktpool *pool);
void uet_control_queue(struct uet *uet, pkt_t id, struct pktpool *pool);

/* receive.c */
void uet_sink_rx(struct uet *uet, struct uet_sink *sink, pkt_t id, ps_t now, struct pktpool *pool);

/* ack.c */
void uet_source_rx(struct uet *uet, struct uet_source *source, const struct pkt *pkt, ps_t now);

/* loss.c */
void record_out(struct uet_source *source, uint32_t psn, ps_t now);
void record_here(struct uet *uet, struct uet_source *source, uint32_t psn);
/* Under way no more, to be sent again. */
void record_lost(struct uet *uet, struct uet_source *source, uint32_t psn);
uint32_t loss_next(const struct uet_source *source); /* the least number to be sent again; there is one */
void loss_from(struct uet *uet, struct uet_source *source, uint32_t psn); /* ROD: it and all after it */
void loss_timeout(struct uet *uet, struct uet_source *source, ps_t now, struct pktpool *pool);
/* Without trimming: after an ACK; `delay` is its, `waiting` what it said. */
void loss_infer(struct uet *uet, struct uet_source *source, bool probe_ack, ps_t delay, uint32_t waiting, ps_t now);
ps_t loss_timer(const struct uet *uet, const struct uet_source *source);

/* nscc.c */
void nscc_init(struct uet *uet);
void nscc_start(const struct uet *uet, struct nscc *n);
void nscc_rtt(const struct uet *uet, struct nscc *n, ps_t rtt); /* a lower one lowers the largest window */
void nscc_sample(const struct uet *uet, struct nscc *n, ps_t delay, bool marked);
void nscc_ack(struct uet *uet, struct nscc *n, uint64_t bytes, bool marked, ps_t delay, int64_t inflight, ps_t now);
void nscc_nack(struct uet *uet, struct nscc *n, uint64_t bytes, bool last_hop, int64_t inflight, ps_t now);
void nscc_lost(const struct uet *uet, struct nscc *n, uint64_t bytes);
void nscc_penalty(const struct uet *uet, struct nscc *n, uint8_t penalty, uint64_t bytes, int64_t inflight);

/* rccc.c */
void rccc_init(struct uet *uet);
void rccc_start(const struct uet *uet, struct uet_source *source);
void rccc_heard(struct uet_source *source); /* speculation ends */
uint32_t rccc_target(const struct uet *uet, const struct uet_source *source);
void rccc_pulled(const struct uet *uet, struct uet_source *source, uint32_t pulled);
void rccc_wanted(struct uet *uet, struct uet_sink *sink, uint32_t target, bool again, ps_t now);
void rccc_tick(struct uet *uet, ps_t now, struct pktpool *pool);

/* paths.c */
enum path_said { PATH_GOOD, PATH_MARKED, PATH_TRIMMED, PATH_TIMEOUT };
void paths_init(const struct uet *uet, struct paths *paths, uint32_t stream, uint16_t first);
uint16_t paths_next(struct uet *uet, struct paths *paths);
void paths_said(struct uet *uet, struct paths *paths, uint16_t value, enum path_said said, ps_t now);

/* timer.c */
void timer_want(struct uet *uet, struct uet_source *source, ps_t at); /* earlier than now wanted, or not at all */
struct uet_source *timer_due(struct uet *uet, ps_t now);              /* taken out; NULL: none */
static inline ps_t timer_next(const struct uet *uet)
{
    return uet->heap_count ? uet->source[uet->heap[0]]->timer : PS_NEVER;
}

#endif
