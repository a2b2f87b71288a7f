/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state behind capture.h, shared by the files of the capture analysis.
 *
 * Everything is allocated when the analysis begins and addressed by index; pages never touched cost
 * nothing.  What each packet touches is kept together: a direction's first three cache lines (its
 * own hot state, then the head of the view) and two small arrays (hash heads, LRU links) that stay
 * in the second-level cache with ten thousand connections.
 */
#ifndef ROCELAB_CAPTURE_CAPTURE_INT_H
#define ROCELAB_CAPTURE_CAPTURE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/histo.h"
#include "base/pool.h"
#include "base/wide.h"
#include "capture/capture.h"
#include "packet/opcode.h"
#include "packet/pkt.h"

#define PSN_BASE (1ULL << 40) /* extended PSNs start here: room to extend downward */
#define PSN_RESET (1 << 20)   /* a jump further than this is a new life of the QP number */
#define PSN_HOLES 16
#define RING_SLOTS 64     /* outstanding requests watched in a direction */
#define RING_SHIFT_MAX 20 /* one in a million is watched, and still nobody answers */
#define ANCHORS 4         /* PSNs that an unpaired direction can be found by exactly */
#define ANCHOR_PATIENCE 1024
#define NONE CAPTURE_NONE

/* direction.flags */
#define DIR_BEGUN 0x01u     /* the PSN fields count */
#define DIR_SAMPLED 0x02u   /* a latency was taken */
#define DIR_READ_OPEN 0x04u /* the last request was a READ whose length in packets is not known */
#define DIR_TROUBLE 0x08u   /* in or after a retransmission, or told to retransmit: see struct recovery */
#define DIR_LRU 0x10u       /* the LRU node of its connection is at its index */
#define DIR_ANSWERS 0x20u   /* response_* count */
#define DIR_CM 0x40u        /* set up through CM, in this capture */

struct psn_range {
    uint64_t from, to; /* [from, to) */
};

/* A request that an answer is expected for. */
struct outstanding {
    uint64_t time_ns;
    uint32_t psn;          /* low half of the extended PSN */
    uint32_t packets : 30; /* PSNs a READ or ATOMIC takes; 0: not known, or another request */
    uint32_t read : 1;     /* READ or ATOMIC: answered by a response, not by an ACK */
    uint32_t again : 1;    /* was sent again: no latency */
};

/* What a run of packets without a break leaves open, and what it knows of a message begun before it: see
 * message.h. */
enum message_end_kind {
    END_NONE,    /* nothing is open */
    END_OPEN,    /* a message that began at `start` */
    END_THROUGH, /* neither First nor Last so far: whatever is open before the run */
};
struct message_end {
    uint64_t start;
    uint32_t dma_bytes; /* RETH; 0: a SEND */
    uint16_t packet_bytes;
    uint8_t kind;
};

enum message_tail_kind {
    TAIL_NONE,    /* the run began with a First */
    TAIL_ENDED,   /* a message ended at `last` that began before the run */
    TAIL_THROUGH, /* as END_THROUGH; a run has both or neither */
};
struct message_tail {
    uint64_t last;
    uint16_t bytes; /* payload of its last packet */
    uint8_t kind, verb;
};

/* Lists of holes are a pool of their own: few directions ever have one. */
#define HOLE_LIST (PSN_HOLES + 1)
struct psn_hole {
    uint64_t from, to;        /* [from, to) */
    uint64_t packet;          /* number of the one that came behind it */
    struct message_end head;  /* the end of the run before it */
    struct message_tail tail; /* of the run behind it */
};

enum hint { HINT_NONE, HINT_NAK, HINT_RNR };

