/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab check FABRIC... | CONFIG...: proves or refutes that a fabric is lossless and free of deadlocks.
 *
 * Fabric files are checked one by one; configurations belong to one fabric and are checked together.  Rules are in
 * src/check, importers in src/config; here are the command line, what goes in (check_input.c) and what comes out
 * (check_fold.c, check_text.c, check_print.c).
 */
#include "cli/judge/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/option.h"
#include "study/clock.h"

#define PROGRESS_AFTER_NS 1000000000u
#define PROGRESS_EVERY_NS 200000000u

struct settings {
    struct cli_common common;
    struct check_options run;
    uint32_t explain; /* FABRIC_NONE: not asked */
    bool list, markdown, sarif, junit, all;
    struct check_choice choice;
    const char *baseline, *write_baseline;
    const struct config_format *from;
    struct cli_links links;
    struct cli_given given;
};

static const char *rule_name(const void *list, size_t index)
{
    return ((const struct check_rule *)list)[index].id;
}

static bool set_explain(void *to, const char *argument)
{
    size_t rule =
        cli_one_of("explain", argument, rule_name, check_rules, check_rule_count, "rule", "--list lists them");

    *(uint32_t *)to = (uint32_t)rule;
    return rule < check_rule_count;
}

static const struct cli_option options[] = {
#include "cli/judge/check_options.def"
};

static const struct cli_command command = {
    .verb = "check",
    .operands = "FILES",
    .about = "Proves or refutes that a fabric is lossless on every hop, that headroom fits, that ECN marks before PFC "
             "pauses, that no buffers wait in a circle, also after a failure, and that classes agree end to end.",
    CLI_OWN(options),
    .more = "FILES are fabric files, or the configurations of one\n"
            "fabric's switches and hosts.\n"
            "\nExamples:\n"
            "  rocelab check fabric.yaml\n"
            "  rocelab check --explain HR001 fabric.yaml\n"
            "  rocelab check leaf*.cfg spine*.json --sarif > findings.sarif\n"
            "\nExit status: 0 nothing wrong, 1 errors (with --strict: or warnings), 2 wrong use or unreadable input.\n",
};

static void print(const struct settings *settings, const struct check_input *input, uint32_t count, FILE *out)
{
    if (settings->sarif)
        check_print_sarif(input, count, out);
    else if (settings->junit)
        check_print_junit(input, count, out);
    else if (settings->common.json)
        check_print_json(input, count, out);
    else
        for (uint32_t i = 0; i < count; i++)
            check_print_text(&input[i], settings->common.quiet, settings->all, out);
}

static int verdict(const struct settings *settings, const struct check_input *input, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (check_count(&input[i].check, CHECK_ERROR)) return CLI_PROBLEMS;
        if (settings->common.strict && check_count(&input[i].check, CHECK_WARNING)) return CLI_PROBLEMS;
    }
    return CLI_DONE;
}

/* Fabric files are checked one by one and configurations together: not both at once.  False after a message. */
static bool all_alike(const struct settings *settings, char **path, int paths)
{
    for (int i = 1; i < paths && !settings->from; i++) {
        bool first = check_is_fabric(path[0]), other = check_is_fabric(path[i]);
        if (first == other) continue;
        return cli_fail(
            "check: %s is a fabric file and %s is none; check them apart, or compare them with 'rocelab diff'",
            first ? path[0] : path[i], first ? path[i] : path[0]);
    }
    return true;
}

/* Messages quote what the files say. */
static void explain(uint32_t rule, const struct check *check, FILE *out)
{
    const struct text_style style = {.utf8 = true};
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    check_explain(rule, check, to);
    fclose(to);
    text_outside_lines(out, &style, text);
    free(text);
}

/* Drawn on standard error, over itself, once it takes more than a second. */
static struct {
    uint64_t due_ns;
    bool drawn;
} progress;

static void draw_progress(const char *what, uint64_t done, uint64_t of_all)
{
    uint64_t now = clock_now_ns();

    if (now < progress.due_ns) return;
    progress.due_ns = now + PROGRESS_EVERY_NS;
    progress.drawn = true;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " %s\033[K", done, of_all, what);
}

