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
 * All calls answer 0 or -errno, and touch ret_* only on success.
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

struct live_device {          /* found, not opened */
    char name[LIVE_NAME_MAX]; /* rocelab0 ... */
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
 * there is none.  The answer is allocated; free() it. */
int live_devices(struct live_device **ret, unsigned *ret_count);
/* Reads addresses and state anew. */
int live_device_refresh(struct live_device *device);

struct live; /* an opened device; one per process and interface, counted */
int live_open(const struct live_device *device, struct live **ret, char *why, size_t why_bytes);
void live_close(struct live *);
const struct live_device *live_device_of(const struct live *);

/* --- memory --- */

#define LIVE_LOCAL_WRITE 8u /* beside NIC_REMOTE_* */
#define LIVE_MW_BIND 16u
#define LIVE_ZERO_BASED 32u

struct live_mr;
/* pd: any number the caller gives its protection domains.  iova: the address peers use for `addr`. */
int live_mr_create(struct live *, uint32_t pd, void *addr, uint64_t bytes, uint64_t iova, uint32_t access,
                   struct live_mr **ret);
int live_mr_change(struct live_mr *, const uint32_t *pd, void *const *addr, uint64_t bytes, const uint32_t *access);
int live_mr_destroy(struct live_mr *);        /* -EBUSY: a window is bound to it */
uint32_t live_mr_key(const struct live_mr *); /* lkey and rkey are one */

struct live_mw;
int live_mw_create(struct live *, uint32_t pd, int type, struct live_mw **ret); /* type 1, 2 */
int live_mw_destroy(struct live_mw *);
uint32_t live_mw_key(const struct live_mw *);

/* --- completion queues --- */

struct live_channel; /* completion events, one descriptor */
int live_channel_create(struct live *, struct live_channel **ret);
int live_channel_destroy(struct live_channel *);
int live_channel_fd(const struct live_channel *); /* pollable; readable when an event waits; O_NONBLOCK is honoured */

struct live_cq;
/* `app` comes back with events.  entries: at least so many. */
int live_cq_create(struct live *, uint32_t entries, struct live_channel *channel, void *app, struct live_cq **ret);
int live_cq_resize(struct live_cq *, uint32_t entries);
int live_cq_destroy(struct live_cq *);
uint32_t live_cq_entries(const struct live_cq *);
/* Takes up to `max` completions; makes progress when there is none.  A cqe's wr_id is what was posted. */
int live_poll(struct live_cq *, struct nic_cqe *ret, unsigned max);
int live_cq_arm(struct live_cq *, bool solicited_only);
/* Blocks for the next event (as the descriptor's flags say): its queue's `app`. */
int live_channel_wait(struct live_channel *, struct live_cq **ret, void **ret_app);
void live_cq_ack_events(struct live_cq *, unsigned events);

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
/* A number for the path (an `endpoint` of src/nic), counted; the same path has the same number. */
int live_path_get(struct live *, const struct live_path *path, uint32_t *ret);
void live_path_put(struct live *, uint32_t path);

struct live_srq;
int live_srq_create(struct live *, uint32_t pd, uint32_t entries, uint32_t sges, void *app, struct live_srq **ret);
#define LIVE_SRQ_KEEP UINT32_MAX
int live_srq_change(struct live_srq *, uint32_t entries,
                    uint32_t limit); /* LIVE_SRQ_KEEP: as it is; limit 0: unarmed */
uint32_t live_srq_limit(const struct live_srq *);
uint32_t live_srq_number(const struct live_srq *);
int live_srq_destroy(struct live_srq *);

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
int live_qp_create(struct live *, const struct live_qp_init *init, struct live_qp **ret); /* in RESET */
int live_qp_modify(struct live_qp *, const struct live_qp_attr *attr); /* legality of the transition is the caller's */
enum nic_state live_qp_state(struct live_qp *);
void live_qp_psns(struct live_qp *, uint32_t *ret_send, uint32_t *ret_expect);
/* By number, so that it may be gone: a number that is another one when its peer was heard of meanwhile. */
uint64_t live_qpn_heard(struct live *, uint32_t qpn);
/* By number too: messages that find no receive are not refused for a while (rnr_patience_ps of src/nic). */
void live_qpn_be_patient(struct live *, uint32_t qpn, uint64_t patience_ns);
uint32_t live_qp_number(const struct live_qp *);
uint32_t live_qp_send_room(struct live_qp *); /* work requests that can be posted now */
int live_qp_destroy(struct live_qp *);

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
/* 0; -ENOMEM: queue full; -EINVAL.  More of a batch follow: `more` leaves the packets to the last. */
int live_post_send(struct live_qp *, const struct live_send *send, bool more);
int live_post_recv(struct live_qp *, const struct live_recv *recv);
int live_post_srq(struct live_srq *, const struct live_recv *recv);

int live_multicast(struct live_qp *, const struct pkt_addr *group, bool join);

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
};
struct live_event {
    enum live_event_kind kind;
    void *app; /* of the QP, CQ or SRQ; NULL for the port's */
};
struct live_watch; /* a listener: each opened ibv_context has one */
/* What a listener wants to hear, and a word before it does; NULL: everything, nothing.  Both are called with the
 * listeners locked, so an object cannot be destroyed between the taking of its event and taken(). */
struct live_watch_hooks {
    void *owner;
    bool (*wants)(void *owner, const struct live_event *event);
    void (*taken)(void *owner, const struct live_event *event);
};
int live_watch_create(struct live *, struct live_watch **ret);
void live_watch_hook(struct live_watch *, const struct live_watch_hooks *hooks);
void live_watch_destroy(struct live_watch *);
int live_watch_fd(const struct live_watch *);
int live_watch_wait(struct live_watch *, struct live_event *ret); /* blocks as the descriptor's flags say; -EAGAIN */

/* --- QP1: management datagrams (for librdmacm) --- */

#define LIVE_MAD_BYTES 256
struct live_mad {
    uint8_t data[LIVE_MAD_BYTES];
    struct pkt_addr src, dst; /* rx: who sent it, and to which of our addresses */
    uint8_t gid_index;
    uint32_t src_qp;
};
int live_mad_send(struct live *, const struct live_path *path, const uint8_t mad[LIVE_MAD_BYTES]);
int live_mad_receive(struct live *, struct live_mad *ret); /* 1: one, 0: none */
int live_mad_fd(struct live *);                            /* readable when one waits; -errno */
struct registry *live_registry(struct live *);

/* --- watching: copies, valid until the next call --- */

const struct nic_counters *live_counters(struct live *);
const struct wire_counters *live_wire_counters(struct live *);

#pragma GCC visibility pop

#endif
