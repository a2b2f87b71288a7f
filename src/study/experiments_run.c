/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running an experiment: each run with each of its seeds, with stops at the moments its probes want to see something.
 * Each of these, and each number that is calculated and not simulated, is a point of the pool.
 *
 * Stopping changes nothing in a run: the engine ends a window at the moment asked for and goes on from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "fabric/fabric.h"
#include "load/load.h"
#include "plant/plant.h"
#include "study/clock.h"
#include "study/experiments.h"
#include "study/pool.h"

#define WINDOWS 65536
#define FILL_DEPTH 4 /* parameters within parameters; a circle ends here */

struct watch { /* of a probe during a run */
    const struct probe *probe;
    ps_t next;     /* when it wants to look; PS_NEVER: not any more */
    uint32_t port; /* of its queue */
    double *sample;
    size_t samples, capacity;
    uint64_t *before; /* [connections] bytes at FROM */
    double *goodput;  /* [connections] */
    size_t goodputs;
    bool begun;
};

struct session {
    const struct experiment *experiment;
    const struct experiment_run *run;
    const struct fabric *fabric;
    struct study_error *error;
    struct sim *sim;
    struct watch *watch;
    uint32_t watches;
    ps_t end; /* no stop at or after it */
};

static const struct parameter *find_parameter(const struct parameter *parameter, uint32_t count, const char *name,
                                              size_t length)
{
    for (uint32_t i = 0; i < count; i++)
        if (strlen(parameter[i].name) == length && memcmp(parameter[i].name, name, length) == 0) return &parameter[i];
    return NULL;
}

/* Writes a text with what its parameters stand for, and theirs; false after an error. */
static bool fill_in(const struct experiment *experiment, const struct experiment_run *run, const char *text, int depth,
                    FILE *out, struct study_error *error)
{
    for (const char *at = text;;) {
        size_t plain = strcspn(at, "$");
        fwrite(at, 1, plain, out);
        at += plain;
        if (*at == '\0') return true;
        bool braces = at[1] == '{';
        const char *name = at + 1 + braces;
        size_t named = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const struct parameter *parameter = find_parameter(run->parameter, run->parameters, name, named);
        if (parameter == NULL) parameter = find_parameter(experiment->part, experiment->parts, name, named);
        if (parameter == NULL || (braces && name[named] != '}')) {
            return study_fail(error, "%s: run '%s': no parameter '$%.*s'", experiment->path, run->name, (int)named,
                              name);
        }
        if (depth == FILL_DEPTH) {
            return study_fail(error, "%s: run '%s': '$%.*s' within parameters within parameters, %d deep",
                              experiment->path, run->name, (int)named, name, FILL_DEPTH);
        }
        if (!fill_in(experiment, run, parameter->text, depth + 1, out, error)) return false;
        at = name + named + braces;
    }
}

/* The fabric's text with its parameters; the caller's to free.  NULL after an error. */
static char *fabric_text(const struct experiment *experiment, const struct experiment_run *run,
                         struct study_error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool good = out && fill_in(experiment, run, run->fabric, 0, out, error);

    if (out == NULL || fclose(out) != 0) {
        good = study_fail(error, "%s: run '%s': not enough memory", experiment->path, run->name);
    }
    if (good) return text;
    free(text);
    return NULL;
}

static bool watch_begin(const struct session *session, struct watch *watch, const struct probe *probe)
{
    uint32_t connections = sim_connections(session->sim);

    *watch = (struct watch){.probe = probe, .next = PS_NEVER};
    if (probe->kind->queue) {
        watch->port = probe_port(probe, session->fabric);
        watch->capacity = (size_t)((probe->to - probe->from) / session->experiment->sample) + 2;
        watch->sample = calloc(watch->capacity, sizeof(*watch->sample));
        watch->next = probe->from;
        return watch->sample != NULL;
    }
    if (probe->kind->bytes) {
        watch->before = calloc(connections + 1u, sizeof(*watch->before));
        watch->goodput = calloc(connections + 1u, sizeof(*watch->goodput));
        watch->next = probe->from;
        return watch->before && watch->goodput;
    }
    return true;
}

