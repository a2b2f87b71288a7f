/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of live adapters in Prometheus' text format.
 *
 * Names, units and help are the catalogue's, so that one dashboard shows a simulated NIC and a live one.  What only a
 * live adapter counts, its wire and its loop, is rocelab_live_*.  An adapter is told apart by device, process and slot.
 */
#include "cli/programs/serve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "cli/programs/counters_nccl.h"
#include "nic/counters.h"
#include "observe/catalogue.h"

struct exposition {
    const struct device_counter_set *set;
    unsigned count;
    FILE *out;
};

/* A program may call itself anything: what is not plain ASCII is left out of its name. */
void serve_label(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%s=\"", key);
    for (; *value; value++) {
        if (*value < ' ' || *value > '~')
            fputc('?', out);
        else if (*value == '"' || *value == '\\')
            fprintf(out, "\\%c", *value);
        else
            fputc(*value, out);
    }
    fputc('"', out);
}

static void labels(FILE *out, const char *metric, const struct device_counter_set *set)
{
    fprintf(out, "%s{", metric);
    serve_label(out, "device", set->device);
    fputs(",port=\"1\",", out);
    serve_label(out, "interface", set->ifname);
    fputc(',', out);
    serve_label(out, "program", set->program);
    fprintf(out, ",pid=\"%u\",slot=\"%u\"", set->pid, set->slot);
}

static bool value_of(const struct device_counter_set *set, const char *name, uint64_t *ret)
{
    for (unsigned i = 0; i < set->counters; i++) {
        if (strcmp(set->counter[i].name, name) != 0) continue;
        *ret = set->counter[i].value;
        return true;
    }
    return false;
}

/* What the adapter calls the metric; of a priority as rx_prio3_pause. */
static bool live_name(const struct observe_metric *metric, unsigned priority, char name[DEVICE_COUNTER_NAME])
{
    bool of_priority = metric->object == OBSERVE_OBJECT_NIC_PRIO;

    for (const struct nic_counter *c = of_priority ? nic_prio_counter_list : nic_counter_list; c->name; c++) {
        int direction = (int)strcspn(c->name, "_");
        if (c->offset != metric->offset) continue;
        if (of_priority)
            snprintf(name, DEVICE_COUNTER_NAME, "%.*s_prio%u%s", direction, c->name, priority, c->name + direction);
        else
            snprintf(name, DEVICE_COUNTER_NAME, "%s", c->name);
        return true;
    }
    return false;
}

static void value_out(FILE *out, enum observe_unit unit, uint64_t value)
{
    if (unit == OBSERVE_SECONDS)
        fprintf(out, "} %" PRIu64 ".%012" PRIu64 "\n", (uint64_t)(value / PS_S), (uint64_t)(value % PS_S));
    else
        fprintf(out, "} %" PRIu64 "\n", unit == OBSERVE_MICROSECONDS ? (uint64_t)(value / PS_US) : value);
}

static void metric_rows(const struct exposition *e, const struct observe_metric *metric, unsigned priority)
{
    char name[DEVICE_COUNTER_NAME];
    uint64_t value;

    if (!live_name(metric, priority, name)) return;
    for (unsigned i = 0; i < e->count; i++) {
        if (!value_of(&e->set[i], name, &value)) continue;
        labels(e->out, metric->name, &e->set[i]);
        if (metric->label) {
            fputc(',', e->out);
            serve_label(e->out, metric->label, metric->word);
        }
        if (metric->object == OBSERVE_OBJECT_NIC_PRIO) fprintf(e->out, ",priority=\"%u\"", priority);
        value_out(e->out, metric->unit, value);
    }
}

void serve_head(FILE *out, const char *name, bool gauge, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, gauge ? "gauge" : "counter");
}

static void of_catalogue(const struct exposition *e)
{
    static struct observe_catalogue catalogue;
    const char *last = "";

    observe_catalogue(&catalogue);
    for (uint32_t m = 0; m < catalogue.count; m++) {
        const struct observe_metric *metric = &catalogue.metric[m];
        if (metric->object != OBSERVE_OBJECT_NIC && metric->object != OBSERVE_OBJECT_NIC_PRIO) continue;
        if (strcmp(metric->name, last) != 0)
            serve_head(e->out, metric->name, metric->kind == OBSERVE_GAUGE,
                       metric->label && strcmp(metric->label, "reason") == 0 ? "packets dropped, by reason"
                                                                             : metric->help);
        last = metric->name;
        for (uint32_t p = 0; p < observe_priorities(metric->object); p++)
            metric_rows(e, metric, p);
    }
}

static bool in_machine(const char *name)
{
    for (const struct nic_counter *c = nic_counter_list; c->name; c++)
        if (strcmp(c->name, name) == 0) return true;
    return strncmp(name, "rx_prio", 7) == 0 || strncmp(name, "tx_prio", 7) == 0;
}

/* All adapters have the same counters, in the same order. */
static void of_wire_and_loop(const struct exposition *e)
{
    char metric[DEVICE_COUNTER_NAME + 32];

    for (unsigned c = 0; e->count > 0 && c < e->set[0].counters; c++) {
        const struct device_counter *counter = &e->set[0].counter[c];
        if (in_machine(counter->name)) continue;
        snprintf(metric, sizeof metric, "rocelab_live_%s_total", counter->name);
        serve_head(e->out, metric, false, counter->help ? counter->help : "of the wire");
        for (unsigned i = 0; i < e->count; i++) {
            labels(e->out, metric, &e->set[i]);
            fprintf(e->out, "} %" PRIu64 "\n", e->set[i].counter[c].value);
        }
    }
}

void serve_programs_prometheus(const struct live_programs *programs, FILE *out)
{
    const struct exposition e = {.set = programs->set, .count = programs->sets, .out = out};

    serve_head(out, "rocelab_live_adapters", true, "adapters that programs under 'rocelab run' have open");
    fprintf(out, "rocelab_live_adapters %u\n", e.count);
    if (e.count > 0) {
        of_catalogue(&e);
        of_wire_and_loop(&e);
    }
    counters_nccl_prometheus(programs->nccl, programs->nccls, out);
}

int live_programs_read(struct live_programs *ret)
{
    struct live_programs programs = {.set = NULL};
    int error = live_counters_read(&programs.set, &programs.sets);

    if (error == 0) error = nccl_pages_read(&programs.nccl, &programs.nccls);
    if (error < 0)
        free(programs.set);
    else
        *ret = programs;
    return error;
}

void live_programs_release(struct live_programs *programs)
{
    free(programs->set);
    free(programs->nccl);
}
