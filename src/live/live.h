/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live adapter: one `nic` in real time, for one network interface, in one process.
 *
 * The verbs library is a translation of its own structures into these calls.  Payload is copied
 * from and to the application's memory here; everything the protocol decides is decided in src/nic.
 *
 * Progress.  live_poll() and live_post_*() make progress inline, in the caller's thread.  A thread of
 * our own keeps one-sided operations and timers going while the application computes or sleeps: it
 * waits on the wire's descriptor and for the adapter's next deadline, and steps back while
 * the application polls.  A device is under one lock, or, where there are cores for it, its queue pairs are shared out
 * and each share is; completions become visible only after their bytes are in place.
 *
 * The calls on an opened device and its objects go through a table (device_ops.def lists and explains them), so that
 * something else can stand under the same programs: the live adapter is its first implementation.
 */
#ifndef ROCELAB_LIVE_LIVE_H
#define ROCELAB_LIVE_LIVE_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "nic/nic.h"
#include "wire/wire.h"

/* librdmacm.so.1 calls these in libibverbs.so.1. */
#pragma GCC visibility push(default)

/* Limits of what can be created. */
#define LIVE_SGES_MAX 32u
#define LIVE_INLINE_MAX 4096u
#define LIVE_ENTRIES_MAX (1u << 16) /* of a send or receive queue */
#define LIVE_CQ_MAX (1u << 22)
#define LIVE_SRQ_MAX (1u << 20)
#define LIVE_QPS_MAX 16383u
#define LIVE_MRS_MAX 65535u
#define LIVE_READS_MAX 128u /* outstanding READs and atomics, either way */

/* --- devices --- */

#define LIVE_NAME_MAX 32
#define LIVE_GIDS_MAX 32

struct live_gid {
    struct pkt_addr addr; /* the GID: IPv6, or IPv4 mapped */
    uint8_t net;          /* enum pkt_net: IPV4 or IPV6 (RoCE v2), V1 */
    bool usable;          /* the address is there now */
};

struct device_ops;                /* below */
struct live_device {              /* found, not opened */
    const struct device_ops *ops; /* of who found it */
    char name[LIVE_NAME_MAX];     /* rocelab0 ... */
    char ifname[LIVE_NAME_MAX];
    unsigned ifindex;
    uint32_t if_mtu;
    uint8_t mac[6];
    uint64_t guid; /* host order */
    uint64_t line_bps;
    bool up, loopback;
    bool has_loopback; /* the addresses of the loopback are among its v2 GIDs, at the end */
    bool has_v1;       /* its wire carries Ethernet frames: v1 GIDs behind all of v2 */
    unsigned gids;
    struct live_gid gid[LIVE_GIDS_MAX];
};

/* From the machine's interfaces and ROCELAB_DEVICE: interfaces that are up with an address, or the loopback where
 * there is none.  The answer is allocated; free() it.  Another provider finds others. */
int live_devices(struct live_device **ret, unsigned *ret_count);
/* Reads addresses and state anew. */
int live_device_refresh(struct live_device *device);

struct live; /* an opened device; one per process and interface, counted */
int live_open(const struct live_device *device, struct live **ret, char *why, size_t why_bytes);

/* --- memory --- */

#define LIVE_LOCAL_WRITE 8u /* beside NIC_REMOTE_* */
#define LIVE_MW_BIND 16u
#define LIVE_ZERO_BASED 32u

struct live_mr;
struct live_mw;

/* --- completion queues --- */

struct live_channel; /* completion events, one descriptor */
struct live_cq;

/* For who stands before poll() and epoll: is a descriptor a channel's?  Needs no lock. */
bool live_channel_has(int fd);
#define LIVE_WAIT_FDS 64u
typedef int live_ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
/* ppoll() of at most LIVE_WAIT_FDS descriptors for who waits for that of a channel, among them or in an epoll set of
 * them; what the wire brings meanwhile is taken in. */
int live_wait_poll(int fd, struct pollfd *fds, unsigned count, const struct timespec *limit, const sigset_t *mask);
/* Whose ppoll() all waits for channels use: one that does not come back here.  At first libc's. */
void live_wait_with(live_ppoll *real);

/* --- paths, queue pairs --- */

struct live_path {     /* an address vector, resolved */
    uint8_t gid_index; /* our own GID: source address and type */
    struct pkt_addr remote;
    uint8_t tos, hop_limit;
    uint8_t sl;
    uint32_t flow_label;
    uint8_t dmac[6]; /* 0: found out */
};

struct live_srq;
#define LIVE_SRQ_KEEP UINT32_MAX

struct live_sge { /* laid out like ibv_sge */
    uint64_t addr;
    uint32_t length, key;
};

struct live_qp_init {
    uint8_t transport; /* enum nic_transport */
    uint32_t pd;
    uint32_t send_entries, recv_entries, send_sges, recv_sges, inline_bytes;
    bool signal_all;
    struct live_cq *send_cq, *recv_cq;
    struct live_srq *srq;
    void *app; /* comes back with asynchronous events */
};

