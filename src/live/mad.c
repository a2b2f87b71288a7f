/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QP1: management datagrams in and out (volume 1, 13.5.1; annex A17.4.8).
 *
 * One process of the machine receives what comes for QP1 of an address and finds out whose it is: a request for a
 * connection is for whoever listens for its service, everything else for the owner of the communication id
 * that the peer was told, whose top ten bits are the owner's slot.  What was forwarded once is not forwarded
 * again.  Who answers is the connection manager in src/verbs, which reads the queue filled here; a process that has
 * none refuses what asks for a connection, so that the peer need not wait for its timers.
 *
 * A datagram and the packets of a connection come by different ways, and a program that reads "your peer leaves" takes
 * what it has not got for lost.  So ACKs that wait for company leave before a datagram does, and what had come when
 * one is read is taken in before it is handed out.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "live/live_int.h"
#include "packet/mad.h"
#include "packet/opcode.h"
#include "packet/protocol.h"

#define BURSTS_BEFORE 1024 /* taken in before a datagram: more than a ring holds, and bounded */

static int send_mad(struct device *live, const struct device_path *to, const uint8_t mad[DEVICE_MAD_BYTES]);

/* The slot a message is for; 0: unknown. */
static uint32_t owner_of(struct device *live, const struct wire_packet *packet, const uint8_t *payload)
{
    struct cm_owner owner = cm_owner(payload);

    return owner.listens ? registry_listener(live->registry, owner.service_id, &packet->dst) : owner.slot;
}

/* The GID a datagram came to: an answer goes the same way, v1 or v2. */
static uint8_t gid_index_of(const struct device *live, const struct wire_packet *packet)
{
    const struct device_gid *gid = live->device.gid;

    for (uint8_t i = 0; i < live->device.gids; i++)
        if (gid[i].net == packet->net && memcmp(&gid[i].addr, &packet->dst, sizeof packet->dst) == 0) return i;
    return 0;
}

/* Nobody here listens. */
static void refuse(struct device *live, const struct wire_packet *packet, const uint8_t *payload)
{
    struct device_path to = {.remote = packet->src, .gid_index = gid_index_of(live, packet), .hop_limit = 64};
    uint8_t mad[DEVICE_MAD_BYTES];

    if (cm_refusal(payload, mad)) (void)send_mad(live, &to, mad);
}

void mad_receive(struct device *live, const struct wire_packet *packet, const struct pkt *p, const uint8_t *payload,
                 bool forwarded)
{
    uint32_t own = registry_slot(live->first->registry);

    if (p->opcode != OPCODE_UD_SEND_ONLY || p->payload_bytes != DEVICE_MAD_BYTES || p->ud.qkey != MAD_QKEY) {
        live->own.rx_malformed++;
        return;
    }
    live->own.rx_mads++;
    uint32_t owner = forwarded ? own : owner_of(live, packet, payload);
    if (owner && owner != own && owner <= REGISTRY_SLOTS) {
        int error = registry_forward(live->registry, owner, packet);
        if (error == 0)
            live->own.rx_mads_forwarded++;
        else if (error != -ECONNREFUSED)
            live->own.rx_mads_dropped++;
        if (error != -ECONNREFUSED) return;
        /* Its process is gone: our own manager answers for it that the connection is not known. */
    }
    if (live != live->first) { /* whose queue the manager reads; it is older, so this is seldom */
        live->own.rx_mads_dropped += registry_forward(live->registry, own, packet) < 0;
        return;
    }
    if (!live->mad_read || live->mad_tail - live->mad_head == LIVE_MADS) {
        live->own.rx_mads_dropped++;
        if (!live->mad_read) refuse(live, packet, payload);
        return;
    }
    struct device_mad *mad = &live->mad[live->mad_tail++ % LIVE_MADS];
    memcpy(mad->data, payload, DEVICE_MAD_BYTES);
    mad->src = packet->src;
    mad->dst = packet->dst;
    mad->gid_index = gid_index_of(live, packet);
    mad->src_qp = p->src_qp;
    eventfd_write(live->mad_fd, 1);
}

