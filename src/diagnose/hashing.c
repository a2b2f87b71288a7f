/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What chance does to links: flows that an ideal hash throws onto them, as balls into bins.
 *
 * A flow keeps its link, so that few flows over few links are uneven without anything being wrong: eight over four give
 * the fullest 1.8 times the mean.  Unevenness is judged against this alone.
 */
#include <math.h>

#include "base/bins.h"
#include "diagnose/graph_int.h"

#define TIERS_MOST 4
#define TRIALS 256
#define LINKS_MOST 512
#define THROWN_MOST 4096 /* flows; of more the formula is good enough */

static struct hashing throw_flows(uint32_t count, uint32_t links)
{
    uint32_t bin[LINKS_MOST];
    struct bins_thrown thrown = bins_throw(count, bin, links, TRIALS);
    double mean = (double)count / links;

    return (struct hashing){(double)thrown.most_sum / TRIALS / mean, thrown.most / mean};
}

/* Switches of a tier have alike numbers of flows and links: what was thrown once is kept. */
static struct hashing throw_once(struct diagnose_graph *graph, uint32_t count, uint32_t links)
{
    struct hashing_thrown *kept = &graph->thrown[(count + links) % HASHING_KEPT];

    if (kept->count != count || kept->links != links)
        *kept = (struct hashing_thrown){count, links, throw_flows(count, links)};
    return kept->hashing;
}

struct hashing hashing_most(const struct diagnose *diagnose, double flows, uint32_t links)
{
    uint32_t count = flows < THROWN_MOST ? (uint32_t)(flows + 0.5) : THROWN_MOST;

    if (links < 2 || count < 1) return (struct hashing){1, 1};
    if (links <= LINKS_MOST && count < THROWN_MOST) return throw_once(diagnose->graph, count, links);
    double over = sqrt(2 * log((double)links) * (double)links / flows);
    return (struct hashing){1 + over, 1 + 2 * over};
}

double hashing_empty(double flows, uint32_t links)
{
    return links < 2 ? 0 : links * pow(1 - 1.0 / links, flows);
}

/* n equal flows count n; unequal ones fewer, as many as are as uneven. */
struct effective {
    double sum, squares;
};

static void add_flow(struct effective *effective, double bytes)
{
    effective->sum += bytes;
    effective->squares += bytes * bytes;
}

static double number(const struct effective *effective)
{
    return effective->squares > 0 ? effective->sum * effective->sum / effective->squares : 0;
}

/* The switch that a NIC hangs on; EVIDENCE_NONE. */
static uint32_t edge_of(const struct evidence *evidence, uint32_t nic)
{
    uint32_t port = nic < evidence->objects ? evidence->object[nic].peer : EVIDENCE_NONE;

    return port == EVIDENCE_NONE ? EVIDENCE_NONE : evidence->object[port].parent;
}

/* Of switches with hosts: transfers that leave them, or where nobody knows transfers, NICs that send. */
static void from_hosts(struct diagnose *diagnose, struct effective *leaving)
{
    const struct evidence *evidence = diagnose->evidence;

    for (uint32_t i = 0; i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        uint32_t from = edge_of(evidence, flow->from);
        if (from == EVIDENCE_NONE || from == edge_of(evidence, flow->to)) continue;
        add_flow(&leaving[from], flow->bytes ? (double)flow->bytes : 1);
    }
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        struct effective nics = {0};
        double connections = 0;
        EVIDENCE_EACH_PORT(evidence, device, port)
        {
            uint32_t nic = evidence->object[port].peer;
            if (!graph_peer_is_host(diagnose, port)) continue;
            add_flow(&nics, share_busy(diagnose, nic).value);
            connections += (double)evidence_get(evidence, nic, EVIDENCE_NO_PRIORITY, EVIDENCE_CONNECTIONS);
        }
        double flows = number(&leaving[device]), hosts = number(&nics);
        if (evidence->flows == 0 && connections > hosts) hosts = connections;
        diagnose->graph->flows[device] = flows > hosts ? flows : hosts;
    }
}

/* Of a switch above: its part of what each below it sends up. */
static void from_below(struct diagnose *diagnose, uint32_t device)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_graph *graph = diagnose->graph;

    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        uint32_t peer = evidence->object[port].peer;
        if (peer == EVIDENCE_NONE || graph_tier(diagnose, peer) + 1 != graph->tier[device]) continue;
        uint32_t below = evidence->object[peer].parent, links = graph->uplinks[below];
        if (links) graph->flows[device] += graph->flows[below] / links;
    }
}

void hashing_prepare(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;
    struct diagnose_graph *graph = diagnose->graph;
    struct effective *leaving = DIAGNOSE_NEW(diagnose, struct effective, evidence->objects);

    graph->flows = DIAGNOSE_NEW(diagnose, double, evidence->objects);
    graph->uplinks = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects);
    graph->rates = DIAGNOSE_NEW(diagnose, uint64_t, evidence->objects);
    if (!leaving || !graph->flows || !graph->uplinks || !graph->rates) return;
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (!topology_up(diagnose, port)) continue;
        uint64_t rate = line_rate(diagnose, port);
        graph->uplinks[device]++;
        if (rate > graph->rates[device]) graph->rates[device] = rate;
    }
    from_hosts(diagnose, leaving);
    for (unsigned tier = 2; tier <= TIERS_MOST; tier++)
        EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    if (graph->tier[device] == tier) from_below(diagnose, device);
}

double hashing_flows(const struct diagnose *diagnose, uint32_t device)
{
    return diagnose->graph->flows ? diagnose->graph->flows[device] : 0;
}
