/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab counters: the counters of adapters that run now, in other processes.
 *
 * Each opened device shows its counters in shared memory (src/live); this reads them without disturbing it.  A fabric
 * that is up is asked for its own.
 */
#include "cli/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/programs/counters_nccl.h"
#include "cli/programs/serve.h"
#include "cli/programs/top_sources.h"
#include "cli/programs/up_ask.h"
#include "live/counters.h"
#include "nic/nic.h"
#include "record/event.h"
#include "report/json_out.h"
#include "report/metrics_list.h"
#include "report/rows/rows.h"
#include "study/clock.h"

struct settings {
    const char *fabric; /* NULL: programs under `rocelab run` */
    bool watch, events, list;
    bool sorted;
    enum top_sort sort;
};

static const struct cli_option options[] = {
#include "cli/programs/counters_options.def"
};

static const struct cli_command command = {
    .verb = "counters",
    .operands = "[PID|DEVICE] | --fabric NAME [PORT|NODE]",
    .about =
        "Prints the counters of programs that run under `rocelab run`: all of this user's, or those of a process id or "
        "of a device; or those of the switches and adapters of a fabric that is up. Names are those of mlx5's "
        "hw_counters "
        "where it has one. Programs that have NCCL's profiler plugin loaded show what their collectives wait for.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab counters --fabric pod --watch\n"
            "  rocelab counters --list | grep -A1 pause\n"
            "  rocelab counters --json | jq '.adapters[].counters.out_of_sequence'\n"
            "\nCounters that are 0 are left out of the text, not of the JSON document.\n"
            "\nExit status: 0 done, 1 no such process, device, port or node, 2 wrong use or no such fabric.\n",
};

/* A number is a process id. */
static bool is_pid(const char *which, uint32_t pid, bool *ret)
{
    char *end;

    errno = 0;
    unsigned long number = strtoul(which, &end, 10);
    *ret = number == pid;
    return *end == 0 && errno == 0;
}

static bool wanted(const struct device_counter_set *set, const char *which)
{
    bool same;

    if (which == NULL) return true;
    if (is_pid(which, set->pid, &same)) return same;
    return strcmp(which, set->device) == 0 || strcmp(which, set->ifname) == 0;
}

static bool wanted_nccl(const struct nccl_page *page, const char *which)
{
    bool same;

    return which == NULL || (is_pid(which, page->pid, &same) && same);
}

static void print_head(const struct device_counter_set *set, FILE *out)
{
    const struct text_style style = cli_style();

    fprintf(out, "%s (%s), process %u (", set->device, set->ifname, set->pid);
    text_outside(out, &style, set->program);
    fputs(")\n", out);
}

/* A value of an event, by the name that its kind gives it: statuses have words. */
static void print_value(const struct record_event *event, const char *name, uint64_t value, FILE *out)
{
    if (name == NULL || event->kind == RECORD_XOFF) return; /* no other port of an adapter is the cause */
    if (event->kind == RECORD_FAILED && name == record_event_names[event->kind].b)
        fprintf(out, " %s '%s'", name, nic_status_name((unsigned)value));
    else
        fprintf(out, " %s %" PRIu64, name, value);
}

static void print_events(const struct device_counter_set *set, FILE *out)
{
    uint64_t now = clock_now_ns() * PS_NS;

    print_head(set, out);
    if (set->events == 0) fputs("  no events\n", out);
    for (unsigned i = 0; i < set->events; i++) {
        const struct record_event *event = &set->event[i];
        const struct record_event_name *about = &record_event_names[event->kind];
        uint64_t ago = event->at < now ? (now - event->at) / PS_US : 0;

        fprintf(out, "  %6" PRIu64 ".%06" PRIu64 " s ago  %-10s", ago / 1000000, ago % 1000000, about->name);
        if (event->priority != RECORD_NO_PRIORITY) fprintf(out, " priority %u", event->priority);
        print_value(event, about->a, event->a, out);
        print_value(event, about->b, event->b, out);
        fputc('\n', out);
    }
    if (set->noted > set->events) fprintf(out, "  %" PRIu64 " older ones are not kept\n", set->noted - set->events);
}

static void print_text(const struct device_counter_set *set, bool quiet, FILE *out)
{
    char count[TEXT_COUNT];

    print_head(set, out);
    for (unsigned i = 0; i < set->counters; i++) {
        const struct device_counter *counter = &set->counter[i];

        if (counter->value == 0) continue;
        fprintf(out, "  %-32s %18s", counter->name, text_count(counter->value, count));
        if (!quiet && counter->help != NULL) fprintf(out, "  %s", counter->help);
        fputc('\n', out);
    }
}

static void json_events(struct jout *jout, const struct device_counter_set *set)
{
    jout_open(jout, "events", '[');
    for (unsigned i = 0; i < set->events; i++) {
        const struct record_event *event = &set->event[i];
        const struct record_event_name *about = &record_event_names[event->kind];

        jout_open_line(jout, NULL, '{');
        jout_u64(jout, "at_ps", event->at);
        jout_text(jout, "kind", about->name);
        jout_known(jout, "priority", event->priority, event->priority != RECORD_NO_PRIORITY);
        if (event->kind != RECORD_XOFF && about->a) jout_u64(jout, about->a, event->a);
        if (event->kind == RECORD_FAILED)
            jout_text(jout, about->b, nic_status_name(event->b));
        else if (event->kind != RECORD_XOFF && about->b)
            jout_u64(jout, about->b, event->b);
        jout_close(jout);
    }
    jout_close(jout);
    jout_u64(jout, "events_lost", set->noted - set->events);
}

