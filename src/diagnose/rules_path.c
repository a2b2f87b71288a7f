/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D14: a path is gone.
 *
 * Acknowledgements do not come and nobody says why.  The hop is looked for in this order: a link that is down, or a
 * port that drops for want of a route; a cable or switch that more packets enter than leave; the hop that the NICs
 * whose timers run out have in common.  The last two only where nothing else that was seen explains it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/nics_int.h"

#define LINK_TEXT 300
#define TIMERS_TEXT 120
#define COMMON_LISTED 4 /* NICs of those that have a hop in common */

struct lost {
    uint64_t timeouts; /* of all NICs */
    bool stuck;        /* a job waits for what will never come: nobody has a timer for it */
    bool nics_read;
    uint32_t found, links; /* all; links that are down */
};

/* --- links that are down, routes that lead nowhere --- */

static uint64_t route_drops(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;
    uint64_t drops = port_get(evidence, port, EVIDENCE_ROUTE_DROPS);

    return drops + (peer == EVIDENCE_NONE ? 0 : port_get(evidence, peer, EVIDENCE_ROUTE_DROPS));
}

static void add_ends(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t port)
{
    static const enum evidence_counter listed[] = {EVIDENCE_LINK_UP, EVIDENCE_LINK_DOWN, EVIDENCE_ROUTE_DROPS,
                                                   EVIDENCE_PORT_DROPS, EVIDENCE_PORT_TX_DROPS};
    const struct evidence *evidence = diagnose->evidence;
    uint32_t end[2] = {port, evidence->object[port].peer};

    for (size_t e = 0; e < 2 && end[e] != EVIDENCE_NONE; e++)
        for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
            const struct evidence_value *value = port_find(evidence, end[e], listed[i]);
            if (value && (listed[i] == EVIDENCE_LINK_UP ? !value->last : value->grown != 0))
                finding_counter(diagnose, finding, value, listed[i] == EVIDENCE_LINK_UP ? 1 : 0);
        }
}

/* The end that dropped more, else the one that says it is down, is the culprit's name. */
static uint32_t worse_end(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;
    if (peer == EVIDENCE_NONE) return port;
    uint64_t here = port_get(evidence, port, EVIDENCE_ROUTE_DROPS);
    uint64_t there = port_get(evidence, peer, EVIDENCE_ROUTE_DROPS);
    const struct evidence_value *up = port_find(evidence, port, EVIDENCE_LINK_UP);

    if (here != there) return here > there ? port : peer;
    return up && !up->last ? port : peer;
}

/* Packets were dropped for want of a way there to the last: of a run whose routes stay; else by the last two looks. */
static bool still_led_there(const struct evidence *evidence, uint32_t port)
{
    const struct evidence_value *drops = port_find(evidence, port, EVIDENCE_ROUTE_DROPS);

    if (evidence->exact) return !evidence->follows;
    return drops && drops->looks > 1 && drops->last > drops->before;
}

/* By both ends, where both are known. */
static const char *link_text(const struct diagnose *diagnose, uint32_t port, char into[LINK_TEXT])
{
    uint32_t peer = diagnose->evidence->object[port].peer;

    if (peer == EVIDENCE_NONE)
        snprintf(into, LINK_TEXT, "at %s", name_of(diagnose, port));
    else
        snprintf(into, LINK_TEXT, "between %s and %s", name_of(diagnose, port), name_of(diagnose, peer));
    return into;
}

/* What such a loss costs: nobody tells of it but the sender's timer. */
static const char *timers_text(const struct lost *lost, char into[TIMERS_TEXT])
{
    *into = 0;
    if (lost->timeouts)
        snprintf(into, TIMERS_TEXT, "; it cost retransmission timeouts: NICs' timers ran out %" PRIu64 " times",
                 lost->timeouts);
    return into;
}

static void link_lost(struct diagnose *diagnose, struct lost *lost, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t culprit = worse_end(evidence, port);
    uint64_t drops = route_drops(evidence, port);
    bool still = still_led_there(evidence, culprit);
    char link[LINK_TEXT], timers[TIMERS_TEXT];
    struct diagnose_finding *finding =
        drops ? finding_new(diagnose, DIAGNOSE_D14, culprit, EVIDENCE_NO_PRIORITY,
                            "the link %s is down, %s%" PRIu64 " packets %swere dropped%s",
                            link_text(diagnose, culprit, link), still ? "routes still lead there, and " : "and ", drops,
                            still ? "" : "that routes led there ", timers_text(lost, timers))
        : lost->stuck && !lost->timeouts
            ? finding_new(diagnose, DIAGNOSE_D14, culprit, EVIDENCE_NO_PRIORITY,
                          "the link %s is down, and no timer tells those who wait for what was lost there",
                          link_text(diagnose, culprit, link))
            : finding_new(diagnose, DIAGNOSE_D14, culprit, EVIDENCE_NO_PRIORITY,
                          "the link %s is down, and NICs' timers ran out %" PRIu64 " times",
                          link_text(diagnose, culprit, link), lost->timeouts);
    add_ends(diagnose, finding, culprit);
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    finding_weak_unless(finding, lost->timeouts || lost->stuck);
    lost->found++;
    lost->links++;
}

