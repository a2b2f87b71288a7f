/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: ranks that are late, pairs that are slow, programs that spoil their own packets; and that nothing was found.
 *
 * A rank is late where it is further from the median of its job than the spread of the others allows: median and median
 * deviation, so that up to half of the ranks may be slow without hiding the others.
 */
#include <inttypes.h>

#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"

#define FLOWS_LEAST 8 /* of a job: fewer have no median worth the name */

/* --- D17: a rank that is late --- */

/* How to see it, the best first. */
static const struct sign {
    enum evidence_counter counter;
    bool least;    /* who waits least is waited for */
    bool computes; /* it is its computing that takes long, whatever the network does */
    const char *what;
} signs[] = {
    {EVIDENCE_RANK_COMPUTE_NS, false, true, "computes"},
    {EVIDENCE_RANK_LATE_NS, false, false, "comes later than the median by"},
    {EVIDENCE_RANK_WAIT_NS, true, false, "waits only"},
};

/* The NIC neither sends again nor is paused; true where nothing is known of it, and *known false. */
static bool is_clean(const struct diagnose *diagnose, uint32_t at, bool *known)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t device = evidence_device_of(evidence, at);

    *known = evidence->object[device].looked_at;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (evidence->object[at].scope == EVIDENCE_PORT && port != at) continue;
        if (nic_resent(evidence, port)) return false;
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            if (share_paused(diagnose, port, p).value > diagnose->limits.paused_share) return false;
    }
    return true;
}

/* What a number is held against to matter: a step; where none has ended the numbers themselves, but lateness against
 * what a collective takes. */
static double measure(const struct diagnose *diagnose, uint32_t job, const struct numbers *numbers, bool lateness)
{
    double step = step_ns(diagnose, job);

    if (step > 0) return step;
    return lateness ? (double)port_get(diagnose->evidence, job, EVIDENCE_JOB_NS) : numbers->median;
}

/* How far the number is out, beyond what others' spread allows; 0: not at all, or too little of `of` to matter. */
static double far_out(const struct diagnose *diagnose, const struct numbers *numbers, uint32_t i, bool least, double of)
{
    double far = least ? numbers->median - numbers->value[i] : numbers->value[i] - numbers->median;

    if (far <= diagnose->limits.straggler_mads * numbers->deviation) return 0;
    return of > 0 && far >= diagnose->limits.straggler_least * of ? far : 0;
}

static void late_victims(struct diagnose *diagnose, struct diagnose_finding *finding, const struct numbers *numbers,
                         uint32_t culprit)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < numbers->count; i++) {
        uint32_t at = evidence->object[numbers->object[i]].host;
        if (at == EVIDENCE_NONE) continue;
        uint32_t host = evidence_device_of(evidence, at);
        if (host != culprit) finding_victim(diagnose, finding, host);
    }
}

/* Each number as if all stages of a pipeline had the same to do: how far a rank is from its own stage's median. */
static void apart_from_stages(struct diagnose *diagnose, struct numbers *numbers)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers stage = {.object = numbers->object, .value = DIAGNOSE_NEW(diagnose, double, numbers->count)};
    double *apart = DIAGNOSE_NEW(diagnose, double, numbers->count);
    uint64_t most = 0;

    for (uint32_t i = 0; i < numbers->count; i++) {
        uint64_t of = port_get(evidence, numbers->object[i], EVIDENCE_RANK_STAGE);
        if (of > most) most = of;
    }
    if (!most || !stage.value || !apart) return;
    for (uint64_t s = 0; s <= most; s++) {
        stage.count = 0;
        for (uint32_t i = 0; i < numbers->count; i++)
            if (port_get(evidence, numbers->object[i], EVIDENCE_RANK_STAGE) == s)
                stage.value[stage.count++] = numbers->value[i];
        numbers_settle(diagnose, &stage);
        for (uint32_t i = 0; i < numbers->count; i++)
            if (port_get(evidence, numbers->object[i], EVIDENCE_RANK_STAGE) == s)
                apart[i] = numbers->value[i] - stage.median + numbers->median;
    }
    numbers->value = apart;
    numbers_settle(diagnose, numbers);
}

