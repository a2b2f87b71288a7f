/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interface of EOS means in a fabric: its own lines over its profile's, met with the maps of the switch.
 */
#include <stdio.h>

#include "config/eos/eos_int.h"

#define SHARE_USUAL 25u /* percent that a class without loss is due where nothing is said */

/* A queue without loss that may send less than the share it is promised. */
static void judge_shape(struct eos *eos, uint32_t port, const struct eos_queue *queue)
{
    uint32_t due = queue->share_ppm ? queue->share_ppm / 10000 : SHARE_USUAL;

    if (!queue->shape_percent || queue->shape_percent >= due) return;
    CAUTION(eos, queue->shape_line, "SCH001", port,
            "a queue without loss is held to %u %% of the line, and is due %u: what is over waits, and is paused",
            queue->shape_percent, due);
}

/* Queues from the highest that shares downwards share; others are strict. */
static void say_queues(struct eos *eos, uint32_t port, const struct eos_qos *qos, uint8_t used, uint32_t line)
{
    unsigned cnp = eos->dscp_to_tc[EOS_CNP_DSCP];
    uint32_t sum = 0;
    int sharing = -1;
    uint8_t said = 0; /* queues: of several classes in one the first speaks for it */

    for (int q = 0; q < EOS_PRIOS; q++) {
        if (!qos->queue[q].round_robin) continue;
        sharing = q;
    }
    uint32_t most = 0, largest = line;
    for (int q = 0; q <= sharing; q++) {
        const struct eos_queue *queue = &qos->queue[q];
        sum += queue->strict ? 0 : queue->share_ppm;
        if (!queue->strict && queue->share_ppm > most) most = queue->share_ppm, largest = queue->share_line;
    }
    if (sum > 1000000) CAUTION(eos, largest, "SCH001", port, "the shares of its queues add up to %u%%", sum / 10000);
    for (unsigned tc = 0; tc < EOS_PRIOS; tc++) {
        const struct eos_queue *queue = &qos->queue[eos->tc_to_queue[tc]];
        bool share = (int)eos->tc_to_queue[tc] <= sharing && !queue->strict;
        uint32_t at = queue->sched_line ? queue->sched_line : line;
        if ((!(used >> tc & 1) && !queue->line) || said >> eos->tc_to_queue[tc] & 1) continue;
        said |= (uint8_t)(1u << eos->tc_to_queue[tc]);
        if (qos->no_drop >> tc & 1) judge_shape(eos, port, queue);
        /* One that nobody set is strict too; that is worth a word where CNPs are in it. */
        if (!share && (queue->line || cnp == tc))
            SAY_CLASS(eos, at, port, tc, "strict", "true");
        else if (share && queue->line)
            SAY_CLASS(eos, queue->round_robin ? at : (queue->line), port, tc, "strict", "false");
        if (share && queue->share_ppm && sum <= 1000000)
            SAY_CLASS(eos, queue->share_line, port, tc, "share", "%u%%", queue->share_ppm / 10000);
        if (!queue->ecn && qos->no_drop >> tc & 1) { /* where marking would be said; nowhere is the first such port */
            if (!eos->unmarked_line) eos->unmarked_line = line;
            uint32_t where = queue->line ? queue->line : eos->marks ? line : eos->unmarked_line;
            SAY_CLASS(eos, where, port, tc, "ecn", "false");
        }
        if (!queue->ecn) continue;
        at = queue->ecn_line;
        SAY_CLASS(eos, at, port, tc, "ecn.min", "%lluB", (unsigned long long)queue->min_bytes);
        SAY_CLASS(eos, at, port, tc, "ecn.max", "%lluB", (unsigned long long)queue->max_bytes);
        SAY_CLASS(eos, at, port, tc, "ecn.probability", "%u%%", queue->probability_ppm / 10000);
    }
}

/* Where a line that is missing would stand: in the port's profile, or on the port. */
static uint32_t of_profile(const struct eos_port *as)
{
    return as->profile_line ? as->profile_line : as->line;
}

struct classified { /* the maps of one port, with the lines they come from */
    bool cos;       /* trusted */
    uint8_t dscp_to_tc[64], cos_to_tc[8];
    uint32_t dscp_line[64], cos_line[8];
};

