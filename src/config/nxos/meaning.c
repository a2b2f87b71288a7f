/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interface of NX-OS means in a fabric: its own lines met with `system qos`.
 */
#include <stdio.h>
#include <string.h>

#include "config/nxos/nxos_int.h"

#define CNP_DSCP_LEAST 40u /* of those that CNPs are sent with */

/* Where a DSCP that no class takes would have been taken: by the class whose number it has in its upper bits; that of
 * CNPs by the class of a strict queue; or else in the policy as a whole. */
static uint32_t unmatched_line(const struct nxos_policy *qos, const struct nxos_policy *out, unsigned dscp)
{
    if (qos->rest) return qos->rest_line;
    if (dscp >= 8 && qos->group_line[dscp / 8]) return qos->group_line[dscp / 8];
    for (unsigned q = NXOS_PRIOS; q-- > 1 && dscp >= CNP_DSCP_LEAST && out;)
        if (out->queue[q].strict && qos->group_line[q]) return qos->group_line[q];
    return qos->line;
}

static void say_maps(struct nxos *nxos, uint32_t port, const struct nxos_port *as, const struct nxos_policy *qos)
{
    const struct nxos_policy *out = as->out ? as->out : nxos->queuing_out;
    uint32_t line = as->qos_line ? as->qos_line : as->home_line;
    bool pcp = qos && qos->by_cos && !qos->by_dscp;

    SAY(nxos, line, port, "trust", "%s", pcp ? "pcp" : "dscp");
    for (unsigned d = 0; d < 64; d++) {
        uint32_t at = !qos ? line : qos->dscp_line[d] ? qos->dscp_line[d] : unmatched_line(qos, out, d);
        /* best effort or control in a class with others: what it matches is wrong, not where the class goes */
        if (qos && qos->among_line[d] && (d == 0 || d >= CONFIG_CNP_DSCP)) at = qos->among_line[d];
        SAY_MAP(nxos, at, port, "dscp-map", d, qos && !pcp ? qos->dscp_to_tc[d] : 0);
    }
    for (unsigned p = 0; pcp && p < 8; p++)
        SAY_MAP(nxos, qos->cos_line[p] ? qos->cos_line[p] : line, port, "pcp-map", p, qos->cos_to_tc[p]);
}

/* Classes that the policy leads to; without one, all that there are. */
static uint8_t carried_by(const struct nxos_policy *qos)
{
    uint8_t carried = 0;

    for (unsigned d = 0; qos && d < 64; d++)
        carried |= (uint8_t)(1u << qos->dscp_to_tc[d]);
    for (unsigned p = 0; qos && p < 8; p++)
        carried |= (uint8_t)(1u << qos->cos_to_tc[p]);
    return qos ? carried : 0xff;
}

/* `line`: where turn and marking would be said. */
static void say_queue(struct nxos *nxos, uint32_t port, unsigned q, struct nxos_queue *queue, bool lossless,
                      const struct nxos_policy *qos, uint32_t line)
{
    bool fed = qos && carried_by(qos) >> q & 1;
    bool carries = (carried_by(qos) | (nxos->network ? nxos->network->named : 0) | 1u) >> q & 1;
    uint32_t at = queue->ecn_line, sched = queue->share_line;

    /* A queue of nothing makes no class, unless CNPs are in one that is not strict: they belong there. */
    bool spare = qos && !(queue - q)[qos->cnp_group ? qos->cnp_group : qos->dscp_to_tc[CONFIG_CNP_DSCP]].strict;
    if (queue->strict && (carries || spare))
        SAY_CLASS(nxos, sched, port, q, "strict", "true");
    else if (fed) /* its turn would be said here */
        SAY_CLASS(nxos, queue->share_line ? sched : (line), port, q, "strict", "false");
    if (!queue->strict && queue->share_ppm) SAY_CLASS(nxos, sched, port, q, "share", "%u%%", queue->share_ppm / 10000);
    if (!queue->detect) {
        if (lossless) SAY_CLASS(nxos, line, port, q, "ecn", "false");
        return;
    }
    if (queue->ecn) {
        SAY_CLASS(nxos, at, port, q, "ecn.min", "%lluB", (unsigned long long)queue->min_bytes);
        SAY_CLASS(nxos, at, port, q, "ecn.max", "%lluB", (unsigned long long)queue->max_bytes);
        SAY_CLASS(nxos, at, port, q, "ecn.probability", "%u%%", queue->probability_ppm / 10000);
    } else if (lossless) {
        SAY_CLASS(nxos, at, port, q, "ecn", "false");
        if (queue->noted) return;
        queue->noted = true;
        NOTE(nxos, at, "ECN006", CONFIG_NONE, "random-detect without ecn drops packets of the lossless qos-group %u",
             q);
    }
}

