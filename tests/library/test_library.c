/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librocelab from outside: its public header and librocelab.so.0, nothing else of the tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <rocelab/rocelab.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char fabric[] = "rocelab: 1\n"
                             "fabric: small\n"
                             "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}\n"
                             "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
                             "jobs:\n"
                             "  - {incast: 6, size: 100KB}\n";

static bool comma; /* this program's language has a decimal comma */

__attribute__((visibility("default"))) double strtod(const char *text, char **ret_end)
{
    double value = (double)strtold(text, ret_end);
    const char *point = comma ? strchr(text, '.') : NULL;

    if (point == NULL) return value;
    if (ret_end) *ret_end = (char *)(uintptr_t)point;
    return (double)strtol(text, NULL, 10);
}

static struct rocelab *open_with(const char *path, const char *value, uint32_t threads)
{
    const struct rocelab_setting setting = {path, value};
    struct rocelab *lab = NULL;
    char *message = NULL;

    int error = rocelab_open("small.yaml", fabric, &setting, path ? 1 : 0, threads, &lab, &message);
    if (message) print_error("%s", message);
    assert_int_equal(error, 0);
    assert_non_null(lab);
    assert_null(message);
    return lab;
}

static uint64_t digest_of(struct rocelab *lab)
{
    assert_int_equal(rocelab_advance(lab, ROCELAB_NEVER), ROCELAB_DONE);
    uint64_t digest = rocelab_digest(lab);
    rocelab_close(lab);
    return digest;
}

static void test_the_same_however_it_is_run(void **state)
{
    (void)state;
    uint64_t whole = digest_of(open_with(NULL, NULL, 0));
    struct rocelab *lab = open_with(NULL, NULL, 1);

    for (uint64_t at = 1000000; at <= 100000000; at += 7000000) {
        rocelab_advance(lab, at);
        assert_true(rocelab_now_ps(lab) <= at);
        for (uint32_t port = 0; port < rocelab_ports(lab); port++) {
            struct rocelab_port sample;
            assert_int_equal(rocelab_port_sample(lab, port, &sample), 0);
        }
    }
    assert_int_equal(digest_of(lab), whole);
    assert_int_equal(digest_of(open_with(NULL, NULL, 3)), whole);
    assert_int_not_equal(digest_of(open_with("seed", "2", 1)), whole);
    assert_int_not_equal(digest_of(open_with("jobs.0.size", "101KB", 1)), whole);
}

/* The port with the longest queue after `at`. */
static uint32_t fullest(struct rocelab *lab, uint64_t at, uint64_t *ret_bytes)
{
    uint32_t port = 0;

    *ret_bytes = 0;
    assert_int_equal(rocelab_advance(lab, at), ROCELAB_UNTIL);
    for (uint32_t i = 0; i < rocelab_ports(lab); i++) {
        struct rocelab_port sample;
        assert_int_equal(rocelab_port_sample(lab, i, &sample), 0);
        if (sample.queue_bytes <= *ret_bytes) continue;
        *ret_bytes = sample.queue_bytes;
        port = i;
    }
    return port;
}

static void test_ports(void **state)
{
    (void)state;
    struct rocelab *lab = open_with(NULL, NULL, 1);
    uint64_t most = 0;
    uint32_t port;

    for (uint32_t i = 0; i < rocelab_ports(lab); i++) {
        char name[ROCELAB_NAME];
        assert_int_equal(rocelab_port_name(lab, i, name), 0);
        assert_int_equal(rocelab_port_find(lab, name, &port), 0);
        assert_int_equal(port, i);
    }
    struct rocelab_port sample;
    char name[ROCELAB_NAME];
    assert_int_equal(rocelab_port_name(lab, rocelab_ports(lab), name), -EINVAL);
    assert_int_equal(rocelab_port_sample(lab, rocelab_ports(lab), &sample), -EINVAL);
    assert_int_equal(rocelab_port_find(lab, "leaf9:0", &port), -ENOENT);

    /* Six send to one: the queue of its leaf grows, and has gone when all is over. */
    port = fullest(lab, 30000000, &most);
    assert_true(most > 50000);
    assert_int_equal(rocelab_advance(lab, ROCELAB_NEVER), ROCELAB_DONE);
    rocelab_port_sample(lab, port, &sample);
    assert_int_equal(sample.queue_bytes, 0);
    assert_true(sample.line_bytes > 600000);
    rocelab_close(lab);
}

