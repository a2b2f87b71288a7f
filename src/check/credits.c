/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about credits: what a receiver promises must cover its line.
 *
 * A block is free to be promised again when the packet has been sent, has travelled, was taken out of the buffer and
 * the update has come back.  What the line carries in that time must fit what is promised, or it stands still.
 */
#include "base/credit.h"
#include "check/rule.h"

static ps_t latency_of(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *at = &fabric->port[port];

    if (is_switch_port(fabric, port)) return switch_of(fabric, port)->latency_ps;
    return fabric->nic[fabric->endpoint[fabric->first_endpoint[at->node] + at->index].nic].latency_ps;
}

/* Bytes that the line to this port carries until it is told that the first of them are free. */
static uint64_t loop_bytes(const struct fabric *fabric, uint32_t port, uint32_t packet_bytes)
{
    const struct fabric_port *at = &fabric->port[port];
    ps_t loop = 2 * at->propagation_ps + latency_of(fabric, port) + at->pause_reaction_ps;

    return rate_bytes_in(at->rate_bps, loop) + packet_bytes;
}

RULE_FUNCTION(credits_cover)
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_lanes *lanes = &fabric->lanes;
    uint32_t packet = fabric_packet_blocks(fabric) * CREDIT_BLOCK_BYTES;
    char name[FABRIC_NAME], has[UNIT_TEXT], needs[UNIT_TEXT];

    for (uint32_t port = 0; port < fabric->ports && lanes->vls; port++) {
        if (!port_used(check, port)) continue;
        uint64_t promised = is_switch_port(fabric, port) ? lanes->switch_bytes : lanes->nic_bytes;
        /* A packet goes when all of its blocks are there, and an eighth may be free and not yet told. */
        uint64_t needed = (loop_bytes(fabric, port, packet) + packet) * CREDIT_SHARE / (CREDIT_SHARE - 1);
        if (promised >= needed) continue;
        check_find(
            check, CHECK_WARNING, FABRIC_NONE, FABRIC_NONE, "credits",
            "%s promises %s for a lane, and its line of %u m carries more until it hears that they are free: one "
            "lane cannot fill it; %s would do",
            port_label(fabric, port, name), unit_format_short(UNIT_SIZE, promised, 3, has),
            (uint32_t)(fabric->port[port].cable_mm / 1000), unit_format_short(UNIT_SIZE, needed, 3, needs));
    }
}
