/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of a run (outcome.h), from its result alone.
 *
 * The repetitions and sizes of a job are held together against their ideal times: the sum of the ones over the sum of
 * the others.
 */
#include "report/diagnosis/outcome.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "jobs/training.h"

#define NAMES_SHOWN 3

const struct outcome_kind outcome_kind[OUTCOME_IDS] = {
#define OUTCOME(id, name, alias, severity, title) {name, alias, title, OUTCOME_##severity},
#include "report/diagnosis/outcome.def"
#undef OUTCOME
};

static struct outcome *add_outcome(struct outcomes *to, enum outcome_id id)
{
    static const uint32_t first_room = 8;

    if (to->count == to->room) {
        uint32_t room = to->room ? 2 * to->room : first_room;
        struct outcome *more = realloc(to->list, room * sizeof *more);
        to->failed |= !more;
        if (!more) return NULL;
        to->list = more;
        to->room = room;
    }
    to->list[to->count] = (struct outcome){.id = id, .job = FABRIC_NONE};
    return &to->list[to->count++];
}

__attribute__((format(printf, 2, 3))) static void say(struct outcome *outcome, const char *format, ...)
{
    va_list args;

    if (!outcome) return;
    size_t used = strlen(outcome->what);
    va_start(args, format);
    vsnprintf(outcome->what + used, sizeof outcome->what - used, format, args);
    va_end(args);
}

static void name_ends(struct outcome *outcome, const struct fabric *fabric, uint32_t src, uint32_t dst)
{
    if (!outcome) return;
    outcome->object[0] = fabric->endpoint[src].port;
    outcome->object[1] = fabric->endpoint[dst].port;
    outcome->objects = 2;
}

/* --- what stopped it --- */

/* The first job that is given up, or the first that has begun and not ended. */
static uint32_t first_job(const struct sim_result *result, bool failed)
{
    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (failed ? job->failed : job->start != PS_NEVER && job->end == PS_NEVER) return job->job;
    }
    return FABRIC_NONE;
}

static bool of_program(const struct up_flow_result *flow, const struct up_program *program)
{
    return flow->pid == program->pid && program->pid != 0;
}

static bool at_host(const struct sim_report *report, uint32_t endpoint, const struct up_program *program)
{
    const struct fabric *fabric = report->fabric;

    return endpoint != UINT32_MAX &&
           strcmp(fabric->node[fabric->port[fabric->endpoint[endpoint].port].node].name, program->host) == 0;
}

/* A program that has ended and had a queue pair with this one's host, or this one with its; NULL: none is known. */
static const struct up_program *ended_peer(const struct sim_report *report, const struct up_program *waits)
{
    for (uint32_t i = 0; i < report->programs; i++) {
        const struct up_program *ended = &report->program[i];
        for (uint32_t f = 0; ended->end != PS_NEVER && f < report->program_flows; f++) {
            const struct up_flow_result *flow = &report->program_flow[f];
            if (of_program(flow, ended) && at_host(report, flow->peer, waits)) return ended;
            if (of_program(flow, waits) && at_host(report, flow->peer, ended)) return ended;
        }
    }
    return NULL;
}

/* Programs wait though no job does: the first, and who will not answer it. */
static void programs_stuck(struct outcome *outcome, const struct sim_report *report)
{
    const struct up_program *waits = NULL;
    char at[TEXT_COUNT];
    uint32_t more = 0;

    for (uint32_t i = 0; i < report->programs; i++) {
        if (report->program[i].end != PS_NEVER) continue;
        if (waits == NULL)
            waits = &report->program[i];
        else
            more++;
    }
    if (waits == NULL) {
        say(outcome, "jobs are unfinished, and no event is left");
        return;
    }
    say(outcome, "%s: '%s' waits, and no event is left", waits->host, waits->command);
    const struct up_program *ended = ended_peer(report, waits);
    if (ended)
        say(outcome, "; its peer on %s, '%s', ended at %s", ended->host, ended->command, text_ps(ended->end, at));
    if (ended && ended->exit >= 0) say(outcome, " with status %d", ended->exit);
    if (more) say(outcome, "; %u more wait", more);
}

