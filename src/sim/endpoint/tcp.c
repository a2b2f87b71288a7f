/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP and iWARP as the simulator builds and reads them: endpoints of src/tcp, an end of a connection at each side.
 *
 * `mtu` is payload a segment, so the stream's MSS follows from it; with MPA a frame has more than that.
 */
#include "node/host_tcp.h"

#include "base/bits.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "sim/sim_int.h"

#define NS3_HEADER_BYTES (2 + 20 + 32) /* PPP, IP, TCP with timestamps */
#define TCP_HEADER_BYTES (14 + 20 + 32)
#define IWARP_HEADER_BYTES (14 + 20 + 20) /* adapters send no timestamps */
#define SCOREBOARD_RUNS 256

/* Adapters of one host share its cores. */
static uint64_t host_rate(const struct fabric *fabric, uint32_t endpoint, const struct fabric_nic *nic)
{
    uint32_t node = fabric->port[fabric->endpoint[endpoint].port].node;
    uint32_t adapters = fabric->first_endpoint[node + 1] - fabric->first_endpoint[node];

    return fabric_tcp_cpu(nic) * nic->tcp.cores / adapters;
}

/* What falls on one instant ns-3 takes in the order in which it was scheduled: a segment that an acknowledgement lets
 * go is sent before one that follows another on its line.  So the latter is a picosecond late here: a core that takes
 * so much longer for a segment than the line does. */
static uint64_t ns3_core(uint64_t line_bps, uint32_t mss)
{
    uint64_t line_ps = (uint64_t)((u128)(mss + NS3_HEADER_BYTES) * 8 * PS_S / line_bps);

    return (uint64_t)((u128)mss * 8 * PS_S / (line_ps + 1));
}

static struct tcp_config adapter_config(const struct sim *sim, uint32_t endpoint)
{
    const struct fabric *fabric = sim->fabric;
    const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[endpoint].nic];
    const struct fabric_tcp *tcp = &nic->tcp;
    bool ns3 = fabric->behaviour == FABRIC_NS3_TCP, iwarp = fabric->system == FABRIC_IWARP;
    struct mpa_config mpa = {.on = iwarp, .markers = tcp->markers};
    uint64_t line_bps = fabric->port[fabric->endpoint[endpoint].port].rate_bps, cpu_bps = fabric_tcp_cpu(nic);

    return (struct tcp_config){.line_bps = line_bps,
                               .endpoint = endpoint,
                               .ends = sim->pairs_at[endpoint] ? sim->pairs_at[endpoint] : 1,
                               .first_number = sim->endpoint->first_number,
                               .header_bytes = ns3     ? NS3_HEADER_BYTES
                                               : iwarp ? IWARP_HEADER_BYTES
                                                       : TCP_HEADER_BYTES,
                               .mss = (uint16_t)mpa_bytes(&mpa, nic->mtu_bytes),
                               .mpa = mpa,
                               .net = PKT_NET_IPV4,
                               .ttl = 64,
                               .cc = tcp->cc,
                               .initial_window = (uint16_t)tcp->initial_window,
                               .window_bytes = tcp->window_bytes,
                               .rto_first = tcp->rto_first_ps,
                               .rto_min = tcp->rto_min_ps,
                               .rto_max = tcp->rto_max_ps,
                               .retries = tcp->retries,
                               .ack_every = tcp->ack_every,
                               .ack_delay = tcp->ack_delay_ps,
                               .burst_bytes = tcp->burst_bytes,
                               .cpu_bps = ns3 && !cpu_bps ? ns3_core(line_bps, nic->mtu_bytes) : cpu_bps,
                               .host_bps = tcp->cores ? host_rate(fabric, endpoint, nic) : 0,
                               .receive_ps = tcp->receive_ps,
                               .jitter_ps = tcp->jitter_ps,
                               .seed = sim->options.seed,
                               .handshake = tcp->handshake,
                               .probes = tcp->probes,
                               .ns3 = ns3,
                               .held_bytes = tcp->in_order ? (uint32_t)tcp->held_bytes : 0,
                               .runs = SCOREBOARD_RUNS};
}

static size_t adapter_bytes(const struct sim *sim, uint32_t endpoint)
{
    struct tcp_config config = adapter_config(sim, endpoint);

    return lines_up(tcp_memory_bytes(&config));
}

