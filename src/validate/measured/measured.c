/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs of a cluster: read, tied to the fabric file, diagnosed once; then which test is answered by what.
 */
#include "validate/measured/measured.h"

#include <string.h>

#include "evidence/read/reader.h"
#include "fabric/fabric.h"

#define FINDINGS_NAMED 3

const char *measured_at(const struct validate_case *of, uint32_t file, uint32_t line)
{
    const struct measured *measured = of->plan->measured;
    size_t folder = strlen(measured->path);

    if (file >= measured->evidence.files) return "";
    const char *path = measured->evidence.file[file];
    if (strncmp(path, measured->path, folder) == 0 && path[folder] == '/') path += folder + strspn(path + folder, "/");
    size_t length = strlen(path);
    return case_text(of, "%s%s:%u", length > 160 ? "..." : "", path + (length > 160 ? length - 160 : 0), line);
}

const struct evidence_value *measured_any(const struct validate_case *of, bool twice, const uint8_t *counter,
                                          size_t counters)
{
    const struct evidence *evidence = &of->plan->measured->evidence;

    for (uint32_t i = 0; i < evidence->values; i++)
        if (memchr(counter, evidence->value[i].counter, counters) && (!twice || evidence->value[i].looks > 1))
            return &evidence->value[i];
    return NULL;
}

static bool counts(const struct diagnose_finding *finding, const char *rules)
{
    return finding->severity > DIAGNOSE_INFO && (!rules || strstr(rules, diagnose_rules[finding->rule].id));
}

/* Of what was worked out of many counters: the first of the culprit, or of a port of it. */
static const char *culprit_at(const struct validate_case *of, uint32_t culprit)
{
    const struct evidence *evidence = &of->plan->measured->evidence;

    for (uint32_t i = 0; i < evidence->values && culprit != EVIDENCE_NONE; i++) {
        const struct evidence_value *value = &evidence->value[i];
        if (value->object == culprit || evidence->object[value->object].parent == culprit)
            return measured_at(of, value->file, value->line);
    }
    return "";
}

static const char *finding_at(const struct validate_case *of, const struct diagnose_finding *finding)
{
    for (uint32_t i = 0; i < finding->evidences; i++) {
        const char *at = measured_at(of, finding->evidence[i].file, finding->evidence[i].line);
        if (at[0]) return at;
    }
    return culprit_at(of, finding->culprit);
}

void measured_rules(struct validate_case *of, const char *subject, const char *rules, enum criterion criterion,
                    const struct evidence_value *seen, const char *lacking)
{
    const struct diagnose *diagnose = &of->plan->measured->diagnose;
    const char *why = "", *source = "";
    uint32_t found = 0;

    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (!counts(finding, rules)) continue;
        if (found++ == 0) source = finding_at(of, finding);
        if (found <= FINDINGS_NAMED)
            why = case_text(of, "%s%s%s: %.120s", why, why[0] ? "; " : "", diagnose_rules[finding->rule].id,
                            finding->what);
    }
    if (found == 0 && seen) source = measured_at(of, seen->file, seen->line);
    if (found == 0 && !seen)
        validate_skip(of, subject, "%s", lacking);
    else
        JUDGE(of, .subject = subject, .criterion = criterion, .value = found, .why = why, .source = source);
}

static void measured_sustained(struct validate_case *of)
{
    measured_rules(of, "links between switches that are uneven, or too few for the load", "D05 D07",
                   CRITERION_DIAGNOSIS, NULL,
                   "counters do not say what was asked of the fabric: ib_write_bw between all hosts at once, each "
                   "output in its host's folder, would");
}

static void measured_bursts(struct validate_case *of)
{
    const struct diagnose *diagnose = &of->plan->measured->diagnose;
    const struct evidence_value *seen = MEASURED_ANY(of, false, EVIDENCE_MARKED);
    bool marks = false, pauses = false;

    for (uint32_t i = 0; i < diagnose->evidence->values; i++) {
        const struct evidence_value *value = &diagnose->evidence->value[i];
        marks |= value->counter == EVIDENCE_MARKED && value->grown;
        pauses |=
            value->grown && (value->counter == EVIDENCE_TX_PAUSE_FRAMES || value->counter == EVIDENCE_TX_PAUSE_NS ||
                             value->counter == EVIDENCE_PORT_TX_PAUSE_FRAMES);
    }
    measured_rules(of, "switches that pause and mark nothing", "D09", CRITERION_DIAGNOSIS,
                   marks || pauses ? seen : NULL,
                   seen ? "nothing was marked and nothing paused: two dumps around a load would answer it"
                        : "no output counts marks: show queue wredcounters, show qos interfaces ecn counters queue, "
                          "nv show interface X qos roce counters");
}

