/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of libibverbs.so.1 share: our structures around the public ones, and the device's limits.
 *
 * A public object (struct ibv_qp ...) is the first member of ours, so a cast leads from one to the other.
 * Nothing here is seen by programs: they hold the public part.
 */
#ifndef ROCELAB_VERBS_IBVERBS_VERBS_INT_H
#define ROCELAB_VERBS_IBVERBS_VERBS_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "device/device.h"

/* The tree is compiled with hidden visibility: what rdma-core declares is what we export. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* What ibv_query_device() promises.  Sizes are checked when things are made; of the counts, those that are a table's
 * (queue pairs, regions and windows) and device memory: of the others there may be more. */
enum {
    LIMIT_QP = DEVICE_QPS_MAX,
    LIMIT_QP_WR = 16384,
    LIMIT_SGE = 32,
    LIMIT_CQ = 16384,
    LIMIT_CQE = 1 << 20,
    LIMIT_MR = DEVICE_MRS_MAX,
    LIMIT_PD = 65536,
    LIMIT_RD_ATOMIC = DEVICE_READS_MAX,
    LIMIT_MW = DEVICE_MRS_MAX,
    LIMIT_MCAST = 4096,
    LIMIT_AH = 65536,
    LIMIT_SRQ = 8192,
    LIMIT_SRQ_WR = 16384,
    LIMIT_INLINE = 1024,
    LIMIT_MSG = 1 << 30,
    LIMIT_PKEYS = 1,
    LIMIT_COMP_VECTORS = 4,
};
#define LIMIT_MR_BYTES (1ULL << 46)
#define LIMIT_DM_BYTES ((size_t)256 << 10) /* of all contexts of a process */

struct vdevice {
    struct ibv_device ibv;
    struct device_info live;
    int index;
    atomic_uint refs; /* the list's, and one for each opened context */
};

/* What can be imported: first of its kind's list (import.c). */
enum vshare_kind { SHARE_CONTEXT, SHARE_PD, SHARE_MR, SHARE_DM, SHARE_KINDS };
struct vshare {
    struct vshare *next, **link;
    struct device *live;
    uint64_t handle;
};

struct vcontext {
    struct vshare share;
    struct device *live;
    struct device_watch *watch;
    struct vdevice *device;
    atomic_uint refs;       /* objects that are left; closing with some leaves them to the process's end */
    struct verbs_context v; /* last: programs reach it through v.context */
};

struct vpd {
    struct ibv_pd ibv;
    struct vshare share;
    struct vpd *parent; /* of a parent domain: the domain it stands for */
    struct vtd *td;
    void *(*alloc)(struct ibv_pd *, void *app, size_t bytes, size_t alignment, uint64_t type); /* the program's */
    void (*free)(struct ibv_pd *, void *app, void *memory, uint64_t type);
    void *app;
    uint32_t number; /* live's */
    atomic_uint refs;
};

struct vtd {
    struct ibv_td ibv;
    atomic_uint refs;
};

struct vmr {
    struct ibv_mr ibv;
    struct vshare share;
    struct device_mr *live;
    struct vdm *dm; /* of device memory */
    unsigned access;
    bool imported; /* the region is another's */
};

struct vdm {
    struct ibv_dm ibv;
    struct vshare share;
    uint8_t *data;
    size_t length;
    atomic_uint refs; /* regions */
    bool imported;    /* the memory is another's */
};

struct vmw {
    struct ibv_mw ibv;
    struct device_mw *live;
};

struct vchannel {
    struct ibv_comp_channel ibv;
    struct device_channel *live;
    atomic_uint refs;
};

struct vcq {
    struct ibv_cq_ex ex; /* begins like struct ibv_cq */
    struct ibv_pd *pd;   /* a parent domain, or NULL */
    bool theirs;         /* this memory is from the domain's allocator */
    struct device_cq *live;
    atomic_uint refs;      /* queue pairs */
    uint32_t events_taken; /* under ex.mutex: completion events handed out */
    uint32_t async_taken;
    struct nic_cqe cqe[16]; /* ibv_start_poll(): taken, not yet read */
    unsigned cqes, cursor;
    uint64_t stamp_ns; /* when they were taken */
    bool single;
    pthread_mutex_t poll; /* start_poll() .. end_poll() */
};

