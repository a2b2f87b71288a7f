/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads `validate:`.  Nothing here is seen by a run; what is done with a criterion is decided in src/validate.
 */
#include "fabric/criteria.h"

#include <string.h>

#include "fabric/fabric.h"
#include "fabric/file/read.h"

#define RATIO_MAX_MILLI 1000000u
#define PERCENT_MEANT 10000u /* thousandths: a share that is larger was meant in per cent */

const struct criterion_info criterion_infos[CRITERIA] = {
#define UNSAID CRITERION_UNSAID
#define CRITERION(id, name, value, unit, bound, about)                                                                 \
    [CRITERION_##id] = {name, value, CRITERION_UNIT_##unit, CRITERION_BOUND_##bound, about},
#include "fabric/criteria.def"
#undef CRITERION
#undef UNSAID
};

static const char *const names[] = {
#define CRITERION(id, name, value, unit, bound, about) name,
#include "fabric/criteria.def"
#undef CRITERION
    NULL,
};

/* `95%` or `0.95`. */
static bool read_ratio(struct loader *loader, const struct tree *value, enum criterion which, uint64_t *ret)
{
    const char *rest = "";
    char found[TREE_FOUND];
    uint64_t milli;

    if (value->type == TREE_SCALAR && strchr(value->text, '%'))
        return read_unit(loader, value, UNIT_SHARE, 0, RATIO_MAX_MILLI * UINT64_C(1000), ret);
    if (value->type == TREE_SCALAR && read_milli(value->text, RATIO_MAX_MILLI, &milli, &rest) && *rest == '\0') {
        *ret = milli * 1000;
        if (milli < PERCENT_MEANT || criterion_infos[which].value > 1000000) return true;
        read_error(loader, value->at, "validate: %s: %s is that many times; for a share write %s%%", value->key,
                   tree_found(value, found), value->text);
        return false;
    }
    read_error(loader, value->at, "validate: %s: %s is no ratio; a number or a share is due, as in 1.1 or 95%%",
               value->key, tree_found(value, found));
    return false;
}

static bool read_one(struct loader *loader, const struct tree *value, enum criterion which, uint64_t *ret)
{
    switch (criterion_infos[which].unit) {
    case CRITERION_UNIT_RATIO:
        return read_ratio(loader, value, which, ret);
    case CRITERION_UNIT_TIME:
        return read_unit(loader, value, UNIT_TIME, 0, PS_S * 1000, ret);
    default:
        return read_unit(loader, value, UNIT_COUNT, 0, UINT32_MAX, ret);
    }
}

void criteria_load(struct loader *loader)
{
    const struct tree *map = loader->part[PART_VALIDATE];
    struct fabric_criteria *criteria = &loader->fabric->operations.criteria;

    for (int c = 1; c < CRITERIA; c++)
        criteria->value[c] = criterion_infos[c].value;
    if (!map || !read_is_map(loader, map, "validate")) return;
    for (const struct tree *value = map->first; value; value = value->next) {
        struct tree name = {.type = TREE_SCALAR, .text = value->key, .at = value->key_at, .key = "validate"};
        uint32_t which;
        if (!read_choice(loader, &name, names, &which)) continue;
        if (read_one(loader, value, (enum criterion)(which + 1), &criteria->value[which + 1]))
            criteria->at[which + 1] = value->at;
    }
}
