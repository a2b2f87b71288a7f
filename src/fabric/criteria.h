/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab validate` judges by: one list of criteria with their values, and those that the file replaces.  Part of
 * fabric.h.
 */
#ifndef ROCELAB_FABRIC_CRITERIA_H
#define ROCELAB_FABRIC_CRITERIA_H

#include <stdint.h>

#include "fabric/words.h"

#define CRITERION_UNSAID UINT64_MAX

enum criterion {
    CRITERION_NONE,
#define CRITERION(id, name, value, unit, bound, about) CRITERION_##id,
#include "fabric/criteria.def"
#undef CRITERION
    CRITERIA
};

enum criterion_unit { CRITERION_UNIT_COUNT, CRITERION_UNIT_RATIO, CRITERION_UNIT_TIME };
enum criterion_bound { CRITERION_BOUND_LEAST, CRITERION_BOUND_MOST };

struct criterion_info {
    const char *name; /* as in the file */
    uint64_t value;   /* where the file says nothing; of a ratio in parts per million, of a time in picoseconds */
    enum criterion_unit unit;
    enum criterion_bound bound;
    const char *about;
};
extern const struct criterion_info criterion_infos[CRITERIA];

struct fabric_criteria {
    uint64_t value[CRITERIA];
    struct fabric_at at[CRITERIA]; /* line 0: the file does not say it */
};

struct loader;
void criteria_load(struct loader *loader); /* `validate:` */

#endif
