/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From jobs to arrays: instances, connections, transfers, and each host's list of what is its own.
 *
 * All of it is made at set-up, so that a run allocates nothing.  A job's repetitions, and jobs that begin when it is
 * over, use its connections again, as a program keeps its queue pairs.  Jobs that can overlap in time have connections
 * of their own, as programs do, and so has each communicator of a job: a message never waits in a queue behind those of
 * somebody else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "workload/workload_int.h"

void *workload_grow(void *array, uint32_t count, uint32_t *capacity, size_t size, bool *failed)
{
    if (count < *capacity) return array;
    uint32_t wanted = *capacity ? *capacity * 2 : 64;
    void *larger = wanted > *capacity ? realloc(array, wanted * size) : NULL;
    if (larger == NULL) {
        *failed = true;
        return array;
    }
    *capacity = wanted;
    return larger;
}

static uint64_t pair_hash(const struct workload_connection *c)
{
    uint64_t hash = ((uint64_t)c->src << 32 | c->dst) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ hash >> 29 ^ ((uint64_t)c->kind << 40 | (uint64_t)c->job_class << 32 | c->number)) *
           0xbf58476d1ce4e5b9ULL;
    return hash ^ hash >> 32;
}

static struct pair_slot *slot_at(struct workload *workload, uint64_t at)
{
    return &workload->pair_slot[at & workload->pair_mask];
}

/* Twice as large, everything entered again. */
static void pairs_grow(struct workload *workload)
{
    struct pair_slot *old = workload->pair_slot;
    uint32_t slots = 1024, filled = old ? workload->pair_mask + 1 : 0;

    while (slots <= workload->connections * 2)
        slots *= 2;
    workload->pair_slot = malloc(slots * sizeof(*workload->pair_slot));
    if (workload->pair_slot == NULL) {
        workload->pair_slot = old;
        workload->failed = true;
        return;
    }
    memset(workload->pair_slot, 0xff, slots * sizeof(*workload->pair_slot));
    workload->pair_mask = slots - 1;
    for (uint32_t i = 0; i < filled; i++) {
        if (old[i].connection == WORKLOAD_NONE) continue;
        uint64_t at = pair_hash(&workload->connection[old[i].connection]);
        while (slot_at(workload, at)->connection != WORKLOAD_NONE)
            at++;
        *slot_at(workload, at) = old[i];
    }
    free(old);
}

static void add_connection(struct workload *workload, const struct workload_connection *like, uint8_t part)
{
    workload->connection = workload_grow(workload->connection, workload->connections, &workload->connection_capacity,
                                         sizeof(*workload->connection), &workload->failed);
    if (workload->failed) return;
    workload->connection[workload->connections] = *like;
    if (like->depth == 0) workload->connection[workload->connections].depth = WORKLOAD_DEPTH;
    workload->connection[workload->connections].part = part;
    workload->connection[workload->connections++].number += part;
}

/* Whether all that the last user did is over before the next begins, or in order with it. */
static bool may_follow(const struct fabric *fabric, struct pair_user last, struct pair_user next)
{
    if (last.job == next.job) return last.comm == next.comm;
    uint32_t before = fabric->job[next.job].after;
    while (before != FABRIC_NONE && before > last.job)
        before = fabric->job[before].after;
    return before == last.job;
}

uint32_t workload_pairs(struct workload *workload, struct pair_user user, const struct workload_connection *like,
                        uint32_t qps)
{
    struct workload_connection made = *like;

    if (workload->pair_slot == NULL || workload->connections * 2 > workload->pair_mask) pairs_grow(workload);
    if (workload->failed) return 0;
    uint64_t at = pair_hash(like);
    for (struct pair_slot *slot; (slot = slot_at(workload, at))->connection != WORKLOAD_NONE; at++) {
        const struct workload_connection *c = &workload->connection[slot->connection];
        if (c->src != like->src || c->dst != like->dst || c->job_class != like->job_class || c->kind != like->kind ||
            c->number != like->number || c->parts != qps)
            continue;
        if (may_follow(workload->fabric, slot->last, user)) {
            slot->last = user;
            return slot->connection;
        }
        made.copy++;
    }
    *slot_at(workload, at) = (struct pair_slot){.connection = workload->connections, .last = user};
    made.parts = (uint8_t)qps;
    made.job = user.job;
    for (uint32_t q = 0; q < qps && !workload->failed; q++)
        add_connection(workload, &made, (uint8_t)q);
    return workload->failed ? 0 : slot_at(workload, at)->connection;
}

