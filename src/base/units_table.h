/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to base/units*.c: the units of each kind, one list for reading and printing.
 */
#ifndef ROCELAB_BASE_UNITS_TABLE_H
#define ROCELAB_BASE_UNITS_TABLE_H

#include <stdint.h>

#include "base/units.h"

enum {
    UNIT_EXACT = 1, /* unit_format may print it */
    UNIT_SHORT = 2, /* unit_format_short may print it; the scale is a power of ten */
};

struct unit {
    const char *suffix; /* NULL ends a list */
    uint64_t scale;     /* in base units */
    unsigned print;
};

/* Ascending by scale. */
extern const struct unit *const unit_table[UNIT_KINDS];

#endif