struct vsrq {
    struct ibv_srq ibv;
    bool theirs;
    struct device_srq *live;
    struct ibv_srq_attr attr;
    atomic_uint refs;
    uint32_t async_taken;
};

struct vah {
    struct ibv_ah ibv;
    uint32_t path;
};

struct vgroup {
    struct vgroup *next;
    union ibv_gid gid;
    uint16_t lid;
};

struct builder { /* ibv_wr_start() .. ibv_wr_complete() */
    struct device_send *send;
    struct device_sge *sge;
    uint8_t *data;
    unsigned sends, sends_cap, sges, sges_cap;
    size_t bytes, bytes_cap;
    int error;
};

struct vqp {
    struct ibv_qp_ex ex;
    struct device_qp *live;
    bool has_ex, signal_all, theirs;
    uint32_t qkey;
    struct ibv_qp_cap cap;
    struct ibv_qp_attr attr; /* as modified */
    struct vgroup *groups;
    atomic_bool tells_drained; /* en_sqd_async_notify of the last way into SQD */
    uint32_t async_taken;
    pthread_mutex_t lock; /* attr, groups */
    pthread_mutex_t build_lock;
    struct builder build;
};

static inline struct vcontext *vcontext_of(const struct ibv_context *context)
{
    return (struct vcontext *)((uintptr_t)context - offsetof(struct vcontext, v.context));
}
static inline struct device *live_of(const struct ibv_context *context)
{
    return vcontext_of(context)->live;
}
/* One user less of an object: there is never less than none. */
static inline void verbs_unref(atomic_uint *refs)
{
    CHECK(atomic_fetch_sub(refs, 1) > 0);
}
#define VERBS_CAST(type, name)                                                                                         \
    static inline struct v##name *v##name##_of(const struct type *object)                                              \
    {                                                                                                                  \
        return (struct v##name *)(uintptr_t)object;                                                                    \
    }
VERBS_CAST(ibv_pd, pd)
VERBS_CAST(ibv_mr, mr)
VERBS_CAST(ibv_mw, mw)
VERBS_CAST(ibv_dm, dm)
VERBS_CAST(ibv_comp_channel, channel)
VERBS_CAST(ibv_cq, cq)
VERBS_CAST(ibv_srq, srq)
VERBS_CAST(ibv_ah, ah)
VERBS_CAST(ibv_qp, qp)
VERBS_CAST(ibv_device, device)

/* device.c, query.c */
int verbs_query_device_ex(struct ibv_context *, const struct ibv_query_device_ex_input *, struct ibv_device_attr_ex *,
                          size_t);
int verbs_query_port(struct ibv_context *, uint8_t port, struct ibv_port_attr *, size_t);
int verbs_query_rt_values(struct ibv_context *, struct ibv_values_ex *);
void verbs_port_attr(const struct device_info *device, struct ibv_port_attr *ret);
uint64_t verbs_now_ns(int clock);

/* import.c */
void verbs_share(struct vshare *share, enum vshare_kind kind, struct device *live, uint64_t handle);
void verbs_unshare(struct vshare *share);

/* dm.c */
struct ibv_dm *verbs_alloc_dm(struct ibv_context *, struct ibv_alloc_dm_attr *);
int verbs_free_dm(struct ibv_dm *);
struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *, struct ibv_dm *, uint64_t offset, size_t length, unsigned access);

