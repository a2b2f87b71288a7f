/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters whose ports rest though there is data: congestion control holds it back (D22), or it is still under way over
 * the host's bus (D23).
 *
 * Of eight that send to one each rests for most of the time, and nothing is lost: the link that they share is full.
 * What counts is for how long an adapter had data for a receiver while no link on the way there sent.  It had some for
 * as long as it sent or rested with it, and for no longer than its transfers to that receiver took; a link was used
 * for as long as it sent or was paused.  The difference is time in which the network could have carried more: at least
 * so much, since others may have used the link while the adapter had nothing.
 *
 * Nobody knows which way packets took.  Between switches the busiest link counts that they may have taken and that
 * marked some: one that is full without a queue holds nobody back.
 */
#include <stdlib.h>

#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"
#include "diagnose/rules_pauses_int.h"

#define BYTES_KNOWN 0.8 /* of what an adapter sent: so much has to be in transfers, else receivers are not known */

/* A link, and the share of time that it sent or stood still. */
struct used {
    uint32_t port;
    double share;
};

struct sender {
    uint32_t nic;
    double rate, fetch; /* shares of time that it rested for its rate, for the bus */
    double demand;      /* that it had data */
    double lost;        /* of that, while the way to a receiver could have carried it */
    struct used way;    /* the busiest link there */
    uint64_t bytes;     /* in transfers that are known */
};

/* All transfers of one adapter to another. */
struct pair {
    uint32_t sender, to; /* index; the receiver's port */
    double share;        /* of time */
};

struct diagnose_idle {
    struct sender *sender;
    uint32_t senders;
    double *spare;           /* [objects] ports to hosts: time in which one could have carried what was held back */
    uint32_t *number;        /* [objects] sender + 1 of an adapter's port */
    struct used *up, *down;  /* [objects] of devices with hosts: the busiest link from there, to there */
    struct used core, hosts; /* elsewhere between switches; of all links to hosts */
};

/* --- links --- */

static struct used used_by(const struct diagnose *diagnose, uint32_t port)
{
    struct used used = {port, share_busy(diagnose, port).value};
    double paused = 0;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        double share = share_paused(diagnose, port, p).value;
        if (share > paused) paused = share;
    }
    used.share = used.share + paused < 1 ? used.share + paused : 1;
    return used;
}

static void busier(struct used *most, struct used used)
{
    if (most->port == EVIDENCE_NONE || used.share > most->share) *most = used;
}

static bool has_hosts(const struct diagnose *diagnose, uint32_t device)
{
    EVIDENCE_EACH_PORT(diagnose->evidence, device, port)
    {
        if (graph_peer_is_host(diagnose, port)) return true;
    }
    return false;
}

static void add_link(const struct diagnose *diagnose, struct diagnose_idle *idle, uint32_t device, bool edge,
                     uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t peer = evidence->object[port].peer;

    if (peer == EVIDENCE_NONE) return;
    struct used used = used_by(diagnose, port);
    if (graph_peer_is_host(diagnose, port)) {
        busier(&idle->hosts, used);
        return;
    }
    uint32_t other = evidence->object[peer].parent;
    bool to_edge = has_hosts(diagnose, other);
    if (edge) busier(&idle->up[device], used);
    if (to_edge) busier(&idle->down[other], used);
    if (edge == to_edge) busier(&idle->core, used);
}

/* Every port of a switch that marked; all, where none did: control may go by something else. */
static void add_links(const struct diagnose *diagnose, struct diagnose_idle *idle)
{
    const struct evidence *evidence = diagnose->evidence;
    const uint64_t *total = diagnose->total;

    for (uint32_t i = 0; i < evidence->objects; i++)
        idle->up[i].port = idle->down[i].port = EVIDENCE_NONE;
    idle->core.port = idle->hosts.port = EVIDENCE_NONE;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        if (device_is_host(evidence, device)) continue;
        bool edge = has_hosts(diagnose, device);
        EVIDENCE_EACH_PORT(evidence, device, port)
        {
            if (!total[EVIDENCE_MARKED] || port_sum(evidence, port, EVIDENCE_MARKED))
                add_link(diagnose, idle, device, edge, port);
        }
    }
}