static void test_fault(void **state)
{
    (void)state;
    struct rocelab *lab = open_with(NULL, NULL, 1);
    char *message = NULL, name[ROCELAB_NAME], fault[ROCELAB_NAME + 32];
    double before, after, lost;
    uint64_t queue;

    assert_int_equal(rocelab_advance(lab, ROCELAB_NEVER), ROCELAB_DONE);
    assert_int_equal(rocelab_measure(lab, "time", &before), 0);
    rocelab_close(lab);

    lab = open_with(NULL, NULL, 1);
    assert_int_equal(rocelab_port_name(lab, fullest(lab, 30000000, &queue), name), 0);
    snprintf(fault, sizeof fault, "down %s for 5ms", name);
    assert_int_equal(rocelab_fault(lab, fault, &message), 0);
    assert_null(message);
    assert_int_equal(rocelab_fault(lab, "donw leaf0:0", &message), -EINVAL);
    assert_non_null(strstr(message, "donw"));
    rocelab_text_free(message);
    assert_int_equal(rocelab_fault(lab, "down leaf0:99", NULL), -EINVAL);
    assert_int_equal(rocelab_advance(lab, ROCELAB_NEVER), ROCELAB_DONE);
    assert_int_equal(rocelab_measure(lab, "time", &after), 0);
    assert_int_equal(rocelab_measure(lab, "lost", &lost), 0);
    assert_true(after > before + 4e-3);
    assert_true(lost > 0);
    rocelab_close(lab);
}

static void test_measures(void **state)
{
    (void)state;
    struct rocelab *lab = open_with(NULL, NULL, 1);
    double value = -1, payload;
    size_t names = 0;

    assert_int_equal(rocelab_measure(lab, "time", &value), -ENODATA); /* nothing has ended */
    assert_int_equal(rocelab_measure(lab, "tiem", &value), -ENOENT);
    assert_true(value == -1);
    assert_int_equal(rocelab_advance(lab, ROCELAB_NEVER), ROCELAB_DONE);
    for (; rocelab_measure_name(names); names++) {
        assert_non_null(rocelab_measure_help(names));
        int error = rocelab_measure(lab, rocelab_measure_name(names), &value);
        assert_true(error == 0 || error == -ENODATA);
        assert_true(error || (isfinite(value) && value >= 0));
    }
    assert_true(names > 20);
    assert_null(rocelab_measure_name(names + 1));
    /* Six of 100 KB. */
    assert_int_equal(rocelab_measure(lab, "payload", &payload), 0);
    assert_int_equal((uint64_t)payload, 6 * 100000);
    assert_int_equal(rocelab_measure(lab, "hops", &value), 0);
    assert_int_equal((uint64_t)value, rocelab_packet_hops(lab));
    rocelab_close(lab);
}

