/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seed of a property test: its own, so that a run repeats, unless ROCELAB_SEED names another, as
 * `make soak` does.
 */
#ifndef ROCELAB_TESTS_SEED_H
#define ROCELAB_TESTS_SEED_H

#include <stdlib.h>

static inline unsigned test_seed_or(unsigned own)
{
    const char *text = getenv("ROCELAB_SEED");
    return text ? (unsigned)strtoul(text, NULL, 0) : own;
}

#endif
