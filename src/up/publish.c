/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions and events, from the adapter to the rings that programs read.
 */
#include "up/up_int.h"

void publish_all(struct up_host *host, ps_t now, struct node_io *io)
{
    (void)host, (void)now, (void)io;
}

void publish_heads(struct up_process *process)
{
    (void)process;
}
