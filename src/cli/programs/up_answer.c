/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fabric that is up answers to `rocelab fault`, `rocelab counters --fabric` and `rocelab serve --fabric`; see
 * up_answer.h.
 */
#include "cli/programs/up_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/programs/serving.h"
#include "cli/programs/up_report.h"
#include "fabric/fabric.h"
#include "report/sim_report.h"
#include "sim/sim.h"
#include "up/up.h"

/* The rest of `words` behind `verb` and a space; NULL: another verb. */
static const char *after(const char *words, const char *verb)
{
    size_t length = strlen(verb);

    if (strncmp(words, verb, length) != 0 || (words[length] != ' ' && words[length] != 0)) return NULL;
    return words + length + strspn(words + length, " ");
}

static bool answer_fault(struct up_answer *self, const char *words, FILE *out)
{
    struct fabric_errors errors = {0};
    ps_t now = sim_progress(self->sim).now;
    int error = sim_fault(self->sim, self->fabric, words, &errors);

    for (uint32_t i = 0; i < errors.count; i++)
        fprintf(out, "%s\n", errors.error[i].text);
    if (error && errors.count == 0) fputs("not enough memory\n", out);
    if (error) return false;
    fprintf(out, "%" PRIu64 "\n", (uint64_t)now);
    fprintf(stderr, "at %" PRIu64 "ps: %s\n", (uint64_t)now, words);
    return true;
}

static void counters_json(const struct sim_report *report, const char *which, uint32_t *ret_shown, FILE *out)
{
    struct jout *jout = jout_begin(out, "fabric-counters");

    jout_text(jout, "fabric", report->fabric->name);
    jout_u64(jout, "now_ps", report->result->virtual_ps);
    *ret_shown = sim_counters_json(jout, report, which);
    jout_end(jout);
}

static bool answer_counters(struct up_answer *self, const char *words, FILE *out)
{
    const char *form[] = {after(words, "text"), after(words, "brief"), after(words, "json")};
    const char *which = form[0] ? form[0] : form[1] ? form[1] : form[2];
    struct sim_result result;
    uint32_t shown;
    char time[UNIT_TEXT];

    if (which == NULL || sim_result(self->sim, &result) < 0) return false;
    result.virtual_ps = sim_progress(self->sim).now;
    if (which[0] == 0) which = NULL;
    struct sim_report report = {.fabric = self->fabric, .result = &result, .seed = self->base.seed};
    if (form[2]) {
        counters_json(&report, which, &shown, out);
    } else {
        fprintf(out, "%s at %s of fabric time\n", self->fabric->name, unit_format(UNIT_TIME, result.virtual_ps, time));
        shown = sim_counters_text(out, &report, which, form[1] != NULL);
    }
    sim_result_free(&result);
    return shown > 0;
}

/* What counters --watch needs of each port, a line each. */
static bool answer_top(struct up_answer *self, const char *which, FILE *out)
{
    struct sim_result result;
    uint32_t shown = 0;

    if (sim_result(self->sim, &result) < 0) return false;
    fprintf(out, "%s\t%" PRIu64 "\n", self->fabric->name, (uint64_t)sim_progress(self->sim).now);
    for (uint32_t i = 0; i < result.ports; i++) {
        const struct sim_port *port = &result.port[i];
        struct sim_sample sample;
        char name[FABRIC_NAME];
        fabric_port_name(self->fabric, port->port, name);
        const char *node = self->fabric->node[self->fabric->port[port->port].node].name;
        if (which[0] && strcmp(which, name) != 0 && strcmp(which, node) != 0) continue;
        sim_sample_port(self->sim, port->port, &sample);
        fprintf(out, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", name, port->line_bytes,
                (uint64_t)port->paused_ps, port->ecn_marked, port->drops + port->lost, sample.queue_bytes);
        shown++;
    }
    sim_result_free(&result);
    return shown > 0;
}

static bool answer_about(struct up_answer *self, FILE *out)
{
    uint32_t count = up_programs(self->up, NULL, 0), run = 0;
    struct up_program *program = calloc(count + 1u, sizeof *program);

    if (program == NULL) return false;
    up_programs(self->up, program, count);
    for (uint32_t i = 0; i < count; i++)
        run += program[i].start != PS_NEVER && program[i].end == PS_NEVER;
    free(program);
    fprintf(out, "%" PRIu64 "\t%s\t%" PRIu32 "\t%" PRIu64 "\n", (uint64_t)self->since, self->clock, run,
            (uint64_t)sim_progress(self->sim).now);
    return true;
}

bool up_answer_document(void *context, enum serve_document which, FILE *out)
{
    struct up_answer *self = context;
    struct up_report now;

    if (!up_report_take(self->up, &self->base, self->real, &now)) return false;
    now.result.virtual_ps = sim_progress(self->sim).now;
    if (self->ended) now.result.state = self->state;
    bool good = cli_serving_write(self->sim, &now.report, which, out);
    up_report_free(&now);
    return good;
}

bool up_answer(void *context, const char *words, FILE *out)
{
    const char *rest;

    if ((rest = after(words, "fault")) != NULL) return answer_fault(context, rest, out);
    if ((rest = after(words, "counters")) != NULL) return answer_counters(context, rest, out);
    if ((rest = after(words, "top")) != NULL) return answer_top(context, rest, out);
    if (after(words, "about")) return answer_about(context, out);
    if (after(words, "state")) return up_answer_document(context, SERVE_STATE, out);
    if (after(words, "metrics")) return up_answer_document(context, SERVE_METRICS, out);
    fprintf(out, "this fabric does not know '%s'; is it of another version?\n", words);
    return false;
}
