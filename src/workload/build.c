/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From jobs to arrays: instances, connections, transfers, rings, and each host's list of what is its own.
 *
 * All of it is made at set-up, so that a run allocates nothing.  A connection between the same two endpoints in the
 * same class is used again by later jobs, as a program keeps its queue pairs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
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

static uint64_t pair_hash(uint32_t src, uint32_t dst, uint32_t job_class, uint32_t number)
{
    uint64_t hash = ((uint64_t)src << 32 | dst) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ hash >> 29 ^ ((uint64_t)job_class << 32 | number)) * 0xbf58476d1ce4e5b9ULL;
    return hash ^ hash >> 32;
}

/* Twice as large, everything entered again. */
static void pairs_grow(struct workload *workload)
{
    uint32_t slots = workload->pair_slot ? (workload->pair_mask + 1) * 2 : 1024;
    uint32_t *slot = malloc(slots * sizeof(*slot));

    if (slot == NULL) {
        workload->failed = true;
        return;
    }
    memset(slot, 0xff, slots * sizeof(*slot));
    free(workload->pair_slot);
    workload->pair_slot = slot;
    workload->pair_mask = slots - 1;
    for (uint32_t i = 0; i < workload->connections; i++) {
        const struct workload_connection *c = &workload->connection[i];
        if (c->out_ring != WORKLOAD_NONE) continue;
        uint64_t at = pair_hash(c->src, c->dst, c->job_class, c->number);
        while (slot[at & workload->pair_mask] != WORKLOAD_NONE)
            at++;
        slot[at & workload->pair_mask] = i;
    }
}

uint32_t workload_add_connection(struct workload *workload, uint32_t src, uint32_t dst, uint32_t job_class)
{
    workload->connection = workload_grow(workload->connection, workload->connections, &workload->connection_capacity,
                                         sizeof(*workload->connection), &workload->failed);
    if (workload->failed) return 0;
    workload->connection[workload->connections] = (struct workload_connection){.src = src,
                                                                               .dst = dst,
                                                                               .job_class = job_class,
                                                                               .out_ring = WORKLOAD_NONE,
                                                                               .in_ring = WORKLOAD_NONE,
                                                                               .first_waiting = WORKLOAD_NONE,
                                                                               .last_waiting = WORKLOAD_NONE};
    return workload->connections++;
}

uint32_t workload_pair(struct workload *workload, uint32_t src, uint32_t dst, uint32_t job_class, uint32_t number)
{
    if (workload->pair_slot == NULL || workload->connections * 2 > workload->pair_mask) pairs_grow(workload);
    if (workload->failed) return 0;
    uint64_t at = pair_hash(src, dst, job_class, number);
    for (uint32_t found; (found = workload->pair_slot[at & workload->pair_mask]) != WORKLOAD_NONE; at++) {
        const struct workload_connection *c = &workload->connection[found];
        if (c->src == src && c->dst == dst && c->job_class == job_class && c->number == number) return found;
    }
    uint32_t made = workload_add_connection(workload, src, dst, job_class);
    if (workload->failed) return 0;
    workload->connection[made].number = number;
    workload->pair_slot[at & workload->pair_mask] = made;
    return made;
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
                                                                         .then = WORKLOAD_NONE};
    workload->instance[instance].bytes += bytes;
    return workload->transfers++;
}

static bool is_collective(const struct fabric_job *job)
{
    return job->kind == FABRIC_JOB_ALLREDUCE || job->kind == FABRIC_JOB_REDUCESCATTER ||
           job->kind == FABRIC_JOB_ALLGATHER;
}

static int build_instance(struct workload *workload, uint32_t job_index, uint32_t repetition, uint32_t after,
                          struct fabric_errors *errors)
{
    const struct fabric_job *job = &workload->fabric->job[job_index];

