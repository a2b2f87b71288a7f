/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sweep FILE --vary PATH=VALUES ...: a fabric file run with every combination of values, and one table.
 *
 * The file is read once; values are replaced in what it says, not in its text, so that the loader judges every
 * combination and names the place.  A file that is wrong as it is, or a path that leads nowhere, ends the sweep before
 * it begins; a combination that is refused is a row.
 */
#include "study/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/cli.h"
#include "cli/source.h"
#include "cli/sweep_print.h"

#define FILE_BYTES (256u << 20)

enum sweep_option {
    SWEEP_OPTIONS_BEGIN = CLI_OPTION_OWN - 1,
#define OPTION(id, name, argument, help) SWEEP_OPTION_##id,
#include "cli/sweep_options.def"
#undef OPTION
};

static const struct cli_option options[] = {
#define OPTION(id, name, argument, help) {SWEEP_OPTION_##id, name, argument, help},
#include "cli/sweep_options.def"
#undef OPTION
#define OPTION(id, name, argument, help) {CLI_OPTION_##id, name, argument, help},
#include "cli/common_options.def"
#undef OPTION
};

struct settings {
    struct sweep sweep;
    struct sweep_view view;
    const char *out; /* NULL: nothing is kept */
    struct study_error error;
};

static bool set_option(void *into, int id, const char *argument)
{
    struct settings *settings = into;
    struct sweep *sweep = &settings->sweep;

    switch (id) {
    case SWEEP_OPTION_VARY:
    case SWEEP_OPTION_WITH:
        if (sweep_vary(&sweep->grid, argument, id == SWEEP_OPTION_WITH)) return true;
        cli_study_error(&settings->error);
        return false;
    case SWEEP_OPTION_SHOW:
        return sweep_show(&settings->view, argument);
    case SWEEP_OPTION_OUT:
        settings->out = argument;
        return true;
    case SWEEP_OPTION_JOBS:
        if (!cli_number("jobs", argument, &sweep->jobs)) return false;
        if (sweep->jobs > 0 && sweep->jobs <= 1024) return true;
        cli_error("--jobs '%s': 1 to 1024", argument);
        return false;
    case SWEEP_OPTION_CSV:
        settings->view.csv = true;
        return true;
    default:
        CHECK(false);
    }
}

static void more_help(FILE *out)
{
    const struct text_style style = cli_style();

    text_wrap(
        out, &style, 0, 2,
        "Values: 1,2,8 is a list; 100KB..2MB doubles, x4 behind it multiplies, /5 divides into five, +100KB adds.");
    text_wrap(out, &style, 0, 2,
              "Paths: keys divided by dots; in a list a number, a name or a job's kind: jobs.0.size, "
              "classes.rdma.ecn.min.");
    fputs(
        "\nExamples:\n"
        "  rocelab sweep pod64.yaml --vary classes.rdma.ecn.min=100KB..2MB\n"
        "  rocelab sweep pod64.yaml --vary classes.rdma.ecn.min=50KB,500KB --with classes.rdma.ecn.max=150KB,1500KB\n"
        "  rocelab sweep pod64.yaml --vary nics.congestion=dcqcn/connectx,hpcc/paper --vary seed=1..5+1 --out runs\n\n",
        out);
    sweep_list_columns(out);
    fputs("\nExit status: 0 every point has run and its jobs ended, or the time asked for was reached; 1 a point was\n"
          "refused, or its jobs did not end; 2 wrong use, unreadable input, or interrupted.\n",
          out);
}

static const struct cli_command command = {
    .verb = "sweep",
    .operands = "FILE",
    .about = "Runs a fabric file in virtual time with every combination of the values given, on all processors, and "
             "prints one table. With --out an interrupted sweep goes on where it stopped.",
    .option = options,
    .options = sizeof options / sizeof options[0],
    .more = more_help,
    .set = set_option,
};

/* All of a file, terminated; NULL after a message. */
static char *read_all(const char *path)
{
    if (!cli_readable(path)) return NULL;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t size = 1 << 16, used = 0;
    char *text = file ? malloc(size) : NULL;

    while (text && used < FILE_BYTES) {
        size_t got = fread(text + used, 1, size - 1 - used, file);
        used += got;
        if (got == 0) break;
        if (used < size - 1) continue;
        char *grown = realloc(text, size * 2);
        if (grown == NULL) free(text);
        text = grown;
        size *= 2;
    }
    bool failed = file == NULL || ferror(file);
    if (failed || text == NULL || used >= FILE_BYTES || memchr(text, 0, used)) {
        cli_error("%s: %s", path, failed ? strerror(errno) : "not a fabric file");
        free(text);
        text = NULL;
    } else {
        text[used] = '\0';
    }
    if (file && file != stdin) fclose(file);
    return text;
}

