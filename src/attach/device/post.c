/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting: a work request goes into the ring of posts, with its SGE list or its inline data, stamped with the clock of
 * who posts.  The fabric takes it when its time has come there.
 *
 * What the caller must be told at once is looked at here: whether the state and the transport allow it, and whether it
 * fits.  A queue is full when the fabric says so; it is asked only when what is known here leaves no room.
 */
#include <string.h>

#include "attach/device/device_int.h"
#include "nic/postable.h"

#define RECORD_ALIGN 64u /* attach_post: a whole number of these */

static uint32_t record_bytes(uint32_t behind)
{
    return ((uint32_t)sizeof(struct attach_post) + behind + RECORD_ALIGN - 1) & ~(RECORD_ALIGN - 1);
}

/* A record in the ring, its head filled; NULL: the fabric is gone.  It is told by posted(). */
static struct attach_post *begin(struct device *device, enum attach_post_kind kind, uint32_t object, uint32_t behind,
                                 uint64_t cost)
{
    const struct attach_api *api = attached_api();
    struct attach_head *head = device->head;

    api->charge(cost);
    struct attach_post *post = api->post(record_bytes(behind));
    if (post == NULL) return NULL;
    *post = (struct attach_post){
        .bytes = record_bytes(behind), .kind = (uint16_t)kind, .nic = device->nic, .object = object, .at = api->now()};
    __atomic_store_n(&head->counters.posts, head->counters.posts + 1, __ATOMIC_RELAXED);
    return post;
}

static void add_sges(struct attach_post *post, const struct device_sge *sge, unsigned sges)
{
    post->sges = sges;
    if (sges) memcpy(post + 1, sge, sges * sizeof *sge);
}

