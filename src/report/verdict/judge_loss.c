/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that did not arrive, or not where and how they should: links that were down, slow or bad, loss in lossless
 * and in lossy classes, wrong classes and MTUs, and what was sent again for it.
 */
#include <stdlib.h>

#include "report/verdict/judge.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

static void fault_name(const struct judge *judge, const struct fabric_fault *fault, char buf[FABRIC_NAME])
{
    if (fault->port == FABRIC_NONE)
        snprintf(buf, FABRIC_NAME, "%s", judge->fabric->node[fault->node].name);
    else
        fabric_port_name(judge->fabric, fault->port, buf);
}

/* Of a node its first port stands for all. */
static uint32_t fault_port(const struct judge *judge, const struct fabric_fault *fault)
{
    return fault->port == FABRIC_NONE ? judge->fabric->node[fault->node].first_port : fault->port;
}

/* What switches dropped because the port it should leave by was down. */
static uint64_t down_drops(const struct judge *judge)
{
    uint64_t drops = 0;

    for (uint32_t i = 0; i < judge->result->ports; i++)
        if (judge->result->port[i].sw) drops += judge->result->port[i].sw->drop[SW_DROP_port_down];
    return drops;
}

static uint64_t lost_at(const struct judge *judge, uint32_t port)
{
    uint32_t peer = judge->fabric->port[port].peer;
    uint64_t lost = judge->port[port] ? judge->port[port]->lost : 0;

    return lost + (peer != FABRIC_NONE && judge->port[peer] ? judge->port[peer]->lost : 0);
}

/* On the lines that the fault took down. */
static uint64_t down_lost(const struct judge *judge, const struct fabric_fault *fault)
{
    uint64_t lost = 0;

    if (fault->port != FABRIC_NONE) return lost_at(judge, fault->port);
    const struct fabric_node *node = &judge->fabric->node[fault->node];
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        lost += lost_at(judge, p);
    return lost;
}

/* What it did to packets, as the counters have it, and to routes. */
static void down_why(const struct judge *judge, struct verdict_finding *finding, uint64_t lost, uint64_t drops)
{
    const char *happened = lost    ? "Packets in flight were lost"
                           : drops ? "Packets that should leave there were dropped"
                                   : "No packet was lost by it";

    if (judge->fabric->converge.on)
        judge_why(finding, "%s; until the link is back routes lead around it where there is another way", happened);
    else
        judge_why(finding, "%s; routes do not change (no `converge` in the file)", happened);
}

static void link_faults(struct judge *judge, uint8_t kind, enum verdict_id id)
{
    const struct fabric *fabric = judge->fabric;
    struct verdict_finding *finding = NULL;
    char name[FABRIC_NAME], at[TEXT_COUNT], lasts[TEXT_COUNT], share[TEXT_COUNT];
    uint64_t lost = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (fault->kind != kind || fault->at >= judge->result->virtual_ps) continue;
        if (count++ == 0) {
            finding = judge_add(judge, id);
            fault_name(judge, fault, name);
            judge_what(finding, "%s from %s", name, text_ps(fault->at, at));
            if (fault->lasts_ps == PS_NEVER)
                judge_what(finding, " to the end");
            else
                judge_what(finding, " for %s", text_ps(fault->lasts_ps, lasts));
            if (kind == FABRIC_FAULT_SLOW)
                judge_what(finding, ", at %s of its rate", text_share(fault->ppm, 1000000, share));
        }
        lost += down_lost(judge, fault);
        judge_object(finding, fault_port(judge, fault));
    }
    if (finding == NULL) return;
    if (count > 1) judge_what(finding, "; and %u more fault%s", count - 1, text_plural(count - 1));
    uint64_t drops = kind == FABRIC_FAULT_DOWN ? down_drops(judge) : 0;
    if (kind == FABRIC_FAULT_DOWN && lost) judge_what(finding, "; %s lost on the line", text_count(lost, at));
    if (drops) judge_what(finding, "; %s packets dropped there", text_count(drops, at));
    if (kind == FABRIC_FAULT_SLOW)
        judge_why(finding, "It carries less than its parallel links, but the hash gives it as many flows");
    else
        down_why(judge, finding, lost, drops);
}

static uint64_t wire_loss(const struct judge *judge, const struct sim_port *port)
{
    return port->lost && !judge_fault(judge, port->port, FABRIC_FAULT_DOWN) ? port->lost : 0;
}

static void link_errors(struct judge *judge)
{
    char name[FABRIC_NAME], lost[TEXT_COUNT], all[TEXT_COUNT], share[TEXT_COUNT];
    uint32_t count;
    struct ranked *ranked = judge_ports(judge, wire_loss, false, &count);

    if (ranked == NULL) return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_LINK_ERRORS);
    const struct sim_port *worst = judge->port[ranked[0].port];
    judge_objects(finding, ranked, count);
    judge_what(finding, "%s of %s frames that %s sent (%s)", text_count(worst->lost, lost),
               text_count(worst->frames, all), fabric_port_name(judge->fabric, worst->port, name),
               text_share(worst->lost, worst->frames, share));
    judge_more(finding, count, "port");
    judge_why(finding, "The cable or its optics corrupt frames: this is not congestion");
    free(ranked);
}

