/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creating, running and ending a simulation; see sim.h.
 *
 * All memory of the machines is one range: hosts, switches, then the rings of queue pairs in the order of connections.
 * Its size is known before any of them is made, so a run that would not fit is refused with the number (memory.c).
 */
#include "sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/units.h"
#include "engine/pages.h"
#include "fabric/fabric.h"
#include "sim/sim_int.h"

#define SYNC_LATENCY (2 * PS_US)
#define STORM_ENDS (10 * PS_S) /* after a pause without end began */

void *sim_take(struct sim *sim, size_t bytes)
{
    size_t at = sim->memory.used;

    CHECK(bytes <= sim->memory.bytes - at);
    sim->memory.used = at + lines_up(bytes);
    return sim->memory.at + at;
}

/* Memory is reserved before it is used: that much address space, though little of it may ever be touched. */
static void no_memory(const struct sim *sim, struct fabric_errors *errors)
{
    uint64_t packets = sim->options.packets_max ? sim->options.packets_max : SIM_PACKETS_MAX;
    uint64_t each = sizeof(struct pkt) + sizeof(pkt_t) * (1 + (uint64_t)sim->options.threads);
    char need[UNIT_TEXT];

    unit_format_short(UNIT_SIZE, sim->memory.bytes + packets * each, 3, need);
    fabric_errors_add(errors, (struct fabric_at){0},
                      "not enough memory: the run reserves about %s of address space; is it limited (ulimit -v)?",
                      need);
}

static int make_machines(struct sim *sim, struct fabric_errors *errors)
{
    struct plant_options options = {.seed = sim->options.seed, .rtt = sim->options.rtt};
    size_t switches = 0, hosts = 0;
    int error = plant_init(&sim->plant, sim->fabric, &options, errors);

    if (!error) error = sim_plan_switches(sim, &switches);
    if (!error) error = sim_plan_hosts(sim, &hosts, errors);
    if (!error) error = sim_check_memory(sim, switches + hosts, errors);
    if (error) return error;
    sim->memory.bytes = switches + hosts + 4096;
    sim->memory.at = pages_map(sim->memory.bytes);
    if (sim->memory.at == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < sim->fabric->hosts && !error; i++)
        error = sim_make_host(sim, i);
    if (error) return error;
    for (uint32_t i = 0; i < sim->fabric->switches; i++)
        sim_make_switch(sim, i);
    return sim_make_pairs(sim, errors);
}

void sim_wake_all(struct sim *sim, ps_t now)
{
    const struct fabric *fabric = sim->fabric;

    for (uint32_t i = 0; i < fabric->nodes; i++) {
        struct node *node = engine_node(sim->engine, i);
        if (i < fabric->hosts)
            sim_host_wake(&sim->host[i], node, now);
        else
            sim_switch_wake(&sim->sw[i - fabric->hosts], node, now);
        if (node->tick != EVENT_NEVER) engine_wake(sim->engine, i, event_time(node->tick));
    }
}

/* A port that pauses without end keeps time going without end: where the file names no end, here is one. */
static ps_t storm_end(const struct fabric *fabric)
{
    ps_t end = PS_NEVER;

    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (fault->kind == FABRIC_FAULT_PAUSE && fault->lasts_ps == PS_NEVER &&
            (end == PS_NEVER || fault->at > end - STORM_ENDS))
            end = ps_add(fault->at, STORM_ENDS);
    }
    return end;
}

/* Programs speak RoCEv2 and nothing else, on adapters that do. */
static int check_programs(const struct sim *sim, struct fabric_errors *errors)
{
    if (sim->options.programs == NULL || fabric_systems_used(sim->fabric) == FABRIC_SYSTEM(FABRIC_ROCEV2)) return 0;
    if (sim->fabric->system == FABRIC_ROCEV2) {
        fabric_errors_add(errors, sim->fabric->system_at,
                          "programs run on adapters of 'rocev2' alone, and a class of this file has another 'system'");
        return -EINVAL;
    }
    fabric_errors_add(errors, sim->fabric->system_at, "programs run on system 'rocev2' alone, not on '%s'",
                      fabric_system(sim->fabric)->name);
    return -EINVAL;
}

int sim_create(const struct fabric *fabric, const struct sim_options *options, struct sim **ret,
               struct fabric_errors *errors)
{
    struct sim *sim = calloc(1, sizeof(*sim));

