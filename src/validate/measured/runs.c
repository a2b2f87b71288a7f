/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that outputs of programs answer: perftest between two hosts, nccl-tests over GPUs, steps of training.
 *
 * Limits are those of the simulated rows: the payload rate of a line from two messages that are alone, the limit of a
 * collective from its bytes at line rate.
 */
#include <math.h>
#include <string.h>

#include "validate/measured/measured.h"

#include "fabric/fabric.h"
#include "fabric/routing.h"

#define LEAST_MESSAGE UINT64_C(65536)   /* of ib_write_bw: a shorter one does not fill a line */
#define LEAST_BYTES UINT64_C(256000000) /* of a collective */
#define RUNS_LEAST 3u                   /* that a deviation is of */
#define EACH_JOB(evidence, job) EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)

static const struct evidence_value *value_of(const struct validate_case *of, uint32_t job,
                                             enum evidence_counter counter)
{
    return evidence_find(&of->plan->measured->evidence, job, EVIDENCE_NO_PRIORITY, counter);
}

/* Bits a second, and the message that it is of; NULL: no bandwidth of this program. */
static const struct evidence_value *bandwidth_of(const struct validate_case *of, uint32_t job, const char *program,
                                                 uint64_t *bytes)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *has = evidence->object[job].program;
    const struct evidence_value *rate = value_of(of, job, EVIDENCE_BUSBW);

    if (!has || strcmp(has, program) != 0 || !rate) return NULL;
    *bytes = evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_MESSAGE_BYTES);
    return rate;
}

/* --- perftest --- */

static const char *const writers[] = {"ib_write_bw", "ib_read_bw", "ib_send_bw"};
#define WRITERS (sizeof writers / sizeof writers[0])

uint32_t measured_endpoint(const struct validate_case *of, uint32_t job)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const struct fabric *fabric = of->fabric;
    uint32_t host = evidence->object[job].host,
             node = host == EVIDENCE_NONE ? EVIDENCE_NONE : evidence->object[host].fabric;

    if (node < fabric->hosts)
        return fabric->first_endpoint[node] < fabric->first_endpoint[node + 1] ? fabric->first_endpoint[node]
                                                                               : FABRIC_NONE;
    for (uint32_t e = 1; e < fabric->endpoints; e++)
        if (fabric->port[fabric->endpoint[e].port].rate_bps != fabric->port[fabric->endpoint[0].port].rate_bps)
            return FABRIC_NONE;
    return host == EVIDENCE_NONE && fabric->endpoints ? 0 : FABRIC_NONE;
}

/* What a long message can have from this endpoint to another host; 0: not known, after a row. */
static double payload_of(struct validate_case *of, const char *subject, uint32_t endpoint)
{
    uint32_t other = 0;
    struct variant variant = {0};

    while (other < of->fabric->endpoints && (of->fabric->endpoint[other].host == of->fabric->endpoint[endpoint].host ||
                                             !fabric_reaches(of->fabric, endpoint, other)))
        other++;
    if (other == of->fabric->endpoints) return 0;
    const char *src = case_endpoint(of, endpoint), *dst = case_endpoint(of, other);
    const char *jobs = case_text(of, "[{flows: \"%s %s 1MB\\n%s %s 4MB 10us after 0\\n\"}]", src, dst, src, dst);
    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, PS_S)) return 0;
    double rate = payload_rate(&variant.result.flow[0], &variant.result.flow[1]);
    variant_close(&variant);
    return rate;
}

struct slowest { /* of the outputs of one program */
    const struct evidence_value *rate;
    uint32_t outputs, endpoint, job;
    uint64_t bytes;
    double share; /* of its line */
};

static struct slowest slowest_of(const struct validate_case *of, const char *program)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    struct slowest slowest = {.share = INFINITY};

    EACH_JOB(evidence, job)
    {
        uint64_t bytes = 0;
        const struct evidence_value *rate = bandwidth_of(of, job, program, &bytes);
        uint32_t endpoint = rate ? measured_endpoint(of, job) : FABRIC_NONE;
        if (endpoint == FABRIC_NONE || bytes < LEAST_MESSAGE) continue;
        slowest.outputs++;
        double share = rate->real * 8 / (double)of->fabric->port[of->fabric->endpoint[endpoint].port].rate_bps;
        if (share >= slowest.share) continue;
        slowest.rate = rate;
        slowest.endpoint = endpoint;
        slowest.job = job;
        slowest.bytes = bytes;
        slowest.share = share;
    }
    return slowest;
}

