/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting: the SGE list goes into the record beside the adapter's ring, and inline data is copied now; see objects.h.
 */
#include <string.h>

#include "device/objects.h"

static int copy_inline(const struct queue_pair *pair, struct work *work, const struct device_send *send, uint64_t bytes)
{
    uint8_t *to = records_copy(&pair->records, work), *at = to;

    if (send->taken) memcpy(at, send->taken, bytes);
    for (unsigned i = 0; !send->taken && i < send->sges; i++) {
        if (!pair->objects->host->read(pair->device, send->sge[i].addr, at, send->sge[i].length)) return -EFAULT;
        at += send->sge[i].length;
    }
    work->sge[0] = (struct device_sge){.addr = (uintptr_t)to, .length = (uint32_t)bytes};
    work->sges = 1;
    return 0;
}

/* A list's lengths are added up as it is taken over: this is the way of most posts. */
static int fill(const struct queue_pair *pair, struct work *work, const struct device_send *send, uint64_t *ret_length)
{
    work->copied = send->copy;
    if (!send->copy && send->wr.verb < NIC_CAS && send->sges <= pair->records.send_sges) {
        *ret_length = work_fill(work, send->sge, send->sges);
        return 0;
    }
    int error = device_send_length(send, pair->records.send_sges, pair->records.inline_bytes, ret_length);
    if (error < 0) return error;
    if (send->copy) return copy_inline(pair, work, send, *ret_length);
    (void)work_fill(work, send->sge, send->sges);
    return 0;
}

/* A datagram names its own path. */
static int address(const struct queue_pair *pair, struct nic_wr *wr)
{
    struct path_end end;

    if (!pair->objects->host->path_find(pair->device, wr->dest, &end)) return -EINVAL;
    wr->dest = end.endpoint;
    wr->prio = end.prio;
    wr->tos = end.tos;
    return 0;
}

int qp_post_send(struct device_qp *qp, const struct device_send *send, struct nic_wr *wr, ps_t now, struct nic_io *io)
{
    struct queue_pair *pair = queue_pair_of(qp);
    const struct objects *objects = pair->objects;
    const uint32_t size = pair->config.sq_size;
    int error = 0;

    *wr = send->wr;
    if (size == 0 || wr->verb >= NIC_VERBS) return -EINVAL;
    if (nic_qp_queued(pair->nic) >= size) return -ENOMEM;
    struct work *work = &pair->records.send[pair->records.send_next & (size - 1)];
    if (wr->verb == NIC_BIND_MW)
        error = window_bind(objects->regions, send, wr);
    else if (wr->verb != NIC_LOCAL_INV)
        error = fill(pair, work, send, &wr->length);
    if (error == 0 && pair->config.transport == NIC_UD) error = address(pair, wr);
    if (error < 0) return error;
    wr->flags &= NIC_SIGNALED | NIC_SOLICITED | NIC_FENCE;
    if (pair->signal_all) wr->flags |= NIC_SIGNALED;
    wr->local = (uintptr_t)work;
    error = nic_post_send(objects->nic, pair->nic, wr, now, io);
    if (error < 0) return error;
    pair->records.send_next++;
    if (wr->verb == NIC_BIND_MW) window_bound(objects->regions, send->mw, wr->new_key);
    return 0;
}

int qp_post_recv(struct device_qp *qp, const struct device_recv *recv, ps_t now, struct nic_io *io)
{
    struct queue_pair *pair = queue_pair_of(qp);
    struct records *records = &pair->records;

    if (pair->config.rq_size == 0 || recv->sges > records->recv_sges) return -EINVAL;
    struct work *work = &records->recv[records->recv_next & records->recv_mask];
    const struct nic_recv posted = {
        .wr_id = recv->wr_id, .local = (uintptr_t)work, .length = work_fill(work, recv->sge, recv->sges)};
    int error = nic_post_recv(pair->objects->nic, pair->nic, &posted, now, io);
    if (error == 0) records->recv_next++;
    return error;
}
