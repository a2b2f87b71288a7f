/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host's software adds: a work request is posted `post` after the workload wants it, a completion is seen `poll`
 * after the adapter has it.
 *
 * Both are delays and no more: software posts and polls any number at once.  A delay is the same for all of an adapter,
 * so what waits for it is a queue in order of time.  Posts are bounded by what the workload may have outstanding,
 * receives by what a line brings within `poll`; the queue grows to what is needed.  A host whose software takes no time
 * has no such queues.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "sim/sim_int.h"

int software_build(struct sim *sim, struct sim_host *host)
{
    const struct fabric *fabric = sim->fabric;
    bool any = false;

    for (uint32_t i = 0; i < host->adapters; i++) {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[fabric->first_endpoint[host->host] + i].nic];
        any = any || nic->software.post_ps || nic->software.poll_ps;
    }
    if (!any) return 0;
    host->software = calloc(host->adapters, sizeof(*host->software));
    if (host->software == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < host->adapters; i++) {
        const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[fabric->first_endpoint[host->host] + i].nic];
        host->software[i].post.delay_ps = nic->software.post_ps;
        host->software[i].poll.delay_ps = nic->software.poll_ps;
    }
    return 0;
}

void software_release(struct sim_host *host)
{
    for (uint32_t i = 0; host->software && i < host->adapters; i++) {
        free(host->software[i].post.item);
        free(host->software[i].poll.item);
    }
    free(host->software);
}

void software_push(struct software_queue *queue, struct software_item item, ps_t now)
{
    if (queue->count == queue->room) {
        uint32_t room = queue->room ? queue->room * 2 : 16;
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

bool software_pop(struct software_queue *queue, ps_t now, struct software_item *ret)
{
    if (software_queue_next(queue) > now) return false;
    *ret = queue->item[queue->head];
    queue->head = (queue->head + 1) % queue->room;
    queue->count--;
    return true;
}

ps_t software_next(const struct sim_host *host)
{
    ps_t next = PS_NEVER;

    for (uint32_t i = 0; i < host->adapters; i++) {
        ps_t post = software_queue_next(&host->software[i].post), poll = software_queue_next(&host->software[i].poll);
        if (post < next) next = post;
        if (poll < next) next = poll;
    }
    return next;
}
