/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: which reached their ideal, and what of all that was found explains those that did not.
 *
 * The repetitions and sizes of a job are judged together: the sum of their ideal times over the sum of the times they
 * took.  A finding explains a slow job where it is about a port that the job's packets may leave by; of several the
 * first of the list does.  Where none does, nothing on the job's way was full: it waited for its own steps.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "fabric/fabric.h"
#include "jobs/training.h"
#include "report/verdict/judge.h"

#define NAMES_SHOWN 3

struct group { /* the runs of one job of the file */
    uint32_t job, first, runs, ended;
    u128 took_ps, ideal_ps; /* of those that ended and have an ideal */
    uint32_t milli;         /* of the ideal; 0: not known */
    bool failed;
};

/* Groups follow each other as the jobs do; *at is where to go on. */
static bool next_group(const struct sim_result *result, uint32_t *at, struct group *ret)
{
    if (*at == result->jobs) return false;
    *ret = (struct group){.job = result->job[*at].job, .first = *at};
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
    if (ret->took_ps && !ret->failed) ret->milli = (uint32_t)(ret->ideal_ps * 1000 / ret->took_ps);
    return true;
}

static bool is_slow(const struct group *group)
{
    return group->milli && group->milli < LIMIT_healthy_milli;
}

void judge_shares(struct judge *judge)
{
    struct group group;
    uint32_t at = 0;

    judge->healthy = judge->result->jobs > 0 && judge->report->programs == 0;
    while (next_group(judge->result, &at, &group)) {
        judge->slow |= is_slow(&group);
        judge->healthy &= group.milli > 0 && !is_slow(&group) && group.ended == group.runs;
    }
}

/* Whether a finding about a port concerns a job whose packets leave by the ports in `used`: congestion is of one
 * direction, anything else of the link. */
static bool concerns(const struct judge *judge, const struct verdict_finding *finding, uint32_t port,
                     const uint8_t *used)
{
    bool one_way = finding->id == VERDICT_INCAST || finding->id == VERDICT_OVERSUBSCRIBED ||
                   finding->id == VERDICT_COLLISIONS || finding->id == VERDICT_PAUSE_FIRST;
    uint32_t peer = judge->fabric->port[port].peer;

    return used[port] || (!one_way && peer != FABRIC_NONE && used[peer]);
}

/* What was found that explains the job; the port of it that concerns the job in *ret_port. */
static const struct verdict_finding *explains(const struct judge *judge, uint32_t findings, const struct group *group,
                                              const uint8_t *used, uint32_t *ret_port)
{
    for (uint32_t i = 0; i < findings; i++) {
        const struct verdict_finding *finding = &judge->to->finding[i];
        if (finding->id == VERDICT_EXPOSED && finding->job != group->job) continue;
        if (finding->id == VERDICT_STRAGGLER && finding->job != group->job) continue;
        for (uint32_t o = 0; o < finding->objects; o++) {
            if (!concerns(judge, finding, finding->object[o], used)) continue;
            *ret_port = finding->object[o];
            return finding;
        }
        if (finding->objects == 0 && finding->job == group->job) {
            *ret_port = FABRIC_NONE;
            return finding;
        }
    }
    return NULL;
}

#define WAITED(judge, ps) ((ps) > (judge)->result->virtual_ps / 20) /* a share that explains something */

/* The port on the job's way that had packets and no credits for longest. */
static bool waits_for_credits(const struct judge *judge, const uint8_t *used, struct verdict_finding *finding)
{
    const struct sim_port *worst = NULL;
    char name[FABRIC_NAME], time[TEXT_COUNT];

    for (uint32_t i = 0; i < judge->result->ports; i++) {
        const struct sim_port *port = &judge->result->port[i];
        if (port->credits_received && used[port->port] && (!worst || port->paused_ps > worst->paused_ps)) worst = port;
    }
    if (!worst || !WAITED(judge, worst->paused_ps)) return false;
    judge_object(finding, worst->port);
    judge_why(finding, "Limited by credits: %s had packets and no credits for %s",
              fabric_port_name(judge->fabric, worst->port, name), text_ps(worst->paused_ps, time));
    return true;
}

/* The adapter of the job that waited for cores of its host for longest: to send, or for what had arrived. */
static bool waits_for_cores(const struct judge *judge, const uint8_t *used, struct verdict_finding *finding)
{
    const struct fabric *fabric = judge->fabric;
    uint32_t worst = FABRIC_NONE;
    ps_t longest = 0;
    bool receives = false;
    char name[FABRIC_NAME], time[TEXT_COUNT];

    for (uint32_t i = 0; i < judge->result->nics; i++) {
        const struct sim_nic *nic = &judge->result->nic[i];
        uint32_t port = fabric->endpoint[nic->endpoint].port, peer = fabric->port[port].peer;
        if (!nic->has_tcp) continue;
        if (used[port] && nic->tcp.cpu_wait_ps > longest) {
            worst = port, longest = nic->tcp.cpu_wait_ps, receives = false;
        }
        if (peer != FABRIC_NONE && used[peer] && nic->tcp.cpu_receive_wait_ps > longest) {
            worst = port, longest = nic->tcp.cpu_receive_wait_ps, receives = true;
        }
    }
    if (worst == FABRIC_NONE || !WAITED(judge, longest)) return false;
    judge_object(finding, worst);
    fabric_port_name(fabric, worst, name);
    text_ps(longest, time);
    if (receives)
        judge_why(finding, "Limited by CPU cores: data that arrived at %s waited for one for %s", name, time);
    else
        judge_why(finding, "Limited by CPU cores: connections of %s waited for one for %s in total", name, time);
    return true;
}

