/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Training degraded because of the network": the four conditions, each with its number.
 *
 * A step takes longer than the baseline; most of the added time is waiting for communication; it is not one rank that
 * comes late; and something was found in the network that this job's hosts have to do with.  Without a baseline a step
 * is held against its computing alone, as if all communication were hidden.  A collective without steps is
 * communication alone, and is held against the baseline's bus bandwidth.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/baseline.h"
#include "diagnose/ranks_int.h"

#define TEXT 600

static const struct evidence_value *job_value(const struct evidence *evidence, uint32_t job,
                                              enum evidence_counter counter)
{
    return evidence_find(evidence, job, EVIDENCE_NO_PRIORITY, counter);
}

static double job_number(const struct evidence *evidence, uint32_t job, enum evidence_counter counter)
{
    const struct evidence_value *value = job_value(evidence, job, counter);
    return value ? value->real : 0;
}

/* --- the baseline --- */

static uint64_t message_of(const struct evidence *evidence, uint32_t job)
{
    return evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_MESSAGE_BYTES);
}

/* Of what is not known nothing is held against it. */
static bool alike(uint64_t one, uint64_t other)
{
    return !one || !other || one == other;
}

bool baseline_of(const struct evidence *evidence, uint32_t job, struct diagnose_baseline_job *ret)
{
    double step = job_number(evidence, job, EVIDENCE_STEP_NS);
    const struct evidence_value *exposed = job_value(evidence, job, EVIDENCE_STEP_EXPOSED_NS);

    *ret = (struct diagnose_baseline_job){
        .job = evidence->object[job].name,
        .ranks = evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_RANKS),
        .step_ns = step,
        .exposed = step > 0 && exposed ? exposed->real / step : -1,
        .busbw = job_number(evidence, job, EVIDENCE_BUSBW),
        .message_bytes = message_of(evidence, job),
    };
    return ret->step_ns > 0 || ret->busbw > 0;
}

const struct diagnose_baseline_job *baseline_find(const struct diagnose_baseline *baseline,
                                                  const struct evidence *evidence, uint32_t job)
{
    uint64_t ranks = evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_RANKS);

    for (uint32_t i = 0; baseline && i < baseline->jobs; i++) {
        const struct diagnose_baseline_job *one = &baseline->job[i];
        if (!strcmp(one->job, evidence->object[job].name) && alike(ranks, one->ranks) &&
            alike(message_of(evidence, job), one->message_bytes))
            return one;
    }
    return NULL;
}

/* --- the conditions --- */

static uint8_t is(bool yes)
{
    return yes ? DIAGNOSE_YES : DIAGNOSE_NO;
}

/* Time that is held against the baseline, and the baseline.  False: nothing can be said of the job. */
static bool compare(struct diagnose *diagnose, const struct diagnose_baseline_job *base, struct diagnose_training *of)
{
    const struct evidence *evidence = diagnose->evidence;
    double busbw = job_number(evidence, of->job, EVIDENCE_BUSBW);

    of->step_ns = step_ns(diagnose, of->job);
    if (of->step_ns > 0) {
        struct numbers compute = ranks_of(diagnose, of->job, EVIDENCE_RANK_COMPUTE_NS);
        double alone = compute.count ? compute.median : job_number(evidence, of->job, EVIDENCE_STEP_COMPUTE_NS);
        of->base_is_ideal = !base || base->step_ns <= 0;
        of->base_ns = of->base_is_ideal ? alone : base->step_ns;
    } else if (base && base->busbw > 0 && busbw > 0) {
        if (base->message_bytes != message_of(evidence, of->job)) {
            missing_add(diagnose,
                        "of which message size the bus bandwidth of %s is, in %s: small messages reach less than "
                        "large ones, so the two are not compared; --write-baseline writes the size",
                        evidence->object[of->job].name, base->message_bytes ? "the input" : "the baseline");
            return false;
        }
        of->step_ns = job_number(evidence, of->job, EVIDENCE_JOB_NS);
        of->base_ns = of->step_ns * busbw / base->busbw; /* the time that the baseline's bandwidth gives */
    } else {
        return false;
    }
    of->base_known = of->base_ns > 0;
    return of->step_ns > 0;
}

static void slow(const struct diagnose *diagnose, struct diagnose_training *of)
{
    const struct diagnose_limits *limits = &diagnose->limits;
    const struct evidence_value *steps = job_value(diagnose->evidence, of->job, EVIDENCE_STEPS);
    double ratio = of->base_known ? of->step_ns / of->base_ns : 0;
    bool few = steps && (double)steps->last < limits->steps_least;

    if (!of->base_known) return;
    of->gpu_hours_per_hour = ratio > 1 ? (ratio - 1) * of->gpus : 0;
    of->slow = is(ratio >= (of->base_is_ideal ? limits->ideal_ratio : limits->slow_ratio));
    if (of->slow == DIAGNOSE_YES && few) of->slow = DIAGNOSE_UNKNOWN;
}

