/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links between switches: uneven, slower than they should be, not enough of them.
 *
 * A link is judged where it harms: where pauses begin at it, or its queue marks.  That links are full alone is what
 * they are for.
 */
#include <stdio.h>

#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"
#include "fabric/fabric.h"

#define ALIKE_SHARE 0.02    /* of packets that a queue marked: congested without pauses */
#define RATE_SHARE 0.99     /* of the rate it should have */
#define EMPTY_SHARE 0.01    /* of the mean of a link's siblings, both ways together */
#define POLARISED_MOST 4096 /* switches that are looked at */

static void trust(const struct diagnose *diagnose, struct diagnose_finding *finding)
{
    if (finding && diagnose->evidence->exact) finding->confidence = DIAGNOSE_EXACT;
}

/* Queues of the port that marked more than now and then; or where pauses begin. */
static bool congested(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;

    if (graph_is_root(diagnose, port)) return true;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        uint64_t marked = evidence_get(evidence, port, p, EVIDENCE_MARKED);
        uint64_t packets = evidence_get(evidence, port, p, EVIDENCE_TX_PACKETS);
        if (!packets) packets = evidence_get(evidence, port, p, EVIDENCE_TX_BYTES) / 4096;
        if (packets && (double)marked > ALIKE_SHARE * (double)packets) return true;
    }
    return false;
}

/* Who stands still for any queue of the port. */
static void victims_of(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t port)
{
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct graph_node *node = graph_queue(diagnose, port, p);
        if (node) graph_victims(diagnose, finding, (uint32_t)(node - diagnose->graph->node));
    }
}

/* --- D06: slower than it should be --- */

/* As it is planned, perhaps, but what is hashed onto it is slow: it is fuller than the others by more than chance. */
static bool slower_than_siblings(const struct diagnose *diagnose, uint32_t port, uint32_t device)
{
    struct siblings siblings;

    if (device == EVIDENCE_NONE) return false;
    if ((double)line_rate(diagnose, port) >= RATE_SHARE * (double)diagnose->graph->rates[device]) return false;
    if (!siblings_of(diagnose, port, &siblings) || siblings.count < 2) return false;
    return share_busy(diagnose, port).value > diagnose->limits.uneven_ratio * siblings.mean;
}

/* The highest of what is known: a link that was faster at the first look has become slower. */
static uint64_t rate_due(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *rate = port_find(evidence, port, EVIDENCE_RATE);
    uint64_t full = evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_FULL_RATE);
    uint32_t device = siblings_device(diagnose, port);

    if (rate && rate->first > rate->last && rate->first > full) full = rate->first;
    if (full && slower_than_siblings(diagnose, port, device)) return diagnose->graph->rates[device];
    if (full) return full;
    if (evidence->fabric && evidence->object[port].fabric != EVIDENCE_NONE)
        return evidence->fabric->port[evidence->object[port].fabric].rate_bps;
    return device != EVIDENCE_NONE ? diagnose->graph->rates[device] : 0;
}

/* The port's rate where it is too low, else NULL. */
static const struct evidence_value *too_slow(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence_value *rate = evidence_find(diagnose->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE);
    uint64_t due = rate && rate->last ? rate_due(diagnose, port) : 0;

    return due && (double)rate->last < RATE_SHARE * (double)due ? rate : NULL;
}

/* Both ways are as slow: the end that sent more. */
static uint32_t fuller_end(const struct diagnose *diagnose, uint32_t port)
{
    uint32_t peer = diagnose->evidence->object[port].peer;
    bool other = peer != EVIDENCE_NONE && share_busy(diagnose, peer).value > share_busy(diagnose, port).value;

    return other ? peer : port;
}

/* Neither way carried anything or was congested: the link made no job slow. */
static bool is_unused(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t end[2] = {port, evidence->object[port].peer};

    if (evidence_next(evidence, EVIDENCE_JOB, EVIDENCE_NONE) == EVIDENCE_NONE || end[1] == EVIDENCE_NONE) return false;
    for (size_t e = 0; e < 2; e++) {
        struct share busy = share_busy(diagnose, end[e]);
        if (!busy.known || busy.value >= diagnose->limits.used_share || congested(diagnose, end[e])) return false;
    }
    return true;
}

