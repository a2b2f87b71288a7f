/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other traffic and failures that a setting is tried under: the file's jobs with other sizes and loads, each of them
 * alone, traffic of other kinds, and links down.  With --robust the search goes by most of them (traffic of other kinds
 * only where the file has a single job, and one link of each kind); without, they only say how far the answer is one
 * for this traffic alone.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune_int.h"

#include "fabric/fabric.h"

#define SCENARIOS 512
#define ALONE 3 /* jobs that are tried alone at most */
#define FLOWS 1000.0
#define HADOOP_BYTES 134e3 /* of the mean flow */
#define STORAGE_BYTES 41e3

static struct tune_scenario *add_scenario(struct tune *tune, const char *name, bool searched)
{
    struct tune_scenario *scenario = &tune->scenario[tune->scenarios];

    if (tune->scenarios == SCENARIOS) return NULL;
    *scenario = (struct tune_scenario){
        .only = FABRIC_NONE, .size_milli = 1000, .port = FABRIC_NONE, .searched = searched && tune->robust};
    snprintf(scenario->name, sizeof scenario->name, "%s", name);
    tune->scenarios++;
    return scenario;
}

static void add_loads(struct tune *tune)
{
    struct tune_scenario *half = add_scenario(tune, "half the sizes and loads", true);
    struct tune_scenario *more = add_scenario(tune, "sizes and loads x1.5", true);

    if (half) half->size_milli = 500;
    if (more) more->size_milli = 1500;
}

static void add_alone(struct tune *tune)
{
    const struct fabric *fabric = tune->fabric;
    char name[TUNE_TEXT];

    for (uint32_t j = 0; fabric->jobs > 1 && j < fabric->jobs && j < ALONE; j++) {
        snprintf(name, sizeof name, "%.40s alone", fabric->job[j].name);
        struct tune_scenario *alone = add_scenario(tune, name, true);
        if (alone) alone->only = j;
        if (alone) alone->foreign = true;
    }
}

/* How long arrivals at `load` of all lines take until there are FLOWS of them. */
static unsigned long long window_us(const struct fabric *fabric, double mean_bytes, double load)
{
    double sum_bps = 0;

    for (uint32_t e = 0; e < fabric->endpoints; e++)
        sum_bps += (double)fabric->port[e].rate_bps;
    return (unsigned long long)(1e6 * FLOWS * 8 * mean_bytes / (load * (sum_bps > 1e9 ? sum_bps : 1e9))) + 50;
}

__attribute__((format(printf, 3, 4))) static void add_jobs(struct tune *tune, const char *name, const char *jobs, ...)
{
    struct tune_scenario *scenario = add_scenario(tune, name, tune->fabric->jobs == 1);
    va_list args;

    if (scenario == NULL) return;
    char *text = ARENA_NEW(&tune->arena, char, TUNE_PATH);
    va_start(args, jobs);
    vsnprintf(text, TUNE_PATH, jobs, args);
    va_end(args);
    scenario->jobs = text;
    scenario->foreign = true;
}

/* Traffic of other kinds than the file's. */
static void add_foreign(struct tune *tune)
{
    const struct fabric *fabric = tune->fabric;
    uint32_t senders = fabric->endpoints / 2 < 16 ? fabric->endpoints / 2 : 16;
    uint32_t ranks = fabric->endpoints < 32 ? fabric->endpoints : 32;
    uint8_t own = fabric->jobs == 1 ? fabric->job[0].kind : FABRIC_JOB_KINDS;

    if (fabric->endpoints < 4) return;
    if (own != FABRIC_JOB_INCAST) add_jobs(tune, "incast", "[{incast: %u, size: 500KB, repeat: 4}]", senders);
    if (own != FABRIC_JOB_PERMUTATION) add_jobs(tune, "permutation", "[{permutation: random, size: 2MB}]");
    if (own != FABRIC_JOB_ALL_TO_ALL)
        add_jobs(tune, "all to all", "[{all-to-all: at-once, size: 1MB, ranks: %u}]", ranks);
    add_jobs(tune, "Hadoop's flows at 40%", "[{poisson: {sizes: hadoop, load: 40%%, until: %lluus}}]",
             window_us(fabric, HADOOP_BYTES, 0.4));
    add_jobs(tune, "storage's flows at 60%", "[{poisson: {sizes: storage, load: 60%%, until: %lluus}}]",
             window_us(fabric, STORAGE_BYTES, 0.6));
}

