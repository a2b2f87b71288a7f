/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that bring a running device back to what was approved.
 *
 * Both fabrics are written as configurations of the device's system; what only the approved one has is to be set, and
 * what only the running one has is to go.  The text that runs decides what is there already, and how things are called.
 */
#ifndef ROCELAB_CONFIG_FIX_H
#define ROCELAB_CONFIG_FIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"

enum fix_family { /* what drifted, in bits: statements of other families are left alone */
                  FIX_MAPS = 1 << 0,
                  FIX_PFC = 1 << 1,
                  FIX_ECN = 1 << 2,
                  FIX_SHARES = 1 << 3,
                  FIX_BUFFERS = 1 << 4,
                  FIX_WATCHDOG = 1 << 5,
                  FIX_MTU = 1 << 6,
                  FIX_RATE = 1 << 7,
                  FIX_UP = 1 << 8,
                  FIX_CABLING = 1 << 9,
                  FIX_ALL = (1 << 10) - 1,
};

struct fix_refused {   /* why -EINVAL: what cannot be written, and what can */
    uint32_t line;     /* of the running text; 0: of none, or of the approved device */
    char message[320]; /* empty: the text is not of its system */
};

struct fix {
    const struct config_format *format; /* of the running device */
    const char *approved;               /* as that system's configuration, without comments */
    const char *seen;                   /* the running fabric written likewise */
    const char *running;                /* the text that was read */
    unsigned families;
    FILE *to;
    struct fix_refused *refused; /* NULL: nobody asks */
};

/* The family of a drift's key, as in `classes.rdma.ecn.min`. */
unsigned fix_family(const char *key);
/* --- for those who write commands --- */
int fix_lines(const struct fix *fix); /* blocks of commands, which more than one system has */
int fix_whole(const struct fix *fix); /* all that is approved: it sets what it speaks of, whatever was there */
/* Keeps why a command is not written, if nothing is kept yet; answers -EINVAL. */
__attribute__((format(printf, 3, 4))) int fix_refuse(const struct fix *fix, uint32_t line, const char *format, ...);
struct fix_word { /* what begins a statement, whole words, and the families that such a one belongs to */
    const char *words;
    unsigned families;
};
/* The families of the first of a system's words, which end with NULL, that the statement begins with; 0: of none, it
 * names or applies others. */
unsigned fix_families_by(const struct fix_word *words, const char *statement);

#endif
