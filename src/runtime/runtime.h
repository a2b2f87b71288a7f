/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a user's small files live while programs run: a folder that nobody else can write to.
 */
#ifndef ROCELAB_RUNTIME_RUNTIME_H
#define ROCELAB_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#define RUNTIME_PATH 256

/* The n-th folder, made if it is not there and `create` is set.  0: `ret` names it, and it is ours alone; -EACCES: it
 * is not there, or somebody else's ("": there is no such name); -ENOENT: there are fewer than n.  Who writes takes the
 * first that answers 0, who reads looks at all: what was first may change with the environment, or with what others put
 * in our way. */
int runtime_folder(unsigned n, bool create, char ret[RUNTIME_PATH]);

#endif