static void measured_mixed(struct validate_case *of)
{
    measured_rules(
        of, "hops that carry RDMA outside its class", "D15", CRITERION_DIAGNOSIS,
        MEASURED_ANY(of, true, EVIDENCE_TX_BYTES, EVIDENCE_TX_PACKETS),
        "no two looks at the counters of queues: show queue counters, show interfaces counters queue detail, "
        "show queuing interface");
    measured_rules(of, "CNPs that are not sent, lost or ignored", "D10 D11", CRITERION_DIAGNOSIS,
                   MEASURED_ANY(of, false, EVIDENCE_CNP_SENT) ? MEASURED_ANY(of, false, EVIDENCE_CNP_HANDLED) : NULL,
                   "no output counts CNPs: rdma statistic show, or hw_counters of sysfs");
}

static void measured_passing(struct validate_case *of)
{
    measured_rules(of, "paths that were lost: timers that ran out, links that went down", "D14 D19",
                   CRITERION_DIAGNOSIS, NULL,
                   "nothing failed in these outputs: dumps before and after a link is pulled would answer it");
}

/* Share of packets sent again; where adapters do not count them, what the rules say of order. */
static void judge_again(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const char *source = "", *subject = "packets sent again, the worst adapter";
    double worst = -1;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!evidence_is_host(evidence, device)) continue;
        EVIDENCE_EACH_PORT(evidence, device, port)
        {
            const struct evidence_value *again =
                evidence_find(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_RETRANSMITTED);
            uint64_t sent = evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_TX_DATA_PACKETS);
            if (!sent) sent = evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_PACKETS);
            if (!again || !sent || (double)again->grown / (double)sent <= worst) continue;
            worst = (double)again->grown / (double)sent;
            subject = case_text(of, "packets sent again, the worst adapter, %.100s", evidence->object[port].name);
            source = measured_at(of, again->file, again->line);
        }
    }
    if (worst < 0)
        measured_rules(of, "packets sent again though none was lost", "D12", CRITERION_DIAGNOSIS,
                       MEASURED_ANY(of, true, EVIDENCE_SEQUENCE_NAKS),
                       "no two looks at the adapters' counters: rdma statistic show, ethtool -S");
    else
        JUDGE(of, .subject = subject, .criterion = CRITERION_BER_AGAIN, .unit = VALIDATE_RATIO, .value = worst,
              .why = "packets are lost, or taken for lost", .source = source);
}

static void measured_bad(struct validate_case *of)
{
    const struct evidence_value *pauses =
        MEASURED_ANY(of, true, EVIDENCE_RX_PAUSE_NS, EVIDENCE_RX_PAUSE_FRAMES, EVIDENCE_PORT_RX_PAUSE_FRAMES);

    measured_rules(of, "adapters that pause the fabric", "D02 D03", CRITERION_DIAGNOSIS, pauses,
                   "no two looks at pauses: show pfc counters, show interface priority-flow-control, ethtool -S");
    measured_rules(of, "cables and optics with errors, links that flap", "D13 D19", CRITERION_DIAGNOSIS,
                   MEASURED_ANY(of, false, EVIDENCE_CRC_ERRORS, EVIDENCE_FEC_UNCORRECTED),
                   "no output counts errors of lines: show interfaces counters errors, fec-stats, ethtool -S");
    judge_again(of);
}

/* Who pauses at two looks may stand still since the first, or have paused for a moment: a third look tells. */
static void measured_circles(struct validate_case *of)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const struct evidence_value *seen =
        MEASURED_ANY(of, true, EVIDENCE_RX_PAUSE_NS, EVIDENCE_RX_PAUSE_FRAMES, EVIDENCE_PORT_RX_PAUSE_FRAMES);
    bool paused = false;

    for (uint32_t i = 0; i < evidence->values && evidence->looks < 3; i++)
        paused |= evidence->value[i].grown && (evidence->value[i].counter == EVIDENCE_RX_PAUSE_FRAMES ||
                                               evidence->value[i].counter == EVIDENCE_PORT_RX_PAUSE_FRAMES);
    measured_rules(of, "circles of queues that wait for each other", "D01", CRITERION_DEADLOCKS, paused ? NULL : seen,
                   paused
                       ? "ports were paused, and two looks do not say whether to the end: a third look would"
                       : "no two looks at pauses of switches: show pfc counters, show interface priority-flow-control, "
                         "show priority-flow-control counters");
}

