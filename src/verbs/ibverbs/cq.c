/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues and channels.
 *
 * Polling asks the device for its completions in small batches and translates them.  Events: a queue
 * cannot be destroyed while an event of it that the program took is not acknowledged; the books of that
 * are kept here, in the fields of struct ibv_cq, under its mutex.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 16 };

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct vchannel *channel = calloc(1, sizeof *channel);
    int error = channel == NULL ? ENOMEM : -device_channel_create(live_of(context), &channel->live);

    if (error) {
        free(channel);
        errno = error;
        return NULL;
    }
    channel->ibv.context = context;
    channel->ibv.fd = device_channel_fd(channel->live);
    atomic_fetch_add(&vcontext_of(context)->refs, 1);
    return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
    struct vchannel *channel = vchannel_of(ibv);
    int error;

    if (atomic_load(&channel->refs) > 0) return EBUSY;
    error = -device_channel_destroy(channel->live);
    if (error) return error;
    verbs_unref(&vcontext_of(ibv->context)->refs);
    free(channel);
    return 0;
}

static struct vcq *cq_new(struct ibv_context *context, uint32_t entries, void *app, struct ibv_comp_channel *channel,
                          struct ibv_pd *pd)
{
    bool theirs;
    struct vcq *cq = verbs_object_new(pd, sizeof *cq, &theirs);
    int error = cq == NULL ? ENOMEM
                           : -device_cq_create(live_of(context), entries,
                                               channel == NULL ? NULL : vchannel_of(channel)->live, cq, &cq->live);

    if (error) {
        if (cq != NULL) verbs_object_free(pd, cq, theirs);
        errno = error;
        return NULL;
    }
    cq->theirs = theirs;
    cq->pd = pd;
    if (pd != NULL) (void)verbs_pd_number(pd);
    cq->ex.context = context;
    cq->ex.channel = channel;
    cq->ex.cq_context = app;
    cq->ex.cqe = (int)device_cq_entries(cq->live);
    pthread_mutex_init(&cq->ex.mutex, NULL);
    pthread_cond_init(&cq->ex.cond, NULL);
    pthread_mutex_init(&cq->poll, NULL);
    if (channel != NULL) {
        atomic_fetch_add(&vchannel_of(channel)->refs, 1);
        channel->refcnt++;
    }
    atomic_fetch_add(&vcontext_of(context)->refs, 1);
    verbs_cq_ex_init(cq);
    return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *app, struct ibv_comp_channel *channel,
                             int vector)
{
    struct vcq *cq;

    if (cqe <= 0 || cqe > LIMIT_CQE || vector < 0 || vector >= context->num_comp_vectors) {
        errno = EINVAL;
        return NULL;
    }
    cq = cq_new(context, (uint32_t)cqe, app, channel, NULL);
    return cq == NULL ? NULL : ibv_cq_ex_to_cq(&cq->ex);
}

struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    const uint64_t wc_flags =
        IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    struct vcq *cq;

    errno = 0;
    if ((attr->comp_mask & ~known) || (attr->wc_flags & ~wc_flags)) errno = EOPNOTSUPP;
    if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
        (attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
        errno = EOPNOTSUPP;
    if (attr->cqe == 0 || attr->cqe > LIMIT_CQE || attr->comp_vector >= (uint32_t)context->num_comp_vectors)
        errno = EINVAL;
    if (errno) return NULL;
    cq = cq_new(context, attr->cqe, attr->cq_context, attr->channel,
                attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : NULL);
    if (cq == NULL) return NULL;
    cq->single = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) && (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
    return &cq->ex;
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
    int error;

    if (cqe <= 0 || cqe > LIMIT_CQE) return EINVAL;
    error = -device_cq_resize(vcq_of(ibv)->live, (uint32_t)cqe);
    if (error == 0) ibv->cqe = (int)device_cq_entries(vcq_of(ibv)->live);
    return error;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
    struct vcq *cq = vcq_of(ibv);
    struct ibv_pd *pd;
    int error;

    if (atomic_load(&cq->refs) > 0) return EBUSY;
    error = -device_cq_destroy(cq->live);
    if (error) return error;
    verbs_wait_events(&ibv->mutex, &ibv->cond, &ibv->comp_events_completed, &cq->events_taken);
    verbs_wait_events(&ibv->mutex, &ibv->cond, &ibv->async_events_completed, &cq->async_taken);
    if (ibv->channel != NULL) {
        ibv->channel->refcnt--;
        verbs_unref(&vchannel_of(ibv->channel)->refs);
    }
    verbs_unref(&vcontext_of(ibv->context)->refs);
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    pthread_mutex_destroy(&cq->poll);
    pd = cq->pd;
    verbs_object_free(pd, cq, cq->theirs);
    if (pd != NULL) verbs_pd_put(pd);
    return 0;
}

/* Moderation delays events to save interrupts; there are none. */
int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
    (void)cq, (void)attr;
    return EOPNOTSUPP;
}