static int send_mad(struct device *live, const struct device_path *to, const uint8_t mad[DEVICE_MAD_BYTES])
{
    int error;
    const struct device_gid *gid = &live->device.gid[to->gid_index];
    struct path path = {.key = *to, .src = gid->addr, .net = gid->net};
    struct pkt p = {.kind = PKT_ROCE,
                    .opcode = OPCODE_UD_SEND_ONLY,
                    .flags = PKT_MIGRATED,
                    .tos = to->tos,
                    .dest_qp = LIVE_QPN_CM,
                    .src_qp = LIVE_QPN_CM,
                    .psn = live->mad_psn++ & 0xffffff,
                    .payload_bytes = DEVICE_MAD_BYTES,
                    .sport = wire_source_port(live->wire, LIVE_QPN_CM, LIVE_QPN_CM),
                    .ud.qkey = MAD_QKEY};
    struct pkt_cold cold = {.pkey = PROTO_PKEY_DEFAULT};
    struct build built;
    ps_t now = live_now();
    build_flush(live, now);
    if (!build_room(live) || port_paused(live, port_priority(live, 0, to->tos))) {
        error = -EAGAIN;
    } else {
        error = build_begin(live, &p, &cold, &path, now, &built);
        if (error == 0) {
            memcpy(built.at + built.header_bytes, mad, DEVICE_MAD_BYTES);
            build_end(live, &built, &p, &path);
            build_flush(live, now);
        }
    }
    progress_wake(live);
    return error;
}

/* The first is locked; the others are while `act` is at them. */
static void each_shard(struct device *first, void (*act)(struct device *))
{
    act(first);
    for (unsigned i = 1; i < first->shards; i++) {
        if (first->shard[i] == NULL) continue;
        shard_lock(first->shard[i]);
        act(first->shard[i]);
        live_leave(first->shard[i]);
    }
}

static void flush(struct device *live)
{
    if (live->tx_wanted) progress_tx(live, live_now());
}

int adapter_mad_send(struct device *live, const struct device_path *to, const uint8_t mad[DEVICE_MAD_BYTES])
{
    if (to->gid_index >= live->device.gids) return -EINVAL;
    int error = live_enter(live);
    if (error < 0) return error;
    each_shard(live, flush);
    error = send_mad(live, to, mad);
    live_leave(live);
    return error;
}

/* A wire that is asked for its deadline looks at all it has next time. */
static void take_in(struct device *live)
{
    ps_t now = live_now();
    int bursts = 0;

    do
        (void)wire_deadline(live->wire);
    while (progress_rx(live, now) && ++bursts < BURSTS_BEFORE);
    if (live->turns.state == TURN_STANDS_BACK) return;
    if (wire_deadline(live->wire) == 0) live->rx_more = true; /* the thread may sleep, and we were awake */
    progress_wake(live);
}

int adapter_mad_receive(struct device *live, struct device_mad *ret)
{
    eventfd_t value;
    int error = live_enter(live);

    if (error < 0) return error;
    live->mad_read = true;
    int count = live->mad_head != live->mad_tail;
    if (count) each_shard(live, take_in);
    if (count) *ret = live->mad[live->mad_head++ % LIVE_MADS];
    if (live->mad_head == live->mad_tail) (void)eventfd_read(live->mad_fd, &value);
    live_leave(live);
    return count;
}

int adapter_mad_fd(struct device *live)
{
    int error = live_enter(live);

    if (error < 0) return error;
    live->mad_read = true;
    live_leave(live);
    return live->mad_fd;
}

uint32_t adapter_cm_slot(struct device *live)
{
    return registry_slot(live->registry);
}

int adapter_cm_listen(struct device *live, uint64_t service_id, const struct pkt_addr *address)
{
    return registry_listen(live->registry, service_id, address);
}

void adapter_cm_unlisten(struct device *live, uint64_t service_id, const struct pkt_addr *address)
{
    registry_unlisten(live->registry, service_id, address);
}

int32_t adapter_cm_alive(struct device *live, uint32_t slot, const struct pkt_addr *address)
{
    return registry_pid_at(live->registry, slot, address);
}