static void classify(struct eos *eos, const struct eos_port *as, const struct eos_qos *qos, struct classified *ret)
{
    const struct eos_policy *policy = qos->policy;
    bool none = qos->trust == EOS_TRUST_NONE;
    uint8_t usual = as->routed ? eos->dscp_to_tc[qos->usual_dscp] : eos->cos_to_tc[qos->usual_cos];
    bool by_dscp = false;

    ret->cos = qos->trust == EOS_TRUST_COS || (qos->trust == EOS_TRUST_UNSAID && !as->routed);
    for (unsigned d = 0; d < 64; d++) {
        bool taken = policy && policy->dscp_line[d];
        ret->dscp_to_tc[d] = taken ? policy->dscp_to_tc[d] : none ? usual : eos->dscp_to_tc[d];
        ret->dscp_line[d] = taken ? policy->dscp_line[d] : none ? qos->trust_line : eos->dscp_line[d];
        if (taken && d == 0 && policy->match_line)
            ret->dscp_line[d] = policy->match_line; /* what is matched is wrong */
        if (!ret->dscp_line[d]) ret->dscp_line[d] = as->line;
        by_dscp |= taken;
    }
    for (unsigned c = 0; c < 8; c++) {
        bool taken = policy && policy->cos_line[c];
        ret->cos_to_tc[c] = taken ? policy->cos_to_tc[c] : eos->cos_to_tc[c];
        ret->cos_line[c] = taken ? policy->cos_line[c] : eos->cos_line[c] ? eos->cos_line[c] : as->line;
    }
    if (!by_dscp || !ret->cos) return;
    ret->cos = false; /* the policy looks at the DSCP first; for what it leaves over there is one map only */
    ASSUME(eos, policy->line, CONFIG_NONE,
           "policy-map %.60s is on ports that trust CoS: what it does not match is taken by DSCP", policy->name);
}

static uint8_t say_maps(struct eos *eos, uint32_t port, const struct eos_port *as, const struct eos_qos *qos)
{
    struct classified map;
    uint8_t used = qos->no_drop;

    classify(eos, as, qos, &map);
    SAY(eos, qos->trust_line ? qos->trust_line : of_profile(as), port, "trust", "%s", map.cos ? "pcp" : "dscp");
    for (unsigned d = 0; d < 64; d++) {
        SAY_MAP(eos, map.dscp_line[d], port, "dscp-map", d, map.dscp_to_tc[d]);
        used |= (uint8_t)(1u << map.dscp_to_tc[d]);
    }
    for (unsigned c = 0; c < 8; c++) {
        if (!map.cos && !eos->cos_line[c]) continue;
        SAY_MAP(eos, map.cos_line[c], port, "pcp-map", c, map.cos_to_tc[c]);
        used |= (uint8_t)(1u << map.cos_to_tc[c]);
    }
    uint32_t line = 0; /* the first that speaks of queues: what is beside something else is so by it */
    for (unsigned tc = 0; tc < EOS_PRIOS && !line; tc++)
        line = eos->queue_line[tc];
    for (unsigned tc = 0; tc < EOS_PRIOS; tc++)
        SAY_MAP(eos,
                eos->queue_line[tc] ? eos->queue_line[tc]
                : line              ? line
                                    : as->line,
                port, "queue-map", tc, eos->tc_to_queue[tc]);
    return used;
}

/* Timers of a port: possible, and those of the switch. */
static void judge_timers(struct eos *eos, uint32_t port, const struct eos_qos *qos)
{
    const struct eos_watchdog *usual = &eos->watchdog;
    uint64_t timeout = qos->timeout_ns ? qos->timeout_ns : usual->timeout_ns;
    uint64_t recovery = qos->recovery_ns ? qos->recovery_ns : usual->recovery_ns;
    uint64_t shorter = recovery && recovery < timeout ? recovery : timeout;
    uint32_t at = qos->timer_line;

    if (!qos->timer_line || !eos_watchdog_on(eos, qos)) return;
    if (qos->poll_ns && timeout && qos->poll_ns > shorter / 2)
        NOTE(eos, at, "WD002", port,
             "looks every %llu ms, which must be at most half of the shorter of its times, %llu ms",
             (unsigned long long)(qos->poll_ns / EOS_NS_PER_MS), (unsigned long long)(shorter / EOS_NS_PER_MS));
    if (usual->timeout_ns && (timeout != usual->timeout_ns || recovery != usual->recovery_ns))
        NOTE(eos, at, "WD003", port,
             "detects in %llu ms and restores in %llu ms, the switch's other ports in %llu ms and %llu ms",
             (unsigned long long)(timeout / EOS_NS_PER_MS), (unsigned long long)(recovery / EOS_NS_PER_MS),
             (unsigned long long)(usual->timeout_ns / EOS_NS_PER_MS),
             (unsigned long long)(usual->recovery_ns / EOS_NS_PER_MS));
}

