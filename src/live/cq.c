/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues.
 *
 * A queue is the ring that src/nic fills.  A receive taken from a shared queue carries the number of its record
 * as wr_id, since such receives complete in any order; here it becomes what the application posted, and the record
 * is free again.  Completions of a queue pair that is destroyed stay, as they do with the kernel's software adapter:
 * a program that sees its peer leave may destroy first and poll for what was done before after that.
 *
 * Where the device is shared out (shard.c), each shard whose queue pairs feed the queue has such a ring, its part, and
 * what a call of src/nic put there is moved on at once to a ring that polls take from, under a lock of its own.  So a
 * poll never waits for a shard at work.  The order of a queue pair's completions is kept, since they all go one way;
 * between queue pairs none is promised.  When that ring is full completions wait in their parts, so such a queue
 * holds more than was asked for before it overruns.
 *
 * An armed queue makes one event for the first completion that comes after it was armed, or the first that is
 * solicited or failed (volume 1, 11.4.2.2).
 *
 * Polling makes progress only when there is nothing to hand out.  A completion that a burst
 * brings is handed out before the acknowledgements that the same burst caused are sent: they go with the next
 * post or the next empty poll, or the thread sends them.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/check.h"
#include "live/live_int.h"

/* Polls in vain for so long, and the core is offered to others: on a machine with more spinning programs than cores,
 * the one that spins keeps the one it waits for from running for whole time slices (measured: 3 ms a round trip).
 * How long depends on whether it helped, that is, somebody took the offer and then there was something: two programs
 * that share a core pass it to and fro at once, one that has a core of its own, or shares it with strangers, keeps
 * it. */
#define YIELD_LEAST_PS (2 * PS_US)
#define YIELD_MOST_PS (64 * PS_US)
#define TAKEN_PS (3 * PS_US) /* what a call takes at least when somebody else has run */
#define STRANGER_PS PS_MS    /* who keeps the core so long has not been waiting for us */
#define GAP_PS (20 * PS_US)  /* between two polls: the application did something else */

static void release(struct device_cq *cq)
{
    for (unsigned i = 0; i < LIVE_SHARDS_MAX; i++) {
        if (cq->part[i]) free(cq->part[i]->nic.slot);
        free(cq->part[i]);
    }
    free(cq->own.slot);
    pthread_mutex_destroy(&cq->lock);
    free(cq);
}

/* What polls take from is the device's, or the queue's own. */
static int cq_enter(struct device_cq *cq)
{
    if (!shard_many(cq->live)) return live_enter(cq->live);
    if (live_inert(cq->live)) return -ENODEV;
    pthread_mutex_lock(&cq->lock);
    return 0;
}

static void cq_leave(struct device_cq *cq)
{
    if (shard_many(cq->live))
        pthread_mutex_unlock(&cq->lock);
    else
        live_leave(cq->live);
}

static void link_armed(struct cq_part *part)
{
    if (part->armed) return;
    part->armed = true;
    part->armed_next = part->live->armed;
    __atomic_store_n(&part->live->armed, part, __ATOMIC_SEQ_CST);
}

int cq_part_get(struct device_cq *cq, struct device *shard, struct cq_part **ret)
{
    struct cq_part *part = cq->part[shard->number];

    if (part == NULL) {
        part = calloc(1, sizeof *part);
        struct nic_cqe *slot = calloc(cq->ready->mask + 1, sizeof *slot);
        if (!part || !slot) {
            free(part);
            free(slot);
            return -ENOMEM;
        }
        nic_cq_init(&part->nic, slot, cq->ready->mask + 1);
        part->live = shard;
        part->cq = cq;
        part->next = shard->parts;
        shard->parts = part;
        if (__atomic_load_n(&cq->notice.armed, __ATOMIC_RELAXED)) link_armed(part);
        __atomic_store_n(&cq->part[shard->number], part, __ATOMIC_RELEASE);
    }
    *ret = part;
    return 0;
}

static struct cq_part *part_of(struct device_cq *cq, unsigned number)
{
    return __atomic_load_n(&cq->part[number], __ATOMIC_ACQUIRE);
}

