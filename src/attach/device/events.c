/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events: from the device's ring to the listeners.
 *
 * Each listener has told the fabric its descriptor, and the fabric counts all of them up with each event.  Whoever
 * looks shares out what is in the ring; a listener that is woken for what is not its own waits on.
 */
#include <stdlib.h>

#include "attach/device/device_int.h"

/* The program's word for the object; false: it has gone. */
static bool find_app(struct device *device, const struct attach_event *event, void **ret)
{
    struct attached_object *first = event->of == ATTACH_QP    ? *attached_qp_bucket(device, event->object)
                                    : event->of == ATTACH_CQ  ? device->cqs
                                    : event->of == ATTACH_SRQ ? device->srqs
                                                              : NULL;
    const struct attached_object *object = attached_find(first, event->object);

    *ret = object ? object->app : NULL;
    return object || event->of == ATTACH_PORT;
}

/* What is in the ring goes to the listeners.  -EPROTO */
static int collect(struct device *device)
{
    struct attach_event event;
    struct device_event told;
    int taken;

    do {
        pthread_mutex_lock(&device->lock);
        taken = attached_ring_take(&device->events, &event);
        bool known = taken > 0 && event.kind <= DEVICE_EVENT_DEVICE_FATAL && find_app(device, &event, &told.app);
        pthread_mutex_unlock(&device->lock);
        if (!known) continue;
        told.kind = (enum device_event_kind)event.kind;
        listeners_push(&device->listeners, &told, false);
    } while (taken > 0);
    return taken;
}

void attached_events_forget(struct device *device, const void *app)
{
    (void)collect(device);
    listeners_forget(&device->listeners, app);
}

int attached_watch_create(struct device *device, struct device_watch **ret)
{
    struct device_watch *watch;
    int error = listener_create(device->ops, device, &watch);

    if (error < 0) return error;
    error = attached_enter(device);
    if (error == 0) {
        error = attached_ask_with(device, ATTACH_OP_WATCH, watch->fd, NULL, 0, &watch->number);
        attached_leave();
    }
    if (error < 0) {
        listener_free(watch);
        return error;
    }
    listeners_add(&device->listeners, watch);
    *ret = watch;
    return 0;
}

void attached_watch_hook(struct device_watch *watch, const struct device_watch_hooks *hooks)
{
    if (attached_inert(watch->device)) return;
    listeners_hook(&watch->device->listeners, watch, hooks);
}

void attached_watch_destroy(struct device_watch *watch)
{
    if (!attached_inert(watch->device)) {
        (void)attached_ask_once(watch->device, ATTACH_OP_UNWATCH, watch->number, NULL, 0);
        listeners_remove(&watch->device->listeners, watch);
    }
    listener_free(watch);
}

int attached_watch_fd(const struct device_watch *watch)
{
    return watch->fd;
}

int attached_watch_wait(struct device_watch *watch, struct device_event *ret)
{
    struct device *device = watch->device;

    for (;;) {
        if (attached_inert(device)) return -ENODEV; /* before an event is taken that is the parent's */
        int error = attached_read_fd(watch->fd);
        if (error < 0) return error;
        error = collect(device);
        if (listeners_take(&device->listeners, watch, ret)) return 0;
        if (error < 0) return error;
    }
}
