/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CNPs: receivers that send none for marks (D10), and CNPs that do not reach congestion control in time (D11).
 *
 * CNPs are limited in their rate, so that there are far fewer of them than marks; none at all for many marks is
 * different.  Sums of CNPs sent and handled can only be compared where every NIC was read.
 */
#include <inttypes.h>

#include "diagnose/nics_int.h"

#define RETRIES 7 /* that InfiniBand's field has room for, and that NCCL asks for */

/* Those who send to a NIC, where flows say it; else those who are paused. */
static void senders_to(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t nic)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->flows; i++)
        if (evidence->flow[i].to == nic) finding_victim(diagnose, finding, evidence->flow[i].from);
}

/* --- D10 --- */

/* Some NIC's congestion control goes by CNPs, as far as anybody says what it goes by. */
static bool cnps_are_wanted(const struct diagnose *diagnose)
{
    const struct diagnose_counter *wanted = &diagnose->counters[EVIDENCE_CNPS_WANTED];

    return !wanted->known || wanted->most;
}

/* Nobody says what congestion control goes by, and no NIC sends or handles a CNP: it may be off, or go by something
 * else. */
static bool may_be_meant(const struct diagnose *diagnose)
{
    const uint64_t *total = diagnose->total;

    return !total[EVIDENCE_CNPS_WANTED] && !total[EVIDENCE_CNP_SENT] && !total[EVIDENCE_CNP_HANDLED];
}

void rule_D10(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t culprit = EVIDENCE_NONE, silent = 0;
    uint64_t most = 0;
    struct diagnose_finding *finding = NULL;

    if (!cnps_are_wanted(diagnose)) return;
    for (int pass = 0; pass < 2; pass++) {
        EACH_PORT(evidence, device, port)
        {
            const struct evidence_value *sent = port_find(evidence, port, EVIDENCE_CNP_SENT);
            uint64_t marked = port_get(evidence, port, EVIDENCE_NP_MARKED);
            if (!sent || port_get(evidence, port, EVIDENCE_OUTSIDE) || (double)marked < diagnose->limits.marks_least ||
                (double)sent->grown >= diagnose->limits.answered_share * (double)marked)
                continue;
            if (pass) {
                if (port != culprit) finding_also(diagnose, finding, port);
                senders_to(diagnose, finding, port);
                continue;
            }
            silent++;
            if (marked > most) most = marked, culprit = port;
        }
        if (pass || !silent) break;
        finding = finding_new(diagnose, DIAGNOSE_D10, culprit, EVIDENCE_NO_PRIORITY,
                              "%" PRIu64 " packets arrived marked at %s, which sent %" PRIu64 " CNPs%s", most,
                              name_of(diagnose, culprit), port_get(evidence, culprit, EVIDENCE_CNP_SENT),
                              silent > 1 ? "; other NICs are alike" : "");
        if (finding && may_be_meant(diagnose)) finding->severity = DIAGNOSE_INFO;
        finding_counter(diagnose, finding, port_find(evidence, culprit, EVIDENCE_NP_MARKED),
                        diagnose->limits.marks_least);
        finding_counter(diagnose, finding, port_find(evidence, culprit, EVIDENCE_CNP_SENT),
                        diagnose->limits.answered_share * (double)most);
    }
}

/* --- D11: CNPs that are ignored --- */

static void ignored(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *worst = NULL;

    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *value = port_find(evidence, port, EVIDENCE_CNP_IGNORED);
        if (value && value->grown && (!worst || value->grown > worst->grown)) worst = value;
    }
    if (!worst) return;
    struct diagnose_finding *finding = finding_new(diagnose, DIAGNOSE_D11, worst->object, EVIDENCE_NO_PRIORITY,
                                                   "%s ignored %" PRIu64 " CNPs: its reaction point is off",
                                                   name_of(diagnose, worst->object), worst->grown);
    finding_counter(diagnose, finding, worst, 0);
    finding_victim(diagnose, finding, worst->object);
    finding_weak_unless(finding, !port_get(evidence, worst->object, EVIDENCE_CNP_HANDLED));
}

/* --- D11: CNPs that are lost --- */

struct cnps {
    uint64_t sent, handled;
    bool all_read;
    bool lossless[EVIDENCE_PRIORITIES];
};

