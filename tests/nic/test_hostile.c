/* SPDX-License-Identifier: Apache-2.0 */
/* Random scripts for hostile.c: no sequence of packets and calls upsets the adapter's books.  ROCELAB_SEED chooses
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/support.h"
#include "nic/hostile.h"

#define SCRIPTS 3000u /* or ROCELAB_SCRIPTS of the environment; of NAKs alone half as many */
#define SCRIPT_BYTES 4096u

static uint32_t scripts_wanted(void)
{
    const char *text = getenv("ROCELAB_SCRIPTS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : SCRIPTS;
}

static struct hostile_result run_scripts(uint32_t scripts, bool only_naks)
{
    static uint8_t script[SCRIPT_BYTES];
    struct hostile_result all = {.packets = 0};

    for (uint64_t seed = 1; seed <= scripts; seed++) {
        struct rng rng;
        rng_init(&rng, seed, test_seed());
        for (uint32_t i = 0; i < SCRIPT_BYTES; i++)
            script[i] = (uint8_t)rng_below(&rng, 256);
        fprintf(stderr, "\rhostile: script %llu", (unsigned long long)seed); /* the last line before a CHECK */
        struct hostile_result one =
            hostile_run(script, SCRIPT_BYTES - seed % 16, only_naks); /* its length chooses the adapter too */
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
    return all;
}

static void test_random_scripts(void **state)
{
    (void)state;
    uint32_t scripts = scripts_wanted();
    struct hostile_result all = run_scripts(scripts, false);
    assert_true(all.packets > 50 * scripts && all.naks > 20 * scripts && all.accepted > scripts &&
                all.sent > 10 * scripts);
    assert_true(all.events > scripts && all.errors > scripts && all.completions > all.errors);
}

static void test_naks(void **state)
{
    (void)state;
    uint32_t scripts = scripts_wanted() / 2;
    struct hostile_result all = run_scripts(scripts, true);
    assert_true(all.naks == all.packets && all.naks > 100 * scripts && all.sent > 10 * scripts);
    assert_true(all.completions > all.errors && all.errors > scripts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_scripts), cmocka_unit_test(test_naks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
