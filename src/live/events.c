/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous events: what src/nic and the machine's interfaces tell, to every listener.
 *
 * Events come from every shard, and listeners are the first's.  Other devices have listeners of the same kind.
 */
#include <errno.h>
#include <sys/eventfd.h>

#include "live/live_int.h"

void events_push(struct device *live, enum device_event_kind kind, void *app)
{
    listeners_push(&live->first->listeners, &(struct device_event){.kind = kind, .app = app}, true);
}

void events_collect(struct device *live)
{
    struct nic_event event;

    while (nic_event_next(live->nic, &event)) {
        void *app = NULL;
        if (event.srq) {
            app = ((struct device_srq *)((char *)event.srq - offsetof(struct device_srq, receives.nic)))->app;
        } else if (event.cq) {
            app = ((struct cq_part *)((char *)event.cq - offsetof(struct cq_part, nic)))->cq->app;
        } else {
            struct nic_qp *qp = nic_qp_find(live->nic, event.qpn);
            if (qp == NULL) continue;
            app = ((struct device_qp *)nic_qp_app(qp))->app;
        }
        events_push(live, device_event_kind_of(event.kind), app);
    }
}

int adapter_watch_create(struct device *live, struct device_watch **ret)
{
    if (live_inert(live)) return -ENODEV;
    int error = listener_create(live->ops, live, ret);
    if (error == 0) listeners_add(&live->listeners, *ret);
    return error;
}

void adapter_watch_hook(struct device_watch *watch, const struct device_watch_hooks *hooks)
{
    if (!live_inert(watch->device)) listeners_hook(&watch->device->listeners, watch, hooks);
}

void adapter_watch_destroy(struct device_watch *watch)
{
    if (!live_inert(watch->device)) listeners_remove(&watch->device->listeners, watch);
    listener_free(watch);
}

int adapter_watch_fd(const struct device_watch *watch)
{
    return watch->fd;
}

int adapter_watch_wait(struct device_watch *watch, struct device_event *ret)
{
    for (;;) {
        eventfd_t value;
        if (live_inert(watch->device)) return -ENODEV; /* before an event is taken that is the parent's */
        if (eventfd_read(watch->fd, &value) < 0) return -errno;
        if (live_inert(watch->device)) return -ENODEV;
        if (listeners_take(&watch->device->listeners, watch, ret)) return 0;
    }
}

void events_forget(struct device *live, const void *app)
{
    listeners_forget(&live->first->listeners, app);
}
