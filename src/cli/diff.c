/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab diff APPROVED RUNNING...: what runs otherwise than it was approved, and who answers for it.
 *
 * APPROVED is a fabric file; RUNNING is one too, or configurations, which are imported in memory.  A drift names the
 * device, the port, the key, both values, and the places of both.
 */
#include "config/diff.h"

#include <string.h>

#include "base/check.h"
#include "cli/cli.h"
#include "cli/source.h"
#include "report/json_out.h"

enum diff_option {
    DIFF_OPTIONS_BEGIN = CLI_OPTION_OWN - 1,
#define OPTION(id, name, argument, help) DIFF_OPTION_##id,
#include "cli/diff_options.def"
#undef OPTION
};

static const struct cli_option options[] = {
#define OPTION(id, name, argument, help) {DIFF_OPTION_##id, name, argument, help},
#include "cli/diff_options.def"
#undef OPTION
#define OPTION(id, name, argument, help) {CLI_OPTION_##id, name, argument, help},
#include "cli/common_options.def"
#undef OPTION
};

struct settings {
    struct cli_common common;
    const struct config_format *from;
    struct cli_links links;
    struct cli_given given;
};

static bool set_option(void *into, int id, const char *argument)
{
    struct settings *settings = into;

    switch (id) {
    case DIFF_OPTION_FROM:
        settings->from = cli_from(argument);
        return settings->from != NULL;
    case DIFF_OPTION_LINKS:
        return cli_links_add(&settings->links, argument);
    case DIFF_OPTION_MODEL:
        return cli_given_fact(&settings->given, FACT_MODEL, argument);
    case DIFF_OPTION_CABLE:
        return cli_given_fact(&settings->given, FACT_CABLE, argument);
    case DIFF_OPTION_FACTS:
        return cli_given_file(&settings->given, argument);
    default:
        CHECK(false);
    }
}

static void more_help(FILE *out)
{
    fputs("Examples:\n"
          "  rocelab diff approved.yaml leaf1.cfg leaf2.cfg\n"
          "  rocelab diff approved.yaml running.yaml --json\n"
          "\nExit status: 0 nothing differs, 1 something does, 2 wrong use or unreadable input.\n",
          out);
}

static const struct cli_command command = {
    .verb = "diff",
    .operands = "APPROVED RUNNING...",
    .about =
        "Compares a running fabric, or the configurations of its devices, with the approved fabric file. Each drift "
        "names device, port, key, both values with their places, and the owner of the key.",
    .option = options,
    .options = sizeof options / sizeof options[0],
    .more = more_help,
    .set = set_option,
};

struct printing {
    const struct cli_source *approved, *running;
    FILE *out;
    struct jout *jout;
};

static void place(FILE *out, const struct cli_source *source, struct fabric_at where)
{
    struct cli_place at = cli_source_place(source, where);

    fprintf(out, "%s:%u", at.path, at.line);
    if (at.column) fprintf(out, ":%u", at.column);
}

static void print_drift(void *to, const struct drift *drift)
{
    const struct printing *printing = to;
    FILE *out = printing->out;

    place(out, printing->running, drift->running_at);
    fprintf(out, ": %s: %s is %s, approved is %s (", drift->port ? drift->port : drift->device, drift->key,
            drift->running, drift->approved);
    place(out, printing->approved, drift->approved_at);
    fprintf(out, ")%s%s\n", drift->owner ? "; owner: " : "", drift->owner ? drift->owner : "");
}

static void json_place(struct jout *jout, const char *key, const char *value, struct cli_place at)
{
    jout_open_line(jout, key, '{');
    jout_text(jout, "value", value);
    jout_text(jout, "file", at.path);
    jout_u64(jout, "line", at.line);
    jout_u64(jout, "column", at.column);
    jout_close(jout);
}

static void json_drift(void *to, const struct drift *drift)
{
    const struct printing *printing = to;
    struct jout *jout = printing->jout;

    jout_open(jout, NULL, '{');
    jout_text(jout, "device", drift->device);
    jout_text(jout, "port", drift->port);
    jout_text(jout, "key", drift->key);
    jout_text(jout, "owner", drift->owner);
    json_place(jout, "approved", drift->approved, cli_source_place(printing->approved, drift->approved_at));
    json_place(jout, "running", drift->running, cli_source_place(printing->running, drift->running_at));
    jout_close(jout);
}

static int compare(const struct settings *settings, const struct cli_source *approved, const struct cli_source *running,
                   FILE *out)
{
    struct jout jout;
    struct printing printing = {approved, running, out, &jout};
    struct diff diff = {.approved = {approved->fabric, approved->places, approved->imported},
                        .running = {running->fabric, running->places, running->imported},
                        .each = print_drift,
                        .to = &printing};

    if (settings->common.json) {
        jout_init(&jout, out);
        jout_open(&jout, NULL, '{');
        jout_u64(&jout, "version", 1);
        jout_text(&jout, "kind", "diff");
        jout_open(&jout, "drifts", '[');
        diff.each = json_drift;
    }
    bool whole = diff_run(&diff);
    if (settings->common.json) {
        jout_close(&jout);
        jout_u64(&jout, "devices", diff.devices);
        jout_u64(&jout, "ports", diff.ports);
        jout_close(&jout);
    } else if (!settings->common.quiet) {
        fprintf(out, "%llu difference%s in %llu port%s of %llu device%s\n", (unsigned long long)diff.drifts,
                diff.drifts == 1 ? "" : "s", (unsigned long long)diff.ports, diff.ports == 1 ? "" : "s",
                (unsigned long long)diff.devices, diff.devices == 1 ? "" : "s");
    }
    if (!whole) {
        cli_error("diff: not enough memory");
        return CLI_WRONG;
    }
    if (diff.devices == 0) {
        cli_error("diff: no device of %s is in %s", running->path, approved->path);
        return CLI_WRONG;
    }
    return diff.drifts ? CLI_PROBLEMS : CLI_DONE;
}

static int run(struct settings *settings, char **operand, int operands, FILE *out)
{
    struct cli_source approved = {0}, running = {0};
    struct cli_files files = {0};
    int answer = CLI_WRONG;

    if (operands < 2) {
        cli_error("diff: APPROVED and RUNNING are due; see 'rocelab help diff'");
        return CLI_WRONG;
    }
    struct cli_inputs one = {.path = operand, .paths = 1};
    if (cli_files_find(operand + 1, operands - 1, settings->common.quiet, &files)) {
        struct cli_inputs others = {.path = files.path,
                                    .paths = files.paths,
                                    .from = settings->from,
                                    .links = &settings->links,
                                    .given = &settings->given};
        if (cli_source_load(&approved, &one) && cli_source_load(&running, &others))
            answer = compare(settings, &approved, &running, out);
    }
    cli_source_release(&approved);
    cli_source_release(&running);
    cli_files_release(&files);
    return answer;
}

int verb_diff(int argc, char **argv, FILE *out)
{
    struct settings settings = {.from = NULL};
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer == CLI_GO) answer = run(&settings, argv + first, argc - first, out);
    cli_given_release(&settings.given);
    return answer;
}
