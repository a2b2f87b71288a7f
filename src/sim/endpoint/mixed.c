/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts with RoCE and TCP: both are built and read by their own tables, each as if it were alone.
 *
 * Each has an array of adapters of its own, which stands in sim.adapter while its table is asked.  Numbers of
 * connections are those of both together, so that no two ends of a port have the same.
 */
#include "node/mixed.h"

#include "base/bits.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "sim/sim_int.h"
#include "sim/visit_host.h"

static const struct sim_endpoint_ops *const table[MIXED_KINDS] = {&sim_endpoint_roce, &sim_endpoint_tcp};

static enum mixed_kind kind_of(const struct sim *sim, uint32_t connection)
{
    const struct workload_connection *from = workload_connection(sim->workload, connection);
    uint8_t system = sim->fabric->classes[from->job_class].system;

    return fabric_systems[system].endpoint == FABRIC_ENDPOINT_TCP ? MIXED_TCP : MIXED_ROCE;
}

/* Where the adapters of one kind begin; the first endpoint knows. */
static struct node_adapter *parts_of(const struct sim *sim, enum mixed_kind kind)
{
    return ((struct mixed *)sim->adapter[0].endpoint)->part[kind];
}

static struct mixed *mixed_of(const struct node_adapter *adapter)
{
    return adapter->endpoint;
}

static size_t parts_bytes(const struct sim *sim)
{
    return lines_up(sim->fabric->endpoints * sizeof(struct node_adapter));
}

static size_t adapter_bytes(const struct sim *sim, uint32_t endpoint)
{
    size_t bytes = lines_up(sizeof(struct mixed)) + (endpoint == 0 ? MIXED_KINDS * parts_bytes(sim) : 0);

    for (int k = 0; k < MIXED_KINDS; k++)
        bytes += table[k]->adapter_bytes(sim, endpoint);
    return bytes;
}

static size_t end_bytes(const struct sim *sim, uint32_t connection, bool receives)
{
    return table[kind_of(sim, connection)]->end_bytes(sim, connection, receives);
}

static void make_adapter(struct sim *sim, uint32_t endpoint)
{
    struct node_adapter *all = sim->adapter;
    struct mixed *mixed = sim_take(sim, sizeof(*mixed));

    for (int k = 0; k < MIXED_KINDS; k++) {
        struct node_adapter *parts =
            endpoint == 0 ? sim_take(sim, parts_bytes(sim)) : parts_of(sim, (enum mixed_kind)k);
        parts[endpoint].deadline = PS_NEVER;
        parts[endpoint].owner = all[endpoint].owner;
        mixed->part[k] = &parts[endpoint];
        sim->adapter = parts;
        table[k]->make_adapter(sim, endpoint);
        sim->adapter = all;
    }
    all[endpoint].endpoint = mixed;
}

static int make_end(struct sim *sim, uint32_t index, bool receives)
{
    enum mixed_kind kind = kind_of(sim, index);
    struct node_adapter *all = sim->adapter;

    sim->adapter = parts_of(sim, kind);
    int error = table[kind]->make_end(sim, index, receives);
    sim->adapter = all;
    sim->connection[index].from.kind = sim->connection[index].to.kind = (uint8_t)kind;
    return error;
}

/* A message alone is asked for by endpoints, not by classes: it is RoCE's. */
static struct sim_frames frames(const struct sim *sim, uint32_t endpoint)
{
    return sim_endpoint_roce.frames(sim, endpoint);
}

static void settle(struct node_adapter *adapter, ps_t now)
{
    for (int k = 0; k < MIXED_KINDS; k++)
        table[k]->settle(mixed_of(adapter)->part[k], now);
}

static struct endpoint_counters counters(const struct node_adapter *adapter)
{
    struct endpoint_counters sum = table[MIXED_ROCE]->counters(mixed_of(adapter)->part[MIXED_ROCE]);
    struct endpoint_counters more = table[MIXED_TCP]->counters(mixed_of(adapter)->part[MIXED_TCP]);
    uint64_t held_ps = sum.held_ps; /* both are paused at once */

#define X(name, help) sum.name += more.name;
    ENDPOINT_COUNTER_LIST(X)
#undef X
    sum.held_ps = held_ps;
    return sum;
}

static const struct nic_counters *of_nic(const struct node_adapter *adapter)
{
    return sim_endpoint_roce.nic_counters(mixed_of(adapter)->part[MIXED_ROCE]);
}

static void own(const struct node_adapter *adapter, struct sim_nic *ret)
{
    if (sim_endpoint_tcp.own) sim_endpoint_tcp.own(mixed_of(adapter)->part[MIXED_TCP], ret);
}

static uint64_t acked_bytes(const struct node_end *from)
{
    return table[from->kind]->acked_bytes(from);
}

static struct endpoint_pace pace(const struct node_end *from)
{
    return table[from->kind]->pace(from);
}

static uint32_t queued(const struct node_end *from)
{
    return table[from->kind]->queued(from);
}

static uint16_t paused(const struct node_adapter *adapter)
{
    return sim_endpoint_roce.paused(mixed_of(adapter)->part[MIXED_ROCE]);
}

static void audit(const struct node_adapter *adapter, struct pktpool *pool)
{
    for (int k = 0; k < MIXED_KINDS; k++)
        table[k]->audit(mixed_of(adapter)->part[k], pool);
}

static void visit(struct worker *worker, struct node *node, ps_t end)
{
    static const struct visit_calls calls = {.node = {.rx = mixed_host_rx,
                                                      .tx = mixed_host_tx,
                                                      .more = host_more,
                                                      .control = mixed_host_control,
                                                      .tick = mixed_host_tick},
                                             .before_tick = host_before_tick,
                                             .settle = host_settle};

    node_visit(worker, node, end, &calls);
}

const struct sim_endpoint_ops sim_endpoint_mixed = {.visit = visit,
                                                    .first_number = 0x11, /* RoCE's: 0 and 1 are taken there */
                                                    .adapter_bytes = adapter_bytes,
                                                    .end_bytes = end_bytes,
                                                    .make_adapter = make_adapter,
                                                    .make_end = make_end,
                                                    .frames = frames,
                                                    .link = mixed_host_link,
                                                    .receive_rate = mixed_host_receive_rate,
                                                    .observe = mixed_host_observe,
                                                    .settle = settle,
                                                    .counters = counters,
                                                    .nic_counters = of_nic,
                                                    .own = own,
                                                    .acked_bytes = acked_bytes,
                                                    .pace = pace,
                                                    .queued = queued,
                                                    .paused = paused,
                                                    .audit = audit};
