/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TCP endpoint: one port and its connections; a machine without I/O.  iWARP is the same with MPA framing (mpa.h).
 *
 * A connection goes one way: its sending end is posted messages, its receiving end answers with acknowledgements. It
 * is given packets (tcp_rx), asked for the next one when its port is free (tcp_tx), and called at the deadline it
 * named (tcp_tick). Payload never enters. A message starts a segment of its own, as if each were written with MSG_EOR;
 * its last segment has the push flag, and the message's word where the receiver is told of it.
 *
 * What stands in which file: connection.c (making, posting, completing), schedule.c (whose turn it is, timers), send.c
 * (segments), receive.c (data in, acknowledgements out), ack.c (acknowledgements in), scoreboard.c (what was sent and
 * is not acknowledged), recovery.c (loss, window in recovery), rto.c (round-trip time, timeouts, probes), cc_*.c.
 *
 * Not modelled: Nagle, urgent data, receive windows that close, their scaling and tuning, PAWS, FIN, classic ECN.
 * Memory is brought by whoever creates an object.  No clock, no allocation, no floating point.
 */
#ifndef ROCELAB_TCP_TCP_H
#define ROCELAB_TCP_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "packet/pktpool.h"
#include "tcp/counters.h"
#include "tcp/mpa.h"

enum tcp_cc { TCP_NEWRENO, TCP_CUBIC, TCP_DCTCP };

struct tcp_config {
    uint64_t line_bps;       /* pauses are told in its time */
    uint32_t endpoint;       /* pkt.src_node of what it sends */
    uint32_t ends;           /* connection ends, of both kinds */
    uint32_t first_number;   /* of an end; those after it follow */
    uint16_t header_bytes;   /* of a data segment: Ethernet, IP, TCP with its timestamps */
    uint16_t mss;            /* of the stream: with MPA what is left for payload is less */
    struct mpa_config mpa;   /* `on`: iWARP */
    uint8_t net, ttl;        /* enum pkt_net */
    uint8_t cc;              /* enum tcp_cc */
    uint16_t initial_window; /* segments */
    uint64_t window_bytes;   /* a connection has at most so much unacknowledged: buffers of both ends */
    ps_t rto_first;          /* before a round trip was measured, of connections that shake hands */
    ps_t rto_min, rto_max;   /* rto_min: also before one was measured, of connections that are open */
    uint8_t retries;         /* timeouts in a row before a connection is given up */
    uint8_t ack_every;       /* full segments an acknowledgement */
    ps_t ack_delay;          /* else after this time */
    uint32_t burst_bytes;    /* what is cut into segments at once (TSO), and merged on arrival (GRO); 0: a segment */
    uint64_t cpu_bps;        /* payload a core sends for one connection; 0: no limit */
    uint64_t host_bps;       /* what all cores of this port send, and take, together; 0: no limit */
    ps_t receive_ps;         /* from the wire to where segments are handled */
    ps_t jitter_ps;          /* and up to so much more, at random: streams of `seed` and the endpoint */
    uint64_t seed;
    bool handshake;      /* one round trip before the first byte; else connections are open */
    bool probes;         /* tail loss probes, and loss told by time (RACK) beside three duplicates */
    bool ns3;            /* as ns-3.37 does it: milliseconds as the clock of RTTs; rto_min a bound of the whole RTO;
                              * half of what is in flight after a loss; marks that end recovery; in recovery a segment
                              * for each acknowledgement, and those in flight again when nothing else is left */
    uint32_t held_bytes; /* payload after a gap that a receiver keeps; 0: no limit */
    uint16_t runs;       /* pieces of a sender's scoreboard, and twice those of a receiver's */
};
/* Linux's: CUBIC, 10 segments, 200 ms .. 120 s, an ACK each two segments or 40 ms, 64 KiB bursts, probes; no costs. */
struct tcp_config tcp_config_default(uint32_t endpoint, uint16_t mtu);

struct tcp;
struct tcp_conn;

