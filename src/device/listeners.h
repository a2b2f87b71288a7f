/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who hears of a device's asynchronous events: a ring and an eventfd for each listener.
 *
 * When a ring is full the oldest event gives way: whoever does not read them does not want them.  The listeners have a
 * lock of their own, under which no other is taken but a listener's hooks' own.  Where events come from, and who is
 * woken by which descriptor, is the device's business.
 */
#ifndef ROCELAB_DEVICE_LISTENERS_H
#define ROCELAB_DEVICE_LISTENERS_H

#include <pthread.h>

#include "device/device.h"

#define DEVICE_EVENTS 256u /* that wait for a listener */

struct device_watch {
    const struct device_ops *ops;
    struct device *device;
    struct device_watch_hooks hooks;
    int fd;          /* an eventfd in semaphore mode: one count for each event */
    uint32_t number; /* the device's, if it needs one */
    uint32_t head, tail;
    struct device_event event[DEVICE_EVENTS];
    struct device_watch *next;
};

struct listeners {
    pthread_mutex_t lock;
    struct device_watch *first;
};

void listeners_init(struct listeners *listeners);
/* -errno.  Not heard of yet: listeners_add(). */
int listener_create(const struct device_ops *ops, struct device *device, struct device_watch **ret);
void listener_free(struct device_watch *watch);
void listeners_add(struct listeners *listeners, struct device_watch *watch);
void listeners_remove(struct listeners *listeners, struct device_watch *watch);
void listeners_hook(struct listeners *listeners, struct device_watch *watch, const struct device_watch_hooks *hooks);
/* To all that want it; `ring`: their descriptors are told too. */
void listeners_push(struct listeners *listeners, const struct device_event *event, bool ring);
bool listeners_take(struct listeners *listeners, struct device_watch *watch,
                    struct device_event *ret); /* false: none */
/* An object is about to be gone: its events are not told any more. */
void listeners_forget(struct listeners *listeners, const void *app);

#endif
