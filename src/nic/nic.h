/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RoCE adapter: one port, its queue pairs, completion queues and memory keys; a machine without
 * I/O.
 *
 * The same object code runs in the simulator and live.  It is given packets (nic_rx), asked for the
 * next packet when its port is free (nic_tx: arbitration, pacing and pause state answer), told of
 * pauses (nic_pause) and called at the deadline it named (nic_tick).  Payload never enters: nic_tx
 * answers where the payload is to be gathered, nic_rx where it is to be placed; the simulator
 * ignores both.  A completion is in its queue when the call returns; live performs the placements
 * of the call before it lets the application see it.
 *
 * Memory is brought by whoever creates an object.  No clock, no allocation, no floating point.
 */
#ifndef ROCELAB_NIC_NIC_H
#define ROCELAB_NIC_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/credit_port.h"
#include "base/time.h"
#include "nic/cc/cc.h"
#include "nic/counters.h"
#include "nic/recovery.h"
#include "packet/pkt.h"
#include "packet/pktpool.h"

#define NIC_PRIOS 8

enum nic_transport { NIC_RC, NIC_UC, NIC_UD };
enum nic_state { NIC_RESET, NIC_INIT, NIC_RTR, NIC_RTS, NIC_SQD, NIC_SQE, NIC_ERROR };

enum nic_verb {
    NIC_SEND,
    NIC_SEND_IMM,
    NIC_SEND_INV,
    NIC_WRITE,
    NIC_WRITE_IMM,
    NIC_READ,
    NIC_CAS,
    NIC_FETCH_ADD,
    NIC_BIND_MW, /* these two make no packets: done when all before them is complete, before all after them begins */
    NIC_LOCAL_INV,
    NIC_VERBS
};

/* work completion statuses, with the names of verbs */
#define NIC_STATUS_LIST(X)                                                                                             \
    X(SUCCESS, "success")                                                                                              \
    X(LOC_LEN_ERR, "local length error")                                                                               \
    X(LOC_QP_OP_ERR, "local QP operation error")                                                                       \
    X(LOC_PROT_ERR, "local protection error")                                                                          \
    X(WR_FLUSH_ERR, "work request flushed")                                                                            \
    X(REM_INV_REQ_ERR, "remote invalid request")                                                                       \
    X(REM_ACCESS_ERR, "remote access error")                                                                           \
    X(REM_OP_ERR, "remote operation error")                                                                            \
    X(RETRY_EXC_ERR, "retries exceeded")                                                                               \
    X(RNR_RETRY_EXC_ERR, "RNR retries exceeded")                                                                       \
    X(MW_BIND_ERR, "memory window bind error")                                                                         \
    X(BAD_RESP_ERR, "bad response")

enum nic_status {
#define X(id, text) NIC_##id,
    NIC_STATUS_LIST(X)
#undef X
        NIC_STATUSES
};
const char *nic_status_name(unsigned status);

#define NIC_SIGNALED 1u
#define NIC_SOLICITED 2u
#define NIC_FENCE 4u /* waits until READs and atomics before it are answered */

#define NIC_LENGTH_MAX (1ULL << 31) /* of a message: the specification's limit */

struct nic_wr { /* a send work request; kept in the QP's ring until completed */
    uint64_t wr_id;
    uint64_t local; /* the caller's word for the gather list (live: its first SGE; simulator: anything) */
    uint64_t remote_va;
    uint64_t length;
    union {
        struct {
            uint64_t compare, swap; /* atomics; swap is the addend of FETCH_ADD */
        };
        struct {
            uint32_t mw_key, new_key; /* BIND_MW: the window's present key, and the one after; range: remote_va, length
                                       * (0: the window is bound to nothing); region: rkey; rights: imm */
        };
    };
    uint32_t rkey;
    uint32_t imm;                 /* or the key to invalidate (SEND_INV, LOCAL_INV) */
    uint32_t dest, dest_qp, qkey; /* UD: endpoint, QP, key */
    uint8_t verb, flags;
    uint8_t prio, tos; /* UD: priority, DSCP << 2; of other transports the QP's count */
    /* the adapter's, written when posted */
    uint32_t first_psn, last_psn; /* not cut to 24 bits */
    uint64_t stream;              /* request payload posted on this QP before it */
};

