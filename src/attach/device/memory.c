/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: regions and windows, as the fabric knows them.
 *
 * Pages are given to the fabric to see (adopt) before they are registered, where that can be done.  A window's key
 * changes when a binding is posted, as programs expect; the fabric is told both keys with it.
 */
#include <stdlib.h>

#include "attach/device/device_int.h"

enum { CHANGE_PD = 1, CHANGE_MEMORY = 2, CHANGE_ACCESS = 4 }; /* attach_mr.mask */

int attached_mr_create(struct live *live, uint32_t pd, void *addr, uint64_t bytes, uint64_t iova, uint32_t access,
                       struct live_mr **ret)
{
    struct attach_mr told = {.addr = (uintptr_t)addr,
                             .bytes = bytes,
                             .iova = access & LIVE_ZERO_BASED ? 0 : iova,
                             .pd = pd,
                             .access = access};
    struct live_mr *mr = malloc(sizeof *mr);
    int error = mr ? device_enter(live) : -ENOMEM;

    if (error < 0) {
        free(mr);
        return error;
    }
    *mr = (struct live_mr){.ops = live->ops, .live = live};
    if (bytes) device_api()->adopt(addr, bytes);
    error = device_ask(live, ATTACH_OP_MR_CREATE, 0, &told, sizeof told, &mr->key);
    device_leave();
    if (error < 0)
        free(mr);
    else
        *ret = mr;
    return error < 0 ? error : 0;
}

int attached_mr_change(struct live_mr *mr, const uint32_t *pd, void *const *addr, uint64_t bytes,
                       const uint32_t *access)
{
    struct attach_mr told = {.mask =
                                 (pd ? CHANGE_PD : 0u) | (addr ? CHANGE_MEMORY : 0u) | (access ? CHANGE_ACCESS : 0u),
                             .pd = pd ? *pd : 0,
                             .access = access ? *access : 0};
    int error = device_enter(mr->live);

    if (error < 0) return error;
    if (addr) {
        told.addr = told.iova = (uintptr_t)*addr;
        told.bytes = bytes;
        device_api()->adopt(*addr, bytes);
    }
    error = device_ask(mr->live, ATTACH_OP_MR_CHANGE, mr->key, &told, sizeof told, &mr->key);
    device_leave();
    return error < 0 ? error : 0;
}

int attached_mr_destroy(struct live_mr *mr)
{
    int error = device_ask_once(mr->live, ATTACH_OP_MR_DESTROY, mr->key, NULL, 0);

    if (error == -EBUSY) return error;
    free(mr);
    return 0;
}

uint32_t attached_mr_key(const struct live_mr *mr)
{
    return mr->key;
}

int attached_mw_create(struct live *live, uint32_t pd, int type, struct live_mw **ret)
{
    struct attach_mr told = {.pd = pd, .access = (uint32_t)type};
    struct live_mw *mw = malloc(sizeof *mw);
    int error = mw ? device_enter(live) : -ENOMEM;

    if (error < 0) {
        free(mw);
        return error;
    }
    *mw = (struct live_mw){.ops = live->ops, .live = live, .type = type};
    error = device_ask(live, ATTACH_OP_MW_CREATE, 0, &told, sizeof told, &mw->key);
    device_leave();
    if (error < 0) {
        free(mw);
        return error;
    }
    mw->made = mw->key;
    *ret = mw;
    return 0;
}

int attached_mw_destroy(struct live_mw *mw)
{
    (void)device_ask_once(mw->live, ATTACH_OP_MW_DESTROY, mw->made, NULL, 0);
    free(mw);
    return 0;
}

uint32_t attached_mw_key(const struct live_mw *mw)
{
    return mw->key;
}

int attached_bind(const struct live_send *send, struct nic_wr *wr)
{
    struct live_mw *mw = send->mw;

    if (mw == NULL || (send->mr == NULL && send->mw_bytes)) return -EINVAL;
    if (mw->type == 2 && send->mw_key >> 8 != mw->key >> 8) return -EINVAL;
    wr->mw_key = mw->key;
    wr->new_key = mw->type == 2 ? send->mw_key : (mw->key & ~255u) | (uint8_t)(mw->key + 1);
    wr->remote_va = send->mw_addr;
    wr->length = send->mw_bytes;
    wr->rkey = send->mr ? send->mr->key : 0;
    wr->imm = send->mw_access;
    return 0;
}
