/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos statements on paper: the same ones as blocks in braces or as lines of `set`.
 */
#ifndef ROCELAB_CONFIG_JUNOS_PRINT_H
#define ROCELAB_CONFIG_JUNOS_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"

#define JUNOS_PATH 512u

struct junos_printer {
    const struct config_emit *emit;
    bool commands;
    char open[JUNOS_PATH]; /* the blocks that are open, a | between them; "": none */
};

/* A statement within blocks: `class-of-service|schedulers|s1` and `priority low`.  Blocks are opened and closed as
 * needed; what belongs together stands together where it is said together. */
__attribute__((format(printf, 3, 4))) void junos_print(struct junos_printer *to, const char *blocks, const char *format,
                                                       ...);
/* Closes all blocks. */
void junos_print_end(struct junos_printer *to);
/* A comment on a line of its own, outside of all blocks. */
void junos_print_comment(struct junos_printer *to, const char *text);

#endif
