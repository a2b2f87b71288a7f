/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapters of a fabric as an attached program has them: the second implementation of device.h's table.
 *
 * No adapter, wire or thread is here.  Objects are made by asking the fabric (attach/session.h); work requests are put
 * into the ring of posts; completions, events and datagrams are read from rings that the fabric fills.  What a caller
 * must be told at once, that a request is not allowed or a queue full, is decided here.
 *
 * Locks.  While our own code runs (between attached_enter and attached_leave) a lock is libc's, and a thread that waits
 * for it keeps its turn: such a lock is never held while the fabric is asked.  The list of devices is locked outside,
 * where a thread that waits lets others run.
 *
 * A child of fork() has a session of its own: what its parent made is inert in it, and goes without a word.
 */
#ifndef ROCELAB_ATTACH_DEVICE_DEVICE_INT_H
#define ROCELAB_ATTACH_DEVICE_DEVICE_INT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/session.h"
#include "device/listeners.h"
#include "device/records.h"

#define DEVICE_BUCKETS 256u /* queue pairs by number */

/* One of the segment's, with entries of one size behind it.  The fabric writes its tail and its entries, so both are
 * looked at before they are gone by. */
struct ring {
    struct attach_ring *index;
    void *entry;
    uint32_t mask;
    size_t entry_bytes;
};

struct attached_object { /* what the fabric has made under a number, as it is known here */
    const struct device_ops *ops;
    struct device *device;
    struct attached_object *next; /* of the device's; under its lock */
    uint32_t number;
    void *app;
};

struct device { /* an opened adapter of the host */
    const struct device_ops *ops;
    struct device *next; /* of all opened; this and users under the list's lock */
    unsigned users;
    bool inert; /* atomic: this process is a child of the one that opened it */
    struct device_info info;
    struct attach_head *head;
    uint32_t nic; /* of the host */
    int mad_fd;
    uint32_t slot; /* atomic: for communication ids; 0: not asked yet */
    struct ring events, mads;
    struct listeners listeners;
    pthread_mutex_t lock; /* of what follows, and of the heads of the two rings */
    struct attached_object *qp[DEVICE_BUCKETS], *cqs, *srqs, *channels;
};

struct device_mr {
    const struct device_ops *ops;
    struct device *device;
    uint32_t key;
};

struct device_mw {
    const struct device_ops *ops;
    struct device *device;
    uint32_t key; /* as of the last binding that was posted */
    uint32_t made;
    int type;
};

struct device_channel {
    struct attached_object;
    int fd;
    uint32_t users;       /* atomic */
    pthread_mutex_t lock; /* the ring's head */
    struct ring ring;     /* of uint32_t: numbers of completion queues; 0: one that has gone */
};

struct device_cq {
    struct attached_object;
    pthread_mutex_t lock; /* the ring */
    struct ring ring;
    struct device_channel *channel;
    uint32_t users;            /* atomic: queue pairs */
    uint32_t delivered, acked; /* atomic: events */
};

struct device_srq {
    struct attached_object;
    uint32_t entries, sges;
    uint32_t users; /* atomic */
    /* receives, ever; under the device's lock.  Done are those whose completions were polled, or that the fabric says
     * were taken, whichever is more. */
    uint32_t posted, polled, told;
};

/* Work requests are counted since RESET, modulo 2^32.  What is done with them is known from completions that were
 * polled, or asked of the fabric when the queue seems full: never more than is. */
struct device_qp {
    struct attached_object;
    uint8_t transport; /* enum nic_transport */
    uint8_t state;     /* as it was last modified: what the fabric has done since allows no less */
    uint8_t max_read;
    bool signal_all;
    uint16_t mtu;
    uint32_t send_size, recv_size, send_sges, recv_sges, inline_bytes;
    struct device_cq *send_cq, *recv_cq;
    struct device_srq *srq;
    /* under the device's lock: */
    uint32_t room_taken;   /* by sends; `posted` of them are in the ring of posts */
    uint32_t posted, sent; /* sends */
    uint32_t recv_posted, recv_polled, recv_told;
    uint32_t *signaled; /* [send_size]: places of sends that will be told of, in order */
    uint32_t signaled_head, signaled_tail;
    bool failed; /* a send that failed was told of, signaled or not: places are not known any more */
};