int adapter_cq_create(struct device *live, uint32_t entries, struct device_channel *channel, void *app,
                      struct device_cq **ret)
{
    if (entries == 0 || entries > DEVICE_CQ_MAX) return -EINVAL;
    struct device_cq *cq = calloc(1, sizeof *cq);
    struct nic_cqe *slot = calloc(power_of_two_up(entries), sizeof *slot);
    int error = cq && slot ? live_enter(live) : -ENOMEM;
    if (error < 0) {
        free(cq);
        free(slot);
        return error;
    }
    pthread_mutex_init(&cq->lock, NULL);
    nic_cq_init(&cq->own, slot, power_of_two_up(entries));
    cq->ops = live->ops;
    cq->live = live;
    cq->ready = &cq->own;
    cq->channel = channel;
    cq->app = app;
    if (!shard_many(live)) {
        struct cq_part *part;
        error = cq_part_get(cq, live, &part);
        if (error == 0) cq->ready = &part->nic;
        free(cq->own.slot);
        cq->own.slot = NULL;
    }
    live_leave(live);
    if (error < 0) {
        release(cq);
        return error;
    }
    if (channel) __atomic_fetch_add(&channel->users, 1, __ATOMIC_RELAXED);
    *ret = cq;
    return 0;
}

int adapter_cq_resize(struct device_cq *cq, uint32_t entries)
{
    if (entries == 0 || entries > DEVICE_CQ_MAX) return -EINVAL;
    int error = cq_enter(cq);
    if (error < 0) return error;
    error = completions_move(cq->ready, power_of_two_up(entries));
    cq_leave(cq);
    if (error < 0 || !shard_many(cq->live)) return error;
    for (unsigned i = 0; i < LIVE_SHARDS_MAX; i++) {
        struct cq_part *part = part_of(cq, i);
        if (part == NULL || live_enter(part->live) < 0) continue;
        (void)completions_move(&part->nic, power_of_two_up(entries)); /* one that stays larger does no harm */
        live_leave(part->live);
    }
    return 0;
}

uint32_t adapter_cq_entries(const struct device_cq *cq)
{
    return cq->ready->mask + 1;
}

static void disarm(struct cq_part *part)
{
    struct cq_part **at = &part->live->armed;

    while (*at && *at != part)
        at = &(*at)->armed_next;
    if (*at) __atomic_store_n(at, part->armed_next, __ATOMIC_RELAXED);
    part->armed = false;
}

bool cq_armed(struct device *live)
{
    /* An event that another shard's completion has made leaves the parts of the others in their lists. */
    while (shard_many(live) && live->armed && !__atomic_load_n(&live->armed->cq->notice.armed, __ATOMIC_RELAXED))
        disarm(live->armed);
    return live->armed != NULL;
}

static void part_forget(struct cq_part *part)
{
    struct device *live = part->live;
    struct cq_part **at = &live->parts;

    if (live_enter(live) < 0) return;
    disarm(part);
    nic_cq_forget(live->nic, &part->nic);
    while (*at != part)
        at = &(*at)->next;
    *at = part->next;
    live_leave(live);
}

int adapter_cq_destroy(struct device_cq *cq)
{
    if (!live_inert(cq->live)) {
        if (__atomic_load_n(&cq->users, __ATOMIC_ACQUIRE)) return -EBUSY;
        for (unsigned i = 0; i < LIVE_SHARDS_MAX; i++)
            if (cq->part[i]) part_forget(cq->part[i]);
        events_forget(cq->live, cq->app);
        channel_forget(cq);
    }
    release(cq);
    return 0;
}

static void own_id(const struct device *live, struct nic_cqe *cqe)
{
    if (!cqe->receive || cqe->own_id) return;
    struct nic_qp *nic_qp = nic_qp_find(live->nic, cqe->qpn);
    const struct device_qp *qp = nic_qp ? nic_qp_app(nic_qp) : NULL;
    completion_own_id(cqe, qp && qp->srq ? &qp->srq->receives : NULL);
}

/* Takes what is there. */
static unsigned take(struct device_cq *cq, struct nic_cqe *ret, unsigned max)
{
    unsigned count = 0;

    while (count < max) {
        const struct nic_cqe *cqe = nic_cq_poll(cq->ready);
        if (cqe == NULL) break;
        ret[count] = *cqe;
        own_id(cq->live, &ret[count++]);
    }
    return count;
}

static void tell(struct cq_part *part)
{
    __atomic_store_n(&part->cq->notice.armed, false, __ATOMIC_RELAXED);
    disarm(part);
    channel_tell(part->live, part->cq);
}

/* For who looks without the lock. */
static void say_held(struct device_cq *cq)
{
    __atomic_store_n(&cq->held, cq->own.tail - cq->own.head + cq->backlog, __ATOMIC_RELEASE);
}

/* From a shard's part to where it is polled. */
static void move_on(struct cq_part *part)
{
    struct device_cq *cq = part->cq;
    struct nic_cq *from = &part->nic, *to = &cq->own;

    pthread_mutex_lock(&cq->lock);
    while (from->head != from->tail && to->tail - to->head <= to->mask) {
        struct nic_cqe *cqe = &to->slot[to->tail & to->mask];
        *cqe = *nic_cq_poll(from);
        own_id(part->live, cqe);
        to->tail++;
    }
    if (from->head == from->tail)
        from->head = from->tail = 0; /* the same few lines again and again */
    else
        cq->backlog = true;
    say_held(cq);
    if (notice_due(&cq->notice, cq->ready)) tell(part);
    pthread_mutex_unlock(&cq->lock);
}

