/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared receive queues: the ring that src/nic takes from, and the records behind it.
 *
 * Receives of a shared queue complete in any order, so each has a record with a number of its own, which it keeps
 * until the application has polled its completion.  A queue is full when it has no free record.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "live/live_int.h"

#define NONE UINT32_MAX

/* Makes room for `entries` records and ring slots; what there is stays. */
static int grow(struct live_srq *srq, uint32_t entries)
{
    uint32_t sges = srq->sges ? srq->sges : 1;
    struct work *work = calloc(entries, sizeof *work);
    struct live_sge *sge = calloc((size_t)entries * sges, sizeof *sge);
    struct nic_recv *slot = calloc(entries, sizeof *slot);

    if (!work || !sge || !slot) {
        free(work);
        free(sge);
        free(slot);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < entries; i++) {
        work[i].sge = sge + (size_t)i * sges;
        work[i].pd = srq->pd;
        if (i >= srq->entries) continue;
        memcpy(work[i].sge, srq->work[i].sge, sges * sizeof *sge);
        work[i].sges = srq->work[i].sges;
        work[i].wr_id = srq->work[i].wr_id;
        work[i].next = srq->work[i].next;
    }
    for (uint32_t i = srq->nic.head; i != srq->nic.tail; i++) {
        struct nic_recv recv = srq->nic.slot[i & srq->nic.mask];
        recv.local = (uintptr_t)&work[recv.wr_id];
        slot[i & (entries - 1)] = recv;
    }
    for (uint32_t i = entries; i-- > srq->entries;) {
        work[i].next = srq->free;
        srq->free = i;
    }
    free(srq->work);
    free(srq->sge);
    free(srq->nic.slot);
    srq->work = work;
    srq->sge = sge;
    srq->nic.slot = slot;
    srq->nic.mask = entries - 1;
    srq->entries = entries;
    return 0;
}

int adapter_srq_create(struct live *live, uint32_t pd, uint32_t entries, uint32_t sges, void *app,
                       struct live_srq **ret)
{
    if (entries == 0 || entries > LIVE_SRQ_MAX || sges > LIVE_SGES_MAX) return -EINVAL;
    struct live_srq *srq = calloc(1, sizeof *srq);
    if (srq == NULL) return -ENOMEM;
    srq->ops = live->ops;
    srq->live = live;
    srq->pd = pd;
    srq->sges = sges;
    srq->app = app;
    srq->free = NONE;
    int error = grow(srq, power_of_two_up(entries));
    if (error == 0) error = live_enter(live);
    if (error < 0) {
        free(srq->work);
        free(srq->sge);
        free(srq->nic.slot);
        free(srq);
        return error;
    }
    srq->number = ++live->srqs;
    live_leave(live);
    *ret = srq;
    return 0;
}

/* A receive that a queue pair holds knows its record's address: then the records cannot move. */
static bool held(const struct live_srq *srq)
{
    for (const struct live_qp *qp = srq->live->qps; qp; qp = qp->next) {
        uint64_t wr_id;
        if (qp->srq == srq && nic_qp_held(qp->nic, &wr_id)) return true;
    }
    return false;
}

int adapter_srq_change(struct live_srq *srq, uint32_t entries, uint32_t limit)
{
    int error = live_enter(srq->live);

    if (error < 0) return error;
    const bool resize = entries != LIVE_SRQ_KEEP, arm = limit != LIVE_SRQ_KEEP;
    const uint32_t room = resize && entries > srq->entries ? entries : srq->entries;

    if ((resize && entries > LIVE_SRQ_MAX) || (arm && limit > room))
        error = -EINVAL;
    else if (room > srq->entries)
        error = held(srq) ? -EBUSY : grow(srq, power_of_two_up(entries));
    if (error == 0 && arm) srq->nic.limit = limit;
    live_leave(srq->live);
    return error;
}

uint32_t adapter_srq_limit(const struct live_srq *srq)
{
    return srq->nic.limit;
}

uint32_t adapter_srq_number(const struct live_srq *srq)
{
    return srq->number;
}

int adapter_srq_destroy(struct live_srq *srq)
{
    if (live_enter(srq->live) == 0) {
        bool busy = srq->users > 0;
        if (!busy) {
            nic_srq_forget(srq->live->nic, &srq->nic);
            events_forget(srq->live, srq->app);
        }
        live_leave(srq->live);
        if (busy) return -EBUSY;
    }
    free(srq->work);
    free(srq->sge);
    free(srq->nic.slot);
    free(srq);
    return 0;
}

void srq_release(struct live_srq *srq, uint64_t index)
{
    CHECK(index < srq->entries);
    srq->work[index].next = srq->free;
    srq->free = (uint32_t)index;
}

int adapter_post_srq(struct live_srq *srq, const struct live_recv *recv)
{
    uint64_t room = 0;

    if (recv->sges > srq->sges) return -EINVAL;
    int error = shard_enter_post(srq->live);
    if (error < 0) return error;
    uint32_t index = srq->free;
    if (index == NONE) {
        live_leave(srq->live);
        return -ENOMEM;
    }
    struct work *work = &srq->work[index];
    srq->free = work->next;
    for (unsigned i = 0; i < recv->sges; i++) {
        work->sge[i] = recv->sge[i];
        room += recv->sge[i].length;
    }
    work->sges = recv->sges;
    work->wr_id = recv->wr_id;
    struct nic_recv posted = {.wr_id = index, .local = (uintptr_t)work, .length = room};
    CHECK(nic_srq_post(&srq->nic, &posted) == 0);
    live_leave(srq->live);
    return 0;
}
