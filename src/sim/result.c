/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a run out: jobs, flows, ports, adapters, and the books.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "sim/sim_int.h"
#include "workload/collective/coll.h"
#include "workload/training/train.h"

static int read_jobs(const struct sim *sim, struct sim_result *ret)
{
    ret->jobs = workload_instances(sim->workload);
    ret->job = calloc(ret->jobs + 1u, sizeof(*ret->job));
    if (ret->job == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < ret->jobs; i++) {
        const struct workload_instance *instance = workload_instance(sim->workload, i);
        struct sim_job *job = &ret->job[i];
        *job = (struct sim_job){.name = sim->fabric->job[instance->job].name,
                                .job = instance->job,
                                .repetition = instance->repetition,
                                .ranks = instance->ranks,
                                .bytes = instance->bytes,
                                .start = instance->start,
                                .end = instance->end,
                                .failed_at = instance->failed,
                                .failed = instance->failed != PS_NEVER};
        workload_bus_factor(sim->workload, i, &job->bus_num, &job->bus_den);
        if (instance->coll == WORKLOAD_NONE || !fabric_job_collective(sim->fabric->job[instance->job].kind)) continue;
        struct coll_config coll = coll_config(sim->workload, instance->coll);
        job->collective = true;
        job->algorithm = coll.algorithm;
        job->protocol = coll.protocol;
    }
    return 0;
}

struct rank_wait {
    ps_t sum_ps;
    uint32_t rank;
};

