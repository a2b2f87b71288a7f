/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: adapters, and the queue pairs that the workload's connections need.
 *
 * Queue pairs are numbered at each endpoint in the order of the connections, so both ends know each other's number
 * before either is made.  Memory keys are not modelled: every request may (nic_config.any_key).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "sim/sim_int.h"

#define CQ_SIZE                                                                                                        \
    64 /* a call completes at most a queue's depth of sends, or the receives of one queue pair that failed */
#define RQ_SIZE 16      /* selective repeat: one packet may close a gap and end several messages */
#define RQ_SIZE_ORDER 2 /* else a packet ends one, whose receive is posted again before the next comes */
#define FIRST_QPN 0x11  /* the jobs' come first, then programs' */
#define SELECTIVE_PACKETS 4096

/* Memory keys are not modelled, every request may; unless there are programs, which have keys. */
struct nic_config sim_adapter_config(const struct sim *sim, uint32_t endpoint)
{
    const struct sim_programs *programs = sim->options.programs;
    struct nic_config config = plant_adapter(&sim->plant, endpoint);

    config.max_qps = sim->pairs_at[endpoint] ? sim->pairs_at[endpoint] : 1;
    config.first_qpn = FIRST_QPN;
    config.any_key = programs == NULL;
    if (programs) {
        config.max_qps += programs->qps;
        config.max_mrs = programs->mrs + 1; /* the jobs' */
    }
    if (sim->rtt_ns) config.rtt_ns = &sim->rtt_ns[endpoint];
    config.events = sim_events_of(sim, sim->fabric->port[sim->fabric->endpoint[endpoint].port].node);
    config.event_port = sim->fabric->endpoint[endpoint].index;
    return config;
}

bool sim_qp_of_jobs(const struct sim *sim, uint32_t endpoint, uint32_t qpn)
{
    return qpn - FIRST_QPN < sim->pairs_at[endpoint];
}

/* The file's reader has looked after flows; whom a collective's ranks talk to is known only now. */
static int check_way(const struct fabric *fabric, uint32_t src, uint32_t dst, struct fabric_errors *errors)
{
    char a[FABRIC_NAME], b[FABRIC_NAME];

    if (fabric_reaches(fabric, src, dst)) return 0;
    fabric_errors_add(errors, fabric->jobs == 1 ? fabric->job[0].where : (struct fabric_at){0},
                      "no route from %s to %s, and a collective needs one",
                      fabric_port_name(fabric, fabric->endpoint[src].port, a),
                      fabric_port_name(fabric, fabric->endpoint[dst].port, b));
    return -EINVAL;
}

/* How many queue pairs each endpoint has, and what number they get. */
static int number_pairs(struct sim *sim, struct fabric_errors *errors)
{
    uint32_t connections = workload_connections(sim->workload);

    sim->connection = calloc(connections + 1u, sizeof(*sim->connection));
    sim->pairs_at = calloc(sim->fabric->endpoints + 1u, sizeof(*sim->pairs_at));
    if (!sim->connection || !sim->pairs_at) return -ENOMEM;
    for (uint32_t i = 0; i < connections; i++) {
        const struct workload_connection *from = workload_connection(sim->workload, i);
        int error = check_way(sim->fabric, from->src, from->dst, errors);
        if (error) return error;
        sim->connection[i].from.number = FIRST_QPN + sim->pairs_at[from->src]++;
        sim->connection[i].to.number = FIRST_QPN + sim->pairs_at[from->dst]++;
    }
    return 0;
}

/* Who is behind a host that is not ours runs what it likes, but no job of the file. */
static int check_foreign(const struct sim *sim, struct fabric_errors *errors)
{
    const struct fabric *fabric = sim->fabric;
    int error = 0;

    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        uint32_t host = fabric->port[fabric->endpoint[e].port].node;
        if (sim->pairs_at[e] == 0 || !sim_is_foreign(sim, host)) continue;
        fabric_errors_add(errors, (struct fabric_at){0},
                          "a job of the file runs on '%s', which is not ours to run it: give the job other hosts, or "
                          "the interface to another",
                          fabric->node[host].name);
        error = -EINVAL;
    }
    return error;
}

static uint32_t receives_of(const struct fabric_nic *nic, const struct workload_connection *from)
{
    return nic->recovery == NIC_SELECTIVE ? RQ_SIZE / WORKLOAD_DEPTH * from->depth : RQ_SIZE_ORDER;
}

static size_t end_bytes(const struct sim *sim, uint32_t connection, bool receives)
{
    const struct workload_connection *from = workload_connection(sim->workload, connection);
    const struct fabric_nic *nic = &sim->fabric->nic[sim->fabric->endpoint[receives ? from->dst : from->src].nic];
    size_t bytes = 0;

    if (!receives) bytes += lines_up(from->depth * sizeof(struct nic_wr));
    if (receives && from->notifies) bytes += lines_up(receives_of(nic, from) * sizeof(struct nic_recv));
    if (nic->recovery == NIC_SELECTIVE) bytes += lines_up(nic_selective_bytes(SELECTIVE_PACKETS));
    return bytes;
}

