/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulator asks of a host's transport, beside visits: making adapters and connections, and reading them out.
 *
 * One table a kind of endpoint, chosen once by the fabric's system (sim.endpoint).  All calls are rare: what a visit
 * does is compiled into it (visit_host.h), and no table is asked there.
 */
#ifndef ROCELAB_SIM_ENDPOINT_ENDPOINT_H
#define ROCELAB_SIM_ENDPOINT_ENDPOINT_H

#include "engine/engine.h"
#include "node/host.h"
#include "sim/sim_result.h"

struct fabric;
struct sim;

struct sim_frames {          /* what messages look like on the way, for the time they take alone */
    uint64_t mtu_bytes;      /* payload a packet */
    uint64_t header_bytes;   /* of a data packet, as pkt.frame_bytes counts */
    uint64_t first_extra;    /* and of a message's first */
    uint64_t ack_bytes;      /* a whole acknowledgement */
    uint64_t payload_padded; /* payload is padded to a multiple of this; 1: not */
};

struct sim_endpoint_ops {
    visit_fn visit;
    uint32_t first_number; /* connections of an endpoint are numbered from here on (node_end.number) */

    void (*prepare)(struct sim *sim); /* before all else; NULL: nothing is to be done */
    /* Building.  Memory is planned first, and then taken in the same order with sim_take(). */
    size_t (*adapter_bytes)(const struct sim *sim, uint32_t endpoint);
    size_t (*end_bytes)(const struct sim *sim, uint32_t connection, bool receives);
    void (*make_adapter)(struct sim *sim, uint32_t endpoint); /* sim->adapter[endpoint] */
    /* One end of a connection: the handle of sim->connection[].from, or .to.  0 or -errno. */
    int (*make_end)(struct sim *sim, uint32_t connection, bool receives);
    struct sim_frames (*frames)(const struct sim *sim, uint32_t endpoint);

    /* In the node's own visit, when something happens to it. */
    void (*link)(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
    void (*receive_rate)(struct node_host *host, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);

    /* Reading, when nothing runs. */
    void (*observe)(void *node, uint32_t port, ps_t now, struct node_view *ret);
    void (*settle)(struct node_adapter *adapter, ps_t now); /* counters that are times reach up to now */
    struct endpoint_counters (*counters)(const struct node_adapter *adapter);
    const struct nic_counters *(*nic_counters)(const struct node_adapter *adapter); /* NULL: it is no src/nic */
    void (*own)(const struct node_adapter *adapter, struct sim_nic *ret); /* its own in *ret; NULL: nothing more */
    uint64_t (*acked_bytes)(const struct node_end *from);
    struct endpoint_pace (*pace)(const struct node_end *from);
    uint32_t (*queued)(const struct node_end *from);        /* messages of a sending end that are not complete */
    uint16_t (*paused)(const struct node_adapter *adapter); /* bit p: the other end has stopped priority p */
    void (*audit)(const struct node_adapter *adapter, struct pktpool *pool);
};

extern const struct sim_endpoint_ops sim_endpoint_roce, sim_endpoint_ib, sim_endpoint_uet, sim_endpoint_tcp;
extern const struct sim_endpoint_ops sim_endpoint_mixed; /* RoCE, and TCP in some classes */

/* By the system of the fabric. */
const struct sim_endpoint_ops *sim_endpoint_of(const struct fabric *fabric);

#endif
