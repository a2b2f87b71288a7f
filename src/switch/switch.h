/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch: a machine without I/O.
 *
 * It is given a packet that has wholly arrived and passed the forwarding pipeline (sw_rx), asked
 * for the next packet when a port is free (sw_tx), told of a pause (sw_pause) and called at the
 * deadline it named (sw_tick).  It answers the port to ask, the pause frames to send and the next deadline.
 * It reads no clock, allocates nothing, uses no floating point.
 *
 * Life of a packet: trust -> traffic class -> (priority group, queue); route -> port; MMU admission
 * (reserve, shared by threshold, headroom); ECN mark; queue; scheduler; MMU release.
 */
#ifndef ROCELAB_SWITCH_SWITCH_H
#define ROCELAB_SWITCH_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/time.h"
#include "packet/pkt.h"
#include "packet/pktpool.h"
#include "switch/config.h"

#define SW_DROPPED UINT16_MAX
#define SW_FLOODED (UINT16_MAX - 1)
#define SW_SPREADS (UINT16_MAX - 2) /* sw_route() */

struct sw_pause_out { /* a PFC frame to send, or a word of credits */
    uint32_t credit;  /* the word (base/credit.h); 0: a PFC frame */
    uint16_t port;
    uint8_t enable;  /* priorities it speaks of */
    uint16_t quanta; /* 0: resume */
    uint16_t cause;  /* XOFF: where the packet that crossed the threshold is to leave; SW_NO_CAUSE: a repetition */
    bool passed_on;  /* that queue was paused itself */
};
#define SW_NO_CAUSE UINT16_MAX

#define SW_PAUSES_MAX 64
struct sw_io { /* what a call needs and answers; the caller owns it and empties pauses, kicks */
    struct pktpool *pool;
    uint32_t pauses, kicks;
    struct sw_pause_out pause[SW_PAUSES_MAX];
    uint16_t kick[SW_PAUSES_MAX]; /* ports to ask again (a pause ended) */
    ps_t deadline;                /* set by every call: the earliest sw_tick wanted, PS_NEVER: none.  Not after
                                   * now: the lists were full; empty them and call sw_tick again. */
};

struct sw; /* opaque: switch_int.h */

/* NULL, or what is wrong with the configuration (sw_init CHECKs that nothing is). */
const char *sw_config_problem(const struct sw_config *config);
size_t sw_memory_bytes(const struct sw_config *config);
/* Memory is zeroed, cache-line aligned, and outlives the switch.  Config and routes are kept by pointer. */
struct sw *sw_init(void *memory, const struct sw_config *config, const struct sw_routes *routes);

/*
 * The port the packet was queued on; SW_DROPPED (counted with its reason, packet given back to the pool); SW_FLOODED:
 * copies of it are queued on several ports, and all are to be asked.  For a switch that forgets ports the pool holds a
 * free packet for each port.
 */
uint16_t sw_rx(struct sw *sw, uint16_t in, pkt_t id, ps_t now, struct sw_io *io);
/* The next packet of a free port; PKT_NONE: nothing may go now (empty or paused). */
pkt_t sw_tx(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io);
/* The same of a switch that is SW_SIMPLE, and of one that is SW_CREDITS. */
pkt_t sw_tx_simple(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io);
pkt_t sw_tx_credits(struct sw *sw, uint16_t port, ps_t now, struct sw_io *io);

/* How much of sw_rx() and sw_tx() a switch needs: for callers that inline the rest away (crossing.h). */
enum sw_form {
    SW_SIMPLE,   /* hashes, and has output queues in shared memory */
    SW_FORWARDS, /* may have a balancer, or virtual output queues */
    SW_CREDITS,  /* has credits, and output queues in shared memory */
    SW_WHOLE,    /* may flood, raise classes, or write telemetry: sw_rx() and sw_tx() alone will do */
};
enum sw_form sw_form(const struct sw_config *config);

