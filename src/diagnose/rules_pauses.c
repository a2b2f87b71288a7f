/* SPDX-License-Identifier: Apache-2.0 */
/* Roots of pauses at hosts: deadlock, storm, slow receiver, incast.  Those between switches are in rules_links.c. */
#include <stdio.h>
#include <stdlib.h>

#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"
#include "diagnose/ranks_int.h"
#include "diagnose/rules_pauses_int.h"

#define SENDERS_MOST 4096
#define WORDS 64

/* The simulator said it itself; or two looks; or less. */
static void trust(const struct diagnose *diagnose, struct diagnose_finding *finding, const struct share *share)
{
    if (!finding) return;
    if (diagnose->evidence->exact)
        finding->confidence = DIAGNOSE_EXACT;
    else if (share->since_boot || share->bound)
        finding->confidence = DIAGNOSE_WEAK;
}

static void paused_row(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t port, unsigned priority,
                       double limit)
{
    struct share share = share_paused(diagnose, port, priority);

    if (share.known && !share.since_boot)
        finding_number(diagnose, finding, port, priority, share.bound ? "rx_pause_share_at_most" : "rx_pause_share",
                       "share", share.value, limit, share.from);
    else
        finding_counter(diagnose, finding, share.from, 0);
}

/* "for 12% of the time". */
static const char *how_long(const struct share *share, double value, char words[WORDS])
{
    if (share->since_boot)
        snprintf(words, WORDS, "at times since counters were cleared");
    else
        snprintf(words, WORDS, "for %s%.3g%% of the time", share->bound ? "at most " : "", 100 * value);
    return words;
}

/* "was 99% full"; but of a port that was not, how much it sent. */
static const char *how_full(const struct diagnose *diagnose, const struct share *busy, char words[WORDS])
{
    bool full = busy->value >= diagnose->limits.busy_share;

    if (busy->known)
        snprintf(words, WORDS, full ? "was %.3g%% full" : "sent at %.3g%% of its line", 100 * busy->value);
    else
        snprintf(words, WORDS, "does not say how full it was");
    return words;
}

/* What the NIC counts itself, where it counts. */
static void frames_row(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t nic, unsigned priority)
{
    const struct evidence_value *frames = evidence_find(diagnose->evidence, nic, priority, EVIDENCE_TX_PAUSE_FRAMES);

    if (frames && frames->grown) finding_counter(diagnose, finding, frames, 0);
}

/* One ratio of counters of two ends is weak evidence. */
static void repeated_row(struct diagnose *diagnose, struct diagnose_finding *finding, const struct graph_node *node,
                         const struct share *share)
{
    const struct evidence_value *frames = graph_frames(diagnose, node->port, node->priority);
    double quanta_ns = GRAPH_QUANTA_BITS / (double)line_rate(diagnose, node->port) * 1e9;

    finding_number(diagnose, finding, node->port, node->priority, "pause_time_a_frame", "ns",
                   (double)share->from->grown / (double)frames->grown, GRAPH_REPEATED_SHARE * quanta_ns, share->from);
    finding_counter(diagnose, finding, frames, 0);
    finding_weak_unless(finding, false);
}

/* Why a queue is said to stand still for good. */
static void stuck_row(struct diagnose *diagnose, struct diagnose_finding *finding, const struct graph_node *node)
{
    struct share share = share_paused(diagnose, node->port, node->priority);
    uint64_t events = evidence_get(diagnose->evidence, node->port, node->priority, EVIDENCE_RX_PAUSE_EVENTS);
    uint64_t rate = line_rate(diagnose, node->port);

    if (node->stuck == GRAPH_STUCK_ON && events && rate && share.from)
        finding_number(diagnose, finding, node->port, node->priority, "mean_pause", "ns",
                       (double)share.from->grown / (double)events, GRAPH_QUANTA_BITS / (double)rate * 1e9, share.from);
    else if (node->stuck == GRAPH_STUCK_REPEATED)
        repeated_row(diagnose, finding, node, &share);
    else if (node->stuck)
        finding_number(diagnose, finding, node->port, node->priority,
                       share.bound ? "rx_pause_share_lately_at_most" : "rx_pause_share_lately", "share", share.lately,
                       diagnose->limits.storm_share, share.from);
    else
        paused_row(diagnose, finding, node->port, node->priority, diagnose->limits.paused_share);
    if (node->stuck == GRAPH_STUCK_SILENT)
        finding_number(diagnose, finding, node->port, node->priority, "packets_sent_lately", "packets", 0, 0,
                       evidence_find(diagnose->evidence, node->port, node->priority, EVIDENCE_TX_PACKETS));
}

