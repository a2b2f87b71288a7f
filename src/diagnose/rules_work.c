/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job waits for inside of its hosts: links between GPUs (D27), software (D28), stages of a pipeline (D29).
 *
 * None of it is the network's, and no finding here names a port of a switch.  A simulation alone knows them: how long
 * ranks waited for GPUs of their own host, for how long something waited for software, which stage a rank has.
 */
#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"

static void trust(const struct diagnose *diagnose, struct diagnose_finding *finding)
{
    if (finding && diagnose->evidence->exact) finding->confidence = DIAGNOSE_EXACT;
}

/* --- D27: links between the GPUs of a host --- */

/* Whether all ranks that are known are on one host: then no packet of the job flew. */
static bool is_in_one_host(struct diagnose *diagnose, uint32_t job)
{
    uint64_t ranks;

    return ranks_host(diagnose, job, &ranks) != EVIDENCE_NONE;
}

/* Steps of which ranks wait a good part for GPUs of their own host, and for nothing else as long. */
static void steps_inside(struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *inside = port_find(evidence, job, EVIDENCE_STEP_INSIDE_NS);
    double step = step_ns(diagnose, job), exposed = (double)port_get(evidence, job, EVIDENCE_STEP_EXPOSED_NS);

    if (!inside || step <= 0 || (double)inside->last < diagnose->limits.inside_share * step) return;
    if ((double)inside->last < diagnose->limits.straggler_share * exposed) return;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D27, job, EVIDENCE_NO_PRIORITY,
        "ranks of %s wait %.3f ms of a step of %.3f ms for GPUs of their own host, and %.3f ms for all others",
        name_of(diagnose, job), (double)inside->last / 1e6, step / 1e6, (exposed - (double)inside->last) / 1e6);
    finding_counter(diagnose, finding, inside, diagnose->limits.inside_share * step);
    trust(diagnose, finding);
}

/* A collective whose least time is that of the links between GPUs, and which takes not much more. */
static void collective_inside(struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *inside = port_find(evidence, job, EVIDENCE_JOB_INSIDE_NS);
    double ideal = (double)port_get(evidence, job, EVIDENCE_JOB_IDEAL_NS);
    double time = (double)port_get(evidence, job, EVIDENCE_JOB_NS);
    bool alone;

    if (!inside || !inside->last || (double)inside->last < diagnose->limits.busy_share * ideal) return;
    if ((double)inside->last < diagnose->limits.most_share * time) return;
    alone = is_in_one_host(diagnose, job);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D27, job, EVIDENCE_NO_PRIORITY,
                    "%s took %.3f ms, and the links between the GPUs of a host alone take %.3f ms of it%s",
                    name_of(diagnose, job), time / 1e6, (double)inside->last / 1e6,
                    alone ? "; no packet of it left its host" : ": more than the adapters' lines");
    finding_counter(diagnose, finding, inside, diagnose->limits.most_share * time);
    if (finding && alone) finding->severity = DIAGNOSE_INFO;
    trust(diagnose, finding);
}

void rule_D27(struct diagnose *diagnose)
{
    EVIDENCE_EACH(diagnose->evidence, EVIDENCE_JOB, job)
    {
        steps_inside(diagnose, job);
        collective_inside(diagnose, job);
    }
}

/* --- D28: software --- */

static double share_of(const struct evidence_value *value)
{
    double span = value ? evidence_span_s(value) : 0;

    return span > 0 ? (double)value->grown * 1e-9 / span : 0;
}

/* Time in which something waited for the adapter's software or for cores, and its line had nothing to send: of cores it
 * is counted, of software it is at least so much.  *from: the counter that says it. */
static double waits_for_software(const struct diagnose *diagnose, uint32_t port, const struct evidence_value **from)
{
    const struct evidence_value *software = port_find(diagnose->evidence, port, EVIDENCE_SOFTWARE_NS);
    const struct evidence_value *cores = port_find(diagnose->evidence, port, EVIDENCE_CORES_IDLE_NS);
    double idle = share_of(software) - share_busy(diagnose, port).value;

    *from = share_of(cores) > idle ? cores : software;
    return share_of(cores) > idle ? share_of(cores) : idle;
}

