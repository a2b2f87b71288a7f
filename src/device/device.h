/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device under verbs: what can be asked of it and of its objects, whoever made it.
 *
 * The verbs library is a translation of its own structures into these calls.  They go through a table (device_ops.def
 * lists and explains them), so that more than one thing can stand under the same programs: an adapter in real time
 * (src/live), or that of a fabric which the program is attached to (src/attach).
 */
#ifndef ROCELAB_DEVICE_DEVICE_H
#define ROCELAB_DEVICE_DEVICE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/nic.h"

/* These are called in libibverbs.so.1 from outside.  It is preloaded, so what it exports stands before everybody's
 * function of that name: hence a long one. */
#define DEVICE_EXPORT(name) __asm__("rocelab_" #name) __attribute__((visibility("default")))

/* Limits of what can be created. */
#define DEVICE_SGES_MAX 32u
#define DEVICE_INLINE_MAX 4096u
#define DEVICE_ENTRIES_MAX (1u << 16) /* of a send or receive queue */
#define DEVICE_CQ_MAX (1u << 22)
#define DEVICE_SRQ_MAX (1u << 20)
#define DEVICE_QPS_MAX 16383u
#define DEVICE_MRS_MAX 65535u
#define DEVICE_READS_MAX 128u /* outstanding READs and atomics, either way */

/* --- devices --- */

#define DEVICE_NAME_MAX 32
#define DEVICE_GIDS_MAX 32

struct device_gid {
    struct pkt_addr addr; /* the GID: IPv6, or IPv4 mapped */
    uint8_t net;          /* enum pkt_net: IPV4 or IPV6 (RoCE v2), V1 */
    bool usable;          /* the address is there now */
};

struct device_ops;                /* below */
struct device_info {              /* found, not opened */
    const struct device_ops *ops; /* of who found it */
    char name[DEVICE_NAME_MAX];   /* rocelab0 ... */
    char ifname[DEVICE_NAME_MAX];
    unsigned ifindex;
    uint32_t if_mtu;
    uint8_t mac[6];
    uint64_t guid; /* host order */
    uint64_t line_bps;
    bool up, loopback;
    bool has_loopback; /* the addresses of the loopback are among its v2 GIDs, at the end */
    bool has_v1;       /* its wire carries Ethernet frames: v1 GIDs behind all of v2 */
    unsigned gids;
    struct device_gid gid[DEVICE_GIDS_MAX];
};

/* Ethernet, IPv6, UDP, BTH, the longest extended header and ICRC must fit beside the payload. */
#define DEVICE_HEADERS 80u
/* The payload that fits: a power of two, from 256 to 4096. */
static inline uint32_t device_mtu(const struct device_info *info)
{
    uint32_t mtu = 4096;

    while (mtu > 256 && info->if_mtu < mtu + DEVICE_HEADERS)
        mtu /= 2;
    return mtu;
}

/* Those of the provider.  The answer is allocated; free() it. */
int device_list(struct device_info **ret, unsigned *ret_count) DEVICE_EXPORT(device_list);
/* Reads addresses and state anew. */
int device_refresh(struct device_info *info) DEVICE_EXPORT(device_refresh);

struct device; /* an opened device; one per process and interface, counted */
int device_open(const struct device_info *info, struct device **ret, char *why, size_t why_bytes)
    DEVICE_EXPORT(device_open);

/* --- memory --- */

#define DEVICE_LOCAL_WRITE 8u /* beside NIC_REMOTE_* */
#define DEVICE_MW_BIND 16u
#define DEVICE_ZERO_BASED 32u

struct device_mr;
struct device_mw;

/* --- completion queues --- */

struct device_channel; /* completion events, one descriptor */
struct device_cq;

/* --- paths, queue pairs --- */

struct device_path {   /* an address vector, resolved */
    uint8_t gid_index; /* our own GID: source address and type */
    struct pkt_addr remote;
    uint8_t tos, hop_limit;
    uint8_t sl;
    uint32_t flow_label;
    uint8_t dmac[6]; /* 0: found out */
};

struct device_srq;
#define DEVICE_SRQ_KEEP UINT32_MAX