struct tcp_io { /* kick and completed are only ever set: the caller clears them */
    struct pktpool *pool;
    bool kick;      /* ask tcp_tx again (when the port is free) */
    bool completed; /* a completion waits */
    ps_t deadline;  /* earliest tcp_tick wanted, as of this call; PS_NEVER: none */
};

struct tcp_message { /* kept until it is acknowledged; at the receiver: an end that waits for what is before it */
    uint64_t end;    /* of the stream */
    uint32_t tag, imm;
};

struct tcp_conn_config {
    uint32_t remote, remote_number; /* endpoint, and the peer end's number */
    uint16_t sport;                 /* entropy */
    uint8_t tos, prio;              /* DSCP << 2; the priority it is paused by */
    bool sends;                     /* the sending end */
    bool notifies;                  /* the receiver is told of each message */
    uint32_t app;                   /* the owner's number */
    uint32_t depth;                 /* messages unacknowledged at most: a power of two */
    void *memory;                   /* tcp_conn_bytes() of it, zeroed, 8-aligned */
};

struct tcp_completion {
    uint32_t app;
    uint32_t word; /* the post's tag; of a receive its imm */
    bool receive, good;
};

size_t tcp_memory_bytes(const struct tcp_config *config);
struct tcp *tcp_init(void *memory, const struct tcp_config *config); /* zeroed, 64-aligned */
size_t tcp_conn_bytes(const struct tcp_config *config, bool sends, uint32_t depth);
/* 0, -EINVAL: no such number, or made already. */
int tcp_conn_create(struct tcp *tcp, uint32_t number, const struct tcp_conn_config *config, struct tcp_conn **ret);

/* A message; at most `depth` are unacknowledged.  One of no bytes takes one. */
void tcp_post(struct tcp *tcp, struct tcp_conn *conn, uint64_t bytes, uint32_t tag, uint32_t imm, ps_t now,
              struct tcp_io *io);
/* A packet is about to be handed to tcp_rx(): what that touches is brought near. */
void tcp_expect(const struct tcp *tcp, const struct pkt *p);
void tcp_rx(struct tcp *tcp, pkt_t id, ps_t now, struct tcp_io *io);
pkt_t tcp_tx(struct tcp *tcp, ps_t now, struct tcp_io *io);
void tcp_tick(struct tcp *tcp, ps_t now, struct tcp_io *io);
/* Priorities in `enable` are paused for so many quanta; 0: resumed. */
void tcp_pause(struct tcp *tcp, uint8_t enable, uint16_t quanta, ps_t now, struct tcp_io *io);
void tcp_link(struct tcp *tcp, bool up, ps_t now, struct tcp_io *io);
/* The host takes no more than this from now on; 0: as configured. */
void tcp_receive_rate(struct tcp *tcp, uint64_t bps, ps_t now, struct tcp_io *io);
ps_t tcp_deadline(const struct tcp *tcp);
bool tcp_waits(const struct tcp *tcp);
bool tcp_completion(struct tcp *tcp, struct tcp_completion *ret); /* false: none */

struct tcp_counters *tcp_counters(struct tcp *tcp);
/* Another than this endpoint sends on its port from now on. */
void tcp_line_taken(struct tcp *tcp, ps_t now);
/* Counters that are times reach up to now. */
void tcp_settle(struct tcp *tcp, ps_t now);
/* Bit p: priority p is paused. */
uint16_t tcp_paused(const struct tcp *tcp);
uint64_t tcp_conn_acked_bytes(const struct tcp_conn *conn);
uint64_t tcp_conn_resent_segments(const struct tcp_conn *conn);
uint64_t tcp_conn_window(const struct tcp_conn *conn);
uint32_t tcp_conn_alpha_ppm(const struct tcp_conn *conn); /* of DCTCP */
uint64_t tcp_conn_rate(const struct tcp_conn *conn);      /* a window a round trip, bits a second; 0: not measured */
uint32_t tcp_conn_queued(const struct tcp_conn *conn);    /* messages */
/* CHECKs what must always hold. */
void tcp_audit(const struct tcp *tcp);

#endif
