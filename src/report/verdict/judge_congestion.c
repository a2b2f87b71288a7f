/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues that were full: at a receiver (incast), between switches (too little capacity, an uneven hash, or flows that
 * met by chance), and whether the senders were told.
 *
 * A queue counts as congested where it marked a share of its packets or was the root of pauses for a share of the run.
 * Uneven links are held against an ideal hash with the same flows: what one of its trials gave too is chance.
 */
#include <stdlib.h>
#include <string.h>

#include "report/verdict/judge.h"

#include "fabric/fabric.h"

static const char *const role_name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

static bool faces_host(const struct judge *judge, uint32_t port)
{
    return judge->fabric->port[judge->fabric->port[port].peer].node < judge->fabric->hosts;
}

static int tier_of(const struct judge *judge, uint32_t port)
{
    return judge->fabric->node[judge->fabric->port[port].node].tier;
}

/* Packets are marked as they enter the queue: when a run is stopped, more may be than have left. */
static uint64_t queued(const struct sim_port *port)
{
    return port->sw->tx_packets > port->ecn_marked ? port->sw->tx_packets : port->ecn_marked;
}

/* How congested a switch's queue was, in millionths: packets marked, or time that it was the root of pauses.  One that
 * was paused itself for longer is somebody else's victim. */
static uint64_t congested(const struct judge *judge, const struct sim_port *port)
{
    uint64_t marked = judge_ppm(port->ecn_marked, queued(port));
    uint64_t paused = judge_ppm(judge->began_ps[port->port], judge->result->virtual_ps);

    if (marked < LIMIT_marked_ppm && paused < LIMIT_paused_ppm) return 0;
    if (port->paused_ps > judge->began_ps[port->port] &&
        judge_ppm(port->paused_ps, judge->result->virtual_ps) >= LIMIT_paused_ppm)
        return 0;
    return marked + paused;
}

static uint64_t full_to_host(const struct judge *judge, const struct sim_port *port)
{
    return faces_host(judge, port->port) ? congested(judge, port) : 0;
}

/* Between switches a line that never rests is full, whether its queue grew or not: senders may have slowed down. */
static uint64_t full_between(const struct judge *judge, const struct sim_port *port)
{
    if (faces_host(judge, port->port)) return 0;
    return congested(judge, port) + (port->utilisation_ppm >= LIMIT_busy_ppm ? port->utilisation_ppm : 0);
}

/* Flows of how many adapters go to that one; and of which job, where it is one only. */
static uint32_t senders_to(struct judge *judge, uint32_t endpoint, uint32_t *ret_job)
{
    const struct sim_result *result = judge->result;
    uint8_t *seen = calloc(judge->fabric->endpoints + 1u, 1);
    uint32_t count = 0, job = FABRIC_NONE;
    bool several = false;

    if (seen == NULL) judge->failed = true;
    for (uint32_t i = 0; seen && i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        if (flow->dst != endpoint || flow->start == PS_NEVER) continue;
        several |= job != FABRIC_NONE && job != flow->job;
        job = flow->job;
        count += !seen[flow->src];
        seen[flow->src] = 1;
    }
    free(seen);
    *ret_job = several ? FABRIC_NONE : job;
    return count;
}

static void say_full(struct judge *judge, struct verdict_finding *finding, uint32_t port)
{
    const struct sim_port *at = judge->port[port];
    char name[FABRIC_NAME], share[TEXT_COUNT], queue[TEXT_COUNT];

    judge_what(finding, "the queue of %s reached %s", fabric_port_name(judge->fabric, port, name),
               text_bytes(at->queue_max_bytes, queue));
    if (at->utilisation_ppm >= LIMIT_busy_ppm)
        judge_what(finding, ", busy for %s of the run", text_share(at->utilisation_ppm, 1000000, share));
    if (at->ecn_marked)
        judge_what(finding, ", marked %s of its packets", text_share(at->ecn_marked, queued(at), share));
    if (judge_ppm(judge->began_ps[port], judge->result->virtual_ps) >= LIMIT_paused_ppm)
        judge_what(finding, ", caused pauses for %s of the run",
                   text_share(judge->began_ps[port], judge->result->virtual_ps, share));
}

