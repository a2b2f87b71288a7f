/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ibv_qp_ex: work requests built call by call between wr_start and wr_complete.
 *
 * Requests are gathered in arrays that grow and stay with the queue pair, so a steady program allocates
 * nothing.  Pointers into them are made at wr_complete, when they can no longer move.  An error of any
 * builder is remembered and answered by wr_complete, which then posts none; wr_abort forgets them all.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool grow(void **array, unsigned *cap, unsigned want, size_t each)
{
    unsigned next = *cap > 0 ? *cap : 8;
    void *more;

    if (want <= *cap) return true;
    while (next < want)
        next *= 2;
    more = realloc(*array, next * each);
    if (more == NULL) return false;
    *array = more;
    *cap = next;
    return true;
}

static void fail(struct vqp *qp, int error)
{
    if (qp->build.error == 0) qp->build.error = error;
}

/* The request being built: its sge and data are offsets until wr_complete. */
static struct device_send *begin(struct ibv_qp_ex *ex, uint8_t verb)
{
    static struct device_send nowhere; /* written when memory is out; never posted */
    struct vqp *qp = (struct vqp *)ex;
    struct builder *build = &qp->build;
    void *array = build->send;
    struct device_send *send;

    if (!grow(&array, &build->sends_cap, build->sends + 1, sizeof *build->send)) {
        fail(qp, ENOMEM);
        return &nowhere;
    }
    build->send = array;
    send = &build->send[build->sends++];
    memset(send, 0, sizeof *send);
    send->wr.wr_id = ex->wr_id;
    send->wr.verb = verb;
    send->wr.flags = verbs_live_flags(qp, ex->wr_flags);
    send->sge = NULL;
    return send;
}

static struct device_send *building(struct vqp *qp)
{
    if (qp->build.sends > 0) return &qp->build.send[qp->build.sends - 1];
    fail(qp, EINVAL);
    return NULL;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote, uint64_t compare, uint64_t swap)
{
    struct device_send *send = begin(ex, NIC_CAS);

    send->wr.rkey = rkey;
    send->wr.remote_va = remote;
    send->wr.compare = compare;
    send->wr.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote, uint64_t add)
{
    struct device_send *send = begin(ex, NIC_FETCH_ADD);

    send->wr.rkey = rkey;
    send->wr.remote_va = remote;
    send->wr.swap = add;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
    struct device_send *send = begin(ex, NIC_BIND_MW);
    struct vqp *qp = (struct vqp *)ex;
    int error = verbs_bind_request(qp, mw, rkey, info, send);

    if (error) fail(qp, error);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t key)
{
    begin(ex, NIC_LOCAL_INV)->wr.imm = key;
}