/* True where the job has the sign, so that worse ones are not looked at. */
static bool look_for_late(struct diagnose *diagnose, uint32_t job, const struct sign *sign)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers numbers = ranks_of(diagnose, job, sign->counter);
    bool known = false, clean;

    if (numbers.count < 3) return false;
    apart_from_stages(diagnose, &numbers);
    uint32_t worst = numbers_most(&numbers, sign->least), rank = numbers.object[worst];
    double of = measure(diagnose, job, &numbers, sign->counter == EVIDENCE_RANK_LATE_NS);
    double far = far_out(diagnose, &numbers, worst, sign->least, of);
    if (far <= 0) return true;
    uint32_t at = evidence->object[rank].host;
    clean = at == EVIDENCE_NONE || is_clean(diagnose, at, &known);
    if (!sign->computes && (!clean || network_found(diagnose))) return true;
    uint32_t culprit = at == EVIDENCE_NONE ? rank : evidence_device_of(evidence, at);
    if (rule_found(diagnose, DIAGNOSE_D17, culprit)) return true; /* another source, or group, says the same */
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D17, culprit, EVIDENCE_NO_PRIORITY,
                    "%s of %s %s %.3f ms in a step, the median of %u ranks is %.3f ms%s", name_of(diagnose, rank),
                    name_of(diagnose, job), sign->what, numbers.value[worst] / 1e6, numbers.count, numbers.median / 1e6,
                    known && clean ? "; its NIC is clean" : "");
    finding_number(diagnose, finding, rank, EVIDENCE_NO_PRIORITY, evidence_counters[sign->counter].name, "ns",
                   numbers.value[worst],
                   numbers.median + (sign->least ? -1 : 1) * diagnose->limits.straggler_mads * numbers.deviation,
                   evidence_find(evidence, rank, EVIDENCE_NO_PRIORITY, sign->counter));
    for (uint32_t i = 0; i < numbers.count; i++)
        if (i != worst && far_out(diagnose, &numbers, i, sign->least, of) > 0)
            finding_also(diagnose, finding, numbers.object[i]);
    late_victims(diagnose, finding, &numbers, culprit);
    finding_weak_unless(finding, sign->computes || known);
    return true;
}

/* A rank that has not begun what the others have: of a job that stands still. */
static void look_for_absent(struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers numbers = ranks_of(diagnose, job, EVIDENCE_RANK_LAST_OP);
    uint32_t behind = 0;

    if (numbers.count < 2) return;
    uint32_t least = numbers_most(&numbers, true);
    double most = numbers.value[numbers_most(&numbers, false)];
    for (uint32_t i = 0; i < numbers.count; i++)
        behind += numbers.value[i] < most;
    if (!behind || 2 * behind >= numbers.count) return; /* many are between two operations: nobody in particular */
    uint32_t rank = numbers.object[least], at = evidence->object[rank].host;
    uint32_t culprit = at == EVIDENCE_NONE ? rank : evidence_device_of(evidence, at);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D17, culprit, EVIDENCE_NO_PRIORITY,
                    "%s of %s has begun operation %.0f, and others %.0f: it has not come", name_of(diagnose, rank),
                    name_of(diagnose, job), numbers.value[least], most);
    finding_counter(diagnose, finding, evidence_find(evidence, rank, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_LAST_OP),
                    most);
    late_victims(diagnose, finding, &numbers, culprit);
    finding_weak_unless(finding, false);
}

void rule_D17(struct diagnose *diagnose)
{
    EVIDENCE_EACH(diagnose->evidence, EVIDENCE_JOB, job)
    {
        uint32_t before = diagnose->findings;
        for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
            if (look_for_late(diagnose, job, &signs[i])) break;
        if (diagnose->findings == before && !network_found(diagnose)) look_for_absent(diagnose, job);
    }
}

/* --- D18: a pair that is slow --- */