static void look_at_queue(struct session *session, struct watch *watch)
{
    struct sim_sample now;

    sim_sample_port(session->sim, watch->port, &now);
    CHECK(watch->samples < watch->capacity);
    watch->sample[watch->samples++] = (double)now.queue_bytes;
    watch->next += session->experiment->sample;
    if (watch->next >= watch->probe->to) watch->next = PS_NEVER;
}

static void look_at_bytes(struct session *session, struct watch *watch)
{
    const struct probe *probe = watch->probe;
    uint32_t connections = sim_connections(session->sim);
    double span = (double)(probe->to - probe->from);

    for (uint32_t i = 0; i < connections; i++) {
        struct sim_connection_sample now;
        sim_sample_connection(session->sim, i, &now);
        if (!watch->begun) {
            watch->before[i] = now.acked_bytes;
            continue;
        }
        /* go-back-0 takes back what was acknowledged of a message: less than before is no progress */
        uint64_t bytes = now.acked_bytes > watch->before[i] ? now.acked_bytes - watch->before[i] : 0;
        if (probe_covers(probe, session->fabric, now.src, now.dst))
            watch->goodput[watch->goodputs++] = (double)bytes * 8e3 / span;
    }
    watch->next = watch->begun ? PS_NEVER : probe->to;
    watch->begun = true;
}

/* Those that wanted to look at `now` do. */
static void look(struct session *session, ps_t now)
{
    for (uint32_t i = 0; i < session->watches; i++) {
        struct watch *watch = &session->watch[i];
        while (watch->next <= now) {
            if (watch->probe->kind->queue)
                look_at_queue(session, watch);
            else
                look_at_bytes(session, watch);
        }
    }
}

static void run_through(struct session *session)
{
    for (;;) {
        ps_t next = PS_NEVER;
        for (uint32_t i = 0; i < session->watches; i++)
            if (session->watch[i].next < next) next = session->watch[i].next;
        if (next >= session->end) next = PS_NEVER;
        enum sim_state state = sim_advance(session->sim, WINDOWS, next);
        if (state == SIM_RUNNING) continue;
        if (state != SIM_UNTIL || next == PS_NEVER) break;
        look(session, next);
    }
    /* What was to be seen at the end or after it is as it is at the end. */
    look(session, PS_NEVER - 1);
}

struct reading { /* what a run showed a probe: a part of its row */
    uint64_t probe;
    double value;
};

static void read_off(struct session *session, const struct sim_result *result, FILE *to)
{
    for (uint32_t i = 0; i < session->watches; i++) {
        struct watch *watch = &session->watch[i];
        const struct probe *probe = watch->probe;
        const struct probe_seen seen = {.fabric = session->fabric,
                                        .result = result,
                                        .sample = watch->sample,
                                        .samples = watch->samples,
                                        .goodput = watch->goodput,
                                        .goodputs = watch->goodputs};
        const struct reading reading = {(uint64_t)(probe - session->experiment->probe),
                                        probe->kind->read(probe, &seen)};
        fwrite(&reading, sizeof reading, 1, to);
    }
}

static int begin_watches(struct session *session)
{
    const struct experiment *experiment = session->experiment;

    session->watch = calloc(experiment->probes + 1u, sizeof(*session->watch));
    for (uint32_t i = 0; i < experiment->probes; i++) {
        const struct probe *probe = &experiment->probe[i];
        if (probe->kind->calculate || &experiment->run[probe->run] != session->run) continue;
        const char *why = probe_bind(probe, session->fabric);
        if (why) {
            study_fail(session->error, "%s: %s: %s in run '%s'", experiment->path, probe->text, why,
                       session->run->name);
            return -EINVAL;
        }
        if (!watch_begin(session, &session->watch[session->watches++], probe)) return -ENOMEM;
    }
    return 0;
}

/* A row is packet-hops and then what probes read, as they are in memory: it is read by this very program, which the
 * cache sees to.  A letter before it tells it from an error. */
#define ROW 'r'
#define WRONG 'w'

static void end_watches(struct session *session)
{
    for (uint32_t i = 0; i < session->watches; i++) {
        free(session->watch[i].sample);
        free(session->watch[i].before);
        free(session->watch[i].goodput);
    }
    free(session->watch);
}

