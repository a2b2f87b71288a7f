/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deadlock proof against a search that knows nothing of it (irregular.h), on random irregular fabrics and for
 * every failure; and fabrics made by hand, with what is printed of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base.h"
#include "base/rng.h"
#include "check/deadlock.h"
#include "fabric/fabric.h"
#include "irregular.h"
#include "load/load.h"

struct tally {
    uint32_t fabrics, whole, states, circles, only_after, fabrics_only_after;
    uint64_t followed, searched;
};

/* The proof from changes, the search of everything and the oracle, with these failed. */
static bool agree(struct deadlock *d, const struct fabric *fabric, const struct oracle *whole,
                  const struct deadlock_failure *failed, uint32_t count, const char *text)
{
    struct oracle o = *whole;
    struct deadlock_cycle cycle = {.hops = 0};

    for (uint32_t f = 0; f < count; f++)
        oracle_fail(&o, fabric, &failed[f]);
    bool expected = oracle_circle(&o), found = deadlock_search(d, failed, count, &cycle);
    bool after = deadlock_after(d, failed, count, &cycle);
    if (expected != found || after != found)
        fail_msg("%u failures, of node %u port %d first: oracle %d, search %d, from changes %d\n%s", count,
                 failed->node, (int)failed->port, expected, found, after, text);
    if (!after) return false;
    /* The circle told is one: each hop and the next are waits that the oracle has too. */
    for (uint32_t h = 0; h < cycle.hops && o.levels == 1; h++) {
        uint32_t a = cycle.hop[h], b = cycle.hop[(h + 1) % cycle.hops];
        uint32_t from = fabric->port[a].node - fabric->hosts, at = fabric->port[b].node - fabric->hosts;
        uint32_t to = fabric->port[fabric->port[b].peer].node - fabric->hosts;
        if (fabric->port[fabric->port[a].peer].node != fabric->port[b].node || !o.wait[from][at][0][to])
            fail_msg("hop %u of the circle is no wait\n%s", h, text);
    }
    return true;
}

static void try_fabric(struct rng *rng, const struct oracle *oracle, const char *text, uint32_t pairs,
                       struct tally *tally)
{
    struct fabric *fabric = NULL;
    struct fabric_errors errors = {0};
    struct deadlock *d = NULL;
    const struct deadlock_failure *failure;
    struct oracle whole = *oracle;
    struct deadlock_cycle cycle;
    uint32_t before = tally->only_after;
    uint64_t followed, searched;

    if (fabric_load("random.yaml", text, &fabric, &errors) < 0) fail_msg("%s\n%s", errors.error[0].text, text);
    assert_int_equal(deadlock_open(fabric, NULL, &d), 0);
    bool circle = oracle_circle(&whole);
    if (circle != deadlock_circle(d, &cycle)) fail_msg("as routed: oracle %d\n%s", circle, text);
    uint32_t failures = deadlock_failures(d, &failure);
    for (uint32_t f = 0; f < failures + pairs; f++) {
        struct deadlock_failure both[2] = {failure[f < failures ? f : rng_below(rng, failures)],
                                           failure[rng_below(rng, failures)]};
        uint32_t count = f < failures ? 1 : 2;
        if (count == 2 && both[0].node == both[1].node && both[0].port == both[1].port) continue;
        bool found = agree(d, fabric, oracle, both, count, text);
        tally->states++;
        tally->circles += found;
        tally->only_after += found && !circle;
    }
    deadlock_effort(d, &followed, &searched);
    if (!circle) {
        tally->followed += followed;
        tally->searched += searched;
    }
    tally->fabrics++;
    tally->whole += circle;
    tally->fabrics_only_after += tally->only_after > before;
    deadlock_free(d);
    fabric_free(fabric);
}

static void tell(const char *what, uint64_t seed, const struct tally *tally)
{
    print_message("%s, seed %llu: %u fabrics, %u with a circle as routed; %u states, %u with a circle, %u of them only "
                  "after the failure (in %u fabrics); without a circle before, waits were followed %llu times, all "
                  "searched %llu times\n",
                  what, (unsigned long long)seed, tally->fabrics, tally->whole, tally->states, tally->circles,
                  tally->only_after, tally->fabrics_only_after, (unsigned long long)tally->followed,
                  (unsigned long long)tally->searched);
}

static void test_every_failure_agrees_with_the_oracle(void **state)
{
    uint64_t seed = test_seed_or(6);
    struct tally tally = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, seed, 1);
    for (uint32_t round = 0; round < test_rounds_of(600); round++) {
        struct oracle oracle;
        char text[IRREGULAR_TEXT];
        irregular_fabric(&rng, 1, &oracle, text);
        try_fabric(&rng, &oracle, text, 0, &tally);
    }
    tell("one failure", seed, &tally);
    assert_true(tally.fabrics_only_after >= test_rounds_of(100));
    assert_true(tally.searched * 10 < tally.states);
}

