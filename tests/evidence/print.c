/* SPDX-License-Identifier: Apache-2.0 */
/* Every value, neighbour, event and remark of evidence, a line each: what tests of readers compare. */
#include "print.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *value_line(const struct evidence *evidence, const struct evidence_value *value)
{
    const struct evidence_object *object = &evidence->object[value->object];
    const struct evidence_counter_info *info = &evidence_counters[value->counter];
    char priority[8] = "-", number[40], *line = NULL;

    if (value->priority != EVIDENCE_NO_PRIORITY) snprintf(priority, sizeof priority, "%u", value->priority);
    snprintf(number, sizeof number, value->real != (double)value->last ? "%g" : "%.0f", value->real);
    if (value->real == (double)value->last) snprintf(number, sizeof number, "%llu", (unsigned long long)value->last);
    if (asprintf(&line, "%s %s %s %s\n", object->local_name, priority, info->name, number) < 0) abort();
    return line;
}

static char *event_line(const struct evidence *evidence, const struct evidence_event *event)
{
    const char *of = event->object == EVIDENCE_NONE ? "-" : evidence->object[event->object].local_name;
    char *line = NULL;

    if (asprintf(&line, "%s event %s%s%s\n", of, evidence_events[event->kind].name, event->detail ? ": " : "",
                 event->detail ? event->detail : "") < 0)
        abort();
    return line;
}

/* In the order of their text, so that files can be compared. */
void evidence_print(const struct evidence *evidence, FILE *to)
{
    uint32_t count = evidence->values + evidence->neighbours + evidence->events, filled = 0;
    char **line = calloc(count ? count : 1, sizeof line[0]);

    if (!line) abort();
    for (uint32_t i = 0; i < evidence->values; i++)
        line[filled++] = value_line(evidence, &evidence->value[i]);
    for (uint32_t i = 0; i < evidence->neighbours; i++)
        if (asprintf(&line[filled++], "%s %s %s %s\n", evidence->object[evidence->neighbour[i].port].local_name,
                     evidence->neighbour[i].described ? "described" : "neighbour", evidence->neighbour[i].device,
                     evidence->neighbour[i].port_name) < 0)
            abort();
    for (uint32_t i = 0; i < evidence->events; i++)
        line[filled++] = event_line(evidence, &evidence->event[i]);
    qsort(line, count, sizeof line[0], by_text);
    for (uint32_t i = 0; i < count; i++) {
        fputs(line[i], to);
        free(line[i]);
    }
    free(line);
    for (uint32_t i = 0; i < evidence->remarks; i++)
        fprintf(to, "remark: %s\n", evidence->remark[i].text);
}