/* Drops in classes that are not lossless, where CNPs travel: the priorities that senders of CNPs use. */
static uint64_t cnp_drops(const struct evidence *evidence, const struct cnps *cnps, uint32_t port)
{
    uint64_t drops = 0;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (!cnps->lossless[p])
            drops += evidence_get(evidence, port, p, EVIDENCE_QUEUE_DROPS) +
                     evidence_get(evidence, port, p, EVIDENCE_GROUP_DROPS);
    return drops;
}

/* Behind a port that drops them: its NIC; of an uplink, those elsewhere who handle some. */
static void cnp_victims(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t dropper)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[dropper].peer, device = evidence->object[dropper].parent;

    if (peer != EVIDENCE_NONE && device_is_host(evidence, evidence->object[peer].parent)) {
        finding_victim(diagnose, finding, peer);
        return;
    }
    EACH_PORT(evidence, host, nic)
    {
        uint32_t at = evidence->object[nic].peer;
        if (!port_get(evidence, nic, EVIDENCE_CNP_HANDLED)) continue;
        if (at == EVIDENCE_NONE || evidence->object[at].parent != device) finding_victim(diagnose, finding, nic);
    }
}

static void list_drops(struct diagnose *diagnose, struct diagnose_finding *finding, const struct cnps *cnps,
                       uint32_t port)
{
    static const enum evidence_counter drops[] = {EVIDENCE_QUEUE_DROPS, EVIDENCE_GROUP_DROPS};

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        for (size_t i = 0; !cnps->lossless[p] && i < sizeof drops / sizeof drops[0]; i++) {
            const struct evidence_value *value = evidence_find(diagnose->evidence, port, p, drops[i]);
            if (value && value->grown) finding_counter(diagnose, finding, value, 0);
        }
}

/* The device that drops most of them; false: none does. */
static bool lost_at(struct diagnose *diagnose, const struct cnps *cnps)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t worst = EVIDENCE_NONE, last = EVIDENCE_NONE, ports = 0;
    uint64_t most = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        uint64_t drops = 0;
        if (device_is_host(evidence, device)) continue;
        EVIDENCE_EACH_PORT(evidence, device, port) drops += cnp_drops(evidence, cnps, port);
        if (drops > most) most = drops, worst = device;
    }
    if (worst == EVIDENCE_NONE) return false;
    EVIDENCE_EACH_PORT(evidence, worst, port)
    {
        if (cnp_drops(evidence, cnps, port)) ports++, last = port;
    }
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D11, ports > 1 ? worst : last, EVIDENCE_NO_PRIORITY,
                    "%" PRIu64 " of %" PRIu64 " CNPs did not reach congestion control; %s dropped %" PRIu64
                    " packets outside of the lossless class",
                    cnps->sent - cnps->handled, cnps->sent, name_of(diagnose, worst), most);
    finding_number(diagnose, finding, worst, EVIDENCE_NO_PRIORITY, "cnps_lost", "share",
                   1 - (double)cnps->handled / (double)cnps->sent, diagnose->limits.cnp_lost_share, NULL);
    EVIDENCE_EACH_PORT(evidence, worst, port)
    {
        if (!cnp_drops(evidence, cnps, port)) continue;
        list_drops(diagnose, finding, cnps, port);
        cnp_victims(diagnose, finding, port);
    }
    return true;
}

/* Retries of a queue pair were used up, or may have been where a NIC does not count that. */
static bool somebody_gave_up(const struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    if (diagnose->total[EVIDENCE_RETRY_EXCEEDED]) return true;
    EACH_PORT(evidence, device, port)
    {
        if (port_get(evidence, port, EVIDENCE_ACK_TIMEOUTS) >= RETRIES) return true;
    }
    return false;
}

/* The NIC that sends most of them: on the way from there. */
static void lost_somewhere(struct diagnose *diagnose, const struct cnps *cnps)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *most = NULL;

    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *sent = port_find(evidence, port, EVIDENCE_CNP_SENT);
        if (sent && (!most || sent->grown > most->grown)) most = sent;
    }
    if (!most) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D11, most->object, EVIDENCE_NO_PRIORITY,
                    "%" PRIu64 " of %" PRIu64 " CNPs did not reach congestion control; %s sent most of them, and who "
                    "lost them is not known",
                    cnps->sent - cnps->handled, cnps->sent, name_of(diagnose, most->object));
    finding_number(diagnose, finding, most->object, EVIDENCE_NO_PRIORITY, "cnps_lost", "share",
                   1 - (double)cnps->handled / (double)cnps->sent, diagnose->limits.cnp_lost_share, most);
    senders_to(diagnose, finding, most->object);
    finding_weak_unless(finding, false);
    if (!finding) return;
    finding->strays = true;
    /* who has given up a queue pair handles none of those that come to it */
    if (somebody_gave_up(diagnose)) finding->severity = DIAGNOSE_INFO;
}