static size_t end_bytes(const struct sim *sim, uint32_t connection, bool receives)
{
    const struct workload_connection *from = workload_connection(sim->workload, connection);
    struct tcp_config config = adapter_config(sim, receives ? from->dst : from->src);

    return lines_up(tcp_conn_bytes(&config, !receives, from->depth));
}

static void make_adapter(struct sim *sim, uint32_t endpoint)
{
    struct tcp_config config = adapter_config(sim, endpoint);

    sim->adapter[endpoint].endpoint = tcp_init(sim_take(sim, tcp_memory_bytes(&config)), &config);
}

static int make_end(struct sim *sim, uint32_t index, bool receives)
{
    const struct workload_connection *from = workload_connection(sim->workload, index);
    uint32_t self = receives ? from->dst : from->src, other = receives ? from->src : from->dst;
    struct node_connection *connection = &sim->connection[index];
    const struct fabric_class *job_class = &sim->fabric->classes[from->job_class];
    struct tcp_config config = adapter_config(sim, self);
    struct tcp_conn_config own = {.remote = other,
                                  .remote_number = receives ? connection->from.number : connection->to.number,
                                  .sport = sim_source_port(sim, from),
                                  .tos = (uint8_t)(job_class->dscp << 2),
                                  .prio = job_class->priority,
                                  .sends = !receives,
                                  .notifies = from->notifies,
                                  .app = index,
                                  .depth = from->depth,
                                  .memory = sim_take(sim, tcp_conn_bytes(&config, !receives, from->depth))};
    struct node_end *end = receives ? &connection->to : &connection->from;
    struct tcp_conn *conn = NULL;
    int error = tcp_conn_create(sim->adapter[self].endpoint, end->number, &own, &conn);

    end->handle = conn;
    return error;
}

static struct sim_frames frames(const struct sim *sim, uint32_t endpoint)
{
    struct tcp_config config = adapter_config(sim, endpoint);
    uint32_t payload = mpa_payload(&config.mpa, config.mss);

    return (struct sim_frames){.mtu_bytes = payload,
                               .header_bytes = config.header_bytes + mpa_bytes(&config.mpa, payload) - payload,
                               .ack_bytes = config.header_bytes,
                               .payload_padded = 1};
}

static void settle(struct node_adapter *adapter, ps_t now)
{
    tcp_settle(adapter->endpoint, now);
}

static struct endpoint_counters counters(const struct node_adapter *adapter)
{
    return tcp_end_counters(adapter);
}

static void own_counters(const struct node_adapter *adapter, struct sim_nic *ret)
{
    ret->has_tcp = true;
    ret->tcp = *tcp_counters(adapter->endpoint);
}

static uint64_t acked_bytes(const struct node_end *from)
{
    return tcp_conn_acked_bytes(from->handle);
}

static struct endpoint_pace pace(const struct node_end *from)
{
    return (struct endpoint_pace){.rate_bps = tcp_conn_rate(from->handle),
                                  .window_bytes = tcp_conn_window(from->handle),
                                  .alpha_ppm = tcp_conn_alpha_ppm(from->handle),
                                  .resent_packets = tcp_conn_resent_segments(from->handle)};
}

static uint32_t queued(const struct node_end *from)
{
    return tcp_conn_queued(from->handle);
}

static uint16_t paused(const struct node_adapter *adapter)
{
    return tcp_paused(adapter->endpoint);
}

static void audit(const struct node_adapter *adapter, struct pktpool *pool)
{
    (void)pool;
    tcp_audit(adapter->endpoint);
}

const struct sim_endpoint_ops sim_endpoint_tcp = {.visit = sim_visit_tcp,
                                                  .first_number = 0x11,
                                                  .adapter_bytes = adapter_bytes,
                                                  .end_bytes = end_bytes,
                                                  .make_adapter = make_adapter,
                                                  .make_end = make_end,
                                                  .frames = frames,
                                                  .link = node_tcp_link,
                                                  .receive_rate = node_tcp_receive_rate,
                                                  .observe = node_tcp_observe,
                                                  .settle = settle,
                                                  .counters = counters,
                                                  .own = own_counters,
                                                  .acked_bytes = acked_bytes,
                                                  .pace = pace,
                                                  .queued = queued,
                                                  .paused = paused,
                                                  .audit = audit};
