/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of `rocelab check` share.
 */
#ifndef ROCELAB_CLI_CHECK_H
#define ROCELAB_CLI_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "check/check.h"
#include "cli/source.h"
#include "config/config.h"
#include "report/json_out.h"

struct check_choice {         /* of rules: --select and --ignore */
    bool *selected, *ignored; /* [check_rule_count]; NULL: the option was not given */
};

struct check_cause { /* findings that are one thing to mend; the first is told */
    uint32_t *finding;
    uint32_t count;
};

struct check_input { /* a fabric file, or all configurations together */
    struct cli_source source;
    struct check check;
    const struct check_choice *choice;
    struct check_cause *cause; /* in order of the first of each */
    uint32_t causes;
};

/* Reads, loads, runs; false after messages. */
bool check_input_open(struct check_input *input, const struct cli_inputs *from, const struct check_options *options);
void check_input_close(struct check_input *input);
/* Whether the file is a fabric file: it begins so. */
bool check_is_fabric(const char *path);
/* Importers' notes; NULL: it is a fabric file. */
static inline const struct config_set *check_set(const struct check_input *input)
{
    return input->source.imported ? &input->source.set : NULL;
}

/* What the whole verdict is about: the file, or how many devices. */
#define CHECK_SUBJECT 32
const char *check_subject(const struct check_input *input, char buf[CHECK_SUBJECT]);
/* A finding's file. */
const char *check_file(const struct check_input *input, const struct check_finding *finding);
/* check_fold.c; each: none are put together.  False: no memory. */
void check_fold(struct check_input *input, bool each);
/* Findings of the cause besides the first. */
uint32_t check_also(const struct check_input *input, const struct check_cause *cause);
/* check_text.c; all: nothing is folded. */
void check_print_text(const struct check_input *input, bool quiet, bool all, FILE *out);
void check_print_json(const struct check_input *input, uint32_t count, FILE *out);
void check_print_sarif(const struct check_input *input, uint32_t count, FILE *out);
void check_print_junit(const struct check_input *input, uint32_t count, FILE *out);
/* `locations` of SARIF: a place in a file. */
void check_sarif_locations(struct jout *jout, const char *path, uint32_t line, uint32_t column);
/* What could not be judged (check_unjudged.c). */
void check_unjudged_text(const struct check_input *input, FILE *out);
void check_unjudged_json(struct jout *jout, const struct check_input *input);
void check_unjudged_sarif(struct jout *jout, const struct check_input *input); /* notifications */
bool check_unjudged_rule(const struct check_input *input, uint32_t rule);
void check_print_rules(bool markdown, FILE *out);

/* The value of --select or --ignore; they add up.  False after a message (check_choice.c). */
bool check_choice_select(void *choice, const char *argument);
bool check_choice_ignore(void *choice, const char *argument);
/* Does --ignore leave any of what --select names?  False after a message. */
bool check_choice_any(const struct check_choice *choice);
void check_choice_release(struct check_choice *choice);
/* Is any rule of this id, or whose id begins so, to be told? */
bool check_choice_has(const struct check_choice *choice, const char *id);

/* Lines `FINGERPRINT RULE DEVICE PORT`, of which the first counts.  False after a message. */
bool check_baseline_read(const char *path, uint64_t **ret, size_t *ret_count); /* in order; to be freed */
bool check_baseline_write(const struct check_input *input, uint32_t count, const char *path);

#endif
