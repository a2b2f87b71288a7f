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

static int tell(struct device_channel *channel)
{
    struct device *device = channel->device;
    struct attach_made made = {.ring = 0};
    int error = attached_enter(device);

    if (error < 0) return error;
    error = attached_ask_with(device, ATTACH_OP_CHANNEL_CREATE, channel->fd, &made, sizeof made, NULL);
    if (error >= 0) error = attached_ring(device, made.ring, made.entries, sizeof(uint32_t), &channel->ring);
    if (error < 0) {
        attached_leave();
        return error;
    }
    attached_link((struct attached_object *)channel, &device->channels, made.number);
    return 0;
}

int attached_channel_create(struct device *device, struct device_channel **ret)
{
    struct device_channel *channel = malloc(sizeof *channel);

    if (channel == NULL) return -ENOMEM;
    *channel =
        (struct device_channel){{.ops = device->ops, .device = device}, .fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC)};
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

int attached_channel_destroy(struct device_channel *channel)
{
    struct device *device = channel->device;

    if (__atomic_load_n(&channel->users, __ATOMIC_ACQUIRE)) return -EBUSY;
    if (!attached_inert(device)) {
        (void)attached_ask_once(device, ATTACH_OP_CHANNEL_DESTROY, channel->number, NULL, 0);
        attached_unlink((struct attached_object *)channel, &device->channels);
    }
    close(channel->fd);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
    return 0;
}

int attached_channel_fd(const struct device_channel *channel)
{
    return channel->fd;
}

void attached_channel_gone(struct device *device)
{
    pthread_mutex_lock(&device->lock);
    for (struct attached_object *channel = device->channels; channel; channel = channel->next)
        (void)eventfd_write(((struct device_channel *)channel)->fd, 1);
    pthread_mutex_unlock(&device->lock);
}

/* The next event's queue; 0: there is none, or the queue has gone. */
static int next_number(struct device_channel *channel, uint32_t *ret)
{
    *ret = 0;
    pthread_mutex_lock(&channel->lock);
    int taken = attached_ring_take(&channel->ring, ret);
    pthread_mutex_unlock(&channel->lock);
    return taken < 0 ? taken : 0;
}

static struct device_cq *cq_find(struct device *device, uint32_t number)
{
    pthread_mutex_lock(&device->lock);
    struct device_cq *cq = (struct device_cq *)attached_find(device->cqs, number);
    if (cq) __atomic_fetch_add(&cq->delivered, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(&device->lock);
    return cq;
}

int attached_channel_wait(struct device_channel *channel, struct device_cq **ret, void **ret_app)
{
    struct device *device = channel->device;

    for (;;) {
        if (attached_inert(device)) return -ENODEV; /* before an event is taken that is the parent's */
        int error = attached_read_fd(channel->fd);
        if (error == 0) error = attached_enter(device);
        if (error < 0) return error;
        uint32_t number;
        error = next_number(channel, &number);
        struct device_cq *cq = number ? cq_find(device, number) : NULL;
        attached_leave();
        if (error < 0) return error;
        if (cq == NULL) continue;
        *ret = cq;
        *ret_app = cq->app;
        return 0;
    }
}

void attached_cq_ack_events(struct device_cq *cq, unsigned events)
{
    __atomic_fetch_add(&cq->acked, events, __ATOMIC_ACQ_REL);
}

void attached_channel_forget(struct device_channel *channel, const struct device_cq *cq)
{
    uint32_t head;

    pthread_mutex_lock(&channel->lock);
    for (int waits = attached_ring_waits(&channel->ring, &head); waits > 0; waits--) {
        uint32_t *entry = &((uint32_t *)channel->ring.entry)[head++ & channel->ring.mask];
        if (*entry == cq->number) *entry = 0;
    }
    pthread_mutex_unlock(&channel->lock);
}
