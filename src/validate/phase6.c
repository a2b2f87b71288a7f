/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase 6, operational: a cause that is planted is found by `diagnose`, what operators watch is exported, and somebody
 * owns every threshold.
 */
#include <stdlib.h>
#include <string.h>

#include "diagnose/baseline.h"
#include "evidence/read/reader.h"
#include "fabric/owners.h"
#include "report/metrics_list.h"
#include "report/sim_report.h"
#include "validate/failures.h"
#include "validate/measured/measured.h"

#define LONGEST_PS (10 * PS_S)

/* --- diagnosis --- */

struct planted {
    const char *name, *rules; /* "D02 D03": any of them */
    char fault[256];
    uint32_t port; /* the culprit, or the other end of its cable; FABRIC_NONE: nothing is wrong */
    ps_t until;
};

/* The device of the port or of its peer. */
static bool is_culprit(const struct fabric *fabric, const struct evidence *evidence, uint32_t object, uint32_t port)
{
    uint32_t peer = fabric->port[port].peer, device = evidence_device_of(evidence, object);
    const char *name = device == EVIDENCE_NONE ? NULL : evidence->object[device].name;

    return name && (strcmp(name, fabric->node[fabric->port[port].node].name) == 0 ||
                    (peer != FABRIC_NONE && strcmp(name, fabric->node[fabric->port[peer].node].name) == 0));
}

static void judge_findings(struct validate_case *of, const struct planted *planted, const struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    char subject[VALIDATE_TEXT], why[VALIDATE_TEXT] = "nothing was found";
    uint32_t wrong = planted->port != FABRIC_NONE;

    snprintf(subject, sizeof subject, "%s: %s", planted->name,
             planted->port == FABRIC_NONE ? "warnings about a good run" : "the culprit is not found");
    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
        if (i == 0) snprintf(why, sizeof why, "%s: %.250s", rule->id, finding->what);
        if (planted->port == FABRIC_NONE)
            wrong += finding->severity > DIAGNOSE_INFO;
        else if (strstr(planted->rules, rule->id) && diagnose_runbook_title(rule->runbook) &&
                 is_culprit(of->fabric, evidence, finding->culprit, planted->port))
            wrong = 0;
    }
    validate_judge(of, &(struct validate_finding){
                           .subject = subject, .criterion = CRITERION_DIAGNOSIS, .value = wrong, .why = why});
}

static void diagnose_variant(struct validate_case *of, const struct planted *planted, struct variant *variant)
{
    const struct sim_report report = {.fabric = variant->fabric, .result = &variant->result};
    struct diagnose diagnose = {0};
    struct evidence evidence;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    bool written = to && sim_imbalance(variant->sim, &variant->result) == 0 && sim_json_write(to, &report);

    if (to && fclose(to) == 0 && written) {
        evidence_init(&evidence);
        evidence_read_text(&evidence, NULL, "run.json", 0, NULL, text, length);
        evidence_finish(&evidence, variant->fabric);
        diagnose_run(&diagnose, &evidence, NULL);
        judge_findings(of, planted, &diagnose);
        diagnose_release(&diagnose);
        evidence_release(&evidence);
    } else {
        validate_tell(of, VALIDATE_FAIL, planted->name, "it can be diagnosed", "not enough memory");
    }
    free(text);
}

static uint32_t plant(struct validate_case *of, const struct failures *failures, struct planted ret[4])
{
    const struct fabric *fabric = of->fabric;
    uint32_t host = fabric->endpoint[failures->rank[1]].port, count = 0;
    bool pauses = fabric->system == FABRIC_ROCEV2 && fabric->classes[choose_class(fabric)].lossless;
    unsigned long long at = failures->length / 4 / PS_NS;
    char name[FABRIC_NAME];

    if (fabric->faults == 0) /* else it is no good run */
        ret[count++] = (struct planted){.name = "no fault", .rules = "", .port = FABRIC_NONE, .until = LONGEST_PS};
    if (pauses) {
        ret[count] = (struct planted){
            .name = "NIC storm", .rules = "D02", .port = host, .until = 20 * failures->length + 10 * PS_MS};
        snprintf(ret[count++].fault, sizeof ret->fault, "pause %.90s priority %u at %lluns",
                 fabric_port_name(fabric, host, name), fabric->classes[choose_class(fabric)].priority, at);
        ret[count] = (struct planted){.name = "slow receiver", .rules = "D03", .port = host, .until = LONGEST_PS};
        snprintf(ret[count++].fault, sizeof ret->fault, "receive %.90s rate %lluM at %lluns",
                 fabric_port_name(fabric, host, name), (unsigned long long)(fabric->port[host].rate_bps / 4 / 1000000),
                 at);
    }
    ret[count] = (struct planted){.name = "cable with wrong bits", .rules = "D13", .port = host, .until = LONGEST_PS};
    snprintf(ret[count++].fault, sizeof ret->fault, "corrupt %.90s ber 1e-7", fabric_port_name(fabric, host, name));
    return count;
}

void test_diagnosis(struct validate_case *of)
{
    struct planted planted[4];
    struct failures failures;
    struct variant variant;

    if (!failures_choose(of, PS_MS, &failures)) return;
    char *jobs = failures_jobs(of, &failures, 0);
    uint32_t count = plant(of, &failures, planted);
    for (uint32_t i = 0; i < count; i++) {
        const char *fault[] = {planted[i].fault};
        if (!failures_run(of, planted[i].name, &failures, jobs, fault, 1, planted[i].until, &variant)) break;
        diagnose_variant(of, &planted[i], &variant);
        variant_close(&variant);
    }
    free(jobs);
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
    char *text = NULL, why[VALIDATE_TEXT] = "", subject[VALIDATE_TEXT];
    size_t length = 0;
    uint32_t missing = 0;
    FILE *to = open_memstream(&text, &length);

    if (to) metrics_list_text(to);
    if (!to || fclose(to) != 0) {
        validate_tell(of, VALIDATE_FAIL, "metrics", "they can be listed", "not enough memory");
        return;
    }
    for (size_t i = 0; i < WATCHED; i++)
        if (!strstr(text, watched[i].metric) && missing++ == 0)
            snprintf(why, sizeof why, "%s: no %s", watched[i].what, watched[i].metric);
    snprintf(subject, sizeof subject, "of %zu things that operators watch, those that are not exported", WATCHED);
    validate_judge(of, &(struct validate_finding){
                           .subject = subject, .criterion = CRITERION_METRICS, .value = missing, .why = why});
    validate_skip(of, "alerts",
                  "rules are Prometheus' to evaluate: monitoring/prometheus/rocelab.rules.yml with promtool "
                  "(docs/alerts.md)");
    free(text);
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
    char why[VALIDATE_TEXT] = "";
    uint32_t missing = 0;

    for (int i = 0; fabric_owned[i]; i++) {
        const char *owner = fabric_owner(of->fabric, fabric_owned[i]);
        if (owner && owner[0]) continue;
        size_t used = strlen(why);
        snprintf(why + used, sizeof why - used, "%s%s", missing++ ? ", " : "nobody owns ", fabric_owned[i]);
    }
    validate_judge(
        of, &(struct validate_finding){
                .subject = "settings that nobody owns", .criterion = CRITERION_UNOWNED, .value = missing, .why = why});
    judge_signature(of);
    if (of->plan->measured)
        measured_versions(of);
    else
        versions_judge(of);
}
