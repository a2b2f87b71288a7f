/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sweep FILE --vary PATH=VALUES ...: a fabric file run with every combination of values, and one table.
 *
 * The file is read once; values are replaced in what it says, not in its text, so that the loader judges every
 * combination and names the place.  A file that is wrong as it is, or a path that leads nowhere, ends the sweep before
 * it begins; a combination that is refused is a row.
 */
#include "study/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/html.h"
#include "cli/option.h"
#include "cli/simulate/study.h"
#include "cli/simulate/sweep_print.h"
#include "cli/simulate/sweep_script.h"
#include "cli/source.h"

#define FILE_BYTES ((size_t)256 << 20)

struct settings {
    struct sweep sweep;
    struct sweep_view view;
    struct sweep_script script;
    struct cli_html html;
    const char *out; /* NULL: nothing is kept */
    bool many;       /* --seeds was given */
    struct study_error error;
};

static bool add_axis(struct settings *settings, const char *argument, bool with)
{
    if (sweep_vary(&settings->sweep.grid, argument, with)) return true;
    cli_study_error(&settings->error);
    return false;
}

static bool add_vary(void *settings, const char *argument)
{
    return add_axis(settings, argument, false);
}

static bool add_with(void *settings, const char *argument)
{
    return add_axis(settings, argument, true);
}

static const struct cli_option options[] = {
#include "cli/simulate/sweep_options.def"
};

static void more_help(FILE *out)
{
    const struct text_style style = cli_style();

    text_wrap(
        out, &style, 0, 2,
        "Values: 1,2,8 is a list; 100KB..2MB doubles, x4 behind it multiplies, /5 divides into five, +100KB adds.");
    text_wrap(out, &style, 0, 2, "NAME=VALUE gives a value a name, which tables and charts show instead.");
    text_wrap(out, &style, 0, 2,
              "Paths: keys divided by dots; in a list a number, a name or a job's kind: jobs.0.size, "
              "classes.rdma.ecn.min.");
    fputs("\nExamples:\n"
          "  rocelab sweep pod64.yaml --vary classes.rdma.ecn.min=100KB..1MB\n"
          "  rocelab sweep pod64.yaml --vary classes.rdma.ecn.min=50KB,500KB --with classes.rdma.ecn.max=150KB,1500KB\n"
          "  rocelab sweep pod64.yaml --vary nics.congestion=dcqcn/connectx,hpcc/paper --seeds 5 --out runs\n"
          "  rocelab sweep fabric.yaml --script pair.up --vary links.host.rate=100G,400G\n\n",
          out);
    sweep_list_columns(out);
    fputs("\nExit status: 0 every point has run and its jobs ended, or the stop time of the file was reached; 1 a "
          "point was\n"
          "refused, or its jobs did not end; 2 wrong use, unreadable input, or interrupted: the points that are done "
          "are printed\n"
          "all the same.\n",
          out);
}

static const struct cli_command command = {
    .verb = "sweep",
    .operands = "FILE",
    .about = "Runs a fabric file in virtual time with every combination of the values given, on all processors, and "
             "prints one table. With --out an interrupted sweep goes on where it stopped.",
    CLI_OWN(options),
    .more_by = more_help,
};

/* All of a file; NULL after a message. */
static char *read_all(const char *path)
{
    char *text = NULL;

    return cli_read_text(path, FILE_BYTES, &text) ? text : NULL;
}

static bool write_csv(const void *context, FILE *out)
{
    const struct settings *settings = context;

    sweep_csv(&settings->sweep, &settings->view, out);
    return true;
}

static bool write_json(const void *context, FILE *out)
{
    const struct settings *settings = context;

    sweep_json(&settings->sweep, &settings->view, out);
    return true;
}

static bool any_point(const struct sweep *sweep)
{
    for (uint32_t p = 0; sweep->row && p < sweep->points; p++)
        if (sweep_has(sweep, p)) return true;
    return false;
}

/* Of each point. */
static void summarise(struct settings *settings)
{
    const struct sweep *sweep = &settings->sweep;
    struct row_summary *summary = calloc(sweep->points, sizeof *summary);

    settings->view.summary = summary;
    for (uint32_t p = 0; p < sweep->points; p++)
        if (sweep_has(sweep, p)) row_summarise(&sweep->row[p * sweep->seeds], sweep->seeds, &summary[p]);
}

