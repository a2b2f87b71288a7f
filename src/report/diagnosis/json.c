/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A diagnosis as JSON: src/cli/fields/judgements.def.  Objects are named as everywhere: "leaf0:3".
 */
#include "report/diagnosis/diagnosis.h"

#include <math.h>
#include <string.h>

#include "fabric/handle.h"

static const char *name_of(const struct evidence *evidence, uint32_t object)
{
    return object == EVIDENCE_NONE ? NULL : evidence->object[object].name;
}

static void json_names(struct jout *jout, const char *key, const struct evidence *evidence, const uint32_t *object,
                       uint32_t count)
{
    jout_open_line(jout, key, '[');
    for (uint32_t i = 0; i < count; i++)
        jout_text(jout, NULL, name_of(evidence, object[i]));
    jout_close(jout);
}

static void json_priority(struct jout *jout, uint8_t priority)
{
    if (priority == EVIDENCE_NO_PRIORITY)
        jout_null(jout, "priority");
    else
        jout_u64(jout, "priority", priority);
}

static void json_place(struct jout *jout, const struct evidence *evidence, uint32_t file, uint32_t line)
{
    jout_text(jout, "file", file == EVIDENCE_NONE ? NULL : evidence->file[file]);
    if (file == EVIDENCE_NONE || !line)
        jout_null(jout, "line");
    else
        jout_u64(jout, "line", line);
}

static void json_index(struct jout *jout, const char *key, uint32_t index)
{
    if (index == EVIDENCE_NONE)
        jout_null(jout, key);
    else
        jout_u64(jout, key, index);
}

static void json_evidence(struct jout *jout, const struct evidence *evidence, const struct diagnose_evidence *row)
{
    jout_open_line(jout, NULL, '{');
    jout_text(jout, "object", name_of(evidence, row->object));
    json_priority(jout, row->priority);
    jout_text(jout, "counter", row->counter);
    jout_real(jout, "value", row->value);
    jout_text(jout, "unit", row->unit);
    jout_real(jout, "threshold", row->threshold);
    json_place(jout, evidence, row->file, row->line);
    jout_close(jout);
}

static void json_finding(struct jout *jout, const struct evidence *evidence, const struct diagnose_finding *finding)
{
    const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
    char page[64];

    jout_open(jout, NULL, '{');
    jout_text(jout, "rule", rule->id);
    jout_text(jout, "severity", diagnose_severity_names[finding->severity]);
    jout_text(jout, "cause", rule->cause);
    jout_text(jout, "culprit", name_of(evidence, finding->culprit));
    json_priority(jout, finding->priority);
    jout_text(jout, "what", finding->what);
    json_names(jout, "victims", evidence, finding->victim, finding->victims);
    json_names(jout, "also", evidence, finding->also, finding->alsos);
    jout_open(jout, "evidence", '[');
    for (uint32_t i = 0; i < finding->evidences; i++)
        json_evidence(jout, evidence, &finding->evidence[i]);
    jout_close(jout);
    jout_text(jout, "confidence", diagnose_confidence_names[finding->confidence]);
    jout_text(jout, "owner", rule->owner);
    jout_text(jout, "runbook", rule->runbook);
    jout_text(jout, "runbook_title", diagnose_runbook_title(rule->runbook));
    snprintf(page, sizeof page, "docs/runbooks/%s.md", rule->runbook);
    jout_text(jout, "runbook_page", page);
    jout_text(jout, "why", rule->why);
    jout_text(jout, "fix", rule->fix);
    json_index(jout, "consequence_of", finding->consequence_of);
    jout_close(jout);
}

static void json_training(struct jout *jout, const struct evidence *evidence, const struct diagnose_training *training)
{
    static const char *const word[] = {"unknown", "no", "yes"};

    jout_open_line(jout, NULL, '{');
    jout_text(jout, "job", name_of(evidence, training->job));
    jout_text(jout, "verdict", training->verdict);
    jout_text(jout, "slow", word[training->slow]);
    jout_text(jout, "exposed", word[training->exposed]);
    jout_text(jout, "not_straggler", word[training->not_straggler]);
    jout_text(jout, "network", word[training->network]);
    json_index(jout, "finding", training->finding);
    jout_real(jout, "step_ns", training->step_ns);
    jout_real(jout, "base_ns", training->base_known ? training->base_ns : NAN);
    jout_bool(jout, "base_is_ideal", training->base_is_ideal);
    jout_real(jout, "added_exposed_share", training->added_exposed_share);
    jout_real(jout, "skew_share", training->skew_share);
    jout_real(jout, "gpus", training->gpus);
    jout_real(jout, "gpu_hours_per_hour", training->gpu_hours_per_hour);
    jout_close(jout);
}

static const char *const role_name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

