/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one look at a host shows by itself: ports that are down, a priority that has all of RDMA's bytes and no PFC, a
 * NIC that pauses its switch, receive rings that are full.
 *
 * Other rules ask what grew between two looks, and one look's counts may be years old.  Here a count is held against
 * another of the same look, which is as old: a share of the packets.  All of it is weak, and is said only where no rule
 * that knows more has said it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/hosts/hosts_int.h"

#define ALL_SHARE 0.99     /* of a port's bytes: all of its traffic is in one priority */
#define PAUSES_SHARE 1e-5  /* of the packets that arrived: more than bursts need */
#define PAUSES_LEAST 10000 /* frames */
#define PAUSES_RATIO 4     /* sent for each that was received: it is the host, and not the fabric */
#define RINGS_SHARE 1e-4   /* of the packets that arrived */
#define RINGS_LEAST 10000  /* packets */

static void weak(struct diagnose_finding *finding)
{
    if (!finding) return;
    finding->confidence = DIAGNOSE_WEAK;
    finding->now = true;
}

/* --- ports that are down --- */

static void ports_down(struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_finding *finding = NULL;
    uint32_t down = 0, set = 0, first = EVIDENCE_NONE;
    char names[256] = "";

    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->kind != EVIDENCE_EVENT_PORT_DOWN || event->object == EVIDENCE_NONE) continue;
        if (evidence_device_of(evidence, event->object) != device) continue;
        if (first == EVIDENCE_NONE) first = event->object;
        if (down < 8) text_add(names, sizeof names, "%s%.60s", down ? ", " : "", name_of(diagnose, event->object));
        down++;
        set += event->detail && strstr(event->detail, "by setting");
    }
    if (!down || rule_found(diagnose, DIAGNOSE_D14, first)) return;
    finding = finding_new(
        diagnose, DIAGNOSE_D14, first, EVIDENCE_NO_PRIORITY, "%s%s %s down%s: what uses %s does not leave the host",
        names, down > 8 ? " and others" : "", down == 1 ? "is" : "are",
        set == down ? " by setting, as virtual functions without a state are, and no cable is why" : "",
        down == 1 ? "it" : "them");
    for (uint32_t i = 0; i < evidence->events; i++) {
        const struct evidence_event *event = &evidence->event[i];
        if (event->kind != EVIDENCE_EVENT_PORT_DOWN || event->object == EVIDENCE_NONE) continue;
        if (evidence_device_of(evidence, event->object) != device) continue;
        finding_event(diagnose, finding, event);
        finding_also(diagnose, finding, event->object);
    }
    if (finding) finding->severity = DIAGNOSE_WARNING; /* many a port has no cable */
    weak(finding);
}

/* --- RDMA outside of a lossless class --- */

/* The priority with all of a port's bytes; EVIDENCE_NO_PRIORITY: there is none. */
static unsigned only_priority(const struct evidence *evidence, uint32_t port, uint64_t *ret_bytes)
{
    uint64_t sum = 0, most = 0;
    unsigned at = EVIDENCE_NO_PRIORITY, known = 0;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *sent = evidence_find(evidence, port, p, EVIDENCE_TX_BYTES);
        const struct evidence_value *came = evidence_find(evidence, port, p, EVIDENCE_RX_BYTES);
        if (!sent && !came) continue;
        uint64_t bytes = (sent ? sent->grown : 0) + (came ? came->grown : 0);
        known++;
        sum += bytes;
        if (bytes > most) most = bytes, at = p;
    }
    *ret_bytes = most;
    return known == EVIDENCE_PRIORITIES && most && (double)most >= ALL_SHARE * (double)sum ? at : EVIDENCE_NO_PRIORITY;
}

static bool is_paused(const struct evidence *evidence, uint32_t port, unsigned priority)
{
    return evidence_get(evidence, port, priority, EVIDENCE_RX_PAUSE_FRAMES) ||
           evidence_get(evidence, port, priority, EVIDENCE_TX_PAUSE_FRAMES) ||
           evidence_get(evidence, port, priority, EVIDENCE_PFC_ON) ||
           evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_PAUSE_FRAMES) ||
           evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_PAUSE_FRAMES);
}

/* The adapter of the device that had most timers run out; EVIDENCE_NONE: none had. */
static uint32_t timed_out(const struct evidence *evidence, uint32_t device, uint64_t *ret_times)
{
    uint32_t worst = EVIDENCE_NONE;

    *ret_times = 0;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint64_t times = nic_timeouts(evidence, port);
        if (times > *ret_times) *ret_times = times, worst = port;
    }
    return worst;
}

/* mlx5 shows pauses of those priorities that PFC is on for, and of no others. */
static bool counts_pauses(const struct evidence *evidence, uint32_t port, unsigned priority)
{
    unsigned known = 0;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        known += evidence_find(evidence, port, p, EVIDENCE_RX_PAUSE_FRAMES) != NULL;
    return known < EVIDENCE_PRIORITIES && evidence_find(evidence, port, priority, EVIDENCE_RX_PAUSE_FRAMES);
}

