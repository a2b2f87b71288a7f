/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records behind an adapter's rings; see records.h.
 */
#include "device/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"

#define NONE UINT32_MAX

uint64_t work_fill(struct work *work, const struct device_sge *sge, uint32_t sges)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < sges; i++) {
        work->sge[i] = sge[i];
        bytes += sge[i].length;
    }
    work->sges = sges;
    return bytes;
}

static int send_ring(struct records *records, struct nic_qp_config *config, const struct device_qp_init *init)
{
    uint32_t size = init->send_entries ? power_of_two_up(init->send_entries) : 0;
    uint32_t sges = init->send_sges ? init->send_sges : 1;

    records->send_sges = init->send_sges;
    records->inline_bytes = init->inline_bytes;
    config->sq_size = size;
    if (size == 0) return 0;
    config->sq = calloc(size, sizeof *config->sq);
    records->send = calloc(size, sizeof *records->send);
    records->send_sge = calloc((size_t)size * sges, sizeof *records->send_sge);
    records->copies = calloc(size, init->inline_bytes ? init->inline_bytes : 1);
    if (!config->sq || !records->send || !records->send_sge || !records->copies) return -ENOMEM;
    for (uint32_t i = 0; i < size; i++)
        records->send[i] = (struct work){.sge = records->send_sge + (size_t)i * sges, .pd = init->pd};
    return 0;
}

/* One receive may be held by the adapter beside those in its ring: the records have room for it. */
static int recv_ring(struct records *records, struct nic_qp_config *config, const struct device_qp_init *init)
{
    uint32_t size = init->recv_entries && !init->srq ? power_of_two_up(init->recv_entries) : 0;
    uint32_t count = 2 * size < 4 ? 4 : 2 * size;
    uint32_t sges = init->recv_sges ? init->recv_sges : 1;

    config->rq_size = size;
    records->recv_sges = init->recv_sges;
    if (size == 0) return 0;
    records->recv_mask = count - 1;
    config->rq = calloc(size, sizeof *config->rq);
    records->recv = calloc(count, sizeof *records->recv);
    records->recv_sge = calloc((size_t)count * sges, sizeof *records->recv_sge);
    if (!config->rq || !records->recv || !records->recv_sge) return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        records->recv[i] = (struct work){.sge = records->recv_sge + (size_t)i * sges, .pd = init->pd};
    return 0;
}

int records_init(struct records *records, struct nic_qp_config *config, const struct device_qp_init *init)
{
    int error = send_ring(records, config, init);

    return error < 0 ? error : recv_ring(records, config, init);
}

void records_release(struct records *records, struct nic_qp_config *config)
{
    free(config->sq);
    free(config->rq);
    free(records->send);
    free(records->recv);
    free(records->send_sge);
    free(records->recv_sge);
    free(records->copies);
}

int receives_init(struct receives *receives, uint32_t pd, uint32_t entries, uint32_t sges)
{
    if (entries == 0 || entries > DEVICE_SRQ_MAX || sges > DEVICE_SGES_MAX) return -EINVAL;
    *receives = (struct receives){.pd = pd, .sges = sges, .free = NONE};
    return receives_grow(receives, power_of_two_up(entries));
}

void receives_free(struct receives *receives)
{
    free(receives->work);
    free(receives->sge);
    free(receives->nic.slot);
}

static void move_records(const struct receives *receives, struct work *work, struct device_sge *sge, uint32_t entries)
{
    uint32_t sges = receives->sges ? receives->sges : 1;

    for (uint32_t i = 0; i < entries; i++) {
        work[i].sge = sge + (size_t)i * sges;
        work[i].pd = receives->pd;
        if (i >= receives->entries) continue;
        memcpy(work[i].sge, receives->work[i].sge, sges * sizeof *sge);
        work[i].sges = receives->work[i].sges;
        work[i].wr_id = receives->work[i].wr_id;
        work[i].next = receives->work[i].next;
    }
}

