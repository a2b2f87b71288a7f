/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter of the fabric as programs have it: queue pairs, queues, memory.
 *
 * struct up_adapter is one adapter of a host, with what its processes share: the numbers of memory keys, and the list
 * of queues that completions may be in.  struct device is that adapter as one process has opened it; every object
 * belongs to one.  A process names objects by number; a number that is not of this device is refused.
 *
 * All of it belongs to the host's visit, as the process does.
 */
#ifndef ROCELAB_UP_OBJECTS_OBJECTS_H
#define ROCELAB_UP_OBJECTS_OBJECTS_H

#include "device/objects.h"
#include "up/up_int.h"

#define UP_PATHS_MAX (1u << 16)
#define UP_CHANNELS_MAX 4096u
#define UP_WATCHERS_MAX 1024u
#define UP_CQS_MAX 65536u
#define UP_SRQS_MAX 16384u
#define UP_PDS_MAX (1u << 20)
#define UP_DEVICES_MAX 4095u /* of an adapter at a time */
#define UP_PAYLOAD_BYTES 4096u

struct device;
struct up_flow; /* flow.c */

/* Objects by number, from 1 on; the lowest that is free is given.  Bounded by who asks. */
struct up_table {
    void **object;
    uint32_t room, used;
};

struct up_adapter {
    struct up_host *host;
    struct nic *nic;
    uint32_t number;   /* of the host's */
    uint32_t endpoint; /* of the fabric */
    struct regions regions;
    struct objects objects;
    struct device_cq *cqs;
    uint64_t slot_used[(UP_DEVICES_MAX + 64) / 64]; /* bit s: a device has slot s; 0 is the jobs' */
};

struct device {
    struct up_process *process;
    struct up_adapter *adapter;
    uint32_t number;       /* of the process's */
    uint32_t slot;         /* of the adapter: makes protection domains of processes different ones */
    uint32_t opened;       /* times */
    uint64_t events, mads; /* offsets of their rings */
    uint32_t events_tail, mads_tail;
    int mads_fd;
    struct up_table watches; /* of struct up_watcher */
    struct up_table channels, cqs, srqs, paths;
    struct device_qp *qps;
};

struct up_watcher { /* somebody who is told of events */
    int fd;
};

struct up_channel {
    struct device *device;
    uint32_t number, users;
    int fd;
    uint64_t ring;
    uint32_t tail; /* ours; the program sees a copy */
};

/* The adapter's ring is the fabric's own.  The segment's ring mirrors it slot by slot: what the adapter has completed
 * is copied there, and the adapter's head follows the program's, as far as that can be believed. */
struct device_cq {
    struct nic_cq nic;
    struct device *device;
    struct device_cq *next; /* of the adapter's */
    uint32_t number, users;
    uint64_t ring;
    uint32_t published; /* up to here */
    struct notice notice;
    bool rang; /* its channel was told: who waits for that is not woken yet */
    struct up_channel *channel;
    struct up_cause *cause; /* [causes] message.c: of each slot; NULL: nothing is recorded */
    uint32_t causes;
};

struct up_path { /* an address vector: where it leads, in which class */
    struct device_path key;
    uint32_t endpoint, users, held; /* held: of the users those that are queue pairs */
    uint8_t tos, prio;
};

struct device_qp {
    struct queue_pair;
    struct device_cq *send_cq, *recv_cq;
    uint32_t sends, receives; /* posted since RESET */
    struct up_flow *flow;     /* NULL: it was never connected */
};

/* device.c */
int up_table_add(struct up_table *table, void *object, uint32_t most, uint32_t *ret); /* -ENOMEM */
void *up_table_get(const struct up_table *table, uint32_t number);                    /* NULL: none */
void up_table_remove(struct up_table *table, uint32_t number);
void up_table_free(struct up_table *table);
/* What a program calls `pd`, as the adapter knows it.  0: no such, which is the jobs'. */
uint32_t up_device_pd(const struct device *device, uint32_t pd);
/* A ring of the segment for so many entries: its offset, 0: no room. */
uint64_t up_ring_take(struct up_process *process, uint32_t entries, size_t entry_bytes);
void up_ring_give(struct up_process *process, uint64_t ring, uint32_t entries, size_t entry_bytes);
/* One more entry, behind *tail, which is ours; false: it is full, as one is that nobody reads, and says so. */
bool up_ring_put(const struct up_process *process, uint64_t ring, uint32_t entries, size_t entry_bytes, uint32_t *tail,
                 const void *entry);
