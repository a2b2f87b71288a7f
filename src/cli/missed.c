/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See missed.h.
 */
#include "cli/missed.h"

#include <stdio.h>

#include "report/text.h"

void cli_fault_missed(const char *path, uint32_t line, uint32_t column, ps_t at, const char *text, ps_t ended)
{
    char when[TEXT_COUNT], end[TEXT_COUNT];

    fprintf(stderr, "%s:%u:%u: warning: at %s: %s: never happened: the run ended at %s\n", path, line, column,
            text_ps(at, when), text, text_ps(ended, end));
}