static void add_bytes(struct attach_post *post, const struct device_sge *sge, unsigned sges)
{
    uint8_t *at = (uint8_t *)(post + 1);

    post->copied = 1;
    for (unsigned i = 0; i < sges; i++) {
        if (sge[i].length) memcpy(at, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
        at += sge[i].length;
        post->data_bytes += sge[i].length;
    }
}

/* --- sends --- */

/* The work request as the fabric is to have it; -EINVAL. */
static int prepare(const struct device_qp *qp, const struct device_send *send, struct nic_wr *ret)
{
    int error = 0;

    *ret = send->wr;
    if (qp->send_size == 0 || qp->state < NIC_RTS) return -EINVAL;
    if (ret->verb == NIC_BIND_MW)
        error = attached_bind(send, ret);
    else if (ret->verb != NIC_LOCAL_INV)
        error = device_send_length(send, qp->send_sges, qp->inline_bytes, &ret->length);
    if (qp->signal_all) ret->flags |= NIC_SIGNALED;
    if (error == 0 && !nic_postable(qp->transport, qp->mtu, qp->max_read, ret)) error = -EINVAL;
    return error;
}

static bool take_room(struct device_qp *qp)
{
    pthread_mutex_lock(&qp->device->lock);
    bool room = qp->room_taken - qp->sent < qp->send_size;
    qp->room_taken += room;
    pthread_mutex_unlock(&qp->device->lock);
    return room;
}

static int take_room_or_ask(struct device_qp *qp)
{
    struct attach_qp_state is;

    if (take_room(qp)) return 0;
    int error = attached_qp_ask(qp, &is);
    return error < 0 ? error : take_room(qp) ? 0 : -ENOMEM;
}

/* In the order of the ring: whose completion is told next. */
static void count(struct device_qp *qp, bool told)
{
    pthread_mutex_lock(&qp->device->lock);
    if (told) qp->signaled[qp->signaled_tail++ & (qp->send_size - 1)] = qp->posted;
    qp->posted++;
    pthread_mutex_unlock(&qp->device->lock);
}

static int post_send(struct device_qp *qp, const struct device_send *send, const struct nic_wr *wr)
{
    const bool local = wr->verb >= NIC_BIND_MW, copied = send->copy && !local;
    const unsigned sges = local ? 0 : send->sges;
    const uint32_t behind = copied ? (uint32_t)wr->length : sges * (uint32_t)sizeof(struct device_sge);
    int error = take_room_or_ask(qp);

    if (error < 0) return error;
    struct attach_post *post = begin(qp->device, ATTACH_POST_SEND, qp->number, behind, qp->device->head->cost.post);
    if (post == NULL) return -EIO;
    count(qp, wr->flags & NIC_SIGNALED);
    post->wr = *wr;
    if (copied)
        add_bytes(post, send->sge, sges);
    else
        add_sges(post, send->sge, sges);
    attached_api()->posted(post);
    if (wr->verb == NIC_BIND_MW) send->mw->key = wr->new_key;
    return 0;
}

int attached_post_send(struct device_qp *qp, const struct device_send *send, bool more)
{
    struct nic_wr wr;
    int error = prepare(qp, send, &wr);

    (void)more;
    if (error == 0 || attached_inert(qp->device)) error = attached_enter(qp->device);
    if (error < 0) return error;
    error = post_send(qp, send, &wr);
    attached_leave();
    return error;
}

/* --- receives --- */

static bool more_than(uint32_t posted, uint32_t polled, uint32_t told, uint32_t size)
{
    uint32_t done = (int32_t)(told - polled) > 0 ? told : polled;

    return posted - done >= size;
}

static bool recv_room(struct device_qp *qp)
{
    pthread_mutex_lock(&qp->device->lock);
    bool full = more_than(qp->recv_posted, qp->recv_polled, qp->recv_told, qp->recv_size);
    qp->recv_posted += !full;
    pthread_mutex_unlock(&qp->device->lock);
    return !full;
}

static int put_recv(struct device *device, enum attach_post_kind kind, uint32_t object, const struct device_recv *recv)
{
    struct attach_post *post =
        begin(device, kind, object, recv->sges * (uint32_t)sizeof *recv->sge, device->head->cost.post / 2);

    if (post == NULL) return -EIO;
    post->wr.wr_id = recv->wr_id;
    add_sges(post, recv->sge, recv->sges);
    attached_api()->posted(post);
    return 0;
}

int attached_post_recv(struct device_qp *qp, const struct device_recv *recv)
{
    struct attach_qp_state is;

    if (qp->recv_size == 0 || recv->sges > qp->recv_sges || qp->state < NIC_INIT) return -EINVAL;
    int error = attached_enter(qp->device);
    if (error < 0) return error;
    if (!recv_room(qp)) {
        error = attached_qp_ask(qp, &is);
        if (error == 0 && !recv_room(qp)) error = -ENOMEM;
    }
    if (error == 0) error = put_recv(qp->device, ATTACH_POST_RECV, qp->number, recv);
    attached_leave();
    return error;
}

static bool srq_room(struct device_srq *srq)
{
    pthread_mutex_lock(&srq->device->lock);
    bool full = more_than(srq->posted, srq->polled, srq->told, srq->entries);
    srq->posted += !full;
    pthread_mutex_unlock(&srq->device->lock);
    return !full;
}

int attached_post_srq(struct device_srq *srq, const struct device_recv *recv)
{
    struct attach_srq is = {.entries = DEVICE_SRQ_KEEP, .limit = DEVICE_SRQ_KEEP};

    if (recv->sges > srq->sges) return -EINVAL;
    int error = attached_enter(srq->device);
    if (error < 0) return error;
    if (!srq_room(srq)) {
        error = attached_srq_ask(srq, &is);
        if (error == 0 && !srq_room(srq)) error = -ENOMEM;
    }
    if (error == 0) error = put_recv(srq->device, ATTACH_POST_SRQ, srq->number, recv);
    attached_leave();
    return error;
}

/* --- notification --- */

int attached_cq_arm(struct device_cq *cq, bool solicited_only)
{
    int error = attached_enter(cq->device);

    if (error < 0) return error;
    struct attach_post *post = begin(cq->device, ATTACH_POST_ARM, cq->number, 0, cq->device->head->cost.post / 2);
    if (post) {
        post->flags = solicited_only;
        post->data_bytes = __atomic_load_n(&cq->ring.index->tail, __ATOMIC_ACQUIRE);
        attached_api()->posted(post);
    }
    attached_leave();
    return post ? 0 : -EIO;
}
