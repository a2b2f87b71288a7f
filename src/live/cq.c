/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues and channels.
 *
 * A queue is the ring that src/nic fills.  A receive taken from a shared queue carries the number of its record
 * as wr_id, since such receives complete in any order; here it becomes what the application posted, and the record
 * is free again.  Completions of a queue pair that is destroyed stay, as they do with the kernel's software adapter:
 * a program that sees its peer leave may destroy first and poll for what was done before after that.
 *
 * A channel is an eventfd in semaphore mode (one count per event, so poll() tells the truth) and a list of the
 * queues that have events, in order.  An armed queue makes one event for the first completion that comes
 * after it was armed, or the first that is solicited or failed (volume 1, 11.4.2.2).
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
#include <unistd.h>

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

int live_channel_create(struct live *live, struct live_channel **ret)
{
    struct live_channel *channel = malloc(sizeof *channel);

    if (channel == NULL) return -ENOMEM;
    *channel = (struct live_channel){.live = live, .fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)};
    if (channel->fd < 0) {
        int error = -errno;
        free(channel);
        return error;
    }
    *ret = channel;
    return 0;
}

int live_channel_destroy(struct live_channel *channel)
{
    if (channel->users) return -EBUSY;
    close(channel->fd);
    free(channel);
    return 0;
}

int live_channel_fd(const struct live_channel *channel)
{
    return channel->fd;
}

int live_cq_create(struct live *live, uint32_t entries, struct live_channel *channel, void *app, struct live_cq **ret)
{
    if (entries == 0 || entries > LIVE_CQ_MAX) return -EINVAL;
    struct live_cq *cq = calloc(1, sizeof *cq);
    struct nic_cqe *slot = calloc(power_of_two(entries), sizeof *slot);
    int error = cq && slot ? live_enter(live) : -ENOMEM;
    if (error < 0) {
        free(cq);
        free(slot);
        return error;
    }
    nic_cq_init(&cq->nic, slot, power_of_two(entries));
    cq->live = live;
    cq->channel = channel;
    cq->app = app;
    if (channel) channel->users++;
    live_leave(live);
    *ret = cq;
    return 0;
}

int live_cq_resize(struct live_cq *cq, uint32_t entries)
{
    if (entries == 0 || entries > LIVE_CQ_MAX) return -EINVAL;
    uint32_t size = power_of_two(entries);
    struct nic_cqe *slot = calloc(size, sizeof *slot);
    int error = slot ? live_enter(cq->live) : -ENOMEM;
    if (error < 0) {
        free(slot);
        return error;
    }
    uint32_t held = cq->nic.tail - cq->nic.head;
    if (held > size) {
        error = -EINVAL;
        free(slot);
    } else {
        for (uint32_t i = cq->nic.head; i != cq->nic.tail; i++)
            slot[i & (size - 1)] = cq->nic.slot[i & cq->nic.mask];
        free(cq->nic.slot);
        cq->nic.slot = slot;
        cq->nic.mask = size - 1;
    }
    live_leave(cq->live);
    return error;
}

uint32_t live_cq_entries(const struct live_cq *cq)
{
    return cq->nic.mask + 1;
}

static void disarm(struct live_cq *cq)
{
    struct live_cq **at = &cq->live->armed;

    while (*at && *at != cq)
        at = &(*at)->armed_next;
    if (*at) *at = cq->armed_next;
    cq->armed = false;
}

static void channel_remove(struct live_channel *channel, struct live_cq *cq)
{
    struct live_cq **at = &channel->head, *last = NULL;

    while (*at && *at != cq) {
        last = *at;
        at = &(*at)->channel_next;
    }
    if (*at == NULL) return;
    *at = cq->channel_next;
    if (channel->tail == cq) channel->tail = last;
}

static void channel_append(struct live_channel *channel, struct live_cq *cq)
{
    cq->channel_next = NULL;
    if (channel->head)
        channel->tail->channel_next = cq;
    else
        channel->head = cq;
    channel->tail = cq;
}

