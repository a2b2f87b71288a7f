/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about credits: what a receiver promises must cover its line.
 *
 * A block is free to be promised again when the packet has been sent, has travelled, was taken out of the buffer and
 * the update has come back.  What the line carries in that time must fit what is promised, or it stands still.
 */
#include "base/credit.h"
#include "check/rule.h"

RULE_FUNCTION(credits_cover)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_lanes *lanes = &fabric->lanes;
    const char *what = lanes->cbfc ? "channel" : "lane";
    char name[FABRIC_NAME], has[UNIT_TEXT], needs[UNIT_TEXT];

    for (uint32_t port = 0; port < fabric->ports && lanes->vls; port++) {
        if (!port_used(check, port)) continue;
        uint64_t promised = is_switch_port(fabric, port) ? lanes->switch_bytes : lanes->nic_bytes;
        uint64_t needed = fabric_credit_needs(fabric, port);
        if (promised >= needed) continue;
        check_find(check, CHECK_WARNING, FABRIC_NONE, FABRIC_NONE, lanes->cbfc ? "cbfc" : "credits",
                   "%s grants %s of credits for a %s, less than its link of %u m needs: one %s cannot fill the link; "
                   "%s would do",
                   port_label(fabric, port, name), unit_format_short(UNIT_SIZE, promised, 3, has), what,
                   (uint32_t)(fabric->port[port].cable_mm / 1000), what,
                   unit_format_short(UNIT_SIZE, needed, 3, needs));
    }
}
