/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and windows: entered, changed, bound, removed; see objects.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "device/objects.h"

int regions_init(struct regions *regions, uint32_t slots, uint32_t first, uint8_t salt)
{
    regions->slot = calloc(slots, sizeof *regions->slot + sizeof(struct key_state));
    if (regions->slot == NULL) return -ENOMEM;
    keys_init(&regions->keys, (struct key_state *)(regions->slot + slots), slots, first, salt);
    return 0;
}

static int region_tell_one(const struct device_mr *mr, struct nic *nic, bool alive)
{
    const struct nic_mr told = {.va = mr->iova,
                                .bytes = mr->bytes,
                                .key = mr->key,
                                .pd = mr->pd,
                                .rights = (uint8_t)(mr->access & (NIC_REMOTE_ALL | NIC_LOCAL_WRITE | NIC_MW_BIND)),
                                .fixed = true,
                                .live = alive};

    return mr->bytes && nic ? nic_mr_set(nic, &told) : 0;
}

/* All adapters, or none. */
static int region_tell(const struct regions *regions, const struct device_mr *mr, bool alive)
{
    int error = 0;

    for (unsigned i = 0; i < REGIONS_NICS && error == 0; i++)
        error = region_tell_one(mr, regions->nic[i], alive);
    for (unsigned i = 0; i < REGIONS_NICS && error < 0 && alive; i++)
        (void)region_tell_one(mr, regions->nic[i], false);
    return error;
}

int regions_join(struct regions *regions, unsigned number, struct nic *nic)
{
    int error = 0;

    for (uint32_t i = 0; i < regions->keys.slots && error == 0; i++) {
        const struct region_slot *slot = &regions->slot[i];
        if (slot->mr) error = region_tell_one(slot->mr, nic, true);
        if (slot->mw && slot->mw->type == 1) error = nic_mr_set(nic, &slot->mw->told);
    }
    if (error == 0) regions->nic[number] = nic;
    return error;
}

static bool has_window(const struct regions *regions, const struct device_mr *mr)
{
    for (uint32_t i = 0; i < regions->keys.slots && regions->windows; i++)
        for (unsigned n = 0; regions->slot[i].mw && n < REGIONS_NICS; n++) {
            const struct nic_mr *known =
                regions->nic[n] ? nic_mr_find(regions->nic[n], regions->slot[i].mw->key) : NULL;
            if (known && known->bytes && known->parent == mr->key) return true;
        }
    return false;
}

int region_enter(struct regions *regions, struct device_mr *mr, uint64_t addr, uint64_t bytes, uint64_t iova)
{
    if (addr + bytes < addr) return -EINVAL;
    mr->iova = mr->access & DEVICE_ZERO_BASED ? 0 : iova;
    mr->bytes = bytes;
    mr->delta = addr - mr->iova;
    int error = keys_take(&regions->keys, &mr->key);
    if (error < 0) return error;
    error = region_tell(regions, mr, true);
    if (error < 0)
        keys_give(&regions->keys, mr->key);
    else
        regions->slot[mr->key >> 8].mr = mr;
    return error;
}

/* Other memory has a new key, so that whoever was told the old one is refused; the slot is the same.  New rights on the
 * same memory keep it, as adapters do: peers know it already. */
int region_change(struct regions *regions, struct device_mr *mr, const uint32_t *pd, void *const *addr, uint64_t bytes,
                  const uint32_t *access)
{
    if (addr && (uintptr_t)*addr + bytes < (uintptr_t)*addr) return -EINVAL;
    (void)region_tell(regions, mr, false);
    if (pd) mr->pd = *pd;
    if (access) mr->access = *access;
    if (addr) {
        mr->iova = (uintptr_t)*addr;
        mr->delta = 0;
        mr->bytes = bytes;
    }
    if (pd || addr) mr->key = keys_renew(&regions->keys, mr->key);
    return region_tell(regions, mr, true);
}

int region_remove(struct regions *regions, struct device_mr *mr)
{
    if (has_window(regions, mr)) return -EBUSY;
    (void)region_tell(regions, mr, false);
    regions->slot[mr->key >> 8].mr = NULL;
    keys_give(&regions->keys, mr->key);
    return 0;
}