static int compare_waits(const void *a, const void *b)
{
    const struct rank_wait *x = a, *y = b;

    if (x->sum_ps != y->sum_ps) return x->sum_ps > y->sum_ps ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Half of them from either end of the order, then by number. */
static int choose_ranks(const struct workload_training *from, struct sim_training *ret)
{
    struct rank_wait *wait = calloc(from->ranks, sizeof(*wait));

    ret->listed = SIM_WAITS_RANKS;
    ret->rank = calloc(ret->listed, sizeof(*ret->rank));
    if (wait == NULL || ret->rank == NULL) {
        free(wait);
        return -ENOMEM;
    }
    for (uint32_t r = 0; r < from->ranks; r++) {
        wait[r].rank = r;
        for (uint32_t s = 0; s < ret->wait_steps; s++)
            wait[r].sum_ps += from->wait_ps[(size_t)r * from->wait_steps + s];
    }
    qsort(wait, from->ranks, sizeof(*wait), compare_waits);
    for (uint32_t i = 0; i < ret->listed; i++)
        ret->rank[i] = wait[i < ret->listed / 2 ? i : from->ranks - ret->listed + i].rank;
    qsort(ret->rank, ret->listed, sizeof(*ret->rank), compare_ranks);
    free(wait);
    return 0;
}

static int read_waits(const struct workload *workload, uint32_t index, const struct workload_training *from,
                      struct sim_training *ret)
{
    ret->wait_steps = from->steps_ended < from->wait_steps ? from->steps_ended : from->wait_steps;
    ret->listed = from->ranks;
    bool many = from->ranks > SIM_WAITS_RANKS && (uint64_t)from->ranks * ret->wait_steps > SIM_WAITS_MOST;
    if (many && choose_ranks(from, ret) != 0) return -ENOMEM;
    ret->wait_ps = calloc((size_t)ret->wait_steps * ret->listed + 1, sizeof(*ret->wait_ps));
    ret->rank_compute_ps = calloc(ret->listed + 1u, sizeof(*ret->rank_compute_ps));
    if (ret->wait_ps == NULL || ret->rank_compute_ps == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < ret->listed; i++)
        ret->rank_compute_ps[i] = workload_rank_compute(workload, index, ret->rank ? ret->rank[i] : i);
    for (uint32_t s = 0; s < ret->wait_steps; s++)
        for (uint32_t i = 0; i < ret->listed; i++) {
            size_t rank = ret->rank ? ret->rank[i] : i;
            ret->wait_ps[(size_t)s * ret->listed + i] = from->wait_ps[rank * from->wait_steps + s];
        }
    return 0;
}

/* Means over ranks. */
static int read_training(const struct sim *sim, uint32_t index, struct sim_training *ret)
{
    struct workload_training from;

    if (!workload_training(sim->workload, index, &from)) return 0;
    *ret = (struct sim_training){.job = index, .steps = from.steps, .steps_ended = from.steps_ended};
    ret->step_ps = calloc(from.steps_ended + 1u, sizeof(*ret->step_ps));
    if (ret->step_ps == NULL) return -ENOMEM;
    ps_t start = workload_instance(sim->workload, index)->start, before = start;
    for (uint32_t s = 0; s < from.steps_ended; s++) {
        ret->step_ps[s] = from.step_end[s] - before;
        before = from.step_end[s];
    }
    if (from.steps_ended) ret->mean_ps = (before - start) / from.steps_ended;
    ret->compute_ps = (ps_t)(from.compute_ps / from.ranks);
    ret->compute_most_ps = from.compute_most_ps;
    ret->slowest = from.slowest;
    ret->slowest_gpu = sim->fabric->job[workload_instance(sim->workload, index)->job].rank[from.slowest];
    for (uint32_t g = 0; g < FABRIC_GROUPS; g++) {
        ret->group[g] = (struct sim_training_group){.size = from.group[g].size,
                                                    .operations = from.group[g].operations,
                                                    .bytes = from.group[g].bytes,
                                                    .busy_ps = (ps_t)(from.group[g].busy_ps / from.ranks),
                                                    .exposed_ps = (ps_t)(from.group[g].exposed_ps / from.ranks),
                                                    .exposed_most_ps = from.group[g].exposed_most_ps};
        ret->exposed_ps += ret->group[g].exposed_ps;
    }
    if (ret->mean_ps > ret->compute_ps)
        ret->idle_ppm = (uint32_t)((u128)(ret->mean_ps - ret->compute_ps) * 1000000 / ret->mean_ps);
    return read_waits(sim->workload, index, &from, ret);
}

static int read_trainings(const struct sim *sim, struct sim_result *ret)
{
    uint32_t count = 0;
    int error = 0;

    for (uint32_t i = 0; i < workload_instances(sim->workload); i++)
        count += workload_instance(sim->workload, i)->train != WORKLOAD_NONE;
    if (count == 0) return 0;
    ret->training = calloc(count, sizeof(*ret->training));
    if (ret->training == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < workload_instances(sim->workload) && !error; i++)
        if (workload_instance(sim->workload, i)->train != WORKLOAD_NONE)
            error = read_training(sim, i, &ret->training[ret->trainings++]);
    return error;
}

/*
 * What has been acknowledged of the flow, of what its connection has left for it: a connection's messages go in order,
 * which is that of the transfers.
 */
static void read_progress(struct sim_flow *flow, ps_t now, uint64_t *left)
{
    ps_t took = flow->fct_ps != PS_NEVER ? flow->fct_ps : now > flow->start ? now - flow->start : 0;

    if (flow->start == PS_NEVER) return;
    flow->acked_bytes = flow->bytes < *left ? flow->bytes : *left;
    *left -= flow->acked_bytes;
    flow->goodput_bps = rate_measure(flow->acked_bytes, took);
}

/* What a connection's flows so far have left for the next. */
struct before {
    uint64_t left_bytes; /* acknowledged, and of none of them */
    ps_t start, end;     /* of the last */
};

/* A connection's messages go in order: a flow waited until the one before had ended, if it took more than alone. */
static void read_waited(struct sim_flow *flow, struct before *before)
{
    ps_t over = flow->fct_ps > flow->ideal_ps ? flow->fct_ps - flow->ideal_ps : 0;

    if (flow->start == PS_NEVER || flow->fct_ps == PS_NEVER) return;
    if (before->start <= flow->start && before->end > flow->start) {
        ps_t queued = before->end - flow->start;
        flow->waited_ps = queued < over ? queued : over;
    }
    before->start = flow->start;
    before->end = flow->start + flow->fct_ps;
}

static int read_flows(const struct sim *sim, struct sim_result *ret)
{
    uint32_t connections = workload_connections(sim->workload);
    struct before *before = calloc(connections + 1u, sizeof(*before));

    ret->flows = workload_transfers(sim->workload);
    ret->flow = calloc(ret->flows + 1u, sizeof(*ret->flow));
    if (ret->flow == NULL || before == NULL) {
        free(before);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < connections; i++)
        before[i].left_bytes = sim_acked_bytes(sim, i);
    for (uint32_t i = 0; i < ret->flows; i++) {
        const struct workload_transfer *transfer = workload_transfer(sim->workload, i);
        const struct workload_connection *connection = workload_connection(sim->workload, transfer->connection);
        struct endpoint_pace pace = sim->endpoint->pace(&sim->connection[transfer->connection].from);
        bool ended = transfer->end != PS_NEVER;
        ret->flow[i] = (struct sim_flow){.id = i,
                                         .src = connection->src,
                                         .dst = connection->dst,
                                         .connection = transfer->connection,
                                         .job = workload_instance(sim->workload, transfer->instance)->job,
                                         .bytes = transfer->bytes,
                                         .start = transfer->start,
                                         .fct_ps = ended ? transfer->end - transfer->start : PS_NEVER,
                                         .ideal_ps = sim_ideal(sim, connection->src, connection->dst, transfer->bytes),
                                         .resent_packets = pace.resent_packets,
                                         .failed = transfer->failed};
        ret->job[transfer->instance].failed |= transfer->failed;
        read_progress(&ret->flow[i], ret->virtual_ps, &before[transfer->connection].left_bytes);
        read_waited(&ret->flow[i], &before[transfer->connection]);
    }
    free(before);
    return 0;
}

static void read_switch_port(struct sim *sim, uint32_t index, struct sim_port *port, struct sw_port_counters *copy)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    const struct sim_switch *sw = &sim->sw[from->node - sim->fabric->hosts];
    const struct sw_port_counters *counters = sw_port_counters(sw->sw, from->index);
    const struct sw_port_rules *rules = &sw->plant->config.port[from->index]->rules;

    *copy = *counters;
    port->sw = copy;
    port->mtu_bytes = rules->mtu_bytes;
    port->pfc_sends = rules->pfc_tx;
    port->pfc_obeys = rules->pfc_rx;
    port->pauses_received = counters->rx_pfc_frames;
    port->credits_sent = counters->tx_credit_words;
    port->credits_received = counters->rx_credit_words;
    for (int p = 0; p < SW_PRIOS; p++) {
        port->paused_ps += counters->prio[p].rx_pause_ps;
        port->ecn_marked += counters->prio[p].ecn_marked;
        if (counters->prio[p].queue_max_bytes > port->queue_max_bytes)
            port->queue_max_bytes = counters->prio[p].queue_max_bytes;
    }
    for (int d = 0; d < SW_DROPS; d++)
        port->drops += counters->drop[d];
}