/* Writes the row of a run; false after an error. */
static bool simulate(struct session *session, uint64_t seed, FILE *to)
{
    const struct experiment *experiment = session->experiment;
    struct sim_options options = {.seed = seed, .threads = 1, .until = PS_NEVER, .keep_going = true};
    struct fabric_errors *errors = &session->error->loader;
    struct sim_result result;

    for (uint32_t i = 0; i < experiment->probes; i++) {
        const struct probe *probe = &experiment->probe[i];
        options.rtt |= probe->kind->rtt && &experiment->run[probe->run] == session->run;
    }
    int error = sim_create(session->fabric, &options, &session->sim, errors);
    if (error && errors->count == 0) study_fail(session->error, "%s: %s", session->fabric->path, strerror(-error));
    if (error) return false;
    error = begin_watches(session);
    if (!error) {
        run_through(session);
        error = sim_result(session->sim, &result);
    }
    if (!error) {
        fputc(ROW, to);
        fwrite(&result.packet_hops, sizeof result.packet_hops, 1, to);
        read_off(session, &result, to);
        sim_result_free(&result);
    }
    if (error == -ENOMEM)
        study_fail(session->error, "%s: not enough memory for what is to be measured", session->fabric->path);
    end_watches(session);
    sim_free(session->sim);
    return error == 0;
}

struct point {                        /* a run with a seed, or a probe that is calculated */
    const struct experiment_run *run; /* NULL: calculated */
    uint32_t probe;
    uint64_t seed;
};

struct execution {
    struct experiment *experiment;
    const struct experiment_options *options;
    struct point *point;
    uint32_t points;
    uint32_t wrong; /* the first point that has an error; UINT32_MAX: none */
    struct study_error *error;
};

struct making { /* of a row, in a process of its own */
    const struct experiment *experiment;
    const struct point *point;
    const struct fabric *fabric;
};

static bool make_row(const void *context, FILE *to)
{
    const struct making *making = context;
    const struct experiment *experiment = making->experiment;
    const struct point *point = making->point;
    struct study_error error = {0};

    if (point->run == NULL) {
        const struct probe *probe = &experiment->probe[point->probe];
        const uint64_t no_hops = 0;
        const struct reading reading = {point->probe, probe->kind->calculate(probe->count)};
        fputc(ROW, to);
        fwrite(&no_hops, sizeof no_hops, 1, to);
        fwrite(&reading, sizeof reading, 1, to);
        return true;
    }
    struct session session = {.experiment = experiment,
                              .run = point->run,
                              .fabric = making->fabric,
                              .error = &error,
                              .end = making->fabric->stop};
    if (simulate(&session, point->seed, to)) return true;
    fputc(WRONG, to);
    fwrite(&error, sizeof error, 1, to);
    return false;
}

/* Of all that is looked at in a point: with the fabric and the seed it is what makes its row. */
static uint64_t questions_hash(const struct experiment *experiment, const struct point *point)
{
    uint64_t hash = hash_bytes(HASH_BEGIN, "experiment", 11);

    hash = hash_bytes(hash, &experiment->sample, sizeof experiment->sample);
    for (uint32_t i = 0; i < experiment->probes; i++) {
        const struct probe *probe = &experiment->probe[i];
        bool asked =
            point->run ? !probe->kind->calculate && &experiment->run[probe->run] == point->run : i == point->probe;
        if (!asked) continue;
        hash = hash_bytes(hash, &i, sizeof i);
        hash = hash_bytes(hash, probe->text, strlen(probe->text) + 1);
    }
    return hash;
}

/* NULL after an error. */
static struct fabric *load(const struct experiment *experiment, const struct experiment_run *run,
                           struct study_error *error)
{
    const struct fabric_with with = {.judge = plant_judge_nic};
    struct fabric *fabric = NULL;
    char name[128];
    char *text = fabric_text(experiment, run, error);

    snprintf(name, sizeof name, "%s, run %s", experiment->id, run->name);
    if (text && fabric_load_with(name, text, &with, &fabric, &error->loader) != 0) fabric = NULL;
    free(text);
    return fabric;
}

static void run_point(const void *context, uint32_t index, FILE *to)
{
    const struct execution *execution = context;
    const struct experiment *experiment = execution->experiment;
    const struct point *point = &execution->point[index];
    struct study_error error = {0};
    struct fabric *fabric = point->run ? load(experiment, point->run, &error) : NULL;

    if (point->run && fabric == NULL) {
        fprintf(to, "%d%c", CACHE_MADE, WRONG);
        fwrite(&error, sizeof error, 1, to);
        return;
    }
    const struct making making = {experiment, point, fabric};
    const struct cache_key key = {
        .fabric = fabric ? fabric->source_hash : 0, .seed = point->seed, .options = questions_hash(experiment, point)};
    cache_row(execution->options->cache, &key, make_row, &making, to);
    fabric_free(fabric);
}