struct nic_recv {
    uint64_t wr_id;
    uint64_t local;
    uint64_t length; /* room */
};

struct nic_cqe {
    uint64_t wr_id;
    uint64_t bytes;
    uint32_t qpn, src_qp, imm; /* src_qp: UD; imm: or the key invalidated */
    uint32_t src;              /* UD: endpoint */
    uint8_t status, verb;      /* verb of a receive: SEND* or WRITE_IMM, as sent */
    bool receive, has_imm, invalidated, solicited;
    uint8_t net; /* UD: enum pkt_net of the packet */
    bool own_id; /* the owner's, false when made: it has put its own wr_id in */
};

struct nic_cq { /* the caller's ring; power of two */
    struct nic_cqe *slot;
    uint32_t mask, head, tail; /* NIC writes at tail, owner reads at head */
    bool overrun;              /* a completion found no room and was lost */
    bool event_waits;          /* the adapter's: an overrun that nic_event_next() has not told yet */
    struct nic_cq *event_next;
};
void nic_cq_init(struct nic_cq *cq, struct nic_cqe *slot, uint32_t size);
/* The next completion, or NULL; valid until the next poll. */
static inline const struct nic_cqe *nic_cq_poll(struct nic_cq *cq)
{
    return cq->head == cq->tail ? NULL : &cq->slot[cq->head++ & cq->mask];
}

struct nic_srq { /* a shared receive queue: the caller's ring; power of two */
    struct nic_recv *slot;
    uint32_t mask, head, tail; /* NIC takes at head */
    uint32_t limit;            /* an event when fewer are left, once; 0: unarmed */
    bool event_waits;          /* the adapter's */
    struct nic_srq *event_next;
};
void nic_srq_init(struct nic_srq *srq, struct nic_recv *slot, uint32_t size);
int nic_srq_post(struct nic_srq *srq, const struct nic_recv *recv); /* 0, -ENOMEM: full */

#define NIC_REMOTE_WRITE 1u
#define NIC_REMOTE_READ 2u
#define NIC_REMOTE_ATOMIC 4u
#define NIC_REMOTE_ALL 7u
#define NIC_LOCAL_WRITE 8u /* of a region: asked for when a window with REMOTE_WRITE or REMOTE_ATOMIC is bound to it */
#define NIC_MW_BIND 16u    /* of a region: windows may be bound to it */
#define NIC_REMOTE_INVALIDATE 32u /* of a region: the peer of a QP in its pd may end it (SEND_INV) */
struct nic_mr {                   /* a region, or a window onto one */
    uint64_t va, bytes;
    uint32_t key, pd;
    uint32_t qpn;    /* type-2 window: the only QP that may use it; 0: any of the pd */
    uint32_t parent; /* window: key of the region it is bound to; 0: a region, or a window not bound */
    uint8_t rights;
    bool live;
    bool window; /* may have no bytes: not bound */
    bool fixed;  /* region: LOCAL_INV is refused, and SEND_INV whatever its rights */
    bool type2;  /* window: bound to the QP that binds it, invalidated by its LOCAL_INV and its peer's SEND_INV */
};

/* A READ or atomic that the responder has accepted: answered, or kept to be answered again. */
struct nic_resource {
    uint64_t va;
    uint64_t original; /* atomics */
    uint64_t length;
    uint32_t rkey;
    uint32_t first_psn, last_psn; /* not cut to 24 bits */
    uint32_t next_psn;            /* to be answered next */
    uint32_t stop_psn;            /* to be answered last: a requester that asks again may ask for less */
    uint64_t stop;                /* bytes of it up to there */
    uint32_t msn;
    uint8_t opcode;
    bool pending;  /* something is still to be sent */
    bool done;     /* answered to the end at least once */
    bool answered; /* since it was last asked for: the next packet of a READ is not its first */
};

