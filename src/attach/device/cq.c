/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues: rings in the segment, which the fabric fills in fabric time.
 *
 * A poll that finds something takes the time that is declared for it.  One that finds nothing is a wait: the fabric
 * goes on, and then the ring is looked at once more.
 */
#include <sched.h>
#include <stdlib.h>

#include "attach/device/device_int.h"

/* Of a completion that is to be told nobody: an entry of the ring that is passed over. */
#define VOID_VERB NIC_VERBS

int attached_cq_create(struct live *live, uint32_t entries, struct live_channel *channel, void *app,
                       struct live_cq **ret)
{
    union {
        struct attach_cq asked;
        struct attach_made made;
    } told = {.asked = {.entries = entries, .channel = channel ? channel->number : 0}};

    if (entries == 0 || entries > LIVE_CQ_MAX) return -EINVAL;
    struct live_cq *cq = malloc(sizeof *cq);
    int error = cq ? device_enter(live) : -ENOMEM;
    if (error < 0) {
        free(cq);
        return error;
    }
    error = device_ask(live, ATTACH_OP_CQ_CREATE, 0, &told, sizeof told, NULL);
    if (error >= 0) {
        *cq = (struct live_cq){.ops = live->ops,
                               .live = live,
                               .number = told.made.number,
                               .ring = device_ring(live, told.made.ring, told.made.entries),
                               .channel = channel,
                               .app = app};
        pthread_mutex_init(&cq->lock, NULL);
        pthread_mutex_lock(&live->lock);
        cq->next = live->cqs;
        live->cqs = cq;
        pthread_mutex_unlock(&live->lock);
        if (channel) __atomic_fetch_add(&channel->users, 1, __ATOMIC_RELAXED);
        *ret = cq;
    } else {
        free(cq);
    }
    device_leave();
    return error < 0 ? error : 0;
}

int attached_cq_resize(struct live_cq *cq, uint32_t entries)
{
    union {
        struct attach_cq asked;
        struct attach_made made;
    } told = {.asked = {.entries = entries}};

    if (entries == 0 || entries > LIVE_CQ_MAX) return -EINVAL;
    int error = device_enter(cq->live);
    if (error < 0) return error;
    /* With the real clock others poll meanwhile; with the virtual one who waits for a lock would keep the turn. */
    const bool locks = cq->live->head->clock == ATTACH_REAL;
    if (locks) pthread_mutex_lock(&cq->lock);
    error = device_ask(cq->live, ATTACH_OP_CQ_RESIZE, cq->number, &told, sizeof told, NULL);
    if (error >= 0) cq->ring = device_ring(cq->live, told.made.ring, told.made.entries);
    if (locks) pthread_mutex_unlock(&cq->lock);
    device_leave();
    return error < 0 ? error : 0;
}

static void unlink_cq(struct live_cq *cq)
{
    struct live_cq **at = &cq->live->cqs;

    pthread_mutex_lock(&cq->live->lock);
    while (*at != cq)
        at = &(*at)->next;
    *at = cq->next;
    pthread_mutex_unlock(&cq->live->lock);
}

int attached_cq_destroy(struct live_cq *cq)
{
    if (!device_inert(cq->live)) {
        if (__atomic_load_n(&cq->users, __ATOMIC_ACQUIRE)) return -EBUSY;
        (void)device_ask_once(cq->live, ATTACH_OP_CQ_DESTROY, cq->number, NULL, 0);
        attached_events_forget(cq->live, cq->app);
        unlink_cq(cq);
        if (cq->channel) attached_channel_forget(cq->channel, cq);
        while (__atomic_load_n(&cq->acked, __ATOMIC_ACQUIRE) != __atomic_load_n(&cq->delivered, __ATOMIC_ACQUIRE))
            sched_yield(); /* a thread that has just taken an event is about to say so */
    }
    if (cq->channel) __atomic_fetch_sub(&cq->channel->users, 1, __ATOMIC_RELEASE);
    pthread_mutex_destroy(&cq->lock);
    free(cq);
    return 0;
}

uint32_t attached_cq_entries(const struct live_cq *cq)
{
    return cq->ring.mask + 1;
}

static unsigned take(struct live_cq *cq, struct nic_cqe *ret, unsigned max)
{
    unsigned count = 0;

    pthread_mutex_lock(&cq->lock);
    struct attach_ring *index = cq->ring.index;
    const struct attach_cqe *slot = cq->ring.entry;
    const uint32_t tail = __atomic_load_n(&index->tail, __ATOMIC_ACQUIRE);
    uint32_t head = index->head;
    for (; head != tail && count < max; head++) {
        ret[count] = slot[head & cq->ring.mask].cqe;
        count += ret[count].verb != VOID_VERB;
    }
    if (head != index->head) __atomic_store_n(&index->head, head, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&cq->lock);
    if (count == 0) return 0;
    pthread_mutex_lock(&cq->live->lock);
    for (unsigned i = 0; i < count; i++)
        attached_qp_completed(cq->live, &ret[i]);
    pthread_mutex_unlock(&cq->live->lock);
    return count;
}

int attached_poll(struct live_cq *cq, struct nic_cqe *ret, unsigned max)
{
    const struct attach_api *api = device_api();
    struct attach_head *head = cq->live->head;
    int error = device_enter(cq->live);

    if (error < 0) return error;
    __atomic_store_n(&head->counters.polls, head->counters.polls + 1, __ATOMIC_RELAXED);
    unsigned count = take(cq, ret, max);
    if (count == 0 && max) {
        api->poll_empty();
        count = take(cq, ret, max);
    }
    if (count) {
        api->charge(head->cost.poll);
        api->poll_found();
    }
    device_leave();
    return (int)count;
}

void attached_cq_forget(struct live_cq *cq, uint32_t qpn)
{
    pthread_mutex_lock(&cq->lock);
    struct attach_cqe *slot = cq->ring.entry;
    const uint32_t tail = __atomic_load_n(&cq->ring.index->tail, __ATOMIC_ACQUIRE);
    for (uint32_t i = cq->ring.index->head; i != tail; i++) {
        struct nic_cqe *cqe = &slot[i & cq->ring.mask].cqe;
        if (cqe->qpn == qpn) cqe->verb = VOID_VERB;
    }
    pthread_mutex_unlock(&cq->lock);
}
