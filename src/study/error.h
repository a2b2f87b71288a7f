/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong in a study, as a value: this room has no terminal, whoever asked prints it.
 */
#ifndef ROCELAB_STUDY_ERROR_H
#define ROCELAB_STUDY_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/errors.h"

#define STUDY_ERRORS 8
#define STUDY_ERROR_TEXT 1024

struct study_error { /* a zeroed struct is empty */
    uint32_t count;
    char text[STUDY_ERRORS][STUDY_ERROR_TEXT];
    struct fabric_errors loader; /* what a file says that is wrong, with its places */
};

/* Adds a sentence, if there is room; answers false, for the caller to return. */
__attribute__((format(printf, 2, 3))) bool study_fail(struct study_error *error, const char *format, ...);

#endif
