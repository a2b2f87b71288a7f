/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deadlock proof against a search that knows nothing of it.
 *
 * The oracle computes, for random irregular fabrics and for every failure, all waits from scratch: distances by
 * relaxation, packets walked hop by hop, circles by removing what waits for nothing.  It shares no code with the proof.
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

#define NODES 12
#define FAR 1000

struct oracle {
    int nodes;
    int links[NODES][NODES]; /* parallel ones count, and are the same as one for waits */
    bool host[NODES];
    bool wait[NODES][NODES][NODES]; /* what came from a to b waits to go to c */
};

static void distances(const struct oracle *o, int to, int *ret)
{
    for (int n = 0; n < o->nodes; n++)
        ret[n] = n == to ? 0 : FAR;
    for (int round = 0; round < o->nodes; round++)
        for (int a = 0; a < o->nodes; a++)
            for (int b = 0; b < o->nodes; b++)
                if (o->links[a][b] && ret[b] + 1 < ret[a]) ret[a] = ret[b] + 1;
}

static void follow(struct oracle *o, const int *distance, int from, int at)
{
    for (int next = 0; next < o->nodes; next++) {
        if (!o->links[at][next] || distance[next] + 1 != distance[at]) continue;
        if (from >= 0) o->wait[from][at][next] = true;
        if (distance[next] > 0) follow(o, distance, at, next);
    }
}

static bool has_circle(struct oracle *o)
{
    bool edge[NODES][NODES], changed = true;

    memset(o->wait, 0, sizeof(o->wait));
    for (int to = 0; to < o->nodes; to++) {
        int distance[NODES];
        if (!o->host[to]) continue;
        distances(o, to, distance);
        for (int from = 0; from < o->nodes; from++)
            if (o->host[from] && from != to && distance[from] < FAR) follow(o, distance, -1, from);
    }
    for (int a = 0; a < o->nodes; a++)
        for (int b = 0; b < o->nodes; b++)
            edge[a][b] = o->links[a][b] > 0;
    while (changed) { /* a buffer that waits for no other empties, and is gone */
        changed = false;
        for (int a = 0; a < o->nodes; a++) {
            for (int b = 0; b < o->nodes; b++) {
                bool waits = false;
                for (int c = 0; c < o->nodes; c++)
                    waits = waits || (o->wait[a][b][c] && edge[b][c]);
                if (!edge[a][b] || waits) continue;
                edge[a][b] = false;
                changed = true;
            }
        }
    }
    for (int a = 0; a < o->nodes; a++)
        for (int b = 0; b < o->nodes; b++)
            if (edge[a][b]) return true;
    return false;
}

/* A connected fabric of switches of all roles, about half of them with a host; its file's text. */
static void random_fabric(struct rng *rng, struct oracle *o, char *text, size_t size)
{
    int leaves = 2 + (int)rng_below(rng, 4), spines = 1 + (int)rng_below(rng, 3), extra = (int)rng_below(rng, 3);
    int hosts = 0;
    size_t used;
    char links[4096] = "";
    size_t at = 0;

    memset(o, 0, sizeof(*o));
    o->nodes = leaves + spines + extra;
    for (int n = 0; n < o->nodes; n++) {
        o->host[n] = n < leaves || rng_below(rng, 4) == 0;
        char name[32];
        snprintf(name, sizeof(name), "%s%d",
                 n < leaves            ? "leaf"
                 : n < leaves + spines ? "spine"
                                       : "sw",
                 n < leaves            ? n
                 : n < leaves + spines ? n - leaves
                                       : n - leaves - spines);
        if (o->host[n]) at += (size_t)snprintf(links + at, sizeof(links) - at, "      - [h%d, %s]\n", hosts++, name);
        for (int m = 0; m < n; m++) {
            bool must = n > 0 && m == (int)rng_below(rng, (uint32_t)n);
            if (!must && rng_below(rng, 100) >= 35) continue;
            if (o->links[n][m]) continue;
            char other[32];
            snprintf(other, sizeof(other), "%s%d",
                     m < leaves            ? "leaf"
                     : m < leaves + spines ? "spine"
                                           : "sw",
                     m < leaves            ? m
                     : m < leaves + spines ? m - leaves
                                           : m - leaves - spines);
            int count = rng_below(rng, 8) == 0 ? 2 : 1;
            o->links[n][m] = o->links[m][n] = count;
            at += (size_t)snprintf(links + at, sizeof(links) - at, "      - {a: %s, b: %s, count: %d}\n", name, other,
                                   count);
        }
    }
    used =
        (size_t)snprintf(text, size, "rocelab: 1\ntopology:\n  links:\n    hosts: %d\n    leaves: %d\n    spines: %d\n",
                         hosts, leaves, spines);
    if (extra) used += (size_t)snprintf(text + used, size - used, "    switches: %d\n", extra);
    snprintf(text + used, size - used, "    links:\n%slinks: {host: {rate: 100G, cable: 3m}}\n", links);
}

