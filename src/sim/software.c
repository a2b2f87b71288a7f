/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host's software adds: a work request is posted `post` after the workload wants it, a completion is seen `poll`
 * after the adapter has it.
 *
 * Both are delays and no more: software posts and polls any number at once.  A delay is the same for all of an adapter,
 * so what waits for it is a queue in order of time.  Posts are bounded by what the workload may have outstanding,
 * receives by what a line brings within `poll`; the queue grows to what is needed, and software_most_bytes() says what
 * that may be.  A host whose software takes no time has no such queues.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "sim/sim_int.h"

#define LEAST 16 /* items that a queue begins with */
#define GROWTH 3 /* it doubles, and is there twice while it does */

int software_build(struct sim *sim, struct sim_host *host)
{
    const struct fabric *fabric = sim->fabric;
    bool any = false;

    for (uint32_t i = 0; i < host->node.adapters; i++) {
        const struct fabric_nic *nic =
            &fabric->nic[fabric->endpoint[fabric->first_endpoint[host->node.number] + i].nic];
        any = any || nic->software.post_ps || nic->software.poll_ps;
    }
    if (!any) return 0;
    host->software = calloc(host->node.adapters, sizeof(*host->software));
    if (host->software == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < host->node.adapters; i++) {
        const struct fabric_nic *nic =
            &fabric->nic[fabric->endpoint[fabric->first_endpoint[host->node.number] + i].nic];
        host->software[i].post.delay_ps = nic->software.post_ps;
        host->software[i].poll.delay_ps = nic->software.poll_ps;
    }
    return 0;
}

void software_release(struct sim_host *host)
{
    for (uint32_t i = 0; host->software && i < host->node.adapters; i++) {
        free(host->software[i].post.item);
        free(host->software[i].poll.item);
    }
    free(host->software);
}

static bool anything_waits(const struct software *of)
{
    return of->post.count > 0 || of->poll.count > 0;
}

void software_push(struct software *of, struct software_queue *queue, struct software_item item, ps_t now)
{
    if (!anything_waits(of)) of->since = now;
    if (queue->count == queue->room) {
        uint32_t room = queue->room ? queue->room * 2 : LEAST;
        struct software_item *grown = malloc(room * sizeof(*grown));
        CHECK(grown != NULL);
        for (uint32_t i = 0; i < queue->count; i++)
            grown[i] = queue->item[(queue->head + i) % queue->room];
        free(queue->item);
        queue->item = grown;
        queue->room = room;
        queue->head = 0;
    }
    item.at = ps_add(now, queue->delay_ps);
    queue->item[(queue->head + queue->count++) % queue->room] = item;
}

bool software_pop(struct software *of, struct software_queue *queue, ps_t now, struct software_item *ret)
{
    if (software_queue_next(queue) > now) return false;
    *ret = queue->item[queue->head];
    queue->head = (queue->head + 1) % queue->room;
    queue->count--;
    if (!anything_waits(of)) of->waited += now - of->since;
    return true;
}

ps_t software_waited(const struct software *of, ps_t now)
{
    return of->waited + (anything_waits(of) ? now - of->since : 0);
}

ps_t software_next(const struct sim_host *host)
{
    ps_t next = PS_NEVER;

    for (uint32_t i = 0; i < host->node.adapters; i++) {
        ps_t post = software_queue_next(&host->software[i].post), poll = software_queue_next(&host->software[i].poll);
        if (post < next) next = post;
        if (poll < next) next = poll;
    }
    return next;
}

static const struct fabric_software *software_of(const struct sim *sim, uint32_t endpoint)
{
    return &sim->fabric->nic[sim->fabric->endpoint[endpoint].nic].software;
}

/* Of receives about: a connection may bring more within a long `poll` than its sender has outstanding, if the job does
 * not wait for its receivers. */
uint64_t software_most_bytes(const struct sim *sim)
{
    u128 items = 0;

    for (uint32_t e = 0; e < sim->fabric->endpoints; e++)
        items += (software_of(sim, e)->post_ps ? LEAST : 0) + (software_of(sim, e)->poll_ps ? LEAST : 0);
    for (uint32_t i = 0; i < workload_connections(sim->workload); i++) {
        const struct workload_connection *connection = workload_connection(sim->workload, i);
        const struct fabric_software *from = software_of(sim, connection->src), *to = software_of(sim, connection->dst);
        items += (u128)connection->depth *
                 ((from->post_ps != 0) + (from->poll_ps != 0) + (connection->notifies && to->poll_ps != 0));
    }
    items *= GROWTH * sizeof(struct software_item);
    return items > UINT64_MAX ? UINT64_MAX : (uint64_t)items;
}

uint64_t software_bytes(const struct sim *sim)
{
    uint64_t items = 0;

    for (uint32_t h = 0; h < sim->fabric->hosts; h++)
        for (uint32_t i = 0; sim->host[h].software && i < sim->host[h].node.adapters; i++)
            items += sim->host[h].software[i].post.room + sim->host[h].software[i].poll.room;
    return items * sizeof(struct software_item);
}
