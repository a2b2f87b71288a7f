/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written for SONiC, against the published tables: fields, ranges, references.
 *
 * The table below is the rule book; a table, a field or a value that is not in it fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/random_fabric.h"
#include "config/testing.h"
#include "fabric/tree.h"

enum value { NUMBER, WORD, PRIORITIES, REFERENCE, LENGTH, TEXT };

static const struct rule {
    const char *table, *field; /* field "*": every field of the table, a map's */
    enum value value;
    long long low, high;
    const char *words; /* of a WORD, between spaces; of a REFERENCE the table */
    bool required;
} rules[] = {
    {"DEVICE_METADATA", "hostname", TEXT, 0, 0, NULL, true},
    {"DEVICE_METADATA", "type", WORD, 0, 0, " ToRRouter LeafRouter SpineRouter ", true},
    {"DEVICE_METADATA", "hwsku", TEXT, 0, 0, NULL, false},
    {"DEVICE_METADATA", "buffer_model", WORD, 0, 0, " traditional ", true},
    {"PORT", "lanes", TEXT, 0, 0, NULL, true},
    {"PORT", "alias", TEXT, 0, 0, NULL, false},
    {"PORT", "index", NUMBER, 0, 65535, NULL, false},
    {"PORT", "speed", NUMBER, 1, 1600000, NULL, true},
    {"PORT", "mtu", NUMBER, 68, 9216, NULL, true},
    {"PORT", "fec", WORD, 0, 0, " rs fc none auto ", false},
    {"PORT", "pfc_asym", WORD, 0, 0, " on off ", false},
    {"PORT", "admin_status", WORD, 0, 0, " up down ", true},
    {"CABLE_LENGTH", "*", LENGTH, 0, 0, NULL, false},
    {"DSCP_TO_TC_MAP", "*", NUMBER, 0, 7, NULL, false},
    {"DOT1P_TO_TC_MAP", "*", NUMBER, 0, 7, NULL, false},
    {"TC_TO_QUEUE_MAP", "*", NUMBER, 0, 7, NULL, false},
    {"TC_TO_PRIORITY_GROUP_MAP", "*", NUMBER, 0, 7, NULL, false},
    {"MAP_PFC_PRIORITY_TO_QUEUE", "*", NUMBER, 0, 7, NULL, false},
    {"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "*", NUMBER, 0, 7, NULL, false},
    {"PORT_QOS_MAP", "dscp_to_tc_map", REFERENCE, 0, 0, "DSCP_TO_TC_MAP", false},
    {"PORT_QOS_MAP", "dot1p_to_tc_map", REFERENCE, 0, 0, "DOT1P_TO_TC_MAP", false},
    {"PORT_QOS_MAP", "tc_to_queue_map", REFERENCE, 0, 0, "TC_TO_QUEUE_MAP", true},
    {"PORT_QOS_MAP", "tc_to_pg_map", REFERENCE, 0, 0, "TC_TO_PRIORITY_GROUP_MAP", true},
    {"PORT_QOS_MAP", "pfc_to_queue_map", REFERENCE, 0, 0, "MAP_PFC_PRIORITY_TO_QUEUE", true},
    {"PORT_QOS_MAP", "pfc_to_pg_map", REFERENCE, 0, 0, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", false},
    {"PORT_QOS_MAP", "pfc_enable", PRIORITIES, 0, 0, NULL, true},
    {"PORT_QOS_MAP", "pfcwd_sw_enable", PRIORITIES, 0, 0, NULL, false},
    {"SCHEDULER", "type", WORD, 0, 0, " DWRR WRR STRICT ", true},
    {"SCHEDULER", "weight", NUMBER, 1, 100, NULL, false},
    {"WRED_PROFILE", "ecn", WORD, 0, 0, " ecn_all ", true},
    {"WRED_PROFILE", "wred_green_enable", WORD, 0, 0, " true ", true},
    {"WRED_PROFILE", "wred_yellow_enable", WORD, 0, 0, " true ", true},
    {"WRED_PROFILE", "wred_red_enable", WORD, 0, 0, " true ", true},
    {"WRED_PROFILE", "green_min_threshold", NUMBER, 0, UINT32_MAX, NULL, true},
    {"WRED_PROFILE", "green_max_threshold", NUMBER, 0, UINT32_MAX, NULL, true},
    {"WRED_PROFILE", "green_drop_probability", NUMBER, 0, 100, NULL, true},
    {"WRED_PROFILE", "yellow_min_threshold", NUMBER, 0, UINT32_MAX, NULL, true},
    {"WRED_PROFILE", "yellow_max_threshold", NUMBER, 0, UINT32_MAX, NULL, true},
    {"WRED_PROFILE", "yellow_drop_probability", NUMBER, 0, 100, NULL, true},
    {"WRED_PROFILE", "red_min_threshold", NUMBER, 0, UINT32_MAX, NULL, true},
    {"WRED_PROFILE", "red_max_threshold", NUMBER, 0, UINT32_MAX, NULL, true},
    {"WRED_PROFILE", "red_drop_probability", NUMBER, 0, 100, NULL, true},
    {"QUEUE", "scheduler", REFERENCE, 0, 0, "SCHEDULER", true},
    {"QUEUE", "wred_profile", REFERENCE, 0, 0, "WRED_PROFILE", false},
    {"BUFFER_POOL", "type", WORD, 0, 0, " ingress egress both ", true},
    {"BUFFER_POOL", "mode", WORD, 0, 0, " static dynamic ", true},
    {"BUFFER_POOL", "size", NUMBER, 1, INT64_MAX, NULL, true},
    {"BUFFER_POOL", "xoff", NUMBER, 1, INT64_MAX, NULL, false},
    {"BUFFER_PROFILE", "pool", REFERENCE, 0, 0, "BUFFER_POOL", true},
    {"BUFFER_PROFILE", "size", NUMBER, 0, INT64_MAX, NULL, true},
    {"BUFFER_PROFILE", "xon", NUMBER, 0, INT64_MAX, NULL, false},
    {"BUFFER_PROFILE", "xoff", NUMBER, 0, INT64_MAX, NULL, false},
    {"BUFFER_PROFILE", "xon_offset", NUMBER, 0, INT64_MAX, NULL, false},
    {"BUFFER_PROFILE", "dynamic_th", NUMBER, -8, 7, NULL, false},
    {"BUFFER_PROFILE", "static_th", NUMBER, 0, INT64_MAX, NULL, false},
    {"BUFFER_PG", "profile", REFERENCE, 0, 0, "BUFFER_PROFILE", true},
    {"BUFFER_QUEUE", "profile", REFERENCE, 0, 0, "BUFFER_PROFILE", true},
    {"PFC_WD", "action", WORD, 0, 0, " drop forward alert ", false},
    {"PFC_WD", "detection_time", NUMBER, 100, 5000, NULL, false},
    {"PFC_WD", "restoration_time", NUMBER, 100, 60000, NULL, false},
    {"PFC_WD", "POLL_INTERVAL", NUMBER, 100, 1000, NULL, false},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

static bool good(const struct tree *root, const struct rule *rule, const char *text)
{
    char *end = NULL, word[128];

    switch (rule->value) {
    case NUMBER: {
        long long got = strtoll(text, &end, 10);
        return text[0] && !*end && got >= rule->low && got <= rule->high;
    }
    case WORD:
        snprintf(word, sizeof(word), " %.120s ", text);
        return strstr(rule->words, word) != NULL;
    case PRIORITIES:
        for (size_t i = 0; text[i]; i++)
            if (i % 2 ? text[i] != ',' : text[i] < '0' || text[i] > '7') return false;
        return strlen(text) % 2 == 1 || !text[0];
    case REFERENCE:
        return tree_get(tree_get(root, rule->words), text) != NULL;
    case LENGTH:
        return text[strspn(text, "0123456789")] == 'm' && text[0] != '0';
    case TEXT:
        break;
    }
    return text[0] != 0;
}

/* Rows of these tables begin with a port, which must be one. */
static bool of_port(const char *table)
{
    return strcmp(table, "PORT_QOS_MAP") == 0 || strcmp(table, "QUEUE") == 0 || strncmp(table, "BUFFER_PG", 9) == 0 ||
           strcmp(table, "BUFFER_QUEUE") == 0 || strcmp(table, "PFC_WD") == 0;
}

static void check_row(uint64_t seed, const struct tree *root, const struct tree *table, const struct tree *row)
{
    char port[64];

    for (const struct tree *field = row->first; field; field = field->next) {
        const struct rule *rule = NULL;
        for (size_t r = 0; r < RULES; r++)
            if (strcmp(rules[r].table, table->key) == 0 &&
                (rules[r].field[0] == '*' || strcmp(rules[r].field, field->key) == 0))
                rule = &rules[r];
        if (!rule) fail_msg("seed %llu: %s has no field %s", (unsigned long long)seed, table->key, field->key);
        assert_int_equal(field->type, TREE_SCALAR);
        assert_false(field->plain); /* every value is a string */
        if (!good(root, rule, field->text))
            fail_msg("seed %llu: %s|%s %s is '%s'", (unsigned long long)seed, table->key, row->key, field->key,
                     field->text);
    }
    for (size_t r = 0; r < RULES; r++)
        if (rules[r].required && strcmp(rules[r].table, table->key) == 0 && !tree_get(row, rules[r].field))
            fail_msg("seed %llu: %s|%s lacks %s", (unsigned long long)seed, table->key, row->key, rules[r].field);
    if (!of_port(table->key) || strcmp(row->key, "GLOBAL") == 0) return;
    snprintf(port, sizeof(port), "%.*s", (int)strcspn(row->key, "|"), row->key);
    assert_non_null(tree_get(tree_get(root, "PORT"), port));
}

/* YANG does not demand these; a switch does. */
static void check_sense(uint64_t seed, const struct tree *root)
{
    const struct tree *profiles = tree_get(root, "BUFFER_PROFILE"), *groups = tree_get(root, "BUFFER_PG");
    const struct tree *qos = tree_get(root, "PORT_QOS_MAP");

    for (const struct tree *profile = profiles->first; profile; profile = profile->next)
        if (!tree_get(profile, "dynamic_th") == !tree_get(profile, "static_th"))
            fail_msg("seed %llu: profile %s has two thresholds, or none", (unsigned long long)seed, profile->key);
    for (const struct tree *port = qos->first; port; port = port->next) {
        const struct tree *map =
            tree_get(tree_get(root, "TC_TO_PRIORITY_GROUP_MAP"), tree_get(port, "tc_to_pg_map")->text);
        const char *bits = tree_get(port, "pfc_enable")->text;
        for (; *bits; bits++) {
            char tc[2] = {*bits, 0}, key[96];
            if (*bits == ',') continue;
            snprintf(key, sizeof(key), "%.60s|%s", port->key, tree_get(map, tc)->text);
            assert_non_null(tree_get(groups, key)); /* what pauses has a group */
        }
    }
}

static const struct random_limits limits = {.alpha = true,
                                            .static_xoff = true,
                                            .limit = true,
                                            .reserved = true,
                                            .headroom = true,
                                            .xon = true,
                                            .pfc = true,
                                            .pcp = true,
                                            .port_maps = true,
                                            .port_ecn = true,
                                            .port_mtu = true,
                                            .port_pfc = true,
                                            .queue_map = true,
                                            .group_map = true,
                                            .headroom_pool = true,
                                            .watchdog = true,
                                            .watchdog_times = true,
                                            .cable = true,
                                            .lossy_ecn = true,
                                            .lossless_most = 2};

static void check_switch(uint64_t seed, const struct fabric *fabric, uint32_t node)
{
    struct fabric_errors errors = {0};
    char *text = NULL;
    size_t length = 0;
    struct config_emit emit = {fabric, node, open_memstream(&text, &length), false};
    struct arena arena;
    struct tree *root = NULL;

    assert_non_null(emit.to);
    assert_int_equal(config_sonic.emit(&emit), 0);
    fclose(emit.to);
    assert_null(strstr(text, "//"));
    arena_init(&arena, 0);
    assert_int_equal(tree_parse(text, length, &arena, &root, &errors), 0); /* and no key is there twice */
    for (const struct tree *table = root->first; table; table = table->next) {
        assert_int_equal(table->type, TREE_MAP);
        for (const struct tree *row = table->first; row; row = row->next)
            check_row(seed, root, table, row);
    }
    check_sense(seed, root);
    arena_release(&arena);
    free(text);
}

static void test_valid(void **state)
{
    uint64_t count = trips() / 2;

    (void)state;
    for (uint64_t seed = 1; seed <= count; seed++) {
        char *file = random_fabric(seed, &limits);
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;

        assert_int_equal(fabric_load("random", file, &fabric, &errors), 0);
        for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
            check_switch(seed, fabric, n);
        fabric_free(fabric);
        free(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_valid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