static void test_pairs_agree_with_the_oracle(void **state)
{
    uint64_t seed = test_seed_or(7);
    struct tally tally = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, seed, 3);
    for (uint32_t round = 0; round < test_rounds_of(300); round++) {
        struct oracle oracle;
        char text[IRREGULAR_TEXT];
        irregular_fabric(&rng, 1, &oracle, text);
        try_fabric(&rng, &oracle, text, 60, &tally);
    }
    tell("and pairs", seed, &tally);
    assert_true(tally.fabrics_only_after >= test_rounds_of(50));
}

/* Two or three lossless classes, and switches that raise what bounces: all, or some. */
static void test_raised_classes_agree_with_the_oracle(void **state)
{
    uint64_t seed = test_seed_or(8);
    struct tally tally = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, seed, 4);
    for (uint32_t round = 0; round < test_rounds_of(800); round++) {
        struct oracle oracle;
        char text[IRREGULAR_TEXT];
        if (round % 2)
            irregular_ring(&rng, &oracle, text); /* where packets are raised twice and more */
        else
            irregular_fabric(&rng, 1, &oracle, text);
        size_t used = strlen(text);
        oracle.levels = 2 + (int)rng_below(&rng, 2);
        uint32_t percent = rng_below(&rng, 2) ? 100 : 60;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "classes:\n  - {name: default, priority: 0}\n");
        for (int l = 0; l < oracle.levels; l++)
            used += (size_t)snprintf(text + used, sizeof(text) - used,
                                     "  - {name: rdma%d, dscp: %d, priority: %d, lossless: true}\n", l, 26 + l, 2 + l);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "devices:\n");
        for (int n = 0; n < oracle.nodes; n++) {
            char name[32];
            oracle.raises[n] = rng_below(&rng, 100) < percent;
            used += (size_t)snprintf(text + used, sizeof(text) - used, "  %s: {raise: %s}\n",
                                     irregular_name(&oracle, n, name), oracle.raises[n] ? "bounce" : "never");
        }
        try_fabric(&rng, &oracle, text, 10, &tally);
    }
    tell("raised", seed, &tally);
    assert_true(tally.fabrics_only_after >= 5 && tally.whole >= 5 && tally.circles < tally.states / 2);
}

/* Two leaves with two spines each; a third way between the pairs exists only over the leaves when a link is gone. */
static const char bounce[] = "rocelab: 1\n"
                             "topology:\n"
                             "  links:\n"
                             "    hosts: 4\n"
                             "    leaves: 4\n"
                             "    spines: 2\n"
                             "    links:\n"
                             "      - [h0, leaf0]\n"
                             "      - [h1, leaf1]\n"
                             "      - [h2, leaf2]\n"
                             "      - [h3, leaf3]\n"
                             "      - [leaf0, spine0]\n"
                             "      - [leaf0, spine1]\n"
                             "      - [leaf1, spine0]\n"
                             "      - [leaf1, spine1]\n"
                             "      - [leaf2, spine0]\n"
                             "      - [leaf2, spine1]\n"
                             "      - [leaf3, spine0]\n"
                             "      - [leaf3, spine1]\n"
                             "links: {host: {rate: 100G, cable: 3m}}\n";

/* After two failures (Tagger's figure): leaf0 has spine0 only, leaf3 spine1 only; they meet over leaf1 and leaf2. */
static void test_two_failures_bounce(void **state)
{
    struct checked checked;
    char why[300] = "";
    uint32_t found = 0;

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", bounce);
    assert_true(base_check(&checked, 1, why, sizeof(why)));
    for (uint32_t f = 0; f < checked.check.findings; f++)
        assert_true(strncmp(check_rules[checked.check.finding[f].rule].id, "TOP00", 5) != 0 ||
                    check_rules[checked.check.finding[f].rule].id[5] > '2');
    base_release(&checked);
    assert_true(base_check(&checked, 2, why, sizeof(why)));
    for (uint32_t f = 0; f < checked.check.findings; f++) {
        const struct check_finding *finding = &checked.check.finding[f];
        if (strcmp(check_rules[finding->rule].id, "TOP002") != 0) continue;
        found++;
        assert_non_null(strstr(finding->message, " and "));
        assert_non_null(strstr(finding->message, "can wait in a circle: "));
    }
    print_message("%u pairs of failures close a circle\n", found);
    assert_true(found > 0);
    base_release(&checked);
    /* Routed without valleys, and with bounces raised, none is left. */
    snprintf(checked.text, sizeof(checked.text), "%srouting: valley-free\n", bounce);
    assert_true(base_check(&checked, 2, why, sizeof(why)));
    for (uint32_t f = 0; f < checked.check.findings; f++)
        assert_string_not_equal(check_rules[checked.check.finding[f].rule].id, "TOP002");
    base_release(&checked);
}

static uint32_t count_of(const struct checked *checked, const char *rule, uint32_t *ret_line)
{
    uint32_t count = 0;

    for (uint32_t f = 0; f < checked->check.findings; f++) {
        if (strcmp(check_rules[checked->check.finding[f].rule].id, rule) != 0) continue;
        count++;
        *ret_line = checked->check.finding[f].line;
    }
    return count;
}

