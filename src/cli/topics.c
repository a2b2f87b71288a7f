/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of other rooms as text, each from the .def that the program works by: nothing is typed again.
 */
#include "cli/topics.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "fabric/criteria.h"
#include "fabric/prices.h"
#include "fabric/qos/models.h"
#include "fabric/reliability.h"
#include "record/event.h"
#include "study/experiments.h"

#define SAID_AT 34 /* column of what is said of the words before it; of longer ones it begins below */

bool cli_topic_is_text(bool json)
{
    if (json) cli_error("help: --json has documents of verbs and of 'fields', not of this list");
    return !json;
}

/* `width` columns of words are there. */
static void print_said(FILE *out, int width, const char *said)
{
    const struct text_style style = cli_style();

    fprintf(out, width < SAID_AT - 1 ? "%*s" : "\n%*s", width < SAID_AT - 1 ? SAID_AT - width : SAID_AT, "");
    text_wrap(out, &style, SAID_AT, SAID_AT, said);
}

static void print_number(FILE *out, uint64_t number, bool assumed, int width)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64 "%s", number, assumed ? "*" : " ");
    fprintf(out, " %*s", width, text);
}

bool cli_list_calls(const char *none, bool json, FILE *out)
{
    const struct text_style style = cli_style();

    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs("Calls in the `value` of a measure of an experiment: docs/experiments.md has what their words stand for.\n\n",
          out);
    for (size_t i = 0; i < probe_kind_count; i++) {
        fputs("  ", out);
        probe_kind_write(&probe_kinds[i], out);
        fprintf(out, "\n%*s", 8, "");
        text_wrap(out, &style, 8, 8, probe_kinds[i].help);
    }
    return true;
}

bool cli_list_events(const char *none, bool json, FILE *out)
{
    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs("Kinds of events: docs/events.md. In brackets what the columns a and b are; * is frequent: in the file of\n"
          "--events alone.\n\n",
          out);
    for (unsigned kind = 0; kind < RECORD_EVENTS; kind++) {
        const struct record_event_name *about = &record_event_names[kind];
        int width = fprintf(out, "  %s%s", about->name, RECORD_RARE & RECORD_KIND(kind) ? "" : " *");
        if (about->a) width += fprintf(out, " (%s%s%s)", about->a, about->b ? ", " : "", about->b ? about->b : "");
        print_said(out, width, about->help);
    }
    return true;
}

bool cli_list_findings(const char *none, bool json, FILE *out)
{
    static const struct {
        const char *id, *severity, *title, *advice;
    } findings[] = {
#define X(name, id, severity, title, advice) {id, #severity, title, advice},
#include "capture/verdict.def"
#undef X
    };
    const struct text_style style = cli_style();

    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs(
        "What 'rocelab capture' can find. ERROR: frames are damaged or connections broke. WARNING: the network or an\n"
        "end does not do what RoCE needs. INFO: worth knowing before believing the numbers.\n",
        out);
    for (size_t f = 0; f < sizeof findings / sizeof findings[0]; f++) {
        fprintf(out, "\n%s (%s): %s\n    ", findings[f].id, findings[f].severity, findings[f].title);
        text_wrap(out, &style, 4, 4, findings[f].advice);
    }
    return true;
}

bool cli_list_criteria(const char *none, bool json, FILE *out)
{
    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs("What `rocelab validate` judges by; `validate:` of a fabric file replaces any.\n\n", out);
    for (size_t c = CRITERION_NONE + 1; c < CRITERIA; c++) {
        const struct criterion_info *info = &criterion_infos[c];
        char value[UNIT_TEXT] = "as the file says";
        if (info->unit == CRITERION_UNIT_COUNT)
            snprintf(value, sizeof value, "%" PRIu64, info->value);
        else if (info->value != CRITERION_UNSAID)
            unit_format(info->unit == CRITERION_UNIT_TIME ? UNIT_TIME : UNIT_SHARE, info->value, value);
        const char *bound = info->bound == CRITERION_BOUND_MOST ? "at most" : "at least";
        print_said(out, fprintf(out, "  %s: %s %s", info->name, bound, value), info->about);
    }
    return true;
}

bool cli_list_prices(const char *none, bool json, FILE *out)
{
    static const char *const units[] = {[PRICE_USD] = "USD", [PRICE_W] = "W", [PRICE_X] = "x"};

    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs("What parts cost and draw; all are assumptions, and `prices:` of a fabric file replaces any.\n\n", out);
    for (uint32_t p = 0; p < price_item_count; p++) {
        const struct price_item *item = &price_items[p];
        char name[PRICE_NAME];
        fprintf(out, "  %-26s %9.10g %-4s %s, %u\n", price_name(item, name), (double)item->milli / 1000,
                units[item->unit], item->source, item->year);
    }
    return true;
}

bool cli_list_rates(const char *none, bool json, FILE *out)
{
    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs("How many of a part fail in a year, and how long a repair takes (assumed); `reliability:` replaces any.\n\n",
          out);
    for (size_t r = 0; r < RATE_PARTS; r++) {
        const struct rate_info *info = &rate_infos[r];
        char share[UNIT_TEXT];
        fprintf(out, "  %-9s %8s %6us  %s: %s\n", info->name, unit_format(UNIT_SHARE, info->failures_ppm, share),
                info->repair_s, rate_basis_names[info->basis], info->source);
    }
    return true;
}

