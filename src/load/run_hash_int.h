/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run can see of a fabric, as one number.
 */
#ifndef ROCELAB_LOAD_RUN_HASH_INT_H
#define ROCELAB_LOAD_RUN_HASH_INT_H

#include <stdint.h>

struct loader;

/* Of a fabric that was loaded. */
uint64_t run_hash(struct loader *loader);

#endif