static void test_json(void **state)
{
    (void)state;
    struct rocelab *lab = open_with(NULL, NULL, 1);
    char *text = NULL, digest[40];

    rocelab_advance(lab, ROCELAB_NEVER);
    assert_int_equal(rocelab_json(lab, &text), 0);
    snprintf(digest, sizeof digest, "\"%016llx\"", (unsigned long long)rocelab_digest(lab));
    assert_non_null(strstr(text, digest));
    assert_non_null(strstr(text, "\"kind\": \"sim\""));
    assert_int_equal(text[0], '{');
    rocelab_text_free(text);
    rocelab_close(lab);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    const struct rocelab_setting wrong[] = {{"seed", "1"}, {"jobs.0.sise", "3KB"}};
    struct rocelab *lab = NULL;
    char *message = NULL;

    assert_int_equal(rocelab_open("broken.yaml", "rocelab: 1\ntopolgy: {}\n", NULL, 0, 1, &lab, &message), -EINVAL);
    assert_null(lab);
    assert_non_null(strstr(message, "broken.yaml:2:1: error: "));
    rocelab_text_free(message);
    assert_int_equal(rocelab_open("small.yaml", fabric, wrong, 2, 1, &lab, &message), -EINVAL);
    assert_non_null(strstr(message, "sise"));
    rocelab_text_free(message);
    assert_int_equal(rocelab_open("/nowhere/at/all.yaml", NULL, NULL, 0, 1, &lab, &message), -ENOENT);
    assert_non_null(strstr(message, "/nowhere/at/all.yaml"));
    rocelab_text_free(message);
    assert_int_equal(rocelab_open("/nowhere/at/all.yaml", NULL, NULL, 0, 1, &lab, NULL), -ENOENT);
    assert_int_equal(rocelab_open("small.yaml", fabric, NULL, 1, 1, &lab, &message), -EINVAL);
    assert_int_equal(rocelab_open("small.yaml", fabric, NULL, 0, 5000, &lab, &message), -EINVAL);
    assert_null(message);
    assert_null(lab);
    rocelab_close(NULL);
    rocelab_text_free(NULL);
    assert_string_equal(rocelab_version(), "0.3.0");
}

static struct rocelab *open_more(const struct rocelab_options *options)
{
    struct rocelab *lab = NULL;

    assert_int_equal(rocelab_open_with("small.yaml", options, &lab, NULL), 0);
    return lab;
}

static void test_options(void **state)
{
    (void)state;
    const struct rocelab_setting seed = {"seed", "2"};
    struct rocelab_options options = {.size = sizeof options, .text = fabric};
    struct {
        struct rocelab_options options;
        uint64_t later;
    } longer = {.options = {.size = sizeof longer, .text = fabric}};
    struct rocelab *lab = NULL;
    char *message = NULL;

    assert_true(rocelab_abi() >= ROCELAB_ABI);
    uint64_t plain = digest_of(open_more(&options));
    assert_int_equal(digest_of(open_with(NULL, NULL, 0)), plain);
    /* The run's seed alone is not the file's; where nothing is drawn when it is read, both are the same run. */
    options.flags = ROCELAB_SEEDED;
    options.seed = 2;
    uint64_t seeded = digest_of(open_more(&options));
    assert_int_not_equal(seeded, plain);
    options.flags = 0;
    assert_int_equal(digest_of(open_more(&options)), plain);
    options.settings = &seed;
    options.settings_count = 1;
    assert_int_equal(digest_of(open_with("seed", "2", 1)), digest_of(open_more(&options)));

    /* From an older header, from a newer one that asks for nothing new, from one that does. */
    options = (struct rocelab_options){.size = offsetof(struct rocelab_options, seed), .text = fabric, .sample_ps = 7};
    assert_int_equal(digest_of(open_more(&options)), plain);
    assert_int_equal(digest_of(open_more(&longer.options)), plain);
    longer.later = 1;
    assert_int_equal(rocelab_open_with("small.yaml", &longer.options, &lab, NULL), -EINVAL);
    options = (struct rocelab_options){.size = sizeof options, .text = fabric, .flags = 0x80000000};
    assert_int_equal(rocelab_open_with("small.yaml", &options, &lab, NULL), -EINVAL);
    options = (struct rocelab_options){.size = sizeof options, .text = fabric, .memory_max_bytes = 1000};
    assert_int_equal(rocelab_open_with("small.yaml", &options, &lab, &message), -ENOMEM);
    assert_non_null(strstr(message, "small.yaml"));
    rocelab_text_free(message);
    assert_null(lab);
}

