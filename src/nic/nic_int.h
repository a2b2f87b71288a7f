/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter's insides: the QP, the port's lists, and what its files call of each other.
 *
 * PSNs are kept 32 bits wide and cut to 24 when they go into a packet; what comes back is widened
 * next to a PSN we know (psn_wide).  So a comparison is a subtraction and no message is too long.
 *
 * A QP is in one of three scheduling places: nowhere (nothing to send, or its window is closed, or it
 * waits for an RNR timer), in the ready ring of its priority, or in the pacing heap until its
 * next packet is due.  nic_wake() moves it from nowhere; nic_tx() moves it back.  No scan
 * ever goes over all QPs.
 */
#ifndef ROCELAB_NIC_NIC_INT_H
#define ROCELAB_NIC_NIC_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/credit.h"
#include "base/time.h"
#include "base/wide.h"
#include "nic/cc/cc.h"
#include "nic/nic.h"
#include "nic/postable.h"
#include "packet/opcode.h"
#include "packet/pkt.h"
#include "packet/pktpool.h"
#include "record/event.h"

#define PSN_MASK 0xffffffu
#define PSN_SPAN NIC_PSN_SPAN
#define NIC_WINDOW_MAX (1u << 22) /* half of it, for a window in packets */
#define QP_NONE UINT32_MAX
#define CC_RATE_MIN 10000u /* bits a second: below it a byte's time does not fit its fixed point */
#define UD_GRH_BYTES 40u   /* a UD receive begins with room for the GRH (volume 1, chapter 11) */

enum sched { QP_IDLE, QP_READY, QP_PACED, QP_SERVED /* nic_tx is at it */ };
enum heap_kind { HEAP_PACE, HEAP_TIMER };
enum rx_verb { RX_NONE, RX_SEND, RX_WRITE };
/* what became of a request packet that was next in order */
enum verdict {
    DONE,
    DONE_RESPONSE, /* a READ or atomic was queued: it is the acknowledgement */
    REFUSED_RNR,
    REFUSED_INVALID,
    REFUSED_ACCESS,
    REFUSED_LENGTH,
    INCONSISTENT, /* QP_CHECK: the QP has ended */
};

struct selective { /* at the start of the memory brought for selective repeat */
    uint32_t mask;
    uint32_t resend_count, kept_count, sacked_count;
    uint32_t decided; /* requester: before it each packet is known to be there, or was or is to be sent again */
    uint64_t *sacked; /* requester, by PSN: the peer has it */
    uint64_t *resend; /* to be sent again */
    uint64_t *resent; /* was sent again: the next time is the timer's */
    uint32_t *kept;   /* responder: packet + 1 that waits for those before it; 0: none */
    uint32_t dropped; /* with `unsaid`: the newest packet after a gap that was not kept */
    bool unsaid;      /* responder: and the NAK that says so waits behind responses */
    /* responder, reorder.c; window 0: a gap is a loss at once */
    uint32_t window, top; /* top: the highest PSN that came, and 1 */
    uint32_t told;        /* holes before it were asked for by distance */
    uint32_t horizon;     /* holes before it are asked for at gap_at */
    uint32_t asked_at;    /* what was expected when holes were last asked for by time */
    bool heard;           /* and something has come since */
    ps_t delay_ps, gap_at;
    ps_t wait_ps; /* until holes are asked for once more: delay_ps, and more while nothing comes */
};

#define RTT_STAMPS 16u
struct rtt_stamps { /* rtt.c: when packets were sent, oldest first; beside the QPs, only in adapters that measure */
    ps_t at[RTT_STAMPS];
    uint32_t psn[RTT_STAMPS];
    uint32_t head, count;
    uint32_t stride, since; /* one packet in `stride` that ask is stamped; those since the last */
};

struct answer { /* an ACK or NAK */
    uint32_t psn;
    uint32_t trigger; /* selective repeat: the packet after the gap, not cut to 24 bits */
    uint8_t syndrome, flags;
    bool names;    /* the trigger counts */
    bool not_kept; /* and that packet must be sent again too */
};
#define NAKS_WAITING 32u /* selective repeat: of a QP, before the newest takes the place of the one before it */

