/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared receive queues, as the fabric has them; here is counted how many receives fit.
 */
#include <stdlib.h>

#include "attach/device/device_int.h"

int attached_srq_create(struct device *device, uint32_t pd, uint32_t entries, uint32_t sges, void *app,
                        struct device_srq **ret)
{
    const struct attach_srq asked = {.pd = pd, .entries = entries, .sges = sges};
    struct device_srq *srq = malloc(sizeof *srq);
    struct attach_made made;

    if (srq == NULL) return -ENOMEM;
    *srq = (struct device_srq){{.ops = device->ops, .device = device, .app = app}, .sges = sges};
    int error = attached_make(device, ATTACH_OP_SRQ_CREATE, &asked, sizeof asked, &made);
    if (error < 0) {
        free(srq);
        return error;
    }
    srq->entries = made.entries;
    attached_link((struct attached_object *)srq, &device->srqs, made.number);
    *ret = srq;
    return 0;
}

int attached_srq_ask(struct device_srq *srq, struct attach_srq *change)
{
    int error = attached_ask(srq->device, ATTACH_OP_SRQ_CHANGE, srq->number, change, sizeof *change, NULL);

    if (error < 0) return error;
    pthread_mutex_lock(&srq->device->lock);
    srq->entries = change->entries;
    srq->told = change->taken;
    pthread_mutex_unlock(&srq->device->lock);
    return 0;
}

int attached_srq_change(struct device_srq *srq, uint32_t entries, uint32_t limit)
{
    struct attach_srq change = {.entries = entries, .limit = limit};
    int error = attached_enter(srq->device);

    if (error < 0) return error;
    error = attached_srq_ask(srq, &change);
    attached_leave();
    return error;
}

uint32_t attached_srq_limit(const struct device_srq *srq)
{
    struct attach_srq is = {.entries = DEVICE_SRQ_KEEP, .limit = DEVICE_SRQ_KEEP};
    int error = attached_ask_once(srq->device, ATTACH_OP_SRQ_CHANGE, srq->number, &is, sizeof is);

    return error < 0 ? 0 : is.limit;
}

uint32_t attached_srq_number(const struct device_srq *srq)
{
    return srq->number;
}

int attached_srq_destroy(struct device_srq *srq)
{
    struct device *device = srq->device;

    if (!attached_inert(device)) {
        if (__atomic_load_n(&srq->users, __ATOMIC_ACQUIRE)) return -EBUSY;
        (void)attached_ask_once(device, ATTACH_OP_SRQ_DESTROY, srq->number, NULL, 0);
        attached_events_forget(device, srq->app);
        attached_unlink((struct attached_object *)srq, &device->srqs);
    }
    free(srq);
    return 0;
}