struct nic_qp_config {
    uint8_t transport; /* enum nic_transport */
    uint8_t recovery;  /* enum nic_recovery; both ends alike */
    uint16_t mtu;      /* path MTU: 256 .. 4096; the simulator may ask for others */
    uint32_t remote;   /* endpoint (RC, UC) */
    uint32_t remote_qp;
    uint32_t send_psn, expect_psn;
    uint32_t qkey;
    uint16_t sport;           /* UDP source port */
    uint8_t tos, prio;        /* DSCP << 2; the priority it is paused by */
    uint8_t timeout;          /* 4.096 us * 2^timeout; 0: never */
    uint8_t retry, rnr_retry; /* 7: without end for rnr; NIC_RETRY_FOREVER for retry */
    uint8_t min_rnr_timer;
    uint8_t max_read;   /* outstanding READ and ATOMIC requests as requester; `resource` holds the responder's */
    uint8_t access;     /* NIC_REMOTE_* */
    uint16_t ack_every; /* packets an ACK at most; 1: each has its own, never merged; 0: only when asked */
    uint16_t ack_request_every; /* A bit at least every so many packets; 0: at a message's end (and window's) */
    uint32_t window_packets;    /* unacknowledged packets at most; 0: as many as PSNs allow */
    ps_t adaptive_ps;           /* adaptive retransmission: the timer begins with this; 0: `timeout` says it alone */
    uint8_t adaptive_each;      /* and doubles after so many timeouts in a row (0: 1), up to what `timeout` says */
    uint32_t pd;
    const struct cc_config *cc; /* kept by pointer; NULL: none */
    struct nic_cq *send_cq, *recv_cq;
    struct nic_wr *sq; /* rings, powers of two; sizes 0: none */
    struct nic_recv *rq;
    uint32_t sq_size, rq_size;
    struct nic_srq *srq;           /* instead of rq */
    struct nic_resource *resource; /* responder's READs and atomics; power of two; NULL: accepts none */
    uint32_t resource_size;
    uint32_t accept_reads;   /* of READs and atomics at a time, at most; resource_size limits it too */
    void *selective;         /* nic_selective_bytes(selective_size), zeroed, 8-aligned: for NIC_SELECTIVE */
    uint32_t selective_size; /* packets that may be missing, sent and kept: a power of two, 64 or more */
    uint32_t reorder_window; /* NIC_SELECTIVE: a gap is no loss until a packet comes this far ahead of it ... */
    ps_t rnr_patience_ps;    /* RC: a message without a receive is not refused before; 0: at once */
    ps_t reorder_ps;         /* ... or it is this old: more than a round trip.  0: a gap is a loss at once */
    bool born_reset;         /* created in NIC_RESET, not connected: nic_qp_connect() follows */
    void *app;               /* the owner's */
};
#define NIC_RETRY_FOREVER 255u
size_t nic_selective_bytes(uint32_t packets);

/*
 * NIC_SELECTIVE: pkt.mark, what adapters of ours tell each other; with all others it is go-back-N.  Theirs is 0
 * (volume 1, 9.2: reserved).  No request has the mark of a response, so one who copies what came into its answer says
 * nothing by it.
 *
 * Of a request: it may be kept ahead of its turn, and NAKs that name packets are understood.  Five bits are the
 * connection's own, made of its first PSN and queue pair number, which both ends know and a stranger does not.
 */
#define NIC_MARK_REQUEST 0x60u
#define NIC_MARK_REQUEST_BITS 0x1fu
/* Of a response, in version 1 of what they mean; another version takes the next eight. */
#define NIC_MARK_OURS 0x41u /* nothing else */
/* A NAK: the trigger is where the AETH has the MSN, and was kept or not. */
#define NIC_MARK_KEPT 0x42u
#define NIC_MARK_NOT_KEPT 0x43u
/* A NAK: all from its PSN up to the trigger is missing; it acknowledges nothing (reorder.c). */
#define NIC_MARK_GAP 0x44u
/* An ACK: the trigger has arrived too, out of order. */
#define NIC_MARK_ALSO 0x45u

#define NIC_AS_QP 255u /* acknowledgements travel in the class of their QP */

