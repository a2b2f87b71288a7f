/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at every object of a simulation between windows, for a series (observe/series.h).
 *
 * Nothing here changes what will happen: counters are read and times of pauses that hold are counted up to now.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "observe/sample.h"
#include "observe/series.h"
#include "sim/sim_int.h"
#include "workload/training/train.h"

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
                                               [OBSERVE_OBJECT_CONNECTION] = workload_connections(sim->workload),
                                               [OBSERVE_OBJECT_LIMITS] = fabric->ports,
                                               [OBSERVE_OBJECT_CABLE] = fabric->ports,
                                               [OBSERVE_OBJECT_CLASS] = fabric->class_count,
                                               [OBSERVE_OBJECT_RANK] = workload_ranks(sim->workload),
                                               [OBSERVE_OBJECT_TIER] = FABRIC_ROLES * FABRIC_ROLES}};
    uint32_t *objects = config.objects;

    if (fabric->system == FABRIC_INFINIBAND) objects[OBSERVE_OBJECT_INFINIBAND] = fabric->ports;
    if (fabric->system == FABRIC_UET) objects[OBSERVE_OBJECT_UET] = fabric->endpoints;
    if (fabric->system == FABRIC_TCP || fabric->system == FABRIC_IWARP) objects[OBSERVE_OBJECT_TCP] = fabric->endpoints;

    if (config.objects[OBSERVE_OBJECT_CONNECTION] > options->connections)
        config.objects[OBSERVE_OBJECT_CONNECTION] = options->connections;
    return series_create(&config, ret);
}

void sim_sample_queues(const struct sim *sim, uint32_t index, struct observe_port_prio *ret)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    uint64_t rate_bps = engine_node(sim->engine, from->node)->extra[from->index].rate.bps;
    const struct sw *sw = sim->sw[from->node - sim->fabric->hosts].sw;

    for (uint8_t p = 0; p < SW_PRIOS; p++) {
        ret[p] = (struct observe_port_prio){.queue_bytes = sw_queue_bytes(sw, from->index, p),
                                            .headroom_bytes = sw_pg_headroom_bytes(sw, from->index, p),
                                            .group_bytes = sw_pg_bytes(sw, from->index, p)};
        if (rate_bps) ret[p].queue_delay_ps = (ps_t)((u128)ret[p].queue_bytes * 8 * PS_S / rate_bps);
    }
}

static void observe_switch_port(const struct sim *sim, struct series *series, uint32_t index)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    const struct sw_port_counters *counters =
        sw_port_counters(sim->sw[from->node - sim->fabric->hosts].sw, from->index);
    struct observe_port_prio prio[SW_PRIOS];

    sim_sample_queues(sim, index, prio);
    series_put(series, OBSERVE_OBJECT_PORT, index, counters, 0);
    series_put(series, OBSERVE_OBJECT_PORT_COUNTERS, index, counters->prio, sizeof(counters->prio[0]));
    series_put(series, OBSERVE_OBJECT_PORT_PRIO, index, prio, sizeof(prio[0]));
}

void sim_optic(const struct fabric *fabric, uint32_t port, ps_t now, uint64_t *ret_celsius, uint64_t *ret_ber)
{
    ps_t begun = 0;

    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (fault->kind != FABRIC_FAULT_HOT_OPTICS || fault->port != port || fault->at < begun) continue;
        if (fault->at > now || now >= ps_add(fault->at, fault->lasts_ps)) continue;
        *ret_celsius = fault->celsius;
        *ret_ber = (uint64_t)((u128)fault->pre_fec_ber * 1000000000000000000ull >> 64);
        begun = fault->at;
    }
}

