/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the TCP endpoint share.
 *
 * Places in a stream are 64 bits here and 32 in packets; wide() finds the one near another.
 */
#ifndef ROCELAB_TCP_TCP_INT_H
#define ROCELAB_TCP_TCP_INT_H

#include "base/check.h"
#include "base/rng.h"
#include "base/wide.h"
#include "tcp/tcp.h"

#define TCP_PRIOS 8u
#define TCP_RUNS_SPARE 8u    /* of a scoreboard: kept for what is sent again */
#define TCP_COMPLETIONS 256u /* a call completes at most a connection's depth; the host takes them after each */
#define TCP_DEPTH_MAX 128u
#define TCP_QUICK_ACKS 16u /* Linux: TCP_MAX_QUICKACKS */
#define TCP_DUP_THRESH 3u
#define TCP_TIMEOUT_MIN (2 * PS_MS) /* Linux: two jiffies of 1 ms, below which its timers are not set */
#define CONN_NONE UINT32_MAX

enum run_state { RUN_SENT, RUN_SACKED, RUN_LOST, RUN_RESENT };
struct run { /* neighbouring bytes of the same fate */
    uint64_t end;
    uint32_t stamp; /* RUN_RESENT: when the last of it was sent again */
    uint8_t state;  /* enum run_state */
};

struct piece { /* that arrived after a gap */
    uint64_t start, end;
};

struct cubic {      /* cc_cubic.c; times in 2^-20 s, windows in segments */
    uint64_t epoch; /* when the present curve began; 0: not yet */
    uint64_t k;
    uint32_t w_max, origin, friendly;
    uint32_t acked;             /* segments that Reno's window has not grown by yet, and ... */
    uint32_t count;             /* ... bytes that are no segment yet */
    ps_t round_start, last_ack; /* HyStart */
    ps_t round_rtt;             /* least of the round's first samples */
    uint64_t round_end;
    uint8_t samples;
    bool found;
};

struct dctcp {              /* cc_dctcp.c */
    uint64_t window_end;    /* alpha is worked out when this is acknowledged */
    uint64_t acked, marked; /* bytes since then */
    uint32_t alpha;         /* of DCTCP_ONE */
};

enum conn_state { CONN_CLOSED, CONN_SYN_SENT, CONN_OPEN, CONN_FAILED };
enum cwnd_state { CWND_OPEN, CWND_CWR, CWND_RECOVERY, CWND_LOSS };
enum sched_state { SCHED_IDLE, SCHED_READY, SCHED_CPU }; /* CPU: waits for its core until cpu_at */

struct tcp_conn {
    /* who */
    uint32_t index, number, remote, remote_number, app;
    uint16_t sport;
    uint8_t tos, prio;
    uint8_t cc;    /* enum tcp_cc */
    uint8_t state; /* enum conn_state */
    bool sends, notifies;
    uint8_t sched; /* enum sched_state */
    bool in_acks;  /* among those that owe an acknowledgement */
    uint32_t ready_next, ack_next;
    uint32_t timer_slot; /* 1 + place in the heap; 0: not in it */

    /* the sending end */
    uint64_t una, nxt, posted; /* first not acknowledged, first never sent, end of what was posted */
    uint64_t sacked, lost;     /* bytes of runs: arrived after a gap; lost and not sent again yet */
    struct run *run;
    uint32_t runs;
    struct tcp_message *message;    /* ring */
    uint32_t mask, head, cur, tail; /* cur: the message that nxt is in */
    uint64_t cwnd, ssthresh, grown; /* grown: bytes acknowledged and not yet turned into window */
    uint8_t cwnd_state;             /* enum cwnd_state */
    bool syn_due, probe_due;
    bool head_due; /* ns-3: a segment is sent whatever the window says */
    bool partial;  /* recovery has acknowledged something */
    bool reorders; /* seen: segments change places */
    uint8_t backoff, reorder_steps;
    uint64_t recover; /* recovery ends when this is acknowledged */
    uint64_t prr_delivered, prr_out, prr_flight;
    uint64_t undo_cwnd, undo_ssthresh; /* as they were before recovery; undo_ssthresh 0: nothing to restore */
    uint32_t undo_left;                /* segments sent again of which no duplicate was reported yet */
    uint64_t hole_until;               /* what is below it and did not arrive is lost at hole_at */
    ps_t hole_at;
    uint32_t last_stamp; /* of the newest data */
    uint32_t burst_left; /* of its turn */
    ps_t last_tx;
    ps_t srtt, rttvar, min_rtt, rto;
    ps_t rto_at, probe_at;
    ps_t cpu_at; /* when its core is free */
    struct rate cpu;
    union {
        struct cubic cubic;
        struct dctcp dctcp;
    };

