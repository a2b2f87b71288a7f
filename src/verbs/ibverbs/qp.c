/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs: creation, query, destruction.  Transitions are in qp_modify.c, work requests in post.c.
 *
 * RC, UC and UD.  Raw packets, XRC and the drivers' own types: EOPNOTSUPP.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int init_check(const struct ibv_qp_init_attr_ex *attr)
{
    const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    const uint64_t operations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
                                IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                                IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
                                IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
    const uint64_t unreliable = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
                                IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
                                IBV_QP_EX_WITH_SEND_WITH_INV;
    const uint64_t datagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    uint64_t may;

    if (attr->qp_type == IBV_QPT_XRC_SEND || attr->qp_type == IBV_QPT_XRC_RECV) return verbs_missing(MISSING_XRC);
    if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC && attr->qp_type != IBV_QPT_UD)
        return attr->qp_type == IBV_QPT_RAW_PACKET ? verbs_missing(MISSING_RAW)
               : attr->qp_type == IBV_QPT_DRIVER   ? verbs_missing(MISSING_DRIVER)
                                                   : EOPNOTSUPP;
    if (attr->comp_mask & ~known) return EOPNOTSUPP;
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags != 0) return EOPNOTSUPP;
    may = attr->qp_type == IBV_QPT_RC ? operations : attr->qp_type == IBV_QPT_UC ? unreliable : datagram;
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) && (attr->send_ops_flags & ~may)) return EOPNOTSUPP;
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd == NULL || attr->send_cq == NULL || attr->recv_cq == NULL)
        return EINVAL;
    if (attr->cap.max_send_wr > LIMIT_QP_WR || attr->cap.max_send_sge > LIMIT_SGE ||
        attr->cap.max_inline_data > LIMIT_INLINE)
        return EINVAL;
    if (attr->srq == NULL && (attr->cap.max_recv_wr > LIMIT_QP_WR || attr->cap.max_recv_sge > LIMIT_SGE)) return EINVAL;
    return 0;
}

static int live_create(struct vqp *qp, const struct ibv_qp_init_attr_ex *attr)
{
    const struct device_qp_init init = {
        .transport = attr->qp_type == IBV_QPT_RC   ? NIC_RC
                     : attr->qp_type == IBV_QPT_UC ? NIC_UC
                                                   : NIC_UD,
        .pd = verbs_pd_number(attr->pd),
        .send_entries = qp->cap.max_send_wr,
        .recv_entries = qp->cap.max_recv_wr,
        .send_sges = qp->cap.max_send_sge,
        .recv_sges = qp->cap.max_recv_sge,
        .inline_bytes = qp->cap.max_inline_data,
        .signal_all = attr->sq_sig_all != 0,
        .send_cq = vcq_of(attr->send_cq)->live,
        .recv_cq = vcq_of(attr->recv_cq)->live,
        .srq = attr->srq == NULL ? NULL : vsrq_of(attr->srq)->live,
        .app = qp,
    };
    int error = -device_qp_create(live_of(attr->pd->context), &init, &qp->live);

    if (error) verbs_pd_put(attr->pd);
    return error;
}

static void fill(struct vqp *qp, struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
    struct ibv_qp *ibv = &qp->ex.qp_base;

    ibv->context = context;
    ibv->qp_context = attr->qp_context;
    ibv->pd = attr->pd;
    ibv->send_cq = attr->send_cq;
    ibv->recv_cq = attr->recv_cq;
    ibv->srq = attr->srq;
    ibv->handle = ibv->qp_num = device_qp_number(qp->live);
    ibv->state = IBV_QPS_RESET;
    ibv->qp_type = attr->qp_type;
    pthread_mutex_init(&ibv->mutex, NULL);
    pthread_cond_init(&ibv->cond, NULL);
    pthread_mutex_init(&qp->lock, NULL);
    pthread_mutex_init(&qp->build_lock, NULL);
    qp->signal_all = attr->sq_sig_all != 0;
    atomic_fetch_add(&vcq_of(attr->send_cq)->refs, 1);
    atomic_fetch_add(&vcq_of(attr->recv_cq)->refs, 1);
    if (attr->srq != NULL) atomic_fetch_add(&vsrq_of(attr->srq)->refs, 1);
}

