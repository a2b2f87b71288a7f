/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress: a burst in, a burst out, timers; called from polls and posts and from the thread, under the lock.
 *
 * Nothing here loops until all is done: a call moves at most WIRE_BURST packets in and twice as many out, so that
 * a thread that wants the lock does not wait long.  What is left is remembered (rx_more, tx_wanted) for the next.
 *
 * An empty poll costs one system call.  Nothing is asked of nic_tx unless some call has said that there
 * may be something (nic_io.kick) or a time has come.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "live/live_int.h"
#include "packet/opcode.h"

#define TX_PACKETS (2 * WIRE_BURST)
#define RX_PACKETS 16u /* between two looks for who waits for the lock */
#define ACKS_BEHIND 16u
#define EXPORT_EVERY_PS (20 * PS_MS)
#define BACKLOG_PS (100 * PS_MS)

ps_t live_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ps_t)t.tv_sec * PS_S + (ps_t)t.tv_nsec * PS_NS;
}

void progress_settle(struct live *live)
{
    if (live->io.kick) live->tx_wanted = true;
    live->io.kick = false;
    if (live->io.completed && (live->armed || shard_many(live))) cq_settle(live);
    live->io.completed = false;
    events_collect(live);
}

ps_t progress_deadline(struct live *live)
{
    ps_t at = nic_deadline(live->nic);
    ps_t wire = wire_deadline(live->wire);

    if (wire < at) at = wire;
    return live->tx_retry < at ? live->tx_retry : at;
}

/* What has arrived is looked at before a timer is believed: behind a full burst lies, as likely as not, the answer that
 * the timer waits for.  After a process was stopped, or on a machine that has no time for it, each look at the
 * clock would else use up a retry.  Bounded: a peer that floods us does not keep our timers from running out. */
static bool timers_wait(const struct live *live, ps_t now)
{
    return live->rx_more && now < nic_deadline(live->nic) + BACKLOG_PS;
}

void progress_tick(struct live *live, ps_t now)
{
    if (nic_deadline(live->nic) <= now && !timers_wait(live, now)) {
        nic_tick(live->nic, now, &live->io);
        live->tx_wanted = true;
        progress_settle(live);
    }
    if (live->tx_retry <= now) live->tx_wanted = true;
    if (live->export_at <= now) {
        live->export_at = now + EXPORT_EVERY_PS;
        counters_export(live);
        if (!live->thread_runs) netlink_look(live); /* else the thread is told */
    }
}

/* What is missing is asked for before the rest of a burst is looked at, which may take long.  Nobody is let in:
 * received packets are in our hands. */
static void answer_amid(struct live *live, ps_t now)
{
    bool lets_in = live->lets_in;

    live->lets_in = false;
    progress_tx(live, now);
    live->lets_in = lets_in;
}

/* Who is not the thread of a shard takes few: the rest is for that. */
bool progress_rx(struct live *live, ps_t now)
{
    struct wire_packet packet[WIRE_BURST];
    const unsigned most = shard_many(live) && !live->lets_in ? RX_PACKETS : WIRE_BURST;

    CHECK(!live->bursting);
    int count = wire_rx(live->wire, packet, most);
    live->rx_more = count == (int)most;
    for (int i = 0; i < count; i++) {
        uint64_t naks = nic_counters(live->nic)->tx_nak_sequence;
        receive_packet(live, &packet[i], false, now);
        if (nic_counters(live->nic)->tx_nak_sequence != naks) answer_amid(live, now);
        if (live->lets_in && (unsigned)i % RX_PACKETS == RX_PACKETS - 1) shard_let_in(live, true);
    }
    if (count > 0) progress_settle(live);
    return count > 0;
}

/* The queue pair of a READ response whose payload cannot be read: only then it is searched for. */
static uint32_t responder_of(const struct live *live, const struct pkt *p)
{
    for (const struct live_qp *qp = live->qps; qp; qp = qp->next)
        if (qp->config.transport == NIC_RC && qp->config.remote == p->dst_node && qp->config.remote_qp == p->dest_qp)
            return qp->qpn;
    return 0;
}

static bool gather(struct live *live, uint8_t *to)
{
    uint32_t bytes = live->io.gather.bytes;

    if (!live->io.gather.read)
        return memory_gather(live, (const struct work *)(uintptr_t)live->io.gather.local, live->io.gather.offset, bytes,
                             to);
    const void *from = memory_remote(live, live->io.gather.rkey, live->io.gather.local, bytes);
    bool read = from && memory_copy(to, from, bytes);
    live->own.faults_local += !read;
    return read;
}

