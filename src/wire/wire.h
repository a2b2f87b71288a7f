/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wires: what moves bursts of RoCE packets between this process and the world.
 *
 * A packet here is what lies between the UDP header and the end: BTH, extended headers, payload,
 * pad, ICRC.  Addresses and the few header fields that matter travel beside it, so that one loop
 * serves sockets (which never show an IP header), rings between processes and raw ports.  The loop
 * writes and checks the ICRC, because only it knows what it meant to send; the wire says which IP
 * identification a packet has, or will have, since the ICRC covers it.
 *
 * A run is a row of packets that the wire may hand to the kernel in one piece (UDP_SEGMENT): same
 * addresses, source port and TOS, destination QPs of one process, adjacent in memory, all of the same
 * length but for the last, which may be shorter.  In a run the IP identification counts from 0.
 *
 * A wire that is a port of the machine also carries PFC frames, in order with the packets; who obeys and who sends them
 * is the adapter behind the loop.
 *
 * Wires that wrap a wire (fault, pcap, trace) have the same face.
 */
#ifndef ROCELAB_WIRE_WIRE_H
#define ROCELAB_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "packet/pkt.h"

#define WIRE_SOURCE_PORTS_MAX 64u
#define WIRE_BURST 64         /* packets a call at most */
#define WIRE_PACKET_MAX 4352u /* BTH .. ICRC with 4096 bytes of payload and every header: room for one */

struct wire_pause { /* IEEE 802.1Qbb; an 802.3x frame is one that names every priority */
    uint8_t enable; /* bit p: quanta[p] counts */
    uint16_t quanta[8];
};

struct wire_packet {
    uint8_t *data; /* BTH .. ICRC; rx: valid until the next rx of this wire */
    uint32_t bytes;
    union { /* ip_id: its place in the run, from 0; on IPv4 wires that is the identification the ICRC covers */
        struct pkt_envelope envelope;
        struct {
            PKT_ENVELOPE_FIELDS
        };
    };
    bool id_known;            /* rx: ip_id is what the sender's ICRC covers if it is one of us; else any may fit */
    bool memory;              /* rx: it came through a ring, from a process of our own user */
    bool unchecked;           /* carries no ICRC: it goes or came through memory; rx: or the wire has checked it */
    uint8_t dmac[6], smac[6]; /* packet wire only; 0: the wire finds it out */
    const struct wire_pause *pause; /* not NULL: no packet but this, from smac; tx: the only one of its call; rx: valid
                                     * as `data` */
};

struct wire;
struct wire_ops { /* now: the caller's time, CLOCK_MONOTONIC or any that runs forward; one reading serves many calls */
    /* Up to `max` packets; 0: none now; -errno: the wire is gone (address removed, port lost). */
    int (*rx)(struct wire *, struct wire_packet *ret, unsigned max, ps_t now);
    /* How many were taken, from the first; fewer: no room now, try again later (or at `deadline`).  -errno: gone.
     * A packet that the network refuses (unreachable, too long) is taken, dropped and counted: RoCE recovers. */
    int (*tx)(struct wire *, const struct wire_packet *, unsigned count, ps_t now);
    int (*fd)(struct wire *);        /* readable when rx may have something; -1: none */
    ps_t (*deadline)(struct wire *); /* when rx or tx wants to be called though nothing is readable; PS_NEVER */
    /* Receive for this local address too, or (a multicast address) for this group.  0; -EADDRINUSE: another program
     * has the port; -EADDRNOTAVAIL: not an address of this machine; wire_why() tells in words. */
    int (*add_address)(struct wire *, const struct pkt_addr *local);
    void (*remove_address)(struct wire *, const struct pkt_addr *local);
    void (*close)(struct wire *);
    /* Will a packet for this destination stay in this machine's memory?  Then it needs no ICRC; `unchecked` tells the
     * wire.  NULL: as no_icrc says. */
    bool (*memory)(struct wire *, const struct pkt_addr *dst, uint32_t qpn);
    /* The three together, or none: packets that are built where they will be read, one copy less than through tx.
     * place: room for a packet of at most `bytes`; NULL: this one goes through tx.  placed: what was built at the last
     * place is whole; a place that is not followed by it is given back.  publish: what was placed is sent. */
    uint8_t *(*place)(struct wire *, const struct pkt_addr *dst, uint32_t qpn, uint32_t bytes, ps_t now);
    void (*placed)(struct wire *, const struct wire_packet *);
    void (*publish)(struct wire *, ps_t now);
};

/* Counters of a wire, from one list. */
#define WIRE_COUNTER_LIST(X)                                                                                           \
    X(rx_packets)                                                                                                      \
    X(rx_bytes)                                                                                                        \
    X(tx_packets)                                                                                                      \
    X(tx_bytes)                                                                                                        \
    X(rx_udp_packets)                                                                                                  \
    X(rx_udp_bytes)                                                                                                    \
    X(tx_udp_packets)                                                                                                  \
    X(tx_udp_bytes)                                                                                                    \
    X(rx_shm_packets)                                                                                                  \
    X(rx_shm_bytes)                                                                                                    \
    X(tx_shm_packets)                                                                                                  \
    X(tx_shm_bytes)                                                                                                    \
    X(rx_calls)                                                                                                        \
    X(tx_calls)                                                                                                        \
    X(tx_refused)                                                                                                      \
    X(rx_overflow)                                                                                                     \
    X(forwarded)                                                                                                       \
    X(misdelivered)                                                                                                    \
    X(fault_lost)                                                                                                      \
    X(fault_duplicated)                                                                                                \
    X(fault_reordered)                                                                                                 \
    X(fault_corrupted)                                                                                                 \
    X(fault_delayed)                                                                                                   \
    X(fault_marked)                                                                                                    \
    X(rx_icrc_errors)                                                                                                  \
    X(rx_malformed)                                                                                                    \
    X(rx_pauses)                                                                                                       \
    X(tx_pauses)

