/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab help [VERB | TOPIC]: the list of verbs, or what one takes, or what topics.def lists.  What a verb takes is
 * known to the verb alone, so `help VERB` runs `VERB --help`.
 */
#include "cli/cli.h"

#include <string.h>

#include "cli/examples.h"
#include "cli/fields.h"
#include "cli/place.h"
#include "cli/topics.h"
#include "report/json_out.h"

static const struct cli_command command = {
    .verb = "help",
    .operands = "[VERB | TOPIC]",
    .about = "Lists the verbs, or says how VERB is used, or prints what TOPIC is about.",
};

static const struct topic {
    const char *name;
    bool operand;
    bool (*print)(const char *operand, bool json, FILE *out); /* of none: NULL; false after a message */
    const char *help;
} topics[] = {
#define TOPIC(name, operand, function, help) {#name, operand, function, help},
#include "cli/topics.def"
#undef TOPIC
};
#define TOPICS (sizeof topics / sizeof topics[0])

static void list_json(FILE *out)
{
    struct jout *jout = jout_begin(out, "help");

    jout_open(jout, "verbs", '[');
    for (size_t i = 0; i < cli_verb_count; i++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "name", cli_verbs[i].name);
        jout_text(jout, "help", cli_verbs[i].help);
        jout_close(jout);
    }
    jout_close(jout);
    JOUT_LIST(jout, "topics", i, TOPICS, jout_text(jout, NULL, topics[i].name));
    jout_end(jout);
}

void cli_list_verbs(FILE *out)
{
    char pages[PATH_MAX];

    fputs("Usage: rocelab VERB [OPTIONS] ...\n\nrocelab is a lab for lossless Ethernet (RoCE).\n\nVerbs:\n", out);
    for (size_t i = 0; i < cli_verb_count; i++)
        fprintf(out, "  %-12s %s\n", cli_verbs[i].name, cli_verbs[i].help);
    fputs("\nTopics of 'rocelab help':\n", out);
    for (size_t i = 0; i < TOPICS; i++)
        fprintf(out, "  %-12s %s\n", topics[i].name, topics[i].help);
    fputs("\n'rocelab help VERB' or 'rocelab VERB --help' says how a verb is used.\n"
          "Every verb takes --json, --quiet, --strict and --help.\n"
          "Exit status: 0 done, 1 problems found, 2 wrong use or unreadable input, 3 not enough for an answer.\n",
          out);
    if (cli_share("docs", pages)) fprintf(out, "Pages that are named as docs/...: %s\n", pages);
}

static const struct topic *find_topic(const char *name)
{
    for (size_t i = 0; i < TOPICS; i++)
        if (strcmp(name, topics[i].name) == 0) return &topics[i];
    return NULL;
}

static const char *topic_name(const void *list, size_t index)
{
    return ((const struct topic *)list)[index].name;
}

int verb_help(int argc, char **argv, FILE *out)
{
    struct cli_common common;
    int first, answer = cli_options(&command, argc, argv, out, &common, NULL, &first);
    const struct topic *topic = answer == CLI_GO && first < argc ? find_topic(argv[first]) : NULL;
    const struct cli_verb *verb;
    char json[] = "--json", option[] = "--help";

    if (answer != CLI_GO) return answer;
    if (argc - first > (topic && topic->operand ? 2 : 1)) return cli_wrong("help: one verb at a time");
    if (argc == first) {
        if (common.json)
            list_json(out);
        else
            cli_list_verbs(out);
        return CLI_DONE;
    }
    if (topic) return topic->print(argv[first + 1], common.json, out) ? CLI_DONE : CLI_WRONG; /* argv ends in NULL */
    bool exact = false;
    for (size_t i = 0; i < cli_verb_count; i++)
        exact |= strcmp(cli_verbs[i].name, argv[first]) == 0;
    const char *near = exact ? NULL : cli_nearest(argv[first], topic_name, topics, TOPICS);
    if (near) return cli_wrong("help: unknown topic '%s': did you mean '%s'?", argv[first], near);
    verb = cli_find_verb(argv[first]);
    return verb == NULL
               ? CLI_WRONG
               : verb->run(2 + common.json, (char *[]){argv[first], common.json ? json : option, option, NULL}, out);
}
