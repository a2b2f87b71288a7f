/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection managers of a host's programs: what cm.c (who gets a datagram) and cm_qp1.c (how it travels) share.
 */
#ifndef ROCELAB_UP_CM_INT_H
#define ROCELAB_UP_CM_INT_H

#include "up/objects/objects.h"

#define CM_SLOTS 1022u          /* 1 .. : the top ten bits of a communication id, but for the last */
#define CM_LISTENERS_MAX 16384u /* of a host */
#define CM_LINKS_MAX 8192u      /* of a program: more than the queue pairs of an adapter */

struct up_cm_listener {
    struct up_process *process;
    uint32_t nic; /* that it listens at */
    uint64_t service_id;
    uint32_t any; /* PKT_FAMILY_*: all of the adapter's addresses of these families; 0: `address` alone */
    struct pkt_addr address;
    struct up_cm_listener *next;
};

struct cm_link {            /* a connection that a process has, as its datagrams tell */
    uint32_t nic, local_id; /* local_id 0: asked for, and not answered yet */
    uint32_t remote_id, remote_qp;
    struct device_path path; /* to the peer */
    struct cm_link *next;
};

struct cm_qp1;
struct up_cm { /* of a host */
    struct up_process *slot[CM_SLOTS + 1];
    struct cm_link *links[CM_SLOTS + 1];
    uint32_t link_count[CM_SLOTS + 1], listener_count;
    struct up_cm_listener *listeners;
    struct cm_qp1 **qp1; /* [adapters]; NULL: not made yet */
};

/* cm.c */
/* A datagram has come; back: the way to who sent it. */
void cm_deliver(struct up_host *host, uint32_t nic, const struct device_mad *mad, const struct device_path *back,
                ps_t now, struct node_io *io);
struct up_cm *cm_of(struct up_host *host); /* made when it is first needed; NULL: no memory */

/* cm_qp1.c */
int cm_qp1_open(struct up_host *host, uint32_t adapter, ps_t now, struct node_io *io); /* -errno */
/* -errno; what is full is told so, and repeated by the manager in time. */
int cm_qp1_send(struct up_host *host, uint32_t adapter, const struct device_path *path,
                const uint8_t mad[DEVICE_MAD_BYTES], ps_t now, struct node_io *io);
void cm_qp1_free(struct up_host *host);

#endif
