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
    srq->live = live;
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

/* A receive that a queue pair holds knows its record's address: then the records cannot move. */
static bool held(const struct device_srq *srq)
{
    for (const struct device_qp *qp = srq->live->qps; qp; qp = qp->next) {
        uint64_t wr_id;
        if (qp->srq == srq && nic_qp_held(qp->nic, &wr_id)) return true;
    }
    return false;
}

int adapter_srq_change(struct device_srq *srq, uint32_t entries, uint32_t limit)
{
    int error = live_enter(srq->live);

    if (error < 0) return error;
    const bool resize = entries != DEVICE_SRQ_KEEP, arm = limit != DEVICE_SRQ_KEEP;
    const uint32_t room = resize && entries > srq->receives.entries ? entries : srq->receives.entries;

    if ((resize && entries > DEVICE_SRQ_MAX) || (arm && limit > room))
        error = -EINVAL;
    else if (room > srq->receives.entries)
        error = held(srq) ? -EBUSY : receives_grow(&srq->receives, power_of_two_up(entries));
    if (error == 0 && arm) srq->receives.nic.limit = limit;
    live_leave(srq->live);
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
    if (live_enter(srq->live) == 0) {
        bool busy = srq->users > 0;
        if (!busy) {
            nic_srq_forget(srq->live->nic, &srq->receives.nic);
            events_forget(srq->live, srq->app);
        }
        live_leave(srq->live);
        if (busy) return -EBUSY;
    }
    receives_free(&srq->receives);
    free(srq);
    return 0;
}

int adapter_post_srq(struct device_srq *srq, const struct device_recv *recv)
{
    int error = shard_enter_post(srq->live);

    if (error < 0) return error;
    error = receives_post(&srq->receives, recv);
    live_leave(srq->live);
    return error;
}
