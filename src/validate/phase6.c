/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 6, operational: a cause that is planted is found by `diagnose`, what operators watch is exported, and somebody
 * owns every threshold.
 */
#include <string.h>

#include "diagnose/baseline.h"
#include "evidence/evidence.h"
#include "fabric/fabric.h"
#include "fabric/owners.h"
#include "report/diagnosis/run_evidence.h"
#include "report/metrics_list.h"
#include "validate/measured/measured.h"
#include "validate/plants/plants.h"

#define LONGEST_PS (10 * PS_S)

/* --- diagnosis --- */

/* Named exactly: the port that was planted; the device, or a port of it. */
static bool is_named(const struct evidence *evidence, uint32_t object, const struct plant_cause *cause)
{
    const char *name = object == EVIDENCE_NONE ? "" : evidence->object[object].name;

    for (unsigned i = 0; i < PLANT_CULPRITS && cause->culprit[i][0]; i++) {
        size_t length = strlen(cause->culprit[i]);
        if (strncmp(name, cause->culprit[i], length) == 0 && (name[length] == '\0' || name[length] == ':')) return true;
    }
    return false;
}

static bool is_culprit(const struct evidence *evidence, uint32_t object, const struct plant_cause *cause)
{
    if (object == EVIDENCE_NONE) return false;
    if (cause->any_switch) return !evidence_is_host(evidence, evidence_device_of(evidence, object));
    return is_named(evidence, object, cause) ||
           (cause->both_ends && is_named(evidence, evidence->object[object].peer, cause));
}

/* The finding that says it; as many as there are: none does. */
static uint32_t find_cause(const struct diagnose *diagnose, const struct planted *plant,
                           const struct plant_cause *cause)
{
    uint32_t i = 0;

    for (; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
        if (strstr(cause->rules, rule->id) && is_culprit(diagnose->evidence, finding->culprit, cause) &&
            (finding->severity > DIAGNOSE_INFO) != plant->chance)
            break;
    }
    return i;
}

/* What the fabric makes of the traffic by its congestion control or by its plan (fewer links up than down): something
 * for `tune`, or for who planned it, and nobody planted it. */
static bool is_tuning(const struct diagnose_finding *finding)
{
    return finding->rule == DIAGNOSE_D22 || finding->rule == DIAGNOSE_D07;
}

/* Nothing is named before the cause but what the traffic is by itself. */
static bool is_first(const struct diagnose *diagnose, const struct planted *plant, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (!is_tuning(&diagnose->finding[i]) &&
            (!plant->beside || !strstr(plant->beside, diagnose_rules[diagnose->finding[i].rule].id)))
            return false;
    return diagnose->finding[at].consequence_of == EVIDENCE_NONE;
}

/* Causes that are not found, or not in their order; warnings about what is good.  A fabric that is not clean has a
 * cause of its own, which may be named first. */
static uint32_t count_wrong(const struct diagnose *diagnose, const struct planted *plant, bool clean)
{
    uint32_t wrong = plant->acquits && !diagnose->acquitted, last = 0;

    for (uint32_t i = 0; i < diagnose->findings && (plant->good || plant->chance || plant->acquits); i++)
        wrong += diagnose->finding[i].severity > DIAGNOSE_INFO && !is_tuning(&diagnose->finding[i]) &&
                 !(plant->acquits && diagnose->finding[i].rule == DIAGNOSE_D17);
    for (unsigned c = 0; c < PLANT_CAUSES && plant->cause[c].rules && !plant->good; c++) {
        uint32_t at = find_cause(diagnose, plant, &plant->cause[c]);
        wrong += at == diagnose->findings || at < last || (c == 0 && clean && !is_first(diagnose, plant, at));
        last = at;
    }
    return wrong;
}

