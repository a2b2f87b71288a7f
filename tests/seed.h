/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seed of a property test: its own, so that a run repeats, unless ROCELAB_SEED names another, as
 * `make soak` does.  And how many rounds it has: ROCELAB_FEWER=8 asks for an eighth of them, as `make test` does in its
 * builds with sanitizers (tests/run).
 */
#ifndef ROCELAB_TESTS_SEED_H
#define ROCELAB_TESTS_SEED_H

#include <stdlib.h>

static inline unsigned test_seed_or(unsigned own)
{
    const char *text = getenv("ROCELAB_SEED");
    return text ? (unsigned)strtoul(text, NULL, 0) : own;
}

static inline unsigned test_rounds_of(unsigned own)
{
    const char *text = getenv("ROCELAB_FEWER");
    unsigned share = text ? (unsigned)strtoul(text, NULL, 0) : 1;
    return share > 1 && own >= share ? own / share : own;
}

#endif
