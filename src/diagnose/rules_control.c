/* SPDX-License-Identifier: Apache-2.0 */
/* The control loop without its CNPs: pauses before marks, reordering taken for loss, traffic in the wrong class. */
#include <inttypes.h>

#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"

#define NAKS_LISTED 4 /* NICs behind a switch that sprays */

/* --- D09: pauses before marks --- */

struct marking {
    uint32_t device;
    unsigned priority;
    bool marks_known, pauses, since_boot;
    double worst; /* share of time that the port that pauses most did */
    uint64_t marks, packets, deepest;
    const struct evidence_value *pause, *mark;
};

/* What a port adds: its pauses, its queue's marks.  False: its queue is paused itself, so that pauses are passed on. */
static bool add_port(const struct diagnose *diagnose, struct marking *of, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    struct share pausing = share_pausing(diagnose, port, of->priority);
    struct share paused = share_paused(diagnose, port, of->priority);
    const struct evidence_value *mark = evidence_find(evidence, port, of->priority, EVIDENCE_MARKED);
    uint64_t depth = evidence_get(evidence, port, of->priority, EVIDENCE_QUEUE_PEAK);

    if (pausing.known && pausing.from->grown && (pausing.since_boot || pausing.value > diagnose->limits.paused_share)) {
        of->since_boot |= pausing.since_boot;
        if (!of->pauses || pausing.value > of->worst) of->pause = pausing.from, of->worst = pausing.value;
        of->pauses = true;
    }
    if (mark) {
        of->marks_known = true;
        of->marks += mark->grown;
        if (!of->mark) of->mark = mark;
    }
    of->packets += evidence_get(evidence, port, of->priority, EVIDENCE_TX_PACKETS);
    if (depth > of->deepest) of->deepest = depth;
    return !(paused.known && paused.from->grown && (paused.since_boot || paused.value > diagnose->limits.paused_share));
}

/* Where marking begins: the largest over the device's ports; 0: it is off, or nobody says it. */
static uint64_t marks_from(const struct evidence *evidence, const struct marking *of, bool *said)
{
    uint64_t from = 0;

    *said = false;
    EVIDENCE_EACH_PORT(evidence, of->device, port)
    {
        const struct evidence_value *min = evidence_find(evidence, port, of->priority, EVIDENCE_ECN_MIN);
        if (!min) continue;
        *said = true;
        if (min->last > from) from = min->last;
    }
    return from;
}

static void say_unmarked(struct diagnose *diagnose, const struct marking *of)
{
    const struct evidence *evidence = diagnose->evidence;
    const char *device = name_of(diagnose, of->device);
    bool said;
    uint64_t from = marks_from(evidence, of, &said);
    struct diagnose_finding *finding;

    if (said && !from)
        finding = finding_new(diagnose, DIAGNOSE_D09, of->device, of->priority,
                              "%s pauses its senders in priority %u, and its ECN is off there", device, of->priority);
    else if (said && of->deepest && of->deepest < from)
        finding = finding_new(diagnose, DIAGNOSE_D09, of->device, of->priority,
                              "%s pauses its senders in priority %u and marks only above %" PRIu64
                              " bytes: its queues held %" PRIu64 " at most",
                              device, of->priority, from, of->deepest);
    else
        finding = finding_new(diagnose, DIAGNOSE_D09, of->device, of->priority,
                              "%s pauses its senders in priority %u and marked %" PRIu64 " packets: ECN is off, begins "
                              "above the pause threshold, or packets are not ECN capable",
                              device, of->priority, of->marks);
    finding_number(diagnose, finding, of->pause->object, of->priority, evidence_counters[of->pause->counter].name,
                   evidence_counters[of->pause->counter].unit, (double)of->pause->grown, 0, of->pause);
    finding_number(diagnose, finding, of->device, of->priority, "ecn_marked", "packets", (double)of->marks,
                   diagnose->limits.marks_few * (double)of->packets, of->mark);
    finding_weak_unless(finding, of->marks_known && !of->since_boot);
    bool off = said && !from; /* a mistake, whatever it costs by now */
    if (finding && !off && !of->since_boot && !idle_explains_most(diagnose, of->worst))
        finding->severity = DIAGNOSE_INFO;
    EACH_PORT(evidence, host, port)
    {
        if (!device_is_host(evidence, host)) break; /* of this device: the next is looked at */
        struct share paused = share_paused(diagnose, port, of->priority);
        if (paused.known && paused.from->grown && (paused.since_boot || paused.value > diagnose->limits.paused_share))
            finding_victim(diagnose, finding, port);
    }
}

