/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host's software takes: a request reaches the adapter `post` after the workload wanted it, a completion reaches
 * the workload `poll` after the adapter had it, to the picosecond, each in order and none lost on the way.
 */
#include "swarm.h"

#include "fabric/fabric.h"

void __real_software_push(struct software *of, struct software_queue *queue, struct software_item item, ps_t now);
void __wrap_software_push(struct software *of, struct software_queue *queue, struct software_item item, ps_t now);

static const struct fabric_software *software_of(const struct watch *watch, uint32_t endpoint)
{
    return &watch->fabric->nic[watch->fabric->endpoint[endpoint].nic].software;
}

static void due(struct watch *watch, struct lane *lane, uint32_t what, ps_t now, const char *kind, uint32_t connection)
{
    HOLDS(lane->head != lane->tail && lane->item[lane->head].what == what, "what waits for software comes out in order",
          "connection %u: %s %u", connection, kind, what);
    HOLDS(lane->item[lane->head].at == now, "software takes the time it takes", "connection %u: %s at %lu ps, due %lu",
          connection, kind, (unsigned long)now, (unsigned long)lane->item[lane->head].at);
    lane->head++;
    watch->software_waits++;
}

void software_posts(struct watch *watch, uint32_t connection, uint32_t tag, ps_t now)
{
    if (software_of(watch, workload_connection(watch->sim->workload, connection)->src)->post_ps)
        due(watch, &watch->pair[connection].posts, tag, now, "post", connection);
}

bool software_sent(struct watch *watch, uint32_t connection, uint32_t tag, ps_t now)
{
    if (!software_of(watch, workload_connection(watch->sim->workload, connection)->src)->poll_ps) return false;
    due(watch, &watch->pair[connection].sents, tag, now, "completion", connection);
    return true;
}

void software_came(struct watch *watch, uint32_t connection, uint32_t word, ps_t now)
{
    if (software_of(watch, workload_connection(watch->sim->workload, connection)->dst)->poll_ps)
        due(watch, &watch->pair[connection].comes, word, now, "message", connection);
}

/* Whether it is a queue of requests and not of completions. */
static bool of_posts(const struct watch *watch, const struct software_queue *queue, uint32_t connection)
{
    uint32_t src = workload_connection(watch->sim->workload, connection)->src;
    const struct sim_host *host = &watch->sim->host[watch->fabric->port[watch->fabric->endpoint[src].port].node];

    return queue == &host->software[watch->sim->connection[connection].adapter].post;
}

void __wrap_software_push(struct software *of, struct software_queue *queue, struct software_item item, ps_t now)
{
    struct watch *watch = watching;
    uint32_t connection = item.post.connection;

    if (watch) {
        struct pair_watch *pair = &watch->pair[connection];
        const struct workload_connection *ends = workload_connection(watch->sim->workload, connection);
        const struct fabric_software *here = software_of(watch, item.receive ? ends->dst : ends->src);
        if (of_posts(watch, queue, connection)) {
            lane_push(&pair->posts, item.post.tag, now + here->post_ps);
        } else if (item.receive) {
            lane_push(&pair->comes, item.post.tag, now + here->poll_ps);
        } else {
            request_completed(watch, connection, item.post.tag, item.good, now);
            lane_push(&pair->sents, item.post.tag, now + here->poll_ps);
        }
    }
    __real_software_push(of, queue, item, now);
}