void judge_links(struct judge *judge)
{
    link_faults(judge, FABRIC_FAULT_DOWN, VERDICT_LINK_DOWN);
    link_faults(judge, FABRIC_FAULT_SLOW, VERDICT_SLOW_LINK);
    link_errors(judge);
}

static uint64_t headroom_loss(const struct judge *judge, const struct sim_port *port)
{
    (void)judge;
    return port->sw->drop[SW_DROP_headroom];
}

static void headroom(struct judge *judge)
{
    const struct fabric *fabric = judge->fabric;
    char name[FABRIC_NAME], peer[FABRIC_NAME], drops[TEXT_COUNT], held[TEXT_COUNT], has[TEXT_COUNT];
    uint32_t count, p = 0;
    struct ranked *ranked = judge_ports(judge, headroom_loss, true, &count);

    if (ranked == NULL) return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_HEADROOM);
    const struct sim_port *worst = judge->port[ranked[0].port];
    for (uint32_t q = 1; q < FABRIC_PRIOS; q++)
        if (worst->sw->prio[q].headroom_max_bytes > worst->sw->prio[p].headroom_max_bytes) p = q;
    judge_objects(finding, ranked, count);
    judge_what(finding, "%s packets dropped on arrival at %s; priority %u used %s of %s of headroom",
               text_count(ranked[0].value, drops), fabric_port_name(fabric, worst->port, name), p,
               text_bytes(worst->sw->prio[p].headroom_max_bytes, held),
               text_bytes(judge->result->thresholds[worst->thresholds].prio[p].headroom_bytes, has));
    judge_more(finding, count, "port");
    uint32_t other = fabric->port[worst->port].peer;
    if (worst->sw->prio[p].tx_xoff == 0)
        judge_why(finding, "%s does not pause its peer: PFC is off there", name);
    else if (judge->port[other] && judge->port[other]->paused_ps == 0)
        judge_why(finding, "%s did not stop when paused: PFC is off there, or on another priority",
                  fabric_port_name(fabric, other, peer));
    else
        judge_why(finding, "What arrived after the pause did not fit: cable length, MTU or reaction time need more "
                           "headroom (rule HR001 of `check`)");
    free(ranked);
}

/* Dropped in a class that is lossless, by a port that does not have it so. */
static uint64_t not_lossless(const struct judge *judge, const struct sim_port *port)
{
    const struct fabric *fabric = judge->fabric;
    uint8_t here = fabric->settings[fabric->port[port->port].settings].lossless;
    uint64_t drops = 0;

    if (port->sw->drop[SW_DROP_buffer] + port->sw->drop[SW_DROP_egress] == 0) return 0;
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        uint8_t p = fabric->classes[c].priority;
        if (fabric->classes[c].lossless && !(here >> p & 1)) drops += port->sw->prio[p].drops;
    }
    return drops;
}

static uint64_t lossy_loss(const struct judge *judge, const struct sim_port *port)
{
    return not_lossless(judge, port) ? 0 : port->sw->drop[SW_DROP_buffer] + port->sw->drop[SW_DROP_egress];
}

static uint64_t mtu_loss(const struct judge *judge, const struct sim_port *port)
{
    (void)judge;
    return port->sw->drop[SW_DROP_mtu];
}

static uint64_t route_loss(const struct judge *judge, const struct sim_port *port)
{
    (void)judge;
    return port->sw->drop[SW_DROP_ttl] + port->sw->drop[SW_DROP_no_route] + port->sw->drop[SW_DROP_unknown] +
           port->sw->drop[SW_DROP_flood];
}

static void drops(struct judge *judge, judge_value *value, enum verdict_id id, const char *why)
{
    char name[FABRIC_NAME], text[TEXT_COUNT];
    uint32_t count;
    struct ranked *ranked = judge_ports(judge, value, true, &count);

    if (ranked == NULL) return;
    struct verdict_finding *finding = judge_add(judge, id);
    judge_objects(finding, ranked, count);
    judge_what(finding, "%s packets dropped at %s", text_count(ranked[0].value, text),
               fabric_port_name(judge->fabric, ranked[0].port, name));
    judge_more(finding, count, "port");
    judge_why(finding, "%s", why);
    free(ranked);
}

static uint64_t wrong_class(const struct judge *judge, const struct sim_port *port)
{
    uint64_t packets = 0;

    for (uint32_t p = 0; p < FABRIC_PRIOS; p++)
        if (!(judge->sent_in >> p & 1)) packets += port->sw->prio[p].tx_packets;
    return packets;
}

