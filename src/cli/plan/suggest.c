/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab suggest TOPIC FABRIC: the values that the rules ask for, by formula, and the lines for the fabric file.
 *
 * The lines are put over the file, and the rules run over the result: what is suggested and what `check` says cannot
 * disagree unseen.  With `all`, marking is computed for the buffers as they are suggested.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/cli.h"
#include "cli/plan/suggest.h"
#include "cli/source.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "fabric/switches.h"

static const struct cli_command command = {
    .verb = "suggest",
    .operands = "TOPIC FABRIC",
    .about = "Prints range and value of marking, headroom, pause thresholds and watchdog for each kind of port, by the "
             "formulas of the rules with this fabric's numbers, and the lines to put into the file. Nothing is run.",
    .more =
        "\nTOPIC: ecn, headroom, buffers, watchdog, or all.\n"
        "\nExamples:\n"
        "  rocelab suggest ecn pod64.yaml\n"
        "  rocelab suggest all pod64.yaml --json\n"
        "\nExit status: 0 what the file has is inside every range; 1 something is outside, or no value satisfies the\n"
        "rules; 2 wrong use or unreadable input.\n",
};

static const char *topic_name(const void *list, size_t index)
{
    (void)list;
    return index < SUGGEST_TOPICS ? suggest_topic_words[index] : "all";
}

/* SUGGEST_TOPICS: all; -1 after a message. */
static int topic_of(const char *word)
{
    for (int t = 0; t <= SUGGEST_TOPICS; t++)
        if (strcmp(topic_name(NULL, (size_t)t), word) == 0) return t;
    const char *near = cli_nearest(word, topic_name, suggest_topic_words, SUGGEST_TOPICS + 1);
    if (near)
        cli_error("suggest: '%s' is no topic; did you mean '%s'?", word, near);
    else
        cli_error("suggest: '%s' is no topic; there are ecn, headroom, buffers, watchdog and all", word);
    return -1;
}

bool cli_suggest_counts(const struct check_finding *finding)
{
    static const char *const rules[] = {"ECN", "PFC", "HR", "WD", "BUF"};

    if (finding->ignored) return false;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strncmp(check_rules[finding->rule].id, rules[i], strlen(rules[i])) == 0) return true;
    return false;
}

/* The file with the lines over it; NULL with errors. */
static struct fabric *load_with(const struct cli_source *source, const struct suggest *suggest,
                                struct fabric_errors *errors)
{
    struct fabric_override *override = calloc(suggest->lines + 1, sizeof *override);
    struct fabric *fabric = NULL;

    for (uint32_t l = 0; l < suggest->lines; l++)
        override[l] = (struct fabric_override){suggest->line[l].path, suggest->line[l].value};
    cli_fabric_load(source->path, source->text, override, suggest->lines, &fabric, errors);
    free(override);
    return fabric;
}

/* What the rules find with the lines; false after a message.  Buffers that do not hold their headroom, with the lines
 * neither, are what is to be told. */
static bool prove(const struct cli_source *source, struct cli_suggested *suggested)
{
    const struct check_options none = {0};
    struct fabric *fabric = load_with(source, &suggested->suggest, &suggested->unfit);

    if (!fabric && source->overfull) return true;
    if (!fabric) fabric_errors_print(&suggested->unfit, stderr);
    if (!fabric) return false;
    check_init(&suggested->check, fabric, NULL, &none);
    suggested->proved = fabric;
    check_run(&suggested->check);
    for (uint32_t f = 0; f < suggested->check.findings; f++)
        suggested->left += cli_suggest_counts(&suggested->check.finding[f]);
    return true;
}

/* A path divides words by dots: a class whose name has one cannot be in a line. */
static bool good_names(const struct cli_source *source)
{
    for (uint32_t c = 0; c < source->fabric->class_count; c++) {
        const struct fabric_class *as = &source->fabric->classes[c];
        if (!as->lossless || !strchr(as->name, '.')) continue;
        return cli_fail("suggest: %s: class '%s': no path of the file can hold a name with a dot", source->path,
                        as->name);
    }
    return true;
}

