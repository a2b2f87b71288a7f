/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of jobs that are no collectives: listed flows, permutation, incast, all-to-all, random pairs, and
 * arrivals at random from a distribution of sizes.
 *
 * Whatever is drawn is drawn from the seed, in a stream of its own for each job, repetition and purpose.
 * Poisson arrivals are drawn a source at a time: gaps are exponential with the mean size over load times line
 * rate, sizes are read off the distribution, between its points in a straight line (draw.c).
 */
#include <stdlib.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "workload/draw.h"
#include "workload/workload_int.h"

#define STREAM_DRAW 0x20000000000ULL
#define STREAM_POISSON 0x30000000000ULL

static struct rng job_rng(const struct workload *workload, uint32_t instance, uint64_t stream)
{
    struct rng rng;

    rng_init(&rng, workload->options.seed, stream | (uint64_t)instance << 20);
    return rng;
}

static uint32_t send(struct workload *workload, uint32_t instance, uint32_t src, uint32_t dst, uint32_t number,
                     uint64_t bytes, ps_t offset)
{
    uint32_t job = workload->instance[instance].job;
    uint32_t connection = workload_pair(workload, job, src, dst, workload->fabric->job[job].job_class, number);

    if (workload->failed || src == dst || bytes == 0) return WORKLOAD_NONE;
    return workload_add_transfer(workload, instance, connection, bytes, offset);
}

/* Each listed flow has a queue pair of its own, counted between the two behind those that are named. */
struct flow_order {
    uint64_t pair;
    uint32_t flow;
};

static int compare_flows(const void *a, const void *b)
{
    const struct flow_order *x = a, *y = b;

    if (x->pair != y->pair) return x->pair < y->pair ? -1 : 1;
    return x->flow < y->flow ? -1 : x->flow > y->flow;
}

/* A flow that waits for another has no time of its own; the other knows of it. */
static void wait_for(struct workload *workload, uint32_t index, uint32_t before, ps_t delay)
{
    struct workload_transfer *transfer = &workload->transfer[index], *other = &workload->transfer[before];
    struct workload_connection *connection = &workload->connection[other->connection];
    const struct fabric *fabric = workload->fabric;
    uint32_t host = fabric->endpoint[workload->connection[transfer->connection].src].host;
    bool completed = fabric->endpoint[connection->src].host == host;
    uint32_t *first = completed ? &other->completes : &other->arrives;

    if (!completed) connection->notifies = true;
    transfer->delay = delay;
    transfer->offset = PS_NEVER;
    transfer->beside = *first;
    *first = index;
}

static void generate_flow(struct workload *workload, uint32_t instance, const struct fabric_flow *flow, uint32_t number)
{
    uint32_t made = send(workload, instance, flow->src, flow->dst, number, flow->bytes, flow->at);

    if (workload->failed || made == WORKLOAD_NONE) return;
    if (flow->qp != FABRIC_NONE) workload->connection[workload->transfer[made].connection].depth = WORKLOAD_DEEP;
    if (flow->after != FABRIC_NONE)
        wait_for(workload, made, workload->instance[instance].first_transfer + flow->after, flow->at);
}

static void generate_flows(struct workload *workload, uint32_t instance, const struct fabric_job *job)
{
    uint32_t named = 0;
    struct flow_order *order = calloc(job->flows + 1u, sizeof(*order));
    uint32_t *number = calloc(job->flows + 1u, sizeof(*number));

    if (order == NULL || number == NULL) {
        workload->failed = true;
    } else {
        for (uint32_t i = 0; i < job->flows; i++)
            if (job->flow[i].qp != FABRIC_NONE && job->flow[i].qp >= named) named = job->flow[i].qp + 1;
        for (uint32_t i = 0; i < job->flows; i++)
            order[i] = (struct flow_order){(uint64_t)job->flow[i].src << 32 | job->flow[i].dst, i};
        qsort(order, job->flows, sizeof(*order), compare_flows);
        for (uint32_t i = 1; i < job->flows; i++)
            number[order[i].flow] = order[i].pair == order[i - 1].pair ? number[order[i - 1].flow] + 1 : 0;
        for (uint32_t i = 0; i < job->flows && !workload->failed; i++)
            generate_flow(workload, instance, &job->flow[i],
                          job->flow[i].qp != FABRIC_NONE ? job->flow[i].qp : named + number[i]);
    }
    free(order);
    free(number);
}

/* One cycle through all ranks (Sattolo), or a shift: nobody sends to itself. */
static void generate_permutation(struct workload *workload, uint32_t instance, const struct fabric_job *job)
{
    struct rng rng = job_rng(workload, instance, STREAM_DRAW);
    uint32_t *to = calloc(job->ranks + 1u, sizeof(*to));

    if (to == NULL) {
        workload->failed = true;
        return;
    }
    for (uint32_t i = 0; i < job->ranks; i++)
        to[i] = job->rank[(i + job->degree) % job->ranks];
    for (uint32_t i = job->degree ? 1 : job->ranks; i-- > 1;) {
        uint32_t j = (uint32_t)rng_below(&rng, i), moved = to[i];
        to[i] = to[j];
        to[j] = moved;
    }
    for (uint32_t i = 0; i < job->ranks && !workload->failed; i++)
        send(workload, instance, job->rank[i], to[i], 0, job->size_bytes, 0);
    free(to);
}