/* Packets without a route: where they come in.  The device is the culprit where several of its ports drop.  Where a
 * link is lost elsewhere, routes that led over it are gone with it. */
static void no_route(struct diagnose *diagnose, struct lost *lost, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t drops = 0;
    uint32_t ports = 0, culprit = EVIDENCE_NONE;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint64_t here = port_get(evidence, port, EVIDENCE_ROUTE_DROPS);
        if (link_was_lost(evidence, port)) return; /* said already: the routes are gone with the link */
        if (!here || rule_found(diagnose, DIAGNOSE_D19, port)) continue;
        drops += here;
        ports++;
        culprit = port;
    }
    if (!drops) return;
    if (ports > 1) culprit = device;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D14, culprit, EVIDENCE_NO_PRIORITY,
                    "%s dropped %" PRIu64 " packets for which it has no route", name_of(diagnose, device), drops);
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (port_get(evidence, port, EVIDENCE_ROUTE_DROPS))
            finding_counter(diagnose, finding, port_find(evidence, port, EVIDENCE_ROUTE_DROPS), 0);
    }
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    finding_weak_unless(finding, lost->timeouts != 0);
    if (finding && lost->links) finding->severity = DIAGNOSE_INFO;
    lost->found++;
}

/* --- where packets vanish --- */

static void vanish_on_cable(struct diagnose *diagnose, struct lost *lost, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;
    const struct evidence_value *sent = port_find(evidence, port, EVIDENCE_PORT_TX_PACKETS), *came;

    if (peer == EVIDENCE_NONE || !sent || !(came = port_find(evidence, peer, EVIDENCE_PORT_RX_PACKETS))) return;
    if (sent->looks != came->looks || sent->reset || came->reset || came->grown >= sent->grown) return;
    uint64_t gone = sent->grown - came->grown;
    double share = (double)gone / (double)sent->grown;
    if (rule_found(diagnose, DIAGNOSE_D13, port)) return; /* said already */
    if (share < diagnose->limits.vanished_share || (double)gone < diagnose->limits.vanished_least) return;
    struct diagnose_finding *finding = finding_new(diagnose, DIAGNOSE_D14, port, EVIDENCE_NO_PRIORITY,
                                                   "%s sent %" PRIu64 " packets and %" PRIu64 " came at the other end",
                                                   name_of(diagnose, port), sent->grown, came->grown);
    finding_counter(diagnose, finding, sent, 0);
    finding_counter(diagnose, finding, came, (double)sent->grown);
    finding_resenders(diagnose, finding, port);
    lost->found++;
}

#define BUFFER_BYTES 128e6 /* few switches have more memory */

/* Bytes that may wait in a switch's queues: as many as were ever in them; where it does not say that, as many as a
 * switch has memory for. */
static double may_wait(const struct evidence *evidence, uint32_t device)
{
    uint64_t waited = 0;
    bool known = false;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        waited += port_sum(evidence, port, EVIDENCE_QUEUE_PEAK);
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            known |= evidence_find(evidence, port, p, EVIDENCE_QUEUE_PEAK) != NULL;
    }
    return known ? (double)waited : BUFFER_BYTES;
}

/* What came into a switch and has not left it, in bytes: as it counts them, else by the mean of its packets. */
static double bytes_inside(const struct evidence *evidence, uint32_t device, uint64_t packets_inside)
{
    uint64_t in = 0, out = 0, packets = 0;
    bool both = true;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint64_t came = port_get(evidence, port, EVIDENCE_PORT_RX_PACKETS);
        both &= !came || port_get(evidence, port, EVIDENCE_PORT_RX_BYTES);
        in += port_get(evidence, port, EVIDENCE_PORT_RX_BYTES);
        out += port_get(evidence, port, EVIDENCE_PORT_TX_BYTES);
        packets += port_get(evidence, port, EVIDENCE_PORT_TX_PACKETS);
    }
    if (both && in > out) return (double)(in - out);
    return packets ? (double)packets_inside * (double)out / (double)packets : 0;
}