/* The payload of what nic_tx has just answered could not be read. */
static void gather_failed(struct live *live, const struct pkt *p, ps_t now)
{
    uint32_t qpn = 0;

    if (live->io.gather.read) {
        qpn = responder_of(live, p);
    } else {
        for (const struct live_qp *qp = live->qps; qp && qpn == 0; qp = qp->next) {
            uint64_t first = (uintptr_t)qp->send;
            uint64_t last = (uintptr_t)(qp->send + qp->config.sq_size);
            if (live->io.gather.local >= first && live->io.gather.local < last) qpn = qp->qpn;
        }
    }
    if (qpn) nic_gather_failed(live->nic, qpn, p, now, &live->io);
}

/* An ACK rides in the run of the data before it when they differ in nothing but ECN: one call instead of two. */
static void join_run(struct live *live, struct pkt *p)
{
    const struct batch *b = build_lane(live, p->dest_qp);

    if (b->count == 0) return;
    uint8_t tos = b->packet[b->count - 1].tos;
    if ((tos & ~PKT_ECN_MASK) == (p->tos & ~PKT_ECN_MASK)) p->tos = tos;
}

static void send_one(struct live *live, pkt_t id, ps_t now)
{
    struct pkt *p = &live->pool.hot[id];
    struct pkt_cold *cold = &live->pool.cold[id];
    struct build built;

    CHECK(p->dst_node < live->paths);
    struct path *path = &live->path[p->dst_node];
    cold->pkey = LIVE_PKEY;
    cold->tver = cold->resv8a = 0;
    cold->resv7 = peer_mark_out(live, path, p);
    /* an address handle has a traffic class of its own */
    if (opcode_info(p->opcode)->transport == OP_UD)
        p->tos = (uint8_t)((path->key.tos & ~PKT_ECN_MASK) | (p->tos & PKT_ECN_MASK));
    CHECK(build_begin(live, p, cold, path, &built) == 0);
    if (live->io.gather.bytes) {
        CHECK(live->io.gather.bytes == p->payload_bytes);
        if (!gather(live, built.at + built.header_bytes)) {
            gather_failed(live, p, now);
            return;
        }
    } else {
        for (uint32_t i = 0; i < p->payload_bytes; i++) /* a CNP's reserved bytes */
            built.at[built.header_bytes + i] = 0;
    }
    build_end(live, &built, p, path);
}

static void send_acks(struct live *live, const pkt_t *ack, unsigned acks, ps_t now)
{
    live->io.gather.bytes = 0; /* of the last answer, which was another packet */
    for (unsigned i = 0; i < acks; i++) {
        join_run(live, &live->pool.hot[ack[i]]);
        send_one(live, ack[i], now);
        pktpool_put(&live->pool, ack[i]);
    }
}

/* Builds what the adapter has to send, at most a burst; ACKs behind requests, since somebody waits for the data and a
 * shorter packet can only be the last of a run, but never behind other responses, whose order is part of the
 * protocol.  False: there is no more. */
static bool build_burst(struct live *live, ps_t now)
{
    pkt_t ack[ACKS_BEHIND];
    unsigned acks = 0;
    bool more = true;

    while (live->out.total + acks < WIRE_BURST && !build_complete(live)) {
        pkt_t id = nic_tx(live->nic, now, &live->io);
        more = id != PKT_NONE;
        if (!more) break;
        uint8_t opcode = live->pool.hot[id].opcode;
        if (opcode == OPCODE_RC_ACK && acks < ACKS_BEHIND) {
            ack[acks++] = id;
            continue;
        }
        if (acks && opcode_info(opcode)->flags & OP_RESPONSE) {
            uint32_t bytes = live->io.gather.bytes;
            send_acks(live, ack, acks, now);
            live->io.gather.bytes = bytes;
            acks = 0;
        }
        send_one(live, id, now);
        pktpool_put(&live->pool, id);
    }
    send_acks(live, ack, acks, now);
    return more;
}

/* Who is not the thread of a shard sends one burst, and leaves what is behind it to that. */
void progress_tx(struct live *live, ps_t now)
{
    const bool few = shard_many(live) && !live->lets_in;
    const unsigned most = few ? 1 : TX_PACKETS;

    build_flush(live, now);
    for (unsigned packets = 0; packets < most && build_room(live);) {
        unsigned before = live->out.total;
        live->tx_wanted = build_burst(live, now);
        packets += live->out.total - before;
        if (!live->tx_wanted || live->out.total == before) break;
        build_flush_complete(live, now);
        if (live->lets_in) shard_let_in(live, false);
    }
    build_flush(live, now);
    progress_settle(live);
    if (few && live->tx_wanted && live->tx_retry == PS_NEVER) shard_give(live);
}

/* The wire is not asked: it takes the question for its deadline for a sign that the thread goes to sleep. */
void progress_wake(struct live *live)
{
    if (!live->thread_runs) return;
    ps_t at = live->tx_wanted || live->rx_more ? 0 : nic_deadline(live->nic);
    if (live->tx_retry < at) at = live->tx_retry;
    if (at < live->sleep_until) {
        live->sleep_until = 0; /* once is enough */
        eventfd_write(live->wake_fd, 1);
    }
}
