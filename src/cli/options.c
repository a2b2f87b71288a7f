/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from a list: parsing through getopt_long(), the text of --help, and what to say when
 * somebody mistypes.  getopt's own messages are not used: they know no neighbours and do not say
 * which verb was meant.
 */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "config/config.h"

#define OPTIONS_MAX 64
#define GETOPT_BASE 0x1000 /* above every character */

const struct cli_option cli_common_options[CLI_OPTION_OWN] = {
#define OPTION(id, name, argument, help) {CLI_OPTION_##id, name, argument, help},
#include "cli/common_options.def"
#undef OPTION
};

/* What an option takes is a list of others: {read} and {written} are systems of config_formats[]. */
static void print_option_help(const struct text_style *style, unsigned indent, const char *help, FILE *out)
{
    static const char *const lists[] = {[CONFIG_READ] = "{read}", [CONFIG_WRITTEN] = "{written}"};
    char names[CONFIG_NAMES], whole[1024];

    for (unsigned kind = 0; kind < sizeof lists / sizeof lists[0]; kind++) {
        const char *at = strstr(help, lists[kind]);
        if (at == NULL) continue;
        int length = snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - help), help,
                              config_format_names(kind, "or", names), at + strlen(lists[kind]));
        CHECK(length > 0 && (size_t)length < sizeof whole);
        help = whole;
        break;
    }
    text_wrap(out, style, indent, indent, help);
}

static void print_help(const struct cli_command *command, FILE *out)
{
    const struct text_style style = cli_style();
    unsigned widest = 0;

    fprintf(out, "Usage: rocelab %s [OPTIONS]%s%s\n\n", command->verb, command->operands[0] == '\0' ? "" : " ",
            command->operands);
    text_wrap(out, &style, 0, 0, command->about);
    fputs("\nOptions:\n", out);
    for (unsigned i = 0; i < command->options; i++) {
        const struct cli_option *option = &command->option[i];
        unsigned width = (unsigned)strlen(option->name);

        if (option->argument != NULL) width += 1 + (unsigned)strlen(option->argument);
        if (width > widest) widest = width;
    }
    for (unsigned i = 0; i < command->options; i++) {
        const struct cli_option *option = &command->option[i];
        int width = fprintf(out, "  --%s%s%s", option->name, option->argument == NULL ? "" : " ",
                            option->argument == NULL ? "" : option->argument);

        fprintf(out, "%*s", (int)widest + 6 - width, "");
        print_option_help(&style, widest + 6, option->help, out);
    }
    if (command->more != NULL) {
        fputc('\n', out);
        command->more(out);
    }
}

const char *cli_nearest(const char *wrong, const char *(*name)(const void *list, size_t index), const void *list,
                        size_t count)
{
    struct nearest nearest;

    nearest_init(&nearest, wrong);
    for (size_t i = 0; i < count; i++)
        nearest_try(&nearest, name(list, i));
    return nearest.word;
}

static const char *option_name(const void *list, size_t index)
{
    return ((const struct cli_option *)list)[index].name;
}

/* getopt answered '?': which of its reasons was it? */
static void complain(const struct cli_command *command, const char *argument)
{
    char name[64];
    const char *near;

    if (optopt >= GETOPT_BASE) {
        cli_error("%s: option '--%s' takes no value", command->verb, command->option[optopt - GETOPT_BASE].name);
        return;
    }
    if (optopt != 0) {
        cli_error("%s: unknown option '-%c'; see 'rocelab help %s'", command->verb, optopt, command->verb);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    near = cli_nearest(name, option_name, command->option, command->options);
    if (near != NULL)
        cli_error("%s: unknown option '--%s': did you mean '--%s'?", command->verb, name, near);
    else
        cli_error("%s: unknown option '--%s'; see 'rocelab help %s'", command->verb, name, command->verb);
}

/* CLI_GO, or the exit status. */
static int take(const struct cli_command *command, int index, FILE *out, struct cli_common *common, void *into)
{
    switch (command->option[index].id) {
    case CLI_OPTION_JSON:
        common->json = true;
        return CLI_GO;
    case CLI_OPTION_QUIET:
        common->quiet = true;
        return CLI_GO;
    case CLI_OPTION_STRICT:
        common->strict = true;
        return CLI_GO;
    case CLI_OPTION_HELP:
        print_help(command, out);
        return CLI_DONE;
    default:
        CHECK(command->set != NULL);
        return command->set(into, command->option[index].id, optarg) ? CLI_GO : CLI_WRONG;
    }
}

int cli_options(const struct cli_command *command, int argc, char **argv, FILE *out, struct cli_common *ret_common,
                void *into, int *ret_first)
{
    struct option option[OPTIONS_MAX] = {0};
    struct cli_common common = {0};

    CHECK(command->options < OPTIONS_MAX);
    for (unsigned i = 0; i < command->options; i++) {
        option[i] = (struct option){.name = command->option[i].name,
                                    .has_arg = command->option[i].argument == NULL ? no_argument : required_argument,
                                    .val = GETOPT_BASE + (int)i};
    }
    opterr = 0;
    optind = 1;
    for (;;) {
        int answer = getopt_long(argc, argv, ":h", option, NULL), done;

        if (answer == -1) break;
        if (answer == 'h') {
            print_help(command, out);
            return CLI_DONE;
        }
        if (answer == ':') {
            cli_error("%s: option '--%s' needs a value (%s)", command->verb, command->option[optopt - GETOPT_BASE].name,
                      command->option[optopt - GETOPT_BASE].argument);
            return CLI_WRONG;
        }
        if (answer == '?') {
            complain(command, argv[optind - 1]);
            return CLI_WRONG;
        }
        done = take(command, answer - GETOPT_BASE, out, &common, into);
        if (done != CLI_GO) return done;
    }
    *ret_common = common;
    *ret_first = optind;
    return CLI_GO;
}

bool cli_quantity(enum unit_kind kind, const char *option, const char *text, uint64_t *ret)
{
    const char *why = "not understood";

    if (unit_parse(kind, text, ret, &why) == 0) return true;
    cli_error("--%s '%s': %s", option, text, why);
    return false;
}

bool cli_number(const char *option, const char *text, uint32_t *ret)
{
    uint64_t value;

    if (!cli_quantity(UNIT_COUNT, option, text, &value)) return false;
    if (value >= UINT32_MAX) {
        cli_error("--%s '%s': too large; at most 4294967294", option, text);
        return false;
    }
    *ret = (uint32_t)value;
    return true;
}
