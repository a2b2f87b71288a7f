/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What whoever brings programs may ask of the simulation; see programs.h.
 */
#include "sim/programs.h"

#include "sim/sim_int.h"

struct node_host *sim_host_node(struct sim *sim, uint32_t host)
{
    return &sim->host[host].node;
}

struct engine *sim_engine(struct sim *sim)
{
    return sim->engine;
}

const struct plant *sim_plant(const struct sim *sim)
{
    return &sim->plant;
}

void sim_programs_wake(struct sim *sim, uint32_t host, ps_t at)
{
    ps_t now = engine_now(sim->engine);

    sim_host_wake(&sim->host[host], engine_node(sim->engine, host), now);
    engine_wake(sim->engine, host, at < now ? now : at);
}

ps_t sim_programs_alone(const struct sim *sim, uint32_t host)
{
    const struct sim_host *of = &sim->host[host];
    ps_t next = engine_next_beside(sim->engine, host);

    if (workload_instances(sim->workload)) return engine_now(sim->engine);
    for (uint32_t i = 0; i < of->node.adapters; i++) {
        ps_t at = nic_deadline(of->node.adapter[i].nic);
        if (at < next) next = at;
    }
    if (faults_next(&of->faults) < next) next = faults_next(&of->faults);
    return next < sim->until ? next : sim->until;
}

void sim_programs_pass(struct sim *sim, ps_t at)
{
    ps_t next = engine_next(sim->engine);

    if (next < at) at = next;
    if (sim->series_at < at) at = sim->series_at;
    if (sim->watch.next < at) at = sim->watch.next;
    if (sim->until < at) at = sim->until;
    if (at > engine_now(sim->engine)) engine_pass_to(sim->engine, at);
}

ps_t sim_programs_end(const struct sim *sim)
{
    return sim->options.programs ? sim->options.programs->ended(sim->options.programs->owner) : 0;
}
