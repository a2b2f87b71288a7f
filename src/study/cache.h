/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that were made before, found again by everything that made them.
 */
#ifndef ROCELAB_STUDY_CACHE_H
#define ROCELAB_STUDY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "study/error.h"

struct cache {
    char folder[4096]; /* "": nothing is kept */
    uint64_t program;  /* of the version and the program file: a rebuilt program makes its own rows */
    bool force;        /* make every row, whatever is there */
    bool used;         /* the folder had rows when it was opened: of this plan, or of others */
};

struct cache_key {
    uint64_t fabric;  /* fabric.source_hash: the file with its values replaced, and the files it names */
    uint64_t seed;    /* of the run */
    uint64_t options; /* hash of what else changes a row: its kind, and options of the run */
};

enum cache_origin {
    CACHE_FOUND,   /* from before */
    CACHE_MADE,    /* and kept, where rows are kept */
    CACHE_DAMAGED, /* one was there that is not whole, or not of this key; made and kept */
    CACHE_NOT_KEPT /* made, but it could not be written */
};

/* A folder to write into: made, or there and writable.  0 or -errno. */
int cache_folder(const char *path);
/* DIR and DIR/points, made where they are missing.  False after an error. */
bool cache_open(struct cache *cache, const char *out, struct study_error *error);
/* Version and bytes of the program that runs. */
uint64_t cache_program(void);

/* What makes a row: writes text; false: it is not worth keeping. */
typedef bool cache_make(const void *context, FILE *row);
/* Writes the row to `to`: the one that is kept, or one that is made and then kept.  Its first byte says where it comes
 * from; cache_origin() reads that, and the row is what follows. */
void cache_row(const struct cache *cache, const struct cache_key *key, cache_make *make, const void *context, FILE *to);
enum cache_origin cache_origin(const char **row, size_t *length);

/* What became of all rows: for notes. */
struct cache_count {
    uint32_t of[CACHE_NOT_KEPT + 1];
};

#endif
