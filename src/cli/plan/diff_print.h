/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drifts gathered and told.  Private to the verb diff.
 */
#ifndef ROCELAB_CLI_DIFF_PRINT_H
#define ROCELAB_CLI_DIFF_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/source.h"
#include "config/diff.h"
#include "report/json_out.h"

struct diff_list {
    const struct cli_source *approved, *running;
    struct drift *drift;
    uint32_t count, room;
    struct arena arena;      /* of texts that do not outlive the call */
    struct cli_given *given; /* what was added to RUNNING; NULL: nothing */
    const char *by;          /* who changes it; NULL: nobody is named */
};
/* It is a change that is not for whoever makes it. */
bool diff_refused(const struct diff_list *list, const struct drift *drift);
uint32_t diff_refusals(const struct diff_list *list);

/* diff's `each`; `to` is a diff_list. */
void diff_list_add(void *to, const struct drift *drift);
/* After diff_run(), of two fabric files: each value that they say otherwise and of which no drift was told is one, too,
 * of a device, a role, or the "file". */
void diff_words(struct diff *diff, struct diff_list *list);
/* Lines; drifts alike on ports of a device are one, unless all are wanted.  The number of lines. */
uint32_t diff_print_text(const struct diff_list *list, bool all, FILE *out);
void diff_print_json(const struct diff_list *list, struct jout *jout);

#endif