static void measured_diagnosis(struct validate_case *of)
{
    measured_rules(of, "warnings of rocelab diagnose about all outputs", NULL, CRITERION_DIAGNOSIS,
                   &of->plan->measured->evidence.value[0], "");
}

/* What operators watch, by a counter that shows it. */
static void measured_metrics(struct validate_case *of)
{
    static const struct {
        const char *what;
        uint8_t either, other; /* enum evidence_counter */
    } watched[] = {{"PFC events", EVIDENCE_RX_PAUSE_FRAMES, EVIDENCE_PORT_RX_PAUSE_FRAMES},
                   {"time paused", EVIDENCE_RX_PAUSE_NS, EVIDENCE_TX_PAUSE_NS},
                   {"packets marked", EVIDENCE_MARKED, EVIDENCE_NP_MARKED},
                   {"CNPs sent", EVIDENCE_CNP_SENT, EVIDENCE_CNP_SENT},
                   {"CNPs handled", EVIDENCE_CNP_HANDLED, EVIDENCE_CNP_HANDLED},
                   {"drops by queue", EVIDENCE_QUEUE_DROPS, EVIDENCE_GROUP_DROPS},
                   {"buffer occupancy", EVIDENCE_QUEUE_PEAK, EVIDENCE_QUEUE_BYTES},
                   {"retransmissions", EVIDENCE_RETRANSMITTED, EVIDENCE_SEQUENCE_NAKS},
                   {"bytes of links", EVIDENCE_PORT_TX_BYTES, EVIDENCE_TX_BYTES},
                   {"CRC errors", EVIDENCE_CRC_ERRORS, EVIDENCE_FEC_UNCORRECTED},
                   {"flaps", EVIDENCE_LINK_DOWN, EVIDENCE_LINK_DOWN},
                   {"optics", EVIDENCE_TEMPERATURE, EVIDENCE_PRE_FEC_BER},
                   {"NCCL throughput", EVIDENCE_BUSBW, EVIDENCE_BUSBW},
                   {"wait in collectives", EVIDENCE_RANK_WAIT_NS, EVIDENCE_RANK_COLLECTIVE_NS},
                   {"step time", EVIDENCE_STEP_NS, EVIDENCE_STEP_NS}};
    static const char subject[] = "things that operators watch and no output has";
    const char *lacking = "";

    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        if (!MEASURED_ANY(of, false, watched[i].either, watched[i].other))
            lacking = case_text(of, "%s%s%s", lacking, lacking[0] ? ", " : "", watched[i].what);
    if (lacking[0])
        validate_skip(of, subject, "%s: of these nothing can be said here", lacking);
    else
        JUDGE(of, .subject = subject, .criterion = CRITERION_METRICS, .value = 0);
}

