/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --dump and --dump-at of `sim`: a run's counters as outputs of real commands, at its beginning, at times in
 * between, and at its end.
 */
#ifndef ROCELAB_CLI_DUMP_H
#define ROCELAB_CLI_DUMP_H

#include <stdbool.h>

#include "dump/dump.h"

#define CLI_DUMP_TIMES 1024

struct cli_dump {
    const char *folder;    /* NULL: not asked for */
    char draft[DUMP_PATH]; /* the folder in it that has the moments until the last is written; "": none */
    struct dump dump;
    ps_t at[CLI_DUMP_TIMES]; /* in order, each once */
    unsigned times, next;
    bool failed; /* after a message; no more is written */
};

/* False after a message. */
bool cli_dump_at(void *dump, const char *argument);
/* Whether the options fit together. */
bool cli_dump_fits(const struct cli_dump *dump);
/* Before the run: the folder, and the first moment.  Nothing is in it to be read before the end. */
bool cli_dump_begin(struct cli_dump *dump, const struct fabric *fabric, struct sim *sim, uint64_t seed);
/* The next time that is asked for; PS_NEVER: none. */
ps_t cli_dump_next(const struct cli_dump *dump);
/* The simulation has come to it. */
void cli_dump_look(struct cli_dump *dump, const struct fabric *fabric, struct sim *sim);
bool cli_dump_end(struct cli_dump *dump, const struct fabric *fabric, struct sim *sim);
/* What came to no end is removed. */
void cli_dump_release(struct cli_dump *dump);

#endif
