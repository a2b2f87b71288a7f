/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric in which nothing is wrong, and what tests do to it.
 */
#ifndef ROCELAB_TESTS_CHECK_BASE_H
#define ROCELAB_TESTS_CHECK_BASE_H

#include <stdbool.h>
#include <stddef.h>

#include "check/check.h"

extern const char base_fabric[];
#define BASE_TEXT 16384

struct checked {
    struct fabric *fabric;
    struct fabric_places *places;
    struct check check;
    char text[BASE_TEXT];
};

/* Replaces `from` (NULL: appends) by `to`; false where `from` is not there. */
bool base_edit(char text[BASE_TEXT], const char *from, const char *to);
/* Loads and checks what is in checked->text; false with the loader's complaint in `why` where it is refused. */
bool base_check(struct checked *checked, uint32_t failures, char *why, size_t size);
void base_release(struct checked *checked);

#endif