/* Answers what is wrong. */
static uint32_t judge_findings(struct validate_case *of, const struct planted *plant, const struct diagnose *diagnose,
                               bool clean)
{
    const struct diagnose_finding *first = diagnose->findings ? &diagnose->finding[0] : NULL;
    const char *subject, *why = "nothing was found";
    uint32_t wrong = count_wrong(diagnose, plant, clean);

    if (plant->good)
        subject = case_text(of, "%s: warnings about a good run", plant->name);
    else
        subject = case_text(of, "%s, at %.100s: missing or wrong findings%s", plant->name,
                            plant->cause[0].any_switch ? "a switch" : plant->cause[0].culprit[0],
                            plant->acquits ? " (the network is not the cause)" : "");
    if (first)
        why = case_text(of, "%s, %.60s: %.200s", diagnose_rules[first->rule].id,
                        first->culprit == EVIDENCE_NONE ? "" : diagnose->evidence->object[first->culprit].name,
                        first->what);
    JUDGE(of, .subject = subject, .criterion = CRITERION_DIAGNOSIS, .value = wrong, .why = why);
    return wrong;
}

static uint32_t diagnose_variant(struct validate_case *of, const struct planted *plant, struct variant *variant,
                                 bool clean)
{
    const struct sim_report report = {.fabric = variant->fabric, .result = &variant->result};
    struct diagnose diagnose = {0};
    struct evidence evidence;
    uint32_t wrong = 1;

    evidence_init(&evidence);
    if (sim_imbalance(variant->sim, &variant->result) == 0 && run_evidence(&evidence, &report)) {
        evidence_finish(&evidence, variant->fabric);
        diagnose_run(&diagnose, &evidence, NULL);
        wrong = judge_findings(of, plant, &diagnose, clean);
        diagnose_release(&diagnose);
    } else {
        validate_tell(of, VALIDATE_FAIL, plant->name, "it can be diagnosed", "not enough memory");
    }
    evidence_release(&evidence);
    return wrong;
}

/* --- runbooks --- */

extern const char runbook_index[]; /* docs/runbooks/README.md: every page, as the program was built with them */
extern const char alert_rules[];

/* `[RB02: Pause storm or deadlock](RB02.md)` */
static bool has_page(const char *runbook)
{
    char link[16];

    snprintf(link, sizeof link, "](%.8s.md)", runbook);
    return strstr(runbook_index, link) != NULL;
}

/* Whatever is found or fires leads to a page. */
static void judge_runbooks(struct validate_case *of)
{
    static const char alert[] = "- alert: ", page[] = "runbook: \"docs/runbooks/";
    char runbook[8];
    const char *why = "";
    uint32_t missing = 0, alerts = 0;

    for (uint32_t i = 0; i < DIAGNOSE_RULES; i++)
        if (!has_page(diagnose_rules[i].runbook) && missing++ == 0)
            why = case_text(of, "%s: no page for %s", diagnose_rules[i].id, diagnose_rules[i].runbook);
    for (const char *at = alert_rules; (at = strstr(at, alert)); alerts++) {
        at += strlen(alert);
        const char *next = strstr(at, alert), *its = strstr(at, page);
        bool names = its && (!next || its < next);
        snprintf(runbook, sizeof runbook, "%.4s", names ? its + strlen(page) : "");
        if (!(names && has_page(runbook)) && missing++ == 0)
            why = case_text(of, "%.*s: no page for %s", (int)strcspn(at, "\n"), at, runbook);
    }
    const char *subject =
        case_text(of, "runbooks: of %u rules and %u alerts, those without a page", (unsigned)DIAGNOSE_RULES, alerts);
    JUDGE(of, .subject = subject, .criterion = CRITERION_DIAGNOSIS, .value = missing, .why = why);
}

void test_diagnosis(struct validate_case *of)
{
    struct failures failures;
    struct variant variant;
    bool clean = of->fabric->faults == 0;
    const char *why;
    uint32_t count;

    judge_runbooks(of);
    if (!plants_traffic(of, &failures)) return;
    struct planted *plant = plants_choose(of, &failures, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!plant[i].cause[0].rules) continue;
        if (plant[i].lacks || (plant[i].needs_clean && !clean)) {
            validate_skip(of, plant[i].name, "%s",
                          plant[i].lacks ? plant[i].lacks : "this fabric has a cause of its own, which would hide it");
            continue;
        }
        if (!plant_open(of, &failures, &plant[i], &variant)) continue;
        if (!variant_run(of, plant[i].name, &variant, plant[i].until)) continue;
        if (!plant_works(&plant[i], &variant, &why))
            validate_skip(of, plant[i].name, "%s", why);
        else if (diagnose_variant(of, &plant[i], &variant, clean) && i == 0 && plant[i].good)
            clean = false;
        variant_close(&variant);
    }
}

