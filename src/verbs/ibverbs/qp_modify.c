/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ibv_modify_qp(): the transition is legal (qp_states.c), the values are those of verbs, then the device does it.
 *
 * A refused call leaves the queue pair as it was: what the port and the path allow the device looks at (device/qp.c),
 * which then remembers nothing of it.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <string.h>

#define PSN_MAX 0xffffffu
#define ACCESS_QP                                                                                                      \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |            \
     IBV_ACCESS_MW_BIND)

static int range_check(const struct ibv_qp_attr *attr, unsigned mask)
{
    if ((mask & IBV_QP_PORT) && attr->port_num != 1) return EINVAL;
    if ((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index >= LIMIT_PKEYS) return EINVAL;
    if ((mask & IBV_QP_ACCESS_FLAGS) && (attr->qp_access_flags & ~(unsigned)ACCESS_QP & 0xfffffu)) return EINVAL;
    if ((mask & IBV_QP_PATH_MTU) && (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)) return EINVAL;
    if ((mask & IBV_QP_TIMEOUT) && attr->timeout > 31) return EINVAL;
    if ((mask & IBV_QP_RETRY_CNT) && attr->retry_cnt > 7) return EINVAL;
    if ((mask & IBV_QP_RNR_RETRY) && attr->rnr_retry > 7) return EINVAL;
    if ((mask & IBV_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31) return EINVAL;
    if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > LIMIT_RD_ATOMIC) return EINVAL;
    if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > LIMIT_RD_ATOMIC) return EINVAL;
    if ((mask & IBV_QP_DEST_QPN) && attr->dest_qp_num > PSN_MAX) return EINVAL;
    return 0;
}

/* What the device is to change.  PSNs are taken modulo 2^24: programs hand in whatever their random numbers give. */
static int translate(struct vqp *qp, const struct ibv_qp_attr *attr, unsigned mask, struct device_qp_attr *ret)
{
    static const struct {
        unsigned ibv;
        uint32_t live;
    } bit[] = {{IBV_QP_STATE, DEVICE_ATTR_STATE},
               {IBV_QP_ACCESS_FLAGS, DEVICE_ATTR_ACCESS},
               {IBV_QP_PATH_MTU, DEVICE_ATTR_MTU},
               {IBV_QP_AV, DEVICE_ATTR_PATH},
               {IBV_QP_DEST_QPN, DEVICE_ATTR_REMOTE_QP},
               {IBV_QP_SQ_PSN, DEVICE_ATTR_SEND_PSN},
               {IBV_QP_RQ_PSN, DEVICE_ATTR_EXPECT_PSN},
               {IBV_QP_QKEY, DEVICE_ATTR_QKEY},
               {IBV_QP_TIMEOUT, DEVICE_ATTR_TIMEOUT},
               {IBV_QP_RETRY_CNT, DEVICE_ATTR_RETRY},
               {IBV_QP_RNR_RETRY, DEVICE_ATTR_RNR_RETRY},
               {IBV_QP_MIN_RNR_TIMER, DEVICE_ATTR_MIN_RNR},
               {IBV_QP_MAX_QP_RD_ATOMIC, DEVICE_ATTR_MAX_READ},
               {IBV_QP_MAX_DEST_RD_ATOMIC, DEVICE_ATTR_MAX_READ_ACCEPT}};

    memset(ret, 0, sizeof *ret);
    for (unsigned i = 0; i < sizeof bit / sizeof bit[0]; i++) {
        if (mask & bit[i].ibv) ret->mask |= bit[i].live;
    }
    if (mask & IBV_QP_STATE) ret->state = (uint8_t)verbs_live_state(attr->qp_state);
    ret->access = (uint8_t)(verbs_live_access(attr->qp_access_flags) & NIC_REMOTE_ALL);
    if (mask & IBV_QP_PATH_MTU) ret->mtu = (uint16_t)(128u << attr->path_mtu);
    CHECK(!(mask & IBV_QP_PATH_MTU) || (ret->mtu >= 256 && ret->mtu <= 4096)); /* range_check() let it pass */
    ret->remote_qp = attr->dest_qp_num;
    ret->send_psn = attr->sq_psn & PSN_MAX;
    ret->expect_psn = attr->rq_psn & PSN_MAX;
    ret->qkey = attr->qkey;
    ret->timeout = attr->timeout;
    ret->retry = attr->retry_cnt;
    ret->rnr_retry = attr->rnr_retry;
    ret->min_rnr_timer = attr->min_rnr_timer;
    ret->max_read = attr->max_rd_atomic;
    ret->max_read_accept = attr->max_dest_rd_atomic;
    return mask & IBV_QP_AV ? verbs_path(qp->ex.qp_base.context, &attr->ah_attr, &ret->path) : 0;
}

static void remember(struct vqp *qp, const struct ibv_qp_attr *attr, unsigned mask)
{
    struct ibv_qp_attr *mine = &qp->attr;

#define KEEP(bit, field)                                                                                               \
    if (mask & (bit)) mine->field = attr->field
    KEEP(IBV_QP_ACCESS_FLAGS, qp_access_flags);
    KEEP(IBV_QP_PKEY_INDEX, pkey_index);
    KEEP(IBV_QP_PORT, port_num);
    KEEP(IBV_QP_QKEY, qkey);
    KEEP(IBV_QP_AV, ah_attr);
    KEEP(IBV_QP_PATH_MTU, path_mtu);
    KEEP(IBV_QP_TIMEOUT, timeout);
    KEEP(IBV_QP_RETRY_CNT, retry_cnt);
    KEEP(IBV_QP_RNR_RETRY, rnr_retry);
    KEEP(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
    KEEP(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
    KEEP(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
    KEEP(IBV_QP_DEST_QPN, dest_qp_num);
    KEEP(IBV_QP_ALT_PATH, alt_ah_attr);
    KEEP(IBV_QP_ALT_PATH, alt_port_num);
    KEEP(IBV_QP_ALT_PATH, alt_timeout);
    KEEP(IBV_QP_PATH_MIG_STATE, path_mig_state);
    KEEP(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
#undef KEEP
    if (mask & IBV_QP_QKEY) qp->qkey = attr->qkey;
}

static int modify(struct vqp *qp, const struct ibv_qp_attr *attr, unsigned mask)
{
    struct ibv_qp *ibv = &qp->ex.qp_base;
    const enum ibv_qp_state from = verbs_state(device_qp_state(qp->live));
    const enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
    struct device_qp_attr live;
    int error;

    if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from) return EINVAL;
    error = verbs_transition(ibv->qp_type, from, to, mask);
    if (error == 0) error = range_check(attr, mask);
    if (error == 0) error = translate(qp, attr, mask, &live);
    if (to == IBV_QPS_SQD && from != to) /* it may be drained before the call returns */
        atomic_store(&qp->tells_drained, mask & IBV_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify);
    if (error == 0) error = -device_qp_modify(qp->live, &live);
    if (error) return error;
    if (to == IBV_QPS_RESET) {
        memset(&qp->attr, 0, sizeof qp->attr);
    } else {
        remember(qp, attr, mask);
    }
    ibv->state = to;
    return 0;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
    struct vqp *qp = vqp_of(ibv);
    int error;

    pthread_mutex_lock(&qp->lock);
    error = modify(qp, attr, (unsigned)mask);
    pthread_mutex_unlock(&qp->lock);
    if (error) errno = error; /* programs print it, whatever the call answers */
    return error;
}
