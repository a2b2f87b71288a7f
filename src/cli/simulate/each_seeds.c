/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --each WHAT --seeds N: rows that are means over the seeds, with their intervals.
 */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/measures.h"
#include "cli/simulate/sim_each.h"

#define WHY (SIM_REASON + 32)

static void print_target(struct table *table, const struct each_summary *of, bool base)
{
    static const uint8_t shown[] = {EACH_TIME,       EACH_SLOWDOWN,    EACH_EXPLAINED,
                                    EACH_LOST_BYTES, EACH_AGAIN_BYTES, EACH_RECOVERED};
    const char *cell[sizeof shown + 3];
    char text[sizeof shown][MEASURE_TEXT], ok[32], why[WHY];

    cell[0] = of->name;
    for (size_t i = 0; i < sizeof shown; i++) {
        cell[i + 1] = summary_text(&of->value[shown[i]], each_values[shown[i]].kind, text[i]);
        if (base && (shown[i] == EACH_EXPLAINED || shown[i] == EACH_RECOVERED)) cell[i + 1] = "";
        if (shown[i] == EACH_TIME && of->completed < of->runs) cell[i + 1] = "never";
    }
    snprintf(ok, sizeof ok, "%u of %u", of->predictable, of->runs);
    cell[sizeof shown + 1] = base ? "" : of->predictable == of->runs ? "yes" : of->predictable ? ok : "no";
    snprintf(why, sizeof why, "%s", of->why ? of->why : "");
    if (of->why && of->whys < of->runs) snprintf(why, sizeof why, "%s (%u of %u)", of->why, of->whys, of->runs);
    cell[sizeof shown + 2] = why;
    table_row(table, cell);
}

bool each_seeds_table(const struct each *each, struct table *table, uint32_t *ret_good, uint32_t *ret_ended)
{
    *ret_good = *ret_ended = 0;
    for (uint32_t i = 0; i < each->count; i++) {
        struct each_summary of;
        if (!each_summarise(each, i, &of)) return false;
        print_target(table, &of, i == 0);
        *ret_good += i > 0 && of.predictable == of.runs;
        *ret_ended += i > 0 && of.completed == of.runs;
    }
    return true;
}

bool each_seeds_json(struct jout *jout, const struct each *each, uint32_t target)
{
    bool base = target == 0;
    struct each_summary of;

    if (!each_summarise(each, target, &of)) return false;
    jout_open_line(jout, base ? "base" : NULL, '{');
    if (!base) jout_text(jout, "down", of.name);
    jout_u64(jout, "seeds", of.runs);
    jout_u64(jout, "completed_runs", of.completed);
    jout_bool(jout, "completed", of.completed == of.runs);
    for (int v = 0; v < EACH_VALUES; v++) {
        if (base && v >= EACH_SLOWDOWN && v <= EACH_RECOVERED) continue;
        summary_json(jout, each_values[v].key, &of.value[v], each_values[v].kind);
    }
    if (!base) {
        jout_bool(jout, "cut_off", of.cut_off);
        jout_u64(jout, "predictable_runs", of.predictable);
        jout_bool(jout, "predictable", of.predictable == of.runs);
        jout_text(jout, "why", of.why);
    }
    jout_close(jout);
    return true;
}
