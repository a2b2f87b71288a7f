/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidth and latency of perftest on a cluster's hosts: held against a signed baseline, and gathered for one.
 *
 * Outputs of one program, host and message size are runs of one thing: their median counts.  perftest's latency is half
 * of a round trip (ib_read_lat and ib_atomic_lat: a whole one), in microseconds; asked for cycles (-C) it prints cycles
 * under the same title.  Of -a the largest message is looked at.
 *
 * How fast an adapter and its processor are no fabric file says, so without a baseline a latency has a lower bound
 * alone: light in the cable of its host, and the message's bits at that line's rate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/baseline.h"
#include "fabric/fabric.h"
#include "validate/measured/measured.h"

struct group {                  /* outputs of one program, host and message size */
    uint32_t job;               /* the first of them */
    const char *program, *host; /* host NULL: in no host's folder */
    uint64_t bytes;
    bool time;
    uint32_t outputs;
    double median;                     /* bits a second, or picoseconds */
    const struct evidence_value *from; /* the output that has it, or the nearest */
};

struct groups {
    struct group *of;
    uint32_t count;
};

/* Its figure; NULL: no output of perftest whose program is known. */
static const struct evidence_value *figure_of(const struct evidence *evidence, uint32_t job)
{
    const char *program = evidence->object[job].program;

    if (!program || strncmp(program, "ib_", 3) != 0) return NULL;
    return evidence_find(evidence, job, EVIDENCE_NO_PRIORITY,
                         strstr(program, "_lat") ? EVIDENCE_JOB_NS : EVIDENCE_BUSBW);
}

static double in_rows_unit(const struct evidence_value *figure)
{
    return figure->counter == EVIDENCE_JOB_NS ? figure->real * (double)PS_NS : figure->real * 8;
}

static uint64_t bytes_of(const struct evidence *evidence, uint32_t job)
{
    return evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_MESSAGE_BYTES);
}

static bool is_in(const struct evidence *evidence, uint32_t job, const struct group *group)
{
    const struct evidence_object *one = &evidence->object[job], *first = &evidence->object[group->job];

    return one->host == first->host && bytes_of(evidence, job) == group->bytes &&
           strcmp(one->program, group->program) == 0;
}

static int compare(const void *a, const void *b)
{
    double one = in_rows_unit(*(const struct evidence_value *const *)a),
           other = in_rows_unit(*(const struct evidence_value *const *)b);

    return one < other ? -1 : one > other;
}

/* The group's figure from those of its outputs. */
static void take_median(const struct evidence *evidence, struct group *group, const struct evidence_value **figure)
{
    group->outputs = 0;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        const struct evidence_value *one = figure_of(evidence, job);
        if (one && is_in(evidence, job, group)) figure[group->outputs++] = one;
    }
    qsort(figure, group->outputs, sizeof *figure, compare);
    group->from = figure[group->outputs / 2];
    group->median = (in_rows_unit(group->from) + in_rows_unit(figure[(group->outputs - 1) / 2])) / 2;
}

static struct groups find_groups(const struct evidence *evidence, struct arena *arena)
{
    uint32_t jobs = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job) jobs++;
    const struct evidence_value **figure = ARENA_NEW(arena, const struct evidence_value *, jobs + 1u);
    struct groups groups = {.of = ARENA_NEW(arena, struct group, jobs + 1u)};
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        const struct evidence_object *object = &evidence->object[job];
        const struct evidence_value *one = figure_of(evidence, job);
        uint32_t at = 0;
        if (!one) continue;
        while (at < groups.count && !is_in(evidence, job, &groups.of[at]))
            at++;
        if (at < groups.count) continue;
        groups.of[groups.count++] =
            (struct group){.job = job,
                           .program = object->program,
                           .host = object->host == EVIDENCE_NONE ? NULL : evidence->object[object->host].name,
                           .bytes = bytes_of(evidence, job),
                           .time = one->counter == EVIDENCE_JOB_NS};
    }
    for (uint32_t i = 0; i < groups.count; i++)
        take_median(evidence, &groups.of[i], figure);
    return groups;
}

void measured_programs(const struct measured *measured, struct arena *arena, struct diagnose_baseline *ret)
{
    struct groups groups = find_groups(&measured->evidence, arena);
    struct diagnose_baseline_program *program =
        ARENA_NEW(arena, struct diagnose_baseline_program, groups.count ? groups.count : 1);

    for (uint32_t i = 0; i < groups.count; i++) {
        const struct group *group = &groups.of[i];
        program[ret->measureds++] =
            (struct diagnose_baseline_program){.program = group->program,
                                               .host = group->host,
                                               .message_bytes = group->bytes,
                                               .rate_bps = group->time ? 0 : group->median,
                                               .latency_ns = group->time ? group->median / (double)PS_NS : 0};
    }
    ret->measured = program;
}

/* --- rows: one for each program and message size, of the worst host --- */

static bool alike(const struct group *one, const struct group *other)
{
    return one->bytes == other->bytes && strcmp(one->program, other->program) == 0;
}

static struct validate_finding finding_of(const struct group *group)
{
    return (struct validate_finding){.criterion = group->time ? CRITERION_LIVE_LATENCY : CRITERION_LIVE_RATE,
                                     .unit = group->time ? VALIDATE_TIME : VALIDATE_RATE,
                                     .value = group->median,
                                     .job = group->program,
                                     .host = group->host,
                                     .bytes = group->bytes};
}

