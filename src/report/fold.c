/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that differ in one number which grows by the same step are one group.  Systems count ports in the last number
 * (Ethernet1/1, swp3), in the middle one (Ethernet1/1, Ethernet2/1), and by lanes (Ethernet0, Ethernet4).
 */
#include "report/fold.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 6

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* By how much one number of `b` is greater than that of `a`, all else being equal; 0: it is not so.  ret_at: where the
 * number begins. */
static unsigned long step_of(const char *a, const char *b, size_t *ret_at)
{
    size_t same = 0;
    char *after_a, *after_b;

    while (a[same] && a[same] == b[same])
        same++;
    while (same > 0 && digit(a[same - 1]))
        same--;
    if (!digit(a[same]) || !digit(b[same])) return 0;
    unsigned long x = strtoul(a + same, &after_a, 10), y = strtoul(b + same, &after_b, 10);
    *ret_at = same;
    return strcmp(after_a, after_b) == 0 && y > x ? y - x : 0;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* The end of the group that begins with the first name; ret_short: it is told by its last number alone. */
static uint32_t group(const char **name, uint32_t count, bool *ret_short)
{
    size_t at = 0, next = 0;
    unsigned long step = count > 1 ? step_of(name[0], name[1], &at) : 0;
    uint32_t end = 1;

    while (end < count && step && step_of(name[end - 1], name[end], &next) == step && next == at)
        end++;
    *ret_short = step == 1 && name[0][at + strspn(name[0] + at, "0123456789")] == 0;
    return step == 1 || end > 2 ? end : 1;
}

void fold_names(FILE *out, const struct text_style *style, const char **name, uint32_t count)
{
    uint32_t from = 0, kept = 0;

    if (count) qsort(name, count, sizeof(*name), by_version);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || strcmp(name[kept - 1], name[i]) != 0) name[kept++] = name[i];
    count = kept;
    for (unsigned groups = 0; from < count && groups < GROUPS_MAX; groups++) {
        bool brief;
        uint32_t end = from + group(name + from, count - from, &brief);
        if (groups) fputs(", ", out);
        text_outside(out, style, name[from]);
        if (end - from > 1 && brief) {
            const char *last = name[end - 1] + strlen(name[end - 1]);
            while (last > name[end - 1] && digit(last[-1]))
                last--;
            fprintf(out, "-%s", last);
        } else if (end - from > 1) {
            fputs(end - from > 2 ? " to " : ", ", out);
            text_outside(out, style, name[end - 1]);
        }
        from = end;
    }
    if (from < count) fprintf(out, " and %u more", count - from);
}
