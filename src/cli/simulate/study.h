/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs that run many simulations share: options, messages, and the files of --out.
 */
#ifndef ROCELAB_CLI_STUDY_H
#define ROCELAB_CLI_STUDY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "study/cache.h"
#include "study/error.h"
#include "study/pool.h"

#define CLI_SEEDS_MAX 10000u

/* Prints what went wrong in a study; nothing where nothing did. */
void cli_study_error(const struct study_error *error);
/* Notes about rows that were not run, or could not be kept; `noun` as in "points". */
void cli_study_rows(const struct cache_count *rows, const char *out, const char *noun);
/* The same, and where none of the rows that the folder had was one of these: somebody may have meant to go on. */
void cli_study_kept(const struct cache *cache, const struct cache_count *rows, const char *out, const char *noun);
/* Interrupted: what is done, and whether it is kept; `out` may be NULL. */
void cli_study_stopped(const struct pool_done *done, uint32_t of, const char *out, const char *noun);

/* A file in a folder, written by a function; false after a message. */
bool cli_write_in(const char *folder, const char *name, cli_writer *write, const void *context);

#endif
