/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of packets between programs: gathered where they are sent, placed where they arrive.
 */
#include "up/up_int.h"

int payload_init(struct up *up)
{
    (void)up;
    return 0;
}

void payload_free(struct up *up)
{
    (void)up;
}

void payload_received(struct up_host *host, uint32_t adapter, const struct sim_arrival *packet, ps_t now,
                      struct node_io *io)
{
    (void)host, (void)adapter, (void)packet, (void)now, (void)io;
}

bool payload_sends(struct up_host *host, uint32_t adapter, pkt_t id, ps_t now, struct node_io *io)
{
    (void)host, (void)adapter, (void)id, (void)now, (void)io;
    return true;
}