static bool write_file(const struct settings *settings, const char *name, bool json)
{
    const struct sweep *sweep = &settings->sweep;
    char path[4096];
    FILE *file = NULL;

    if (snprintf(path, sizeof path, "%s/%s", settings->out, name) < (int)sizeof path) file = fopen(path, "w");
    if (file == NULL) {
        cli_error("%s/%s: %s", settings->out, name, strerror(errno));
        return false;
    }
    bool good = true;
    if (json)
        good = sweep_json(sweep, file);
    else
        sweep_csv(sweep, file);
    if (ferror(file)) good = false;
    if (fclose(file) != 0) good = false;
    if (!good) cli_error("%s/%s: not all of it could be written", settings->out, name);
    return good;
}

static int report(const struct settings *settings, FILE *out)
{
    const struct sweep *sweep = &settings->sweep;
    const struct sweep_view *view = &settings->view;
    int status = CLI_DONE;

    for (uint32_t i = 0; i < sweep->points; i++)
        if (sweep_note(&sweep->row[i])[0]) status = CLI_PROBLEMS;
    if (settings->out && (!write_file(settings, "sweep.csv", false) || !write_file(settings, "sweep.json", true)))
        status = CLI_WRONG;
    if (view->json && !sweep_json(sweep, out)) status = CLI_WRONG;
    if (view->csv) sweep_csv(sweep, out);
    if (!view->json && !view->csv) sweep_print(sweep, view, out);
    return status;
}

static void say_stopped(const struct settings *settings)
{
    const struct sweep *sweep = &settings->sweep;

    if (settings->out)
        cli_error("interrupted: %u of %u points are done and kept in %s; the same command goes on from there",
                  sweep->done.done, sweep->points, settings->out);
    else
        cli_error("interrupted: %u of %u points were done; with --out they would have been kept", sweep->done.done,
                  sweep->points);
}

static int run(struct settings *settings, FILE *out)
{
    struct sweep *sweep = &settings->sweep;
    uint64_t points = sweep_points(&sweep->grid);
    int status = CLI_WRONG;

    if (points > SWEEP_POINTS) {
        cli_error("sweep: more than %u points", SWEEP_POINTS);
        return CLI_WRONG;
    }
    sweep->points = (uint32_t)points;
    sweep->text = read_all(sweep->path);
    if (strcmp(sweep->path, "-") == 0) sweep->path = "<stdin>";
    if (sweep->text && sweep_check(sweep) &&
        (settings->out == NULL || cache_open(&sweep->cache, settings->out, &settings->error))) {
        cli_catch_stop(1);
        if (sweep_run(sweep))
            status = report(settings, out);
        else if (cli_stopped)
            say_stopped(settings);
    }
    cli_study_error(&settings->error);
    sweep_release(sweep);
    free(sweep->text);
    return status;
}

int verb_sweep(int argc, char **argv, FILE *out)
{
    struct settings settings = {
        .sweep = {.sim = {.until = PS_NEVER}, .seeds = 1, .stopped = &cli_stopped, .error = &settings.error}};
    struct sweep *sweep = &settings.sweep;
    struct cli_common common;
    int first, answer;

    sweep->grid.error = &settings.error;
    arena_init(&sweep->grid.arena, 0);
    answer = cli_options(&command, argc, argv, out, &common, &settings, &first);
    if (answer == CLI_GO) {
        settings.view.json = common.json;
        sweep->quiet = common.quiet;
        answer = CLI_WRONG;
        if (first + 1 != argc) {
            cli_error("sweep: %s; see 'rocelab help sweep'", first == argc ? "which file?" : "one file at a time");
        } else if (sweep->grid.axes == 0) {
            cli_error("sweep: what is to be varied? --vary classes.rdma.ecn.min=100KB..2MB, for instance");
        } else if (settings.view.json && settings.view.csv) {
            cli_error("sweep: --json and --csv both want standard output");
        } else {
            sweep->path = argv[first];
            answer = run(&settings, out);
        }
    }
    arena_release(&sweep->grid.arena);
    return answer;
}