/* A ring of five: every packet goes the shorter way, and all of them wait for each other. */
static const char ring[] = "rocelab: 1\n"
                           "topology:\n"
                           "  links:\n"
                           "    hosts: 5\n"
                           "    switches: 5\n"
                           "    links: [[h0, sw0], [h1, sw1], [h2, sw2], [h3, sw3], [h4, sw4],\n"
                           "            [sw0, sw1], [sw1, sw2], [sw2, sw3], [sw3, sw4],\n"
                           "            [sw4, sw0]]\n"
                           "links: {host: {rate: 100G, cable: 3m}}\n";

static void test_a_ring_waits_in_a_circle(void **state)
{
    struct checked checked;
    char why[300] = "";
    uint32_t line = 0;

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", ring);
    assert_true(base_check(&checked, 1, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP001", &line), 1);
    assert_int_equal(line, 2);
    assert_int_equal(count_of(&checked, "TOP002", &line), 0);
    base_release(&checked);
    /* Credits hold back as pauses do: InfiniBand's lanes, and the channels of Ethernet. */
    base_edit(checked.text, "rocelab: 1\n", "rocelab: 1\nsystem: infiniband\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP001", &line), 1);
    base_release(&checked);
    base_edit(checked.text, "system: infiniband\n", "system: uet\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP001", &line), 0); /* nobody is held back */
    base_release(&checked);
    base_edit(checked.text, "system: uet\n", "system: uet\ncbfc: true\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP001", &line), 1);
    base_release(&checked);
    snprintf(checked.text, sizeof(checked.text), "%s", ring);
    /* One link without PFC breaks it: that buffer pauses nobody. */
    base_edit(checked.text, NULL, "devices: {sw0: {ports: {1: {pfc: false}}}, sw1: {ports: {1: {pfc: false}}}}\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP001", &line), 0);
    base_release(&checked);
    /* And so does a second lossless class for what bounces: a ring of five has one bounce on a way. */
    snprintf(checked.text, sizeof(checked.text), "%s", ring);
    base_edit(
        checked.text, NULL,
        "switches: {raise: bounce}\nclasses:\n  - {name: rdma, dscp: 26, priority: 3, lossless: true, share: 50%}\n"
        "  - {name: rdma2, dscp: 27, priority: 4, lossless: true, share: 40%}\n"
        "  - {name: default, priority: 0, share: 10%}\n");
    assert_true(base_check(&checked, 0, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP001", &line), 0);
    base_release(&checked);
}

/* With one of its links missing already, one failure more is enough: three links, each told at its line. */
static void test_a_circle_after_a_failure_names_it(void **state)
{
    struct checked checked;
    char why[300] = "", lost[64];
    uint32_t line = 0, found = 0;

    (void)state;
    snprintf(checked.text, sizeof(checked.text), "%s", bounce);
    assert_true(base_edit(checked.text, "      - [leaf0, spine1]\n", ""));
    assert_true(base_check(&checked, 1, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP001", &line), 0);
    assert_int_equal(count_of(&checked, "TOP002", &line), 3);
    for (uint32_t f = 0; f < checked.check.findings; f++) {
        const struct check_finding *finding = &checked.check.finding[f];
        if (strcmp(check_rules[finding->rule].id, "TOP002") != 0) continue;
        const char *text = checked.text;
        for (uint32_t l = 1; l < finding->line; l++)
            text = strchr(text, '\n') + 1;
        snprintf(lost, sizeof(lost), "      - [leaf%u, spine0]\n", ++found);
        assert_memory_equal(text, lost, strlen(lost));
        assert_non_null(strstr(finding->message, "without the link of leaf"));
        assert_non_null(strstr(finding->message, "buffers of priority 3 can wait in a circle: "));
    }
    base_release(&checked);
    /* Two failures at once were the same; raised into a second class, the bounce closes nothing. */
    base_edit(
        checked.text, NULL,
        "switches: {raise: bounce}\nclasses:\n  - {name: rdma, dscp: 26, priority: 3, lossless: true, share: 50%}\n"
        "  - {name: rdma2, dscp: 27, priority: 4, lossless: true, share: 40%}\n"
        "  - {name: default, priority: 0, share: 10%}\n");
    assert_true(base_check(&checked, 1, why, sizeof(why)));
    assert_int_equal(count_of(&checked, "TOP002", &line), 0);
    assert_true(checked.check.searched > 0);
    base_release(&checked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_failure_agrees_with_the_oracle),
        cmocka_unit_test(test_pairs_agree_with_the_oracle),
        cmocka_unit_test(test_raised_classes_agree_with_the_oracle),
        cmocka_unit_test(test_two_failures_bounce),
        cmocka_unit_test(test_a_ring_waits_in_a_circle),
        cmocka_unit_test(test_a_circle_after_a_failure_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