static void incast(struct judge *judge)
{
    const struct fabric *fabric = judge->fabric;
    char name[FABRIC_NAME], share[TEXT_COUNT];
    uint32_t count, job;
    struct ranked *ranked = judge_ports(judge, full_to_host, true, &count);

    if (ranked == NULL) return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_INCAST);
    const struct fabric_port *to = &fabric->port[fabric->port[ranked[0].port].peer];
    uint32_t endpoint = fabric->first_endpoint[to->node] + to->index;
    uint32_t senders = senders_to(judge, endpoint, &job);
    judge_objects(finding, ranked, count);
    finding->job = job;
    fabric_port_name(fabric, fabric->endpoint[endpoint].port, name);
    if (senders > 1)
        judge_what(finding, "%u adapters send to %s: ", senders, name);
    else
        judge_what(finding, "to %s: ", name);
    say_full(judge, finding, ranked[0].port);
    judge_more(finding, count, "port");
    const struct sim_port *at = judge->port[ranked[0].port];
    if (at->utilisation_ppm >= LIMIT_busy_ppm)
        judge_why(finding, "More is sent to one adapter than its link carries: the receiver is the limit, not the "
                           "network");
    else
        judge_why(finding,
                  "At times more arrives for one adapter than its link carries, and waits; the link was busy "
                  "for %s of the run",
                  text_share(at->utilisation_ppm, 1000000, share));
    free(ranked);
}

/* Links that a port could share its load with: up, those of its switch; down, those to the same switch. */
static bool sibling(const struct judge *judge, uint32_t port, uint32_t other)
{
    const struct fabric *fabric = judge->fabric;
    const struct fabric_port *a = &fabric->port[port], *b = &fabric->port[other];

    if (b->peer == FABRIC_NONE || faces_host(judge, other)) return false;
    if (tier_of(judge, a->peer) > tier_of(judge, port))
        return a->node == b->node && tier_of(judge, b->peer) > tier_of(judge, other);
    return fabric->port[a->peer].node == fabric->port[b->peer].node && tier_of(judge, other) == tier_of(judge, port);
}

/* What the switch whose uplinks these are asks of them: lower ports' rates over higher ports', in thousandths. */
static uint32_t asked_milli(const struct judge *judge, const struct fabric_node *node)
{
    const struct fabric *fabric = judge->fabric;
    uint64_t up = 0, down = 0;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        if (judge->port[p] == NULL || judge_fault(judge, p, FABRIC_FAULT_DOWN)) continue;
        *(tier_of(judge, fabric->port[p].peer) > tier_of(judge, p) ? &up : &down) += fabric->port[p].rate_bps;
    }
    return up ? (uint32_t)((u128)down * 1000 / up) : 0;
}

/* Whether hosts may ask for more than these links have, and all of them carry about as much as the port does; answers
 * how much more, in thousandths; 0: not so. */
static uint32_t oversubscribed(const struct judge *judge, uint32_t port)
{
    const struct fabric *fabric = judge->fabric;
    bool up = tier_of(judge, fabric->port[port].peer) > tier_of(judge, port);
    const struct fabric_node *node = &fabric->node[fabric->port[up ? port : fabric->port[port].peer].node];
    uint32_t count = 0, asked = asked_milli(judge, node);
    uint64_t sum = 0, most = 0;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        uint32_t other = up ? p : fabric->port[p].peer;
        if (other == FABRIC_NONE || judge->port[other] == NULL || fabric->port[other].node < fabric->hosts ||
            !sibling(judge, port, other))
            continue;
        sum += judge->port[other]->line_bytes;
        if (judge->port[other]->line_bytes > most) most = judge->port[other]->line_bytes;
        count++;
    }
    bool even = (u128)sum * 1000 >= (u128)most * count * LIMIT_full_milli;
    return asked > 1000 && count && even ? asked : 0;
}

/* Down towards a switch one of whose hosts is an incast's: that is where the queue comes from. */
static bool leads_to_incast(const struct judge *judge, uint32_t port)
{
    const struct fabric *fabric = judge->fabric;
    const struct fabric_port *peer = &fabric->port[fabric->port[port].peer];
    const struct fabric_node *node = &fabric->node[peer->node];

    if (tier_of(judge, fabric->port[port].peer) > tier_of(judge, port)) return false;
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (judge->port[p] && full_to_host(judge, judge->port[p])) return true;
    return false;
}

