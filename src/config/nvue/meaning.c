/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each port of a Cumulus switch says, by the profiles it names; and the watchdog.
 *
 * The watchdog is a port's here and a switch's in a fabric: on where a port has it, and not watched where a port pauses
 * without.
 */
#include <string.h>

#include "base/units.h"
#include "config/nvue/read.h"

#define ROCE_DSCP 26u

static const struct nvue_profile *profile_for(struct nvue *in, const struct nvue_port *port, enum kind kind)
{
    if (!port->profile[kind]) return nvue_profile(in, kind, "default-global", 0);
    const struct nvue_profile *as = nvue_profile(in, kind, port->profile[kind], 0);
    if (!as) {
        uint32_t at = port->line[kind];
        NOTE(in, at, "MAP007", CONFIG_NONE, "%s profile '%.60s' is not defined", nvue_kinds[kind], port->profile[kind]);
        UNJUDGED(in, at, "SIB001", (uint32_t)(port - in->port), "a profile that it takes is not defined");
    }
    return as;
}

static uint32_t or_line(uint32_t line, uint32_t other)
{
    return line ? line : other;
}

/* The one line of a list of ports that gives all the others their PFC: it is where a port without belongs. */
static uint32_t list_of_pfc(struct nvue *in)
{
    uint32_t line = 0, ports = 0;
    bool one = true;

    for (uint32_t p = 0; p < in->ports && !in->pfc_listed; p++) {
        if (!in->port[p].line[PFC]) continue;
        one = one && (!line || line == in->port[p].line[PFC]);
        line = in->port[p].line[PFC];
        ports++;
    }
    if (!in->pfc_listed && one && ports > 2) in->pfc_list = line;
    in->pfc_listed = true;
    return in->pfc_list;
}

/* The line of a list of ports that ends before this port, or begins behind it: the list that leaves it out; 0: none. */
static uint32_t list_beside(const struct nvue *in, uint32_t p)
{
    for (int side = 0; side < 2; side++) {
        uint32_t near = side ? p + 1 : p - 1, next = side ? p + 2 : p - 2;
        if (near < in->ports && next < in->ports && in->port[near].line[PFC] &&
            in->port[near].line[PFC] == in->port[next].line[PFC])
            return in->port[near].line[PFC];
    }
    return 0;
}

static void say_pfc(struct nvue *in, uint32_t p, const struct nvue_profile *as)
{
    struct nvue_port *port = &in->port[p];
    unsigned bits = as ? as->priorities : 0;
    uint32_t at = as ? or_line(as->pfc_line, as->line) : or_line(port->line[PFC], or_line(in->lossy_line, port->first));
    if (!as && !port->line[PFC] && !in->lossy_line)
        at = or_line(or_line(list_of_pfc(in), list_beside(in, p)), port->first);

    port->pfc = as && (as->rx || as->tx) ? bits : 0;
    if (bits && as->rx != as->tx) at = or_line(as->rx ? as->tx_line : as->rx_line, at);
    SAY_BITS(in, at, p, "pfc.rx", as && as->rx ? bits : 0);
    SAY_BITS(in, at, p, "pfc.tx", as && as->tx ? bits : 0);
    /* room that is given in bytes was chosen for no cable in particular, unless that is given too */
    if (port->pfc && as->cable != 0 && (as->cable_line || as->buffer < 0))
        SAY(in, or_line(as->cable_line, as->line), p, "headroom-cable", "%lldm",
            as->cable > 0 ? (long long)as->cable : (long long)NVUE_CABLE_DEFAULT_M);
}