/* The port was cut off by its watchdog: nobody else says so plainly that a storm was there. */
static const struct evidence_value *watchdog(const struct diagnose *diagnose, uint32_t port, unsigned priority)
{
    const struct evidence_value *value = evidence_find(diagnose->evidence, port, priority, EVIDENCE_WATCHDOG_DETECTED);

    return value && value->grown ? value : NULL;
}

/* --- D01 --- */

/* Who waits for a circle stands still about as long as it does; a queue of its switches may be long for other
 * reasons. */
static void only_as_long(const struct diagnose *diagnose, struct diagnose_finding *finding,
                         const struct graph_node *worst)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; finding && i < finding->victims; i++) {
        const struct graph_node *node = graph_queue(diagnose, finding->victim[i], worst->priority);
        if (node && node->paused >= worst->paused / 2) finding->victim[kept++] = finding->victim[i];
    }
    if (finding) finding->victims = kept;
}

/* Of circles that the input knows itself: something broke it. */
static bool was_broken(const struct evidence *evidence, uint32_t circle)
{
    return circle < evidence->circles && evidence->circle[circle].ended;
}

static void circle_found(struct diagnose *diagnose, uint32_t circle)
{
    const struct diagnose_graph *graph = diagnose->graph;
    uint32_t first = EVIDENCE_NONE, count = 0;
    bool broken = was_broken(diagnose->evidence, circle), cut = false;

    for (uint32_t i = 0; i < graph->nodes; i++) {
        if (graph->node[i].circle != circle) continue;
        count++;
        cut |= watchdog(diagnose, graph->node[i].port, graph->node[i].priority) != NULL;
        if (first == EVIDENCE_NONE || graph->node[i].paused > graph->node[first].paused) first = i;
    }
    if (first == EVIDENCE_NONE) return;
    const struct graph_node *worst = &graph->node[first];
    struct share share = share_paused(diagnose, worst->port, worst->priority);
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D01, worst->port, worst->priority,
        "%u queues %s for each other in a circle%s%s; %s %s still for %.3g%% of the time", count,
        broken ? "waited" : "wait", broken ? ", until it was broken" : "", cut ? ", and the watchdog cut some off" : "",
        name_of(diagnose, worst->port), broken ? "stood" : "has stood", 100 * worst->paused);
    if (finding && broken) finding->severity = DIAGNOSE_WARNING;
    trust(diagnose, finding, &share);
    for (uint32_t i = 0; i < graph->nodes; i++) {
        if (graph->node[i].circle != circle) continue;
        if (i != first) finding_also(diagnose, finding, graph->node[i].port);
        stuck_row(diagnose, finding, &graph->node[i]);
        finding_counter(diagnose, finding, watchdog(diagnose, graph->node[i].port, graph->node[i].priority), 0);
    }
    for (uint32_t i = 0; i < graph->nodes; i++)
        if (graph->node[i].circle == circle) graph_victims(diagnose, finding, i);
    finding_not_victims(finding);
    only_as_long(diagnose, finding, worst);
}

void rule_D01(struct diagnose *diagnose)
{
    for (uint32_t circle = 0; circle < diagnose->graph->circles; circle++)
        circle_found(diagnose, circle);
}

/* --- D02, D03: a NIC is the root --- */

