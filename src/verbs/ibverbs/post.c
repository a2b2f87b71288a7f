/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work requests: lists of ibv_send_wr and ibv_recv_wr, one after another into the device.
 *
 * The fast path: no allocation, no lock of our own.  A list is handed on with `more` set on all but its
 * last, so its packets leave together.  The first request that is refused ends the call; those before it
 * are posted, as the interface says.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <endian.h>
#include <errno.h>

_Static_assert(sizeof(struct device_sge) == sizeof(struct ibv_sge) &&
                   offsetof(struct device_sge, length) == offsetof(struct ibv_sge, length) &&
                   offsetof(struct device_sge, key) == offsetof(struct ibv_sge, lkey),
               "scatter lists are handed on as they are");

static const uint8_t verb_of[] = {
    [IBV_WR_RDMA_WRITE] = NIC_WRITE,
    [IBV_WR_RDMA_WRITE_WITH_IMM] = NIC_WRITE_IMM,
    [IBV_WR_SEND] = NIC_SEND,
    [IBV_WR_SEND_WITH_IMM] = NIC_SEND_IMM,
    [IBV_WR_RDMA_READ] = NIC_READ,
    [IBV_WR_ATOMIC_CMP_AND_SWP] = NIC_CAS,
    [IBV_WR_ATOMIC_FETCH_AND_ADD] = NIC_FETCH_ADD,
    [IBV_WR_LOCAL_INV] = NIC_LOCAL_INV,
    [IBV_WR_BIND_MW] = NIC_BIND_MW,
    [IBV_WR_SEND_WITH_INV] = NIC_SEND_INV,
};

int verbs_bind_request(struct vqp *qp, struct ibv_mw *mw, uint32_t key, const struct ibv_mw_bind_info *info,
                       struct device_send *ret)
{
    const unsigned may = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                         IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE; /* the last is the region's to give */
    struct ibv_pd *pd = qp->ex.qp_base.pd;

    if (mw == NULL || (info->mw_access_flags & ~may)) return EINVAL;
    if (info->mr == NULL && (info->length != 0 || mw->type == IBV_MW_TYPE_2)) return EINVAL;
    if (vpd_of(mw->pd)->number != vpd_of(pd)->number) return EPERM;
    if (info->mr != NULL && info->length != 0 && !(vmr_of(info->mr)->access & IBV_ACCESS_MW_BIND)) return EINVAL;
    ret->wr.verb = NIC_BIND_MW;
    ret->mw = vmw_of(mw)->live;
    ret->mr = info->mr == NULL ? NULL : vmr_of(info->mr)->live;
    ret->mw_addr = info->addr;
    ret->mw_bytes = info->length;
    ret->mw_access = verbs_live_access(info->mw_access_flags);
    ret->mw_key = key;
    return 0;
}

uint8_t verbs_live_flags(const struct vqp *qp, unsigned flags)
{
    return (uint8_t)(((flags & IBV_SEND_SIGNALED) || qp->signal_all ? NIC_SIGNALED : 0u) |
                     (flags & IBV_SEND_SOLICITED ? NIC_SOLICITED : 0u) | (flags & IBV_SEND_FENCE ? NIC_FENCE : 0u));
}

static int address(struct vqp *qp, const struct ibv_send_wr *wr, struct device_send *send)
{
    switch (wr->opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
        send->wr.remote_va = wr->wr.rdma.remote_addr;
        send->wr.rkey = wr->wr.rdma.rkey;
        return 0;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        send->wr.compare = wr->wr.atomic.compare_add;
        send->wr.swap = wr->wr.atomic.swap;
        send->wr.remote_va = wr->wr.atomic.remote_addr;
        send->wr.rkey = wr->wr.atomic.rkey;
        return 0;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        send->wr.swap = wr->wr.atomic.compare_add;
        send->wr.remote_va = wr->wr.atomic.remote_addr;
        send->wr.rkey = wr->wr.atomic.rkey;
        return 0;
    case IBV_WR_BIND_MW:
        if (wr->bind_mw.mw == NULL || wr->bind_mw.mw->type != IBV_MW_TYPE_2) return EINVAL;
        return verbs_bind_request(qp, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info, send);
    default:
        return 0;
    }
}

