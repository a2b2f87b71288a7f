/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes between packets and the memory of programs: what src/nic asks to be gathered, placed or changed; see objects.h.
 */
#include <string.h>

#include "device/objects.h"
#include "packet/codec.h"
#include "packet/opcode.h"

/* The region that a part of a list is in; NULL: its key does not allow it. */
static inline const struct device_mr *listed(const struct objects *objects, const struct device_sge *sge, uint32_t pd,
                                             uint32_t right)
{
    const struct device_mr *mr = region_of(objects->regions, sge->key);

    if (mr == NULL || mr->pd != pd || (mr->access & right) != right) return NULL;
    return range_within(sge->addr, sge->length, mr->iova, mr->bytes) ? mr : NULL;
}

static bool gather(const struct objects *objects, struct device *device, const struct nic_io *io, uint8_t *to)
{
    const struct work *work = (const struct work *)(uintptr_t)io->gather.local;
    struct work_walk walk = {.work = work, .offset = io->gather.offset, .bytes = io->gather.bytes};
    struct work_part part;

    while (work_next(&walk, &part)) {
        if (work->copied) {
            memcpy(to, (const uint8_t *)(uintptr_t)part.sge->addr + part.offset, part.bytes);
        } else {
            const struct device_mr *mr = listed(objects, part.sge, work->pd, 0);
            if (mr == NULL || !objects->host->read(device, part.sge->addr + part.offset + mr->delta, to, part.bytes))
                return false;
        }
        to += part.bytes;
    }
    return walk.bytes == 0;
}

static bool scatter(const struct objects *objects, struct device *device, const struct work *work, uint64_t offset,
                    uint32_t bytes, const uint8_t *from)
{
    struct work_walk walk = {.work = work, .offset = offset, .bytes = bytes};
    struct work_part part;

    while (work_next(&walk, &part)) {
        const struct device_mr *mr = listed(objects, part.sge, work->pd, DEVICE_LOCAL_WRITE);
        if (mr == NULL || !objects->host->write(device, part.sge->addr + part.offset + mr->delta, from, part.bytes))
            return false;
        from += part.bytes;
    }
    return walk.bytes == 0;
}

/* The region that a peer's [va, va + bytes) under a key is in; NULL: not allowed any more. */
static const struct device_mr *remote(const struct objects *objects, uint32_t key, uint64_t va, uint64_t bytes)
{
    const struct nic_mr *known = nic_mr_find(objects->nic, key);

    if (known == NULL || !range_within(va, bytes, known->va, known->bytes)) return NULL;
    const struct device_mr *mr = region_of(objects->regions, known->window ? known->parent : key);
    return mr && range_within(va, bytes, mr->iova, mr->bytes) ? mr : NULL;
}

bool bytes_send(const struct objects *objects, struct device *device, const struct nic_io *io, uint8_t *to)
{
    const uint64_t va = io->gather.local;
    const uint32_t bytes = io->gather.bytes;

    if (!io->gather.read) return gather(objects, device, io, to);
    const struct device_mr *mr = remote(objects, io->gather.rkey, va, bytes);
    return mr && objects->host->read(mr->device, va + mr->delta, to, bytes);
}

static bool place(const struct objects *objects, struct device *device, const struct arrival *arrival,
                  const struct nic_io *io)
{
    const struct work *work = (const struct work *)(uintptr_t)io->place.local;
    const uint32_t bytes = io->place.bytes;
    uint8_t grh[CODEC_GRH_BYTES];
    const struct device_mr *mr;

    switch (io->place.kind) {
    case NIC_PLACE_RECV:
        if (opcode_info(arrival->opcode)->transport == OP_UD) {
            codec_grh_emit(arrival->envelope, arrival->bth_bytes, grh);
            if (!scatter(objects, device, work, 0, sizeof grh, grh)) return false;
        }
        return scatter(objects, device, work, io->place.offset, bytes, arrival->payload);
    case NIC_PLACE_MEMORY:
        if (bytes == 0) return true;
        mr = remote(objects, io->place.rkey, io->place.va, bytes);
        return mr && objects->host->write(mr->device, io->place.va + mr->delta, arrival->payload, bytes);
    case NIC_PLACE_READ:
        return scatter(objects, device, work, io->place.offset, bytes, arrival->payload);
    case NIC_PLACE_ATOMIC:
        return scatter(objects, device, work, 0, 8, (const uint8_t *)&io->place.original);
    default:
        return true;
    }
}

static bool change(const struct objects *objects, uint32_t rkey, const struct nic_io *io)
{
    const struct device_mr *mr = remote(objects, rkey, io->atomic.va, 8);
    uint64_t original = 0;

    if (mr == NULL || !objects->host->atomic(mr->device, io->atomic.va + mr->delta, io->atomic.verb, io->atomic.compare,
                                             io->atomic.swap, &original))
        return false;
    nic_atomic_done(objects->nic, io->atomic.qpn, io->atomic.slot, original);
    return true;
}

bool bytes_arrive(const struct objects *objects, struct device *device, uint32_t qpn, const struct arrival *arrival,
                  ps_t now, struct nic_io *io)
{
    bool placed = place(objects, device, arrival, io);

    if (!placed) nic_place_failed(objects->nic, qpn, now, io);
    if (io->atomic.verb == 0 || change(objects, arrival->rkey, io)) return placed;
    /* its response cannot be given: as with a READ whose memory is gone */
    const struct pkt response = {.kind = PKT_ROCE, .opcode = OPCODE_RC_ATOMIC_ACK, .psn = arrival->psn};
    nic_gather_failed(objects->nic, qpn, &response, now, io);
    return false;
}
