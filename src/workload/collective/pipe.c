/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes: messages from seat to seat.
 *
 * Between hosts a message is an RDMA WRITE with immediate data, shared out over the connection's queue pairs; the
 * immediate data names the pipe, since pipes share connections, and the protocol.  A sender that waits to be cleared
 * posts a message when the receiver has written that a slot is free for it, as NCCL's InfiniBand transport does (real
 * packets, on a queue pair of their own); one that does not posts at once.  A sender's slot is free when the message
 * is acknowledged.  Pipes that find their connection's queue, or the caller's list, full wait in line.
 *
 * Within a host a message occupies the sending GPU's link and the receiving GPU's; its slot is free when it has been
 * taken.
 */
#include "base/check.h"
#include "fabric/work.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

#define BYTES_MASK 0x3fffffffu
_Static_assert(FABRIC_QPS_MAX <= APP_POSTS, "a message's posts, one a queue pair, have room together");

static void stall(struct workload *workload, uint32_t host, uint32_t id, uint32_t *next, bool *queued,
                  struct app_out *out)
{
    *next = workload->host[host].stalled;
    workload->host[host].stalled = id;
    *queued = true;
    out->more = true;
}

static void wait_for(struct workload *workload, struct workload_connection *connection, uint32_t pipe, bool clears)
{
    uint32_t *next = clears ? &workload->coll.in[pipe].next : &workload->coll.out[pipe].next;

    *next = WORKLOAD_NONE;
    if (connection->first_waiting == WORKLOAD_NONE) {
        connection->first_waiting = pipe;
    } else {
        uint32_t last = connection->last_waiting;
        *(clears ? &workload->coll.in[last].next : &workload->coll.out[last].next) = pipe;
    }
    connection->last_waiting = pipe;
    *(clears ? &workload->coll.in[pipe].queued : &workload->coll.out[pipe].queued) = true;
}

static bool queue_full(const struct workload_connection *connection)
{
    return connection->posted - connection->done >= WORKLOAD_DEPTH;
}

static void post(struct workload *workload, uint32_t connection, uint64_t bytes, uint32_t pipe, uint32_t protocol,
                 struct app_out *out)
{
    workload->connection[connection].posted++;
    out->post[out->posts++] = (struct app_post){
        .connection = connection, .bytes = bytes ? bytes : 1, .tag = pipe, .imm = pipe << 2 | protocol};
}

/* Posts messages while there are any that may go. */
static void pump(struct workload *workload, uint32_t host, uint32_t pipe, struct app_out *out)
{
    struct pipe_out *to = &workload->coll.out[pipe];

    while (!to->queued && to->posted != to->ready && (!(to->flags & PIPE_ADMITTED) || to->posted != to->granted)) {
        for (uint32_t q = 0; q < to->qps; q++) {
            if (!queue_full(&workload->connection[to->connection + q])) continue;
            wait_for(workload, &workload->connection[to->connection + q], pipe, false);
            return;
        }
        if (out->posts + to->qps > APP_POSTS) {
            stall(workload, host, pipe << 1, &to->next, &to->queued, out);
            return;
        }
        uint32_t message = to->message[to->posted % COLL_SLOTS], bytes = message & BYTES_MASK;
        for (uint32_t q = 0; q < to->qps; q++)
            post(workload, to->connection + q, bytes / to->qps + (q < bytes % to->qps), pipe, message >> 30, out);
        to->posted++;
    }
}

void pipe_clear(struct workload *workload, uint32_t host, uint32_t pipe, struct app_out *out)
{
    struct pipe_in *in = &workload->coll.in[pipe];

    while (in->clear && !in->queued) {
        if (queue_full(&workload->connection[in->cts])) {
            wait_for(workload, &workload->connection[in->cts], pipe, true);
            return;
        }
        if (out->posts == APP_POSTS) {
            stall(workload, host, pipe << 1 | 1, &in->next, &in->queued, out);
            return;
        }
        post(workload, in->cts, COLL_CTS_BYTES, pipe, COLL_CLEARS, out);
        in->clear--;
    }
}

void pipes_resume(struct workload *workload, uint32_t host, struct app_out *out)
{
    uint32_t list = workload->host[host].stalled;

    workload->host[host].stalled = WORKLOAD_NONE;
    while (list != WORKLOAD_NONE) {
        uint32_t pipe = list >> 1;
        if (list & 1) {
            list = workload->coll.in[pipe].next;
            workload->coll.in[pipe].queued = false;
            pipe_clear(workload, host, pipe, out);
        } else {
            list = workload->coll.out[pipe].next;
            workload->coll.out[pipe].queued = false;
            pump(workload, host, pipe, out);
        }
    }
}