/*
 * What a packet of a long WRITE touches lies together: lines 0 to 3 at the sender, 0 and the responder's
 * at the receiver.
 */
struct nic_qp {
    /* line 0: identity, scheduling */
    _Alignas(64) uint32_t qpn; /* 0: free */
    uint32_t index;
    uint32_t remote, remote_qp;
    uint8_t state, transport, recovery, sched;
    uint8_t tos, prio, ack_tos, ack_prio; /* tos: with its ECN bits */
    uint16_t mtu, sport;
    uint32_t ready_next;
    uint32_t heap_slot[2]; /* place + 1 in the heaps; 0: not there */
    uint16_t ack_every, ack_request_every;
    uint16_t unacked;       /* responder: packets since the last ACK */
    uint16_t since_request; /* requester: packets since the last A bit */
    bool rnr_wait;          /* the requester waits for its RNR timer */
    bool nak_sent;          /* the responder has asked for what is missing */
    bool trail;             /* an acknowledgement waits behind responses */
    bool response_turn;     /* responses and requests take turns */
    bool adaptive;          /* rto_ps is not always rto_max_ps */
    struct selective *selective;

    /* line 1: requester */
    uint32_t una, nxt, high, post; /* PSN: oldest not acknowledged, next, highest sent + 1, next to be posted */
    uint32_t sq_head, sq_cur, sq_tail, sq_mask;
    struct nic_wr *sq;
    uint64_t offset;               /* of the next packet in work request sq_cur */
    uint64_t una_bytes, nxt_bytes; /* request payload before una, before nxt */

    /* line 2: requester, pacing */
    ps_t rto_at, rto_ps;
    ps_t next_tx;
    ps_t last_start;      /* of the packet whose end next_tx is */
    uint64_t ps_per_byte; /* 32 fraction bits; 0: not paced */
    uint32_t window;
    uint32_t reads_out; /* READs and atomics among work requests sq_head .. sq_cur */
    uint32_t last_bytes;
    uint32_t fraction; /* of a picosecond, carried */
    uint8_t max_read, retry_left, rnr_left, retry, rnr_retry, access;
    bool implied; /* responses after a gap were asked for again, at implied_psn */
    bool attend;  /* requester_attend() has something to look after when work requests complete */

    /* line 3 and more */
    struct cc cc;
    uint64_t paced_bps;
    ps_t rnr_at;
    uint64_t post_bytes;
    uint8_t free_naks;       /* sequence NAKs since the last that made progress or cost a retry */
    uint32_t rnr_psn;        /* with rnr_wait: what was refused */
    uint64_t given_up_bytes; /* part of una_bytes: of requests that failed or were flushed */
    uint32_t implied_psn;
    uint32_t read_again_psn; /* where a READ was last asked for again, not from its beginning */
    uint32_t sq_size, pd, qkey;