static void slow_link(struct diagnose *diagnose, uint32_t port, const struct evidence_value *rate)
{
    double due = (double)rate_due(diagnose, port);
    uint32_t peer = diagnose->evidence->object[port].peer, fuller = fuller_end(diagnose, port);
    struct share busy = share_busy(diagnose, fuller);
    struct siblings siblings;
    char full[128] = "";
    if (busy.known && fuller == port)
        snprintf(full, sizeof full, " and was %.3g%% full", 100 * busy.value);
    else if (busy.known)
        snprintf(full, sizeof full, ", and %.96s was %.3g%% full", name_of(diagnose, fuller), 100 * busy.value);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D06, port, EVIDENCE_NO_PRIORITY, "%s runs at %.4gG instead of %.4gG%s",
                    name_of(diagnose, port), (double)rate->last / 1e9, due / 1e9, full);

    finding_counter(diagnose, finding, rate, due);
    if (busy.known)
        finding_number(diagnose, finding, fuller, EVIDENCE_NO_PRIORITY, "busy_share", "share", busy.value,
                       diagnose->limits.busy_share, busy.from);
    if (siblings_of(diagnose, fuller, &siblings) && siblings.count > 1)
        finding_number(diagnose, finding, fuller, EVIDENCE_NO_PRIORITY, "busy_share_of_siblings", "share",
                       siblings.mean, diagnose->limits.busy_share, NULL);
    if (graph_is_root(diagnose, port)) victims_of(diagnose, finding, port);
    if (peer != EVIDENCE_NONE && graph_is_root(diagnose, peer)) victims_of(diagnose, finding, peer);
    if (finding && is_unused(diagnose, port)) finding->severity = DIAGNOSE_INFO;
}

void rule_D06(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint32_t peer = evidence->object[port].peer;
        const struct evidence_value *rate = too_slow(diagnose, port);
        if (!rate) continue;
        bool other = peer != EVIDENCE_NONE && too_slow(diagnose, peer);
        /* A cable is named once, by its lower end. */
        bool lower = graph_tier(diagnose, port) < graph_peer_tier(diagnose, port) ||
                     (graph_tier(diagnose, port) == graph_peer_tier(diagnose, port) && port < peer);
        if (!other || lower) slow_link(diagnose, port, rate);
    }
    slow_with_errors(diagnose);
}

/* --- D05: uneven --- */

/* A switch's links, up or down, whose busiest is congested, with what chance would give. */
struct uneven {
    struct siblings siblings;
    struct hashing ideal;
    double ratio, limit; /* above the limit it is no chance */
    double flows;        /* that were hashed onto them; below 1: not known */
    bool congested;
};

static bool is_chance(const struct uneven *uneven)
{
    return uneven->flows < 1 || uneven->ratio <= uneven->limit;
}

/* Where nothing is congested it takes transfers that are all known and over, on links that carried something. */
static bool all_is_counted(const struct diagnose *diagnose, const struct siblings *siblings)
{
    const struct evidence *evidence = diagnose->evidence;

    if (!evidence->exact || !evidence->flows || siblings->most < diagnose->limits.used_share) return false;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        if (!evidence_get(evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_JOB_DONE)) return false;
    }
    return true;
}

/* It had no room for more for most of the time, and its queue marked, and somebody was slow. */
static bool fills(const struct diagnose *diagnose, uint32_t port)
{
    return share_busy(diagnose, port).value >= diagnose->limits.full_ratio &&
           port_sum(diagnose->evidence, port, EVIDENCE_MARKED) && a_job_is_slow(diagnose);
}