static void test_steps(void **state)
{
    (void)state;
    struct rocelab *lab = open_with(NULL, NULL, 1);
    struct rocelab_progress progress = {.size = sizeof progress}, none = {.size = 0};
    uint64_t before = 0, steps = 0;

    while (rocelab_step(lab, 3, ROCELAB_NEVER) == ROCELAB_RUNNING) {
        assert_int_equal(rocelab_progress(lab, &progress), 0);
        assert_true(progress.now_ps >= before);
        before = progress.now_ps;
        steps++;
    }
    assert_true(steps > 5);
    assert_int_equal(rocelab_progress(lab, &progress), 0);
    assert_int_equal(progress.jobs, 1);
    assert_int_equal(progress.jobs_done, 1);
    assert_int_equal(progress.samples, 0);
    assert_int_equal(progress.packet_hops, rocelab_packet_hops(lab));
    assert_int_equal(rocelab_progress(lab, &none), -EINVAL);
    assert_int_equal(digest_of(lab), digest_of(open_with(NULL, NULL, 1)));
}

static size_t column_of(const struct rocelab_table *table, const char *name)
{
    size_t column = SIZE_MAX;

    assert_int_equal(rocelab_column_find(table, name, &column), 0);
    assert_string_equal(rocelab_column_name(table, column), name);
    return column;
}

static uint64_t sum_of(const struct rocelab_table *table, const char *name)
{
    const uint64_t *value = rocelab_column_counts(table, column_of(table, name));
    uint64_t sum = 0;

    assert_non_null(value);
    for (size_t i = 0; i < rocelab_table_rows(table); i++)
        sum += value[i] == ROCELAB_NONE ? 0 : value[i];
    return sum;
}

static struct rocelab_table *table_of(struct rocelab *lab, const char *name)
{
    struct rocelab_table *table = NULL;

    assert_int_equal(rocelab_table(lab, name, &table), 0);
    return table;
}

/* Each column answers as its kind and as no other. */
static void look_through(const struct rocelab_table *table)
{
    for (size_t i = 0; rocelab_column_name(table, i); i++) {
        enum rocelab_kind kind = rocelab_column_kind(table, i);
        bool count = kind == ROCELAB_COUNT || kind == ROCELAB_FLAG, real = kind == ROCELAB_REAL;
        size_t found;
        assert_non_null(rocelab_column_help(table, i));
        assert_int_equal(rocelab_column_find(table, rocelab_column_name(table, i), &found), 0);
        assert_int_equal(found, i); /* no name is there twice */
        assert_int_equal(rocelab_column_counts(table, i) != NULL, count);
        assert_int_equal(rocelab_column_reals(table, i) != NULL, real);
        assert_int_equal(rocelab_column_texts(table, i) != NULL, !count && !real);
        for (size_t row = 0; kind == ROCELAB_FLAG && row < rocelab_table_rows(table); row++)
            assert_true(rocelab_column_counts(table, i)[row] <= 1);
    }
}