/* --- adapters --- */

static double share_of(const struct evidence_value *value)
{
    double span = value ? evidence_span_s(value) : 0;

    return span > 0 ? (double)value->grown * 1e-9 / span : 0;
}

static void add_senders(struct diagnose *diagnose, struct diagnose_idle *idle)
{
    const struct evidence *evidence = diagnose->evidence;

    if (!diagnose->counters[EVIDENCE_IDLE_RATE_NS].most && !diagnose->counters[EVIDENCE_IDLE_FETCH_NS].most) return;
    for (uint32_t i = 0; i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        if ((value->counter != EVIDENCE_IDLE_RATE_NS && value->counter != EVIDENCE_IDLE_FETCH_NS) ||
            share_of(value) < diagnose->limits.idle_share || idle->number[value->object])
            continue;
        if (evidence->object[value->object].peer == EVIDENCE_NONE || !MORE(diagnose, idle->sender, idle->senders))
            continue;
        struct sender *sender = &idle->sender[idle->senders++];
        *sender = (struct sender){.nic = value->object, .way.port = EVIDENCE_NONE};
        sender->rate = share_of(port_find(evidence, value->object, EVIDENCE_IDLE_RATE_NS));
        sender->fetch = share_of(port_find(evidence, value->object, EVIDENCE_IDLE_FETCH_NS));
        sender->demand = share_busy(diagnose, value->object).value + sender->rate + sender->fetch;
        idle->number[value->object] = idle->senders;
    }
}

/* The sender had data for that link for so long. */
static void hold(struct diagnose_idle *idle, struct sender *sender, struct used host, struct used between, double share)
{
    double demand = share < sender->demand ? share : sender->demand;
    struct used way = host;

    busier(&way, between);
    if (demand - host.share > idle->spare[host.port]) idle->spare[host.port] = demand - host.share;
    if (demand - way.share <= sender->lost) return;
    sender->lost = demand - way.share;
    sender->way = way;
}

static struct used between(const struct evidence *evidence, const struct diagnose_idle *idle, uint32_t from,
                           uint32_t to)
{
    uint32_t first = evidence->object[from].parent, last = evidence->object[to].parent;
    struct used used = {EVIDENCE_NONE, 0};

    if (first == last) return used;
    used = idle->core;
    busier(&used, idle->up[first]);
    busier(&used, idle->down[last]);
    return used;
}

static int by_ends(const void *a, const void *b)
{
    const struct pair *one = a, *two = b;

    if (one->sender != two->sender) return one->sender < two->sender ? -1 : 1;
    return one->to < two->to ? -1 : one->to > two->to;
}

/* Transfers of those who rested, a pair each; those of the same two one after the other. */
static struct pair *pairs_of(struct diagnose *diagnose, struct diagnose_idle *idle, uint32_t *ret_count)
{
    const struct evidence *evidence = diagnose->evidence;
    struct pair *pair = DIAGNOSE_NEW(diagnose, struct pair, evidence->flows + 1u);
    double span = span_s(diagnose);
    uint32_t count = 0, kept = 0;

    *ret_count = 0;
    for (uint32_t i = 0; pair && i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        uint32_t number = idle->number[flow->from];
        if (!number || evidence->object[flow->to].peer == EVIDENCE_NONE) continue;
        idle->sender[number - 1].bytes += flow->bytes;
        /* one that has not ended lasted as long as its sender had something */
        pair[count++] = (struct pair){number - 1, flow->to, flow->time_ns ? (double)flow->time_ns * 1e-9 / span : 1};
    }
    if (!count) return pair;
    qsort(pair, count, sizeof pair[0], by_ends);
    for (uint32_t i = 1; i < count; i++) {
        if (by_ends(&pair[kept], &pair[i]))
            pair[++kept] = pair[i];
        else
            pair[kept].share += pair[i].share;
    }
    *ret_count = kept + 1;
    return pair;
}

/* Those whose receivers are not known may have sent anywhere. */
static void hold_by_all(struct diagnose *diagnose, struct diagnose_idle *idle, struct sender *sender)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t first = evidence->object[evidence->object[sender->nic].peer].parent;
    struct used all = idle->core;

    if (idle->hosts.port == EVIDENCE_NONE) return;
    busier(&all, idle->up[first]);
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device) busier(&all, idle->down[device]);
    hold(idle, sender, idle->hosts, all, 1);
}

