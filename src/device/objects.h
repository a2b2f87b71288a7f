/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a device that has a `nic` of src/nic, whoever drives it: what is decided about them is decided here.
 *
 * What differs is a table, struct device_host: how the memory of a program is reached, and where a path leads.  Whoever
 * drives the adapter adds what is its own behind these structs (rings and locks, a wire, processes), holds its locks
 * around these calls, and tells the time.  Real time or virtual, one process or many: nothing here knows.
 */
#ifndef ROCELAB_DEVICE_OBJECTS_H
#define ROCELAB_DEVICE_OBJECTS_H

#include "device/device.h"
#include "device/records.h"

struct pkt_envelope;

struct path_end { /* where a path leads, and in which class */
    uint32_t endpoint;
    uint8_t prio, tos;
};

struct device_host {
    /* Bytes of the program that has the device: false: they are not there. */
    bool (*read)(struct device *device, uint64_t addr, void *to, uint64_t bytes);
    bool (*write)(struct device *device, uint64_t addr, const void *from, uint64_t bytes);
    bool (*atomic)(struct device *device, uint64_t addr, uint8_t verb, uint64_t compare, uint64_t swap,
                   uint64_t *ret_original);
    /* Address vectors by number, counted; 0 is none. */
    int (*path_get)(struct device *device, const struct device_path *path, uint32_t *ret);
    void (*path_put)(struct device *device, uint32_t path);
    bool (*path_find)(struct device *device, uint32_t path, struct path_end *ret); /* false: there is none */
    uint32_t (*mtu)(const struct device *device); /* payload that fits through the port: a power of two */
    /* The configuration is as it is to be: what follows from it is filled in, or it is refused. */
    int (*qp_settle)(struct device_qp *qp, const struct device_qp_attr *attr);
    /* What was learned of the peer is forgotten, and completions that wait are. */
    void (*qp_reset)(struct device_qp *qp);
};

/* --- regions and windows --- */

/* Keys are numbered in records.h; L_Key and R_Key are the same (volume 1, 10.6.3).  Remote requests are judged by
 * src/nic, which holds the same keys; here they are looked at once more when bytes move, since a region may go away
 * between the first packet of a message and its last.  Local keys are looked at when bytes move too (10.7.3.1 allows
 * either), so a wrong one is an error completion in its place among the others. */

struct device_mr {
    const struct device_ops *ops;
    struct device *device; /* whose memory it is */
    uint64_t iova, bytes;
    uint64_t delta; /* the program's address is va + delta */
    uint32_t key, pd, access;
};

struct device_mw {
    const struct device_ops *ops;
    struct device *device;
    struct nic *home;   /* type 2: the adapter that knows it: of the queue pair that last bound it */
    struct nic_mr told; /* type 1, several adapters: what all know; that of the last binding knows it from its pair */
    uint32_t key, pd;
    int type;
};

#define REGIONS_NICS 8u

struct region_slot { /* by key >> 8 */
    struct device_mr *mr;
    struct device_mw *mw;
};

struct regions { /* of an adapter, or of several that share its queue pairs out: they know the same keys */
    struct keys keys;
    struct region_slot *slot; /* [keys.slots], with the states of keys behind; NULL: not made yet */
    struct nic *nic[REGIONS_NICS];
    uint32_t windows;
};

/* All there is, in one block: memory that is not used costs nothing.  `first`, `salt`: where keys begin.  -ENOMEM */
int regions_init(struct regions *regions, uint32_t slots, uint32_t first, uint8_t salt);
int regions_join(struct regions *regions, unsigned number, struct nic *nic); /* one more: it is told all */
static inline struct region_slot *region_slot(const struct regions *regions, uint32_t key)
{
    return key >> 8 < regions->keys.slots ? &regions->slot[key >> 8] : NULL;
}
static inline struct device_mr *region_of(const struct regions *regions, uint32_t key)
{
    const struct region_slot *slot = region_slot(regions, key);

    return slot && slot->mr && slot->mr->key == key ? slot->mr : NULL;
}
/* By any key it has had. */
static inline struct device_mw *window_of(const struct regions *regions, uint32_t key)
{
    const struct region_slot *slot = region_slot(regions, key);

    return slot ? slot->mw : NULL;
}

/* ops, device, pd, access are the caller's; ZERO_BASED counts from 0.  -EINVAL, -ENOMEM */
int region_enter(struct regions *regions, struct device_mr *mr, uint64_t addr, uint64_t bytes, uint64_t iova);
int region_change(struct regions *regions, struct device_mr *mr, const uint32_t *pd, void *const *addr, uint64_t bytes,
                  const uint32_t *access);