/* How much of the added time is waiting for communication. */
static void exposed(const struct diagnose *diagnose, const struct diagnose_baseline_job *base,
                    struct diagnose_training *of)
{
    const struct evidence_value *now = job_value(diagnose->evidence, of->job, EVIDENCE_STEP_EXPOSED_NS);
    double added = of->step_ns - of->base_ns, before = 0;
    bool collective = !job_value(diagnose->evidence, of->job, EVIDENCE_STEP_NS);

    if (!of->base_known || added <= 0 || (!now && !collective)) return;
    if (!of->base_is_ideal && !collective) {
        if (base->exposed < 0) return;
        before = base->exposed * of->base_ns;
    }
    of->added_exposed_share = collective ? 1 : (now->real - before) / added;
    of->exposed = is(of->added_exposed_share >= diagnose->limits.exposed_share);
}

static bool straggler_found(const struct diagnose *diagnose, uint32_t job)
{
    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (finding->rule == DIAGNOSE_D17 && finding->evidences &&
            diagnose->evidence->object[finding->evidence[0].object].parent == job)
            return true;
    }
    return false;
}

/* How much of the added time the last rank's lateness explains. */
static void skew(struct diagnose *diagnose, struct diagnose_training *of)
{
    double added = of->step_ns - of->base_ns, late = -1;
    struct numbers lates = ranks_of(diagnose, of->job, EVIDENCE_RANK_LATE_NS);
    struct numbers compute = ranks_of(diagnose, of->job, EVIDENCE_RANK_COMPUTE_NS);

    if (lates.count > 1) late = lates.value[numbers_most(&lates, false)] - lates.median;
    if (late < 0 && compute.count > 1) late = compute.value[numbers_most(&compute, false)] - compute.median;
    if (late >= 0 && of->base_known && added > 0) {
        of->skew_share = late / added;
        of->not_straggler = is(of->skew_share < diagnose->limits.straggler_share);
    }
    if (straggler_found(diagnose, of->job)) of->not_straggler = DIAGNOSE_NO;
}

/* A device of the job's hosts. */
static bool of_job(struct diagnose *diagnose, uint32_t job, uint32_t object, bool *known)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t device =
        evidence->object[object].scope == EVIDENCE_DEVICE || evidence->object[object].scope == EVIDENCE_PORT
            ? evidence_device_of(evidence, object)
            : EVIDENCE_NONE;

    RANKS_EACH(diagnose, job, rank)
    {
        const struct evidence_object *one = &evidence->object[rank];
        if (one->host == EVIDENCE_NONE) continue;
        *known = true;
        if (device == evidence_device_of(evidence, one->host)) return true;
    }
    return false;
}

/* Whether the finding is about hosts of the job, or about a switch; unknown hosts are not held against it. */
static bool concerns(struct diagnose *diagnose, uint32_t job, const struct diagnose_finding *finding)
{
    const struct evidence *evidence = diagnose->evidence;
    bool known = false;
    uint32_t most = finding->victims < 64 ? finding->victims : 64; /* so many say it */

    for (uint32_t i = 0; i < most; i++)
        if (of_job(diagnose, job, finding->victim[i], &known)) return true;
    if (of_job(diagnose, job, finding->culprit, &known) || !known) return true;
    return evidence->object[finding->culprit].scope <= EVIDENCE_PORT &&
           !evidence_is_host(evidence, evidence_device_of(evidence, finding->culprit));
}

static void network(struct diagnose *diagnose, struct diagnose_training *of)
{
    of->network = DIAGNOSE_NO;
    of->finding = EVIDENCE_NONE;
    for (uint32_t i = 0; i < diagnose->findings; i++) {
        if (!finding_is_network(&diagnose->finding[i]) || !concerns(diagnose, of->job, &diagnose->finding[i])) continue;
        of->network = DIAGNOSE_YES;
        of->finding = i;
        return;
    }
}

/* --- the verdict --- */