static void between(struct judge *judge)
{
    uint32_t count, kept[2] = {0, 0};
    char asked[TEXT_COUNT];
    struct ranked *ranked = judge_ports(judge, full_between, true, &count);
    struct ranked *part[2] = {calloc(count + 1u, sizeof(**part)), calloc(count + 1u, sizeof(**part))};

    if (!part[0] || !part[1]) judge->failed = true;
    for (uint32_t i = 0; ranked && part[0] && part[1] && i < count; i++) {
        bool full = oversubscribed(judge, ranked[i].port) > 0;
        if (!leads_to_incast(judge, ranked[i].port)) part[full][kept[full]++] = ranked[i];
    }
    for (int full = 0; full < 2; full++) {
        if (kept[full] == 0) continue;
        struct verdict_finding *finding = judge_add(judge, full ? VERDICT_OVERSUBSCRIBED : VERDICT_COLLISIONS);
        judge_objects(finding, part[full], kept[full]);
        say_full(judge, finding, part[full][0].port);
        judge_more(finding, kept[full], "link");
        if (full)
            judge_why(finding,
                      "Its parallel links carried as much: the ports below can send %s times what these links carry%s",
                      text_fixed(oversubscribed(judge, part[1][0].port), 1000, 1, asked),
                      judge_found(judge, VERDICT_LINK_DOWN) ? " without the links that were down" : "");
        else
            judge_why(finding,
                      "The hash put more flows on this link than on parallel ones: with few flows it is seldom even");
    }
    free(part[0]);
    free(part[1]);
    free(ranked);
}

/* Whether routes were not those that the expectation was made with. */
static bool rerouted(const struct judge *judge)
{
    for (uint32_t i = 0; i < judge->fabric->faults; i++) {
        uint8_t kind = judge->fabric->fault[i].kind;
        if (kind == FABRIC_FAULT_DOWN || kind == FABRIC_FAULT_WITHDRAW || kind == FABRIC_FAULT_MISROUTE) return true;
    }
    return false;
}

/* The fullest link of a tier, at the switch where it is fullest. */
static uint32_t fullest(const struct judge *judge, const struct sim_tier *tier)
{
    const struct fabric *fabric = judge->fabric;
    uint64_t most = 0;
    uint32_t found = FABRIC_NONE;

    for (uint32_t i = 0; i < judge->result->ports; i++) {
        const struct sim_port *port = &judge->result->port[i];
        uint32_t peer = fabric->port[port->port].peer;
        if (port->sw == NULL || fabric->node[fabric->port[port->port].node].role != tier->from ||
            fabric->node[fabric->port[peer].node].role != tier->to || port->line_bytes <= most)
            continue;
        most = port->line_bytes;
        found = port->port;
    }
    return found;
}

static void uneven(struct judge *judge, const struct sim_tier *tier)
{
    bool polarised = tier->alike < FABRIC_ROLES;
    char mean[TEXT_COUNT], expected[TEXT_COUNT], most[TEXT_COUNT], used[TEXT_COUNT], should[TEXT_COUNT];

    if (tier->expected_milli == 0) return;
    /* Of jobs that have not ended it is not known how much each flow was to carry. */
    if (!polarised && (tier->expected_most_milli == 0 || judge->result->state != SIM_DONE)) return;
    if (!polarised && (uint64_t)tier->mean_milli * 1000 <= (uint64_t)tier->expected_most_milli * LIMIT_uneven_milli)
        return;
    struct verdict_finding *finding = judge_add(judge, polarised ? VERDICT_POLARISED : VERDICT_UNEVEN);
    uint32_t port = fullest(judge, tier);
    if (port != FABRIC_NONE) judge_object(finding, port);
    for (uint32_t i = 0; i < tier->empties; i++)
        judge_object(finding, tier->empty[i]);
    finding->weight = tier->mean_milli;
    judge_what(finding, "%s to %s: ", role_name[tier->from], role_name[tier->to]);
    if (polarised) {
        judge_what(finding, "%s of the links used, an ideal hash uses %s", text_share(tier->used_milli, 1000, used),
                   text_share(tier->expected_used_milli, 1000, should));
        judge_why(finding,
                  "%s and %s switches use the same hash, so the second tier sees only flows that the first sent "
                  "one way: give each tier its own seed",
                  role_name[tier->from], role_name[tier->alike]);
        return;
    }
    judge_what(finding, "at each switch the fullest link carries %s times the mean; an ideal hash gives %s, %s at most",
               text_fixed(tier->mean_milli, 1000, 2, mean), text_fixed(tier->expected_milli, 1000, 2, expected),
               text_fixed(tier->expected_most_milli, 1000, 2, most));
    judge_why(finding, "This is not chance: the hash uses too few fields, or the fields hardly differ between flows");
}

