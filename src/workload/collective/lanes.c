/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: a rank's program in a channel, step by step.
 *
 * A step happens when all it receives is there and all it sends to have room; it takes no time (docs/collectives.md).
 * Where senders are admitted, a lane clears the messages of as many steps ahead as a pipe has slots, in order, whoever
 * they come from: that is what bounds what a receiver has coming.
 */
#include "base/check.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

void lane_begin(struct workload *workload, uint32_t index, uint32_t coll, uint64_t steps)
{
    struct coll_lane *lane = &workload->coll.lane[index];

    CHECK(!lane->running);
    lane->coll = coll;
    lane->step = lane->granted = 0;
    lane->steps = steps;
    lane->running = true;
    lane->ready = false;
}

static uint32_t seat_of(const struct coll_graph *graph, const struct coll_lane *lane)
{
    return lane->pos * graph->shape.channels + lane->channel;
}

static void clear_ahead(struct workload *workload, uint32_t host, struct coll_lane *lane, const struct coll_op *op,
                        const struct coll_graph *graph, struct app_out *out)
{
    const uint32_t *in = &graph->in[graph->in_first[seat_of(graph, lane)]];
    struct program_step step;

    for (; lane->granted < lane->steps && lane->granted < lane->step + op->plan.slots; lane->granted++) {
        program_step(&op->program, lane->pos, lane->channel, lane->number, lane->granted, &step);
        for (uint32_t i = step.in; i < step.in + step.ins; i++) {
            struct pipe_in *from = &workload->coll.in[in[i]];
            if (!(from->flags & PIPE_ADMITTED)) continue;
            from->clear++;
            pipe_clear(workload, host, in[i], out);
        }
    }
}

static bool step_ready(struct workload *workload, const struct program_step *step, const uint32_t *in,
                       const uint32_t *to, uint8_t slots)
{
    for (uint32_t i = step->in; i < step->in + step->ins; i++)
        if (workload->coll.in[in[i]].arrived == workload->coll.in[in[i]].consumed) return false;
    for (uint32_t i = step->out; i < step->out + step->outs; i++) {
        struct pipe_out *pipe = &workload->coll.out[to[i]];
        if (pipe->produced - pipe->completed < slots) continue;
        pipe->slots = slots;
        return false;
    }
    return true;
}

/* What is taken from a GPU of the same host gives its slot back at once. */
static void take_message(struct workload *workload, uint32_t host, uint32_t pipe)
{
    struct pipe_in *from = &workload->coll.in[pipe];

    from->consumed++;
    if (from->flags & PIPE_NETWORK) return;
    workload->coll.out[pipe].completed++;
    if (!workload->coll.out[pipe].queued) { /* the sender is woken when this lane has done what it can */
        workload->coll.out[pipe].queued = true;
        workload->coll.out[pipe].next = workload->host[host].freed;
        workload->host[host].freed = pipe;
    }
}

static void do_step(struct workload *workload, uint32_t host, const struct coll_lane *lane, const struct coll_op *op,
                    const struct coll_graph *graph, ps_t now, struct app_out *out)
{
    const struct program_step *step = &lane->next;
    const uint32_t *in = &graph->in[graph->in_first[seat_of(graph, lane)]];
    const uint32_t *to = &graph->out[graph->out_first[seat_of(graph, lane)]];
    uint32_t bytes = op->plan.wire_bytes[step->loop + 1 == op->plan.loops][step->slice];

    for (uint32_t i = step->in; i < step->in + step->ins; i++)
        take_message(workload, host, in[i]);
    for (uint32_t i = step->out + step->outs; i-- > step->out;) /* the first of a multicast goes last: it takes all */
        pipe_produce(workload, host, to[i], bytes, &op->plan, now, out);
}

void lane_advance(struct workload *workload, uint32_t host, uint32_t index, ps_t now, struct app_out *out)
{
    struct coll_lane *lane = &workload->coll.lane[index];

    if (!lane->running) return;
    const struct coll_op *op = &workload->coll.op[lane->coll];
    const struct coll_graph *graph = workload->coll.graph[lane->graph];
    const uint32_t *in = &graph->in[graph->in_first[seat_of(graph, lane)]];
    const uint32_t *to = &graph->out[graph->out_first[seat_of(graph, lane)]];
    bool admits = workload->coll.comm[graph->comm]->config.clear_to_send;
    for (;;) {
        if (admits && lane->granted < lane->steps) clear_ahead(workload, host, lane, op, graph, out);
        if (lane->step == lane->steps) break;
        if (!lane->ready) {
            program_step(&op->program, lane->pos, lane->channel, lane->number, lane->step, &lane->next);
            lane->ready = true;
        }
        if (!step_ready(workload, &lane->next, in, to, op->plan.slots)) return;
        do_step(workload, host, lane, op, graph, now, out);
        lane->ready = false;
        lane->step++;
    }
    lane->running = false;
    comm_part_done(workload, graph->comm, lane->pos, now, out);
}

void lanes_wake(struct workload *workload, uint32_t host, uint32_t first, ps_t now, struct app_out *out)
{
    uint32_t count = workload->coll.graph[workload->coll.lane[first].graph]->lanes;

    for (uint32_t i = 0; i < count; i++)
        lane_advance(workload, host, first + i, now, out);
}

/* Slots that were given back within the host: their senders go on, which may give back more. */
void lanes_settle(struct workload *workload, uint32_t host, ps_t now, struct app_out *out)
{
    struct workload_host *own = &workload->host[host];

    while (own->freed != WORKLOAD_NONE) {
        uint32_t pipe = own->freed;
        own->freed = workload->coll.out[pipe].next;
        workload->coll.out[pipe].queued = false;
        lanes_wake(workload, host, workload->coll.out[pipe].owner, now, out);
    }
}