static void rdma(struct ibv_qp_ex *ex, uint8_t verb, uint32_t rkey, uint64_t remote, uint32_t imm)
{
    struct device_send *send = begin(ex, verb);

    send->wr.rkey = rkey;
    send->wr.remote_va = remote;
    send->wr.imm = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote)
{
    rdma(ex, NIC_READ, rkey, remote, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote)
{
    rdma(ex, NIC_WRITE, rkey, remote, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote, __be32 imm)
{
    rdma(ex, NIC_WRITE_IMM, rkey, remote, be32toh(imm));
}

static void wr_send(struct ibv_qp_ex *ex)
{
    begin(ex, NIC_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
    begin(ex, NIC_SEND_IMM)->wr.imm = be32toh(imm);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t key)
{
    begin(ex, NIC_SEND_INV)->wr.imm = key;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
    struct vqp *qp = (struct vqp *)ex;
    struct device_send *send = building(qp);

    if (send == NULL) return;
    send->wr.dest = vah_of(ah)->path;
    send->wr.dest_qp = remote_qpn;
    send->wr.qkey = remote_qkey & 0x80000000u ? qp->qkey : remote_qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t sges, const struct ibv_sge *sge)
{
    struct vqp *qp = (struct vqp *)ex;
    struct builder *build = &qp->build;
    struct device_send *send = building(qp);
    void *array = build->sge;

    if (send == NULL) return;
    if (sges > qp->cap.max_send_sge) {
        fail(qp, EINVAL);
        return;
    }
    if (!grow(&array, &build->sges_cap, build->sges + (unsigned)sges, sizeof *build->sge)) {
        fail(qp, ENOMEM);
        return;
    }
    build->sge = array;
    memcpy(&build->sge[build->sges], sge, sges * sizeof *sge);
    build->sges += (unsigned)sges;
    send->sges = (unsigned)sges;
    for (size_t i = 0; i < sges; i++)
        send->wr.length += sge[i].length;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
    const struct ibv_sge sge = {addr, length, lkey};

    wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t buffers, const struct ibv_data_buf *buffer)
{
    struct vqp *qp = (struct vqp *)ex;
    struct builder *build = &qp->build;
    struct ibv_sge sge = {build->bytes, 0, 0}; /* the offset stands for the address until wr_complete */
    struct device_send *send = building(qp);
    size_t bytes = 0;

    if (send == NULL) return;
    for (size_t i = 0; i < buffers; i++)
        bytes += buffer[i].length;
    if (bytes > qp->cap.max_inline_data) {
        fail(qp, EINVAL);
        return;
    }
    if (build->bytes + bytes > build->bytes_cap) {
        size_t cap = (build->bytes + bytes) * 2;
        uint8_t *more = realloc(build->data, cap);

        if (more == NULL) {
            fail(qp, ENOMEM);
            return;
        }
        build->data = more;
        build->bytes_cap = cap;
    }
    for (size_t i = 0; i < buffers; i++) {
        memcpy(build->data + build->bytes, buffer[i].addr, buffer[i].length);
        build->bytes += buffer[i].length;
    }
    sge.length = (uint32_t)bytes;
    wr_set_sge_list(ex, 1, &sge);
    send->copy = true;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
    const struct ibv_data_buf buffer = {addr, length};

    wr_set_inline_data_list(ex, 1, &buffer);
}

static void wr_start(struct ibv_qp_ex *ex)
{
    struct vqp *qp = (struct vqp *)ex;

    pthread_mutex_lock(&qp->build_lock);
    qp->build.sends = qp->build.sges = 0;
    qp->build.bytes = 0;
    qp->build.error = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
    struct vqp *qp = (struct vqp *)ex;
    struct builder *build = &qp->build;
    struct device_sge *sge = build->sge;
    int error = build->error;

    /* All or none, as long as nobody uses ibv_post_send() meanwhile: the lock keeps other builders out, not that. */
    if (error == 0 && build->sends > 1 && device_qp_send_room(qp->live) < build->sends) error = ENOMEM;
    for (unsigned i = 0; error == 0 && i < build->sends; i++) {
        struct device_send *send = &build->send[i];

        send->sge = sge;
        if (send->copy) sge->addr += (uintptr_t)build->data;
        if (sge != NULL) sge += send->sges;
        error = -device_post_send(qp->live, send, i + 1 < build->sends);
    }
    pthread_mutex_unlock(&qp->build_lock);
    return error;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
    pthread_mutex_unlock(&((struct vqp *)ex)->build_lock);
}

int verbs_qp_ex_init(struct vqp *qp, uint64_t operations)
{
    struct ibv_qp_ex *ex = &qp->ex;

    if (operations & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    if (operations & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
    if (operations & IBV_QP_EX_WITH_BIND_MW) ex->wr_bind_mw = wr_bind_mw;
    if (operations & IBV_QP_EX_WITH_LOCAL_INV) ex->wr_local_inv = wr_local_inv;
    if (operations & IBV_QP_EX_WITH_RDMA_READ) ex->wr_rdma_read = wr_rdma_read;
    if (operations & IBV_QP_EX_WITH_RDMA_WRITE) ex->wr_rdma_write = wr_rdma_write;
    if (operations & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) ex->wr_rdma_write_imm = wr_rdma_write_imm;
    if (operations & IBV_QP_EX_WITH_SEND) ex->wr_send = wr_send;
    if (operations & IBV_QP_EX_WITH_SEND_WITH_IMM) ex->wr_send_imm = wr_send_imm;
    if (operations & IBV_QP_EX_WITH_SEND_WITH_INV) ex->wr_send_inv = wr_send_inv;
    ex->wr_set_ud_addr = wr_set_ud_addr;
    ex->wr_set_inline_data = wr_set_inline_data;
    ex->wr_set_inline_data_list = wr_set_inline_data_list;
    ex->wr_set_sge = wr_set_sge;
    ex->wr_set_sge_list = wr_set_sge_list;
    ex->wr_start = wr_start;
    ex->wr_complete = wr_complete;
    ex->wr_abort = wr_abort;
    return 0;
}

void verbs_qp_ex_release(struct vqp *qp)
{
    free(qp->build.send);
    free(qp->build.sge);
    free(qp->build.data);
}
