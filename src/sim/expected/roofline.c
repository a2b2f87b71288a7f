/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a job would take if nothing but its endpoints limited it: what its time is measured against.
 *
 * Flows: each adapter sends, and receives, at its line's rate what the job has for it, from the moment it can be there,
 * and the busiest of them is the job's time: of an incast that is the receiver's line.  No flow ends before it would
 * alone in the fabric, and one that waits for another begins no sooner than that one could end.
 *
 * Collectives: bytes and order are the algorithm's own (workload/collective/bound.c).  The time is the longest of
 * three: the busiest adapter's bytes on its line, with a packet's way and what software takes for it; the busiest link
 * between GPUs of a host; and the longest chain of messages that wait for each other.
 *
 * SHARP, of an allreduce by a ring on InfiniBand: a closed form, for nothing of it is simulated.  Each adapter sends
 * what it has of the buffer up the tree of switches once and gets the result once, instead of 2 (n - 1) / n times: the
 * busiest adapter's line, and a packet's longest way, which is up to the root and down.  What hosts do inside is not in
 * it.
 *
 * Training: the compute of a rank, the mean; that is, all communication hidden.
 *
 * All of it is a bound from below, with packets of a whole MTU and without acknowledgements, so that nothing is ever
 * faster.  What the links between switches can carry is not in it: that is what a job's share of it tells.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "sim/sim_int.h"
#include "workload/collective/coll.h"

struct line { /* of an adapter, one way */
    ps_t busy_until;
};

struct start { /* a flow, and when it could begin at the earliest */
    ps_t at;
    uint32_t transfer;
};

struct roof {
    const struct sim *sim;
    const struct sim_result *result;
    struct line *tx, *rx; /* [endpoints] */
    uint64_t *tx_bytes, *rx_bytes;
    struct start *start; /* [transfers of the job with most] */
};

static uint64_t sends_at(const struct fabric *fabric, uint32_t endpoint)
{
    return fabric->port[fabric->endpoint[endpoint].port].rate_bps;
}

static uint64_t receives_at(const struct fabric *fabric, uint32_t endpoint)
{
    uint32_t peer = fabric->port[fabric->endpoint[endpoint].port].peer;

    return peer == FABRIC_NONE ? 0 : fabric->port[peer].rate_bps;
}

static int compare_starts(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->transfer < y->transfer ? -1 : x->transfer > y->transfer;
}

/* Those that waited for a flow, `list` and so on, can begin then; they join the queue. */
static uint32_t release(const struct roof *roof, const struct workload_instance *instance, uint32_t list, ps_t at,
                        uint32_t count)
{
    for (uint32_t t = list; t != WORKLOAD_NONE; t = workload_transfer(roof->sim->workload, t)->beside)
        roof->start[count++] =
            (struct start){ps_add(at, workload_transfer(roof->sim->workload, t)->delay), t - instance->first_transfer};
    return count;
}

/* When each flow could begin: at its time, or when the one it waits for could be over.  Answers how many can. */
static uint32_t find_starts(const struct roof *roof, const struct workload_instance *instance)
{
    const struct sim *sim = roof->sim;
    uint32_t count = 0;

    for (uint32_t i = 0; i < instance->transfers; i++) {
        const struct workload_transfer *transfer = workload_transfer(sim->workload, instance->first_transfer + i);
        if (transfer->offset != PS_NEVER) roof->start[count++] = (struct start){transfer->offset, i};
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct start *start = &roof->start[i];
        uint32_t index = instance->first_transfer + start->transfer;
        const struct workload_transfer *transfer = workload_transfer(sim->workload, index);
        const struct sim_flow *flow = &roof->result->flow[index];
        ps_t over = ps_add(start->at, flow->ideal_ps);
        if (transfer->then != WORKLOAD_NONE)
            roof->start[count++] = (struct start){over, transfer->then - instance->first_transfer};
        count = release(roof, instance, transfer->completes, over, count);
        if (transfer->arrives != WORKLOAD_NONE)
            count = release(roof, instance, transfer->arrives,
                            ps_add(start->at, sim_ideal_arrival(sim, flow->src, flow->dst, flow->bytes)), count);
        CHECK(count <= instance->transfers);
    }
    return count;
}

static void occupy(struct line *line, ps_t from, ps_t span)
{
    line->busy_until = ps_add(line->busy_until > from ? line->busy_until : from, span);
}

