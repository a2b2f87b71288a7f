/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines: the findings of today, so that tomorrow only new ones count.
 *
 * A finding is known again by its fingerprint, which leaves out lines and numbers: a file may be edited above it.  All
 * are written, also those that are told as one because they are at one place: else mending the first would make the
 * second look new.
 */
#include "cli/judge/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/cli.h"
#include "cli/outputs.h"

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

bool check_baseline_read(const char *path, uint64_t **ret, size_t *ret_count)
{
    FILE *from = fopen(path, "r");
    uint64_t *known = NULL;
    uint32_t knowns = 0, room = 0;
    char line[512];

    if (!from) return cli_fail("%s: %s", path, strerror(errno));
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
        GROW(known, knowns, room);
        known[knowns++] = one;
    }
    int error = ferror(from) ? errno : 0;
    fclose(from);
    if (error != 0) {
        cli_error("%s: %s", path, strerror(error));
        free(known);
        return false;
    }
    if (knowns) qsort(known, knowns, sizeof(*known), compare);
    *ret = known;
    *ret_count = knowns;
    return true;
}

bool check_baseline_write(const struct check_input *input, uint32_t count, const char *path)
{
    struct cli_file file = {0};

    if (!cli_file_open(&file, "--write-baseline", path)) return false;
    fputs("# rocelab check: findings that do not count; made by --write-baseline\n", file.to);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t f = 0; f < input[i].check.findings; f++) {
            const struct check_finding *finding = &input[i].check.finding[f];
            if (finding->ignored) continue;
            fprintf(file.to, "%016" PRIx64 " %s %s %s\n", check_fingerprint(finding), check_rules[finding->rule].id,
                    finding->device ? finding->device : "-", finding->port ? finding->port : "-");
        }
    }
    return cli_file_close(&file);
}