void idle_prepare(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_idle *idle = DIAGNOSE_NEW(diagnose, struct diagnose_idle, 1);
    uint32_t objects = evidence->objects, pairs;

    if (!idle) return;
    diagnose->graph->idle = idle;
    idle->number = DIAGNOSE_NEW(diagnose, uint32_t, objects + 1u);
    if (!idle->number) return;
    add_senders(diagnose, idle);
    if (!idle->senders || span_s(diagnose) <= 0) return;
    idle->spare = DIAGNOSE_NEW(diagnose, double, objects);
    idle->up = DIAGNOSE_NEW(diagnose, struct used, objects);
    idle->down = DIAGNOSE_NEW(diagnose, struct used, objects);
    if (diagnose->full) return;
    add_links(diagnose, idle);
    const struct pair *pair = pairs_of(diagnose, idle, &pairs);
    for (uint32_t i = 0; i < idle->senders; i++) {
        struct sender *sender = &idle->sender[i];
        double sent = (double)port_get(evidence, sender->nic, EVIDENCE_PORT_TX_BYTES);
        if ((double)sender->bytes < BYTES_KNOWN * sent) hold_by_all(diagnose, idle, sender);
    }
    for (uint32_t i = 0; pair && i < pairs; i++) {
        struct sender *sender = &idle->sender[pair[i].sender];
        uint32_t from = evidence->object[sender->nic].peer, to = evidence->object[pair[i].to].peer;
        hold(idle, sender, used_by(diagnose, to), between(evidence, idle, from, to), pair[i].share);
    }
}

double idle_could_carry(const struct diagnose *diagnose, uint32_t port)
{
    const struct diagnose_idle *idle = diagnose->graph->idle;

    return idle->spare ? idle->spare[port] : 0;
}

/* --- findings --- */

/* Of those that rested for this reason: how long the network could have carried more. */
static double lost_by(const struct sender *sender, bool rate)
{
    double share = rate ? sender->rate : sender->fetch;

    return sender->lost < share ? sender->lost : share;
}

/* The one that lost most; how many lost enough. */
static const struct sender *worst_of(const struct diagnose *diagnose, bool rate, uint32_t *ret_count)
{
    const struct diagnose_idle *idle = diagnose->graph->idle;
    const struct sender *worst = NULL;

    *ret_count = 0;
    for (uint32_t i = 0; i < idle->senders; i++) {
        const struct sender *sender = &idle->sender[i];
        if (lost_by(sender, rate) < diagnose->limits.idle_share) continue;
        if (!worst || lost_by(sender, rate) > lost_by(worst, rate)) worst = sender;
        ++*ret_count;
    }
    return worst;
}

/* Whether it is most of what some slow job lost against its ideal: else there is more to it, and it is a remark. */
bool idle_explains_most(const struct diagnose *diagnose, double lost)
{
    const struct evidence *evidence = diagnose->evidence;
    double least = 1;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        double time = (double)port_get(evidence, job, EVIDENCE_JOB_NS);
        double ideal = (double)port_get(evidence, job, EVIDENCE_JOB_IDEAL_NS);
        if (ideal <= 0 || time <= diagnose->limits.ideal_ratio * ideal) continue;
        double loses = 1 - ideal / time;
        /* Of training nobody knows what its communication takes at least: what is held back at all is lost. */
        if (step_ns(diagnose, job) > 0) loses = diagnose->limits.idle_share / diagnose->limits.most_share;
        if (loses < least) least = loses;
    }
    return least >= 1 || lost >= diagnose->limits.most_share * least;
}