static bool wants_cnps(const struct fabric *fabric)
{
    for (uint32_t i = 0; i < fabric->nics; i++)
        if (fabric->nic[i].congestion && strncmp(fabric->nic[i].congestion, "dcqcn", 5) == 0) return true;
    return false;
}

static void notifications(struct judge *judge)
{
    uint64_t marked = 0, sent = 0, handled = 0, ignored = 0, most = 0;
    char text[3][TEXT_COUNT];
    uint32_t by = FABRIC_NONE;

    for (uint32_t i = 0; i < judge->result->nics; i++) {
        const struct nic_counters *c = judge->result->nic[i].counters;
        if (c == NULL) continue;
        marked += c->np_ecn_marked_roce_packets;
        sent += c->np_cnp_sent;
        handled += c->rp_cnp_handled;
        ignored += c->rp_cnp_ignored;
        if (c->np_ecn_marked_roce_packets <= most) continue;
        most = c->np_ecn_marked_roce_packets;
        by = judge->result->nic[i].endpoint;
    }
    if (by == FABRIC_NONE || judge->outside || !wants_cnps(judge->fabric)) return;
    bool none = sent == 0 || handled == 0;
    bool stopped = judge->result->state == SIM_UNTIL || judge->result->state == SIM_RUNNING;
    uint64_t missing = sent > handled + ignored ? sent - handled - ignored : 0;
    if (none && ignored == 0 && stopped && (sent ? missing : marked) < LIMIT_cnp_least) return; /* the first ones */
    if (!none && (missing < LIMIT_cnp_least || judge_ppm(missing, sent) < LIMIT_cnp_lost_ppm)) return;
    struct verdict_finding *finding = judge_add(judge, none ? VERDICT_NO_CNP : VERDICT_CNP_LOST);
    judge_object(finding, judge->fabric->endpoint[by].port);
    judge_what(finding, "%s packets arrived marked, %s CNPs were sent, %s handled", text_count(marked, text[0]),
               text_count(sent, text[1]), text_count(handled, text[2]));
    judge_why(finding,
              none ? "Receivers see the congestion but senders are not told: the notification point or the reaction "
                     "point is off, or every CNP is lost"
                   : "CNPs are lost on the way, so senders slow down too late: check the class of CNPs");
    finding->weight = marked;
}

/* Roots of pauses on switches that marked nothing at all: where one queue marks, it may be the one that fills. */
static uint64_t pauses_first(const struct judge *judge, const struct sim_port *port)
{
    const struct fabric_node *node = &judge->fabric->node[judge->fabric->port[port->port].node];
    ps_t began = judge->began_ps[port->port];

    if (judge_ppm(began, judge->result->virtual_ps) < LIMIT_paused_ppm) return 0;
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (judge->port[p] && judge->port[p]->ecn_marked) return 0;
    return began;
}

void judge_control(struct judge *judge)
{
    char name[FABRIC_NAME], share[TEXT_COUNT];
    uint32_t count;

    notifications(judge);
    if (!wants_cnps(judge->fabric)) return;
    struct ranked *ranked = judge_ports(judge, pauses_first, true, &count);
    if (ranked == NULL) return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_PAUSE_FIRST);
    judge_objects(finding, ranked, count);
    judge_what(finding, "the queue of %s caused pauses for %s of the run and marked nothing",
               fabric_port_name(judge->fabric, ranked[0].port, name),
               text_share(ranked[0].value, judge->result->virtual_ps, share));
    judge_more(finding, count, "port");
    judge_why(finding, "Senders are paused before they are told to slow down: ECN is off there, or its threshold is "
                       "above the pause threshold (rules ECN002, ECN003 of `check`)");
    free(ranked);
}

void judge_congestion(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->result->tiers && !rerouted(judge); i++)
        uneven(judge, &judge->result->tier[i]);
    incast(judge);
    if (judge->slow) between(judge);
}
