/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What always holds of a program's objects, whatever the program has asked for, posted or written into its segment;
 * and what is said to one that has spoilt its own.
 */
#include "base/bits.h"
#include "base/check.h"
#include "up/objects/objects.h"

static void audit_table(const struct up_table *table)
{
    uint32_t used = 0;

    for (uint32_t i = 1; i <= table->room; i++)
        used += up_table_get(table, i) != NULL;
    CHECK(used == table->used);
}

static void audit_ring(const struct up_process *process, uint64_t ring, uint32_t entries, size_t entry_bytes)
{
    CHECK(attach_ring_fits(ring, entries, entry_bytes));
    CHECK(ring + ATTACH_RING_HEAD + (uint64_t)entries * entry_bytes <= process->segment_used);
}

static void audit_cq(const struct device_cq *cq)
{
    const struct device *device = cq->device;
    uint32_t users = 0;

    audit_ring(device->process, cq->ring, cq->nic.mask + 1, sizeof(struct attach_cqe));
    CHECK(cq->nic.tail - cq->nic.head <= cq->nic.mask + 1);
    CHECK(cq->published - cq->nic.head <= cq->nic.tail - cq->nic.head);
    for (struct device_qp *qp = device->qps; qp; qp = qp->next)
        users += (qp->send_cq == cq) + (qp->recv_cq == cq);
    CHECK(users == cq->users);
}

static void audit_paths(const struct device *device)
{
    uint32_t held = 0;

    for (const struct device_qp *qp = device->qps; qp; qp = qp->next)
        held += qp->path != 0;
    for (uint32_t i = 1; i <= device->paths.room; i++) {
        const struct up_path *path = up_table_get(&device->paths, i);
        if (path == NULL) continue;
        CHECK(path->users > 0 && path->held <= path->users && path->held <= held);
        held -= path->held;
    }
    CHECK(held == 0);
}

static void audit_device(const struct device *device)
{
    audit_table(&device->watches);
    audit_table(&device->channels);
    audit_table(&device->cqs);
    audit_table(&device->srqs);
    audit_table(&device->paths);
    audit_ring(device->process, device->events, ATTACH_EVENTS, sizeof(struct attach_event));
    audit_ring(device->process, device->mads, ATTACH_MADS, sizeof(struct device_mad));
    for (struct device_qp *qp = device->qps; qp; qp = qp->next) {
        CHECK(qp->device == device);
        qp_audit(qp);
    }
    for (uint32_t i = 1; i <= device->cqs.room; i++) {
        const struct device_cq *cq = up_table_get(&device->cqs, i);
        if (cq) audit_cq(cq);
    }
    for (uint32_t i = 1; i <= device->srqs.room; i++) {
        const struct device_srq *srq = up_table_get(&device->srqs, i);
        if (srq) srq_audit(srq);
    }
    audit_paths(device);
}

void up_audit(const struct up_process *process)
{
    for (uint32_t i = 0; i < ATTACH_NICS; i++) {
        if (process->device[i] == NULL) continue;
        audit_device(process->device[i]);
        regions_audit(&process->device[i]->adapter->regions);
    }
}

void up_spoilt(struct up_process *process, ps_t now)
{
    if (process->spoilt) return;
    process->spoilt = true;
    session_say(process->host, process->command,
                "(pid %d): its ring of work requests makes no sense, and what was in it is not done; has it written "
                "over the memory that it shares with the fabric?",
                (int)process->pid);
    for (uint32_t i = 0; i < ATTACH_NICS; i++)
        if (process->device[i]) up_event_push(process->device[i], DEVICE_EVENT_DEVICE_FATAL, ATTACH_PORT, 0);
    turn_event(process, true, now);
}