struct device_sge { /* laid out like ibv_sge */
    uint64_t addr;
    uint32_t length, key;
};

struct device_qp_init {
    uint8_t transport; /* enum nic_transport */
    uint32_t pd;
    uint32_t send_entries, recv_entries, send_sges, recv_sges, inline_bytes;
    bool signal_all;
    struct device_cq *send_cq, *recv_cq;
    struct device_srq *srq;
    void *app; /* comes back with asynchronous events */
};

static inline bool device_qp_init_valid(const struct device_qp_init *init)
{
    return init->transport <= NIC_UD && init->send_entries <= DEVICE_ENTRIES_MAX &&
           init->recv_entries <= DEVICE_ENTRIES_MAX && init->send_sges <= DEVICE_SGES_MAX &&
           init->recv_sges <= DEVICE_SGES_MAX && init->inline_bytes <= DEVICE_INLINE_MAX;
}

struct device_qp_attr { /* what modify can set; `mask` of DEVICE_ATTR_* says which */
    uint32_t mask;
    uint8_t state; /* enum nic_state */
    uint8_t access;
    uint16_t mtu;
    struct device_path path;
    uint32_t remote_qp, send_psn, expect_psn, qkey;
    uint8_t timeout, retry, rnr_retry, min_rnr_timer, max_read, max_read_accept;
};
#define DEVICE_ATTR_STATE (1u << 0)
#define DEVICE_ATTR_ACCESS (1u << 1)
#define DEVICE_ATTR_MTU (1u << 2)
#define DEVICE_ATTR_PATH (1u << 3)
#define DEVICE_ATTR_REMOTE_QP (1u << 4)
#define DEVICE_ATTR_SEND_PSN (1u << 5)
#define DEVICE_ATTR_EXPECT_PSN (1u << 6)
#define DEVICE_ATTR_QKEY (1u << 7)
#define DEVICE_ATTR_TIMEOUT (1u << 8)
#define DEVICE_ATTR_RETRY (1u << 9)
#define DEVICE_ATTR_RNR_RETRY (1u << 10)
#define DEVICE_ATTR_MIN_RNR (1u << 11)
#define DEVICE_ATTR_MAX_READ (1u << 12)
#define DEVICE_ATTR_MAX_READ_ACCEPT (1u << 13)

struct device_qp;

struct device_send {
    struct nic_wr wr; /* wr.local and the adapter's fields are ours; wr.dest: a path of device_path_get() for UD */
    const struct device_sge *sge;
    unsigned sges;
    bool copy;         /* inline: the data is taken now */
    const void *taken; /* with `copy`: it was taken, and lies here in one piece */
    /* MW binding (NIC_BIND_MW): */
    struct device_mw *mw;
    struct device_mr *mr;
    uint64_t mw_addr, mw_bytes;
    uint32_t mw_access, mw_key;
};
/* The length of what is sent from a list.  -EINVAL: it is not one that the queue pair was made for, or inline where
 * bytes come back. */
static inline int device_send_length(const struct device_send *send, uint32_t sges, uint32_t inline_bytes,
                                     uint64_t *ret)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < send->sges; i++)
        bytes += send->sge[i].length;
    if (send->copy ? bytes > inline_bytes || send->wr.verb >= NIC_READ : send->sges > sges) return -EINVAL;
    *ret = send->wr.verb >= NIC_CAS ? 8 : bytes;
    return 0;
}

struct device_recv {
    uint64_t wr_id;
    const struct device_sge *sge;
    unsigned sges;
};

/* --- asynchronous events: the adapter's, one descriptor per opened device --- */

enum device_event_kind {
    DEVICE_EVENT_QP_FATAL,
    DEVICE_EVENT_QP_REQ,
    DEVICE_EVENT_QP_ACCESS,
    DEVICE_EVENT_COMM_EST,
    DEVICE_EVENT_SQ_DRAINED,
    DEVICE_EVENT_LAST_WQE,
    DEVICE_EVENT_SRQ_LIMIT,
    DEVICE_EVENT_CQ_ERROR,
    DEVICE_EVENT_PORT_ACTIVE,
    DEVICE_EVENT_PORT_DOWN,
    DEVICE_EVENT_GID_CHANGE,
    DEVICE_EVENT_DEVICE_FATAL, /* it is gone: every call answers -EIO */
};
struct device_event {
    enum device_event_kind kind;
    void *app; /* of the QP, CQ or SRQ; NULL for the port's and the device's */
};
struct device_counter_set; /* counters.h */
struct device_watch;       /* a listener: each opened ibv_context has one */
/* What a listener wants to hear, and a word before it does; NULL: everything, nothing.  Both are called with the
 * listeners locked, so an object cannot be destroyed between the taking of its event and taken(). */