/* Pauses in bursts: longer than their frames last, by far more than the times that one was taken back. */
static bool is_never_taken_back(const struct diagnose *diagnose, const struct graph_node *queue)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct evidence_value *time = evidence_find(evidence, queue->port, queue->priority, EVIDENCE_RX_PAUSE_NS);
    uint64_t events = evidence_get(evidence, queue->port, queue->priority, EVIDENCE_RX_PAUSE_EVENTS);
    double one_ns = GRAPH_QUANTA_BITS / (double)line_rate(diagnose, queue->port) * 1e9;

    return events && time && line_rate(diagnose, queue->port) &&
           (double)time->grown > (2 * (double)events - 1) * one_ns;
}

static bool is_storm(const struct diagnose *diagnose, const struct graph_node *nic)
{
    uint32_t port = diagnose->evidence->object[nic->port].peer;
    const struct graph_node *queue = port == EVIDENCE_NONE ? NULL : graph_queue(diagnose, port, nic->priority);

    return queue && (queue->stuck || watchdog(diagnose, port, nic->priority) || is_never_taken_back(diagnose, queue));
}

static void storm_found(struct diagnose *diagnose, uint32_t node)
{
    struct graph_node nic = diagnose->graph->node[node];
    uint32_t port = diagnose->evidence->object[nic.port].peer;
    struct share share = share_paused(diagnose, port, nic.priority);
    const struct evidence_value *cut = watchdog(diagnose, port, nic.priority);
    bool ends = !cut && !graph_queue(diagnose, port, nic.priority)->stuck;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D02, nic.port, nic.priority,
                    "%s pauses %s %s: its queue stood still for %.3g%% of the time%s", name_of(diagnose, nic.port),
                    name_of(diagnose, port), ends ? "in bursts that it never takes back" : "without end",
                    100 * share.value, cut ? ", and the watchdog cut it off" : "");
    trust(diagnose, finding, &share);
    stuck_row(diagnose, finding, graph_queue(diagnose, port, nic.priority));
    finding_counter(diagnose, finding, cut, 0);
    frames_row(diagnose, finding, nic.port, nic.priority);
    graph_victims(diagnose, finding, node);
    if (cut) finding_resenders(diagnose, finding, nic.port); /* what the watchdog dropped is sent again */
}

static void slow_found(struct diagnose *diagnose, uint32_t node)
{
    static const enum evidence_counter signs[] = {EVIDENCE_OUT_OF_BUFFER, EVIDENCE_RX_DISCARDS, EVIDENCE_PCI_STALLED};
    const struct evidence *evidence = diagnose->evidence;
    struct graph_node nic = diagnose->graph->node[node];
    uint32_t port = evidence->object[nic.port].peer;
    struct share share = share_paused(diagnose, port, nic.priority), busy = share_busy(diagnose, port);
    char full[WORDS], time[WORDS];
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D03, nic.port, nic.priority, "%s paused %s %s; the port %s", name_of(diagnose, nic.port),
        name_of(diagnose, port), how_long(&share, share.value, time), how_full(diagnose, &busy, full));

    trust(diagnose, finding, &share);
    paused_row(diagnose, finding, port, nic.priority, diagnose->limits.paused_share);
    frames_row(diagnose, finding, nic.port, nic.priority);
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const struct evidence_value *sign = evidence_find(evidence, nic.port, EVIDENCE_NO_PRIORITY, signs[i]);
        if (sign && sign->grown) finding_counter(diagnose, finding, sign, 0);
    }
    graph_victims(diagnose, finding, node);
}

/* Who gives credits back at once and has too few of them is not slow. */
static bool is_short_of_credits(const struct diagnose *diagnose, uint32_t nic)
{
    uint32_t port = diagnose->evidence->object[nic].peer;

    return port != EVIDENCE_NONE && waits_for_credits(diagnose, port);
}

