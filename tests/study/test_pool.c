/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool: every point once and by its number, however many run at once; runs that die are reasons and lose no other;
 * a stop ends what is under way and keeps what is done.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugin/plugin.h"
#include "study/pool.h"

#define POINTS 37

struct taken {
    uint32_t times[POINTS];
    char row[POINTS][64], why[POINTS][128];
    uint32_t count, stop_after;
};

static volatile sig_atomic_t stopped;

static void square(const void *context, uint32_t point, FILE *row)
{
    (void)context;
    fprintf(row, "%u", point * point);
}

static bool take(void *context, uint32_t point, const struct pool_row *row)
{
    struct taken *taken = context;

    taken->times[point]++;
    if (row->why)
        snprintf(taken->why[point], sizeof taken->why[point], "%s", row->why);
    else
        snprintf(taken->row[point], sizeof taken->row[point], "%.*s", (int)row->length, row->bytes);
    if (++taken->count == taken->stop_after) stopped = 1;
    return point % 2 == 1;
}

static struct pool_work work_of(struct taken *taken, struct study_error *error, uint32_t at_once)
{
    stopped = 0;
    return (struct pool_work){.points = POINTS,
                              .at_once = at_once,
                              .noun = "points",
                              .quiet = true,
                              .stopped = &stopped,
                              .context = taken,
                              .run = square,
                              .take = take,
                              .error = error};
}

static void every_point_once(void **state)
{
    static const uint32_t at_once[] = {0, 1, 2, 7, 64};

    (void)state;
    for (size_t i = 0; i < sizeof at_once / sizeof at_once[0]; i++) {
        struct taken taken = {0};
        struct study_error error = {0};
        struct pool_work work = work_of(&taken, &error, at_once[i]);
        struct pool_done done;
        assert_true(pool_run(&work, &done));
        assert_int_equal(done.done, POINTS);
        assert_int_equal(done.reused, POINTS / 2);
        for (uint32_t p = 0; p < POINTS; p++) {
            assert_int_equal(taken.times[p], 1);
            assert_int_equal(strtoul(taken.row[p], NULL, 10), p * p);
        }
    }
}

static void die(const void *context, uint32_t point, FILE *row)
{
    switch (point % 6) {
    case 1:
        raise(SIGKILL);
        break;
    case 2:
        _exit(4);
    case 3:
        return; /* without a word */
    case 5:
        _exit(PLUGIN_EXIT);
    default:
        square(context, point, row);
    }
}

static void those_that_die_lose_no_other(void **state)
{
    struct taken taken = {0};
    struct study_error error = {0};
    struct pool_work work = work_of(&taken, &error, 4);
    struct pool_done done;

    (void)state;
    work.run = die;
    assert_true(pool_run(&work, &done));
    assert_int_equal(done.done, POINTS);
    for (uint32_t p = 0; p < POINTS; p++) {
        assert_int_equal(taken.times[p], 1);
        if (p % 6 == 1)
            assert_string_equal(taken.why[p], "the run was ended by signal 9 (Killed)");
        else if (p % 6 == 2 || p % 6 == 3)
            assert_string_equal(taken.why[p], "the run ended without a result");
        else if (p % 6 == 5)
            assert_string_equal(taken.why[p],
                                "its congestion control, a plug-in, brought it down, as standard error says");
        else
            assert_int_equal(strtoul(taken.row[p], NULL, 10), p * p);
    }
}

static void large(const void *context, uint32_t point, FILE *row)
{
    size_t bytes = (size_t)point * 40000; /* beyond what a pipe holds, and in the end beyond what is taken */

    (void)context;
    for (size_t i = 0; i < bytes; i++)
        fputc('x', row);
}

static bool take_large(void *context, uint32_t point, const struct pool_row *row)
{
    uint32_t *good = context;

    if (point > 0 && (size_t)point * 40000 <= POOL_ROW_MAX) {
        assert_null(row->why);
        assert_int_equal(row->length, (size_t)point * 40000);
        (*good)++;
    } else {
        assert_non_null(row->why);
    }
    return false;
}

static void rows_of_every_length(void **state)
{
    uint32_t good = 0;
    struct study_error error = {0};
    struct pool_work work = work_of(NULL, &error, 3);
    struct pool_done done;

    (void)state;
    work.run = large;
    work.take = take_large;
    work.context = &good;
    assert_true(pool_run(&work, &done));
    assert_int_equal(good, POOL_ROW_MAX / 40000);
}

static void wait_for_ever(const void *context, uint32_t point, FILE *row)
{
    signal(SIGTERM, SIG_IGN); /* nothing short of SIGKILL ends it */
    if (point >= 5)
        for (;;)
            pause();
    square(context, point, row);
}

static void a_stop_keeps_what_is_done(void **state)
{
    struct taken taken = {.stop_after = 5};
    struct study_error error = {0};
    struct pool_work work = work_of(&taken, &error, 6);
    struct pool_done done;

    (void)state;
    work.run = wait_for_ever;
    assert_false(pool_run(&work, &done));
    assert_int_equal(error.count, 0); /* the caller knows why */
    assert_int_equal(done.done, 5);
    for (uint32_t p = 0; p < POINTS; p++)
        assert_int_equal(taken.times[p], p < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_once),
        cmocka_unit_test(those_that_die_lose_no_other),
        cmocka_unit_test(rows_of_every_length),
        cmocka_unit_test(a_stop_keeps_what_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