/* NICs that saw no mark at all, where switches do not count marks. */
static bool nobody_saw_marks(const struct diagnose *diagnose)
{
    return diagnose->counters[EVIDENCE_NP_MARKED].known && !diagnose->counters[EVIDENCE_NP_MARKED].most;
}

void rule_D09(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    bool unmarked = nobody_saw_marks(diagnose);

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        if (!is_lossless(diagnose, p)) continue;
        EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
        {
            struct marking of = {.device = device, .priority = p};
            bool root = !device_is_host(evidence, device);
            EVIDENCE_EACH_PORT(evidence, device, port)
            {
                if (root) root = add_port(diagnose, &of, port);
            }
            if (!root || !of.pauses) continue;
            if (of.marks_known ? (double)of.marks <= diagnose->limits.marks_few * (double)of.packets : unmarked)
                say_unmarked(diagnose, &of);
        }
    }
}

/* --- D12: reordering taken for loss --- */

/* Loss of any kind that somebody counted; a packet whose payload was cut off is sent again too. */
static bool something_was_lost(const uint64_t *total)
{
    static const enum evidence_counter losses[] = {
        EVIDENCE_GROUP_DROPS, EVIDENCE_QUEUE_DROPS,     EVIDENCE_WATCHDOG_DROPS, EVIDENCE_PORT_DROPS,
        EVIDENCE_MTU_DROPS,   EVIDENCE_ROUTE_DROPS,     EVIDENCE_CRC_ERRORS,     EVIDENCE_FEC_UNCORRECTED,
        EVIDENCE_LINK_DOWN,   EVIDENCE_RX_DISCARDS,     EVIDENCE_PORT_RX_DROPS,  EVIDENCE_PORT_TX_DROPS,
        EVIDENCE_FAULT_LOST,  EVIDENCE_FAULT_CORRUPTED, EVIDENCE_LINE_LOST,      EVIDENCE_TRIMMED,
    };

    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (total[losses[i]]) return true;
    return false;
}

/* Packets went into a cable and did not come out of it, and no counter says why. */
static bool a_cable_lost(const struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EACH_PORT(evidence, device, port)
    {
        if (cable_lost(diagnose, port)) return true;
    }
    return false;
}

/* The fullest of a switch's ports to other switches over their mean; 0: fewer than two carry anything. */
static double spread_over(const struct evidence *evidence, uint32_t device)
{
    uint64_t most = 0, sum = 0;
    uint32_t ports = 0;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint32_t peer = evidence->object[port].peer;
        if (peer == EVIDENCE_NONE || device_is_host(evidence, evidence->object[peer].parent)) continue;
        uint64_t bytes = port_get(evidence, port, EVIDENCE_PORT_TX_BYTES);
        if (!bytes) bytes = port_sum(evidence, port, EVIDENCE_TX_BYTES);
        if (bytes > most) most = bytes;
        sum += bytes;
        ports++;
    }
    return ports > 1 && sum ? (double)most * ports / (double)sum : 0;
}

/* NAKs that the NICs behind a switch got, or what they sent again. */
static uint64_t naks_behind(const struct evidence *evidence, uint32_t device)
{
    uint64_t naks = 0;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint32_t peer = evidence->object[port].peer;
        if (peer != EVIDENCE_NONE) naks += port_get(evidence, peer, EVIDENCE_SEQUENCE_NAKS);
    }
    return naks;
}

/* NAKs of the first NICs behind a switch: the other ends of its cables. */
static void add_naks(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t listed = 0;

    if (evidence->object[device].scope != EVIDENCE_DEVICE) return;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint32_t peer = evidence->object[port].peer;
        if (peer != EVIDENCE_NONE && port_get(evidence, peer, EVIDENCE_SEQUENCE_NAKS) && listed++ < NAKS_LISTED)
            finding_counter(diagnose, finding, port_find(evidence, peer, EVIDENCE_SEQUENCE_NAKS), 0);
    }
}

/* The switch whose NICs are told of gaps most often; without cables the NIC itself. */
static uint32_t who_sprays(const struct evidence *evidence, uint64_t *naks)
{
    uint32_t culprit = EVIDENCE_NONE;

    *naks = 0;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        uint64_t here = device_is_host(evidence, device) ? 0 : naks_behind(evidence, device);
        if (here > *naks) *naks = here, culprit = device;
    }
    if (culprit != EVIDENCE_NONE) return culprit;
    EACH_PORT(evidence, device, port)
    {
        uint64_t here = port_get(evidence, port, EVIDENCE_SEQUENCE_NAKS);
        if (here > *naks) *naks = here, culprit = port;
    }
    return culprit;
}

