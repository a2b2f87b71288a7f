/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules about one look of a switch share.  Private to src/diagnose/switches.
 *
 * States are so now, and counts are large against what went through: neither can be years of small change.  All of it
 * is weak, since one end and one moment were seen, and it stands back where a rule that has two looks, times of pauses
 * or the other end found the cause.
 */
#ifndef ROCELAB_DIAGNOSE_SWITCHES_LOOK_INT_H
#define ROCELAB_DIAGNOSE_SWITCHES_LOOK_INT_H

#include <stdio.h>

#include "diagnose/nics_int.h"

#define LOOK_PACKETS_LEAST 100 /* dropped or wrong: fewer are no share of anything */

/* One look is enough for this finding. */
static inline void look_is_enough(struct diagnose_finding *finding)
{
    if (!finding) return;
    finding->now = true;
    finding->confidence = DIAGNOSE_WEAK;
}

/* "h7 eth0", as LLDP or the port's description say who is behind it; "" where nobody does, or where it was read. */
static inline const char *look_behind(const struct evidence *evidence, uint32_t port, char *text, size_t size)
{
    const struct evidence_object *of = &evidence->object[port];
    uint32_t said = of->neighbour[0] ? of->neighbour[0] : of->neighbour[1];

    *text = 0;
    if (of->peer == EVIDENCE_NONE && said)
        snprintf(text, size, " (%.60s %.60s)", evidence->neighbour[said - 1].device,
                 evidence->neighbour[said - 1].port_name);
    return text;
}

#endif
