/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings through hosts, folded: one state a host and channel instead of one a GPU.
 *
 * Within a host a message waits for nobody but the message before it on the same link, so the times at which the GPUs
 * pass it on follow from one another: T(p+1, m+1) = max(T(p, m), free(p)) + link time + latency.  They are computed in
 * one go when a message enters the host, and the next event is when what it became leaves.  A GPU's link is shared by
 * the channels in equal parts, which is what they get while all of them are busy.
 *
 * The chain holds COLL_SLOTS messages a GPU; when what is to leave finds no room that many times, nothing more enters,
 * and the sender is not cleared.  A segment begins when the last of the host's ranks has come to the operation; each
 * rank's end is its own.
 */
#include "base/check.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

/* Of message m, which GPU ever sends it: whole chunks, and in the last loop what is left. */
static inline void message_of(const struct coll_op *op, uint64_t m, uint32_t *ret_last, uint32_t *ret_slice)
{
    *ret_last = m >= op->messages - op->a_loop;
    *ret_slice = op->plan.slices > 1 ? (uint32_t)(m & 1) : 0;
}
_Static_assert(COLL_SLICES == 2, "message_of() takes the last bit");

static void schedule(struct workload *workload, struct segment *segment, uint32_t index)
{
    if (segment->scheduled != PS_NEVER || segment->ready_head == segment->ready_tail) return;
    segment->scheduled = segment->ready[segment->ready_head & segment->ready_mask];
    host_event(workload, segment->host, segment->scheduled, EVENT_ID(EVENT_LEAVES, 0, index));
}

/*
 * GPU p has received message m (or, below 0, has nothing to wait for) at that time.  A loop's last step only
 * receives; the next loop's first send comes after all of it: its first slice waits for the second of the step before
 * (`waited`: it has).
 */
static void chain(struct workload *workload, struct segment *segment, uint32_t index, const struct coll_op *op,
                  uint32_t p, int64_t m, ps_t at, bool waited)
{
    uint32_t slices = op->plan.slices, last, slice;
    int64_t messages = (int64_t)op->messages, a_loop = (int64_t)op->a_loop;

    for (;; p++, m += slices, waited = false) {
        if (m + slices >= messages) {
            if (m == messages - 1) host_event(workload, segment->host, at, EVENT_ID(EVENT_DONE, p, index));
            return;
        }
        if (slices > 1 && op->plan.loops > 1 && m >= 0 && !waited) {
            int64_t of_loop = (m + slices) % a_loop;
            if (of_loop == 0) return;
            if (of_loop == 1) chain(workload, segment, index, op, p, m - 1, at, true);
        }
        if (p == segment->gpus - 1) break;
        message_of(op, (uint64_t)(m + slices), &last, &slice);
        if (segment->link_free[p] > at) at = segment->link_free[p];
        segment->link_free[p] = at + op->hop_ps[last][slice] - op->plan.gpu_ps;
        at += op->hop_ps[last][slice];
    }
    segment->ready[segment->ready_tail++ & segment->ready_mask] = at;
}

static bool chain_full(const struct segment *segment)
{
    return segment->ready_tail - segment->ready_head + COLL_SLICES > segment->ready_mask + 1;
}

static void enter(struct workload *workload, struct segment *segment, uint32_t index, const struct coll_op *op,
                  ps_t now, struct app_out *out)
{
    struct pipe_in *in = &workload->coll.in[segment->in];

    while (in->arrived != in->consumed && segment->entered < op->messages && !chain_full(segment)) {
        in->consumed++;
        chain(workload, segment, index, op, 0, (int64_t)segment->entered++, now + op->plan.net_ps, false);
        if (in->flags & PIPE_ADMITTED && segment->granted < op->messages) {
            segment->granted++;
            in->clear++;
        }
    }
    if (in->clear) pipe_clear(workload, segment->host, segment->in, out);
}

/* What is due leaves while the pipe has room. */
static void leave(struct workload *workload, struct segment *segment, const struct coll_op *op, ps_t now,
                  struct app_out *out)
{
    struct pipe_out *to = &workload->coll.out[segment->out];
    uint32_t last, slice;

    if (segment->scheduled != PS_NEVER && segment->scheduled > now) return; /* the first is due then */
    while (segment->ready_head != segment->ready_tail &&
           segment->ready[segment->ready_head & segment->ready_mask] <= now &&
           to->produced - to->completed < op->plan.slots) {
        message_of(op, segment->left, &last, &slice);
        segment->ready_head++;
        segment->left++;
        pipe_produce(workload, segment->host, segment->out, op->plan.wire_bytes[last][slice], &op->plan, now, out);
    }
    if (to->produced - to->completed >= op->plan.slots) to->slots = op->plan.slots;
}

void segment_begin(struct workload *workload, uint32_t index, uint32_t coll, ps_t now, struct app_out *out)
{
    struct segment *segment = &workload->coll.segment[index];
    const struct coll_op *op = &workload->coll.op[coll];
    struct pipe_in *in = &workload->coll.in[segment->in];
    int64_t slices = op->plan.slices, before = slices * segment->gpus;

    CHECK(segment->coll == WORKLOAD_NONE && segment->ready_head == segment->ready_tail);
    segment->coll = coll;
    segment->entered = segment->left = segment->granted = 0;
    segment->done = 0;
    for (int64_t m = -before; m < 0; m++) { /* first sends of each GPU: GPU p's are m + p * slices = -slices .. -1 */
        uint32_t p = (uint32_t)((-m - 1) / slices);
        chain(workload, segment, index, op, p, m + (int64_t)p * slices, now, false);
    }
    if (in->flags & PIPE_ADMITTED) {
        segment->granted = op->messages < op->plan.slots ? op->messages : op->plan.slots;
        in->clear += (uint32_t)segment->granted;
    }
    segment_wake(workload, index, now, out);
}

void segment_wake(struct workload *workload, uint32_t index, ps_t now, struct app_out *out)
{
    struct segment *segment = &workload->coll.segment[index];

    if (segment->coll == WORKLOAD_NONE) return;
    const struct coll_op *op = &workload->coll.op[segment->coll];
    leave(workload, segment, op, now, out);
    if (segment->held && segment->left == op->messages) {
        segment->held = false;
        segment_done(workload, index, segment->gpus - 1, now, out);
        return;
    }
    enter(workload, segment, index, op, now, out);
    if (segment->scheduled == PS_NEVER && segment->ready[segment->ready_head & segment->ready_mask] > now)
        schedule(workload, segment, index);
}

void segment_leaves(struct workload *workload, uint32_t index, ps_t now, struct app_out *out)
{
    workload->coll.segment[index].scheduled = PS_NEVER;
    segment_wake(workload, index, now, out);
}

void segment_done(struct workload *workload, uint32_t index, uint32_t p, ps_t now, struct app_out *out)
{
    struct segment *segment = &workload->coll.segment[index];
    const struct coll_graph *graph = workload->coll.graph[segment->graph];
    uint32_t pos = program_at(&graph->shape, segment->first_pos + p, segment->channel);

    /* A slow network may still hold back what the last GPU is to send: its part is over when that has left. */
    if (p == segment->gpus - 1 && segment->left < workload->coll.op[segment->coll].messages) {
        segment->held = true;
        return;
    }
    if (++segment->done == segment->gpus) segment->coll = WORKLOAD_NONE;
    comm_part_done(workload, graph->comm, pos, now, out);
}
