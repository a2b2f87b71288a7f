/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Ultra Ethernet transport of one port, as a machine without I/O: packet delivery contexts (PDCs) that carry
 * messages over many paths, with the congestion control of the specification.
 *
 * A PDC has two ends: a source here, a sink there.  A source cuts messages into numbered packets and gives each a path
 * value (entropy); the sink takes them in any order (RUD) or in order alone (ROD), says what it has in ACKs (a
 * cumulative number and a map of 64), and asks for what a switch trimmed in NACKs.  NSCC keeps a window at the source,
 * RCCC gives credit from the sink; both together are allowed.
 *
 * Time is an argument, memory is the caller's, packets are indices of the pool of the call.  Nothing is allocated, no
 * clock is read, and there is no floating point: windows and delays are whole bytes and picoseconds, factors are
 * fixed-point numbers with 16 bits after the point.
 *
 * Left out: encryption, rendezvous, tag matching, RUDI and UUD, the set-up of a PDC (which costs no round trip).
 */
#ifndef ROCELAB_UET_UET_H
#define ROCELAB_UET_UET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "packet/pktpool.h"
#include "uet/counters.h"

enum uet_model {
    UET_SPECIFICATION,
    UET_HTSIM, /* as the consortium's simulator does where it differs */
};
enum uet_control { UET_NSCC = 1, UET_RCCC = 2, UET_BOTH = 3 };
enum uet_policy { UET_OBLIVIOUS, UET_BITMAP, UET_REPS, UET_MIXED };

#define UET_PATHS_MAX 1024u
#define UET_WINDOW_MAX 16384u /* packets */
#define UET_NO_DSCP UINT8_MAX
#define UET_AS_DATA UINT8_MAX /* control packets: class of the data they are about */
#define UET_PRIOS 8u

struct uet_config {
    /* what uet_config_default() is asked for */
    uint8_t model;          /* enum uet_model */
    uint8_t control;        /* enum uet_control */
    bool trimming;          /* switches trim what they cannot hold */
    uint16_t payload_bytes; /* of a full packet */
    uint64_t line_bps;
    ps_t base_rtt_ps; /* of the longest way with a full packet, without load */
    /* the rest it sets; each may be changed */
    uint8_t policy;          /* enum uet_policy */
    bool ordered;            /* ROD */
    bool infer_loss;         /* without trimming: what many later packets have overtaken is lost, silence is probed */
    bool oversubscribed;     /* RCCC: credit is lowered when switches before the last mark or trim */
    uint16_t paths;          /* values; a power of two */
    uint16_t data_bytes;     /* of a data frame's headers, without FCS */
    uint16_t control_bytes;  /* of an ACK, NACK, credit; frames */
    uint16_t nominal_bytes;  /* that windows and credits count beside the payload of a packet */
    uint32_t ack_bytes;      /* an ACK at least each so many received */
    uint32_t window_packets; /* numbers that may be outstanding; a power of two */
    uint32_t pull_bytes;     /* RCCC: of one credit */
    uint32_t pull_permille;  /* RCCC: of the line's rate */
    uint32_t received_unit;  /* of the count of received bytes in ACKs */
    ps_t rto_ps;
    uint8_t retries; /* of a timer in a row, each twice as long; 0: for ever, each as long */
    /* NSCC */
    ps_t target_ps, adjust_ps, fast_ps, qa_threshold_ps; /* PS_NEVER: no threshold */
    uint32_t qa_gate;                                    /* as a shift of the largest window */
    uint32_t adjust_bytes;
    uint64_t max_window; /* 1.5 times what is under way in base_rtt_ps */
    uint32_t factor_q16; /* `a`: of bytes under way to 150,000 */
    uint32_t unit_bytes; /* what the constants count as a packet */
    /* addressing */
    uint32_t endpoint;
    uint32_t ends, first_number;       /* how many ends there may be, numbered from */
    uint8_t control_tos, control_prio; /* UET_AS_DATA */
    uint8_t trimmed_last_dscp, ttl, net;
    uint64_t seed;
};

/* The constants of a model for a line. */
struct uet_config uet_config_default(enum uet_model model, enum uet_control control, bool trimming,
                                     uint16_t payload_bytes, uint64_t line_bps, ps_t base_rtt_ps);
/* After a change of paths, window, line or round trip: false where they make no sense. */
bool uet_config_valid(const struct uet_config *config);

struct uet;
struct uet_source;
struct uet_sink;

struct uet_peer {    /* of an end */
    uint32_t node;   /* the other endpoint */
    uint32_t number; /* the other end */
    uint32_t owner;  /* the caller's number of the connection, in completions */
    uint16_t depth;  /* messages that may be posted and not completed */
    uint16_t first_path;
    uint8_t tos, prio; /* of data: DSCP << 2; 802.1Q */
};

/* Memory is whole cache lines, zeroed. */
size_t uet_memory_bytes(const struct uet_config *config);
struct uet *uet_init(void *memory, const struct uet_config *config);
size_t uet_source_bytes(const struct uet_config *config, uint16_t depth);
size_t uet_sink_bytes(const struct uet_config *config, uint16_t depth);
struct uet_source *uet_open_source(struct uet *uet, uint32_t number, const struct uet_peer *peer, void *memory);
struct uet_sink *uet_open_sink(struct uet *uet, uint32_t number, const struct uet_peer *peer, bool notifies,
                               void *memory);

/* A message is to be sent.  0, or -ENOBUFS: `depth` are posted already. */
int uet_post(struct uet *uet, struct uet_source *source, uint64_t bytes, uint32_t tag, uint32_t imm, ps_t now);
void uet_rx(struct uet *uet, pkt_t id, ps_t now, struct pktpool *pool);
/* The port is free: what it sends, or PKT_NONE. */
pkt_t uet_tx(struct uet *uet, ps_t now, struct pktpool *pool);
void uet_tick(struct uet *uet, ps_t now, struct pktpool *pool);
ps_t uet_deadline(const struct uet *uet);
/* Something waits for the port; so do completions. */
bool uet_wants(const struct uet *uet);
bool uet_completed(const struct uet *uet);

struct uet_completion {
    uint32_t owner;
    uint32_t word; /* the post's tag; of a message received its imm */
    bool receive, good;
};
bool uet_completion(struct uet *uet, struct uet_completion *ret);

/* The other end of the line paused these priorities, or resumed them (quanta 0). */
void uet_pause(struct uet *uet, uint8_t enable, uint16_t quanta, ps_t now);
/* These priorities may not send, without an end; all others may. */
void uet_hold(struct uet *uet, uint8_t prios, ps_t now);
uint16_t uet_paused(const struct uet *uet);
void uet_link(struct uet *uet, ps_t now);
/* The host takes no more than this; 0: anything. */
void uet_receive_rate(struct uet *uet, uint64_t bps, ps_t now);
void uet_settle(struct uet *uet, ps_t now);

const struct uet_counters *uet_counters(const struct uet *uet);
uint64_t uet_acked_bytes(const struct uet_source *source);
uint64_t uet_resent_packets(const struct uet_source *source);
uint64_t uet_window_bytes(const struct uet_source *source);
uint64_t uet_rate_bps(const struct uet_source *source); /* window over the least round trip */
uint32_t uet_queued(const struct uet_source *source);   /* messages that are not complete */
uint32_t uet_outstanding(const struct uet_source *source);
/* CHECKs that the books of every end add up.  Answers the packets it holds. */
uint64_t uet_audit(const struct uet *uet, const struct pktpool *pool);
/* What a visit will touch, fetched early. */
void uet_expect(const struct uet *uet, const struct pkt *pkt);

#endif
