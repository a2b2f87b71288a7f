/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a verdict: the judges one after the other, and what they share.
 */
#include "report/verdict/verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "report/verdict/judge.h"

const struct verdict_kind verdict_kind[VERDICT_IDS] = {
#define X(id, name, severity, title) {name, title, VERDICT_##severity},
#include "report/verdict/verdict.def"
#undef X
};
const char *const verdict_severity_name[] = {"ok", "info", "warning", "critical"};

struct verdict_finding *judge_add(struct judge *judge, enum verdict_id id)
{
    struct verdict *to = judge->to;
    struct verdict_finding *finding = &judge->lost;

    if (to->findings == to->room) {
        uint32_t room = to->room ? 2 * to->room : 8;
        struct verdict_finding *more = realloc(to->finding, room * sizeof(*more));
        if (more) {
            to->finding = more;
            to->room = room;
        }
    }
    if (to->findings < to->room)
        finding = &to->finding[to->findings++];
    else
        judge->failed = true;
    *finding = (struct verdict_finding){.id = id, .severity = verdict_kind[id].severity, .job = FABRIC_NONE};
    return finding;
}

__attribute__((format(printf, 2, 0))) static void append(char *text, const char *format, va_list args)
{
    size_t used = strlen(text);

    vsnprintf(text + used, VERDICT_TEXT - used, format, args);
}

void judge_what(struct verdict_finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append(finding->what, format, args);
    va_end(args);
}

void judge_why(struct verdict_finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append(finding->why, format, args);
    va_end(args);
}

void judge_object(struct verdict_finding *finding, uint32_t port)
{
    for (uint32_t i = 0; i < finding->objects; i++)
        if (finding->object[i] == port) return;
    if (finding->objects < VERDICT_OBJECTS) finding->object[finding->objects++] = port;
}

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->port < y->port ? -1 : x->port > y->port;
}

void judge_rank(struct ranked *ranked, uint32_t count)
{
    qsort(ranked, count, sizeof(*ranked), compare_ranked);
}

void judge_objects(struct verdict_finding *finding, const struct ranked *ranked, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        judge_object(finding, ranked[i].port);
    if (count) finding->weight = ranked[0].value;
}

void judge_more(struct verdict_finding *finding, uint32_t count, const char *thing)
{
    if (count > 1) judge_what(finding, "; and %u more %s%s", count - 1, thing, text_plural(count - 1));
}

const struct verdict_finding *judge_found(const struct judge *judge, enum verdict_id id)
{
    for (uint32_t i = 0; i < judge->to->findings; i++)
        if (judge->to->finding[i].id == id) return &judge->to->finding[i];
    return NULL;
}

struct ranked *judge_ports(struct judge *judge, judge_value *value, bool switches, uint32_t *ret_count)
{
    const struct sim_result *result = judge->result;
    struct ranked *ranked = calloc(result->ports + 1u, sizeof(*ranked));
    uint32_t count = 0;

    if (ranked == NULL) judge->failed = true;
    for (uint32_t i = 0; ranked && i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        uint64_t of = switches && port->sw == NULL ? 0 : value(judge, port);
        if (of) ranked[count++] = (struct ranked){port->port, of};
    }
    *ret_count = count;
    if (count) {
        judge_rank(ranked, count);
        return ranked;
    }
    free(ranked);
    return NULL;
}

uint32_t judge_ppm(uint64_t part, uint64_t whole)
{
    u128 ppm = whole ? (u128)part * 1000000 / whole : 0;

    return ppm > UINT32_MAX ? UINT32_MAX : (uint32_t)ppm;
}

bool judge_fault(const struct judge *judge, uint32_t port, uint8_t kind)
{
    const struct fabric *fabric = judge->fabric;
    uint32_t peer = fabric->port[port].peer, node = fabric->port[port].node;
    uint32_t other = peer == FABRIC_NONE ? FABRIC_NONE : fabric->port[peer].node;

    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (fault->kind != kind || fault->at > judge->result->virtual_ps) continue;
        if (fault->port == FABRIC_NONE ? fault->node == node || fault->node == other
                                       : fault->port == port || fault->port == peer)
            return true;
    }
    return false;
}

static int compare_findings(const void *a, const void *b)
{
    const struct verdict_finding *x = a, *y = b;

    if (x->severity != y->severity) return x->severity > y->severity ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

static void sort(struct verdict *verdict)
{
    if (verdict->findings) qsort(verdict->finding, verdict->findings, sizeof(*verdict->finding), compare_findings);
}

/* What several judges ask for. */
static void look(struct judge *judge)
{
    const struct sim_result *result = judge->result;
    const struct fabric_lanes *lanes = &judge->fabric->lanes;

    for (uint32_t i = 0; i < result->ports; i++)
        judge->port[result->port[i].port] = &result->port[i];
    for (uint32_t i = 0; i < result->nics; i++)
        for (uint32_t p = 0; result->nic[i].counters && p < FABRIC_PRIOS; p++)
            if (result->nic[i].counters->prio[p].tx_packets)
                judge->sent_in |= (uint8_t)(1u << (lanes->vls ? lanes->vl_of[p] : p));
    for (uint32_t i = 0; i < judge->fabric->jobs; i++) {
        const struct fabric_class *as = &judge->fabric->classes[judge->fabric->job[i].job_class];
        if (fabric_systems[as->system].endpoint != FABRIC_ENDPOINT_NIC) judge->sent_in |= (uint8_t)(1u << as->priority);
    }
    if (judge->fabric->system == FABRIC_UET && judge->fabric->uet.control_class != FABRIC_NONE)
        judge->sent_in |= (uint8_t)(1u << judge->fabric->classes[judge->fabric->uet.control_class].priority);
    for (uint32_t i = 0; i < result->pauses; i++) {
        const struct sim_pause *pause = &result->pause[i];
        if (pause->cause == UINT32_MAX) continue;
        ps_t began = pause->time_ps - pause->passed_on_ps;
        if (began > judge->began_ps[pause->cause]) judge->began_ps[pause->cause] = began;
    }
    judge_shares(judge);
}

static void judge_all(struct judge *judge)
{
    look(judge);
    judge_trouble(judge);
    judge_links(judge);
    judge_pauses(judge);
    judge_loss(judge);
    judge_control(judge);
    judge_congestion(judge);
    judge_training(judge);
    sort(judge->to); /* what explains a slow job is looked for in this order */
    judge_jobs(judge);
    sort(judge->to);
}

int verdict_make(const struct sim_report *report, struct verdict *ret)
{
    struct verdict verdict = {0};
    struct judge judge = {.report = report,
                          .fabric = report->fabric,
                          .result = report->result,
                          .outside = report->foreign_ports > 0,
                          .to = &verdict};

    judge.port = calloc(report->fabric->ports + 1u, sizeof(const struct sim_port *));
    judge.began_ps = calloc(report->fabric->ports + 1u, sizeof(ps_t));
    if (judge.port && judge.began_ps)
        judge_all(&judge);
    else
        judge.failed = true;
    free(judge.port);
    free(judge.began_ps);
    if (judge.failed) {
        verdict_release(&verdict);
        return -ENOMEM;
    }
    *ret = verdict;
    return 0;
}

void verdict_release(struct verdict *verdict)
{
    free(verdict->finding);
    *verdict = (struct verdict){0};
}
