/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weeks of training: the mean against arithmetic by hand, the interval against the mean and against itself, the rates
 * against the run that they come from, and what a fabric's own failures do.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/handle.h"
#include "load/load.h"
#include "validate/weeks.h"

#define YEAR_S 31557600.0

static void near(double value, double due, double most)
{
    if (!(fabs(value - due) <= most)) fail_msg("%.9f, not %.9f", value, due);
}

static struct weeks weeks_of(uint32_t weeks)
{
    return (struct weeks){
        .weeks = weeks,
        .seed = 1,
        .gpus = 1000,
        .reliability = {.checkpoint_ps = 3600 * PS_S, .write_ps = 36 * PS_S, .restart_ps = 600 * PS_S, .spares = true}};
}

static struct weeks_source source_of(enum rate_part part, double stops, double slowdown)
{
    return (struct weeks_source){.part = part,
                                 .parts = 1000,
                                 .stops = stops,
                                 .slowdown = slowdown,
                                 .failures_a_year = YEAR_S / 604800 / 100, /* ten of them a week */
                                 .repair_s = 7200};
}

static void test_mean(void **state)
{
    struct weeks weeks = weeks_of(2);

    (void)state;
    weeks.source[0] = source_of(RATE_GPU, 1, 1);
    weeks.source[1] = source_of(RATE_OPTIC, 0, 2);
    weeks.sources = 2;
    weeks_compute(&weeks);
    near(weeks.failures, 40, 1e-9);
    near(weeks.stops, 20, 1e-9);
    double daly = 3564 / (60480 * exp(600 / 60480.0) * (exp(3600 / 60480.0) - 1));
    near(weeks.useful, daly * (1 - 20 * 3600 / 1209600.0), 1e-12);
    near(weeks.useful, 1 - (20 * (1800 + 600) + 20 * 3600 + 12096) / 1209600.0, 0.005); /* to the first order */
    near(weeks.writing_s, weeks.useful * 1209600 * 36 / 3564, 1e-6);
    near(weeks.source[0].lost_s + weeks.source[1].lost_s + weeks.writing_s, (1 - weeks.useful) * 1209600, 1e-6);
    near(weeks.source[0].lost_s / weeks.source[1].lost_s, 2400 / 3600.0, 1e-12);
    near(weeks.gpu_hours_lost, (1 - weeks.useful) * 336000, 1e-6);
    near(weeks.between_stops_s, 60480, 1e-6);
    /* Daly's series for the best time between checkpoints, which has the time to write one besides */
    double root = sqrt(2 * 36 * 60480.0), small = sqrt(36 / (2 * 60480.0));
    near(weeks.best_checkpoint_s, root * (1 + small / 3 + small * small / 9), 0.5);
}

/* A clock that goes second by second, with a job that most of the time stops before it has a checkpoint. */
static double by_the_second(uint32_t period, uint32_t write, uint32_t restart, double rate, uint32_t span)
{
    uint32_t done = 0, down = 0, useful = 0;
    uint64_t seed = 1;

    for (uint32_t s = 0; s < span; s++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bool stops = (double)(seed >> 11) / 9007199254740992.0 < rate;
        if (stops) {
            done = 0;
            down = restart;
        } else if (down) {
            down--;
        } else if (++done == period) {
            useful += period - write;
            done = 0;
        }
    }
    return (double)useful / span;
}

static void test_often_stopped(void **state)
{
    struct weeks weeks = weeks_of(4);

    (void)state;
    weeks.reliability = (struct fabric_reliability){
        .checkpoint_ps = 600 * PS_S, .write_ps = 60 * PS_S, .restart_ps = 200 * PS_S, .spares = true};
    weeks.source[0] = source_of(RATE_GPU, 1, 1);
    weeks.source[0].parts = 201600; /* a stop every 300 s */
    weeks.sources = 1;
    weeks_compute(&weeks);
    near(weeks.between_stops_s, 300, 1e-6);
    double counted = by_the_second(600, 60, 200, 1 / 300.0, 20000000);
    near(weeks.useful / counted, 1, 0.02);
    assert_true(weeks.useful_least < counted && counted < weeks.useful_most);
}

