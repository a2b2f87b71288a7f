/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NICs say of loss, and sums over all counters: who sent again, whose timers ran out.
 *
 * Adapters differ in what they count.  Where packets sent again are not counted, NAKs and timers are: each
 * stands for at least one.
 */
#include "diagnose/nics_int.h"

static const enum evidence_counter of_nics[] = {
    EVIDENCE_RETRANSMITTED, EVIDENCE_SEQUENCE_NAKS, EVIDENCE_ACK_TIMEOUTS, EVIDENCE_OUT_OF_SEQUENCE,
    EVIDENCE_CNP_SENT,      EVIDENCE_CNP_HANDLED,   EVIDENCE_NP_MARKED,    EVIDENCE_RETRY_EXCEEDED,
};
#define OF_NICS (sizeof of_nics / sizeof of_nics[0])

bool device_is_host(const struct evidence *evidence, uint32_t device)
{
    if (evidence->object[device].role != FABRIC_ROLES) return evidence_is_host(evidence, device);
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        for (size_t i = 0; i < OF_NICS; i++)
            if (port_find(evidence, port, of_nics[i])) return true;
    }
    return false;
}

uint64_t nic_timeouts(const struct evidence *evidence, uint32_t port)
{
    uint64_t timeouts = port_get(evidence, port, EVIDENCE_ACK_TIMEOUTS);
    uint64_t failed = port_get(evidence, port, EVIDENCE_RETRY_EXCEEDED);

    return timeouts > failed ? timeouts : failed;
}

uint64_t nic_resent(const struct evidence *evidence, uint32_t port)
{
    uint64_t resent = port_get(evidence, port, EVIDENCE_RETRANSMITTED);
    uint64_t naks = port_get(evidence, port, EVIDENCE_SEQUENCE_NAKS), timeouts = nic_timeouts(evidence, port);

    if (naks > resent) resent = naks;
    return timeouts > resent ? timeouts : resent;
}

static const enum evidence_counter of_loss[] = {EVIDENCE_RETRANSMITTED, EVIDENCE_SEQUENCE_NAKS, EVIDENCE_ACK_TIMEOUTS,
                                                EVIDENCE_RETRY_EXCEEDED};

bool nics_were_read(const struct diagnose *diagnose)
{
    for (size_t i = 0; i < sizeof of_loss / sizeof of_loss[0]; i++)
        if (diagnose->counters[of_loss[i]].known) return true;
    return false;
}

bool nics_resend(const struct diagnose *diagnose)
{
    for (size_t i = 0; i < sizeof of_loss / sizeof of_loss[0]; i++)
        if (diagnose->counters[of_loss[i]].most) return true;
    return false;
}

/* Whether the NIC talks to the host at one end of the cable, as far as flows are known. */
static bool talks_over(const struct evidence *evidence, uint32_t nic, uint32_t near)
{
    uint32_t host = near;
    bool known = false;

    if (near == EVIDENCE_NONE || !evidence->flows) return true;
    if (!device_is_host(evidence, evidence->object[near].parent)) host = evidence->object[near].peer;
    if (host == EVIDENCE_NONE || !device_is_host(evidence, evidence->object[host].parent) || nic == host) return true;
    for (uint32_t i = 0; i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        bool mine = flow->from == nic || flow->to == nic;
        if (mine && (flow->from == host || flow->to == host)) return true;
        known |= mine;
    }
    return !known; /* a collective's NICs have no flows of their own */
}

void finding_resenders(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t near)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t worst = EVIDENCE_NONE;

    if (!finding) return;
    EACH_PORT(evidence, device, port)
    {
        if (diagnose->full || !nic_resent(evidence, port) || !talks_over(evidence, port, near)) continue;
        finding_victim(diagnose, finding, port);
        if (worst == EVIDENCE_NONE || nic_resent(evidence, port) > nic_resent(evidence, worst)) worst = port;
    }
    if (worst == EVIDENCE_NONE) return;
    for (size_t i = 0; i < 3; i++)
        if (port_get(evidence, worst, of_nics[i]))
            finding_counter(diagnose, finding, port_find(evidence, worst, of_nics[i]), 0);
    if (port_get(evidence, worst, EVIDENCE_RETRY_EXCEEDED))
        finding_counter(diagnose, finding, port_find(evidence, worst, EVIDENCE_RETRY_EXCEEDED), 0);
}

uint64_t port_sum(const struct evidence *evidence, uint32_t port, enum evidence_counter counter)
{
    uint64_t sum = 0;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        sum += evidence_get(evidence, port, p, counter);
    return sum;
}

