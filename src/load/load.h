/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric file to a fabric.
 *
 * Above src/fabric and src/jobs, whose parts it calls in the right order: text, tree, topology, settings, routes,
 * jobs, faults.
 */
#ifndef ROCELAB_LOAD_LOAD_H
#define ROCELAB_LOAD_LOAD_H

#include "fabric/errors.h"

struct fabric;
struct fabric_override;
struct read_asked;

/* Reads `path` ("-": standard input), or `text` under that name when it is not NULL.  0; -EINVAL with errors;
 * -ENOMEM; or what opening the file answered.  Every failure has at least one error with its sentence. */
int fabric_load(const char *path, const char *text, struct fabric **ret, struct fabric_errors *errors);
struct fabric_with {
    const struct fabric_override *override;
    uint32_t overrides;
    fabric_nic_judge *judge; /* NULL: names are taken as they are */
    /* Keys that mean nothing under the system are left out and told here; NULL: they are errors. */
    struct fabric_errors *left_out;
    void (*watch)(void *watcher, const struct read_asked *asked); /* fabric/file/read.h; NULL: nobody */
    void *watcher;
};
/* The same with values replaced; errors keep the places that the file has.  -ENOENT with an error: no such path. */
int fabric_load_with(const char *path, const char *text, const struct fabric_with *with, struct fabric **ret,
                     struct fabric_errors *errors);
#endif