static void say_group(struct nvue *in, uint32_t p, unsigned tc, const struct nvue_profile *as)
{
    bool lossless = in->port[p].pfc >> tc & 1;
    uint32_t at = as ? or_line(as->pfc_line, as->line) : in->port[p].first;

    SAY_CLASS(in, at, p, tc, "lossless", lossless ? "true" : "false");
    if (!lossless || as->xoff < 0) return;
    at = or_line(as->xoff_line, as->line);
    SAY_CLASS(in, at, p, tc, "reserved", "0B"); /* the threshold is of all of it */
    SAY_CLASS(in, at, p, tc, "xoff", "%lldB", (long long)as->xoff);
    /* counted in the port's own buffer, which fills once the shared one takes no more: not in the queue that marks */
    UNJUDGED(in, at, "ECN003", p, "xoff-threshold is reached when the shared buffer is used up");
    if (as->xon >= 0) SAY_CLASS(in, or_line(as->xon_line, as->line), p, tc, "xon", "%lldB", (long long)as->xon);
    at = or_line(as->buffer_line, as->line);
    if (as->buffer >= as->xoff)
        SAY_CLASS(in, at, p, tc, "headroom", "%lldB", (long long)(as->buffer - as->xoff));
    else if (as->buffer >= 0)
        NOTE(in, at, "HR005", CONFIG_NONE,
             "pfc %.60s: port-buffer %lld is less than xoff-threshold %lld: no headroom is left", as->name,
             (long long)as->buffer, (long long)as->xoff);
}

static void say_curve(struct nvue *in, uint32_t p, unsigned tc, const struct nvue_profile *as, unsigned q)
{
    const struct nvue_curve *curve = as ? &as->curve[q] : NULL;
    uint32_t at = curve ? curve->line : in->port[p].first;
    if (curve && !curve->on && !curve->met && in->port[p].pfc >> tc & 1) /* another queue has what this one lacks */
        for (unsigned o = 0; o < FABRIC_PRIOS; o++)
            if (as->curve[o].on && as->curve[o].met && !(in->port[p].pfc >> o & 1)) at = as->curve[o].line;
    bool bad = curve && curve->on && (curve->max == 0 || curve->min > curve->max || curve->probability == 0);

    if (bad) {
        at = or_line(curve->probability == 0               ? curve->chance_line
                     : curve->min_line || !curve->max_line ? curve->min_line
                                                           : curve->max_line,
                     curve->line);
        NOTE(in, at, "ECN002", CONFIG_NONE,
             "congestion-control %.60s: %lld to %lld bytes at %lld %% are no marking curve", as->name,
             (long long)curve->min, (long long)curve->max, (long long)curve->probability);
    }
    if (!curve || !curve->on || bad) {
        SAY_CLASS(in, at, p, tc, "ecn", "false");
        return;
    }
    SAY_CLASS(in, or_line(curve->min_line, curve->line), p, tc, "ecn.min", "%lldB", (long long)curve->min);
    SAY_CLASS(in, or_line(curve->max_line, curve->line), p, tc, "ecn.max", "%lldB", (long long)curve->max);
    SAY_CLASS(in, at, p, tc, "ecn.probability", "%lld%%", (long long)curve->probability);
}

/* Of shares that the text gives itself: what lies over the profile of `qos roce` is not all of them. */
static void judge_shares(struct nvue *in, const struct nvue_profile *as)
{
    int64_t sum = 0, most = 0;
    uint32_t last = 0; /* line of the largest */

    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!as->scheduled[q] || as->strict[q]) continue;
        if (as->weight[q] && !as->weight_line[q]) return;
        sum += as->weight[q];
        if (as->weight[q] > most) most = as->weight[q], last = as->weight_line[q];
    }
    if (sum > 100)
        NOTE(in, last, "SCH001", CONFIG_NONE, "egress-scheduler %.60s: the shares of its queues add up to %lld %%",
             as->name, (long long)sum);
}

static void say_turns(struct nvue *in, uint32_t p, const struct nvue_profile *as, const uint8_t *queue,
                      unsigned classes)
{
    int64_t sum = 0;
    unsigned shared = 0, counted = 0;
    char buf[UNIT_TEXT];

    if (!as) return;
    judge_shares(in, as);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = queue[tc];
        if (!(classes >> tc & 1) || (counted >> q & 1) || !as->scheduled[q] || as->strict[q]) continue;
        counted |= 1u << q;
        sum += as->weight[q];
    }
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = queue[tc];
        if (!(classes >> tc & 1) || !as->scheduled[q]) continue;
        SAY_CLASS(in, or_line(as->scheduled_line[q], as->line), p, tc, "strict", as->strict[q] ? "true" : "false");
        if (as->strict[q] || (shared >> q & 1) || !sum || !as->weight[q]) continue;
        shared |= 1u << q; /* a queue's share is said for the lowest of its classes */
        uint64_t ppm = (uint64_t)(as->weight[q] * 1000000 / sum);
        SAY_CLASS(in, or_line(as->weight_line[q], as->line), p, tc, "share", "%s",
                  unit_format(UNIT_SHARE, ppm ? ppm : 1, buf));
    }
}

