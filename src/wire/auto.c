/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The auto wire: rings in memory to processes of this machine, sockets to everybody else.
 *
 * It is a udp wire and an shm wire under one slot.  Which way a packet goes is decided by its destination alone: a QP
 * of a process that has joined the destination address and listens for rings goes through memory; QP1, multicast
 * and all other QPs through a socket.  A process that was told to use sockets has no ring's socket, and gets none.
 * The answer for a destination does not change while its process lives, so a flow never changes sides and keeps its
 * order.
 *
 * What goes through memory needs no ICRC: memory() tells the loop so before it computes one.
 *
 * Receiving looks at the rings first, which costs a read of memory, and at the sockets, which costs a call, each time
 * only while they are the ones that bring packets.  Before anybody sleeps the descriptors of both are waited for: the
 * rings' bell is in the same epoll as the sockets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "wire/wire_int.h"

#define SOCKETS_EVERY 8u /* looks at the rings for one at the sockets, while rings are busier */

struct wire_auto {
    struct wire wire;
    struct wire *udp, *shm;
    unsigned looks;
    bool rings_busy; /* the last packet came through a ring */
};

static struct wire_auto *auto_of(struct wire *wire)
{
    return (struct wire_auto *)wire;
}

static int count(struct wire_auto *both, int rc)
{
#define X(name) both->wire.counters.name = both->udp->counters.name + both->shm->counters.name;
    WIRE_COUNTER_LIST(X)
#undef X
    return rc;
}

static bool auto_memory(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn)
{
    return wire_shm_reaches(auto_of(wire)->shm, dst, qpn);
}

static int auto_rx(struct wire *wire, struct wire_packet *ret, unsigned max, ps_t now)
{
    struct wire_auto *both = auto_of(wire);
    int got = wire_rx(both->shm, ret, max, now);
    if (got > 0) {
        both->rings_busy = true;
        return count(both, got);
    }
    if (both->rings_busy && ++both->looks % SOCKETS_EVERY) return 0;
    got = wire_rx(both->udp, ret, max, now);
    if (got == 0) return 0;
    if (got < 0) return wire_fail(wire, got, "%s", both->udp->why);
    both->rings_busy = false;
    return count(both, got);
}

static int auto_tx(struct wire *wire, const struct wire_packet *packet, unsigned packets, ps_t now)
{
    struct wire_auto *both = auto_of(wire);
    unsigned sent = 0;
    while (sent < packets) {
        bool memory = auto_memory(wire, &packet[sent].dst, codec_dest_qp(packet[sent].data));
        unsigned length = 1;
        while (sent + length < packets &&
               auto_memory(wire, &packet[sent + length].dst, codec_dest_qp(packet[sent + length].data)) == memory)
            length++;
        int taken = wire_tx(memory ? both->shm : both->udp, packet + sent, length, now);
        if (taken < 0) return count(both, taken);
        sent += (unsigned)taken;
        if ((unsigned)taken < length) break;
    }
    return count(both, (int)sent);
}

static uint8_t *auto_place(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn, uint32_t bytes, ps_t now)
{
    return wire_shm_place(auto_of(wire)->shm, dst, qpn, bytes, now);
}

static void auto_placed(struct wire *wire, const struct wire_packet *packet)
{
    wire_shm_placed(auto_of(wire)->shm, packet);
}

static void auto_publish(struct wire *wire, ps_t now)
{
    wire_shm_publish(auto_of(wire)->shm, now);
    count(auto_of(wire), 0);
}

static int auto_fd(struct wire *wire)
{
    return wire_fd(auto_of(wire)->udp);
}

static ps_t auto_deadline(struct wire *wire)
{
    struct wire_auto *both = auto_of(wire);
    ps_t udp = wire_deadline(both->udp), shm = wire_deadline(both->shm);
    both->rings_busy = false; /* whoever wakes up looks at all */
    return udp < shm ? udp : shm;
}

static int auto_add_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wire_auto *both = auto_of(wire);
    int rc = wire_add_address(both->udp, local);
    if (rc < 0) return wire_fail(wire, rc, "%s", both->udp->why);
    wire_shm_forget(both->shm); /* the registry's group of the address is the sockets', and we are in it now */
    return 0;
}

static void auto_remove_address(struct wire *wire, const struct pkt_addr *local)
{
    wire_remove_address(auto_of(wire)->udp, local);
    wire_shm_forget(auto_of(wire)->shm);
}

static void auto_close(struct wire *wire)
{
    struct wire_auto *both = auto_of(wire);
    if (both->udp) wire_close(both->udp);
    if (both->shm) wire_close(both->shm);
    free(both);
}

static const struct wire_ops auto_ops = {
    .rx = auto_rx,
    .tx = auto_tx,
    .fd = auto_fd,
    .deadline = auto_deadline,
    .memory = auto_memory,
    .place = auto_place,
    .placed = auto_placed,
    .publish = auto_publish,
    .add_address = auto_add_address,
    .remove_address = auto_remove_address,
    .close = auto_close,
};

int wire_auto_open(const struct wire_config *config, struct wire **ret)
{
    struct wire_auto *both = calloc(1, sizeof *both);
    if (!both) return -ENOMEM;
    int rc = wire_udp_open(config, &both->udp);
    if (rc == 0) rc = wire_shm_open(config, &both->shm);
    struct epoll_event event = {.events = EPOLLIN};
    if (rc == 0 && epoll_ctl(wire_fd(both->udp), EPOLL_CTL_ADD, wire_fd(both->shm), &event) < 0) rc = -errno;
    if (rc < 0) {
        auto_close(&both->wire);
        return rc;
    }
    both->wire = *both->udp;
    both->wire.ops = &auto_ops;
    *ret = &both->wire;
    return 0;
}
