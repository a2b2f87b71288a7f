/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port of the fabric that is an interface of this machine.
 *
 * Frames wait in two places: what came from outside in queues by priority, as in an adapter, until the line is free
 * and nobody has paused them; what has come out of the fabric in a row until windows are over, or it is full.
 *
 * The queues are filled between windows, by the coordinator, and emptied in the host's visit; the row the other way
 * round.  So nothing is locked.
 */
#ifndef ROCELAB_UP_FOREIGN_INT_H
#define ROCELAB_UP_FOREIGN_INT_H

#include "packet/directory.h"
#include "packet/frame.h"
#include "up/interface.h"
#include "up/up_int.h"

#define PORT_PRIORITIES 8u
#define PORT_WORDS 16u /* of pauses from outside, until the next visit */

struct port_slot { /* a frame that came from outside */
    uint32_t next; /* of its queue, or of those that are free */
    uint32_t dst;  /* endpoint */
    ps_t at;       /* when it came */
    uint32_t bytes;
    uint8_t data[FRAME_BYTES_MAX];
};

struct port_out {
    uint32_t bytes;
    bool carried; /* from another host; else the port's own word */
    uint8_t data[FRAME_BYTES_MAX];
};

struct up_port {
    struct up_host *host;
    uint32_t endpoint;
    const char *name; /* of the interface */
    struct interface *interface;
    struct up_watch watch;
    const struct directory *directory; /* of all endpoints */
    const struct sw_port_rules *rules; /* of the switch at the other end: what priority a frame has there */
    uint64_t rate_bps;
    uint8_t mac[6];     /* of that switch's port: who those outside see */
    uint8_t outside[6]; /* of whoever has the host's address out there ... */
    bool known;         /* ... once it has shown one */
    bool wanted;        /* there was a frame for it */
    bool down;          /* the port's link is */
    uint64_t probed_ns;
    ps_t reads_at; /* the fabric's time of what is being read */
    struct port_slot *slot;
    uint32_t free; /* slots */
    uint32_t head[PORT_PRIORITIES], tail[PORT_PRIORITIES];
    uint32_t last; /* priority that was sent: they take turns */
    ps_t paused_until[PORT_PRIORITIES];
    uint32_t word[PORT_WORDS];
    uint32_t words;
    struct port_out *out;
    uint32_t outs;
    struct up_port_counts counts;
    uint64_t told; /* losses that were */
};

/* foreign_port.c */
int foreign_port_init(struct up_port *port); /* -ENOMEM */
void foreign_port_release(struct up_port *port);
/* A frame from outside: context is the port. */
void foreign_port_frame(void *context, const uint8_t *data, uint32_t bytes);
/* Asks those outside who has the host's address. */
void foreign_port_probe(struct up_port *port);
/* The next that may be sent now, as a packet of the pool; PKT_NONE: none. */
pkt_t foreign_port_next(struct up_port *port, ps_t now, struct pktpool *pool);
bool foreign_port_waits(const struct up_port *port); /* frames do */
/* When the next frame may be sent that may not be now; PS_NEVER: none. */
ps_t foreign_port_deadline(const struct up_port *port, ps_t now);
/* A packet has come out of the fabric. */
void foreign_port_packet(struct up_port *port, pkt_t id, struct pktpool *pool);
/* The switch at the other end has paused or released priorities. */
void foreign_port_paused(struct up_port *port, uint32_t word, ps_t now);
/* All that waits is thrown away. */
void foreign_port_clear(struct up_port *port);
/* What waits to go out goes. */
void foreign_port_flush(struct up_port *port);

#endif
