/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What logs say in words: links that come and go, adapters and hosts that failed.  Boots, and ports that somebody shut,
 * are no faults.
 */
#include "bed.h"

#include <math.h>

static void said(struct bed *bed, uint32_t object, enum evidence_event_kind kind, const char *detail, double at_s)
{
    evidence_add_event(&bed->evidence, &(struct evidence_event){.kind = (uint8_t)kind,
                                                                .priority = EVIDENCE_NO_PRIORITY,
                                                                .object = object,
                                                                .detail = detail,
                                                                .first_s = at_s,
                                                                .last_s = at_s,
                                                                .file = bed->file,
                                                                .line = 7});
}

/* What a link's log says, as letters: d, u, s (shut), each a minute after the other; and what is made of it. */
static void links_come_and_go(void **state)
{
    static const struct {
        const char *says, *told; /* NULL: nothing */
        double every_s;
    } rows[] = {
        {"dudud", "went down 3 times and came up 2 times within 4 minutes, the last time without", 60},
        {"uuuu", "came up 4 times within 42 s, so that it went down in between", 14},
        {"du", "went down and came up again after 5 s", 5},
        {"d", "went down, and nothing says that it came up again", 60},
        {"dd", "went down 2 times and came up 0 times within 60 s, the last time without", 60},
        {"u", NULL, 60},
        {"uu", NULL, 86400}, /* two boots */
        {"sd", NULL, 1},
        {"s", NULL, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        for (size_t k = 0; rows[i].says[k]; k++)
            said(&bed, bed.host[1],
                 rows[i].says[k] == 'd'   ? EVIDENCE_EVENT_LINK_WENT_DOWN
                 : rows[i].says[k] == 'u' ? EVIDENCE_EVENT_LINK_CAME_UP
                                          : EVIDENCE_EVENT_PORT_SHUT,
                 NULL, 1000 + (double)k * rows[i].every_s);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D19), rows[i].told != NULL);
        if (rows[i].told) {
            const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D19);
            assert_culprit(&bed, finding, bed.host[1]);
            if (!strstr(finding->what, rows[i].told)) fail_msg("%s: %s", rows[i].says, finding->what);
            assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
        }
        bed_close(&bed);
    }
}

/* Both ends of a cable say the same: one finding. */
static void both_ends(void **state)
{
    struct bed bed;

    (void)state;
    bed_open(&bed);
    said(&bed, bed.host[1], EVIDENCE_EVENT_LINK_WENT_DOWN, NULL, 1000);
    said(&bed, bed.leaf[0][1], EVIDENCE_EVENT_LINK_WENT_DOWN, NULL, 1000);
    said(&bed, bed.leaf[0][1], EVIDENCE_EVENT_LINE_FAULT, "mac_local_fault", 1000);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D19), 1);
    bed_close(&bed);
}

/* Timers of a peer ran out: the adapter that failed explains them; what failed inside of a host is no network. */
static void adapters_and_hosts(void **state)
{
    static const struct {
        enum evidence_event_kind kind;
        enum diagnose_rule_id rule;
        enum diagnose_severity severity;
    } rows[] = {
        {EVIDENCE_EVENT_ADAPTER_FAILED, DIAGNOSE_D32, DIAGNOSE_CRITICAL},
        {EVIDENCE_EVENT_DRIVER_FAILED, DIAGNOSE_D32, DIAGNOSE_CRITICAL},
        {EVIDENCE_EVENT_GPU_FAILED, DIAGNOSE_D33, DIAGNOSE_CRITICAL},
        {EVIDENCE_EVENT_HOST_FAULT, DIAGNOSE_D33, DIAGNOSE_CRITICAL},
        {EVIDENCE_EVENT_KILLED, DIAGNOSE_D33, DIAGNOSE_WARNING},
        {EVIDENCE_EVENT_STORAGE_ERROR, DIAGNOSE_D33, DIAGNOSE_WARNING},
        {EVIDENCE_EVENT_BUS_ERROR, DIAGNOSE_D23, DIAGNOSE_WARNING},
        {EVIDENCE_EVENT_OPTIC_ALARM, DIAGNOSE_D13, DIAGNOSE_WARNING},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t device = bed.evidence.object[bed.host[2]].parent;
        said(&bed, device, rows[i].kind, "first word", 1000);
        said(&bed, device, rows[i].kind, "second word", 1001);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, rows[i].rule);
        assert_culprit(&bed, finding, device);
        assert_non_null(strstr(finding->what, "first word; second word"));
        assert_int_equal(finding->severity, rows[i].severity);
        assert_int_equal(finding->evidence[0].line, 7);
        bed_close(&bed);
    }
}

/* Of a port whose peer is known the peer is named; once, however often it was said. */
static void storms(void **state)
{
    struct bed bed;

    (void)state;
    bed_open(&bed);
    for (unsigned i = 0; i < 3; i++)
        evidence_add_event(&bed.evidence, &(struct evidence_event){.kind = EVIDENCE_EVENT_STORM_BEGAN,
                                                                   .priority = 3,
                                                                   .object = bed.leaf[0][1],
                                                                   .first_s = i,
                                                                   .last_s = i,
                                                                   .file = bed.file,
                                                                   .line = 7});
    bed_run(&bed);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D02), bed.host[1]);
    assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D02)->what, "3 times and gave it back 0 times"));
    bed_close(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_come_and_go),
        cmocka_unit_test(both_ends),
        cmocka_unit_test(adapters_and_hosts),
        cmocka_unit_test(storms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