/* A link between switches, at one of its ends. */
static bool is_link(const struct fabric *fabric, uint32_t p)
{
    const struct fabric_port *port = &fabric->port[p];

    return port->peer != FABRIC_NONE && port->peer > p && port->up && fabric->port[port->peer].up;
}

/* Links between switches of the same two roles are of one kind: the search takes one of each, the verdict with --robust
 * all, or as many as the budget has room for, evenly. */
static void add_failures(struct tune *tune)
{
    const struct fabric *fabric = tune->fabric;
    uint32_t kinds = 0, links = 0, number = 0, taken = 0, room = tune->runs / (8 * TUNE_PROBE_SEEDS);
    char name[FABRIC_NAME], text[2 * FABRIC_NAME];

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++)
        links += is_link(fabric, p);
    if (room > SCENARIOS / 2) room = SCENARIOS / 2;
    if (room > links) room = links;
    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        if (!is_link(fabric, p)) continue;
        uint8_t a = fabric->node[fabric->port[p].node].role;
        uint8_t b = fabric->node[fabric->port[fabric->port[p].peer].node].role;
        uint32_t kind = 1u << ((a * FABRIC_ROLES + b) % 32);
        uint64_t before = (uint64_t)number * room / links, after = (uint64_t)(number + 1) * room / links;
        number++;
        if (kinds & kind && (!tune->robust || before == after)) continue;
        snprintf(text, sizeof text, "%s down", fabric_port_name(fabric, p, name));
        struct tune_scenario *scenario = add_scenario(tune, text, !(kinds & kind));
        if (scenario) scenario->port = p;
        kinds |= kind;
        taken++;
    }
    tune->links = links;
    tune->links_tried = taken;
}

bool scenarios_make(struct tune *tune)
{
    tune->scenario = ARENA_NEW(&tune->arena, struct tune_scenario, SCENARIOS);
    add_scenario(tune, "the file as it is", true)->searched = true;
    add_loads(tune);
    add_alone(tune);
    add_foreign(tune);
    add_failures(tune);
    for (uint32_t i = 0; i < tune->scenarios; i++)
        tune->searched_scenarios += tune->scenario[i].searched;
    return true;
}

static uint64_t scaled(uint64_t value, uint32_t milli)
{
    uint64_t result = value / 1000 * milli + value % 1000 * milli / 1000;
    return value && result == 0 ? 1 : result;
}

static bool scale_job(struct fabric *fabric, struct fabric_job *job, uint32_t milli)
{
    uint64_t *sizes = job->size_count ? ARENA_NEW(&fabric->arena, uint64_t, job->size_count) : NULL;
    struct fabric_flow *flow = job->flows ? ARENA_NEW(&fabric->arena, struct fabric_flow, job->flows) : NULL;

    if ((job->size_count && !sizes) || (job->flows && !flow)) return false;
    job->size_bytes = scaled(job->size_bytes, milli);
    for (uint32_t i = 0; i < job->size_count; i++)
        sizes[i] = scaled(job->sizes[i], milli);
    if (sizes) job->sizes = sizes;
    for (uint32_t i = 0; i < job->flows; i++) {
        flow[i] = job->flow[i];
        flow[i].bytes = scaled(flow[i].bytes, milli);
    }
    if (flow) job->flow = flow;
    job->load_ppm = (uint32_t)scaled(job->load_ppm, milli);
    if (job->load_ppm > 950000) job->load_ppm = 950000; /* more would never end */
    return true;
}

bool scenario_apply(const struct tune_scenario *scenario, struct fabric *fabric, ps_t at, struct fabric_errors *errors)
{
    struct fabric_job *job = ARENA_NEW(&fabric->arena, struct fabric_job, fabric->jobs + 1u);
    char text[FABRIC_NAME + 8], name[FABRIC_NAME];
    bool good = job != NULL;

    for (uint32_t j = 0; good && j < fabric->jobs; j++) {
        job[j] = fabric->job[j];
        if (scenario->size_milli != 1000) good = scale_job(fabric, &job[j], scenario->size_milli);
    }
    if (good && scenario->only != FABRIC_NONE && scenario->only < fabric->jobs) {
        job[0] = job[scenario->only];
        job[0].after = FABRIC_NONE;
        fabric->jobs = 1;
    }
    if (good) fabric->job = job;
    if (!good || scenario->port == FABRIC_NONE) return good;
    if (!fabric->converge.on) fabric->converge = (struct fabric_converge)FABRIC_CONVERGE_USUAL;
    snprintf(text, sizeof text, "down %s", fabric_port_name(fabric, scenario->port, name));
    return fabric_faults_add(fabric, text, at, errors) == 0;
}