/* --- metrics, owners --- */

/* What operators watch, and the name it is exported by. */
static const struct {
    const char *what, *metric;
} watched[] = {
    {"PFC events", "rocelab_switch_tx_xoff_total"},
    {"time paused", "rocelab_switch_rx_pause_seconds_total"},
    {"packets marked", "rocelab_switch_ecn_marked_total"},
    {"CNPs sent", "rdma_np_cnp_sent_total"},
    {"CNPs handled", "rdma_rp_cnp_handled_total"},
    {"drops by queue", "rocelab_switch_drops_total"},
    {"buffer occupancy", "rocelab_switch_queue_bytes"},
    {"queue latency", "rocelab_switch_queue_delay_seconds"},
    {"retransmissions", "rdma_retransmitted_packets_total"},
    {"rail utilisation", "rocelab_link_busy_seconds_total"},
    {"ECMP distribution", "rocelab_tier_uneven_ratio"},
    {"CRC errors", "rocelab_link_crc_errors_total"},
    {"flaps", "rocelab_link_down_total"},
    {"optics", "rocelab_optic_temperature_celsius"},
    {"NCCL throughput", "rocelab_job_bus_bytes_per_second"},
    {"GPU utilisation", "rocelab_gpu_step_compute_seconds"},
    {"wait in collectives", "rocelab_gpu_step_wait_seconds"},
    {"step time", "rocelab_training_step_seconds"},
};
#define WATCHED (sizeof watched / sizeof watched[0])

void test_metrics(struct validate_case *of)
{
    const char *why = "";
    uint32_t missing = 0;

    metrics_list_text(case_open(of));
    const char *text = case_close(of);
    for (size_t i = 0; i < WATCHED; i++)
        if (!strstr(text, watched[i].metric) && missing++ == 0)
            why = case_text(of, "%s: no %s", watched[i].what, watched[i].metric);
    const char *subject = case_text(of, "of %zu things that operators watch, those that are not exported", WATCHED);
    JUDGE(of, .subject = subject, .criterion = CRITERION_METRICS, .value = missing, .why = why);
}

static void judge_signature(struct validate_case *of)
{
    static const char subject[] = "baseline signed",
                      formula[] =
                          "by the owner of `baseline`; where that is nobody's, by any owner or member of a team";
    const struct diagnose_baseline *baseline = of->plan->baseline;

    if (of->plan->signer) /* who may: the command was refused else */
        validate_tell(of, VALIDATE_PASS, subject, formula, "%s signs that of this run", of->plan->signer);
    else if (!baseline)
        validate_skip(of, subject, "no baseline was named: --baseline FILE, or --write-baseline FILE --by NAME");
    else if (!baseline->by)
        validate_tell(of, VALIDATE_FAIL, subject, formula, "nobody signed it: --write-baseline FILE --by NAME");
    else if (!fabric_may_sign(of->fabric, baseline->by))
        validate_tell(of, VALIDATE_FAIL, subject, formula, "%s signed it, who may not", baseline->by);
    else
        validate_tell(of, VALIDATE_PASS, subject, formula, "%s signed it", baseline->by);
}

void test_ownership(struct validate_case *of)
{
    const char *why = "";
    uint32_t missing = 0;

    for (int i = 0; fabric_owned[i]; i++) {
        const char *owner = fabric_owner(of->fabric, fabric_owned[i]);
        if (owner && owner[0]) continue;
        why = case_text(of, "%s%s%s", why, missing++ ? ", " : "nobody owns ", fabric_owned[i]);
    }
    JUDGE(of, .subject = "settings that nobody owns", .criterion = CRITERION_UNOWNED, .value = missing, .why = why);
    judge_signature(of);
    if (of->plan->measured)
        measured_versions(of);
    else
        versions_judge(of);
}