/* The topics in the order in which each rests on those before. */
static bool make(const struct cli_source *source, int topic, struct cli_suggested *suggested)
{
    static const uint8_t order[] = {SUGGEST_HEADROOM, SUGGEST_BUFFERS, SUGGEST_WATCHDOG, SUGGEST_ECN};

    if (!good_names(source)) return false;
    suggest_init(&suggested->suggest, source->fabric, source->places);
    for (size_t i = 0; i < sizeof order; i++) {
        if (topic != SUGGEST_TOPICS && topic != order[i]) continue;
        if (topic == SUGGEST_TOPICS && order[i] == SUGGEST_ECN) {
            suggested->between = load_with(source, &suggested->suggest, &suggested->unfit);
            if (!suggested->between && source->overfull) break; /* what marks would be computed for is not there */
            if (!suggested->between) fabric_errors_print(&suggested->unfit, stderr);
            if (!suggested->between) return false;
            suggested->unfit.count = 0;
            suggested->suggest.fabric = suggested->between;
        }
        int result = suggest_add(&suggested->suggest, (enum suggest_topic)order[i]);
        if (result == -EOPNOTSUPP && topic != SUGGEST_TOPICS)
            cli_error("suggest: %s: %s has no such setting", source->path, fabric_system(source->fabric)->title);
        if (result == -ENODATA) return cli_fail("suggest: %s: no class is lossless", source->path);
        if (result != 0 && topic != SUGGEST_TOPICS) return false;
    }
    if (suggested->suggest.rows > 0) return true;
    if (fabric_system(source->fabric)->link != FABRIC_LINK_PFC)
        cli_error("suggest: %s: %s has none of these settings", source->path, fabric_system(source->fabric)->title);
    else
        cli_error("suggest: %s: no switch has a port that is cabled and carries a lossless class", source->path);
    return false;
}

static void release(struct cli_suggested *suggested)
{
    suggest_release(&suggested->suggest);
    if (suggested->proved) check_release(&suggested->check);
    fabric_free(suggested->proved);
    fabric_free(suggested->between);
}

static int run(const struct cli_source *source, int topic, bool json, FILE *out)
{
    struct cli_suggested suggested = {.path = source->path};
    int status = CLI_WRONG;

    if (make(source, topic, &suggested) && prove(source, &suggested)) {
        if (json)
            cli_suggest_json(&suggested, out);
        else
            cli_suggest_text(&suggested, out);
        status = suggested.proved ? CLI_DONE : CLI_PROBLEMS;
        for (uint32_t r = 0; r < suggested.suggest.rows; r++)
            if (!suggested.suggest.row[r].inside) status = CLI_PROBLEMS;
    }
    release(&suggested);
    return status;
}

int verb_suggest(int argc, char **argv, FILE *out)
{
    struct cli_source source = {0};
    struct cli_common common;
    int first, topic, answer = cli_options(&command, argc, argv, out, &common, NULL, &first);

    if (answer != CLI_GO) return answer;
    if (argc - first != 2) return cli_wrong("suggest: a TOPIC and one FABRIC are due; see 'rocelab help suggest'");
    topic = topic_of(argv[first]);
    if (topic < 0) return CLI_WRONG;
    bool sizes = topic == SUGGEST_HEADROOM || topic == SUGGEST_BUFFERS || topic == SUGGEST_TOPICS;
    struct cli_inputs inputs = {.path = argv + first + 1, .paths = 1, .takes_overfull = sizes};
    answer = CLI_WRONG;
    if (cli_source_load(&source, &inputs)) {
        if (source.imported)
            cli_error("suggest: %s is a configuration; 'rocelab import' makes a fabric file of it", source.path);
        else
            answer = run(&source, topic, common.json, out);
    }
    cli_source_release(&source);
    return answer;
}