static void say_ingress(struct nxos *nxos, uint32_t port, const struct nxos_policy *in)
{
    for (unsigned q = 0; in && q < NXOS_PRIOS; q++) {
        const struct nxos_queue *queue = &in->queue[q];
        uint32_t at = queue->pause_line;
        if (queue->buffer_bytes == NXOS_UNSAID) continue;
        SAY_CLASS(nxos, at, port, q, "xoff", "%lluB", (unsigned long long)queue->pause_bytes);
        SAY_CLASS(nxos, at, port, q, "reserved", "0B"); /* the threshold is of all of it */
        SAY_CLASS(nxos, at, port, q, "xon", "%lluB", (unsigned long long)(queue->pause_bytes - queue->resume_bytes));
        SAY_CLASS(nxos, at, port, q, "headroom", "%lluB",
                  (unsigned long long)(queue->buffer_bytes - queue->pause_bytes));
    }
}

/* Where PFC that is on for the port would have been made to pause: the class of network-qos that has what comes in and
 * does not pause, or else its policy.  0: there is none, or it pauses. */
static uint32_t idle_class(const struct nxos *nxos, const struct nxos_policy *qos)
{
    const struct nxos_policy *network = nxos->network;

    if (!network) return nxos->network_line ? nxos->network_line : nxos->system_line;
    if (network->pfc) return 0;
    for (unsigned q = NXOS_PRIOS; q-- > 1;)
        if (qos && carried_by(qos) >> q & 1 && network->class_line[q]) return network->class_line[q];
    return network->line;
}

/* A policy of type network-qos that pauses and is not applied; NULL: there is none. */
static const char *unapplied(const struct nxos *nxos)
{
    for (const struct nxos_policy *policy = nxos->policies; policy; policy = policy->next)
        if (policy->kind == NXOS_NETWORK && !policy->used && policy->pfc) return policy->name;
    return NULL;
}

static void say_pfc(struct nxos *nxos, uint32_t port, const struct nxos_port *as, struct nxos_policy *qos)
{
    uint8_t lossless = nxos->network ? nxos->network->lossless : 0, carried = qos ? carried_by(qos) : 0;
    uint32_t line = as->pfc_line ? as->pfc_line : as->line, idle = as->pfc == PFC_ON ? idle_class(nxos, qos) : 0;
    uint32_t at = idle ? idle : line;

    bool automatic = as->pfc == PFC_AUTO || (as->pfc == PFC_UNSAID && (carried & lossless));
    bool on = (as->pfc == PFC_ON || automatic) && nxos->network && nxos->network->pfc;
    SAY_BITS(nxos, at, port, "pfc", on ? nxos->network->pfc : 0);
    nxos->pauses |= on && !as->down;
    if (on && !as->down && as->mtu > nxos->mtu_most) nxos->mtu_most = as->mtu;
    if (as->pfc == PFC_ON && !on && !as->down && (nxos->whole || nxos->network))
        NOTE(nxos, at, "PFC002", idle ? CONFIG_NONE : port,
             "priority-flow-control is on, and no class of network-qos pauses: nothing is protected%s%.60s%s",
             unapplied(nxos) ? " (policy-map " : "", unapplied(nxos) ? unapplied(nxos) : "",
             unapplied(nxos) ? " would, and is not applied)" : "");
    if (on && automatic) SAY(nxos, at, port, "pfc-mode", "auto");
    if (on && nxos->watchdog.on && !as->watch)
        SAY(nxos, as->watch_line ? as->watch_line : as->home_line, port, "watched", "false");
    if (as->pause_line && on)
        NOTE(nxos, as->pause_line, "PFC005", port, "flowcontrol and priority-flow-control exclude each other");
    else if (as->pause_line)
        SAY(nxos, as->pause_line, port, "pause", "802.3x");
}