    /* responder */
    _Alignas(64) uint32_t epsn; /* expected */
    uint32_t msn;
    uint8_t rx_verb; /* enum rx_verb: message in progress */
    uint8_t min_rnr_timer;
    uint8_t failing;   /* enum nic_status: a fatal NAK waits behind responses */
    bool recv_held;    /* `recv` was taken from its queue and is not completed */
    bool drop_message; /* UC: until the next first packet */
    bool repeats;      /* requester: what is missing alone is sent again (selective, and the peer keeps the rest) */
    uint8_t naks;      /* in the control queue */
    uint8_t mark;      /* of its requests: NIC_MARK_REQUEST and the connection's bits */
    uint8_t peer_mark; /* of its peer's */
    uint32_t ack_id;   /* an ACK still in the control queue that may be merged with the next */
    uint32_t nak_id;   /* the newest NAK still in the control queue, or PKT_NONE */
    uint32_t resource_next, resource_tail;
    uint64_t rx_va, rx_left, rx_got;
    uint32_t rx_rkey;
    uint32_t message_psn; /* where the message in progress began */
    ps_t cnp_next, nak_next;
    ps_t cnp_due; /* a mark waits for cnp_next; else PS_NEVER */
    struct nic_resource *resource;
    uint32_t resource_mask, resource_size, accept_reads;
    struct answer trailing; /* with `trail` */
    struct nic_recv recv;
    uint32_t rq_head, rq_tail, rq_mask, rq_size;
    struct nic_recv *rq;
    struct nic_srq *srq;
    struct nic_cq *send_cq, *recv_cq;
    void *app;
    uint32_t recv_done_psn; /* epsn when a receive was last completed */
    uint32_t response_psn;  /* of the response that last completed a READ or atomic of ours */
    /* adaptive retransmission */
    ps_t rto_max_ps, adaptive_ps;
    ps_t waited_ps;                        /* in timeouts, since something was last acknowledged */
    uint8_t adaptive_each, adaptive_count; /* timeouts of one length, and so far */
    /* what a connection in order never touches */
    ps_t patience_ps, patience_until, patience_at; /* patience.c; PS_NEVER: nobody waits */
    uint32_t patience_psn;
    uint32_t locals;    /* work requests of the queue that end without a packet: unsent.c */
    uint32_t drain_psn; /* NIC_SQD: where what was begun ends */
    bool drain_told;
    bool established;  /* NIC_EVENT_COMM_EST has been made */
    bool held;         /* its timer runs though nothing is under way: see requester_hold() */
    bool shut;         /* it has data, and congestion control's window is closed */
    bool listed;       /* free, and in the list of free places */
    bool inconsistent; /* QP_CHECK: its books are wrong */
    uint16_t events;   /* bits by enum nic_event_kind */
    uint32_t event_prev, event_next;
    uint32_t free_prev; /* with ready_next: the list of free places */
    uint64_t resent_packets;
};
_Static_assert(offsetof(struct nic_qp, una) == 64 && offsetof(struct nic_qp, cc) == 192, "lines as described");

struct heap_entry {
    ps_t at;
    uint32_t qp;
};

struct heap_of_qps {
    struct heap_entry *entry;
    ps_t first; /* time of entry[0]; PS_NEVER when empty */
    uint32_t count;
};

struct packet_list { /* linked by pkt.next */
    pkt_t head, tail;
};

struct qp_list { /* linked by nic_qp.ready_next */
    uint32_t head, tail;
};

/* Why a port that had nothing to give is idle though there is data. */
enum nic_idle { NIC_IDLE_OTHERWISE, NIC_IDLE_RATE, NIC_IDLE_FETCH };

struct nic {
    struct nic_qp *qp;
    uint16_t paused, control_mask, ready_mask; /* a bit for each priority */
    uint16_t stopped;                          /* those paused; all of them while payload is fetched */
    bool sent_more;                            /* something is to be done after a packet was sent: qp_tx */
    uint8_t last_prio;
    bool starved;           /* nic_tx had nothing to give: pacing times are deadlines now ... */
    uint8_t idle;           /* ... and why it had none though there is data: enum nic_idle */
    uint8_t extension_mask; /* 0 when extended headers take no room */
    ps_t pause_next;        /* earliest end of a pause */
    ps_t pause_deadline;    /* the earliest of it and the slow receiver's times */
    struct heap_of_qps heap[2];
    struct packet_list control[NIC_PRIOS];
    struct qp_list ready[NIC_PRIOS];
    struct nic_config config;
    uint32_t qps;   /* alive */
    uint32_t helds; /* QPs that are held */
    uint32_t shut;  /* QPs whose window congestion control has closed */
    ps_t idle_since;
    bool link_down;
    bool inconsistent; /* some QP is */
    uint32_t control_count;
    ps_t cnp_next; /* of the adapter */
    ps_t paused_until[NIC_PRIOS], paused_since[NIC_PRIOS];
    /* slow receiver */
    struct rate rx_rate;
    uint64_t rx_level;
    ps_t rx_level_at, rx_resume_at, rx_refresh_at;
    uint16_t rx_paused;
    /* the bus; fetch.c */
    struct rate tx_rate;
    ps_t fetch_at; /* payload of the next packet is there; PS_NEVER: it is */
    uint32_t mrs, mr_mask;
    struct nic_mr *mr;  /* open addressing; a slot that is not live is empty */
    uint32_t *qpn_hash; /* index + 1 of QPs whose number is not first_qpn + index */
    uint32_t qpn_hash_mask;
    char *beside;              /* [max_qps] a struct cc_path with telemetry, or config.cc_state_bytes; or NULL */
    struct rtt_stamps *stamps; /* [max_qps] with config.rtt, else NULL */
    /* free places of the QP table: those never used from `fresh` up, then the list, oldest first */
    uint32_t fresh, free_head, free_tail, free_count;
    uint32_t foreign; /* no place from here up is free */
    uint32_t event_head, event_tail;
    struct nic_srq *srq_event;
    struct nic_cq *cq_event;
    struct nic_counters counters;
    struct credit_port credit;
    struct { /* the QP_CHECK that failed last */
        const char *file, *what;
        int line;
    } failed_check;
};

