/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: what they are made of, when their parts begin and end, and what they post, by formulas of this file's own.
 */
#include <stdlib.h>

#include "fabric/fabric.h"
#include "swarm.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

#define SLICES 2u
#define CHUNK_BYTES 2097152u
#define FRAME_EXTRA_BYTES 128u

static uint64_t over(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Adapters of the host that has most; GPUs and adapters are as many here. */
/* A message's share for queue pair q of n: as even as it goes, the first ones a byte more, nobody nothing. */
static uint64_t share(uint64_t bytes, uint64_t n, uint64_t q)
{
    uint64_t own = bytes / n + (q < bytes % n ? 1 : 0);
    return own ? own : 1;
}

/* What queue pair q of a ring's connection carries in one repetition of the collective, and in how many messages. */
static uint64_t ring_bytes(const struct fabric_job *job, uint64_t channels, uint32_t q, uint64_t *messages)
{
    uint64_t n = job->ranks, left = over(job->size_bytes, channels);
    uint64_t chunk = job->chunk_bytes ? job->chunk_bytes : CHUNK_BYTES, least = chunk / SLICES / 32;
    uint64_t steps = (job->kind == FABRIC_JOB_ALLREDUCE ? 2 : 1) * (n - 1), qps = job->qps ? job->qps : 1, sum = 0;
    uint64_t slices = over(left, n) > least ? SLICES : 1;
    if (chunk > over(left, n)) chunk = over(left, n);

    *messages = 0;
    while (left) {
        uint64_t piece = over(left, n) < chunk ? over(left, n) : chunk, first = over(piece, slices);
        if (slices > 1 && first < least) first = least < piece ? least : piece;
        sum += steps * share(first, qps, q);
        if (slices > 1) sum += steps * share(piece - first ? piece - first : 1, qps, q);
        *messages += steps * slices;
        left = left > n * chunk ? left - n * chunk : 0;
    }
    return sum;
}

/* A ring through hosts: the same for each host and channel; a receiver clears each message with 64 bytes. */
static void add_ring(const struct watch *watch, const struct workload_instance *instance, uint64_t *due)
{
    const struct collectives *coll = &watch->sim->workload->coll;

    if (instance->coll == WORKLOAD_NONE || !coll->graph[coll->op[instance->coll].graph]->folded) return;
    const struct fabric_job *job = &watch->fabric->job[instance->job];
    const struct coll_graph *graph = coll->graph[coll->op[instance->coll].graph];
    uint32_t qps = job->qps ? job->qps : 1;
    for (uint32_t s = 0; s < graph->shape.hosts * graph->shape.channels; s++) {
        uint32_t pipe = coll->segment[graph->first_segment + s].out;
        uint64_t messages = 0;
        for (uint32_t q = 0; q < qps; q++)
            due[coll->out[pipe].connection + q] += ring_bytes(job, graph->shape.channels, q, &messages);
        if (job->clear_to_send) due[coll->in[pipe].cts] += 64 * messages;
    }
}

/* A last packet that is shorter than the others may overtake them where ways differ, and is not waited for then. */
static ps_t overtaking(const struct watch *watch)
{
    uint64_t slowest = UINT64_MAX;

    if (!watch->plan->sprays) return 0;
    for (uint32_t i = 0; i < watch->fabric->ports; i++)
        if (watch->fabric->port[i].rate_bps < slowest) slowest = watch->fabric->port[i].rate_bps;
    return line_time(slowest, watch->fabric->nic[0].mtu_bytes + FRAME_EXTRA_BYTES);
}

/* Routes that move while it is under way give it two ways at a time: what waits on the old one, and the new one. */
static bool rerouted(const struct watch *watch, const struct workload_transfer *transfer)
{
    const struct sim *sim = watch->sim;

    for (uint32_t i = 0; i < sim->faults; i++) {
        const struct sim_fault *event = &sim->fault[i];
        if (event->fault == FAULT_ROUTES && event->at >= transfer->start && event->at <= transfer->end) return true;
    }
    return false;
}

static void check_posted(struct watch *watch, const struct sim_result *result)
{
    const struct workload *workload = watch->sim->workload;
    uint64_t *due = calloc(watch->pairs + 1u, sizeof(*due));

    CHECK(due);
    for (uint32_t i = 0; i < result->flows; i++) {
        const struct workload_transfer *transfer = workload_transfer(workload, i);
        due[transfer->connection] += transfer->bytes;
        HOLDS(transfer->end != PS_NEVER, "a job ends when all its transfers have", "transfer %u has not", i);
        HOLDS(watch->plan->verbs || result->flow[i].fct_ps + overtaking(watch) >= result->flow[i].ideal_ps ||
                  rerouted(watch, transfer),
              "no transfer is faster than alone in the fabric", "transfer %u: %lu ps, alone %lu", i,
              (unsigned long)result->flow[i].fct_ps, (unsigned long)result->flow[i].ideal_ps);
    }
    for (uint32_t i = 0; i < workload->instances; i++)
        add_ring(watch, &workload->instance[i], due);
    for (uint32_t i = 0; i < watch->pairs && !watch->plan->verbs; i++) {
        const struct workload_connection *connection = workload_connection(workload, i);
        uint64_t posted = 0;
        watch->ring_bytes += connection->kind == WORKLOAD_DATA;
        for (uint32_t r = 0; r < watch->pair[i].posted; r++)
            posted += watch->pair[i].request[r].bytes;
        HOLDS(posted == due[i], "transfers are posted whole", "connection %u: %lu of %lu", i, (unsigned long)posted,
              (unsigned long)due[i]);
    }
    free(due);
}

/* What leaves a host is made of what came in, but for the first messages of each of its GPUs. */
void work_posted(struct watch *watch, uint32_t index)
{
    const struct workload *workload = watch->sim->workload;
    const struct workload_connection *connection = &workload->connection[index];
    const struct collectives *coll = &workload->coll;

    if (connection->kind != WORKLOAD_DATA || workload->instances > 1 || coll->segments == 0) return;
    const struct coll_graph *graph = coll->graph[coll->segment[0].graph];
    for (uint32_t s = 0; s < graph->shape.hosts * graph->shape.channels; s++) {
        const struct segment *segment = &coll->segment[s];
        uint32_t first = coll->out[segment->out].connection, from = coll->out[segment->in].connection;
        if (index < first || index >= first + coll->out[segment->out].qps) continue;
        for (uint32_t q = 0; q < coll->out[segment->in].qps; q++)
            HOLDS(watch->pair[index].posted <= watch->pair[from + q].received + SLICES * segment->gpus,
                  "a ring passes on what has come", "connection %u: message %u, %lu came", index,
                  watch->pair[index].posted, (unsigned long)watch->pair[from + q].received);
    }
}

/* Who waits for a transfer begins when it ends, well or not; the others when the job says. */
static void check_starts(struct watch *watch)
{
    const struct workload *workload = watch->sim->workload;
    bool *waits = calloc(workload->transfers + 1u, sizeof(*waits));

    CHECK(waits);
    for (uint32_t i = 0; i < workload->transfers; i++) {
        const struct workload_transfer *transfer = &workload->transfer[i];
        if (transfer->then == WORKLOAD_NONE) continue;
        const struct workload_transfer *next = &workload->transfer[transfer->then];
        waits[transfer->then] = true;
        HOLDS(transfer->end == PS_NEVER ? next->start == PS_NEVER : next->start == transfer->end,
              "who waits for a transfer begins when it ends", "transfer %u", i);
        watch->followers += transfer->end != PS_NEVER;
    }
    for (uint32_t i = 0; i < workload->transfers; i++) {
        const struct workload_transfer *transfer = &workload->transfer[i];
        const struct workload_instance *instance = &workload->instance[transfer->instance];
        if (waits[i] || transfer->start == PS_NEVER) continue;
        HOLDS(instance->start != PS_NEVER && transfer->start == ps_add(instance->start, transfer->offset),
              "a transfer begins when its job says", "transfer %u at %lu ps", i, (unsigned long)transfer->start);
        HOLDS(transfer->end == PS_NEVER || transfer->end > transfer->start || watch->plan->verbs || transfer->failed,
              "a transfer takes time", "transfer %u", i);
    }
    free(waits);
}

/* A job begins at its time, or after the one it waits for; it ends with the last of its transfers. */
static void check_jobs(const struct watch *watch, const struct sim_result *result)
{
    const struct workload *workload = watch->sim->workload;

    for (uint32_t i = 0; i < workload->instances; i++) {
        const struct workload_instance *instance = &workload->instance[i];
        const struct fabric_job *job = &watch->fabric->job[instance->job];
        ps_t last = 0;
        bool open = false;
        for (uint32_t t = instance->first_transfer; t < instance->first_transfer + instance->transfers; t++) {
            open |= workload->transfer[t].end == PS_NEVER;
            if (!open && workload->transfer[t].end > last) last = workload->transfer[t].end;
        }
        HOLDS(instance->end == PS_NEVER || !open, "a job ends when all its transfers have", "job %u", i);
        if (instance->end != PS_NEVER && instance->transfers)
            HOLDS(instance->end == last, "a job ends with its last transfer", "job %u: %lu ps, %lu", i,
                  (unsigned long)instance->end, (unsigned long)last);
        HOLDS(result->job[i].start == instance->start && result->job[i].end == instance->end &&
                  result->job[i].failed_at == instance->failed,
              "a job is reported as it was", "job %u", i);
        HOLDS(instance->failed == PS_NEVER || (instance->end == PS_NEVER && result->work_failed),
              "a job is given up for a reason", "job %u", i);
        if (instance->start == PS_NEVER) continue;
        if (instance->after == WORKLOAD_NONE) {
            HOLDS(instance->start == job->at, "a job begins at its time", "job %u", i);
            continue;
        }
        ps_t wait = instance->repetition ? job->gap_ps : job->at, before = workload->instance[instance->after].end;
        if (wait < workload->options.sync_latency) wait = workload->options.sync_latency;
        HOLDS(before != PS_NEVER && instance->start == before + wait, "a job begins after the one it waits for",
              "job %u at %lu ps", i, (unsigned long)instance->start);
    }
}

/* Who sends how much to whom, by the kind of job. */
static void check_made(const struct watch *watch, const struct workload_instance *instance)
{
    const struct workload *workload = watch->sim->workload;
    const struct fabric_job *job = &watch->fabric->job[instance->job];
    uint32_t count[3] = {0, 0, 0}, n = job->ranks; /* transfers, from the first one's source, to its target */
    uint64_t size = job->kind == FABRIC_JOB_ALL_TO_ALL ? 0 : job->size_bytes;

    if (!instance->transfers) return;
    const struct workload_transfer *first = &workload->transfer[instance->first_transfer];
    const struct workload_connection *one = workload_connection(workload, first->connection);
    for (uint32_t t = 0; t < instance->transfers; t++) {
        const struct workload_connection *c = workload_connection(workload, first[t].connection);
        count[0]++;
        count[1] += c->src == one->src;
        count[2] += c->dst == one->dst;
        HOLDS(c->src != c->dst, "nobody sends to itself", "transfer %u", t);
        if (size && job->kind != FABRIC_JOB_POISSON)
            HOLDS(first[t].bytes == size, "a transfer is as long as its job says", "transfer %u: %lu", t,
                  (unsigned long)first[t].bytes);
    }
    bool fits = true;
    if (job->kind == FABRIC_JOB_INCAST) fits = count[0] == job->degree && count[2] == count[0] && count[1] == 1;
    if (job->kind == FABRIC_JOB_RANDOM) fits = count[0] == job->degree;
    if (job->kind == FABRIC_JOB_PERMUTATION) fits = count[0] == n && count[1] == 1 && count[2] == 1;
    if (job->kind == FABRIC_JOB_ALL_TO_ALL && job->size_bytes >= n)
        fits = count[0] == n * (n - 1) && count[1] == n - 1 && count[2] == n - 1;
    HOLDS(fits, "a job is made of what its kind says", "job %u: %u transfers, %u of them from one, %u to one",
          instance->job, count[0], count[1], count[2]);
}

void work_check(struct watch *watch, const struct sim_result *result)
{
    const struct workload *workload = watch->sim->workload;

    check_starts(watch);
    check_jobs(watch, result);
    for (uint32_t i = 0; i < workload->instances; i++)
        check_made(watch, &workload->instance[i]);
    if (result->state == SIM_DONE && !result->work_failed) check_posted(watch, result);
}
