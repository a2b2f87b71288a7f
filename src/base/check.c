/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a failed CHECK ends: one line on standard error, then abort().
 *
 * abort(), not exit(): a core dump or a debugger then shows the state that was not supposed to
 * exist, and no exit handler writes a half-true result on the way out.  Standard output is left
 * unflushed for the same reason.
 */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, what);
    abort();
}
