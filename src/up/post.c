/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work requests that programs have posted: from the ring to the adapter, each at its time.
 */
#include "up/up_int.h"

ps_t post_next(const struct up_process *process)
{
    (void)process;
    return PS_NEVER;
}

void post_run(struct up_process *process, ps_t now, struct node_io *io)
{
    (void)process, (void)now, (void)io;
}