struct nic_config {
    uint64_t line_bps;
    uint32_t endpoint; /* pkt.src_node of what it sends */
    uint32_t max_qps, max_mrs;
    uint32_t first_qpn;           /* QPs that ask for no number get it from here on */
    uint16_t header_bytes;        /* frame without extended headers and payload: Ethernet .. BTH, and ICRC */
    bool fixed_headers;           /* model hpcc-ns3: extended headers and pads take no room */
    uint16_t ack_frame_bytes;     /* of ACK, NAK and CNP; 0: as their headers say */
    uint16_t line_overhead_bytes; /* what pacing adds to a frame: FCS, preamble, gap */
    uint8_t net, ttl;             /* enum pkt_net */
    bool tagged;                  /* 802.1Q tag with the priority; its 4 bytes are part of header_bytes */
    bool ecn;                     /* data goes out ECT(0) */
    bool any_key;                 /* memory keys are not looked up: all requests may */
    bool echo_ce;                 /* CE is echoed in each ACK (BECN) instead of CNPs */
    bool pause_forever;           /* a pause lasts until XON, whatever its quanta */
    bool pace_ns;                 /* model hpcc-ns3: pacing in whole nanoseconds; see pace_rate for rate changes */
    uint32_t cc_state_bytes;      /* congestion control keeps so much of each QP beside it: see cc_needs */
    bool telemetry;               /* ACKs carry the data packet's telemetry back; needs pool->telemetry */
    bool rtt;                     /* round-trip times are measured: TIMELY and Swift need them */
    struct histo *rtt_ns;         /* with rtt: where they are counted, by packets; NULL: nowhere */
    uint8_t ack_tos, ack_prio;    /* NIC_AS_QP: the QP's */
    uint8_t cnp_tos, cnp_prio;
    bool cnp_off;
    bool cnp_per_nic;    /* the gap is of the whole adapter, not of each QP */
    ps_t cnp_min_gap_ps; /* dcqcn's min_time_between_cnps */
    bool cnp_remember;   /* a mark within that time makes a CNP at its end, as published; else it makes none */
    ps_t nak_repeat_ps;  /* a sequence NAK is repeated after this time if the gap is still there; 0: never */
    uint8_t free_naks; /* after so many sequence NAKs without progress one costs a retry: where the network doubles and
                            * delays packets, NAKs would use up all retries in no time.  0: each costs one */
    /* A slow receiver: what arrives is drained at rx_bps from a buffer.  0: as fast as it comes. */
    uint64_t rx_bps;
    uint32_t rx_buffer_bytes, rx_xoff_bytes, rx_xon_bytes;
    uint16_t rx_pause_quanta;
    /* A bus that is slow to fetch what is sent: packets with payload leave no faster.  0: as fast as the line. */
    uint64_t tx_bps;
    uint32_t tx_behind_bytes; /* fetching waits for up to so much of what arrived and is not drained; 0: for none */
    struct credit_port_config credit; /* instead of pauses; credit.c */
    uint16_t event_port;              /* the port that events name */
    struct record_ring *events;       /* where they are noted (record/event.h); NULL: nowhere */
};
/* RoCEv2 over IPv4, keys checked, CNPs of class 48/6 at least 4 us apart; 8 QPs, no memory regions. */
struct nic_config nic_config_default(uint64_t line_bps, uint32_t endpoint);
/* What congestion control needs of an adapter that has it, among peers that may need more (cc_needs of all of them
 * together): the one way from there to ecn, cnp_*, echo_ce, rtt and telemetry. */
void nic_config_cc(struct nic_config *config, const struct cc_config *cc, const struct cc_needs *peers);
/* The HPCC ns-3 model: 48 (with telemetry 90) header bytes, ACKs of 60 (88), CE echoed, pauses without end. */
struct nic_config nic_config_hpcc_ns3(uint64_t line_bps, uint32_t endpoint, bool telemetry);
/* RC, go-back-N, MTU 1024, timeout 14, retry 7, RNR 7, ACK each packet asked for or 16 without, no rings. */
struct nic_qp_config nic_qp_config_default(void);

enum nic_place { NIC_PLACE_NONE, NIC_PLACE_RECV, NIC_PLACE_MEMORY, NIC_PLACE_READ, NIC_PLACE_ATOMIC };

