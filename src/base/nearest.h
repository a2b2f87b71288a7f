/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The right word for a mistyped one.
 */
#ifndef ROCELAB_BASE_NEAREST_H
#define ROCELAB_BASE_NEAREST_H

struct nearest {
    const char *wrong, *word; /* word: the nearest so far, NULL: none is near */
    unsigned best;
};

/* Words are offered one after the other; of equals the first stays.  Both are kept, not copied. */
void nearest_init(struct nearest *nearest, const char *wrong);
void nearest_try(struct nearest *nearest, const char *word);

#endif