/* memory.c */
/* The rights are checked, that the memory is there is not. */
struct ibv_mr *verbs_reg_mr(struct ibv_pd *, void *addr, size_t length, uint64_t iova, unsigned access);
struct ibv_mw *verbs_alloc_mw(struct ibv_pd *, enum ibv_mw_type);
int verbs_dealloc_mw(struct ibv_mw *);
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *);
int verbs_advise_mr(struct ibv_pd *, enum ibv_advise_mr_advice, uint32_t flags, struct ibv_sge *, uint32_t sges);
uint32_t verbs_live_access(unsigned access);
/* pd.c */
struct ibv_td *verbs_alloc_td(struct ibv_context *, struct ibv_td_init_attr *);
int verbs_dealloc_td(struct ibv_td *);
struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *, struct ibv_parent_domain_init_attr *);
uint32_t verbs_pd_number(struct ibv_pd *); /* counts one more user */
void verbs_pd_put(struct ibv_pd *);
struct ibv_pd *verbs_import_pd(struct ibv_context *, struct vpd *original);
/* Zeroed memory for an object made in the domain, from the program's allocator where the domain has one (`ret_theirs`);
 * NULL: none left.  pd may be NULL. */
void *verbs_object_new(struct ibv_pd *pd, size_t bytes, bool *ret_theirs);
void verbs_object_free(struct ibv_pd *pd, void *object, bool theirs);

/* cq.c, cq_ex.c */
int verbs_poll_cq(struct ibv_cq *, int entries, struct ibv_wc *);
int verbs_req_notify_cq(struct ibv_cq *, int solicited_only);
struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *, struct ibv_cq_init_attr_ex *);
int verbs_modify_cq(struct ibv_cq *, struct ibv_modify_cq_attr *);
void verbs_cq_ex_init(struct vcq *cq);
enum ibv_wc_status verbs_status(uint8_t status);
enum ibv_wc_opcode verbs_opcode(const struct nic_cqe *cqe);
uint8_t verbs_sl(const struct nic_cqe *cqe);
unsigned verbs_wc_flags(const struct vcq *cq, const struct nic_cqe *cqe);

/* qp.c, qp_states.c, qp_modify.c, post.c, qp_ex.c */
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *, struct ibv_qp_init_attr_ex *);
/* 0, or EINVAL: the transition is not one, or attributes are missing or too many. */
int verbs_transition(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, unsigned mask);
enum nic_state verbs_live_state(enum ibv_qp_state state);
enum ibv_qp_state verbs_state(enum nic_state state);
int verbs_post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **bad);
int verbs_post_recv(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **bad);
int verbs_post_srq_recv(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **bad);
int verbs_bind_mw(struct ibv_qp *, struct ibv_mw *, struct ibv_mw_bind *);
/* A window's binding as a request; EINVAL, EPERM when it may not be. */
uint8_t verbs_live_flags(const struct vqp *qp, unsigned flags);
int verbs_bind_request(struct vqp *qp, struct ibv_mw *mw, uint32_t key, const struct ibv_mw_bind_info *info,
                       struct device_send *ret);
int verbs_qp_ex_init(struct vqp *qp, uint64_t operations);
void verbs_qp_ex_release(struct vqp *qp);

/* missing.c: EOPNOTSUPP, and a word about it */
enum missing {
    MISSING_XRC,
    MISSING_RAW,
    MISSING_DRIVER,
    MISSING_TAGS,
    MISSING_DMABUF,
    MISSING_PAGING,
    MISSING_NULL,
};
int verbs_missing(enum missing what);
struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);

/* query.c: in units of 100 Mb/s */
int verbs_port_speed(struct ibv_context *context, uint32_t port, uint64_t *ret);

/* srq.c, ah.c, events.c */
int verbs_get_srq_num(struct ibv_srq *, uint32_t *ret);
struct ibv_srq *verbs_create_srq_ex(struct ibv_context *, struct ibv_srq_init_attr_ex *);
/* The path of an address vector; EINVAL: not of this port or table, or without a GID. */
int verbs_path(struct ibv_context *context, const struct ibv_ah_attr *attr, struct device_path *ret);
void verbs_events_init(struct vcontext *context); /* its watch is there */
void verbs_wait_events(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *done, const uint32_t *taken);

#endif
