/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of an error, in the order in which they were found.
 */
#include "study/error.h"

#include <stdarg.h>
#include <stdio.h>

bool study_fail(struct study_error *error, const char *format, ...)
{
    va_list list;

    if (error->count == STUDY_ERRORS) return false;
    va_start(list, format);
    vsnprintf(error->text[error->count++], STUDY_ERROR_TEXT, format, list);
    va_end(list);
    return false;
}
