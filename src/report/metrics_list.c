/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue of metrics itself: names, kinds, units, labels and help, as `rocelab counters --list` prints it.
 */
#include "report/metrics_list.h"

#include <string.h>

#include "observe/catalogue.h"
#include "report/rows/rows.h"

/* Those that an exposition has (sim_prometheus.c), besides one that the metric has of its own. */
static const char *labels_of(enum observe_object object)
{
    static const char *const labels[OBSERVE_OBJECTS] = {[OBSERVE_OBJECT_RUN] = "fabric",
                                                        [OBSERVE_OBJECT_NIC] = "fabric device port",
                                                        [OBSERVE_OBJECT_NIC_PRIO] = "fabric device port priority",
                                                        [OBSERVE_OBJECT_PORT] = "fabric switch port",
                                                        [OBSERVE_OBJECT_PORT_COUNTERS] = "fabric switch port priority",
                                                        [OBSERVE_OBJECT_PORT_PRIO] = "fabric switch port priority",
                                                        [OBSERVE_OBJECT_LINK] = "fabric port",
                                                        [OBSERVE_OBJECT_SWITCH] = "fabric switch",
                                                        [OBSERVE_OBJECT_JOB] = "fabric job_name",
                                                        [OBSERVE_OBJECT_CONNECTION] = NULL,
                                                        [OBSERVE_OBJECT_LIMITS] = "fabric switch port priority",
                                                        [OBSERVE_OBJECT_CABLE] = "fabric port node peer from to rail",
                                                        [OBSERVE_OBJECT_CLASS] = "fabric class priority",
                                                        [OBSERVE_OBJECT_RANK] = "fabric job_name rank gpu",
                                                        [OBSERVE_OBJECT_TIER] = "fabric from to",
                                                        [OBSERVE_OBJECT_INFINIBAND] = "fabric device port",
                                                        [OBSERVE_OBJECT_UET] = "fabric device port",
                                                        [OBSERVE_OBJECT_TCP] = "fabric device port",
                                                        [OBSERVE_OBJECT_COMMUNICATOR] =
                                                            "comm comm_name rank ranks program pid"};
    return labels[object];
}

static const char *unit_of(enum observe_unit unit)
{
    static const char *const name[] = {
        [OBSERVE_NONE] = "",       [OBSERVE_BYTES] = "bytes",           [OBSERVE_SECONDS] = "seconds",
        [OBSERVE_RATIO] = "ratio", [OBSERVE_PER_SECOND] = "per second", [OBSERVE_MICROSECONDS] = "microseconds",
        [OBSERVE_CELSIUS] = "C",   [OBSERVE_BIT_ERRORS] = "ratio",      [OBSERVE_NANOSECONDS] = "seconds"};
    return name[unit];
}

static const char *help_of(const struct observe_metric *metric)
{
    return metric->label && strcmp(metric->label, "reason") == 0 ? "packets dropped, by reason" : metric->help;
}

/* Of metrics of one name, which differ in a label, the first stands for all. */
static bool next(const struct observe_catalogue *catalogue, uint32_t *at, const struct observe_metric **ret)
{
    for (; *at < catalogue->count; (*at)++) {
        const struct observe_metric *metric = &catalogue->metric[*at];
        if (labels_of(metric->object) == NULL) continue;
        if (*at > 0 && strcmp(metric->name, catalogue->metric[*at - 1].name) == 0) continue;
        *ret = metric;
        (*at)++;
        return true;
    }
    return false;
}

void metrics_list_text(FILE *out)
{
    struct observe_catalogue catalogue;
    const struct observe_metric *metric;
    uint32_t at = 0;

    observe_catalogue(&catalogue);
    while (next(&catalogue, &at, &metric))
        fprintf(out, "%s (%s%s%s; %s%s%s)\n  %s\n", metric->name, metric->kind == OBSERVE_COUNTER ? "counter" : "gauge",
                unit_of(metric->unit)[0] ? ", " : "", unit_of(metric->unit), labels_of(metric->object),
                metric->label ? " " : "", metric->label ? metric->label : "", help_of(metric));
}

static void json_labels(struct jout *jout, const struct observe_metric *metric)
{
    char word[32];

    jout_open(jout, "labels", '[');
    for (const char *at = labels_of(metric->object); *at;) {
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        jout_text(jout, NULL, word);
        at += length + strspn(at + length, " ");
    }
    if (metric->label) jout_text(jout, NULL, metric->label);
    jout_close(jout);
}

void metrics_list_json(FILE *out)
{
    struct jout *jout = jout_begin(out, "metrics");
    struct observe_catalogue catalogue;
    const struct observe_metric *metric;
    uint32_t at = 0;

    observe_catalogue(&catalogue);
    jout_open(jout, "metrics", '[');
    while (next(&catalogue, &at, &metric)) {
        jout_open_line(jout, NULL, '{');
#include "report/rows/metric.def"
        jout_close(jout);
    }
    jout_close(jout);
    jout_end(jout);
}