/*
 * Puts the pipe's next message on the links.  A pipe has one message there at a time, as a channel's threads copy one
 * chunk after the other, so channels take turns.  Of a multicast the sender's link carries one copy; where the switch
 * adds, the receiver's link carries one sum, of which each sender has its part.
 */
static void link_start(struct workload *workload, uint32_t host, uint32_t pipe, ps_t now)
{
    struct collectives *coll = &workload->coll;
    struct pipe_out *to = &coll->out[pipe];
    uint32_t message = to->message[to->started++ % COLL_SLOTS];
    struct rate rate = to->flags & (PIPE_MULTICAST | PIPE_ADDED) ? coll->nvls_rate : coll->gpu_rate;
    ps_t span = rate_take(&rate, message & BYTES_MASK), latency = coll_gpu_ps(message >> 30, workload->fabric);
    ps_t start = coll->gpu_out[to->gpu] > now ? coll->gpu_out[to->gpu] : now;
    uint32_t copies = to->flags & PIPE_MULTICAST ? to->fan : 1;

    coll->gpu_out[to->gpu] = to->link_free = start + span;
    for (uint32_t i = 0; i < copies; i++) {
        ps_t *link = &coll->gpu_in[to[i].to], in = *link > start ? *link : start;
        *link = in + (to->flags & PIPE_ADDED ? span / to->fan : span);
        host_event(workload, host, in + span + latency,
                   EVENT_ID(to->flags & PIPE_VIA ? EVENT_VIA : EVENT_LOCAL, 0, pipe + i));
    }
}

static void link_next(struct workload *workload, uint32_t host, uint32_t pipe, ps_t now)
{
    struct pipe_out *to = &workload->coll.out[pipe];

    if (to->link_waits || to->started == to->produced) return;
    if (to->link_free <= now) link_start(workload, host, pipe, now);
    if (to->started == to->produced) return;
    to->link_waits = true;
    host_event(workload, host, to->link_free, EVENT_ID(EVENT_LINK, 0, pipe));
}

void pipe_produce(struct workload *workload, uint32_t host, uint32_t pipe, uint32_t bytes, const struct coll_plan *plan,
                  ps_t now, struct app_out *out)
{
    struct pipe_out *to = &workload->coll.out[pipe];

    to->slots = plan->slots;
    to->message[to->produced++ % COLL_SLOTS] = bytes | (uint32_t)plan->protocol << 30;
    if (to->flags & PIPE_FOLLOWS) return; /* goes with the first of its multicast */
    if (!(to->flags & PIPE_NETWORK) || to->flags & PIPE_VIA) {
        link_next(workload, host, pipe, now);
        return;
    }
    to->ready++;
    pump(workload, host, pipe, out);
}

static void wake(struct workload *workload, uint32_t host, uint32_t owner, ps_t now, struct app_out *out)
{
    if (owner & OWNER_SEGMENT)
        segment_wake(workload, owner & ~OWNER_SEGMENT, now, out);
    else
        lanes_wake(workload, host, owner, now, out);
}

/* Whether another whole message is through: each queue pair's parts come in order, but not alike. */
static bool part_through(struct workload *workload, uint32_t first, uint32_t qps, uint32_t part, uint32_t whole)
{
    uint32_t *count = &workload->coll.part[first];

    count[part]++;
    for (uint32_t q = 0; q < qps; q++)
        if (count[q] == whole) return false;
    return true;
}

void pipe_sent(struct workload *workload, uint32_t host, uint32_t index, uint32_t pipe, ps_t now, struct app_out *out)
{
    struct workload_connection *connection = &workload->connection[index];
    bool clears = connection->kind == WORKLOAD_CLEARS;
    struct pipe_out *to = &workload->coll.out[pipe];
    uint32_t next = connection->first_waiting;

    connection->done++;
    if (next != WORKLOAD_NONE) {
        connection->first_waiting = clears ? workload->coll.in[next].next : workload->coll.out[next].next;
        *(clears ? &workload->coll.in[next].queued : &workload->coll.out[next].queued) = false;
        if (clears)
            pipe_clear(workload, host, next, out);
        else
            pump(workload, host, next, out);
    }
    if (clears) return;
    if (to->qps > 1 && !part_through(workload, to->parts, to->qps, connection->part, to->completed)) return;
    bool was_full = to->produced - to->completed >= to->slots;
    to->completed++;
    if (was_full) wake(workload, host, to->owner, now, out); /* else nobody waits for a slot */
}