    /* the receiving end */
    uint64_t rcv_nxt;                /* in order up to here */
    struct piece *piece;             /* in order of the stream */
    uint32_t pieces, newest, rotate; /* newest: the one that the last segment went into */
    uint64_t held;                   /* bytes in pieces */
    uint32_t stamp;                  /* to echo */
    uint32_t segments;               /* in order and not acknowledged */
    bool ack_due, ece, prior_due, prior_ece, dsack_due, syn_ack_due;
    uint8_t quick;
    uint64_t prior_ack;
    struct piece dsack;
    ps_t ack_at, last_rx;
    uint64_t resent_segments; /* of the sending end */
};

struct timer { /* of the heap */
    ps_t at;
    uint32_t conn;
};

struct conn_list {
    uint32_t head, tail;
};

struct tcp {
    struct tcp_config config;
    struct tcp_counters counters;
    uint32_t payload;      /* of a full segment */
    struct tcp_conn *conn; /* [config.ends] */
    struct timer *timer;
    uint32_t timers;
    struct conn_list ready[TCP_PRIOS];
    uint16_t ready_mask;
    struct conn_list acks;
    struct tcp_completion completion[TCP_COMPLETIONS];
    uint32_t completion_head, completion_tail;
    uint16_t paused;
    ps_t paused_until[TCP_PRIOS], paused_since[TCP_PRIOS];
    ps_t pause_next;
    struct rate host_tx, host_rx;
    ps_t host_tx_at;
    ps_t waited_until;      /* waiting for cores is counted up to here */
    ps_t idle_since;        /* the line has been idle and somebody has waited for a core; PS_NEVER: not so */
    uint32_t on_core;       /* connections in SCHED_CPU */
    pkt_t rx_head, rx_tail; /* what waits for the host's side of reception */
    ps_t rx_at;             /* when its first is handled; PS_NEVER: none */
    ps_t rx_free;           /* when all of it will have been */
    ps_t rx_waited_until;   /* its waiting for cores is counted up to here */
    ps_t rx_wait_from;      /* the last of that began here */
    ps_t rx_seen;           /* the last arrival: that the line is idle is counted up to here */
    struct rng rng;
};

static inline uint64_t wide(uint32_t narrow, uint64_t near)
{
    return near + (uint64_t)(int64_t)(int32_t)(narrow - (uint32_t)near);
}

static inline uint32_t stamp_of(ps_t now)
{
    return (uint32_t)(now / PKT_TCP_TICK_PS);
}

/* Whether one stamp is later than another by more than `by`. */
static inline bool stamp_after(uint32_t a, uint32_t b, ps_t by)
{
    return (int32_t)(a - b) > (int64_t)(by / PKT_TCP_TICK_PS);
}

