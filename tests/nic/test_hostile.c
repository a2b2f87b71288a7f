/* SPDX-License-Identifier: Apache-2.0 */
/* Random scripts for hostile.c: no sequence of packets and calls upsets the adapter's books. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "nic/hostile.h"

#define SCRIPTS 3000u
#define SCRIPT_BYTES 4096u

static void test_random_scripts(void **state)
{
    static uint8_t script[SCRIPT_BYTES];
    struct hostile_result all = {.packets = 0};

    (void)state;
    for (uint64_t seed = 1; seed <= SCRIPTS; seed++) {
        struct rng rng;
        rng_init(&rng, seed, 0);
        for (uint32_t i = 0; i < SCRIPT_BYTES; i++)
            script[i] = (uint8_t)rng_below(&rng, 256);
        fprintf(stderr, "\rhostile: seed %llu", (unsigned long long)seed); /* the last line before a CHECK */
        struct hostile_result one =
            hostile_run(script, SCRIPT_BYTES - seed % 16); /* its length chooses the adapter too */
        all.packets += one.packets;
        all.naks += one.naks;
        all.accepted += one.accepted;
        all.sent += one.sent;
        all.completions += one.completions;
        all.events += one.events;
        all.errors += one.errors;
    }
    fprintf(
        stderr,
        "\n%llu packets, %llu NAKs among them, %llu accepted, %llu sent, %llu completions (%llu errors), %llu events\n",
        (unsigned long long)all.packets, (unsigned long long)all.naks, (unsigned long long)all.accepted,
        (unsigned long long)all.sent, (unsigned long long)all.completions, (unsigned long long)all.errors,
        (unsigned long long)all.events);
    assert_true(all.packets > 50 * SCRIPTS && all.naks > 20 * SCRIPTS && all.accepted > SCRIPTS &&
                all.sent > 10 * SCRIPTS);
    assert_true(all.events > SCRIPTS && all.errors > SCRIPTS && all.completions > all.errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_scripts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