/* The job whose messages the pipe carries cannot go on. */
static void breaks(struct workload *workload, uint32_t pipe, ps_t now)
{
    const struct collectives *coll = &workload->coll;
    uint32_t owner = coll->out[pipe].owner;
    uint32_t graph = owner & OWNER_SEGMENT ? coll->segment[owner & ~OWNER_SEGMENT].graph : coll->lane[owner].graph;
    ps_t *broke = &workload->broke[coll->comm[coll->graph[graph]->comm]->config.job];
    ps_t seen = __atomic_load_n(broke, __ATOMIC_RELAXED);

    while (now < seen && !__atomic_compare_exchange_n(broke, &seen, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Whoever waits in line for the connection would wait for ever: a communicator's pipes share connections. */
void pipe_failed(struct workload *workload, uint32_t index, uint32_t pipe, ps_t now)
{
    struct workload_connection *connection = &workload->connection[index];
    bool clears = connection->kind == WORKLOAD_CLEARS;

    connection->done++;
    breaks(workload, pipe, now);
    while (connection->first_waiting != WORKLOAD_NONE) {
        uint32_t next = connection->first_waiting;
        connection->first_waiting = clears ? workload->coll.in[next].next : workload->coll.out[next].next;
        *(clears ? &workload->coll.in[next].queued : &workload->coll.out[next].queued) = false;
        breaks(workload, next, now);
    }
}

/* Only what is this host's is looked at: the sending end when it is cleared, else the receiving one. */
uint32_t workload_expect(const struct workload *workload, uint32_t imm)
{
    const struct collectives *coll = &workload->coll;
    uint32_t pipe = imm >> 2;

    if (pipe >= coll->pipes) return WORKLOAD_NONE;
    if ((imm & 3) == COLL_CLEARS) {
        __builtin_prefetch(&coll->out[pipe + 1], 1);
        return coll->out[pipe].connection;
    }
    const struct pipe_in *in = &coll->in[pipe];
    if (in->owner & OWNER_SEGMENT) {
        const struct segment *segment = &coll->segment[in->owner & ~OWNER_SEGMENT];
        __builtin_prefetch(segment->link_free, 1);
        __builtin_prefetch(&segment->ready[segment->ready_tail & segment->ready_mask], 1);
    }
    return in->flags & PIPE_ADMITTED ? in->cts : WORKLOAD_NONE;
}

static void arrived(struct workload *workload, uint32_t host, uint32_t pipe, ps_t now, struct app_out *out)
{
    workload->coll.in[pipe].arrived++;
    wake(workload, host, workload->coll.in[pipe].owner, now, out);
}

void pipe_received(struct workload *workload, uint32_t host, uint32_t index, uint32_t imm, ps_t now,
                   struct app_out *out)
{
    const struct workload_connection *connection = &workload->connection[index];
    uint32_t pipe = imm >> 2;

    if (connection->kind == WORKLOAD_CLEARS) {
        workload->coll.out[pipe].granted++;
        pump(workload, host, pipe, out);
        return;
    }
    struct pipe_in *in = &workload->coll.in[pipe];
    if (in->qps > 1 && !part_through(workload, in->parts, in->qps, connection->part, in->whole)) return;
    in->whole++;
    if (in->owner & OWNER_SEGMENT) /* what software takes is in the segment's chain */
        arrived(workload, host, pipe, now, out);
    else
        host_event(workload, host, now + coll_net_ps(imm & 3, in->flags & PIPE_TREE), EVENT_ID(EVENT_ARRIVED, 0, pipe));
}

void pipe_event(struct workload *workload, uint32_t host, uint64_t id, ps_t now, struct app_out *out)
{
    uint32_t low = (uint32_t)id, high = (uint32_t)(id >> 32) & 0xfffffff;

    switch ((enum coll_event)(id >> 60)) {
    case EVENT_LOCAL:
    case EVENT_ARRIVED:
        arrived(workload, host, low, now, out);
        break;
    case EVENT_LINK:
        workload->coll.out[low].link_waits = false;
        link_next(workload, host, low, now);
        break;
    case EVENT_VIA:
        workload->coll.out[low].ready++;
        pump(workload, host, low, out);
        break;
    case EVENT_LEAVES:
        segment_leaves(workload, low, now, out);
        break;
    case EVENT_DONE:
        segment_done(workload, low, high, now, out);
        break;
    case EVENT_TRANSFER:
        transfer_due(workload, host, low, now, out);
        break;
    case EVENT_ALARM:
        workload->coll.program[high]->alarm(workload, host, low, now, out);
        break;
    }
}
