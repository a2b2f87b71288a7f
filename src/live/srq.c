/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared receive queues: the ring that src/nic takes from and the records behind it (records.h), under the lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "live/live_int.h"

int adapter_srq_create(struct device *live, uint32_t pd, uint32_t entries, uint32_t sges, void *app,
                       struct device_srq **ret)
{
    struct device_srq *srq = calloc(1, sizeof *srq);
    if (srq == NULL) return -ENOMEM;
    srq->ops = live->ops;
    srq->device = live;
    srq->app = app;
    int error = receives_init(&srq->receives, pd, entries, sges);
    if (error == 0) error = live_enter(live);
    if (error < 0) {
        receives_free(&srq->receives);
        free(srq);
        return error;
    }
    srq->number = ++live->srqs;
    live_leave(live);
    *ret = srq;
    return 0;
}

int adapter_srq_change(struct device_srq *srq, uint32_t entries, uint32_t limit)
{
    int error = live_enter(srq->device);

    if (error < 0) return error;
    error = srq_change(srq, srq->device->qps, entries, limit);
    live_leave(srq->device);
    return error;
}

uint32_t adapter_srq_limit(const struct device_srq *srq)
{
    return srq->receives.nic.limit;
}

uint32_t adapter_srq_number(const struct device_srq *srq)
{
    return srq->number;
}

int adapter_srq_destroy(struct device_srq *srq)
{
    if (live_enter(srq->device) == 0) {
        bool busy = srq->users > 0;
        if (!busy) {
            nic_srq_forget(srq->device->nic, &srq->receives.nic);
            events_forget(srq->device, srq->app);
        }
        live_leave(srq->device);
        if (busy) return -EBUSY;
    }
    receives_free(&srq->receives);
    free(srq);
    return 0;
}