/* Retransmission of one direction: what it was told, and the run of repeated packets it is in. */
struct recovery {
    uint64_t run_next;     /* PSN that would continue the run; 0: no run */
    uint64_t retry_psn;    /* where the last runs began */
    uint64_t retry_first;  /* number of the first packet of those runs, */
    uint64_t retry_packet; /* and of the last */
    uint32_t retries;      /* runs that began at retry_psn with nothing heard in between */
    uint64_t repeated_end; /* one past the last PSN that was sent again; 0: none */
    uint32_t run_filled;   /* packets of this run counted as reordered so far */
    uint64_t run_packet;   /* number of the first of them */
    uint64_t run_shown;    /* of the first counted as retransmitted, */
    uint32_t run_seen;     /* and how many were */
    uint32_t hint_psn;
    uint64_t hint_requests;                /* view.requests when it was said */
    uint64_t first_packet[CAPTURE_CAUSES]; /* number of the first packet sent again, by cause; 0: none */
    uint64_t first_copy;                   /* number of the first second copy; 0: none */
    uint64_t first_overtaken;              /* number of the first packet that was reordered; 0: none */
    uint64_t hint_packet;                  /* number of the NAK that said it */
    uint8_t cause;                         /* enum capture_cause of the run */
    bool shown;                            /* the run is in the evidence */
    bool heard;                            /* a run began behind the end of an earlier one: that was answered */
    uint8_t hint;                          /* enum hint: said by the other end and not acted on yet */
};

struct direction {
    /* cache line 0 */
    uint64_t next, first;   /* extended PSNs: one past the highest sent, lowest sent */
    struct message_end end; /* of the last run */
    uint64_t bin_bytes;     /* goodput of the bin below, not yet in view.bin */
    uint8_t bin, bin_shift;
    uint8_t ring_head, ring_count;
    uint32_t peer;
    uint8_t indexed;    /* bit per entry in the pairing index: the anchors, then the range */
    uint8_t ring_shift; /* one request in 2^ring_shift is watched */
    uint8_t flags;
    uint8_t holes;
    uint32_t last_latency_ns;
    uint32_t ack_psn, ack_msn; /* of the latest ACK it sent; NONE before the first */

    struct capture_direction view; /* lines 1 and 2: its head */

    /* a cache line: what an ACK of the other end touches */
    struct histo *ack_histo __attribute__((aligned(64))); /* view.ack_latency */
    uint64_t acked;                                       /* one past the highest PSN the other end has acknowledged */
    struct outstanding ring[RING_SLOTS];

    uint32_t anchor[ANCHORS]; /* PSNs */
    uint16_t anchor_skipped;  /* requests since they were set */
    uint16_t range_block;     /* what the range is indexed by */
    uint8_t pair_tries;       /* answers that more than one requester may have asked for */
    bool rival;               /* a guess took another one, where this would have done as well */

    struct psn_hole *hole;     /* sorted; room for one more, while one is split.  NULL: never had one */
    struct message_tail front; /* of the first run */
    struct recovery recovery;
    uint64_t read_psn; /* DIR_READ_OPEN */
    uint32_t read_bytes;
    uint32_t cm_mtu;
    uint64_t last_cnp_ns;
    uint64_t first_cnp, first_ce;     /* numbers of packets it sent; 0: none */
    uint64_t first_nak;               /* for a sequence error */
    uint64_t first_forgotten;         /* number of the packet behind the first hole given up */
    uint64_t response_next;           /* READ responses: one past the highest PSN, */
    struct psn_range response_hole;   /* and the latest run of PSNs skipped inside one READ */
    uint64_t lost[2], lost_packet[2]; /* holes left open in earlier lives: as in inspect.c */
    uint8_t spare[16];                /* see the assertion on the size */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct direction, view) == 64, "hot state is one cache line");
/* Measured with 64-byte WRITEs over 10,000 connections: 34 lines are 4 to 8 % slower than 35 (best of 41 runs; 11 % in
 * the median).  The likely cause, not looked into further: with an even stride the hot lines share half of the sets. */
