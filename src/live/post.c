/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting: the SGE list goes into the record beside the adapter's ring, inline data is copied now, and the packets
 * leave at once unless more of a batch follow.
 *
 * Keys of the list are looked up when bytes move, not here (volume 1, 10.7.3.1 allows either); so a wrong one is
 * an error completion in its place among the others.
 */
#include <errno.h>

#include "live/live_int.h"

static int copy_inline(struct device_qp *qp, struct work *work, const struct device_send *send, uint64_t bytes)
{
    uint8_t *to = records_copy(&qp->records, work);
    uint8_t *at = to;

    if (bytes > qp->records.inline_bytes) return -EINVAL;
    for (unsigned i = 0; i < send->sges; i++) {
        if (!memory_copy(at, (const void *)(uintptr_t)send->sge[i].addr, send->sge[i].length)) return -EFAULT;
        at += send->sge[i].length;
    }
    work->sge[0] = (struct device_sge){.addr = (uintptr_t)to, .length = (uint32_t)bytes};
    work->sges = 1;
    return 0;
}

/* The list of a work request; answers its length. */
static int fill(struct device_qp *qp, struct work *work, const struct device_send *send, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < send->sges; i++)
        bytes += send->sge[i].length;
    *ret_bytes = bytes;
    work->copied = send->copy;
    if (send->copy) return copy_inline(qp, work, send, bytes);
    if (send->sges > qp->records.send_sges) return -EINVAL;
    (void)work_fill(work, send->sge, send->sges);
    return 0;
}

static int post(struct device_qp *qp, const struct device_send *send, ps_t now)
{
    struct device *live = qp->live;
    struct nic_wr wr = send->wr;
    int error = 0;

    if (qp->config.sq_size == 0) return -EINVAL;
    if (nic_qp_queued(qp->nic) >= qp->config.sq_size) return -ENOMEM;
    struct work *work = &qp->records.send[qp->records.send_next & (qp->config.sq_size - 1)];
    if (wr.verb == NIC_BIND_MW) {
        error = memory_post_bind(qp, send, &wr);
    } else if (wr.verb != NIC_LOCAL_INV) {
        error = fill(qp, work, send, &wr.length);
        if (wr.verb >= NIC_CAS && error == 0) wr.length = 8;
    }
    if (error < 0) return error;
    if (qp->config.transport == NIC_UD && (wr.dest >= live->paths || live->path[wr.dest].users == 0)) return -EINVAL;
    if (qp->config.transport == NIC_UD) {
        const struct device_path *to = &live->path[wr.dest].key;
        wr.prio = port_priority(live, to->sl, to->tos);
        wr.tos = to->tos;
    }
    wr.local = (uintptr_t)work;
    if (qp->signal_all) wr.flags |= NIC_SIGNALED;
    error = nic_post_send(live->nic, qp->nic, &wr, now, &live->io);
    if (error < 0) return error;
    qp->records.send_next++;
    if (wr.verb == NIC_BIND_MW) memory_bind_posted(qp, send, wr.new_key);
    return 0;
}

int adapter_post_send(struct device_qp *qp, const struct device_send *send, bool more)
{
    struct device *live = qp->live;
    int error = 0;

    if (shard_many(live) && send->wr.verb == NIC_BIND_MW && send->mw) error = memory_bring_home(send->mw, live);
    if (error == 0) error = shard_enter_post(live);
    if (error < 0) return error;
    ps_t now = live_now();
    __atomic_store_n(&live->posted_at, now, __ATOMIC_RELAXED);
    error = post(qp, send, now);
    progress_settle(live);
    if ((!more || error < 0) && !shard_leaves(live)) {
        if (live->tx_wanted) progress_tx(live, now);
        progress_wake(live);
    }
    live_leave(live);
    if (error == 0 && shard_many(live) && send->wr.verb == NIC_BIND_MW) memory_bind_tell(qp, send);
    return error;
}

int adapter_post_recv(struct device_qp *qp, const struct device_recv *recv)
{
    struct device *live = qp->live;

    if (qp->config.rq_size == 0 || recv->sges > qp->records.recv_sges) return -EINVAL;
    int error = shard_enter_post(live);
    if (error < 0) return error;
    struct work *work = &qp->records.recv[qp->records.recv_next & qp->records.recv_mask];
    struct nic_recv posted = {
        .wr_id = recv->wr_id, .local = (uintptr_t)work, .length = work_fill(work, recv->sge, recv->sges)};
    error = nic_post_recv(live->nic, qp->nic, &posted, 0, &live->io); /* when does not matter to it */
    if (error == 0) qp->records.recv_next++;
    progress_settle(live);
    live_leave(live);
    return error;
}
