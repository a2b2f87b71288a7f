/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's counters as the outputs of a real fabric: what the commands of its switches, as SONiC, and of its hosts would
 * print at one moment, in the folders DIR/TIME/DEVICE (docs/dump.md).
 *
 * Only what such a system counts and shows is written.  Counters begin above 0, as those of a fabric that has run
 * before: what happened is the difference of two moments.  Nothing here changes the run.
 */
#ifndef ROCELAB_DUMP_DUMP_H
#define ROCELAB_DUMP_DUMP_H

#include <stdint.h>

#include "base/time.h"
#include "sim/sim.h"

struct fabric;
struct moment_drops;

struct dump {
    const char *folder;         /* there, and empty before the first moment */
    uint64_t seed;              /* of what counters begin with */
    ps_t last;                  /* moment that was written; 0 at first */
    struct moment_drops *drops; /* private: NULL at first */
};

#define DUMP_PATH 4096
struct dump_failure { /* of what could not be written, the first */
    char path[DUMP_PATH];
    int error; /* errno; 0: nothing failed */
};

/* The moment that the simulation is at; nothing where it was written before.  0, or -errno: ret_failure says of
 * what. */
int dump_write(struct dump *dump, const struct fabric *fabric, struct sim *sim, struct dump_failure *ret_failure);
void dump_release(struct dump *dump); /* after the last */

#endif
