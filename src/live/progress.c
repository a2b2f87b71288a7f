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
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "live/live_int.h"
#include "packet/opcode.h"
#include "packet/protocol.h"

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

void progress_settle(struct device *live)
{
    if (live->io.kick || live->io.pauses) live->tx_wanted = true;
    live->io.kick = false;
    if (live->io.completed && (live->armed || shard_many(live))) cq_settle(live);
    live->io.completed = false;
    events_collect(live);
}

ps_t progress_deadline(struct device *live)
{
    ps_t at = nic_deadline(live->nic);
    ps_t wire = wire_deadline(live->wire);

    if (wire < at) at = wire;
    return live->tx_retry < at ? live->tx_retry : at;
}

/* What has arrived is looked at before a timer is believed: behind a full burst lies, as likely as not, the answer that
 * the timer waits for.  After a process was stopped, or on a machine that has no time for it, each look at the
 * clock would else use up a retry.  Bounded: a peer that floods us does not keep our timers from running out. */
static bool timers_wait(const struct device *live, ps_t now)
{
    return live->rx_more && now < nic_deadline(live->nic) + BACKLOG_PS;
}

void progress_tick(struct device *live, ps_t now)
{
    if (nic_deadline(live->nic) <= now && !timers_wait(live, now)) {
        nic_tick(live->nic, now, &live->io);
        live->tx_wanted = true;
        progress_settle(live);
    }
    if (live->tx_retry <= now) live->tx_wanted = true;
    if (live->export_at <= now) {
        live->export_at = now + EXPORT_EVERY_PS;
        counters_export(live, now);
        if (!live->thread_runs) netlink_look(live, now); /* else the thread is told */
    }
}

/* What is missing is asked for before the rest of a burst is looked at, which may take long.  Nobody is let in:
 * received packets are in our hands. */
static void answer_amid(struct device *live, ps_t now)
{
    enum holder holder = live->holder;

    if (holder == HOLDER_SHARD) live->holder = HOLDER_ANYONE;
    progress_tx(live, now);
    live->holder = holder;
}

/* Does an ACK ride behind this request, for the same QP?  Then it is taken first: it was sent before.  It says nothing
 * about requests, so it may pass them. */
static bool ack_behind(const struct wire_packet *packet)
{
    const uint8_t *bth = packet[0].data, *next = packet[1].data;

    return packet[0].bytes >= 12 && packet[1].bytes >= 12 && next[0] == OPCODE_RC_ACK &&
           memcmp(bth + 5, next + 5, 3) == 0 && opcode_info(bth[0])->flags & OP_REQUEST;
}

static void receive_one(struct device *live, const struct wire_packet *packet, ps_t now)
{
    uint64_t naks = nic_counters(live->nic)->tx_nak_sequence;

    if (__builtin_expect(packet->pause != NULL, 0)) {
        port_pause(live, packet->pause, now);
        return;
    }
    receive_packet(live, packet, false, now);
    if (live->io.completed && live->armed) { /* events of several queues in the order of what they tell */
        cq_settle(live);
        live->io.completed = false;
    }
    if (nic_counters(live->nic)->tx_nak_sequence != naks) answer_amid(live, now);
}

/* Who is not the thread of a shard takes few: the rest is for that. */
bool progress_rx(struct device *live, ps_t now)
{
    struct wire_packet packet[WIRE_BURST];
    const unsigned most = shard_many(live) && live->holder != HOLDER_SHARD ? RX_PACKETS : WIRE_BURST;
    unsigned since = 0;

    CHECK(live->holder != HOLDER_GUEST);
    int count = wire_rx(live->wire, packet, most, now);
    live->rx_more = count == (int)most;
    for (int i = 0; i < count; i++) {
        bool pair = i + 1 < count && ack_behind(&packet[i]);
        if (pair) receive_one(live, &packet[i + 1], now);
        receive_one(live, &packet[i], now);
        i += pair;
        if (live->holder == HOLDER_SHARD && ++since >= RX_PACKETS) {
            since = 0;
            shard_let_in(live, true);
        }
    }
    if (count > 0) progress_settle(live);
    return count > 0;
}

static bool gather(struct device *live, uint8_t *to)
{
    bool gathered = bytes_send(&live->objects, live, &live->io, to);

    live->own.faults_local += !gathered;
    return gathered;
}

/* An ACK rides in the run of the data before it when they differ in nothing but ECN: one call instead of two. */
static void join_run(struct device *live, struct pkt *p)
{
    const struct batch *b = build_batch(live, p->dest_qp);

    if (b->count == 0) return;
    uint8_t tos = b->packet[b->count - 1].tos;
    if ((tos & ~PKT_ECN_MASK) == (p->tos & ~PKT_ECN_MASK)) p->tos = tos;
}

