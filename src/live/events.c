/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events: what src/nic and the machine's interfaces tell, to every listener.
 *
 * A listener has an eventfd in semaphore mode and a ring.  When the ring is full the oldest event gives way: whoever
 * does not read them does not want them.  Events come from every shard and listeners are the first's: they have a lock
 * of their own, under which no other is taken but a listener's hooks' own.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "live/live_int.h"

void events_push(struct live *live, enum live_event_kind kind, void *app)
{
    const struct live_event event = {.kind = kind, .app = app};
    struct live *first = live->first;

    pthread_mutex_lock(&first->watch_lock);
    for (struct live_watch *watch = first->watches; watch; watch = watch->next) {
        if (watch->hooks.wants && !watch->hooks.wants(watch->hooks.owner, &event)) continue;
        bool full = watch->tail - watch->head == LIVE_EVENTS;
        watch->head += full;
        watch->event[watch->tail++ % LIVE_EVENTS] = event;
        if (!full) eventfd_write(watch->fd, 1);
    }
    pthread_mutex_unlock(&first->watch_lock);
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
        events_push(live, event_kind(event.kind), app);
    }
}

int adapter_watch_create(struct live *live, struct live_watch **ret)
{
    struct live_watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL) return -ENOMEM;
    watch->ops = live->ops;
    watch->live = live;
    watch->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    int error = watch->fd < 0 ? -errno : live_inert(live) ? -ENODEV : 0;
    if (error < 0) {
        if (watch->fd >= 0) close(watch->fd);
        free(watch);
        return error;
    }
    pthread_mutex_lock(&live->watch_lock);
    watch->next = live->watches;
    live->watches = watch;
    pthread_mutex_unlock(&live->watch_lock);
    *ret = watch;
    return 0;
}

void adapter_watch_hook(struct live_watch *watch, const struct live_watch_hooks *hooks)
{
    if (live_inert(watch->live)) return;
    pthread_mutex_lock(&watch->live->watch_lock);
    watch->hooks = *hooks;
    pthread_mutex_unlock(&watch->live->watch_lock);
}

void adapter_watch_destroy(struct live_watch *watch)
{
    if (!live_inert(watch->live)) {
        struct live_watch **at = &watch->live->watches;
        pthread_mutex_lock(&watch->live->watch_lock);
        while (*at != watch)
            at = &(*at)->next;
        *at = watch->next;
        pthread_mutex_unlock(&watch->live->watch_lock);
    }
    close(watch->fd);
    free(watch);
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
        pthread_mutex_lock(&watch->live->watch_lock);
        bool found = watch->head != watch->tail;
        if (found) *ret = watch->event[watch->head++ % LIVE_EVENTS];
        if (found && watch->hooks.taken) watch->hooks.taken(watch->hooks.owner, ret);
        pthread_mutex_unlock(&watch->live->watch_lock);
        if (found) return 0;
    }
}

/* An object is about to be gone: its events are not told any more. */
void events_forget(struct live *live, const void *app)
{
    pthread_mutex_lock(&live->first->watch_lock);
    for (struct live_watch *watch = live->first->watches; watch; watch = watch->next) {
        uint32_t kept = watch->head;
        for (uint32_t i = watch->head; i != watch->tail; i++) {
            struct live_event event = watch->event[i % LIVE_EVENTS];
            if (app == NULL || event.app != app) watch->event[kept++ % LIVE_EVENTS] = event;
        }
        watch->tail = kept;
    }
    pthread_mutex_unlock(&live->first->watch_lock);
}
