/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as evidence (report/diagnosis/run_evidence.c) beside its own document as a reader of it finds it: the same
 * objects, values, pauses, circles and flows, and so the same findings, with the same rows and victims.  A run leaves
 * out what no rule reads, and zeros that no rule asks for.
 *
 * usage: test_run_evidence FABRIC...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "evidence/read/reader.h"
#include "fabric/fabric.h"
#include "load/load.h"
#include "report/diagnosis/run_evidence.h"
#include "sim/sim.h"

static const char *path;
static unsigned wrong;

#define SAME(good, ...)                                                                                                \
    do {                                                                                                               \
        if (good) break;                                                                                               \
        if (wrong++ < 20) {                                                                                            \
            fprintf(stderr, "%s: ", path);                                                                             \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

static const char *name_of(const struct evidence *of, uint32_t object)
{
    return object < of->objects ? of->object[object].name : "-";
}

static void same_objects(const struct evidence *a, const struct evidence *b)
{
    SAME(a->objects == b->objects, "%u objects, the document has %u", a->objects, b->objects);
    for (uint32_t i = 0; i < a->objects && i < b->objects; i++) {
        const struct evidence_object *x = &a->object[i], *y = &b->object[i];
        SAME(!strcmp(x->name, y->name) && x->scope == y->scope && x->role == y->role && x->peer == y->peer &&
                 x->host == y->host && x->parent == y->parent && x->fabric == y->fabric,
             "object %u: %s of %s, peer %s, host %s; the document has %s of %s, peer %s, host %s", i, x->name,
             name_of(a, x->parent), name_of(a, x->peer), name_of(a, x->host), y->name, name_of(b, y->parent),
             name_of(b, y->peer), name_of(b, y->host));
    }
}

/* Counters that no rule reads, and those of which one asks only how far they are above 0. */
static bool may_be_left_out(const struct evidence_value *value)
{
    static const uint8_t unread[] = {EVIDENCE_TX_PAUSE_EVENTS, EVIDENCE_GROUP_PEAK, EVIDENCE_WATCHDOG_RESTORED,
                                     EVIDENCE_PAUSE_LIMIT};
    static const uint8_t any[] = {EVIDENCE_LINE_LOST,     EVIDENCE_CRC_ERRORS,    EVIDENCE_RNR_NAKS,
                                  EVIDENCE_OUT_OF_BUFFER, EVIDENCE_CNP_IGNORED,   EVIDENCE_TRIMMED,
                                  EVIDENCE_RX_DISCARDS,   EVIDENCE_SOFTWARE_NS,   EVIDENCE_CORES_IDLE_NS,
                                  EVIDENCE_IDLE_RATE_NS,  EVIDENCE_IDLE_FETCH_NS, EVIDENCE_CONNECTIONS,
                                  EVIDENCE_MTU_DROPS,     EVIDENCE_ROUTE_DROPS,   EVIDENCE_TX_BYTES};

    if (memchr(unread, value->counter, sizeof unread)) return true;
    return memchr(any, value->counter, sizeof any) && !value->grown && !value->last;
}

static void same_values(const struct evidence *a, const struct evidence *b)
{
    for (uint32_t i = 0; i < b->values; i++) {
        const struct evidence_value *y = &b->value[i];
        enum evidence_counter counter = (enum evidence_counter)y->counter;
        SAME(evidence_find(a, y->object, y->priority, counter) || may_be_left_out(y), "%s %u %s: the run has none",
             name_of(b, y->object), y->priority, evidence_counters[counter].name);
    }
    for (uint32_t i = 0; i < a->values; i++) {
        const struct evidence_value *x = &a->value[i],
                                    *y = evidence_find(b, x->object, x->priority, (enum evidence_counter)x->counter);
        const char *counter = evidence_counters[x->counter].name;
        SAME(y, "%s %u %s: the document has none", name_of(a, x->object), x->priority, counter);
        if (!y) continue;
        double apart = x->real > y->real ? x->real - y->real : y->real - x->real;
        bool fraction = apart > 0 || x->real != (double)x->last; /* the document has it rounded */
        SAME((fraction || (x->first == y->first && x->last == y->last && x->grown == y->grown)) &&
                 x->looks == y->looks && x->first_s == y->first_s && x->last_s == y->last_s && apart <= 1e-9 * x->real,
             "%s %u %s: %llu to %llu, grown %llu, %u looks, %g; the document has %llu to %llu, %llu, %u looks, %g",
             name_of(a, x->object), x->priority, counter, (unsigned long long)x->first, (unsigned long long)x->last,
             (unsigned long long)x->grown, x->looks, x->real, (unsigned long long)y->first, (unsigned long long)y->last,
             (unsigned long long)y->grown, y->looks, y->real);
    }
}

static void same_lists(const struct evidence *a, const struct evidence *b)
{
    SAME(a->pauses == b->pauses, "%u pauses, the document has %u", a->pauses, b->pauses);
    for (uint32_t i = 0; i < a->pauses && i < b->pauses; i++) {
        const struct evidence_pause *x = &a->pause[i], *y = &b->pause[i];
        SAME(x->port == y->port && x->paused == y->paused && x->cause == y->cause && x->priority == y->priority &&
                 x->count == y->count && x->time_ns == y->time_ns && x->passed_on_ns == y->passed_on_ns,
             "pause %u by %s", i, name_of(a, x->port));
    }
    SAME(a->circles == b->circles, "%u circles, the document has %u", a->circles, b->circles);
    for (uint32_t i = 0; i < a->circles && i < b->circles; i++) {
        const struct evidence_circle *x = &a->circle[i], *y = &b->circle[i];
        SAME(x->count == y->count && x->ended == y->ended && !memcmp(x->port, y->port, x->count * sizeof x->port[0]) &&
                 !memcmp(x->priority, y->priority, x->count),
             "circle %u", i);
    }
    SAME(a->flows == b->flows, "%u flows, the document has %u", a->flows, b->flows);
    for (uint32_t i = 0; i < a->flows && i < b->flows; i++) {
        const struct evidence_flow *x = &a->flow[i], *y = &b->flow[i];
        SAME(x->job == y->job && x->from == y->from && x->to == y->to && x->bytes == y->bytes &&
                 x->time_ns == y->time_ns && x->ideal_ns == y->ideal_ns && x->start_ns == y->start_ns,
             "flow %u from %s", i, name_of(a, x->from));
    }
    SAME(a->exact == b->exact && a->tied == b->tied && a->looks == b->looks && a->last_s == b->last_s, "looks");
}

static void same_findings(const struct evidence *a, const struct evidence *b)
{
    struct diagnose one, other;

    diagnose_run(&one, a, NULL);
    diagnose_run(&other, b, NULL);
    SAME(one.findings == other.findings, "%u findings, of the document %u", one.findings, other.findings);
    for (uint32_t i = 0; i < one.findings && i < other.findings; i++) {
        const struct diagnose_finding *x = &one.finding[i], *y = &other.finding[i];
        SAME(x->rule == y->rule && x->culprit == y->culprit && !strcmp(x->what, y->what) &&
                 x->confidence == y->confidence && x->consequence_of == y->consequence_of && x->victims == y->victims,
             "finding %u: %s %s, of the document %s %s", i, diagnose_rules[x->rule].id, x->what,
             diagnose_rules[y->rule].id, y->what);
        bool rows = x->evidences == y->evidences && x->alsos == y->alsos;
        for (uint32_t k = 0; rows && k < x->evidences; k++)
            rows = x->evidence[k].object == y->evidence[k].object && x->evidence[k].value == y->evidence[k].value &&
                   !strcmp(x->evidence[k].counter, y->evidence[k].counter);
        for (uint32_t k = 0; x->victims == y->victims && k < x->victims; k++)
            rows &= x->victim[k] == y->victim[k];
        SAME(rows, "finding %u: %s has other rows or victims than that of the document", i, diagnose_rules[x->rule].id);
    }
    diagnose_release(&one);
    diagnose_release(&other);
}

static void compare(const struct sim_report *report, const struct fabric *names)
{
    struct evidence direct, read;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    if (!to || !sim_json_write(to, report) || fclose(to) != 0) exit(2);
    evidence_init(&direct);
    evidence_init(&read);
    if (!run_evidence(&direct, report) || !evidence_read_text(&read, NULL, "run.json", 0, NULL, text, length)) exit(2);
    evidence_finish(&direct, names);
    evidence_finish(&read, names);
    evidence_audit(&direct);
    evidence_audit(&read);
    same_objects(&direct, &read);
    same_values(&direct, &read);
    same_lists(&direct, &read);
    same_findings(&direct, &read);
    evidence_release(&direct);
    evidence_release(&read);
    free(text);
}

static void run(void)
{
    struct sim_options options = {.threads = 1, .until = PS_NEVER, .keep_going = true};
    struct fabric_errors errors = {0};
    struct sim_result result;
    struct fabric *fabric = NULL;
    struct sim *sim = NULL;

    if (fabric_load(path, NULL, &fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        exit(2);
    }
    options.seed = fabric->seed;
    if (sim_create(fabric, &options, &sim, &errors) != 0) exit(2);
    while (sim_advance(sim, 1000000, PS_NEVER) == SIM_RUNNING)
        continue;
    if (sim_result(sim, &result) != 0 || sim_imbalance(sim, &result) != 0) exit(2);
    const struct sim_report report = {.fabric = fabric, .result = &result};
    compare(&report, NULL);
    compare(&report, fabric);
    sim_result_free(&result);
    sim_free(sim);
    fabric_free(fabric);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        path = argv[i];
        run();
    }
    printf("%d runs, %u differences\n", argc - 1, wrong);
    return wrong ? 1 : 0;
}