uint32_t workload_pair(struct workload *workload, uint32_t job, uint32_t src, uint32_t dst, uint32_t job_class,
                       uint32_t number)
{
    struct workload_connection like = {.src = src,
                                       .dst = dst,
                                       .job_class = (uint8_t)job_class,
                                       .number = number,
                                       .first_waiting = WORKLOAD_NONE,
                                       .last_waiting = WORKLOAD_NONE};

    return workload_pairs(workload, (struct pair_user){.job = job, .comm = WORKLOAD_NONE}, &like, 1);
}

uint32_t workload_add_transfer(struct workload *workload, uint32_t instance, uint32_t connection, uint64_t bytes,
                               ps_t offset)
{
    workload->transfer = workload_grow(workload->transfer, workload->transfers, &workload->transfer_capacity,
                                       sizeof(*workload->transfer), &workload->failed);
    if (workload->failed) return 0;
    workload->transfer[workload->transfers] = (struct workload_transfer){.connection = connection,
                                                                         .instance = instance,
                                                                         .bytes = bytes,
                                                                         .offset = offset,
                                                                         .start = PS_NEVER,
                                                                         .end = PS_NEVER,
                                                                         .next = WORKLOAD_NONE,
                                                                         .then = WORKLOAD_NONE,
                                                                         .completes = WORKLOAD_NONE,
                                                                         .arrives = WORKLOAD_NONE,
                                                                         .beside = WORKLOAD_NONE};
    workload->instance[instance].bytes += bytes;
    return workload->transfers++;
}

static int build_instance(struct workload *workload, uint32_t job_index, uint32_t repetition, uint64_t bytes,
                          uint32_t after, struct fabric_errors *errors)
{
    const struct fabric_job *job = &workload->fabric->job[job_index];

    workload->instance = workload_grow(workload->instance, workload->instances, &workload->instance_capacity,
                                       sizeof(*workload->instance), &workload->failed);
    if (workload->failed) return -ENOMEM;
    uint32_t index = workload->instances++;
    struct workload_instance *instance = &workload->instance[index];
    bool first = index == 0 || workload->instance[index - 1].job != job_index;
    *instance = (struct workload_instance){.job = job_index,
                                           .repetition = repetition,
                                           .ranks = job->ranks,
                                           .start = PS_NEVER,
                                           .end = PS_NEVER,
                                           .failed = PS_NEVER,
                                           .after = after,
                                           .delay = first ? job->at : job->gap_ps,
                                           .first_transfer = workload->transfers,
                                           .coll = WORKLOAD_NONE,
                                           .train = WORKLOAD_NONE};
    if (fabric_job_trains(job->kind)) {
        int error = train_build(workload, index, errors);
        if (error) return error;
        instance = &workload->instance[index];
    } else if (fabric_job_collective(job->kind)) {
        int error = 0;
        if (!first && workload->instance[index - 1].bytes == bytes) {
            instance->coll = instance[-1].coll;
            instance->bytes = bytes;
            instance->remaining = job->ranks;
        } else {
            error = jobs_build(workload, index, bytes, errors);
        }
        if (error) return error;
        instance = &workload->instance[index];
    } else {
        transfers_generate(workload, index);
        if (workload->failed) return -ENOMEM;
        instance = &workload->instance[index];
        instance->transfers = workload->transfers - instance->first_transfer;
        instance->remaining = instance->transfers;
    }
    if (after == WORKLOAD_NONE) instance->start = instance->delay;
    return 0;
}

/* Each of a collective's sizes, each so many times; the next size after the last repetition of the one before. */
static int build_job(struct workload *workload, uint32_t index, uint32_t after, struct fabric_errors *errors)
{
    const struct fabric_job *job = &workload->fabric->job[index];
    uint32_t repeat = job->repeat ? job->repeat : 1, sizes = job->sizes ? job->size_count : 1;
    int error = 0;

    for (uint32_t s = 0; s < sizes; s++) {
        for (uint32_t r = 0; r < repeat && !error; r++) {
            error = build_instance(workload, index, r, job->sizes ? job->sizes[s] : job->size_bytes, after, errors);
            after = workload->instances - 1;
        }
    }
    return error;
}

