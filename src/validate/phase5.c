/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 5, failures, one part at a time: every link, leaf, spine and core that can go leaves the jobs running, no
 * slower than what is lost explains, and with every byte delivered once.
 *
 * Failures that cut an endpoint off are not run: an adapter without a path cannot go on, and the row says so.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "study/each.h"
#include "validate/failures.h"

static const uint32_t samples[VALIDATE_LEVELS] = {[VALIDATE_QUICK] = 1, [VALIDATE_DEFAULT] = 8, [VALIDATE_FULL] = 0};
static const ps_t lengths[VALIDATE_LEVELS] = {
    [VALIDATE_QUICK] = 2 * PS_MS, [VALIDATE_DEFAULT] = 4 * PS_MS, [VALIDATE_FULL] = 8 * PS_MS};

struct counted { /* what there is of one sort */
    uint32_t all, with_path;
};

static struct counted count_parts(const struct fabric *fabric, enum each_what what)
{
    static const uint8_t roles[] = {
        [EACH_LEAF] = FABRIC_ROLE_LEAF, [EACH_SPINE] = FABRIC_ROLE_SPINE, [EACH_CORE] = FABRIC_ROLE_CORE};
    struct counted counted = {0};
    uint64_t num, den;

    for (uint32_t p = 0; what == EACH_LINK && p < fabric->ports; p++) {
        if (!each_is_link(fabric, p)) continue;
        counted.all++;
        counted.with_path += !each_loss(fabric, fabric->port[p].node, p, &num, &den);
    }
    for (uint32_t n = fabric->hosts; what != EACH_LINK && n < fabric->nodes; n++) {
        if (fabric->node[n].role != roles[what]) continue;
        counted.all++;
        counted.with_path += !each_loss(fabric, n, FABRIC_NONE, &num, &den);
    }
    return counted;
}

struct worst {
    uint32_t stopped, different;
    const struct each_one *slow; /* its time over what is explained is largest */
    const struct each_one *stop, *differs;
};

static double over(const struct each_one *one)
{
    return one->predicted_ps == PS_NEVER ? 0 : (double)one->time_ps / (double)one->predicted_ps;
}

static struct worst find_worst(const struct each *each)
{
    struct worst worst = {0};

    for (uint32_t t = 1; t < each->count; t++) {
        const struct each_one *one = &each->one[t];
        if (!one->completed) {
            worst.stopped++;
            if (!worst.stop) worst.stop = one;
            continue;
        }
        if (one->delivered_bytes != each->one[0].delivered_bytes) {
            worst.different++;
            if (!worst.differs) worst.differs = one;
        }
        if (!worst.slow || over(one) > over(worst.slow)) worst.slow = one;
    }
    return worst;
}

static void judge_each(struct validate_case *of, const struct each *each, const char *noun, uint32_t all)
{
    struct worst worst = find_worst(each);
    const char *why = "", *words;

    const char *subject = case_text(of, "each %s down, %u of %u: jobs that do not complete though a path is left", noun,
                                    each->count - 1, all);
    if (worst.stop) why = case_text(of, "%.64s: %.200s", worst.stop->name, worst.stop->why);
    JUDGE(of, .subject = subject, .criterion = CRITERION_FAILURE_STOPS, .value = worst.stopped, .why = why);
    if (worst.slow) {
        subject = case_text(of, "each %s down: the slowest, %.64s", noun, worst.slow->name);
        words = case_text(of, "%s explained: %s without it, times capacity before over after, plus new routes",
                          case_number(of, VALIDATE_TIME, (double)worst.slow->predicted_ps),
                          case_number(of, VALIDATE_TIME, (double)each->one[0].time_ps));
        why = case_text(of, "%.200s; retransmission timers (nics: timeout) and 'converge' are where it goes",
                        worst.slow->why[0] ? worst.slow->why : "slower than explained");
        JUDGE(of, .subject = subject, .criterion = CRITERION_FAILURE_TIME, .unit = VALIDATE_TIME,
              .value = (double)worst.slow->time_ps, .base = (double)worst.slow->predicted_ps, .of = words, .why = why);
    }
    subject = case_text(of, "each %s down: runs that deliver other bytes than without", noun);
    why = worst.differs ? case_text(of, "%.64s", worst.differs->name) : "";
    JUDGE(of, .subject = subject, .criterion = CRITERION_FAILURE_BYTES, .value = worst.different, .why = why);
}

static void run_each(struct validate_case *of, const struct failures *failures, enum each_what what, uint32_t all)
{
    const struct each_options options = {.what = what,
                                         .at = PS_NEVER,
                                         .lasts_ps = PS_NEVER,
                                         .sample = samples[of->plan->level],
                                         .with_path = true,
                                         .sim = {.seed = of->plan->seed, .until = PS_NEVER, .threads = 1},
                                         .quiet = true,
                                         .stopped = of->plan->stopped};
    const char *subject = case_text(of, "each %s down", each_names[what]);
    struct study_error error = {0};
    struct variant variant = {0};

    if (!variant_open(of, subject, failures_jobs(of, failures), &variant, NULL)) return;
    struct each each = {
        .options = &options, .fabric = variant.fabric, .cache = &of->plan->cache, .seeds = 1, .error = &error};
    if (each_run(&each))
        judge_each(of, &each, each_names[what], all);
    else
        validate_tell(of, VALIDATE_FAIL, subject, "the traffic completes without a failure", "%s",
                      each.one && each.one[0].why[0] ? each.one[0].why
                      : error.count                  ? error.text[0]
                                                     : "it was stopped");
    each_release(&each);
    variant_close(&variant);
}

static void test_each(struct validate_case *of, enum each_what what)
{
    struct counted counted = count_parts(of->fabric, what);
    const char *noun = each_names[what];
    struct failures failures;

    if (validate_skip_if(of, counted.all == 0, "", "the fabric has no %s", noun)) return;
    if (counted.with_path < counted.all)
        validate_skip(of, "", "%u of %u: an adapter hangs on that %s alone, and what needs it cannot go on",
                      counted.all - counted.with_path, counted.all, noun);
    if (counted.with_path && failures_choose(of, lengths[of->plan->level], &failures))
        run_each(of, &failures, what, counted.with_path);
}

void test_each_link(struct validate_case *of)
{
    test_each(of, EACH_LINK);
}

void test_each_leaf(struct validate_case *of)
{
    test_each(of, EACH_LEAF);
}

void test_each_spine(struct validate_case *of)
{
    test_each(of, EACH_SPINE);
    if (count_parts(of->fabric, EACH_CORE).all) test_each(of, EACH_CORE);
}