_Static_assert(sizeof(struct direction) % 128 == 64, "an odd number of cache lines");
_Static_assert(offsetof(struct capture_direction, first_ns) == 128, "the view's hot head is two cache lines");

/* What names a direction. */
struct flow {
    struct pkt_addr src, dst;
    uint32_t vni; /* flow_vni() */
    uint32_t dst_qp;
    uint32_t ud_src_qp; /* NONE unless UD */
    uint32_t hash;
};

struct hash_link {
    uint32_t hash;
    uint32_t next; /* index + 1; 0: the last */
};

/* A RoCE packet read and checked, waiting for its direction to arrive in the cache. */
struct pending {
    struct pkt pkt;
    struct flow flow;
    uint64_t time_ns, number;
    uint32_t length;
    uint32_t guess; /* index of the direction it probably belongs to, or NONE */
    uint8_t ecn;    /* of the packet, or of the tunnel around it */
    bool damaged;
    bool copy; /* the same packet was recorded a moment ago */
};
#define PENDING 16 /* a power of two */

struct lru_link {
    uint32_t prev, next; /* towards the most, the least recently seen */
};

/* Pairing index: unpaired requesters, by (addresses, VNI, PSN) with and without the UDP source port; the PSN is
 * that of a request (an anchor) or the upper bits of the latest (the range).  Entry number: direction *
 * INDEX_ENTRIES + anchor, or + INDEX_RANGE. */
enum { INDEX_PORT, INDEX_PLAIN, INDEXES };
enum { INDEX_RANGE = ANCHORS, INDEX_ENTRIES };
#define RANGE_SHIFT 14 /* PSNs of one block */
struct index_head {
    uint32_t first, last;
};
struct index_link {
    uint32_t prev[INDEXES], next[INDEXES];
    uint32_t bucket[INDEXES];
};

#define CM_ENTRIES 4096
#define CM_BUCKETS 8192
struct cm_entry {
    struct capture_cm view;
    uint32_t mtu_bytes;
    uint32_t vni;        /* flow_vni() */
    uint32_t psn[2];     /* where the initiator, the acceptor begin */
    uint32_t id_next;    /* chain by (initiator, id) */
    uint32_t qp_next[2]; /* chains by (source, destination, destination QP): initiator's, acceptor's sending */
    bool linked_qp;
};

#define PAUSE_SENDERS 256
#define PAUSE_KINDS 9 /* eight priorities and 802.3x */
struct pause_state {
    struct capture_pause view;
    bool active;
    uint64_t stretch_ps, from_ps, until_ps; /* since the capture began */
    uint64_t paused_ps, longest_ps;
};
struct pause_sender {
    uint8_t smac[6];
    uint64_t last_packet; /* for eviction; 0: never used */
    struct pause_state kind[PAUSE_KINDS];
};

/* One list of what evidence is kept of; the verdict's rules use it. */
#define EVIDENCE_LIST(X)                                                                                               \
    X(ICRC)                                                                                                            \
    X(MALFORMED)                                                                                                       \
    X(AGGREGATE)                                                                                                       \
    X(LOSS)                                                                                                            \
    X(COPY)                                                                                                            \
    X(TIMEOUT)                                                                                                         \
    X(RNR)                                                                                                             \
    X(FATAL)                                                                                                           \
    X(REORDER)                                                                                                         \
    X(CE)                                                                                                              \
    X(CNP)                                                                                                             \
    X(PFC)                                                                                                             \
    X(PAUSE)                                                                                                           \
    X(CUT)                                                                                                             \
    X(UNKNOWN)                                                                                                         \
    X(UNREAD)                                                                                                          \
    X(BACKWARDS)                                                                                                       \
    X(RESET)                                                                                                           \
    X(SIZE)
enum evidence {
#define X(id) EVIDENCE_##id,
    EVIDENCE_LIST(X)
#undef X
        EVIDENCES
};

