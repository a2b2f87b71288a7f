/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target of several parsers that is to fuzz one of them alone: FUZZ_KIND=NAME chooses it at the start, and
 * FUZZ_KIND=list prints the names.  Inputs are the same either way: the byte that chooses a parser is then not looked
 * at.
 */
#ifndef ROCELAB_FUZZ_KIND_H
#define ROCELAB_FUZZ_KIND_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *count, char ***arguments);

/* The number of the parser that the environment names; -1: it names none.  `name` answers NULL behind the last. */
static inline long fuzz_kind(const char *(*name)(size_t number))
{
    const char *wanted = getenv("FUZZ_KIND");

    if (!wanted || !*wanted) return -1;
    for (size_t i = 0; name(i); i++)
        if (!strcmp(name(i), wanted)) return (long)i;
    for (size_t i = 0; name(i); i++) {
        size_t first = 0; /* some parsers share a name */
        while (strcmp(name(first), name(i)))
            first++;
        if (first == i) printf("%s\n", name(i));
    }
    exit(strcmp(wanted, "list") ? 2 : 0);
}

#endif