static inline struct attach_ring *up_ring(const struct up_process *process, uint64_t ring)
{
    return (struct attach_ring *)(void *)(process->segment + ring);
}
static inline void *up_ring_entries(const struct up_process *process, uint64_t ring)
{
    return process->segment + ring + ATTACH_RING_HEAD;
}

/* path.c */
int up_path_resolve(const struct fabric *fabric, const struct device_path *key, struct up_path *ret);
int up_path_get(struct device *device, const struct device_path *key, uint32_t *ret);
bool up_path_find(struct device *device, uint32_t number, struct path_end *ret);
void up_path_put(struct device *device, uint32_t number);
/* The same of a queue pair: the program cannot give it back. */
int up_path_hold(struct device *device, const struct device_path *key, uint32_t *ret);
void up_path_release(struct device *device, uint32_t number);

/* qp.c */
extern const struct device_host up_objects_host;
int up_qp_create(struct device *device, struct attach_request *request, ps_t now);
int up_qp_modify(struct device *device, uint32_t qpn, const struct device_qp_attr *attr, ps_t now, struct node_io *io);
int up_qp_state(struct device *device, struct attach_request *request);
int up_qp_patience(struct device *device, const struct attach_request *request, ps_t now, struct node_io *io);
struct device_qp *up_qp_find(const struct device *device, uint32_t qpn);
void up_qp_destroy(struct device_qp *qp, ps_t now, struct node_io *io);

/* cq.c */
int up_channel_create(struct device *device, struct attach_request *request);
int up_channel_destroy(struct up_channel *channel);
int up_cq_create(struct device *device, struct attach_request *request);
int up_cq_resize(struct device_cq *cq, struct attach_request *request);
int up_cq_destroy(struct device_cq *cq);
void up_cq_arm(struct device_cq *cq, bool solicited_only, uint32_t seen);      /* the ring's tail, by the program */
void up_cq_follow(struct device_cq *cq);                                       /* the program's head */
bool up_cq_publish(struct device_cq *cq);                                      /* false: there was nothing new */
void up_cq_forget(struct device_cq *cq, uint32_t qpn, struct device_srq *srq); /* of a queue pair that begins anew */

/* srq.c */
int up_srq_create(struct device *device, struct attach_request *request);
int up_srq_change(struct device_srq *srq, struct attach_request *request);
int up_srq_destroy(struct device_srq *srq);

/* memory.c */
int up_mr_create(struct device *device, struct attach_request *request);
int up_mr_change(struct device *device, struct attach_request *request);
int up_mr_destroy(struct device *device, uint32_t key);
int up_mw_create(struct device *device, struct attach_request *request);
int up_mw_destroy(struct device *device, uint32_t key);
int up_mw_key(struct device *device, struct attach_request *request);
void up_memory_close(struct device *device); /* all of it */
struct device_mr *up_mr_find(const struct device *device, uint32_t key);
struct device_mw *up_mw_find(const struct device *device, uint32_t key);

/* audit.c */
void up_spoilt(struct up_process *process, ps_t now); /* its ring of posts: it is told, once */

/* post.c */
void up_posts_free(struct up_process *process);

/* flow.c: what a queue pair has sent, for the report */
void up_flows_free(struct up_host *host);
void up_flow_begin(struct device_qp *qp); /* it is connected, or ready for datagrams */
void up_flow_posted(const struct device_qp *qp, const struct nic_wr *wr, ps_t at);
void up_flow_completed(struct device_cq *cq, ps_t now); /* what is to be published */

/* message.c: single messages, where they are recorded */
void up_message_posted(struct up_flow *flow, const struct up_process *process, const struct nic_wr *wr, ps_t at);
void up_message_completed(struct device_cq *cq, uint32_t slot, const struct device_qp *qp, bool receive, ps_t now);
void up_message_polled(struct device_cq *cq, uint32_t from, uint32_t to); /* these slots, by the program */
void up_message_arrived(const struct device_qp *qp, ps_t now);            /* all of one, from the peer */

/* publish.c */
void up_publish_events(struct up_adapter *adapter, ps_t now);
void up_event_push(struct device *device, enum device_event_kind kind, enum attach_object of, uint32_t number);

/* adopt.c */
bool up_memory_read(struct device *device, uint64_t addr, void *to, uint64_t bytes);
bool up_memory_write(struct device *device, uint64_t addr, const void *from, uint64_t bytes);
bool up_memory_atomic(struct device *device, uint64_t addr, uint8_t verb, uint64_t compare, uint64_t swap,
                      uint64_t *ret_original);

#endif