int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    return -device_cq_arm(vcq_of(cq)->live, solicited_only != 0);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret, void **ret_context)
{
    struct device_cq *live;
    struct vcq *cq;
    void *app;
    int error = -device_channel_wait(vchannel_of(channel)->live, &live, &app);

    if (error) {
        errno = error;
        return -1;
    }
    cq = app;
    pthread_mutex_lock(&cq->ex.mutex);
    cq->events_taken++;
    pthread_mutex_unlock(&cq->ex.mutex);
    device_cq_ack_events(live, 1); /* what the program owes is counted here */
    *ret = ibv_cq_ex_to_cq(&cq->ex);
    *ret_context = cq->ex.cq_context;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned events)
{
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += events;
    pthread_cond_broadcast(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

enum ibv_wc_status verbs_status(uint8_t status)
{
    switch (status) {
    case NIC_SUCCESS:
        return IBV_WC_SUCCESS;
    case NIC_LOC_LEN_ERR:
        return IBV_WC_LOC_LEN_ERR;
    case NIC_LOC_QP_OP_ERR:
        return IBV_WC_LOC_QP_OP_ERR;
    case NIC_LOC_PROT_ERR:
        return IBV_WC_LOC_PROT_ERR;
    case NIC_WR_FLUSH_ERR:
        return IBV_WC_WR_FLUSH_ERR;
    case NIC_MW_BIND_ERR:
        return IBV_WC_MW_BIND_ERR;
    case NIC_BAD_RESP_ERR:
        return IBV_WC_BAD_RESP_ERR;
    case NIC_REM_INV_REQ_ERR:
        return IBV_WC_REM_INV_REQ_ERR;
    case NIC_REM_ACCESS_ERR:
        return IBV_WC_REM_ACCESS_ERR;
    case NIC_REM_OP_ERR:
        return IBV_WC_REM_OP_ERR;
    case NIC_RETRY_EXC_ERR:
        return IBV_WC_RETRY_EXC_ERR;
    case NIC_RNR_RETRY_EXC_ERR:
        return IBV_WC_RNR_RETRY_EXC_ERR;
    default:
        return IBV_WC_GENERAL_ERR;
    }
}

enum ibv_wc_opcode verbs_opcode(const struct nic_cqe *cqe)
{
    if (cqe->receive) return cqe->verb == NIC_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
    switch (cqe->verb) {
    case NIC_WRITE:
    case NIC_WRITE_IMM:
        return IBV_WC_RDMA_WRITE;
    case NIC_READ:
        return IBV_WC_RDMA_READ;
    case NIC_CAS:
        return IBV_WC_COMP_SWAP;
    case NIC_FETCH_ADD:
        return IBV_WC_FETCH_ADD;
    case NIC_BIND_MW:
        return IBV_WC_BIND_MW;
    case NIC_LOCAL_INV:
        return IBV_WC_LOCAL_INV;
    default:
        return IBV_WC_SEND;
    }
}

unsigned verbs_wc_flags(const struct vcq *cq, const struct nic_cqe *cqe)
{
    (void)cq;
    /* src_qp is set for datagrams alone, whose first 40 bytes are a network header; no datagram comes from QP 0 */
    return (cqe->receive && cqe->src_qp != 0 ? IBV_WC_GRH : 0u) | (cqe->has_imm ? IBV_WC_WITH_IMM : 0u) |
           (cqe->invalidated ? IBV_WC_WITH_INV : 0u);
}

/* What Mellanox adapters answer for a datagram over Ethernet, and UCX reads to know which header precedes it: 0 v1,
 * 1 IPv6, 2 IPv4, and bit 3 for UDP. */
uint8_t verbs_sl(const struct nic_cqe *cqe)
{
    if (!cqe->receive) return 0;
    return cqe->net == PKT_NET_IPV4 ? 8 + 2 : cqe->net == PKT_NET_IPV6 ? 8 + 1 : 0;
}

static void translate(const struct vcq *cq, const struct nic_cqe *cqe, struct ibv_wc *wc)
{
    CHECK(cqe->bytes <= UINT32_MAX);
    wc->wr_id = cqe->wr_id;
    wc->status = verbs_status(cqe->status);
    wc->opcode = verbs_opcode(cqe);
    wc->vendor_err = wc->status == IBV_WC_SUCCESS ? 0 : cqe->status;
    wc->byte_len = (uint32_t)cqe->bytes;
    if (cqe->invalidated)
        wc->invalidated_rkey = cqe->imm;
    else
        wc->imm_data = htobe32(cqe->imm);
    wc->qp_num = cqe->qpn;
    wc->src_qp = cqe->src_qp;
    wc->wc_flags = verbs_wc_flags(cq, cqe);
    wc->pkey_index = 0;
    wc->slid = 0;
    wc->sl = verbs_sl(cqe);
    wc->dlid_path_bits = 0;
}

int verbs_poll_cq(struct ibv_cq *ibv, int entries, struct ibv_wc *wc)
{
    struct vcq *cq = vcq_of(ibv);
    struct nic_cqe cqe[BATCH];
    int done = 0;

    while (done < entries) {
        int want = entries - done < BATCH ? entries - done : BATCH;
        int got = device_poll(cq->live, cqe, (unsigned)want);

        if (got < 0) return done > 0 ? done : -1;
        CHECK(got <= want);
        for (int i = 0; i < got; i++)
            translate(cq, &cqe[i], &wc[done++]);
        if (got < want) break;
    }
    return done;
}