static void read_host_port(struct sim *sim, uint32_t index, struct sim_port *port)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    const struct node_adapter *adapter = &sim->adapter[sim->fabric->first_endpoint[from->node] + from->index];
    struct endpoint_counters common = sim->endpoint->counters(adapter);

    port->paused_ps = common.held_ps;
    port->drops = common.drops;
    if (sim->endpoint->nic_counters == NULL) return;
    const struct nic_counters *counters = sim->endpoint->nic_counters(adapter);
    port->credits_sent = counters->tx_credit_words;
    port->credits_received = counters->rx_credit_words;
    for (int p = 0; p < NIC_PRIOS; p++)
        port->pauses_received += counters->prio[p].rx_pause + counters->prio[p].rx_resume;
}

/* Bytes of line by now: a frame that is still being sent counts as far as it has gone, on a slow line too. */
static uint64_t bytes_gone(const struct node *node, uint16_t port, ps_t now)
{
    const struct port *out = &node->port[port];
    uint64_t rate_bps = node->extra[port].rate.bps;
    ps_t free_at = node_line_free_at(node, port);
    uint64_t ahead = free_at > now && !(out->flags & PORT_DOWN) ? rate_bytes_in(rate_bps, free_at - now) : 0;

    return out->sent_bytes - (ahead < out->sent_bytes ? ahead : out->sent_bytes);
}

/* What the two ends of a cable say of it. */
static void read_cable(const struct sim *sim, uint32_t index, ps_t now, struct sim_port *port)
{
    const struct fabric_port *from = &sim->fabric->port[index], *peer = &sim->fabric->port[from->peer];
    const struct node *node = engine_node(sim->engine, from->node);

    port->up = !(node->port[from->index].flags & PORT_DOWN);
    port->rate_bps = node->extra[from->index].rate.bps;
    port->downs = node->extra[from->index].downs;
    port->crc_errors = engine_node(sim->engine, peer->node)->extra[peer->index].corrupted;
    if (sim->fabric->hot_optics) sim_optic(sim->fabric, index, now, &port->celsius, &port->pre_fec_ber);
}