static struct diagnose_finding *software_found(struct diagnose *diagnose, uint32_t port,
                                               const struct evidence_value *from)
{
    double waited = 100 * share_of(from);

    if (from->counter == EVIDENCE_CORES_IDLE_NS)
        return finding_new(diagnose, DIAGNOSE_D28, port, EVIDENCE_NO_PRIORITY,
                           "the line of %s was idle for %.3g%% of the time while something to send, or that had "
                           "arrived, waited for cores of its host",
                           name_of(diagnose, port), waited);
    return finding_new(diagnose, DIAGNOSE_D28, port, EVIDENCE_NO_PRIORITY,
                       "work requests and completions of %s waited for its host's software for %.3g%% of the time, and "
                       "it sent at %.3g%% of its line",
                       name_of(diagnose, port), waited, 100 * share_busy(diagnose, port).value);
}

void rule_D28(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *from, *value = NULL;
    uint32_t worst = EVIDENCE_NONE;
    double most = diagnose->limits.idle_share;

    EACH_PORT(evidence, device, port)
    {
        double share = waits_for_software(diagnose, port, &from);
        if (share < most || (worst != EVIDENCE_NONE && share == most)) continue;
        worst = port;
        most = share;
        value = from;
    }
    if (worst == EVIDENCE_NONE || !a_job_is_slow(diagnose)) return;
    struct diagnose_finding *finding = software_found(diagnose, worst, value);
    finding_number(diagnose, finding, worst, EVIDENCE_NO_PRIORITY,
                   value->counter == EVIDENCE_CORES_IDLE_NS ? "cores_idle_share" : "software_share", "share",
                   share_of(value), diagnose->limits.idle_share, value);
    EACH_PORT(evidence, other, port)
    {
        if (port != worst && waits_for_software(diagnose, port, &from) >= diagnose->limits.idle_share)
            finding_also(diagnose, finding, port);
    }
    if (finding && !idle_explains_most(diagnose, most)) finding->severity = DIAGNOSE_INFO;
    trust(diagnose, finding);
}

/* --- D29: stages of a pipeline --- */

/* What the ranks of a stage compute in a step. */
struct stage {
    double sum, least;
    uint32_t ranks;
};

/* The stages of the job, *ret_count of them; NULL: they are not known, or it has one. */
static struct stage *stages_of(struct diagnose *diagnose, uint32_t job, uint32_t *ret_count)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers stages = ranks_of(diagnose, job, EVIDENCE_RANK_STAGE);
    uint32_t count = stages.count ? (uint32_t)stages.value[numbers_most(&stages, false)] + 1 : 0;
    struct stage *stage = count > 1 && count <= evidence->objects ? DIAGNOSE_NEW(diagnose, struct stage, count) : NULL;

    *ret_count = count;
    for (uint32_t i = 0; stage && i < stages.count; i++) {
        struct stage *one = &stage[(uint32_t)stages.value[i]];
        double compute = (double)port_get(evidence, stages.object[i], EVIDENCE_RANK_COMPUTE_NS);
        one->least = one->ranks && one->least < compute ? one->least : compute;
        one->sum += compute;
        one->ranks++;
    }
    for (uint32_t s = 0; stage && s < count; s++)
        if (!stage[s].ranks || stage[s].sum <= 0) return NULL;
    return stage;
}

/* The stage that computes longest, all of its ranks more than the mean stage. */
static void look_at_stages(struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t count, most = 0;
    const struct stage *stage = stages_of(diagnose, job, &count);
    double mean = 0, step = step_ns(diagnose, job);

    if (!stage) return;
    for (uint32_t s = 0; s < count; s++) {
        mean += stage[s].sum / stage[s].ranks / count;
        if (stage[s].sum / stage[s].ranks > stage[most].sum / stage[most].ranks) most = s;
    }
    double longest = stage[most].sum / stage[most].ranks;
    if (longest < (1 + diagnose->limits.stage_share) * mean || stage[most].least <= mean) return;
    if (longest - mean < diagnose->limits.stage_least * step) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D29, job, EVIDENCE_NO_PRIORITY,
                    "each rank of stage %u of %u of %s computes %.3f ms in a step, and the mean of the stages is "
                    "%.3f ms: all others wait for it",
                    most, count, name_of(diagnose, job), longest / 1e6, mean / 1e6);
    finding_number(diagnose, finding, job, EVIDENCE_NO_PRIORITY, "stage_compute", "ns", longest,
                   (1 + diagnose->limits.stage_share) * mean, port_find(evidence, job, EVIDENCE_STEP_COMPUTE_NS));
    trust(diagnose, finding);
}

void rule_D29(struct diagnose *diagnose)
{
    EVIDENCE_EACH(diagnose->evidence, EVIDENCE_JOB, job) look_at_stages(diagnose, job);
}
