/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SONiC: the format's entry, how it is recognized, and what its ports are called.
 *
 * A configuration is config_db.json, the tables of SONiC's CONFIG_DB (rows.c reads every layout that is in use,
 * emit.c writes the nested one).
 */
#include "config/sonic/sonic_int.h"

#include <stdio.h>
#include <string.h>

#include "config/fix.h"
#include "config/unsupported.h"
#include "fabric/fabric.h"

const struct sonic_known sonic_known[] = {
#define TABLE(name, fields, families, how) {#name, fields, families, how},
#include "config/sonic/tables.def"
#undef TABLE
    {NULL, NULL, 0, SONIC_WHOLE},
};

const struct sonic_known *sonic_table_read(const char *name, size_t length)
{
    for (const struct sonic_known *table = sonic_known; table->name; table++)
        if (strlen(table->name) == length && strncmp(table->name, name, length) == 0) return table;
    return NULL;
}

int sonic_guess(const char *text, size_t length)
{
    static const char *const tables[] = {"PORT_QOS_MAP", "DSCP_TO_TC_MAP", "BUFFER_PG",       "BUFFER_POOL",
                                         "WRED_PROFILE", "CABLE_LENGTH",   "DEVICE_METADATA", "PFC_WD"};
    int found = 0;

    for (size_t at = 0; at < length; at++) {
        if (strchr(" \t\r\n", text[at])) continue;
        if (text[at] == '/') { /* a comment of ours */
            const char *end = memchr(text + at, '\n', length - at);
            if (!end) return 0;
            at = (size_t)(end - text);
            continue;
        }
        if (text[at] != '{' && text[at] != '[') return 0;
        break;
    }
    for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        found += strstr(text, tables[i]) != NULL;
    return found ? 85 + (found > 2 ? 10 : 0) : 0;
}

/* Names count the lanes of the switch, and a port has the number of its first.  Where the model has no cages, each port
 * has four, or all have eight where one is faster than 400G. */
void sonic_port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    const struct fabric_node *node = &fabric->node[fabric->port[port].node];
    struct config_cage cage;
    unsigned lanes = 4;

    if (config_cage(fabric, port, &cage)) {
        snprintf(buf, size, "Ethernet%u", (cage.cage - 1) * cage.lanes + (cage.part - 1) * (cage.lanes / cage.parts));
        return;
    }
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (fabric->port[p].rate_bps > 400000000000ull) lanes = 8;
    snprintf(buf, size, "Ethernet%u", fabric->port[port].index * lanes);
}

static const struct config_can can = {
    .port_maps = true,
    .queue_map = true,
    .group_map = true,
    .port_lossless = true,
    .pfc_none = true,
    .pfc_any = true,
    .pfc_obey_all = true,
    .alpha = true,
    .xoff = true,
    .class_xoff = true,
    .reserved = true,
    .limit = true,
    .pool = true,
    .buffer = true,
    .watched = true,
    .restore = true,
    .action = true,
    .strict_below = true,
    .mtu_least = SONIC_MTU_MIN + SONIC_MTU_OVER,
    .mtu_most = SONIC_MTU_MAX + SONIC_MTU_OVER,
    .step_ms = 1,
    .poll_ms = {SONIC_POLL_MIN_MS, SONIC_POLL_MAX_MS},
    .detect_ms = {SONIC_DETECT_MIN_MS, SONIC_DETECT_MAX_MS},
    .restore_ms = {SONIC_RESTORE_MIN_MS, SONIC_RESTORE_MAX_MS},
    .polls_least = 1,
    .rate_step_bps = SONIC_RATE_STEP,
};

static const char shows[] =
    "show pfc priority|show pfc counters|pfcwd show config|pfcwd show stats|ecnconfig -l|mmuconfig -l|"
    "show buffer configuration|show priority-group drop counters";

/* No chip here is without a switch that runs it. */
const struct config_format config_sonic = {
    .name = "sonic",
    .suffix = "json",
    .comment = "//",
    .shows = shows,
    .can = &can,
    .guess = sonic_guess,
    .import = sonic_import,
    .emit = sonic_emit,
    .port_name = sonic_port_name,
    .mtu_over = SONIC_MTU_OVER,
    .fix = sonic_fix,
    .mends = MEND_ROWS,
    .fix_how = "with `config apply-patch`",
    .fix_document = true,
};