static int build_jobs(struct workload *workload, struct fabric_errors *errors)
{
    const struct fabric *fabric = workload->fabric;
    uint32_t *last = calloc(fabric->jobs + 1, sizeof(*last)); /* [job] its last instance */
    int error = last ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < fabric->jobs && !error; i++) {
        const struct fabric_job *job = &fabric->job[i];
        if (job->after != FABRIC_NONE && job->after >= i) {
            fabric_errors_add(errors, job->where, "a job can only wait for one that is listed before it");
            error = -EINVAL;
            break;
        }
        uint32_t after = job->after == FABRIC_NONE ? WORKLOAD_NONE : last[job->after];
        error = build_job(workload, i, after, errors);
        last[i] = workload->instances - 1;
    }
    free(last);
    return error;
}

static uint32_t host_of(const struct workload *workload, uint32_t endpoint)
{
    return workload->fabric->endpoint[endpoint].host;
}

static uint32_t transfer_host(const struct workload *workload, uint32_t transfer)
{
    return host_of(workload, workload->connection[workload->transfer[transfer].connection].src);
}

struct by_offset {
    uint32_t transfer;
    uint32_t host;
    ps_t offset;
};

static int compare_by_offset(const void *a, const void *b)
{
    const struct by_offset *x = a, *y = b;

    if (x->host != y->host) return x->host < y->host ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->transfer < y->transfer ? -1 : 1;
}

static int add_task(struct workload *workload, const struct host_task *task, uint32_t *capacity, uint32_t *tasks_of)
{
    bool failed = false;

    workload->task = workload_grow(workload->task, workload->tasks, capacity, sizeof(*workload->task), &failed);
    if (failed) return -ENOMEM;
    workload->task[workload->tasks++] = *task;
    tasks_of[task->host]++;
    return 0;
}

/* One for each host that has ranks in it. */
static int build_collective_tasks(struct workload *workload, uint32_t index, uint32_t *capacity, uint32_t *tasks_of)
{
    struct coll_part part;
    int error = 0;

    for (uint32_t i = 0; !error && coll_part_of(workload, workload->instance[index].coll, i, &part); i++) {
        struct host_task task = {.instance = index, .host = part.host, .next = part.first, .end = part.end};
        error = add_task(workload, &task, capacity, tasks_of);
    }
    return error;
}

static int build_training_tasks(struct workload *workload, uint32_t index, uint32_t *capacity, uint32_t *tasks_of)
{
    const struct train *train = workload->trains.train[workload->instance[index].train];
    int error = 0;

    for (uint32_t i = 0, end; i < train->ranks && !error; i = end) {
        uint32_t host = train->rank[train->by_host[i]].host;
        for (end = i; end < train->ranks && train->rank[train->by_host[end]].host == host;)
            end++;
        struct host_task task = {.instance = index, .host = host, .next = i, .end = end};
        error = add_task(workload, &task, capacity, tasks_of);
    }
    return error;
}

/* The tasks of one instance: one for each host that has transfers in it, entered in order of host. */
static int build_tasks_of(struct workload *workload, uint32_t index, struct by_offset *sorted, uint32_t *capacity,
                          uint32_t *tasks_of)
{
    struct workload_instance *instance = &workload->instance[index];
    uint32_t count = instance->transfers, first = instance->first_transfer;
    int error = 0;

    if (instance->coll != WORKLOAD_NONE) return build_collective_tasks(workload, index, capacity, tasks_of);
    if (instance->train != WORKLOAD_NONE) return build_training_tasks(workload, index, capacity, tasks_of);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = (struct by_offset){.transfer = first + i,
                                       .host = transfer_host(workload, first + i),
                                       .offset = workload->transfer[first + i].offset};
    qsort(sorted, count, sizeof(*sorted), compare_by_offset);
    for (uint32_t i = 0; i < count && !error;) {
        uint32_t host = sorted[i].host, end = i;
        for (; end < count && sorted[end].host == host; end++)
            workload->host_transfer[first + end] = sorted[end].transfer;
        struct host_task task = {.instance = index, .host = host, .next = first + i, .end = first + end};
        error = add_task(workload, &task, capacity, tasks_of);
        i = end;
    }
    return error;
}

