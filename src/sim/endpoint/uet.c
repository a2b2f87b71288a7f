/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ultra Ethernet as the simulator builds and reads it: an endpoint of src/uet a port, a PDC for each connection.
 *
 * The constants of congestion control follow from the round trip of the longest way without load.  That is measured
 * on the fabric (sim_ideal) from up to WAYS endpoints to all, unless the file says it.
 */
#include "node/uet.h"

#include "base/bits.h"
#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "fabric/switches.h"
#include "sim/sim_int.h"

#define WAYS 16u

static void prepare(struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t every = fabric->endpoints / WAYS + 1;
    ps_t longest = PS_US;

    for (uint32_t src = 0; fabric->uet.base_rtt_ps == 0 && src < fabric->endpoints; src += every) {
        uint64_t packet = fabric->nic[fabric->endpoint[src].nic].mtu_bytes;
        for (uint32_t dst = 0; dst < fabric->endpoints; dst++) {
            ps_t rtt = dst != src && fabric_reaches(fabric, src, dst) ? sim_ideal(sim, src, dst, packet) : 0;
            if (rtt != PS_NEVER && rtt > longest) longest = rtt;
        }
    }
    sim->base_rtt_ps = fabric->uet.base_rtt_ps ? fabric->uet.base_rtt_ps : longest;
}

static void set_classes(const struct fabric *fabric, struct uet_config *config)
{
    const struct fabric_class *control =
        fabric->uet.control_class == FABRIC_NONE ? NULL : &fabric->classes[fabric->uet.control_class];

    config->control_tos = control ? (uint8_t)(control->dscp << 2) : UET_AS_DATA;
    config->control_prio = control ? control->priority : UET_AS_DATA;
    config->trimmed_last_dscp = fabric->uet.last_hop_dscp;
}

static struct uet_config config_of(const struct sim *sim, uint32_t endpoint)
{
    const struct fabric *fabric = sim->fabric;
    const struct fabric_uet *from = &fabric->uet;
    struct uet_config config = uet_config_default(
        fabric->behaviour == FABRIC_UET_HTSIM ? UET_HTSIM : UET_SPECIFICATION, from->control, from->trimming,
        (uint16_t)fabric->nic[fabric->endpoint[endpoint].nic].mtu_bytes,
        fabric->port[fabric->endpoint[endpoint].port].rate_bps, sim->base_rtt_ps ? sim->base_rtt_ps : PS_US);

    config.data_bytes -= from->data_less;
    config.control_bytes -= from->control_less;
    config.policy = from->policy;
    config.ordered = from->ordered;
    config.oversubscribed = from->oversubscribed;
    config.infer_loss = from->infer_loss && !from->ordered && from->control & UET_NSCC;
    config.paths = (uint16_t)from->paths;
    config.ack_bytes = from->ack_bytes;
    if (from->rto_ps) config.rto_ps = from->rto_ps;
    if (from->retries_given) config.retries = from->retries;
    config.endpoint = endpoint;
    config.ends = sim->pairs_at[endpoint] ? sim->pairs_at[endpoint] : 1;
    config.first_number = sim_endpoint_uet.first_number;
    config.seed = fabric->seed;
    set_classes(fabric, &config);
    return config;
}

static size_t adapter_bytes(const struct sim *sim, uint32_t endpoint)
{
    struct uet_config config = config_of(sim, endpoint);

    return lines_up(uet_memory_bytes(&config)) + (sim->fabric->lanes.vls ? lines_up(sizeof(struct credit_port)) : 0);
}

static size_t end_bytes(const struct sim *sim, uint32_t connection, bool receives)
{
    const struct workload_connection *from = workload_connection(sim->workload, connection);
    struct uet_config config = config_of(sim, receives ? from->dst : from->src);

    return lines_up(receives ? uet_sink_bytes(&config, from->depth) : uet_source_bytes(&config, from->depth));
}

