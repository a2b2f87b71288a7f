/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: one port's transport, as a host sees it.  RoCE is one (roce.h); other transports have the same calls.
 *
 * The seam is a struct of calls that is a constant wherever it is used, as engine/visit.h's is: host_calls.h has a host
 * over any of them.  Its functions are inlined where they are given one, so that all calls are direct, and inlined
 * where the endpoint's header has them inline.  A second transport costs the first nothing.
 *
 * What a call answers lies in room of its own in node_io: nic_io for RoCE, endpoint_io for those without one.
 */
#ifndef ROCELAB_NODE_ENDPOINT_H
#define ROCELAB_NODE_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/credit_port.h"
#include "base/time.h"
#include "packet/pktpool.h"

struct endpoint_io {
    struct pktpool *pool;
    bool kick;      /* ask tx again (when the port is free) */
    bool completed; /* a completion waits */
    bool has_word;  /* `word` is to be sent */
    uint32_t word;
    ps_t deadline;              /* earliest tick wanted, as of this call; PS_NEVER: none */
    struct credit_words credit; /* to be sent */
};

struct endpoint_completion {
    uint32_t connection;
    uint32_t word; /* the post's tag; of a receive its imm */
    bool receive, good;
    bool retries; /* not good: they ran out */
};

/*
 * What every transport counts, whatever it calls it: for reports that compare them.  Its own counters, by its own
 * names, are beside them.
 */
#define ENDPOINT_COUNTER_LIST(X)                                                                                       \
    X(tx_packets, "packets sent: data, acknowledgements, everything")                                                  \
    X(tx_bytes, "their bytes, without what the line adds")                                                             \
    X(rx_packets, "packets that arrived, dropped ones included")                                                       \
    X(rx_bytes, "their bytes, without what the line adds")                                                             \
    X(tx_data_packets, "packets with data sent, sent again included")                                                  \
    X(tx_payload_bytes, "their payload")                                                                               \
    X(rx_payload_bytes, "payload accepted, each byte once")                                                            \
    X(retransmitted_packets, "packets sent again")                                                                     \
    X(retransmitted_bytes, "their payload")                                                                            \
    X(timeouts, "timers for an answer that ran out")                                                                   \
    X(duplicates, "data packets that had arrived before")                                                              \
    X(out_of_order, "data packets that arrived after a gap")                                                           \
    X(acks, "acknowledgements sent, negative ones included")                                                           \
    X(nacks, "negative acknowledgements received")                                                                     \
    X(marked, "packets that arrived marked")                                                                           \
    X(trimmed, "packets that arrived without their payload")                                                           \
    X(held_ps, "time that the other end of the line let it send nothing: pauses, want of credit")                      \
    X(drops, "packets that the endpoint dropped")                                                                      \
    X(errors, "messages completed with an error")

struct endpoint_counters {
#define X(name, help) uint64_t name;
    ENDPOINT_COUNTER_LIST(X)
#undef X
};

struct endpoint_pace {               /* what congestion control allows a connection, and what it has sent again */
    uint64_t rate_bps, window_bytes; /* UINT64_MAX: no window */
    uint32_t alpha_ppm;
    uint64_t resent_packets;
};

struct node_end {    /* of a connection */
    void *handle;    /* the endpoint's own: of RoCE a queue pair */
    uint32_t number; /* as packets name it */
    uint8_t kind;    /* of a host with two transports: which of them */
};

struct node_connection { /* by the application's number */
    struct node_end from, to;
    uint16_t adapter; /* of the sending end, within its host */
    bool notifies;    /* the receiver is told of each message */
};

struct app_post;
struct node_adapter;
struct node_host;
struct node_io;
struct node_view;

struct endpoint_calls { /* `now` is the time */
    /* A message is to be sent. */
    void (*post)(struct node_adapter *, const struct node_connection *, const struct app_post *, ps_t now,
                 struct node_io *);
    void (*rx)(struct node_adapter *, pkt_t, ps_t now, struct node_io *); /* a packet is there; it is the endpoint's */
    pkt_t (*tx)(struct node_adapter *, ps_t now, struct node_io *);  /* the port is free: what it sends, PKT_NONE */
    void (*tick)(struct node_adapter *, ps_t now, struct node_io *); /* the deadline is here */
    /* The other end of the line said this: pauses, credits; the line failed or came back. */
    void (*gate)(struct node_adapter *, uint32_t word, ps_t now, struct node_io *);
    void (*link)(struct node_adapter *, bool up, ps_t now, struct node_io *);
    /* The host takes no more than this from now on. */
    void (*receive_rate)(struct node_adapter *, uint64_t bps, ps_t now, struct node_io *);
    ps_t (*deadline)(const struct node_adapter *);                           /* the earliest tick wanted */
    bool (*waits)(const struct node_adapter *);                              /* completions wait */
    bool (*completion)(struct node_adapter *, struct endpoint_completion *); /* the next one; false: none */
    /* A message was received: there is room for the next. */
    void (*take)(struct node_adapter *, const struct node_connection *, uint32_t number, ps_t now, struct node_io *);
    void (*drained)(struct node_adapter *);                               /* the host has seen all completions */
    uint64_t (*acked_bytes)(const struct node_end *);                     /* of a sending end: known to have arrived */
    void (*observe)(struct node_adapter *, ps_t now, struct node_view *); /* counters of its port */
    /* What the last call answered; those that take what may be written forget it. */
    bool (*kicked)(struct node_io *);
    bool (*completed)(struct node_io *);
    bool (*wants_word)(struct node_io *, uint32_t *ret);
    bool (*answered)(const struct node_io *); /* completed, or wants_word */
    ps_t (*deadline_of)(const struct node_io *);
    /* host_answers() with these calls, in a function of its own: it is seldom called from where all else is inlined. */
    void (*host_answers)(struct node_host *, uint32_t port, ps_t now, struct node_io *);
};

#endif