bool cli_list_models(const char *none, bool json, FILE *out)
{
    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs("Models of switches, for `model` in a fabric file and for --model. * is assumed: no source was found that "
          "gives it.\n\n",
          out);
    fprintf(out, "%-17s %13s %7s   %-10s %6s %8s   source\n", "model", "buffer, B ", "cell, B", "capacity", "ports",
            "ns ");
    for (uint32_t m = 0; m < switch_model_count; m++) {
        const struct switch_model *model = &switch_models[m];
        char ports[24] = "any";
        if (model->ports) snprintf(ports, sizeof ports, "%u x %uG", model->ports, model->rate_gbps);
        fprintf(out, "%-17s", model->name);
        print_number(out, model->buffer_bytes, model->buffer_assumed, 13);
        print_number(out, model->cell_bytes, model->cell_assumed, 7);
        fprintf(out, "   %-10s", ports);
        print_number(out, model->ports_most, model->ports_assumed, 6);
        print_number(out, model->latency_ns, model->latency_assumed, 8);
        fprintf(out, "   %s\n", model->source);
    }
    fputs("\nProducts, by a part of the name; the first that is in it holds:\n", out);
    static const struct {
        const char *part, *model;
    } products[] = {
#define PRODUCT(part, model) {part, model},
#include "fabric/qos/products.def"
#undef PRODUCT
    };
    for (size_t p = 0; p < sizeof products / sizeof products[0]; p++)
        fprintf(out, "  %-24s %s\n", products[p].part, products[p].model);
    return true;
}

bool cli_list_variables(const char *none, bool json, FILE *out)
{
    static const struct {
        const char *name, *fallback, *help;
    } variables[] = {
#define VARIABLE(variable, parser, field, fallback, help) {#variable, fallback, help},
#include "live/environment.def"
#undef VARIABLE
    };

    (void)none;
    if (!cli_topic_is_text(json)) return false;
    fputs("Variables that programs under 'rocelab run' are given, with their defaults: docs/live.md. A wrong value is\n"
          "told in one line on standard error, and the device does not open (EINVAL).\n\n",
          out);
    for (size_t v = 0; v < sizeof variables / sizeof variables[0]; v++) {
        const char *fallback = variables[v].fallback;
        print_said(out, fprintf(out, fallback[0] ? "  %s=%s" : "  %s", variables[v].name, fallback), variables[v].help);
    }
    return true;
}

struct said_line {
    const char *pattern, *means;
};
#define STATEMENT(how, pattern, means, ...) {pattern, means},
static const struct said_line eos_system[] = {
#include "config/eos/system.def"
    {NULL, NULL},
};
static const struct said_line eos_interface[] = {
#include "config/eos/interface.def"
    {NULL, NULL},
};
static const struct said_line eos_qos[] = {
#include "config/eos/qos.def"
    {NULL, NULL},
};
static const struct said_line eos_queue[] = {
#include "config/eos/queue.def"
    {NULL, NULL},
};
static const struct said_line nxos_system[] = {
#include "config/nxos/system.def"
    {NULL, NULL},
};
static const struct said_line nxos_interface[] = {
#include "config/nxos/interface.def"
    {NULL, NULL},
};
#undef STATEMENT
#define FOREIGN(pattern, instead) {pattern, instead},
static const struct said_line eos_foreign[] = {
#include "config/eos/foreign.def"
    {NULL, NULL},
};
static const struct said_line nxos_foreign[] = {
#include "config/nxos/foreign.def"
    {NULL, NULL},
};
#undef FOREIGN

static const struct statements {
    const char *system, *of;
    const struct said_line *line;
} statements[] = {
    {"eos", "the switch", eos_system},
    {"eos", "an interface", eos_interface},
    {"eos", "a qos profile, and an interface before its profile", eos_qos},
    {"eos", "a queue", eos_queue},
    {"eos", "another system, or of none (SYN001)", eos_foreign},
    {"nxos", "the switch", nxos_system},
    {"nxos", "an interface", nxos_interface},
    {"nxos", "another system, or of none (SYN001)", nxos_foreign},
};
#define STATEMENTS (sizeof statements / sizeof statements[0])

/* A meaning of "" joins a line to the one before it. */
static void print_statements(const struct said_line *line, FILE *out)
{
    while (line->pattern) {
        const char *means = line->means;
        int width = fprintf(out, "  %s", line->pattern);
        while ((++line)->pattern && line->means[0] == '\0') {
            bool fits = width + 2 + strlen(line->pattern) < TEXT_WIDTH;
            int more = fprintf(out, fits ? ", %s" : ",\n  %s", line->pattern);
            width = fits ? width + more : more - 2;
        }
        print_said(out, width, means);
    }
}

bool cli_list_statements(const char *system, bool json, FILE *out)
{
    bool found = false;

    if (!cli_topic_is_text(json)) return false;
    for (size_t s = 0; s < STATEMENTS; s++) {
        if (system && strcmp(system, statements[s].system) != 0) continue;
        fprintf(out, "%s%s, of %s (* is a word, # a number):\n\n", found ? "\n" : "", statements[s].system,
                statements[s].of);
        print_statements(statements[s].line, out);
        found = true;
    }
    if (!found) cli_error("help: there are statements of eos and nxos, not of '%s'", system);
    return found;
}