/* A map of DSCPs is written, and the port takes its packets by CoS because nobody told it otherwise: the map's line, or
 * 0. */
static uint32_t trust_is_missing(const struct eos *eos, const struct eos_port *as)
{
    uint32_t map = 0;

    for (unsigned d = 0; d < 64 && !map; d++)
        map = eos->dscp_line[d];
    for (unsigned c = 0; c < 8; c++)
        if (eos->cos_line[c]) map = 0;
    if (!map) map = eos->policy_line; /* that of other ports */
    return as->routed || as->qos.trust != EOS_TRUST_UNSAID || as->qos.policy ? 0 : map;
}

static void judge_trust(struct eos *eos, uint32_t port, const struct eos_port *as)
{
    uint32_t map = trust_is_missing(eos, as);
    bool written = false, cos = false;

    for (unsigned d = 0; d < 64; d++)
        written |= eos->dscp_line[d] != 0;
    for (unsigned c = 0; c < 8; c++)
        cos |= eos->cos_line[c] != 0;
    if (as->qos.trust == EOS_TRUST_COS && !as->qos.policy && written && (as->routed || !cos))
        NOTE(eos, as->qos.trust_line, "MAP003", port,
             as->routed ? "trusts CoS, and frames of a routed port have no tag"
                        : "trusts CoS, and the switch has a map of DSCPs and none of CoS");
    if (map)
        NOTE(eos, as->home_line ? as->home_line : of_profile(as), "MAP003", port,
             map == eos->policy_line ? "it has neither trust of DSCP nor the policy-map of other ports, in line %u: a "
                                       "switched port trusts CoS"
                                     : "`qos trust dscp` is missing: a switched port trusts CoS, and the map of DSCPs "
                                       "in line %u is not asked",
             map);
    if (map) UNJUDGED(eos, as->line, "MAP001 MAP002 MAP006 MAP008 SIB001", port, "nothing says how it classifies");
}

/* Which classes are lossless, and PFC; true: it is on. */
static bool say_pauses(struct eos *eos, uint32_t port, const struct eos_port *as, uint8_t used)
{
    const struct eos_qos *qos = &as->qos;
    bool on = qos->pfc && qos->no_drop && !eos->off_line;
    bool lacks = qos->pfc && !qos->no_drop; /* a line that is missing, and none that is wrong */
    for (unsigned p = 0; p < EOS_PRIOS; p++)
        lacks = lacks && !qos->no_drop_line[p];
    uint32_t line = eos->off_line             ? eos->off_line
                    : qos->pfc_line && !lacks ? qos->pfc_line
                                              : of_profile(as),
             other = line;

    for (unsigned p = EOS_PRIOS; p-- > 0;)
        if (qos->no_drop >> p & 1) other = qos->no_drop_line[p]; /* the first of them */
    for (unsigned p = 0; p < EOS_PRIOS; p++) {
        bool lossless = qos->no_drop >> p & 1;
        if (lossless || used >> p & 1)
            SAY_CLASS(eos, lossless ? qos->no_drop_line[p] : other, port, p, "lossless", "%s",
                      lossless ? "true" : "false");
    }
    /* which priorities is said by no-drop, that there are none by what turns PFC off */
    SAY_BITS(eos, on ? other : line, port, "pfc", on ? qos->no_drop : 0);
    if (eos->off_line && qos->pfc && qos->no_drop)
        NOTE(eos, eos->off_line, "PFC002", CONFIG_NONE, "PFC is off on all ports, also on those that turn it on");
    else if (lacks && !as->down)
        NOTE(eos, line, "PFC002", as->profile_line ? CONFIG_NONE : port,
             "`priority-flow-control on` is there, and no priority is no-drop: nothing is paused");
    else if (!on && qos->no_drop && qos->pfc_line && !as->down)
        NOTE(eos, line, "PFC002", port, "PFC is off, and a priority of the port is no-drop: nothing is paused");
    else if (!on && qos->no_drop && !qos->pfc_line && !as->down)
        NOTE(eos, other, "PFC002", as->profile_line ? CONFIG_NONE : port,
             "a priority is no-drop, and `priority-flow-control on` is missing: nothing is paused");
    return on;
}