/* Tasks were entered instance by instance; hosts want theirs together. */
static int tasks_by_host(struct workload *workload, const uint32_t *tasks_of)
{
    struct host_task *ordered = calloc(workload->tasks + 1, sizeof(*ordered));
    uint32_t first = 0;

    if (ordered == NULL) return -ENOMEM;
    for (uint32_t h = 0; h < workload->fabric->hosts; h++) {
        workload->host[h].first_task = first;
        first += tasks_of[h];
    }
    for (uint32_t i = 0; i < workload->tasks; i++) {
        struct workload_host *host = &workload->host[workload->task[i].host];
        ordered[host->first_task + host->tasks++] = workload->task[i];
    }
    free(workload->task);
    workload->task = ordered;
    return 0;
}

static int build_hosts(struct workload *workload)
{
    uint32_t hosts = workload->fabric->hosts, task_capacity = 0;
    uint64_t most = 1;

    for (uint32_t i = 0; i < workload->instances; i++)
        if (workload->instance[i].transfers > most) most = workload->instance[i].transfers;
    struct by_offset *sorted = calloc(most, sizeof(*sorted));
    uint32_t *tasks_of = calloc(hosts + 1, sizeof(*tasks_of));
    workload->host_transfer = calloc(workload->transfers + 1, sizeof(uint32_t));
    workload->wake = calloc(hosts + 1, sizeof(uint32_t));
    int error = 0;
    if (!sorted || !tasks_of || !workload->host_transfer || !workload->wake) error = -ENOMEM;
    for (uint32_t i = 0; i < workload->instances && !error; i++)
        error = build_tasks_of(workload, i, sorted, &task_capacity, tasks_of);
    if (!error) error = tasks_by_host(workload, tasks_of);
    free(sorted);
    free(tasks_of);
    return error;
}

/* What programs may use while they are set up. */
static int build_empty(struct workload *workload)
{
    const struct fabric *fabric = workload->fabric;

    workload->host = calloc(fabric->hosts + 1u, sizeof(*workload->host));
    workload->broke = calloc(fabric->jobs + 1u, sizeof(ps_t));
    if (!workload->host || !workload->broke) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->jobs; i++)
        workload->broke[i] = PS_NEVER;
    for (uint32_t h = 0; h < fabric->hosts; h++)
        workload->host[h].stalled = workload->host[h].freed = WORKLOAD_NONE;
    return collectives_init(workload);
}

int workload_create(const struct fabric *fabric, const struct workload_options *options, struct workload **ret,
                    struct fabric_errors *errors)
{
    struct workload *workload = calloc(1, sizeof(*workload));

    if (workload == NULL) return -ENOMEM;
    workload->fabric = fabric;
    workload->options = *options;
    int error = build_empty(workload);
    if (!error) error = build_jobs(workload, errors);
    if (!error) error = build_hosts(workload);
    free(workload->pair_slot);
    workload->pair_slot = NULL;
    if (error) {
        workload_free(workload);
        return error;
    }
    *ret = workload;
    return 0;
}

void workload_free(struct workload *workload)
{
    if (workload == NULL) return;
    collectives_free(workload);
    trains_free(workload);
    for (uint32_t h = 0; workload->host && h < workload->fabric->hosts; h++) {
        free(workload->host[h].events.item);
        free(workload->host[h].done);
    }
    free(workload->connection);
    free(workload->transfer);
    free(workload->instance);
    free(workload->host);
    free(workload->task);
    free(workload->host_transfer);
    free(workload->wake);
    free(workload->broke);
    free(workload->pair_slot); /* grown again by who adds communicators after the building */
    free(workload);
}

size_t workload_memory_bytes(const struct workload *workload)
{
    return workload->connection_capacity * sizeof(*workload->connection) +
           workload->transfer_capacity * (sizeof(*workload->transfer) + sizeof(uint32_t)) +
           workload->instance_capacity * sizeof(*workload->instance) + workload->tasks * sizeof(*workload->task) +
           workload->fabric->hosts * (sizeof(*workload->host) + sizeof(uint32_t)) + collectives_bytes(workload);
}
