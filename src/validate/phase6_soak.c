/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 6, soak: rounds of traffic, each with a seed of its own, for as long as is asked for in virtual time.  Every
 * round completes with its books in order, and leaves nothing behind: memory that the program holds between rounds, as
 * its allocator counts it, does not grow.
 *
 * The first rounds fill what is filled once (tables of the C library, buffers of streams) and do not count.  Nor do
 * SLACK_BYTES: glibc counts freed pieces as in use that it keeps for the thread, 7 of each size up to 1032 bytes.
 */
#include <malloc.h>
#include <math.h>

#include "validate/failures.h"

#define LONGEST_PS (10 * PS_S)
#define WARM_ROUNDS 2u
#define ROUNDS_LEAST (WARM_ROUNDS + 2u)
#define SLACK_BYTES (256.0 * 1024)
#define HOUR_PS (3600 * PS_S)

struct soak {
    ps_t ran, least, most;
    uint32_t rounds, failed;
    uint64_t warm_bytes, bytes; /* held after the first rounds, and after the last */
    ps_t warm_at;
};

/* In use: chunks of the heap, and those that were mapped alone.  A sanitizer's allocator counts nothing here: 0. */
static uint64_t held_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

static bool run_round(struct validate_case *of, const char *subject, const char *jobs, struct soak *soak)
{
    const struct sim_options options = {.threads = 1, .seed = of->plan->seed + soak->rounds};
    struct variant variant = {0};

    if (!variant_open(of, subject, jobs, &variant, &options)) return false;
    if (!variant_run(of, subject, &variant, LONGEST_PS)) return false;
    sim_audit(variant.sim);
    ps_t time = failures_time(&variant);
    variant_close(&variant);
    soak->failed += time == PS_NEVER;
    if (time < soak->least) soak->least = time;
    if (time != PS_NEVER && time > soak->most) soak->most = time;
    soak->ran = ps_add(soak->ran, time == PS_NEVER ? PS_MS : time);
    soak->bytes = held_bytes();
    if (++soak->rounds > WARM_ROUNDS) return true;
    soak->warm_bytes = soak->bytes;
    soak->warm_at = soak->ran;
    return true;
}

static void judge_memory(struct validate_case *of, const struct soak *soak)
{
    double more = (double)soak->bytes - (double)soak->warm_bytes - SLACK_BYTES;

    if (validate_skip_if(of, soak->bytes == 0 || soak->rounds < ROUNDS_LEAST, "memory",
                         soak->bytes ? "%u rounds are too few to see whether memory grows: a longer --soak"
                                     : "after %u rounds: the allocator of this build does not count",
                         soak->rounds))
        return;
    const char *subject =
        case_text(of, "memory held after %u rounds beyond that after %u and 256 KiB, for an hour of such rounds",
                  soak->rounds, WARM_ROUNDS);
    const char *why = case_text(of, "%.0f bytes more: the program keeps something of each round", more);
    JUDGE(of, .subject = subject, .criterion = CRITERION_MEMORY_SLOPE, .unit = VALIDATE_BYTES,
          .value = more > 0 ? more * (double)HOUR_PS / (double)(soak->ran - soak->warm_at) : 0, .why = why);
}

void test_soak(struct validate_case *of)
{
    static const char subject[] = "soak: rounds whose traffic does not complete";
    struct soak soak = {.least = PS_NEVER};
    struct failures failures;

    if (validate_skip_if(of, of->plan->soak_ps == 0, "soak", "no time was given: --soak 10s")) return;
    if (!failures_choose(of, PS_MS, &failures)) return;
    const char *jobs = failures_jobs(of, &failures);
    while (soak.ran < of->plan->soak_ps && run_round(of, subject, jobs, &soak))
        ;
    if (soak.ran < of->plan->soak_ps) return; /* after a row that says why */
    const char *rounds = case_text(of, "%s, of %u with a seed each; the slowest took %.2f times the fastest", subject,
                                   soak.rounds, soak.most ? (double)soak.most / (double)soak.least : 0.0);
    const char *why = case_text(of, "%u of %u rounds", soak.failed, soak.rounds);
    JUDGE(of, .subject = rounds, .criterion = CRITERION_SOAK, .value = soak.failed, .why = why);
    judge_memory(of, &soak);
}
