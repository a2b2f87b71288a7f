/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that are not a switch's whole configuration: fragments (a file of maps, one of buffers) and patches.  What a
 * rule rests on and the text does not have is not off, it is not known: such rules are not judged.
 */
#include <string.h>

#include "config/sonic/sonic_int.h"

static const struct {
    const char *table;
    const char *rules; /* that rest on it, by the letters they begin with; separated by spaces */
    const char *rest;  /* those of a patch that has some rows of it: they ask for the rows it does not have */
} rests[] = {
    {"PORT_QOS_MAP", "MAP PFC WD HR007 HR002 ECN001 MTU001", "MAP PFC001 PFC002 PFC008 HR007 ECN001 WD001"},
    {"DSCP_TO_TC_MAP", "MAP PFC004 PFC008", "MAP PFC004 PFC008"},
    {"TC_TO_QUEUE_MAP", "", ""},
    {"TC_TO_PRIORITY_GROUP_MAP", "", ""},
    {"MAP_PFC_PRIORITY_TO_QUEUE", "", ""},
    {"QUEUE", "ECN SCH001 MAP005 MAP008", "ECN001 SCH001 MAP005 MAP008"},
    {"WRED_PROFILE", "ECN", "ECN001"},
    {"SCHEDULER", "SCH001 MAP005 MAP008", "SCH001 MAP005 MAP008"},
    {"BUFFER_PG", "HR BUF ECN003", "HR003 HR007 ECN003"},
    {"BUFFER_PROFILE", "HR BUF ECN003", "HR003 HR007 ECN003"},
    {"PORT", "HR001 HR003 HR004 HR009 MTU001 TOP ECN003 ECN005", "TOP HR003 ECN003"},
    {"CABLE_LENGTH", "HR001 HR002 HR004 HR008", "HR001 HR002 HR004 HR008"},
    {"PFC_WD", "WD", "WD001"},
};
#define RESTS (sizeof(rests) / sizeof(rests[0]))

bool sonic_partial(const struct sonic *in, const char *table)
{
    return !in->whole && (in->rows.patch || !sonic_has_table(&in->rows, table));
}

void sonic_dangling(struct sonic *in, const char *table)
{
    for (unsigned t = 0; t < RESTS; t++)
        if (strcmp(rests[t].table, table) == 0) in->dangling |= 1u << t;
}

static void unjudge(struct sonic *in, const char *rules, const char *table, bool some)
{
    UNJUDGED(in, 1, rules, CONFIG_NONE,
             some ? "%s is not in this text but for what is patched" : "%s is not in this text", table);
}

void sonic_unjudge_partial(struct sonic *in)
{
    for (unsigned t = 0; t < RESTS; t++) {
        if (!sonic_partial(in, rests[t].table)) continue;
        bool some = sonic_has_table(&in->rows, rests[t].table);
        if (in->dangling >> t & 1) unjudge(in, "MAP007", rests[t].table, some);
        unjudge(in, some ? rests[t].rest : rests[t].rules, rests[t].table, some);
    }
}
