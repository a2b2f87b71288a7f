/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port's clock: how long a frame takes at the line's rate, when the port is free again, when the frame is at the
 * other end, and whether it gets there.
 *
 * Knows nothing of what carries the frames: a driver keeps its own word beside (`link`, `peer`, `tap`).  What a line
 * cannot send in whole picoseconds is carried over to the next frame (struct rate).  A control frame does not queue: it
 * follows the frame on the line, before whatever waits (802.1Qbb: a MAC control frame is inserted below the queues);
 * two that are due at once leave one after the other.
 */
#ifndef ROCELAB_NODE_PORT_H
#define ROCELAB_NODE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/time.h"

/* What a frame occupies; the same for the whole run. */
struct line_model {
    uint16_t min_bytes;   /* frames are padded to this, without FCS */
    uint16_t before;      /* preamble */
    uint16_t after;       /* FCS: still part of the frame */
    uint16_t gap;         /* until the next may start */
    uint16_t pause_bytes; /* all that a PFC frame occupies, gap included */
    bool whole_ns;        /* times on the line are cut to nanoseconds, as some simulators do */
};
#define LINE_MODEL_ETHERNET                                                                                            \
    {                                                                                                                  \
        .min_bytes = 60, .before = 8, .after = 4, .gap = 12, .pause_bytes = 84                                         \
    }

#define PORT_FAR 1u      /* the driver's: the other end is in another tile */
#define PORT_DOWN 2u     /* nothing goes out */
#define PORT_CORRUPT 4u  /* loses packets: see port_extra */
#define PORT_CUT 8u      /* the other end begins with the header, before the last byte is there */
#define PORT_DIVIDED 16u /* a byte is no whole number of picoseconds */
#define PORT_TAP 32u     /* the driver's: somebody listens */
#define PORT_LLR 64u     /* damaged frames are sent again: llr.h */
#define PORT_HELD 128u   /* the driver's: it has a replay to send, or no room for one */
#define PORT_SLOWLY (PORT_CUT | PORT_CORRUPT | PORT_DIVIDED | PORT_TAP | PORT_LLR)

struct port {                  /* the sending half, owned by its node */
    _Alignas(64) ps_t free_at; /* NODE_TIME_MAX: the port is down */
    struct link *link;         /* the driver's: what it sends into; NULL: nothing plugged in */
    ps_t *peer_next;           /* the driver's: the other end's earliest event, where that is in the same tile */
    ps_t behind; /* from when the port is free again to the other end's call; wraps where that is before */
    uint32_t ps_per_byte;
    uint32_t peer; /* the driver's: node */
    uint16_t flags;
    uint16_t spare[3];
    uint64_t sent_bytes;  /* of line, gaps included: utilisation */
    uint64_t sent_frames; /* data and control */
};
_Static_assert(sizeof(struct port) == 64, "a port's sending half fits a cache line");

struct port_extra { /* what the common case does not read */
    struct rate rate;
    ps_t latency;         /* from the last bit sent to the machine's call at the other end */
    ps_t control_latency; /* the same of a control frame */
    uint32_t loss_ppm;
    uint64_t keeps;                  /* of bytes: the probability that one arrives unharmed, 2^64 is 1; 0: all do */
    uint32_t drop_every, until_drop; /* one packet in so many; 0: none */
    uint64_t lost;                   /* packets: by corruption, or arrived while the link was down */
    uint64_t lost_bytes;             /* of their frames */
    uint64_t pauses_sent;
    uint64_t downs;     /* times the link went down */
    uint64_t corrupted; /* of `lost`, packets with wrong bits */
    struct rng rng;
    struct tap *tap; /* the driver's */
};

struct port_sent {
    ps_t last_bit; /* when it has left */
    ps_t arrival;  /* when the other end's machine is called */
    bool lost;     /* on its way */
};

#define PORT_CUT_BYTES 64u /* of a frame, without preamble: what a cut-through switch wants */

/* A frame with all that is added to it. */
static inline __attribute__((always_inline)) uint32_t port_line_bytes(uint32_t frame, uint32_t min_bytes,
                                                                      uint32_t added_bytes)
{
    return (frame < min_bytes ? min_bytes : frame) + added_bytes;
}

/* Puts a frame on the line at `now`, where the port is free and has none of PORT_SLOWLY; answers its arrival. */
static inline __attribute__((always_inline)) ps_t port_send(struct port *port, uint32_t line, ps_t now)
{
    ps_t free_at = now + (uint64_t)line * port->ps_per_byte;

    port->sent_bytes += line;
    port->sent_frames++;
    port->free_at = free_at;
    return free_at + port->behind;
}

/* The same where the other end cuts through, and the port has no other of PORT_SLOWLY: the frame is there with its
 * header. */
static inline __attribute__((always_inline)) ps_t port_send_cut(struct port *port, uint32_t line, uint32_t header,
                                                                ps_t latency, ps_t now)
{
    port->sent_bytes += line;
    port->sent_frames++;
    port->free_at = now + (uint64_t)line * port->ps_per_byte;
    return now + (uint64_t)header * port->ps_per_byte + latency;
}

/* The same for any port. */
struct port_sent port_send_slowly(struct port *port, struct port_extra *extra, const struct line_model *model,
                                  uint32_t line, ps_t now);
/* A control frame: after the frame that is being sent, before anything queued. */
struct port_sent port_send_control(struct port *port, struct port_extra *extra, const struct line_model *model,
                                   ps_t now);
/* The same of an ordered set of so many bytes, which is no frame and has no gap; it may be lost where bits go wrong. */
struct port_sent port_send_set(struct port *port, struct port_extra *extra, const struct line_model *model,
                               uint32_t bytes, ps_t latency, ps_t now);
/* The line's rate from now on. */
void port_set_rate(struct port *port, struct port_extra *extra, const struct line_model *model, uint64_t rate_bps);

#endif