/* What a single packet takes of its way that is not time on that line: of the flows over it, the least. */
static ps_t least_latency(const struct roof *roof, const struct workload_instance *instance, uint32_t endpoint, bool tx)
{
    const struct sim *sim = roof->sim;
    ps_t least = PS_NEVER;

    for (uint32_t i = 0; i < instance->transfers; i++) {
        const struct sim_flow *flow = &roof->result->flow[instance->first_transfer + i];
        if ((tx ? flow->src : flow->dst) != endpoint) continue;
        uint64_t rate = tx ? sends_at(sim->fabric, endpoint) : receives_at(sim->fabric, endpoint);
        ps_t all = sim_ideal(sim, flow->src, flow->dst, 1), line = sim_ideal_line(sim, flow->src, rate, 1);
        if (all != PS_NEVER && all - (line < all ? line : all) < least) least = all - (line < all ? line : all);
    }
    return least == PS_NEVER ? 0 : least;
}

static ps_t flows_ideal(const struct roof *roof, const struct workload_instance *instance)
{
    const struct fabric *fabric = roof->sim->fabric;
    uint32_t count = find_starts(roof, instance), busiest = 0;
    ps_t longest = 0, most = 0;
    bool tx = false;

    for (uint32_t e = 0; e < fabric->endpoints; e++)
        roof->tx[e].busy_until = roof->rx[e].busy_until = 0;
    qsort(roof->start, count, sizeof(*roof->start), compare_starts);
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_flow *flow = &roof->result->flow[instance->first_transfer + roof->start[i].transfer];
        ps_t at = roof->start[i].at, over = ps_add(at, flow->ideal_ps);
        if (over == PS_NEVER) return PS_NEVER; /* there is no way */
        if (over > longest) longest = over;
        occupy(&roof->tx[flow->src], at,
               sim_ideal_line(roof->sim, flow->src, sends_at(fabric, flow->src), flow->bytes));
        occupy(&roof->rx[flow->dst], at,
               sim_ideal_line(roof->sim, flow->src, receives_at(fabric, flow->dst), flow->bytes));
    }
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        ps_t own = roof->tx[e].busy_until > roof->rx[e].busy_until ? roof->tx[e].busy_until : roof->rx[e].busy_until;
        if (own <= most) continue;
        most = own;
        busiest = e;
        tx = roof->tx[e].busy_until == own;
    }
    most = ps_add(most, least_latency(roof, instance, busiest, tx));
    return count < instance->transfers ? PS_NEVER : most > longest ? most : longest;
}

static ps_t arrives(const void *of, uint32_t src, uint32_t dst, uint64_t bytes)
{
    return sim_ideal_arrival(of, src, dst, bytes);
}

static ps_t longest(ps_t a, ps_t b)
{
    return a > b ? a : b;
}

/* PS_NEVER: no memory, or no way.  In *ret_inside what links within hosts take. */
static ps_t collective_ideal(const struct roof *roof, uint32_t coll, ps_t *ret_inside)
{
    const struct sim *sim = roof->sim;
    const struct fabric *fabric = sim->fabric;
    struct coll_bound bound = {.tx_bytes = roof->tx_bytes, .rx_bytes = roof->rx_bytes, .arrives = arrives, .of = sim};
    ps_t line = 0, time;

    for (uint32_t e = 0; e < fabric->endpoints; e++)
        bound.tx_bytes[e] = bound.rx_bytes[e] = 0;
    if (!coll_bound(sim->workload, coll, &bound)) return PS_NEVER;
    time = *ret_inside = longest(bound.inside_ps, bound.hops_inside_ps);
    if (bound.least_ps == PS_NEVER) return bound.hops ? PS_NEVER : time;
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        if (bound.tx_bytes[e]) line = longest(line, sim_ideal_line(sim, e, sends_at(fabric, e), bound.tx_bytes[e]));
        if (bound.rx_bytes[e]) line = longest(line, sim_ideal_line(sim, e, receives_at(fabric, e), bound.rx_bytes[e]));
    }
    ps_t packet = sim_ideal_line(sim, 0, sends_at(fabric, 0), 1);
    time =
        longest(time, line + bound.least_ps - (packet < bound.least_ps ? packet : bound.least_ps) + bound.software_ps);
    return longest(time, bound.hops * (bound.hop_ps + bound.software_ps) + bound.hops_inside_ps);
}