/* Rings are powers of two: what a program is told it got is all that fits. */
static uint32_t ring(uint32_t entries)
{
    uint32_t size = entries > 0 ? 1 : 0;

    while (size < entries)
        size *= 2;
    return size;
}

static uint32_t at_least_one(uint32_t value)
{
    return value > 0 ? value : 1;
}

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    struct vqp *qp = NULL;
    int error = init_check(attr);
    bool theirs = false;

    if (error == 0 && (qp = verbs_object_new(attr->pd, sizeof *qp, &theirs)) == NULL) error = ENOMEM;
    if (error == 0) {
        qp->theirs = theirs;
        qp->cap = attr->cap;
        qp->cap.max_send_wr = ring(attr->cap.max_send_wr);
        qp->cap.max_recv_wr = ring(attr->cap.max_recv_wr);
        qp->cap.max_send_sge = at_least_one(attr->cap.max_send_sge);
        if (attr->srq != NULL)
            qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
        else
            qp->cap.max_recv_sge = at_least_one(attr->cap.max_recv_sge);
        error = live_create(qp, attr);
    }
    if (error) {
        if (qp != NULL) verbs_object_free(attr->pd, qp, theirs);
        errno = error;
        return NULL;
    }
    fill(qp, context, attr);
    qp->has_ex = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if (qp->has_ex) verbs_qp_ex_init(qp, attr->send_ops_flags);
    attr->cap = qp->cap;
    return &qp->ex.qp_base;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp_init_attr_ex full = {0};
    struct ibv_qp *qp;

    memcpy(&full, attr, sizeof *attr); /* begins alike */
    full.comp_mask = IBV_QP_INIT_ATTR_PD;
    full.pd = pd;
    qp = verbs_create_qp_ex(pd->context, &full);
    if (qp != NULL) attr->cap = full.cap;
    return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return vqp_of(qp)->has_ex ? &vqp_of(qp)->ex : NULL;
}

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
    struct vqp *qp = vqp_of(ibv);

    (void)mask; /* says what is needed; more may be answered */
    pthread_mutex_lock(&qp->lock);
    *attr = qp->attr;
    attr->qp_state = attr->cur_qp_state = verbs_state(device_qp_state(qp->live));
    ibv->state = attr->qp_state;
    device_qp_psns(qp->live, &attr->sq_psn, &attr->rq_psn);
    attr->cap = qp->cap;
    pthread_mutex_unlock(&qp->lock);
    if (init != NULL) {
        init->qp_context = ibv->qp_context;
        init->send_cq = ibv->send_cq;
        init->recv_cq = ibv->recv_cq;
        init->srq = ibv->srq;
        init->qp_type = ibv->qp_type;
        init->cap = qp->cap;
        init->sq_sig_all = qp->signal_all;
    }
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
    struct vqp *qp = vqp_of(ibv);
    struct ibv_pd *pd = ibv->pd;
    int error;

    if (qp->groups != NULL) return EBUSY;
    error = -device_qp_destroy(qp->live);
    if (error) return error;
    verbs_wait_events(&ibv->mutex, &ibv->cond, &ibv->events_completed, &qp->async_taken);
    verbs_unref(&vcq_of(ibv->send_cq)->refs);
    verbs_unref(&vcq_of(ibv->recv_cq)->refs);
    if (ibv->srq != NULL) verbs_unref(&vsrq_of(ibv->srq)->refs);
    verbs_qp_ex_release(qp);
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    pthread_mutex_destroy(&qp->lock);
    pthread_mutex_destroy(&qp->build_lock);
    verbs_object_free(pd, qp, qp->theirs);
    verbs_pd_put(pd);
    return 0;
}

/* Enhanced connection establishment: what the peers' vendors agree on.  We ask for nothing. */
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    *ece = (struct ibv_ece){.vendor_id = 0};
    return 0;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    if (ece->comp_mask != 0) return EINVAL;
    return ece->vendor_id == 0 && ece->options == 0 ? 0 : EOPNOTSUPP;
}

/* Bytes are copied in order, but packets may be placed out of order under selective repeat: no promise. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    (void)qp, (void)op, (void)flags;
    return 0;
}
