/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue names each metric once, a series gives back what was put, and a log of events is in order whatever
 * rings and windows they came in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "nic/counters.h"
#include "observe/catalogue.h"
#include "observe/sample.h"
#include "observe/series.h"
#include "record/event.h"
#include "switch/counters.h"

#define STEPS 300
#define PORTS 5

static uint32_t find(const struct observe_catalogue *catalogue, const char *name, const char *word)
{
    for (uint32_t i = 0; i < catalogue->count; i++)
        if (strcmp(catalogue->metric[i].name, name) == 0 &&
            (word == NULL || (catalogue->metric[i].word && strcmp(catalogue->metric[i].word, word) == 0)))
            return i;
    fail_msg("%s is not in the catalogue", name);
    return 0;
}

static void test_names(void **state)
{
    static struct observe_catalogue catalogue;

    (void)state;
    observe_catalogue(&catalogue);
    for (uint32_t i = 0; i < catalogue.count; i++) {
        const struct observe_metric *one = &catalogue.metric[i];
        assert_true(one->help[0] != '\0');
        bool netstat = strncmp(one->name, "node_netstat_", 13) == 0; /* whose names are the kernel's */
        if (!netstat) assert_int_equal(strspn(one->name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(one->name));
        assert_int_equal(one->kind == OBSERVE_COUNTER, strcmp(one->name + strlen(one->name) - 6, "_total") == 0);
        for (uint32_t j = 0; j < i; j++) {
            const struct observe_metric *other = &catalogue.metric[j];
            if (strcmp(one->name, other->name) != 0) continue;
            assert_non_null(one->label); /* a name occurs again only with another value of its label, and nearby */
            assert_string_equal(one->label, other->label);
            assert_string_not_equal(one->word, other->word);
            assert_string_equal(catalogue.metric[i - 1].name, one->name);
        }
    }
    assert_string_equal(catalogue.metric[find(&catalogue, "rocelab_switch_port_drops_total", "headroom")].label,
                        "reason");
    assert_int_equal(catalogue.metric[find(&catalogue, "rdma_roce_pfc_pause_duration_total", "rx")].offset,
                     offsetof(struct nic_prio_counters, rx_pause_ps));
    assert_int_equal(catalogue.metric[find(&catalogue, "rocelab_switch_rx_pause_seconds_total", NULL)].offset,
                     offsetof(struct sw_prio_counters, rx_pause_ps));
}

/* Values as counters and gauges have them: often the same, sometimes far apart. */
static uint64_t draw(struct rng *rng, uint64_t before)
{
    uint64_t kind = rng_u64(rng) % 16;

    if (kind < 8) return before;
    if (kind < 12) return before + rng_u64(rng) % 5000;
    return kind == 12 ? rng_u64(rng) : kind == 13 ? 0 : kind == 14 ? UINT64_MAX : before - 1;
}

static void test_round_trip(void **state)
{
    struct series_config config = {.step = 1000,
                                   .objects = {[OBSERVE_OBJECT_PORT_PRIO] = PORTS, [OBSERVE_OBJECT_SWITCH] = 1},
                                   .most_bytes = UINT64_MAX};
    static struct observe_port_prio put[STEPS][PORTS][OBSERVE_PRIORITIES];
    struct rng rng;
    struct series *series = NULL;
    uint64_t read[STEPS];

    (void)state;
    rng_init(&rng, test_seed_or(1), 0);
    assert_int_equal(series_create(&config, &series), 0);
    for (uint32_t step = 0; step < STEPS; step++) {
        assert_true(series_begin(series, (ps_t)(step + 1) * 1000));
        for (uint32_t port = 0; port < PORTS; port++) {
            for (uint32_t p = 0; p < OBSERVE_PRIORITIES; p++) {
                put[step][port][p] = step ? put[step - 1][port][p] : (struct observe_port_prio){0};
                if (p != 3) continue;
                put[step][port][p].queue_bytes = draw(&rng, put[step][port][p].queue_bytes);
                put[step][port][p].headroom_bytes = draw(&rng, put[step][port][p].headroom_bytes);
            }
            series_put(series, OBSERVE_OBJECT_PORT_PRIO, port, put[step][port], sizeof(put[step][port][0]));
        }
    }
    uint32_t queue = find(series_catalogue(series), "rocelab_switch_queue_bytes", NULL);
    uint32_t headroom = find(series_catalogue(series), "rocelab_switch_headroom_bytes", NULL);
    assert_int_equal(series_steps(series), STEPS);
    assert_int_equal(series_first(series), 1000);
    for (uint32_t port = 0; port < PORTS; port++) {
        assert_true(series_read(series, queue, port, 3, read));
        for (uint32_t step = 0; step < STEPS; step++)
            assert_int_equal(read[step], put[step][port][3].queue_bytes);
        assert_true(series_read(series, headroom, port, 3, read));
        struct series_cursor cursor = series_cursor(series, headroom, port, 3);
        struct series_cursor none = series_cursor(series, headroom, port, 4);
        for (uint32_t step = 0; step < STEPS; step++) {
            assert_int_equal(read[step], put[step][port][3].headroom_bytes);
            assert_int_equal(series_cursor_next(&cursor), read[step]);
            assert_int_equal(series_cursor_next(&none), 0);
        }
        assert_false(series_has(series, queue, port, 4));
        assert_false(series_read(series, queue, port, 4, read));
        assert_int_equal(read[STEPS - 1], 0);
    }
    series_free(series);
}

/* Steps twice as long: the second of each two is what is left, and columns that begin late stay where they were. */
static void test_coarser(void **state)
{
    struct series_config config = {
        .step = 10, .steps_most = 8, .objects = {[OBSERVE_OBJECT_SWITCH] = 2}, .most_bytes = UINT64_MAX};
    struct series *series = NULL;
    uint64_t read[8];
    ps_t at;

    (void)state;
    assert_int_equal(series_create(&config, &series), 0);
    uint32_t buffer = find(series_catalogue(series), "rocelab_switch_buffer_bytes", NULL);
    while ((at = series_next(series)) <= 1000) {
        const struct observe_switch sample[2] = {{.buffer_bytes = at}, {.buffer_bytes = at > 500 ? 7 : 0}};
        assert_true(series_begin(series, at));
        for (uint32_t i = 0; i < 2; i++)
            series_put(series, OBSERVE_OBJECT_SWITCH, i, &sample[i], 0);
    }
    assert_int_equal(series_step(series), 160);
    assert_int_equal(series_first(series), 160);
    assert_int_equal(series_steps(series), 6);
    series_read(series, buffer, 0, 0, read);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(read[i], 160 * (i + 1));
    series_read(series, buffer, 1, 0, read);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(read[i], i >= 3 ? 7 : 0);
    series_free(series);
}

static void test_full(void **state)
{
    struct series_config config = {.step = 1, .objects = {[OBSERVE_OBJECT_SWITCH] = 1}, .most_bytes = 100};
    struct observe_switch sample = {0};
    struct series *series = NULL;
    uint64_t read[1000], steps = 0;

    (void)state;
    assert_int_equal(series_create(&config, &series), 0);
    for (; steps < 1000 && series_begin(series, steps + 1); steps++) {
        sample.buffer_bytes += 1000000;
        series_put(series, OBSERVE_OBJECT_SWITCH, 0, &sample, 0);
    }
    assert_in_range(steps, 10, 100);
    assert_true(series_full(series));
    assert_int_equal(series_steps(series), steps);
    series_read(series, find(series_catalogue(series), "rocelab_switch_buffer_bytes", NULL), 0, 0, read);
    assert_int_equal(read[steps - 1], sample.buffer_bytes);
    series_free(series);
}

static void test_log(void **state)
{
    struct record_event room[2][4];
    struct record_ring ring[2] = {{.event = room[0], .room = 4, .kinds = RECORD_RARE, .node = 7},
                                  {.event = room[1], .room = 4, .kinds = RECORD_RARE, .node = 2}};
    struct record_ring *rings[] = {&ring[0], &ring[1]};
    struct record_log log = {.most = 7};

    (void)state;
    record_note(NULL, (struct record_event){.at = 1}); /* off: nothing happens */
    record_note(&ring[0], (struct record_event){.at = 5, .kind = RECORD_XOFF});
    record_note(&ring[0], (struct record_event){.at = 5, .kind = RECORD_XON});
    record_note(&ring[0], (struct record_event){.at = 6, .kind = RECORD_MARK}); /* not wanted */
    record_note(&ring[1], (struct record_event){.at = 5, .kind = RECORD_ROUTES});
    record_note(&ring[1], (struct record_event){.at = 4, .kind = RECORD_LINK_UP});
    assert_int_equal(record_log_take(&log, rings, 2), 0);
    assert_int_equal(log.count, 4);
    assert_int_equal(log.event[0].kind, RECORD_LINK_UP);
    assert_int_equal(log.event[1].node, 2);
    assert_int_equal(log.event[2].kind, RECORD_XOFF);
    assert_int_equal(log.event[3].kind, RECORD_XON);
    for (ps_t at = 10; at < 16; at++)
        record_note(&ring[0], (struct record_event){.at = at, .kind = RECORD_XOFF});
    assert_int_equal(record_log_take(&log, rings, 2), 0);
    assert_int_equal(log.count, 7);
    assert_int_equal(log.lost, 3); /* two found no room in the ring, one none in the log */
    record_log_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_coarser), cmocka_unit_test(test_full),
                                       cmocka_unit_test(test_log)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