/* A window of type 1 is everybody's, one of type 2 its queue pair's.  `except` learns it from its own queue pair. */
static int tell_all(const struct regions *regions, const struct device_mw *mw, const struct nic *except)
{
    int error = 0;

    if (mw->type == 2) return nic_mr_set(mw->home, &mw->told);
    for (unsigned i = 0; i < REGIONS_NICS && error == 0; i++)
        if (regions->nic[i] && regions->nic[i] != except) error = nic_mr_set(regions->nic[i], &mw->told);
    return error;
}

/* By every key it may have: a binding that was posted and has not come to its turn has told the adapter of none. */
static void forget(const struct regions *regions, const struct device_mw *mw)
{
    const uint32_t first = mw->key & ~255u;

    for (unsigned i = 0; i < REGIONS_NICS; i++)
        for (uint32_t tag = 0; regions->nic[i] && tag < 256; tag++)
            if (nic_mr_find(regions->nic[i], first | tag))
                (void)nic_mr_set(regions->nic[i], &(struct nic_mr){.key = first | tag, .window = true});
}

int window_enter(struct regions *regions, struct device_mw *mw)
{
    int error = keys_take(&regions->keys, &mw->key);

    if (error < 0) return error;
    mw->told = (struct nic_mr){.key = mw->key, .pd = mw->pd, .live = true, .window = true, .type2 = mw->type == 2};
    error = tell_all(regions, mw, NULL);
    if (error < 0) {
        forget(regions, mw);
        keys_give(&regions->keys, mw->key);
        return error;
    }
    regions->slot[mw->key >> 8].mw = mw;
    regions->windows++;
    return 0;
}

void window_remove(struct regions *regions, struct device_mw *mw)
{
    forget(regions, mw);
    regions->slot[mw->key >> 8].mw = NULL;
    keys_give(&regions->keys, mw->key);
    regions->windows--;
}

int window_bind(const struct regions *regions, const struct device_send *send, struct nic_wr *wr)
{
    const struct device_mw *mw = send->mw;

    if (mw == NULL || window_of(regions, mw->key) != mw || (send->mr == NULL && send->mw_bytes)) return -EINVAL;
    return device_bind_request(send, mw->type, mw->key, send->mr ? send->mr->key : 0, wr);
}

void window_bound(struct regions *regions, struct device_mw *mw, uint32_t key)
{
    mw->key = key;
    if (mw->type == 1) (void)keys_renew(&regions->keys, key);
}

int window_bring(struct device_mw *mw, struct nic *nic)
{
    const struct nic_mr *known = mw->type == 1 || mw->home == nic ? NULL : nic_mr_find(mw->home, mw->key);

    if (known == NULL) return 0;
    struct nic_mr window = *known;
    int error = nic_mr_set(nic, &window);
    if (error < 0) return error;
    window.live = false;
    (void)nic_mr_set(mw->home, &window);
    mw->home = nic;
    return 0;
}

/* What the region allows the window to be, as src/nic sees it when the queue pair comes to the request. */
static bool fits(const struct device_send *send, uint32_t pd)
{
    const struct device_mr *mr = send->mr;

    if (send->mw_bytes == 0) return true;
    if (mr->pd != pd || !(mr->access & DEVICE_MW_BIND)) return false;
    if (send->mw_access & (NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC) && !(mr->access & DEVICE_LOCAL_WRITE)) return false;
    return range_within(send->mw_addr, send->mw_bytes, mr->iova, mr->bytes);
}

void window_tell(struct regions *regions, const struct device_send *send, uint32_t pd, const struct nic *by)
{
    struct device_mw *mw = send->mw;

    if (mw->type != 1 || !fits(send, pd)) return;
    for (unsigned i = 0; i < REGIONS_NICS; i++)
        if (regions->nic[i] && regions->nic[i] != by)
            (void)nic_mr_set(regions->nic[i], &(struct nic_mr){.key = mw->told.key, .window = true});
    mw->told.key = mw->key;
    mw->told.va = send->mw_bytes ? send->mw_addr : 0;
    mw->told.bytes = send->mw_bytes;
    mw->told.rights = (uint8_t)(send->mw_bytes ? send->mw_access & NIC_REMOTE_ALL : 0);
    mw->told.parent = send->mw_bytes ? send->mr->key : 0;
    (void)tell_all(regions, mw, by); /* in the place of what was forgotten */
}