static void send_one(struct device *live, pkt_t id, ps_t now)
{
    struct pkt *p = &live->pool.hot[id];
    struct pkt_cold *cold = &live->pool.cold[id];
    struct build built;

    CHECK(p->dst_node < live->paths);
    struct path *path = &live->path[p->dst_node];
    cold->pkey = PROTO_PKEY_DEFAULT;
    cold->tver = cold->resv8a = 0;
    cold->resv7 = peer_mark_out(live, path, p);
    CHECK(build_begin(live, p, cold, path, now, &built) == 0);
    if (live->io.gather.bytes) {
        CHECK(live->io.gather.bytes == p->payload_bytes);
        if (!gather(live, built.at + built.header_bytes)) {
            nic_gather_failed(live->nic, live->io.gather.qpn, p, now, &live->io);
            return;
        }
    } else {
        for (uint32_t i = 0; i < p->payload_bytes; i++) /* a CNP's reserved bytes */
            built.at[built.header_bytes + i] = 0;
    }
    build_end(live, &built, p, path);
}

static void send_acks(struct device *live, const pkt_t *ack, unsigned acks, ps_t now)
{
    live->io.gather.bytes = 0; /* of the last answer, which was another packet */
    for (unsigned i = 0; i < acks; i++) {
        join_run(live, &live->pool.hot[ack[i]]);
        send_one(live, ack[i], now);
        pktpool_put(&live->pool, ack[i]);
    }
}

/* May an ACK ride behind this packet, though it completes a receive?  One of our own looks for it there (ack_behind()).
 * Only where both are surely one run, and so one call: that is a quarter of a round trip on the udp wire. */
static bool carries_ack(const struct device *live, const struct pkt *p)
{
    return live->wire->run_max > 1 && live->out.total == 0 && p->payload_bytes > 0 &&
           (opcode_info(p->opcode)->flags & OP_ONLY) == OP_ONLY && live->path[p->dst_node].peer == PEER_OURS;
}

/* May ACKs not stay behind this packet?  Other responses keep their order with them: it is part of the protocol.  And
 * what completes a receive is likely the answer to the request that the ACK is for: programs expect the request to be
 * done before its answer comes, as it is with hardware.  `carried`: one that may has been built. */
static bool ends_acks(const struct device *live, const struct pkt *p, bool *carried)
{
    const struct opcode_info *info = opcode_info(p->opcode);

    if (*carried || info->flags & OP_RESPONSE) return true;
    if (info->verb != OP_SEND && !(info->flags & OP_IMMDT)) return false;
    *carried = carries_ack(live, p);
    return !*carried;
}

/* Builds what the adapter has to send, at most a burst; ACKs behind requests where they may, since somebody waits for
 * the data and a shorter packet can only be the last of a run.  False: there is no more. */
static bool build_burst(struct device *live, ps_t now)
{
    pkt_t ack[ACKS_BEHIND];
    unsigned acks = 0;
    bool more = true, carried = false;

    while (live->out.total + acks < WIRE_BURST && !build_complete(live)) {
        pkt_t id = nic_tx(live->nic, now, &live->io);
        more = id != PKT_NONE;
        if (!more) break;
        const struct pkt *p = &live->pool.hot[id];
        if (p->opcode == OPCODE_RC_ACK && acks < ACKS_BEHIND) {
            ack[acks++] = id;
            continue;
        }
        if (acks && ends_acks(live, p, &carried)) {
            uint32_t bytes = live->io.gather.bytes;
            send_acks(live, ack, acks, now);
            live->io.gather.bytes = bytes;
            acks = 0;
            carried = false;
        }
        send_one(live, id, now);
        pktpool_put(&live->pool, id);
    }
    send_acks(live, ack, acks, now);
    return more;
}

/* Who is not the thread of a shard sends one burst, and leaves what is behind it to that. */
void progress_tx(struct device *live, ps_t now)
{
    const bool few = shard_many(live) && live->holder != HOLDER_SHARD;
    const unsigned most = live->link_down ? 0 : few ? 1 : TX_PACKETS;

    build_flush(live, now);
    port_tell(live, now);
    if (live->link_down) live->tx_wanted = false; /* until it is up */
    for (unsigned packets = 0; packets < most && build_room(live);) {
        unsigned before = live->out.total;
        live->tx_wanted = build_burst(live, now);
        packets += live->out.total - before;
        if (!live->tx_wanted || live->out.total == before) break;
        build_flush_complete(live, now);
        if (live->holder == HOLDER_SHARD) shard_let_in(live, false);
    }
    build_flush(live, now);
    progress_settle(live);
    if (few && live->tx_wanted && live->tx_retry == PS_NEVER) shard_give(live);
}

/* The wire is not asked: it takes the question for its deadline for a sign that the thread goes to sleep.  What it has
 * kept back it says by itself. */
void progress_wake(struct device *live)
{
    if (!live->thread_runs) return;
    ps_t at = live->tx_wanted || live->rx_more ? 0 : nic_deadline(live->nic);
    if (live->tx_retry < at) at = live->tx_retry;
    bool left = live->turns.state == TURN_STANDS_BACK; /* who polls will see to it */
    if (!left && live->wire->due && live->wire->due < at) at = live->wire->due;
    if (at < live->sleep_until) {
        live->sleep_until = 0; /* once is enough */
        eventfd_write(live->wake_fd, 1);
    }
}