/* Without any map a port trusts PCP, as the system does by itself; one that trusts nothing puts all into one class. */
static unsigned say_map(struct nvue *in, uint32_t p, const struct nvue_profile *mapping)
{
    const struct nvue_port *port = &in->port[p];
    bool pcp = !mapping || mapping->pcp;
    uint32_t at = mapping ? or_line(mapping->trust_line, mapping->line) : port->first;
    unsigned classes = 0;

    SAY(in, at, p, "trust", pcp ? "pcp" : "dscp");
    if (in->roce && !in->lossy_line && pcp && mapping && mapping->trust_line && !port->off)
        NOTE(in, at, "MAP003", CONFIG_NONE, "mapping %.60s trusts 802.1p: the DSCPs that RoCE mode maps have no effect",
             mapping->name);
    for (unsigned d = 0; mapping && (pcp || mapping->fixed) && !port->off && d < 64; d++) {
        if (!(mapping->dscp_named >> d & 1)) continue; /* not of a line of its own */
        NOTE(in, at, "MAP003", CONFIG_NONE, "mapping %.60s trusts %s: its lines of DSCPs have no effect", mapping->name,
             pcp ? "802.1p" : "nothing that packets have");
        break;
    }
    for (unsigned f = 0; f < (pcp ? 8u : 64u); f++) {
        unsigned to = pcp ? (mapping ? mapping->pcp_to[f] : f) : mapping->dscp[f];
        uint32_t here = pcp || mapping->fixed ? at : mapping->dscp_line[f];
        if (mapping && mapping->fixed) to = mapping->fixed_to;
        SAY_MAP(in, here, p, pcp ? "pcp-map" : "dscp-map", f, to);
        classes |= 1u << to;
    }
    return classes;
}

static void say_alpha(struct nvue *in, uint32_t p, unsigned tc, unsigned q)
{
    if ((in->port[p].pfc >> tc & 1) && in->alpha[0])
        SAY_CLASS(in, in->alpha_line, p, tc, "alpha", "%s", in->alpha);
    else if (!(in->port[p].pfc >> tc & 1) && in->lossy_alpha[q][0])
        SAY_CLASS(in, in->lossy_alpha_line[q], p, tc, "alpha", "%s", in->lossy_alpha[q]);
}

/* Does the map lead from this DSCP to the priority?  By its own lines, where these name any for the priority: DSCPs
 * that no line names are another's to use. */
static bool leads_to(const struct nvue_profile *map, unsigned dscp, unsigned prio)
{
    bool named = false;

    for (unsigned d = 0; d < 64; d++)
        named = named || (map->dscp[d] == prio && map->dscp_named >> d & 1);
    return map->dscp[dscp] == prio && (!named || map->dscp_named >> dscp & 1);
}

/* A switch with the same map has to find the priority again by the DSCP that a packet leaves with. */
static void judge_remark(struct nvue *in, const struct nvue_port *port, const struct nvue_profile *remark)
{
    bool said = false;

    for (unsigned prio = 0; prio < FABRIC_PRIOS; prio++) {
        if (!remark->remark_line[prio]) continue;
        said = true;
        if (!port->dscps || leads_to(port->dscps, remark->remark[prio], prio)) continue;
        NOTE(in, remark->remark_line[prio], "MAP004", CONFIG_NONE,
             "remark %.60s: packets of priority %u leave with DSCP %u, which the map does not name for it",
             remark->name, prio, remark->remark[prio]);
    }
    if (!said)
        NOTE(in, remark->rewrite_line, "MAP004", CONFIG_NONE,
             "remark %.60s: packets leave with another DSCP than they came with", remark->name);
}

