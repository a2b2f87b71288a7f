/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab VERB [OPTIONS] ...: finds the verb and runs it.
 *
 * There is no setlocale(): numbers and messages are the same everywhere, because people paste them into mails and
 * scripts read them.  Whether bars may be UTF-8 is in the locale's name (output.c), be it installed or not, and whether
 * or not there is memory to load it.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "base/draft.h"
#include "base/reads.h"
#include "cli/memory.h"

const struct cli_verb cli_verbs[] = {
#define X(name, function, help) {#name, function, help},
#include "cli/verbs.def"
#undef X
};
const size_t cli_verb_count = sizeof cli_verbs / sizeof cli_verbs[0];

__attribute__((format(printf, 1, 0))) static void print_error(const char *format, va_list list)
{
    const struct text_style style = cli_style();
    char text[1024];

    vsnprintf(text, sizeof text, format, list);
    fputs("rocelab: ", stderr);
    text_outside(stderr, &style, text); /* messages quote arguments and file names */
    fputc('\n', stderr);
}

void cli_error(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    print_error(format, list);
    va_end(list);
}

bool cli_fail(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    print_error(format, list);
    va_end(list);
    return false;
}

int cli_wrong(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    print_error(format, list);
    va_end(list);
    return CLI_WRONG;
}

static const char *verb_name(const void *list, size_t index)
{
    return ((const struct cli_verb *)list)[index].name;
}

const struct cli_verb *cli_find_verb(const char *name)
{
    const char *near;

    for (size_t i = 0; i < cli_verb_count; i++) {
        if (strcmp(cli_verbs[i].name, name) == 0) return &cli_verbs[i];
    }
    near = cli_nearest(name, verb_name, cli_verbs, cli_verb_count);
    if (near != NULL)
        cli_error("unknown verb '%s': did you mean '%s'?", name, near);
    else
        cli_error("unknown verb '%s'; 'rocelab help' lists them", name);
    return NULL;
}

static int run(int argc, char **argv, FILE *out)
{
    const struct cli_verb *verb;
    char *name;

    if (argc < 2) {
        cli_list_verbs(stderr);
        return CLI_WRONG;
    }
    name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) return verb_version(argc - 1, argv + 1, out);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return verb_help(argc - 1, argv + 1, out);
    if (name[0] == '-')
        return cli_wrong("unknown option '%s': the verb comes first, as in 'rocelab capture %s FILE'", name, name);
    verb = cli_find_verb(name);
    return verb == NULL ? CLI_WRONG : verb->run(argc - 1, argv + 1, out);
}

int main(int argc, char **argv)
{
    int status, written;
    FILE *out;

    cli_memory_may_fail(false);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), seen by cli_output_close() */
    signal(SIGXFSZ, SIG_IGN); /* likewise a file that outgrows `ulimit -f` */
    draft_watch_end();
    reads_keep();
    out = cli_output_open();
    if (out == NULL) return cli_wrong("not enough memory");
    status = run(argc, argv, out);
    written = cli_output_close(out);
    return written == CLI_DONE ? status : written;
}
