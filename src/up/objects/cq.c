/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues and their channels: made, resized, armed, destroyed; and how one ring mirrors the other.
 *
 * The program's head is believed as far as it can be true: it is between what it was and what was published.  Then a
 * queue overruns exactly when the program has not polled, and no head makes us write where it still reads.
 *
 * A channel is a ring of queue numbers, and an eventfd that counts them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bits.h"
#include "up/objects/objects.h"

int up_channel_create(struct device *device, struct attach_request *request)
{
    int fd = session_take_fd(device->process);
    struct up_channel *channel = fd < 0 ? NULL : malloc(sizeof *channel);

    if (fd < 0) return fd;
    uint64_t ring = channel ? up_ring_take(device->process, ATTACH_CHANNEL_EVENTS, sizeof(uint32_t)) : 0;
    int error = ring ? 0 : -ENOMEM;
    if (channel) *channel = (struct up_channel){.device = device, .fd = fd, .ring = ring};
    if (error == 0) error = up_table_add(&device->channels, channel, UP_CHANNELS_MAX, &channel->number);
    if (error < 0) {
        if (ring) up_ring_give(device->process, ring, ATTACH_CHANNEL_EVENTS, sizeof(uint32_t));
        free(channel);
        close(fd);
        return error;
    }
    const struct attach_made made = {.ring = ring, .entries = ATTACH_CHANNEL_EVENTS, .number = channel->number};
    memcpy(request->data, &made, sizeof made);
    request->object = channel->number;
    return 0;
}

int up_channel_destroy(struct up_channel *channel)
{
    struct device *device = channel->device;

    if (channel->users) return -EBUSY;
    up_ring_give(device->process, channel->ring, ATTACH_CHANNEL_EVENTS, sizeof(uint32_t));
    up_table_remove(&device->channels, channel->number);
    close(channel->fd);
    free(channel);
    return 0;
}

static void channel_tell(struct up_channel *channel, uint32_t cq)
{
    if (up_ring_put(channel->device->process, channel->ring, ATTACH_CHANNEL_EVENTS, sizeof cq, &channel->tail, &cq))
        (void)eventfd_write(channel->fd, 1);
}

static int cq_fill(struct device_cq *cq, uint32_t size)
{
    struct nic_cqe *slot = calloc(size, sizeof *slot);

    cq->ring = slot ? up_ring_take(cq->device->process, size, sizeof(struct attach_cqe)) : 0;
    if (cq->ring == 0) {
        free(slot);
        return -ENOMEM;
    }
    nic_cq_init(&cq->nic, slot, size);
    return 0;
}

static void cq_release(struct device_cq *cq)
{
    if (cq->ring) up_ring_give(cq->device->process, cq->ring, cq->nic.mask + 1, sizeof(struct attach_cqe));
    free(cq->nic.slot);
    free(cq->cause);
    free(cq);
}

static void answer(const struct device_cq *cq, struct attach_request *request)
{
    const struct attach_made made = {.ring = cq->ring, .entries = cq->nic.mask + 1, .number = cq->number};

    memcpy(request->data, &made, sizeof made);
    request->object = cq->number;
}

int up_cq_create(struct device *device, struct attach_request *request)
{
    struct attach_cq from;

    memcpy(&from, request->data, sizeof from);
    struct up_channel *channel = up_table_get(&device->channels, from.channel);
    if (from.entries == 0 || from.entries > DEVICE_CQ_MAX || (from.channel && channel == NULL)) return -EINVAL;
    struct device_cq *cq = calloc(1, sizeof *cq);
    if (cq == NULL) return -ENOMEM;
    cq->device = device;
    cq->channel = channel;
    int error = cq_fill(cq, power_of_two_up(from.entries));
    if (error == 0) error = up_table_add(&device->cqs, cq, UP_CQS_MAX, &cq->number);
    if (error < 0) {
        cq_release(cq);
        return error;
    }
    cq->next = device->adapter->cqs;
    device->adapter->cqs = cq;
    if (channel) channel->users++;
    answer(cq, request);
    return 0;
}