enum rule {
#define X(id, number, severity, title, advice) RULE_##id,
#include "capture/verdict.def"
#undef X
    RULES,
    RULE_LOSS_AHEAD = RULES, /* RULE_LOSS where nothing is seen twice */
    CONCERNS
};

/* What is said about a direction that a finding names, which may be gone by then. */
struct subject {
    struct pkt_addr src, dst;
    uint32_t dst_qp;
    uint32_t nak_codes; /* bit per code; bit 31: a reserved one */
    uint64_t rnr_min_ns, rnr_max_ns;
    uint64_t cnp_gap_ns; /* the least; 0: none */
    uint64_t retry_first, retry_packet;
    uint32_t retry_psn;
};

/* The directions a rule concerns, and the worst of them. */
struct worst {
    uint64_t count;
    uint32_t connection; /* NONE: dropped since */
    uint64_t value, of;  /* of the worst; of 0: a bare count */
    uint64_t packet;     /* number to look at; 0: none */
    uint64_t sum, sum_of;
    struct subject subject;
    struct capture_evidence shown; /* one packet, or more, of each direction concerned */
};

/* Packets recorded a moment ago, to know a second copy by: four at each place, the latest first. */
#define RECENT_PLACES 512
#define RECENT_WAYS 4
struct recent {
    uint64_t time_ns;
    uint32_t tag; /* 0: never used */
};

struct capture {
    struct capture_totals totals;
    struct capture_options options;

    uint64_t now_ns, number; /* of the record being looked at */
    uint64_t arrival_ns;     /* of the record last given */
    bool copy;               /* of the packet being looked at: as in struct pending */

    struct pending pending[PENDING];
    uint32_t pending_head, pending_tail; /* run freely */

    /* goodput bins: [bin_from_ns, bin_to_ns) is the current one */
    uint64_t bin_from_ns, bin_to_ns;
    uint64_t bin_base_ns;
    uint8_t bin, bin_shift;

    /* table of directions */
    struct direction *direction;
    uint32_t *hash_head; /* index + 1 */
    struct hash_link *hash_link;
    uint32_t hash_mask;
    struct lru_link *lru;
    uint32_t lru_newest, lru_oldest;
    uint32_t live_connections, max_connections;
    struct pool pool;
    uint32_t *pool_link;
    struct histo *histo;
    struct pool histo_pool;
    uint32_t *histo_link;
    struct psn_hole *hole; /* HOLE_LIST of them each */
    struct pool hole_pool;
    uint32_t *hole_link;
    uint32_t last_found;

    /* pairing */
    struct index_head *index_head[2][INDEXES]; /* of anchors, of ranges */
    struct index_link *index_link;
    uint32_t index_mask;

    struct cm_entry *cm;
    uint32_t cm_count, cm_evict; /* used; the next to be replaced when all are */
    uint32_t cm_by_id[CM_BUCKETS], cm_by_qp[CM_BUCKETS];

    struct pause_sender *pause;
    uint32_t pauses;

    struct capture_evidence evidence[EVIDENCES];
    uint64_t fatal_naks; /* NAKs that end a connection */
    struct worst worst[CONCERNS];
    struct recent recent[RECENT_PLACES][RECENT_WAYS];

    /* after capture_finish */
    bool finished;
    uint32_t *order; /* forward directions, by first packet */
    uint32_t order_count;
    const struct capture_pause *pause_order[PAUSE_SENDERS * PAUSE_KINDS];
    uint32_t pause_order_count;
    struct capture_finding finding[CAPTURE_FINDINGS];
    uint32_t findings;
    char advice[192]; /* of the finding that nothing is wrong: says what was looked at */

    void *memory; /* all of the above that is not in this struct */
    size_t memory_bytes;
};

static inline void evidence_keep(struct capture_evidence *evidence, uint64_t number)
{
    if (evidence->kept < CAPTURE_EVIDENCE) evidence->packet[evidence->kept++] = number;
}