/* A switch's counters go to `copy`. */
static void read_port(struct sim *sim, uint32_t index, ps_t now, struct sim_port *port, struct sw_port_counters *copy)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    const struct node *node = engine_node(sim->engine, from->node);
    const struct port *out = &node->port[from->index];

    *port = (struct sim_port){.port = index,
                              .line_bytes = out->sent_bytes,
                              .frames = out->sent_frames,
                              .pauses_sent = node->extra[from->index].pauses_sent,
                              .lost = node->extra[from->index].lost,
                              .lost_bytes = node->extra[from->index].lost_bytes};
    uint64_t rate = rate_measure(bytes_gone(node, from->index, now), now);
    read_cable(sim, index, now, port);
    if (from->rate_bps) port->utilisation_ppm = (uint32_t)((double)rate / (double)from->rate_bps * 1e6 + 0.5);
    if (sim->fabric->node[from->node].kind == FABRIC_SWITCH)
        read_switch_port(sim, index, port, copy);
    else
        read_host_port(sim, index, port);
    port->has_infiniband = sim->fabric->system == FABRIC_INFINIBAND;
    if (port->has_infiniband) sim_infiniband(sim, index, &port->infiniband);
    port->pauses_sent -= port->credits_sent < port->pauses_sent ? port->credits_sent : port->pauses_sent;
}

static uint32_t switch_ports(const struct fabric *fabric)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < fabric->ports; i++)
        count += fabric->port[i].peer != FABRIC_NONE && fabric->node[fabric->port[i].node].kind == FABRIC_SWITCH;
    return count;
}

static uint32_t llr_ports(const struct fabric *fabric)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < fabric->ports; i++)
        count += fabric->port[i].llr;
    return count;
}

static int read_ports(struct sim *sim, struct sim_result *ret)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t copies = 0, retries = 0;

    ret->port = calloc(fabric->ports + 1u, sizeof(*ret->port));
    ret->sw_counters = calloc(switch_ports(fabric) + 1u, sizeof(*ret->sw_counters));
    ret->llr_counters = calloc(llr_ports(fabric) + 1u, sizeof(*ret->llr_counters));
    if (ret->port == NULL || ret->sw_counters == NULL || ret->llr_counters == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->switches; i++)
        sw_settle(sim->sw[i].sw, ret->virtual_ps);
    for (uint32_t i = 0; i < fabric->endpoints; i++)
        sim->endpoint->settle(&sim->adapter[i], ret->virtual_ps);
    for (uint32_t i = 0; i < fabric->ports; i++) {
        struct sim_port *port = &ret->port[ret->ports];
        if (fabric->port[i].peer == FABRIC_NONE) continue;
        read_port(sim, i, ret->virtual_ps, port, &ret->sw_counters[copies]);
        copies += port->sw != NULL;
        ret->ports++;
        if (!fabric->port[i].llr || !fabric->port[i].up) continue;
        ret->llr_counters[retries] =
            engine_node(sim->engine, fabric->port[i].node)->line[fabric->port[i].index].llr.count;
        port->llr = &ret->llr_counters[retries++];
    }
    return 0;
}

static int read_adapters(struct sim *sim, struct sim_result *ret)
{
    uint32_t count = sim->fabric->endpoints;

    ret->nic = calloc(count + 1u, sizeof(*ret->nic));
    bool roce = sim->endpoint->nic_counters != NULL;
    ret->nic_counters = calloc(roce ? count + 1u : 1u, sizeof(*ret->nic_counters));
    if (sim->rtt_ns) ret->rtt_ns = calloc(count + 1u, sizeof(*ret->rtt_ns));
    if (ret->nic == NULL || ret->nic_counters == NULL || (sim->rtt_ns && ret->rtt_ns == NULL)) return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct node_adapter *adapter = &sim->adapter[i];
        ret->nic[i] = (struct sim_nic){.endpoint = i, .common = sim->endpoint->counters(adapter)};
        const struct sim_host *host = &sim->host[sim->fabric->endpoint[i].host];
        if (host->software)
            ret->nic[i].software_ps = software_waited(&host->software[sim->fabric->endpoint[i].index], ret->virtual_ps);
        if (roce) {
            ret->nic_counters[i] = *sim->endpoint->nic_counters(adapter);
            ret->nic[i].counters = &ret->nic_counters[i];
        }
        if (sim->endpoint->own) sim->endpoint->own(adapter, &ret->nic[i]);
        if (ret->rtt_ns == NULL) continue;
        ret->rtt_ns[i] = sim->rtt_ns[i];
        ret->nic[i].rtt_ns = &ret->rtt_ns[i];
    }
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++) {
        const struct workload_connection *way = workload_connection(sim->workload, i);
        ret->nic[way->src].connections += sim->fabric->edge_of[way->src] != sim->fabric->edge_of[way->dst];
    }
    ret->nics = count;
    return 0;
}

