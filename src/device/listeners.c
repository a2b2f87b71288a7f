/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners of a device's asynchronous events; see listeners.h.
 */
#include "device/listeners.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

void listeners_init(struct listeners *listeners)
{
    pthread_mutex_init(&listeners->lock, NULL);
    listeners->first = NULL;
}

int listener_create(const struct device_ops *ops, struct device *device, struct device_watch **ret)
{
    struct device_watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL) return -ENOMEM;
    watch->ops = ops;
    watch->device = device;
    watch->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (watch->fd < 0) {
        int error = -errno;
        free(watch);
        return error;
    }
    *ret = watch;
    return 0;
}

void listener_free(struct device_watch *watch)
{
    close(watch->fd);
    free(watch);
}

void listeners_add(struct listeners *listeners, struct device_watch *watch)
{
    pthread_mutex_lock(&listeners->lock);
    watch->next = listeners->first;
    listeners->first = watch;
    pthread_mutex_unlock(&listeners->lock);
}

void listeners_remove(struct listeners *listeners, struct device_watch *watch)
{
    struct device_watch **at = &listeners->first;

    pthread_mutex_lock(&listeners->lock);
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    pthread_mutex_unlock(&listeners->lock);
}

void listeners_hook(struct listeners *listeners, struct device_watch *watch, const struct device_watch_hooks *hooks)
{
    pthread_mutex_lock(&listeners->lock);
    watch->hooks = *hooks;
    pthread_mutex_unlock(&listeners->lock);
}

void listeners_push(struct listeners *listeners, const struct device_event *event, bool ring)
{
    pthread_mutex_lock(&listeners->lock);
    for (struct device_watch *watch = listeners->first; watch; watch = watch->next) {
        if (watch->hooks.wants && !watch->hooks.wants(watch->hooks.owner, event)) continue;
        bool full = watch->tail - watch->head == DEVICE_EVENTS;
        watch->head += full;
        watch->event[watch->tail++ % DEVICE_EVENTS] = *event;
        if (ring && !full) eventfd_write(watch->fd, 1);
    }
    pthread_mutex_unlock(&listeners->lock);
}

bool listeners_take(struct listeners *listeners, struct device_watch *watch, struct device_event *ret)
{
    pthread_mutex_lock(&listeners->lock);
    bool found = watch->head != watch->tail;
    if (found) *ret = watch->event[watch->head++ % DEVICE_EVENTS];
    if (found && watch->hooks.taken) watch->hooks.taken(watch->hooks.owner, ret);
    pthread_mutex_unlock(&listeners->lock);
    return found;
}

void listeners_forget(struct listeners *listeners, const void *app)
{
    pthread_mutex_lock(&listeners->lock);
    for (struct device_watch *watch = listeners->first; watch; watch = watch->next) {
        uint32_t kept = watch->head;
        for (uint32_t i = watch->head; i != watch->tail; i++) {
            struct device_event event = watch->event[i % DEVICE_EVENTS];
            if (app == NULL || event.app != app) watch->event[kept++ % DEVICE_EVENTS] = event;
        }
        watch->tail = kept;
    }
    pthread_mutex_unlock(&listeners->lock);
}