/* Ranks that wait for the network far longer than others. */
static void slow_by_waits(struct diagnose *diagnose, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers numbers = ranks_of(diagnose, job, EVIDENCE_RANK_WAIT_NET_NS);

    if (numbers.count < 3) return;
    uint32_t worst = numbers_most(&numbers, false), rank = numbers.object[worst], at = evidence->object[rank].host;
    double of = measure(diagnose, job, &numbers, false);
    if (far_out(diagnose, &numbers, worst, false, of) <= 0 || at == EVIDENCE_NONE) return;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D18, at, EVIDENCE_NO_PRIORITY,
        "%s of %s waits %.3f ms for the network, the median of %u ranks is %.3f ms", name_of(diagnose, rank),
        name_of(diagnose, job), numbers.value[worst] / 1e6, numbers.count, numbers.median / 1e6);
    finding_counter(diagnose, finding, evidence_find(evidence, rank, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_WAIT_NET_NS),
                    numbers.median + diagnose->limits.straggler_mads * numbers.deviation);
    finding_weak_unless(finding, false);
}

/* The one end that all slow flows of the job share; EVIDENCE_NONE: none. */
static uint32_t shared_end(const struct evidence *evidence, const struct numbers *flows, double above)
{
    uint32_t from = EVIDENCE_NONE, to = EVIDENCE_NONE;
    bool same_from = true, same_to = true, any = false;

    for (uint32_t i = 0; i < flows->count; i++) {
        const struct evidence_flow *flow = &evidence->flow[flows->object[i]];
        if (flows->value[i] <= above) continue;
        if (!any) from = flow->from, to = flow->to;
        any = true;
        same_from &= flow->from == from;
        same_to &= flow->to == to;
    }
    if (same_from) return from;
    return same_to ? to : EVIDENCE_NONE;
}

/* Flows by their jobs, once for all jobs: there may be as many of these as of flows.  Those of no job are left out. */
struct flows_by_job {
    uint32_t *flow, *end; /* job j's are flow[end[j - 1]] to flow[end[j] - 1] */
};

static bool sort_flows(struct diagnose *diagnose, struct flows_by_job *ret)
{
    const struct evidence *evidence = diagnose->evidence;

    ret->flow = DIAGNOSE_NEW(diagnose, uint32_t, evidence->flows + 1u);
    ret->end = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects + 2u);
    if (!ret->flow || !ret->end) return false;
    for (uint32_t i = 0; i < evidence->flows; i++)
        if (evidence->flow[i].job != EVIDENCE_NONE) ret->end[evidence->flow[i].job + 1]++;
    for (uint32_t j = 1; j <= evidence->objects; j++)
        ret->end[j] += ret->end[j - 1];
    for (uint32_t i = 0; i < evidence->flows; i++)
        if (evidence->flow[i].job != EVIDENCE_NONE)
            ret->flow[ret->end[evidence->flow[i].job]++] = i; /* each goes on to where the next job's begin */
    return true;
}

/* Flows that take far longer than they would alone, compared with the job's others. */
static void slow_by_flows(struct diagnose *diagnose, const struct flows_by_job *by_job, uint32_t job)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t first = job ? by_job->end[job - 1] : 0, most = by_job->end[job] - first;
    struct numbers flows = {0};

    if (most < FLOWS_LEAST) return;
    flows.object = DIAGNOSE_NEW(diagnose, uint32_t, most);
    flows.value = DIAGNOSE_NEW(diagnose, double, most);
    if (!flows.object || !flows.value) return;
    for (uint32_t i = first; i < first + most; i++) {
        const struct evidence_flow *flow = &evidence->flow[by_job->flow[i]];
        if (!flow->ideal_ns || !flow->time_ns) continue;
        flows.object[flows.count] = by_job->flow[i];
        flows.value[flows.count++] = (double)flow->time_ns / (double)flow->ideal_ns;
    }
    numbers_settle(diagnose, &flows);
    if (flows.count < FLOWS_LEAST) return;
    double above = flows.median * diagnose->limits.slow_pair;
    double spread = flows.median + diagnose->limits.straggler_mads * flows.deviation;
    if (spread > above) above = spread;
    uint32_t worst = numbers_most(&flows, false), end = shared_end(evidence, &flows, above);
    if (flows.value[worst] <= above || end == EVIDENCE_NONE) return;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D18, end, EVIDENCE_NO_PRIORITY,
        "transfers of %s take up to %.1f times their ideal time, and all that do are of %s; the median is %.1f",
        name_of(diagnose, job), flows.value[worst], name_of(diagnose, end), flows.median);
    finding_number(diagnose, finding, end, EVIDENCE_NO_PRIORITY, "flow_slowdown", "", flows.value[worst], above, NULL);
    finding_weak_unless(finding, false);
}