static inline uint64_t conn_pipe(const struct tcp_conn *conn)
{
    return conn->nxt - conn->una - conn->sacked - conn->lost;
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* connection.c */
void conn_acknowledged(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io); /* completes messages up to una */
void conn_complete(struct tcp *tcp, struct tcp_completion done, struct tcp_io *io);
void conn_fail(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io);
uint64_t message_end(const struct tcp_conn *conn, uint64_t at, uint32_t *ret_imm); /* of the one that `at` is in */

/* schedule.c */
void conn_timer(struct tcp *tcp, struct tcp_conn *conn, ps_t at);
void conn_wake(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io);
void ack_push(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io);
void turn_remove(struct tcp *tcp, struct tcp_conn *conn);

/* send.c */
bool conn_may_send(const struct tcp *tcp, const struct tcp_conn *conn);
pkt_t conn_send(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io);
pkt_t segment_make(struct tcp *tcp, struct tcp_conn *conn, enum pkt_tcp_type type, ps_t now, struct tcp_io *io);

/* receive.c */
void receive_data(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, ps_t now, struct tcp_io *io);
void receive_delay_over(struct tcp *tcp, struct tcp_conn *conn, struct tcp_io *io);
pkt_t ack_make(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io);

/* ack.c */
void receive_ack(struct tcp *tcp, struct tcp_conn *conn, const struct pkt *p, ps_t now, struct tcp_io *io);

/* scoreboard.c */
void board_sent(struct tcp *tcp, struct tcp_conn *conn, uint64_t end); /* nxt goes on */
void board_acked(struct tcp *tcp, struct tcp_conn *conn, uint64_t to, uint64_t *ret_fresh, bool *ret_resent);
uint64_t board_sacked(struct tcp *tcp, struct tcp_conn *conn, uint64_t start, uint64_t end);
uint64_t board_highest(const struct tcp_conn *conn);          /* the end of what arrived after gaps; una: nothing did */
bool board_lose(struct tcp_conn *conn, uint32_t mss);         /* by three segments that arrived after it */
bool board_lose_below(struct tcp_conn *conn, uint64_t below); /* all of it; true: something was */
void board_lose_all(struct tcp_conn *conn);
bool board_lose_resent(struct tcp *tcp, struct tcp_conn *conn, uint32_t stamp, ps_t by);
bool board_next(const struct tcp_conn *conn, enum run_state state, uint64_t *ret_start, uint64_t *ret_end);
void board_resent(struct tcp *tcp, struct tcp_conn *conn, uint64_t start, uint64_t end, uint32_t stamp);
bool board_first_waits(const struct tcp_conn *conn); /* it was not sent again */
void board_audit(const struct tcp *tcp, const struct tcp_conn *conn);

/* recovery.c */
struct ack_news {       /* what an acknowledgement told */
    uint64_t before;    /* una as it was */
    uint64_t acked;     /* una went on by */
    uint64_t delivered; /* bytes that it was not known of that they had arrived */
    uint64_t pipe;      /* before */
    bool resent;        /* some of them had been sent again */
    bool ece, dsack;
    ps_t rtt; /* with delivered */
    uint32_t stamp;
};
void recovery_ack(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now);
void recovery_hole_due(struct tcp *tcp, struct tcp_conn *conn, ps_t now);
void recovery_timeout(struct tcp *tcp, struct tcp_conn *conn);

/* rto.c */
void rtt_sample(struct tcp *tcp, struct tcp_conn *conn, ps_t rtt);
ps_t rtt_measured(const struct tcp *tcp, uint32_t stamp, ps_t now);
void rto_arm(struct tcp *tcp, struct tcp_conn *conn, ps_t now);    /* anew, with a probe before it where one may be */
void rto_ensure(struct tcp *tcp, struct tcp_conn *conn, ps_t now); /* after sending: one runs */
void rto_due(struct tcp *tcp, struct tcp_conn *conn, ps_t now, struct tcp_io *io);
ps_t rto_start(const struct tcp *tcp);

/* cc_*.c, chosen in cc.c */
void control_init(const struct tcp *tcp, struct tcp_conn *conn);
void control_acked(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now); /* in any state */
void control_grow(struct tcp *tcp, struct tcp_conn *conn, uint64_t acked, ps_t now);
uint64_t control_ssthresh(struct tcp *tcp, struct tcp_conn *conn, bool marked);
void control_timeout(const struct tcp *tcp, struct tcp_conn *conn);
void reno_grow(struct tcp_conn *conn, uint64_t acked, uint32_t mss);
uint64_t slow_start(struct tcp_conn *conn, uint64_t acked); /* what is left of it beyond ssthresh */
void cubic_acked(struct tcp *tcp, struct tcp_conn *conn, const struct ack_news *news, ps_t now);
void cubic_grow(struct tcp *tcp, struct tcp_conn *conn, uint64_t acked, ps_t now);
uint64_t cubic_ssthresh(const struct tcp *tcp, struct tcp_conn *conn);
void cubic_reset(struct tcp_conn *conn);
uint64_t cubic_root(u128 cube); /* the largest integer whose cube is not larger */
#define DCTCP_ONE (1u << 20)
void dctcp_init(struct tcp_conn *conn);
void dctcp_acked(struct tcp_conn *conn, const struct ack_news *news);
uint64_t dctcp_ssthresh(const struct tcp *tcp, const struct tcp_conn *conn, bool marked);

#endif
