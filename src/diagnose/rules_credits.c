/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D26: too few credits.
 *
 * With credits (InfiniBand, CBFC) a queue that has packets and may not send is not always behind a jam: where there are
 * fewer credits than the line carries until the next ones come, it waits for the loop of the line.  That is so where
 * whoever gives the credits takes all at once: a NIC at which nothing waited, a switch none of whose ports is full or
 * stands still.
 */
#include "diagnose/graph_int.h"
#include "diagnose/nics_int.h"

/* In use, or held up itself. */
static double in_use(const struct diagnose *diagnose, uint32_t port)
{
    double use = share_busy(diagnose, port).value, paused = 0;

    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        double share = share_paused(diagnose, port, p).value;
        if (share > paused) paused = share;
    }
    return use + paused;
}

static bool takes_at_once(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t device = evidence->object[port].parent;

    if (device_is_host(evidence, device)) {
        const struct evidence_value *waited = port_find(evidence, port, EVIDENCE_RX_BUFFER_PEAK);
        return waited && !waited->last;
    }
    if (!evidence->object[device].looked_at) return false;
    EVIDENCE_EACH_PORT(evidence, device, other)
    {
        if (in_use(diagnose, other) >= diagnose->limits.busy_share) return false;
    }
    return true;
}

bool waits_for_credits(const struct diagnose *diagnose, uint32_t port)
{
    uint32_t peer = diagnose->evidence->object[port].peer;

    return peer != EVIDENCE_NONE && port_get(diagnose->evidence, port, EVIDENCE_CREDITS_RECEIVED) &&
           takes_at_once(diagnose, peer);
}

bool is_idle_behind_credits(const struct diagnose *diagnose, uint32_t port)
{
    const struct evidence *evidence = diagnose->evidence;

    if (in_use(diagnose, port) >= diagnose->limits.busy_share) return false;
    EVIDENCE_EACH_PORT(evidence, evidence->object[port].parent, other)
    {
        if (port_get(evidence, other, EVIDENCE_CREDITS_RECEIVED)) return true;
    }
    return false;
}

/* That it takes all at once, in numbers. */
static void taken_row(struct diagnose *diagnose, struct diagnose_finding *finding, uint32_t peer)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t device = evidence->object[peer].parent, most = peer;

    if (device_is_host(evidence, device)) {
        finding_counter(diagnose, finding, port_find(evidence, peer, EVIDENCE_RX_BUFFER_PEAK), 1);
        return;
    }
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        if (in_use(diagnose, port) > in_use(diagnose, most)) most = port;
    }
    finding_number(diagnose, finding, most, EVIDENCE_NO_PRIORITY, "in_use_share", "share", in_use(diagnose, most),
                   diagnose->limits.busy_share, share_busy(diagnose, most).from);
}

static void credits_found(struct diagnose *diagnose, uint32_t port, unsigned priority, const struct share *paused)
{
    uint32_t peer = diagnose->evidence->object[port].peer;
    struct diagnose_finding *finding = finding_new(
        diagnose, DIAGNOSE_D26, peer, priority,
        "%s had packets and no credits for %.3g%% of the time and sent at %.3g%% of its line, and %s took "
        "what came at once",
        name_of(diagnose, port), 100 * paused->value, 100 * share_busy(diagnose, port).value, name_of(diagnose, peer));

    finding_number(diagnose, finding, port, priority, "no_credits_share", "share", paused->value,
                   diagnose->limits.credit_share, paused->from);
    finding_counter(diagnose, finding, port_find(diagnose->evidence, port, EVIDENCE_CREDITS_RECEIVED), 0);
    taken_row(diagnose, finding, peer);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
        const struct graph_node *node = graph_queue(diagnose, port, p);
        if (node) graph_victims(diagnose, finding, (uint32_t)(node - diagnose->graph->node));
    }
    finding_victim(diagnose, finding, port);
    if (!finding) return;
    if (diagnose->evidence->exact) finding->confidence = DIAGNOSE_EXACT;
    if (jobs_lose_nothing(diagnose, true)) finding->severity = DIAGNOSE_INFO;
}

void rule_D26(struct diagnose *diagnose)
{
    EACH_PORT(diagnose->evidence, device, port)
    {
        struct share most = {0};
        unsigned priority = EVIDENCE_NO_PRIORITY;
        if (!waits_for_credits(diagnose, port)) continue;
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++) {
            struct share paused = share_paused(diagnose, port, p);
            if (paused.value >= diagnose->limits.credit_share && paused.value > most.value) most = paused, priority = p;
        }
        if (priority != EVIDENCE_NO_PRIORITY) credits_found(diagnose, port, priority, &most);
    }
}
