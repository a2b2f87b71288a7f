/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab import --from FORMAT FILE...: configurations of switches and hosts, and inputs of other simulators, as a
 * fabric file on standard output.
 *
 * Both are read in src/config; here are the command line and the promise that nothing is printed unless all of the
 * input could be read: the file is written to memory first.  What is not carried over of a simulator's input stands in
 * it as comments with the original's line; of a configuration it is listed on standard error.  With --json it is a
 * list besides.
 */
#include "cli/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/ends.h"
#include "cli/source.h"
#include "config/config.h"
#include "config/foreign/foreign.h"
#include "fabric/fabric.h"
#include "report/json_out.h"
#include "report/rows/rows.h"

enum format { FROM_NONE, FROM_HPCC, FROM_HTSIM, FROM_CONFIG };

struct settings {
    struct cli_common common;
    enum format from; /* FROM_NONE: not said, so a configuration whose kind is guessed */
    const struct config_format *config;
    const char *congestion;
    uint64_t buffer_bytes;
    struct cli_links links;
    struct cli_given given;
};

/* That simulator counts its buffers in units of 2^20 bytes and calls them MB: whoever copies a number from its
 * configuration must get the same buffer.  All other units mean what they mean everywhere. */
static bool set_buffer(void *to, const char *text)
{
    uint64_t *ret = to;
    size_t digits = strspn(text, "0123456789");
    char plain[32];

    if (digits > 0 && digits < 12 && (text[digits] == 0 || strcmp(text + digits, "MB") == 0)) {
        snprintf(plain, sizeof plain, "%.*sMiB", (int)digits, text);
        if (!cli_quantity(UNIT_SIZE, "buffer", plain, ret)) return false;
    } else if (!cli_quantity(UNIT_SIZE, "buffer", text, ret)) {
        return false;
    }
    if (*ret > 0) return true;
    return cli_fail("--buffer '%s': more than 0, as in 32MB", text);
}

static bool set_from(void *to, const char *argument)
{
    struct settings *settings = to;
    char names[CONFIG_NAMES];

    settings->config = config_format_find(argument);
    settings->from = strcmp(argument, "hpcc") == 0    ? FROM_HPCC
                     : strcmp(argument, "htsim") == 0 ? FROM_HTSIM
                     : settings->config               ? FROM_CONFIG
                                                      : FROM_NONE;
    if (settings->from != FROM_NONE) return true;
    return cli_fail("--from '%s': %s; hpcc or htsim for the inputs of simulators", argument,
                    config_format_names(CONFIG_READ, "or", names));
}

static const struct cli_option options[] = {
#include "cli/plan/import_options.def"
};

static const struct cli_command command = {
    .verb = "import",
    .operands = "FILES",
    .about =
        "Prints configurations of switches and hosts, or the inputs of another simulator, as a fabric file. Lines of a "
        "configuration that are not understood are listed on standard error.",
    CLI_OWN(options),
    .more = "FILES are configurations; for hpcc TOPOLOGY and FLOWS,\n"
            "for htsim MATRIX.\n"
            "\nExamples:\n"
            "  rocelab import leaf1.cfg leaf2.cfg config_db.json --links lab.clab.yml > fabric.yaml\n"
            "  rocelab import --from eos running-config.txt\n"
            "  rocelab import --from hpcc topology.txt flow.txt --congestion dcqcn --buffer 32MB > fabric.yaml\n"
            "  rocelab import --from htsim perm128.cm > fabric.yaml && rocelab sim fabric.yaml\n"
            "\nWith --json the fabric file's text and what was not carried over are members of a document.\n"
            "\nExit status: 0 a fabric file was printed, 2 wrong use or unreadable input (nothing was printed).\n",
};

static bool check_use(const struct settings *settings, int operands)
{
    bool simulator = settings->from == FROM_HPCC || settings->from == FROM_HTSIM;

    if (!simulator && operands == 0) return cli_fail("import: which files? see 'rocelab help import'");
    if (!simulator && (settings->congestion || settings->buffer_bytes))
        return cli_fail("import: --congestion and --buffer belong to --from hpcc");
    if (simulator && (settings->links.count || cli_given_any(&settings->given)))
        return cli_fail("import: --links, --model, --cable and --facts belong to configurations");
    if (settings->from == FROM_HPCC && operands != 2)
        return cli_fail("import: --from hpcc takes two files, TOPOLOGY and FLOWS; see 'rocelab help import'");
    if (settings->from == FROM_HTSIM && operands != 1)
        return cli_fail("import: --from htsim takes one file, a connection matrix; see 'rocelab help import'");
    if (settings->from == FROM_HTSIM && (settings->congestion || settings->buffer_bytes))
        return cli_fail(
            "import: --congestion and --buffer belong to --from hpcc; a matrix's fabric is there to be edited");
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
    struct jout *jout = jout_begin(out, "import");

    jout_text(jout, "from", settings->from == FROM_HPCC ? "hpcc" : "htsim");
    jout_text(jout, "fabric", text);
    jout_open(jout, "notes", '[');
    print_notes(jout, text);
    jout_close(jout);
    jout_end(jout);
}

