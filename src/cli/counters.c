/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab counters: the counters of adapters that run now, in other processes.
 *
 * Each opened device shows its counters in shared memory (src/live); this reads them without disturbing it.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/counters.h"
#include "report/json_out.h"

static const struct cli_option options[] = {
#define OPTION(id, name, argument, help) {CLI_OPTION_##id, name, argument, help},
#include "cli/common_options.def"
#undef OPTION
};

static void more_help(FILE *out)
{
    fputs("Examples:\n"
          "  rocelab counters --json | jq '.adapters[].counters.out_of_sequence'\n"
          "\nCounters that are 0 are left out of the text, not of the JSON document.\n"
          "\nExit status: 0 done, 1 no such process or device runs, 2 wrong use.\n",
          out);
}

static const struct cli_command command = {
    .verb = "counters",
    .operands = "[PID|DEVICE]",
    .about =
        "Prints the counters of programs that run under `rocelab run`: all of this user's, or those of a process id or "
        "of a device. Names are those of mlx5's hw_counters where it has one.",
    .option = options,
    .options = sizeof options / sizeof options[0],
    .more = more_help,
};

static bool wanted(const struct live_counter_set *set, const char *which)
{
    char *end;
    unsigned long pid;

    if (which == NULL) return true;
    errno = 0;
    pid = strtoul(which, &end, 10);
    if (*end == 0 && errno == 0) return pid == set->pid;
    return strcmp(which, set->device) == 0 || strcmp(which, set->ifname) == 0;
}

static void print_text(const struct live_counter_set *set, bool quiet, FILE *out)
{
    const struct text_style style = cli_style();
    char count[TEXT_COUNT];

    fprintf(out, "%s (%s), process %u (", set->device, set->ifname, set->pid);
    text_outside(out, &style, set->program);
    fputs(")\n", out);
    for (unsigned i = 0; i < set->counters; i++) {
        const struct live_counter *counter = &set->counter[i];

        if (counter->value == 0) continue;
        fprintf(out, "  %-32s %18s", counter->name, text_count(counter->value, count));
        if (!quiet && counter->help != NULL) fprintf(out, "  %s", counter->help);
        fputc('\n', out);
    }
}

static void print_json(struct jout *jout, const struct live_counter_set *set)
{
    jout_open_line(jout, NULL, '{');
    jout_u64(jout, "pid", set->pid);
    jout_text(jout, "program", set->program);
    jout_text(jout, "device", set->device);
    jout_text(jout, "interface", set->ifname);
    jout_u64(jout, "slot", set->slot);
    jout_open(jout, "counters", '{');
    for (unsigned i = 0; i < set->counters; i++)
        jout_u64(jout, set->counter[i].name, set->counter[i].value);
    jout_close(jout);
    jout_close(jout);
}

static unsigned print_all(const struct live_counter_set *set, unsigned count, const char *which,
                          const struct cli_common *common, FILE *out)
{
    struct jout document, *jout = common->json ? &document : NULL;
    unsigned shown = 0;

    if (jout != NULL) {
        jout_init(jout, out);
        jout_open(jout, NULL, '{');
        jout_u64(jout, "version", 1);
        jout_text(jout, "kind", "counters");
        jout_open(jout, "adapters", '[');
    }
    for (unsigned i = 0; i < count; i++) {
        if (!wanted(&set[i], which)) continue;
        if (jout != NULL) {
            print_json(jout, &set[i]);
        } else {
            if (shown > 0) fputc('\n', out);
            print_text(&set[i], common->quiet, out);
        }
        shown++;
    }
    if (jout != NULL) {
        jout_close(jout);
        jout_close(jout);
    }
    return shown;
}

int verb_counters(int argc, char **argv, FILE *out)
{
    struct live_counter_set *set;
    struct cli_common common;
    unsigned count, shown;
    int first, answer = cli_options(&command, argc, argv, out, &common, NULL, &first);
    const char *which = answer == CLI_GO && first < argc ? argv[first] : NULL;

    if (answer != CLI_GO) return answer;
    if (argc - first > 1) {
        cli_error("counters: one PID or DEVICE, not %d", argc - first);
        return CLI_WRONG;
    }
    answer = live_counters_read(&set, &count);
    if (answer < 0) {
        cli_error("counters: %s", strerror(-answer));
        return CLI_WRONG;
    }
    shown = print_all(set, count, which, &common, out);
    free(set);
    if (shown > 0) return CLI_DONE;
    if (which != NULL)
        cli_error("counters: no process or device '%s' runs under 'rocelab run'", which);
    else if (!common.quiet)
        cli_error("counters: nothing runs under 'rocelab run' now");
    return CLI_PROBLEMS;
}
