/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs post, message by message, for a trace: when, how much, and what the program had seen last.
 *
 * A cause is a completion that the program has polled, or a message that came into its memory while one of its threads
 * was spinning there.  A post is noted with the latest of them: that is what it may have waited for.  What else a
 * program waits for (sockets, sleeps, other processes) is not seen, and is part of the time since.
 */
#include <stdlib.h>

#include "base/grow.h"
#include "up/objects/flow.h"

/* Room for one more; false: there is no memory, and the trace is not whole. */
static bool message_room(struct up_flow *flow)
{
    return GROW(flow->message, flow->noted, flow->room);
}

void up_message_posted(struct up_flow *flow, const struct up_process *process, const struct nic_wr *wr, ps_t at)
{
    if (!process->up->options.record || !message_room(flow)) return;
    flow->message[flow->noted++] = (struct up_message){
        .at = at,
        .bytes = wr->length,
        .peer = flow->sum.peer != UINT32_MAX ? flow->sum.peer : wr->dest,
        .verb = wr->verb,
        .cause = process->seen,
    };
}

void up_message_completed(struct device_cq *cq, uint32_t slot, const struct device_qp *qp, bool receive, ps_t now)
{
    struct up_flow *flow = qp->flow;

    if (!cq->device->process->up->options.record || flow == NULL) return;
    if (cq->causes != cq->nic.mask + 1) { /* the first, or it was resized: what was there is forgotten */
        free(cq->cause);
        cq->cause = calloc(cq->nic.mask + 1u, sizeof *cq->cause);
        cq->causes = cq->cause ? cq->nic.mask + 1 : 0;
    }
    if (cq->cause == NULL) return;
    uint32_t done = qp->sends - nic_qp_queued(qp->nic);
    cq->cause[slot & cq->nic.mask] =
        (struct up_cause){.flow = flow, .number = receive ? flow->arrived : done, .arrival = receive, .at = now};
}

void up_message_polled(struct device_cq *cq, uint32_t from, uint32_t to)
{
    struct up_process *process = cq->device->process;

    for (uint32_t i = from; i != to && cq->causes == cq->nic.mask + 1; i++) {
        const struct up_cause *cause = &cq->cause[i & cq->nic.mask];
        if (cause->flow && cause->number && (process->seen.flow == NULL || cause->at >= process->seen.at))
            process->seen = *cause;
    }
}

void up_message_arrived(const struct device_qp *qp, ps_t now)
{
    struct up_process *process = qp->device->process;

    if (!process->up->options.record || qp->flow == NULL) return;
    qp->flow->arrived++;
    for (uint32_t i = 0; i < process->threads; i++) {
        if (process->thread[i] == NULL || process->thread[i]->state != UP_SPINS) continue;
        process->seen = (struct up_cause){.flow = qp->flow, .number = qp->flow->arrived, .arrival = true, .at = now};
        return;
    }
}