/* Switches of which something was read; `all`: whether that is every one that is known. */
static uint32_t switches_read(const struct evidence *evidence, bool *all)
{
    uint32_t count = 0;

    *all = true;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (evidence_is_host(evidence, device)) continue;
        if (evidence->object[device].looked_at)
            count++;
        else
            *all = false;
    }
    return count;
}

void rule_D12(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const uint64_t *total = diagnose->total;
    uint64_t naks;
    bool all;
    uint32_t switches = switches_read(evidence, &all);

    uint64_t resent = total[EVIDENCE_RETRANSMITTED] ? total[EVIDENCE_RETRANSMITTED] : total[EVIDENCE_SEQUENCE_NAKS];
    uint64_t packets = total[EVIDENCE_TX_DATA_PACKETS];
    if (!total[EVIDENCE_SEQUENCE_NAKS] || something_was_lost(total) || total[EVIDENCE_OUTSIDE]) return;
    if (a_cable_lost(diagnose)) return;
    if (packets && (double)resent < diagnose->limits.resent_share * (double)packets) return;
    if (!switches || !all)
        missing_add(diagnose,
                    "drops of the switches that were not read: retransmitted packets may have been lost there");
    uint32_t culprit = who_sprays(evidence, &naks);
    if (culprit == EVIDENCE_NONE || !switches) return; /* NICs alone cannot tell order from loss */
    double spread = evidence->object[culprit].scope == EVIDENCE_DEVICE ? spread_over(evidence, culprit) : 0;
    bool even = spread > 0 && spread < diagnose->limits.spray_even;
    /* Flows that are hashed may lie evenly too: that nothing was lost has to be seen on every cable. */
    bool whole = cables_are_whole(diagnose);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D12, culprit, EVIDENCE_NO_PRIORITY,
                    "NICs were told of gaps %" PRIu64 " times and sent %" PRIu64 " packets again, and nobody%s "
                    "dropped one: packets came out of order%s%s%s",
                    total[EVIDENCE_SEQUENCE_NAKS], resent, all ? "" : " that was read",
                    whole ? "" : ", or were lost where nobody counts", even ? "; evenly over its links sends " : "",
                    even ? name_of(diagnose, culprit) : "");
    if (!whole) missing_add(diagnose, "packets of both ends of every cable, at two times: whether one loses some");
    add_naks(diagnose, finding, culprit);
    finding_resenders(diagnose, finding, EVIDENCE_NONE);
    if (spread > 0)
        finding_number(diagnose, finding, culprit, EVIDENCE_NO_PRIORITY, "links_max_over_mean", "", spread,
                       diagnose->limits.spray_even, NULL);
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (device != culprit && naks_behind(evidence, device)) finding_also(diagnose, finding, device);
    }
    finding_weak_unless(finding, even && all && whole);
    if (finding && !(even && whole)) finding->severity = DIAGNOSE_INFO; /* nobody is seen to spray: a guess */
}

/* --- D15: traffic in the wrong class --- */

/* Bytes of a priority that come into a device, by what the other ends sent; and that leave it. */
static void through(const struct diagnose *diagnose, uint32_t device, uint64_t in[EVIDENCE_PRIORITIES],
                    uint64_t out[EVIDENCE_PRIORITIES])
{
    const struct evidence *evidence = diagnose->evidence;
    uint8_t used = diagnose->counters[EVIDENCE_TX_BYTES].priorities;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        in[p] = out[p] = 0;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint32_t peer = evidence->object[port].peer;
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
            if (!(used >> p & 1)) continue;
            out[p] += evidence_get(evidence, port, p, EVIDENCE_TX_BYTES);
            if (peer != EVIDENCE_NONE) in[p] += evidence_get(evidence, peer, p, EVIDENCE_TX_BYTES);
        }
    }
}

/* Whose traffic is it: those who send through the device, where flows say it; else everybody who sends in the class. */
static void wrong_class_victims(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t device,
                                unsigned priority)
{
    const struct evidence *evidence = diagnose->evidence;
    bool edge = false;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint32_t peer = evidence->object[port].peer;
        edge |= peer != EVIDENCE_NONE && device_is_host(evidence, evidence->object[peer].parent);
    }
    for (uint32_t i = 0; edge && i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        uint32_t from = evidence->object[flow->from].peer, to = evidence->object[flow->to].peer;
        if ((from != EVIDENCE_NONE && evidence->object[from].parent == device) ||
            (to != EVIDENCE_NONE && evidence->object[to].parent == device))
            finding_victim(diagnose, finding, flow->from);
    }
    if (finding && finding->victims) return;
    EACH_PORT(evidence, host, port)
    {
        if (device_is_host(evidence, host) && evidence_get(evidence, port, priority, EVIDENCE_TX_BYTES))
            finding_victim(diagnose, finding, port);
    }
}

