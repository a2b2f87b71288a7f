/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control as the rest of the adapter sees it: parameters, and one small state per QP.  list.def lists the
 * algorithms, each of which is a file NAME.c; algorithm.h says what such a file has.
 *
 * An algorithm owns a rate (bits a second) and a window (bytes); the NIC paces by the one and stops
 * at the other.  All arithmetic is integer or fixed point with 32 fraction bits.  An algorithm is
 * told of what arrives (an ACK with its telemetry and delay, a CNP), of what was sent and of what had to be sent again,
 * and names the next time it wants to be called; it never reads a clock.
 */
#ifndef ROCELAB_NIC_CC_CC_H
#define ROCELAB_NIC_CC_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "packet/telemetry.h"

enum cc_kind {
#define CC(KIND, name) CC_##KIND,
#include "nic/cc/list.def"
#undef CC
    CC_KINDS
};
#define CC_WINDOW_NONE UINT64_MAX

/* Parameters from params.def, and those that an algorithm declares in its own file; presets fill them, a fabric
 * file may override each by name. */
#define CC_OWN_PARAMS 32
struct cc_algorithm; /* algorithm.h */
struct cc_config {
    uint64_t kind; /* enum cc_kind */
#define PARAM(field, unit, help) uint64_t field;
#include "nic/cc/params.def"
#undef PARAM
    uint64_t own[CC_OWN_PARAMS];
    const struct cc_algorithm *outside; /* one that list.def does not have; NULL: that of `kind` */
};

enum cc_unit { CC_UNIT_TIME, CC_UNIT_RATE, CC_UNIT_BYTES, CC_UNIT_COUNT, CC_UNIT_SHARE, CC_UNIT_FLAG };

struct cc_param { /* one parameter: what it is called, how it is written, where it lies in cc_config */
    const char *name, *help;
    enum cc_unit unit;
    size_t offset;
    uint64_t least, most; /* of an algorithm from outside: judged for it */
};
/* One after the other, from 0 on; NULL: there are no more. */
const struct cc_param *cc_param(size_t index);

/* "none", "dcqcn/paper" and the like.  -ENOENT: no such. */
int cc_preset(const char *name, struct cc_config *ret);
const char *cc_preset_name(size_t index); /* NULL: there are no more */
/* The one of this name: the algorithm's own before all others; NULL: there is none. */
const struct cc_param *cc_param_of(const struct cc_config *config, const char *name);
bool cc_owns(const struct cc_config *config, const struct cc_param *param); /* declared by its algorithm */
/* By name; -ENOENT: no such parameter. */
int cc_set(struct cc_config *config, const char *name, uint64_t value);
/* The first parameter whose value cannot be (with the reason), or NULL. */
const char *cc_invalid(const struct cc_config *config, const char **ret_name);

/* text.c: the same from text, as people write it.  0, or -EINVAL and in `why` what is wrong and what would be right.
 * `telemetry`: there is such; else what needs it is refused. */
int cc_read_preset(const char *name, bool telemetry, struct cc_config *ret, char *why, size_t why_bytes);
int cc_read_param(struct cc_config *config, const char *name, const char *value, char *why, size_t why_bytes);

/* What an algorithm needs of adapters.  cnp and echo are the receiver's to do: see nic_config_cc(). */
struct cc_needs {
    bool cnp;             /* a marked packet is answered with a CNP */
    bool echo;            /* the mark of a packet comes back in its ACK */
    bool rtt;             /* the sender measures round-trip times */
    bool telemetry;       /* in-band telemetry of switches comes back in ACKs */
    uint32_t state_bytes; /* it keeps so much of each QP beside struct cc */
};
const struct cc_needs *cc_needs(const struct cc_config *config);
/* An ACK is wanted at least each so many bytes; 0: no matter. */
uint32_t cc_ask_bytes(const struct cc_config *config);

struct cc_ack {           /* what an ACK tells */
    uint64_t acked_bytes; /* newly acknowledged */
    uint64_t in_flight_bytes;
    uint32_t acked_psn, next_psn; /* first not acknowledged; next to be sent; not cut to 24 bits */
    bool marked;                  /* the receiver saw CE on what is acknowledged (models that echo) */
    ps_t rtt_ps;                  /* 0: not measured */
    ps_t host_ps;                 /* how long what the receiver holds will take it; not part of rtt_ps */
    uint32_t switches;            /* the ACK has crossed */
    const struct pkt_hop *hop;
    uint32_t hops;
};

struct cc_dcqcn {
    uint64_t target_bps;
    uint64_t alpha;   /* 1 is 2^32 */
    ps_t alpha_at;    /* the next update of alpha */
    ps_t look_at;     /* the next look for CNPs */
    ps_t increase_at; /* the next increase by time */
    uint64_t bytes_left;
    uint32_t time_stage, byte_stage;
    bool active;     /* a CNP has come: limited, alpha runs */
    bool alpha_cnp;  /* a CNP came in this update period of alpha */
    bool cut_wanted; /* a CNP came in this monitor period */
};

