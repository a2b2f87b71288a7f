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

int attached_cq_create(struct device *device, uint32_t entries, struct device_channel *channel, void *app,
                       struct device_cq **ret)
{
    const struct attach_cq asked = {.entries = entries, .channel = channel ? channel->number : 0};
    struct device_cq *cq = malloc(sizeof *cq);
    struct attach_made made;

    if (cq == NULL) return -ENOMEM;
    *cq = (struct device_cq){{.ops = device->ops, .device = device, .app = app}, .channel = channel};
    pthread_mutex_init(&cq->lock, NULL);
    int error = attached_make(device, ATTACH_OP_CQ_CREATE, &asked, sizeof asked, &made);
    if (error == 0) {
        error = attached_ring(device, made.ring, made.entries, sizeof(struct attach_cqe), &cq->ring);
        if (error < 0) attached_leave();
    }
    if (error < 0) {
        pthread_mutex_destroy(&cq->lock);
        free(cq);
        return error;
    }
    if (channel) __atomic_fetch_add(&channel->users, 1, __ATOMIC_RELAXED);
    attached_link((struct attached_object *)cq, &device->cqs, made.number);
    *ret = cq;
    return 0;
}

int attached_cq_resize(struct device_cq *cq, uint32_t entries)
{
    union {
        struct attach_cq asked;
        struct attach_made made;
    } told = {.asked = {.entries = entries}};
    int error = attached_enter(cq->device);

    if (error < 0) return error;
    /* With the real clock others poll meanwhile; with the virtual one who waits for a lock would keep the turn. */
    const bool locks = cq->device->head->clock == ATTACH_REAL;
    if (locks) pthread_mutex_lock(&cq->lock);
    error = attached_ask(cq->device, ATTACH_OP_CQ_RESIZE, cq->number, &told, sizeof told, NULL);
    if (error >= 0)
        error = attached_ring(cq->device, told.made.ring, told.made.entries, sizeof(struct attach_cqe), &cq->ring);
    if (locks) pthread_mutex_unlock(&cq->lock);
    attached_leave();
    return error < 0 ? error : 0;
}

int attached_cq_destroy(struct device_cq *cq)
{
    if (!attached_inert(cq->device)) {
        if (__atomic_load_n(&cq->users, __ATOMIC_ACQUIRE)) return -EBUSY;
        (void)attached_ask_once(cq->device, ATTACH_OP_CQ_DESTROY, cq->number, NULL, 0);
        attached_events_forget(cq->device, cq->app);
        attached_unlink((struct attached_object *)cq, &cq->device->cqs);
        if (cq->channel) attached_channel_forget(cq->channel, cq);
        while (__atomic_load_n(&cq->acked, __ATOMIC_ACQUIRE) != __atomic_load_n(&cq->delivered, __ATOMIC_ACQUIRE))
            sched_yield(); /* a thread that has just taken an event is about to say so */
    }
    if (cq->channel) __atomic_fetch_sub(&cq->channel->users, 1, __ATOMIC_RELEASE);
    pthread_mutex_destroy(&cq->lock);
    free(cq);
    return 0;
}

uint32_t attached_cq_entries(const struct device_cq *cq)
{
    return cq->ring.mask + 1;
}

static int take(struct device_cq *cq, struct nic_cqe *ret, unsigned max)
{
    int count = 0;
    uint32_t head;

    pthread_mutex_lock(&cq->lock);
    const struct attach_cqe *slot = cq->ring.entry;
    int waits = attached_ring_waits(&cq->ring, &head);
    for (; waits > 0 && (unsigned)count < max; waits--) {
        ret[count] = slot[head++ & cq->ring.mask].cqe;
        count += ret[count].verb != VOID_VERB;
    }
    if (head != cq->ring.index->head) __atomic_store_n(&cq->ring.index->head, head, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&cq->lock);
    if (count == 0) return waits < 0 ? waits : 0;
    pthread_mutex_lock(&cq->device->lock);
    for (int i = 0; i < count; i++)
        attached_qp_completed(cq->device, &ret[i]);
    pthread_mutex_unlock(&cq->device->lock);
    return count;
}

int attached_poll(struct device_cq *cq, struct nic_cqe *ret, unsigned max)
{
    const struct attach_api *api = attached_api();
    struct attach_head *head = cq->device->head;
    int error = attached_enter(cq->device);

    if (error < 0) return error;
    __atomic_store_n(&head->counters.polls, head->counters.polls + 1, __ATOMIC_RELAXED);
    int count = take(cq, ret, max);
    if (count == 0 && max) {
        api->poll_empty();
        count = take(cq, ret, max);
    }
    if (count > 0) {
        api->charge(head->cost.poll);
        api->poll_found();
    }
    attached_leave();
    return count;
}

void attached_cq_forget(struct device_cq *cq, uint32_t qpn)
{
    uint32_t head;

    pthread_mutex_lock(&cq->lock);
    struct attach_cqe *slot = cq->ring.entry;
    for (int waits = attached_ring_waits(&cq->ring, &head); waits > 0; waits--) {
        struct nic_cqe *cqe = &slot[head++ & cq->ring.mask].cqe;
        if (cqe->qpn == qpn) cqe->verb = VOID_VERB;
    }
    pthread_mutex_unlock(&cq->lock);
}