static int report(struct settings *settings, FILE *out)
{
    const struct sweep *sweep = &settings->sweep;
    const struct sweep_view *view = &settings->view;
    int status = CLI_DONE;

    for (uint32_t i = 0; i < sweep->points * sweep->seeds; i++)
        if (sweep->row[i].there && sweep_note(&sweep->row[i])[0]) status = CLI_PROBLEMS;
    if (view->partial) status = CLI_WRONG;
    if (settings->out && (!cli_write_in(settings->out, "sweep.csv", write_csv, settings) ||
                          !cli_write_in(settings->out, "sweep.json", write_json, settings)))
        status = CLI_WRONG;
    if (!cli_html_end(&settings->html, write_json, settings)) status = CLI_WRONG;
    if (view->json) sweep_json(sweep, view, out);
    if (view->csv) sweep_csv(sweep, view, out);
    if (!view->json && !view->csv) sweep_print(sweep, view, out);
    return status;
}

/* Seeds that are varied, and varied again by --seeds, would be in several points. */
static bool seeds_fit(const struct settings *settings)
{
    const struct sweep_grid *grid = &settings->sweep.grid;

    for (uint32_t i = 0; settings->many && i < grid->axes; i++) {
        if (strcmp(grid->axis[i].path, "seed") != 0) continue;
        return cli_fail("sweep: --seeds and --vary seed: say one of them");
    }
    return true;
}

static int run(struct settings *settings, FILE *out)
{
    struct sweep *sweep = &settings->sweep;
    uint64_t points = sweep_points(&sweep->grid);
    int status = CLI_WRONG;

    if (points > SWEEP_POINTS || points * sweep->seeds > SWEEP_POINTS)
        return cli_wrong("sweep: more than %u %s", SWEEP_POINTS, points > SWEEP_POINTS ? "points" : "runs");
    sweep->points = (uint32_t)points;
    sweep->text = read_all(sweep->path);
    if (strcmp(sweep->path, "-") == 0) sweep->path = "<stdin>";
    if (sweep->text && sweep_check(sweep) &&
        (settings->out == NULL || cache_open(&sweep->cache, settings->out, &settings->error))) {
        cli_catch_stop(1);
        const char *noun = settings->many ? "runs" : "points";
        bool whole = sweep_run(sweep);
        settings->view.partial = !whole && cli_stopped && any_point(sweep);
        if (whole || settings->view.partial) {
            if (settings->many) summarise(settings);
            status = report(settings, out);
            if (whole && settings->out && !sweep->quiet) cli_study_rows(&sweep->rows, settings->out, noun);
        }
        if (!whole && cli_stopped) {
            fflush(out);
            cli_study_stopped(&sweep->done, sweep->points * sweep->seeds, settings->out, noun);
        }
    }
    cli_study_error(&settings->error);
    for (uint32_t p = 0; settings->view.summary && p < sweep->points; p++)
        row_summary_release(&settings->view.summary[p]);
    free(settings->view.summary);
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
            cli_error("sweep: what is to be varied? --vary classes.rdma.ecn.min=100KB..1MB, for instance");
        } else if (settings.view.json && settings.view.csv) {
            cli_error("sweep: --json and --csv both want standard output");
        } else if (sweep->cache.force && settings.out == NULL) {
            cli_error("sweep: --force runs again what --out DIR has kept; say where");
        } else if (seeds_fit(&settings)) {
            sweep->path = argv[first];
            for (uint32_t i = 0; i < settings.view.showns; i++)
                sweep->small |=
                    settings.view.shown[i].column == MEASURE_SMALL || settings.view.shown[i].column == MEASURE_SMALL4K;
            if ((settings.script.path == NULL || sweep_script_begin(&settings.script, sweep)) &&
                cli_html_begin(&settings.html, argc, argv))
                answer = run(&settings, out);
            cli_html_release(&settings.html);
            sweep_script_end(&settings.script);
        }
    }
    arena_release(&sweep->grid.arena);
    return answer;
}
