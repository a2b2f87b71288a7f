/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of `rocelab up`: which programs are started on which host, and when, and what breaks.
 *
 *     h0: ib_write_bw                     # from the beginning
 *     h1 after 10ms: ib_write_bw h0
 *     at 2ms: down leaf0:3 for 5ms        # the words of `faults:`
 *
 * A command is words, with quotes as a shell has them; one that needs a shell (a pipe, a variable, two commands) is
 * given to /bin/sh.  Faults are said as under `faults:` of the file, and judged there.  Hosts and faults are held to
 * the fabric whatever else is wrong: one reading tells everything.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"
#include "fabric/fabric.h"
#include "up/up.h"

#define QUOTED_SIGNS "$`\\"
#define SHELL_SIGNS "|&;<>()$`\\*?[~{}\n"

struct reader {
    struct up_script *script;
    struct fabric_errors *errors;
    uint32_t line, room;
    bool no_memory;
};

#define WRONG(reader, ...) fabric_errors_add((reader)->errors, (struct fabric_at){(reader)->line, 1}, __VA_ARGS__)

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    return text;
}

/* A sign of a comment stands at the beginning or behind a space, outside of quotes. */
static void cut_comment(char *line)
{
    char quote = 0;

    for (char *at = line; *at; at++) {
        if (quote ? *at == quote : *at == '\'' || *at == '"') quote = quote ? 0 : *at;
        if (quote == 0 && *at == '#' && (at == line || isspace((unsigned char)at[-1]))) {
            *at = '\0';
            return;
        }
    }
}

/* Words in place, quotes taken away; -1: a quote is not closed. */
static int split(char *text, char **word, unsigned most)
{
    unsigned count = 0;

    for (char *at = text; *at;) {
        while (isspace((unsigned char)*at))
            at++;
        if (*at == '\0') break;
        if (count == most) return (int)count;
        char *to = word[count++] = at, quote = 0;
        for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
            if (quote ? *at == quote : *at == '\'' || *at == '"')
                quote = quote ? 0 : *at;
            else
                *to++ = *at;
        }
        if (quote) return -1;
        if (*at) at++;
        *to = '\0';
    }
    return (int)count;
}

static bool needs_shell(const char *text)
{
    char quote = 0;

    for (const char *at = text; *at; at++) {
        if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? 0 : *at;
        else if (quote != '\'' && strchr(quote ? QUOTED_SIGNS : SHELL_SIGNS, *at))
            return true;
    }
    /* NAME=value in front is a shell's too */
    size_t name = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return name > 0 && text[name] == '=';
}

static bool set_words(struct reader *reader, struct up_command *command)
{
    static char shell[] = "/bin/sh", dash_c[] = "-c";
    size_t most = strlen(command->text) / 2 + 4;

    command->word = calloc(most + 1, sizeof *command->word);
    char *copy = strdup(command->text);
    if (command->word == NULL || copy == NULL) {
        free(copy);
        reader->no_memory = true;
        return false;
    }
    if (needs_shell(command->text)) {
        command->word[0] = shell;
        command->word[1] = dash_c;
        command->word[2] = copy;
        command->copy = copy;
        return true;
    }
    command->copy = copy;
    if (split(copy, command->word, (unsigned)most) > 0) return true;
    WRONG(reader, "a quote is not closed: %s", command->text);
    return false;
}

static void add_command(struct reader *reader, const char *host, ps_t at, const char *text)
{
    struct up_script *script = reader->script;

    if (!GROW(script->command, script->commands, reader->room)) {
        reader->no_memory = true;
        return;
    }
    struct up_command *command = &script->command[script->commands++];
    *command = (struct up_command){.host = host, .at = at, .text = text, .line = reader->line};
    set_words(reader, command);
}

/* Kept as it is written: the file's own reader judges it. */
static void add_fault(struct reader *reader, ps_t at, const char *text)
{
    struct up_script *script = reader->script;
    struct up_fault *more = realloc(script->fault, (script->faults + 1) * sizeof *more);

    if (more == NULL) {
        reader->no_memory = true;
        return;
    }
    script->fault = more;
    more[script->faults++] = (struct up_fault){.text = text, .at = at, .line = reader->line};
}

/* What stands before the colon: `h0`, `h1 after 10ms`, `at 2ms`. */
static void read_line(struct reader *reader, char *line)
{
    char *word[4], *colon = strstr(line, ": ");
    const char *why = "";
    uint64_t time = 0;

    if (colon == NULL) {
        WRONG(reader,
              "'HOST: COMMAND', 'HOST after TIME: COMMAND' or 'at TIME: FAULT' is expected, a space behind the colon");
        return;
    }
    *colon = '\0';
    char *rest = trimmed(colon + 2);
    int words = split(line, word, 4);
    const char *when = words == 2 ? word[1] : words == 3 ? word[2] : "0";
    bool fault = words == 2 && strcmp(word[0], "at") == 0;
    bool after = words == 3 && strcmp(word[1], "after") == 0;
    if (!fault && !after && words != 1) {
        WRONG(reader, "before the colon stands HOST, HOST after TIME, or at TIME");
        return;
    }
    if ((fault || after) && unit_parse(UNIT_TIME, when, &time, &why) != 0) {
        WRONG(reader, "'%s' is no time: %s", when, why);
        return;
    }
    if (rest[0] == '\0')
        WRONG(reader, "nothing stands behind the colon");
    else if (fault)
        add_fault(reader, time, rest);
    else
        add_command(reader, word[0], time, rest);
}

int up_script_parse(const char *path, const char *text, struct up_script *ret, struct fabric_errors *errors)
{
    struct reader reader = {.script = ret, .errors = errors};

    *ret = (struct up_script){.text = strdup(text)};
    errors->path = path;
    if (ret->text == NULL) return -ENOMEM;
    for (char *at = ret->text, *next; at && !reader.no_memory; at = next) {
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        reader.line++;
        cut_comment(at);
        char *line = trimmed(at);
        if (line[0]) read_line(&reader, line);
    }
    if (reader.no_memory) return -ENOMEM;
    if (errors->count == 0 && ret->commands == 0) WRONG(&reader, "no line starts a program, as in 'h0: ib_write_bw'");
    return errors->count ? -EINVAL : 0;
}

static bool fit_fault(struct up_fault *fault, struct fabric *fabric, struct fabric_errors *errors)
{
    struct fabric_errors found = {0};

    fault->first = fabric->faults;
    if (fabric_faults_add(fabric, fault->text, fault->at, &found) == -ENOMEM) return false;
    for (uint32_t i = 0; i < found.count; i++)
        fabric_errors_add(errors, (struct fabric_at){fault->line, 1}, "%s", found.error[i].text);
    return true;
}

int up_script_fit(struct up_script *script, struct fabric *fabric, struct fabric_errors *errors)
{
    for (uint32_t i = 0; i < script->commands; i++) {
        const struct up_command *command = &script->command[i];
        if (fabric_find_node(fabric, command->host) < fabric->hosts) continue;
        fabric_errors_add(errors, (struct fabric_at){command->line, 1}, "there is no host '%s' in fabric %s",
                          command->host, fabric->name);
    }
    for (uint32_t i = 0; i < script->faults; i++)
        if (!fit_fault(&script->fault[i], fabric, errors)) return -ENOMEM;
    return errors->count ? -EINVAL : 0;
}

void up_script_free(struct up_script *script)
{
    for (uint32_t i = 0; i < script->commands; i++) {
        free(script->command[i].word);
        free(script->command[i].copy);
    }
    free(script->command);
    free(script->fault);
    free(script->text);
    *script = (struct up_script){0};
}