/* Without a spare a host waits for its repair; behind a switch are many hosts, and it always does. */
static void test_spares(void **state)
{
    (void)state;
    for (int spares = 0; spares < 2; spares++) {
        struct weeks weeks = weeks_of(1);
        weeks.reliability.spares = spares;
        weeks.source[0] = source_of(RATE_HOST, 1, 1);
        weeks.source[1] = source_of(RATE_SWITCH, 1, 1);
        weeks.sources = 2;
        weeks_compute(&weeks);
        near(weeks.source[1].lost_s / weeks.source[0].lost_s, spares ? (2400 + 7200) / 2400.0 : 1, 1e-9);
        double rate = 20 / 604800.0, waits = spares ? 3600 : 7200;
        near(weeks.useful, 3564 / ((exp(600 * rate) / rate + waits) * (exp(3600 * rate) - 1)), 1e-12);
    }
}

static void test_interval(void **state)
{
    struct weeks weeks = weeks_of(4), again;
    double width[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        weeks = weeks_of(i ? 400 : 4);
        weeks.source[0] = source_of(RATE_GPU, 0.5, 1.5);
        weeks.sources = 1;
        weeks_compute(&weeks);
        assert_true(weeks.useful_least < weeks.useful && weeks.useful < weeks.useful_most);
        width[i] = weeks.useful_most - weeks.useful_least;
        again = weeks;
        weeks_compute(&again);
        near(again.useful_least, weeks.useful_least, 0);
        near(again.useful_most, weeks.useful_most, 0);
        again.seed = 2;
        weeks_compute(&again);
        assert_true(again.useful_least != weeks.useful_least);
        near(again.useful_least, weeks.useful_least, width[i] / 5);
    }
    near(width[0] / width[1], 10, 1.5); /* a hundred times the weeks */
}

/* Failures that are too many to draw one by one have the same spread. */
static void test_many(void **state)
{
    double width[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct weeks weeks = weeks_of(1);
        weeks.source[0] = source_of(RATE_GPU, 0.5, 1.5);
        weeks.source[0].parts = i ? 200020 : 199980;
        weeks.source[0].repair_s = 30;
        weeks.reliability.restart_ps = PS_S;
        weeks.reliability.checkpoint_ps = 60 * PS_S;
        weeks.reliability.write_ps = 0;
        weeks.sources = 1;
        weeks_compute(&weeks);
        assert_int_equal(weeks.source[0].failures > 2000, i);
        width[i] = weeks.useful_most - weeks.useful_least;
    }
    near(width[0] / width[1], 1, 0.1);
}

/* The Llama 3 run had 419 stops in 54 days on 16,384 GPUs, 35 of them by the network, and was useful for more than 90 %
 * of the time.  54 days are 7.71 weeks. */
static void test_llama(void **state)
{
    static const struct {
        enum rate_part part;
        uint64_t parts;
    } of[] = {{RATE_GPU, 16384}, {RATE_HOST, 2048}, {RATE_SOFTWARE, 16384}, {RATE_NIC, 16384}};
    struct weeks weeks = weeks_of(54);

    (void)state;
    weeks.gpus = 16384;
    weeks.reliability = (struct fabric_reliability){
        .checkpoint_ps = 1800 * PS_S, .write_ps = 5 * PS_S, .restart_ps = 600 * PS_S, .spares = true};
    for (int i = 0; i < 4; i++)
        weeks.source[weeks.sources++] =
            (struct weeks_source){.part = of[i].part,
                                  .parts = of[i].parts,
                                  .stops = 1,
                                  .slowdown = 1,
                                  .failures_a_year = (double)rate_infos[of[i].part].failures_ppm / 1e6};
    weeks_compute(&weeks);
    near(weeks.stops / 7, 419 - 35, 1);
    assert_true(weeks.useful > 0.85 && weeks.useful < 0.95);
    assert_non_null(strstr(weeks.better[0].what, "checkpoint every 3"));
    assert_non_null(strstr(weeks.better[1].what, "'gpu'"));
}

