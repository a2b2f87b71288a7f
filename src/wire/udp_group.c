/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes on one address and port: the kernel's SO_REUSEPORT group, and the classic BPF program that picks the
 * member by the BTH's destination QP.
 *
 * The program sees the datagram from the BTH on: ld [4] & 0xffffff is the destination QP, its top ten bits the
 * slot.  A chain of comparisons answers the member's index in the group.  What nobody claims, QP1 first of all, goes
 * to the oldest member.  A classic program needs no privilege; a map from slot to socket would.
 *
 * The index of a socket is nowhere to be read.  It follows from the order of binding and closing, which the
 * registry mirrors; after deaths that nobody saw in order, or in a process that was forked and keeps sockets
 * open, the mirror is wrong.  So there are probes: packets for slot 1023 that the program sends to the index
 * they name.  Whoever receives one knows his own index and corrects the mirror.  An index past the
 * end goes to any member (the kernel then chooses by hash), therefore the smallest index of a round counts.
 *
 * None of this is needed for correctness: a packet that comes to the wrong process is forwarded.
 */
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "wire/registry.h"
#include "wire/udp_int.h"

#define PROBE_SLOT (REGISTRY_SLOTS + 1u)
#define PROBE_SPARE 4u /* indices past the members that are asked too */
#define PROBE_OPCODE 0xffu
#define REPAIR_EVERY_PS PS_MS
#define PROBE_EVERY_NS 20000000u

#define PROGRAM_MAX (7u + 2u * REGISTRY_SLOTS + 1u)

struct probe { /* laid out like a BTH up to the destination QP */
    uint8_t opcode, zero[4];
    uint8_t qpn[3];
    uint64_t nonce;
    uint32_t round, index;
};

static int attach(struct wire_udp *udp, int fd, struct registry_group *group)
{
    static const struct sock_filter head[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, REGISTRY_QPN_BITS),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3ff),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROBE_SLOT, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (1u << REGISTRY_QPN_BITS) - 1),
        BPF_STMT(BPF_RET | BPF_A, 0),
    };
    struct sock_filter *code = calloc(PROGRAM_MAX, sizeof *code);
    if (!code) return -ENOMEM;
    memcpy(code, head, sizeof head);
    unsigned length = sizeof head / sizeof head[0];
    uint32_t owner = 0;
    for (unsigned i = group->members; i-- > 0;) {
        if (group->index[i] == REGISTRY_NO_INDEX) continue;
        owner = group->index[i]; /* ends with the oldest */
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, group->slot[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, group->index[i]);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, owner);
    CHECK(length <= PROGRAM_MAX);
    int rc = wire_attach(fd, SO_ATTACH_REUSEPORT_CBPF, code, length);
    if (rc < 0) wire_fail(&udp->wire, rc, "cannot attach a program to port %u: %s", udp->port, strerror(-rc));
    if (rc == 0) group->attached = group->changes;
    free(code);
    return rc;
}

int udp_group_join(struct wire_udp *udp, struct udp_address *address)
{
    struct sockaddr_storage name;
    socklen_t name_bytes = wire_sockaddr(&address->addr, udp->port, udp->ifindex, &name);
    int rc = registry_lock(udp->registry, true);
    if (rc < 0) return wire_fail(&udp->wire, rc, "the registry is locked by a process that was stopped");
    struct registry_group *group = registry_group_find(udp->registry, &address->addr, udp->port, true);
    if (!group) {
        rc = wire_fail(&udp->wire, -ENOSPC, "too many addresses in use on this machine");
    } else {
        registry_group_sweep(udp->registry, group);
        if (bind(address->fd, (struct sockaddr *)&name, name_bytes) < 0) {
            rc = -errno;
            wire_fail(&udp->wire, rc,
                      rc == -EADDRINUSE ? "UDP port %u of this address is taken by another program, or another user's "
                                          "processes: set ROCELAB_PORT to another one, the same for all who talk (%s)"
                                        : "cannot bind UDP port %u of this address: %s",
                      udp->port, strerror(-rc));
        } else {
            rc = registry_group_add(udp->registry, group);
            if (rc == 0) rc = attach(udp, address->fd, group);
        }
    }
    registry_unlock(udp->registry);
    return rc;
}

