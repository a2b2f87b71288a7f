/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of programs: regions, windows, and what of it their work requests may touch.
 *
 * Remote requests are judged by src/nic, which holds the same keys; here they are looked at once more when bytes move,
 * since a region may go away between the first packet of a message and its last.  Local keys are looked at when bytes
 * move too, so a wrong one is an error completion in its place among the others.
 *
 * A program's address is only ever handed to memory_read() and memory_write() (adopt.c): no byte of it is believed to
 * be there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "up/objects/objects.h"

static struct up_key *slot_of(const struct up_adapter *adapter, uint32_t key)
{
    return key >> 8 < adapter->keys.slots ? &adapter->key[key >> 8] : NULL;
}

static struct up_mr *region_of(const struct up_adapter *adapter, uint32_t key)
{
    const struct up_key *slot = slot_of(adapter, key);

    return slot && slot->mr && slot->mr->key == key ? slot->mr : NULL;
}

/* A region of the device, by its key of now. */
static struct up_mr *own_region(const struct up_device *device, uint32_t key)
{
    struct up_mr *mr = region_of(device->adapter, key);

    return mr && mr->device == device ? mr : NULL;
}

/* A window of the device, by any key it has had. */
static struct up_mw *own_window(const struct up_device *device, uint32_t key)
{
    const struct up_key *slot = slot_of(device->adapter, key);

    return slot && slot->mw && slot->mw->device == device ? slot->mw : NULL;
}

static int region_tell(const struct up_mr *mr, bool alive)
{
    const struct nic_mr told = {.va = mr->iova,
                                .bytes = mr->bytes,
                                .key = mr->key,
                                .pd = mr->pd,
                                .rights = (uint8_t)(mr->access & (NIC_REMOTE_ALL | NIC_LOCAL_WRITE | NIC_MW_BIND)),
                                .fixed = true,
                                .live = alive};

    return mr->bytes ? nic_mr_set(mr->device->adapter->nic, &told) : 0;
}

int up_mr_create(struct up_device *device, struct attach_request *request)
{
    struct up_adapter *adapter = device->adapter;
    struct attach_mr from;

    memcpy(&from, request->data, sizeof from);
    uint64_t base = from.access & DEVICE_ZERO_BASED ? 0 : from.iova;
    uint32_t pd = up_device_pd(device, from.pd);
    if (pd == SIM_JOBS_PD || from.addr + from.bytes < from.addr) return -EINVAL;
    struct up_mr *mr = malloc(sizeof *mr);
    if (mr == NULL) return -ENOMEM;
    *mr = (struct up_mr){.device = device,
                         .iova = base,
                         .bytes = from.bytes,
                         .delta = from.addr - base,
                         .pd = pd,
                         .access = from.access};
    int error = keys_take(&adapter->keys, &mr->key);
    if (error == 0) {
        error = region_tell(mr, true);
        if (error < 0) keys_give(&adapter->keys, mr->key);
    }
    if (error < 0) {
        free(mr);
        return error;
    }
    adapter->key[mr->key >> 8].mr = mr;
    request->object = mr->key;
    return 0;
}

#define CHANGE_PD 1u
#define CHANGE_PLACE 2u
#define CHANGE_ACCESS 4u

/* Other memory has a new key, so that whoever was told the old one is refused; new rights keep it. */
int up_mr_change(struct up_device *device, struct attach_request *request)
{
    struct up_mr *mr = own_region(device, request->object);
    struct attach_mr to;

    memcpy(&to, request->data, sizeof to);
    uint32_t pd = up_device_pd(device, to.pd);
    if (mr == NULL || (to.mask & CHANGE_PD && pd == SIM_JOBS_PD)) return -EINVAL;
    if (to.mask & CHANGE_PLACE && to.addr + to.bytes < to.addr) return -EINVAL;
    (void)region_tell(mr, false);
    if (to.mask & CHANGE_PD) mr->pd = pd;
    if (to.mask & CHANGE_ACCESS) mr->access = to.access;
    if (to.mask & CHANGE_PLACE) {
        mr->iova = to.addr;
        mr->delta = 0;
        mr->bytes = to.bytes;
    }
    if (to.mask & (CHANGE_PD | CHANGE_PLACE)) mr->key = keys_renew(&device->adapter->keys, mr->key);
    request->object = mr->key;
    return region_tell(mr, true);
}

static bool has_window(const struct up_mr *mr)
{
    const struct up_adapter *adapter = mr->device->adapter;

    for (uint32_t i = 0; i < adapter->keys.slots && adapter->windows; i++) {
        const struct up_mw *mw = adapter->key[i].mw;
        const struct nic_mr *known = mw ? nic_mr_find(adapter->nic, mw->key) : NULL;
        if (known && known->bytes && known->parent == mr->key) return true;
    }
    return false;
}

static void region_remove(struct up_mr *mr)
{
    struct up_adapter *adapter = mr->device->adapter;

    (void)region_tell(mr, false);
    adapter->key[mr->key >> 8].mr = NULL;
    keys_give(&adapter->keys, mr->key);
    free(mr);
}

int up_mr_destroy(struct up_device *device, uint32_t key)
{
    struct up_mr *mr = own_region(device, key);

    if (mr == NULL) return -EINVAL;
    if (has_window(mr)) return -EBUSY;
    region_remove(mr);
    return 0;
}

