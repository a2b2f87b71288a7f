/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a run: a ring for each node and one for what concerns all, emptied into the caller's log between great
 * windows.
 *
 * Everything before `now` has been run when a log is filled, so what is taken out is later than all that was taken
 * before, and the order of the log (time, node, sequence) depends on neither windows nor threads.  What is known ahead
 * of its time, as the start of a job is, waits until that time is over.  Rings grow by what a window needs: a node that
 * nothing happens to has no memory for it.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/fabric.h"
#include "record/event.h"
#include "sim/sim_int.h"
#include "workload/training/train.h"

#define RING_FIRST 64u
#define RING_MOST (1u << 20) /* of a node, between two great windows */

struct job_told { /* of an instance of a job */
    bool begun, over;
    uint32_t steps, rank; /* steps of training that were told; ranks before this one have ended the next */
};

struct sim_events {
    struct record_ring *ring;     /* [nodes + 1]; the last is of no node */
    struct record_ring **pointer; /* to each of them */
    uint32_t rings;
    struct job_told *told; /* [instances] */
    uint32_t first_open;   /* instances before it are over and told */
};

static bool grow(struct record_ring *ring)
{
    uint32_t room = ring->room ? ring->room * 2 : RING_FIRST;

    if (room > RING_MOST) return false;
    struct record_event *event = realloc(ring->event, room * sizeof(*event));
    if (event == NULL) return false;
    ring->event = event;
    ring->room = room;
    return true;
}

int sim_events_create(struct sim *sim)
{
    struct sim_events *events;

    if (sim->options.events == NULL) return 0;
    events = sim->events = calloc(1, sizeof(*events));
    if (events == NULL) return -ENOMEM;
    events->rings = sim->fabric->nodes + 1;
    events->ring = calloc(events->rings, sizeof(*events->ring));
    events->pointer = calloc(events->rings, sizeof(struct record_ring *));
    events->told = calloc(workload_instances(sim->workload) + 1u, sizeof(*events->told));
    if (!events->ring || !events->pointer || !events->told) return -ENOMEM;
    for (uint32_t i = 0; i < events->rings; i++) {
        events->ring[i] = (struct record_ring){
            .kinds = sim->options.event_kinds, .node = i < sim->fabric->nodes ? i : UINT32_MAX, .grow = grow};
        events->pointer[i] = &events->ring[i];
    }
    return 0;
}

void sim_events_free(struct sim *sim)
{
    struct sim_events *events = sim->events;

    if (events == NULL) return;
    for (uint32_t i = 0; events->ring && i < events->rings; i++)
        free(events->ring[i].event);
    free(events->ring);
    free(events->pointer);
    free(events->told);
    free(events);
}

struct record_ring *sim_events_of(const struct sim *sim, uint32_t node)
{
    return sim->events ? &sim->events->ring[node] : NULL;
}

const char *sim_status_name(unsigned status)
{
    return nic_status_name(status);
}

static void note_job(struct sim_events *events, enum record_event_kind kind, uint32_t job, uint32_t number, ps_t at)
{
    record_note(&events->ring[events->rings - 1], (struct record_event){.at = at,
                                                                        .a = job,
                                                                        .b = number,
                                                                        .port = RECORD_NO_PORT,
                                                                        .priority = RECORD_NO_PRIORITY,
                                                                        .kind = (uint8_t)kind});
}

/* What began or ended before `before` and was not told yet. */
static void note_instance(struct sim *sim, uint32_t index, ps_t before)
{
    const struct workload_instance *instance = workload_instance(sim->workload, index);
    struct sim_events *events = sim->events;
    struct job_told *told = &events->told[index];
    ps_t end;

    if (!told->begun && instance->start < before) {
        told->begun = true;
        note_job(events, RECORD_JOB_BEGIN, instance->job, instance->repetition, instance->start);
    }
    while (told->begun && instance->train != WORKLOAD_NONE &&
           workload_step_ended(sim->workload, index, told->steps, &told->rank, &end) && end <= instance->failed) {
        note_job(events, RECORD_STEP_END, instance->job, told->steps, end);
        told->steps++;
        told->rank = 0;
    }
    if (!told->over && instance->end < before) {
        told->over = true;
        note_job(events, RECORD_JOB_END, instance->job, instance->repetition, instance->end);
    }
    if (instance->failed < before) told->over = true; /* given up: it has no end */
}

static void note_jobs(struct sim *sim, ps_t before)
{
    struct sim_events *events = sim->events;
    uint32_t instances = workload_instances(sim->workload);

    for (uint32_t i = events->first_open; i < instances; i++)
        if (!events->told[i].over) note_instance(sim, i, before);
    while (events->first_open < instances && events->told[events->first_open].over)
        events->first_open++;
}

void sim_events_take(struct sim *sim, ps_t now, bool last)
{
    struct record_log *log = sim->options.events;
    struct sim_events *events = sim->events;

    if (events == NULL) return;
    note_jobs(sim, last ? ps_add(now, 1) : now);
    if (record_log_take(log, events->pointer, events->rings) == 0) return;
    for (uint32_t i = 0; i < events->rings; i++) { /* no memory */
        log->lost += events->ring[i].lost + events->ring[i].count;
        events->ring[i].lost = events->ring[i].count = 0;
    }
}
