/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look of a switch, its pauses: each rule with the smallest evidence that is enough for it, and beside it what is
 * not.
 */
#include "look.h"

static void describe(struct bed *bed, uint32_t port, const char *device, const char *name)
{
    struct evidence_source source = {bed->file, 9, 0};

    evidence_add_neighbour(&bed->evidence, port, device, name, &source);
}

static void a_watchdog_says_who_pauses(void **state)
{
    static const struct {
        uint64_t on, detected, restored;
        const char *told; /* NULL: nothing */
        enum diagnose_severity severity;
    } rows[] = {
        {1, 1, 0, "pauses it without end: the watchdog has cut it off, 1 storm;", DIAGNOSE_CRITICAL},
        {0, 2, 2, "paused it without end: the watchdog cut it off, 2 storms, over by now;", DIAGNOSE_WARNING},
        {1, 0, 0, "has cut it off;", DIAGNOSE_CRITICAL},
        {0, 0, 0, NULL, DIAGNOSE_INFO},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port = alone(&bed, 4, "sonic");
        describe(&bed, port, "gpu7", "eth2");
        since_boot(&bed, port, 3, EVIDENCE_WATCHDOG_ON, rows[i].on);
        since_boot(&bed, port, 3, EVIDENCE_WATCHDOG_DETECTED, rows[i].detected);
        since_boot(&bed, port, 3, EVIDENCE_WATCHDOG_RESTORED, rows[i].restored);
        since_boot(&bed, port, 3, EVIDENCE_WATCHDOG_DROPS, 500);
        since_boot(&bed, port, 3, EVIDENCE_QUEUE_DROPS, 500);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D02), rows[i].told != NULL);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D31), 0);
        if (rows[i].told) {
            const struct diagnose_finding *finding = weak_found(&bed, DIAGNOSE_D02, port);
            if (!strstr(finding->what, rows[i].told)) fail_msg("%s", finding->what);
            assert_non_null(strstr(finding->what, "(gpu7 eth2)"));
            assert_non_null(strstr(finding->what, "500 packets were dropped for it"));
            assert_int_equal(finding->severity, rows[i].severity);
            assert_int_equal(bed_count(&bed, DIAGNOSE_D08), 0); /* the watchdog's own */
        }
        bed_close(&bed);
    }
}

/* A switch that was cut off itself passes the storm on: the host behind it is named, and once. */
static void a_storm_is_followed_to_its_host(void **state)
{
    struct bed bed;

    (void)state;
    bed_open(&bed);
    since_boot(&bed, bed.leaf[0][0], 3, EVIDENCE_WATCHDOG_ON, 1);
    since_boot(&bed, bed.spine[0][0], 3, EVIDENCE_WATCHDOG_ON, 1);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D02), 1);
    weak_found(&bed, DIAGNOSE_D02, bed.host[0]);
    bed_close(&bed);
}

static void pfc_that_nobody_agreed_to(void **state)
{
    (void)state;
    for (unsigned on = 0; on < 2; on++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port[2] = {alone(&bed, 1, "nxos"), alone(&bed, 2, "nxos")};
        for (unsigned i = 0; i < 2; i++) {
            for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
                since_boot(&bed, port[i], p, EVIDENCE_PFC_ON, on && i && p == 3);
            if (!on || !i) said(&bed, port[i], EVIDENCE_EVENT_PFC_NOT_AGREED, "Auto, and operationally off");
        }
        bed_run(&bed);
        /* A port without PFC beside one that has it is one that nobody uses for RDMA. */
        assert_int_equal(bed_count(&bed, DIAGNOSE_D08), !on);
        if (!on) assert_non_null(strstr(weak_found(&bed, DIAGNOSE_D08, port[0])->what, "on all 2 ports of sw0"));
        bed_close(&bed);
    }
}

/* Dropped on the way in of a lossless class, of so many: a small share matters where PFC was asked for and is off. */
static void a_share_of_a_lossless_class(void **state)
{
    static const struct {
        uint64_t drops, packets;
        bool off, found;
    } rows[] = {{160104, 435463231, true, true},
                {160104, 435463231, false, false},
                {500000, 435463231, false, true},
                {50, 60, false, false}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port = alone(&bed, 1, "nxos");
        since_boot(&bed, port, 1, EVIDENCE_LOSSLESS, 1);
        since_boot(&bed, port, 1, EVIDENCE_GROUP_DROPS, rows[i].drops);
        since_boot(&bed, port, 1, EVIDENCE_RX_PACKETS, rows[i].packets);
        if (rows[i].off) since_boot(&bed, port, 1, EVIDENCE_PFC_ON, 0);
        if (rows[i].off) said(&bed, port, EVIDENCE_EVENT_PFC_NOT_AGREED, "Auto, and operationally off");
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D08), rows[i].found);
        bed_close(&bed);
    }
}

/* SONiC's own lossless priorities, where nothing says another. */
static void a_queue_that_lost_nearly_all(void **state)
{
    static const struct {
        unsigned priority;
        const char *system;
        uint64_t drops;
        bool found;
    } rows[] = {{3, "sonic", 421358651, true},
                {0, "sonic", 421358651, false},
                {3, "eos", 421358651, false},
                {3, "sonic", 1264, false}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port = alone(&bed, 1, rows[i].system);
        since_boot(&bed, port, rows[i].priority, EVIDENCE_QUEUE_DROPS, rows[i].drops);
        since_boot(&bed, port, rows[i].priority, EVIDENCE_TX_PACKETS, 126497);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D08), rows[i].found);
        bed_close(&bed);
    }
}

static void no_lossless_class(void **state)
{
    struct bed bed;

    (void)state;
    bed_open(&bed);
    uint32_t port = alone(&bed, 1, "sonic");
    said(&bed, port, EVIDENCE_EVENT_WATCHDOG_OFF, NULL);
    said(&bed, port, EVIDENCE_EVENT_CLASS_MISSING, NULL);
    bed_run(&bed);
    assert_non_null(strstr(weak_found(&bed, DIAGNOSE_D15, port)->what, "the pause watchdog does not run on it"));
    bed_close(&bed);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watchdog_says_who_pauses),   cmocka_unit_test(a_storm_is_followed_to_its_host),
        cmocka_unit_test(pfc_that_nobody_agreed_to),    cmocka_unit_test(a_share_of_a_lossless_class),
        cmocka_unit_test(a_queue_that_lost_nearly_all), cmocka_unit_test(no_lossless_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