struct nic_io { /* needed and answered by each call; flags and pauses are only ever set: the caller clears them */
    struct pktpool *pool;
    bool kick;                  /* ask nic_tx again (when the port is free) */
    bool completed;             /* something went into a completion queue */
    ps_t deadline;              /* earliest nic_tick wanted, as of this call; PS_NEVER: none */
    struct {                    /* nic_tx: payload of the packet it answered; bytes 0: none */
        uint64_t local, offset; /* a READ response is gathered from va `local`, key `rkey` */
        uint32_t bytes, rkey;
        uint32_t qpn; /* whose packet it is */
        bool read;    /* from memory by key */
    } gather;
    struct { /* nic_rx: where the payload goes */
        uint64_t local, va, offset;
        uint32_t bytes, rkey;
        uint8_t kind;      /* enum nic_place */
        uint64_t original; /* NIC_PLACE_ATOMIC: the 8 bytes */
    } place;
    struct { /* nic_rx: an atomic to perform; then nic_atomic_done() before the next call */
        uint64_t va, compare, swap;
        uint32_t qpn, slot;
        uint8_t verb; /* NIC_CAS or NIC_FETCH_ADD; 0: none */
    } atomic;
    /* Selective repeat: a packet's payload waits with it for those before it.  A caller that has payload keeps that of
     * `keep`, by that number, for as long as the packet is the adapter's.  When `kept` is next, the caller notes
     * pool->hot[kept] and calls nic_rx_kept(), which answers as nic_rx() for that packet, until none is named. */
    pkt_t keep, kept; /* PKT_NONE: none */
    /* PFC frames this adapter wants to send (slow receiver): 0, or 1 with what it says */
    uint32_t pauses;
    uint8_t pause_enable;
    uint16_t pause_quanta;      /* 0: resume */
    struct credit_words credit; /* to be sent */
};

/* asynchronous events (volume 1, 11.6.3) */
enum nic_event_kind {
    NIC_EVENT_NONE,
    NIC_EVENT_QP_FATAL,   /* the QP failed for a local reason that no completion tells */
    NIC_EVENT_QP_REQUEST, /* a peer's request was invalid: the QP is in error */
    NIC_EVENT_QP_ACCESS,  /* a peer's request was refused for its key, range or rights: the QP is in error */
    NIC_EVENT_COMM_EST,   /* a packet came while the QP was in NIC_RTR */
    NIC_EVENT_SQ_DRAINED, /* NIC_SQD: all that was begun is complete */
    NIC_EVENT_LAST_WQE,   /* in error, with an SRQ: no more receives of it will complete */
    NIC_EVENT_SRQ_LIMIT,  /* fewer than srq->limit are left; the limit is 0 again */
    NIC_EVENT_CQ_OVERRUN,
    NIC_EVENTS
};
struct nic_event {
    uint8_t kind; /* enum nic_event_kind */
    uint32_t qpn;
    struct nic_srq *srq;
    struct nic_cq *cq;
};

struct histo;  /* base/histo.h */
struct nic;    /* opaque: nic_int.h */
struct nic_qp; /* opaque: nic_int.h */

size_t nic_memory_bytes(const struct nic_config *config);
/* Memory is zeroed, cache-line aligned, and outlives the adapter.  The configuration is copied. */
struct nic *nic_init(void *memory, const struct nic_config *config);

/* qpn 0: the adapter's choice, not one that was free a moment ago.  Born in NIC_RTS (RC, UC: connected as the
 * configuration says), or in NIC_RESET (born_reset).  The configuration is copied, what it points to is kept.
 * -EINVAL, -ENOMEM (no QP left), -EEXIST. */
int nic_qp_create(struct nic *nic, uint32_t qpn, const struct nic_qp_config *config, ps_t now, struct nic_qp **ret);
void nic_qp_destroy(struct nic *nic, struct nic_qp *qp, struct nic_io *io);
/* NIC_ERROR flushes, NIC_RESET forgets; towards NIC_RTS one step at a time or, for the simulator, at once.  NIC_SQD is
 * entered from NIC_RTS and left to it: what was begun is finished, then NIC_EVENT_SQ_DRAINED comes.  NIC_SQE is
 * entered by errors alone (UC, UD) and left to NIC_RTS.  -EINVAL: no such step. */
int nic_qp_modify(struct nic *nic, struct nic_qp *qp, enum nic_state state, ps_t now, struct nic_io *io);
/* Connects (again): remote side, PSNs, MTU and the like from config; in NIC_RESET or NIC_INIT only.  Rings and queues
 * stay, but for `resource`, which may be another one (resource_size 0: as it is). */
