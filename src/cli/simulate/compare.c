/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab compare FILE: the same jobs on several systems, one table, and why each is where it is.
 *
 * It is a sweep whose first axis is `system`: the runs, their rows and what is kept under --out are the sweep's.  Keys
 * of the file that a system does not have are left out for it and told.  A system that cannot run the file is a row
 * with its reason.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "cli/html.h"
#include "cli/option.h"
#include "cli/simulate/compare_print.h"
#include "cli/simulate/study.h"
#include "cli/simulate/sweep_print.h"
#include "cli/source.h"
#include "fabric/fabric.h"
#include "fabric/systems.h"
#include "load/load.h"
#include "plant/plant.h"

#define FILE_BYTES ((size_t)256 << 20)
#define NAMES 256

struct settings {
    struct sweep sweep;
    struct cli_html html;
    const char *out, *systems; /* NULL: nothing is kept; all of them */
    const char *vary[2 * COMPARE_AXES];
    bool with[2 * COMPARE_AXES];
    uint32_t varies;
    bool many, json;
    struct compare_cost cost[FABRIC_SYSTEMS];
    struct study_error error;
};

static bool add_axis(struct settings *settings, const char *argument, bool with)
{
    if (settings->varies == COMPARE_AXES) return cli_fail("compare: at most %d of --vary and --with", COMPARE_AXES);
    if (strncmp(argument, "system=", 7) == 0)
        return cli_fail("compare: systems are chosen by --systems, as in --systems rocev2,infiniband");
    settings->vary[settings->varies] = argument;
    settings->with[settings->varies++] = with;
    return true;
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
#include "cli/simulate/compare_options.def"
};

static const struct cli_command command = {
    .verb = "compare",
    .operands = "FILE",
    .about = "Runs the jobs of a fabric file on RoCEv2, RoCEv1, InfiniBand, Ultra Ethernet, TCP and iWARP, on all "
             "processors, and prints one table: time, bandwidth, latency, losses, power, cost, and why.",
    CLI_OWN(options),
    .more = "\nExamples:\n"
            "  rocelab compare pod64.yaml\n"
            "  rocelab compare pod64.yaml --systems rocev2,infiniband --seeds 5\n"
            "  rocelab compare pod64.yaml --vary topology.rail.hosts=8,16\n\n"
            "Weights and prices are the file's: decision: {time: 3, cost: 1}, prices: {nic-400G: 1499 USD}.\n\n"
            "Exit status: 0 every system has run and its jobs ended, or the stop time of the file was reached; 1 one "
            "could not\n"
            "run the file, or its jobs did not end; 2 wrong use, unreadable input, or interrupted.\n",
};

/* A name of --systems, as a bit of *given; FABRIC_SYSTEMS after a message. */
static enum fabric_system judge_name(const char *name, uint32_t *given)
{
    enum fabric_system system = fabric_system_find(name);
    struct nearest nearest;

    nearest_init(&nearest, name);
    for (int s = 0; s < FABRIC_SYSTEMS; s++)
        nearest_try(&nearest, fabric_system_names[s]);
    if (system != FABRIC_SYSTEMS && *given & FABRIC_SYSTEM(system)) {
        cli_error("--systems: '%s' is there twice", fabric_system_names[system]);
        return FABRIC_SYSTEMS;
    }
    if (system != FABRIC_SYSTEMS)
        *given |= FABRIC_SYSTEM(system);
    else if (nearest.word)
        cli_error("--systems '%s': there is no such system; did you mean '%s'?", name, nearest.word);
    else
        cli_error("--systems '%s': there is no such system; there are rocev2, rocev1, infiniband, uet, tcp, iwarp",
                  name);
    return system;
}

/* The first axis of the sweep, then those of --vary; false after a message. */
static bool make_axes(struct settings *settings)
{
    char argument[NAMES + 8] = "system=", *list = argument + 7;
    uint32_t given = 0;

    for (const char *at = settings->systems; at;) {
        size_t length = strcspn(at, ",");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
        enum fabric_system system = judge_name(name, &given);
        if (system == FABRIC_SYSTEMS) return false;
        snprintf(list + strlen(list), NAMES - strlen(list), "%s%s", *list ? "," : "", fabric_system_names[system]);
        at = at[length] ? at + length + 1 : NULL;
    }
    for (int s = 0; settings->systems == NULL && s < FABRIC_SYSTEMS; s++)
        snprintf(list + strlen(list), NAMES - strlen(list), "%s%s", s ? "," : "", fabric_system_names[s]);
    bool good = sweep_vary(&settings->sweep.grid, argument, false);
    for (uint32_t i = 0; good && i < settings->varies; i++) {
        good = !(i == 0 && settings->with[0]);
        if (!good) study_fail(&settings->error, "--with stands behind the --vary that it goes with");
        good = good && sweep_vary(&settings->sweep.grid, settings->vary[i], settings->with[i]);
    }
    return good;
}

/* What each system's parts cost, and which keys it has not: of the first combination of the other values that it can
 * be run with. */