    if (sim == NULL) return -ENOMEM;
    sim->fabric = fabric;
    sim->endpoint = sim_endpoint_of(fabric);
    sim->options = *options;
    if (sim->options.threads == 0) sim->options.threads = 1;
    sim->sync_latency = SYNC_LATENCY;
    sim->series_at = PS_NEVER;
    sim->until = options->until != PS_NEVER ? options->until : fabric->stop;
    if (sim->until == PS_NEVER) {
        sim->until = storm_end(fabric);
        sim->storm_ends = true;
    }
    sim->state = SIM_RUNNING;
    struct workload_options work = {.seed = options->seed, .sync_latency = sim->sync_latency};
    int error = check_programs(sim, errors);
    if (!error) error = sim_check_jobs(sim, errors);
    if (!error) error = workload_create(fabric, &work, &sim->workload, errors);
    if (!error) error = sim_events_create(sim);
    if (!error) error = make_machines(sim, errors);
    if (!error) error = sim_faults_build(sim);
    if (!error) error = sim_deadlock_init(sim);
    if (!error) error = sim_build_engine(sim, errors);
    sim->wake = error ? NULL : calloc(fabric->hosts + 1u, sizeof(*sim->wake));
    if (!error && sim->wake == NULL) error = -ENOMEM;
    if (error) {
        if (error == -ENOMEM && errors->count == 0) no_memory(sim, errors);
        sim_free(sim);
        return error;
    }
    sim_wake_all(sim, 0);
    *ret = sim;
    return 0;
}

void sim_free(struct sim *sim)
{
    if (sim == NULL) return;
    for (uint32_t i = 0; i < sim->captures; i++)
        sim_capture_drop(sim, i);
    free(sim->capture);
    engine_free(sim->engine);
    sim_events_free(sim);
    workload_free(sim->workload);
    pages_unmap(sim->memory.at, sim->memory.bytes);
    for (uint32_t i = 0; sim->sw && i < sim->fabric->switches; i++)
        pauses_free(&sim->sw[i]);
    for (uint32_t i = 0; sim->host && i < sim->fabric->hosts; i++)
        software_release(&sim->host[i]);
    sim_reroute_free(sim);
    sim_deadlock_free(sim);
    plant_release(&sim->plant);
    free(sim->sw);
    free(sim->host);
    free(sim->adapter);
    free(sim->connection);
    free(sim->pairs_at);
    free(sim->fault);
    free(sim->rtt_ns);
    free(sim->wake);
    free(sim);
}

/* Between windows: jobs end and begin. */
static bool coordinate(void *context, ps_t now)
{
    struct sim *sim = context;
    uint32_t count;

    while ((count = workload_coordinate(sim->workload, now, sim->wake, sim->fabric->hosts)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            struct sim_host *host = &sim->host[sim->wake[i]];
            ps_t at = workload_next(sim->workload, host->node.number);
            if (at == PS_NEVER) continue;
            sim_host_wake(host, engine_node(sim->engine, host->node.number), now);
            engine_wake(sim->engine, host->node.number, at < now ? now : at);
        }
    }
    if (sim->captures) sim_captures_write(sim, now);
    if (sim->events) sim_events_take(sim, now, false);
    bool programs_done =
        sim->options.programs == NULL || sim->options.programs->coordinate(sim->options.programs->owner, now);
    return workload_finished(sim->workload) && programs_done;
}

/*
 * The jobs are done, or were given up: whatever else is under way (CNPs, pauses, what was sent again needlessly) runs
 * on for as long as the longest window can be, from the end of the last job.  How far windows reached when the end was
 * noticed depends on tiles and threads; where the run stops must not.
 */
static enum sim_state finish(struct sim *sim)
{
    enum sim_state state = SIM_DONE;
    ps_t end = 0;

    for (uint32_t i = 0; i < workload_instances(sim->workload); i++) {
        const struct workload_instance *instance = workload_instance(sim->workload, i);
        ps_t one = instance->end != PS_NEVER ? instance->end : instance->failed;
        if (instance->end == PS_NEVER) state = SIM_FAILED;
        if (one > end) end = one;
    }
    if (sim_programs_end(sim) > end) end = sim_programs_end(sim);
    end += sim->sync_latency;
    if (end > sim->until) end = sim->until;
    if (end < engine_now(sim->engine)) end = engine_now(sim->engine); /* no job had anything to do */
    while (sim->series_at <= end) {
        engine_run(sim->engine, UINT64_MAX, sim->series_at, NULL, NULL);
        engine_pass_to(sim->engine, sim->series_at);
        sim_series_look(sim);
    }
    engine_run(sim->engine, UINT64_MAX, end, NULL, NULL);
    engine_pass_to(sim->engine, end);
    sim_deadlock_look(sim, end, 0);
    return state;
}

