/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoCE and InfiniBand as the simulator builds and reads them: adapters of src/nic, a queue pair for each end of a
 * connection.
 *
 * Both ends know each other's number before either is made.  Memory keys are not modelled: every request may
 * (nic_config.any_key).
 */
#include "node/roce.h"
#include "node/host_ib.h"

#include "base/bits.h"
#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "sim/sim_int.h"

#define CQ_SIZE                                                                                                        \
    64 /* a call completes at most a queue's depth of sends, or the receives of one queue pair that failed */
#define RQ_SIZE 16      /* selective repeat: one packet may close a gap and end several messages */
#define RQ_SIZE_ORDER 2 /* else a packet ends one, whose receive is posted again before the next comes */
#define SELECTIVE_PACKETS 4096
#define ACK_EXTRA_BYTES 4    /* AETH */
#define WRITE_EXTRA_BYTES 16 /* RETH, of a message's first packet */

/* Memory keys are not modelled, every request may; unless there are programs, which have keys. */
static struct nic_config adapter_config(const struct sim *sim, uint32_t endpoint)
{
    const struct sim_programs *programs = sim->options.programs;
    struct nic_config config = plant_adapter(&sim->plant, endpoint);

    config.max_qps = sim->pairs_at[endpoint] ? sim->pairs_at[endpoint] : 1;
    config.first_qpn = sim_endpoint_roce.first_number;
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

static size_t adapter_bytes(const struct sim *sim, uint32_t endpoint)
{
    struct nic_config config = adapter_config(sim, endpoint);

    return lines_up(nic_memory_bytes(&config)) + lines_up(CQ_SIZE * sizeof(struct nic_cqe));
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

/* Beside programs the jobs have a region of their own: everything, by the key 0, in a domain that no program has. */
static void make_jobs_region(struct nic *nic)
{
    const struct nic_mr all = {
        .bytes = UINT64_MAX, .pd = SIM_JOBS_PD, .rights = NIC_REMOTE_ALL, .fixed = true, .live = true};

    CHECK(nic_mr_set(nic, &all) == 0);
}

static void make_adapter(struct sim *sim, uint32_t endpoint)
{
    struct nic_config config = adapter_config(sim, endpoint);
    struct node_adapter *adapter = &sim->adapter[endpoint];

    adapter->nic = nic_init(sim_take(sim, nic_memory_bytes(&config)), &config);
    if (sim->options.programs) make_jobs_region(adapter->nic);
    nic_cq_init(&adapter->cq, sim_take(sim, CQ_SIZE * sizeof(struct nic_cqe)), CQ_SIZE);
}

static int make_end(struct sim *sim, uint32_t index, bool receives)
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

static struct sim_frames frames(const struct sim *sim, uint32_t endpoint)
{
    struct nic_config config = adapter_config(sim, endpoint);
    bool fixed = config.fixed_headers;

    return (struct sim_frames){.mtu_bytes = sim->fabric->nic[sim->fabric->endpoint[endpoint].nic].mtu_bytes,
                               .header_bytes = config.header_bytes,
                               .first_extra = fixed ? 0 : WRITE_EXTRA_BYTES,
                               .ack_bytes = config.ack_frame_bytes ? config.ack_frame_bytes
                                                                   : (uint64_t)config.header_bytes + ACK_EXTRA_BYTES,
                               .payload_padded = fixed ? 1 : 4};
}

static void settle(struct node_adapter *adapter, ps_t now)
{
    nic_settle(adapter->nic, now);
}

static struct endpoint_counters counters(const struct node_adapter *adapter)
{
    return roce_counters(adapter);
}

static const struct nic_counters *of_nic(const struct node_adapter *adapter)
{
    return nic_counters(adapter->nic);
}

static uint64_t acked_bytes(const struct node_end *from)
{
    return roce_acked_bytes(from);
}

static struct endpoint_pace pace(const struct node_end *from)
{
    return roce_pace(from);
}

static uint32_t queued(const struct node_end *from)
{
    return roce_queued(from);
}

static uint16_t paused(const struct node_adapter *adapter)
{
    return nic_paused(adapter->nic);
}

static void audit(const struct node_adapter *adapter, struct pktpool *pool)
{
    nic_audit(adapter->nic, pool);
}

#define NIC_OPS(...)                                                                                                   \
    {                                                                                                                  \
        .first_number = 0x11, /* the jobs' come first, then programs' */                                               \
            .adapter_bytes = adapter_bytes, .end_bytes = end_bytes, .make_adapter = make_adapter,                      \
        .make_end = make_end, .frames = frames, .settle = settle, .counters = counters, .nic_counters = of_nic,        \
        .acked_bytes = acked_bytes, .pace = pace, .queued = queued, .paused = paused, .audit = audit, __VA_ARGS__      \
    }

const struct sim_endpoint_ops sim_endpoint_roce =
    NIC_OPS(.visit = sim_visit_host, .link = node_host_link, .receive_rate = node_host_receive_rate,
            .observe = node_host_observe);
const struct sim_endpoint_ops sim_endpoint_ib =
    NIC_OPS(.visit = sim_visit_ib, .link = node_ib_link, .receive_rate = node_ib_receive_rate,
            .observe = node_ib_observe);
