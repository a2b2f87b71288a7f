/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines: the findings of today, so that tomorrow only new ones count.
 *
 * A finding is known again by its fingerprint, which leaves out lines and numbers: a file may be edited above it.
 */
#include "cli/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

bool check_baseline_apply(struct check_input *input, uint32_t count, const char *path)
{
    FILE *from = fopen(path, "r");
    uint64_t *known = NULL;
    size_t knowns = 0, room = 0;
    char line[512];

    if (!from) {
        cli_error("%s: %s", path, strerror(errno));
        return false;
    }
    while (fgets(line, sizeof line, from)) {
        char *end;
        if (line[0] == '#' || line[0] == '\n') continue;
        uint64_t one = strtoull(line, &end, 16);
        if (end != line + 16) {
            cli_error("%s: not a baseline: '%.40s'", path, line);
            fclose(from);
            free(known);
            return false;
        }
        if (knowns == room) {
            room = room ? room * 2 : 256;
            uint64_t *more = realloc(known, room * sizeof(*more));
            if (!more) break;
            known = more;
        }
        known[knowns++] = one;
    }
    fclose(from);
    if (knowns) qsort(known, knowns, sizeof(*known), compare);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t f = 0; f < input[i].check.findings; f++) {
            struct check_finding *finding = &input[i].check.finding[f];
            uint64_t key = check_fingerprint(finding);
            if (knowns && bsearch(&key, known, knowns, sizeof(*known), compare) && !finding->ignored)
                finding->ignored = "in the baseline";
        }
    }
    free(known);
    return true;
}

bool check_baseline_write(const struct check_input *input, uint32_t count, const char *path)
{
    FILE *to = fopen(path, "w");
    bool good = to != NULL;

    if (to) fputs("# rocelab check: findings that do not count; made by --write-baseline\n", to);
    for (uint32_t i = 0; to && i < count; i++) {
        for (uint32_t f = 0; f < input[i].check.findings; f++) {
            const struct check_finding *finding = &input[i].check.finding[f];
            if (finding->ignored) continue;
            fprintf(to, "%016" PRIx64 " %s %s %s\n", check_fingerprint(finding), check_rules[finding->rule].id,
                    finding->device ? finding->device : "-", finding->port ? finding->port : "-");
        }
    }
    if (to && fclose(to) != 0) good = false;
    if (!good) cli_error("%s: %s", path, strerror(errno));
    return good;
}
