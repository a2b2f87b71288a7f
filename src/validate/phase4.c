/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 4, AI workload: collectives over all GPUs, a training step, two tenants.
 */
#include <math.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "validate/case.h"

#define STEP_BYTES_TEXT "1GB" /* of the AllReduce of a synthetic step */
#define LEAST_BYTES UINT64_C(256000000)
#define SMALL_BYTES UINT64_C(1000000) /* of --full alone, four times as much in each step */
#define PART_BYTES UINT64_C(4000000)  /* of a rank: less is latency, not bandwidth */
#define TENANT_MOST 64u

struct kind {
    const char *name, *value;
};

static double busbw(const struct sim_job *job, ps_t time)
{
    return (double)job->bytes * (double)job->bus_num / (double)job->bus_den * 8 * (double)PS_S / (double)time;
}

/* Which GPUs take part: all hosts of a small fabric, of a large one so many, or as many as have so many GPUs, spread
 * over its leaves. */
static uint32_t choose_gpus(const struct validate_case *of, const char **ret_ranks)
{
    static const uint32_t most[VALIDATE_LEVELS] = {8, 32, UINT32_MAX}, enough[VALIDATE_LEVELS] = {64, 256, UINT32_MAX};
    uint32_t hosts = 0, gpus = 0;

    for (uint32_t h = 0; h < of->fabric->hosts; h++) {
        uint32_t count = of->fabric->first_gpu[h + 1] - of->fabric->first_gpu[h];
        if (count == 0 || hosts == most[of->plan->level]) continue;
        if (hosts > 1 && gpus >= enough[of->plan->level]) break;
        hosts++;
        gpus += count;
    }
    *ret_ranks = gpus == of->fabric->gpus ? "" : case_text(of, ", ranks: %u, placement: spread, order: topology", gpus);
    return gpus;
}

static void judge_collective(struct validate_case *of, const struct kind *kind, uint64_t size)
{
    const char *words, *ranks;
    uint32_t gpus = choose_gpus(of, &ranks);
    struct variant variant = {0};
    const char *subject = case_text(of, "%s of %s over %u GPUs: bus bandwidth", kind->name,
                                    case_number(of, VALIDATE_BYTES, (double)size), gpus);
    const char *jobs =
        case_text(of, "[{%s: %s, size: %lluB%s}]", kind->name, kind->value, (unsigned long long)size, ranks);

    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, 100 * PS_S)) return;
    const struct sim_job *job = &variant.result.job[0];
    if (job->ideal_ps == PS_NEVER || job->ideal_ps == 0) {
        validate_skip(of, subject, "what the algorithm can have at line rate is not known");
    } else {
        bool ended = job->end != PS_NEVER && !job->failed, small = size < LEAST_BYTES;
        if (small)
            words = case_text(of, "of %s at line rate", case_number(of, VALIDATE_RATE, busbw(job, job->ideal_ps)));
        else
            words = case_text(of, "the algorithm's limit at the adapters' line rate, %s for its bytes",
                              case_number(of, VALIDATE_TIME, (double)job->ideal_ps));
        JUDGE(of, .subject = subject, .criterion = CRITERION_BUSBW, .unit = VALIDATE_RATE,
              .value = ended ? busbw(job, job->end - job->start) : 0, .base = busbw(job, job->ideal_ps), .of = words,
              .why = "the fabric gives a collective less than its adapters could carry",
              .unjudged =
                  small && ended ? "below 256 MB latency counts, which no criterion is about: a baseline is" : NULL,
              .job = kind->name, .ranks = job->ranks, .bytes = job->bytes);
    }
    variant_close(&variant);
}

void test_collectives(struct validate_case *of)
{
    static const struct kind kinds[] = {
        {"allreduce", "ring"}, {"allgather", "ring"}, {"reducescatter", "ring"}, {"alltoall", "auto"}};
    static const uint32_t counts[VALIDATE_LEVELS] = {1, 2, 3};
    const char *ranks;

    if (validate_skip_if(of, of->fabric->gpus < 2 || of->fabric->hosts < 2, "", "the fabric has no GPUs in two hosts"))
        return;
    uint64_t least = PART_BYTES * choose_gpus(of, &ranks);
    if (least < LEAST_BYTES) least = LEAST_BYTES;
    for (uint32_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (uint64_t size = SMALL_BYTES; of->plan->level == VALIDATE_FULL && size < LEAST_BYTES; size *= 4)
            judge_collective(of, &kinds[k], size);
        for (uint32_t s = 0; s < counts[of->plan->level]; s++)
            judge_collective(of, &kinds[k], least << 2 * s);
    }
}