static bool judge_writer(struct validate_case *of, const char *program)
{
    struct slowest slowest = slowest_of(of, program);

    if (!slowest.outputs) return false;
    double rate = (double)of->fabric->port[of->fabric->endpoint[slowest.endpoint].port].rate_bps;
    const char *subject =
        case_text(of, "%s of %s, the slowest of %u output%s: %.100s", program,
                  case_number(of, VALIDATE_BYTES, (double)slowest.bytes), slowest.outputs,
                  slowest.outputs == 1 ? "" : "s", of->plan->measured->evidence.object[slowest.job].name);
    double payload = payload_of(of, subject, slowest.endpoint);
    if (payload <= 0) return true;
    const char *words = case_text(of, "payload rate of the way, %s of a line of %s",
                                  case_number(of, VALIDATE_RATE, payload), case_number(of, VALIDATE_RATE, rate));
    JUDGE(of, .subject = subject, .criterion = CRITERION_POINT_RATE, .unit = VALIDATE_RATE,
          .value = slowest.rate->real * 8, .base = payload, .of = words,
          .why = "one pair does not fill its line: PCIe, NUMA, a slow receiver, loss, or congestion control",
          .source = measured_at(of, slowest.rate->file, slowest.rate->line));
    return true;
}

void measured_points(struct validate_case *of)
{
    bool any = false;

    for (size_t w = 0; w < WRITERS; w++)
        any |= judge_writer(of, writers[w]);
    if (!any)
        validate_skip(of, "bandwidth of one pair",
                      "no output of ib_write_bw with messages of 64 KB or more, in the folder of a host of the file");
    measured_figures(of);
}

/* Deviation over mean of a host's outputs of one program and message; below 0: too few. */
static double deviation_of(const struct validate_case *of, uint32_t like, const char *program, uint32_t *ret_runs)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    double sum = 0, squares = 0;
    uint64_t bytes = 0, own = 0;
    uint32_t runs = 0;

    if (!bandwidth_of(of, like, program, &own)) return -1;
    EACH_JOB(evidence, job)
    {
        const struct evidence_value *rate = bandwidth_of(of, job, program, &bytes);
        if (!rate || bytes != own || evidence->object[job].host != evidence->object[like].host) continue;
        sum += rate->real;
        squares += rate->real * rate->real;
        runs++;
    }
    *ret_runs = runs;
    double mean = sum / runs, rest = squares / runs - mean * mean;
    return runs < RUNS_LEAST ? -1 : sqrt((rest > 0 ? rest : 0) * runs / (runs - 1)) / mean;
}

void measured_spread(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *source = "", *subject = "bandwidth of the same program, run again and again";
    double worst = -1;

    EACH_JOB(evidence, job)
    for (size_t w = 0; w < WRITERS; w++) {
        uint32_t runs = 0;
        double deviation = deviation_of(of, job, writers[w], &runs);
        if (deviation <= worst) continue;
        const struct evidence_value *value = value_of(of, job, EVIDENCE_BUSBW);
        worst = deviation;
        subject = case_text(of, "bandwidth of %u runs of %s: deviation over mean, %.100s", runs, writers[w],
                            evidence->object[job].name);
        source = measured_at(of, value->file, value->line);
    }
    if (worst < 0)
        validate_skip(of, subject, "fewer than three outputs of one ib_write_bw on one host: give each run a file");
    else
        JUDGE(of, .subject = subject, .criterion = CRITERION_LIVE_SPREAD, .unit = VALIDATE_RATIO, .value = worst,
              .why = "runs of one program differ: other load, or power saving", .source = source);
}

/* --- nccl-tests --- */

static double busbw(const struct sim_job *job, ps_t time)
{
    return (double)job->bytes * (double)job->bus_num / (double)job->bus_den * 8 * (double)PS_S / (double)time;
}

/* Bits a second that the algorithm can have on this fabric; 0 after a row. */
static double limit_of(struct validate_case *of, const char *subject, const char *kind, uint64_t bytes, uint64_t ranks)
{
    const char *jobs =
        case_text(of, "[{%s: %s, size: %lluB, ranks: %llu}]", kind, strcmp(kind, "alltoall") == 0 ? "auto" : "ring",
                  (unsigned long long)bytes, (unsigned long long)ranks);
    struct variant variant = {0};
    double limit = 0;

    if (!variant_open(of, subject, jobs, &variant, NULL) || !variant_run(of, subject, &variant, 1)) return 0;
    const struct sim_job *job = &variant.result.job[0];
    if (job->ideal_ps != PS_NEVER && job->ideal_ps > 0)
        limit = busbw(job, job->ideal_ps);
    else
        validate_skip(of, subject, "what the algorithm can have at line rate is not known");
    variant_close(&variant);
    return limit;
}

