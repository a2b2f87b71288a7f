/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics over time: a column for each metric, object and priority, a value for each step.
 *
 * A value that does not change costs nothing but a comparison; one that does, some bytes: how many steps it had not
 * changed for, and by how much it did.  A column that was always 0 does not exist.  Objects are numbered by whoever
 * fills the series, as observe_catalogue's objects are: ports and links by the fabric's port, NICs by its endpoint,
 * switches and jobs by theirs.
 */
#ifndef ROCELAB_OBSERVE_SERIES_H
#define ROCELAB_OBSERVE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "observe/catalogue.h"

struct series;

struct series_config {
    ps_t step;
    uint32_t steps_most;               /* with more, steps become twice as long, two of them one; even; 0: never */
    uint32_t objects[OBSERVE_OBJECTS]; /* how many there are of each kind; 0: none is sampled */
    uint64_t most_bytes;               /* of all columns together; then no more steps are taken */
};

/* 0 or -ENOMEM. */
int series_create(const struct series_config *config, struct series **ret);
void series_free(struct series *series);

/* When the next step ends: what is to be run to, and looked at.  PS_NEVER: there is no more room. */
ps_t series_next(struct series *series);
/* A step's values follow; `at` is its end, as series_next() said.  False: there is no more room, and nothing of
 * this step or a later one is to be put. */
bool series_begin(struct series *series, ps_t at);
/* All values of an object at this moment, from its struct (a kind with priorities: an array of 8, `stride` apart). */
void series_put(struct series *series, enum observe_object object, uint32_t number, const void *from, size_t stride);

const struct observe_catalogue *series_catalogue(const struct series *series);
ps_t series_step(const struct series *series);  /* as it is now */
ps_t series_first(const struct series *series); /* end of the first step; PS_NEVER: there is none */
uint32_t series_steps(const struct series *series);
uint32_t series_objects(const struct series *series, enum observe_object object);
bool series_full(const struct series *series); /* steps were left out */
uint64_t series_bytes(const struct series *series);
/* Whether the column exists: some value of it was not 0. */
bool series_has(const struct series *series, uint32_t metric, uint32_t number, uint32_t priority);
/* The column's values, one a step; false (and zeros): it does not exist. */
bool series_read(const struct series *series, uint32_t metric, uint32_t number, uint32_t priority, uint64_t *ret);

/* The same one value after the other, from the first step on: of thousands of columns side by side.  It is good until
 * the next step is put. */
struct series_cursor {
    const uint8_t *at, *end;
    uint64_t value, unchanged, by; /* `unchanged` steps on, it changes by so much, zigzag */
};
struct series_cursor series_cursor(const struct series *series, uint32_t metric, uint32_t number, uint32_t priority);
uint64_t series_cursor_next(struct series_cursor *cursor);

#endif