/* `file:line: leaf1 Ethernet1: message`, as compilers write. */
static void list_notes(const struct config_set *set)
{
    for (uint32_t n = 0; n < set->notes; n++) {
        const struct config_note *note = &set->note[n];
        const char *path = note->at.source < set->sources ? set->path[note->at.source] : "-";
        const struct text_style style = cli_style();

        text_outside(stderr, &style, path);
        fprintf(stderr, ":%u: ", note->at.line);
        if (note->rule) fprintf(stderr, "note[%s]: ", note->rule);
        if (note->device) {
            fprintf(stderr, "%s%s", note->device, note->port ? " " : "");
            if (note->port) text_outside(stderr, &style, note->port);
            fputs(": ", stderr);
        }
        if (!note->rule) fputs(note->assumed ? "assumed: " : "not understood: ", stderr);
        text_outside(stderr, &style, note->message);
        fputc('\n', stderr);
    }
}

/* What will be silent of rules when the file is checked. */
static void list_unjudged(const struct config_set *set)
{
    for (uint32_t u = 0; u < set->unjudgeds; u++) {
        const struct config_unjudged *as = &set->unjudged[u], *last = u ? as - 1 : NULL;
        const struct text_style style = cli_style();

        if (last && last->device == as->device && strcmp(last->message, as->message) == 0) continue;
        text_outside(stderr, &style, set->path[as->at.source]);
        fprintf(stderr, ":%u: %s: cannot be judged: ", as->at.line, set->device[as->device].name);
        text_outside(stderr, &style, as->message);
        fputc('\n', stderr);
    }
}

static void print_configs_json(const struct cli_source *source, const struct settings *settings, FILE *out)
{
    const struct config_set *set = &source->set;
    struct jout *jout = jout_begin(out, "import");

    jout_text(jout, "from", settings->config ? settings->config->name : NULL);
    jout_text(jout, "fabric", source->text);
    jout_open(jout, "lines", '[');
    for (uint32_t n = 0; n < set->notes; n++) {
        const struct config_note *note = &set->note[n];
        jout_open_line(jout, NULL, '{');
#include "report/rows/import_line.def"
        jout_close(jout);
    }
    jout_close(jout);
    cli_ends_json(jout, set);
    jout_end(jout);
}

static int import_configs(struct settings *settings, char **operand, int operands, FILE *out)
{
    struct cli_files files = {0};
    struct cli_source source = {0};
    bool good = cli_files_find(operand, operands, settings->common.quiet, &files);
    struct cli_inputs inputs = {.path = files.path,
                                .paths = files.paths,
                                .from = settings->config,
                                .links = &settings->links,
                                .given = &settings->given};

    good = good && cli_source_import(&source, &inputs);

    if (good && settings->common.json) print_configs_json(&source, settings, out);
    if (good && !settings->common.json) fputs(source.text, out);
    if (good && !settings->common.json && !settings->common.quiet) {
        list_notes(&source.set);
        list_unjudged(&source.set);
        cli_ends_text(&source.set, NULL, stderr);
    }
    cli_source_release(&source);
    cli_files_release(&files);
    return good ? CLI_DONE : CLI_WRONG;
}

static int import_simulator(const struct settings *settings, char **file, FILE *out)
{
    struct fabric_errors errors = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    int result = import(settings, file, to, &errors);

    fclose(to);
    if (result == 0 && settings->common.json)
        print_json(settings, text, out);
    else if (result == 0)
        fwrite(text, 1, length, out);
    else if (errors.count)
        fabric_errors_print(&errors, stderr);
    else
        cli_error("import: %s", strerror(-result));
    free(text);
    return result == 0 ? CLI_DONE : CLI_WRONG;
}

int verb_import(int argc, char **argv, FILE *out)
{
    struct settings settings = {.from = FROM_NONE};
    int first;
    int answer = cli_options(&command, argc, argv, out, &settings.common, &settings, &first);

    if (answer == CLI_GO && !check_use(&settings, argc - first)) answer = CLI_WRONG;
    if (answer == CLI_GO)
        answer = settings.from == FROM_NONE || settings.from == FROM_CONFIG
                     ? import_configs(&settings, argv + first, argc - first, out)
                     : import_simulator(&settings, argv + first, out);
    cli_given_release(&settings.given);
    return answer;
}