int sim_plan_hosts(struct sim *sim, size_t *ret_bytes, struct fabric_errors *errors)
{
    const struct fabric *fabric = sim->fabric;
    size_t bytes = 0;

    sim->host = calloc(fabric->hosts + 1u, sizeof(*sim->host));
    sim->adapter = calloc(fabric->endpoints + 1u, sizeof(*sim->adapter));
    if (!sim->host || !sim->adapter) return -ENOMEM;
    if (sim->options.rtt && !(sim->rtt_ns = calloc(fabric->endpoints + 1u, sizeof(*sim->rtt_ns)))) return -ENOMEM;
    int error = number_pairs(sim, errors);
    if (!error) error = check_foreign(sim, errors);
    if (error) return error;
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        struct nic_config config = sim_adapter_config(sim, e);
        bytes += lines_up(nic_memory_bytes(&config)) + lines_up(CQ_SIZE * sizeof(struct nic_cqe));
    }
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++)
        bytes += end_bytes(sim, i, false) + end_bytes(sim, i, true);
    *ret_bytes = bytes;
    return 0;
}

/* Beside programs the jobs have a region of their own: everything, by the key 0, in a domain that no program has. */
static void make_jobs_region(struct nic *nic)
{
    const struct nic_mr all = {
        .bytes = UINT64_MAX, .pd = SIM_JOBS_PD, .rights = NIC_REMOTE_ALL, .fixed = true, .live = true};

    CHECK(nic_mr_set(nic, &all) == 0);
}

int sim_make_host(struct sim *sim, uint32_t index)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t first = fabric->first_endpoint[index], count = fabric->first_endpoint[index + 1] - first;
    struct sim_host *host = &sim->host[index];

    *host = (struct sim_host){.sim = sim, .faults = host->faults};
    for (uint32_t i = 0; i < count; i++) {
        struct nic_config config = sim_adapter_config(sim, first + i);
        struct node_adapter *adapter = &sim->adapter[first + i];
        adapter->nic = nic_init(sim_take(sim, nic_memory_bytes(&config)), &config);
        adapter->deadline = PS_NEVER;
        adapter->owner = host;
        if (sim->options.programs) make_jobs_region(adapter->nic);
        nic_cq_init(&adapter->cq, sim_take(sim, CQ_SIZE * sizeof(struct nic_cqe)), CQ_SIZE);
    }
    host->node = (struct node_host){.adapter = &sim->adapter[first],
                                    .adapters = count,
                                    .number = index,
                                    .app_state = host,
                                    .connection = sim->connection,
                                    .app_at = PS_NEVER,
                                    .deadline = PS_NEVER,
                                    .failure = {.at = PS_NEVER}};
    int error = software_build(sim, host);
    host->jobs = host->software ? &sim_app_delayed : &sim_app_straight;
    host->node.app = sim->options.programs ? &sim_app_programs : host->jobs;
    return error;
}

uint16_t sim_source_port(const struct sim *sim, const struct workload_connection *connection)
{
    if (sim->fabric->behaviour == FABRIC_HPCC_NS3) return (uint16_t)(10000 + connection->number);
    uint64_t hash = ((uint64_t)connection->src << 32 | connection->dst) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ hash >> 29 ^ connection->number ^ (uint64_t)connection->copy << 32) * 0xbf58476d1ce4e5b9ULL;
    return (uint16_t)(0xc000 | (hash >> 40 & 0x3fff));
}

/* One end of a connection. */
static int make_pair(struct sim *sim, uint32_t index, bool receives)
{
    const struct fabric *fabric = sim->fabric;
    const struct workload_connection *from = workload_connection(sim->workload, index);
    uint32_t self = receives ? from->dst : from->src, other = receives ? from->src : from->dst;
    struct node_connection *connection = &sim->connection[index];
    const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[self].nic];
    const struct fabric_class *job_class = &fabric->classes[from->job_class];
    struct node_adapter *adapter = &sim->adapter[self];
    struct nic_qp_config config = plant_qp_config(nic, &sim->plant.cc[fabric->endpoint[self].nic]);
    struct nic_io io = {0};

    config.remote = other;
    config.remote_qp = receives ? connection->from.number : connection->to.number;
    config.sport = sim_source_port(sim, from);
    config.tos = (uint8_t)(job_class->dscp << 2);
    config.prio = job_class->priority;
    config.send_cq = config.recv_cq = &adapter->cq;
    if (!receives) {
        config.sq = sim_take(sim, from->depth * sizeof(struct nic_wr));
        config.sq_size = from->depth;
    } else if (from->notifies) {
        config.rq_size = receives_of(nic, from);
        config.rq = sim_take(sim, config.rq_size * sizeof(struct nic_recv));
    }
    if (nic->recovery == NIC_SELECTIVE) {
        config.selective = sim_take(sim, nic_selective_bytes(SELECTIVE_PACKETS));
        config.selective_size = SELECTIVE_PACKETS;
    }
    struct node_end *end = receives ? &connection->to : &connection->from;
    struct nic_qp *qp = NULL;
    int error = nic_qp_create(adapter->nic, end->number, &config, 0, &qp);
    end->handle = qp;
    for (uint32_t i = 0; !error && i < config.rq_size; i++) {
        struct nic_recv recv = {.wr_id = (uint64_t)index << 32};
        error = nic_post_recv(adapter->nic, qp, &recv, 0, &io);
    }
    return error;
}

int sim_make_pairs(struct sim *sim, struct fabric_errors *errors)
{
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++) {
        const struct workload_connection *from = workload_connection(sim->workload, i);
        sim->connection[i].adapter = sim->fabric->endpoint[from->src].index;
        sim->connection[i].notifies = from->notifies;
        int error = make_pair(sim, i, false);
        if (!error) error = make_pair(sim, i, true);
        if (error) {
            fabric_errors_add(errors, (struct fabric_at){0},
                              "no queue pair can be made as the adapter is configured: %s", strerror(-error));
            return error;
        }
    }
    return 0;
}