int live_cq_destroy(struct live_cq *cq)
{
    struct live *live = cq->live;

    if (live_enter(live) == 0) {
        if (cq->users) {
            live_leave(live);
            return -EBUSY;
        }
        disarm(cq);
        nic_cq_forget(live->nic, &cq->nic);
        events_forget(live, cq->app);
        if (cq->channel) {
            if (cq->pending) channel_remove(cq->channel, cq);
            cq->pending = 0; /* counts of the eventfd that are left make a waiter look in vain, once */
            cq->channel->users--;
        }
        while (cq->acked != cq->delivered)
            pthread_cond_wait(&live->acked, &live->lock);
        live_leave(live);
    }
    free(cq->nic.slot);
    free(cq);
    return 0;
}

/* A receive from a shared queue gets the id it was posted with, and its record is free. */
static void own_id(const struct live *live, struct nic_cqe *cqe)
{
    if (!cqe->receive || cqe->own_id) return;
    struct nic_qp *nic_qp = nic_qp_find(live->nic, cqe->qpn);
    const struct live_qp *qp = nic_qp ? nic_qp_app(nic_qp) : NULL;
    if (qp && qp->srq) {
        uint64_t record = cqe->wr_id;
        cqe->wr_id = qp->srq->work[record].wr_id;
        srq_release(qp->srq, record);
    }
    cqe->own_id = true;
}

/* Takes what is there. */
static unsigned take(struct live_cq *cq, struct nic_cqe *ret, unsigned max)
{
    unsigned count = 0;

    while (count < max) {
        const struct nic_cqe *cqe = nic_cq_poll(&cq->nic);
        if (cqe == NULL) break;
        ret[count] = *cqe;
        own_id(cq->live, &ret[count++]);
    }
    return count;
}

static void adapt(struct live *live, bool helped)
{
    ps_t limit = __atomic_load_n(&live->yield_after, __ATOMIC_RELAXED);

    limit = helped ? limit / 2 : limit * 2;
    if (limit < YIELD_LEAST_PS) limit = YIELD_LEAST_PS;
    if (limit > YIELD_MOST_PS) limit = YIELD_MOST_PS;
    __atomic_store_n(&live->yield_after, limit, __ATOMIC_RELAXED);
}

/* Without the lock.  True: somebody has taken it. */
static bool offer_core(struct live *live)
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