static void nics_found(struct diagnose *diagnose, bool storms, void (*found)(struct diagnose *diagnose, uint32_t node))
{
    const struct diagnose_graph *graph = diagnose->graph;

    for (uint32_t i = 0; i < graph->roots; i++) {
        const struct graph_node *node = &graph->node[graph->root[i]];
        if (!node->host || (!storms && is_short_of_credits(diagnose, node->port))) continue;
        if (is_storm(diagnose, node) == storms) found(diagnose, graph->root[i]);
    }
}

void rule_D02(struct diagnose *diagnose)
{
    nics_found(diagnose, true, storm_found);
    storms_seen(diagnose);
}

/* NICs stand still for good, and switches that count no time of pauses do not say for whom. */
static void held_by_nobody(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct diagnose_graph *graph = diagnose->graph;
    uint32_t held = 0;

    if (diagnose->found[DIAGNOSE_D01] || diagnose->found[DIAGNOSE_D02]) return;
    for (uint32_t i = 0; i < graph->nodes; i++) {
        const struct graph_node *node = &graph->node[i];
        held += !node->host && node->stuck && device_is_host(evidence, evidence->object[node->port].parent);
    }
    if (held)
        missing_add(diagnose,
                    "one more look: %u NIC%s stopped and did not go on, and no counter says who holds them; a storm "
                    "or a deadlock shows between two looks that are both after its beginning",
                    held, held == 1 ? "" : "s");
}

void rule_D03(struct diagnose *diagnose)
{
    nics_found(diagnose, false, slow_found);
    held_by_nobody(diagnose);
}

/* --- D04: the port to a host is the root --- */

void incast_senders(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t nic)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; finding && i < evidence->flows && finding->alsos < SENDERS_MOST; i++)
        if (evidence->flow[i].to == nic) finding_also(diagnose, finding, evidence->flow[i].from);
}

/* An incast is no reason for another, nor for itself. */
static bool another_cause_found(const struct diagnose *diagnose)
{
    for (uint32_t i = 0; i < diagnose->findings; i++)
        if (diagnose->finding[i].rule != DIAGNOSE_D04 && finding_is_network(&diagnose->finding[i])) return true;
    return false;
}

/* Nobody says what a job takes at least: whether one is slow is not known. */
static bool jobs_are_unknown(const struct diagnose *diagnose)
{
    EVIDENCE_EACH(diagnose->evidence, EVIDENCE_JOB, job)
    {
        if (port_get(diagnose->evidence, job, EVIDENCE_JOB_IDEAL_NS)) return false;
    }
    return true;
}

/* What is lost comes again, and fills ports that would not be full: whether it is so of one that is this busy. */
static bool is_filled_again(const struct diagnose *diagnose, double busy)
{
    uint64_t packets = diagnose->total[EVIDENCE_TX_DATA_PACKETS];
    double resent = packets ? (double)diagnose->total[EVIDENCE_RETRANSMITTED] / (double)packets : 0;

    if (diagnose->found[DIAGNOSE_D08]) return true;
    if (!another_cause_found(diagnose) || resent <= diagnose->limits.resent_much) return false;
    return busy * (1 - resent) < diagnose->limits.busy_share;
}

/* Many of one job send to the NIC, and another job is slow: whatever holds the senders back, they are in its way. */
static bool disturbs_another(const struct diagnose *diagnose, uint32_t nic)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t job = EVIDENCE_NONE, votes = 0, senders = 0;

    for (uint32_t i = 0; i < evidence->flows; i++) { /* the job of most transfers to it, if one has most */
        if (evidence->flow[i].to != nic) continue;
        if (!votes) job = evidence->flow[i].job;
        votes += evidence->flow[i].job == job ? 1 : -1u;
    }
    for (uint32_t i = 0; i < evidence->flows; i++)
        senders += evidence->flow[i].to == nic && evidence->flow[i].job == job;
    if (senders < INCAST_LEAST) return false;
    EVIDENCE_EACH(evidence, EVIDENCE_JOB, other)
    {
        double ideal = (double)port_get(evidence, other, EVIDENCE_JOB_IDEAL_NS);
        double time = (double)port_get(evidence, other, EVIDENCE_JOB_NS);
        if (other != job && ideal > 0 && time > diagnose->limits.ideal_ratio * ideal) return true;
    }
    return false;
}

