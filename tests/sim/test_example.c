/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A congestion control that is one file and one line of list.def: the example of docs/internals/adding.md, built with
 * such a line and nothing else, is found by its name, reads its parameters, and holds its queue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nic/cc/cc.h"
#include "support.h"

/* Four flows of 20 MB into one line of 100 Gb/s: the longest queue, the time they took, and marks answered. */
static uint64_t peak_of(const char *congestion, double *ret_ms, struct sums *ret_sums)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "rocelab: 1\ntopology: {single: {hosts: 5}}\nlinks: {host: {rate: 100G, delay: 1us}}\n"
             "switches: {buffer: 64MB, latency: 0ns}\n"
             "nics: {mtu: 4096, latency: 0ns, congestion: %s}\njobs: [{incast: 4, to: h0, size: 20MB}]\n",
             congestion);
    struct run run = run_text(text, options_of(1, 1));
    uint64_t peak = 0;
    for (uint32_t i = 0; i < run.result.ports; i++)
        if (run.result.port[i].queue_max_bytes > peak) peak = run.result.port[i].queue_max_bytes;
    *ret_ms = (double)run.result.virtual_ps / 1e9;
    *ret_sums = run_sums(&run);
    run_free(&run);
    return peak;
}

static void test_reacts(void **state)
{
    double none_ms, aimd_ms, slack_ms;
    struct sums sums;

    (void)state;
    uint64_t none = peak_of("none", &none_ms, &sums);
    uint64_t slow = peak_of("aimd/example", &aimd_ms, &sums);
    assert_int_equal(sums.cnps, 0); /* it asks for none */
    uint64_t slack = peak_of("{use: aimd/example, aimd_target: 100us}", &slack_ms, &sums);
    print_message("queue %llu, %llu, %llu bytes; %.2f, %.2f, %.2f ms\n", (unsigned long long)none,
                  (unsigned long long)slow, (unsigned long long)slack, none_ms, aimd_ms, slack_ms);
    assert_true(slow < none / 4 && slow < slack && slack < none);
    assert_true(aimd_ms < 1.3 * none_ms); /* the line is still used */
}

/* Its parameters are refused where they cannot be, and mean nothing to others. */
static void test_parameters(void **state)
{
    struct cc_config config, other;
    const char *name;
    char why[256];

    (void)state;
    assert_int_equal(cc_read_preset("aimd/example", false, &config, why, sizeof(why)), 0);
    assert_true(cc_needs(&config)->rtt && !cc_needs(&config)->cnp);
    assert_int_equal(cc_read_param(&config, "aimd_cut", "100%", why, sizeof(why)), 0);
    assert_string_equal(cc_invalid(&config, &name), "is below 100%");
    assert_string_equal(name, "aimd_cut");
    assert_int_equal(cc_read_param(&config, "aimd_cutt", "10%", why, sizeof(why)), -22);
    assert_non_null(strstr(why, "aimd_cut"));
    assert_int_equal(cc_read_preset("none", false, &config, why, sizeof(why)), 0);
    other = config;
    assert_int_equal(cc_read_param(&config, "aimd_cut", "10%", why, sizeof(why)), 0);
    assert_memory_equal(&config, &other, sizeof(config));
}

/* The page names the file that is built here, and shows the line. */
static void test_page(void **state)
{
    static char page[200000];
    FILE *from = fopen(SOURCE_ROOT "/docs/internals/adding.md", "r");

    (void)state;
    assert_non_null(from);
    page[fread(page, 1, sizeof(page) - 1, from)] = 0;
    fclose(from);
    assert_non_null(strstr(page, "(../../examples/congestion/aimd.c)"));
    assert_non_null(strstr(page, "CC(AIMD, aimd)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reacts),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