static void test_tables(void **state)
{
    (void)state;
    const struct rocelab_options options = {.size = sizeof options, .text = fabric, .sample_ps = 5000000};
    struct rocelab *lab = open_more(&options);
    struct rocelab_progress progress = {.size = sizeof progress};
    struct rocelab_table *table = NULL;
    size_t tables = 0;

    assert_int_equal(rocelab_table(lab, "jbos", &table), -ENOENT);
    assert_null(table);
    for (int after = 0; after < 2; after++) { /* before anything has happened, and at the end */
        for (tables = 0; rocelab_table_name(tables); tables++) {
            table = table_of(lab, rocelab_table_name(tables));
            look_through(table);
            assert_null(rocelab_column_name(table, 1000));
            assert_null(rocelab_column_texts(table, 1000));
            assert_non_null(rocelab_table_help(tables));
            rocelab_table_free(table);
        }
        assert_int_equal(rocelab_advance(lab, ROCELAB_NEVER), ROCELAB_DONE);
    }
    assert_true(tables >= 8);

    struct rocelab_table *jobs = table_of(lab, "jobs"), *flows = table_of(lab, "flows");
    struct rocelab_table *ports = table_of(lab, "ports"), *over_time = table_of(lab, "port_steps");
    rocelab_progress(lab, &progress);
    uint64_t end = rocelab_now_ps(lab);
    rocelab_close(lab); /* tables are copies */

    assert_int_equal(rocelab_table_rows(jobs), 1);
    assert_string_equal(rocelab_column_texts(jobs, column_of(jobs, "kind"))[0], "incast");
    assert_string_equal(rocelab_column_texts(jobs, column_of(jobs, "state"))[0], "done");
    assert_int_equal(sum_of(jobs, "bytes"), 6 * 100000);
    assert_true(sum_of(jobs, "end_ps") <= end);
    assert_true(rocelab_column_reals(jobs, column_of(jobs, "algbw_GBps"))[0] > 5);
    assert_int_equal(rocelab_table_rows(flows), 6);
    assert_int_equal(sum_of(flows, "acked_bytes"), 6 * 100000);
    assert_true(sum_of(flows, "fct_ps") > sum_of(flows, "ideal_ps"));
    assert_string_equal(rocelab_column_texts(flows, column_of(flows, "job"))[5],
                        rocelab_column_texts(jobs, column_of(jobs, "name"))[0]);
    /* What ports sent in steps is what they sent. */
    assert_true(progress.samples > 5);
    assert_true(sum_of(over_time, "line_bytes") > sum_of(ports, "line_bytes") * 9 / 10);
    assert_true(sum_of(over_time, "line_bytes") <= sum_of(ports, "line_bytes"));
    assert_true(sum_of(over_time, "queue_bytes") > 100000);
    rocelab_table_free(jobs);
    rocelab_table_free(flows);
    rocelab_table_free(ports);
    rocelab_table_free(over_time);
    rocelab_table_free(NULL);
}

static void test_findings(void **state)
{
    (void)state;
    struct rocelab *lab = open_with("jobs.0.size", "10MB", 1);

    assert_int_equal(rocelab_advance(lab, ROCELAB_NEVER), ROCELAB_DONE);
    struct rocelab_table *table = table_of(lab, "findings");
    assert_true(rocelab_table_rows(table) > 0);
    assert_int_equal(rocelab_column_kind(table, column_of(table, "victims")), ROCELAB_NAMES);
    for (size_t i = 0; i < rocelab_table_rows(table); i++) {
        assert_non_null(rocelab_column_texts(table, column_of(table, "id"))[i]);
        assert_non_null(rocelab_column_texts(table, column_of(table, "severity"))[i]);
        assert_non_null(rocelab_column_texts(table, column_of(table, "what"))[i]);
    }
    rocelab_table_free(table);
    rocelab_close(lab);
}

static void *run_alone(void *result)
{
    struct rocelab *lab;

    *(uint64_t *)result = 0;
    if (rocelab_open("small.yaml", fabric, NULL, 0, 2, &lab, NULL) != 0) return NULL;
    if (rocelab_advance(lab, ROCELAB_NEVER) == ROCELAB_DONE) *(uint64_t *)result = rocelab_digest(lab);
    rocelab_close(lab);
    return NULL;
}

static void test_a_decimal_comma(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        comma = i == 1;
        struct rocelab *lab =
            open_with("faults", "[{corrupt: h0, at: 0s, ber: 1.5e-9}, {slow-gpu: h0, at: 0s, factor: 1.5}]", 1);
        comma = false;
        rocelab_close(lab);
    }
}

static void test_labs_side_by_side(void **state)
{
    (void)state;
    uint64_t digest[4], one;
    pthread_t thread[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_alone, &digest[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    run_alone(&one);
    assert_int_not_equal(one, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(digest[i], one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_however_it_is_run),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_decimal_comma),
        cmocka_unit_test(test_labs_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