/* Whether a circle is there without this failure's part, by the oracle. */
static bool oracle_after(const struct oracle *whole, const struct fabric *fabric, const struct deadlock_failure *failed)
{
    struct oracle o = *whole;
    int a = (int)(failed->node - fabric->hosts);

    if (failed->port == FABRIC_NONE) {
        o.host[a] = false;
        for (int n = 0; n < o.nodes; n++)
            o.links[a][n] = o.links[n][a] = 0;
    } else {
        int b = (int)(fabric->port[fabric->port[failed->port].peer].node - fabric->hosts);
        o.links[a][b]--;
        o.links[b][a]--;
    }
    return has_circle(&o);
}

static void test_every_failure_agrees_with_the_oracle(void **state)
{
    uint64_t seed = test_seed_or(6);
    uint32_t circles = 0, only_after = 0, searched = 0, states = 0, fabrics_with = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, seed, 1);
    for (uint32_t round = 0; round < 600; round++) {
        struct oracle oracle;
        struct fabric *fabric = NULL;
        struct fabric_errors errors = {0};
        struct deadlock *d = NULL;
        const struct deadlock_failure *failure;
        struct deadlock_cycle cycle;
        char text[8192];

        random_fabric(&rng, &oracle, text, sizeof(text));
        if (fabric_load("random.yaml", text, &fabric, &errors) < 0)
            fail_msg("seed %llu, round %u: %s\n%s", (unsigned long long)seed, round, errors.error[0].text, text);
        assert_int_equal(deadlock_open(fabric, &d), 0);
        bool whole = has_circle(&oracle), planted = false;
        if (whole != deadlock_search(d, NULL, 0, &cycle))
            fail_msg("seed %llu, round %u: without a failure\n%s", (unsigned long long)seed, round, text);
        for (uint32_t f = deadlock_failures(d, &failure); f-- > 0;) {
            bool expected = oracle_after(&oracle, fabric, &failure[f]);
            bool suspect = deadlock_suspect(d, &failure[f], 1), found = deadlock_search(d, &failure[f], 1, &cycle);
            if (expected != found || (found && !whole && !suspect))
                fail_msg("seed %llu, round %u, failure of node %u port %d: oracle %d, search %d, suspect %d\n%s",
                         (unsigned long long)seed, round, failure[f].node, (int)failure[f].port, expected, found,
                         suspect, text);
            states++;
            circles += found;
            searched += suspect;
            only_after += found && !whole;
            planted = planted || (found && !whole);
        }
        fabrics_with += planted;
        deadlock_free(d);
        fabric_free(fabric);
    }
    print_message("%u states, %u with a circle, %u of them only after the failure (in %u fabrics); searched %u\n",
                  states, circles, only_after, fabrics_with, searched);
    assert_true(fabrics_with >= 100);
    assert_true(searched < states);
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
        cmocka_unit_test(test_two_failures_bounce),
        cmocka_unit_test(test_a_ring_waits_in_a_circle),
        cmocka_unit_test(test_a_circle_after_a_failure_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
