/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs share: exit status, messages, options, the output stream.
 *
 * A verb is one file and one function.  verbs.def lists the verbs; each verb's NAME_options.def
 * lists its options after common_options.def, and parsing, --help and the tests that hold man page
 * and completions against the program all come from these lists.
 */
#ifndef ROCELAB_CLI_CLI_H
#define ROCELAB_CLI_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/units.h"
#include "report/text.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_PROBLEMS = 1, /* the verb did its work and found something wrong */
    CLI_WRONG = 2,    /* wrong use, unreadable input, output that could not be written */
};

struct cli_verb {
    const char *name;
    int (*run)(int argc, char **argv, FILE *out); /* answers an enum cli_exit; argv[0] is the verb */
    const char *help;
};

extern const struct cli_verb cli_verbs[];
extern const size_t cli_verb_count;
const struct cli_verb *cli_find_verb(const char *name); /* NULL after a message that names the nearest */
void cli_list_verbs(FILE *out);

/* "rocelab: ..." on standard error. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

/* Common options of every verb, and where a verb's own begin. */
enum cli_common_option {
#define OPTION(id, name, argument, help) CLI_OPTION_##id,
#include "cli/common_options.def"
#undef OPTION
    CLI_OPTION_OWN
};

struct cli_option {
    int id;
    const char *name;
    const char *argument; /* NULL: takes none */
    const char *help;
};

extern const struct cli_option cli_common_options[CLI_OPTION_OWN]; /* for verbs that have no others */

struct cli_common {
    bool json, quiet, strict;
};

struct cli_command {
    const char *verb;
    const char *operands; /* "FILE..." */
    const char *about;    /* a sentence or two */
    const struct cli_option *option;
    unsigned options;
    void (*more)(FILE *out);                               /* what --help says at the end; may be NULL */
    bool (*set)(void *into, int id, const char *argument); /* an own option; false after a message */
};

/* CLI_GO: go on with argv[*ret_first...]; otherwise the exit status. */
#define CLI_GO (-1)
int cli_options(const struct cli_command *command, int argc, char **argv, FILE *out, struct cli_common *ret_common,
                void *into, int *ret_first);

/* For `set`: false after a message that names the option. */
bool cli_quantity(enum unit_kind kind, const char *option, const char *text, uint64_t *ret);
bool cli_number(const char *option, const char *text, uint32_t *ret);

/* The name nearest to `wrong`, or NULL when none is near. */
const char *cli_nearest(const char *wrong, const char *(*name)(const void *list, size_t index), const void *list,
                        size_t count);

/* A folder to write into: made, or there and writable.  Known before a run, not after it; false after a message. */
bool cli_folder(const char *option, const char *path);

/* Writes a document of a verb; false after a message. */
typedef bool cli_writer(const void *context, FILE *out);

/* From now on an interrupt or SIGTERM counts here; the one after so many ends the program. */
extern volatile sig_atomic_t cli_stopped;
void cli_catch_stop(int times);

/* Standard output, with its first error remembered. */
FILE *cli_output_open(void);
bool cli_output_failed(FILE *out);
int cli_output_close(FILE *out); /* CLI_DONE or, after a message (none for a closed pipe), CLI_WRONG */
struct text_style cli_style(void);

#define X(name, function, help) int function(int argc, char **argv, FILE *out);
#include "cli/verbs.def"
#undef X

#endif