uint64_t sim_losses(const struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;
    uint64_t count = 0;

    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct fabric_port *from = &fabric->port[i];
        count += engine_node(sim->engine, from->node)->extra[from->index].lost;
        if (from->node < fabric->hosts) continue;
        const struct sw_port_counters *counters = sw_port_counters(sim->sw[from->node - fabric->hosts].sw, from->index);
        for (int d = 0; d < SW_DROPS; d++)
            count += counters->drop[d];
    }
    for (uint32_t i = 0; i < fabric->endpoints; i++)
        count += sim->endpoint->counters(&sim->adapter[i]).retransmitted_packets;
    return count;
}

/* When the last frame had left: where a run got stuck, whatever windows it was cut into. */
static ps_t last_frame(const struct sim *sim)
{
    ps_t last = 0;

    for (uint32_t i = 0; i < sim->fabric->ports; i++) {
        const struct fabric_port *from = &sim->fabric->port[i];
        const struct node *node = engine_node(sim->engine, from->node);
        ps_t free_at = node_line_free_at(node, from->index);
        if (!(node->port[from->index].flags & PORT_DOWN) && free_at > last) last = free_at;
    }
    return last;
}

static bool endpoint_down(const struct sim *sim, uint32_t endpoint)
{
    const struct fabric_port *port = &sim->fabric->port[sim->fabric->endpoint[endpoint].port];

    return engine_node(sim->engine, port->node)->port[port->index].flags & PORT_DOWN;
}

/* Of the first of all hosts; of equals the first host's. */
static void read_failure(const struct sim *sim, struct sim_result *ret)
{
    static const struct node_failure none = {.at = PS_NEVER};
    const struct node_failure *first = &none;

    for (uint32_t i = 0; i < sim->fabric->hosts; i++)
        if (sim->host[i].node.failure.at < first->at) first = &sim->host[i].node.failure;
    ret->failure.at = first->at;
    if (first->at == PS_NEVER) return;
    const struct workload_connection *connection = workload_connection(sim->workload, first->connection);
    ret->failure = (struct sim_failure){.at = first->at,
                                        .src = connection->src,
                                        .dst = connection->dst,
                                        .qpn = sim->connection[first->connection].from.number,
                                        .retries = first->retries,
                                        .acked_bytes = first->acked_bytes};
    ret->failure.reachable = sim_reaches(sim, ret->failure.src, ret->failure.dst);
    ret->failure.src_down = endpoint_down(sim, ret->failure.src);
    ret->failure.dst_down = endpoint_down(sim, ret->failure.dst);
    ret->failure.retry = sim->fabric->nic[sim->fabric->endpoint[ret->failure.src].nic].retry;
}

/* Who has requests that nobody will ever complete; whoever cannot send for want of a link is named first. */
static void read_stall(const struct sim *sim, struct sim_result *ret)
{
    const struct fabric *fabric = sim->fabric;
    struct sim_stall *stall = &ret->stall;

    for (uint32_t i = 0; i < workload_connections(sim->workload); i++) {
        const struct workload_connection *connection = workload_connection(sim->workload, i);
        uint32_t requests = sim->endpoint->queued(&sim->connection[i].from);
        if (requests == 0) continue;
        bool down = endpoint_down(sim, connection->src);
        uint16_t paused = sim->endpoint->paused(&sim->adapter[connection->src]);
        if (stall->pairs++ > 0 && (stall->down || !down)) continue;
        *stall = (struct sim_stall){.pairs = stall->pairs,
                                    .src = connection->src,
                                    .dst = connection->dst,
                                    .qpn = sim->connection[i].from.number,
                                    .requests = requests,
                                    .down = down,
                                    .paused = paused >> fabric->classes[connection->job_class].priority & 1};
    }
}

