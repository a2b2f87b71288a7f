/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How work grows with its input: CPU time of the thread, as a ratio within one run, so that neither the machine nor
 * what else runs on it matters.  Include after <cmocka.h>.
 */
#ifndef ROCELAB_TESTS_GROWTH_H
#define ROCELAB_TESTS_GROWTH_H

#include <stdint.h>
#include <time.h>

static inline uint64_t growth_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* `work` does it for so many things and answers how long it took; the best of three counts. */
static inline void expect_growth(uint64_t (*work)(unsigned things), unsigned few, unsigned many, unsigned most)
{
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX};

    for (unsigned i = 0; i < 3; i++) {
        uint64_t took[2] = {work(few), work(many)};
        for (int side = 0; side < 2; side++)
            if (took[side] < least[side]) least[side] = took[side];
    }
    if (least[1] > most * least[0])
        fail_msg("%u take %llu ns and %u take %llu, more than %u times as long", few, (unsigned long long)least[0],
                 many, (unsigned long long)least[1], most);
}

#endif
