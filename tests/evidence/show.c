/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what readers make of texts, for tests: show [--from KIND] [--fabric FILE] INPUT...
 * A line a value: NAME PRIORITY COUNTER first last grown looks seconds file:line, then objects, events (NAME kind
 * priority from to detail count first last line), lines that nobody took (reader line lines) and remarks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/reader.h"
#include "fabric/handle.h"
#include "load/load.h"

static const char *name_of(const struct evidence *evidence, uint32_t object, char *buf, size_t size)
{
    const struct evidence_object *of = object < evidence->objects ? &evidence->object[object] : NULL;

    if (!of) return "-";
    if (of->scope != EVIDENCE_RANK) return of->name;
    snprintf(buf, size, "%s/%s", evidence->object[of->parent].name, of->name);
    return buf;
}

static void print_value(const struct evidence *evidence, const struct evidence_value *value)
{
    char name[256], priority[8] = "-";

    if (value->priority != EVIDENCE_NO_PRIORITY) snprintf(priority, sizeof priority, "%u", value->priority);
    printf("%s\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\t%g\t%g\t%s:%u%s\n",
           name_of(evidence, value->object, name, sizeof name), priority, evidence_counters[value->counter].name,
           value->first, value->last, value->grown, value->looks, evidence_span_s(value), value->real,
           value->file < evidence->files ? evidence->file[value->file] : "-", value->line,
           value->reset ? "\treset" : "");
}

static void print_objects(const struct evidence *evidence)
{
    char name[256], other[256];

    for (uint32_t i = 0; i < evidence->objects; i++) {
        const struct evidence_object *of = &evidence->object[i];
        if (of->same_as != EVIDENCE_NONE) continue;
        if (of->scope == EVIDENCE_PORT && of->peer != EVIDENCE_NONE)
            printf("peer\t%s\t%s\n", of->name, evidence->object[of->peer].name);
        if (of->scope == EVIDENCE_RANK && of->host != EVIDENCE_NONE)
            printf("host\t%s\t%s\n", name_of(evidence, i, name, sizeof name),
                   name_of(evidence, of->host, other, sizeof other));
        if (of->scope == EVIDENCE_DEVICE)
            printf("device\t%s\t%u\t%s\n", of->name, of->role, of->system ? of->system : "-");
    }
    for (uint32_t i = 0; i < evidence->pauses; i++)
        printf("pause\t%s\t%s\t%u\t%s\t%" PRIu64 "\n", evidence->object[evidence->pause[i].port].name,
               evidence->object[evidence->pause[i].paused].name, evidence->pause[i].priority,
               name_of(evidence, evidence->pause[i].cause, name, sizeof name), evidence->pause[i].time_ns);
    for (uint32_t i = 0; i < evidence->flows; i++)
        printf("flow\t%s\t%s\t%s\t%" PRIu64 "\n", evidence->object[evidence->flow[i].job].name,
               evidence->object[evidence->flow[i].from].name, evidence->object[evidence->flow[i].to].name,
               evidence->flow[i].bytes);
    for (uint32_t i = 0; i < evidence->circles; i++)
        printf("circle\t%u\t%d\n", evidence->circle[i].count, evidence->circle[i].ended);
    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        printf("event\t%s\t%s\t%d\t%s\t%s\t%s\t%u\t%.3f\t%.3f\t%u\n",
               name_of(evidence, event->object, name, sizeof name), evidence_events[event->kind].name,
               event->priority == EVIDENCE_NO_PRIORITY ? -1 : event->priority, event->from ? event->from : "-",
               event->to ? event->to : "-", event->detail ? event->detail : "-", event->count, event->first_s,
               event->last_s, event->line);
    }
    for (uint32_t i = 0; i < evidence->unknowns; i++)
        printf("unknown\t%s\t%u\t%u\n", evidence->unknown[i].reader ? evidence->unknown[i].reader : "-",
               evidence->unknown[i].line, evidence->unknown[i].lines);
    printf("looks\t%u\t%g\n", evidence->looks, evidence_seconds(evidence));
    for (uint32_t i = 0; i < evidence->remarks; i++)
        printf("remark\t%u\t%s\n", evidence->remark[i].line, evidence->remark[i].text);
}

/* The fabric of a file; NULL: it is none. */
static struct fabric *load(const char *path)
{
    static struct fabric_errors errors;
    struct fabric *fabric = NULL;

    return fabric_load(path, NULL, &fabric, &errors) ? NULL : fabric;
}

int main(int argc, char **argv)
{
    const char *from = NULL;
    struct fabric *fabric = NULL;
    struct evidence evidence;
    char why[256];
    int status = 0;

    evidence_init(&evidence);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--from") && i + 1 < argc) {
            from = argv[++i];
        } else if (!strcmp(argv[i], "--fabric") && i + 1 < argc) {
            fabric = load(argv[++i]);
        } else if (!evidence_read(&evidence, argv[i], from, why, sizeof why)) {
            printf("error\t%s\n", why);
            status = 1;
        }
    }
    evidence_finish(&evidence, fabric);
    evidence_audit(&evidence);
    for (uint32_t i = 0; i < evidence.values; i++)
        if (evidence.object[evidence.value[i].object].same_as == EVIDENCE_NONE)
            print_value(&evidence, &evidence.value[i]);
    print_objects(&evidence);
    evidence_release(&evidence);
    fabric_free(fabric);
    return status;
}