static void class_map(struct judge *judge)
{
    const struct fabric *fabric = judge->fabric;
    char name[FABRIC_NAME], text[TEXT_COUNT];
    uint32_t count;

    if (judge->outside) return;    /* it sends in whatever class it likes */
    if (fabric->lanes.vls) return; /* queues are lanes, and several priorities travel in one */
    struct ranked *ranked = judge_ports(judge, wrong_class, true, &count);
    if (ranked == NULL) return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_CLASS);
    judge_objects(finding, ranked, count);
    judge_what(finding, "%s packets left %s in a priority that no adapter uses", text_count(ranked[0].value, text),
               fabric_port_name(fabric, ranked[0].port, name));
    judge_more(finding, count, "port");
    judge_why(finding,
              "%s maps DSCP to classes differently from the others: traffic goes to another queue there, "
              "which may not be lossless",
              fabric->node[fabric->port[ranked[0].port].node].name);
    free(ranked);
}

/* Packets after a gap, as adapters saw them. */
static uint64_t after_gaps(const struct judge *judge)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < judge->result->nics; i++)
        count += judge->result->nic[i].common.out_of_order;
    return count;
}

static uint64_t trimmed_anywhere(const struct judge *judge)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < judge->result->nics; i++)
        count += judge->result->nic[i].common.trimmed;
    return count;
}

static uint64_t lost_anywhere(const struct judge *judge)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < judge->result->ports; i++)
        count += judge->result->port[i].lost + (judge->result->port[i].sw ? judge->result->port[i].drops : 0);
    for (uint32_t i = 0; i < judge->result->nics; i++)
        if (judge->result->nic[i].counters) count += judge->result->nic[i].counters->drop[NIC_DROP_rx_buffer];
    return count;
}

static void why_again(struct judge *judge, struct verdict_finding *finding, uint64_t timeouts)
{
    char text[TEXT_COUNT];
    static const enum verdict_id causes[] = {VERDICT_HEADROOM,  VERDICT_NOT_LOSSLESS, VERDICT_MTU,
                                             VERDICT_LINK_DOWN, VERDICT_LINK_ERRORS,  VERDICT_ROUTE,
                                             VERDICT_DROPS,     VERDICT_WATCHDOG};

    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (!judge_found(judge, causes[i])) continue;
        judge_why(finding, "Lost packets (%s) are retransmitted%s", verdict_kind[causes[i]].name,
                  timeouts ? ", some of them only after a timeout" : "");
        return;
    }
    uint64_t trimmed = trimmed_anywhere(judge);
    if (trimmed) {
        judge_why(finding, "Switches with full queues trimmed packets: %s arrived without their payload",
                  text_count(trimmed, text));
        return;
    }
    judge_why(finding, timeouts
                           ? "Answers came after the adapters' timers had expired: they waited in queues or for pauses"
                           : "After a loss, everything from the first gap on is retransmitted");
}

static void sent_again(struct judge *judge)
{
    uint64_t again = 0, timeouts = 0, naks = 0, data = 0, most = 0;
    char text[4][TEXT_COUNT], share[TEXT_COUNT], name[FABRIC_NAME];
    uint32_t by = 0;

    for (uint32_t i = 0; i < judge->result->nics; i++) {
        const struct endpoint_counters *c = &judge->result->nic[i].common;
        again += c->retransmitted_packets;
        timeouts += c->timeouts;
        naks += c->nacks;
        data += c->tx_data_packets;
        if (c->retransmitted_packets <= most) continue;
        most = c->retransmitted_packets;
        by = judge->result->nic[i].endpoint;
    }
    if (again == 0) return;
    bool order = !judge->outside && lost_anywhere(judge) == 0 && trimmed_anywhere(judge) == 0 &&
                 after_gaps(judge) > 0 && naks > 0;
    struct verdict_finding *finding = judge_add(judge, order ? VERDICT_REORDER : VERDICT_SENT_AGAIN);
    judge_object(finding, judge->fabric->endpoint[by].port);
    judge_what(finding, "%s packets retransmitted (%s of all), %s timeout%s, %s NAK%s; most by %s, %s",
               text_count(again, text[0]), text_share(again, data, share), text_count(timeouts, text[1]),
               text_plural(timeouts), text_count(naks, text[2]), text_plural(naks),
               fabric_port_name(judge->fabric, judge->fabric->endpoint[by].port, name), text_count(most, text[3]));
    finding->weight = again;
    if (timeouts == 0 && judge_ppm(again, data) < LIMIT_sent_again_ppm) finding->severity = VERDICT_INFO;
    if (order)
        judge_why(finding,
                  "Nothing was lost: packets overtook each other on several paths, and the adapters take a gap "
                  "for loss (see `recovery: selective`, `reorder`)");
    else
        why_again(judge, finding, timeouts);
}

void judge_loss(struct judge *judge)
{
    headroom(judge);
    drops(judge, not_lossless, VERDICT_NOT_LOSSLESS,
          "The class is lossless on other ports but not on this one: it drops where others pause");
    drops(judge, mtu_loss, VERDICT_MTU,
          "The adapters' packets do not fit the MTU of that port: small messages pass, "
          "large ones never do");
    drops(judge, route_loss, VERDICT_ROUTE,
          "Switches had no route, looped them until their time to live ran out, or did not know the port");
    drops(judge, lossy_loss, VERDICT_DROPS, "The class is lossy, and its queue was full");
    class_map(judge);
    sent_again(judge);
}