struct cc_hop { /* a hop as last heard of */
    ps_t at;
    uint64_t tx_bytes;
    uint64_t rate_bps;
    uint64_t ps_per_byte; /* of that rate, 24 fraction bits */
    uint32_t queue_bytes;
};

struct cc_path { /* HPCC's memory of a path: beside the QPs, only in adapters with telemetry */
    uint32_t hops;
    struct cc_hop hop[PKT_INT_HOPS];
};

struct cc_hpcc {
    uint64_t window;     /* Wc: bytes, 16 fraction bits */
    uint64_t utilised;   /* U: 1 is 2^32 */
    uint64_t window_max; /* line rate * T; 16 fraction bits */
    uint64_t window_min, window_add;
    uint64_t eta;          /* 1 is 2^32 */
    uint64_t inverse_rtt;  /* 2^64 / T */
    uint64_t bps_per_byte; /* 8e12 / T; 24 fraction bits */
    uint32_t update_psn;   /* Wc moves when this is acknowledged */
    uint32_t stage;
    bool started;
};

struct cc_timely {
    ps_t previous_rtt; /* 0: none yet */
    ps_t updated;
    int64_t rtt_diff;   /* moving average of differences: ps, 8 fraction bits */
    uint64_t acked;     /* bytes since the last update */
    uint32_t round_psn; /* the next update, where it is one a round trip */
    uint32_t stage;     /* increases in a row */
    bool started;
};

struct cc_swift_window { /* for the fabric's delay, or for the receiver's */
    uint64_t bytes;      /* 16 fraction bits */
    ps_t decreased_at;
};

struct cc_swift {
    struct cc_swift_window fabric, host;
    uint64_t scale_ps;  /* of flow scaling: alpha of the paper, for a window in packets */
    uint64_t offset_ps; /* and its -beta */
    ps_t rtt;           /* as last measured; 0: not yet */
    uint32_t again;     /* timeouts in a row */
};

struct cc_dctcp {
    uint64_t window;        /* bytes, 16 fraction bits */
    uint64_t alpha;         /* 1 is 2^32 */
    uint64_t acked, marked; /* bytes of this round */
    uint32_t round_psn;     /* the round ends when more than this is acknowledged */
    uint32_t reduced_psn;   /* and so does the time after a cut */
    bool started, reduced;  /* reduced: a cut was made in this window of data */
    bool slow_start;
};

struct cc_outside { /* of an algorithm that is not in list.def */
    void *state;    /* its own, beside the QPs */
    uint64_t window_bytes;
    uint32_t alpha_ppm; /* as it said last, as the window is */
};

#define CC_OWN_STATE (sizeof(struct cc_hpcc) / 8)

struct cc { /* of one QP */
    uint64_t rate_bps;
    uint64_t window_bytes; /* CC_WINDOW_NONE: no limit */
    ps_t deadline;         /* when cc_on_timer is wanted; PS_NEVER: not */
    uint64_t line_bps;
    const struct cc_config *config; /* kept by pointer */
    const struct cc_algorithm *algorithm;
    struct cc_path *path; /* with telemetry, else NULL */
    bool wants_cnp, wants_ack, wants_loss;
    bool wants_sent;       /* as an algorithm has a function for it; it may say otherwise at any time */
    bool wants_rtt;        /* the adapter's: whether it measures this QP */
    bool owns_window;      /* window_bytes is the algorithm's; else the common window's alone */
    uint16_t packet_bytes; /* payload of a full packet, for what is counted in packets */
    union {
        struct cc_dcqcn dcqcn;
        struct cc_hpcc hpcc;
        struct cc_timely timely;
        struct cc_swift swift;
        struct cc_dctcp dctcp;
        struct cc_outside outside;
        uint64_t own[CC_OWN_STATE]; /* of an algorithm that declares its state in its own file */
    };
};

/* `packet_bytes`: payload of a full packet.  `beside` is a struct cc_path where telemetry is needed, or what the
 * algorithm needs by cc_needs.state_bytes. */
void cc_init(struct cc *cc, const struct cc_config *config, uint64_t line_bps, uint16_t packet_bytes, void *beside);
void cc_on_cnp(struct cc *cc, ps_t now);
void cc_on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now);
/* Something was lost: a NAK said so, or (timeout) nothing was heard. */
void cc_on_loss(struct cc *cc, bool timeout, uint32_t next_psn, ps_t now);
void cc_on_sent(struct cc *cc, uint32_t bytes, ps_t now);
void cc_on_timer(struct cc *cc, ps_t now);  /* at cc->deadline */
uint32_t cc_alpha_ppm(const struct cc *cc); /* the estimate of congestion; 0 where the algorithm has none */

#endif
