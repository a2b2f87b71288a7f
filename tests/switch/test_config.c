/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations that are refused, with the reason; and the counters' lists.
 */
#include <stdlib.h>
#include <string.h>

#include "lab.h"

static struct lab lab;

static void refused(const char *word)
{
    const char *problem = sw_config_problem(&lab.config);
    if (!problem || !strstr(problem, word)) fail_msg("wanted \"%s\", got \"%s\"", word, problem ? problem : "nothing");
    lab_defaults(&lab, 4);
}

static void test_problems(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    assert_null(sw_config_problem(&lab.config));
    lab.config.ports = 0;
    refused("65534 ports");
    lab.config.cell_bytes = 0;
    refused("a cell has");
    lab.config.cell_bytes = 32769;
    refused("a cell has");
    lab.config.buffer_bytes = UINT64_C(1) << 31;
    refused("larger cell");
    lab.config.mark = 2;
    refused("ECN marks");
    lab.config.watchdog.on = true;
    refused("poll interval");
    lab.rate_bps[3] = 0;
    refused("rate is 0");
    lab.plain.trust = 2;
    refused("trust");
    lab.plain.dscp_to_tc[63] = 8;
    refused("DSCP maps");
    lab.plain.pcp_to_tc[7] = 8;
    refused("PCP maps");
    lab.plain.tc_to_queue[0] = 8;
    refused("queue above 7");
    lab.plain.tc_to_pg[0] = 8;
    refused("group above 7");
    lab.plain.queue[1].ecn = (struct sw_ecn){.on = true, .min_bytes = 2, .max_bytes = 1};
    refused("min is above max");
    lab.plain.queue[1].ecn = (struct sw_ecn){.on = true, .probability_ppm = 1000001};
    refused("probability");
    lab.plain.queue[1].alpha_num = 1;
    refused("queue's alpha");
    lab.plain.pg[1].alpha_den = 0;
    refused("group's alpha");
    lab.plain.pg[1].alpha_num = 2048;
    refused("group's alpha");
    lab.plain.pause_quanta = 0;
    refused("0 quanta");
    lab.config.buffer_bytes = 4 * 20000;
    refused("nothing of the buffer");
    lab.config.headroom_pool_bytes = lab.config.buffer_bytes;
    refused("nothing of the buffer");
}

/* Ports with the same configuration share its compiled form: memory grows with ports and with configurations. */
static void test_memory(void **state)
{
    (void)state;
    lab_defaults(&lab, 64);
    size_t alike = sw_memory_bytes(&lab.config);
    struct sw_port_config other = lab.plain;
    lab.port_of[7] = lab.port_of[9] = &other;
    size_t two = sw_memory_bytes(&lab.config);
    assert_true(two > alike && two < alike + 2048);
    assert_true(alike / 64 < 4096);
    assert_int_equal(two % 64, 0);
    lab_start(&lab);
    assert_int_equal(lab_rx(&lab, 7, 9, 0, 100), 9);
    lab_tx(&lab, 9);
    lab_stop(&lab);
}

static void test_counter_lists(void **state)
{
    (void)state;
    uint32_t count = 0;
    for (const struct sw_counter *c = sw_port_counter_list; c->name; c++, count++) {
        assert_int_equal(c->offset, count * 8);
        assert_true(strlen(c->help) > 0);
    }
    assert_int_equal(count * 8, offsetof(struct sw_port_counters, prio));
    count = 0;
    for (const struct sw_counter *c = sw_prio_counter_list; c->name; c++, count++)
        assert_int_equal(c->offset, count * 8);
    assert_int_equal(count * 8, sizeof(struct sw_prio_counters));
    assert_string_equal(sw_drop_name[SW_DROP_headroom], "headroom");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_counter_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