/* Congestion control holds back who sends through the port, and many of another job send there: what they brought it
 * down to, it recovers from slowly, also after them. */
void incast_in_the_way(struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t nic = evidence->object[port].peer;

    if (nic == EVIDENCE_NONE || !graph_peer_is_host(diagnose, port) || rule_found(diagnose, DIAGNOSE_D04, port)) return;
    if (!disturbs_another(diagnose, nic)) return;
    struct share busy = share_busy(diagnose, port);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D04, port, EVIDENCE_NO_PRIORITY,
                    "many of another job send to %s, and congestion control holds back who sends there: %s sent at "
                    "%.3g%% of its line",
                    name_of(diagnose, nic), name_of(diagnose, port), 100 * busy.value);
    finding_number(diagnose, finding, port, EVIDENCE_NO_PRIORITY, "busy_share", "share", busy.value,
                   diagnose->limits.busy_share, busy.from);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *marked = evidence_find(evidence, port, p, EVIDENCE_MARKED);
        if (marked && marked->grown) finding_counter(diagnose, finding, marked, 0);
    }
    incast_senders(diagnose, finding, nic);
    if (!finding) return;
    finding->disturbs = true;
    if (evidence->exact) finding->confidence = DIAGNOSE_EXACT;
}

/* The queue of the port that reached the marks, where it was told of any, or marked. */
static const struct evidence_value *long_queue(const struct evidence *evidence, uint32_t port)
{
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct evidence_value *marked = evidence_find(evidence, port, p, EVIDENCE_MARKED);
        const struct evidence_value *peak = evidence_find(evidence, port, p, EVIDENCE_QUEUE_PEAK);
        uint64_t limit = evidence_get(evidence, port, p, EVIDENCE_ECN_MIN);
        if (peak && limit && peak->last > limit) return peak;
        if (marked && marked->grown) return marked;
    }
    return NULL;
}

static void incast_found(struct diagnose *diagnose, uint32_t node)
{
    const struct evidence *evidence = diagnose->evidence;
    struct graph_node queue = diagnose->graph->node[node];
    struct share busy = share_busy(diagnose, queue.port), paused = share_paused(diagnose, queue.port, queue.priority);
    struct share upstream = {.since_boot = evidence->looks < 2};
    double unpaused = busy.known && paused.value < 1 ? busy.value / (1 - paused.value) : 0;
    char full[WORDS], time[WORDS];
    uint32_t pausing = 0;

    upstream.bound = true; /* where none of those that stood still counts the time */
    for (uint32_t e = queue.back; e != EVIDENCE_NONE; e = diagnose->graph->edge[e].next_back, pausing++) {
        const struct graph_node *from = &diagnose->graph->node[diagnose->graph->edge[e].from];
        upstream.bound &= share_paused(diagnose, from->port, from->priority).bound;
    }
    upstream.bound &= !evidence->exact && pausing;
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D04, queue.port, queue.priority,
                    "%s, the port to %s, %s; its switch paused %u port%s for it, %s", name_of(diagnose, queue.port),
                    name_of(diagnose, evidence->object[queue.port].peer), how_full(diagnose, &busy, full), pausing,
                    pausing == 1 ? "" : "s", how_long(&upstream, queue.in, time));
    trust(diagnose, finding, &upstream);
    if (busy.known)
        finding_number(diagnose, finding, queue.port, EVIDENCE_NO_PRIORITY, "busy_share", "share", unpaused,
                       diagnose->limits.busy_share, busy.from);
    for (uint32_t e = queue.back, shown = 0; e != EVIDENCE_NONE && shown < 4;
         e = diagnose->graph->edge[e].next_back, shown++)
        paused_row(diagnose, finding, diagnose->graph->node[diagnose->graph->edge[e].from].port, queue.priority,
                   diagnose->limits.paused_share);
    finding_counter(diagnose, finding, evidence_find(evidence, queue.port, queue.priority, EVIDENCE_QUEUE_PEAK), 0);
    graph_victims(diagnose, finding, node);
    incast_senders(diagnose, finding, evidence->object[queue.port].peer);
    finding_weak_unless(finding, evidence->object[evidence->object[queue.port].parent].looked_at);
    bool disturbs = disturbs_another(diagnose, evidence->object[queue.port].peer);
    if (finding) finding->disturbs = disturbs;
    if (finding) finding->rests = !disturbs && idle_could_carry(diagnose, queue.port) > queue.in;
    bool again = is_filled_again(diagnose, unpaused);
    /* Where its port rested too, and nobody stood still for it for long, what is slow is slow for something else.
     * Frames alone do not say that it was long. */
    bool rested = busy.known && unpaused < diagnose->limits.busy_share;
    bool seldom =
        jobs_are_unknown(diagnose) && (queue.in < diagnose->limits.slow_ratio - 1 || another_cause_found(diagnose));
    /* Nothing says that its queue was long: another of its switch may have been, which is busier. */
    bool guess = !evidence->exact && !evidence_find(evidence, queue.port, queue.priority, EVIDENCE_QUEUE_PEAK) &&
                 !long_queue(evidence, queue.port);
    bool little = rested && (upstream.bound || seldom || guess || !idle_explains_most(diagnose, queue.in));
    if (finding && ((little && !disturbs) || again || jobs_lose_nothing(diagnose, true)))
        finding->severity = DIAGNOSE_INFO;
}