static inline uint32_t psn_wide(uint32_t psn, uint32_t near)
{
    return near + (uint32_t)((int32_t)((psn - near) << 8) >> 8);
}

static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

static inline struct nic_wr *wr_at(const struct nic_qp *qp, uint32_t index)
{
    return &qp->sq[index & qp->sq_mask];
}

/* Payload the request itself carries: READs and atomics have none. */
static inline uint64_t wr_payload(const struct nic_wr *wr)
{
    return wr->verb < NIC_READ ? wr->length : 0;
}

#define WR_DOOMED 0x80u /* in nic_wr.verb: its payload cannot be read */
/* Ends without a packet (unsent.c). */
static inline bool wr_local(const struct nic_wr *wr)
{
    return wr->verb >= NIC_BIND_MW;
}

/* What happened to a priority, or to a queue pair of it, for whoever watches. */
static inline void nic_note(const struct nic *nic, enum record_event_kind kind, unsigned prio, uint64_t a, uint32_t b,
                            ps_t now)
{
    record_note(nic->config.events, (struct record_event){.at = now,
                                                          .a = a,
                                                          .b = b,
                                                          .port = nic->config.event_port,
                                                          .priority = (uint8_t)prio,
                                                          .kind = (uint8_t)kind});
}

static inline void stopped_set(struct nic *nic)
{
    nic->stopped = nic->fetch_at == PS_NEVER ? nic->paused : UINT16_MAX;
}

static inline void drop(struct nic *nic, pkt_t id, enum nic_drop why, struct nic_io *io)
{
    nic->counters.drop[why]++;
    pktpool_put(io->pool, id);
}

/* fetch.c: a packet left, and the payload of the next is being fetched; that is there */
void fetch_begin(struct nic *nic, const struct pkt *p, ps_t now);
void fetch_end(struct nic *nic);
/* pace.c */
void heap_set(struct nic *nic, enum heap_kind kind, struct nic_qp *qp, ps_t at); /* enters or moves */
void heap_remove(struct nic *nic, enum heap_kind kind, struct nic_qp *qp);
static inline ps_t heap_first(const struct nic *nic, enum heap_kind kind)
{
    return nic->heap[kind].first;
}
/* A timer of the QP wants to run at `at`; what is already due earlier stays. */
static inline void timer_arm(struct nic *nic, struct nic_qp *qp, ps_t at)
{
    uint32_t slot = qp->heap_slot[HEAP_TIMER];
    if (slot == 0 || nic->heap[HEAP_TIMER].entry[slot - 1].at > at) heap_set(nic, HEAP_TIMER, qp, at);
}
void ready_push(struct nic *nic, struct nic_qp *qp);
void ready_remove(struct nic *nic, struct nic_qp *qp);
struct nic_qp *ready_pop(struct nic *nic, unsigned prio);
/* Something of the QP may have become sendable. */
void nic_wake(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);
/* The port is idle, for another reason perhaps than until now; it is no longer. */
void idle_because(struct nic *nic, ps_t now);
void idle_over(struct nic *nic, ps_t now);
void shut_end(struct nic *nic, struct nic_qp *qp); /* its window is open again, or it has nothing any more */
void pace_release(struct nic *nic, ps_t now);      /* what is due becomes ready */
void pace_sent(struct nic *nic, struct nic_qp *qp, uint32_t frame_bytes, ps_t now);
void pace_rate(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io); /* after any call of cc_ */
void timers_run(struct nic *nic, ps_t now, struct nic_io *io);

