/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of a fabric file replaced before it is read; file/override.h does it.
 */
#ifndef ROCELAB_FABRIC_OVERRIDE_H
#define ROCELAB_FABRIC_OVERRIDE_H

#include <stdint.h>

struct fabric_override { /* path: `classes.rdma.ecn.min`, `jobs.0.size` */
    const char *path, *value;
};

/* For every file that this process reads or writes, before those of the call: what a command line says of all.  Kept by
 * pointer. */
void fabric_override_always(const struct fabric_override *override, uint32_t overrides);

#endif