/* One walk over all values, of which a large fabric has half a million. */
void sum_counters(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        struct diagnose_counter *counter = &diagnose->counters[value->counter];
        counter->known = true;
        if (value->real > 0) counter->positive = true;
        if (!value->grown) continue;
        if (value->grown > counter->most) counter->most = value->grown;
        if (value->priority < EVIDENCE_PRIORITIES) counter->priorities |= (uint8_t)(1u << value->priority);
        if (evidence->object[value->object].same_as != EVIDENCE_NONE) continue;
        uint64_t *total = &diagnose->total[value->counter];
        if (__builtin_add_overflow(*total, value->grown, total)) *total = UINT64_MAX;
    }
}

bool link_is_down(const struct evidence *evidence, uint32_t port)
{
    uint32_t peer = evidence->object[port].peer;
    const struct evidence_value *up = port_find(evidence, port, EVIDENCE_LINK_UP);

    if (up && !up->last) return true;
    up = peer == EVIDENCE_NONE ? NULL : port_find(evidence, peer, EVIDENCE_LINK_UP);
    return up && !up->last;
}

bool link_was_lost(const struct evidence *evidence, uint32_t port)
{
    static const enum evidence_counter used[] = {
        EVIDENCE_LINK_DOWN,   EVIDENCE_PORT_TX_BYTES, EVIDENCE_PORT_TX_PACKETS, EVIDENCE_PORT_RX_BYTES,
        EVIDENCE_ROUTE_DROPS, EVIDENCE_PORT_DROPS,    EVIDENCE_PORT_TX_DROPS};
    uint32_t end[2] = {port, evidence->object[port].peer};

    if (!link_is_down(evidence, port)) return false;
    for (size_t e = 0; e < 2 && end[e] != EVIDENCE_NONE; e++) {
        for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
            if (port_get(evidence, end[e], used[i])) return true;
        if (port_sum(evidence, end[e], EVIDENCE_TX_BYTES) || port_sum(evidence, end[e], EVIDENCE_QUEUE_DROPS))
            return true;
    }
    return false;
}

bool rule_found(const struct diagnose *diagnose, enum diagnose_rule_id rule, uint32_t port)
{
    const struct evidence_object *object = diagnose->evidence->object;
    uint32_t end[2] = {port, object[port].peer};

    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (finding->rule != rule || finding->culprit == EVIDENCE_NONE) continue;
        for (size_t e = 0; e < 2 && end[e] != EVIDENCE_NONE; e++) {
            if (finding->culprit == end[e]) return true;
            if (object[end[e]].scope == EVIDENCE_PORT && finding->culprit == object[end[e]].parent) return true;
        }
    }
    return false;
}

void finding_weak_unless(struct diagnose_finding *finding, bool second)
{
    if (finding && !second) finding->confidence = DIAGNOSE_WEAK;
}

void data_priorities(const struct diagnose *diagnose, bool lossless[EVIDENCE_PRIORITIES])
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t bytes[EVIDENCE_PRIORITIES] = {0};
    unsigned most = 0;
    bool any_is = false;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        any_is |= lossless[p] = is_lossless(diagnose, p);
    if (any_is) return;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!device_is_host(evidence, device)) continue;
        EVIDENCE_EACH_PORT(evidence, device, port)
        {
            if (!port_get(evidence, port, EVIDENCE_TX_DATA_PACKETS)) continue;
            for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
                bytes[p] += evidence_get(evidence, port, p, EVIDENCE_TX_BYTES);
        }
    }
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (bytes[p] > bytes[most]) most = p;
    lossless[most] = most && bytes[most]; /* priority 0 is where everything is that has no class */
}

/* How often the time of a job is the least that its NICs' lines allow; 0: not known. */
static double over_ideal(const struct evidence *evidence, uint32_t job)
{
    double time = (double)port_get(evidence, job, EVIDENCE_JOB_NS);
    double ideal = (double)port_get(evidence, job, EVIDENCE_JOB_IDEAL_NS);

    return ideal > 0 ? time / ideal : 0;
}

static bool is_done(const struct evidence *evidence, uint32_t job)
{
    const struct evidence_value *done = port_find(evidence, job, EVIDENCE_JOB_DONE);

    return !done || done->last;
}

bool a_job_is_slow(const struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        if (!is_done(evidence, job) || over_ideal(evidence, job) > diagnose->limits.ideal_ratio) return true;
    }
    return false;
}

bool jobs_lose_nothing(const struct diagnose *diagnose, bool ended)
{
    const struct evidence *evidence = diagnose->evidence;
    bool known = false;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        double over = over_ideal(evidence, job);
        if (over > diagnose->limits.ideal_ratio || port_get(evidence, job, EVIDENCE_JOB_STUCK)) return false;
        if (ended && !is_done(evidence, job)) return false;
        known |= over > 0;
    }
    return known;
}