int nic_qp_connect(struct nic *nic, struct nic_qp *qp, const struct nic_qp_config *config, ps_t now);
/* Changes what the mask names, to what config says; in any state but NIC_ERROR (NIC_SET_SEND_PSN: before NIC_RTS). */
#define NIC_SET_TIMEOUT (1u << 0)
#define NIC_SET_RETRY (1u << 1)
#define NIC_SET_RNR_RETRY (1u << 2)
#define NIC_SET_MIN_RNR (1u << 3)
#define NIC_SET_ACCESS (1u << 4)
#define NIC_SET_QKEY (1u << 5)
#define NIC_SET_PATH (1u << 6) /* remote, sport, tos */
#define NIC_SET_MAX_READ (1u << 7)
#define NIC_SET_SEND_PSN (1u << 8)
#define NIC_SET_PD (1u << 9)
#define NIC_SET_RNR_PATIENCE (1u << 10)
int nic_qp_update(struct nic *nic, struct nic_qp *qp, const struct nic_qp_config *config, uint32_t mask, ps_t now,
                  struct nic_io *io);
/* A receive that was taken from its queue and is not completed; false: none. */
bool nic_qp_held(const struct nic_qp *qp, uint64_t *ret_wr_id);
/* The PSN of the next new request, and the one expected. */
void nic_qp_psns(const struct nic_qp *qp, uint32_t *ret_send, uint32_t *ret_expect);

/* A number that is another one when the peer has sent a new request or acknowledged one of ours. */
uint64_t nic_qp_heard(const struct nic_qp *qp);

/* 0, -ENOMEM (ring full, or 2^30 packets posted and not acknowledged), -EINVAL (verb, length or state does not allow).
 * Sends from NIC_RTS on, receives from NIC_INIT on.  In NIC_SQD sends wait; in NIC_ERROR both, and in NIC_SQE sends,
 * are flushed at once. */
int nic_post_send(struct nic *nic, struct nic_qp *qp, const struct nic_wr *wr, ps_t now, struct nic_io *io);
int nic_post_recv(struct nic *nic, struct nic_qp *qp, const struct nic_recv *recv, ps_t now, struct nic_io *io);
/* A memory region by its key: entered, changed, or (live false) removed.  -ENOMEM: table full. */
int nic_mr_set(struct nic *nic, const struct nic_mr *mr);
const struct nic_mr *nic_mr_find(const struct nic *nic, uint32_t key);

/* Takes the packet: it is the adapter's from now on (given back to the pool, or sent again as an ACK). */
/* Such a packet is about to be given to nic_rx(): what that will touch is brought near. */
void nic_expect(const struct nic *nic, const struct pkt *packet);
void nic_expect_post(const struct nic_qp *qp); /* the same of nic_post_send() */
void nic_rx(struct nic *nic, pkt_t id, ps_t now, struct nic_io *io);
/* As nic_rx(), for the given QP whatever the packet names: a copy for a member of a multicast group. */
void nic_rx_to(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io);
/* After nic_rx() or nic_rx_kept() has named a packet in io->kept, and before any other call for that QP. */
void nic_rx_kept(struct nic *nic, uint32_t qpn, ps_t now, struct nic_io *io);
/* What nic_rx() has just asked to place (io->place as it was) could not be: the work request or receive completes with
 * NIC_LOC_PROT_ERR, RC answers NAK remote operation instead of an ACK, the QP is in error. */
void nic_place_failed(struct nic *nic, uint32_t qpn, ps_t now, struct nic_io *io);
/* What the owner keeps for this QP (payload that waits, say) does not agree with what the adapter says of it: a bug.
 * The QP goes to NIC_ERROR, with NIC_LOC_QP_OP_ERR for the work request at its head and NIC_EVENT_QP_FATAL. */
void nic_qp_inconsistent(struct nic *nic, uint32_t qpn, struct nic_io *io);
/* The next packet of the free port; PKT_NONE: nothing may go now, io->deadline says when to try again. */
pkt_t nic_tx(struct nic *nic, ps_t now, struct nic_io *io);
/* The payload of the packet that nic_tx() has just answered could not be gathered; the packet stays the caller's, who
 * does not send it.  A request: its work request completes with NIC_LOC_PROT_ERR after those before it, and the QP
 * goes to NIC_ERROR (RC) or NIC_SQE (UC, UD).  A READ response, or an atomic that
 * could not be performed (p: its response): NAK remote operation after what was asked before, NIC_ERROR. */