/* Steps of compute and one AllReduce, one after the other: what the network adds to the step shows at once. */
static void judge_synthetic(struct validate_case *of)
{
    static const struct {
        const char *text, *name; /* the second in a baseline */
        ps_t compute;
    } steps[] = {
        {"10 ms", "step-10ms", 10 * PS_MS}, {"50 ms", "step-50ms", 50 * PS_MS}, {"100 ms", "step-100ms", 100 * PS_MS}};
    uint32_t repeat = of->plan->level == VALIDATE_QUICK ? 1 : 3;
    const char *subject, *words, *ranks;
    struct variant variant = {0};
    ps_t time = 0;

    choose_gpus(of, &ranks);
    const char *jobs =
        case_text(of, "[{allreduce: ring, size: " STEP_BYTES_TEXT ", repeat: %u, gap: 1ms%s}]", repeat, ranks);
    if (!variant_open(of, "a training step", jobs, &variant, NULL)) return;
    if (!variant_run(of, "a training step", &variant, 100 * PS_S)) return;
    const struct sim_job *job = variant.result.job;
    for (uint32_t i = 0; i < variant.result.jobs; i++)
        time =
            job[i].end == PS_NEVER || job[i].failed || time == PS_NEVER ? PS_NEVER : time + job[i].end - job[i].start;
    for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        double mean = time == PS_NEVER ? INFINITY : (double)time / variant.result.jobs;
        subject = case_text(of, "step of %s of compute and an AllReduce of %s, mean of %u", steps[i].text,
                            STEP_BYTES_TEXT, repeat);
        words = case_text(of, "roofline, %s + %s of bytes at line rate", steps[i].text,
                          case_number(of, VALIDATE_TIME, (double)job->ideal_ps));
        JUDGE(of, .subject = subject, .criterion = CRITERION_JCT_RATIO, .warn = CRITERION_JCT_RATIO_WARN,
              .unit = VALIDATE_TIME, .value = mean + (double)steps[i].compute,
              .base = (double)(job->ideal_ps + steps[i].compute), .of = words,
              .why = time == PS_NEVER ? "the AllReduce does not complete" : "communication is slower than its lines",
              .job = steps[i].name, .ranks = job->ranks, .bytes = job->bytes);
    }
    variant_close(&variant);
}

/* Bytes that the busiest adapter sends in a step, as time on its line. */
static double line_time(const struct sim_result *result, const struct fabric *fabric, uint32_t steps)
{
    double most = 0;

    for (uint32_t i = 0; i < result->nics; i++) {
        const struct sim_nic *nic = &result->nic[i];
        double rate = (double)fabric->port[fabric->endpoint[nic->endpoint].port].rate_bps;
        double time = (double)nic->common.tx_bytes * 8 * (double)PS_S / rate / steps;
        if (time > most) most = time;
    }
    return most;
}

static void judge_training(struct validate_case *of, const struct variant *variant, const char *name, bool slice)
{
    const struct sim_training *training = &variant->result.training[0];

    if (training->steps_ended == 0) {
        validate_tell(of, VALIDATE_FAIL, name, "its steps end", "none does within 100 s");
        return;
    }
    uint64_t ranks = variant->result.job[training->job].ranks;
    double line = line_time(&variant->result, of->fabric, training->steps_ended);
    const char *subject = case_text(of, "job %.100s of the file: mean of %u steps%s", name, training->steps_ended,
                                    slice ? " of its slice" : "");
    const char *words =
        case_text(of, "roofline, %s of compute + %s of the busiest adapter's bytes at line rate",
                  case_number(of, VALIDATE_TIME, (double)training->compute_ps), case_number(of, VALIDATE_TIME, line));
    JUDGE(of, .subject = subject, .criterion = CRITERION_JCT_RATIO, .warn = CRITERION_JCT_RATIO_WARN,
          .unit = VALIDATE_TIME, .value = (double)training->mean_ps, .base = (double)training->compute_ps + line,
          .of = words, .why = "the step waits longer than its bytes take", .job = name, .ranks = ranks);
    subject = case_text(of, "job %.100s of the file: exposed share of a step%s", name, slice ? " of its slice" : "");
    JUDGE(of, .subject = subject, .criterion = CRITERION_EXPOSED_SHARE, .unit = VALIDATE_RATIO,
          .value = (double)training->exposed_ps / (double)training->mean_ps,
          .why = "steps wait for the network for longer than is stated", .job = name, .ranks = ranks);
}