static inline void evidence_add(struct capture *capture, enum evidence kind)
{
    evidence_keep(&capture->evidence[kind], capture->number);
}

static inline int32_t psn_distance(uint64_t from, uint32_t psn)
{
    return (int32_t)((psn - (uint32_t)from) << 8) >> 8;
}

static inline struct direction *direction_peer(struct capture *capture, const struct direction *direction)
{
    return direction->peer == NONE ? NULL : &capture->direction[direction->peer];
}

static inline uint32_t direction_index(const struct capture *capture, const struct direction *direction)
{
    return (uint32_t)(direction - capture->direction);
}

static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Three independent multiplications: the addresses pairwise, and what else is in the key. */
static inline uint64_t hash_flow(const struct pkt_addr *src, const struct pkt_addr *dst, uint32_t vni, uint64_t more)
{
    uint64_t s[2], d[2];
    memcpy(s, src, 16);
    memcpy(d, dst, 16);
    uint64_t h = hash_fold(s[0] ^ 0x9e3779b97f4a7c15u, d[0] ^ 0xc2b2ae3d27d4eb4fu) ^
                 hash_fold(s[1] ^ 0x165667b19e3779f9u, d[1] ^ 0xd6e8feb86659fd93u) ^
                 hash_fold(more ^ 0xa0761d6478bd642fu, vni ^ 0xe7037ed1a0b428dbu);
    return hash_fold(h, 0x9e3779b97f4a7c15u);
}

/* What tells networks apart: the VNI, which may be 0, or no tunnel. */
static inline uint32_t flow_vni(bool tunnelled, uint32_t vni)
{
    return tunnelled ? vni | 1u << 24 : 0;
}

static inline uint32_t direction_vni(const struct capture_direction *view)
{
    return flow_vni(view->tunnelled, view->vni);
}

static inline struct flow flow_of(const struct pkt_addr *src, const struct pkt_addr *dst, uint32_t vni, uint32_t dst_qp,
                                  uint32_t ud_src_qp)
{
    uint32_t hash = (uint32_t)hash_flow(src, dst, vni, (uint64_t)ud_src_qp << 32 | dst_qp);
    return (struct flow){*src, *dst, vni, dst_qp, ud_src_qp, hash};
}

/* packet.c */
struct pkt *cap_packet_slot(struct capture *capture); /* where the next packet is to be parsed to */
void cap_packet_add(struct capture *capture, const struct codec_frame *frame, const struct pkt_cold *cold,
                    const struct codec_layout *layout); /* the one in the slot */
void cap_packet_flush(struct capture *capture);         /* nothing is pending afterwards */

/* table.c */
uint32_t cap_table_connections(const struct capture_options *options);
uint32_t cap_table_directions(const struct capture_options *options);
uint32_t cap_table_hash_slots(const struct capture_options *options);
void cap_table_init(struct capture *capture);
/* Index of a direction with this hash, or NONE: right but for hash collisions, and cheap. */
uint32_t cap_table_guess(const struct capture *capture, uint32_t hash);
/* Never fails; cap_table_trim() is to be called before the next. */
struct direction *cap_table_find(struct capture *capture, const struct flow *flow, const struct pkt *pkt);
struct direction *cap_table_lookup(struct capture *capture, const struct flow *flow);
/* Drops the connection least recently seen when there is one too many.  Not before the packet that
 * brought a direction has been looked at: it may have paired it. */
void cap_table_trim(struct capture *capture);
void cap_table_touch(struct capture *capture, struct direction *direction);
void cap_table_histo_add(struct capture *capture, struct histo **histo, uint64_t value);
/* A value that stands for `weight` like it. */
void cap_table_histo_weigh(struct capture *capture, struct histo **histo, uint64_t value, uint32_t weight);
void cap_lru_remove(struct capture *capture, uint32_t node);