static void test_better(void **state)
{
    struct weeks weeks = weeks_of(1);

    (void)state;
    weeks.reliability.restart_ps = 72000 * PS_S;
    weeks.source[0] = source_of(RATE_GPU, 1, 1);
    weeks.source[0].parts = 100;
    weeks.sources = 1;
    weeks_compute(&weeks);
    double rate = 1 / 604800.0, halves = 3564 / (exp(36000 * rate) / rate * (exp(3600 * rate) - 1));
    double rarer = 3564 / (exp(36000 * rate) / rate * 2 * (exp(1800 * rate) - 1));
    near(weeks.better[0].saved_gpu_hours, (rarer - weeks.useful) * 168000, 1e-3);
    assert_string_equal(weeks.better[0].what, "half as many failures of kind 'gpu'");
    near(weeks.better[1].saved_gpu_hours, (halves - weeks.useful) * 168000, 1e-3);
    assert_string_equal(weeks.better[1].what, "a restart in half the time");
    for (uint32_t i = 1; i < weeks.betters; i++)
        assert_true(weeks.better[i - 1].saved_gpu_hours >= weeks.better[i].saved_gpu_hours);
}

static const char fabric_text[] =
    "rocelab: 1\n"
    "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}\n"
    "links: {host: {rate: 100G, cable: 2m}, fabric: {rate: 100G, cable: 30m}}\n"
    "reliability: {switch: {failures: 200%, repair: 60s}, checkpoint: 900s, spares: false}\n"
    "jobs: [{all-to-all: at-once, size: 4MB}]\n";

static const struct weeks_source *source_named(const struct weeks *weeks, const char *name)
{
    for (uint32_t s = 0; s < weeks->sources; s++)
        if (strcmp(weeks->source[s].name, name) == 0) return &weeks->source[s];
    fail_msg("no '%s'", name);
    return NULL;
}

/* Hosts hang on one copper cable each; a spine of two is half the fabric. */
static void test_fabric(void **state)
{
    struct fabric_errors errors = {0};
    struct study_error error = {0};
    struct fabric *fabric = NULL;
    struct cache cache = {0};
    const volatile sig_atomic_t stopped = 0;
    const struct weeks_options options = {
        .weeks = 4, .seed = 1, .threads = 2, .quiet = true, .cache = &cache, .stopped = &stopped};
    struct weeks weeks;

    (void)state;
    assert_int_equal(fabric_load("test", fabric_text, &fabric, &errors), 0);
    if (!weeks_run(fabric, &options, &weeks, &error)) fail_msg("%s", error.text[0]);
    const struct weeks_source *copper = source_named(&weeks, "copper, host to leaf");
    const struct weeks_source *optic = source_named(&weeks, "optic, leaf to spine");
    const struct weeks_source *leaf = source_named(&weeks, "switch, leaf"),
                              *spine = source_named(&weeks, "switch, spine");
    assert_int_equal(copper->parts, 8);
    assert_int_equal(copper->simulated, 8);
    near(copper->stops, 1, 0);
    assert_int_equal(optic->parts, 8);
    near(optic->stops, 0, 0);
    near(leaf->stops, 1, 0);
    near(leaf->failures_a_year, 2, 0);
    near(leaf->repair_s, 60, 0);
    near(spine->stops, 0, 0);
    assert_true(spine->slowdown > 1.8 && spine->slowdown < 2.6);
    near(optic->failures_a_year, 0.00342, 0);
    assert_int_equal(weeks.reliability.checkpoint_ps, 900 * PS_S);
    fabric_free(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean),   cmocka_unit_test(test_spares),        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_many),   cmocka_unit_test(test_llama),         cmocka_unit_test(test_better),
        cmocka_unit_test(test_fabric), cmocka_unit_test(test_often_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
