/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of weeks: what fails how often and what that costs, the useful share of the time, what to improve first.
 * Every rate is shown with its source: the answer is as good as they are.
 */
#include "cli/judge/validate_weeks.h"

#include "cli/cli.h"
#include "fabric/handle.h"
#include "report/json_out.h"
#include "report/rows/rows.h"
#include "report/table.h"
#include "validate/weeks.h"

#define CELL 32

static const uint32_t samples[VALIDATE_LEVELS] = {[VALIDATE_QUICK] = 1, [VALIDATE_DEFAULT] = 4, [VALIDATE_FULL] = 0};

static double gpu_hours(const struct weeks *weeks, double lost_s)
{
    return lost_s / 3600 * (double)weeks->gpus;
}

/* For people: "0.543", "144.6", "43,008"; never with an exponent. */
static const char *figure(double value, char buf[CELL])
{
    char count[TEXT_COUNT];

    if (value > 0 && value < 0.001)
        snprintf(buf, CELL, "<0.001");
    else if (value < 1000)
        snprintf(buf, CELL, "%.*g", value < 100 ? 3 : 4, value);
    else
        snprintf(buf, CELL, "%s", text_count((uint64_t)(value + 0.5), count));
    return buf;
}

static void print_source(struct table *table, const struct weeks *weeks, const struct weeks_source *source)
{
    char parts[CELL], year[CELL], count[CELL], stops[CELL], slow[CELL], lost[CELL];
    const char *cell[] = {source->name, parts, year, count, stops, source->stops < 1 ? slow : "-", lost};

    snprintf(parts, sizeof parts, "%llu", (unsigned long long)source->parts);
    snprintf(year, sizeof year, "%.3g%%", source->failures_a_year * 100);
    figure(source->failures, count);
    snprintf(stops, sizeof stops, "%.0f%%", source->stops * 100);
    snprintf(slow, sizeof slow, "%.2f", source->slowdown);
    figure(gpu_hours(weeks, source->lost_s), lost);
    table_row(table, cell);
}

static void print_table(const struct weeks *weeks, FILE *out)
{
    struct text_style style = cli_style();
    struct table table;

    TABLE_BEGIN(&table, LEFT("fails"), RIGHT("parts"), RIGHT("a year"), RIGHT("failures"), RIGHT("stop the job"),
                RIGHT("others slow it"), RIGHT("GPU-hours lost"));
    for (uint32_t s = 0; s < weeks->sources; s++)
        print_source(&table, weeks, &weeks->source[s]);
    table_end(&table, out, &style, 0);
}

static void print_rates(const struct weeks *weeks, FILE *out)
{
    fputs("Rates ('reliability:' in the file replaces any; times to repair are assumed):\n", out);
    for (uint32_t p = 0; p < RATE_PARTS; p++) {
        const struct fabric_rate *rate = &weeks->reliability.rate[p];
        bool used = false;
        for (uint32_t s = 0; s < weeks->sources; s++)
            used |= weeks->source[s].part == p;
        if (!used) continue;
        if (rate->at.line)
            fprintf(out, "  %-8s the file, line %u\n", rate_infos[p].name, rate->at.line);
        else
            fprintf(out, "  %-8s %s: %s\n", rate_infos[p].name, rate_basis_names[rate_infos[p].basis],
                    rate_infos[p].source);
    }
}

static double in_s(ps_t time)
{
    return (double)time / (double)PS_S;
}

static void print_text(const struct weeks *weeks, const struct fabric *fabric, FILE *out)
{
    const struct fabric_reliability *as = &weeks->reliability;
    const struct text_style style = cli_style();
    char one[CELL], two[CELL];

    text_outside(out, &style, fabric_name(fabric));
    fprintf(out, ": %u week%s of one job on %llu GPU%s; a checkpoint every %.0f s takes %.3g s, a restart %.0f s; %s\n",
            weeks->weeks, text_plural(weeks->weeks), (unsigned long long)weeks->gpus, text_plural(weeks->gpus),
            in_s(as->checkpoint_ps), in_s(as->write_ps), in_s(as->restart_ps),
            as->spares ? "spare hosts" : "no spare hosts");
    print_table(weeks, out);
    fprintf(out, "%s failures, %s of them stop the job", figure(weeks->failures, one), figure(weeks->stops, two));
    if (weeks->between_stops_s > 0) fprintf(out, ", one every %s hours", figure(weeks->between_stops_s / 3600, one));
    fprintf(out, "; writing checkpoints takes %s GPU-hours\n", figure(gpu_hours(weeks, weeks->writing_s), one));
    text_in(out, &style, TEXT_BOLD, "useful: %.3f%% of the time", weeks->useful * 100);
    fprintf(out, " (95%% of such weeks: %.3f%% to %.3f%%); lost: %s of %s GPU-hours", weeks->useful_least * 100,
            weeks->useful_most * 100, figure(weeks->gpu_hours_lost, one), figure(weeks->gpu_hours, two));
    fprintf(out, " (%s to %s)\n", figure(weeks->lost_least, one), figure(weeks->lost_most, two));
    for (uint32_t b = 0; b < weeks->betters && b < 5; b++)
        fprintf(out, "%s %s saves %s GPU-hours\n", b ? "  then   " : "improve first:", weeks->better[b].what,
                figure(weeks->better[b].saved_gpu_hours, one));
    print_rates(weeks, out);
}

static void json_source(struct jout *jout, const struct weeks *weeks, const struct weeks_source *source)
{
    const struct fabric_rate *rate = &weeks->reliability.rate[source->part];

    jout_open_line(jout, NULL, '{');
#include "report/rows/weeks_source.def"
    jout_close(jout);
}

static void json_better(struct jout *jout, const struct weeks_better *better)
{
    jout_open_line(jout, NULL, '{');
    jout_text(jout, "what", better->what);
    jout_real(jout, "saved_gpu_hours", better->saved_gpu_hours);
    jout_close(jout);
}

static void json_pair(struct jout *jout, const char *key, double least, double most)
{
    jout_open_line(jout, key, '[');
    jout_real(jout, NULL, least);
    jout_real(jout, NULL, most);
    jout_close(jout);
}

static void print_json(const struct weeks *weeks, const struct fabric *fabric, FILE *out)
{
    struct jout *jout = jout_begin(out, "validate-weeks");

#include "report/rows/weeks.def"
    JOUT_LIST(jout, "improve", b, weeks->betters, json_better(jout, &weeks->better[b]));
    jout_end(jout);
}

int validate_weeks(const struct validate *plan, uint32_t weeks, bool json, FILE *out)
{
    static struct weeks result;
    const struct weeks_options options = {.weeks = weeks,
                                          .sample = samples[plan->level],
                                          .threads = plan->jobs,
                                          .seed = plan->seed,
                                          .quiet = plan->quiet,
                                          .cache = &plan->cache,
                                          .stopped = plan->stopped};

    if (!weeks_run(plan->fabric, &options, &result, plan->error)) {
        if (cli_stopped) cli_error("interrupted");
        return CLI_WRONG;
    }
    (json ? print_json : print_text)(&result, plan->fabric, out);
    return CLI_DONE;
}