/* After collective_ideal(), which has found what each adapter sends. */
static ps_t collective_sharp(const struct roof *roof, const struct sim_job *job)
{
    static const uint8_t payload[] = {
        [FABRIC_PROTOCOL_LL] = 64, [FABRIC_PROTOCOL_LL128] = 120, [FABRIC_PROTOCOL_SIMPLE] = 128}; /* of 128 */
    const struct sim *sim = roof->sim;
    const struct fabric *fabric = sim->fabric;
    uint32_t first = fabric->endpoints;
    ps_t line = 0, way = 0;

    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        u128 data = (u128)roof->tx_bytes[e] * payload[job->protocol] / 128;
        uint64_t share = (uint64_t)(data * job->ranks / (2ull * (job->ranks - 1)));
        if (share == 0) continue;
        if (first == fabric->endpoints) first = e;
        line = longest(line, sim_ideal_line(sim, e, sends_at(fabric, e), share));
        ps_t one = e == first ? 0 : sim_ideal_arrival(sim, first, e, 1);
        if (one != PS_NEVER) way = longest(way, one);
    }
    return line ? line + way : PS_NEVER;
}

static bool may_reduce_in_switches(const struct fabric *fabric, const struct sim_job *job)
{
    return fabric->system == FABRIC_INFINIBAND && fabric->job[job->job].kind == FABRIC_JOB_ALLREDUCE &&
           job->algorithm == FABRIC_ALGORITHM_RING && job->ranks > 1;
}

static ps_t training_ideal(const struct sim_result *result, uint32_t job)
{
    for (uint32_t i = 0; i < result->trainings; i++)
        if (result->training[i].job == job)
            return result->training[i].steps_ended ? result->training[i].compute_ps * result->training[i].steps
                                                   : PS_NEVER;
    return PS_NEVER;
}

static void read_all(const struct roof *roof, struct sim_result *ret)
{
    uint32_t before = WORKLOAD_NONE;
    ps_t of_before = PS_NEVER, inside = 0, sharp = PS_NEVER;

    for (uint32_t i = 0; i < ret->jobs; i++) {
        const struct workload_instance *instance = workload_instance(roof->sim->workload, i);
        struct sim_job *job = &ret->job[i];
        job->sharp_ps = PS_NEVER;
        if (instance->train != WORKLOAD_NONE) {
            job->ideal_ps = training_ideal(ret, i);
        } else if (instance->coll == WORKLOAD_NONE) {
            job->ideal_ps = instance->transfers ? flows_ideal(roof, instance) : PS_NEVER;
        } else { /* repetitions are the same operation */
            if (instance->coll != before) {
                inside = 0;
                of_before = collective_ideal(roof, instance->coll, &inside);
                sharp = may_reduce_in_switches(roof->sim->fabric, job) ? collective_sharp(roof, job) : PS_NEVER;
            }
            before = instance->coll;
            job->ideal_ps = of_before;
            job->inside_ps = inside;
            job->sharp_ps = sharp;
        }
    }
}

int sim_roofline(const struct sim *sim, struct sim_result *ret)
{
    uint32_t endpoints = sim->fabric->endpoints, most = 0;
    struct roof roof = {.sim = sim, .result = ret};

    for (uint32_t i = 0; i < ret->jobs; i++)
        if (workload_instance(sim->workload, i)->transfers > most)
            most = workload_instance(sim->workload, i)->transfers;
    roof.tx = calloc(endpoints + 1u, sizeof(*roof.tx));
    roof.rx = calloc(endpoints + 1u, sizeof(*roof.rx));
    roof.tx_bytes = calloc(endpoints + 1u, sizeof(*roof.tx_bytes));
    roof.rx_bytes = calloc(endpoints + 1u, sizeof(*roof.rx_bytes));
    roof.start = calloc(most + 1u, sizeof(*roof.start));
    int error = roof.tx && roof.rx && roof.tx_bytes && roof.rx_bytes && roof.start ? 0 : -ENOMEM;
    if (!error) read_all(&roof, ret);
    free(roof.tx);
    free(roof.rx);
    free(roof.tx_bytes);
    free(roof.rx_bytes);
    free(roof.start);
    return error;
}
