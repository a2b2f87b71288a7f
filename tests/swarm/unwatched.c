/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that the watch does not follow, judged by what they leave behind: every byte posted has arrived once, nothing is
 * in the fabric that was not accounted for, a lossless class has lost nothing without a reason, and a run that does not
 * end well says why.
 */
#include <stdlib.h>

#include "swarm.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

/* Of transfers: what came to an endpoint is what was sent to it, whatever was lost, flooded or sent again. */
static void check_bytes(const struct sim *sim, const struct sim_result *result, const struct plan *plan)
{
    uint64_t *due = calloc(sim->fabric->endpoints + 1u, sizeof(*due)), *acked = calloc(sim->fabric->endpoints + 1u, 8);

    CHECK(due && acked);
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++) {
        const struct workload_connection *connection = workload_connection(sim->workload, i);
        acked[connection->dst] += nic_qp_acked_bytes(sim->connection[i].from.handle);
    }
    for (uint32_t i = 0; i < result->flows; i++)
        due[result->flow[i].dst] += result->flow[i].bytes;
    for (uint32_t e = 0; e < sim->fabric->endpoints; e++) {
        uint64_t got = nic_counters(sim->adapter[e].nic)->rx_payload_bytes;
        HOLDS(got >= acked[e], "nothing is acknowledged that has not arrived", "endpoint %u: %lu of %lu", e,
              (unsigned long)got, (unsigned long)acked[e]);
        if (result->state != SIM_DONE || result->work_failed) continue;
        HOLDS(acked[e] >= due[e], "every byte is delivered", "endpoint %u: %lu of %lu", e, (unsigned long)acked[e],
              (unsigned long)due[e]);
        /* A collective is over when its data is there: the last acknowledgements may be on their way. */
        bool collective = false;
        for (uint32_t i = 0; i < result->jobs; i++)
            collective |= result->job[i].collective;
        if (!collective && !plan->go_back_0)
            HOLDS(got == due[e], "a byte is delivered once", "endpoint %u: %lu of %lu", e, (unsigned long)got,
                  (unsigned long)due[e]);
    }
    free(due);
    free(acked);
}

static uint64_t packets_in_switches(const struct sim *sim)
{
    const struct pkt *hot = engine_worker(sim->engine, 0)->pool.hot;
    uint64_t count = 0;

    for (uint32_t s = 0; s < sim->fabric->switches; s++) {
        const struct sw *sw = sim->sw[s].sw;
        for (uint32_t port = 0; port < sw->ports; port++)
            for (uint32_t q = 0; q < SW_PRIOS; q++) {
                if (!(sw->port[port].filled >> q & 1)) continue;
                for (pkt_t id = sw->queue[port * SW_PRIOS + q].head; id != PKT_NONE;
                     id = sw_queued_next(sw, hot, port, q, id))
                    count++;
            }
    }
    return count;
}

static void check_packets(const struct sim *sim)
{
    struct engine_totals totals = engine_totals(sim->engine);
    uint64_t adapters = 0, switches = packets_in_switches(sim);

    for (uint32_t e = 0; e < sim->fabric->endpoints; e++) {
        const struct nic *nic = sim->adapter[e].nic;
        adapters += nic->control_count;
        for (uint32_t q = 0; q < nic->config.max_qps; q++)
            if (nic->qp[q].qpn && nic->qp[q].selective) adapters += nic->qp[q].selective->kept_count;
    }
    HOLDS(totals.packets_live == totals.packets_on_links + switches + adapters, "packets are conserved",
          "%lu are alive; %lu on lines, %lu in switches, %lu in adapters", (unsigned long)totals.packets_live,
          (unsigned long)totals.packets_on_links, (unsigned long)switches, (unsigned long)adapters);
}

/* Headroom that was worked out holds, unless a fault of the plan explains that it does not. */
static void check_lossless(const struct sim *sim, const struct sim_result *result, const struct plan *plan)
{
    const struct fabric_switch *sw = &sim->fabric->sw[0];

    if (plan->short_headroom || plan->pool || plan->goes_down || plan->pfc_missing || plan->headroom_bytes) return;
    if (sw->watchdog.on && !sw->watchdog.drop) return;
    for (uint32_t i = 0; i < result->ports; i++)
        if (result->port[i].sw)
            HOLDS(result->port[i].sw->drop[SW_DROP_headroom] == 0, "a lossless class with its headroom loses nothing",
                  "port %u dropped %lu", result->port[i].port,
                  (unsigned long)result->port[i].sw->drop[SW_DROP_headroom]);
}

void unwatched_check(struct sim *sim, const struct sim_result *result, const struct plan *plan)
{
    sim_audit(sim);
    check_bytes(sim, result, plan);
    check_packets(sim);
    check_lossless(sim, result, plan);
    if (plan_must_end(plan))
        HOLDS(result->state == SIM_DONE && result->work_failed == 0, "jobs end",
              "the run stands in state %d, %lu failed", (int)result->state, (unsigned long)result->work_failed);
    HOLDS(result->state != SIM_STUCK || !plan->timers, "nobody waits for ever", "nothing will ever happen");
    HOLDS(result->state != SIM_FAILED || result->work_failed, "a job is given up for a reason", "no request failed");
    HOLDS(result->state != SIM_DEADLOCK || result->deadlocks, "a deadlock has a circle", "there is none");
}