static bool is_uneven(const struct diagnose *diagnose, uint32_t device, bool down, struct uneven *ret)
{
    struct siblings *siblings = &ret->siblings;

    siblings_measure(diagnose, device, down, siblings);
    if (siblings->count < 2 || siblings->downs || siblings->mean <= 0) return false;
    ret->ratio = siblings->most / siblings->mean;
    if (ret->ratio <= 1 / diagnose->limits.full_ratio || too_slow(diagnose, siblings->busiest)) return false;
    bool full = fills(diagnose, siblings->busiest);
    ret->congested = congested(diagnose, siblings->busiest);
    if (!ret->congested && !full && !all_is_counted(diagnose, siblings)) return false;
    ret->flows = hashing_flows(diagnose, device);
    ret->ideal = hashing_most(diagnose, ret->flows, siblings->count);
    ret->limit = ret->ideal.expected * diagnose->limits.uneven_ratio;
    if (ret->limit < ret->ideal.rare * diagnose->limits.rare_ratio)
        ret->limit = ret->ideal.rare * diagnose->limits.rare_ratio;
    if (full && !is_chance(ret)) ret->congested = true;
    return ret->congested || !is_chance(ret);
}

/* A link of a group that is up and carries next to nothing, one way and the other: nothing is hashed to it, or no route
 * leads over it; EVIDENCE_NONE: there is none. */
static uint32_t empty_link(const struct diagnose *diagnose, const struct siblings *siblings)
{
    for (uint32_t port = siblings_next(diagnose, siblings, EVIDENCE_NONE); port != EVIDENCE_NONE;
         port = siblings_next(diagnose, siblings, port)) {
        uint32_t peer = diagnose->evidence->object[port].peer;
        struct share there = share_busy(diagnose, port), back = {0};
        if (peer != EVIDENCE_NONE) back = share_busy(diagnose, peer);
        if (!there.known || !back.known || link_is_down(diagnose->evidence, port)) continue;
        if (there.value + back.value < EMPTY_SHARE * siblings->mean) return port;
    }
    return EVIDENCE_NONE;
}

static void uneven_found(struct diagnose *diagnose, const struct uneven *worst, const uint32_t *other, uint32_t others)
{
    const struct siblings *siblings = &worst->siblings;
    char ideal[96] = "how many flows there are is not known: this may be chance";
    if (worst->flows >= 1)
        snprintf(ideal, sizeof ideal, "an ideal hash gives %.3g%s", worst->ideal.expected,
                 is_chance(worst)    ? ": this is chance, not a fault"
                 : !worst->congested ? ": this is not chance, and nothing is congested yet"
                                     : "");
    else
        missing_add(diagnose, "transfers, or bytes of the NICs below %s: whether its uneven links are chance",
                    name_of(diagnose, siblings->device));
    uint32_t empty = empty_link(diagnose, siblings);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D05, siblings->busiest, EVIDENCE_NO_PRIORITY,
                    "%s carried %.3g times the mean of %u links; %s%s%s%s", name_of(diagnose, siblings->busiest),
                    worst->ratio, siblings->count, ideal, empty == EVIDENCE_NONE ? "" : "; ",
                    empty == EVIDENCE_NONE ? "" : name_of(diagnose, empty),
                    empty == EVIDENCE_NONE ? ""
                                           : " is up and carried nothing, one way or the other: see whether a "
                                             "route leads over it");

    if (!finding) return;
    if (is_chance(worst) || !worst->congested) finding->severity = DIAGNOSE_INFO;
    trust(diagnose, finding);
    if (empty != EVIDENCE_NONE) finding_also(diagnose, finding, empty);
    struct share busy = share_busy(diagnose, siblings->busiest);
    finding_number(diagnose, finding, siblings->busiest, EVIDENCE_NO_PRIORITY, "most_to_mean", "", worst->ratio,
                   worst->limit, busy.from);
    victims_of(diagnose, finding, siblings->busiest);
    for (uint32_t i = 0; i < others; i++) {
        finding_also(diagnose, finding, other[i]);
        victims_of(diagnose, finding, other[i]);
    }
}

/* The worst of a kind is the finding, others alike take part. */
static void uneven_links(struct diagnose *diagnose, bool chance)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t *also = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects + 1u), alsos = 0;
    struct uneven worst = {.ratio = 0}, one;

    if (!also) return;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        for (int down = 0; down < 2; down++) {
            if (!is_uneven(diagnose, device, down, &one)) continue;
            if (is_chance(&one) != chance) continue;
            if (one.ratio > worst.ratio) {
                if (worst.ratio > 0) also[alsos++] = worst.siblings.busiest;
                worst = one;
            } else {
                also[alsos++] = one.siblings.busiest;
            }
        }
    }
    if (worst.ratio > 0) uneven_found(diagnose, &worst, also, alsos);
}

