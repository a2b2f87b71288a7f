/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Management datagrams of the hosts' programs: through QP1 of the fabric.
 */
#include "up/up_int.h"

#include <errno.h>

int cm_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io)
{
    (void)process, (void)request, (void)now, (void)io;
    return -EOPNOTSUPP;
}

void cm_forget(struct up_process *process)
{
    (void)process;
}
