/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from a list: parsing through getopt_long(), the text of --help, and what to say when
 * somebody mistypes.  getopt's own messages are not used: they know no neighbours and do not say
 * which verb was meant.
 */
#include "cli/option.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "cli/examples.h"
#include "config/config.h"
#include "report/json_out.h"

#define OPTIONS_MAX 64
#define GETOPT_BASE 0x1000 /* above every character */

struct settings { /* of every verb */
    struct cli_common common;
    bool help;
};

static const struct cli_option common_options[] = {
#include "cli/common_options.def"
};
#define COMMON (sizeof common_options / sizeof common_options[0])

/* Its own options, then those of every verb; NULL behind the last. */
static const struct cli_option *option_at(const struct cli_command *command, unsigned index)
{
    if (index < command->options) return &command->option[index];
    return index - command->options < COMMON ? &common_options[index - command->options] : NULL;
}

#define HELP_TEXT 1024

/* What an option takes is a list of others: {read} and {written} are systems of config_formats[]. */
static const char *with_systems(const char *text, char buf[HELP_TEXT])
{
    static const char *const lists[] = {[CONFIG_READ] = "{read}", [CONFIG_WRITTEN] = "{written}"};
    char names[CONFIG_NAMES];

    for (unsigned kind = 0; kind < sizeof lists / sizeof lists[0]; kind++) {
        const char *at = strstr(text, lists[kind]);
        if (at == NULL) continue;
        int length = snprintf(buf, HELP_TEXT, "%.*s%s%s", (int)(at - text), text,
                              config_format_names(kind, "or", names), at + strlen(lists[kind]));
        CHECK(length > 0 && length < HELP_TEXT);
        return buf;
    }
    return text;
}

static const char *help_of(const struct cli_command *command, const struct cli_option *option, char buf[HELP_TEXT])
{
    if (command->strict != NULL && strcmp(option->name, "strict") == 0) return command->strict;
    return with_systems(option->help, buf);
}

static void help_json(const struct cli_command *command, FILE *out)
{
    const struct cli_option *option;
    char buf[HELP_TEXT];
    struct jout *jout = jout_begin(out, "help");

    jout_text(jout, "verb", command->verb);
    jout_text(jout, "operands", command->operands);
    jout_text(jout, "about", command->about);
    jout_open(jout, "options", '[');
    for (unsigned i = 0; (option = option_at(command, i)) != NULL; i++) {
        const char *words = option->words != NULL ? option->words : option->offered;
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "name", option->name);
        if (option->argument != NULL) jout_text(jout, "argument", option->argument);
        jout_text(jout, "help", help_of(command, option, buf));
        if (words != NULL) jout_text(jout, "words", with_systems(words, buf));
        jout_close(jout);
    }
    jout_close(jout);
    jout_end(jout);
}

static void print_help(const struct cli_command *command, FILE *out)
{
    const struct text_style style = cli_style();
    unsigned widest = 0;

    fprintf(out, "Usage: rocelab %s [OPTIONS]%s%s\n\n", command->verb, command->operands[0] == '\0' ? "" : " ",
            command->operands);
    text_wrap(out, &style, 0, 0, command->about);
    fputs("\nOptions:\n", out);
    const struct cli_option *option;
    for (unsigned i = 0; (option = option_at(command, i)) != NULL; i++) {
        unsigned width = (unsigned)strlen(option->name);

        if (option->argument != NULL) width += 1 + (unsigned)strlen(option->argument);
        if (width > widest) widest = width;
    }
    for (unsigned i = 0; (option = option_at(command, i)) != NULL; i++) {
        char buf[HELP_TEXT];
        int width = fprintf(out, "  --%s%s%s", option->name, option->argument == NULL ? "" : " ",
                            option->argument == NULL ? "" : option->argument);

        fprintf(out, "%*s", (int)widest + 6 - width, "");
        text_wrap(out, &style, widest + 6, widest + 6, help_of(command, option, buf));
    }
    if (command->more != NULL) fprintf(out, "\n%s", command->more);
    if (command->more_by != NULL) {
        fputc('\n', out);
        command->more_by(out);
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

size_t cli_one_of(const char *option, const char *argument, const char *(*name)(const void *list, size_t index),
                  const void *list, size_t count, const char *what, const char *otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name(list, i), argument) == 0) return i;
    const char *near = cli_nearest(argument, name, list, count);
    if (near != NULL)
        cli_error("--%s '%s': no such %s; did you mean '%s'?", option, argument, what, near);
    else
        cli_error("--%s '%s': no such %s; %s", option, argument, what, otherwise);
    return count;
}

static const char *option_name(const void *command, size_t index)
{
    return option_at(command, (unsigned)index)->name;
}