/* pair.c */
void cap_pair_join(struct capture *capture, struct direction *a, struct direction *b);
/* An unpaired direction has sent a request; `asks` when an answer carries its PSN. */
void cap_pair_request(struct capture *capture, struct direction *direction, uint32_t psn, bool asks);
void cap_pair_index_drop(struct capture *capture, struct direction *direction);
struct direction *cap_pair_by_answer(struct capture *capture, struct direction *responder, uint32_t psn,
                                     uint16_t sport);
void cap_pair_new(struct capture *capture, struct direction *direction);
void cap_pair_leftovers(struct capture *capture);

/* psn.c */
enum psn_news { PSN_NEW, PSN_FILLED, PSN_SEEN };
/* A packet that is not the next in order; its message is seen to as well. */
enum psn_news cap_psn_place_odd(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                                const struct opcode_info *info, uint32_t packets, uint64_t *ret_psn);
void cap_psn_advance(struct capture *capture, struct direction *direction, uint64_t next);
/* The QP number is used again, as CM says: what comes next is the first packet. */
void cap_psn_forget(struct capture *capture, struct direction *direction);
/* The same, but it began where the run of repeated packets did: those were the first ones of a new life. */
void cap_psn_forget_before_run(struct capture *capture, struct direction *direction);

/* request.c */
void cap_request_packet(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                        const struct opcode_info *info);
void cap_request_learn_mtu(struct capture *capture, struct direction *direction, uint32_t payload_bytes);
void cap_request_know_mtu(struct capture *capture, struct direction *direction);
void cap_request_reset(struct capture *capture, struct direction *direction);
/* The run of repeated packets was none: its packets are taken out of the books. */
void cap_request_undo_run(struct capture *capture, struct direction *direction);
void cap_request_hint(struct capture *capture, struct direction *requester, enum hint hint, uint32_t psn);
void cap_request_finish(struct capture *capture, struct direction *direction);
/* Everything about the connection is known: what only seemed to be timeouts is given no cause. */
void cap_request_settle(struct capture *capture, struct direction *direction);
/* It repeated itself to the end, and nothing says that it was answered. */
bool cap_request_silent(const struct capture *capture, const struct direction *direction);

/* response.c */
void cap_response_packet(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                         const struct opcode_info *info);

/* bins.c */
void cap_bins_begin(struct capture *capture);
void cap_bins_turn(struct capture *capture); /* now_ns is not in the current bin */
void cap_bins_flush(struct capture *capture, struct direction *direction);
static inline void bins_add(struct capture *capture, struct direction *direction, uint32_t bytes)
{
    if (direction->bin != capture->bin || direction->bin_shift != capture->bin_shift)
        cap_bins_flush(capture, direction);
    direction->bin_bytes += bytes;
    direction->view.goodput_bytes += bytes;
    capture->totals.bin[capture->bin] += bytes;
    capture->totals.goodput_bytes += bytes;
}

/* cm.c */
void cap_cm_init(struct capture *capture);
void cap_cm_packet(struct capture *capture, const struct pkt *pkt, const struct pkt_cold *cold, const uint8_t *payload,
                   size_t length);
/* The set-up that names this direction; NULL when none was captured. */
struct cm_entry *cap_cm_of(struct capture *capture, const struct pkt_addr *src, const struct pkt_addr *dst,
                           uint32_t vni, uint32_t dst_qp, uint32_t *ret_src_qp);

/* pause.c */
void cap_pause_packet(struct capture *capture, const struct pkt *pkt, const struct pkt_cold *cold, uint64_t link_bps);
void cap_pause_finish(struct capture *capture);

/* inspect.c */
/* Adds what is wrong with a connection to capture->worst; `connection` is its index, NONE when it is being dropped. */
void cap_inspect(struct capture *capture, const struct direction *forward, uint32_t connection);
void cap_inspect_lose_holes(struct direction *direction); /* they will not be filled any more */

/* verdict.c */
void cap_verdict_write(struct capture *capture);

#endif