static void generate_incast(struct workload *workload, uint32_t instance, const struct fabric_job *job)
{
    struct rng rng = job_rng(workload, instance, STREAM_DRAW);
    uint32_t to = job->to != FABRIC_NONE ? job->to : job->rank[rng_below(&rng, job->ranks)];
    uint32_t *from = calloc(job->ranks + 1u, sizeof(*from));
    uint32_t count = 0;

    if (from == NULL) {
        workload->failed = true;
        return;
    }
    for (uint32_t i = 0; i < job->ranks; i++)
        if (job->rank[i] != to) from[count++] = job->rank[i];
    for (uint32_t i = 0; i < job->degree && count && !workload->failed; i++) {
        uint32_t turn = i % count; /* more senders than ranks: some send twice, on queue pairs of their own */
        if (i < count) {
            uint32_t j = turn + (uint32_t)rng_below(&rng, count - turn), moved = from[turn];
            from[turn] = from[j];
            from[j] = moved;
        }
        for (uint32_t b = 0; b < (job->bursts ? job->bursts : 1); b++)
            send(workload, instance, from[turn], to, i / count, job->size_bytes, b * job->every_ps);
    }
    free(from);
}

/* Each rank sends to all others, nearest first: all at once, or each when the one before is done. */
static void generate_all_to_all(struct workload *workload, uint32_t instance, const struct fabric_job *job)
{
    bool pairwise = job->degree != 0;

    for (uint32_t i = 0; i < job->ranks; i++) {
        uint32_t before = WORKLOAD_NONE;
        for (uint32_t distance = 1; distance < job->ranks && !workload->failed; distance++) {
            uint32_t made = send(workload, instance, job->rank[i], job->rank[(i + distance) % job->ranks], 0,
                                 job->size_bytes / job->ranks, 0);
            if (pairwise && made != WORKLOAD_NONE && before != WORKLOAD_NONE) {
                workload->transfer[before].then = made;
                workload->transfer[made].offset = PS_NEVER;
            }
            before = made;
        }
    }
    workload->instance[instance].bytes = job->size_bytes;
}

static void generate_random(struct workload *workload, uint32_t instance, const struct fabric_job *job)
{
    struct rng rng = job_rng(workload, instance, STREAM_DRAW);

    for (uint32_t i = 0; i < job->degree && job->ranks > 1 && !workload->failed; i++) {
        uint32_t src = (uint32_t)rng_below(&rng, job->ranks);
        uint32_t dst = (src + 1 + (uint32_t)rng_below(&rng, job->ranks - 1)) % job->ranks;
        send(workload, instance, job->rank[src], job->rank[dst], i, job->size_bytes, 0);
    }
}

/* Where it is in a list; `count` where it is not. */
static uint32_t position(const uint32_t *list, uint32_t count, uint32_t wanted)
{
    uint32_t at = 0;

    while (at < count && list[at] != wanted)
        at++;
    return at;
}

/* Whoever sends draws among those that are sent to, but never itself. */
static void generate_poisson(struct workload *workload, uint32_t instance, const struct fabric_job *job)
{
    const struct fabric *fabric = workload->fabric;
    const uint32_t *from = job->from ? job->from : job->rank, *to = job->receiver ? job->receiver : job->rank;
    uint32_t froms = job->from ? job->froms : job->ranks, tos = job->receiver ? job->receivers : job->ranks;
    uint32_t qps = job->qps ? job->qps : 1;

    for (uint32_t i = 0; i < froms && job->ranks > 1; i++) {
        struct rng rng = job_rng(workload, instance, STREAM_POISSON | (uint64_t)i << 44);
        uint64_t rate = fabric->port[fabric->endpoint[from[i]].port].rate_bps;
        uint32_t self = i < tos && to[i] == from[i] ? i : position(to, tos, from[i]);
        u128 mean = draw_mean_gap(job, rate), at = 0;
        for (uint32_t n = 0; !workload->failed; n++) {
            at += draw_gap(mean, &rng);
            if (at >> DRAW_GAP_BITS > job->until) break;
            uint32_t dst =
                self < tos ? (self + 1 + (uint32_t)rng_below(&rng, tos - 1)) % tos : (uint32_t)rng_below(&rng, tos);
            send(workload, instance, from[i], to[dst], n % qps, draw_size(job, &rng), (ps_t)(at >> DRAW_GAP_BITS));
        }
    }
}

void transfers_generate(struct workload *workload, uint32_t instance)
{
    const struct fabric_job *job = &workload->fabric->job[workload->instance[instance].job];

    switch (job->kind) {
    case FABRIC_JOB_FLOWS:
        generate_flows(workload, instance, job);
        break;
    case FABRIC_JOB_PERMUTATION:
        generate_permutation(workload, instance, job);
        break;
    case FABRIC_JOB_INCAST:
        generate_incast(workload, instance, job);
        break;
    case FABRIC_JOB_ALL_TO_ALL:
        generate_all_to_all(workload, instance, job);
        break;
    case FABRIC_JOB_RANDOM:
        generate_random(workload, instance, job);
        break;
    case FABRIC_JOB_POISSON:
        generate_poisson(workload, instance, job);
        break;
    default:
        CHECK(false); /* of another form: it has a program */
    }
}
