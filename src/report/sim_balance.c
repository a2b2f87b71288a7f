/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How evenly parallel links were used: a row a tier, and a sentence where tiers hash alike.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/rows/rows.h"
#include "report/sim_report.h"
#include "report/table.h"

#define CELL 64

static const char *const role_name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};
static const char *const balance_name[] = {"ecmp", "flowlet", "adaptive", "spray", "pin"};

static void ratio(uint32_t milli, char buf[CELL])
{
    if (milli)
        text_fixed(milli, 1000, 2, buf);
    else
        snprintf(buf, CELL, "-");
}

static void share(uint32_t milli, char buf[CELL])
{
    snprintf(buf, CELL, "%u.%u%%", milli / 10, milli % 10);
}

static void print_polarised(FILE *out, const struct fabric *fabric, const struct sim_tier *tier)
{
    char used[CELL], expected[CELL], name[FABRIC_NAME];

    if (tier->alike >= FABRIC_ROLES) return;
    share(tier->used_milli, used);
    share(tier->expected_used_milli, expected);
    fprintf(out, "  polarised: %s and %s switches use the same hash (seed and fields): %s of links used instead of %s",
            role_name[tier->from], role_name[tier->alike], used, expected);
    for (uint32_t i = 0; i < tier->empties; i++)
        fprintf(out, "%s%s", i ? ", " : "; unused: ", fabric_port_name(fabric, tier->empty[i], name));
    fprintf(out, "%s\n", tier->empties == SIM_TIER_EMPTIES ? " .." : "");
}

void sim_text_balance(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;
    struct table table;

    if (!result->tiers) return;
    TABLE_BEGIN(&table, LEFT("from"), LEFT("to"), LEFT("balance"), RIGHT("links"), RIGHT("max/mean"),
                RIGHT("ideal hash"), RIGHT("worst switch", .drop = 2), RIGHT("links used", .drop = 1),
                RIGHT("ideal hash", .drop = 1));
    for (uint32_t i = 0; i < result->tiers; i++) {
        const struct sim_tier *tier = &result->tier[i];
        char links[CELL], mean[CELL], expected[CELL], worst[CELL], used[CELL], should[CELL];
        snprintf(links, CELL, "%u", tier->links);
        ratio(tier->mean_milli, mean);
        ratio(tier->expected_milli, expected);
        ratio(tier->worst_milli, worst);
        share(tier->used_milli, used);
        share(tier->expected_used_milli, should);
        if (tier->expected_milli == 0) snprintf(should, sizeof(should), "-"); /* not worked out */
        TABLE_ROW(&table, role_name[tier->from], role_name[tier->to], balance_name[tier->balance], links, mean,
                  expected, worst, used, should);
    }
    text_heading(out, &options->style, "PARALLEL LINKS (at each switch: bytes of the fullest link over the mean)");
    table_end(&table, out, &options->style, 2);
    for (uint32_t i = 0; i < result->tiers; i++)
        print_polarised(out, report->fabric, &result->tier[i]);
}

void sim_json_balance(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    char name[FABRIC_NAME];

    jout_open(jout, "tiers", '[');
    for (uint32_t i = 0; i < result->tiers; i++) {
        const struct sim_tier *tier = &result->tier[i];
        jout_open_line(jout, NULL, '{');
#include "report/rows/tier.def"
        jout_close(jout);
    }
    jout_close(jout);
}
