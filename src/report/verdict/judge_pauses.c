/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses: hosts that pause, for ever or now and then, the watchdog, and pauses that reached ports which had nothing to
 * do with the queue that was full.  The pause tree (sim/pausetree.c) is exact; where it begins is the root.
 */
#include <stdlib.h>

#include "base/time.h"
#include "fabric/fabric.h"
#include "report/verdict/judge.h"

#define STEPS_MOST 16 /* from a victim to its root */
#define QUANTA_MOST 65535

static uint32_t share_ppm(const struct judge *judge, ps_t time)
{
    return judge_ppm(time, judge->result->virtual_ps);
}

/* Longer than its frames can last without being said again: it never said that it may go on. */
static bool never_resumes(const struct judge *judge, const struct sim_pause *pause)
{
    const struct sim_port *at = judge->port[judge->fabric->port[pause->port].peer];
    ps_t one = pause_quanta_ps(QUANTA_MOST, judge->fabric->port[pause->port].rate_bps);

    return at && at->sw && pause->time_ps / one > 2 * at->sw->prio[pause->priority].rx_xon + 1;
}

/* With credits a host that takes all at once gives them back at once: what waits for them waits for the loop of the
 * line, which is a matter of how many there are (judge_jobs.c).  Slow is one whose receive rate says so. */
static bool takes_slowly(const struct judge *judge, uint32_t port)
{
    const struct fabric *fabric = judge->fabric;
    const struct fabric_port *own = &fabric->port[port];

    if (!fabric->lanes.vls) return true;
    if (fabric->nic[fabric->endpoint[fabric->first_endpoint[own->node] + own->index].nic].rx_rate_bps) return true;
    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (fault->kind == FABRIC_FAULT_RECEIVE && fault->node == own->node) return true;
    }
    return false;
}

/* Hosts that pause, as ports: for ever, or longer than is worth a word. */
static void find_hosts(struct judge *judge, bool storms, struct ranked *ranked, uint32_t *count)
{
    for (uint32_t i = 0; i < judge->result->pauses; i++) {
        const struct sim_pause *pause = &judge->result->pause[i];
        if (pause->cause != UINT32_MAX || !takes_slowly(judge, pause->port)) continue;
        if ((never_resumes(judge, pause) && !judge->fabric->lanes.vls) != storms) continue;
        if (!storms && share_ppm(judge, pause->time_ps) < LIMIT_paused_ppm) continue;
        ranked[(*count)++] = (struct ranked){pause->port, pause->time_ps};
    }
    judge_rank(ranked, *count);
}

static void host_pauses(struct judge *judge, bool storms)
{
    const struct fabric *fabric = judge->fabric;
    struct ranked *ranked = calloc(judge->result->pauses + 1u, sizeof(*ranked));
    char name[FABRIC_NAME], share[TEXT_COUNT], time[TEXT_COUNT], rate[TEXT_COUNT];
    uint32_t count = 0;

    if (ranked == NULL) judge->failed = true;
    if (ranked) find_hosts(judge, storms, ranked, &count);
    if (count) {
        struct verdict_finding *finding = judge_add(judge, storms ? VERDICT_STORM : VERDICT_SLOW_RECEIVER);
        const struct fabric_port *own = &fabric->port[ranked[0].port];
        uint64_t drains = fabric->nic[fabric->endpoint[fabric->first_endpoint[own->node] + own->index].nic].rx_rate_bps;
        judge_objects(finding, ranked, count);
        judge_what(finding,
                   fabric->lanes.vls ? "%s gave its switch no credits for %s, %s of the run"
                                     : "%s paused its switch for %s, %s of the run",
                   fabric_port_name(fabric, ranked[0].port, name), text_ps(ranked[0].value, time),
                   text_share(ranked[0].value, judge->result->virtual_ps, share));
        if (drains && !storms) judge_what(finding, "; it receives at %s", text_rate(drains / 8, 1000000000, rate));
        judge_more(finding, count, "adapter");
        judge_why(finding,
                  storms ? "It sends XOFF again and again and never XON: its receive side is dead, and traffic to it "
                           "waits, with all traffic queued behind"
                         : "The host receives more slowly than its link delivers (bus, memory, settings): no change "
                           "in the network helps");
    }
    free(ranked);
}