static void stuck(struct outcomes *to, const struct sim_report *report)
{
    const struct sim_stall *stall = &report->result->stall;
    char reason[SIM_REASON];

    if (report->result->state != SIM_STUCK) return;
    struct outcome *outcome = add_outcome(to, OUTCOME_STUCK);
    sim_failure_reason(report, reason);
    if (reason[0])
        say(outcome, "%s", reason);
    else
        programs_stuck(outcome, report);
    if (outcome) outcome->job = first_job(report->result, false);
    if (stall->pairs) name_ends(outcome, report->fabric, stall->src, stall->dst);
}

static void failed(struct outcomes *to, const struct sim_report *report)
{
    const struct sim_failure *failure = &report->result->failure;
    char reason[SIM_REASON], count[TEXT_COUNT];

    if (failure->at == PS_NEVER) return;
    struct outcome *outcome = add_outcome(to, OUTCOME_FAILED);
    sim_failure_reason(report, reason);
    say(outcome, "%s work request%s; first: %s", text_count(report->result->work_failed, count),
        text_plural(report->result->work_failed), reason);
    if (outcome) outcome->job = first_job(report->result, true);
    name_ends(outcome, report->fabric, failure->src, failure->dst);
}

/* --- jobs --- */

struct group { /* the runs of one job of the file */
    uint32_t job, runs, ended;
    u128 took_ps, ideal_ps; /* of those that ended and have an ideal */
    bool failed;
};

/* Groups follow each other as the jobs do; *at is where to go on. */
static bool next_group(const struct sim_result *result, uint32_t *at, struct group *ret)
{
    if (*at == result->jobs) return false;
    *ret = (struct group){.job = result->job[*at].job};
    for (; *at < result->jobs && result->job[*at].job == ret->job; ++*at) {
        const struct sim_job *job = &result->job[*at];
        ret->runs++;
        ret->failed |= job->failed;
        if (job->end == PS_NEVER) continue;
        ret->ended++;
        if (sim_ideal_milli(job) == 0) continue;
        ret->took_ps += job->end - job->start;
        ret->ideal_ps += job->ideal_ps;
    }
    return true;
}

static void slow(struct outcomes *to, const struct fabric *fabric, const struct group *group, uint32_t milli)
{
    char took[TEXT_COUNT], ideal[TEXT_COUNT], runs[TEXT_COUNT];
    struct outcome *outcome = add_outcome(to, OUTCOME_SLOW);

    if (!outcome) return;
    outcome->job = group->job;
    outcome->weight = 1000 - milli;
    say(outcome, "%s took %s", fabric->job[group->job].name, text_ps((ps_t)group->took_ps, took));
    if (group->ended > 1) say(outcome, " in %s runs", text_count(group->ended, runs));
    say(outcome, ", ideal %s (%u.%u%%)", text_ps((ps_t)group->ideal_ps, ideal), milli / 10, milli % 10);
}

struct well { /* jobs that took about their ideal */
    uint32_t count, least, most;
    char names[OUTCOME_TEXT / 2];
};

static void add_well(struct well *well, const char *name, uint32_t milli)
{
    size_t length = strlen(well->names);

    if (well->count < NAMES_SHOWN)
        snprintf(well->names + length, sizeof well->names - length, "%s%s", well->count ? ", " : "", name);
    if (!well->count || milli < well->least) well->least = milli;
    if (milli > well->most) well->most = milli;
    well->count++;
}

static void healthy(struct outcomes *to, const struct well *well)
{
    if (!well->count) return;
    struct outcome *outcome = add_outcome(to, OUTCOME_HEALTHY);
    if (well->count > NAMES_SHOWN)
        say(outcome, "%u jobs", well->count);
    else
        say(outcome, "%s", well->names);
    say(outcome, ": %u.%u%%", well->least / 10, well->least % 10);
    if (well->count > 1) say(outcome, " to %u.%u%%", well->most / 10, well->most % 10);
    say(outcome, " of ideal");
}