int live_poll(struct live_cq *cq, struct nic_cqe *ret, unsigned max)
{
    struct live *live = cq->live;
    int error = live_enter(live);
    bool yield = false;

    if (error < 0) return error;
    unsigned count = take(cq, ret, max);
    if (count == 0 && max) {
        ps_t now = live_now();
        bool owed = live->tx_wanted; /* since the poll before: a stream of completions must not hold ACKs back */
        if (now - live->polled_at > GAP_PS) live->vain_since = now;
        __atomic_store_n(&live->polled_at, now, __ATOMIC_RELAXED);
        pthread_getcpuclockid(pthread_self(), &live->poller);
        if (!live->thread_runs) thread_forwarded(live, now);
        bool came = progress_rx(live, now);
        if (__atomic_load_n(&live->yielded, __ATOMIC_RELAXED)) {
            __atomic_store_n(&live->yielded, false, __ATOMIC_RELAXED);
            adapt(live, came);
        }
        progress_tick(live, now);
        count = take(cq, ret, max);
        if ((count == 0 || owed) && live->tx_wanted) {
            progress_tx(live, now);
            if (count == 0) count = take(cq, ret, max);
        }
        live->own.polls_empty += count == 0;
        if (count) live->vain_since = now;
        yield = count == 0 && now - live->vain_since > __atomic_load_n(&live->yield_after, __ATOMIC_RELAXED);
        /* What this call took from the wire the thread does not see; if nobody polls again, it has to act.  And it
         * sleeps on a wire that this call has told that somebody is awake: asking for the deadline takes that back. */
        if (!live->stands_back) {
            if (wire_deadline(live->wire) == 0) live->rx_more = true;
            progress_wake(live);
        }
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

int live_cq_arm(struct live_cq *cq, bool solicited_only)
{
    struct live *live = cq->live;
    int error = live_enter(live);

    if (error < 0) return error;
    if (!cq->armed) {
        cq->armed = true;
        cq->solicited_only = solicited_only;
        cq->arm_tail = cq->nic.tail;
        cq->armed_next = live->armed;
        live->armed = cq;
    } else if (!solicited_only) {
        cq->solicited_only = false;
    }
    if (live->tx_wanted) progress_tx(live, live_now());
    /* The thread may be standing back because of the polls before; from now on it is waited for. */
    if (live->thread_runs && live->stands_back) {
        live->stands_back = false;
        live->sleep_until = 0;
        eventfd_write(live->wake_fd, 1);
    }
    live_leave(live);
    return 0;
}

static bool wanted(const struct live_cq *cq)
{
    if (cq->nic.tail == cq->arm_tail) return false;
    if (!cq->solicited_only) return true;
    for (uint32_t i = cq->arm_tail; i != cq->nic.tail; i++) {
        const struct nic_cqe *cqe = &cq->nic.slot[i & cq->nic.mask];
        if (cqe->status != NIC_SUCCESS || (cqe->receive && cqe->solicited)) return true;
    }
    return false;
}

void cq_notify(struct live *live)
{
    struct live_cq *next;

    for (struct live_cq *cq = live->armed; cq; cq = next) {
        next = cq->armed_next;
        if (!wanted(cq)) continue;
        disarm(cq);
        if (cq->channel == NULL) continue;
        if (cq->pending++ == 0) channel_append(cq->channel, cq);
        eventfd_write(cq->channel->fd, 1);
    }
}

int live_channel_wait(struct live_channel *channel, struct live_cq **ret, void **ret_app)
{
    for (;;) {
        eventfd_t value;
        if (live_inert(channel->live)) return -ENODEV; /* before an event is taken that is the parent's */
        if (eventfd_read(channel->fd, &value) < 0) return -errno;
        int error = live_enter(channel->live);
        if (error < 0) return error;
        struct live_cq *cq = channel->head;
        if (cq) {
            channel_remove(channel, cq);
            if (--cq->pending) channel_append(channel, cq);
            cq->delivered++;
            *ret = cq;
            *ret_app = cq->app;
        }
        live_leave(channel->live);
        if (cq) return 0;
    }
}

void live_cq_ack_events(struct live_cq *cq, unsigned events)
{
    if (live_enter(cq->live) < 0) return;
    cq->acked += events;
    pthread_cond_broadcast(&cq->live->acked);
    live_leave(cq->live);
}

void cq_forget(struct live_cq *cq, uint32_t qpn)
{
    struct nic_qp *nic_qp = nic_qp_find(cq->live->nic, qpn);
    const struct live_qp *qp = nic_qp ? nic_qp_app(nic_qp) : NULL;
    uint32_t kept = cq->nic.head;

    for (uint32_t i = cq->nic.head; i != cq->nic.tail; i++) {
        const struct nic_cqe *cqe = &cq->nic.slot[i & cq->nic.mask];
        if (cqe->qpn != qpn)
            cq->nic.slot[kept++ & cq->nic.mask] = *cqe;
        else if (cqe->receive && !cqe->own_id && qp && qp->srq)
            srq_release(qp->srq, cqe->wr_id);
    }
    if (cq->armed && (int32_t)(cq->arm_tail - kept) > 0) cq->arm_tail = kept;
    cq->nic.tail = kept;
}

void cq_keep(struct live_cq *cq, uint32_t qpn)
{
    for (uint32_t i = cq->nic.head; i != cq->nic.tail; i++) {
        struct nic_cqe *cqe = &cq->nic.slot[i & cq->nic.mask];
        if (cqe->qpn == qpn) own_id(cq->live, cqe);
    }
}