void test_training(struct validate_case *of)
{
    uint32_t count = 0;

    if (validate_skip_if(of, of->fabric->gpus < 2 || of->fabric->hosts < 2, "", "the fabric has no GPUs in two hosts"))
        return;
    for (uint32_t j = 0; j < of->fabric->jobs && of->plan->level != VALIDATE_QUICK; j++) {
        struct variant variant = {0};
        const char *name = of->fabric->job[j].name;
        if (of->fabric->job[j].kind != FABRIC_JOB_TRAINING) continue;
        count++;
        if (!variant_open_job(of, name, j, &variant) || !variant_run(of, name, &variant, 100 * PS_S)) continue;
        judge_training(of, &variant, name, of->fabric->job[j].training->slice);
        variant_close(&variant);
    }
    if (count == 0) judge_synthetic(of);
}

struct tenants {
    uint32_t endpoint[2][TENANT_MOST], count[2];
};

/* Hosts in turn: so both have endpoints at every leaf. */
static void choose_tenants(const struct fabric *fabric, struct tenants *ret)
{
    *ret = (struct tenants){0};
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        uint32_t which = fabric->endpoint[e].host % 2;
        if (e && !fabric_reaches(fabric, 0, e)) continue;
        if (ret->count[which] < TENANT_MOST) ret->endpoint[which][ret->count[which]++] = e;
    }
}

/* Times of the jobs in a run; false after a row that says what is wrong. */
static bool tenant_times(struct validate_case *of, const char *jobs, double time[2])
{
    struct variant variant = {0};

    if (!variant_open(of, "two tenants", jobs, &variant, NULL)) return false;
    if (!variant_run(of, "two tenants", &variant, 10 * PS_S)) return false;
    for (uint32_t i = 0; i < variant.result.jobs && i < 2; i++) {
        const struct sim_job *job = &variant.result.job[i];
        time[i] = job->end == PS_NEVER || job->failed ? INFINITY : (double)(job->end - job->start);
    }
    variant_close(&variant);
    return true;
}

void test_tenants(struct validate_case *of)
{
    const char *size = of->plan->level == VALIDATE_QUICK     ? "8MB"
                       : of->plan->level == VALIDATE_DEFAULT ? "32MB"
                                                             : "256MB";
    const char *job[2];
    double alone[2], beside[2] = {0, 0};
    struct tenants tenants;

    choose_tenants(of->fabric, &tenants);
    if (validate_skip_if(of, tenants.count[0] < 2 || tenants.count[1] < 2 || of->fabric->hosts < 4, "",
                         "fewer than four hosts that reach each other"))
        return;
    for (int t = 0; t < 2; t++) {
        double time[2] = {0, 0};
        job[t] = case_text(of, "{name: tenant%d, all-to-all: pairwise, size: %s, ranks: %s}", t, size,
                           case_list(of, tenants.endpoint[t], tenants.count[t]));
        if (!tenant_times(of, case_text(of, "[%s]", job[t]), time)) return;
        alone[t] = time[0];
    }
    if (isinf(alone[0] + alone[1])) {
        validate_tell(of, VALIDATE_FAIL, "a tenant alone", "its all-to-all completes within 10 s", "it does not");
        return;
    }
    if (!tenant_times(of, case_text(of, "[%s, %s]", job[0], job[1]), beside)) return;
    int worst = beside[1] / alone[1] > beside[0] / alone[0];
    const char *subject = case_text(of, "all-to-all of %s among %u adapters beside another among %u: time over alone",
                                    size, tenants.count[worst], tenants.count[!worst]);
    JUDGE(of, .subject = subject, .criterion = CRITERION_INTERFERENCE, .warn = CRITERION_INTERFERENCE_WARN,
          .unit = VALIDATE_RATIO, .value = beside[worst] / alone[worst],
          .why = "tenants that share no adapter slow each other down on the links between switches");
}