/* CoS is in the tag, and frames of a routed port have none. */
static void judge_cos(struct nxos *nxos, uint32_t port, const struct nxos_port *as, const struct nxos_policy *qos)
{
    if (!qos || !qos->cos_only_line || as->down || !nxos->network || !nxos->network->pfc) return;
    if (as->pfc == PFC_OFF) return;
    if (qos->bridged) /* it is right elsewhere */
        NOTE(nxos, as->qos_line ? as->qos_line : as->line, "MAP003", port,
             "policy-map %.60s matches CoS, and frames of a routed port have no tag", qos->name);
    else
        NOTE(nxos, qos->cos_only_line, "MAP003", CONFIG_NONE,
             "policy-map %.60s is on routed ports, whose frames have no tag and so no CoS", qos->name);
}

/* Frames: of the port, of network-qos where the platform has it so, or 1500. */
static void say_mtu(struct nxos *nxos, uint32_t port, const struct nxos_port *as, bool routed)
{
    const struct nxos_policy *network = nxos->network;
    uint32_t mtu = as->mtu ? as->mtu : 1500, line = as->mtu_line ? as->mtu_line : as->line;

    for (unsigned q = 0; network && nxos->network_mtu && !routed && !as->mtu && q < NXOS_PRIOS; q++) {
        /* that of what is lossless counts, else of everything else */
        bool of_rdma = network->lossless >> q & 1, rest = q == 0 && !network->lossless;
        if (!(of_rdma || rest) || !network->mtu[q]) continue;
        mtu = network->mtu[q];
        line = network->mtu_line[q];
    }
    SAY(nxos, line, port, "mtu", "%u", mtu);
    for (unsigned q = 0; network && q < NXOS_PRIOS; q++) {
        char path[32];
        snprintf(path, sizeof(path), "own.class-mtu.%u", q);
        if (network->mtu[q]) SAY(nxos, network->mtu_line[q], port, path, "%u", network->mtu[q]);
    }
}

static void say_rate(struct nxos *nxos, uint32_t port, const struct nxos_port *as)
{
    uint32_t lane;
    const struct nxos_breakout *breakout = nxos_breakout(nxos, as->name, &lane);

    if (as->rate_mbps)
        SAY(nxos, as->rate_line, port, "rate", "%uM", as->rate_mbps);
    else if (breakout && lane)
        SAY(nxos, breakout->line, port, "rate", "%uM", breakout->rate_mbps);
    if (breakout && (lane == 0 || lane > breakout->lanes))
        NOTE(nxos, as->line, NULL, port, "there is no such port: its cage is broken out into %u, /1 to /%u",
             breakout->lanes, breakout->lanes);
}

static void say_queues(struct nxos *nxos, uint32_t port, const struct nxos_port *as, const struct nxos_policy *qos)
{
    struct nxos_policy *out = as->out ? as->out : nxos->queuing_out, *network = nxos->network;

    for (unsigned q = 0; q < NXOS_PRIOS; q++) {
        bool lossless = network && network->lossless >> q & 1;
        if (lossless)
            SAY_CLASS(nxos, network->lossless_line[q], port, q, "lossless", "true");
        else if (network && network->class_line[q] && q)
            SAY_CLASS(nxos, network->class_line[q], port, q, "lossless", "false");
        else if (!network && nxos->system_line && q && carried_by(qos) >> q & 1 && qos)
            SAY_CLASS(nxos, nxos->system_line, port, q, "lossless", "false");
        if (lossless && !out && nxos->system_line)
            SAY_CLASS(nxos, nxos->queuing_line ? nxos->queuing_line : nxos->system_line, port, q, "ecn", "false");
        if (out)
            say_queue(nxos, port, q, &out->queue[q], lossless, qos,
                      out->queue[q].line ? out->queue[q].line : out->line);
    }
}

/* A policy that is not defined was not read: what it would have set is not known. */
void nxos_unknown(struct nxos *nxos, uint32_t line, enum nxos_type type, uint32_t port)
{
    static const char *const rules[] = {
        [NXOS_QOS] = "MAP PFC008 PFC010 HOST001 SIB001",
        [NXOS_NETWORK] = "PFC HR ECN BUF MAP001 MAP005 MAP006 MAP008",
        [NXOS_QUEUING] = "ECN SCH MAP005 MAP008 SIB001",
    };

    UNJUDGED(nxos, line, rules[type], port, "the policy-map that is applied is not in the text");
}