/* Less exact than any rule about counters: only where these have found nothing. */
void rule_D18(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    struct flows_by_job by_job;

    if (network_found(diagnose) || !sort_flows(diagnose, &by_job)) return;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        uint32_t before = diagnose->findings;
        slow_by_waits(diagnose, job);
        if (diagnose->findings == before) slow_by_flows(diagnose, &by_job, job);
    }
}

/* --- D21: faults on purpose --- */

static const struct {
    enum evidence_counter counter;
    const char *done;
} faults[] = {{EVIDENCE_FAULT_LOST, "lost"},           {EVIDENCE_FAULT_CORRUPTED, "corrupted"},
              {EVIDENCE_FAULT_REORDERED, "reordered"}, {EVIDENCE_FAULT_DUPLICATED, "sent twice"},
              {EVIDENCE_FAULT_DELAYED, "delayed"},     {EVIDENCE_FAULT_MARKED, "marked"}};

void rule_D21(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EACH_PORT(evidence, device, port)
    {
        char done[160] = "";
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
            uint64_t packets = port_get(evidence, port, faults[i].counter);
            if (packets) text_add(done, sizeof done, "%s%" PRIu64 " %s", *done ? ", " : "", packets, faults[i].done);
        }
        if (!*done) continue;
        struct diagnose_finding *finding =
            finding_new(diagnose, DIAGNOSE_D21, port, EVIDENCE_NO_PRIORITY,
                        "of the packets that %s sends its own --fault had %s", name_of(diagnose, port), done);
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
            if (port_get(evidence, port, faults[i].counter))
                finding_counter(diagnose, finding, port_find(evidence, port, faults[i].counter), 0);
    }
}

/* --- D20: nothing --- */

static void what_is_missing(struct diagnose *diagnose)
{
    const struct diagnose_counter *of = diagnose->counters;
    bool frames = of[EVIDENCE_RX_PAUSE_FRAMES].most || of[EVIDENCE_PORT_RX_PAUSE_FRAMES].most;
    bool times = of[EVIDENCE_RX_PAUSE_NS].known || of[EVIDENCE_TX_PAUSE_NS].known;

    if (!nics_were_read(diagnose)) missing_add(diagnose, "counters of the NICs: retransmissions, timeouts, CNPs");
    if (frames && !times) missing_add(diagnose, "how long pauses lasted: counts of frames give only a bound");
}

void rule_D20(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    bool found = false;

    for (uint32_t i = 0; i < diagnose->findings; i++)
        found |= diagnose->finding[i].rule != DIAGNOSE_D20;
    if (found) return;
    what_is_missing(diagnose);
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        const struct evidence_value *took = port_find(evidence, job, EVIDENCE_JOB_NS);
        const struct evidence_value *done = port_find(evidence, job, EVIDENCE_JOB_DONE);
        uint64_t ideal = port_get(evidence, job, EVIDENCE_JOB_IDEAL_NS);
        bool stuck = done && !done->last;
        if (!took || !ideal || (double)took->last <= diagnose->limits.ideal_ratio * (double)ideal) continue;
        struct diagnose_finding *finding = finding_new(
            diagnose, DIAGNOSE_D20, job, EVIDENCE_NO_PRIORITY,
            "%s took %.3f ms%s, %.2f times the least that its NICs' lines allow, and no counter that was read says why",
            name_of(diagnose, job), (double)took->last / 1e6, stuck ? " and has not ended" : "",
            (double)took->last / (double)ideal);
        finding_counter(diagnose, finding, took, diagnose->limits.ideal_ratio * (double)ideal);
        finding_weak_unless(finding, false);
    }
}
