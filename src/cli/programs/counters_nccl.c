/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of NCCL's communicators, as text, JSON and for Prometheus; see counters_nccl.h.
 *
 * All names come from the catalogue.  In text and JSON they are without their prefix and suffix, and with the value of
 * their label behind them: wait_seconds_gpu.
 */
#include "cli/programs/counters_nccl.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/programs/serve.h"
#include "observe/catalogue.h"

#define PREFIX "rocelab_nccl_"
#define SUFFIX "_total"
#define NS_DIGITS 9 /* of a second */

struct walk {
    struct observe_catalogue catalogue;
    uint32_t at;
};

static const struct observe_metric *next(struct walk *walk)
{
    if (walk->at == 0) observe_catalogue(&walk->catalogue);
    while (walk->at < walk->catalogue.count)
        if (walk->catalogue.metric[walk->at++].object == OBSERVE_OBJECT_COMMUNICATOR)
            return &walk->catalogue.metric[walk->at - 1];
    return NULL;
}

static uint64_t value_of(const struct nccl_page *page, const struct observe_metric *metric)
{
    uint64_t value;

    memcpy(&value, (const char *)&page->counters + metric->offset, sizeof value);
    return value;
}

static void short_name(const struct observe_metric *metric, char *ret, size_t bytes)
{
    size_t length = strlen(metric->name) - strlen(PREFIX) - strlen(SUFFIX);

    snprintf(ret, bytes, "%.*s%s%s", (int)length, metric->name + strlen(PREFIX), metric->word ? "_" : "",
             metric->word ? metric->word : "");
}

void counters_nccl_text(const struct nccl_page *page, bool quiet, FILE *out)
{
    const struct text_style style = cli_style();
    char name[80], count[TEXT_COUNT];
    struct walk walk = {.at = 0};

    fprintf(out, "NCCL communicator %016" PRIx64 " (", page->id);
    text_outside(out, &style, page->name);
    fprintf(out, "), rank %" PRId32 " of %" PRId32 ", process %" PRIu32 " (", page->rank, page->ranks, page->pid);
    text_outside(out, &style, page->program);
    fputs(")\n", out);
    for (const struct observe_metric *metric; (metric = next(&walk));) {
        uint64_t value = value_of(page, metric);
        if (value == 0) continue;
        short_name(metric, name, sizeof name);
        if (metric->unit == OBSERVE_NANOSECONDS)
            snprintf(count, sizeof count, "%" PRIu64 ".%06" PRIu64, value / 1000000000, value % 1000000000 / 1000);
        fprintf(out, "  %-32s %18s", name, metric->unit == OBSERVE_NANOSECONDS ? count : text_count(value, count));
        if (!quiet) fprintf(out, "  %s", metric->help);
        fputc('\n', out);
    }
}

void counters_nccl_json(struct jout *jout, const struct nccl_page *page)
{
    struct walk walk = {.at = 0};
    char name[80];

    jout_open_line(jout, NULL, '{');
    jout_u64(jout, "pid", page->pid);
    jout_text(jout, "program", page->program);
    snprintf(name, sizeof name, "%016" PRIx64, page->id);
    jout_text(jout, "comm", name);
    jout_text(jout, "name", page->name);
    jout_u64(jout, "rank", (uint64_t)page->rank);
    jout_u64(jout, "ranks", (uint64_t)page->ranks);
    jout_u64(jout, "nodes", (uint64_t)page->nodes);
    jout_open(jout, "counters", '{');
    for (const struct observe_metric *metric; (metric = next(&walk));) {
        short_name(metric, name, sizeof name);
        if (metric->unit == OBSERVE_NANOSECONDS)
            jout_fixed(jout, name, value_of(page, metric), NS_DIGITS);
        else
            jout_u64(jout, name, value_of(page, metric));
    }
    jout_close(jout);
    jout_close(jout);
}

static void row(const struct nccl_page *page, const struct observe_metric *metric, FILE *out)
{
    uint64_t value = value_of(page, metric);

    fprintf(out, "%s{comm=\"%016" PRIx64 "\",", metric->name, page->id);
    serve_label(out, "comm_name", page->name);
    fprintf(out, ",rank=\"%" PRId32 "\",ranks=\"%" PRId32 "\",", page->rank, page->ranks);
    serve_label(out, "program", page->program);
    fprintf(out, ",pid=\"%" PRIu32 "\"", page->pid);
    if (metric->label) fprintf(out, ",%s=\"%s\"", metric->label, metric->word);
    if (metric->unit == OBSERVE_NANOSECONDS)
        fprintf(out, "} %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000, value % 1000000000);
    else
        fprintf(out, "} %" PRIu64 "\n", value);
}

void counters_nccl_prometheus(const struct nccl_page *page, unsigned count, FILE *out)
{
    struct walk walk = {.at = 0};
    const char *last = "";

    for (const struct observe_metric *metric; count > 0 && (metric = next(&walk));) {
        if (strcmp(metric->name, last) != 0) serve_head(out, metric->name, false, metric->help);
        last = metric->name;
        for (unsigned i = 0; i < count; i++)
            row(&page[i], metric, out);
    }
}
