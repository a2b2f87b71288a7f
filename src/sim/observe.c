/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at every object of a simulation between windows, for a series (observe/series.h).
 *
 * Nothing here changes what will happen: counters are read and times of pauses that hold are counted up to now.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/wide.h"
#include "observe/sample.h"
#include "observe/series.h"
#include "sim/sim_int.h"

int sim_series_create(const struct sim *sim, const struct sim_series_options *options, struct series **ret)
{
    const struct fabric *fabric = sim->fabric;
    struct series_config config = {.step = options->step,
                                   .steps_most = options->steps_most,
                                   .most_bytes = options->most_bytes,
                                   .objects = {[OBSERVE_OBJECT_RUN] = 1,
                                               [OBSERVE_OBJECT_NIC] = fabric->endpoints,
                                               [OBSERVE_OBJECT_NIC_PRIO] = fabric->endpoints,
                                               [OBSERVE_OBJECT_PORT] = fabric->ports,
                                               [OBSERVE_OBJECT_PORT_COUNTERS] = fabric->ports,
                                               [OBSERVE_OBJECT_PORT_PRIO] = fabric->ports,
                                               [OBSERVE_OBJECT_LINK] = fabric->ports,
                                               [OBSERVE_OBJECT_SWITCH] = fabric->switches,
                                               [OBSERVE_OBJECT_JOB] = fabric->jobs,
                                               [OBSERVE_OBJECT_CONNECTION] = workload_connections(sim->workload)}};

    if (config.objects[OBSERVE_OBJECT_CONNECTION] > options->connections)
        config.objects[OBSERVE_OBJECT_CONNECTION] = options->connections;
    return series_create(&config, ret);
}

static void observe_switch_port(const struct sim *sim, struct series *series, uint32_t index)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    uint64_t rate_bps = engine_node(sim->engine, from->node)->extra[from->index].rate.bps;
    const struct sw *sw = sim->sw[from->node - sim->fabric->hosts].sw;
    const struct sw_port_counters *counters = sw_port_counters(sw, from->index);
    struct observe_port_prio prio[SW_PRIOS];

    for (uint8_t p = 0; p < SW_PRIOS; p++) {
        prio[p] = (struct observe_port_prio){.queue_bytes = sw_queue_bytes(sw, from->index, p),
                                             .headroom_bytes = sw_pg_headroom_bytes(sw, from->index, p),
                                             .group_bytes = sw_pg_bytes(sw, from->index, p)};
        if (rate_bps) prio[p].queue_delay_ps = (ps_t)((u128)prio[p].queue_bytes * 8 * PS_S / rate_bps);
    }
    series_put(series, OBSERVE_OBJECT_PORT, index, counters, 0);
    series_put(series, OBSERVE_OBJECT_PORT_COUNTERS, index, counters->prio, sizeof(counters->prio[0]));
    series_put(series, OBSERVE_OBJECT_PORT_PRIO, index, prio, sizeof(prio[0]));
}

static void observe_ports(struct sim *sim, struct series *series, ps_t now)
{
    const struct fabric *fabric = sim->fabric;

    for (uint32_t i = 0; i < fabric->switches; i++) {
        const struct observe_switch sample = {.buffer_bytes = sw_shared_used(sim->sw[i].sw)};
        sw_settle(sim->sw[i].sw, now);
        series_put(series, OBSERVE_OBJECT_SWITCH, i, &sample, 0);
    }
    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct fabric_port *from = &fabric->port[i];
        if (from->peer == FABRIC_NONE) continue;
        const struct node *node = engine_node(sim->engine, from->node);
        struct sim_sample view;
        sim_sample_port(sim, i, &view);
        const struct observe_link link = {.frames = node->port[from->index].sent_frames,
                                          .line_bytes = view.line_bytes,
                                          .waiting_bytes = view.queue_bytes,
                                          .paused = view.paused,
                                          .lost = node->extra[from->index].lost,
                                          .flaps = node->extra[from->index].downs};
        series_put(series, OBSERVE_OBJECT_LINK, i, &link, 0);
        if (fabric->node[from->node].kind == FABRIC_SWITCH) observe_switch_port(sim, series, i);
    }
}

static void observe_nics(struct sim *sim, struct series *series, ps_t now)
{
    for (uint32_t i = 0; i < sim->fabric->endpoints; i++) {
        nic_settle(sim->adapter[i].nic, now);
        const struct nic_counters *counters = nic_counters(sim->adapter[i].nic);
        series_put(series, OBSERVE_OBJECT_NIC, i, counters, 0);
        series_put(series, OBSERVE_OBJECT_NIC_PRIO, i, counters->prio, sizeof(counters->prio[0]));
    }
}

/* Bytes of a job are those of its queue pairs; of one that jobs use in turn, the first job's. */
static int observe_jobs(const struct sim *sim, struct series *series)
{
    struct observe_job *job = calloc(sim->fabric->jobs + 1u, sizeof(*job));

    if (job == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++) {
        const struct workload_connection *connection = workload_connection(sim->workload, i);
        uint64_t acked = sim_acked_bytes(sim, i);
        job[connection->job].bytes_done += acked;
        if (i >= series_objects(series, OBSERVE_OBJECT_CONNECTION)) continue;
        struct roce_pace pace = roce_pace(&sim->connection[i].from);
        const struct observe_connection now = {.rate_bps = pace.rate_bps,
                                               .window_bytes = pace.window_bytes == UINT64_MAX ? 0 : pace.window_bytes,
                                               .alpha = pace.alpha_ppm};
        series_put(series, OBSERVE_OBJECT_CONNECTION, i, &now, 0);
    }
    for (uint32_t i = 0; i < workload_instances(sim->workload); i++)
        job[workload_instance(sim->workload, i)->job].runs_done += workload_instance(sim->workload, i)->end != PS_NEVER;
    for (uint32_t i = 0; i < sim->fabric->jobs; i++)
        series_put(series, OBSERVE_OBJECT_JOB, i, &job[i], 0);
    free(job);
    return 0;
}

int sim_observe(struct sim *sim, struct series *series)
{
    struct engine_totals totals = engine_totals(sim->engine);
    ps_t now = engine_now(sim->engine);
    const struct observe_run run = {.virtual_ps = now, .packet_hops = totals.hops};

    if (!series_begin(series, now)) return -ENOSPC;
    series_put(series, OBSERVE_OBJECT_RUN, 0, &run, 0);
    observe_ports(sim, series, now);
    observe_nics(sim, series, now);
    return observe_jobs(sim, series);
}

void sim_watch(struct sim *sim, struct series *series)
{
    sim->series = series;
    sim->series_at = series ? series_next(series) : PS_NEVER;
}

void sim_series_look(struct sim *sim)
{
    sim->series_at = sim_observe(sim, sim->series) == 0 ? series_next(sim->series) : PS_NEVER;
}