/* Something was found that made its timers run out; what is of one look and may be years old explains nothing. */
static bool is_a_victim(const struct diagnose *diagnose, uint32_t nic)
{
    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        bool certain = finding->severity != DIAGNOSE_INFO && finding->confidence != DIAGNOSE_WEAK;
        bool stays = certain && (finding->now || !finding->old);
        for (uint32_t v = 0; stays && v < finding->victims; v++)
            if (finding->rule != DIAGNOSE_D15 && finding->victim[v] == nic) return true;
    }
    return false;
}

static void outside_of_class(struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t times, bytes;
    uint32_t nic = timed_out(evidence, device, &times);

    if (nic == EVIDENCE_NONE || is_a_victim(diagnose, nic)) return;
    if (diagnose->found[DIAGNOSE_D21]) return; /* programs that lose packets on purpose, and their peers */
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        unsigned priority = only_priority(evidence, port, &bytes);
        if (priority == EVIDENCE_NO_PRIORITY || is_paused(evidence, port, priority)) continue;
        if (counts_pauses(evidence, port, priority)) continue;
        if (evidence->object[port].peer != EVIDENCE_NONE && is_lossless(diagnose, priority)) continue;
        if (rule_found(diagnose, DIAGNOSE_D15, port)) continue;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D15, port, priority,
                        "%s has all of its %.3g bytes in priority %u, without any pause, and %" PRIu64
                        " timers ran out: RDMA travels outside of a lossless class",
                        name_of(diagnose, port), (double)bytes, priority, times);
        finding_counter(diagnose, finding, evidence_find(evidence, port, priority, EVIDENCE_TX_BYTES), 0);
        finding_counter(diagnose, finding, evidence_find(evidence, port, priority, EVIDENCE_RX_BYTES), 0);
        finding_counter(diagnose, finding, port_find(evidence, nic, EVIDENCE_ACK_TIMEOUTS), 0);
        finding_victim(diagnose, finding, nic);
        weak(finding);
    }
}

/* --- the NIC pauses its switch --- */

static void pauses_switch(struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *sent = evidence_find(evidence, port, p, EVIDENCE_TX_PAUSE_FRAMES);
        uint64_t came = evidence_get(evidence, port, p, EVIDENCE_RX_PAUSE_FRAMES);
        uint64_t packets = evidence_get(evidence, port, p, EVIDENCE_RX_PACKETS);
        if (!sent || sent->looks > 1 || !packets || sent->grown < PAUSES_LEAST) continue;
        double share = (double)sent->grown / (double)packets;
        if (share < PAUSES_SHARE || sent->grown < PAUSES_RATIO * came) continue;
        if (rule_found(diagnose, DIAGNOSE_D03, port) || rule_found(diagnose, DIAGNOSE_D02, port)) return;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D03, port, p,
                        "%s sent %" PRIu64 " pauses for %.3g packets that arrived, and received %" PRIu64
                        ": its host takes them too slowly, at times",
                        name_of(diagnose, port), sent->grown, (double)packets, came);
        finding_counter(diagnose, finding, sent, 0);
        finding_counter(diagnose, finding, evidence_find(evidence, port, p, EVIDENCE_TX_PAUSE_NS), 0);
        weak(finding);
        return;
    }
}

/* --- receive rings that are full --- */

static void rings_full(struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *drops = port_find(evidence, port, EVIDENCE_RING_DROPS);
    uint64_t packets = port_get(evidence, port, EVIDENCE_PORT_RX_PACKETS);

    if (!drops || drops->grown < RINGS_LEAST || !packets) return;
    double share = (double)drops->grown / ((double)packets + (double)drops->grown);
    if (share < RINGS_SHARE || rule_found(diagnose, DIAGNOSE_D28, port)) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D28, port, EVIDENCE_NO_PRIORITY,
                    "%s dropped %" PRIu64
                    " of %.3g packets, %.2g%%, because its receive rings were full: the cores of the host are "
                    "too slow for bursts of the kernel's traffic (RDMA does not use these rings)",
                    name_of(diagnose, port), drops->grown, (double)packets, 100 * share);
    finding_counter(diagnose, finding, drops, RINGS_SHARE * (double)packets);
    weak(finding);
}

void hosts_look(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    if (evidence->exact) return;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (evidence->object[device].role != FABRIC_ROLE_HOST) continue;
        if (evidence->events) ports_down(diagnose, device);
        outside_of_class(diagnose, device);
        EVIDENCE_EACH_PORT(evidence, device, port)
        {
            pauses_switch(diagnose, port);
            rings_full(diagnose, port);
        }
    }
}