/* How likely chance alone leaves links empty at so many switches, or more: each switch has its own probability. */
struct chance {
    double *of; /* [n] that n switches of those added so far have an empty link */
    uint32_t added;
};

static void chance_add(struct chance *chance, double probability)
{
    double p = probability < 1 ? probability : 1;

    for (uint32_t n = ++chance->added; n > 0; n--)
        chance->of[n] = chance->of[n] * (1 - p) + chance->of[n - 1] * p;
    chance->of[0] *= 1 - p;
}

static double chance_of(const struct chance *chance, uint32_t least)
{
    double sum = 0;

    for (uint32_t n = least; n <= chance->added; n++)
        sum += chance->of[n];
    return sum;
}

/* Two tiers that hash alike: what a lower tier sends to a switch all hashes to the same of its links upwards, so that
 * some stay empty, at more switches than chance explains. */
static void polarised(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t *also = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects + 1u), alsos = 0, empty = 0, links = 0;
    struct chance chance = {DIAGNOSE_NEW(diagnose, double, POLARISED_MOST + 1u), 0};

    if (!also || !chance.of) return;
    chance.of[0] = 1;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        struct siblings up;
        if (graph_tier(diagnose, device) == GRAPH_NO_TIER || graph_tier(diagnose, device) < 2) continue;
        siblings_measure(diagnose, device, false, &up);
        if (up.count < 2 || up.downs || up.most < diagnose->limits.used_share || chance.added == POLARISED_MOST)
            continue;
        chance_add(&chance, hashing_empty(hashing_flows(diagnose, device), up.count));
        links += up.count;
        empty += up.empty;
        if (up.empty) also[alsos++] = device;
    }
    double likely = chance_of(&chance, alsos);
    if (!alsos || likely > diagnose->limits.polarised_chance) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D05, also[0], EVIDENCE_NO_PRIORITY,
                    "%u of %u links upwards of %u switches stay empty, which chance leaves in %.2g%% of all cases: two "
                    "tiers hash alike (polarisation)",
                    empty, links, chance.added, 100 * likely);
    trust(diagnose, finding);
    finding_number(diagnose, finding, also[0], EVIDENCE_NO_PRIORITY, "chance_of_empty_links", "share", likely,
                   diagnose->limits.polarised_chance, NULL);
    for (uint32_t i = 1; i < alsos; i++)
        finding_also(diagnose, finding, also[i]);
}

void rule_D05(struct diagnose *diagnose)
{
    polarised(diagnose);
    uneven_links(diagnose, false);
    uneven_links(diagnose, true);
}

/* --- D07: not enough --- */

/* The ends of a cable that say that it is down, or went down. */
static void list_down(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t end[2] = {port, evidence->object[port].peer};

    for (size_t e = 0; e < 2 && end[e] != EVIDENCE_NONE; e++) {
        const struct evidence_value *up = port_find(evidence, end[e], EVIDENCE_LINK_UP);
        const struct evidence_value *went = port_find(evidence, end[e], EVIDENCE_LINK_DOWN);
        if (up && !up->last) finding_counter(diagnose, finding, up, 1);
        if (went && went->grown) finding_counter(diagnose, finding, went, 0);
    }
}

/* The first link that is down and was used; where the others are congested, any that is down. */
static uint32_t lost_link(const struct diagnose *diagnose, const struct siblings *siblings)
{
    for (uint32_t port = siblings_next(diagnose, siblings, EVIDENCE_NONE); port != EVIDENCE_NONE;
         port = siblings_next(diagnose, siblings, port))
        if (link_was_lost(diagnose->evidence, port)) return port;
    return congested(diagnose, siblings->busiest) ? siblings->a_down : EVIDENCE_NONE;
}

/* What the ports below a switch's uplinks can send, over what these carry; 0: not known. */
static double asked_of(const struct diagnose *diagnose, uint32_t device)
{
    uint64_t up = 0, below = 0;

    EVIDENCE_EACH_PORT(diagnose->evidence, device, port)
    {
        if (diagnose->evidence->object[port].peer == EVIDENCE_NONE) continue;
        *(topology_up(diagnose, port) ? &up : &below) += line_rate(diagnose, port);
    }
    return up ? (double)below / (double)up : 0;
}

