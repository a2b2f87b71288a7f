/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs on the hosts of a simulation, beside its jobs: the seam of src/up.
 *
 * A simulation that is given a struct sim_programs makes its hosts so that they know of programs: adapters have room
 * for their queue pairs and memory, and the owner is called where a program is concerned.  All calls come from the
 * visit of the host that they name, on the thread that runs it, except where they say otherwise; what an owner keeps
 * for a host needs no lock.
 *
 * A simulation without programs does not know of this.
 */
#ifndef ROCELAB_SIM_PROGRAMS_H
#define ROCELAB_SIM_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "node/host.h"

/* Of the key that jobs' messages have: a region of everything, in a domain of its own. */
#define SIM_JOBS_PD 0u

struct sim_arrival { /* a packet as it came: the adapter makes an answer of its descriptor */
    pkt_t id;        /* payload kept by this number is that of the packet */
    uint32_t src;    /* endpoint */
    uint32_t dest_qp, psn, rkey, payload_bytes;
    uint8_t opcode, tos, ttl;
};

/*
 * Hosts that are no machines of ours: what is behind their ports is outside.  Packets have room for the bytes of their
 * frames then (packet/frame.h), and the owner fills and reads them; it also has the host's turns (sim_programs.turn),
 * in which it sends words of those outside.  Calls are from the host's visit, as all others.
 */
struct sim_foreign {
    bool (*is)(void *owner, uint32_t host);
    /* A frame has come out of the fabric; afterwards the packet goes back to the pool. */
    void (*received)(void *owner, uint32_t host, uint32_t port, pkt_t id, ps_t now, struct node_io *io);
    /* The port is free: what has come in from outside, with src_node and dst_node; PKT_NONE: nothing may be sent. */
    pkt_t (*sends)(void *owner, uint32_t host, uint32_t port, ps_t now, struct node_io *io);
    bool (*more)(void *owner, uint32_t host, uint32_t port);
    /* The switch at the other end said this: a pause. */
    void (*word)(void *owner, uint32_t host, uint32_t port, uint32_t word, ps_t now);
};

struct sim_programs {
    void *owner;
    const struct sim_foreign *foreign; /* NULL: all hosts are ours */
    uint32_t qps, mrs;                 /* an adapter's room, beside the jobs' */
    /* When the host is to be asked next: a post is due, or a program. */
    ps_t (*next)(void *owner, uint32_t host);
    /* It is: posts are posted, programs have their turns.  Adapters that were given something to send are asked
     * afterwards; their deadlines are read again. */
    void (*turn)(void *owner, uint32_t host, ps_t now, struct node_io *io);
    /* After an adapter has judged a packet: io->nic.place, atomic and keep are to be seen to.  Called for packets to
     * queue pairs of programs (nic_qp_app() is not NULL) and for such to no queue pair. */
    void (*received)(void *owner, uint32_t host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                     struct node_io *io);
    /* An adapter sends a packet with payload of a program: io->nic.gather.  False: it could not be gathered; the
     * packet is not sent. */
    bool (*sends)(void *owner, uint32_t host, uint32_t adapter, pkt_t id, ps_t now, struct node_io *io);
    /* The bytes of a packet that was gathered, as long as the number is the packet's; for captures, from any visit.
     * NULL: not so many are kept of any. */
    const uint8_t *(*payload)(void *owner, pkt_t id, uint32_t bytes);
    /* The link of an adapter has failed, or come back. */
    void (*link)(void *owner, uint32_t host, uint32_t adapter, bool up, ps_t now);
    /* Something was completed, or an event waits; after each call of an adapter that says so. */
    void (*completed)(void *owner, uint32_t host, ps_t now, struct node_io *io);
    /* Between windows, alone: everything before `now` was run.  True: programs are done, the run may end with the
     * jobs. */
    bool (*coordinate)(void *owner, ps_t now);
    /* When the last program that is done ended; 0: none has. */
    ps_t (*ended)(void *owner);
};

struct sim;
struct engine;

/* The host's node, its adapters in it. */
struct node_host *sim_host_node(struct sim *sim, uint32_t host);
struct engine *sim_engine(struct sim *sim);
const struct plant *sim_plant(const struct sim *sim);
/* The queue pair is one of a job's, at this endpoint: none that a program may send to. */
bool sim_qp_of_jobs(const struct sim *sim, uint32_t endpoint, uint32_t qpn);
/* What captures show as the port's MAC address: locally administered, the port's number in it. */
void sim_port_mac(uint32_t port, uint8_t mac[6]);
/* Between windows: nothing but this host's programs, and what follows from them, happens before.  Too early where that
 * is hard to say. */
ps_t sim_programs_alone(const struct sim *sim, uint32_t host);
/* Between windows: nothing happens before `at`; the time is now that, or as far as a series and the like allow. */
void sim_programs_pass(struct sim *sim, ps_t at);
/* Between windows: the host's programs have something to do at `at`. */
void sim_programs_wake(struct sim *sim, uint32_t host, ps_t at);

#endif
