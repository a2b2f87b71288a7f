/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab fault [NAME] FAULT: something goes wrong in a fabric that is up, now.
 *
 * The words are those of a fabric file's `faults:`.  The fabric answers the time at which it took effect, so that a run
 * by hand can be had again from a script.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/programs/up_ask.h"
#include "fabric/names.h"
#include "report/json_out.h"

static const struct cli_command command = {
    .verb = "fault",
    .operands = "[NAME] FAULT...",
    .about = "Makes something go wrong in a fabric that is up (`rocelab up`): a link goes down, packets are corrupted, "
             "a port sends pauses. Prints the fabric time at which it took effect, as a line for a script.",
    .more =
        "Examples:\n"
        "  rocelab fault down leaf0:3 for 5ms\n"
        "  rocelab fault pod corrupt h3 share 0.1%\n"
        "  rocelab fault pod flap leaf0:3 every 10ms down 1ms times 5\n"
        "\nFAULT is written as under 'faults:' of a fabric file, without the punctuation; without 'at' it begins now.\n"
        "flood and misroute need switches that are made for them: write them into the file.\n"
        "\nExit status: 0 done, 1 the fabric refused it, 2 wrong use or no such fabric.\n",
};

struct asked {
    const char *words;
    char path[UP_PATH]; /* of the fabric */
    bool named;         /* in the command */
};

/* Standard output, or why not.  Which fabric it was is told to who did not say it, as a comment of the line. */
static int print(int answer, const char *text, const struct asked *asked, const struct cli_common *common, FILE *out)
{
    uint64_t at = strtoull(text, NULL, 10);
    char name[UP_PATH];
    const char *words = asked->words;

    up_name(asked->path, name);

    if (answer == CLI_PROBLEMS) {
        size_t length = strcspn(text, "\n");
        cli_error("fault: %.*s", (int)length, text);
    } else if (common->json) {
        struct jout *jout = jout_begin(out, "fault");
        jout_u64(jout, "at_ps", at);
        jout_text(jout, "fabric", name);
        jout_text(jout, "fault", words);
        jout_end(jout);
    } else {
        fprintf(out, "at %" PRIu64 "ps: %s", at, words);
        if (!asked->named) fprintf(out, "  # fabric '%s'", name);
        fputc('\n', out);
    }
    return answer;
}

int verb_fault(int argc, char **argv, FILE *out)
{
    struct cli_common common;
    char words[1024] = "fault";
    char *text = NULL;
    size_t length = 0, used = strlen(words);
    int first, answer = cli_options(&command, argc, argv, out, &common, NULL, &first);

    if (answer != CLI_GO) return answer;
    const char *name = first < argc && !fabric_fault_is_word(argv[first]) ? argv[first++] : NULL;
    if (first >= argc) return cli_wrong("fault: which one? As in 'rocelab fault down leaf0:3 for 5ms'");
    for (int i = first; i < argc && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, " %s", argv[i]);
    FILE *heard = used < sizeof words ? open_memstream(&text, &length) : NULL;
    if (heard == NULL) return cli_wrong("fault: too long");
    struct asked asked = {.words = words + strlen("fault "), .named = name != NULL};
    answer = up_ask("fault", name, words, asked.path, heard);
    fclose(heard);
    if (answer != CLI_WRONG) answer = print(answer, text, &asked, &common, out);
    free(text);
    return answer;
}
