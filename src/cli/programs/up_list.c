/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabrics that are up: each is found by its socket, and asked about itself.
 *
 * A fabric answers `about` with one line: when it came up (seconds since 1970), its clock, the programs that run in it,
 * its time in ps; tabs between.  One that is stopped does not answer, and is listed with its process all the same.
 */
#include "cli/programs/up_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "cli/cli.h"
#include "report/json_out.h"
#include "report/rows/rows.h"
#include "report/table.h"
#include "up/control.h"
#include "up/up.h"

#define PATIENCE_MS 1000
#define CLOCK_BYTES 16

struct one {
    char name[UP_PATH];
    pid_t pid;
    bool answers;
    uint64_t since_s, now_ps;
    uint32_t programs;
    char clock[CLOCK_BYTES];
};

struct all {
    struct one *one;
    unsigned count;
};

static void ask(const char *path, struct one *ret)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *heard = open_memstream(&text, &bytes);

    int answer = control_ask(path, "about", PATIENCE_MS, heard);
    if (fclose(heard) == 0 && answer == 0)
        ret->answers = sscanf(text, "%" SCNu64 "\t%15[^\t]\t%" SCNu32 "\t%" SCNu64, &ret->since_s, ret->clock,
                              &ret->programs, &ret->now_ps) == 4;
    free(text);
}

static int add(void *context, const char *path)
{
    struct all *all = context;
    struct one *more = realloc(all->one, (all->count + 1) * sizeof *more), one = {.pid = control_pid(path)};

    all->one = more;
    up_name(path, one.name);
    ask(path, &one);
    more[all->count++] = one;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct one *one = a, *two = b;

    return strcmp(one->name, two->name);
}

static void print_json(const struct all *all, FILE *out)
{
    struct jout *jout = jout_begin(out, "fabrics");

    jout_open(jout, "fabrics", '[');
    for (unsigned i = 0; i < all->count; i++) {
        const struct one *one = &all->one[i];
        jout_open_line(jout, NULL, '{');
#include "report/rows/fabric_up.def"
        jout_close(jout);
    }
    jout_close(jout);
    jout_end(jout);
}

static void print_text(const struct all *all, FILE *out)
{
    const struct text_style style = cli_style();
    struct table table;

    TABLE_BEGIN(&table, LEFT("fabric", .min_width = 12), RIGHT("pid"), LEFT("up since"), LEFT("clock"),
                RIGHT("programs"), RIGHT("time"));
    for (unsigned i = 0; i < all->count; i++) {
        const struct one *one = &all->one[i];
        char pid[16], since[32] = "does not answer", programs[16] = "", now[UNIT_TEXT] = "";
        const char *cell[] = {one->name, pid, since, one->clock, programs, now};
        time_t at = (time_t)one->since_s;
        struct tm parts;
        snprintf(pid, sizeof pid, "%d", (int)one->pid);
        if (one->answers && localtime_r(&at, &parts)) strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &parts);
        if (one->answers) {
            snprintf(programs, sizeof programs, "%" PRIu32, one->programs);
            unit_format_short(UNIT_TIME, one->now_ps, 3, now);
        }
        table_row(&table, cell);
    }
    table_end(&table, out, &style, 0);
}

int up_list(bool json, FILE *out)
{
    struct all all = {0};

    up_each(add, &all);
    if (all.count) qsort(all.one, all.count, sizeof *all.one, by_name);
    if (json)
        print_json(&all, out);
    else if (all.count)
        print_text(&all, out);
    else
        cli_error("up: no fabric is up; start one with 'rocelab up FABRIC'");
    free(all.one);
    return CLI_DONE;
}