static bool add_costs(struct settings *settings)
{
    const struct sweep *sweep = &settings->sweep;
    uint32_t sets = sweep->points / sweep->grid.axis[0].values;

    for (uint32_t s = 0; s < sweep->grid.axis[0].values; s++) {
        struct compare_cost *cost = &settings->cost[s];
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        struct bom bom;
        for (uint32_t c = 0; c < sets && fabric == NULL; c++) {
            errors = (struct fabric_errors){0};
            cost->left_out = (struct fabric_errors){0};
            if (sweep_load_leaving(sweep, s * sets + c, &fabric, &errors, &cost->left_out) != 0) fabric = NULL;
        }
        if (fabric == NULL) continue;
        bool enough = bom_make(fabric, &bom) == 0;
        fabric_free(fabric);
        if (!enough) return cli_fail("not enough memory");
        cost->known = true;
        cost->usd_least_milli = bom.usd_least_milli;
        cost->usd_most_milli = bom.usd_most_milli;
        cost->usd_year_milli = bom.usd_year_milli;
        memcpy(cost->used, bom.used, sizeof cost->used);
        bom_release(&bom);
    }
    return true;
}

static int report(struct settings *settings, const struct compare_view *view, FILE *out)
{
    const struct sweep *sweep = &settings->sweep;
    int status = CLI_DONE;

    for (uint32_t i = 0; i < sweep->points * sweep->seeds; i++)
        if (sweep_note(&sweep->row[i])[0]) status = CLI_PROBLEMS;
    if (settings->out && !cli_write_in(settings->out, "compare.json", compare_json, view)) status = CLI_WRONG;
    if (!cli_html_end(&settings->html, compare_json, view)) status = CLI_WRONG;
    if (settings->json)
        compare_json(view, out);
    else
        compare_print(view, out);
    return status;
}

/* After the runs. */
static int conclude(struct settings *settings, const struct fabric *fabric, FILE *out)
{
    const struct sweep *sweep = &settings->sweep;
    struct compare_view view = {.sweep = sweep, .fabric = fabric, .cost = settings->cost, .many = settings->many};
    uint32_t sets = sweep->points / sweep->grid.axis[0].values;
    int status = CLI_WRONG;

    view.set = calloc(sets, sizeof *view.set);
    while (view.set && view.sets < sets &&
           compare_make(sweep, view.sets, &fabric->operations.decision, fabric->endpoints, &view.set[view.sets]))
        view.sets++;
    if (view.set && view.sets == sets) {
        if (add_costs(settings)) status = report(settings, &view, out);
    } else {
        cli_error("not enough memory");
    }
    for (uint32_t c = 0; c < view.sets; c++)
        compare_release(&view.set[c]);
    free(view.set);
    return status;
}

/* A file that is of no system may have settings of several: each run takes its own, and says what it left out. */
static bool names_system(const char *text)
{
    static const char key[] = "system:";

    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, sizeof key - 1) == 0) return true;
    return false;
}

static int run(struct settings *settings, FILE *out)
{
    struct sweep *sweep = &settings->sweep;
    struct fabric_errors others = {0};
    struct fabric_with as_is = {.judge = plant_judge_nic};
    struct fabric *fabric = NULL;
    uint64_t points = sweep_points(&sweep->grid);
    int status = CLI_WRONG;

    if (points * sweep->seeds > SWEEP_POINTS) return cli_wrong("compare: more than %u runs", SWEEP_POINTS);
    sweep->points = (uint32_t)points;
    if (!cli_read_text(sweep->path, FILE_BYTES, &sweep->text)) return CLI_WRONG;
    if (strcmp(sweep->path, "-") == 0) sweep->path = "<stdin>";
    sweep->of_several = !names_system(sweep->text);
    if (sweep->of_several) as_is.left_out = &others;
    if (fabric_load_with(sweep->path, sweep->text, &as_is, &fabric, &settings->error.loader) == 0 &&
        sweep_check(sweep) && (settings->out == NULL || cache_open(&sweep->cache, settings->out, &settings->error))) {
        cli_catch_stop(1);
        if (sweep_run(sweep)) {
            status = conclude(settings, fabric, out);
            if (settings->out && !sweep->quiet) cli_study_rows(&sweep->rows, settings->out, "runs");
        } else if (cli_stopped) {
            cli_study_stopped(&sweep->done, sweep->points * sweep->seeds, settings->out, "runs");
        }
    }
    fabric_free(fabric);
    sweep_release(sweep);
    free(sweep->text);
    return status;
}

int verb_compare(int argc, char **argv, FILE *out)
{
    struct settings settings = {.sweep = {.sim = {.until = PS_NEVER},
                                          .seeds = 1,
                                          .small = true,
                                          .leave_out = true,
                                          .stopped = &cli_stopped,
                                          .error = &settings.error}};
    struct sweep *sweep = &settings.sweep;
    struct cli_common common;
    int first, answer;

    sweep->grid.error = &settings.error;
    arena_init(&sweep->grid.arena, 0);
    answer = cli_options(&command, argc, argv, out, &common, &settings, &first);
    if (answer == CLI_GO) {
        settings.json = common.json;
        sweep->quiet = common.quiet;
        answer = CLI_WRONG;
        if (first + 1 != argc) {
            cli_error("compare: %s; see 'rocelab help compare'", first == argc ? "which file?" : "one file at a time");
        } else if (sweep->cache.force && settings.out == NULL) {
            cli_error("compare: --force runs again what --out DIR has kept; say where");
        } else if (make_axes(&settings)) {
            sweep->path = argv[first];
            if (cli_html_begin(&settings.html, argc, argv)) answer = run(&settings, out);
            cli_html_release(&settings.html);
        }
        cli_study_error(&settings.error);
    }
    arena_release(&sweep->grid.arena);
    return answer;
}
