/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person adds to configurations on the command line: --model, --cable, --facts; and the files that a directory
 * stands for.
 */
#ifndef ROCELAB_CLI_GIVEN_H
#define ROCELAB_CLI_GIVEN_H

#include <stdbool.h>

#include "config/facts.h"

#define GIVEN_FILES_MAX 16

struct cli_given {
    struct arena arena;
    bool begun;          /* the arena is in use */
    struct facts option; /* of --model and --cable */
    const char *file[GIVEN_FILES_MAX];
    int files;
};

/* The values of --model, --cable and --facts; false after a message. */
bool cli_given_model(void *given, const char *argument);
bool cli_given_cable(void *given, const char *argument);
bool cli_given_file(void *given, const char *path);
void cli_given_release(struct cli_given *given);
/* Was any of it given? */
static inline bool cli_given_any(const struct cli_given *given)
{
    return given && (given->option.count || given->files);
}
/* Says all of it, and what FACTS_FILE beside the texts that were read says, of the devices of the set; the command line
 * has the last word.  given NULL: only the latter.  False after messages. */
bool cli_given_apply(struct cli_given *given, struct config_set *set);

/* Operands with directories replaced by the configurations in them, those that say links last. */
struct cli_files {
    char **path;
    int paths, room;
};
/* False after a message.  What a directory has besides is listed on standard error. */
bool cli_files_find(char *const *operand, int operands, bool quiet, struct cli_files *ret);
void cli_files_release(struct cli_files *files);

#endif