static void watchdog(struct judge *judge)
{
    const struct sim_result *result = judge->result;
    struct verdict_finding *finding = NULL;
    char name[FABRIC_NAME], at[TEXT_COUNT], drops[TEXT_COUNT];
    uint64_t acted = 0, dropped = 0;

    for (uint32_t i = 0; i < result->ports; i++) {
        for (uint32_t p = 0; result->port[i].sw && p < FABRIC_PRIOS; p++) {
            const struct sw_prio_counters *count = &result->port[i].sw->prio[p];
            if (count->watchdog_detected == 0) continue;
            if (finding == NULL) {
                finding = judge_add(judge, VERDICT_WATCHDOG);
                judge_what(finding, "it cut off %s, priority %u, last at %s",
                           fabric_port_name(judge->fabric, result->port[i].port, name), p,
                           text_ps(count->watchdog_acted_at_ps, at));
            }
            judge_object(finding, result->port[i].port);
            acted += count->watchdog_detected;
        }
        if (result->port[i].sw) dropped += result->port[i].sw->drop[SW_DROP_watchdog];
    }
    if (finding == NULL) return;
    judge_what(finding, "; %s time%s in total, %s packets dropped", text_count(acted, at), text_plural(acted),
               text_count(dropped, drops));
    judge_why(finding, "The watchdog empties a queue that is paused for too long, so that the jam does not grow");
    finding->weight = acted;
}

/* The queue where a pause of that queue began: whoever paused it for longest, and so on. */
static uint32_t root_of(const struct judge *judge, uint32_t queue, uint8_t priority)
{
    const struct sim_result *result = judge->result;

    for (int step = 0; step < STEPS_MOST; step++) {
        const struct sim_pause *most = NULL;
        for (uint32_t i = 0; i < result->pauses; i++) {
            const struct sim_pause *pause = &result->pause[i];
            if (pause->priority != priority || judge->fabric->port[pause->port].peer != queue) continue;
            if (most == NULL || pause->time_ps > most->time_ps) most = pause;
        }
        if (most == NULL) break;
        queue = most->cause == UINT32_MAX ? most->port : most->cause;
        if (most->cause == UINT32_MAX || most->passed_on_ps * 2 < most->time_ps) break;
    }
    return queue;
}

/* One packet is blamed for a pause, the one that crossed the threshold, wherever most of its group waits: where another
 * queue of that switch is more than twice as long, that one fills it. */
static uint32_t longest_beside(const struct judge *judge, uint32_t port, uint8_t priority)
{
    const struct fabric_node *node = &judge->fabric->node[judge->fabric->port[port].node];
    uint32_t found = port;

    if (judge->port[port] == NULL || judge->port[port]->sw == NULL) return port;
    uint64_t most = 2 * judge->port[port]->sw->prio[priority].queue_max_bytes;
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        if (judge->port[p] == NULL || judge->port[p]->sw->prio[priority].queue_max_bytes <= most) continue;
        most = judge->port[p]->sw->prio[priority].queue_max_bytes;
        found = p;
    }
    return found;
}

static void passed_on(struct judge *judge)
{
    const struct sim_result *result = judge->result;
    const struct fabric *fabric = judge->fabric;
    const struct sim_pause *worst = NULL;
    char victim[FABRIC_NAME], root[FABRIC_NAME], share[TEXT_COUNT];
    uint32_t count = 0;

    for (uint32_t i = 0; i < result->pauses; i++) {
        const struct sim_pause *pause = &result->pause[i];
        if (pause->passed_on_ps == 0) continue;
        count++;
        if (worst == NULL || pause->passed_on_ps > worst->passed_on_ps) worst = pause;
    }
    if (worst == NULL || share_ppm(judge, worst->passed_on_ps) < LIMIT_paused_ppm) return;
    struct verdict_finding *finding = judge_add(judge, VERDICT_PAUSES);
    uint32_t from = longest_beside(judge, root_of(judge, worst->cause, worst->priority), worst->priority);
    fabric_port_name(fabric, fabric->port[worst->port].peer, victim);
    fabric_port_name(fabric, from, root);
    judge_object(finding, from);
    judge_object(finding, fabric->port[worst->port].peer);
    for (uint32_t i = 0; i < result->pauses; i++)
        if (result->pause[i].passed_on_ps) judge_object(finding, fabric->port[result->pause[i].port].peer);
    finding->weight = worst->passed_on_ps;
    if (share_ppm(judge, worst->passed_on_ps) < LIMIT_victim_ppm || judge->healthy) finding->severity = VERDICT_INFO;
    judge_what(finding, "%s was stopped for %s of the run by a jam that began at %s", victim,
               text_share(worst->passed_on_ps, result->virtual_ps, share), root);
    judge_more(finding, count, "port");
    judge_why(finding, "A paused queue fills its switch, which then pauses others: flows that do not go to %s wait too",
              root);
}

void judge_pauses(struct judge *judge)
{
    host_pauses(judge, true);
    host_pauses(judge, false);
    watchdog(judge);
    passed_on(judge);
}