int up_cq_destroy(struct device_cq *cq)
{
    struct device *device = cq->device;
    struct device_cq **at = &device->adapter->cqs;

    if (cq->users) return -EBUSY;
    nic_cq_forget(device->adapter->nic, &cq->nic);
    while (*at != cq)
        at = &(*at)->next;
    *at = cq->next;
    if (cq->channel) cq->channel->users--;
    up_table_remove(&device->cqs, cq->number);
    cq_release(cq);
    return 0;
}

void up_cq_follow(struct device_cq *cq)
{
    const struct attach_ring *ring = up_ring(cq->device->process, cq->ring);
    uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

    if (head - cq->nic.head > cq->published - cq->nic.head) return;
    if (cq->cause) up_message_polled(cq, cq->nic.head, head);
    cq->nic.head = head;
}

/* Everything from the head on, as it is now. */
static void mirror(struct device_cq *cq, uint32_t from)
{
    struct attach_cqe *slot = up_ring_entries(cq->device->process, cq->ring);

    for (uint32_t i = from; i != cq->nic.tail; i++)
        slot[i & cq->nic.mask].cqe = cq->nic.slot[i & cq->nic.mask];
    cq->published = cq->nic.tail;
    __atomic_store_n(&up_ring(cq->device->process, cq->ring)->tail, cq->published, __ATOMIC_RELEASE);
}

static struct receives *receives_of(const struct device_cq *cq, uint32_t qpn)
{
    const struct device_qp *qp = up_qp_find(cq->device, qpn);

    return qp && qp->srq ? &qp->srq->receives : NULL;
}

static void tell(struct device_cq *cq)
{
    if (!notice_due(&cq->notice, &cq->nic)) return;
    cq->notice.armed = false;
    if (cq->channel) channel_tell(cq->channel, cq->number);
    cq->rang = cq->channel != NULL;
}

bool up_cq_publish(struct device_cq *cq)
{
    uint32_t from = cq->published;

    up_cq_follow(cq);
    if (from == cq->nic.tail) return false;
    for (uint32_t i = from; i != cq->nic.tail; i++) {
        struct nic_cqe *cqe = &cq->nic.slot[i & cq->nic.mask];
        completion_own_id(cqe, cqe->receive ? receives_of(cq, cqe->qpn) : NULL);
    }
    mirror(cq, from);
    if (cq->nic.overrun) __atomic_store_n(&up_ring(cq->device->process, cq->ring)->overrun, 1, __ATOMIC_RELAXED);
    tell(cq);
    return true;
}

int up_cq_resize(struct device_cq *cq, struct attach_request *request)
{
    struct up_process *process = cq->device->process;
    uint32_t before = cq->nic.mask + 1;
    struct attach_cq from;

    memcpy(&from, request->data, sizeof from);
    if (from.entries == 0 || from.entries > DEVICE_CQ_MAX) return -EINVAL;
    uint32_t size = power_of_two_up(from.entries);
    (void)up_cq_publish(cq);
    uint64_t ring = up_ring_take(process, size, sizeof(struct attach_cqe));
    int error = ring ? completions_move(&cq->nic, size) : -ENOMEM;
    if (error < 0) {
        if (ring) up_ring_give(process, ring, size, sizeof(struct attach_cqe));
        return error;
    }
    up_ring_give(process, cq->ring, before, sizeof(struct attach_cqe));
    cq->ring = ring;
    up_ring(process, ring)->head = cq->nic.head;
    mirror(cq, cq->nic.head);
    answer(cq, request);
    return 0;
}

void up_cq_arm(struct device_cq *cq, bool solicited_only, uint32_t seen)
{
    (void)up_cq_publish(cq);
    /* Real clock: what was published since the program armed it is told, though we hear of the arming only now. */
    bool late = cq->device->process->up->options.real && cq->nic.tail - seen <= cq->nic.mask + 1;
    notice_arm(&cq->notice, late ? seen : cq->nic.tail, solicited_only);
    if (late) tell(cq);
}

void up_cq_forget(struct device_cq *cq, uint32_t qpn, struct device_srq *srq)
{
    if (cq->device->process->up->options.real) { /* it may be reading them: it passes over them itself */
        (void)up_cq_publish(cq);
        return;
    }
    up_cq_follow(cq);
    completions_forget(&cq->nic, qpn, srq ? &srq->receives : NULL);
    mirror(cq, cq->nic.head);
    notice_cut(&cq->notice, &cq->nic);
}
