/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion channels: events of completion queues, one descriptor.
 *
 * A channel is an eventfd in semaphore mode (one count per event, so poll() tells the truth) and a list of the
 * queues that have events, in order.  Queues of any shard share it, so it has a lock of its own, under which nothing
 * else is taken.  Which completion makes an event is decided in cq.c.
 *
 * The progress thread writes to the descriptor after it has let go of the device: who is woken polls at once, and
 * would only meet its lock.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "live/live_int.h"

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
    pthread_mutex_init(&channel->lock, NULL);
    pthread_cond_init(&channel->acked, NULL);
    *ret = channel;
    return 0;
}

int live_channel_destroy(struct live_channel *channel)
{
    if (__atomic_load_n(&channel->users, __ATOMIC_ACQUIRE)) return -EBUSY;
    while (!live_inert(channel->live) && __atomic_load_n(&channel->rings, __ATOMIC_ACQUIRE))
        sched_yield(); /* a thread is about to write to the descriptor */
    close(channel->fd);
    pthread_cond_destroy(&channel->acked);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
    return 0;
}

int live_channel_fd(const struct live_channel *channel)
{
    return channel->fd;
}

static void take_out(struct live_channel *channel, struct live_cq *cq)
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

static void append(struct live_channel *channel, struct live_cq *cq)
{
    cq->channel_next = NULL;
    if (channel->head)
        channel->tail->channel_next = cq;
    else
        channel->head = cq;
    channel->tail = cq;
}

void channel_tell(struct live *by, struct live_cq *cq)
{
    struct live_channel *channel = cq->channel;

    if (channel == NULL) return;
    pthread_mutex_lock(&channel->lock);
    if (cq->pending++ == 0) append(channel, cq);
    pthread_mutex_unlock(&channel->lock);
    __atomic_fetch_add(&channel->rings, 1, __ATOMIC_RELAXED);
    if (by->rings_later && by->rings < LIVE_RINGS)
        by->ring[by->rings++] = channel;
    else
        channel_ring(channel);
}

void channel_ring(struct live_channel *channel)
{
    eventfd_write(channel->fd, 1);
    __atomic_fetch_sub(&channel->rings, 1, __ATOMIC_RELEASE);
}

void channel_forget(struct live_cq *cq)
{
    struct live_channel *channel = cq->channel;

    if (channel == NULL) return;
    pthread_mutex_lock(&channel->lock);
    if (cq->pending) take_out(channel, cq);
    cq->pending = 0; /* counts of the eventfd that are left make a waiter look in vain, once */
    while (cq->acked != cq->delivered)
        pthread_cond_wait(&channel->acked, &channel->lock);
    pthread_mutex_unlock(&channel->lock);
    __atomic_fetch_sub(&channel->users, 1, __ATOMIC_RELEASE);
}

int live_channel_wait(struct live_channel *channel, struct live_cq **ret, void **ret_app)
{
    for (;;) {
        eventfd_t value;
        if (live_inert(channel->live)) return -ENODEV; /* before an event is taken that is the parent's */
        if (eventfd_read(channel->fd, &value) < 0) return -errno;
        if (live_inert(channel->live)) return -ENODEV;
        pthread_mutex_lock(&channel->lock);
        struct live_cq *cq = channel->head;
        if (cq) {
            take_out(channel, cq);
            if (--cq->pending) append(channel, cq);
            cq->delivered++;
            *ret = cq;
            *ret_app = cq->app;
        }
        pthread_mutex_unlock(&channel->lock);
        if (cq) return 0;
    }
}

void live_cq_ack_events(struct live_cq *cq, unsigned events)
{
    struct live_channel *channel = cq->channel;

    if (channel == NULL || live_inert(cq->live)) return;
    pthread_mutex_lock(&channel->lock);
    cq->acked += events;
    pthread_cond_broadcast(&channel->acked);
    pthread_mutex_unlock(&channel->lock);
}