static void rows(struct diagnose *diagnose, struct diagnose_finding *finding, const struct sender *sender, bool rate)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t port = sender->way.port;
    struct share busy = share_busy(diagnose, port);

    finding_number(diagnose, finding, sender->nic, EVIDENCE_NO_PRIORITY, rate ? "idle_rate_share" : "idle_fetch_share",
                   "share", rate ? sender->rate : sender->fetch, diagnose->limits.idle_share,
                   port_find(evidence, sender->nic, rate ? EVIDENCE_IDLE_RATE_NS : EVIDENCE_IDLE_FETCH_NS));
    finding_number(diagnose, finding, port, EVIDENCE_NO_PRIORITY, "busy_share", "share", busy.value,
                   diagnose->limits.busy_share, busy.from);
    for (unsigned p = 0; rate && p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *marked = evidence_find(evidence, port, p, EVIDENCE_MARKED);
        if (marked && marked->grown) finding_counter(diagnose, finding, marked, 0);
    }
    if (finding && evidence->exact) finding->confidence = DIAGNOSE_EXACT;
}

/* What a link that carries more than the mean of its siblings loses at most against one that does not. */
static bool is_most_of(const struct diagnose_finding *finding, double lost)
{
    double ratio = finding->evidences ? finding->evidence[0].value : 0; /* most_to_mean */

    return ratio > 1 && lost <= 1 - 1 / ratio;
}

/* Where flows met by chance, that is why the link holds them back, unless more is lost than that. */
static bool by_chance(const struct diagnose *diagnose, uint32_t port, double lost)
{
    for (uint32_t i = 0; i < diagnose->findings; i++) {
        const struct diagnose_finding *finding = &diagnose->finding[i];
        if (finding->rule != DIAGNOSE_D05 || finding->severity != DIAGNOSE_INFO || !is_most_of(finding, lost)) continue;
        if (finding->culprit == port) return true;
        for (uint32_t k = 0; k < finding->alsos; k++)
            if (finding->also[k] == port) return true;
    }
    return false;
}

void rule_D22(struct diagnose *diagnose)
{
    const struct diagnose_idle *idle = diagnose->graph->idle;
    uint32_t count;
    const struct sender *worst = worst_of(diagnose, true, &count);

    if (!worst || !a_job_is_slow(diagnose)) return;
    struct share sent = share_busy(diagnose, worst->nic);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D22, worst->way.port, EVIDENCE_NO_PRIORITY,
                    "the network could carry more: congestion control held back %u adapter%s, %s for %.3g%% of the "
                    "time, so that it sent at %.3g%% of its line, and %s, the busiest link on its way, sent at %.3g%%",
                    count, count == 1 ? "" : "s", name_of(diagnose, worst->nic), 100 * worst->rate, 100 * sent.value,
                    name_of(diagnose, worst->way.port), 100 * share_busy(diagnose, worst->way.port).value);
    rows(diagnose, finding, worst, true);
    for (uint32_t i = 0; i < idle->senders; i++) {
        const struct sender *sender = &idle->sender[i];
        if (lost_by(sender, true) < diagnose->limits.idle_share) continue;
        finding_victim(diagnose, finding, sender->nic);
        if (sender->way.port != worst->way.port) finding_also(diagnose, finding, sender->way.port);
    }
    if (finding && (by_chance(diagnose, worst->way.port, lost_by(worst, true)) ||
                    !idle_explains_most(diagnose, lost_by(worst, true))))
        finding->severity = DIAGNOSE_INFO;
    else
        incast_in_the_way(diagnose, worst->way.port);
}

void rule_D23(struct diagnose *diagnose)
{
    const struct diagnose_idle *idle = diagnose->graph->idle;
    uint32_t count;
    const struct sender *worst = worst_of(diagnose, false, &count);

    rule_said(diagnose, DIAGNOSE_D23);
    if (!worst || !a_job_is_slow(diagnose)) return;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D23, worst->nic, EVIDENCE_NO_PRIORITY,
        "%s rested for %.3g%% of the time with data whose payload was still under way over its host's "
        "bus, and no link on its way sent at more than %.3g%%",
        name_of(diagnose, worst->nic), 100 * worst->fetch, 100 * share_busy(diagnose, worst->way.port).value);
    rows(diagnose, finding, worst, false);
    if (finding && !idle_explains_most(diagnose, lost_by(worst, false))) finding->severity = DIAGNOSE_INFO;
    for (uint32_t i = 0; i < idle->senders; i++)
        if (&idle->sender[i] != worst && lost_by(&idle->sender[i], false) >= diagnose->limits.idle_share)
            finding_also(diagnose, finding, idle->sender[i].nic);
}
