/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A diagnosis as JSON: src/cli/fields/judgements.def.  Objects are named as everywhere: "leaf0:3".
 */
#include "report/diagnosis/diagnosis.h"

#include <math.h>
#include <string.h>

#include "fabric/handle.h"
#include "report/rows/rows.h"

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
    jout_known(jout, "priority", priority, priority != EVIDENCE_NO_PRIORITY);
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
    jout_known(jout, key, index, index != EVIDENCE_NONE);
}

static void json_evidence(struct jout *jout, const struct evidence *evidence, const struct diagnose_evidence *row)
{
    const struct evidence_event *event = row->event ? &evidence->event[row->event - 1] : NULL;

    jout_open_line(jout, NULL, '{');
#include "report/rows/diagnose_evidence.def"
    jout_close(jout);
}

static void json_finding(struct jout *jout, const struct evidence *evidence, const struct diagnose_finding *finding)
{
    const struct diagnose_rule *rule = &diagnose_rules[finding->rule];
    char page[64];

    snprintf(page, sizeof page, "docs/runbooks/%s.md", rule->runbook);
    jout_open(jout, NULL, '{');
#include "report/rows/diagnose_finding.def"
    jout_close(jout);
}

static void json_standing(struct jout *jout, const struct evidence *evidence, const struct diagnose_standing *standing)
{
    const struct evidence_value *value = standing->value;
    const struct evidence_event *event = standing->event;
    uint32_t object = event ? event->object : value->object;

    jout_open_line(jout, NULL, '{');
#include "report/rows/diagnose_standing.def"
    jout_close(jout);
}

static void json_event(struct jout *jout, const struct evidence *evidence, const struct evidence_event *event)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/diagnose_event.def"
    jout_close(jout);
}

static void json_ask(struct jout *jout, const struct diagnose_ask *ask)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/diagnose_ask.def"
    jout_close(jout);
}

/* Sentences: of what rules lack, then of what would decide. */
static void json_missing(struct jout *jout, const struct diagnose *diagnose)
{
    char text[1024];

    jout_open(jout, "missing", '[');
    if (diagnose->answer == DIAGNOSE_NOT_ENOUGH) jout_text(jout, NULL, diagnose->because);
    for (uint32_t i = 0; i < diagnose->missings; i++)
        jout_text(jout, NULL, diagnose->missing[i]);
    for (uint32_t i = 0; i < diagnose->asks; i++) {
        const struct diagnose_ask *ask = &diagnose->ask[i];
        snprintf(text, sizeof text, "%s%s: %s%s%s", ask->device ? "of " : "",
                 ask->device ? ask->device : "where the job runs", ask->command ? ask->command : "",
                 ask->command ? ": " : "", ask->why);
        jout_text(jout, NULL, text);
    }
    jout_close(jout);
}

static void json_training(struct jout *jout, const struct evidence *evidence, const struct diagnose_training *training)
{
    static const char *const word[] = {"unknown", "no", "yes"};

    jout_open_line(jout, NULL, '{');
#include "report/rows/diagnose_training.def"
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
#include "report/rows/diagnose_device.def"
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

void diagnose_json_unknowns(struct jout *jout, const struct evidence *evidence)
{
    jout_open(jout, "not_understood", '[');
    for (uint32_t i = 0; i < evidence->unknowns; i++) {
        const struct evidence_unknown *unknown = &evidence->unknown[i];
        jout_open_line(jout, NULL, '{');
        json_place(jout, evidence, unknown->file, unknown->line);
        jout_u64(jout, "lines", unknown->lines);
        jout_text(jout, "text", unknown->text);
        jout_text(jout, "reader", unknown->reader);
        jout_close(jout);
    }
    jout_close(jout);
    jout_u64(jout, "not_understood_left_out", evidence->unknowns_left_out);
}

static void json_seen(struct jout *jout, const struct evidence *evidence)
{
    struct diagnose_seen seen = diagnose_seen(evidence);

    jout_open_line(jout, "looked_at", '{');
#include "report/rows/diagnose_seen.def"
    jout_close(jout);
}

void diagnose_json(FILE *out, const struct diagnose_report *report, const char *run)
{
    struct jout *jout = jout_begin(out, "diagnose");
    const struct diagnose *diagnose = report->diagnose;
    const struct evidence *evidence = diagnose->evidence;

#include "report/rows/diagnose.def"
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
#include "report/rows/diagnose_rule.def"
        jout_close(jout);
    }
    jout_close(jout);
    for (uint32_t i = 0; i < diagnose_ask_row_count && only == DIAGNOSE_RULES; i++) {
        if (!i) jout_open(jout, "asks", '[');
        const struct diagnose_ask_row *row = &diagnose_ask_rows[i];
        jout_open_line(jout, NULL, '{');
#include "report/rows/diagnose_ask_row.def"
        jout_close(jout);
        if (i + 1 == diagnose_ask_row_count) jout_close(jout);
    }
    jout_open(jout, "limits", '[');
    for (uint32_t i = 0; i < diagnose_limit_count; i++) {
        if (only != DIAGNOSE_RULES && !strstr(diagnose_limits[i].rules, diagnose_rules[only].id)) continue;
        jout_open_line(jout, NULL, '{');
#include "report/rows/diagnose_limit.def"
        jout_close(jout);
    }
    jout_close(jout);
}
