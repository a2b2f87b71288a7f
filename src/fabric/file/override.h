/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single values of a fabric file replaced before it is read: what `rocelab sweep` does to each point.
 */
#ifndef ROCELAB_FABRIC_FILE_OVERRIDE_H
#define ROCELAB_FABRIC_FILE_OVERRIDE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "fabric/file/tree.h"

struct fabric_override;

/* In order (`system` and `model` first), in place.  0; -ENOENT with an error (the path leads nowhere), -EINVAL with
 * errors (the value is no YAML), -ENOMEM. */
int tree_override(struct tree *root, const struct fabric_override *override, uint32_t count, struct arena *arena,
                  struct fabric_errors *errors);

/* Of keys and values, not of comments, layout and quotes. */
uint64_t tree_hash(uint64_t hash, const struct tree *tree);

struct loader;

#endif
