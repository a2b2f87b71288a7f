/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All points of a sweep: each is loaded with its values, run or found again, and put in its row by number.
 *
 * A point is loaded in its own process: a hundred thousand of them are never in memory together, and what the loader
 * says of a combination is its row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "load/load.h"
#include "plant/plant.h"
#include "study/sweep.h"

int sweep_load(const struct sweep *sweep, uint32_t point, struct fabric **ret, struct fabric_errors *errors)
{
    return sweep_load_other(sweep, point, 0, NULL, ret, errors);
}

static int load(const struct sweep *sweep, uint32_t point, uint32_t axis, const char *value, struct fabric **ret,
                struct fabric_errors *errors, struct fabric_errors *left_out)
{
    struct fabric_override override[SWEEP_AXES];
    const struct fabric_with with = {
        .override = override, .overrides = sweep->grid.axes, .judge = plant_judge_nic, .left_out = left_out};

    for (uint32_t i = 0; i < sweep->grid.axes; i++)
        override[i] = (struct fabric_override){sweep->grid.axis[i].path, sweep_value(&sweep->grid, i, point)};
    if (value) override[axis].value = value;
    return fabric_load_with(sweep->path, sweep->text, &with, ret, errors);
}

int sweep_load_other(const struct sweep *sweep, uint32_t point, uint32_t axis, const char *value, struct fabric **ret,
                     struct fabric_errors *errors)
{
    struct fabric_errors left_out = {0};
    return load(sweep, point, axis, value, ret, errors, sweep->leave_out ? &left_out : NULL);
}

int sweep_load_leaving(const struct sweep *sweep, uint32_t point, struct fabric **ret, struct fabric_errors *errors,
                       struct fabric_errors *left_out)
{
    return load(sweep, point, 0, NULL, ret, errors, left_out);
}

struct making { /* of a row */
    const struct sweep *sweep;
    struct fabric *fabric;
    uint32_t point;
    struct sim_options options;
};

static bool make_row(const void *context, FILE *to)
{
    const struct making *making = context;
    const struct sweep_grid *grid = &making->sweep->grid;

    for (uint32_t i = 0; i < grid->axes; i++) {
        fprintf(to, "set %s=", grid->axis[i].path);
        row_print_line(to, sweep_value(grid, i, making->point));
    }
    if (making->sweep->simulate)
        return making->sweep->simulate(making->sweep->simulate_context, making->fabric, &making->options, to);
    return row_simulate(making->fabric, &making->options, making->sweep->small, to);
}

/* A value that the file does not have is refused at its beginning, where nothing is wrong: the option says it. */
static void name_option(const struct sweep *sweep, uint32_t point, struct fabric_errors *errors)
{
    struct fabric_error *error = &errors->error[0], at = *error;

    if (!errors->count || error->at.line != 1 || error->at.column != 1) return;
    for (uint32_t i = 0; i < sweep->grid.axes; i++) {
        if (!strstr(error->text, sweep_value(&sweep->grid, i, point))) continue;
        error->at.line = 0;
        snprintf(error->text, sizeof error->text, "--%s %s: %.200s", sweep->grid.axis[i].with ? "with" : "vary",
                 sweep->grid.axis[i].path, at.text);
        return;
    }
}

static void run_point(const void *context, uint32_t index, FILE *to)
{
    const struct sweep *sweep = context;
    uint32_t point = index / sweep->seeds;
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;

    if (sweep_load(sweep, point, &fabric, &errors) != 0) {
        fputc('0' + CACHE_MADE, to);
        name_option(sweep, point, &errors);
        row_print_error(to, &errors);
        return;
    }
    struct making making = {sweep, fabric, point, sweep->sim};
    making.options.seed = (sweep->own_seed ? sweep->sim.seed : fabric->seed) + index % sweep->seeds;
    const uint64_t parts[] = {sweep->sim.until, sweep->sim.keep_going, sweep->simulate_hash, sweep->small};
    const size_t used = sweep->simulate || sweep->small ? sizeof parts : 2 * sizeof parts[0];
    const struct cache_key key = {.fabric = fabric->source_hash,
                                  .seed = making.options.seed,
                                  .options = hash_bytes(hash_bytes(HASH_BEGIN, "row", 4), parts, used)};
    cache_row(&sweep->cache, &key, make_row, &making, to);
    fabric_free(fabric);
}

static bool take_row(void *context, uint32_t index, const struct pool_row *got)
{
    struct sweep *sweep = context;
    struct row *row = &sweep->row[index];
    const char *why = got->why ? got->why : "the run ended without a result", *text = got->bytes;
    size_t length = got->length;
    enum cache_origin origin = got->why ? CACHE_MADE : cache_origin(&text, &length);

    if (got->why || !row_parse(text, row)) *row = (struct row){.there = true, .error = strdup(why)};
    sweep->rows.of[origin]++;
    return origin == CACHE_FOUND;
}

bool sweep_run(struct sweep *sweep)
{
    const struct pool_work work = {.points = sweep->points * sweep->seeds,
                                   .at_once = sweep->jobs,
                                   .noun = sweep->seeds > 1 ? "runs" : "points",
                                   .quiet = sweep->quiet,
                                   .stopped = sweep->stopped,
                                   .context = sweep,
                                   .run = run_point,
                                   .take = take_row,
                                   .error = sweep->error};

    CHECK(sweep->seeds > 0);
    sweep->row = calloc((size_t)sweep->points * sweep->seeds, sizeof *sweep->row);
    return pool_run(&work, &sweep->done);
}

bool sweep_has(const struct sweep *sweep, uint32_t point)
{
    for (uint32_t i = 0; i < sweep->seeds; i++)
        if (!sweep->row[(size_t)point * sweep->seeds + i].there) return false;
    return true;
}

void sweep_release(struct sweep *sweep)
{
    for (uint32_t i = 0; sweep->row && i < sweep->points * sweep->seeds; i++)
        row_release(&sweep->row[i]);
    free(sweep->row);
    sweep->row = NULL;
}