static void missing_found(struct diagnose *diagnose, const struct siblings *siblings, uint32_t culprit)
{
    uint32_t full = siblings->busiest;
    struct diagnose_finding *finding = NULL;

    if (siblings->downs)
        finding = finding_new(diagnose, DIAGNOSE_D07, culprit, EVIDENCE_NO_PRIORITY,
                              "%s is down; the %u links left of %u carry everything, %s is %.3g%% full",
                              name_of(diagnose, culprit), siblings->count - siblings->downs, siblings->count,
                              name_of(diagnose, full), 100 * siblings->most);
    else if (siblings->mean < diagnose->limits.busy_share)
        finding = finding_new(diagnose, DIAGNOSE_D07, culprit, EVIDENCE_NO_PRIORITY,
                              "pauses begin at the %u links %s %s, which carry alike, %.3g%% on the average: they may "
                              "be too few for this load",
                              siblings->count, siblings->down ? "down to" : "up from",
                              name_of(diagnose, siblings->device), 100 * siblings->mean);
    else
        finding = finding_new(diagnose, DIAGNOSE_D07, culprit, EVIDENCE_NO_PRIORITY,
                              "all %u links %s %s are full, %.3g%% on the average: it is oversubscribed for this load",
                              siblings->count, siblings->down ? "down to" : "up from",
                              name_of(diagnose, siblings->device), 100 * siblings->mean);
    trust(diagnose, finding);
    /* As much as the ports below can send: that so much goes this way has another reason. */
    double asked = asked_of(diagnose, siblings->device);
    bool enough = (asked > 0 && asked <= 1) || siblings->mean < diagnose->limits.lacks_share;
    if (finding && !siblings->downs && enough) finding->severity = DIAGNOSE_INFO;
    if (siblings->downs) list_down(diagnose, finding, culprit);
    finding_number(diagnose, finding, full, EVIDENCE_NO_PRIORITY, "busy_share", "share", siblings->most,
                   diagnose->limits.busy_share, share_busy(diagnose, full).from);
    for (uint32_t port = siblings_next(diagnose, siblings, EVIDENCE_NONE); port != EVIDENCE_NONE;
         port = siblings_next(diagnose, siblings, port))
        victims_of(diagnose, finding, port);
    if (siblings->downs) finding_resenders(diagnose, finding, culprit); /* of what was under way when it went down */
}

/* A job takes so many times its ideal time, or longer.  Of training nobody knows what communication takes at least. */
static bool a_job_takes(const struct diagnose *diagnose, double times)
{
    const struct evidence *evidence = diagnose->evidence;

    EVIDENCE_EACH(evidence, EVIDENCE_JOB, job)
    {
        double ideal = (double)port_get(evidence, job, EVIDENCE_JOB_IDEAL_NS);
        double time = (double)port_get(evidence, job, EVIDENCE_JOB_NS);
        if (ideal > 0 && time >= times * ideal && !port_get(evidence, job, EVIDENCE_STEP_NS)) return true;
    }
    return false;
}

/* Senders slow down for links that have less than what is asked of them, so that these pause nobody and need not even
 * be full, or mark: as planned, perhaps, where next to nothing is lacking, or no job takes as much longer. */