/* What a fabric has once a switch, or not beside PFC. */
static void say_rest(struct nvue *in, uint32_t p)
{
    const struct nvue_port *port = &in->port[p];
    const struct nvue_profile *pause = profile_for(in, port, PAUSE), *remark = profile_for(in, port, REMARK);

    if (pause && (pause->rx || pause->tx)) SAY(in, or_line(port->line[PAUSE], pause->line), p, "pause", "802.3x");
    if (remark && remark->rewrites && !port->off) judge_remark(in, port, remark);
}

/* The line that gives the watchdog to several ports at once, `swp1-8`; 0: there is none. */
static uint32_t watched_range(const struct nvue *in)
{
    for (uint32_t p = 1; p < in->ports; p++)
        if (in->port[p].watchdog && in->port[p - 1].watchdog && in->port[p].watchdog_line &&
            in->port[p].watchdog_line == in->port[p - 1].watchdog_line)
            return in->port[p].watchdog_line;
    return 0;
}

/* A priority of which no line speaks stays in the queue of its own number.  Where a class that pauses is put there, and
 * the queue is scheduled for it, that is a choice: what else could come by default is told, and taken to go with all
 * the rest. */
static void leave_queue(struct nvue *in, uint32_t p, const struct nvue_profile *queues,
                        const struct nvue_profile *mapping, const struct nvue_profile *pfc,
                        const struct nvue_profile *turns, uint8_t queue[FABRIC_PRIOS])
{
    for (unsigned tc = 0; queues && pfc && turns && tc < FABRIC_PRIOS; tc++) {
        uint32_t by = 0;
        if (queues->queue_line[tc] || queue[tc] != tc || !turns->scheduled[tc] || pfc->priorities >> tc & 1) continue;
        for (unsigned moved = 0; moved < FABRIC_PRIOS; moved++)
            if (queues->queue_line[moved] && queue[moved] == tc && pfc->priorities >> moved & 1)
                by = queues->queue_line[moved];
        for (unsigned d = 0; by && mapping && d < 64; d++)
            if (mapping->dscp[d] == tc && mapping->dscp_named >> d & 1) by = 0; /* a line leads there */
        if (!by) continue;
        queue[tc] = queue[mapping ? mapping->dscp[0] : 0];
        if (!in->port[p].off)
            HINT(in, by, "MAP001", CONFIG_NONE,
                 "switch priority %u is in traffic class %u too, where no line puts it elsewhere", tc, tc);
    }
}

void nvue_say_port(struct nvue *in, uint32_t p)
{
    struct nvue_port *port = &in->port[p];
    const struct nvue_profile *mapping = profile_for(in, port, MAPPING), *queues = profile_for(in, port, QUEUES);
    const struct nvue_profile *pfc = profile_for(in, port, PFC), *marking = profile_for(in, port, MARKING);
    const struct nvue_profile *turns = profile_for(in, port, SCHEDULER);
    uint8_t queue[FABRIC_PRIOS] = {0, 1, 2, 3, 4, 5, 6, 7};
    unsigned classes = say_map(in, p, mapping);

    if (queues) memcpy(queue, queues->queue, sizeof(queue));
    leave_queue(in, p, queues, mapping, pfc, turns, queue);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        /* a priority that pauses and has no queue of its own: the line that makes it pause needs another */
        uint32_t needs = pfc && pfc->priorities >> tc & 1 && queue[tc] != tc ? pfc->pfc_line : 0;
        uint32_t line = queues ? or_line(queues->queue_line[tc], or_line(needs, queues->line)) : port->first;
        SAY_MAP(in, line, p, "queue-map", tc, queue[tc]);
    }
    if (!config_said(in->set, in->device, p, "mtu"))
        SAY(in, port->first, p, "mtu", "%u", NVUE_MTU_DEFAULT + NVUE_MTU_OVER);
    say_pfc(in, p, pfc);
    classes |= port->pfc;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (turns && turns->scheduled[queue[tc]]) classes |= 1u << tc;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!(classes >> tc & 1)) continue;
        say_group(in, p, tc, pfc);
        say_curve(in, p, tc, marking, queue[tc]);
        say_alpha(in, p, tc, queue[tc]);
    }
    say_turns(in, p, turns, queue, classes);
    if (mapping && !mapping->pcp && !mapping->fixed) port->dscps = mapping;
    say_rest(in, p);
}