/* "ib_write_lat of 8B, the worst of 2 hosts, h1: latency" */
static const char *subject_of(const struct validate_case *of, const struct group *group, uint32_t hosts,
                              const char *what)
{
    const char *many = hosts > 1 ? case_text(of, "the worst of %u hosts, ", hosts) : "";
    const char *runs = group->outputs > 1 ? case_text(of, ", median of %u outputs", group->outputs) : "";

    return case_text(of, "%s of %s, %s%.100s: %s%s", group->program,
                     case_number(of, VALIDATE_BYTES, (double)group->bytes), many,
                     group->host ? group->host : "a host that is not known", what, runs);
}

static double stored_of(const struct validate_case *of, const struct group *group)
{
    const struct diagnose_baseline *baseline = of->plan->baseline;
    const struct validate_finding finding = finding_of(group);

    return baseline ? baseline_figure(baseline->measured, baseline->measureds, &finding) : 0;
}

/* Of those that the baseline has, the one that is worst against it. */
static void judge_stored(struct validate_case *of, const struct groups *groups, const struct group *like)
{
    const struct group *worst = NULL, *unknown = NULL;
    uint32_t known = 0, missing = 0;
    double most = 0;

    for (uint32_t i = 0; i < groups->count; i++) {
        const struct group *group = &groups->of[i];
        if (!alike(group, like)) continue;
        double base = stored_of(of, group);
        double loss = base <= 0 ? 0 : group->time ? group->median / base : base / group->median;
        known += base > 0;
        if (base <= 0 && !missing++) unknown = group;
        if (loss <= most) continue;
        most = loss;
        worst = group;
    }
    if (worst) {
        struct validate_finding finding = finding_of(worst);
        finding.subject = subject_of(of, worst, known,
                                     worst->time ? "latency against the baseline" : "bandwidth against the baseline");
        finding.why = worst->time ? "it was better when the baseline was signed; figures that are thousands of times "
                                    "larger are cycles (-C of perftest)"
                                  : "it was better when the baseline was signed";
        finding.source = measured_at(of, worst->from->file, worst->from->line);
        baseline_hold(of, &finding, stored_of(of, worst), "");
    }
    if (!missing) return;
    const char *subject = case_text(of, "%s of %s against the baseline", like->program,
                                    case_number(of, VALIDATE_BYTES, (double)like->bytes));
    validate_skip(of, subject,
                  "the baseline has no figure of it on %.100s%s: --measured DIR --write-baseline FILE "
                  "--by NAME keeps it",
                  unknown->host ? unknown->host : "a host that is not known", missing > 1 ? " and others" : "");
}

/* Picoseconds that light and bits take; 0: whose line it is, or its cable, is not known. */
static double least_time(const struct validate_case *of, const struct group *group)
{
    uint32_t endpoint = measured_endpoint(of, group->job);
    bool both_ways = strstr(group->program, "_read_") || strstr(group->program, "_atomic_");

    if (endpoint == FABRIC_NONE) return 0;
    const struct fabric_port *port = &of->fabric->port[of->fabric->endpoint[endpoint].port];
    return (double)port->propagation_ps * (both_ways ? 2 : 1) +
           (double)group->bytes * 8 * (double)PS_S / (double)port->rate_bps;
}

/* Of all hosts the one nearest to the bound; then the largest, which only a baseline can judge. */
static void judge_latency(struct validate_case *of, const struct groups *groups, const struct group *like)
{
    const struct group *nearest = NULL, *slowest = NULL;
    double least = INFINITY;
    uint32_t hosts = 0, bounded = 0;

    for (uint32_t i = 0; i < groups->count; i++) {
        const struct group *group = &groups->of[i];
        if (!alike(group, like)) continue;
        hosts++;
        if (!slowest || group->median > slowest->median) slowest = group;
        double bound = least_time(of, group);
        if (bound <= 0) continue;
        bounded++;
        if (group->median / bound >= least) continue;
        least = group->median / bound;
        nearest = group;
    }
    if (nearest) {
        struct validate_finding finding = finding_of(nearest);
        finding.subject = subject_of(of, nearest, bounded, "latency against what light and bits take");
        finding.criterion = CRITERION_LATENCY_LEAST;
        finding.base = least_time(of, nearest);
        finding.of = "light in the host's cable and the message's bits at line rate";
        finding.why =
            "no adapter is that fast: the file has a longer cable or a lower rate than there is, or the output "
            "is of another host";
        finding.job = NULL;
        finding.source = measured_at(of, nearest->from->file, nearest->from->line);
        validate_judge(of, &finding);
    }
    if (of->plan->baseline) return;
    struct validate_finding finding = finding_of(slowest);
    finding.subject = subject_of(of, slowest, hosts, "latency");
    finding.source = measured_at(of, slowest->from->file, slowest->from->line);
    baseline_hold(of, &finding, 0,
                  of->plan->signer ? "a baseline is written with it, and none was given to hold it against"
                                   : "how fast adapters and processors are no fabric file says: --measured DIR "
                                     "--write-baseline FILE --by NAME keeps a good day, --baseline FILE holds "
                                     "others against it");
}

void measured_figures(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    struct groups groups = find_groups(evidence, of->arena);
    uint32_t unnamed = 0;

    for (uint32_t i = 0; i < groups.count; i++) {
        uint32_t first = 0;
        while (!alike(&groups.of[first], &groups.of[i]))
            first++;
        if (first < i) continue;
        if (groups.of[i].time) judge_latency(of, &groups, &groups.of[i]);
        if (of->plan->baseline) judge_stored(of, &groups, &groups.of[i]);
    }
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    unnamed += !evidence->object[job].program && strncmp(evidence->object[job].name, "perftest", 8) == 0;
    if (unnamed)
        validate_skip(of, "other outputs of perftest",
                      "which program it was the output does not say: keep its title, as 'RDMA_Write Latency Test'");
}