static inline struct attached_object **attached_qp_bucket(struct device *device, uint32_t number)
{
    return &device->qp[number % DEVICE_BUCKETS];
}

/* device.c */
extern const struct device_ops attached_ops;
const struct attach_api *attached_api(void); /* of an opened device: it is there */
bool attached_inert(const struct device *device);
/* -ENODEV: inert; -EIO: the fabric is gone. */
int attached_enter(struct device *device);
void attached_leave(void);
/* Within them.  The request's number is answered where ret_object is not NULL; `data` is sent and answered. */
int attached_ask(struct device *device, enum attach_op op, uint32_t object, void *data, size_t bytes,
                 uint32_t *ret_object);
int attached_ask_with(struct device *device, enum attach_op op, int fd, void *data, size_t bytes, uint32_t *ret_object);
/* The same with both around it. */
int attached_ask_once(struct device *device, enum attach_op op, uint32_t object, void *data, size_t bytes);
/* The fabric is asked to make an object.  0: within enter and leave until attached_link(). */
int attached_make(struct device *device, enum attach_op op, const void *asked, size_t bytes,
                  struct attach_made *ret_made);
/* It is the first of a list, under its number; leaves. */
void attached_link(struct attached_object *object, struct attached_object **first, uint32_t number);
void attached_unlink(struct attached_object *object, struct attached_object **first);
/* The device is locked; NULL: it is gone. */
struct attached_object *attached_find(struct attached_object *first, uint32_t number);
/* -EPROTO: there can be no such ring. */
int attached_ring(const struct device *device, uint64_t offset, uint32_t entries, size_t entry_bytes, struct ring *ret);
/* Entries that wait from ret_head on; -EPROTO: more than there can be, so somebody has written over it. */
int attached_ring_waits(const struct ring *ring, uint32_t *ret_head);
int attached_ring_take(const struct ring *ring, void *ret); /* the next entry: 1, 0: there is none, -EPROTO */
/* A descriptor's count is taken, as its flags say: outside of enter and leave, since it may wait.  -errno */
int attached_read_fd(int fd);

/* cm.c: our address that reaches another: of the same rail, where both hosts have it; -ENETUNREACH */
int attached_source(const struct pkt_addr *to, struct pkt_addr *ret);

/* cq.c */
/* Completions of a queue pair that begins anew are not told any more. */
void attached_cq_forget(struct device_cq *cq, uint32_t qpn);
/* channel.c: events of a queue that goes; and who waits is woken, since nobody else will */
void attached_channel_forget(struct device_channel *channel, const struct device_cq *cq);
void attached_channel_gone(struct device *device);

/* qp.c */
struct device_qp *attached_qp_find(struct device *device, uint32_t number); /* as attached_find() */
/* A completion was polled; the device is locked. */
void attached_qp_completed(struct device *device, const struct nic_cqe *cqe);

/* Asks the fabric, within enter and leave; what is done is known afterwards. */
int attached_qp_ask(struct device_qp *qp, struct attach_qp_state *ret);
/* srq.c: the same; `change` is sent and answered */
int attached_srq_ask(struct device_srq *srq, struct attach_srq *change);

/* memory.c: fills in what the fabric is told of a binding; -EINVAL */
int attached_bind(const struct device_send *send, struct nic_wr *wr);

/* events.c */
void attached_events_forget(struct device *device, const void *app);

#define OP(type, name, object, parameters, arguments) type attached_##name parameters;
#define OP_VOID(name, object, parameters, arguments) void attached_##name parameters;
#include "device/device_ops.def"

#endif
