/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of a fabric file that belong to some systems alone.  Private to src/fabric and src/load.
 */
#ifndef ROCELAB_FABRIC_SYSTEM_KEYS_H
#define ROCELAB_FABRIC_SYSTEM_KEYS_H

#include <stdbool.h>

#include "fabric/file/read.h"
#include "fabric/file/tree.h"

/* The system that the tree names; RoCEv2 where it names none, or none that is known. */
uint8_t tree_system(const struct tree *root);
/* The system that a value names; false with the error. */
bool system_read(struct loader *loader, const struct tree *value, uint8_t *ret);
/* Tells of each key that means nothing under the system of the file (or of the class it is in).  With `leave_out` they
 * are taken out of the tree, and a class that was lossless has what the system has instead.  False: no memory. */
bool system_keys(struct tree *root, bool leave_out, struct arena *arena, struct fabric_errors *errors);

#endif
