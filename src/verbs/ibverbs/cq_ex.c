/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ibv_cq_ex: completions read field by field between start_poll and end_poll.
 *
 * A small batch is taken from the queue at once; what a program leaves unread at end_poll stays for its
 * next start_poll.  Time stamps say when the batch was taken: a software adapter learns no better.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <endian.h>
#include <errno.h>
#include <time.h>

static const struct nic_cqe *current(const struct ibv_cq_ex *ex)
{
    const struct vcq *cq = (const struct vcq *)ex;

    return &cq->cqe[cq->cursor];
}

static void show(struct vcq *cq)
{
    const struct nic_cqe *cqe = &cq->cqe[cq->cursor];

    cq->ex.wr_id = cqe->wr_id;
    cq->ex.status = verbs_status(cqe->status);
}

static int refill(struct vcq *cq)
{
    int got = device_poll(cq->live, cq->cqe, sizeof cq->cqe / sizeof cq->cqe[0]);

    if (got < 0) return -got;
    cq->cursor = 0;
    cq->cqes = (unsigned)got;
    if (got == 0) return ENOENT;
    cq->stamp_ns = verbs_now_ns(CLOCK_MONOTONIC);
    return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
    struct vcq *cq = (struct vcq *)ex;
    int error = 0;

    if (attr != NULL && attr->comp_mask != 0) return EINVAL;
    if (!cq->single) pthread_mutex_lock(&cq->poll);
    if (cq->cursor >= cq->cqes) error = refill(cq);
    if (error == 0)
        show(cq);
    else if (!cq->single)
        pthread_mutex_unlock(&cq->poll);
    return error;
}

static int next_poll(struct ibv_cq_ex *ex)
{
    struct vcq *cq = (struct vcq *)ex;

    if (cq->cursor + 1 < cq->cqes) {
        cq->cursor++;
    } else {
        const struct nic_cqe last = cq->cqe[cq->cursor];
        int error = refill(cq);

        if (error) { /* the last one stays readable until end_poll */
            cq->cqe[0] = last;
            cq->cursor = 0;
            cq->cqes = 1;
            return error;
        }
    }
    show(cq);
    return 0;
}

static void end_poll(struct ibv_cq_ex *ex)
{
    struct vcq *cq = (struct vcq *)ex;

    cq->cursor++;
    if (!cq->single) pthread_mutex_unlock(&cq->poll);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
    return verbs_opcode(current(ex));
}
static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
    return current(ex)->status;
}
static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
    return (uint32_t)current(ex)->bytes;
}
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
    return current(ex)->invalidated ? current(ex)->imm : htobe32(current(ex)->imm);
}
static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
    return current(ex)->qpn;
}
static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
    return current(ex)->src_qp;
}
static unsigned read_wc_flags(struct ibv_cq_ex *ex)
{
    return verbs_wc_flags((const struct vcq *)ex, current(ex));
}
static uint32_t read_slid(struct ibv_cq_ex *ex)
{
    (void)ex;
    return 0;
}
static uint8_t read_sl(struct ibv_cq_ex *ex)
{
    return verbs_sl(current(ex));
}
static uint8_t read_byte_zero(struct ibv_cq_ex *ex)
{
    (void)ex;
    return 0;
}
static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
    return ((const struct vcq *)ex)->stamp_ns;
}
static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
    (void)ex;
    return 0;
}
static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
    (void)ex;
    info->tag = 0;
    info->priv = 0;
}
static uint64_t read_wallclock(struct ibv_cq_ex *ex)
{
    return verbs_now_ns(CLOCK_REALTIME) - (verbs_now_ns(CLOCK_MONOTONIC) - ((const struct vcq *)ex)->stamp_ns);
}

void verbs_cq_ex_init(struct vcq *cq)
{
    struct ibv_cq_ex *ex = &cq->ex;

    ex->start_poll = start_poll;
    ex->next_poll = next_poll;
    ex->end_poll = end_poll;
    ex->read_opcode = read_opcode;
    ex->read_vendor_err = read_vendor_err;
    ex->read_byte_len = read_byte_len;
    ex->read_imm_data = read_imm_data;
    ex->read_qp_num = read_qp_num;
    ex->read_src_qp = read_src_qp;
    ex->read_wc_flags = read_wc_flags;
    ex->read_slid = read_slid;
    ex->read_sl = read_sl;
    ex->read_dlid_path_bits = read_byte_zero;
    ex->read_completion_ts = read_completion_ts;
    ex->read_cvlan = read_cvlan;
    ex->read_flow_tag = read_slid;
    ex->read_tm_info = read_tm_info;
    ex->read_completion_wallclock_ns = read_wallclock;
}
