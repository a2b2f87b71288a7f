/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Means and intervals: Student's t against the integral that defines it, intervals against values computed by hand,
 * and that what does not vary has the interval 0 to the last bit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/statistics.h"
#include "study/summary.h"

static void near(double value, double due, double most)
{
    if (!(fabs(value - due) <= most)) fail_msg("%.9f, not %.9f", value, due);
}

/* The probability that Student's t with so many degrees of freedom is within +-t: the finite sums in cos(theta) of
 * Abramowitz and Stegun, 26.7.3 and 26.7.4, with tan(theta) = t / sqrt(freedom). */
static double within(double t, uint32_t freedom)
{
    const double theta = atan(t / sqrt(freedom)), square = cos(theta) * cos(theta), half_turn = acos(-1);
    double term = freedom % 2 ? cos(theta) : 1, sum = 0;

    for (uint32_t n = freedom % 2 ? 3 : 2; n <= freedom; n += 2) {
        sum += term;
        term *= square * (n - 1) / n;
    }
    return freedom % 2 ? (theta + sin(theta) * sum) * 2 / half_turn : sin(theta) * sum;
}

static void t_leaves_out_5_percent(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 1000; n++)
        near(within(student_t95(n), n), 0.95, 1e-6);
    near(student_t95(1), tan(0.475 * acos(-1)), 1e-5); /* one degree is Cauchy's distribution */
    near(student_t95(UINT32_MAX), 1.959964, 1e-6);     /* the normal one: erf(1.959964 / sqrt(2)) = 0.95 */
    near(erf(student_t95(UINT32_MAX) / sqrt(2)), 0.95, 1e-8);
    for (uint32_t n = 1; n < 5000; n++)
        assert_true(student_t95(n + 1) < student_t95(n));
}

static void an_interval_by_hand(void **state)
{
    static const uint64_t value[] = {10, 12, 14, 16, 18}; /* s = sqrt(10), t = 2.776445 */
    struct summary summary = summary_of(value, 5, 1000);

    (void)state;
    assert_int_equal(summary.mean, 14000);
    assert_int_equal(summary.half, 3926); /* 2.776445 * 3.162278 / 2.236068 = 3.92648 */
    assert_int_equal(summary.least, 10);
    assert_int_equal(summary.most, 18);
    summary = summary_of(value, 2, 1); /* t = 12.7062, s = sqrt(2) */
    assert_int_equal(summary.mean, 11);
    assert_int_equal(summary.half, 13);
    const double real[] = {10, 12, 14, 16, 18};
    near(interval_half(real, 5), 3.926486, 1e-5);
}

static void few_values(void **state)
{
    static const uint64_t one[] = {7};
    struct summary summary = summary_of(one, 1, 10);

    (void)state;
    assert_int_equal(summary.mean, 70);
    assert_true(summary.half == SUMMARY_NOTHING);
    summary = summary_of(NULL, 0, 10);
    assert_true(summary.mean == SUMMARY_NOTHING && summary.half == SUMMARY_NOTHING);
    assert_true(isnan(interval_half((const double[]){1}, 1)));
}

static void what_does_not_vary(void **state)
{
    const uint64_t large = (UINT64_C(1) << 62) + 1; /* no double is this number */
    uint64_t value[7];
    double real[7];

    (void)state;
    for (int i = 0; i < 7; i++) {
        value[i] = large;
        real[i] = 0.1;
    }
    struct summary summary = summary_of(value, 7, 1);
    assert_true(summary.mean == large);
    assert_int_equal(summary.half, 0);
    assert_true(interval_half(real, 7) == 0);
}

static struct row row(uint64_t time, enum sim_state state, char *error)
{
    struct row made = {.there = true, .state = state, .error = error, .seed = 1};

    for (int i = 0; i < MEASURES; i++)
        made.value[i] = MEASURE_NOTHING;
    made.value[MEASURE_TIME] = time;
    made.value[MEASURE_HOPS] = 5;
    return made;
}

static void rows_without_values_are_left_out(void **state)
{
    char why[] = "killed";
    struct row rows[] = {row(10, SIM_DONE, NULL), row(0, SIM_RUNNING, why), row(20, SIM_DONE, NULL)};
    struct row_summary summary;

    (void)state;
    assert_true(row_summarise(rows, 3, &summary));
    assert_int_equal(summary.runs, 3);
    assert_int_equal(summary.ended, 2);
    assert_string_equal(summary.error, "killed");
    assert_int_equal(summary.state, SIM_DONE);
    assert_int_equal(summary.measure[MEASURE_TIME].mean, 15);
    assert_int_equal(summary.measure[MEASURE_HOPS].mean, 5000); /* counts keep three decimals */
    assert_int_equal(summary.measure[MEASURE_HOPS].half, 0);
    assert_true(summary.measure[MEASURE_STEP].mean == SUMMARY_NOTHING);
    row_summary_release(&summary);
}

static void a_value_that_one_run_lacks_has_no_mean(void **state)
{
    struct row rows[] = {row(10, SIM_DONE, NULL), row(MEASURE_NOTHING, SIM_STUCK, NULL), row(20, SIM_DONE, NULL)};
    struct row_summary summary;

    (void)state;
    assert_true(row_summarise(rows, 3, &summary));
    assert_int_equal(summary.ended, 2);
    assert_int_equal(summary.state, SIM_STUCK);
    assert_true(summary.measure[MEASURE_TIME].mean == SUMMARY_NOTHING);
    assert_int_equal(summary.measure[MEASURE_HOPS].mean, 5000);
    row_summary_release(&summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_leaves_out_5_percent),
        cmocka_unit_test(an_interval_by_hand),
        cmocka_unit_test(few_values),
        cmocka_unit_test(what_does_not_vary),
        cmocka_unit_test(rows_without_values_are_left_out),
        cmocka_unit_test(a_value_that_one_run_lacks_has_no_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
