/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events: what src/nic and the machine's interfaces tell, to every listener.
 *
 * Events come from every shard, and listeners are the first's.  Other devices have listeners of the same kind.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "live/live_int.h"

/* --- listeners --- */

void listeners_init(struct listeners *listeners)
{
    pthread_mutex_init(&listeners->lock, NULL);
    listeners->first = NULL;
}

int listener_create(const struct device_ops *ops, struct live *live, struct live_watch **ret)
{
    struct live_watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL) return -ENOMEM;
    watch->ops = ops;
    watch->live = live;
    watch->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (watch->fd < 0) {
        int error = -errno;
        free(watch);
        return error;
    }
    *ret = watch;
    return 0;
}

void listener_free(struct live_watch *watch)
{
    close(watch->fd);
    free(watch);
}

void listeners_add(struct listeners *listeners, struct live_watch *watch)
{
    pthread_mutex_lock(&listeners->lock);
    watch->next = listeners->first;
    listeners->first = watch;
    pthread_mutex_unlock(&listeners->lock);
}

void listeners_remove(struct listeners *listeners, struct live_watch *watch)
{
    struct live_watch **at = &listeners->first;

    pthread_mutex_lock(&listeners->lock);
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    pthread_mutex_unlock(&listeners->lock);
}

void listeners_hook(struct listeners *listeners, struct live_watch *watch, const struct live_watch_hooks *hooks)
{
    pthread_mutex_lock(&listeners->lock);
    watch->hooks = *hooks;
    pthread_mutex_unlock(&listeners->lock);
}

void listeners_push(struct listeners *listeners, const struct live_event *event, bool ring)
{
    pthread_mutex_lock(&listeners->lock);
    for (struct live_watch *watch = listeners->first; watch; watch = watch->next) {
        if (watch->hooks.wants && !watch->hooks.wants(watch->hooks.owner, event)) continue;
        bool full = watch->tail - watch->head == LIVE_EVENTS;
        watch->head += full;
        watch->event[watch->tail++ % LIVE_EVENTS] = *event;
        if (ring && !full) eventfd_write(watch->fd, 1);
    }
    pthread_mutex_unlock(&listeners->lock);
}

bool listeners_take(struct listeners *listeners, struct live_watch *watch, struct live_event *ret)
{
    pthread_mutex_lock(&listeners->lock);
    bool found = watch->head != watch->tail;
    if (found) *ret = watch->event[watch->head++ % LIVE_EVENTS];
    if (found && watch->hooks.taken) watch->hooks.taken(watch->hooks.owner, ret);
    pthread_mutex_unlock(&listeners->lock);
    return found;
}

void listeners_forget(struct listeners *listeners, const void *app)
{
    pthread_mutex_lock(&listeners->lock);
    for (struct live_watch *watch = listeners->first; watch; watch = watch->next) {
        uint32_t kept = watch->head;
        for (uint32_t i = watch->head; i != watch->tail; i++) {
            struct live_event event = watch->event[i % LIVE_EVENTS];
            if (app == NULL || event.app != app) watch->event[kept++ % LIVE_EVENTS] = event;
        }
        watch->tail = kept;
    }
    pthread_mutex_unlock(&listeners->lock);
}

/* --- the live adapter's --- */

void events_push(struct live *live, enum live_event_kind kind, void *app)
{
    listeners_push(&live->first->listeners, &(struct live_event){.kind = kind, .app = app}, true);
}

void events_collect(struct live *live)
{
    struct nic_event event;

    while (nic_event_next(live->nic, &event)) {
        void *app = NULL;
        if (event.srq) {
            app = ((struct live_srq *)((char *)event.srq - offsetof(struct live_srq, receives.nic)))->app;
        } else if (event.cq) {
            app = ((struct cq_part *)((char *)event.cq - offsetof(struct cq_part, nic)))->cq->app;
        } else {
            struct nic_qp *qp = nic_qp_find(live->nic, event.qpn);
            if (qp == NULL) continue;
            app = ((struct live_qp *)nic_qp_app(qp))->app;
        }
        events_push(live, live_event_kind_of(event.kind), app);
    }
}

int adapter_watch_create(struct live *live, struct live_watch **ret)
{
    if (live_inert(live)) return -ENODEV;
    int error = listener_create(live->ops, live, ret);
    if (error == 0) listeners_add(&live->listeners, *ret);
    return error;
}

void adapter_watch_hook(struct live_watch *watch, const struct live_watch_hooks *hooks)
{
    if (!live_inert(watch->live)) listeners_hook(&watch->live->listeners, watch, hooks);
}

void adapter_watch_destroy(struct live_watch *watch)
{
    if (!live_inert(watch->live)) listeners_remove(&watch->live->listeners, watch);
    listener_free(watch);
}

int adapter_watch_fd(const struct live_watch *watch)
{
    return watch->fd;
}

int adapter_watch_wait(struct live_watch *watch, struct live_event *ret)
{
    for (;;) {
        eventfd_t value;
        if (live_inert(watch->live)) return -ENODEV; /* before an event is taken that is the parent's */
        if (eventfd_read(watch->fd, &value) < 0) return -errno;
        if (live_inert(watch->live)) return -ENODEV;
        if (listeners_take(&watch->live->listeners, watch, ret)) return 0;
    }
}

void events_forget(struct live *live, const void *app)
{
    listeners_forget(&live->first->listeners, app);
}