/* getopt answered '?': which of its reasons was it? */
static void complain(const struct cli_command *command, const char *argument)
{
    char name[64];
    const char *near;

    if (optopt >= GETOPT_BASE) {
        cli_error("%s: option '--%s' takes no value", command->verb,
                  option_at(command, (unsigned)(optopt - GETOPT_BASE))->name);
        return;
    }
    if (optopt != 0) {
        cli_error("%s: unknown option '-%c'; see 'rocelab help %s'", command->verb, optopt, command->verb);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    near = cli_nearest(name, option_name, command, command->options + COMMON);
    if (near != NULL)
        cli_error("%s: unknown option '--%s': did you mean '--%s'?", command->verb, name, near);
    else
        cli_error("%s: unknown option '--%s'; see 'rocelab help %s'", command->verb, name, command->verb);
}

bool cli_quantity(enum unit_kind kind, const char *option, const char *text, uint64_t *ret)
{
    const char *why = "not understood";

    if (unit_parse(kind, text, ret, &why) == 0) return true;
    return cli_fail("--%s '%s': %s", option, text, why);
}

static void put(void *to, size_t bytes, uint64_t value)
{
    uint32_t half = (uint32_t)value;

    if (bytes == sizeof value) {
        memcpy(to, &value, sizeof value);
    } else if (bytes == sizeof half) {
        memcpy(to, &half, sizeof half);
    } else {
        CHECK(bytes == sizeof(bool));
        *(bool *)to = value;
    }
}

static void limit(enum unit_kind unit, uint64_t value, char ret[UNIT_TEXT])
{
    if (unit == UNIT_COUNT)
        snprintf(ret, UNIT_TEXT, "%" PRIu64, value);
    else
        unit_format(unit, value, ret);
}

static bool outside(const struct cli_option *option, const char *text, uint64_t most)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];

    limit(option->unit, option->least, from);
    limit(option->unit, most, to);
    if (option->most != 0 || option->least == 0)
        cli_error("--%s '%s': %s to %s", option->name, text, from, to);
    else if (option->least == 1 && option->unit != UNIT_COUNT)
        cli_error("--%s '%s': more than 0", option->name, text);
    else
        cli_error("--%s '%s': %s or more", option->name, text, from);
    return false;
}

static bool set_quantity(const struct cli_option *option, void *to, const char *text)
{
    uint64_t value, most = option->most;

    if (most == 0) most = option->bytes == sizeof(uint32_t) ? UINT32_MAX - 1 : UINT64_MAX;
    if (!cli_quantity(option->unit, option->name, text, &value)) return false;
    if (value < option->least || value > most) return outside(option, text, most);
    if (value % option->per != 0) {
        char one[UNIT_TEXT];
        return cli_fail("--%s '%s': finer than %s", option->name, text, unit_format(option->unit, option->per, one));
    }
    put(to, option->bytes, value / option->per);
    return true;
}

/* How many of its words come before this one; after a message that has them all -1. */
static int word_index(const struct cli_option *option, const char *text)
{
    size_t length = strlen(text);
    int index = 0;

    for (const char *word = option->words; *word; word += strspn(word, " "), index++) {
        size_t letters = strcspn(word, " ");
        if (letters == length && strncmp(word, text, length) == 0) return index;
        word += letters;
    }
    char list[128] = "";
    const char *word = option->words;
    for (int i = 0, used = 0; i < index; i++) {
        int letters = (int)strcspn(word, " ");
        const char *before = i == 0 ? "" : i == index - 1 ? " or " : ", ";
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%.*s", before, letters, word);
        CHECK((size_t)used < sizeof list);
        word += letters + (word[letters] == ' ');
    }
    cli_error("--%s '%s': %s", option->name, text, list);
    return -1;
}

static bool set_environment(const char *variable, const char *text)
{
    const char *equals = strchr(variable, '=');
    char name[64];

    if (equals == NULL) return setenv(variable, text, 1) == 0;
    snprintf(name, sizeof name, "%.*s", (int)(equals - variable), variable);
    return setenv(name, equals + 1, 1) == 0;
}

bool cli_option_set(const struct cli_option *option, void *into, const char *text)
{
    void *to = (char *)into + option->at;
    int word = option->words != NULL ? word_index(option, text) : 0;

    if (word < 0) return false;
    if (option->also != 0) *(bool *)((char *)into + (option->also - 1)) = true;
    switch (option->value) {
    case OPTION_CONSTANT:
        put(to, option->bytes, option->least);
        return true;
    case OPTION_TEXT:
        *(const char **)to = text;
        return true;
    case OPTION_WORD:
        put(to, option->bytes, option->least + (unsigned)word);
        return true;
    case OPTION_QUANTITY:
        return set_quantity(option, to, text);
    case OPTION_ENVIRONMENT:
        return set_environment(option->variable, text);
    case OPTION_CALL:
        return option->call(to, text);
    }
    CHECK(false);
}

/* What getopt_long() wants to know. */
static void describe(const struct cli_command *command, struct option ret[OPTIONS_MAX])
{
    const struct cli_option *option;

    for (unsigned i = 0; (option = option_at(command, i)) != NULL; i++) {
        CHECK(i + 1 < OPTIONS_MAX);
        ret[i] = (struct option){.name = option->name,
                                 .has_arg = option->argument == NULL ? no_argument : required_argument,
                                 .val = GETOPT_BASE + (int)i};
    }
}

int cli_options(const struct cli_command *command, int argc, char **argv, FILE *out, struct cli_common *ret_common,
                void *into, int *ret_first)
{
    struct option option[OPTIONS_MAX] = {0};
    struct settings common = {0};

    describe(command, option);
    opterr = 0;
    optind = 1;
    for (;;) {
        int answer = getopt_long(argc, argv, ":h", option, NULL);

        if (answer == -1) break;
        if (answer == ':') {
            const struct cli_option *lacks = option_at(command, (unsigned)(optopt - GETOPT_BASE));
            return cli_wrong("%s: option '--%s' needs a value (%s)", command->verb, lacks->name, lacks->argument);
        }
        if (answer == '?') {
            complain(command, argv[optind - 1]);
            return CLI_WRONG;
        }
        unsigned index = (unsigned)(answer - GETOPT_BASE);
        if (answer == 'h')
            common.help = true;
        else if (option_at(command, index)->input && !cli_example(&optarg))
            return CLI_WRONG;
        else if (!cli_option_set(option_at(command, index), index < command->options ? into : &common, optarg))
            return CLI_WRONG;
        if (common.help) {
            (common.common.json ? help_json : print_help)(command, out);
            return CLI_DONE;
        }
    }
    for (int i = optind; i < argc && !command->literal; i++)
        if (!cli_example(&argv[i])) return CLI_WRONG;
    *ret_common = common.common;
    *ret_first = optind;
    return CLI_GO;
}