static void json_devices(struct jout *jout, const struct evidence *evidence)
{
    jout_open(jout, "devices", '[');
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        const struct evidence_object *object = &evidence->object[device];
        uint32_t ports = 0;
        EVIDENCE_EACH_PORT(evidence, device, port) ports++;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "device", object->name);
        jout_text(jout, "role", object->role < FABRIC_ROLES ? role_name[object->role] : NULL);
        jout_text(jout, "system", object->system);
        jout_bool(jout, "looked_at", object->looked_at);
        jout_u64(jout, "ports", ports);
        jout_close(jout);
    }
    jout_close(jout);
}

void diagnose_json_remarks(struct jout *jout, const struct evidence *evidence)
{
    jout_open(jout, "remarks", '[');
    for (uint32_t i = 0; i < evidence->remarks; i++) {
        const struct evidence_remark *remark = &evidence->remark[i];
        jout_open_line(jout, NULL, '{');
        json_place(jout, evidence, remark->file, remark->line);
        jout_text(jout, "text", remark->text);
        jout_close(jout);
    }
    jout_close(jout);
    jout_u64(jout, "remarks_left_out", evidence->remarks_left_out);
}

static void json_missing(struct jout *jout, const struct diagnose *diagnose)
{
    jout_open(jout, "missing", '[');
    for (uint32_t i = 0; i < diagnose->missings; i++)
        jout_text(jout, NULL, diagnose->missing[i]);
    jout_close(jout);
    diagnose_json_remarks(jout, diagnose->evidence);
    jout_bool(jout, "whole", !diagnose->full && evidence_is_whole(diagnose->evidence));
}

static void json_seen(struct jout *jout, const struct evidence *evidence)
{
    struct diagnose_seen seen = diagnose_seen(evidence);

    jout_open_line(jout, "looked_at", '{');
    jout_u64(jout, "devices", seen.devices);
    jout_u64(jout, "hosts", seen.hosts);
    jout_u64(jout, "switches", seen.devices - seen.hosts);
    jout_u64(jout, "ports", seen.ports);
    jout_u64(jout, "jobs", seen.jobs);
    jout_u64(jout, "files", evidence->files);
    jout_u64(jout, "values", evidence->values);
    jout_u64(jout, "looks", evidence->looks);
    jout_real(jout, "seconds", seen.seconds);
    jout_bool(jout, "exact", evidence->exact);
    jout_bool(jout, "tied", evidence->tied);
    jout_close(jout);
}

void diagnose_json(FILE *out, const struct diagnose_report *report, const char *run)
{
    struct jout *jout = jout_begin(out, "diagnose");
    const struct diagnose *diagnose = report->diagnose;
    const struct evidence *evidence = diagnose->evidence;

    jout_open(jout, "inputs", '[');
    for (int i = 0; i < report->inputs; i++)
        jout_text(jout, NULL, report->input[i]);
    jout_close(jout);
    jout_text(jout, "fabric", evidence->fabric ? fabric_name(evidence->fabric) : NULL);
    jout_open(jout, "findings", '[');
    for (uint32_t i = 0; i < diagnose->findings; i++)
        json_finding(jout, evidence, &diagnose->finding[i]);
    jout_close(jout);
    jout_bool(jout, "acquitted", diagnose->acquitted);
    jout_open(jout, "training", '[');
    for (uint32_t i = 0; i < diagnose->trainings; i++)
        json_training(jout, evidence, &diagnose->training[i]);
    jout_close(jout);
    json_missing(jout, diagnose);
    json_seen(jout, evidence);
    json_devices(jout, evidence);
    if (run) jout_text(jout, "run", run);
    jout_end(jout);
}

void diagnose_json_rules(struct jout *jout, uint32_t only)
{
    jout_open(jout, "rules", '[');
    for (uint32_t i = 0; i < DIAGNOSE_RULES; i++) {
        const struct diagnose_rule *rule = &diagnose_rules[i];
        if (only != DIAGNOSE_RULES && i != only) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "rule", rule->id);
        jout_text(jout, "severity", diagnose_severity_names[rule->severity]);
        jout_text(jout, "cause", rule->cause);
        jout_text(jout, "owner", rule->owner);
        jout_text(jout, "runbook", rule->runbook);
        jout_text(jout, "why", rule->why);
        jout_text(jout, "fix", rule->fix);
        jout_close(jout);
    }
    jout_close(jout);
    jout_open(jout, "limits", '[');
    for (uint32_t i = 0; i < diagnose_limit_count; i++) {
        if (only != DIAGNOSE_RULES && !strstr(diagnose_limits[i].rules, diagnose_rules[only].id)) continue;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "name", diagnose_limits[i].name);
        jout_real(jout, "value", diagnose_limits[i].value);
        jout_text(jout, "rules", diagnose_limits[i].rules);
        jout_text(jout, "of", diagnose_limits[i].of);
        jout_close(jout);
    }
    jout_close(jout);
}
