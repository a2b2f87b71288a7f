/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes part in a job, and which way a flow goes.
 *
 * A flow's way is asked of the switches, one after the other, for a packet as its queue pair sends them: what hashes
 * and pins say with the routes of now.  Flows of one connection have one way, which is looked for once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sim/sim_int.h"

#include "fabric/fabric.h"

#define HOPS_MAX 32

struct numbers { /* a list that grows */
    uint32_t *at;
    uint32_t count, room;
    bool failed; /* no memory */
};

static void add_number(struct numbers *list, uint32_t number)
{
    if (list->failed) return;
    list->failed = !GROW(list->at, list->count, list->room);
    if (list->failed) return;
    list->at[list->count++] = number;
}

struct roll { /* who has been named */
    struct numbers list;
    uint32_t *named; /* [endpoint] when */
    uint32_t time;
};

static void name(struct roll *roll, uint32_t endpoint)
{
    if (roll->named[endpoint] == roll->time) return;
    roll->named[endpoint] = roll->time;
    add_number(&roll->list, endpoint);
}

static void name_ranks(const struct fabric *fabric, const struct fabric_job *job, struct roll *roll)
{
    for (uint32_t i = 0; i < job->ranks; i++) {
        uint32_t gpu = job->rank[i], first = fabric->gpu_nic[gpu];
        for (uint32_t n = 0; first != FABRIC_NONE && n < fabric_gpu_nics(fabric, gpu); n++)
            name(roll, first + n);
    }
}

static void name_ends(const struct workload *workload, const struct workload_instance *instance, bool to,
                      struct roll *roll)
{
    for (uint32_t i = 0; i < instance->transfers; i++) {
        uint32_t index = workload_transfer(workload, instance->first_transfer + i)->connection;
        const struct workload_connection *connection = workload_connection(workload, index);
        name(roll, to ? connection->dst : connection->src);
    }
}

/* The same as the repetition before it: then there is one list for both. */
static void share(struct numbers *list, const struct sim_job *before, struct sim_job *job)
{
    bool same = before->job == job->job && before->froms == job->froms && before->tos == job->tos;

    same = same && memcmp(list->at + before->first_from, list->at + job->first_from,
                          (job->froms + job->tos) * sizeof(*list->at)) == 0;
    if (!same) return;
    list->count = job->first_from;
    job->first_from = before->first_from;
    job->first_to = before->first_to;
}

static int read_jobs(const struct sim *sim, struct sim_result *ret)
{
    const struct fabric *fabric = sim->fabric;
    struct roll roll = {.named = calloc(fabric->endpoints + 1u, sizeof(*roll.named))};

    if (roll.named == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < ret->jobs && !roll.list.failed; i++) {
        const struct workload_instance *instance = workload_instance(sim->workload, i);
        const struct fabric_job *from = &fabric->job[instance->job];
        bool gpus = fabric_job_collective(from->kind) || fabric_job_trains(from->kind);
        struct sim_job *job = &ret->job[i];
        job->first_from = roll.list.count;
        roll.time++;
        if (gpus)
            name_ranks(fabric, from, &roll);
        else
            name_ends(sim->workload, instance, false, &roll);
        job->froms = roll.list.count - job->first_from;
        job->first_to = roll.list.count;
        roll.time++;
        if (!gpus) name_ends(sim->workload, instance, true, &roll);
        job->tos = roll.list.count - job->first_to;
        if (i > 0 && !roll.list.failed && roll.list.at) share(&roll.list, &ret->job[i - 1], job);
    }
    free(roll.named);
    ret->end = roll.list.at;
    return roll.list.failed ? -ENOMEM : 0;
}

/* The ports a connection's packets leave by; adds none where there is no way, or not one alone. */
static void find_way(const struct sim *sim, uint32_t index, struct numbers *hops)
{
    const struct fabric *fabric = sim->fabric;
    const struct workload_connection *connection = workload_connection(sim->workload, index);
    const struct pkt flow = {.src_node = connection->src,
                             .dst_node = connection->dst,
                             .dest_qp = sim->connection[index].to.number,
                             .sport = sim_source_port(sim, connection)};
    uint32_t first = hops->count, at = fabric->endpoint[connection->src].port;

    while (hops->count - first < HOPS_MAX && !hops->failed) {
        uint32_t peer = fabric->port[at].peer;
        add_number(hops, at);
        if (peer == FABRIC_NONE) break;
        if (peer == fabric->endpoint[connection->dst].port) return;
        const struct fabric_node *node = &fabric->node[fabric->port[peer].node];
        if (node->kind == FABRIC_HOST || fabric->edge_of[connection->dst] == FABRIC_NONE) break;
        uint16_t out = sw_route(sim->sw[fabric->port[peer].node - fabric->hosts].sw, &flow);
        if (out >= node->ports) break;
        at = node->first_port + out;
    }
    hops->count = first;
}

static int read_ways(const struct sim *sim, struct sim_result *ret)
{
    struct way {
        bool known;
        uint32_t first, count;
    } *way = calloc(workload_connections(sim->workload) + 1u, sizeof(*way));
    struct numbers hops = {0};

    if (way == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < ret->flows && !hops.failed; i++) {
        uint32_t index = workload_transfer(sim->workload, i)->connection;
        if (!way[index].known) {
            uint32_t first = hops.count;
            find_way(sim, index, &hops);
            way[index] = (struct way){true, first, hops.count - first};
        }
        ret->flow[i].first_hop = way[index].first;
        ret->flow[i].hops = way[index].count;
    }
    free(way);
    ret->hop = hops.at;
    return hops.failed ? -ENOMEM : 0;
}

int sim_ends_read(const struct sim *sim, struct sim_result *ret)
{
    int error = read_jobs(sim, ret);

    return error ? error : read_ways(sim, ret);
}