int receives_grow(struct receives *receives, uint32_t entries)
{
    struct work *work = calloc(entries, sizeof *work);
    struct device_sge *sge = calloc((size_t)entries * (receives->sges ? receives->sges : 1), sizeof *sge);
    struct nic_recv *slot = calloc(entries, sizeof *slot);

    if (!work || !sge || !slot) {
        free(work);
        free(sge);
        free(slot);
        return -ENOMEM;
    }
    move_records(receives, work, sge, entries);
    for (uint32_t i = receives->nic.head; i != receives->nic.tail; i++) {
        struct nic_recv recv = receives->nic.slot[i & receives->nic.mask];
        recv.local = (uintptr_t)&work[recv.wr_id];
        slot[i & (entries - 1)] = recv;
    }
    for (uint32_t i = entries; i-- > receives->entries;) {
        work[i].next = receives->free;
        receives->free = i;
    }
    receives_free(receives);
    receives->work = work;
    receives->sge = sge;
    receives->nic.slot = slot;
    receives->nic.mask = entries - 1;
    receives->entries = entries;
    return 0;
}

int receives_post(struct receives *receives, const struct device_recv *recv)
{
    uint32_t index = receives->free;

    if (recv->sges > receives->sges) return -EINVAL;
    if (index == NONE) return -ENOMEM;
    struct work *work = &receives->work[index];
    receives->free = work->next;
    work->wr_id = recv->wr_id;
    struct nic_recv posted = {
        .wr_id = index, .local = (uintptr_t)work, .length = work_fill(work, recv->sge, recv->sges)};
    CHECK(nic_srq_post(&receives->nic, &posted) == 0);
    return 0;
}

void receives_release(struct receives *receives, uint64_t index)
{
    CHECK(index < receives->entries);
    receives->work[index].next = receives->free;
    receives->free = (uint32_t)index;
}

void completion_own_id(struct nic_cqe *cqe, struct receives *receives)
{
    if (!cqe->receive || cqe->own_id) return;
    if (receives) {
        uint64_t record = cqe->wr_id;
        CHECK(record < receives->entries);
        cqe->wr_id = receives->work[record].wr_id;
        receives_release(receives, record);
    }
    cqe->own_id = true;
}

void notice_arm(struct notice *notice, uint32_t from, bool solicited_only)
{
    if (notice->armed && (solicited_only || !notice->solicited_only)) return;
    notice->solicited_only = solicited_only;
    notice->from = from;
    __atomic_store_n(&notice->armed, true, __ATOMIC_RELAXED);
}

bool notice_due(struct notice *notice, const struct nic_cq *ring)
{
    if (!notice->armed) return false;
    if (!notice->solicited_only) return notice->from != ring->tail;
    while (notice->from != ring->tail) {
        const struct nic_cqe *cqe = &ring->slot[notice->from++ & ring->mask];
        if (cqe->status != NIC_SUCCESS || (cqe->receive && cqe->solicited)) return true;
    }
    return false;
}

void notice_cut(struct notice *notice, const struct nic_cq *ring)
{
    if (notice->armed && (int32_t)(notice->from - ring->tail) > 0) notice->from = ring->tail;
}

void completions_forget(struct nic_cq *ring, uint32_t qpn, struct receives *receives)
{
    uint32_t kept = ring->head;

    for (uint32_t i = ring->head; i != ring->tail; i++) {
        const struct nic_cqe *cqe = &ring->slot[i & ring->mask];
        if (cqe->qpn != qpn)
            ring->slot[kept++ & ring->mask] = *cqe;
        else if (cqe->receive && !cqe->own_id && receives)
            receives_release(receives, cqe->wr_id);
    }
    ring->tail = kept;
}

int completions_move(struct nic_cq *ring, uint32_t size)
{
    if (ring->tail - ring->head > size) return -EINVAL;
    struct nic_cqe *slot = calloc(size, sizeof *slot);
    if (slot == NULL) return -ENOMEM;
    for (uint32_t i = ring->head; i != ring->tail; i++)
        slot[i & (size - 1)] = ring->slot[i & ring->mask];
    free(ring->slot);
    ring->slot = slot;
    ring->mask = size - 1;
    return 0;
}