/* A profile that is not defined was not read: what it would have set is not known. */
static void say_unknown(struct eos *eos, uint32_t port, uint32_t line)
{
    UNJUDGED(eos, line, "PFC MAP ECN WD HR SCH SIB001", port, "the qos profile that is applied is not in the text");
}

void eos_say_port(struct eos *eos, const struct eos_port *as)
{
    uint32_t by = as->applied_line ? as->applied_line : as->blocks.last ? as->blocks.last->first : as->line;
    uint32_t port = lines_port_say(&eos->lines_in, (const struct lines_port *)as, by, "Port-Channel");
    const struct eos_qos *qos = &as->qos;
    uint32_t mtu = as->mtu, mtu_line = as->mtu ? as->mtu_line : as->line;

    if (port == CONFIG_NONE) return;
    if (!as->used && !as->described && !as->address[0] && !as->address[1] && !as->channel && !as->own && !as->profiled)
        config_idle(eos->set, eos->device, port);
    if (as->unknown_line) say_unknown(eos, port, as->unknown_line);
    if (qos->policy && qos->policy->unknown_line)
        UNJUDGED(eos, qos->policy->unknown_line, "MAP001 MAP002 MAP006 PFC008 PFC010", port,
                 "a class-map of its policy-map is not in the text");
    if (!mtu && as->routed && eos->mtu) {
        mtu = eos->mtu;
        mtu_line = eos->mtu_line;
    }
    if (!mtu) mtu = as->routed ? 1500 : EOS_MTU_MOST;
    SAY(eos, mtu_line, port, "mtu", "%u", mtu == EOS_MTU_MOST ? EOS_FRAME_MOST : mtu);
    if (as->rate_gbps) SAY(eos, as->rate_line, port, "rate", "%uG", as->rate_gbps);
    if (as->down) SAY(eos, as->down_line ? as->down_line : eos->down_line, port, "up", "false");
    uint8_t used = say_maps(eos, port, as, qos);
    say_queues(eos, port, qos, used, of_profile(as));
    bool on = say_pauses(eos, port, as, used);
    if (on && !as->routed && !trust_is_missing(eos, as))
        UNJUDGED(eos, as->line, "MAP003", port, "switched ports have tags");
    if (on && !as->down) {
        judge_timers(eos, port, qos);
        judge_trust(eos, port, as);
    }
    if (on && !eos_watchdog_on(eos, qos))
        SAY(eos, qos->watch_line ? qos->watch_line : as->line, port, "watched", "false");
    if (as->pause_line && on)
        NOTE(eos, as->pause_line, "PFC005", port, "flowcontrol and priority-flow-control exclude each other");
    else if (as->pause_line)
        SAY(eos, as->pause_line, port, "pause", "802.3x");
}

void eos_say_watchdog(struct eos *eos, const struct eos_port *port, uint32_t ports)
{
    const struct eos_watchdog *watchdog = &eos->watchdog;
    uint64_t timeout = watchdog->timeout_ns, recovery = watchdog->recovery_ns, poll = watchdog->poll_ns;
    uint32_t line = watchdog->timeout_line;
    bool on = timeout != 0;

    for (uint32_t p = 0; p < ports && !on; p++) { /* a port alone can have it */
        const struct eos_qos *qos = &port[p].qos;
        on = eos_watchdog_on(eos, qos);
        if (!on) continue;
        line = qos->watch_line;
        if (qos->timeout_ns) timeout = qos->timeout_ns;
        if (qos->recovery_ns) recovery = qos->recovery_ns;
        if (qos->poll_ns) poll = qos->poll_ns;
    }
    if (!on) {
        SAY(eos, line, CONFIG_NONE, "watchdog", "false");
        return;
    }
    SAY(eos, watchdog->action_line ? watchdog->action_line : line, CONFIG_NONE, "watchdog.action", "%s",
        watchdog->action ? watchdog->action : "shutdown");
    if (timeout) SAY(eos, line, CONFIG_NONE, "watchdog.detect", "%lluns", (unsigned long long)timeout);
    if (recovery)
        SAY(eos, watchdog->recovery_line ? watchdog->recovery_line : line, CONFIG_NONE, "watchdog.restore", "%lluns",
            (unsigned long long)recovery);
    if (poll)
        SAY(eos, watchdog->poll_line ? watchdog->poll_line : line, CONFIG_NONE, "watchdog.poll", "%lluns",
            (unsigned long long)poll);
}
