/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab experiments [ID...]: runs published results again and says how near the simulator comes.
 *
 * Which there are is what the folder holds: ROCELAB_EXPERIMENTS, else share/rocelab/experiments beside the program's
 * bin, else the folder of the sources it was built from.  A table of an experiment is printed when it is done, the
 * longer ones take a while.
 */
#include "study/experiments.h"
#include "report/rows/rows.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/option.h"
#include "cli/place.h"
#include "cli/simulate/study.h"
#include "report/sim_report.h"
#include "report/table.h"

#define SUFFIX ".yaml"
#define CELL 64

struct settings {
    struct cli_common common;
    bool fast, list;
    uint32_t seeds, jobs; /* 0: as the file says; as many as processors */
    const char *out;      /* NULL: nothing is kept */
    struct cache cache;
    struct cache_count rows;
    struct experiment_options run;
};

struct tally {
    uint32_t verdict[VERDICT_MISS + 1];
};

static const char *const verdict_names[] = {"pass", "explained", "miss"};

static const struct cli_option options[] = {
#include "cli/simulate/experiments_options.def"
};

static const struct cli_command command = {
    .verb = "experiments",
    .operands = "[ID...]",
    .about = "Runs published results again in the simulator. Prints for each what was published, what was measured, "
             "the tolerance and the verdict.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab experiments --quick\n"
            "  rocelab experiments E02 E10\n"
            "  rocelab experiments --json | jq '.experiments[].measures[]'\n"
            "\nExit status: 0 everything is as published, or its miss is explained; 1 something misses; 2 wrong use,\n"
            "unreadable input, or interrupted.\n",
};

/* Finding them. */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool find_folder(char folder[PATH_MAX])
{
    const char *named = getenv("ROCELAB_EXPERIMENTS");

    if (named && *named) return snprintf(folder, PATH_MAX, "%s", named) < PATH_MAX && is_folder(folder);
    return cli_share("experiments", folder);
}

static int is_experiment(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > strlen(SUFFIX) && entry->d_name[0] != '.' &&
           strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0;
}

struct found {
    struct dirent **entry;
    int count;
};

static const char *entry_name(const void *list, size_t index)
{
    return ((struct dirent *const *)list)[index]->d_name;
}

static bool is_named(const struct dirent *entry, char **argv, int argc)
{
    size_t length = strlen(entry->d_name) - strlen(SUFFIX);

    for (int i = 0; i < argc; i++)
        if (strlen(argv[i]) == length && strncasecmp(argv[i], entry->d_name, length) == 0) return true;
    return argc == 0;
}

static bool all_there(const struct found *found, char **argv, int argc)
{
    bool good = true;

    for (int i = 0; i < argc; i++) {
        bool there = false;
        for (int e = 0; e < found->count; e++)
            there |= is_named(found->entry[e], &argv[i], 1);
        if (there) continue;
        char name[NAME_MAX + 1];
        snprintf(name, sizeof name, "%s%s", argv[i], SUFFIX);
        const char *near = cli_nearest(name, entry_name, found->entry, (size_t)found->count);
        if (near)
            cli_error("no experiment '%s': did you mean '%.*s'?", argv[i], (int)(strlen(near) - strlen(SUFFIX)), near);
        else
            cli_error("no experiment '%s'; 'rocelab experiments --list' lists them", argv[i]);
        good = false;
    }
    return good;
}

/* Saying what came of them. */

static const char *number_text(double value, char buf[CELL])
{
    double size = value < 0 ? -value : value;

    if (!isfinite(value))
        snprintf(buf, CELL, "none");
    else if (size >= 1000 && size < 1e9)
        snprintf(buf, CELL, "%.0f", value);
    else
        snprintf(buf, CELL, "%.4g", value);
    return buf;
}

/* Each explanation once, after what it explains. */
static void print_because(FILE *out, const struct text_style *style, const struct experiment *experiment)
{
    for (uint32_t i = 0; i < experiment->measures; i++) {
        const struct experiment_measure *measure = &experiment->measure[i];
        bool said = false;
        if (measure->verdict != VERDICT_EXPLAINED) continue;
        for (uint32_t j = 0; j < i; j++)
            said |= experiment->measure[j].verdict == VERDICT_EXPLAINED &&
                    strcmp(experiment->measure[j].because, measure->because) == 0;
        if (said) continue;
        for (uint32_t j = i; j < experiment->measures; j++) {
            const struct experiment_measure *also = &experiment->measure[j];
            if (also->verdict == VERDICT_EXPLAINED && strcmp(also->because, measure->because) == 0)
                fprintf(out, "  %s:\n", also->what);
        }
        fputs("    ", out);
        text_wrap(out, style, 4, 4, measure->because);
    }
}

static void print_experiment(FILE *out, const struct settings *settings, const struct experiment *experiment)
{
    const struct text_style style = cli_style();
    struct table table;
    char measured[CELL], half[CELL], limit[48];

    text_in(out, &style, TEXT_BOLD, "%s  %s\n", experiment->id, experiment->title);
    TABLE_BEGIN(&table, LEFT("what", .min_width = 24), RIGHT("published"), RIGHT("measured"),
                RIGHT("+-95%", .optional = true), RIGHT("tolerance"), LEFT("verdict"));
    for (uint32_t i = 0; i < experiment->measures; i++) {
        const struct experiment_measure *measure = &experiment->measure[i];
        TABLE_ROW(&table, measure->what, measure->published, number_text(measure->measured, measured),
                  isnan(measure->half) ? "" : number_text(measure->half, half), limit_text(&measure->limit, limit),
                  verdict_names[measure->verdict]);
    }
    table_end(&table, out, &style, 2);
    if (!settings->common.quiet) print_because(out, &style, experiment);
    fputc('\n', out);
    fflush(out);
}

