/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab tune FABRIC --for GOAL: the search for thresholds and rates that suit this switch, these cables and this
 * traffic.
 *
 * The search is src/tune; here are its options, and what is written of it.
 */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/cli.h"
#include "cli/html.h"
#include "cli/simulate/study.h"
#include "cli/simulate/tune_change.h"
#include "cli/simulate/tune_print.h"
#include "cli/source.h"

#define FILE_BYTES ((size_t)256 << 20)
#define RUNS_MOST 1000000u

enum tune_option {
    TUNE_OPTIONS_BEGIN = CLI_OPTION_OWN - 1,
#define OPTION(id, name, argument, help) TUNE_OPTION_##id,
#include "cli/simulate/tune_options.def"
#undef OPTION
};

static const struct cli_option options[] = {
#define OPTION(id, name, argument, help) {TUNE_OPTION_##id, name, argument, help},
#include "cli/simulate/tune_options.def"
#undef OPTION
#define OPTION(id, name, argument, help) {CLI_OPTION_##id, name, argument, help},
#include "cli/common_options.def"
#undef OPTION
};

struct settings {
    struct tune tune;
    struct cli_html html;
    const char *out; /* NULL: nothing is kept */
    bool json, list, has_goal;
    struct study_error error;
};

static bool set_goal(struct settings *settings, const char *argument)
{
    struct tune *tune = &settings->tune;

    settings->has_goal = true;
    tune->class_name = NULL;
    for (int goal = TUNE_FOR_TIME; goal <= TUNE_FOR_PAUSED; goal++) {
        size_t length = strlen(tune_goal_names[goal]);
        if (strncmp(argument, tune_goal_names[goal], length) != 0) continue;
        tune->goal = (enum tune_goal)goal;
        if (goal != TUNE_FOR_P99 && argument[length] == '\0') return true;
        if (goal == TUNE_FOR_P99 && argument[length] == ':' && argument[length + 1]) {
            tune->class_name = argument + length + 1;
            return true;
        }
    }
    cli_error("--for '%s': time, busbw, p99:CLASS or paused, as in --for p99:rdma", argument);
    return false;
}

static bool set_nos(struct settings *settings, const char *argument)
{
    const struct config_format *nos = config_format_find(argument);
    char names[CONFIG_NAMES];

    settings->tune.nos = nos;
    if (nos && nos->emit) return true;
    cli_error("--nos '%s': %s (host: what hosts can say alone)", argument,
              config_format_names(CONFIG_WRITTEN, "or", names));
    return false;
}

static bool set_runs(struct settings *settings, const char *argument)
{
    if (!cli_number("runs", argument, &settings->tune.runs)) return false;
    if (settings->tune.runs > 0 && settings->tune.runs <= RUNS_MOST) return true;
    cli_error("--runs '%s': 1 to %u", argument, RUNS_MOST);
    return false;
}

static bool set_time(struct settings *settings, const char *argument)
{
    uint64_t ps;

    if (!cli_quantity(UNIT_TIME, "time", argument, &ps)) return false;
    settings->tune.time_ns = ps / 1000;
    if (settings->tune.time_ns) return true;
    cli_error("--time '%s': longer than that, as in 300s", argument);
    return false;
}

static bool set_option(void *into, int id, const char *argument)
{
    struct settings *settings = into;

    switch (id) {
    case TUNE_OPTION_FOR:
        return set_goal(settings, argument);
    case TUNE_OPTION_VARY:
        settings->tune.vary = argument;
        return true;
    case TUNE_OPTION_RUNS:
        return set_runs(settings, argument);
    case TUNE_OPTION_TIME:
        return set_time(settings, argument);
    case TUNE_OPTION_NOS:
        return set_nos(settings, argument);
    case TUNE_OPTION_ROBUST:
        settings->tune.robust = true;
        return true;
    case TUNE_OPTION_OUT:
        settings->out = argument;
        return true;
    case TUNE_OPTION_FORCE:
        settings->tune.cache.force = true;
        return true;
    case TUNE_OPTION_JOBS:
        return cli_jobs(argument, &settings->tune.jobs);
    case TUNE_OPTION_HTML:
        return cli_html_set(&settings->html, argument);
    case TUNE_OPTION_LIST:
        return settings->list = true;
    default:
        CHECK(false);
    }
}

