/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --each link|leaf|spine|core|switch: what every single failure costs, as a table or JSON.
 */
#include "cli/simulate/sim_each.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/simulate/study.h"
#include "fabric/fabric.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"

static const char *ratio(ps_t part, ps_t whole, char buf[TEXT_COUNT])
{
    if (part == PS_NEVER || whole == PS_NEVER || whole == 0) return "-";
    return text_fixed(part, whole, 2, buf);
}

static ps_t at_of(const struct each *each)
{
    return each->options->at != PS_NEVER ? each->options->at : each->one[0].time_ps / 4;
}

static void print_row(struct table *table, const struct each *each, const struct each_one *one)
{
    char time[TEXT_COUNT], slow[TEXT_COUNT], most[TEXT_COUNT], lost[TEXT_COUNT], again[TEXT_COUNT], back[TEXT_COUNT];
    const struct each_one *base = &each->one[0];
    bool first = one == base;
    TABLE_ROW(table, one->name, one->time_ps == PS_NEVER ? "never" : text_ps(one->time_ps, time),
              first ? "1.00" : ratio(one->time_ps, base->time_ps, slow),
              first ? "" : ratio(one->predicted_ps, base->time_ps, most),
              one->lost_bytes ? text_bytes(one->lost_bytes, lost) : "0",
              one->again_bytes ? text_bytes(one->again_bytes, again) : "0",
              first            ? ""
              : one->completed ? text_ps(one->recover_ps, back)
                               : "-",
              first              ? ""
              : one->predictable ? "yes"
                                 : "no",
              one->why);
}

/* What the column stands for: without it a large number beside a run that lost nothing is a riddle. */
static void print_expected(const struct each *each, const struct text_style *style, FILE *out)
{
    char outage[TEXT_COUNT], line[256];

    snprintf(line, sizeof line,
             "expected: the slowdown that is explained by the capacity towards higher tiers that is gone, and by %s "
             "until routes have changed (detect + 4 x step); 1.00: no job uses what fails",
             text_ps(ps_add(each->converge.detect_ps, 4 * each->converge.step_ps), outage));
    text_wrap(out, style, 0, 2, line);
}

static bool print_text(const struct each *each, bool seeds, FILE *out)
{
    char at[TEXT_COUNT], lasts[TEXT_COUNT], detect[TEXT_COUNT], step[TEXT_COUNT];
    struct table table;
    struct text_style style = cli_style();
    uint32_t good = 0, ended = 0;

    if (seeds) fprintf(out, "%u seeds from %llu on; ", each->seeds, (unsigned long long)each->options->sim.seed);
    fprintf(out, "each %s fails at %s, %s%s; routes change after %s and %s a hop%s\n", each_names[each->options->what],
            seeds && each->options->at == PS_NEVER ? "a quarter of the way" : text_ps(at_of(each), at),
            each->options->lasts_ps == PS_NEVER ? "to the end" : "for ",
            each->options->lasts_ps == PS_NEVER ? "" : text_ps(each->options->lasts_ps, lasts),
            text_ps(each->converge.detect_ps, detect), text_ps(each->converge.step_ps, step),
            each->fabric->converge.on ? "" : " (default: the file has no 'converge')");
    /* the last, and what the table is read for: never cut */
    TABLE_BEGIN(&table, LEFT("failed"), RIGHT("time"), RIGHT("slowdown"), RIGHT("expected"), RIGHT("lost"),
                RIGHT("resent"), RIGHT("recovery"), LEFT("ok"), LEFT("cause"));
    for (uint32_t i = 0; !seeds && i < each->count; i++) {
        print_row(&table, each, &each->one[i]);
        good += each->one[i].predictable;
        ended += i > 0 && each->one[i].completed;
    }
    bool enough = !seeds || each_seeds_table(each, &table, &good, &ended);
    table_end(&table, out, &style, 0);
    print_expected(each, &style, out);
    fprintf(out, "%u failures: %u within %.1f times the expected slowdown, %u not; %u did not complete\n",
            each->count - 1, good, (double)EACH_MARGIN_NUM / EACH_MARGIN_DEN, each->count - 1 - good,
            each->count - 1 - ended);
    fabric_slices_text(out, &style, each->fabric);
    return enough;
}

static void json_one(struct jout *jout, const struct each_one *one, bool base)
{
    jout_open_line(jout, base ? "base" : NULL, '{');
#include "report/rows/each_run.def"
    jout_close(jout);
}

static bool print_json(const struct each *each, bool seeds, FILE *out)
{
    struct jout *jout = jout_begin(out, "sim-each");
    bool enough = jout != NULL;

#include "report/rows/sim_each.def"
    for (uint32_t i = 0; i < each->count; i++) {
        if (i == 1) jout_open(jout, "runs", '[');
        if (seeds)
            enough &= each_seeds_json(jout, each, i);
        else
            json_one(jout, &each->one[i], i == 0);
    }
    jout_close(jout);
    jout_end(jout);
    return enough;
}

static int report(const struct each *each, const struct each_settings *settings, FILE *out)
{
    bool good = true, seeds = settings->seeds > 0;

    for (uint32_t i = each->seeds; i < each->count * each->seeds; i++)
        good &= each->one[i].predictable;
    if (!(settings->json ? print_json : print_text)(each, seeds, out))
        return cli_wrong("not enough memory for the report");
    return good ? CLI_DONE : CLI_PROBLEMS;
}

/* The jobs do not complete without a failure. */
static void say_base(const struct each *each)
{
    for (uint32_t k = 0; k < each->seeds; k++) {
        if (each->one[k].completed) continue;
        cli_error("--each: the jobs do not complete without a failure: %s", each->one[k].why);
        return;
    }
}

int each_report(const struct each_settings *settings, const struct fabric *fabric, FILE *out)
{
    struct cache cache = {.force = settings->force};
    struct study_error error = {0};
    struct each each = {.options = &settings->run,
                        .fabric = fabric,
                        .error = &error,
                        .cache = &cache,
                        .seeds = settings->seeds ? settings->seeds : 1};
    int status = CLI_WRONG;

    if (settings->out && !cache_open(&cache, settings->out, &error)) {
        cli_study_error(&error);
        return CLI_WRONG;
    }
    if (each_run(&each)) {
        status = report(&each, settings, out);
    } else if (cli_stopped && settings->out) {
        cli_error("interrupted: %u of %u runs are done and kept in %s; the same command goes on from there", each.done,
                  each.count * each.seeds, settings->out);
    } else if (cli_stopped) {
        cli_error("interrupted: %u of %u runs were done", each.done, each.count * each.seeds);
    } else if (error.count || error.loader.count) {
        cli_study_error(&error);
    } else {
        say_base(&each);
        status = CLI_PROBLEMS;
    }
    if (settings->out && !settings->run.quiet) cli_study_rows(&each.rows, settings->out, "runs");
    each_release(&each);
    return status;
}
