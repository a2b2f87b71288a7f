/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of librdmacm.so.1 share.
 *
 * One lock guards the connection machine, all ids, channels and devices; it is never held while waiting,
 * nor while a queue pair is changed.  A thread takes what comes for QP1 and the machine's deadlines.  Public
 * structures come first in ours, so a cast leads from one to the other.
 */
#ifndef ROCELAB_VERBS_RDMACM_RDMACM_INT_H
#define ROCELAB_VERBS_RDMACM_RDMACM_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "device/device.h"
#include "packet/pkt.h"
#include "verbs/rdmacm/clock.h"
#include "verbs/rdmacm/cm_engine.h"

/* The tree is compiled with hidden visibility: what rdma-core declares is what we export. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#pragma GCC visibility pop

#define RDMACM_DEVICES_MAX 64u
#define RDMACM_ACK_TIMEOUT 17u /* 0.54 s: long enough for a loaded machine, short enough for a lost last packet */
#define RDMACM_HEADER_BYTES 36 /* annex A11: what comes before the program's private data in a REQ */

struct rdevice { /* an opened interface; lives as long as the process */
    struct rdevice *next;
    struct ibv_context *verbs;
    struct device *live;
    struct ibv_pd *pd; /* for those who bring none */
    int mad_fd;
};

struct revent {
    struct rdma_cm_event pub;
    struct revent *next;
    struct rid *counted; /* whose event it is: destroying that waits until it is acknowledged */
    struct rgroup *group;
    bool reply; /* a REP: the connection is to be completed when it is taken */
    uint8_t private_data[CM_PRIVATE_MAX];
};

struct rchannel {
    struct rdma_event_channel pub;
    struct revent *first, **end;
    bool readable;  /* the descriptor: while there is one */
    bool destroyed; /* kept for threads that still ask it */
};

struct rgroup { /* a multicast group joined */
    struct rgroup *next;
    struct sockaddr_storage address;
    union ibv_gid gid;
    void *context;
    bool attached, send_only;
};

struct rid {
    struct rdma_cm_id pub;
    struct rid *next, **link; /* of all */
    struct rdevice *device;
    struct cm_conn *conn;
    struct rgroup *groups;
    struct rid *listener; /* of a request that was not accepted yet: counts in its backlog */
    uint64_t service_id;
    uint32_t taken, acknowledged; /* events */
    uint32_t psn, qkey;
    int32_t peer_pid; /* the process at the other end, where it is one of this machine */
    bool peer_watched, peer_missed;
    uint64_t heard; /* of its queue pair, when its connection was last doubted */
    int backlog, waiting;
    uint8_t gid_index, mtu;
    uint8_t tos, ack_timeout;
    uint8_t responder_resources, initiator_depth, retry_count, rnr_retry_count;
    bool reuse, v6_only, v6_only_set, synchronous, own_channel;
    bool bound, any, reserved, listening, active;
    bool own_send_cq, own_recv_cq;
    struct ibv_qp_init_attr *endpoint_attr; /* rdma_create_ep() of a listener: for those it accepts */
    struct ibv_pd *endpoint_pd;
    struct ibv_sa_path_rec path;
};

struct rdmacm {
    pthread_mutex_t lock;
    pthread_cond_t acknowledged;
    struct cm_engine *engine;
    struct rdevice *devices;
    struct rid *ids;
    int wake_fd, netlink_fd;
    uint32_t next_port;
    uint64_t look_ns; /* when peers are looked at next; CM_NEVER */
    unsigned peers_watched;
    bool running, every_device;
};
extern struct rdmacm rdmacm;

static inline struct rid *rid_of(struct rdma_cm_id *id)
{
    return (struct rid *)(void *)id;
}
static inline struct rchannel *rchannel_of(struct rdma_event_channel *channel)
{
    return (struct rchannel *)(void *)channel;
}

/* core.c.  "locked": the caller holds the lock. */
int rdmacm_fail(int error); /* errno; -1 */
int rdmacm_start(void);     /* locked; 0 or -errno */
void rdmacm_flush(void);    /* locked: sends and tells what the machine answered */
int rdmacm_open_all(void);  /* locked: how many devices are open, or -errno */
int rdmacm_device_of(const struct pkt_addr *address, struct rdevice **ret, uint8_t *ret_gid); /* locked */
bool rdmacm_gid_of(const struct rdevice *device, const struct pkt_addr *address, uint8_t *ret);

/* address.c */
struct pkt_addr rdmacm_address(const struct sockaddr *address);
bool rdmacm_any(const struct sockaddr *address);
socklen_t rdmacm_sockaddr_bytes(const struct sockaddr *address); /* 0: not a family of ours */
void rdmacm_sockaddr(struct sockaddr_storage *ret, const struct pkt_addr *address, bool v6, uint16_t port);
uint16_t rdmacm_port(const struct sockaddr *address);
void rdmacm_set_port(struct sockaddr *address, uint16_t port);
uint64_t rdmacm_service(const struct rid *id, uint16_t port);                  /* A11: the port space and the port */
void rdmacm_attach(struct rid *id, struct rdevice *device, uint8_t gid_index); /* locked */
void rdmacm_path(struct rid *id);                                              /* fills the path record */
void rdmacm_unbind(struct rid *id);                                            /* locked */
int rdmacm_listen_on(struct rid *id, struct rdevice *device);                  /* locked */

/* channel.c */
struct revent *rdmacm_event_new(struct rid *id, enum rdma_cm_event_type type, int status);
void rdmacm_event_push(struct revent *event);                                /* locked */
void rdmacm_queue(struct rid *id, enum rdma_cm_event_type type, int status); /* locked */
void rdmacm_events_drop(struct rid *id);                                     /* locked: those not taken */
int rdmacm_complete(struct rid *id); /* of a synchronous id: waits for the event */

/* id.c */
struct rid *rdmacm_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
                          enum ibv_qp_type type); /* locked */
void rdmacm_id_free(struct rid *id);              /* locked */

/* connect.c; locked */
void rdmacm_be_patient(const struct rid *id);

/* peers.c; locked */
void rdmacm_peer_connected(struct rid *id); /* the id is connected: is its peer of this machine? */
void rdmacm_peer_forget(struct rid *id);
void rdmacm_peers_look(uint64_t now_ns);

/* request.c */
void rdmacm_on_event(const struct cm_event *event); /* locked */

/* qp.c */
int rdmacm_qp_ready(struct rid *id); /* INIT, RTR, RTS; -errno */
void rdmacm_qp_error(struct rid *id);
int rdmacm_limits(struct rid *id, uint8_t *ret_responder, uint8_t *ret_initiator);
struct ibv_ah_attr rdmacm_ah(const struct rid *id, const struct pkt_addr *remote);

/* multicast.c */
void rdmacm_group_joined(struct rid *id, struct revent *event);
void rdmacm_groups_free(struct rid *id);

#endif