static void vanish_in_switch(struct diagnose *diagnose, struct lost *lost, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t in = 0, out = 0;

    if (evidence->exact) return; /* a run counts each packet that it drops: those were under way */
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *came = port_find(evidence, port, EVIDENCE_PORT_RX_PACKETS);
        const struct evidence_value *sent = port_find(evidence, port, EVIDENCE_PORT_TX_PACKETS);
        if (!came != !sent || (came && (came->reset || sent->reset || came->looks < 2))) return;
        if (!came) continue;
        in += came->grown;
        out += sent->grown;
    }
    if (out >= in || (double)(in - out) < diagnose->limits.vanished_share * (double)in ||
        (double)(in - out) < diagnose->limits.vanished_least ||
        bytes_inside(evidence, device, in - out) <= may_wait(evidence, device))
        return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D14, device, EVIDENCE_NO_PRIORITY,
                    "%" PRIu64 " packets came into %s and %" PRIu64 " left it; no counter of it says why", in,
                    name_of(diagnose, device), out);
    finding_number(diagnose, finding, device, EVIDENCE_NO_PRIORITY, "packets_vanished", "packets", (double)(in - out),
                   diagnose->limits.vanished_share * (double)in, NULL);
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    lost->found++;
}

/* --- what NICs have in common --- */

/* The device at the other end of the NICs whose timers ran out, where it is one; their number. */
static uint32_t common_hop(const struct evidence *evidence, uint32_t *nics, uint32_t *first)
{
    uint32_t hop = EVIDENCE_NONE;
    bool same = true;

    *nics = 0;
    EACH_PORT(evidence, device, port)
    {
        if (!nic_timeouts(evidence, port)) continue;
        uint32_t peer = evidence->object[port].peer;
        uint32_t other = peer == EVIDENCE_NONE ? EVIDENCE_NONE : evidence->object[peer].parent;
        if (!(*nics)++) *first = port, hop = other;
        same &= other == hop;
    }
    return same ? hop : EVIDENCE_NONE;
}

/* The one host that all NICs whose timers ran out were talking to, where flows say it. */
static uint32_t common_peer(const struct evidence *evidence)
{
    uint32_t peer = EVIDENCE_NONE;

    for (uint32_t i = 0; i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        if (!nic_timeouts(evidence, flow->from)) continue;
        if (peer != EVIDENCE_NONE && peer != flow->to) return EVIDENCE_NONE;
        peer = flow->to;
    }
    return peer;
}

/* What the port carried, whichever counter says it, or else the other end of its cable. */
static const struct evidence_value *traffic_at(const struct evidence *evidence, uint32_t port)
{
    static const enum evidence_counter carried[] = {EVIDENCE_PORT_RX_PACKETS, EVIDENCE_PORT_TX_PACKETS,
                                                    EVIDENCE_PORT_RX_BYTES,   EVIDENCE_PORT_TX_BYTES,
                                                    EVIDENCE_TX_BYTES,        EVIDENCE_RX_BYTES};
    uint32_t end[2] = {port, evidence->object[port].peer};
    const struct evidence_value *value;

    for (size_t e = 0; e < 2 && end[e] != EVIDENCE_NONE; e++)
        for (size_t i = 0; i < sizeof carried / sizeof carried[0]; i++) {
            if ((value = port_find(evidence, end[e], carried[i]))) return value;
            for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
                if ((value = evidence_find(evidence, end[e], p, carried[i]))) return value;
        }
    return NULL;
}

/* Timers of the NICs behind the hop, or what the host's cable carried. */
static void add_common(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t culprit)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t listed = 0;

    if (evidence->object[culprit].scope == EVIDENCE_PORT)
        finding_counter(diagnose, finding, traffic_at(evidence, culprit), 0);
    EACH_PORT(evidence, device, nic)
    {
        uint32_t peer = evidence->object[nic].peer;
        bool behind = nic == culprit || (peer != EVIDENCE_NONE && evidence->object[peer].parent == culprit);
        if (!behind || !nic_timeouts(evidence, nic) || listed++ >= COMMON_LISTED) continue;
        finding_counter(diagnose, finding, port_find(evidence, nic, EVIDENCE_ACK_TIMEOUTS), 0);
        finding_counter(diagnose, finding, port_find(evidence, nic, EVIDENCE_RETRY_EXCEEDED), 0);
    }
}

