/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: one port's transport, as a host sees it.  RoCE is one (roce.h); other transports have the same calls.
 *
 * The seam is a template, as engine/visit.h is: a host is made for one kind of endpoint by defining ENDPOINT() and
 * HOST() and including host_fast.h and host_rest.h.  All calls are then direct, and inlined where the endpoint's header
 * has them inline; a second transport costs the first nothing.
 *
 * ENDPOINT(call) names these, of which `io` is struct node_io and `now` the time:
 *
 *   void   post(adapter, connection, struct app_post, now, io)  a message is to be sent
 *   void   rx(adapter, pkt_t, now, io)                          a packet is there; it is the endpoint's
 *   pkt_t  tx(adapter, now, io)                                 the port is free: what it sends, or PKT_NONE
 *   void   tick(adapter, now, io)                               the deadline is here
 *   void   gate(adapter, word, now, io)                         the other end of the line said this: pauses, credits
 *   void   link(adapter, up, now, io)                           the line failed or came back
 *   void   receive_rate(adapter, bps, now, io)                  the host takes no more than this from now on
 *   ps_t   deadline(adapter)                                    the earliest tick wanted
 *   bool   waits(adapter)                                       completions wait
 *   bool   completion(adapter, struct endpoint_completion *)    the next one; false: none
 *   void   take(adapter, connection, now, io)                   a message was received: there is room for the next
 *   void   drained(adapter)                                     the host has seen all completions
 *   uint64_t acked_bytes(struct node_end)                       of a sending end: known to have arrived
 *   void   observe(adapter, now, struct node_view *)            counters of its port
 *   bool   kicked(io), completed(io), wants_word(io, uint32_t *), ps_t deadline_of(io)
 *                                                               what the last call answered; the first three forget it
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

struct endpoint_pace {               /* what congestion control allows a connection */
    uint64_t rate_bps, window_bytes; /* UINT64_MAX: no window */
    uint32_t alpha_ppm;
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

#endif