/* The adapter of the job that rested for longest though it had data: for its rate, or for the host's bus. */
static bool waits_at_adapter(const struct judge *judge, const uint8_t *used, struct verdict_finding *finding)
{
    const struct fabric *fabric = judge->fabric;
    uint32_t worst = FABRIC_NONE;
    ps_t longest = 0;
    bool bus = false;
    uint64_t reads_at = 0;
    char name[FABRIC_NAME], time[TEXT_COUNT];

    for (uint32_t i = 0; i < judge->result->nics; i++) {
        const struct nic_counters *c = judge->result->nic[i].counters;
        uint32_t port = fabric->endpoint[judge->result->nic[i].endpoint].port;
        if (c == NULL || !used[port]) continue;
        if (c->idle_rate_ps > longest) worst = port, longest = c->idle_rate_ps, bus = false;
        if (c->idle_fetch_ps > longest) {
            worst = port, longest = c->idle_fetch_ps, bus = true;
            reads_at = fabric->nic[fabric->endpoint[judge->result->nic[i].endpoint].nic].tx_rate_bps;
        }
    }
    if (worst == FABRIC_NONE || !WAITED(judge, longest)) return false;
    judge_object(finding, worst);
    fabric_port_name(fabric, worst, name);
    text_ps(longest, time);
    if (!bus) {
        judge_why(finding, "Limited by congestion control: %s had data, and no rate or window for it, for %s", name,
                  time);
        return true;
    }
    judge_why(finding, "Limited by the host's bus (pcie): the line of %s rested for %s while payload came over it",
              name, time);
    if (reads_at) judge_why(finding, "; it reads at %s", unit_format_short(UNIT_RATE, reads_at, 3, time));
    return true;
}

/* Whether the incast's port could hardly have carried more while the job ran. */
static bool was_busy(const struct judge *judge, uint32_t port, const struct group *group)
{
    u128 busy = (u128)judge->port[port]->utilisation_ppm * judge->result->virtual_ps;

    return busy >= (u128)LIMIT_busy_ppm * group->took_ps;
}

static void slow_job(struct judge *judge, uint32_t findings, const struct group *group, uint8_t *used)
{
    const struct fabric *fabric = judge->fabric;
    char took[TEXT_COUNT], ideal[TEXT_COUNT], name[FABRIC_NAME], runs[TEXT_COUNT];
    uint32_t port = FABRIC_NONE;

    judge_ways(judge, group->job, used);
    const struct verdict_finding *cause = explains(judge, findings, group, used, &port);
    enum verdict_severity severity = cause ? cause->severity : VERDICT_INFO;
    enum verdict_id id = cause ? cause->id : VERDICT_IDS;
    struct verdict_finding *finding = judge_add(judge, VERDICT_SLOW); /* may move those before it */
    finding->job = group->job;
    finding->severity = severity > VERDICT_WARNING ? VERDICT_WARNING : severity;
    finding->weight = 1000 - group->milli;
    judge_what(finding, "%s took %s", fabric->job[group->job].name, text_ps((ps_t)group->took_ps, took));
    if (group->ended > 1) judge_what(finding, " in %s runs", text_count(group->ended, runs));
    judge_what(finding, ", ideal %s (%u.%u%%)", text_ps((ps_t)group->ideal_ps, ideal), group->milli / 10,
               group->milli % 10);
    if (id == VERDICT_INCAST && !was_busy(judge, port, group) && waits_at_adapter(judge, used, finding)) return;
    if (id == VERDICT_IDS) {
        if (waits_for_credits(judge, used, finding) || waits_for_cores(judge, used, finding) ||
            waits_at_adapter(judge, used, finding))
            return;
        judge_why(finding,
                  "No queue, pause or loss explains it: the job waited for its own steps, not for the network");
        return;
    }
    judge_why(finding, "Limited by %s (%s)", verdict_kind[id].name, verdict_kind[id].title);
    if (port == FABRIC_NONE) return;
    judge_object(finding, port);
    judge_why(finding, " at %s", fabric_port_name(fabric, port, name));
}

static void healthy(struct judge *judge, uint32_t count, uint32_t least, uint32_t most, const char *names)
{
    struct verdict_finding *finding = judge_add(judge, VERDICT_HEALTHY);

    judge_what(finding, "%s: %u.%u%%", names, least / 10, least % 10);
    if (count > 1) judge_what(finding, " to %u.%u%%", most / 10, most % 10);
    judge_what(finding, " of ideal");
    judge_why(finding, "Limited only by the link rate of the adapters");
}