static void more_help(FILE *out)
{
    fputs("\nExamples:\n"
          "  rocelab tune pod64.yaml --for time\n"
          "  rocelab tune pod64.yaml --for p99:rdma --vary ecn,alpha --nos sonic --out tuned\n"
          "  rocelab tune pod64.yaml --for busbw --robust --html tuned.html\n"
          "  rocelab tune pod64.yaml --list\n"
          "\nExit status: 0 the search is over, whether or not tuning helps; 2 wrong use, unreadable input, a goal or "
          "key\n"
          "that this file has no place for, too few runs, or interrupted.\n",
          out);
}

static const struct cli_command command = {
    .verb = "tune",
    .operands = "FABRIC",
    .about =
        "Searches ECN and PFC thresholds, DCQCN parameters, shares and queue pairs for a goal, by simulation on all "
        "processors: what to change, how much it brings on seeds that the search has not seen, and why.",
    .option = options,
    .options = sizeof options / sizeof options[0],
    .more = more_help,
    .set = set_option,
};

static bool write_json(const void *context, FILE *out)
{
    return tune_json(context, out);
}

static int report(struct settings *settings, FILE *out)
{
    const struct tune *tune = &settings->tune;
    int status = CLI_DONE;
    bool configs = false;

    if (settings->out && (!cli_write_in(settings->out, "tune.json", write_json, tune) ||
                          !tune_change_write(tune, settings->out, &configs)))
        status = CLI_WRONG;
    if (!cli_html_end(&settings->html, write_json, tune)) status = CLI_WRONG;
    if (settings->json && !tune_json(tune, out)) status = CLI_WRONG;
    if (!settings->json) tune_print(tune, out);
    if (!settings->json && status == CLI_DONE) tune_print_next(tune, settings->out, configs, out);
    return status;
}

static int search(struct settings *settings, FILE *out)
{
    struct tune *tune = &settings->tune;
    int status = CLI_WRONG;

    if (settings->out && !cache_open(&tune->cache, settings->out, &settings->error)) return CLI_WRONG;
    cli_catch_stop(1);
    if (tune_search(tune)) {
        status = report(settings, out);
        if (settings->out && !tune->quiet) cli_study_kept(&tune->cache, &tune->rows, settings->out, "runs");
    } else if (cli_stopped) {
        const struct pool_done done = {tune->spent, tune->reused};
        cli_study_stopped(&done, tune->runs, settings->out, "runs");
    }
    return status;
}

static int run(struct settings *settings, FILE *out)
{
    struct tune *tune = &settings->tune;
    int status = CLI_WRONG;

    if (!cli_read_text(tune->path, FILE_BYTES, &tune->text)) return CLI_WRONG;
    if (strcmp(tune->path, "-") == 0) tune->path = "<stdin>";
    if (tune_open(tune)) {
        if (settings->list) tune_print_list(tune, out);
        status = settings->list ? CLI_DONE : search(settings, out);
    }
    cli_study_error(&settings->error);
    tune_release(tune);
    free(tune->text);
    return status;
}

int verb_tune(int argc, char **argv, FILE *out)
{
    struct settings *settings = calloc(1, sizeof *settings);
    struct cli_common common;
    int first, answer;

    if (settings == NULL) {
        cli_error("not enough memory");
        return CLI_WRONG;
    }
    settings->tune.stopped = &cli_stopped;
    settings->tune.error = &settings->error;
    answer = cli_options(&command, argc, argv, out, &common, settings, &first);
    if (answer == CLI_GO) {
        settings->json = common.json;
        settings->tune.quiet = common.quiet;
        answer = CLI_WRONG;
        if (first + 1 != argc) {
            cli_error("tune: %s; see 'rocelab help tune'", first == argc ? "which file?" : "one file at a time");
        } else if (!settings->has_goal && !settings->list) {
            cli_error("tune: for what? --for time, busbw, p99:CLASS or paused");
        } else if (settings->tune.cache.force && settings->out == NULL) {
            cli_error("tune: --force runs again what --out DIR has kept; say where");
        } else {
            settings->tune.path = argv[first];
            if (cli_html_begin(&settings->html, argc, argv)) answer = run(settings, out);
            cli_html_release(&settings->html);
        }
    }
    free(settings);
    return answer;
}
