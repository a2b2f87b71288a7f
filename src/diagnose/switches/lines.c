/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look of a switch: slow ports that receive wrong bits (D06), optics that are hot (D13), ports that the system
 * disabled (D37), frames that were bad before they came (D38).  When that is enough is in look_int.h.
 */
#include <inttypes.h>

#include "diagnose/switches/look_int.h"

/* --- D06: slow, and with a share of wrong bits that matters whenever it came --- */

/* As large a share of the frames that came since counters were cleared as makes a finding of one look. */
static bool is_large(const struct diagnose *diagnose, const struct evidence_value *crc, uint64_t frames)
{
    if (diagnose->evidence->looks > 1 || (double)crc->last < diagnose->limits.old_least) return false;
    if (!frames) return (double)crc->last >= diagnose->limits.old_errors_least;
    return (double)crc->last >= diagnose->limits.old_errors * (double)(frames + crc->last);
}

/* Slower than every other port of the switch that is up, of two or more; *least: the slowest of those. */
static bool is_slowest(const struct evidence *evidence, uint32_t port, uint64_t *least)
{
    uint64_t rate = port_get(evidence, port, EVIDENCE_RATE);
    uint32_t others = 0;

    *least = 0;
    EVIDENCE_EACH_PORT(evidence, evidence->object[port].parent, other)
    {
        uint64_t one = port_get(evidence, other, EVIDENCE_RATE);
        if (other == port || !one || link_is_down(evidence, other)) continue;
        others++;
        if (!*least || one < *least) *least = one;
    }
    return rate && others > 1 && rate < *least;
}

void slow_with_errors(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t least;

    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *crc = port_find(evidence, port, EVIDENCE_CRC_ERRORS);
        uint64_t frames = port_get(evidence, port, EVIDENCE_PORT_RX_PACKETS);
        if (evidence_is_host(evidence, device) || !crc || !is_large(diagnose, crc, frames)) continue;
        if (link_is_down(evidence, port) || !is_slowest(evidence, port, &least)) continue;
        if (rule_found(diagnose, DIAGNOSE_D06, port)) continue;
        const struct evidence_value *rate = port_find(evidence, port, EVIDENCE_RATE);
        struct diagnose_finding *finding = finding_new(
            diagnose, DIAGNOSE_D06, port, EVIDENCE_NO_PRIORITY,
            "%s runs at %.4gG, every other port of %s that is up at %.4gG or more, and frames arrive at it "
            "with wrong bits",
            name_of(diagnose, port), (double)rate->last / 1e9, name_of(diagnose, device), (double)least / 1e9);
        finding_counter(diagnose, finding, rate, (double)least);
        finding_counter(diagnose, finding, crc, 0);
        look_is_enough(finding);
    }
}

/* --- D13: hot, and no errors yet --- */

void optics_seen(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *heat = port_find(evidence, port, EVIDENCE_TEMPERATURE);
        if (!heat || heat->real <= diagnose->limits.optic_hot || rule_found(diagnose, DIAGNOSE_D13, port)) continue;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D13, port, EVIDENCE_NO_PRIORITY,
                        "the optic of %s has %.1f degrees, and no errors are seen: it will have them",
                        name_of(diagnose, port), heat->real);
        finding_counter(diagnose, finding, heat, diagnose->limits.optic_hot);
        look_is_enough(finding);
    }
}

/* --- D37: disabled by the system --- */

void rule_D37(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    char who[160];

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->kind != EVIDENCE_EVENT_PORT_DISABLED || event->object == EVIDENCE_NONE) continue;
        if (rule_found(diagnose, DIAGNOSE_D37, event->object)) continue;
        const struct evidence_value *up = port_find(evidence, event->object, EVIDENCE_LINK_UP);
        if (up && up->last) continue; /* it was, and is back */
        struct diagnose_finding *finding = finding_new(
            diagnose, DIAGNOSE_D37, event->object, EVIDENCE_NO_PRIORITY, "%s%s is disabled by its own system%s%.100s%s",
            name_of(diagnose, event->object), look_behind(evidence, event->object, who, sizeof who),
            event->detail ? " (" : ": the reason is in its log", event->detail ? event->detail : "",
            event->detail ? ")" : "");
        finding_event(diagnose, finding, event);
        finding_counter(diagnose, finding, up, 1);
        look_is_enough(finding);
    }
}

/* --- D38: bad before it came --- */

void rule_D38(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    char who[160];

    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *stomped = port_find(evidence, port, EVIDENCE_STOMPED);
        uint64_t own = port_get(evidence, port, EVIDENCE_CRC_ERRORS);
        uint64_t frames = port_get(evidence, port, EVIDENCE_PORT_RX_PACKETS);
        if (!stomped || stomped->grown < LOOK_PACKETS_LEAST || own > stomped->grown) continue;
        if ((double)stomped->grown < diagnose->limits.line_errors * (double)frames) continue;
        struct diagnose_finding *finding = finding_new(
            diagnose, DIAGNOSE_D38, port, EVIDENCE_NO_PRIORITY,
            "%" PRIu64 " frames that %s received were bad before the device at its other end%s sent them on: the "
            "fault is further up their path, not on this cable",
            stomped->grown, name_of(diagnose, port), look_behind(evidence, port, who, sizeof who));
        finding_counter(diagnose, finding, stomped, 0);
        finding_counter(diagnose, finding, port_find(evidence, port, EVIDENCE_CRC_ERRORS), 0);
        look_is_enough(finding);
        missing_add(diagnose,
                    "errors of the ports of the device behind %s: the one that counts CRC errors and no "
                    "stomped checksums has the bad cable",
                    name_of(diagnose, port));
    }
}
