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
    assert_string_equal(rocelab_version(), "0.1.0");
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
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_decimal_comma),
        cmocka_unit_test(test_labs_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
