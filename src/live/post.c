/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting: device/post.c under the lock, and the packets leave at once unless more of a batch follow.
 */
#include "live/live_int.h"

int adapter_post_send(struct device_qp *qp, const struct device_send *send, bool more)
{
    struct device *live = qp->device;
    struct nic_wr wr;
    int error = 0;

    if (shard_many(live) && send->wr.verb == NIC_BIND_MW && send->mw) error = memory_bring_home(send->mw, live);
    if (error == 0) error = shard_enter_post(live);
    if (error < 0) return error;
    ps_t now = live_now();
    __atomic_store_n(&live->posted_at, now, __ATOMIC_RELAXED);
    error = qp_post_send(qp, send, &wr, now, &live->io);
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
    struct device *live = qp->device;
    int error = shard_enter_post(live);

    if (error < 0) return error;
    error = qp_post_recv(qp, recv, 0, &live->io); /* when does not matter to it */
    progress_settle(live);
    live_leave(live);
    return error;
}

int adapter_post_srq(struct device_srq *srq, const struct device_recv *recv)
{
    int error = shard_enter_post(srq->device);

    if (error < 0) return error;
    error = receives_post(&srq->receives, recv);
    live_leave(srq->device);
    return error;
}
