/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter as one process has it: opened, asked, closed.
 */
#include "up/up_int.h"

#include <errno.h>

int device_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io)
{
    (void)process, (void)request, (void)now, (void)io;
    return -EOPNOTSUPP;
}

void device_close_all(struct up_process *process, ps_t now, struct node_io *io)
{
    (void)process, (void)now, (void)io;
}

void device_free(struct up_host *host)
{
    (void)host;
}