static int by_value(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;

    return one < two ? -1 : one > two;
}

/* What half of the ports to hosts are at most busy with; below 0: nobody says it. */
static double median_busy(const struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    double *list = calloc(evidence->objects + 1u, sizeof list[0]), median = -1;
    uint32_t count = 0;

    EACH_PORT(evidence, device, port)
    {
        if (!list || !graph_peer_is_host(diagnose, port)) continue;
        struct share busy = share_busy(diagnose, port);
        if (busy.known) list[count++] = busy.value;
    }
    if (count) {
        qsort(list, count, sizeof list[0], by_value);
        median = list[count / 2];
    }
    free(list);
    return median;
}

/* A port to a host, with a queue, that is busy while most are not; nobody was paused for it. */
struct busy_port {
    uint32_t port;
    struct share busy;
    const struct evidence_value *queue;
};

static void full_row(struct diagnose *diagnose, struct diagnose_finding *finding, const struct busy_port *one,
                     double limit)
{
    finding_number(diagnose, finding, one->port, EVIDENCE_NO_PRIORITY, "busy_share", "share", one->busy.value, limit,
                   one->busy.from);
    finding_counter(diagnose, finding, one->queue, 0);
    incast_senders(diagnose, finding, diagnose->evidence->object[one->port].peer);
}

/* Congestion control that works keeps an incast from pausing anybody, and its port is full all the same.  Who sends
 * there cannot be faster: it costs where somebody is slow, and where that is not known the other cause is enough. */
static void full_found(struct diagnose *diagnose, const struct busy_port *one, double median)
{
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D04, one->port, one->queue->priority,
                    "%s, the port to %s, was %.3g%% full, and half of the ports to hosts no more than %.3g%%; nobody "
                    "was paused for it",
                    name_of(diagnose, one->port), name_of(diagnose, diagnose->evidence->object[one->port].peer),
                    100 * one->busy.value, 100 * median);

    full_row(diagnose, finding, one, diagnose->limits.busy_share);
    bool again = is_filled_again(diagnose, one->busy.value);
    bool more = jobs_are_unknown(diagnose) && another_cause_found(diagnose);
    if (finding && (again || more || jobs_lose_nothing(diagnose, false))) finding->severity = DIAGNOSE_INFO;
}

