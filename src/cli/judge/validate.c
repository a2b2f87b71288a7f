/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab validate FABRIC: the acceptance plan, one report, pass or fail.
 *
 * Tests, criteria and verdicts are in src/validate; here are the command line and the choice of what is printed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/html.h"
#include "cli/judge/validate_baseline.h"
#include "cli/judge/validate_print.h"
#include "cli/judge/validate_weeks.h"
#include "cli/option.h"
#include "cli/outputs.h"
#include "cli/simulate/study.h"
#include "cli/source.h"
#include "fabric/fabric.h"
#include "validate/measured/measured.h"
#include "validate/weeks.h"
#include "wire/wire.h"

#define FILE_BYTES ((size_t)256 << 20)

struct settings {
    struct validate plan;
    struct cli_html html;
    const char *out, *path; /* NULL: nothing is kept; of the fabric file */
    const char *measured;   /* DIR; NULL: the plan is simulated */
    bool quick, full, junit, own_seed, phases;
    uint32_t weeks; /* 0: the plan is run */
    struct validate_files baseline;
    struct arena arena; /* the baseline that was read */
    struct study_error error;
};

/* `2`, `1,3`; false after a message. */
static bool set_phases(void *to, const char *argument)
{
    struct settings *settings = to;
    struct validate *plan = &settings->plan;

    settings->phases = true;
    memset(plan->phase, 0, sizeof plan->phase);
    for (const char *at = argument;;) {
        bool one = *at >= '1' && *at <= '0' + VALIDATE_PHASES && (at[1] == '\0' || at[1] == ',');
        if (!one) return cli_fail("--phase '%s': numbers from 1 to %d, as in 1,3", argument, VALIDATE_PHASES);
        plan->phase[*at - '0'] = true;
        if (at[1] == '\0') return true;
        at += 2;
    }
}

/* In words that 'rocelab run' takes; false after a message. */
static bool set_fault(void *to, const char *argument)
{
    struct wire_fault fault;
    char why[200];

    *(const char **)to = argument;
    if (wire_fault_parse(argument, &fault, why, sizeof why) == 0) return true;
    return cli_fail("--fault '%s': %s", argument, why);
}

static const struct cli_option options[] = {
#include "cli/judge/validate_options.def"
};

static const struct cli_command command = {
    .verb = "validate",
    .operands = "FABRIC",
    .about = "Runs the acceptance plan of a fabric file in six phases, laboratory, baseline, synthetic load, AI "
             "workload, failures, operational, and judges every row by a formula with this fabric's numbers.",
    CLI_OWN(options),
    .more = "\nExamples:\n"
            "  rocelab validate pod64.yaml --quick\n"
            "  rocelab validate pod64.yaml --phase 2,3 --out accepted\n"
            "  rocelab validate pod64.yaml --full --junit > plan.xml\n"
            "  rocelab validate pod64.yaml --weeks 4\n"
            "  rocelab validate pod64.yaml --write-baseline good.json --by cy\n"
            "  rocelab validate pod64.yaml --baseline good.json\n"
            "  rocelab validate pod64.yaml --live --phase 2 --write-baseline here.json --by cy\n"
            "  rocelab validate pod64.yaml --measured dumps\n\n"
            "Criteria are the file's where it says them: validate: {jct-ratio: 1.1, point-rate: 90%}.\n\n"
            "Exit status: 0 nothing failed; 1 something did (with --strict: or is a warning); 2 wrong use, unreadable\n"
            "input, or interrupted.\n",
};

static int report(struct settings *settings, const struct cli_common *common, FILE *out)
{
    const struct validate *plan = &settings->plan;
    int status = validate_count(plan, VALIDATE_FAIL) ? CLI_PROBLEMS : CLI_DONE;

    if (common->strict && validate_count(plan, VALIDATE_WARN)) status = CLI_PROBLEMS;
    if (settings->out && !cli_write_in(settings->out, "validate.json", validate_print_json, plan)) status = CLI_WRONG;
    if (!cli_html_end(&settings->html, validate_print_json, plan)) status = CLI_WRONG;
    if (settings->baseline.write && !validate_baseline_write(&settings->baseline, &settings->arena, plan) &&
        status == CLI_DONE)
        status = CLI_WRONG;
    if (settings->junit)
        validate_print_junit(plan, out);
    else if (!common->json)
        validate_print_text(plan, common->quiet, out);
    else
        validate_print_json(plan, out);
    return status;
}

struct input { /* a fabric file */
    char *text;
    struct fabric *fabric;
};

/* False after a message, or with errors in settings->error. */
static bool load(struct settings *settings, const char *path, struct input *input)
{
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;

    if (!cli_read_text(path, FILE_BYTES, &input->text)) return false;
    return cli_fabric_load(name, input->text, NULL, 0, &input->fabric, &settings->error.loader) == 0;
}

static bool load_all(struct settings *settings, struct input *own, struct input *approved)
{
    struct validate *plan = &settings->plan;

    if (!load(settings, settings->path, own)) return false;
    plan->path = own->fabric->path;
    plan->text = own->text;
    plan->fabric = own->fabric;
    if (!settings->own_seed) plan->seed = plan->fabric->seed;
    if (plan->approved_path == NULL) return true;
    if (!load(settings, plan->approved_path, approved)) return false;
    plan->approved = approved->fabric;
    plan->approved_text = approved->text;
    return true;
}