int region_remove(struct regions *regions, struct device_mr *mr); /* -EBUSY: a window is bound to it */
int window_enter(struct regions *regions, struct device_mw *mw);  /* ops, device, pd, type, home are the caller's */
void window_remove(struct regions *regions, struct device_mw *mw);

int window_bind(const struct regions *regions, const struct device_send *send, struct nic_wr *wr);
void window_bound(struct regions *regions, struct device_mw *mw, uint32_t key); /* it was posted */
/* Several adapters: a window of type 2 is moved to that of the queue pair that is to bind it. */
int window_bring(struct device_mw *mw, struct nic *nic);
/* The adapter of the queue pair that binds a window of type 1 knows it when that is executed.  The others are told when
 * it was posted: before the key is known to anybody who could use it. */
void window_tell(struct regions *regions, const struct device_send *send, uint32_t pd, const struct nic *by);

struct objects { /* what the objects of one adapter hang on */
    const struct device_host *host;
    struct nic *nic;
    struct regions *regions;
};

/* --- bytes --- */

/* The payload that io->gather asks for, of a packet of the device's; false: a key does not allow it, or the memory is
 * not there. */
bool bytes_send(const struct objects *objects, struct device *device, const struct nic_io *io, uint8_t *to);

struct arrival { /* of a packet as it came, what is needed after nic_rx(), which makes its descriptor the ACK */
    uint32_t psn, rkey;
    uint8_t opcode;
    uint32_t bth_bytes;                  /* from BTH to ICRC; this and envelope: of a datagram */
    const struct pkt_envelope *envelope; /* programs read from the GRH who sent it */
    const uint8_t *payload;
};
/* What nic_rx() has just asked for, in io->place and io->atomic.  What cannot be done the adapter is told; false: that
 * was so. */
bool bytes_arrive(const struct objects *objects, struct device *device, uint32_t qpn, const struct arrival *arrival,
                  ps_t now, struct nic_io *io);

/* --- shared receive queues --- */

struct device_srq {
    const struct device_ops *ops;
    struct device *device;
    struct receives receives;
    uint32_t number, users; /* users: queue pairs */
    void *app;
};

/* As device_srq_change(); of the queue pairs from `first` on some may use it. */
int srq_change(struct device_srq *srq, struct device_qp *first, uint32_t entries, uint32_t limit);

/* --- queue pairs --- */

struct queue_pair { /* what every struct device_qp begins with */
    const struct device_ops *ops;
    struct device *device;
    const struct objects *objects;
    struct nic_qp *nic;
    struct nic_qp_config config;
    struct records records;
    struct device_srq *srq;
    void *app;
    struct device_qp *next; /* of the driver's */
    uint32_t qpn, pd, path; /* path: of config.remote; 0: none */
    bool signal_all;
};
static inline struct queue_pair *queue_pair_of(struct device_qp *qp)
{
    return (struct queue_pair *)qp;
}

/* The driver has filled in ops, device, objects, and config as its settings say; -ENOMEM.  qp_release() follows in any
 * case. */
int qp_init(struct device_qp *qp, const struct device_qp_init *init);
/* In RESET, under this number (0: the adapter's choice), as the first of a list. */
int qp_start(struct device_qp *qp, uint32_t number, struct device_qp **first, ps_t now);
/* Legality of the transition is the caller's; values are looked at here, and what was refused is not remembered. */
int qp_modify(struct device_qp *qp, const struct device_qp_attr *attr, ps_t now, struct nic_io *io);
int qp_be_patient(struct device_qp *qp, uint64_t patience_ns, ps_t now, struct nic_io *io);
void qp_end(struct device_qp *qp, struct device_qp **first, struct nic_io *io); /* its completions stay */
void qp_release(struct device_qp *qp);

/* 0; -ENOMEM: full; -EINVAL; -EFAULT: inline data that is not there.  wr: as the adapter has it. */
int qp_post_send(struct device_qp *qp, const struct device_send *send, struct nic_wr *wr, ps_t now, struct nic_io *io);
int qp_post_recv(struct device_qp *qp, const struct device_recv *recv, ps_t now, struct nic_io *io);

/* --- audit.c: what always holds, or the program ends --- */

void regions_audit(const struct regions *regions);
void srq_audit(const struct device_srq *srq);
void qp_audit(struct device_qp *qp);

#endif
