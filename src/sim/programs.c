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

ps_t sim_programs_end(const struct sim *sim)
{
    return sim->options.programs ? sim->options.programs->ended(sim->options.programs->owner) : 0;
}