void keys_init(struct keys *keys, struct key_state *slot, uint32_t slots, uint32_t first, uint8_t salt)
{
    *keys = (struct keys){.slot = slot, .slots = slots, .next = first, .salt = salt};
}

uint32_t keys_renew(struct keys *keys, uint32_t key)
{
    uint32_t at = key >> 8;

    return at << 8 | (uint8_t)(++keys->slot[at].tag + keys->salt);
}

int keys_take(struct keys *keys, uint32_t *ret)
{
    for (uint32_t i = 0; i < keys->slots - 1; i++) {
        uint32_t at = 1 + (keys->next + i) % (keys->slots - 1);
        if (keys->slot[at].used) continue;
        keys->slot[at].used = true;
        keys->next = at;
        *ret = keys_renew(keys, at << 8);
        return 0;
    }
    return -ENOMEM;
}

void keys_give(struct keys *keys, uint32_t key)
{
    keys->slot[key >> 8].used = false;
}

uint32_t attributes_collect(struct nic_qp_config *config, const struct device_qp_attr *attr)
{
    uint32_t told = 0;

#define TAKE(bit, field, value, set)                                                                                   \
    if (attr->mask & (bit)) {                                                                                          \
        config->field = (value);                                                                                       \
        told |= (set);                                                                                                 \
    }
    TAKE(DEVICE_ATTR_ACCESS, access, attr->access, NIC_SET_ACCESS)
    TAKE(DEVICE_ATTR_MTU, mtu, attr->mtu, 0)
    TAKE(DEVICE_ATTR_REMOTE_QP, remote_qp, attr->remote_qp, 0)
    TAKE(DEVICE_ATTR_SEND_PSN, send_psn, attr->send_psn, NIC_SET_SEND_PSN)
    TAKE(DEVICE_ATTR_EXPECT_PSN, expect_psn, attr->expect_psn, 0)
    TAKE(DEVICE_ATTR_QKEY, qkey, attr->qkey, NIC_SET_QKEY)
    TAKE(DEVICE_ATTR_TIMEOUT, timeout, attr->timeout, NIC_SET_TIMEOUT)
    TAKE(DEVICE_ATTR_RETRY, retry, attr->retry, NIC_SET_RETRY)
    TAKE(DEVICE_ATTR_RNR_RETRY, rnr_retry, attr->rnr_retry, NIC_SET_RNR_RETRY)
    TAKE(DEVICE_ATTR_MIN_RNR, min_rnr_timer, attr->min_rnr_timer, NIC_SET_MIN_RNR)
    TAKE(DEVICE_ATTR_MAX_READ, max_read, attr->max_read, NIC_SET_MAX_READ)
    /* a peer that asks for more at a time is refused (volume 1, 9.7.4.1.3) */
    TAKE(DEVICE_ATTR_MAX_READ_ACCEPT, accept_reads, attr->max_read_accept, 0)
#undef TAKE
    return told;
}

enum device_event_kind device_event_kind_of(enum nic_event_kind kind)
{
    static const uint8_t kind_of[NIC_EVENTS] = {
        [NIC_EVENT_QP_FATAL] = DEVICE_EVENT_QP_FATAL,     [NIC_EVENT_QP_REQUEST] = DEVICE_EVENT_QP_REQ,
        [NIC_EVENT_QP_ACCESS] = DEVICE_EVENT_QP_ACCESS,   [NIC_EVENT_COMM_EST] = DEVICE_EVENT_COMM_EST,
        [NIC_EVENT_SQ_DRAINED] = DEVICE_EVENT_SQ_DRAINED, [NIC_EVENT_LAST_WQE] = DEVICE_EVENT_LAST_WQE,
        [NIC_EVENT_SRQ_LIMIT] = DEVICE_EVENT_SRQ_LIMIT,   [NIC_EVENT_CQ_OVERRUN] = DEVICE_EVENT_CQ_ERROR,
    };

    return (enum device_event_kind)kind_of[kind];
}
