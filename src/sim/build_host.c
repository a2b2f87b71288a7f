/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: adapters, and the connections that the workload needs.
 *
 * Connections are numbered at each endpoint in their order, so both ends know each other's number before either is
 * made.  What an adapter and an end of a connection are is the endpoint's (endpoint/endpoint.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_int.h"

#include "fabric/fabric.h"
#include "fabric/routing.h"

bool sim_qp_of_jobs(const struct sim *sim, uint32_t endpoint, uint32_t qpn)
{
    return qpn - sim->endpoint->first_number < sim->pairs_at[endpoint];
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

/* How many connections each endpoint has, and what number they get. */
static int number_pairs(struct sim *sim, struct fabric_errors *errors)
{
    uint32_t connections = workload_connections(sim->workload), first = sim->endpoint->first_number;

    sim->connection = calloc(connections + 1u, sizeof(*sim->connection));
    sim->pairs_at = calloc(sim->fabric->endpoints + 1u, sizeof(*sim->pairs_at));
    if (!sim->connection || !sim->pairs_at) return -ENOMEM;
    for (uint32_t i = 0; i < connections; i++) {
        const struct workload_connection *from = workload_connection(sim->workload, i);
        int error = check_way(sim->fabric, from->src, from->dst, errors);
        if (error) return error;
        sim->connection[i].from.number = first + sim->pairs_at[from->src]++;
        sim->connection[i].to.number = first + sim->pairs_at[from->dst]++;
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
    if (sim->endpoint->prepare) sim->endpoint->prepare(sim);
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        bytes += sim->endpoint->adapter_bytes(sim, e);
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++)
        bytes += sim->endpoint->end_bytes(sim, i, false) + sim->endpoint->end_bytes(sim, i, true);
    *ret_bytes = bytes;
    return 0;
}

int sim_make_host(struct sim *sim, uint32_t index)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t first = fabric->first_endpoint[index], count = fabric->first_endpoint[index + 1] - first;
    struct sim_host *host = &sim->host[index];

    *host = (struct sim_host){.sim = sim, .faults = host->faults};
    for (uint32_t i = 0; i < count; i++) {
        sim->adapter[first + i].deadline = PS_NEVER;
        sim->adapter[first + i].owner = host;
        sim->endpoint->make_adapter(sim, first + i);
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
    if (!fabric_system(sim->fabric)->entropy) return 0;
    if (sim->fabric->behaviour == FABRIC_HPCC_NS3) return (uint16_t)(10000 + connection->number);
    uint64_t hash = ((uint64_t)connection->src << 32 | connection->dst) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ hash >> 29 ^ connection->number ^ (uint64_t)connection->copy << 32) * 0xbf58476d1ce4e5b9ULL;
    return (uint16_t)(0xc000 | (hash >> 40 & 0x3fff));
}

int sim_make_pairs(struct sim *sim, struct fabric_errors *errors)
{
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++) {
        const struct workload_connection *from = workload_connection(sim->workload, i);
        sim->connection[i].adapter = sim->fabric->endpoint[from->src].index;
        sim->connection[i].notifies = from->notifies;
        int error = sim->endpoint->make_end(sim, i, false);
        if (!error) error = sim->endpoint->make_end(sim, i, true);
        if (error) {
            fabric_errors_add(errors, (struct fabric_at){0},
                              "no queue pair can be made as the adapter is configured: %s", strerror(-error));
            return error;
        }
    }
    return 0;
}
