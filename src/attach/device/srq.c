/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared receive queues, as the fabric has them; here is counted how many receives fit.
 */
#include <stdlib.h>

#include "attach/device/device_int.h"

int attached_srq_create(struct live *live, uint32_t pd, uint32_t entries, uint32_t sges, void *app,
                        struct live_srq **ret)
{
    union {
        struct attach_srq asked;
        struct attach_made made;
    } told = {.asked = {.pd = pd, .entries = entries, .sges = sges}};

    if (entries == 0 || entries > LIVE_SRQ_MAX || sges > LIVE_SGES_MAX) return -EINVAL;
    struct live_srq *srq = malloc(sizeof *srq);
    int error = srq ? device_enter(live) : -ENOMEM;
    if (error < 0) {
        free(srq);
        return error;
    }
    error = device_ask(live, ATTACH_OP_SRQ_CREATE, 0, &told, sizeof told, NULL);
    if (error >= 0) {
        *srq = (struct live_srq){.ops = live->ops,
                                 .live = live,
                                 .number = told.made.number,
                                 .entries = told.made.entries,
                                 .sges = sges,
                                 .app = app};
        pthread_mutex_lock(&live->lock);
        srq->next = live->srqs;
        live->srqs = srq;
        pthread_mutex_unlock(&live->lock);
        *ret = srq;
    } else {
        free(srq);
    }
    device_leave();
    return error < 0 ? error : 0;
}

int attached_srq_ask(struct live_srq *srq, struct attach_srq *change)
{
    int error = device_ask(srq->live, ATTACH_OP_SRQ_CHANGE, srq->number, change, sizeof *change, NULL);

    if (error < 0) return error;
    pthread_mutex_lock(&srq->live->lock);
    srq->entries = change->entries;
    srq->told = change->taken;
    pthread_mutex_unlock(&srq->live->lock);
    return 0;
}

int attached_srq_change(struct live_srq *srq, uint32_t entries, uint32_t limit)
{
    struct attach_srq change = {.entries = entries, .limit = limit};
    int error = device_enter(srq->live);

    if (error < 0) return error;
    error = attached_srq_ask(srq, &change);
    device_leave();
    return error;
}

uint32_t attached_srq_limit(const struct live_srq *srq)
{
    struct attach_srq is = {.entries = LIVE_SRQ_KEEP, .limit = LIVE_SRQ_KEEP};
    int error = device_ask_once(srq->live, ATTACH_OP_SRQ_CHANGE, srq->number, &is, sizeof is);

    return error < 0 ? 0 : is.limit;
}

uint32_t attached_srq_number(const struct live_srq *srq)
{
    return srq->number;
}

int attached_srq_destroy(struct live_srq *srq)
{
    struct live *live = srq->live;

    if (!device_inert(live)) {
        if (__atomic_load_n(&srq->users, __ATOMIC_ACQUIRE)) return -EBUSY;
        (void)device_ask_once(live, ATTACH_OP_SRQ_DESTROY, srq->number, NULL, 0);
        attached_events_forget(live, srq->app);
        struct live_srq **at = &live->srqs;
        pthread_mutex_lock(&live->lock);
        while (*at != srq)
            at = &(*at)->next;
        *at = srq->next;
        pthread_mutex_unlock(&live->lock);
    }
    free(srq);
    return 0;
}