static const char *conclusion(const struct diagnose_training *of)
{
    if (of->slow == DIAGNOSE_NO) return "it is not degraded";
    if (of->slow == DIAGNOSE_UNKNOWN && !of->base_known)
        return "it is not known whether it is slow: there is no baseline";
    if (of->slow == DIAGNOSE_UNKNOWN) return "too few steps were measured for a verdict";
    if (of->exposed == DIAGNOSE_NO) return "most of the added time is not communication: the network is not the cause";
    if (of->not_straggler == DIAGNOSE_NO && of->network != DIAGNOSE_YES)
        return "one rank comes late and the others wait for it: the network is not the cause";
    if (of->not_straggler == DIAGNOSE_NO) return "one rank comes late, and something was found in the network too";
    if (of->network == DIAGNOSE_YES && of->exposed == DIAGNOSE_YES && of->not_straggler == DIAGNOSE_YES)
        return "it is degraded because of the network";
    if (of->network == DIAGNOSE_YES) return "it may be degraded because of the network: not all conditions are known";
    if (of->base_is_ideal) return "nothing was found in the network; a baseline would show whether it is slow";
    return "communication is slow, and no counter of the network explains it: look at the hosts, the links between "
           "GPUs, and counters that are missing";
}

/* Adds to a text; what does not fit is left out. */
void text_add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* The conditions' numbers, as far as they are known. */
static void numbers_text(const struct diagnose_training *of, char *text, size_t size)
{
    text[0] = '\0';
    if (of->slow != DIAGNOSE_YES) return;
    if (of->exposed != DIAGNOSE_UNKNOWN)
        text_add(text, size, ", %.0f%% of the added time waits for communication", of->added_exposed_share * 100);
    if (of->skew_share > 0) text_add(text, size, ", the last rank's lateness explains %.0f%%", of->skew_share * 100);
    if (of->gpus > 0 && !of->base_is_ideal)
        text_add(text, size, ", %.2f GPU-hours are lost each hour", of->gpu_hours_per_hour);
}

static void say(struct diagnose *diagnose, struct diagnose_training *of)
{
    const char *it = job_value(diagnose->evidence, of->job, EVIDENCE_STEP_NS) ? "a step" : "it";
    char text[TEXT], numbers[TEXT / 2];

    numbers_text(of, numbers, sizeof numbers);
    if (of->base_known)
        snprintf(text, sizeof text, "%s takes %.3f ms, %.2f times %s%s; %s", it, of->step_ns / 1e6,
                 of->step_ns / of->base_ns, of->base_is_ideal ? "its computing alone" : "its baseline", numbers,
                 conclusion(of));
    else
        snprintf(text, sizeof text, "%s takes %.3f ms; %s", it, of->step_ns / 1e6, conclusion(of));
    of->verdict = diagnose_keep(diagnose, text);
    if (!of->verdict) of->verdict = "";
}

static bool not_the_network(const struct diagnose_training *of)
{
    if (of->network == DIAGNOSE_YES || of->slow == DIAGNOSE_NO) return false;
    return of->not_straggler == DIAGNOSE_NO || (of->slow == DIAGNOSE_YES && of->exposed == DIAGNOSE_NO);
}

static void no_baseline(struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_baseline_job of;

    if (!baseline_of(evidence, job, &of)) return;
    if (of.message_bytes)
        missing_add(diagnose, "a baseline of %s on %" PRIu64 " GPUs with messages of %" PRIu64 " bytes", of.job,
                    of.ranks, of.message_bytes);
    else
        missing_add(diagnose, "a baseline of %s on %" PRIu64 " GPUs", of.job, of.ranks);
}

void training_judge(struct diagnose *diagnose, const struct diagnose_baseline *baseline)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t jobs = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job) jobs++;
    diagnose->training = DIAGNOSE_NEW(diagnose, struct diagnose_training, jobs ? jobs : 1);
    if (!diagnose->training) return;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        const struct diagnose_baseline_job *base = baseline_find(baseline, evidence, job);
        struct diagnose_training of = {.job = job, .finding = EVIDENCE_NONE};
        if (baseline && !base) no_baseline(diagnose, job);
        if (!compare(diagnose, base, &of)) continue;
        of.gpus = job_number(evidence, job, EVIDENCE_RANKS);
        slow(diagnose, &of);
        exposed(diagnose, base, &of);
        skew(diagnose, &of);
        network(diagnose, &of);
        say(diagnose, &of);
        diagnose->acquitted |= not_the_network(&of);
        diagnose->training[diagnose->trainings++] = of;
    }
    for (uint32_t i = 0; i < diagnose->trainings; i++)
        if (diagnose->training[i].network == DIAGNOSE_YES && diagnose->training[i].slow != DIAGNOSE_NO)
            diagnose->acquitted = false;
    if (!evidence_is_whole(evidence)) diagnose->acquitted = false;
}
