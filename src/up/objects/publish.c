/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions and events, from the adapter to the rings that programs read.
 */
#include <stddef.h>
#include <sys/eventfd.h>

#include "packet/mad.h"
#include "up/objects/objects.h"

void up_event_push(struct device *device, enum device_event_kind kind, enum attach_object of, uint32_t number)
{
    const struct attach_event event = {.kind = kind, .object = number, .of = of};

    if (!up_ring_put(device->process, device->events, ATTACH_EVENTS, sizeof event, &device->events_tail, &event))
        return;
    for (uint32_t i = 1; i <= device->watches.room; i++) {
        const struct up_watcher *watcher = up_table_get(&device->watches, i);
        if (watcher) (void)eventfd_write(watcher->fd, 1);
    }
}

static struct device *push(const struct up_adapter *adapter, const struct nic_event *event)
{
    enum device_event_kind kind = device_event_kind_of(event->kind);

    if (event->srq) {
        const struct device_srq *srq =
            (struct device_srq *)(void *)((char *)event->srq - offsetof(struct device_srq, receives.nic));
        up_event_push(srq->device, kind, ATTACH_SRQ, srq->number);
        return srq->device;
    }
    if (event->cq) { /* the jobs have no program to tell */
        if (event->cq == &adapter->host->node->adapter[adapter->number].cq) return NULL;
        const struct device_cq *cq = (struct device_cq *)(void *)((char *)event->cq - offsetof(struct device_cq, nic));
        up_event_push(cq->device, kind, ATTACH_CQ, cq->number);
        return cq->device;
    }
    if (event->qpn == MAD_QPN) return NULL;
    const struct nic_qp *nic = nic_qp_find(adapter->nic, event->qpn);
    const struct device_qp *qp = nic ? nic_qp_app(nic) : NULL;
    if (qp == NULL) return NULL;
    up_event_push(qp->device, kind, ATTACH_QP, qp->qpn);
    return qp->device;
}

void up_publish_events(struct up_adapter *adapter, ps_t now)
{
    struct nic_event event;

    while (nic_event_next(adapter->nic, &event)) {
        const struct device *device = push(adapter, &event);
        if (device) turn_event(device->process, true, now);
    }
}

void publish_heads(struct up_process *process)
{
    for (uint32_t i = 0; i < ATTACH_NICS; i++) {
        const struct device *device = process->device[i];
        for (uint32_t c = 1; device && c <= device->cqs.room; c++) {
            struct device_cq *cq = up_table_get(&device->cqs, c);
            if (cq) up_cq_follow(cq);
        }
    }
}

void publish_all(struct up_host *host, ps_t now, struct node_io *io)
{
    (void)io;
    for (uint32_t i = 0; host->adapters && i < host->node->adapters; i++) {
        struct up_adapter *adapter = &host->adapters[i];
        for (struct device_cq *cq = adapter->cqs; cq; cq = cq->next) {
            if (cq->nic.tail != cq->published) up_flow_completed(cq, now);
            bool news = cq->nic.tail != cq->published && up_cq_publish(cq);
            if (news || cq->rang) turn_event(cq->device->process, cq->rang, now);
            cq->rang = false;
        }
        up_publish_events(adapter, now);
    }
}
