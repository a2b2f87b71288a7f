/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs share: exit status, messages, options, the output stream.
 *
 * A verb is one file and one function.  verbs.def lists the verbs; each verb's NAME_options.def
 * lists its options, what they set and within which limits: parsing, messages, --help and
 * completions come from these lists.
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
    CLI_PROBLEMS = 1,   /* the verb did its work and found something wrong */
    CLI_WRONG = 2,      /* wrong use, unreadable input, output that could not be written */
    CLI_NOT_ENOUGH = 3, /* what was read is too little for an answer (diagnose) */
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

/* "rocelab: ..." on standard error; the others answer what whoever says so answers: false, CLI_WRONG. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) bool cli_fail(const char *format, ...);
__attribute__((format(printf, 1, 2))) int cli_wrong(const char *format, ...);

/* What an option sets; option.h has the words for rows. */
enum cli_value { OPTION_CONSTANT, OPTION_TEXT, OPTION_QUANTITY, OPTION_WORD, OPTION_ENVIRONMENT, OPTION_CALL };

struct cli_option {
    const char *name;
    const char *argument; /* NULL: takes none */
    const char *help;
    enum cli_value value;
    enum unit_kind unit;
    size_t at; /* of what is set in the settings */
    size_t bytes;
    size_t also;          /* 1 + of a bool that is set besides; 0: of none */
    uint64_t least, most; /* most 0: whatever fits */
    uint64_t per;         /* of the unit: one in the field */
    const char *words;    /* NULL: any */
    const char *offered;  /* to who completes a line, where there are others too */
    const char *variable; /* of the environment */
    bool input;           /* a file that is read: may be an example */
    bool (*call)(void *to, const char *argument);
};

struct cli_common {
    bool json, quiet, strict;
};

struct cli_command {
    const char *verb;
    const char *operands;            /* "FILE..." */
    const char *about;               /* a sentence or two */
    const struct cli_option *option; /* its own; each verb has those of common_options.def besides */
    unsigned options;
    const char *strict; /* what --strict does, where it is not what it does elsewhere */
    bool literal;       /* operands are another program's */
    const char *more;   /* what --help says at the end, or who says it; NULL: nothing */
    void (*more_by)(FILE *out);
};
#define CLI_OWN(options) .option = (options), .options = sizeof(options) / sizeof((options)[0])

/* CLI_GO: go on with argv[*ret_first...]; otherwise the exit status. */
#define CLI_GO (-1)
int cli_options(const struct cli_command *command, int argc, char **argv, FILE *out, struct cli_common *ret_common,
                void *into, int *ret_first);

/* What the option's row says, in the verb's settings; false after a message. */
bool cli_option_set(const struct cli_option *option, void *into, const char *text);

/* For an option's own function: false after a message that names the option. */
bool cli_quantity(enum unit_kind kind, const char *option, const char *text, uint64_t *ret);

/* The index of `argument`; `count` after a message that names the nearest, or says `otherwise`. */
size_t cli_one_of(const char *option, const char *argument, const char *(*name)(const void *list, size_t index),
                  const void *list, size_t count, const char *what, const char *otherwise);

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