void nic_gather_failed(struct nic *nic, uint32_t qpn, const struct pkt *p, ps_t now, struct nic_io *io);
/* A PFC frame arrived. */
void nic_pause(struct nic *nic, uint8_t enable, const uint16_t quanta[NIC_PRIOS], ps_t now, struct nic_io *io);
/* The link went down or came up: what either side told the other about pauses is void.  While it is down the caller
 * does not ask nic_tx(); requests wait, and their timers run. */
void nic_link_changed(struct nic *nic, bool up, ps_t now, struct nic_io *io);
/* The host behind takes data at this rate from now on; 0: as fast as it comes.  Buffer, xoff and xon are the
 * configuration's at every rate. */
void nic_receive_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io);
void nic_tick(struct nic *nic, ps_t now, struct nic_io *io);
/* An adapter with credits: a packet is about to be given to nic_rx(); nic_tx() has answered one; before nic_tick(); a
 * word came; instead of nic_link_changed() and nic_receive_rate().  Words to send are in io->credit. */
void nic_credit_rx(struct nic *nic, const struct pkt *p, ps_t now, struct nic_io *io);
void nic_credit_tx(struct nic *nic, const struct pkt *p, ps_t now, struct nic_io *io);
void nic_credit_tick(struct nic *nic, ps_t now, struct nic_io *io);
void nic_credit(struct nic *nic, uint32_t word, ps_t now, struct nic_io *io);
void nic_credit_link(struct nic *nic, bool up, ps_t now, struct nic_io *io);
void nic_credit_rate(struct nic *nic, uint64_t bps, ps_t now, struct nic_io *io);
int32_t nic_credit_left(const struct nic *nic, uint32_t vl);  /* blocks that may be sent */
uint32_t nic_credit_held(const struct nic *nic, uint32_t vl); /* blocks of the receive buffer in use */
/* What an atomic asked for by io->atomic found. */
void nic_atomic_done(struct nic *nic, uint32_t qpn, uint32_t slot, uint64_t original);

/* The next asynchronous event that waits; false: none.  One of a kind and QP (SRQ, CQ) waits at most once. */
bool nic_event_next(struct nic *nic, struct nic_event *ret);
/* The queue is about to be gone: its event is not told. */
void nic_srq_forget(struct nic *nic, struct nic_srq *srq);
void nic_cq_forget(struct nic *nic, struct nic_cq *cq);

struct nic_counters *nic_counters(struct nic *nic);
struct nic_qp *nic_qp_find(struct nic *nic, uint32_t qpn); /* NULL: no such */
uint32_t nic_qp_number(const struct nic_qp *qp);
/* A response of this PSN (24 bits) would answer something that was sent and not acknowledged. */
bool nic_qp_awaits(const struct nic_qp *qp, uint32_t psn);
uint32_t nic_qp_count(const struct nic *nic);
enum nic_state nic_qp_state(const struct nic_qp *qp);
void *nic_qp_app(const struct nic_qp *qp);
uint64_t nic_qp_rate(const struct nic_qp *qp);
uint64_t nic_qp_window(const struct nic_qp *qp);         /* congestion control's, in bytes; UINT64_MAX: none */
uint32_t nic_qp_alpha_ppm(const struct nic_qp *qp);      /* its estimate of congestion; 0 where it has none */
uint64_t nic_qp_in_flight(const struct nic_qp *qp);      /* request payload sent and not acknowledged */
uint64_t nic_qp_acked_bytes(const struct nic_qp *qp);    /* request payload acknowledged so far */
uint64_t nic_qp_resent_packets(const struct nic_qp *qp); /* request packets sent again so far */
uint32_t nic_qp_queued(const struct nic_qp *qp);         /* work requests not completed */
uint32_t nic_qp_receives(const struct nic_qp *qp);       /* of its own ring, not taken */
/* Counts what has passed of pauses that still last. */
void nic_settle(struct nic *nic, ps_t now);
uint16_t nic_paused(const struct nic *nic); /* bit p: priority p may not send */
ps_t nic_deadline(const struct nic *nic);
/* More than acknowledgements may go now: requests, or answers to READs. */
bool nic_ready(const struct nic *nic, ps_t now);
/* True when nothing waits to be sent, acknowledged or answered. */
bool nic_idle(const struct nic *nic);
/* CHECKs the books: lists, heaps and rings agree with each other. */
void nic_audit(const struct nic *nic, const struct pktpool *pool);

#endif
