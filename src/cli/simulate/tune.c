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
#include "cli/html.h"
#include "cli/option.h"
#include "cli/simulate/study.h"
#include "cli/simulate/tune_change.h"
#include "cli/simulate/tune_print.h"
#include "cli/source.h"

#define FILE_BYTES ((size_t)256 << 20)

struct settings {
    struct tune tune;
    struct cli_html html;
    const char *out; /* NULL: nothing is kept */
    bool json, list, has_goal;
    struct study_error error;
};

static bool set_goal(void *to, const char *argument)
{
    struct settings *settings = to;
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
    return cli_fail("--for '%s': time, busbw, p99:CLASS or paused, as in --for p99:rdma", argument);
}

static const struct cli_option options[] = {
#include "cli/simulate/tune_options.def"
};

static const struct cli_command command = {
    .verb = "tune",
    .operands = "FABRIC",
    .about =
        "Searches ECN and PFC thresholds, DCQCN parameters, shares and queue pairs for a goal, by simulation on all "
        "processors: what to change, how much it brings on seeds that the search has not seen, and why.",
    CLI_OWN(options),
    .more =
        "\nExamples:\n"
        "  rocelab tune pod64.yaml --for time\n"
        "  rocelab tune pod64.yaml --for p99:rdma --vary ecn,alpha --nos sonic --out tuned\n"
        "  rocelab tune pod64.yaml --for busbw --robust --html tuned.html\n"
        "  rocelab tune pod64.yaml --list\n"
        "\nExit status: 0 the search is over, whether or not tuning helps; 2 wrong use, unreadable input, a goal or "
        "key\n"
        "that this file has no place for, too few runs, or interrupted.\n",
};

static int report(struct settings *settings, FILE *out)
{
    const struct tune *tune = &settings->tune;
    int status = CLI_DONE;
    bool configs = false;

    if (settings->out && (!cli_write_in(settings->out, "tune.json", tune_json, tune) ||
                          !tune_change_write(tune, settings->out, &configs)))
        status = CLI_WRONG;
    if (!cli_html_end(&settings->html, tune_json, tune)) status = CLI_WRONG;
    if (settings->json)
        tune_json(tune, out);
    else
        tune_print(tune, out);
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