int up_mw_create(struct up_device *device, struct attach_request *request)
{
    struct up_adapter *adapter = device->adapter;
    struct attach_mr from;

    memcpy(&from, request->data, sizeof from);
    uint32_t pd = up_device_pd(device, from.pd);
    if (pd == SIM_JOBS_PD || from.access < 1 || from.access > 2) return -EINVAL;
    struct up_mw *mw = malloc(sizeof *mw);
    if (mw == NULL) return -ENOMEM;
    *mw = (struct up_mw){.device = device, .pd = pd, .type = (int)from.access};
    int error = keys_take(&adapter->keys, &mw->key);
    if (error == 0) {
        const struct nic_mr told = {.key = mw->key, .pd = pd, .live = true, .window = true, .type2 = mw->type == 2};
        error = nic_mr_set(adapter->nic, &told);
        if (error < 0) keys_give(&adapter->keys, mw->key);
    }
    if (error < 0) {
        free(mw);
        return error;
    }
    adapter->key[mw->key >> 8].mw = mw;
    adapter->windows++;
    request->object = mw->key;
    return 0;
}

/* A binding that was posted and has not come to its turn has told the adapter of no new key yet. */
static void window_remove(struct up_mw *mw)
{
    struct up_adapter *adapter = mw->device->adapter;
    uint32_t first = mw->key & ~255u;

    for (uint32_t tag = 0; tag < 256; tag++) {
        const struct nic_mr *known = nic_mr_find(adapter->nic, first | tag);
        if (known && known->window)
            (void)nic_mr_set(adapter->nic, &(struct nic_mr){.key = first | tag, .window = true});
    }
    adapter->key[mw->key >> 8].mw = NULL;
    keys_give(&adapter->keys, mw->key);
    adapter->windows--;
    free(mw);
}

int up_mw_destroy(struct up_device *device, uint32_t key)
{
    struct up_mw *mw = own_window(device, key);

    if (mw == NULL) return -EINVAL;
    window_remove(mw);
    return 0;
}

int up_mw_key(struct up_device *device, struct attach_request *request)
{
    const struct up_mw *mw = own_window(device, request->object);

    if (mw == NULL) return -EINVAL;
    request->object = mw->key;
    return 0;
}

void up_memory_close(struct up_device *device)
{
    struct up_adapter *adapter = device->adapter;

    for (uint32_t i = 0; i < adapter->keys.slots; i++)
        if (adapter->key[i].mw && adapter->key[i].mw->device == device) window_remove(adapter->key[i].mw);
    for (uint32_t i = 0; i < adapter->keys.slots; i++)
        if (adapter->key[i].mr && adapter->key[i].mr->device == device) region_remove(adapter->key[i].mr);
}

int up_memory_bind(const struct up_qp *qp, struct nic_wr *wr)
{
    const struct up_mw *mw = own_window(qp->device, wr->mw_key);

    if (mw == NULL || (wr->length && own_region(qp->device, wr->rkey) == NULL)) return -EINVAL;
    if (mw->type == 2 && wr->new_key >> 8 != mw->key >> 8) return -EINVAL;
    wr->mw_key = mw->key;
    if (mw->type == 1) wr->new_key = keys_after(mw->key);
    return 0;
}

void up_memory_bound(const struct up_qp *qp, const struct nic_wr *wr)
{
    struct up_mw *mw = own_window(qp->device, wr->new_key);

    mw->key = wr->new_key;
    if (mw->type == 1) (void)keys_renew(&qp->device->adapter->keys, mw->key);
}

/* Where in its program a part of a list is; false: its key does not allow it. */
static bool local_address(const struct up_device *device, const struct device_sge *sge, uint32_t pd, uint32_t right,
                          uint64_t *ret)
{
    const struct up_mr *mr = own_region(device, sge->key);

    if (mr == NULL || mr->pd != pd || (mr->access & right) != right) return false;
    if (!range_within(sge->addr, sge->length, mr->iova, mr->bytes)) return false;
    *ret = sge->addr + mr->delta;
    return true;
}

bool up_memory_gather(const struct up_device *device, const struct work *work, uint64_t offset, uint32_t bytes,
                      uint8_t *to)
{
    struct work_walk walk = {.work = work, .offset = offset, .bytes = bytes};
    struct work_part part;

    while (work_next(&walk, &part)) {
        uint64_t at;
        if (work->copied)
            memcpy(to, (const uint8_t *)(uintptr_t)part.sge->addr + part.offset, part.bytes);
        else if (!local_address(device, part.sge, work->pd, 0, &at) ||
                 !memory_read(device->process, at + part.offset, to, part.bytes))
            return false;
        to += part.bytes;
    }
    return walk.bytes == 0;
}

bool up_memory_scatter(const struct up_device *device, const struct work *work, uint64_t offset, uint32_t bytes,
                       const uint8_t *from)
{
    struct work_walk walk = {.work = work, .offset = offset, .bytes = bytes};
    struct work_part part;

    while (work_next(&walk, &part)) {
        uint64_t at;
        if (!local_address(device, part.sge, work->pd, DEVICE_LOCAL_WRITE, &at) ||
            !memory_write(device->process, at + part.offset, from, part.bytes))
            return false;
        from += part.bytes;
    }
    return walk.bytes == 0;
}

struct up_process *up_memory_remote(const struct up_adapter *adapter, uint32_t key, uint64_t va, uint64_t bytes,
                                    uint64_t *ret)
{
    const struct nic_mr *known = nic_mr_find(adapter->nic, key);

    if (known == NULL || !range_within(va, bytes, known->va, known->bytes)) return NULL;
    const struct up_mr *mr = region_of(adapter, known->window ? known->parent : key);
    if (mr == NULL || !range_within(va, bytes, mr->iova, mr->bytes)) return NULL;
    *ret = va + mr->delta;
    return mr->device->process;
}