static int send_one(struct vqp *qp, const struct ibv_send_wr *wr)
{
    struct device_send send = {.wr = {.wr_id = wr->wr_id, .flags = verbs_live_flags(qp, wr->send_flags)},
                               .sge = (const struct device_sge *)wr->sg_list,
                               .sges = (unsigned)wr->num_sge,
                               .copy = wr->send_flags & IBV_SEND_INLINE};
    int error;

    if ((unsigned)wr->opcode >= sizeof verb_of || wr->num_sge < 0 || (unsigned)wr->num_sge > qp->cap.max_send_sge)
        return EINVAL;
    send.wr.verb = verb_of[wr->opcode];
    for (int i = 0; i < wr->num_sge; i++)
        send.wr.length += wr->sg_list[i].length;
    if (send.copy && send.wr.length > qp->cap.max_inline_data) return EINVAL;
    if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IBV_WR_SEND_WITH_IMM)
        send.wr.imm = be32toh(wr->imm_data);
    else if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV)
        send.wr.imm = wr->invalidate_rkey;
    if (qp->ex.qp_base.qp_type == IBV_QPT_UD) {
        if (wr->wr.ud.ah == NULL) return EINVAL;
        send.wr.dest = vah_of(wr->wr.ud.ah)->path;
        send.wr.dest_qp = wr->wr.ud.remote_qpn;
        /* a key with its top bit set stands for the queue pair's own */
        send.wr.qkey = wr->wr.ud.remote_qkey & 0x80000000u ? qp->qkey : wr->wr.ud.remote_qkey;
    } else {
        error = address(qp, wr, &send);
        if (error) return error;
    }
    return -device_post_send(qp->live, &send, wr->next != NULL);
}

int verbs_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct vqp *qp = vqp_of(ibv);

    for (; wr != NULL; wr = wr->next) {
        int error = send_one(qp, wr);

        if (error) {
            *bad = wr;
            return error;
        }
    }
    return 0;
}

int verbs_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct vqp *qp = vqp_of(ibv);

    for (; wr != NULL; wr = wr->next) {
        const struct device_recv recv = {wr->wr_id, (const struct device_sge *)wr->sg_list, (unsigned)wr->num_sge};
        int error = wr->num_sge < 0 || (unsigned)wr->num_sge > qp->cap.max_recv_sge
                        ? EINVAL
                        : -device_post_recv(qp->live, &recv);

        if (error) {
            *bad = wr;
            return error;
        }
    }
    return 0;
}

int verbs_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct vsrq *srq = vsrq_of(ibv);

    for (; wr != NULL; wr = wr->next) {
        const struct device_recv recv = {wr->wr_id, (const struct device_sge *)wr->sg_list, (unsigned)wr->num_sge};
        int error =
            wr->num_sge < 0 || (unsigned)wr->num_sge > srq->attr.max_sge ? EINVAL : -device_post_srq(srq->live, &recv);

        if (error) {
            *bad = wr;
            return error;
        }
    }
    return 0;
}

/* Type 1: the key's last byte counts on with each binding. */
int verbs_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    struct vqp *qp = vqp_of(ibv);
    struct device_send send = {.wr = {.wr_id = bind->wr_id, .flags = verbs_live_flags(qp, bind->send_flags)}};
    const uint32_t key = ibv_inc_rkey(mw->rkey);
    int error = verbs_bind_request(qp, mw, key, &bind->bind_info, &send);

    if (error == 0) error = -device_post_send(qp->live, &send, false);
    if (error == 0) mw->rkey = device_mw_key(send.mw);
    return error;
}