struct live_qp_attr { /* what modify can set; `mask` of LIVE_ATTR_* says which */
    uint32_t mask;
    uint8_t state; /* enum nic_state */
    uint8_t access;
    uint16_t mtu;
    struct live_path path;
    uint32_t remote_qp, send_psn, expect_psn, qkey;
    uint8_t timeout, retry, rnr_retry, min_rnr_timer, max_read, max_read_accept;
};
#define LIVE_ATTR_STATE (1u << 0)
#define LIVE_ATTR_ACCESS (1u << 1)
#define LIVE_ATTR_MTU (1u << 2)
#define LIVE_ATTR_PATH (1u << 3)
#define LIVE_ATTR_REMOTE_QP (1u << 4)
#define LIVE_ATTR_SEND_PSN (1u << 5)
#define LIVE_ATTR_EXPECT_PSN (1u << 6)
#define LIVE_ATTR_QKEY (1u << 7)
#define LIVE_ATTR_TIMEOUT (1u << 8)
#define LIVE_ATTR_RETRY (1u << 9)
#define LIVE_ATTR_RNR_RETRY (1u << 10)
#define LIVE_ATTR_MIN_RNR (1u << 11)
#define LIVE_ATTR_MAX_READ (1u << 12)
#define LIVE_ATTR_MAX_READ_ACCEPT (1u << 13)

struct live_qp;

struct live_send {
    struct nic_wr wr; /* wr.local and the adapter's fields are ours; wr.dest: a path of live_path_get() for UD */
    const struct live_sge *sge;
    unsigned sges;
    bool copy; /* inline: the data is taken now */
    /* MW binding (NIC_BIND_MW): */
    struct live_mw *mw;
    struct live_mr *mr;
    uint64_t mw_addr, mw_bytes;
    uint32_t mw_access, mw_key;
};
struct live_recv {
    uint64_t wr_id;
    const struct live_sge *sge;
    unsigned sges;
};

/* --- asynchronous events: the adapter's, one descriptor per opened device --- */

enum live_event_kind {
    LIVE_EVENT_QP_FATAL,
    LIVE_EVENT_QP_REQ,
    LIVE_EVENT_QP_ACCESS,
    LIVE_EVENT_COMM_EST,
    LIVE_EVENT_SQ_DRAINED,
    LIVE_EVENT_LAST_WQE,
    LIVE_EVENT_SRQ_LIMIT,
    LIVE_EVENT_CQ_ERROR,
    LIVE_EVENT_PORT_ACTIVE,
    LIVE_EVENT_PORT_DOWN,
    LIVE_EVENT_GID_CHANGE,
    LIVE_EVENT_DEVICE_FATAL, /* it is gone: every call answers -EIO */
};
struct live_event {
    enum live_event_kind kind;
    void *app; /* of the QP, CQ or SRQ; NULL for the port's and the device's */
};
struct live_counter_set; /* counters.h */
struct live_watch;       /* a listener: each opened ibv_context has one */
/* What a listener wants to hear, and a word before it does; NULL: everything, nothing.  Both are called with the
 * listeners locked, so an object cannot be destroyed between the taking of its event and taken(). */
struct live_watch_hooks {
    void *owner;
    bool (*wants)(void *owner, const struct live_event *event);
    void (*taken)(void *owner, const struct live_event *event);
};

/* --- QP1: management datagrams (for librdmacm) --- */

#define LIVE_MAD_BYTES 256
struct live_mad {
    uint8_t data[LIVE_MAD_BYTES];
    struct pkt_addr src, dst; /* rx: who sent it, and to which of our addresses */
    uint8_t gid_index;
    uint32_t src_qp;
};

/* --- through a table --- */

/* What makes devices.  Every object that it makes (struct live, live_mr, live_mw, live_channel, live_cq, live_srq,
 * live_qp, live_watch) begins with a pointer to this, and is otherwise its own business. */
struct device_ops {
    int (*devices)(struct live_device **ret, unsigned *ret_count);
    int (*device_refresh)(struct live_device *device);
    int (*open)(const struct live_device *device, struct live **ret, char *why, size_t why_bytes);
    int (*source)(const struct pkt_addr *to, struct pkt_addr *ret); /* NULL: the machine's routes tell */
    int (*counters)(const struct live_device *device, struct live_counter_set *ret); /* NULL: live_counters_read() */
#define OP(type, name, object, parameters, arguments) type(*name) parameters;
#define OP_VOID(name, object, parameters, arguments) void(*name) parameters;
#include "live/device_ops.def"
};

/* Whom live_devices() asks; NULL: the live adapter, which is asked where nothing is said.  Before the first device is
 * listed. */
void live_provider(const struct device_ops *ops);
/* Who is asked, each time, whom live_devices() is to ask where nobody was named; it may answer NULL. */
void live_provider_asked(const struct device_ops *(*find)(void));
/* Whether devices are not interfaces of this machine, and its addresses and routes say nothing about them. */
bool live_provided(void);
/* Our address that reaches another.  -EOPNOTSUPP: the machine's routes tell; -ENETUNREACH. */
int live_source(const struct pkt_addr *to, struct pkt_addr *ret);

static inline const struct device_ops *device_ops_of(const void *object)
{
    return *(const struct device_ops *const *)object;
}

#define OP(type, name, object, parameters, arguments)                                                                  \
    static inline type live_##name parameters                                                                          \
    {                                                                                                                  \
        return device_ops_of(object)->name arguments;                                                                  \
    }
#define OP_VOID(name, object, parameters, arguments)                                                                   \
    static inline void live_##name parameters                                                                          \
    {                                                                                                                  \
        device_ops_of(object)->name arguments;                                                                         \
    }
#include "live/device_ops.def"

/* --- watching a live adapter: copies, valid until the next call --- */

const struct nic_counters *live_counters(struct live *);
const struct wire_counters *live_wire_counters(struct live *);

#pragma GCC visibility pop

#endif