void cq_settle(struct device *live)
{
    struct cq_part *next;

    if (shard_many(live)) {
        for (struct cq_part *part = live->parts; part; part = part->next)
            if (part->nic.head != part->nic.tail) move_on(part);
        return;
    }
    for (struct cq_part *part = live->armed; part; part = next) {
        next = part->armed_next;
        if (notice_due(&part->cq->notice, part->cq->ready)) tell(part);
    }
}

static void adapt(struct device *live, bool helped)
{
    ps_t limit = __atomic_load_n(&live->yield_after, __ATOMIC_RELAXED);

    limit = helped ? limit / 2 : limit * 2;
    if (limit < YIELD_LEAST_PS) limit = YIELD_LEAST_PS;
    if (limit > YIELD_MOST_PS) limit = YIELD_MOST_PS;
    __atomic_store_n(&live->yield_after, limit, __ATOMIC_RELAXED);
}

/* Without the lock.  True: somebody has taken it. */
static bool offer_core(struct device *live)
{
    ps_t before = live_now();

    sched_yield();
    ps_t away = live_now() - before;
    bool taken = away > TAKEN_PS;
    if (taken && away < STRANGER_PS)
        __atomic_store_n(&live->yielded, true, __ATOMIC_RELAXED);
    else
        adapt(live, false);
    return taken;
}

static void offer_helped(struct device *live, bool came)
{
    if (!__atomic_load_n(&live->yielded, __ATOMIC_RELAXED)) return;
    __atomic_store_n(&live->yielded, false, __ATOMIC_RELAXED);
    adapt(live, came);
}

static bool holds(const struct device_cq *cq)
{
    if (shard_many(cq->live)) return __atomic_load_n(&cq->held, __ATOMIC_ACQUIRE) != 0;
    return cq->ready->head != cq->ready->tail;
}

/* What a poll that finds nothing does for a shard.  True: a burst came. */
static bool advance(struct device *live, const struct device_cq *cq, ps_t now)
{
    bool owed = live->tx_wanted; /* since the poll before: a stream of completions must not hold ACKs back */

    __atomic_store_n(&live->polled_at, now, __ATOMIC_RELAXED);
    pthread_getcpuclockid(pthread_self(), &live->poller);
    if (!live->thread_runs) thread_forwarded(live, now);
    bool came = progress_rx(live, now);
    progress_tick(live, now);
    if ((owed || !holds(cq)) && live->tx_wanted) progress_tx(live, now);
    live->own.polls_empty += !holds(cq);
    /* What this call took from the wire the thread does not see; if nobody polls again, it has to act.  And it
     * sleeps on a wire that this call has told that somebody is awake: asking for the deadline takes that back. */
    if (live->turns.state != TURN_STANDS_BACK) {
        if (wire_deadline(live->wire) == 0) live->rx_more = true;
        progress_wake(live);
    }
    return came;
}

/* Completions that found no room when they came. */
static void fetch_backlog(struct device_cq *cq)
{
    for (unsigned i = 0; i < LIVE_SHARDS_MAX; i++) {
        struct cq_part *part = part_of(cq, i);
        if (part == NULL || live_enter(part->live) < 0) continue;
        if (part->nic.head != part->nic.tail) move_on(part);
        live_leave(part->live);
    }
}

static unsigned take_own(struct device_cq *cq, struct nic_cqe *ret, unsigned max)
{
    if (!holds(cq)) return 0;
    pthread_mutex_lock(&cq->lock);
    unsigned count = take(cq, ret, max);
    bool backlog = cq->backlog;
    cq->backlog = false;
    say_held(cq);
    pthread_mutex_unlock(&cq->lock);
    if (backlog) fetch_backlog(cq);
    return count;
}