struct device_watch_hooks {
    void *owner;
    bool (*wants)(void *owner, const struct device_event *event);
    void (*taken)(void *owner, const struct device_event *event);
};

/* --- QP1: management datagrams (for librdmacm) --- */

#define DEVICE_MAD_BYTES 256
struct device_mad {
    uint8_t data[DEVICE_MAD_BYTES];
    struct pkt_addr src, dst; /* rx: who sent it, and to which of our addresses */
    uint8_t gid_index;
    uint32_t src_qp;
};

/* --- through a table --- */

/* What makes devices.  Every object that it makes (struct device, device_mr, device_mw, device_channel, device_cq,
 * device_srq, device_qp, device_watch) begins with a pointer to this, and is otherwise its own business. */
struct device_ops {
    int (*list)(struct device_info **ret, unsigned *ret_count);
    int (*refresh)(struct device_info *info);
    int (*open)(const struct device_info *info, struct device **ret, char *why, size_t why_bytes);
    int (*source)(const struct pkt_addr *to, struct pkt_addr *ret); /* NULL: the machine's routes tell */
    /* NULL: the machine's processes show them */
    int (*counters)(const struct device_info *info, struct device_counter_set **ret, unsigned *ret_count);
#define OP(type, name, object, parameters, arguments) type(*name) parameters;
#define OP_VOID(name, object, parameters, arguments) void(*name) parameters;
#include "device/device_ops.def"
};

/* Whom device_list() asks; NULL: the one that the library brings along, which is asked where nothing is said.  Before
 * the first device is listed. */
void device_provider(const struct device_ops *ops) DEVICE_EXPORT(device_provider);
/* Who is asked, each time, whom device_list() is to ask where nobody was named; it may answer NULL. */
void device_provider_asked(const struct device_ops *(*find)(void));
/* Whom the library brings along: its room defines this. */
const struct device_ops *device_own_provider(void);
/* Whether devices are not interfaces of this machine, and its addresses and routes say nothing about them. */
bool device_provided(void) DEVICE_EXPORT(device_provided);
/* Our address that reaches another.  -EOPNOTSUPP: the machine's routes tell; -ENETUNREACH. */
int device_source(const struct pkt_addr *to, struct pkt_addr *ret) DEVICE_EXPORT(device_source);
/* Counters of who has listed this device; counters.h.  free() the answer. */
int device_counters(const struct device_info *info, struct device_counter_set **ret, unsigned *ret_count);

/* To be held by who makes them; device_ops_of(). */
#define DEVICE_OPS_FIRST                                                                                               \
    _Static_assert(offsetof(struct device, ops) == 0 && offsetof(struct device_mr, ops) == 0 &&                        \
                       offsetof(struct device_mw, ops) == 0 && offsetof(struct device_channel, ops) == 0 &&            \
                       offsetof(struct device_cq, ops) == 0 && offsetof(struct device_srq, ops) == 0 &&                \
                       offsetof(struct device_qp, ops) == 0 && offsetof(struct device_watch, ops) == 0,                \
                   "every object begins with its table")

static inline const struct device_ops *device_ops_of(const void *object)
{
    return *(const struct device_ops *const *)object;
}

#define OP(type, name, object, parameters, arguments)                                                                  \
    static inline type device_##name parameters                                                                        \
    {                                                                                                                  \
        return device_ops_of(object)->name arguments;                                                                  \
    }
#define OP_VOID(name, object, parameters, arguments)                                                                   \
    static inline void device_##name parameters                                                                        \
    {                                                                                                                  \
        device_ops_of(object)->name arguments;                                                                         \
    }
#include "device/device_ops.def"

#endif