/* The error of the first point that has one is the experiment's. */
static void take_error(struct execution *execution, uint32_t index, const struct study_error *error, const char *why)
{
    const struct point *point = &execution->point[index];
    struct experiment *experiment = execution->experiment;
    char name[128];

    if (index >= execution->wrong) return;
    execution->wrong = index;
    *execution->error = error ? *error : (struct study_error){0};
    snprintf(name, sizeof name, "%s, run %s", experiment->id, point->run ? point->run->name : "");
    /* the path it had was the other process's */
    execution->error->loader.path = arena_strndup(&experiment->arena, name, strlen(name));
    if (error == NULL)
        study_fail(execution->error, "%s: %s", point->run ? name : experiment->probe[point->probe].text, why);
}

static bool take_row(void *context, uint32_t index, const struct pool_row *got)
{
    struct execution *execution = context;
    struct experiment *experiment = execution->experiment;
    const char *row = got->bytes;
    size_t length = got->length;
    struct reading reading;
    struct study_error error;
    uint64_t hops;

    if (got->why) {
        take_error(execution, index, NULL, got->why);
        return false;
    }
    enum cache_origin origin = cache_origin(&row, &length);
    execution->options->rows->of[origin]++;
    if (length == 1 + sizeof error && row[0] == WRONG) {
        memcpy(&error, row + 1, sizeof error);
        take_error(execution, index, &error, NULL);
        return false;
    }
    CHECK(length >= 1 + sizeof hops && row[0] == ROW);
    memcpy(&hops, row + 1, sizeof hops);
    experiment->packet_hops += hops;
    for (size_t at = 1 + sizeof hops; at + sizeof reading <= length; at += sizeof reading) {
        memcpy(&reading, row + at, sizeof reading);
        CHECK(reading.probe < experiment->probes);
        experiment->probe[reading.probe].value[execution->point[index].seed - 1] = reading.value;
    }
    return origin == CACHE_FOUND;
}

static bool list_points(struct execution *execution)
{
    struct experiment *experiment = execution->experiment;
    uint32_t most = experiment->probes, seeds = execution->options->seeds;

    CHECK(seeds <= EXPERIMENT_SEEDS);
    for (uint32_t i = 0; seeds && i < experiment->runs; i++)
        experiment->run[i].seeds = seeds;
    for (uint32_t i = 0; i < experiment->runs; i++)
        most += experiment->run[i].seeds;
    execution->point = calloc(most + 1u, sizeof *execution->point);
    for (uint32_t i = 0; i < experiment->probes; i++) {
        struct probe *probe = &experiment->probe[i];
        probe->values = probe->kind->calculate ? 1 : experiment->run[probe->run].seeds;
        if (probe->kind->calculate) execution->point[execution->points++] = (struct point){.probe = i, .seed = 1};
    }
    for (uint32_t i = 0; i < experiment->runs; i++)
        for (uint32_t seed = 1; seed <= experiment->run[i].seeds; seed++)
            execution->point[execution->points++] = (struct point){.run = &experiment->run[i], .seed = seed};
    return true;
}

int experiment_execute(struct experiment *experiment, const struct experiment_options *options,
                       struct study_error *error)
{
    struct execution execution = {.experiment = experiment, .options = options, .wrong = UINT32_MAX, .error = error};
    uint64_t begun_ns = clock_now_ns();
    struct pool_done done;

    if (!list_points(&execution)) return -ENOMEM;
    const struct pool_work work = {.points = execution.points,
                                   .at_once = options->jobs,
                                   .noun = "runs",
                                   .quiet = options->quiet,
                                   .stopped = options->stopped,
                                   .context = &execution,
                                   .run = run_point,
                                   .take = take_row,
                                   .error = error};
    bool good = pool_run(&work, &done);
    free(execution.point);
    experiment->wall_us = (clock_now_ns() - begun_ns) / 1000;
    if (good && execution.wrong == UINT32_MAX) return 0;
    return *options->stopped ? -EINTR : -EINVAL;
}