/* Of a queue of several shards.  One that its thread, or somebody else, is at work on is left alone. */
static int poll_many(struct device_cq *cq, struct nic_cqe *ret, unsigned max)
{
    struct device *first = cq->live;
    unsigned count = take_own(cq, ret, max);

    if (count || max == 0) return (int)count;
    ps_t now = live_now(), limit = __atomic_load_n(&first->yield_after, __ATOMIC_RELAXED);
    if (now - __atomic_load_n(&cq->polled_at, __ATOMIC_RELAXED) > GAP_PS)
        __atomic_store_n(&cq->vain_since, now, __ATOMIC_RELAXED);
    __atomic_store_n(&cq->polled_at, now, __ATOMIC_RELAXED);
    unsigned turn = __atomic_fetch_add(&cq->turn, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < first->shards && !holds(cq); i++) {
        const struct cq_part *part = part_of(cq, (turn + i) % first->shards);
        if (part == NULL) continue;
        if (__atomic_load_n(&part->live->taken, __ATOMIC_RELAXED)) {
            __atomic_store_n(&part->live->polled_at, now, __ATOMIC_RELAXED);
            continue;
        }
        if (!shard_try(part->live)) continue;
        uint64_t before = part->live->wire->counters.rx_packets;
        (void)advance(part->live, cq, now);
        if (part->live->wire->counters.rx_packets - before >= TURN_STREAM) shard_give(part->live);
        live_leave(part->live);
    }
    count = take_own(cq, ret, max);
    offer_helped(first, count != 0);
    if (count) __atomic_store_n(&cq->vain_since, now, __ATOMIC_RELAXED);
    if (count == 0 && now - __atomic_load_n(&cq->vain_since, __ATOMIC_RELAXED) > limit && offer_core(first))
        count = take_own(cq, ret, max);
    return (int)count;
}

int adapter_poll(struct device_cq *cq, struct nic_cqe *ret, unsigned max)
{
    struct device *live = cq->live;
    bool yield = false;

    if (shard_many(live)) return live_inert(live) ? -ENODEV : poll_many(cq, ret, max);
    int error = live_enter(live);
    if (error < 0) return error;
    unsigned count = take(cq, ret, max);
    if (count == 0 && max) {
        ps_t now = live_now();
        if (now - live->polled_at > GAP_PS) live->vain_since = now;
        offer_helped(live, advance(live, cq, now));
        count = take(cq, ret, max);
        if (count) live->vain_since = now;
        yield = count == 0 && now - live->vain_since > __atomic_load_n(&live->yield_after, __ATOMIC_RELAXED);
    }
    live_leave(live);
    /* "Nothing" is old by now.  A program that believed it, and then found the event that its peer has left, would take
     * for lost what was completed long before. */
    if (yield && offer_core(live) && live_enter(live) == 0) {
        count = take(cq, ret, max);
        live_leave(live);
    }
    return (int)count;
}

/* Of one shard: its thread is waited for from now on.  It may be standing back because of the polls before, or have
 * left us the lock.  ACKs that it owes it sends by itself in a moment: who arms a queue then polls, and may post. */
static void arm_part(struct cq_part *part)
{
    struct device *live = part->live;
    bool stands_back = live->turns.state == TURN_STANDS_BACK;

    link_armed(part);
    if (live->tx_wanted && live->turns.state != TURN_OWES && !shard_leaves(live)) progress_tx(live, live_now());
    if (!live->thread_runs) return;
    bool naps = __atomic_load_n(&live->naps, __ATOMIC_SEQ_CST);
    if (naps) __atomic_fetch_add(&live->naps_cut, 1, __ATOMIC_RELAXED);
    if (!stands_back && !naps) return;
    turns_armed(&live->turns);
    live->sleep_until = 0;
    eventfd_write(live->wake_fd, 1);
}

int adapter_cq_arm(struct device_cq *cq, bool solicited_only)
{
    int error = cq_enter(cq);

    if (error < 0) return error;
    notice_arm(&cq->notice, cq->ready->tail, solicited_only);
    if (!shard_many(cq->live)) arm_part(cq->part[0]);
    cq_leave(cq);
    for (unsigned i = 0; shard_many(cq->live) && i < LIVE_SHARDS_MAX; i++) {
        struct cq_part *part = part_of(cq, i);
        if (part == NULL || live_enter(part->live) < 0) continue;
        arm_part(part);
        live_leave(part->live);
    }
    return 0;
}

void cq_forget(struct cq_part *part, uint32_t qpn)
{
    struct device_cq *cq = part->cq;
    struct nic_qp *nic_qp = nic_qp_find(part->live->nic, qpn);
    const struct device_qp *qp = nic_qp ? nic_qp_app(nic_qp) : NULL;
    bool many = shard_many(part->live);

    completions_forget(&part->nic, qpn, qp && qp->srq ? &qp->srq->receives : NULL);
    if (many) {
        pthread_mutex_lock(&cq->lock);
        completions_forget(&cq->own, qpn, NULL);
        say_held(cq);
    }
    notice_cut(&cq->notice, cq->ready);
    if (many) pthread_mutex_unlock(&cq->lock);
}

void cq_keep(struct cq_part *part, uint32_t qpn)
{
    for (uint32_t i = part->nic.head; i != part->nic.tail; i++) {
        struct nic_cqe *cqe = &part->nic.slot[i & part->nic.mask];
        if (cqe->qpn == qpn) own_id(part->live, cqe);
    }
}
