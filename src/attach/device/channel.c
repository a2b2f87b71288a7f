/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion channels: an eventfd in semaphore mode that the fabric counts up, and a ring of the numbers of queues.
 *
 * The wait for the descriptor is the program's own read(): with the virtual clock it is a wait like any other.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "attach/device/device_int.h"

static int tell(struct live_channel *channel)
{
    struct live *live = channel->live;
    struct attach_made made = {.ring = 0};
    int error = device_enter(live);

    if (error < 0) return error;
    error = device_ask_with(live, ATTACH_OP_CHANNEL_CREATE, channel->fd, &made, sizeof made, NULL);
    if (error >= 0) {
        channel->number = made.number;
        channel->ring = device_ring(live, made.ring, made.entries);
        pthread_mutex_lock(&live->lock);
        channel->next = live->channels;
        live->channels = channel;
        pthread_mutex_unlock(&live->lock);
    }
    device_leave();
    return error < 0 ? error : 0;
}

int attached_channel_create(struct live *live, struct live_channel **ret)
{
    struct live_channel *channel = malloc(sizeof *channel);

    if (channel == NULL) return -ENOMEM;
    *channel = (struct live_channel){.ops = live->ops, .live = live, .fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)};
    pthread_mutex_init(&channel->lock, NULL);
    int error = channel->fd < 0 ? -errno : tell(channel);
    if (error < 0) {
        if (channel->fd >= 0) close(channel->fd);
        free(channel);
        return error;
    }
    *ret = channel;
    return 0;
}

int attached_channel_destroy(struct live_channel *channel)
{
    struct live *live = channel->live;

    if (__atomic_load_n(&channel->users, __ATOMIC_ACQUIRE)) return -EBUSY;
    if (!device_inert(live)) {
        (void)device_ask_once(live, ATTACH_OP_CHANNEL_DESTROY, channel->number, NULL, 0);
        struct live_channel **at = &live->channels;
        pthread_mutex_lock(&live->lock);
        while (*at != channel)
            at = &(*at)->next;
        *at = channel->next;
        pthread_mutex_unlock(&live->lock);
    }
    close(channel->fd);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
    return 0;
}

int attached_channel_fd(const struct live_channel *channel)
{
    return channel->fd;
}

void attached_channel_gone(struct live *live)
{
    pthread_mutex_lock(&live->lock);
    for (struct live_channel *channel = live->channels; channel; channel = channel->next)
        (void)eventfd_write(channel->fd, 1);
    pthread_mutex_unlock(&live->lock);
}

/* The next event's queue; 0: there is none, or the queue has gone. */
static uint32_t next_number(struct live_channel *channel)
{
    struct attach_ring *index = channel->ring.index;
    uint32_t number = 0;

    pthread_mutex_lock(&channel->lock);
    uint32_t head = index->head;
    if (head != __atomic_load_n(&index->tail, __ATOMIC_ACQUIRE)) {
        number = ((uint32_t *)channel->ring.entry)[head & channel->ring.mask];
        __atomic_store_n(&index->head, head + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&channel->lock);
    return number;
}

static struct live_cq *cq_find(struct live *live, uint32_t number)
{
    struct live_cq *cq;

    pthread_mutex_lock(&live->lock);
    for (cq = live->cqs; cq && cq->number != number; cq = cq->next)
        ;
    if (cq) __atomic_fetch_add(&cq->delivered, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(&live->lock);
    return cq;
}

int attached_channel_wait(struct live_channel *channel, struct live_cq **ret, void **ret_app)
{
    struct live *live = channel->live;

    for (;;) {
        if (device_inert(live)) return -ENODEV; /* before an event is taken that is the parent's */
        int error = device_read_fd(channel->fd);
        if (error == 0) error = device_enter(live);
        if (error < 0) return error;
        uint32_t number = next_number(channel);
        struct live_cq *cq = number ? cq_find(live, number) : NULL;
        device_leave();
        if (cq == NULL) continue;
        *ret = cq;
        *ret_app = cq->app;
        return 0;
    }
}

void attached_cq_ack_events(struct live_cq *cq, unsigned events)
{
    __atomic_fetch_add(&cq->acked, events, __ATOMIC_ACQ_REL);
}

void attached_channel_forget(struct live_channel *channel, const struct live_cq *cq)
{
    const struct attach_ring *index = channel->ring.index;

    pthread_mutex_lock(&channel->lock);
    const uint32_t tail = __atomic_load_n(&index->tail, __ATOMIC_ACQUIRE);
    for (uint32_t i = index->head; i != tail; i++) {
        uint32_t *entry = &((uint32_t *)channel->ring.entry)[i & channel->ring.mask];
        if (*entry == cq->number) *entry = 0;
    }
    pthread_mutex_unlock(&channel->lock);
}
