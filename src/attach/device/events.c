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
static bool find_app(struct live *live, const struct attach_event *event, void **ret)
{
    const struct live_qp *qp;
    const struct live_cq *cq = live->cqs;
    const struct live_srq *srq = live->srqs;

    switch ((enum attach_object)event->of) {
    case ATTACH_QP:
        qp = attached_qp_find(live, event->object);
        if (qp) *ret = qp->app;
        return qp != NULL;
    case ATTACH_CQ:
        while (cq && cq->number != event->object)
            cq = cq->next;
        if (cq) *ret = cq->app;
        return cq != NULL;
    case ATTACH_SRQ:
        while (srq && srq->number != event->object)
            srq = srq->next;
        if (srq) *ret = srq->app;
        return srq != NULL;
    default:
        *ret = NULL;
        return true;
    }
}

/* The next event; false: none. */
static bool next_event(struct live *live, struct live_event *ret)
{
    struct attach_ring *index = live->events.index;
    bool found = false;

    pthread_mutex_lock(&live->lock);
    while (!found && index->head != __atomic_load_n(&index->tail, __ATOMIC_ACQUIRE)) {
        const struct attach_event *event =
            &((const struct attach_event *)live->events.entry)[index->head & live->events.mask];
        ret->kind = (enum live_event_kind)event->kind;
        found = event->kind <= LIVE_EVENT_DEVICE_FATAL && find_app(live, event, &ret->app);
        __atomic_store_n(&index->head, index->head + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&live->lock);
    return found;
}

static void collect(struct live *live)
{
    struct live_event event;

    while (next_event(live, &event))
        listeners_push(&live->listeners, &event, false);
}

void attached_events_forget(struct live *live, const void *app)
{
    collect(live);
    listeners_forget(&live->listeners, app);
}

int attached_watch_create(struct live *live, struct live_watch **ret)
{
    struct live_watch *watch;
    int error = listener_create(live->ops, live, &watch);

    if (error < 0) return error;
    error = device_enter(live);
    if (error == 0) {
        error = device_ask_with(live, ATTACH_OP_WATCH, watch->fd, NULL, 0, &watch->number);
        device_leave();
    }
    if (error < 0) {
        listener_free(watch);
        return error;
    }
    listeners_add(&live->listeners, watch);
    *ret = watch;
    return 0;
}

void attached_watch_hook(struct live_watch *watch, const struct live_watch_hooks *hooks)
{
    if (device_inert(watch->live)) return;
    listeners_hook(&watch->live->listeners, watch, hooks);
}

void attached_watch_destroy(struct live_watch *watch)
{
    if (!device_inert(watch->live)) {
        (void)device_ask_once(watch->live, ATTACH_OP_UNWATCH, watch->number, NULL, 0);
        listeners_remove(&watch->live->listeners, watch);
    }
    listener_free(watch);
}

int attached_watch_fd(const struct live_watch *watch)
{
    return watch->fd;
}

int attached_watch_wait(struct live_watch *watch, struct live_event *ret)
{
    struct live *live = watch->live;

    for (;;) {
        if (device_inert(live)) return -ENODEV; /* before an event is taken that is the parent's */
        int error = device_read_fd(watch->fd);
        if (error < 0) return error;
        collect(live);
        if (listeners_take(&live->listeners, watch, ret)) return 0;
    }
}
