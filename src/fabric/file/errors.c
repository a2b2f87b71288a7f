/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as a compiler gives them: collected, sorted by place, each once.
 *
 * A layer of settings (a role, say) is read once for each device it applies to; the same sentence
 * at the same place is one error.
 */
#include "fabric/errors.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"

static int compare_at(struct fabric_at a, struct fabric_at b)
{
    if (a.line != b.line) return a.line < b.line ? -1 : 1;
    if (a.column != b.column) return a.column < b.column ? -1 : 1;
    return 0;
}

void fabric_errors_add(struct fabric_errors *errors, struct fabric_at at, const char *format, ...)
{
    struct fabric_error found = {.at = at};
    uint32_t slot;
    va_list args;

    va_start(args, format);
    vsnprintf(found.text, sizeof(found.text), format, args);
    va_end(args);
    utf8_clean(found.text, true);
    for (uint32_t i = 0; i < errors->count; i++)
        if (compare_at(errors->error[i].at, at) == 0 && strcmp(errors->error[i].text, found.text) == 0) return;
    if (errors->count == FABRIC_ERRORS_MAX) {
        errors->more++;
        return;
    }
    for (slot = errors->count++; slot > 0 && compare_at(errors->error[slot - 1].at, at) > 0; slot--)
        errors->error[slot] = errors->error[slot - 1];
    errors->error[slot] = found;
}

void fabric_errors_print(const struct fabric_errors *errors, FILE *to)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s", errors->path ? errors->path : "-");
    utf8_clean(path, true);

    for (uint32_t i = 0; i < errors->count; i++) {
        const struct fabric_error *error = &errors->error[i];
        if (error->at.line)
            fprintf(to, "%s:%u:%u: error: %s\n", path, error->at.line, error->at.column, error->text);
        else
            fprintf(to, "%s: error: %s\n", path, error->text);
    }
    if (errors->more) fprintf(to, "%s: and %u more\n", path, errors->more);
}