static void input_release(struct input *input)
{
    if (input->fabric) fabric_free(input->fabric);
    free(input->text);
}

/* The plan, simulated or on outputs that are there. */
static int run_plan(struct settings *settings, const struct cli_common *common, FILE *out)
{
    struct validate *plan = &settings->plan;
    struct measured measured;
    char why[512];
    int status = CLI_WRONG;

    if (settings->measured) {
        if (!measured_open(&measured, settings->measured, plan->fabric, plan->baseline, why, sizeof why))
            return cli_wrong("--measured '%s': %s", settings->measured, why);
        plan->measured = &measured;
    }
    if (validate_run(plan)) {
        status = report(settings, common, out);
        if (settings->out && !plan->quiet && !plan->measured)
            cli_study_kept(&plan->cache, &plan->kept, settings->out, "tests");
    } else if (cli_stopped) {
        cli_study_stopped(&plan->done, plan->asked, settings->out, "tests");
    }
    if (settings->measured) measured_release(&measured);
    return status;
}

static int run(struct settings *settings, const struct cli_common *common, FILE *out)
{
    struct validate *plan = &settings->plan;
    struct input own = {0}, approved = {0};
    int status = CLI_WRONG;

    if (load_all(settings, &own, &approved) && validate_baseline_load(&settings->baseline, &settings->arena, plan) &&
        (settings->out == NULL || cache_open(&plan->cache, settings->out, &settings->error))) {
        cli_catch_stop(1);
        status = settings->weeks ? validate_weeks(plan, settings->weeks, common->json, out)
                                 : run_plan(settings, common, out);
    }
    validate_release(plan);
    input_release(&own);
    input_release(&approved);
    arena_release(&settings->arena);
    return status;
}

/* Whether --write-baseline leaves what is read, and the page, as they are; an old baseline may be written over. */
static bool spares_inputs(const struct settings *settings, const char *path)
{
    struct cli_outputs outputs = {.count = 0};

    cli_outputs_read(&outputs, "the fabric", path);
    cli_outputs_read(&outputs, "--approved", settings->plan.approved_path);
    cli_outputs_read(&outputs, "--html", settings->html.path);
    cli_outputs_write(&outputs, "--write-baseline", settings->baseline.write);
    return !outputs.clash;
}

/* What contradicts itself; false after a message. */
static bool sensible(const struct settings *settings, const struct cli_common *common, int operands)
{
    if (operands != 1)
        cli_error("validate: %s; see 'rocelab help validate'", operands == 0 ? "which file?" : "one file at a time");
    else if (settings->quick && settings->full)
        cli_error("validate: --quick and --full are two plans; give one of them");
    else if (settings->junit && common->json)
        cli_error("validate: --json and --junit are two formats; give one of them");
    else if (settings->weeks && (settings->junit || settings->html.path))
        cli_error("validate: --weeks is written as text or with --json; leave --junit and --html");
    else if (settings->weeks && (settings->baseline.read || settings->baseline.write || settings->plan.live ||
                                 settings->plan.soak_ps || settings->plan.approved_path || settings->phases))
        cli_error("validate: --weeks runs no plan; leave --phase, --approved, --baseline, --write-baseline, --live and "
                  "--soak");
    else if (settings->measured && (settings->weeks || settings->plan.live || settings->plan.soak_ps ||
                                    settings->quick || settings->full || settings->own_seed))
        cli_error("validate: --measured judges what is there and runs nothing; leave --quick, --full, --soak, --live, "
                  "--weeks and --seed");
    else if (settings->plan.live_fault && !settings->plan.live)
        cli_error("validate: --fault is of the programs that --live runs; faults of the fabric are the file's");
    else if (settings->plan.approved_path && !settings->plan.phase[1])
        cli_error("validate: phase 1 holds the file against --approved: let --phase name it");
    else if (settings->plan.nccl_tests && !settings->plan.live)
        cli_error("validate: --nccl-tests is of the programs that --live runs");
    else if (settings->plan.live_fault && settings->baseline.write)
        cli_error("validate: --fault is there to be found, and a baseline is of a good day; leave --write-baseline");
    else if (settings->plan.cache.force && settings->out == NULL)
        cli_error("validate: --force runs again what --out DIR has kept; say where");
    else
        return validate_baseline_sensible(&settings->baseline, &settings->plan, settings->measured != NULL);
    return false;
}

int verb_validate(int argc, char **argv, FILE *out)
{
    struct settings settings = {.plan = {.level = VALIDATE_DEFAULT, .stopped = &cli_stopped}};
    struct cli_common common;
    int first, answer;

    settings.plan.error = &settings.error;
    for (int p = 1; p <= VALIDATE_PHASES; p++)
        settings.plan.phase[p] = true;
    answer = cli_options(&command, argc, argv, out, &common, &settings, &first);
    if (answer != CLI_GO) return answer;
    if (!sensible(&settings, &common, argc - first) || !spares_inputs(&settings, argv[first])) return CLI_WRONG;
    arena_init_or_end(&settings.arena, (size_t)1 << 30);
    if (settings.quick || settings.full) settings.plan.level = settings.full ? VALIDATE_FULL : VALIDATE_QUICK;
    settings.plan.quiet = common.quiet;
    settings.path = argv[first];
    answer = cli_html_begin(&settings.html, argc, argv) ? run(&settings, &common, out) : CLI_WRONG;
    cli_html_release(&settings.html);
    cli_study_error(&settings.error);
    return answer;
}