static void jobs(struct outcomes *to, const struct sim_report *report, double ideal_ratio)
{
    const struct sim_result *result = report->result;
    struct well well = {0};
    struct group group;
    uint32_t at = 0, open = 0;
    char when[TEXT_COUNT];

    while (next_group(result, &at, &group)) {
        open += group.runs - group.ended;
        if (!group.took_ps || group.failed) continue;
        uint32_t milli = (uint32_t)(group.ideal_ps * 1000 / group.took_ps);
        if ((double)group.took_ps > ideal_ratio * (double)group.ideal_ps)
            slow(to, report->fabric, &group, milli);
        else
            add_well(&well, report->fabric->job[group.job].name, milli);
    }
    healthy(to, &well);
    if (!open || (result->state != SIM_UNTIL && result->state != SIM_RUNNING)) return;
    say(add_outcome(to, OUTCOME_UNFINISHED), "%u of %u when the run was stopped at %s", open, result->jobs,
        text_ps(result->virtual_ps, when));
}

static void exposed(struct outcomes *to, const struct sim_report *report, double least)
{
    char share[TEXT_COUNT], part[TEXT_COUNT];

    for (uint32_t i = 0; i < report->result->trainings; i++) {
        const struct sim_training *training = &report->result->training[i];
        uint32_t most = 0;
        if (!training->mean_ps || (double)training->exposed_ps < least * (double)training->mean_ps) continue;
        for (uint32_t g = 1; g < FABRIC_GROUPS; g++)
            if (training->group[g].exposed_ps > training->group[most].exposed_ps) most = g;
        struct outcome *outcome = add_outcome(to, OUTCOME_EXPOSED);
        if (!outcome) return;
        outcome->job = report->result->job[training->job].job;
        outcome->weight = training->exposed_ps;
        say(outcome, "ranks of %s wait for %s of a step, most of it (%s) in group %s%s",
            report->fabric->job[outcome->job].name, text_share(training->exposed_ps, training->mean_ps, share),
            text_share(training->group[most].exposed_ps, training->mean_ps, part), fabric_group_names[most],
            most == FABRIC_GROUP_PP ? ", the pipeline's bubble with it" : "");
    }
}

/* --- what was sent again --- */

static void sent_again(struct outcomes *to, const struct sim_report *report)
{
    uint64_t again = 0, timeouts = 0, naks = 0, data = 0, trimmed = 0, most = 0;
    char text[5][TEXT_COUNT], share[TEXT_COUNT], name[FABRIC_NAME];
    uint32_t by = 0;

    for (uint32_t i = 0; i < report->result->nics; i++) {
        const struct endpoint_counters *c = &report->result->nic[i].common;
        again += c->retransmitted_packets;
        timeouts += c->timeouts;
        naks += c->nacks;
        trimmed += c->trimmed;
        data += c->tx_data_packets;
        if (c->retransmitted_packets <= most) continue;
        most = c->retransmitted_packets;
        by = report->result->nic[i].endpoint;
    }
    if (again == 0) return;
    struct outcome *outcome = add_outcome(to, OUTCOME_SENT_AGAIN);
    if (!outcome) return;
    outcome->object[0] = report->fabric->endpoint[by].port;
    outcome->objects = 1;
    say(outcome, "%s packets retransmitted (%s of all), %s timeout%s, %s NAK%s; most by %s, %s",
        text_count(again, text[0]), text_share(again, data, share), text_count(timeouts, text[1]),
        text_plural(timeouts), text_count(naks, text[2]), text_plural(naks),
        fabric_port_name(report->fabric, outcome->object[0], name), text_count(most, text[3]));
    if (trimmed) say(outcome, "; %s arrived trimmed by full switches", text_count(trimmed, text[4]));
}

static int compare(const void *a, const void *b)
{
    const struct outcome *x = a, *y = b;

    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

bool outcomes_make(const struct sim_report *report, double ideal_ratio, double exposed_least, struct outcomes *ret)
{
    *ret = (struct outcomes){0};
    stuck(ret, report);
    failed(ret, report);
    jobs(ret, report, ideal_ratio);
    exposed(ret, report, exposed_least);
    sent_again(ret, report);
    if (ret->count) qsort(ret->list, ret->count, sizeof *ret->list, compare);
    if (ret->failed) outcomes_release(ret);
    return !ret->failed;
}

void outcomes_release(struct outcomes *outcomes)
{
    free(outcomes->list);
    outcomes->list = NULL;
    outcomes->count = outcomes->room = 0;
}
