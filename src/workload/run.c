/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload at run time: each host's state machine, and the coordinator.
 *
 * Two numbers are shared by hosts, which may be on different threads: how many parts of an instance are not
 * finished, and when the last one was.  Both are changed by operations that commute (subtract, maximum), and read
 * between windows.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/grow.h"
#include "fabric/bus_factor.h"
#include "fabric/fabric.h"
#include "workload/workload_int.h"

#define PART_BYTES (1ULL << 30) /* of a transfer; a message may have 2^31 at most */

void instance_part_done(struct workload *workload, uint32_t index, ps_t now)
{
    struct workload_instance *instance = &workload->instance[index];
    ps_t seen = __atomic_load_n(&instance->last, __ATOMIC_RELAXED);

    while (now > seen &&
           !__atomic_compare_exchange_n(&instance->last, &seen, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    uint64_t before = __atomic_fetch_sub(&instance->remaining, 1, __ATOMIC_RELAXED);
    CHECK(before > 0);
}

void host_event(struct workload *workload, uint32_t host, ps_t at, uint64_t id)
{
    struct heap *events = &workload->host[host].events;

    CHECK(GROW(events->item, events->count, events->capacity));
    CHECK(heap_push(events, at, id));
}

void host_tell(struct workload *workload, uint32_t host, const struct coll_program *program, uint64_t token)
{
    struct workload_host *own = &workload->host[host];

    CHECK(GROW(own->done, own->dones, own->done_capacity));
    own->done[own->dones++] = (struct host_done){.program = program, .token = token};
}

/* Before a call for a host returns: slots given back within it, and programs that wait to be told. */
static void host_settle(struct workload *workload, uint32_t host, ps_t now, struct app_out *out)
{
    struct workload_host *own = &workload->host[host];

    lanes_settle(workload, host, now, out);
    for (uint32_t i = 0; i < own->dones; i++) {
        struct host_done done = own->done[i]; /* the list may move while it is told */
        done.program->done(workload, host, done.token, now, out);
        lanes_settle(workload, host, now, out);
    }
    own->dones = 0;
}

/* Posts parts of the transfer while the connection takes any; false: some are left. */
static bool transfer_post(struct workload *workload, uint32_t index, struct app_out *out)
{
    struct workload_transfer *transfer = &workload->transfer[index];
    struct workload_connection *connection = &workload->connection[transfer->connection];

    while (transfer->unposted && connection->posted - connection->done < connection->depth) {
        if (out->posts == APP_POSTS) {
            out->more = true;
            return false;
        }
        uint64_t part = transfer->unposted < PART_BYTES ? transfer->unposted : PART_BYTES;
        out->post[out->posts++] = (struct app_post){.connection = transfer->connection,
                                                    .bytes = part,
                                                    .tag = index,
                                                    .imm = part == transfer->unposted ? index : WORKLOAD_NONE};
        transfer->unposted -= part;
        transfer->parts++;
        connection->posted++;
    }
    return transfer->unposted == 0;
}

static void transfer_start(struct workload *workload, uint32_t index, ps_t at, struct app_out *out)
{
    struct workload_transfer *transfer = &workload->transfer[index];
    struct workload_connection *connection = &workload->connection[transfer->connection];

    transfer->start = at;
    transfer->unposted = transfer->bytes;
    if (connection->first_waiting == WORKLOAD_NONE && transfer_post(workload, index, out)) return;
    if (connection->first_waiting == WORKLOAD_NONE)
        connection->first_waiting = index;
    else
        workload->transfer[connection->last_waiting].next = index;
    connection->last_waiting = index;
}

void transfer_begin(struct workload *workload, uint32_t index, ps_t now, struct app_out *out)
{
    CHECK(out->posts < APP_POSTS);
    transfer_start(workload, index, now, out);
}

/* Those that have waited for a transfer, `first` and so on, each at its time. */
static void release(struct workload *workload, uint32_t host, uint32_t first, ps_t now)
{
    for (uint32_t i = first; i != WORKLOAD_NONE; i = workload->transfer[i].beside)
        host_event(workload, host, ps_add(now, workload->transfer[i].delay), EVENT_ID(EVENT_TRANSFER, 0, i));
}

void transfer_due(struct workload *workload, uint32_t host, uint32_t index, ps_t now, struct app_out *out)
{
    if (out->posts < APP_POSTS) {
        transfer_start(workload, index, now, out);
        return;
    }
    host_event(workload, host, now, EVENT_ID(EVENT_TRANSFER, 0, index));
    out->more = true;
}

static void connection_post_waiting(struct workload *workload, struct workload_connection *connection,
                                    struct app_out *out)
{
    while (connection->first_waiting != WORKLOAD_NONE) {
        uint32_t index = connection->first_waiting;
        if (!transfer_post(workload, index, out)) return;
        connection->first_waiting = workload->transfer[index].next;
        workload->transfer[index].next = WORKLOAD_NONE;
    }
}

static ps_t task_next(const struct workload *workload, const struct host_task *task)
{
    const struct workload_instance *instance = &workload->instance[task->instance];

    if (instance->start == PS_NEVER || task->next == task->end) return PS_NEVER;
    if (instance->coll != WORKLOAD_NONE) return ps_add(instance->start, workload->fabric->gpu_launch_ps);
    if (instance->train != WORKLOAD_NONE) return instance->start;
    /* Those that wait for another have no time, and stand last. */
    return ps_add(instance->start, workload->transfer[workload->host_transfer[task->next]].offset);
}

ps_t workload_next(const struct workload *workload, uint32_t host)
{
    const struct workload_host *own = &workload->host[host];
    ps_t next = heap_next(&own->events);

    for (uint32_t i = own->live; i < own->tasks; i++) {
        ps_t at = task_next(workload, &workload->task[own->first_task + i]);
        if (at < next) next = at;
    }
    return next;
}

static void task_run(struct workload *workload, struct host_task *task, uint32_t host, ps_t now, struct app_out *out)
{
    uint32_t coll = workload->instance[task->instance].coll, train = workload->instance[task->instance].train;

    if (coll != WORKLOAD_NONE || train != WORKLOAD_NONE) {
        while (coll != WORKLOAD_NONE && task->next < task->end)
            comm_start_at(workload, coll, task->next++, task->instance, now, out);
        while (task->next < task->end)
            train_start(workload, train, task->next++, now, out);
        host_settle(workload, host, now, out);
        return;
    }
    while (task_next(workload, task) <= now && !out->more) {
        if (out->posts == APP_POSTS) {
            out->more = true;
            return;
        }
        transfer_start(workload, workload->host_transfer[task->next++], now, out);
    }
}

void workload_timer(struct workload *workload, uint32_t host, ps_t now, struct app_out *out)
{
    struct workload_host *own = &workload->host[host];

    out->more = false;
    if (own->stalled != WORKLOAD_NONE) pipes_resume(workload, host, out);
    while (heap_next(&own->events) <= now && !out->more) {
        struct heap_item item;
        heap_pop(&own->events, &item);
        pipe_event(workload, host, item.id, now, out);
        host_settle(workload, host, now, out);
    }
    for (uint32_t i = own->live; i < own->tasks && !out->more; i++) {
        struct host_task *task = &workload->task[own->first_task + i];
        if (task_next(workload, task) <= now) task_run(workload, task, host, now, out);
    }
    /* Tasks that are over, at the front: the list of a host with many repetitions stays short. */
    while (own->live < own->tasks) {
        const struct host_task *task = &workload->task[own->first_task + own->live];
        if (task->next != task->end) break;
        own->live++;
    }
}

void workload_sent(struct workload *workload, uint32_t host, uint32_t index, uint32_t tag, bool good, ps_t now,
                   struct app_out *out)
{
    struct workload_connection *connection = &workload->connection[index];

    if (connection->kind != WORKLOAD_TRANSFERS) {
        if (!good) {
            pipe_failed(workload, index, tag, now);
            return;
        }
        pipe_sent(workload, host, index, tag, now, out);
        host_settle(workload, host, now, out);
        return;
    }
    struct workload_transfer *transfer = &workload->transfer[tag];
    CHECK(transfer->parts > 0 && transfer->connection == index);
    connection->done++;
    transfer->parts--;
    transfer->failed |= !good;
    if (transfer->parts == 0 && transfer->unposted == 0) {
        transfer->end = now;
        instance_part_done(workload, transfer->instance, now);
        release(workload, host, transfer->completes, now);
        if (transfer->then != WORKLOAD_NONE) transfer_start(workload, transfer->then, now, out);
    }
    connection_post_waiting(workload, connection, out);
}

void workload_received(struct workload *workload, uint32_t host, uint32_t connection, uint32_t imm, ps_t now,
                       struct app_out *out)
{
    if (workload->connection[connection].kind == WORKLOAD_TRANSFERS) {
        if (imm < workload->transfers) release(workload, host, workload->transfer[imm].arrives, now);
        return;
    }
    pipe_received(workload, host, connection, imm, now, out);
    host_settle(workload, host, now, out);
}

/* Every host that has a task in the instance is to look at its time again. */
static void wake_hosts(struct workload *workload, uint32_t instance)
{
    for (uint32_t h = 0; h < workload->fabric->hosts; h++) {
        const struct workload_host *own = &workload->host[h];
        for (uint32_t i = own->live; i < own->tasks; i++) {
            if (workload->task[own->first_task + i].instance != instance) continue;
            if (workload->wakes < workload->fabric->hosts) workload->wake[workload->wakes++] = h;
            break;
        }
    }
}

static bool is_over(const struct workload_instance *instance)
{
    return instance->end != PS_NEVER || instance->failed != PS_NEVER;
}

/*
 * An instance whose communicator has lost a queue pair is given up, as NCCL aborts: what it waits for may never come.
 * It has ended if it ended before that.  Both times are known between windows, however long those are, so neither
 * threads nor tiles decide which it is.
 */
static void instance_settle(struct workload *workload, struct workload_instance *instance, ps_t now)
{
    ps_t broke = __atomic_load_n(&workload->broke[instance->job], __ATOMIC_RELAXED);
    /* A job with nothing in it ends when it starts; no host has an event for it that would bring that time,
     * nor one that would bring whoever waits for it here in time: it ends in the call that starts it. */
    bool empty = instance->transfers == 0 && instance->coll == WORKLOAD_NONE && instance->train == WORKLOAD_NONE;
    ps_t end = PS_NEVER;

    if ((instance->start <= now || empty) && instance->remaining == 0)
        end = instance->last > instance->start ? instance->last : instance->start;
    if (broke < end)
        instance->failed = broke > instance->start ? broke : instance->start;
    else
        instance->end = end;
}

uint32_t workload_coordinate(struct workload *workload, ps_t now, uint32_t *ret_hosts, uint32_t capacity)
{
    if (workload->wakes == 0) {
        for (uint32_t i = workload->first_unfinished; i < workload->instances; i++) {
            struct workload_instance *instance = &workload->instance[i];
            const struct workload_instance *before =
                instance->start == PS_NEVER && !is_over(instance) ? &workload->instance[instance->after] : NULL;
            if (before && before->end != PS_NEVER) {
                ps_t wait =
                    instance->delay > workload->options.sync_latency ? instance->delay : workload->options.sync_latency;
                instance->start = ps_add(before->end, wait);
                CHECK(instance->start >= now);
                wake_hosts(workload, i);
            } else if (before) {
                instance->failed = before->failed; /* it will never begin */
            }
            if (instance->start != PS_NEVER && !is_over(instance)) instance_settle(workload, instance, now);
            if (workload->wakes) break; /* the others in a later call: the list has room for each host once */
        }
        while (workload->first_unfinished < workload->instances &&
               is_over(&workload->instance[workload->first_unfinished]))
            workload->first_unfinished++;
    }
    uint32_t count = workload->wakes < capacity ? workload->wakes : capacity;
    for (uint32_t i = 0; i < count; i++)
        ret_hosts[i] = workload->wake[--workload->wakes];
    return count;
}

bool workload_finished(const struct workload *workload)
{
    return workload->first_unfinished == workload->instances;
}

uint32_t workload_connections(const struct workload *workload)
{
    return workload->connections;
}

const struct workload_connection *workload_connection(const struct workload *workload, uint32_t connection)
{
    CHECK(connection < workload->connections);
    return &workload->connection[connection];
}

uint32_t workload_instances(const struct workload *workload)
{
    return workload->instances;
}

const struct workload_instance *workload_instance(const struct workload *workload, uint32_t instance)
{
    CHECK(instance < workload->instances);
    return &workload->instance[instance];
}

uint32_t workload_transfers(const struct workload *workload)
{
    return workload->transfers;
}

const struct workload_transfer *workload_transfer(const struct workload *workload, uint32_t transfer)
{
    CHECK(transfer < workload->transfers);
    return &workload->transfer[transfer];
}

void workload_bus_factor(const struct workload *workload, uint32_t index, uint64_t *ret_num, uint64_t *ret_den)
{
    const struct workload_instance *instance = &workload->instance[index];

    fabric_bus_factor((enum fabric_job_kind)workload->fabric->job[instance->job].kind, instance->ranks, ret_num,
                      ret_den);
}