static void look_for_wrong_class(struct diagnose *diagnose, uint32_t device, unsigned lossless, const bool protected[])
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t in[EVIDENCE_PRIORITIES], out[EVIDENCE_PRIORITIES], moved = 0;
    unsigned to = 0;

    through(diagnose, device, in, out);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        if (protected[p] || out[p] <= in[p] || in[lossless] <= out[lossless]) continue;
        uint64_t left = in[lossless] - out[lossless], came = out[p] - in[p], both = left < came ? left : came;
        if (both > moved) moved = both, to = p;
    }
    if (!moved || (double)moved < diagnose->limits.wrong_class_share * (double)in[lossless]) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D15, device, lossless,
                    "%" PRIu64 " of %" PRIu64 " bytes come to %s in lossless priority %u and leave it in priority %u",
                    moved, in[lossless], name_of(diagnose, device), lossless, to);
    finding_number(diagnose, finding, device, lossless, "bytes_in", "bytes", (double)in[lossless], 0, NULL);
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        const struct evidence_value *sent = evidence_find(evidence, port, to, EVIDENCE_TX_BYTES);
        if (sent && sent->grown && finding && finding->evidences < 4) finding_counter(diagnose, finding, sent, 0);
    }
    wrong_class_victims(diagnose, finding, device, lossless);
}

/* What a job was told to send in: then a NIC that sends most there is as it was meant to be. */
static bool job_sends_in(const struct evidence *evidence, unsigned priority)
{
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        const struct evidence_value *told = port_find(evidence, job, EVIDENCE_JOB_PRIORITY);
        if (told && told->last == priority) return true;
    }
    return false;
}

static unsigned busiest_priority(const struct evidence *evidence, uint32_t port)
{
    unsigned most = 0;

    for (unsigned p = 1; p < EVIDENCE_PRIORITIES; p++)
        if (evidence_get(evidence, port, p, EVIDENCE_TX_BYTES) > evidence_get(evidence, port, most, EVIDENCE_TX_BYTES))
            most = p;
    return most;
}

/* A NIC that sends RDMA, and nothing in the class that other NICs send it in. */
static void look_at_nic(struct diagnose *diagnose, uint32_t port, unsigned lossless)
{
    const struct evidence *evidence = diagnose->evidence;
    uint64_t packets = port_get(evidence, port, EVIDENCE_TX_DATA_PACKETS);
    uint64_t bytes = port_sum(evidence, port, EVIDENCE_TX_BYTES);
    const struct evidence_value *own = evidence_find(evidence, port, lossless, EVIDENCE_TX_BYTES);

    if (!own || packets < 1000 || bytes < 64 * packets) return;
    if ((double)own->grown >= diagnose->limits.wrong_class_share * (double)bytes) return;
    if (job_sends_in(evidence, busiest_priority(evidence, port))) return;
    struct diagnose_finding *finding = finding_new(diagnose, DIAGNOSE_D15, port, lossless,
                                                   "%s sent %" PRIu64 " RDMA packets, and %" PRIu64 " of its %" PRIu64
                                                   " bytes in lossless priority %u",
                                                   name_of(diagnose, port), packets, own->grown, bytes, lossless);
    finding_counter(diagnose, finding, port_find(evidence, port, EVIDENCE_TX_DATA_PACKETS), 0);
    finding_counter(diagnose, finding, own, diagnose->limits.wrong_class_share * (double)bytes);
    finding_victim(diagnose, finding, port);
}

/* InfiniBand's switches count by virtual lane and its adapters by service level: the numbers say nothing together. */
static bool counts_by_lane(const struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;

    if (!diagnose->counters[EVIDENCE_XMIT_WAIT].known) return false;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (port_find(evidence, port, EVIDENCE_XMIT_WAIT)) return true;
    }
    return false;
}

void rule_D15(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    bool lossless[EVIDENCE_PRIORITIES];
    unsigned many = 0, only = 0;

    if (diagnose->total[EVIDENCE_OUTSIDE]) return; /* it sends in whatever class it likes */
    data_priorities(diagnose, lossless);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (lossless[p]) many++, only = p;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (!device_is_host(evidence, device)) {
            for (unsigned p = 0; many && p < EVIDENCE_PRIORITIES && !counts_by_lane(diagnose, device); p++)
                if (lossless[p]) look_for_wrong_class(diagnose, device, p, lossless);
        } else if (many == 1) {
            EVIDENCE_EACH_PORT(evidence, device, port) look_at_nic(diagnose, port, only);
        }
    }
    classes_seen(diagnose);
}