void nxos_say_port(struct nxos *nxos, const struct nxos_port *as)
{
    uint32_t by = config_blocks_have(&as->blocks, as->qos_line) ? as->qos_line
                  : as->blocks.last                             ? as->blocks.last->first
                                                                : as->line;
    uint32_t port = lines_port_say(&nxos->lines_in, (const struct lines_port *)as, by, "port-channel");
    struct nxos_policy *qos = as->qos ? as->qos : nxos->qos;
    bool routed = as->routed;

    if (port == CONFIG_NONE) return;
    if (!as->used) config_idle(nxos->set, nxos->device, port);
    if (as->qos_missing) nxos_unknown(nxos, as->qos_missing, NXOS_QOS, port);
    if (qos && qos->unknown_line) nxos_unknown(nxos, qos->unknown_line, NXOS_QOS, port);
    if (as->out_missing) nxos_unknown(nxos, as->out_missing, NXOS_QUEUING, port);
    say_mtu(nxos, port, as, routed);
    say_rate(nxos, port, as);
    if (as->down)
        SAY(nxos, as->down_line, port, "up", "false");
    else if (nxos->down_line && !as->down_line && !routed)
        SAY(nxos, nxos->down_line, port, "up", "false");
    say_maps(nxos, port, as, qos);
    say_queues(nxos, port, as, qos);
    say_ingress(nxos, port, as->in ? as->in : nxos->queuing_in);
    say_pfc(nxos, port, as, qos);
    if (routed)
        judge_cos(nxos, port, as, qos);
    else if (qos && qos->cos_only_line && as->pfc != PFC_OFF && !as->down)
        UNJUDGED(nxos, as->line, "MAP003", port, "switched ports have tags");
}

/* A class that pauses and does not take the frames that come in: what is longer is dropped in it.  FCoE's is as large
 * as its own frames. */
void nxos_judge_mtu(struct nxos *nxos)
{
    const struct nxos_policy *network = nxos->network;

    for (unsigned q = 0; network && nxos->pauses && q < NXOS_PRIOS; q++) {
        bool wanted = nxos->network_mtu || nxos->mtu_most >= NXOS_ROCE_FRAME;
        if (!(network->lossless >> q & 1) || network->fcoe >> q & 1 || !wanted) continue;
        if (!network->mtu[q] || network->mtu[q] >= NXOS_ROCE_FRAME) continue;
        NOTE(nxos, network->mtu_line[q], "MTU001", CONFIG_NONE,
             "the lossless qos-group %u takes frames of %u B in policy-map %.60s; a RoCE packet with 4096 bytes needs "
             "%u",
             q, network->mtu[q], network->name, NXOS_ROCE_FRAME);
    }
}

/* A lossless qos-group and the priority that it pauses should be one number.  Which of the two is wrong is told by what
 * the policies of type qos lead to; what else does not fit follows from it. */
void nxos_judge_groups(struct nxos *nxos)
{
    const struct nxos_policy *network = nxos->network;
    uint8_t carried = 0;

    if (!network || !network->elsewhere_line) return;
    for (const struct nxos_policy *qos = nxos->policies; qos; qos = qos->next)
        if (qos->kind == NXOS_QOS && qos->used) carried |= carried_by(qos);
    for (unsigned q = 1; q < NXOS_PRIOS; q++) {
        unsigned priority = network->paused[q];
        if (!(network->lossless >> q & 1) || priority == q) continue;
        if (!(carried >> q & 1) && carried >> priority & 1)
            NOTE(nxos, network->class_line[q], "PFC007", CONFIG_NONE,
                 "qos-group %u is lossless and nothing is put into it: what comes in goes to qos-group %u, which is "
                 "lossy",
                 q, priority);
        else
            NOTE(nxos, network->lossless_line[q], "PFC007", CONFIG_NONE,
                 "qos-group %u pauses priority %u: peers that send this class with priority %u are not paused", q,
                 priority, q);
    }
    UNJUDGED(nxos, network->elsewhere_line, "PFC001 PFC003 PFC008 HR ECN001 WD004", CONFIG_NONE,
             "a qos-group pauses another priority than its own, which a fabric file cannot hold");
}