static const struct {
    void (*run)(struct validate_case *of); /* NULL: `lacking` says what would answer it */
    const char *lacking;
} answers[VALIDATE_TESTS] = {
    [VALIDATE_TEST_INPUTS] = {.run = measured_inputs},
    [VALIDATE_TEST_REPRODUCIBLE] = {.run = measured_spread},
    [VALIDATE_TEST_DEADLOCK] = {.run = test_deadlock},
    [VALIDATE_TEST_POINT_TO_POINT] = {.run = measured_points},
    [VALIDATE_TEST_IDLE_COUNTERS] = {.run = measured_idle},
    [VALIDATE_TEST_RAILS] = {.lacking = "whether outputs of ib_write_bw ran at once is not in them: give them one by "
                                        "one (point to point), or nccl-tests' alltoall (collectives)"},
    [VALIDATE_TEST_SUSTAINED] = {.run = measured_sustained},
    [VALIDATE_TEST_INCAST] = {.run = measured_load},
    [VALIDATE_TEST_ECN] = {.lacking = "no counter says how long the queue was when a packet was marked"},
    [VALIDATE_TEST_CONVERGENCE] = {.lacking = "no counter says the rate of a flow over time"},
    [VALIDATE_TEST_MICROBURSTS] = {.run = measured_bursts},
    [VALIDATE_TEST_MIXED] = {.run = measured_mixed},
    [VALIDATE_TEST_VICTIM] = {.lacking =
                                  "ib_write_bw of one pair alone and beside an incast would answer it; which was "
                                  "which is not in the outputs"},
    [VALIDATE_TEST_COLLECTIVES] = {.run = measured_collectives},
    [VALIDATE_TEST_TRAINING] = {.run = measured_training},
    [VALIDATE_TEST_TENANTS] = {.lacking = "nccl-tests of two sets of hosts, alone and side by side, would answer it; "
                                          "which was which is not in the outputs"},
    [VALIDATE_TEST_PASSING] = {.run = measured_passing},
    [VALIDATE_TEST_BAD_HOST] = {.run = measured_bad},
    [VALIDATE_TEST_CIRCLES] = {.run = measured_circles},
    [VALIDATE_TEST_DIAGNOSIS] = {.run = measured_diagnosis},
    [VALIDATE_TEST_ALERTS] = {.lacking = "which alerts fired your Prometheus says: ALERTS{alertstate=\"firing\"}"},
    [VALIDATE_TEST_METRICS] = {.run = measured_metrics},
    [VALIDATE_TEST_OWNERSHIP] = {.run = test_ownership},
    [VALIDATE_TEST_SOAK] = {.lacking = "dumps of a day and more say it as the rows above do: give all looks at once"},
};

void measured_run(struct validate_case *of, uint32_t test)
{
    if (answers[test].run)
        answers[test].run(of);
    else if (answers[test].lacking)
        validate_skip(of, "", "%s", answers[test].lacking);
    else if (validate_tests[test].least == VALIDATE_LIVE)
        validate_skip(of, "", "of this machine: --live runs it");
    else
        validate_skip(of, "", "nothing in outputs says what failed and when: the simulated plan has it");
}

/* Whether a device of the fabric, or a job, was looked at; else `why` names one that is none of its. */
static bool is_of(const struct evidence *evidence, const struct fabric *fabric, char *why, size_t size)
{
    uint32_t known = 0, unknown = 0;
    const char *stranger = NULL;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        const struct evidence_object *of = &evidence->object[device];
        if (!of->looked_at) continue;
        known += of->fabric != EVIDENCE_NONE;
        if (of->fabric == EVIDENCE_NONE && !unknown++) stranger = of->name;
    }
    if (known || !stranger) return true;
    snprintf(why, size,
             "it is of another fabric: no device in it is in the fabric file (%.64s and %u more; the file has %.64s)",
             stranger, unknown - 1, fabric->node[fabric->hosts < fabric->nodes ? fabric->hosts : 0].name);
    return false;
}

static bool read_all(struct evidence *evidence, const char *path, char *why, size_t size)
{
    if (!evidence_read(evidence, path, NULL, why, size)) return false;
    if (evidence->unread) {
        snprintf(why, size, "%s", evidence->first_unread);
        return false;
    }
    if (evidence->broken) {
        snprintf(why, size, "line %u: broken JSON: %s", evidence->broken_line, evidence->broken);
        return false;
    }
    if (evidence->values == 0 && evidence->versions == 0) {
        snprintf(why, size, "no output in it is known; 'rocelab diagnose --list' lists what is");
        return false;
    }
    return true;
}

bool measured_open(struct measured *measured, const char *path, const struct fabric *fabric,
                   const struct diagnose_baseline *baseline, char *why, size_t size)
{
    *measured = (struct measured){.path = path};
    evidence_init(&measured->evidence);
    bool good = read_all(&measured->evidence, path, why, size);
    if (good) {
        evidence_finish(&measured->evidence, fabric);
        good = is_of(&measured->evidence, fabric, why, size);
    }
    if (good && measured->evidence.full) {
        snprintf(why, size, "it is more than fits into memory");
        good = false;
    }
    if (!good) {
        evidence_release(&measured->evidence);
        return false;
    }
    diagnose_run(&measured->diagnose, &measured->evidence, baseline);
    walk_run(&measured->walk, &measured->evidence);
    return true;
}

void measured_release(struct measured *measured)
{
    walk_release(&measured->walk);
    diagnose_release(&measured->diagnose);
    evidence_release(&measured->evidence);
}
