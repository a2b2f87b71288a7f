/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fails in a fabric, how often, and what that does: links and switches run one by one with the file's jobs.
 *
 * A failure lasts for hours and a run for milliseconds, so runs are of the state after it: the link or switch is down
 * from the start and routes have followed.  What the moment of the failure costs (packets, a timeout) is nothing over
 * weeks.  Links between the same roles, and switches of a role, fare alike: where a sample of them is run, it stands
 * for all.
 */
#include <stdio.h>
#include <string.h>

#include "fabric/copper.h"
#include "fabric/fabric.h"
#include "study/each.h"
#include "validate/weeks.h"

#define PPM 1e6

static const char *const role_names[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

/* Of one kind of link or switch: what its failures did. */
struct effect {
    uint32_t ran, stopped, slowed;
    double slowdown; /* sum, of those that did not stop it */
};

/* NULL: there are none of them, or no room for more kinds than a fabric has. */
static struct weeks_source *add_source(struct weeks *weeks, enum rate_part part, uint64_t parts, const char *where)
{
    struct weeks_source *source = &weeks->source[weeks->sources];
    const struct fabric_rate *rate = &weeks->reliability.rate[part];

    if (parts == 0 || weeks->sources == WEEKS_SOURCES) return NULL;
    weeks->sources++;
    *source = (struct weeks_source){.part = part,
                                    .parts = parts,
                                    .stops = 1,
                                    .slowdown = 1,
                                    .failures_a_year = (double)rate->failures_ppm / PPM,
                                    .repair_s = (double)rate->repair_ps / (double)PS_S};
    snprintf(source->name, sizeof source->name, "%s%s%s", rate_infos[part].name, where[0] ? ", " : "", where);
    return source;
}

static void apply(struct weeks_source *source, const struct effect *effect)
{
    if (!source || effect->ran == 0) return;
    source->simulated = effect->ran;
    source->stops = (double)effect->stopped / effect->ran;
    source->slowdown = effect->slowed ? effect->slowdown / effect->slowed : 1;
}

static void add_hosts(const struct fabric *fabric, struct weeks *weeks)
{
    uint64_t hosts = 0, nics = 0;

    for (uint32_t h = 0; h < fabric->hosts; h++)
        if (fabric->node[h].gpus) hosts++;
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        if (fabric->node[fabric->endpoint[e].host].gpus) nics++;
    if (hosts == 0) { /* a file that does not speak of GPUs */
        hosts = fabric->hosts;
        nics = fabric->endpoints;
    }
    add_source(weeks, RATE_GPU, fabric->gpus, "");
    add_source(weeks, RATE_HOST, hosts, "");
    add_source(weeks, RATE_SOFTWARE, weeks->gpus, "");
    add_source(weeks, RATE_NIC, nics, "");
}

static void add_links(const struct fabric *fabric, const struct effect *effect, struct weeks *weeks)
{
    uint64_t copper[EACH_KINDS] = {0}, optical[EACH_KINDS] = {0};

    for (uint32_t p = 0; p < fabric->ports; p++) {
        if (!each_is_link(fabric, p)) continue;
        uint32_t kind = each_kind(fabric, fabric->port[p].node, p);
        (fabric_copper(fabric, p) ? copper : optical)[kind]++;
    }
    for (uint32_t k = 0; k < EACH_KINDS; k++) {
        char where[WEEKS_NAME];
        if (copper[k] + optical[k] == 0) continue;
        snprintf(where, sizeof where, "%s to %s", role_names[k % FABRIC_ROLES], role_names[k / FABRIC_ROLES]);
        apply(add_source(weeks, RATE_OPTIC, 2 * optical[k], where), &effect[k]);
        apply(add_source(weeks, RATE_COPPER, copper[k], where), &effect[k]);
    }
}

static void add_switches(const struct fabric *fabric, const struct effect *effect, struct weeks *weeks)
{
    for (uint32_t r = 0; r < FABRIC_ROLES; r++) {
        uint64_t count = 0;
        for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
            count += fabric->node[n].role == r;
        apply(add_source(weeks, RATE_SWITCH, count, role_names[r]), &effect[FABRIC_ROLES * FABRIC_ROLES + r]);
    }
}

/* Each failure of one sort, and what it did, by kind.  False after an error, or when *stopped. */
static bool run_each(const struct fabric *fabric, const struct weeks_options *options, enum each_what what,
                     struct effect *effect, struct study_error *error)
{
    const struct each_options run = {.what = what,
                                     .at = 0,
                                     .lasts_ps = PS_NEVER,
                                     .sample = options->sample,
                                     .sim = {.seed = options->seed, .until = PS_NEVER, .threads = options->threads},
                                     .quiet = options->quiet,
                                     .stopped = options->stopped};
    struct each each = {.options = &run, .fabric = fabric, .cache = options->cache, .seeds = 1, .error = error};
    bool good = each_run(&each);

    if (!good && each.one && each.one[0].why[0] && !error->count && !error->loader.count)
        study_fail(error, "the jobs do not complete without a failure: %s", each.one[0].why);
    for (uint32_t t = 1; good && t < each.count; t++) {
        const struct each_one *one = &each.one[t];
        struct effect *of = &effect[each_kind(fabric, one->node, one->port)];
        of->ran++;
        of->stopped += !one->completed;
        if (!one->completed) continue;
        of->slowed++;
        of->slowdown += one->time_ps > each.one[0].time_ps ? (double)one->time_ps / (double)each.one[0].time_ps : 1;
    }
    each_release(&each);
    return good;
}

bool weeks_run(const struct fabric *fabric, const struct weeks_options *options, struct weeks *ret,
               struct study_error *error)
{
    struct fabric settled = *fabric;
    struct effect effect[EACH_KINDS] = {0};

    if (fabric->jobs == 0) return study_fail(error, "--weeks: the file has no job whose time a failure could cost");
    settled.converge = (struct fabric_converge){.on = true};
    *ret = (struct weeks){.weeks = options->weeks,
                          .seed = options->seed,
                          .gpus = fabric->gpus ? fabric->gpus : fabric->endpoints,
                          .reliability = fabric->operations.reliability};
    if (!run_each(&settled, options, EACH_LINK, effect, error)) return false;
    if (fabric->switches && !run_each(&settled, options, EACH_SWITCH, effect, error)) return false;
    add_hosts(fabric, ret);
    add_links(fabric, effect, ret);
    add_switches(fabric, effect, ret);
    weeks_compute(ret);
    return true;
}