static void asked_too_much(struct diagnose *diagnose, const struct siblings *siblings)
{
    double asked = asked_of(diagnose, siblings->device);

    bool full = siblings->mean >= diagnose->limits.full_ratio, marks = congested(diagnose, siblings->busiest);

    if (asked <= 1 || !(full || marks) || !a_job_is_slow(diagnose)) return;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D07, siblings->busiest, EVIDENCE_NO_PRIORITY,
                    "the %u links up from %s carry alike and %s, and the ports below can send %.3g times what they "
                    "carry: it is oversubscribed for this load, and nobody is paused for it",
                    siblings->count, name_of(diagnose, siblings->device), marks ? "mark" : "are full", asked);
    trust(diagnose, finding);
    bool planned = asked <= diagnose->limits.planned_ratio &&
                   (asked < diagnose->limits.planned_ratio || !a_job_takes(diagnose, asked));
    bool enough = siblings->mean < diagnose->limits.lacks_share || planned;
    if (finding && (enough || !idle_explains_most(diagnose, 1 - 1 / asked))) finding->severity = DIAGNOSE_INFO;
    finding_number(diagnose, finding, siblings->busiest, EVIDENCE_NO_PRIORITY, "busy_share", "share", siblings->most,
                   diagnose->limits.busy_share, share_busy(diagnose, siblings->busiest).from);
    finding_number(diagnose, finding, siblings->device, EVIDENCE_NO_PRIORITY, "asked_over_carried", "", asked, 1, NULL);
}

/* The highest rate of the adapters below a switch; 0: it has none. */
static uint64_t rate_below(const struct diagnose *diagnose, uint32_t device)
{
    uint64_t most = 0;

    EVIDENCE_EACH_PORT(diagnose->evidence, device, port)
    {
        uint64_t rate = graph_peer_is_host(diagnose, port) ? line_rate(diagnose, port) : 0;
        if (rate > most) most = rate;
    }
    return most;
}

/* Links that have less than what is asked of them, each slower than the adapters below, and which carry as unevenly as
 * few flows do by chance: one flow alone fills a link, however they are spread. */
static void too_narrow(struct diagnose *diagnose, const struct siblings *siblings)
{
    uint64_t each = line_rate(diagnose, siblings->busiest), below = rate_below(diagnose, siblings->device);
    struct uneven uneven;

    if (!each || (double)each >= RATE_SHARE * (double)below || !a_job_is_slow(diagnose)) return;
    if (asked_of(diagnose, siblings->device) <= 1) return;
    if (!is_uneven(diagnose, siblings->device, false, &uneven) || uneven.flows < 1 || !is_chance(&uneven)) return;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D07, siblings->busiest, EVIDENCE_NO_PRIORITY,
        "each of the %u links up from %s has %.4gG and an adapter below %.4gG: one flow alone fills a link, "
        "and %s sent at %.3g%% of its line",
        siblings->count, name_of(diagnose, siblings->device), (double)each / 1e9, (double)below / 1e9,
        name_of(diagnose, siblings->busiest), 100 * siblings->most);
    trust(diagnose, finding);
    bool rests = siblings->most < diagnose->limits.lacks_share;
    if (finding && (rests || !idle_explains_most(diagnose, 1 - (double)each / (double)below)))
        finding->severity = DIAGNOSE_INFO;
    finding_number(diagnose, finding, siblings->busiest, EVIDENCE_NO_PRIORITY, "busy_share", "share", siblings->most,
                   diagnose->limits.busy_share, share_busy(diagnose, siblings->busiest).from);
    finding_counter(diagnose, finding, port_find(diagnose->evidence, siblings->busiest, EVIDENCE_RATE), (double)below);
}

void rule_D07(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        for (int down = 0; down < 2; down++) {
            struct siblings siblings;
            siblings_measure(diagnose, device, down, &siblings);
            if (!siblings.count || siblings.busiest == EVIDENCE_NONE) continue;
            bool even = siblings.mean >= diagnose->limits.full_ratio * siblings.most;
            uint32_t lost = siblings.downs && !down && siblings.downs < siblings.count ? lost_link(diagnose, &siblings)
                                                                                       : EVIDENCE_NONE;
            if (lost != EVIDENCE_NONE)
                missing_found(diagnose, &siblings, lost);
            else if (!siblings.downs && even && graph_is_root(diagnose, siblings.busiest) &&
                     !too_slow(diagnose, siblings.busiest) && !is_idle_behind_credits(diagnose, siblings.busiest))
                missing_found(diagnose, &siblings, siblings.busiest);
            else if (!siblings.downs && even && !down && !too_slow(diagnose, siblings.busiest))
                asked_too_much(diagnose, &siblings);
            else if (!siblings.downs && !even && !down && !too_slow(diagnose, siblings.busiest))
                too_narrow(diagnose, &siblings);
        }
    }
}
