/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A congestion control of your own for rocelab: one C file against this header.
 *
 *     cc -O2 -shared -fPIC mine.c -o mine.so      (with $(pkg-config --cflags rocelab-cc) where it is installed)
 *     rocelab sim --cc ./mine.so fabric.yaml
 *
 * The file defines one object, `rocelab_cc`, which says what the algorithm is called, which parameters it has, how much
 * it keeps of each queue pair, and has its functions.  rocelab calls them when something happens to a queue pair; they
 * read what happened, and set rate, window and the time at which they want to be called.  They read no clock and do no
 * I/O.  docs/congestion.md has the rules, and an example that is explained.
 *
 * All times are virtual, in picoseconds; rates are bits a second; shares are millionths.
 */
#ifndef ROCELAB_CC_H
#define ROCELAB_CC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes up when a program that was built against an older header would not be understood any more.  Members may be added
 * at the end of a struct without it: `bytes` says how much of struct rocelab_cc there is. */
#define ROCELAB_CC_ABI 1

#define ROCELAB_CC_NEVER UINT64_MAX    /* a deadline: there is none */
#define ROCELAB_CC_NO_WINDOW INT64_MAX /* a window: there is none */
#define ROCELAB_CC_RATE_MIN INT64_C(10000)
#define ROCELAB_CC_PARAMS_MAX 32
#define ROCELAB_CC_STATE_MAX 4096

#define ROCELAB_CC_NS UINT64_C(1000)
#define ROCELAB_CC_US UINT64_C(1000000)
#define ROCELAB_CC_MS UINT64_C(1000000000)
#define ROCELAB_CC_S UINT64_C(1000000000000)
#define ROCELAB_CC_MBPS UINT64_C(1000000)
#define ROCELAB_CC_PERCENT UINT64_C(10000)

/* How a parameter is written in a fabric file, and what its number is. */
enum rocelab_cc_unit {
    ROCELAB_CC_TIME,  /* 20us: picoseconds */
    ROCELAB_CC_RATE,  /* 40M: bits a second */
    ROCELAB_CC_BYTES, /* 16KiB */
    ROCELAB_CC_COUNT, /* 5 */
    ROCELAB_CC_SHARE, /* 50%: millionths */
    ROCELAB_CC_FLAG,  /* true, false: 1, 0 */
};

struct rocelab_cc_param {
    const char *name; /* letters, digits and _ */
    enum rocelab_cc_unit unit;
    uint64_t value;       /* where nobody says another */
    uint64_t least, most; /* both 0: any */
    const char *help;     /* a sentence without its full stop */
};

/* What the adapters are asked to do for it. */
enum rocelab_cc_needs {
    ROCELAB_CC_CNP = 1,       /* a marked packet is answered with a CNP: cnp() */
    ROCELAB_CC_ECHO = 2,      /* the mark of a packet comes back in its ACK: ack.marked */
    ROCELAB_CC_RTT = 4,       /* round-trip times are measured: ack.rtt_ps */
    ROCELAB_CC_TELEMETRY = 8, /* switches write telemetry into packets: ack.hop */
    ROCELAB_CC_WINDOW = 16,   /* it sets a window: each packet asks for an ACK */
};

struct rocelab_cc_qp { /* one queue pair, as a function is given it */
    /* Yours: what you set holds from now on, and is what you find at the next call. */
    int64_t rate_bps;     /* at least ROCELAB_CC_RATE_MIN; more than the line's is the line's */
    int64_t window_bytes; /* bytes in flight at most, 1 or more; or ROCELAB_CC_NO_WINDOW */
    uint64_t deadline_ps; /* when timer() is wanted, or ROCELAB_CC_NEVER; when timer() returns, later than now */
    uint32_t alpha_ppm;   /* an estimate of congestion in millionths, for charts */
    /* Given. */
    uint32_t packet_bytes; /* payload of a full packet */
    int64_t line_bps;
    const uint64_t *param; /* in the order in which you declare them */
    void *state;           /* state_bytes, all 0 before init(), aligned to 8 bytes */
};

struct rocelab_cc_hop { /* the egress port of a switch, when the packet left it */
    uint64_t at_ps;
    uint64_t tx_bytes; /* sent by the port so far */
    uint64_t rate_bps;
    uint64_t queue_bytes; /* behind the packet, in its queue */
};

struct rocelab_cc_ack {
    uint64_t acked_bytes; /* newly acknowledged */
    uint64_t in_flight_bytes;
    uint32_t acked_psn, next_psn; /* first not acknowledged; next to be sent; not cut to 24 bits: they go round */
    uint64_t rtt_ps;              /* 0: not measured */
    uint64_t host_ps;             /* how long what the receiver holds will take it; not part of rtt_ps */
    uint32_t switches;            /* that the ACK has crossed */
    uint32_t marked;              /* 1: the receiver saw CE on what is acknowledged */
    uint32_t hops;                /* of telemetry */
    const struct rocelab_cc_hop *hop;
};

struct rocelab_cc_loss {
    uint32_t timeout;  /* 1: nothing was heard; 0: a NAK */
    uint32_t next_psn; /* as in an ACK */
};

struct rocelab_cc {
    uint32_t abi;     /* ROCELAB_CC_ABI, */
    uint32_t bytes;   /* and sizeof(struct rocelab_cc) */
    const char *name; /* letters, digits, - and _ */
    const struct rocelab_cc_param *param;
    uint32_t params;
    uint32_t state_bytes; /* of each queue pair */
    uint32_t needs;       /* enum rocelab_cc_needs, joined by | */
    /* Any function may be NULL: then it is not called. */
    /* NULL, or what is wrong with parameters that each are within their limits. */
    const char *(*refuse)(const uint64_t *param);
    /* An ACK is wanted at least each so many bytes; 0: no matter. */
    uint32_t (*ask_bytes)(const uint64_t *param);
    /* A connection begins, at line rate and without a window. */
    void (*init)(struct rocelab_cc_qp *qp);
    void (*ack)(struct rocelab_cc_qp *qp, const struct rocelab_cc_ack *ack, uint64_t now_ps);
    void (*cnp)(struct rocelab_cc_qp *qp, uint64_t now_ps);
    void (*loss)(struct rocelab_cc_qp *qp, const struct rocelab_cc_loss *loss, uint64_t now_ps);
    void (*sent)(struct rocelab_cc_qp *qp, uint32_t bytes, uint64_t now_ps); /* bytes as on the line */
    void (*timer)(struct rocelab_cc_qp *qp, uint64_t now_ps);                /* at deadline_ps or later */
};
#define ROCELAB_CC_HEAD .abi = ROCELAB_CC_ABI, .bytes = sizeof(struct rocelab_cc)

/* What a plug-in defines. */
extern __attribute__((visibility("default"))) const struct rocelab_cc rocelab_cc;

#ifdef __cplusplus
}
#endif

#endif
