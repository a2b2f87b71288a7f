/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trimming: that what is left of a packet arrives.
 *
 * A packet without its payload says that it must be sent again; it is of use only if it gets through where the whole
 * one did not.  So it goes by another queue, which is served and has room for the headers of many packets.
 */
#include "check/rule.h"

#include "fabric/switches.h"

#define HEADERS_LEAST 64u /* packets: a queue with less room overflows in the burst that fills the other */

/* What is wrong with the queue of trimmed packets; NULL: nothing. */
static const char *problem(const struct fabric_settings *settings, const struct sw_trim *trim, unsigned queue,
                           uint8_t dscp)
{
    unsigned tc = settings->dscp_to_tc[dscp], onto = settings->tc_to_queue[tc];
    const struct fabric_queue *to = &settings->queue[onto];

    if (onto == queue) return "they would wait behind the packets that leave no room";
    if (tc == 0 && !to->strict) return "no class has that, so they go with whatever has none";
    if (to->trim.bytes) return "that class is trimmed itself";
    if (to->limit_bytes < (uint64_t)HEADERS_LEAST * trim->bytes) return "its class has no room for 64 of them";
    return NULL;
}

static void look(struct check *check, uint32_t port, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(check->fabric, port);
    unsigned queue = settings->tc_to_queue[tc];
    const struct sw_trim *trim = &settings->queue[queue].trim;
    uint8_t dscps[2] = {trim->dscp, trim->last_hop_dscp};
    char name[FABRIC_NAME];

    for (uint32_t i = 0; i < (trim->last_hop_dscp == trim->dscp ? 1u : 2u); i++) {
        const char *why = problem(settings, trim, queue, dscps[i]);
        if (!why) continue;
        check_find(check, CHECK_ERROR, check->fabric->port[port].node, port, "classes",
                   "%s trims packets of priority %u to DSCP %u, and %s", port_label(check->fabric, port, name), tc,
                   dscps[i], why);
        return;
    }
}

RULE_FUNCTION(trim_class)
{
    const struct fabric *fabric = check->fabric;

    for (uint32_t port = fabric->endpoints; port < fabric->ports; port++)
        for (unsigned tc = 0; tc < FABRIC_PRIOS && port_used(check, port); tc++)
            if (fed_classes(settings_of(fabric, port)) >> tc & 1 &&
                settings_of(fabric, port)->queue[settings_of(fabric, port)->tc_to_queue[tc]].trim.bytes)
                look(check, port, tc);
}