static void end_progress(void)
{
    if (progress.drawn) fputs("\r\033[K", stderr);
    progress.drawn = false;
}

static int run(struct settings *settings, char **path, int paths, FILE *out)
{
    bool fabrics = !settings->from && check_is_fabric(path[0]);
    uint32_t count = fabrics ? (uint32_t)paths : 1, opened = 0;
    struct check_input *input = calloc(count, sizeof(*input));
    bool good = true;

    while (good && opened < count) {
        struct cli_inputs from = {.path = path + opened,
                                  .paths = fabrics ? 1 : paths,
                                  .from = settings->from,
                                  .links = &settings->links,
                                  .given = &settings->given};
        input[opened].choice = settings->explain == FABRIC_NONE ? &settings->choice : NULL;
        progress.due_ns = clock_now_ns() + PROGRESS_AFTER_NS;
        good = check_input_open(&input[opened], &from, &settings->run);
        end_progress();
        opened++;
    }
    int answer = good ? CLI_DONE : CLI_WRONG;
    if (good && settings->explain != FABRIC_NONE) {
        explain(settings->explain, &input[0].check, out);
    } else if (good && settings->write_baseline) {
        if (!check_baseline_write(input, count, settings->write_baseline)) answer = CLI_WRONG;
    } else if (good) {
        print(settings, input, count, out);
        answer = verdict(settings, input, count);
    }
    for (uint32_t i = 0; i < opened; i++)
        check_input_close(&input[i]);
    free(input);
    return answer;
}

/* The rule's page alone, the list, or nothing to check: CLI_GO where there is more to do. */
static int without_files(const struct settings *settings, bool any, FILE *out)
{
    if (settings->list) {
        check_print_rules(settings->markdown, out);
        return CLI_DONE;
    }
    if (any) return CLI_GO;
    if (settings->explain != FABRIC_NONE) {
        explain(settings->explain, NULL, out);
        return CLI_DONE;
    }
    return cli_wrong("check: which files? see 'rocelab help check'");
}

/* Of two formats one would be left out without a word. */
static bool one_format(const struct settings *settings)
{
    const char *option[] = {settings->common.json ? "--json" : NULL, settings->sarif ? "--sarif" : NULL,
                            settings->junit ? "--junit" : NULL};
    const char *first = NULL;

    for (unsigned o = 0; o < sizeof option / sizeof option[0]; o++) {
        if (first && option[o]) return cli_fail("check: %s and %s are two formats; give one of them", first, option[o]);
        if (option[o]) first = option[o];
    }
    return true;
}

static int check_files(struct settings *settings, char **operand, int operands, FILE *out)
{
    struct cli_files files = {0};
    uint64_t *known = NULL;
    int answer = CLI_WRONG;

    settings->run.every = settings->write_baseline != NULL || settings->all;
    if (settings->baseline && !check_baseline_read(settings->baseline, &known, &settings->run.knowns)) return CLI_WRONG;
    settings->run.known = known;
    if (!settings->common.quiet && isatty(STDERR_FILENO)) settings->run.tell = draw_progress;
    if (cli_files_find(operand, operands, settings->common.quiet, &files) &&
        all_alike(settings, files.path, files.paths))
        answer = run(settings, files.path, files.paths, out);
    cli_files_release(&files);
    free(known);
    return answer;
}

int verb_check(int argc, char **argv, FILE *out)
{
    struct settings settings = {.run = {.failures = 1}, .explain = FABRIC_NONE};
    int first = 0;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer == CLI_GO) answer = without_files(&settings, first < argc, out);
    if (answer == CLI_GO && (!one_format(&settings) || !check_choice_any(&settings.choice))) answer = CLI_WRONG;
    if (answer == CLI_GO) answer = check_files(&settings, argv + first, argc - first, out);
    cli_given_release(&settings.given);
    check_choice_release(&settings.choice);
    return answer;
}