/* --- D11: CNPs in the class that they are to relieve --- */

/* The NIC sent CNPs, and next to nothing outside of the lossless class: CNPs are in it. */
static bool sends_in_data_class(const struct diagnose *diagnose, const struct cnps *cnps, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t sent = port_get(evidence, port, EVIDENCE_CNP_SENT), in = 0, out = 0;
    bool packets = false;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        packets |= evidence_find(evidence, port, p, EVIDENCE_TX_PACKETS) != NULL;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        uint64_t count = evidence_get(evidence, port, p, packets ? EVIDENCE_TX_PACKETS : EVIDENCE_TX_BYTES);
        if (!packets) count /= 64; /* a CNP has 74 bytes */
        *(cnps->lossless[p] ? &in : &out) += count;
    }
    return (double)sent >= diagnose->limits.cnp_least && in && out < sent / 2;
}

/* Marks or pauses on the way of CNPs to a NIC: its switch's port to it. */
static const struct evidence_value *congested_to(const struct evidence *evidence, const struct cnps *cnps, uint32_t nic)
{
    uint32_t peer = evidence->object[nic].peer;

    for (unsigned p = 0; peer != EVIDENCE_NONE && p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *marked = evidence_find(evidence, peer, p, EVIDENCE_MARKED);
        if (cnps->lossless[p] && marked && marked->grown) return marked;
    }
    return port_get(evidence, nic, EVIDENCE_NP_MARKED) ? port_find(evidence, nic, EVIDENCE_NP_MARKED) : NULL;
}

static void late(struct diagnose *diagnose, const struct cnps *cnps)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *worst = NULL, *behind = NULL;

    EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *sent = port_find(evidence, port, EVIDENCE_CNP_SENT);
        if (sent && sends_in_data_class(diagnose, cnps, port) && (!worst || sent->grown > worst->grown)) worst = sent;
        if (!behind && port_get(evidence, port, EVIDENCE_CNP_HANDLED)) behind = congested_to(evidence, cnps, port);
    }
    if (!worst || !behind) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D11, worst->object, EVIDENCE_NO_PRIORITY,
                    "%s sent %" PRIu64 " CNPs in the lossless class: they wait in the queues that they are to shorten",
                    name_of(diagnose, worst->object), worst->grown);
    finding_counter(diagnose, finding, worst, diagnose->limits.cnp_least);
    finding_counter(diagnose, finding, behind, 0);
    EACH_PORT(evidence, device, port)
    {
        if (port_get(evidence, port, EVIDENCE_CNP_HANDLED)) finding_victim(diagnose, finding, port);
        if (port != worst->object && port_get(evidence, port, EVIDENCE_CNP_SENT) &&
            sends_in_data_class(diagnose, cnps, port))
            finding_also(diagnose, finding, port);
    }
}

/* --- the rule --- */

void rule_D11(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const uint64_t *total = diagnose->total;
    struct cnps cnps = {.all_read = !diagnose->total[EVIDENCE_OUTSIDE]};

    if (total[EVIDENCE_CNP_IGNORED]) ignored(diagnose);
    cnps.sent = total[EVIDENCE_CNP_SENT];
    cnps.handled = total[EVIDENCE_CNP_HANDLED] + total[EVIDENCE_CNP_IGNORED];
    if (!cnps.sent) return;
    data_priorities(diagnose, cnps.lossless);
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (evidence_is_host(evidence, device)) cnps.all_read &= evidence->object[device].looked_at;
    }
    bool lost = cnps.handled < cnps.sent && (double)(cnps.sent - cnps.handled) >= diagnose->limits.cnp_least &&
                (double)(cnps.sent - cnps.handled) > diagnose->limits.cnp_lost_share * (double)cnps.sent;
    if (lost && !cnps.all_read)
        missing_add(diagnose, "CNPs of the hosts that were not read: whether any were lost is not known");
    else if (lost && !lost_at(diagnose, &cnps))
        lost_somewhere(diagnose, &cnps);
    late(diagnose, &cnps);
}