static void print_json(struct jout *jout, const struct device_counter_set *set, bool events)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/counters_adapter.def"
    if (events) {
        json_events(jout, set);
        jout_close(jout);
        return;
    }
    jout_open(jout, "counters", '{');
    for (unsigned i = 0; i < set->counters; i++)
        jout_u64(jout, set->counter[i].name, set->counter[i].value);
    jout_close(jout);
    jout_close(jout);
}

static unsigned print_json_all(const struct live_programs *programs, const char *which, bool events, FILE *out)
{
    struct jout *jout = jout_begin(out, "counters");
    unsigned shown = 0;

    jout_open(jout, "adapters", '[');
    for (unsigned i = 0; i < programs->sets; i++) {
        if (!wanted(&programs->set[i], which)) continue;
        print_json(jout, &programs->set[i], events);
        shown++;
    }
    jout_close(jout);
    jout_open(jout, "nccl", '[');
    for (unsigned i = 0; !events && i < programs->nccls; i++) {
        if (!wanted_nccl(&programs->nccl[i], which)) continue;
        counters_nccl_json(jout, &programs->nccl[i]);
        shown++;
    }
    jout_close(jout);
    jout_end(jout);
    return shown;
}

void counters_document(const struct live_programs *programs, FILE *out)
{
    print_json_all(programs, NULL, false, out);
}

static unsigned print_all(const struct live_programs *programs, const char *which, const struct cli_common *common,
                          bool events, FILE *out)
{
    unsigned shown = 0;

    if (common->json) return print_json_all(programs, which, events, out);
    for (unsigned i = 0; i < programs->sets; i++) {
        if (!wanted(&programs->set[i], which)) continue;
        if (shown++ > 0) fputc('\n', out);
        if (events)
            print_events(&programs->set[i], out);
        else
            print_text(&programs->set[i], common->quiet, out);
    }
    for (unsigned i = 0; !events && i < programs->nccls; i++) {
        if (!wanted_nccl(&programs->nccl[i], which)) continue;
        if (shown++ > 0) fputc('\n', out);
        counters_nccl_text(&programs->nccl[i], common->quiet, out);
    }
    return shown;
}

static int of_programs(const char *which, const struct cli_common *common, bool events, FILE *out)
{
    struct live_programs programs;
    int error = live_programs_read(&programs);

    if (error < 0) return cli_wrong("counters: %s", strerror(-error));
    unsigned shown = print_all(&programs, which, common, events, out);
    live_programs_release(&programs);
    if (shown > 0) return CLI_DONE;
    if (which != NULL)
        cli_error("counters: no process or device '%s' runs under 'rocelab run'", which);
    else if (!common->quiet)
        cli_error("counters: nothing runs under 'rocelab run' now");
    return CLI_PROBLEMS;
}

static int of_fabric(const char *name, const char *which, const struct cli_common *common, FILE *out)
{
    char words[256], path[UP_PATH];

    snprintf(words, sizeof words, "counters %s %s",
             common->json    ? "json"
             : common->quiet ? "brief"
                             : "text",
             which ? which : "");
    int answer = up_ask("counters", name, words, path, out);
    if (answer == CLI_PROBLEMS) cli_error("counters: the fabric has no port or node '%s'", which ? which : "");
    return answer;
}

static int list(const struct settings *settings, const char *which, const struct cli_common *common, FILE *out)
{
    if (which || settings->fabric || settings->watch || settings->events)
        return cli_wrong("counters: --list is of no process or fabric, and goes with --json alone");
    (common->json ? metrics_list_json : metrics_list_text)(out);
    return CLI_DONE;
}

int verb_counters(int argc, char **argv, FILE *out)
{
    struct settings settings = {0};
    struct cli_common common;
    int first, answer = cli_options(&command, argc, argv, out, &common, &settings, &first);
    const char *which = answer == CLI_GO && first < argc ? argv[first] : NULL;

    if (answer != CLI_GO) return answer;
    if (argc - first > 1)
        return cli_wrong("counters: one %s, not %d", settings.fabric ? "PORT or NODE" : "PID or DEVICE", argc - first);
    if (settings.events && settings.fabric)
        return cli_wrong(
            "counters: --events is for programs under 'rocelab run'; a fabric writes its events where 'rocelab up "
            "--events FILE' says");
    if (settings.sorted && (!settings.watch || settings.events || common.json))
        return cli_wrong("counters: --sort is of the table of --watch");
    if (settings.list) return list(&settings, which, &common, out);
    if (settings.watch) cli_catch_stop(2);
    if (settings.watch && !common.json && !settings.events) {
        struct top_from from = {.fabric = settings.fabric, .which = which, .wanted = wanted};
        return top_run(settings.fabric ? top_of_fabric : top_of_programs, &from, settings.sort, out);
    }
    for (;;) {
        answer = settings.fabric ? of_fabric(settings.fabric, which, &common, out)
                                 : of_programs(which, &common, settings.events, out);
        if (!settings.watch || answer != CLI_DONE || cli_stopped) return answer;
        fflush(out);
        sleep(1); /* an interrupt ends it */
        if (cli_stopped) return CLI_DONE;
        if (!common.json) fputc('\n', out);
    }
}