int sim_result(struct sim *sim, struct sim_result *ret)
{
    struct engine_totals totals = engine_totals(sim->engine);
    struct sim_result result = {.state = sim->state,
                                .nothing_left = sim->idle,
                                .virtual_ps = totals.now,
                                .packet_hops = totals.hops,
                                .digest = totals.digest,
                                .windows = totals.windows,
                                .packets_live = totals.packets_live,
                                .packets_on_links = totals.packets_on_links,
                                .packets_peak = totals.packets_peak,
                                .window_ps = totals.small_window,
                                .great_window_ps = totals.great_window};

    if (sim->state == SIM_STUCK) {
        result.virtual_ps = last_frame(sim);
        read_stall(sim, &result);
    }
    for (uint32_t i = 0; i < sim->fabric->hosts; i++)
        result.work_failed += sim->host[i].node.failed;
    read_failure(sim, &result);
    int error = read_jobs(sim, &result);
    if (!error) error = read_trainings(sim, &result);
    if (!error) error = read_flows(sim, &result);
    if (!error) error = sim_roofline(sim, &result);
    if (!error) error = sim_ends_read(sim, &result);
    if (!error) error = read_ports(sim, &result);
    if (!error) error = sim_thresholds_read(sim, &result);
    if (!error) error = read_adapters(sim, &result);
    if (!error) error = sim_pauses_read(sim, &result);
    if (!error) error = sim_deadlock_read(sim, &result);
    if (!error) error = sim_happened_read(sim, &result);
    if (error) {
        sim_result_free(&result);
        return error;
    }
    /* The last job's end is the run's: what else is under way goes on a little longer. */
    if (sim->state == SIM_DONE || sim->state == SIM_FAILED) {
        result.virtual_ps = 0;
        for (uint32_t i = 0; i < result.jobs; i++) {
            ps_t over = result.job[i].end != PS_NEVER ? result.job[i].end : result.job[i].failed_at;
            if (over > result.virtual_ps) result.virtual_ps = over;
        }
        if (sim_programs_end(sim) > result.virtual_ps) result.virtual_ps = sim_programs_end(sim);
    }
    *ret = result;
    return 0;
}

void sim_result_free(struct sim_result *result)
{
    for (uint32_t i = 0; i < result->trainings; i++) {
        free(result->training[i].step_ps);
        free(result->training[i].wait_ps);
        free(result->training[i].rank_compute_ps);
        free(result->training[i].rank);
    }
    free(result->training);
    free(result->job);
    free(result->flow);
    free(result->end);
    free(result->hop);
    free(result->port);
    free(result->thresholds);
    free(result->nic);
    free(result->sw_counters);
    free(result->llr_counters);
    free(result->nic_counters);
    free(result->rtt_ns);
    free(result->pause);
    free(result->fault);
    free(result->route);
    free(result->tier);
    for (uint32_t i = 0; i < result->deadlocks; i++)
        free(result->deadlock[i].wait);
    free(result->deadlock);
    *result = (struct sim_result){0};
}

void sim_audit(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->fabric->switches; i++)
        sw_audit(sim->sw[i].sw);
    for (uint32_t i = 0; i < sim->fabric->endpoints; i++)
        sim->endpoint->audit(&sim->adapter[i], &engine_worker(sim->engine, 0)->pool);
}

void sim_sample_port(struct sim *sim, uint32_t index, struct sim_sample *ret)
{
    const struct fabric_port *from = &sim->fabric->port[index];
    const struct node *node = engine_node(sim->engine, from->node);
    struct node_view view;

    if (sim->fabric->node[from->node].kind == FABRIC_SWITCH)
        node_switch_observe(&sim->sw[from->node - sim->fabric->hosts].node, from->index, engine_now(sim->engine),
                            &view);
    else
        sim->endpoint->observe(&sim->host[from->node].node, from->index, engine_now(sim->engine), &view);
    *ret = (struct sim_sample){.line_bytes = bytes_gone(node, from->index, engine_now(sim->engine)),
                               .queue_bytes = view.queue_bytes,
                               .paused_ps = view.paused_ps,
                               .paused = view.paused};
}

uint32_t sim_connections(const struct sim *sim)
{
    return workload_connections(sim->workload);
}

void sim_sample_connection(const struct sim *sim, uint32_t index, struct sim_connection_sample *ret)
{
    const struct workload_connection *connection = workload_connection(sim->workload, index);

    *ret = (struct sim_connection_sample){
        .src = connection->src, .dst = connection->dst, .acked_bytes = sim_acked_bytes(sim, index)};
}
