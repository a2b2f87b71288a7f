/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab diff APPROVED RUNNING...: what runs otherwise than it was approved, and who answers for it.
 *
 * APPROVED is a fabric file; RUNNING is one too, or configurations, which are imported in memory.  A drift names the
 * device, the port, the key, both values, and the places of both.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/ends.h"
#include "cli/option.h"
#include "cli/plan/diff_fix.h"
#include "cli/plan/diff_print.h"

struct settings {
    struct cli_common common;
    const struct config_format *from;
    struct cli_links links;
    struct cli_given given;
    bool all, fix;
    const char *into, *by; /* by: who makes the change; NULL: it is drift */
};

static const struct cli_option options[] = {
#include "cli/plan/diff_options.def"
};

static const struct cli_command command = {
    .verb = "diff",
    .operands = "APPROVED RUNNING...",
    .about =
        "Compares a running fabric, or the configurations of its devices, with the approved fabric file. Each drift "
        "names device, port, key, both values with their places, and the owner of the key.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab diff approved.yaml leaf1.cfg leaf2.cfg\n"
            "  rocelab diff approved.yaml running.yaml --json\n"
            "  rocelab diff approved.yaml proposed.yaml --by alice\n"
            "\nExit status: 0 nothing differs, 1 something does (with --by: something that is not NAME's to change), 2 "
            "wrong\n"
            "use or unreadable input.\n",
};

static void print_summary(const struct diff *diff, uint32_t kinds, const struct diff_list *list, FILE *out)
{
    const struct cli_source *running = list->running;
    uint32_t refused = diff_refusals(list);
    const struct text_style style = cli_style();

    if (running->imported) cli_ends_text(&running->set, "what they are cabled to is not compared", out);
    if (diff->rounded)
        fprintf(out, "%llu threshold%s of marking %s approved finer than the system can say it: %s%s\n",
                (unsigned long long)diff->rounded, text_plural(diff->rounded), diff->rounded == 1 ? "is" : "are",
                diff->first_rounded, diff->rounded > 1 ? ", and others" : "");
    fprintf(out, "%llu difference%s", (unsigned long long)diff->drifts, text_plural(diff->drifts));
    if (kinds < diff->drifts) fprintf(out, " of %u kind%s", kinds, text_plural(kinds));
    fprintf(out, " in %llu port%s of %llu device%s", (unsigned long long)diff->ports, text_plural(diff->ports),
            (unsigned long long)diff->devices, text_plural(diff->devices));
    if (list->by) {
        fprintf(out, "; %u %s not for ", refused, refused == 1 ? "is" : "are");
        text_outside(out, &style, list->by);
        fputs(" to change", out);
    }
    fputc('\n', out);
}

static void print_json(const struct diff *diff, const struct diff_list *list, FILE *out)
{
    struct jout *jout = jout_begin(out, "diff");

    diff_print_json(list, jout);
    jout_u64(jout, "devices", diff->devices);
    jout_u64(jout, "ports", diff->ports);
    jout_u64(jout, "rounded", diff->rounded);
    cli_ends_json(jout, list->running->imported ? &list->running->set : NULL);
    jout_end(jout);
}

static int compare(const struct settings *settings, struct diff_list *list, FILE *out)
{
    const struct cli_source *approved = list->approved, *running = list->running;
    struct diff diff = {.approved = {approved->fabric, approved->places, approved->imported, &approved->set},
                        .running = {running->fabric, running->places, running->imported, &running->set},
                        .each = diff_list_add,
                        .to = list};

    bool change = list->by && !approved->imported && !running->imported; /* then all counts that the file says */
    diff_run(&diff);
    if (change) diff_words(&diff, list);
    if (diff.devices == 0) return cli_wrong("diff: no device of %s is in %s", running->path, approved->path);
    if (settings->fix) {
        if (!diff_fix(list, settings->into, settings->common.quiet, out)) return CLI_WRONG;
    } else if (settings->common.json) {
        print_json(&diff, list, out);
    } else {
        uint32_t kinds = diff_print_text(list, settings->all, out);
        if (!settings->common.quiet) print_summary(&diff, kinds, list, out);
    }
    if (list->by) return diff_refusals(list) ? CLI_PROBLEMS : CLI_DONE;
    return diff.drifts ? CLI_PROBLEMS : CLI_DONE;
}

static int run(struct settings *settings, char **operand, int operands, FILE *out)
{
    struct cli_source approved = {0}, running = {0};
    struct cli_files files = {0};
    int answer = CLI_WRONG;

    if (operands < 2) return cli_wrong("diff: which files? APPROVED and RUNNING are needed; see 'rocelab help diff'");
    if (settings->by && (settings->fix || settings->by[0] == '\0'))
        return cli_wrong(settings->fix ? "diff: --fix undoes drift, --by names who makes a change; give one of the two"
                                       : "diff: --by '': a name is expected");
    if (settings->into && !settings->fix) return cli_wrong("diff: --out belongs to --fix");
    if (settings->fix && settings->common.json)
        return cli_wrong("diff: --fix writes commands, not JSON; give one of the two");
    struct cli_inputs one = {.path = operand, .paths = 1};
    if (cli_files_find(operand + 1, operands - 1, settings->common.quiet, &files)) {
        struct cli_inputs others = {.path = files.path,
                                    .paths = files.paths,
                                    .from = settings->from,
                                    .links = &settings->links,
                                    .given = &settings->given};
        struct diff_list list = {
            .approved = &approved, .running = &running, .given = &settings->given, .by = settings->by};
        arena_init_or_end(&list.arena, (size_t)1 << 32);
        if (cli_source_load(&approved, &one) && cli_source_load(&running, &others))
            answer = compare(settings, &list, out);
        free(list.drift);
        arena_release(&list.arena);
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