/* 0: DSCP 26, with which adapters send RDMA by custom, is in a class that pauses, or that is not known; 1: it is in one
 * that does not, and PFC is on for others. */
static bool leads_elsewhere(const struct nvue_port *port)
{
    unsigned near = 0, others = 0;

    if (port->off || !port->pfc || !port->dscps || (port->pfc >> port->dscps->dscp[ROCE_DSCP] & 1)) return false;
    for (unsigned d = 0; d < 64; d++)
        if ((port->pfc >> port->dscps->dscp[d] & 1) && (port->dscps->dscp_named >> d & 1))
            *(d / 8 == ROCE_DSCP / 8 ? &near : &others) += 1;
    /* A map that leads other DSCPs there, by lines of its own, means it; also where a line puts 26 with DSCP 0. */
    return near ? port->dscps->dscp[ROCE_DSCP] != port->dscps->dscp[0] : !others;
}

/* PFC is on for another priority than the one that RDMA is in: told at the port that differs from most, else at the map
 * where that says so in a line of its own, else at the PFC profile. */
void nvue_judge_maps(struct nvue *in)
{
    uint32_t good = 0, bad = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        bool wrong = leads_elsewhere(&in->port[p]);
        bad += wrong;
        good += !wrong && !in->port[p].off && in->port[p].pfc;
    }
    for (uint32_t p = 0; p < in->ports && bad; p++) {
        const struct nvue_port *port = &in->port[p];
        if (!leads_elsewhere(port)) continue;
        unsigned tc = port->dscps->dscp[ROCE_DSCP];
        bool own = (port->dscps->dscp_named >> ROCE_DSCP & 1) && tc != ROCE_DSCP / 8;
        const struct nvue_profile *pfc = profile_for(in, port, PFC);
        uint32_t line = own ? port->dscps->dscp_line[ROCE_DSCP] : pfc ? or_line(pfc->pfc_line, pfc->line) : port->first;
        if (good > bad) line = or_line(port->line[own ? MAPPING : PFC], line);
        NOTE(in, line, "MAP001", good > bad ? p : CONFIG_NONE,
             "DSCP %u, which RoCE adapters send by custom, is priority %u, and PFC of %s%.60s is on for another",
             ROCE_DSCP, tc, pfc && port->profile[PFC] ? "profile " : "",
             pfc && port->profile[PFC] ? port->profile[PFC] : "this switch");
    }
}

void nvue_say_watchdog(struct nvue *in)
{
    bool any = false, pauses = false;
    uint32_t with = 0, without = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        any = any || in->port[p].watchdog;
        pauses = pauses || (in->port[p].pfc && !in->port[p].off);
    }
    if (!any) {
        if (pauses) SAY(in, 0, CONFIG_NONE, "watchdog", "false");
        return;
    }
    long long detect = (long long)(in->poll * in->robustness);
    uint32_t poll_line = or_line(in->poll_line, 1), detect_line = or_line(in->robustness_line, poll_line);
    SAY(in, poll_line, CONFIG_NONE, "watchdog.poll", "%lldms", (long long)in->poll);
    SAY(in, detect_line, CONFIG_NONE, "watchdog.detect", "%lldms", detect);
    SAY(in, detect_line, CONFIG_NONE, "watchdog.restore", "%lldms", detect);
    for (uint32_t p = 0; p < in->ports; p++)
        if (in->port[p].pfc && !in->port[p].off) *(in->port[p].watchdog ? &with : &without) += 1;
    uint32_t range = watched_range(in);
    for (uint32_t p = 0; p < in->ports; p++) {
        const struct nvue_port *port = &in->port[p];
        if (!port->pfc || port->watchdog) continue;
        /* of few ports that lack it at the line that gives it to others, or else at theirs; of most where they all are
         * told to pause */
        uint32_t line = or_line(port->watchdog_line, or_line(range, port->first));
        uint32_t at = with >= without ? line : config_said_at(in->set, in->device, p, "pfc.tx").line;
        SAY(in, at, p, "watched", "false");
    }
}