/* Senders may slow down by so much that the port is not even full.  That is a guess, and one that nobody needs where
 * something else is known: what rests for its rate while the port does is D22's. */
static void partly_found(struct diagnose *diagnose, const struct busy_port *one, double median, const uint32_t *other,
                         uint32_t others)
{
    bool more = network_found(diagnose);
    struct diagnose_finding *finding =
        finding_new(diagnose, DIAGNOSE_D04, one->port, one->queue->priority,
                    "%s, the port to %s, sent at %.3g%% of its line with a queue%s, and half of the ports to hosts at "
                    "no more than %.3g%%; nobody was paused for it, and its line alone is not the limit",
                    name_of(diagnose, one->port), name_of(diagnose, diagnose->evidence->object[one->port].peer),
                    100 * one->busy.value, others > 1 ? ", others at less" : "", 100 * median);

    full_row(diagnose, finding, one, 2 * median);
    for (uint32_t i = 0; i < others; i++)
        if (other[i] != one->port) finding_also(diagnose, finding, other[i]);
    if (!finding) return;
    finding->confidence = DIAGNOSE_WEAK;
    if (more) finding->severity = DIAGNOSE_INFO;
}

static void full_ports(struct diagnose *diagnose)
{
    double median = median_busy(diagnose), full = diagnose->limits.busy_share;
    bool slow = a_job_is_slow(diagnose);
    uint32_t *partly = DIAGNOSE_NEW(diagnose, uint32_t, diagnose->evidence->objects + 1u), count = 0;
    struct busy_port most = {.port = EVIDENCE_NONE};

    EACH_PORT(diagnose->evidence, device, port)
    {
        if (!partly || median < 0 || !graph_peer_is_host(diagnose, port) || rule_found(diagnose, DIAGNOSE_D04, port) ||
            rule_found(diagnose, DIAGNOSE_D03, port) || rule_found(diagnose, DIAGNOSE_D06, port))
            continue;
        struct busy_port one = {port, share_busy(diagnose, port), long_queue(diagnose->evidence, port)};
        if (!one.busy.known || median > one.busy.value / 2 || !one.queue) continue;
        if (one.busy.value >= full) {
            full_found(diagnose, &one, median);
        } else if (slow && idle_could_carry(diagnose, port) < diagnose->limits.idle_share) {
            partly[count++] = port;
            if (most.port == EVIDENCE_NONE || one.busy.value > most.busy.value) most = one;
        }
    }
    if (count) partly_found(diagnose, &most, median, partly, count);
}

/* Whoever paused a port and was not read may be the cause of everything: the port that stood still most is named. */
static void unread_pausers(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    const struct graph_node *most = NULL;
    char words[WORDS];

    for (uint32_t i = 0; i < diagnose->graph->nodes; i++) {
        const struct graph_node *node = &diagnose->graph->node[i];
        uint32_t peer = evidence->object[node->port].peer;
        bool read = peer != EVIDENCE_NONE && evidence->object[evidence->object[peer].parent].looked_at;
        if (!node->host && !read && node->paused >= diagnose->limits.paused_share &&
            (!most || node->paused > most->paused))
            most = node;
    }
    if (!most) return;
    struct share share = share_paused(diagnose, most->port, most->priority);
    missing_add(diagnose, "counters of the device behind %s: it paused that port %s", name_of(diagnose, most->port),
                how_long(&share, share.value, words));
}

void rule_D04(struct diagnose *diagnose)
{
    const struct diagnose_graph *graph = diagnose->graph;

    for (uint32_t i = 0; i < graph->roots; i++) {
        const struct graph_node *node = &graph->node[graph->root[i]];
        if (!node->host && node->circle == EVIDENCE_NONE && graph_peer_is_host(diagnose, node->port) &&
            !is_idle_behind_credits(diagnose, node->port))
            incast_found(diagnose, graph->root[i]);
    }
    full_ports(diagnose);
    bursts_find(diagnose);
    unread_pausers(diagnose);
}