static void unfinished(struct judge *judge, uint32_t count)
{
    const struct sim_result *result = judge->result;
    struct verdict_finding *finding = judge_add(judge, VERDICT_UNFINISHED);
    char at[TEXT_COUNT];

    judge_what(finding, "%u of %u when the run was stopped at %s", count, result->jobs,
               text_ps(result->virtual_ps, at));
    judge_why(finding, "How they would have ended is not known");
}

/* Flows by their jobs, once for all jobs: there may be as many of these as of flows. */
static bool sort_flows(struct judge *judge)
{
    const struct sim_result *result = judge->result;
    uint32_t jobs = judge->fabric->jobs;
    uint32_t *next = calloc(jobs + 2u, sizeof(*next));

    judge->flow = calloc(result->flows + 1u, sizeof(*judge->flow));
    if (!next || !judge->flow) {
        free(next);
        return false;
    }
    for (uint32_t i = 0; i < result->flows; i++)
        next[result->flow[i].job + 2]++;
    for (uint32_t j = 1; j <= jobs + 1; j++)
        next[j] += next[j - 1];
    for (uint32_t i = 0; i < result->flows; i++)
        judge->flow[next[result->flow[i].job + 1]++] = i;
    judge->flow_of = next; /* each has gone on to where the next job's begin */
    return true;
}

void judge_jobs(struct judge *judge)
{
    const struct sim_result *result = judge->result;
    uint8_t *used = calloc(judge->fabric->ports + 1u, 1);
    uint32_t at = 0, good = 0, least = UINT32_MAX, most = 0, open = 0, findings = judge->to->findings;
    char names[VERDICT_TEXT / 2] = "";
    struct group group;

    bool able = used && sort_flows(judge);
    if (!able) judge->failed = true;
    while (able && next_group(result, &at, &group)) {
        open += group.runs - group.ended;
        if (is_slow(&group)) slow_job(judge, findings, &group, used);
        if (group.milli == 0 || is_slow(&group)) continue;
        size_t length = strlen(names);
        if (good < NAMES_SHOWN)
            snprintf(names + length, sizeof(names) - length, "%s%s", good ? ", " : "",
                     judge->fabric->job[group.job].name);
        good++;
        if (group.milli < least) least = group.milli;
        if (group.milli > most) most = group.milli;
    }
    free(used);
    free(judge->flow);
    free(judge->flow_of);
    if (good > NAMES_SHOWN) snprintf(names, sizeof(names), "%u jobs", good);
    if (good) healthy(judge, good, least, most, names);
    if (open && (result->state == SIM_UNTIL || result->state == SIM_RUNNING)) unfinished(judge, open);
}

static void straggler(struct judge *judge, const struct sim_training *training)
{
    const struct fabric *fabric = judge->fabric;
    ps_t more = training->compute_most_ps - training->compute_ps;
    char own[TEXT_COUNT], mean[TEXT_COUNT], waits[TEXT_COUNT];

    if ((u128)training->compute_most_ps * 1000 < (u128)training->compute_ps * LIMIT_straggler_milli ||
        (u128)more * 1000 < (u128)training->exposed_ps * LIMIT_straggler_share_milli)
        return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_STRAGGLER);
    uint32_t gpu = training->slowest_gpu;
    finding->job = judge->result->job[training->job].job;
    finding->weight = more;
    if (fabric_gpu_nics(fabric, gpu)) judge_object(finding, fabric->endpoint[fabric->gpu_nic[gpu]].port);
    judge_what(finding, "rank %u (GPU %u of %s) computes for %s a step, the mean is %s; ranks wait %s",
               training->slowest, gpu - fabric->first_gpu[fabric->gpu_host[gpu]],
               fabric->node[fabric->gpu_host[gpu]].name, text_ps(training->compute_most_ps, own),
               text_ps(training->compute_ps, mean), text_ps(training->exposed_ps, waits));
    judge_why(finding,
              "The others wait for it in their collectives: the cause is the GPU or its share of the work, not "
              "the network");
}

static void exposed(struct judge *judge, const struct sim_training *training)
{
    char share[TEXT_COUNT], part[TEXT_COUNT];
    uint32_t most = 0;

    for (uint32_t g = 1; g < FABRIC_GROUPS; g++)
        if (training->group[g].exposed_ps > training->group[most].exposed_ps) most = g;
    if (judge_ppm(training->exposed_ps, training->mean_ps) < LIMIT_exposed_milli * 1000u) return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_EXPOSED);
    finding->job = judge->result->job[training->job].job;
    finding->weight = training->exposed_ps;
    judge_what(finding, "%s of a step, most of it (%s) in group %s",
               text_share(training->exposed_ps, training->mean_ps, share),
               text_share(training->group[most].exposed_ps, training->mean_ps, part), fabric_group_names[most]);
    judge_why(finding, most == FABRIC_GROUP_PP
                           ? "A stage waits for the one before or after it: this includes the bubble of the pipeline"
                           : "Compute does not hide it: see whether its collectives are below their ideal");
}

void judge_training(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->result->trainings; i++) {
        const struct sim_training *training = &judge->result->training[i];
        if (training->mean_ps == 0) continue;
        straggler(judge, training);
        exposed(judge, training);
    }
}
