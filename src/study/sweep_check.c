/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a sweep make sense?  The file must be right as it is, and every path must lead to a value that the run uses: a
 * table of the same number over and over is not what was asked for.  A combination that is refused is a row, and none
 * of this file's business.
 */
#include <errno.h>
#include <string.h>

#include "fabric/handle.h"
#include "load/load.h"
#include "plant/plant.h"
#include "sim/sim.h"
#include "study/sweep.h"

/* Does an error say that a word of a path is no key, or no parameter of the algorithm?  The loader knows which there
 * are.  With several algorithms in the sweep it may be one of another. */
static bool no_such_key(const struct sweep *sweep, const struct fabric_error *error)
{
    static const char key[] = "unknown key '", parameter[] = "congestion: '", none[] = "congestion control has no par";
    bool of_congestion =
        strncmp(error->text, parameter, sizeof parameter - 1) == 0 || strncmp(error->text, none, sizeof none - 1) == 0;
    uint32_t algorithms = 0;

    if (!of_congestion && strncmp(error->text, key, sizeof key - 1) != 0) return false;
    for (uint32_t i = 0; i < sweep->grid.axes; i++)
        algorithms += strstr(sweep->grid.axis[i].path, "congestion") != NULL;
    if (of_congestion && algorithms > 1) return false;
    const char *word = strchr(error->text, '\'') + 1;
    size_t length = strcspn(word, "'");
    for (uint32_t i = 0; i < sweep->grid.axes; i++) {
        for (const char *at = sweep->grid.axis[i].path; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
            if (strcspn(at, ".") == length && strncmp(at, word, length) == 0) {
                study_fail(sweep->error, "--vary %s: %s", sweep->grid.axis[i].path, error->text);
                return true;
            }
    }
    return false;
}

#define LOADS_MOST 256 /* to find out whether a key is used; beyond that it is taken for used */

/* 0 where it does not load. */
static uint64_t hash_of(const struct sweep *sweep, uint32_t point, uint32_t axis, const char *value)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    uint64_t hash = 0;

    if (sweep_load_other(sweep, point, axis, value, &fabric, &errors) == 0) hash = fabric_run_hash(fabric);
    fabric_free(fabric);
    return hash;
}

/* Is the same simulated with each value of this axis, whatever the others are? */
static bool unused(const struct sweep *sweep, uint32_t axis)
{
    const struct sweep_axis *as = &sweep->grid.axis[axis];
    uint32_t loads = 0;
    bool differ = false;

    for (uint32_t v = 1; v < as->values; v++)
        differ |= strcmp(as->value[v], as->value[0]) != 0;
    if (!differ) return false;
    for (uint32_t point = 0; point < sweep->points; point++) {
        if (sweep_value(&sweep->grid, axis, point) != as->value[0]) continue;
        uint64_t first = hash_of(sweep, point, axis, as->value[0]);
        if (first == 0) return false;
        for (uint32_t v = 1; v < as->values; v++)
            if (++loads > LOADS_MOST || hash_of(sweep, point, axis, as->value[v]) != first) return false;
    }
    return true;
}

static bool all_used(const struct sweep *sweep)
{
    bool good = true;

    for (uint32_t i = 0; i < sweep->grid.axes; i++) {
        if (!unused(sweep, i)) continue;
        study_fail(sweep->error, "--%s %s: this run does not use it: with each of the values the same is simulated",
                   sweep->grid.axis[i].with ? "with" : "vary", sweep->grid.axis[i].path);
        good = false;
    }
    return good;
}

bool sweep_check(const struct sweep *sweep)
{
    struct fabric_errors errors = {0}, left_out = {0};
    const struct fabric_with as_is = {.judge = plant_judge_nic, .left_out = sweep->of_several ? &left_out : NULL};
    struct fabric *fabric = NULL;

    if (fabric_load_with(sweep->path, sweep->text, &as_is, &fabric, &sweep->error->loader) != 0) return false;
    fabric_free(fabric);
    int result = sweep_load(sweep, 0, &fabric, &errors);
    if (result == 0) {
        fabric_free(fabric);
        return sweep->simulate || all_used(sweep); /* what programs use is not known before they run */
    }
    if (result == -ENOENT) study_fail(sweep->error, "--vary %s", errors.error[0].text);
    for (uint32_t i = 0; result != -ENOENT && i < errors.count; i++)
        if (no_such_key(sweep, &errors.error[i])) return false;
    return result != -ENOENT; /* what else is wrong is of this combination */
}