/* nic.c */
void control_push(struct nic *nic, pkt_t id, unsigned prio, struct nic_io *io);
struct nic_qp *qp_find(struct nic *nic, uint32_t qpn);
/* A blank packet of this adapter to a peer. */
static inline void packet_begin(const struct nic *nic, struct pkt *p, uint8_t opcode, uint32_t dst, uint32_t dest_qp)
{
    *p = (struct pkt){.kind = PKT_ROCE,
                      .opcode = opcode,
                      .flags = (uint16_t)(PKT_MIGRATED | (nic->config.tagged ? PKT_TAGGED : 0)),
                      .ttl = nic->config.ttl,
                      .net = nic->config.net,
                      .dest_qp = dest_qp,
                      .src_node = nic->config.endpoint,
                      .dst_node = dst};
}
static inline uint16_t frame_of(const struct nic *nic, uint8_t opcode, uint32_t payload, uint32_t pad)
{
    return (uint16_t)(nic->config.header_bytes + (opcode_info(opcode)->header_bytes & nic->extension_mask) + payload +
                      (pad & nic->extension_mask));
}

/* qp.c */
/*
 * CHECK for the state of one QP, where a peer's bytes lead: our own code rules it out as well, but were it wrong, one
 * packet would end the program.  False: the QP sends and takes nothing more from here on; the caller returns, and
 * qp_settle() at the end of the call ends the QP.  What all QPs share (lists, heaps, the pool) stays with CHECK.
 */
