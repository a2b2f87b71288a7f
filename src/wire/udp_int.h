/* SPDX-License-Identifier: Apache-2.0 */
/* The udp wire's own: sockets in udp.c, who gets which packet in udp_group.c. */
#ifndef ROCELAB_WIRE_UDP_INT_H
#define ROCELAB_WIRE_UDP_INT_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "wire/wire_int.h"

#define UDP_ADDRESSES_MAX 64u
#define UDP_BUFFERS 8u
#define UDP_BUFFER_BYTES 65536u
#define UDP_RUN_BYTES 65487u /* what an IPv4 and an IPv6 datagram can both hold */
#define UDP_RUN_MAX 64u      /* UDP_MAX_SEGMENTS of Linux before 6.9; the receiver aggregates as many */

struct udp_address { /* one that we receive on */
    struct pkt_addr addr;
    ps_t repaired_at;  /* when we last looked after the group */
    uint32_t overflow; /* SO_RXQ_OVFL as last told */
    int fd;
    uint8_t net;
    bool multicast;
    bool gone;    /* the interface has lost it */
    bool natural; /* what is sent from it to itself has it as source anyway */
};

struct udp_sender { /* a source port: one socket for each address family */
    int fd4, fd6;
    uint8_t tos4, tos6, ttl4, ttl6; /* as the sockets have them now; ttl 0: the default */
    uint16_t segment4, segment6;    /* likewise; 0: datagrams go as they are */
    uint8_t others, other_segments; /* packets of another TOS, datagrams of another segment, in a row */
};

struct udp_buffer { /* one datagram or aggregate, as received */
    uint8_t *data;
    uint32_t bytes, at, segment; /* at: handed up so far */
    unsigned index;              /* of the next segment */
    struct udp_address *address;
    struct pkt_addr src;
    uint16_t sport;
    uint8_t tos;
};

struct wire_udp {
    struct wire wire;
    struct registry *registry;
    uint32_t slot;
    pid_t pid;
    unsigned ifindex;
    uint16_t port;
    int epoll, netlink;
    unsigned addresses, hot, misses, patrol, quiet;
    unsigned datagrams;       /* to ask for at once */
    unsigned buffers, buffer; /* filled by the last receive; the one being handed up */
    ps_t retry_at;
    struct udp_address address[UDP_ADDRESSES_MAX];
    struct udp_sender sender[WIRE_SOURCE_PORTS_MAX];
    struct udp_buffer buf[UDP_BUFFERS];
    uint8_t *memory;
};

/* Binds address->fd and makes it a member of its group. */
int udp_group_join(struct wire_udp *udp, struct udp_address *address);
/* Closes address->fd. */
void udp_group_leave(struct wire_udp *udp, struct udp_address *address);
/* A packet for another process came to us: look whether the program is still right, at most every so often. */
void udp_group_repair(struct wire_udp *udp, struct udp_address *address, ps_t now);
/* A packet for slot 1023: true when it was a probe, and is dealt with. */
bool udp_group_probe(struct wire_udp *udp, struct udp_address *address, const uint8_t *data, uint32_t bytes);

#endif
