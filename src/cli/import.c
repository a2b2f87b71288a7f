/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab import --from FORMAT FILE...: inputs of other simulators as a fabric file on standard output.
 *
 * The formats are read in src/fabric; here are the command line and the promise that nothing is printed unless
 * all of the input could be read: the file is written to memory first.  What is not carried over stands in it as
 * comments with the original's line; with --json they are a list besides.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "report/json_out.h"

enum import_option {
    IMPORT_OPTIONS_BEGIN = CLI_OPTION_OWN - 1,
#define OPTION(id, name, argument, help) IMPORT_OPTION_##id,
#include "cli/import_options.def"
#undef OPTION
};

static const struct cli_option options[] = {
#define OPTION(id, name, argument, help) {IMPORT_OPTION_##id, name, argument, help},
#include "cli/import_options.def"
#undef OPTION
#define OPTION(id, name, argument, help) {CLI_OPTION_##id, name, argument, help},
#include "cli/common_options.def"
#undef OPTION
};

enum format { FROM_NONE, FROM_HPCC, FROM_HTSIM };

struct settings {
    struct cli_common common;
    enum format from;
    const char *congestion;
    uint64_t buffer_bytes;
};

/* That simulator counts its buffers in units of 2^20 bytes and calls them MB: whoever copies a number from its
 * configuration must get the same buffer.  All other units mean what they mean everywhere. */
static bool set_buffer(const char *text, uint64_t *ret)
{
    size_t digits = strspn(text, "0123456789");
    char plain[32];

    if (digits > 0 && digits < 12 && (text[digits] == 0 || strcmp(text + digits, "MB") == 0)) {
        snprintf(plain, sizeof plain, "%.*sMiB", (int)digits, text);
        if (!cli_quantity(UNIT_SIZE, "buffer", plain, ret)) return false;
    } else if (!cli_quantity(UNIT_SIZE, "buffer", text, ret)) {
        return false;
    }
    if (*ret > 0) return true;
    cli_error("--buffer '%s': more than 0, as in 32MB", text);
    return false;
}

static bool set_option(void *into, int id, const char *argument)
{
    struct settings *settings = into;

    switch (id) {
    case IMPORT_OPTION_FROM:
        settings->from = strcmp(argument, "hpcc") == 0    ? FROM_HPCC
                         : strcmp(argument, "htsim") == 0 ? FROM_HTSIM
                                                          : FROM_NONE;
        if (settings->from != FROM_NONE) return true;
        cli_error("--from '%s': hpcc or htsim", argument);
        return false;
    case IMPORT_OPTION_CONGESTION:
        settings->congestion = argument;
        if (strcmp(argument, "dcqcn") == 0 || strcmp(argument, "hpcc") == 0) return true;
        cli_error("--congestion '%s': dcqcn or hpcc", argument);
        return false;
    case IMPORT_OPTION_BUFFER:
        return set_buffer(argument, &settings->buffer_bytes);
    default:
        CHECK(false);
    }
}

static void more_help(FILE *out)
{
    fputs("FILES are TOPOLOGY and FLOWS for hpcc, MATRIX for htsim.\n"
          "\nExamples:\n"
          "  rocelab import --from hpcc topology.txt flow.txt --congestion dcqcn --buffer 32MB > fabric.yaml\n"
          "  rocelab import --from htsim perm128.cm > fabric.yaml && rocelab sim fabric.yaml\n"
          "\nWith --json the fabric file's text and what was not carried over are members of a document.\n"
          "\nExit status: 0 a fabric file was printed, 2 wrong use or unreadable input (nothing was printed).\n",
          out);
}

static const struct cli_command command = {
    .verb = "import",
    .operands = "FILES",
    .about = "Prints the inputs of another simulator as a fabric file that `rocelab sim` runs.",
    .option = options,
    .options = sizeof options / sizeof options[0],
    .more = more_help,
    .set = set_option,
};

static bool check_use(const struct settings *settings, int operands)
{
    if (settings->from == FROM_NONE) {
        cli_error("import: --from what? hpcc or htsim; see 'rocelab help import'");
        return false;
    }
    if (settings->from == FROM_HPCC && operands != 2) {
        cli_error("import: --from hpcc takes two files, TOPOLOGY and FLOWS; see 'rocelab help import'");
        return false;
    }
    if (settings->from == FROM_HTSIM && operands != 1) {
        cli_error("import: --from htsim takes one file, a connection matrix; see 'rocelab help import'");
        return false;
    }
    if (settings->from == FROM_HTSIM && (settings->congestion || settings->buffer_bytes)) {
        cli_error("import: --congestion and --buffer belong to --from hpcc; a matrix's fabric is there to be edited");
        return false;
    }
    return true;
}

static int import(const struct settings *settings, char **file, FILE *to, struct fabric_errors *errors)
{
    const struct fabric_import_hpcc hpcc = {.topology_path = file[0],
                                            .flows_path = settings->from == FROM_HPCC ? file[1] : NULL,
                                            .congestion = settings->congestion ? settings->congestion : "dcqcn",
                                            .buffer_bytes = settings->buffer_bytes};

    return settings->from == FROM_HPCC ? fabric_import_hpcc(&hpcc, to, errors)
                                       : fabric_import_htsim(file[0], NULL, to, errors);
}

/* The comments that tell what is not carried over; `text` is cut into lines. */
static void print_notes(struct jout *jout, char *text)
{
    for (char *end; *text; text = end) {
        end = text + strcspn(text, "\n");
        if (*end) *end++ = 0;
        text += strspn(text, " ");
        if (strncmp(text, "# line ", 7) == 0 || strncmp(text, "# and ", 6) == 0) jout_text(jout, NULL, text + 2);
    }
}

static void print_json(const struct settings *settings, char *text, FILE *out)
{
    struct jout jout;

    jout_init(&jout, out);
    jout_open(&jout, NULL, '{');
    jout_u64(&jout, "version", 1);
    jout_text(&jout, "kind", "import");
    jout_text(&jout, "from", settings->from == FROM_HPCC ? "hpcc" : "htsim");
    jout_text(&jout, "fabric", text);
    jout_open(&jout, "notes", '[');
    print_notes(&jout, text);
    jout_close(&jout);
    jout_close(&jout);
}

int verb_import(int argc, char **argv, FILE *out)
{
    struct settings settings = {.from = FROM_NONE};
    struct fabric_errors errors = {0};
    char *text = NULL;
    size_t length = 0;
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (!check_use(&settings, argc - first)) return CLI_WRONG;
    FILE *to = open_memstream(&text, &length);
    int result = to ? import(&settings, argv + first, to, &errors) : -ENOMEM;
    if (to && fclose(to) != 0 && result == 0) result = -ENOMEM;
    if (result == 0 && settings.common.json)
        print_json(&settings, text, out);
    else if (result == 0)
        fwrite(text, 1, length, out);
    else if (errors.count)
        fabric_errors_print(&errors, stderr);
    else
        cli_error("import: %s", strerror(-result));
    free(text);
    return result == 0 ? CLI_DONE : CLI_WRONG;
}