    workload->instance = workload_grow(workload->instance, workload->instances, &workload->instance_capacity,
                                       sizeof(*workload->instance), &workload->failed);
    if (workload->failed) return -ENOMEM;
    uint32_t index = workload->instances++;
    struct workload_instance *instance = &workload->instance[index];
    *instance = (struct workload_instance){.job = job_index,
                                           .repetition = repetition,
                                           .ranks = job->ranks,
                                           .start = PS_NEVER,
                                           .end = PS_NEVER,
                                           .after = after,
                                           .delay = repetition ? job->gap_ps : job->at,
                                           .first_transfer = workload->transfers,
                                           .first_ring = workload->rings};
    if (is_collective(job)) {
        if (repetition) {
            *instance = workload->instance[index - 1];
            instance->repetition = repetition;
            instance->start = PS_NEVER;
            instance->after = after;
            instance->delay = job->gap_ps;
        } else {
            int error = rings_build(workload, index, errors);
            if (error) return error;
            instance = &workload->instance[index];
        }
        instance->bytes = job->size_bytes;
        instance->remaining = instance->rings;
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
        uint32_t repeat = job->repeat ? job->repeat : 1;
        for (uint32_t r = 0; r < repeat && !error; r++) {
            error = build_instance(workload, i, r, after, errors);
            after = workload->instances - 1;
        }
        last[i] = after;
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

/* The tasks of one instance: one for each host that has transfers or rings in it, entered in order of host. */
static int build_tasks_of(struct workload *workload, uint32_t index, struct by_offset *sorted, uint32_t *task_capacity,
                          uint32_t *task_host, uint32_t *ring_slot)
{
    struct workload_instance *instance = &workload->instance[index];
    bool collective = instance->rings > 0;
    uint32_t count = collective ? instance->rings : instance->transfers;
    uint32_t first = collective ? instance->first_ring : instance->first_transfer;

    for (uint32_t i = 0; i < count; i++)
        sorted[i] =
            (struct by_offset){.transfer = first + i,
                               .host = collective ? workload->ring[first + i].host : transfer_host(workload, first + i),
                               .offset = collective ? 0 : workload->transfer[first + i].offset};
    qsort(sorted, count, sizeof(*sorted), compare_by_offset);
    for (uint32_t i = 0; i < count;) {
        uint32_t host = sorted[i].host, end = i;
        while (end < count && sorted[end].host == host)
            end++;
        bool failed = false;
        workload->task =
            workload_grow(workload->task, workload->tasks, task_capacity, sizeof(*workload->task), &failed);
        if (failed) return -ENOMEM;
        struct host_task task = {.instance = index, .host = host};
        if (collective) {
            task.first_ring = *ring_slot;
            task.rings = end - i;
            for (uint32_t k = i; k < end; k++)
                workload->host_ring[(*ring_slot)++] = sorted[k].transfer;
        } else {
            task.next = first + i;
            task.end = first + end;
            for (uint32_t k = i; k < end; k++)
                workload->host_transfer[first + k] = sorted[k].transfer;
        }
        workload->task[workload->tasks++] = task;
        task_host[host]++;
        i = end;
    }
    return 0;
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

static int build_locals(struct workload *workload)
{
    uint32_t *count = calloc(workload->fabric->hosts + 1, sizeof(*count));
    size_t total = 0;

    if (count == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < workload->rings; i++) {
        if (workload->ring[i].connections) continue;
        count[workload->ring[i].host] += WORKLOAD_DEPTH;
        total += WORKLOAD_DEPTH;
    }
    workload->local_items = calloc(total + 1, sizeof(*workload->local_items));
    if (workload->local_items) {
        struct heap_item *at = workload->local_items;
        for (uint32_t h = 0; h < workload->fabric->hosts; h++) {
            heap_init(&workload->host[h].local, at, count[h]);
            at += count[h];
        }
    }
    free(count);
    return workload->local_items ? 0 : -ENOMEM;
}

static int build_hosts(struct workload *workload)
{
    uint32_t hosts = workload->fabric->hosts, task_capacity = 0, ring_slot = 0;
    uint64_t most = 1, ring_slots = 1;

    for (uint32_t i = 0; i < workload->instances; i++) {
        const struct workload_instance *instance = &workload->instance[i];
        uint32_t count = instance->rings ? instance->rings : instance->transfers;
        if (count > most) most = count;
        ring_slots += instance->rings;
    }
    struct by_offset *sorted = calloc(most, sizeof(*sorted));
    uint32_t *tasks_of = calloc(hosts + 1, sizeof(*tasks_of));
    workload->host = calloc(hosts + 1, sizeof(*workload->host));
    workload->host_transfer = calloc(workload->transfers + 1, sizeof(uint32_t));
    workload->host_ring = calloc(ring_slots, sizeof(uint32_t));
    workload->wake = calloc(hosts + 1, sizeof(uint32_t));
    int error = 0;
    if (!sorted || !tasks_of || !workload->host || !workload->host_transfer || !workload->host_ring || !workload->wake)
        error = -ENOMEM;
    for (uint32_t i = 0; i < workload->instances && !error; i++)
        error = build_tasks_of(workload, i, sorted, &task_capacity, tasks_of, &ring_slot);
    if (!error) error = tasks_by_host(workload, tasks_of);
    if (!error) error = build_locals(workload);
    free(sorted);
    free(tasks_of);
    return error;
}

int workload_create(const struct fabric *fabric, const struct workload_options *options, struct workload **ret,
                    struct fabric_errors *errors)
{
    struct workload *workload = calloc(1, sizeof(*workload));

    if (workload == NULL) return -ENOMEM;
    workload->fabric = fabric;
    workload->options = *options;
    int error = build_jobs(workload, errors);
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
    free(workload->connection);
    free(workload->transfer);
    free(workload->instance);
    free(workload->ring);
    free(workload->host);
    free(workload->task);
    free(workload->host_transfer);
    free(workload->host_ring);
    free(workload->wake);
    free(workload->local_items);
    free(workload);
}

size_t workload_memory_bytes(const struct workload *workload)
{
    return workload->connection_capacity * sizeof(*workload->connection) +
           workload->transfer_capacity * (sizeof(*workload->transfer) + sizeof(uint32_t)) +
           workload->instance_capacity * sizeof(*workload->instance) +
           workload->ring_capacity * sizeof(*workload->ring) + workload->tasks * sizeof(*workload->task) +
           workload->fabric->hosts * (sizeof(*workload->host) + sizeof(uint32_t));
}