void udp_group_leave(struct wire_udp *udp, struct udp_address *address)
{
    bool own = udp->pid == getpid(); /* a forked child only lets go of its copies */
    if (own && registry_lock(udp->registry, true) == 0) {
        struct registry_group *group = registry_group_find(udp->registry, &address->addr, udp->port, false);
        if (group && registry_group_member(group, udp->slot) >= 0) {
            registry_group_remove(group, udp->slot);
            if (group->members) attach(udp, address->fd, group);
        }
        close(address->fd);
        registry_unlock(udp->registry);
    } else {
        close(address->fd);
    }
    address->fd = -1;
}

static void send_probes(struct wire_udp *udp, const struct udp_address *address, uint32_t round, unsigned count)
{
    struct sockaddr_storage name;
    socklen_t name_bytes = wire_sockaddr(&address->addr, udp->port, udp->ifindex, &name);
    int fd = address->net == PKT_NET_IPV4 ? udp->sender[0].fd4 : udp->sender[0].fd6;
    for (uint32_t index = 0; index < count; index++) {
        uint32_t qpn = PROBE_SLOT << REGISTRY_QPN_BITS | index;
        struct probe probe = {.opcode = PROBE_OPCODE,
                              .qpn = {(uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8), (uint8_t)qpn},
                              .nonce = registry_nonce(udp->registry),
                              .round = round,
                              .index = index};
        sendto(fd, &probe, sizeof probe, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&name, name_bytes);
    }
}

void udp_group_repair(struct wire_udp *udp, struct udp_address *address, ps_t now)
{
    unsigned probes = 0;
    uint32_t round = 0;
    if (now - address->repaired_at < REPAIR_EVERY_PS || registry_lock(udp->registry, false) < 0) return;
    address->repaired_at = now;
    struct registry_group *group = registry_group_find(udp->registry, &address->addr, udp->port, false);
    if (group) {
        registry_group_sweep(udp->registry, group);
        if (group->changes != group->attached) {
            attach(udp, address->fd, group);
        } else if (now - group->probe_ns >= PROBE_EVERY_NS) {
            group->probe_ns = now;
            round = ++group->probe_round;
            probes = group->members + PROBE_SPARE;
        }
    }
    registry_unlock(udp->registry);
    if (probes) send_probes(udp, address, round, probes);
}

bool udp_group_probe(struct wire_udp *udp, struct udp_address *address, const uint8_t *data, uint32_t bytes)
{
    struct probe probe;
    if (bytes != sizeof probe || data[0] != PROBE_OPCODE) return false;
    memcpy(&probe, data, sizeof probe);
    if (probe.nonce != registry_nonce(udp->registry)) return false;
    if (registry_lock(udp->registry, false) < 0) return true; /* another round will come */
    struct registry_group *group = registry_group_find(udp->registry, &address->addr, udp->port, false);
    int self = group ? registry_group_member(group, udp->slot) : -1;
    if (self >= 0 && probe.round <= group->probe_round &&
        (probe.round > group->round[self] || (probe.round == group->round[self] && probe.index < group->index[self]))) {
        bool moved = group->index[self] != probe.index;
        group->round[self] = probe.round;
        group->index[self] = (uint16_t)probe.index;
        for (int i = 0; i < group->members; i++) {
            if (i == self || group->index[i] != probe.index) continue;
            group->index[i] = REGISTRY_NO_INDEX; /* it has moved too and will say where to */
            moved = true;
        }
        if (moved) {
            group->changes++;
            attach(udp, address->fd, group);
        }
    }
    registry_unlock(udp->registry);
    return true;
}
