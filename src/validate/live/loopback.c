/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of this machine: perftest and UCX, unchanged, on the adapter in user space, over the loopback interface.
 * Nothing here depends on the fabric file but the criteria.
 *
 * Packets are counted with a capture.  On a machine that is busy a timer may run out though nothing is lost: a row that
 * finds packets sent again while others used the processors is run again, and skipped with that share where it stays
 * so.  With --fault it is judged at once.  Times are measured without a capture (figures.c).
 */
#include <math.h>

#include "validate/live/figures.h"
#include "validate/live/pair.h"

#define RUNS 3u
/* A timeout of UCX's own would be a second for each packet lost that nothing follows. */
#define UCX                                                                                                            \
    "env", "UCX_TLS=rc_v,self", "UCX_NET_DEVICES=rocelab0:1", "UCX_LOG_LEVEL=error", "UCX_RC_VERBS_TIMEOUT=5ms",       \
        "ucx_perftest"

static const struct live_program write_bw = {.name = "ib_write_bw",
                                             .package = "perftest",
                                             .path = "/usr/bin/ib_write_bw",
                                             .word = {"ib_write_bw", "-F", "--report_gbits", "-s", "65536"},
                                             .few = "500",
                                             .many = "20000",
                                             .bytes = 65536,
                                             .counted = true,
                                             .figure = LIVE_PERFTEST_GBPS};
static const struct live_program latencies[] = {
    {.name = "ib_write_lat",
     .package = "perftest",
     .path = "/usr/bin/ib_write_lat",
     .word = {"ib_write_lat", "-F", "-s", "8"},
     .few = "100",
     .many = "5000",
     .bytes = 8,
     .figure = LIVE_PERFTEST_US},
    {.name = "ib_send_lat",
     .package = "perftest",
     .path = "/usr/bin/ib_send_lat",
     .word = {"ib_send_lat", "-F", "-s", "8"},
     .few = "100",
     .many = "5000",
     .bytes = 8,
     .figure = LIVE_PERFTEST_US},
};
static const struct live_program ucx[] = {
    {.name = "ucx_perftest -t tag_lat",
     .package = "ucx-utils",
     .path = "/usr/bin/ucx_perftest",
     .word = {UCX, "-t", "tag_lat", "-s", "8", "-w", "10"},
     .few = "200",
     .many = "5000",
     .bytes = 8,
     .figure = LIVE_UCX_US},
    {.name = "ucx_perftest -t tag_bw",
     .package = "ucx-utils",
     .path = "/usr/bin/ucx_perftest",
     .word = {UCX, "-t", "tag_bw", "-s", "65536", "-w", "10"},
     .few = "200",
     .many = "5000",
     .bytes = 65536,
     .figure = LIVE_UCX_MIBPS},
};

/* Nothing is sent again, marked or out of order, and every byte arrives. */
static void judge_program(struct validate_case *of, const struct live_program *program)
{
    struct live_pair pair;

    for (uint32_t i = 0; i < RUNS; i++) {
        pair = (struct live_pair){.program = program, .fault = of->plan->live_fault, .capture = true};
        if (!live_pair_run(of, &pair)) return;
        if (pair.events == 0 || of->plan->live_fault || pair.others <= LIVE_BUSY_MOST) break;
    }
    const char *subject = case_text(of, "%.200s: packets sent again, refused, marked or out of order",
                                    live_pair_name(of, program, program->few));
    if (pair.events == 0 || of->plan->live_fault ||
        !live_skip_busy(of, subject, pair.others, "a timer may run out though nothing is lost"))
        JUDGE(of, .subject = subject, .criterion = CRITERION_IDLE_EVENTS, .value = pair.events,
              .why = "a pair that is alone loses or reorders packets");
    if (program->counted)
        JUDGE(of, .subject = "bytes that arrived, each once, over those sent", .criterion = CRITERION_LIVE_BYTES,
              .unit = VALIDATE_RATIO, .value = pair.goodput, .why = "bytes are missing");
    live_hold_program(of, program);
}

void test_live_reproducible(struct validate_case *of)
{
    double sum = 0, squares = 0, others = 0;
    struct machine_steady steady = {0};

    const char *subject = case_text(of, "%.200s, %u runs: deviation of its bandwidth over the mean",
                                    live_pair_name(of, &write_bw, write_bw.many), RUNS);
    for (uint32_t i = 0; i < RUNS; i++) {
        struct live_pair pair = {.program = &write_bw, .fault = of->plan->live_fault};
        machine_steady_look(&steady);
        if (!live_pair_run(of, &pair)) return;
        sum += pair.figure;
        squares += pair.figure * pair.figure;
        others = fmax(others, pair.others);
        machine_steady_look(&steady);
    }
    if (live_skip_busy(of, subject, others, "bandwidth would say nothing")) return;
    double mean = sum / RUNS, variance = squares / RUNS - mean * mean;
    JUDGE(of, .subject = subject, .criterion = CRITERION_LIVE_SPREAD, .unit = VALIDATE_RATIO,
          .value = sqrt(variance > 0 ? variance : 0) / mean, .excuse = live_unsteady(of, &steady),
          .why = "packets are lost, or processors change their speed");
}

void test_live_point(struct validate_case *of)
{
    judge_program(of, &write_bw);
}

void test_live_latency(struct validate_case *of)
{
    for (size_t i = 0; i < sizeof latencies / sizeof latencies[0]; i++)
        judge_program(of, &latencies[i]);
}

void test_live_ucx(struct validate_case *of)
{
    for (size_t i = 0; i < sizeof ucx / sizeof ucx[0]; i++)
        judge_program(of, &ucx[i]);
}

/* Under faults programs complete, and what they wrote arrives once. */
void test_live_faults(struct validate_case *of)
{
    static const char *const faults[] = {"loss=1%", "reorder=1%", "corrupt=1%", "mark=5%"};
    const char *subject;

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct live_pair pair = {.program = &write_bw, .fault = faults[i], .capture = true};
        struct live_pair other = {.program = &ucx[1], .fault = faults[i], .capture = true};
        if (!live_pair_run(of, &pair)) return;
        subject = case_text(of, "%.200s with %s: bytes that arrived, each once, over those sent",
                            live_pair_name(of, &write_bw, write_bw.few), faults[i]);
        JUDGE(of, .subject = subject, .criterion = CRITERION_LIVE_BYTES, .unit = VALIDATE_RATIO, .value = pair.goodput,
              .why = "bytes are missing");
        if (!live_pair_run(of, &other)) continue;
        subject = case_text(of, "%.200s with %s", live_pair_name(of, &ucx[1], ucx[1].few), faults[i]);
        validate_tell(of, VALIDATE_PASS, subject, "every request completes, exit status 0", "%s", "");
    }
}