static void observe_link(struct sim *sim, uint32_t index, ps_t now, struct observe_link *ret)
{
    const struct fabric_port *from = &sim->fabric->port[index], *peer = &sim->fabric->port[from->peer];
    const struct node *node = engine_node(sim->engine, from->node), *other = engine_node(sim->engine, peer->node);
    struct sim_sample view;

    sim_sample_port(sim, index, &view);
    *ret = (struct observe_link){.frames = node->port[from->index].sent_frames,
                                 .line_bytes = view.line_bytes,
                                 .waiting_bytes = view.queue_bytes,
                                 .paused = view.paused,
                                 .lost = node->extra[from->index].lost,
                                 .flaps = node->extra[from->index].downs,
                                 .crc_errors = other->extra[peer->index].corrupted,
                                 .up = !(node->port[from->index].flags & PORT_DOWN)};
    if (from->rate_bps) {
        ret->busy_ps = (ps_t)((u128)ret->line_bytes * 8 * PS_S / from->rate_bps);
        ret->speed_ppm = (uint64_t)((u128)node->extra[from->index].rate.bps * 1000000 / from->rate_bps);
    }
    if (sim->fabric->hot_optics) sim_optic(sim->fabric, index, now, &ret->celsius, &ret->pre_fec_ber);
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
        struct observe_link link;
        observe_link(sim, i, now, &link);
        series_put(series, OBSERVE_OBJECT_LINK, i, &link, 0);
        if (fabric->node[from->node].kind == FABRIC_SWITCH) observe_switch_port(sim, series, i);
        if (fabric->system != FABRIC_INFINIBAND) continue;
        struct observe_infiniband infiniband;
        sim_infiniband(sim, i, &infiniband);
        series_put(series, OBSERVE_OBJECT_INFINIBAND, i, &infiniband, 0);
    }
}

/* Of another transport: what all count, where an adapter of RoCE has it. */
static struct nic_counters as_nic(const struct sim *sim, uint32_t endpoint)
{
    const struct node_adapter *adapter = &sim->adapter[endpoint];

    if (sim->endpoint->nic_counters) return *sim->endpoint->nic_counters(adapter);
    struct endpoint_counters from = sim->endpoint->counters(adapter);
    return (struct nic_counters){.tx_packets = from.tx_packets,
                                 .tx_bytes = from.tx_bytes,
                                 .rx_packets = from.rx_packets,
                                 .rx_bytes = from.rx_bytes,
                                 .tx_data_packets = from.tx_data_packets,
                                 .tx_payload_bytes = from.tx_payload_bytes,
                                 .rx_payload_bytes = from.rx_payload_bytes,
                                 .retransmitted_packets = from.retransmitted_packets,
                                 .retransmitted_bytes = from.retransmitted_bytes,
                                 .local_ack_timeout_err = from.timeouts,
                                 .duplicate_request = from.duplicates,
                                 .out_of_sequence = from.out_of_order,
                                 .tx_ack_packets = from.acks,
                                 .packet_seq_err = from.nacks,
                                 .np_ecn_marked_roce_packets = from.marked,
                                 .completion_errors = from.errors};
}

static void observe_nics(struct sim *sim, struct series *series, ps_t now)
{
    for (uint32_t i = 0; i < sim->fabric->endpoints; i++) {
        sim->endpoint->settle(&sim->adapter[i], now);
        const struct nic_counters as = as_nic(sim, i), *counters = &as;
        series_put(series, OBSERVE_OBJECT_NIC, i, counters, 0);
        series_put(series, OBSERVE_OBJECT_NIC_PRIO, i, counters->prio, sizeof(counters->prio[0]));
        if (sim->endpoint->own == NULL) continue;
        struct sim_nic own = {0};
        sim->endpoint->own(&sim->adapter[i], &own);
        if (own.has_uet) series_put(series, OBSERVE_OBJECT_UET, i, &own.uet, 0);
        if (own.has_tcp && series_objects(series, OBSERVE_OBJECT_TCP))
            series_put(series, OBSERVE_OBJECT_TCP, i, &own.tcp, 0);
    }
}

static void observe_instance(const struct sim *sim, uint32_t index, struct observe_job *job)
{
    const struct workload_instance *instance = workload_instance(sim->workload, index);
    uint64_t num, den;

    if (instance->train != WORKLOAD_NONE) workload_last_step(sim->workload, index, &job->steps_done, &job->step_ps);
    if (instance->end == PS_NEVER) return;
    job->runs_done++;
    workload_bus_factor(sim->workload, index, &num, &den);
    if (instance->failed != PS_NEVER || instance->end <= instance->start || den == 0) return;
    job->bus_bytes_s = (uint64_t)((u128)instance->bytes * num * PS_S / den / (instance->end - instance->start));
}

uint32_t sim_ranks(const struct sim *sim)
{
    return workload_ranks(sim->workload);
}

void sim_sample_rank(const struct sim *sim, uint32_t number, struct observe_rank *ret)
{
    workload_rank(sim->workload, number, &ret->compute_ps, &ret->wait_ps);
}