#define QP_CHECK(nic, qp, cond)                                                                                        \
    (__builtin_expect(!!(cond), 1) ? true : qp_inconsistent(nic, qp, __FILE__, __LINE__, #cond))
__attribute__((cold)) bool qp_inconsistent(struct nic *nic, struct nic_qp *qp, const char *file, int line,
                                           const char *what); /* answers false */
__attribute__((cold)) void qp_end_inconsistent(struct nic *nic, struct nic_io *io);
static inline void qp_settle(struct nic *nic, struct nic_io *io)
{
    if (__builtin_expect(nic->inconsistent, 0)) qp_end_inconsistent(nic, io);
}
/* The oldest work request failed: complete it so, flush the rest, and stop (UC, UD: stop sending). */
void qp_fail_send(struct nic *nic, struct nic_qp *qp, enum nic_status status, ps_t now, struct nic_io *io);
void qp_fail_recv(struct nic *nic, struct nic_qp *qp, enum nic_status status, ps_t now, struct nic_io *io);
void qp_error(struct nic *nic, struct nic_qp *qp, struct nic_io *io);
void qp_send_error(struct nic *nic, struct nic_qp *qp, struct nic_io *io); /* NIC_SQE (UC, UD): sends are flushed */

/* cq.c */
void complete_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr, enum nic_status status,
                   struct nic_io *io);
void complete_recv(struct nic *nic, struct nic_qp *qp, const struct nic_cqe *cqe, struct nic_io *io);

/* srq.c: takes the next receive into qp->recv (from the SRQ or the QP's own queue); false: none */
bool recv_take(struct nic *nic, struct nic_qp *qp);

/* mr.c */
enum verdict mr_check(const struct nic *nic, const struct nic_qp *qp, uint32_t key, uint64_t va, uint64_t bytes,
                      uint8_t right);
/* Is the key good for this, still?  Asked for each packet that touches memory: keys may go at any time. */
static inline enum verdict key_check(const struct nic *nic, const struct nic_qp *qp, uint32_t key, uint64_t va,
                                     uint64_t bytes, uint8_t right)
{
    return __builtin_expect(nic->config.any_key, 1) ? DONE : mr_check(nic, qp, key, va, bytes, right);
}
bool mr_invalidate(struct nic *nic, const struct nic_qp *qp, uint32_t key, bool remote);
bool mr_bind(struct nic *nic, const struct nic_qp *qp, const struct nic_wr *wr);

/* event.c */
void event_qp(struct nic *nic, struct nic_qp *qp, enum nic_event_kind kind);
void event_forget_qp(struct nic *nic, struct nic_qp *qp);
void event_srq(struct nic *nic, struct nic_srq *srq);
void event_cq(struct nic *nic, struct nic_cq *cq);

/* unsent.c */
/* Work requests may have completed: what ends without a packet may be next, or the queue drained. */
void requester_attend(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);
void requester_drain(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io); /* NIC_SQD begins */

/* requester.c */
bool requester_may_begin(const struct nic_qp *qp, const struct nic_wr *wr); /* READ limit, fence */
/* Bytes under way: not known to have arrived, where a receiver that waits for gaps tells what has (reorder.c).  Full
 * packets are assumed among those. */
static inline uint64_t selective_in_flight(const struct nic_qp *qp)
{
    uint64_t sent = qp->nxt_bytes - qp->una_bytes;
    uint64_t there = qp->selective && qp->selective->window ? (uint64_t)qp->selective->sacked_count * qp->mtu : 0;
    return sent > there ? sent - there : 0;
}
static inline bool requester_can_send(const struct nic_qp *qp)
{
    if (qp->state != NIC_RTS || qp->rnr_wait) {
        /* NIC_SQD: what was begun is brought to its end */
        if (qp->state != NIC_SQD || qp->rnr_wait || psn_diff(qp->drain_psn, qp->nxt) <= 0) return false;
    }
    if (qp->selective && qp->selective->resend_count) return true;
    if (qp->nxt == qp->post || qp->nxt - qp->una >= qp->window) return false;
    if (qp->nxt_bytes - qp->una_bytes >= qp->cc.window_bytes && selective_in_flight(qp) >= qp->cc.window_bytes)
        return false;
    const struct nic_wr *wr = wr_at(qp, qp->sq_cur);
    return (wr->verb < NIC_READ && !(wr->flags & NIC_FENCE)) || requester_may_begin(qp, wr);
}
pkt_t requester_tx(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);
/* Fills p with the packet of work request wr that begins at `offset`; answers its payload. */
uint32_t request_fill(struct nic *nic, struct nic_qp *qp, struct pkt *p, const struct nic_wr *wr, uint32_t psn,
                      uint64_t offset, struct nic_io *io, pkt_t id);
void requester_ack(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io);
void requester_response(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io);
/* Everything before `upto` is acknowledged; stops at a READ that is not answered and answers false. */
bool requester_advance(struct nic *nic, struct nic_qp *qp, uint32_t upto, ps_t now, struct nic_io *io);

/* requester_retry.c */
void requester_back_to(struct nic_qp *qp, uint32_t psn);
void requester_nak(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io);
void requester_timer_anew(struct nic_qp *qp); /* adaptive retransmission: something was acknowledged */
void requester_implied(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);
void requester_timeout(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);
/* It cannot send (the link is down, or it is to repeat and is paused): the timer runs all the same. */
void requester_hold(struct nic *nic, struct nic_qp *qp, ps_t now);
/* The link went down or came up, or a pause of its priority is over. */
void requester_held(struct nic *nic, struct nic_qp *qp, bool up, ps_t now);
void requester_rnr_over(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);
void selective_forget(struct nic_qp *qp, uint32_t from, uint32_t to);
/* False: there is none, against what the count says. */
bool selective_next(struct nic *nic, struct nic_qp *qp, uint32_t *ret_psn, uint32_t *ret_index);
void selective_release(struct nic *nic, struct nic_qp *qp, struct nic_io *io);
void selective_also(struct nic_qp *qp, const struct pkt *p); /* NIC_MARK_ALSO */

/* responder.c */
void responder_rx(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io);
enum verdict responder_execute(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io);
/* Answers with an ACK or NAK, in the packet given (taken over), or in a new one when id is PKT_NONE. */
void responder_answer(struct nic *nic, struct nic_qp *qp, pkt_t id, const struct answer *answer, struct nic_io *io);
/* A request of no known operation. */
void responder_reserved(struct nic *nic, struct nic_qp *qp, pkt_t id, struct nic_io *io);
void responder_forget_kept(struct nic *nic, struct nic_qp *qp, struct nic_io *io);
void responder_kept(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);

/* Asks for the packets from..to-1 and acknowledges nothing; false: too many NAKs wait, or there is no packet. */
bool responder_gap(struct nic *nic, struct nic_qp *qp, uint32_t from, uint32_t to, struct nic_io *io);

/* Acknowledges what is in order, and says that psn came too. */
void responder_also(struct nic *nic, struct nic_qp *qp, uint32_t psn, bool marked, struct nic_io *io);

/* reorder.c */
/* After a gap; id PKT_NONE: it could not be kept. */
void reorder_arrived(struct nic *nic, struct nic_qp *qp, pkt_t id, uint32_t psn, ps_t now, struct nic_io *io);
/* A message found no receive.  True: it is not refused yet, and to be dropped. */
bool patience_begin(struct nic *nic, struct nic_qp *qp, ps_t now);
void patience_due(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io); /* patience_at */
void reorder_due(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);  /* gap_at */

/* responder_read.c */
enum verdict responder_accept(struct nic *nic, struct nic_qp *qp, pkt_t id, struct nic_io *io);
/* Answers a duplicate READ or atomic again; false: not one of those it remembers. */
bool responder_replay(struct nic_qp *qp, const struct pkt *p, uint32_t psn);
/* PKT_NONE: the key of what was to be read is good no more; the QP is in error. */
pkt_t responder_tx(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io);
static inline bool responder_has_work(const struct nic_qp *qp)
{
    return qp->resource_next != qp->resource_tail;
}

static inline bool qp_has_work(const struct nic_qp *qp)
{
    return responder_has_work(qp) || requester_can_send(qp);
}

/* copy_failed.c */
/* The READ or atomic of this PSN cannot be answered, nor any after it: NAK, and the end of the QP. */
void responder_unanswerable(struct nic *nic, struct nic_qp *qp, uint32_t psn, unsigned nak_code, ps_t now,
                            struct nic_io *io);

/* ud.c */
void uc_rx(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io);
void ud_prio(struct nic *nic, struct nic_qp *qp); /* another work request is the first of its queue */
void ud_rx(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io);

/* rtt.c */
/* What congestion control has of a QP outside of it; NULL: nothing. */
void *nic_beside(const struct nic *nic, uint32_t qp);
void rtt_forget(struct rtt_stamps *stamps);
void rtt_sent(struct rtt_stamps *stamps, uint32_t psn, ps_t now); /* a packet that asks, for the first time */
/* All before una is acknowledged: the newest round trip (it stands for so many packets), or 0. */
ps_t rtt_acked(struct rtt_stamps *stamps, uint32_t una, ps_t now, uint32_t *ret_packets);

/* pause.c */
/* credit.c */
void nic_credit_init(struct nic *nic);
void pause_set_deadline(struct nic *nic);
/* Without an end; `counts`: the time is counted. */
void pause_begin(struct nic *nic, unsigned prio, bool counts, ps_t now);
void pause_end(struct nic *nic, unsigned prio, ps_t now);
void pause_expire(struct nic *nic, ps_t now);
bool receive_admit(struct nic *nic, const struct pkt *p, unsigned prio, ps_t now, struct nic_io *io);
void receive_drain(struct nic *nic, ps_t now, struct nic_io *io);
/* How long what the slow receiver holds will take it, as of the last packet. */
ps_t receive_delay(const struct nic *nic);
/* The same of at most so many bytes, as of now. */
ps_t receive_ahead(struct nic *nic, uint64_t most, ps_t now);

/* notify.c */
void notify_marked(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io);
void notify_due(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io); /* cnp_due has come */

#endif
