/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets between programs of the fabric.
 */
#include "up/up_int.h"

#include <errno.h>

int stream_request(struct up_process *process, struct attach_request *request, ps_t now)
{
    (void)process, (void)request, (void)now;
    return -EOPNOTSUPP;
}

void stream_collect(struct up_host *host, ps_t now)
{
    (void)host, (void)now;
}

ps_t stream_next(const struct up_host *host)
{
    (void)host;
    return PS_NEVER;
}

void stream_deliver(struct up_host *host, ps_t now)
{
    (void)host, (void)now;
}

void stream_carry(struct up *up, ps_t now)
{
    (void)up, (void)now;
}

void stream_forget(struct up_process *process, ps_t now)
{
    (void)process, (void)now;
}

void stream_release(struct up_host *host)
{
    (void)host;
}