struct wire_counters {
#define X(name) uint64_t name;
    WIRE_COUNTER_LIST(X)
#undef X
};

struct wire { /* at the start of each wire's own struct */
    const struct wire_ops *ops;
    unsigned run_max;   /* packets in a run; 1: no runs (and every IP identification is 0) */
    uint32_t run_bytes; /* bytes in a run */
    bool no_icrc;       /* the ICRC may be left out (its four bytes are there all the same) */
    bool port;          /* a port of the machine: PFC frames travel, and nothing does while its link is down */
    unsigned source_ports;
    uint16_t source_port[WIRE_SOURCE_PORTS_MAX];
    struct wire_counters counters;
    ps_t due; /* tx has kept something back: rx wants to be called by then, though nothing is readable; 0: nothing */
    char why[200]; /* in words, what the last call that failed failed on */
};

static inline const char *wire_why(const struct wire *wire)
{
    return wire->why;
}

/* What a wire needs to know of the process it serves. */
struct wire_config {
    const char *ifname;
    uint32_t slot; /* registry.h: QPNs of this process are slot << 14 .. */
    struct registry *registry;
    uint16_t port;         /* 4791 */
    unsigned source_ports; /* entropy: size of the pool; 0: 16 */
    uint8_t mac[6];
    bool tag;         /* packet wire: an 802.1Q tag with the packet's priority on every frame */
    uint16_t vlan_id; /* of that tag; 0: priority alone */
    char *why;        /* may be NULL: where a failing open says in words what was wrong */
    size_t why_bytes;
};

int wire_auto_open(const struct wire_config *config, struct wire **ret); /* shm within the machine, else udp */
int wire_udp_open(const struct wire_config *config, struct wire **ret);
int wire_shm_open(const struct wire_config *config, struct wire **ret);
int wire_packet_open(const struct wire_config *config, struct wire **ret);

struct wire_fault { /* parts in a million, seeded */
    uint32_t loss, duplicate, reorder, corrupt;
    uint32_t mark; /* CE, as a switch with a long queue marks */
    uint32_t delay_ppm;
    ps_t delay_ps;
    uint64_t seed;
    bool seeded;      /* the text named one */
    uint64_t packets; /* only the first so many suffer; 0: all */
};
/* "loss=1%,duplicate=0.1%,reorder=1%,corrupt=0.1%,mark=1%,delay=10us@5%,seed=7,packets=500"; 0, or -EINVAL
 * and what is wrong in `why`. */
int wire_fault_parse(const char *text, struct wire_fault *ret, char *why, size_t why_bytes);
/* Each takes `inner` over and closes it when closed; on failure inner is untouched. */
int wire_fault_open(struct wire *inner, const struct wire_fault *fault, struct wire **ret);
struct capwriter_name; /* packet/capfile/capfile.h */
int wire_pcap_open(struct wire *inner, const struct capwriter_name *file, struct wire **ret);
int wire_trace_open(struct wire *inner, int fd, struct wire **ret); /* a line of text per packet; takes fd over too */

/* The source port of a flow: one of the wire's pool, by hash of the two QPNs. */
uint16_t wire_source_port(const struct wire *wire, uint32_t qpn, uint32_t remote_qpn);
uint16_t wire_port_of_flow(const uint16_t *port, unsigned ports, uint32_t qpn, uint32_t remote_qpn);

/* A filter for a socket, or (SO_ATTACH_REUSEPORT_CBPF) a program for its group.  0 or -errno. */
struct sock_filter;
int wire_attach(int fd, int option, struct sock_filter *code, unsigned length);

static inline int wire_rx(struct wire *wire, struct wire_packet *ret, unsigned max, ps_t now)
{
    return wire->ops->rx(wire, ret, max, now);
}
static inline int wire_tx(struct wire *wire, const struct wire_packet *packet, unsigned count, ps_t now)
{
    return wire->ops->tx(wire, packet, count, now);
}
static inline bool wire_memory(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn)
{
    return wire->ops->memory ? wire->ops->memory(wire, dst, qpn) : wire->no_icrc;
}
static inline uint8_t *wire_place(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn, uint32_t bytes, ps_t now)
{
    return wire->ops->place ? wire->ops->place(wire, dst, qpn, bytes, now) : NULL;
}
static inline int wire_fd(struct wire *wire)
{
    return wire->ops->fd(wire);
}
static inline ps_t wire_deadline(struct wire *wire)
{
    return wire->ops->deadline(wire);
}
static inline int wire_add_address(struct wire *wire, const struct pkt_addr *local)
{
    return wire->ops->add_address(wire, local);
}
static inline void wire_remove_address(struct wire *wire, const struct pkt_addr *local)
{
    wire->ops->remove_address(wire, local);
}
static inline void wire_close(struct wire *wire)
{
    wire->ops->close(wire);
}

#endif
