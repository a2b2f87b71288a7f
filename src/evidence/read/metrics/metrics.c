/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus' text and OpenMetrics: what an exporter says (one look, at the time of its folder), or what was written
 * over time (every sample has its time: many looks).
 *
 * Metrics are known by name: rocelab's own, rdma_exporter's, node_exporter's, DCGM's, those of exporters of switches
 * (names.def); others are passed over.  A snapshot of a simulation says how long it ran, so that its counters have
 * two looks.
 */
#include "evidence/read/metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

#define LOOKED_AT 16384

const struct metric_name metric_names[] = {
#define METRIC(name, object, counter, scale, label, is) {name, METRIC_##object, EVIDENCE_##counter, scale, label, is},
#include "evidence/read/metrics/names.def"
#undef METRIC
    {NULL, 0, 0, 0, NULL, NULL},
};

static uint64_t scaled(const struct sample *sample, double scale)
{
    double value = sample->real * scale;

    if (sample->whole && scale == 1) return sample->number;
    return value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

void metrics_put(struct metrics *metrics, uint32_t object, unsigned priority, enum evidence_counter counter,
                 const struct sample *sample, double scale)
{
    const struct evidence_value *known = evidence_find(metrics->evidence, object, priority, counter);
    struct evidence_source source = metrics->in->source, begin = source;

    if (known && known->last_s > source.at_s) return; /* of another series of the same thing */
    if (!known && metrics->since_begin && evidence_counters[counter].kind == EVIDENCE_COUNT) {
        begin.at_s = 0;
        evidence_set(metrics->evidence, object, priority, counter, 0, &begin);
    }
    if (counter == EVIDENCE_PRE_FEC_BER)
        evidence_set_real(metrics->evidence, object, priority, counter, sample->real, &source);
    else if (*sample_label(sample, "pid")) /* programs share an adapter */
        evidence_sum(metrics->evidence, object, priority, counter, scaled(sample, scale), &source);
    else
        evidence_set(metrics->evidence, object, priority, counter, scaled(sample, scale), &source);
}

static bool has_prefix(const struct text_field *name, const char *prefix)
{
    return name->length > strlen(prefix) && !memcmp(name->at, prefix, strlen(prefix));
}

/* node_exporter's ethtool: the driver's name of a counter, with rx and tx spelt out. */
static bool take_ethtool(struct metrics *metrics, const struct sample *sample)
{
    static const char prefix[] = "node_ethtool_";
    struct text_field rest = {sample->name.at + strlen(prefix), sample->name.length - strlen(prefix)};
    char name[128], number[32];
    unsigned priority;

    if (!has_prefix(&sample->name, prefix)) return false;
    static const char *const spelt[][2] = {{"received_", "rx_"}, {"transmitted_", "tx_"}};
    size_t cut = 0, which = 2;
    for (size_t i = 0; i < 2; i++)
        if (has_prefix(&rest, spelt[i][0])) cut = strlen(spelt[which = i][0]);
    int length = snprintf(name, sizeof name, "%s%.*s", which < 2 ? spelt[which][1] : "", (int)(rest.length - cut),
                          rest.at + cut);
    uint32_t port = metrics_object(metrics, sample, METRIC_NETDEV, &priority);
    if (length <= 0 || (size_t)length >= sizeof name || port == EVIDENCE_NONE) return true;
    snprintf(number, sizeof number, "%llu", (unsigned long long)scaled(sample, 1));
    struct text_field key = field_of(name), value = field_of(number);
    reading_named(metrics->in, host_interface_names, port, EVIDENCE_NO_PRIORITY, &key, &value);
    return true;
}

/* All rows of its name.  Of two names of one counter the one that came first holds. */
static void take_sample(struct metrics *metrics, const struct sample *sample, const struct metric_name *row)
{
    for (const char *name = row->name; row->name && !strcmp(row->name, name); row++) {
        const char **owner = &metrics->owner[row->object][row->counter];
        unsigned priority;
        if (row->label && strcmp(sample_label(sample, row->label), row->is)) continue;
        if (*owner && strcmp(*owner, row->name)) continue;
        *owner = row->name;
        uint32_t object = metrics_object(metrics, sample, (enum metric_object)row->object, &priority);
        if (object == EVIDENCE_NONE) continue;
        bool by_priority = evidence_counters[row->counter].scope == EVIDENCE_PRIORITY;
        if (by_priority && priority == EVIDENCE_NO_PRIORITY) continue;
        metrics_put(metrics, object, by_priority ? priority : EVIDENCE_NO_PRIORITY, (enum evidence_counter)row->counter,
                    sample, row->scale);
    }
}

static const struct metric_name *find_name(const struct text_field *name)
{
    for (const struct metric_name *row = metric_names; row->name; row++)
        if (field_is(name, row->name)) return row;
    return NULL;
}

/* How long a simulation ran, where the text is of one and has no times: 0 where it is not. */
static double find_span(const char *text, size_t bytes)
{
    static const char name[] = "\nrocelab_sim_virtual_seconds";
    const char *at = memmem(text, bytes, name, strlen(name)), *end = text + bytes;
    struct sample *sample = at ? malloc(sizeof *sample) : NULL;
    double span = 0;

    if (!sample) return 0;
    const char *stop = memchr(at + 1, '\n', (size_t)(end - at - 1));
    if (sample_parse(sample, at + 1, stop ? stop : end) && !sample->timed) span = sample->real;
    free(sample);
    return span;
}

static void read_samples(struct metrics *metrics, struct sample *sample, const char *text, const char *end)
{
    const struct metric_name *row = NULL;
    struct reading *in = metrics->in;
    double at_s = in->source.at_s;

    while (text < end && !metrics->evidence->full) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *line = text;
        if (!stop) stop = end;
        text = stop < end ? stop + 1 : end;
        in->source.line++;
        if (stop - line > READER_LINE) continue;
        if (!sample_parse(sample, line, stop)) continue;
        in->source.at_s = sample->timed ? sample->at_s : at_s;
        if (!row || !field_is(&sample->name, row->name)) row = find_name(&sample->name);
        if (row)
            take_sample(metrics, sample, row);
        else if (!metrics_special(metrics, sample) && !metrics_nccl(metrics, sample))
            take_ethtool(metrics, sample);
    }
}

static void read_metrics(struct reading *in, const char *text, size_t bytes)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    struct sample *sample = malloc(sizeof *sample);
    double span = find_span(text, bytes);

    if (metrics && sample) {
        metrics->in = in;
        metrics->evidence = in->evidence;
        metrics->since_begin = span > 0;
        if (span > 0) in->source.at_s = span;
        read_samples(metrics, sample, text, text + bytes);
        metrics_finish(metrics);
        free(metrics->port);
    }
    free(sample);
    free(metrics);
}

/* Comments that say types, or a sample with labels. */
static bool is_metrics(const char *text, size_t bytes)
{
    const char *end = text + (bytes < LOOKED_AT ? bytes : LOOKED_AT);
    struct sample *sample = malloc(sizeof *sample);
    bool known = false;

    while (sample && text < end && !known) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        struct text_field line = {text, (size_t)(stop - text)};
        if (has_prefix(&line, "# TYPE ") || has_prefix(&line, "# HELP ") || has_prefix(&line, "# UNIT ")) known = true;
        if (*text != '#' && text != stop) {
            known = sample_parse(sample, text, stop) && sample->labels;
            break;
        }
        text = stop + 1;
    }
    free(sample);
    return known;
}

const struct whole_reader reader_metrics = {"prometheus", "Prometheus: text of exporters, OpenMetrics", is_metrics,
                                            read_metrics};