static void make_adapter(struct sim *sim, uint32_t endpoint)
{
    struct uet_config config = config_of(sim, endpoint);

    sim->adapter[endpoint].endpoint = uet_init(sim_take(sim, uet_memory_bytes(&config)), &config);
    if (!sim->fabric->lanes.vls) return;
    struct credit_port_config credit = plant_credit_port(sim->fabric, endpoint);
    struct credit_port *port = sim_take(sim, sizeof(*port));
    credit_port_init(port, &credit, 0);
    uet_hold(sim->adapter[endpoint].endpoint, credit_port_prios(port, port->dry), 0);
    sim->adapter[endpoint].credit = port;
}

/* Both ends know the same window: numbers outstanding are kept in a map at the sink. */
static int make_end(struct sim *sim, uint32_t index, bool receives)
{
    const struct workload_connection *from = workload_connection(sim->workload, index);
    const struct fabric_class *job_class = &sim->fabric->classes[from->job_class];
    struct node_connection *connection = &sim->connection[index];
    uint32_t self = receives ? from->dst : from->src;
    struct uet *uet = sim->adapter[self].endpoint;
    struct uet_peer peer = {.node = receives ? from->src : from->dst,
                            .number = receives ? connection->from.number : connection->to.number,
                            .owner = index,
                            .depth = from->depth,
                            .first_path = sim_source_port(sim, from),
                            .tos = (uint8_t)(job_class->dscp << 2),
                            .prio = job_class->priority};
    void *memory = sim_take(sim, end_bytes(sim, index, receives));

    if (receives)
        connection->to.handle = uet_open_sink(uet, connection->to.number, &peer, from->notifies, memory);
    else
        connection->from.handle = uet_open_source(uet, connection->from.number, &peer, memory);
    return 0;
}

static struct sim_frames frames(const struct sim *sim, uint32_t endpoint)
{
    struct uet_config config = config_of(sim, endpoint);

    return (struct sim_frames){.mtu_bytes = config.payload_bytes,
                               .header_bytes = config.data_bytes,
                               .ack_bytes = config.control_bytes,
                               .payload_padded = 1};
}

static void settle(struct node_adapter *adapter, ps_t now)
{
    uet_settle(adapter->endpoint, now);
}

static struct endpoint_counters counters(const struct node_adapter *adapter)
{
    return uet_end_counters(adapter);
}

static void own_counters(const struct node_adapter *adapter, struct sim_nic *ret)
{
    ret->has_uet = true;
    ret->uet = *uet_counters(adapter->endpoint);
}

static uint64_t acked_bytes(const struct node_end *from)
{
    return uet_acked_bytes(from->handle);
}

static struct endpoint_pace pace(const struct node_end *from)
{
    return (struct endpoint_pace){.rate_bps = uet_rate_bps(from->handle),
                                  .window_bytes = uet_window_bytes(from->handle),
                                  .resent_packets = uet_resent_packets(from->handle)};
}

static uint32_t queued(const struct node_end *from)
{
    return uet_queued(from->handle);
}

static uint16_t paused(const struct node_adapter *adapter)
{
    return uet_paused(adapter->endpoint);
}

static void audit(const struct node_adapter *adapter, struct pktpool *pool)
{
    (void)uet_audit(adapter->endpoint, pool);
}

const struct sim_endpoint_ops sim_endpoint_uet = {.visit = sim_visit_uet,
                                                  .first_number = 1,
                                                  .prepare = prepare,
                                                  .adapter_bytes = adapter_bytes,
                                                  .end_bytes = end_bytes,
                                                  .make_adapter = make_adapter,
                                                  .make_end = make_end,
                                                  .frames = frames,
                                                  .link = uet_host_link,
                                                  .receive_rate = uet_host_receive_rate,
                                                  .observe = uet_host_observe,
                                                  .settle = settle,
                                                  .counters = counters,
                                                  .own = own_counters,
                                                  .acked_bytes = acked_bytes,
                                                  .pace = pace,
                                                  .queued = queued,
                                                  .paused = paused,
                                                  .audit = audit};