/* A PFC frame arrived on port. */
void sw_pause(struct sw *sw, uint16_t port, uint8_t enable, const uint16_t quanta[8], ps_t now, struct sw_io *io);
/* A word of credits arrived on port. */
void sw_credit(struct sw *sw, uint16_t port, uint32_t word, ps_t now, struct sw_io *io);
void sw_tick(struct sw *sw, ps_t now, struct sw_io *io);
/* Down: what is queued there is dropped, what arrives for it too, pauses in both directions are void. */
void sw_port_state(struct sw *sw, uint16_t port, bool up, ps_t now, struct sw_io *io);
/* Other routes from here on; packets already queued stay where they are. */
void sw_set_routes(struct sw *sw, const struct sw_routes *routes);
/* By which port packets of a flow leave with the routes of now, without sending one.  SW_DROPPED: there is no way, or
 * its port is forgotten.  SW_SPREADS: one may go by another way than the next (flowlets, adaptive routing, spraying).
 * Of the packet src_node, dst_node, dest_qp and sport count. */
uint16_t sw_route(const struct sw *sw, const struct pkt *flow);

/* Counters: switch/counters.def yields the struct and the names; per port, and per port and priority. */
#include "switch/counters.h"
/* Brought up to date by this call; the same address each time.  Pauses that still hold count from sw_settle on. */
const struct sw_port_counters *sw_port_counters(const struct sw *sw, uint16_t port);
/* Counts the pauses that still hold, up to now: before the counters are read at the end of a run or an interval. */
void sw_settle(struct sw *sw, ps_t now);
uint64_t sw_queue_bytes(const struct sw *sw, uint16_t port, uint8_t queue);
/* What the MMU holds, in bytes of whole cells: of an ingress priority group, and its headroom part. */
uint64_t sw_pg_bytes(const struct sw *sw, uint16_t port, uint8_t pg);
uint64_t sw_pg_headroom_bytes(const struct sw *sw, uint16_t port, uint8_t pg);
uint64_t sw_shared_bytes(const struct sw *sw); /* size of the shared pool */
uint64_t sw_shared_used(const struct sw *sw);
uint16_t sw_paused(const struct sw *sw, uint16_t port);  /* bit p: the peer paused priority p */
uint16_t sw_pausing(const struct sw *sw, uint16_t port); /* bit p: the peer was told to pause priority p */

/*
 * waits.c: for whoever looks for deadlocks, over all switches at one moment.  `stuck` is [ports], bit q: queue q of
 * that port.  sw_stuck_cells() counts what stuck queues hold by the group it came in by, [ports * SW_PRIOS], in
 * cells.
 */
uint16_t sw_waiting(const struct sw *sw, uint16_t port); /* bit q: queue q holds packets and may not send */
uint16_t sw_waiting_prios(const struct sw *sw, uint16_t port, uint8_t queue); /* bit p: priority p holds queue up */
ps_t sw_paused_from(const struct sw *sw, uint16_t port, uint8_t prio);        /* when the pause that holds began */
void sw_stuck_cells(const struct sw *sw, const struct pkt *hot, const uint16_t *stuck, uint32_t *ret_cells);
/* Would the peer of port `in` be let go on with `prio` if all that is not stuck had left? */
bool sw_would_resume(const struct sw *sw, uint16_t in, uint8_t prio, const uint32_t *cells);
/* Does the queue hold packets that came in by that port and priority's group? */
bool sw_queue_holds(const struct sw *sw, const struct pkt *hot, uint16_t port, uint8_t queue, uint16_t in,
                    uint8_t prio);
/* Of a lane: blocks that may be sent by this port, and blocks that it holds of the other end's. */
int32_t sw_credit_left(const struct sw *sw, uint16_t port, uint8_t vl);
uint32_t sw_credit_held(const struct sw *sw, uint16_t port, uint8_t vl);
/* CHECKs the books: sums over queues == sums over PGs == pool use. */
void sw_audit(const struct sw *sw);

#endif
