/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running an experiment: each run with each of its seeds, with stops at the moments its probes want to see something.
 *
 * Stopping changes nothing in a run: the engine ends a window at the moment asked for and goes on from there.  The
 * clock is read for wall_us alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "plant/plant.h"
#include "study/experiments.h"

#define WINDOWS 4096 /* between two looks whether somebody wants to stop */

#define FILL_DEPTH 4 /* parameters within parameters; a circle ends here */

struct watch { /* of a probe during a run */
    struct probe *probe;
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
    const volatile sig_atomic_t *stopped;
    struct study_error *error;
    struct sim *sim;
    struct watch *watch;
    uint32_t watches;
    ps_t end; /* no stop at or after it */
};

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

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

static bool watch_begin(const struct session *session, struct watch *watch, struct probe *probe)
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

/* False: it was stopped. */
static bool run_through(struct session *session)
{
    for (;;) {
        ps_t next = PS_NEVER;
        for (uint32_t i = 0; i < session->watches; i++)
            if (session->watch[i].next < next) next = session->watch[i].next;
        if (next >= session->end) next = PS_NEVER;
        enum sim_state state = sim_advance(session->sim, WINDOWS, next);
        if (*session->stopped) return false;
        if (state == SIM_RUNNING) continue;
        if (state != SIM_UNTIL || next == PS_NEVER) break;
        look(session, next);
    }
    /* What was to be seen at the end or after it is as it is at the end. */
    look(session, PS_NEVER - 1);
    return true;
}

static void read_off(struct session *session, const struct sim_result *result)
{
    for (uint32_t i = 0; i < session->watches; i++) {
        struct watch *watch = &session->watch[i];
        struct probe *probe = watch->probe;
        const struct probe_seen seen = {.fabric = session->fabric,
                                        .result = result,
                                        .sample = watch->sample,
                                        .samples = watch->samples,
                                        .goodput = watch->goodput,
                                        .goodputs = watch->goodputs};
        CHECK(probe->values < EXPERIMENT_SEEDS);
        probe->value[probe->values++] = probe->kind->read(probe, &seen);
    }
}

static int begin_watches(struct experiment *experiment, struct session *session)
{
    session->watch = calloc(experiment->probes + 1u, sizeof(*session->watch));
    if (session->watch == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < experiment->probes; i++) {
        struct probe *probe = &experiment->probe[i];
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

static int simulate(struct experiment *experiment, struct session *session, uint64_t seed)
{
    const struct experiment_run *run = session->run;
    const struct fabric *fabric = session->fabric;
    struct sim_options options = {.seed = seed, .threads = 1, .until = PS_NEVER, .keep_going = true};
    struct fabric_errors *errors = &session->error->loader;
    struct sim_result result;

    for (uint32_t i = 0; i < experiment->probes; i++) {
        const struct probe *probe = &experiment->probe[i];
        options.rtt |= probe->kind->rtt && &experiment->run[probe->run] == run;
    }
    int error = sim_create(fabric, &options, &session->sim, errors);
    if (error) {
        if (errors->count == 0) study_fail(session->error, "%s: %s", errors->path, strerror(-error));
        return error;
    }
    error = begin_watches(experiment, session);
    if (!error && !run_through(session)) error = -EINTR;
    if (!error) error = sim_result(session->sim, &result);
    if (!error) {
        read_off(session, &result);
        experiment->packet_hops += result.packet_hops;
        sim_result_free(&result);
    }
    if (error == -ENOMEM) study_fail(session->error, "%s: not enough memory for what is to be measured", errors->path);
    for (uint32_t i = 0; i < session->watches; i++) {
        free(session->watch[i].sample);
        free(session->watch[i].before);
        free(session->watch[i].goodput);
    }
    free(session->watch);
    sim_free(session->sim);
    return error;
}

static int run_seeds(struct experiment *experiment, const struct experiment_run *run,
                     const volatile sig_atomic_t *stopped, struct study_error *error_of)
{
    const struct fabric_with with = {.judge = plant_judge_nic};
    struct fabric *fabric = NULL;
    char name[128];
    char *text = fabric_text(experiment, run, error_of);
    int error = 0;

    if (text == NULL) return -EINVAL;
    snprintf(name, sizeof name, "%s, run %s", experiment->id, run->name);
    error = fabric_load_with(name, text, &with, &fabric, &error_of->loader);
    error_of->loader.path = arena_strndup(&experiment->arena, name, strlen(name)); /* outlives the fabric */
    for (uint64_t seed = 1; !error && seed <= run->seeds; seed++) {
        struct session session = {.experiment = experiment,
                                  .run = run,
                                  .fabric = fabric,
                                  .stopped = stopped,
                                  .error = error_of,
                                  .end = fabric->stop};
        error = simulate(experiment, &session, seed);
    }
    fabric_free(fabric);
    free(text);
    return error;
}

int experiment_execute(struct experiment *experiment, const volatile sig_atomic_t *stopped,
                       struct study_error *error_of)
{
    uint64_t begun = now_us();
    int error = 0;

    for (uint32_t i = 0; i < experiment->probes; i++) {
        struct probe *probe = &experiment->probe[i];
        if (probe->kind->calculate == NULL) continue;
        probe->value[0] = probe->kind->calculate(probe->count);
        probe->values = 1;
    }
    for (uint32_t i = 0; !error && i < experiment->runs; i++)
        error = run_seeds(experiment, &experiment->run[i], stopped, error_of);
    experiment->wall_us = now_us() - begun;
    return error;
}