static void in_common(struct diagnose *diagnose, struct lost *lost)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t nics, first = EVIDENCE_NONE, hop = common_hop(evidence, &nics, &first), peer = common_peer(evidence);
    uint32_t culprit = nics == 1 ? first : hop;

    if (nics > 1 && peer != EVIDENCE_NONE && traffic_at(evidence, peer)) culprit = peer;
    if (culprit == EVIDENCE_NONE) {
        missing_add(diagnose,
                    "%u NICs had timeouts and no hop that was read explains them: counters of the switches "
                    "between them, at two times",
                    nics);
        return;
    }
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D14, culprit, EVIDENCE_NO_PRIORITY,
                    "timers of %u NIC%s ran out %" PRIu64
                    " times and no hop that was looked at drops; what they have in common is %s",
                    nics, nics == 1 ? "" : "s", lost->timeouts, name_of(diagnose, culprit));
    add_common(diagnose, finding, culprit);
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    finding_weak_unless(finding, false);
    if (finding) finding->severity = DIAGNOSE_WARNING;
    lost->found++;
}

/* --- the rule --- */

/* Something that makes timers run out without a path being gone: loss elsewhere, a deadlock. */
static bool is_explained(const struct diagnose *diagnose, const uint64_t *total)
{
    static const enum evidence_counter causes[] = {
        EVIDENCE_GROUP_DROPS,   EVIDENCE_QUEUE_DROPS,       EVIDENCE_MTU_DROPS,       EVIDENCE_WATCHDOG_DROPS,
        EVIDENCE_CRC_ERRORS,    EVIDENCE_WATCHDOG_DETECTED, EVIDENCE_LINK_DOWN,       EVIDENCE_FEC_UNCORRECTED,
        EVIDENCE_PORT_DROPS,    EVIDENCE_RX_DISCARDS,       EVIDENCE_RNR_NAKS,        EVIDENCE_PORT_RX_DROPS,
        EVIDENCE_PORT_TX_DROPS, EVIDENCE_FAULT_LOST,        EVIDENCE_FAULT_CORRUPTED, EVIDENCE_FAULT_DELAYED,
        EVIDENCE_LINE_LOST,
    };
    const struct evidence *evidence = diagnose->evidence;

    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (total[causes[i]]) return true;
    return evidence->circles != 0;
}

/* Some queue stood still for more than this share of the time: timers of what waits there run out too. */
static bool stands_still(const struct diagnose *diagnose, double share)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        if (value->grown && value->priority < EVIDENCE_PRIORITIES &&
            (value->counter == EVIDENCE_RX_PAUSE_NS || value->counter == EVIDENCE_RX_PAUSE_FRAMES) &&
            share_paused(diagnose, value->object, value->priority).value > share)
            return true;
    }
    return false;
}

/* The same, by counters of more than logs of jobs: those count links that went down and receives that lacked. */
static bool switches_explain(const struct diagnose *diagnose)
{
    uint64_t total[EVIDENCE_COUNTERS];

    memcpy(total, diagnose->total, sizeof total);
    total[EVIDENCE_LINK_DOWN] = total[EVIDENCE_RNR_NAKS] = 0;
    return is_explained(diagnose, total) || stands_still(diagnose, diagnose->limits.standing_share);
}

/* By counters, of devices that were read. */
static void lost_by_counters(struct diagnose *diagnose, struct lost *lost, bool said)
{
    const struct evidence *evidence = diagnose->evidence;
    const uint64_t *total = diagnose->total;

    EACH_PORT(evidence, device, port)
    {
        if (port_speaks(evidence, port) && link_was_lost(evidence, port)) link_lost(diagnose, lost, port);
    }
    if (total[EVIDENCE_ROUTE_DROPS]) {
        EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device) no_route(diagnose, lost, device);
    }
    if (lost->found || !lost->timeouts || is_explained(diagnose, total) ||
        stands_still(diagnose, diagnose->limits.standing_share))
        return;
    EACH_PORT(evidence, device, port) vanish_on_cable(diagnose, lost, port);
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!lost->found && !device_is_host(evidence, device)) vanish_in_switch(diagnose, lost, device);
    }
    /* Long queues make timers run out too. */
    bool congested =
        total[EVIDENCE_MARKED] || total[EVIDENCE_NP_MARKED] || stands_still(diagnose, diagnose->limits.paused_share);
    if (!lost->found && !congested && !said) in_common(diagnose, lost);
}

void rule_D14(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const uint64_t *total = diagnose->total;
    struct lost lost = {.nics_read = nics_were_read(diagnose)};
    bool said = peers_were_lost(evidence);

    lost.timeouts = total[EVIDENCE_ACK_TIMEOUTS] + total[EVIDENCE_RETRY_EXCEEDED];
    /* Routes that follow before a timer runs out: what is left is lost capacity. */
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job) lost.stuck |= port_get(evidence, job, EVIDENCE_JOB_STUCK) != 0;
    if (lost.timeouts || lost.stuck || (!lost.nics_read && total[EVIDENCE_ROUTE_DROPS]))
        lost_by_counters(diagnose, &lost, said);
    if (said && !lost.found && !switches_explain(diagnose)) peers_lost_said(diagnose);
}
