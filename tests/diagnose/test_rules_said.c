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

/* A line that says why it is down, though no log says when it went; not one that is up again, or was shut. */
static void faults_of_lines(void **state)
{
    static const struct {
        int up; /* -1: not said */
        bool shut, told;
    } rows[] = {{0, false, true}, {1, false, false}, {-1, false, false}, {0, true, false}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        said(&bed, bed.leaf[0][2], EVIDENCE_EVENT_LINE_FAULT, "Local Fault", 1000);
        if (rows[i].shut) said(&bed, bed.leaf[0][2], EVIDENCE_EVENT_PORT_SHUT, NULL, 1000);
        if (rows[i].up >= 0) since_boot(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_UP, (uint64_t)rows[i].up);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D19), rows[i].told);
        if (rows[i].told) assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D19)->what, "leaf0:2 is down (Local Fault)"));
        bed_close(&bed);
    }
}

/* What its module says is why; a switch's port of management is none of the fabric, a host's eth0 is. */
static void modules_and_management(void **state)
{
    struct bed bed;

    (void)state;
    bed_open(&bed);
    uint32_t device = evidence_device_of(&bed.evidence, bed.leaf[1][0]);
    uint32_t management = evidence_port(&bed.evidence, device, "eth0", 4);
    uint32_t host = evidence_port(&bed.evidence, evidence_device_of(&bed.evidence, bed.host[3]), "eth0", 4);
    said(&bed, management, EVIDENCE_EVENT_LINK_WENT_DOWN, NULL, 1000);
    said(&bed, evidence_device_of(&bed.evidence, host), EVIDENCE_EVENT_OPTIC_ALARM, "too hot", 1000);
    said(&bed, host, EVIDENCE_EVENT_LINK_WENT_DOWN, NULL, 1000);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D19), 2);
    for (uint32_t i = 0; i < bed.diagnose.findings; i++) {
        const struct diagnose_finding *finding = &bed.diagnose.finding[i];
        if (finding->rule != DIAGNOSE_D19) continue;
        assert_non_null(strstr(finding->what, finding->culprit == host ? "(too hot)" : "management port"));
        assert_int_equal(finding->severity, finding->culprit == host ? DIAGNOSE_WARNING : DIAGNOSE_INFO);
    }
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
        cmocka_unit_test(links_come_and_go),  cmocka_unit_test(both_ends),
        cmocka_unit_test(faults_of_lines),    cmocka_unit_test(modules_and_management),
        cmocka_unit_test(adapters_and_hosts), cmocka_unit_test(storms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