static void judge_collective(struct validate_case *of, uint32_t job, const char *kind)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const struct evidence_value *rate = value_of(of, job, EVIDENCE_BUSBW);
    uint64_t bytes = evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_MESSAGE_BYTES);
    uint64_t ranks = evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_RANKS);
    const char *subject = case_text(of, "%s of %s over %llu GPUs: bus bandwidth", kind,
                                    case_number(of, VALIDATE_BYTES, (double)bytes), (unsigned long long)ranks);
    if (validate_skip_if(of, bytes < LEAST_BYTES, subject, "messages of 256 MB and more are judged: run it with -e 1G"))
        return;
    if (validate_skip_if(of, ranks < 2 || ranks > of->fabric->gpus, subject,
                         "its ranks are not known, or more than the %u GPUs of the file", of->fabric->gpus))
        return;
    double limit = limit_of(of, subject, kind, bytes, ranks);
    if (limit <= 0) return;
    JUDGE(of, .subject = subject, .criterion = CRITERION_BUSBW, .unit = VALIDATE_RATE, .value = rate->real * 8,
          .base = limit, .of = "the algorithm's limit at the adapters' line rate",
          .why = "the fabric gives a collective less than its adapters could carry", .job = kind, .ranks = ranks,
          .bytes = bytes, .source = measured_at(of, rate->file, rate->line));
}

/* What nccl-tests itself found wrong; nothing where no output was checked. */
static void judge_values(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *why = "", *source = "";
    const struct evidence_value *worst = NULL;
    uint32_t outputs = 0;
    double sum = 0;

    EACH_JOB(evidence, job)
    {
        const struct evidence_value *wrong = value_of(of, job, EVIDENCE_WRONG_VALUES);
        if (!wrong) continue;
        outputs++;
        sum += (double)wrong->last;
        if (worst && wrong->last <= worst->last) continue;
        worst = wrong;
        why = case_text(of, "most in %.100s: the network, or a GPU, gives other bytes than were sent",
                        evidence->object[job].name);
        source = measured_at(of, wrong->file, wrong->line);
    }
    if (!worst) return;
    const char *subject = case_text(of, "wrong values in %u output%s of nccl-tests", outputs, outputs == 1 ? "" : "s");
    JUDGE(of, .subject = subject, .criterion = CRITERION_LIVE_WRONG, .value = sum, .why = why, .source = source);
}

void measured_collectives(struct validate_case *of)
{
    static const char *const kinds[] = {"allreduce", "allgather", "reducescatter", "alltoall"};
    const struct evidence *evidence = &of->plan->measured->evidence;
    uint32_t unnamed = 0;

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        bool any = false;
        EACH_JOB(evidence, job)
        {
            const char *program = evidence->object[job].program;
            unnamed += k == 0 && !program && strncmp(evidence->object[job].name, "nccl-tests", 10) == 0;
            if (!program || strcmp(program, kinds[k]) != 0 || !value_of(of, job, EVIDENCE_BUSBW)) continue;
            any = true;
            judge_collective(of, job, kinds[k]);
        }
        if (!any) validate_skip(of, kinds[k], "no output of nccl-tests of it");
    }
    judge_values(of);
    if (unnamed)
        validate_skip(of, "other outputs of nccl-tests",
                      "which collective it is neither output nor file says: name the file all_reduce_perf.txt");
}

/* --- training --- */

void measured_training(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *subject, *source;
    bool any = false;

    EACH_JOB(evidence, job)
    {
        const struct evidence_value *step = value_of(of, job, EVIDENCE_STEP_NS),
                                    *exposed = value_of(of, job, EVIDENCE_STEP_EXPOSED_NS);
        uint64_t ranks = evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_RANKS);
        const char *name = evidence->object[job].name;
        if (!step || step->real <= 0) continue;
        any = true;
        subject = case_text(of, "job %.100s: mean step", name);
        source = measured_at(of, step->file, step->line);
        struct validate_finding finding = {.subject = subject,
                                           .criterion = CRITERION_JCT_RATIO,
                                           .unit = VALIDATE_TIME,
                                           .value = step->real * (double)PS_NS,
                                           .job = name,
                                           .ranks = ranks,
                                           .source = source};
        if (of->plan->baseline) baseline_judge(of, &finding);
        finding.criterion = CRITERION_BASELINE_STEP;
        if (!of->plan->baseline)
            validate_leave(of, &finding,
                           "what its bytes take at line rate no output says: hold it against a signed baseline "
                           "(--baseline FILE)");
        if (!exposed) continue;
        subject = case_text(of, "job %.100s: exposed share of a step", name);
        JUDGE(of, .subject = subject, .criterion = CRITERION_EXPOSED_SHARE, .unit = VALIDATE_RATIO,
              .value = exposed->real / step->real, .why = "steps wait for the network for longer than is stated",
              .job = name, .ranks = ranks, .source = source);
    }
    if (!any)
        validate_skip(of, "",
                      "no output has the time of steps: metrics of the trainer (rocelab_training_step_seconds)");
    measured_rules(of, "ranks that come late, pairs that are slow", "D17 D18", CRITERION_DIAGNOSIS,
                   MEASURED_ANY(of, false, EVIDENCE_RANK_COLLECTIVE_NS, EVIDENCE_RANK_WAIT_NS),
                   "no output has the time of ranks in collectives: NCCL Inspector, the flight recorder, metrics");
}