/* Some windows, and a look at who waits for whom, and at everything for a series, whenever that is due; sets
 * `ret_deadlock` where it ends the run. */
static enum engine_state run_watched(struct sim *sim, uint64_t windows, ps_t until, bool *ret_deadlock)
{
    struct deadlock_watch *watch = &sim->watch;

    for (;;) {
        ps_t stop = watch->next < until ? watch->next : until;
        if (sim->series_at < stop) stop = sim->series_at;
        uint64_t before = engine_windows(sim->engine);
        enum engine_state state = engine_run(sim->engine, windows, stop, coordinate, sim);
        if (state != ENGINE_UNTIL) return state;
        if (stop == sim->series_at) sim_series_look(sim);
        if (stop == watch->next) {
            bool found = sim_deadlock_look(sim, stop, DEADLOCK_HELD);
            watch->next = sim_deadlock_next(sim, stop);
            *ret_deadlock = found && !sim->options.keep_going;
        }
        if (*ret_deadlock || stop == until) return ENGINE_UNTIL;
        uint64_t ran = engine_windows(sim->engine) - before;
        if (ran >= windows) return ENGINE_RUNNING;
        windows -= ran;
    }
}

static void advance(struct sim *sim, uint64_t windows, ps_t until)
{
    bool deadlock = false;

    /* Jobs with nothing in them may be all there is: known now, not by how far the first window happens to reach. */
    if (engine_now(sim->engine) == 0 && coordinate(sim, 0)) {
        sim->state = finish(sim);
        return;
    }
    switch (run_watched(sim, windows, until, &deadlock)) {
    case ENGINE_STOPPED:
        sim->state = finish(sim);
        break;
    case ENGINE_UNTIL:
        if (until == sim->until && engine_now(sim->engine) >= until) sim_deadlock_look(sim, until, 0);
        sim->state = deadlock                                                                     ? SIM_DEADLOCK
                     : sim->storm_ends && until == sim->until && engine_now(sim->engine) >= until ? SIM_STUCK
                                                                                                  : SIM_UNTIL;
        break;
    case ENGINE_IDLE:
        if (sim->options.programs && !coordinate(sim, engine_now(sim->engine))) { /* they may have more */
            sim->idle = engine_next(sim->engine) == PS_NEVER;
            break;
        }
        /* Nobody has anything to do; unless a job with nothing in it was the last, somebody waits in vain. */
        sim->state = coordinate(sim, engine_totals(sim->engine).now) ? finish(sim) : SIM_STUCK;
        if (sim->state != SIM_STUCK) break;
        sim->idle = true;
        sim_deadlock_look(sim, engine_now(sim->engine), 0);
        if (sim->watch.holds) sim->state = SIM_DEADLOCK;
        break;
    case ENGINE_RUNNING:
        sim->state = SIM_RUNNING;
        break;
    }
}

enum sim_state sim_advance(struct sim *sim, uint64_t windows, ps_t until)
{
    if (sim->options.programs) sim->idle = false;
    if (sim->state != SIM_RUNNING && sim->state != SIM_UNTIL) return sim->state;
    advance(sim, windows, until < sim->until ? until : sim->until);
    bool over = sim->state != SIM_RUNNING && (sim->state != SIM_UNTIL || engine_now(sim->engine) >= sim->until);
    sim_events_take(sim, engine_now(sim->engine), over);
    return sim->state;
}

struct sim_progress sim_progress(const struct sim *sim)
{
    struct sim_progress progress = {
        .now = engine_now(sim->engine), .jobs = workload_instances(sim->workload), .idle = sim->idle};

    for (uint32_t i = 0; i < engine_workers(sim->engine); i++)
        progress.packet_hops += engine_worker(sim->engine, i)->hops;
    for (uint32_t i = 0; i < progress.jobs; i++)
        progress.jobs_done += workload_instance(sim->workload, i)->end != PS_NEVER;
    return progress;
}

uint64_t sim_digest(const struct sim *sim)
{
    return engine_totals(sim->engine).digest;
}

size_t sim_memory_bytes(const struct sim *sim)
{
    struct engine_totals totals = engine_totals(sim->engine);

    return sim->memory.used + workload_memory_bytes(sim->workload) + totals.memory_bytes + totals.packets_peak * 64 +
           software_bytes(sim);
}