static void observe_ranks(const struct sim *sim, struct series *series)
{
    for (uint32_t i = 0; i < series_objects(series, OBSERVE_OBJECT_RANK); i++) {
        struct observe_rank rank;
        sim_sample_rank(sim, i, &rank);
        series_put(series, OBSERVE_OBJECT_RANK, i, &rank, 0);
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
        struct endpoint_pace pace = sim->endpoint->pace(&sim->connection[i].from);
        const struct observe_connection now = {.rate_bps = pace.rate_bps,
                                               .window_bytes = pace.window_bytes == UINT64_MAX ? 0 : pace.window_bytes,
                                               .alpha = pace.alpha_ppm};
        series_put(series, OBSERVE_OBJECT_CONNECTION, i, &now, 0);
    }
    for (uint32_t i = 0; i < workload_instances(sim->workload); i++)
        observe_instance(sim, i, &job[workload_instance(sim->workload, i)->job]);
    for (uint32_t i = 0; i < sim->fabric->jobs; i++)
        series_put(series, OBSERVE_OBJECT_JOB, i, &job[i], 0);
    free(job);
    return 0;
}

static void observe_limits(const struct sim *sim, struct series *series, uint32_t index)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    const struct sim_switch *sw = &sim->sw[from->node - sim->fabric->hosts];
    const struct sw_config *config = &sw->plant->config;
    struct observe_limits limits[SW_PRIOS];
    struct sim_thresholds set;

    sim_thresholds_of(config, config->port[from->index], &set);
    for (int p = 0; p < SW_PRIOS; p++) {
        const struct sim_threshold *prio = &set.prio[p];
        limits[p] = (struct observe_limits){.headroom_bytes = prio->headroom_bytes,
                                            .ecn_min_bytes = prio->ecn_min_bytes,
                                            .ecn_max_bytes = prio->ecn_max_bytes,
                                            .pause_bytes = prio->pause_bytes};
        if (prio->dynamic)
            limits[p].pause_bytes = (uint64_t)((u128)sw_shared_bytes(sw->sw) * prio->alpha_num / prio->alpha_den);
    }
    series_put(series, OBSERVE_OBJECT_LIMITS, index, limits, sizeof(limits[0]));
}

/* Whether anything is meant to travel in a class: data of a job, CNPs or ACKs of a NIC. */
static bool is_planned(const struct fabric *fabric, uint32_t class)
{
    for (uint32_t i = 0; i < fabric->jobs; i++)
        if (fabric->job[i].job_class == class) return true;
    for (uint32_t i = 0; i < fabric->nics; i++)
        if (fabric->nic[i].cnp_class == class || fabric->nic[i].ack_class == class) return true;
    return false;
}

/* What does not change while a run goes on is put once, into the first step: thresholds, cables, classes. */
static void observe_fixed(const struct sim *sim, struct series *series)
{
    const struct fabric *fabric = sim->fabric;

    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct observe_cable cable = {.is = 1};
        if (fabric->port[i].peer == FABRIC_NONE) continue;
        series_put(series, OBSERVE_OBJECT_CABLE, i, &cable, 0);
        if (fabric->node[fabric->port[i].node].kind == FABRIC_SWITCH) observe_limits(sim, series, i);
    }
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const struct observe_class class = {.lossless = fabric->classes[i].lossless, .planned = is_planned(fabric, i)};
        series_put(series, OBSERVE_OBJECT_CLASS, i, &class, 0);
    }
}

int sim_observe(struct sim *sim, struct series *series)
{
    struct engine_totals totals = engine_totals(sim->engine);
    ps_t now = engine_now(sim->engine);
    const struct observe_run run = {.virtual_ps = now, .packet_hops = totals.hops};

    if (!series_begin(series, now)) return -ENOSPC;
    series_put(series, OBSERVE_OBJECT_RUN, 0, &run, 0);
    if (series_steps(series) == 1) observe_fixed(sim, series);
    observe_ports(sim, series, now);
    observe_nics(sim, series, now);
    observe_ranks(sim, series);
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

void sim_observe_tiers(const struct sim_result *result, struct series *series)
{
    for (uint32_t i = 0; i < result->tiers && series_steps(series) > 0; i++) {
        const struct sim_tier *from = &result->tier[i];
        const struct observe_tier tier = {.uneven_ppm = from->mean_milli * 1000ull,
                                          .expected_ppm = from->expected_milli * 1000ull};
        series_put(series, OBSERVE_OBJECT_TIER, (uint32_t)from->from * FABRIC_ROLES + from->to, &tier, 0);
    }
}
