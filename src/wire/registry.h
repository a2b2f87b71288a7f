/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is on this machine: the processes of one user in one network namespace that share addresses.
 *
 * A piece of shared memory, changed under flock, holds a slot for each opened device of each
 * process.  A slot is the top ten bits of its QPNs, so whoever sees a packet knows whose it is.  Per
 * address it mirrors the order of the sockets in the kernel's SO_REUSEPORT group, which the
 * classic BPF program needs.  Each slot has a datagram socket (AF_UNIX, abstract, so it lives and dies
 * with the process and the namespace) to which packets that reached the wrong process are forwarded.
 *
 * Also here: which process listens for which CM service, and who answers for QP1 of an address.
 */
#ifndef ROCELAB_WIRE_REGISTRY_H
#define ROCELAB_WIRE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "packet/pkt.h"

#define REGISTRY_QPN_BITS 14 /* QPs of a slot */
#define REGISTRY_SLOTS 1022u /* 1 .. REGISTRY_SLOTS; 0: QP0 and QP1, 1023: probes and multicast */

static inline uint32_t registry_slot_of(uint32_t qpn)
{
    return qpn >> REGISTRY_QPN_BITS;
}

struct registry;

/* 0; -EUSERS: every slot is taken; other -errno.  `why` names what went wrong in words. */
int registry_join(struct registry **ret, char *why, size_t why_bytes);
/* Ends everything this slot holds.  After fork() the child calls it too, to let go of the parent's descriptors:
 * it changes nothing for the parent. */
void registry_leave(struct registry *);
uint32_t registry_slot(const struct registry *);
/* Before addresses are joined: the interface that this slot's link-local addresses belong to (0: none is known). */
void registry_set_interface(struct registry *, unsigned ifindex);
uint64_t registry_nonce(const struct registry *); /* a secret of the processes of this registry: in no name */
/* Grows whenever a process joins, and when it joins an address (then its ports and its bell are known): as long as it
 * stands still, no slot has become another's, and nobody new is at an address.  Cheap, no lock. */
uint32_t registry_epoch(const struct registry *);
/* The process behind a slot; 0: none.  Dead processes do not count. */
int32_t registry_pid(struct registry *, uint32_t slot);
/* A number of the process behind a slot, as its pid is, but never used again (a pid is, and other pid namespaces have
 * the same ones); 0: none. */
uint32_t registry_life(struct registry *, uint32_t slot);

/* The same where it receives at the address too. */
int32_t registry_pid_at(struct registry *, uint32_t slot, const struct pkt_addr *address);

/* CM: this slot answers requests for a service id, on one address, or on all those it has joined: of both families
 * (NULL) or of one (0.0.0.0, ::).
 * -EADDRINUSE: another that shares an address with it does; -ENOSPC. */
int registry_listen(struct registry *, uint64_t service_id, const struct pkt_addr *address);
void registry_unlisten(struct registry *, uint64_t service_id, const struct pkt_addr *address);
/* The slot that listens; 0: none.  One that named the address is preferred. */
uint32_t registry_listener(struct registry *, uint64_t service_id, const struct pkt_addr *address);

/* Hands a packet (headers beside it) to another process of this machine.  0; -ECONNREFUSED: it is gone; -EAGAIN: its
 * queue is full, the packet is lost. */
struct wire_packet;
int registry_forward(struct registry *, uint32_t slot, const struct wire_packet *packet);
/* What others forwarded to us.  1: one packet (data in buf), 0: none. */
int registry_receive(struct registry *, struct wire_packet *ret, uint8_t *buf, size_t cap);
int registry_fd(struct registry *);

/* --- for wires --- */

/* A datagram socket that processes of this registry alone can send to, what they send beginning with the nonce; its
 * name is the kernel's choice, and *ret_number stands for it.  The descriptor, or -errno. */
int registry_socket(struct registry *, uint32_t *ret_number);
struct sockaddr_un registry_socket_name(uint32_t number, socklen_t *ret_bytes);
/* The socket on which a slot takes rings; 0: it takes none. */
void registry_set_bell(struct registry *, uint32_t number);
uint32_t registry_bell(const struct registry *, uint32_t slot);
/* The pool of UDP source ports of this slot, and the one that a slot's QP of an address sends from to another QP; 0: no
 * process of this registry has it, or it sends from no pool. */
void registry_set_ports(struct registry *, const uint16_t *port, unsigned ports);
uint16_t registry_source_port(struct registry *, const struct pkt_addr *, uint16_t port, uint32_t qpn,
                              uint32_t remote_qpn);

/* The lock of the memory.  It is held for microseconds; `patient`: waits up to ten seconds for a process that was
 * stopped while it held it, else it answers at once.  0 or -EAGAIN. */
int registry_lock(struct registry *, bool patient);
void registry_unlock(struct registry *);

/* An address (and UDP port) that processes of this registry receive on.  In shared memory; touched under the lock. */
struct registry_group {
    struct pkt_addr address;
    uint32_t scope;    /* a link-local address: its interface */
    uint64_t probe_ns; /* when the order was last asked for (CLOCK_MONOTONIC) */
    uint32_t probe_round;
    uint32_t changes;  /* of what follows */
    uint32_t attached; /* `changes` when a program was last attached: else one is due */
    uint16_t port;
    uint16_t members;
    uint16_t slot[REGISTRY_SLOTS];  /* oldest member first: [0] answers for QP1 */
    uint16_t index[REGISTRY_SLOTS]; /* of member i in the kernel's group; REGISTRY_NO_INDEX: not known */
    uint32_t round[REGISTRY_SLOTS]; /* the probe that told */
};
#define REGISTRY_NO_INDEX UINT16_MAX

/* All under the lock.  find: NULL when nobody has it and `create` is false, or there is no room. */
struct registry_group *registry_group_find(struct registry *, const struct pkt_addr *, uint16_t port, bool create);
/* Takes dead members out as the kernel did; answers how many. */
unsigned registry_group_sweep(struct registry *, struct registry_group *);
int registry_group_add(struct registry *, struct registry_group *);      /* this slot, at the end; -EEXIST, -ENOSPC */
void registry_group_remove(struct registry_group *, uint32_t slot);      /* the kernel moves its last socket there */
int registry_group_member(const struct registry_group *, uint32_t slot); /* its place, or -1 */

/* The slot that answers for QP1 of an address; 0: nobody. */
uint32_t registry_owner(struct registry *, const struct pkt_addr *, uint16_t port);

#endif
