/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written for SONiC, against the published models: fields, ranges, names, references, and what they demand of
 * fields together.
 *
 * The table below is the rule book; a table, a field or a value that is not in it fails.  It was written from the
 * models (sonic-yang-models of sonic-buildimage) and shares nothing with what writes the tables.  The file is merged
 * into a switch's own (`config load`), so what is mandatory there and the unit's (lanes) is not wanted here; it may not
 * be there either, for it would replace what the unit has.
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
#include "fabric/file/tree.h"
#include "fabric/switches.h"
#include "load/load.h"

enum value { NUMBER, WORD, WORDS, PRIORITIES, REFERENCE, LENGTH, TEXT }; /* WORDS: a list */

static const struct rule {
    const char *table, *field; /* field "*": every field of the table, a map's */
    enum value value;
    long long low, high;
    const char *words; /* of a WORD, between spaces; of a REFERENCE the table */
    bool required;
} rules[] = {
    {"DEVICE_METADATA", "hostname", TEXT, 0, 0, NULL, true},
    {"DEVICE_METADATA", "buffer_model", WORD, 0, 0, " traditional ", true},
    {"PORT", "speed", NUMBER, 1, 1600000, NULL, true},
    {"PORT", "mtu", NUMBER, 68, 9216, NULL, true},
    {"PORT", "fec", WORD, 0, 0, " rs fc none auto ", false},
    {"PORT", "pfc_asym", WORD, 0, 0, " on off ", false},
    {"PORT", "admin_status", WORD, 0, 0, " up down ", true},
    {"CABLE_LENGTH", "*", LENGTH, 0, 0, NULL, false},
    {"DEVICE_NEIGHBOR", "name", TEXT, 0, 0, NULL, true},
    {"DEVICE_NEIGHBOR", "port", TEXT, 0, 0, NULL, true},
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
    {"SWITCH_HASH", "ecmp_hash", WORDS, 0, 0, " SRC_IP DST_IP IP_PROTOCOL L4_SRC_PORT L4_DST_PORT ", true},
    {"LLDP", "enabled", WORD, 0, 0, " true false ", false},
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
    case WORDS:
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

/* Rows of these tables begin with a port, which must be one ... */
static bool of_port(const char *table)
{
    return strcmp(table, "PORT_QOS_MAP") == 0 || strcmp(table, "PFC_WD") == 0 || strcmp(table, "DEVICE_NEIGHBOR") == 0;
}
/* ... and of these go on with a number or two. */
static bool of_numbers(const char *table)
{
    return strcmp(table, "QUEUE") == 0 || strcmp(table, "BUFFER_PG") == 0 || strcmp(table, "BUFFER_QUEUE") == 0;
}
/* Rows of these have a name: a letter or digit, then up to 31 of - _ and them. */
static bool of_name(const char *table)
{
    return strstr(table, "_MAP") ? strcmp(table, "PORT_QOS_MAP") != 0
                                 : strcmp(table, "WRED_PROFILE") == 0 || strcmp(table, "CABLE_LENGTH") == 0;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool good_key(const struct tree *root, const char *table, const char *key)
{
    char port[64];
    size_t length = strcspn(key, "|");

    if (of_name(table))
        return strlen(key) >= 1 && strlen(key) <= 32 && strchr(LETTERS, key[0]) && !key[strspn(key, LETTERS "-_")];
    if (!of_port(table) && !of_numbers(table)) return true;
    if (strcmp(key, "GLOBAL") == 0) return strcmp(table, "PFC_WD") == 0;
    snprintf(port, sizeof(port), "%.*s", (int)length, key);
    if (!tree_get(tree_get(root, "PORT"), port)) return false;
    if (of_port(table)) return key[length] == 0;
    const char *numbers = key + length + (key[length] == '|');
    if (numbers[0] < '0' || numbers[0] > '7') return false;
    return !numbers[1] || (numbers[1] == '-' && numbers[2] > numbers[0] && numbers[2] <= '7' && !numbers[3]);
}

/* The row of a port and number, whose key may be a range; fails where there are two. */
static const struct tree *row_of(const struct tree *table, const char *port, char number)
{
    const struct tree *found = NULL;
    size_t length = strlen(port);

    for (const struct tree *row = table->first; row; row = row->next) {
        const char *numbers = row->key + length + 1;
        if (strncmp(row->key, port, length) != 0 || row->key[length] != '|') continue;
        if (number < numbers[0] || number > (numbers[1] ? numbers[2] : numbers[0])) continue;
        assert_null(found);
        found = row;
    }
    return found;
}

static long long number_of(const struct tree *row, const char *field)
{
    const struct tree *got = tree_get(row, field);
    assert_non_null(got);
    return strtoll(got->text, NULL, 10);
}

static void check_row(uint64_t seed, const struct tree *root, const struct tree *table, const struct tree *row)
{

    for (const struct tree *field = row->first; field; field = field->next) {
        const struct rule *rule = NULL;
        for (size_t r = 0; r < RULES; r++)
            if (strcmp(rules[r].table, table->key) == 0 &&
                (rules[r].field[0] == '*' || strcmp(rules[r].field, field->key) == 0))
                rule = &rules[r];
        if (!rule) fail_msg("seed %llu: %s has no field %s", (unsigned long long)seed, table->key, field->key);
        assert_int_equal(field->type, rule->value == WORDS ? TREE_LIST : TREE_SCALAR);
        for (const struct tree *item = field->first; rule->value == WORDS && item; item = item->next)
            assert_true(item->type == TREE_SCALAR && good(root, rule, item->text));
        if (rule->value == WORDS) continue;
        assert_false(field->plain); /* every value is a string */
        if (!good(root, rule, field->text))
            fail_msg("seed %llu: %s|%s %s is '%s'", (unsigned long long)seed, table->key, row->key, field->key,
                     field->text);
    }
    for (size_t r = 0; r < RULES; r++)
        if (rules[r].required && strcmp(rules[r].table, table->key) == 0 && !tree_get(row, rules[r].field))
            fail_msg("seed %llu: %s|%s lacks %s", (unsigned long long)seed, table->key, row->key, rules[r].field);
    if (!good_key(root, table->key, row->key))
        fail_msg("seed %llu: %s has no row %s", (unsigned long long)seed, table->key, row->key);
}

/* What the models demand of fields together. */
static void check_musts(const struct tree *root)
{
    const struct tree *wred = tree_get(root, "WRED_PROFILE"), *watchdog = tree_get(root, "PFC_WD");
    const struct tree *references[] = {tree_get(root, "BUFFER_PG"), tree_get(root, "BUFFER_QUEUE")};
    const char *const types[] = {"ingress", "egress"};

    for (const struct tree *row = wred->first; row; row = row->next) {
        assert_true(number_of(row, "green_max_threshold") >= number_of(row, "green_min_threshold"));
        assert_true(number_of(row, "yellow_max_threshold") >= number_of(row, "yellow_min_threshold"));
        assert_true(number_of(row, "red_max_threshold") >= number_of(row, "red_min_threshold"));
    }
    for (const struct tree *row = watchdog ? watchdog->first : NULL; row; row = row->next) {
        bool global = strcmp(row->key, "GLOBAL") == 0;
        long long poll = number_of(tree_get(watchdog, "GLOBAL"), "POLL_INTERVAL");
        assert_int_equal(!tree_get(row, "POLL_INTERVAL"), !global);
        if (global) continue;
        assert_true(number_of(row, "detection_time") >= poll);
        assert_true(number_of(row, "restoration_time") >= poll);
        assert_non_null(tree_get(row, "action"));
    }
    for (int i = 0; i < 2; i++) { /* groups have profiles of ingress pools, queues of egress pools */
        for (const struct tree *row = references[i]->first; row; row = row->next) {
            const struct tree *profile = tree_get(tree_get(root, "BUFFER_PROFILE"), tree_get(row, "profile")->text);
            const struct tree *pool = tree_get(tree_get(root, "BUFFER_POOL"), tree_get(profile, "pool")->text);
            assert_string_equal(tree_get(pool, "type")->text, types[i]);
        }
    }
}

/* Headroom that is set aside, reserves and what is shared are the buffer and no more. */
static void check_sum(uint64_t seed, const struct tree *root, uint64_t buffer_bytes)
{
    const struct tree *pool = tree_get(tree_get(root, "BUFFER_POOL"), "ingress_lossless_pool");
    const struct tree *groups = tree_get(root, "BUFFER_PG");
    uint64_t sum = (uint64_t)number_of(pool, "size");

    if (tree_get(pool, "xoff")) sum += (uint64_t)number_of(pool, "xoff");
    for (const struct tree *port = tree_get(root, "PORT")->first; port; port = port->next) {
        for (char g = '0'; g <= '7'; g++) {
            const struct tree *row = row_of(groups, port->key, g);
            if (!row) continue;
            const struct tree *profile = tree_get(tree_get(root, "BUFFER_PROFILE"), tree_get(row, "profile")->text);
            sum += (uint64_t)number_of(profile, "size");
        }
    }
    if (sum != buffer_bytes)
        fail_msg("seed %llu: %llu bytes of a buffer of %llu", (unsigned long long)seed, (unsigned long long)sum,
                 (unsigned long long)buffer_bytes);
}

/* YANG does not demand these; a switch does. */
static void check_sense(uint64_t seed, const struct tree *root)
{
    const struct tree *profiles = tree_get(root, "BUFFER_PROFILE"), *groups = tree_get(root, "BUFFER_PG");
    const struct tree *qos = tree_get(root, "PORT_QOS_MAP"), *queues = tree_get(root, "QUEUE");

    for (const struct tree *profile = profiles->first; profile; profile = profile->next)
        if (!tree_get(profile, "dynamic_th") == !tree_get(profile, "static_th"))
            fail_msg("seed %llu: profile %s has two thresholds, or none", (unsigned long long)seed, profile->key);
    for (const struct tree *port = tree_get(root, "PORT")->first; port; port = port->next) {
        long long weights = 0;
        for (char q = '0'; q <= '7'; q++) {
            const struct tree *row = row_of(queues, port->key, q);
            const struct tree *scheduler =
                row ? tree_get(tree_get(root, "SCHEDULER"), tree_get(row, "scheduler")->text) : NULL;
            if (scheduler && tree_get(scheduler, "weight")) weights += number_of(scheduler, "weight");
        }
        if (weights > 100) fail_msg("seed %llu: weights of %lld on %s", (unsigned long long)seed, weights, port->key);
    }
    for (const struct tree *port = qos->first; port; port = port->next) {
        const struct tree *map =
            tree_get(tree_get(root, "TC_TO_PRIORITY_GROUP_MAP"), tree_get(port, "tc_to_pg_map")->text);
        const char *bits = tree_get(port, "pfc_enable")->text;
        for (; *bits; bits++) {
            char tc[2] = {*bits, 0};
            if (*bits == ',') continue;
            assert_non_null(row_of(groups, port->key, tree_get(map, tc)->text[0])); /* what pauses has a group */
        }
    }
}

/* For who asks for the files (tests/config/sonic_yang.py): into the folder SONIC_KEEP. */
static void keep(uint64_t seed, const char *name, const char *text)
{
    const char *folder = getenv("SONIC_KEEP");
    char path[4096];

    if (!folder) return;
    snprintf(path, sizeof(path), "%s/%llu-%s.json", folder, (unsigned long long)seed, name);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

static void check_switch(uint64_t seed, const struct fabric *fabric, uint32_t node)
{
    struct fabric_errors errors = {0};
    char *text = NULL;
    size_t length = 0;
    struct config_emit emit = {.fabric = fabric, .node = node, .to = open_memstream(&text, &length)};
    struct arena arena;
    struct tree *root = NULL;

    assert_non_null(emit.to);
    assert_int_equal(config_sonic.emit(&emit), 0);
    fclose(emit.to);
    keep(seed, fabric->node[node].name, text);
    assert_null(strstr(text, "//"));
    arena_init(&arena, 0);
    assert_int_equal(tree_parse(text, length, &arena, &root, &errors), 0); /* and no key is there twice */
    for (const struct tree *table = root->first; table; table = table->next) {
        assert_int_equal(table->type, TREE_MAP);
        for (const struct tree *row = table->first; row; row = row->next)
            check_row(seed, root, table, row);
    }
    check_musts(root);
    check_sense(seed, root);
    check_sum(seed, root, fabric->sw[node - fabric->hosts].buffer_bytes);
    arena_release(&arena);
    free(text);
}

static void test_valid(void **state)
{
    uint64_t count = trips() / 2;

    (void)state;
    for (uint64_t seed = 1; seed <= count; seed++) {
        char *file = random_fabric(seed, &random_all);
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