static void json_number(struct jout *jout, const char *key, double value)
{
    if (isfinite(value) && value >= 0 && value < 1e12)
        jout_fixed(jout, key, (uint64_t)(value * 1e6 + 0.5), 6);
    else
        jout_null(jout, key);
}

static void json_measure(struct jout *jout, const struct experiment_measure *measure, bool seeds)
{
    char limit[48];

    jout_open_line(jout, NULL, '{');
#include "report/rows/experiment_measure.def"
    jout_close(jout);
}

static void json_experiment(struct jout *jout, const struct experiment *experiment, bool seeds)
{
    jout_open(jout, NULL, '{');
#include "report/rows/experiment.def"
    jout_close(jout);
}

/* What is known of an experiment that is not run. */
static void json_listed(struct jout *jout, const struct experiment *experiment)
{
    jout_open_line(jout, NULL, '{');
    jout_text(jout, "id", experiment->id);
    jout_text(jout, "title", experiment->title);
    jout_text(jout, "source", experiment->source);
    jout_bool(jout, "quick", experiment->quick);
    jout_close(jout);
}

static int run_one(const struct settings *settings, struct experiment *experiment, struct jout *jout, FILE *out,
                   struct tally *tally)
{
    if (settings->list) {
        if (jout)
            json_listed(jout, experiment);
        else
            fprintf(out, "%-5s %-6s %s\n", experiment->id, experiment->quick ? "quick" : "", experiment->title);
        return CLI_DONE;
    }
    struct study_error error = {0};
    if (experiment_execute(experiment, &settings->run, &error) != 0 ||
        experiment_judge(experiment, &settings->run, &error) != 0) {
        cli_study_error(&error);
        return CLI_WRONG;
    }
    for (uint32_t i = 0; i < experiment->measures; i++)
        tally->verdict[experiment->measure[i].verdict]++;
    if (jout)
        json_experiment(jout, experiment, settings->seeds > 0);
    else
        print_experiment(out, settings, experiment);
    return CLI_DONE;
}

/* The folder of --out is there; false after a message. */
static bool ready(struct settings *settings)
{
    struct study_error error = {0};

    if (settings->cache.force && settings->out == NULL)
        return cli_fail("experiments: --force runs again what --out DIR has kept; say where");
    if (settings->out == NULL || settings->list || cache_open(&settings->cache, settings->out, &error)) return true;
    cli_study_error(&error);
    return false;
}

static int run_all(const struct settings *settings, const char *folder, const struct found *found, char **argv,
                   int argc, FILE *out)
{
    struct jout *jout = settings->common.json ? jout_begin(out, "experiments") : NULL;
    struct tally tally = {0};
    int status = CLI_DONE, done = 0;

    if (jout) jout_open(jout, "experiments", '[');
    cli_catch_stop(1);
    for (int i = 0; i < found->count && !cli_stopped; i++) {
        struct study_error error = {0};
        struct experiment *experiment;
        char path[PATH_MAX];
        if (!is_named(found->entry[i], argv, argc)) continue;
        bool fits = snprintf(path, sizeof path, "%s/%s", folder, found->entry[i]->d_name) < (int)sizeof path;
        if (!fits) cli_error("%s/%s: the name is too long", folder, found->entry[i]->d_name);
        if (!fits || experiment_load(path, &experiment, &error) != 0) {
            cli_study_error(&error);
            status = CLI_WRONG;
            continue;
        }
        if ((!settings->fast || experiment->quick) && run_one(settings, experiment, jout, out, &tally) != CLI_DONE)
            status = CLI_WRONG;
        else
            done++;
        experiment_free(experiment);
    }
    if (jout) {
        jout_close(jout);
        for (int v = 0; v <= VERDICT_MISS; v++)
            jout_u64(jout, verdict_names[v], tally.verdict[v]);
        jout_end(jout);
    } else if (!settings->list) {
        fprintf(out, "%" PRIu32 " pass, %" PRIu32 " explained, %" PRIu32 " miss\n", tally.verdict[VERDICT_PASS],
                tally.verdict[VERDICT_EXPLAINED], tally.verdict[VERDICT_MISS]);
    }
    if (settings->out && !settings->common.quiet) cli_study_rows(&settings->rows, settings->out, "runs");
    if (cli_stopped) return cli_wrong("interrupted: %d experiment%s done", done, done == 1 ? " was" : "s were");
    if (status == CLI_DONE && tally.verdict[VERDICT_MISS]) status = CLI_PROBLEMS;
    return status;
}

int verb_experiments(int argc, char **argv, FILE *out)
{
    struct settings settings = {0};
    struct found found = {0};
    char folder[PATH_MAX];
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer != CLI_GO) return answer;
    settings.run = (struct experiment_options){.seeds = settings.seeds,
                                               .jobs = settings.jobs,
                                               .quiet = settings.common.quiet,
                                               .stopped = &cli_stopped,
                                               .cache = &settings.cache,
                                               .rows = &settings.rows};
    if (!find_folder(folder))
        return cli_wrong("experiments: no folder '%s'; ROCELAB_EXPERIMENTS names another", folder);
    found.count = scandir(folder, &found.entry, is_experiment, alphasort);
    if (found.count <= 0)
        return cli_wrong("experiments: %s: %s", folder, found.count < 0 ? strerror(errno) : "holds none");
    int status = CLI_WRONG;
    if (ready(&settings) && all_there(&found, argv + first, argc - first))
        status = run_all(&settings, folder, &found, argv + first, argc - first, out);
    for (int i = 0; i < found.count; i++)
        free(found.entry[i]);
    free(found.entry);
    return status;
}
