/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared receive queues, the basic kind.  XRC and tag matching: EOPNOTSUPP.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    struct vsrq *srq = NULL;
    bool theirs = false;
    int error = 0;

    if (attr->attr.max_wr == 0 || attr->attr.max_wr > LIMIT_SRQ_WR || attr->attr.max_sge > LIMIT_SGE) error = EINVAL;
    if (error == 0 && (srq = verbs_object_new(pd, sizeof *srq, &theirs)) == NULL) error = ENOMEM;
    if (error == 0) {
        if (attr->attr.max_sge == 0) attr->attr.max_sge = 1;
        error = -device_srq_create(live_of(pd->context), verbs_pd_number(pd), attr->attr.max_wr, attr->attr.max_sge,
                                   srq, &srq->live);
        if (error) verbs_pd_put(pd);
    }
    if (error) {
        if (srq != NULL) verbs_object_free(pd, srq, theirs);
        errno = error;
        return NULL;
    }
    srq->theirs = theirs;
    srq->attr = attr->attr;
    srq->attr.srq_limit = 0; /* armed by ibv_modify_srq() alone */
    srq->ibv.context = pd->context;
    srq->ibv.srq_context = attr->srq_context;
    srq->ibv.pd = pd;
    srq->ibv.handle = device_srq_number(srq->live);
    pthread_mutex_init(&srq->ibv.mutex, NULL);
    pthread_cond_init(&srq->ibv.cond, NULL);
    return &srq->ibv;
}

struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
    const bool basic = !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC;

    (void)context;
    if (!basic || (attr->comp_mask & IBV_SRQ_INIT_ATTR_TM)) {
        errno = verbs_missing(!basic && attr->srq_type == IBV_SRQT_XRC ? MISSING_XRC : MISSING_TAGS);
        return NULL;
    }
    if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || attr->pd == NULL ||
        (attr->comp_mask & ~((uint32_t)IBV_SRQ_INIT_ATTR_RESERVED - 1))) {
        errno = EINVAL;
        return NULL;
    }
    return ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)attr); /* begins alike */
}

int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
    struct vsrq *srq = vsrq_of(ibv);
    const bool resize = mask & IBV_SRQ_MAX_WR, arm = mask & IBV_SRQ_LIMIT;
    const uint32_t max_wr = resize ? attr->max_wr : srq->attr.max_wr;
    int error;

    if (mask == 0 || (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))) return EINVAL;
    if (max_wr == 0 || max_wr > LIMIT_SRQ_WR || (arm && attr->srq_limit > max_wr)) return EINVAL;
    error =
        -device_srq_change(srq->live, resize ? attr->max_wr : DEVICE_SRQ_KEEP, arm ? attr->srq_limit : DEVICE_SRQ_KEEP);
    if (error) return error;
    srq->attr.max_wr = max_wr;
    return 0;
}

int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
    struct vsrq *srq = vsrq_of(ibv);

    *attr = srq->attr;
    attr->srq_limit = device_srq_limit(srq->live);
    return 0;
}

int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *ret)
{
    (void)srq, (void)ret;
    return EOPNOTSUPP; /* numbers are XRC's */
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
    struct vsrq *srq = vsrq_of(ibv);
    struct ibv_pd *pd = ibv->pd;
    int error;

    if (atomic_load(&srq->refs) > 0) return EBUSY;
    error = -device_srq_destroy(srq->live);
    if (error) return error;
    verbs_wait_events(&ibv->mutex, &ibv->cond, &ibv->events_completed, &srq->async_taken);
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    verbs_object_free(pd, srq, srq->theirs);
    verbs_pd_put(pd);
    return 0;
}
