/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: regions and windows, as the fabric knows them.
 *
 * Pages are given to the fabric to see (adopt) before they are registered, where that can be done.  A window's key
 * changes when a binding is posted, as programs expect; the fabric is told both keys with it.
 */
#include <stdlib.h>

#include "attach/device/device_int.h"

int attached_mr_create(struct device *device, uint32_t pd, void *addr, uint64_t bytes, uint64_t iova, uint32_t access,
                       struct device_mr **ret)
{
    struct attach_mr told = {.addr = (uintptr_t)addr,
                             .bytes = bytes,
                             .iova = access & DEVICE_ZERO_BASED ? 0 : iova,
                             .pd = pd,
                             .access = access};
    struct device_mr *mr = malloc(sizeof *mr);
    int error = mr ? attached_enter(device) : -ENOMEM;

    if (error < 0) {
        free(mr);
        return error;
    }
    *mr = (struct device_mr){.ops = device->ops, .device = device};
    if (bytes) attached_api()->adopt(addr, bytes);
    error = attached_ask(device, ATTACH_OP_MR_CREATE, 0, &told, sizeof told, &mr->key);
    attached_leave();
    if (error < 0)
        free(mr);
    else
        *ret = mr;
    return error < 0 ? error : 0;
}

int attached_mr_change(struct device_mr *mr, const uint32_t *pd, void *const *addr, uint64_t bytes,
                       const uint32_t *access)
{
    struct attach_mr told = {.mask = (pd ? ATTACH_MR_PD : 0u) | (addr ? ATTACH_MR_PLACE : 0u) |
                                     (access ? ATTACH_MR_ACCESS : 0u),
                             .pd = pd ? *pd : 0,
                             .access = access ? *access : 0};
    int error = attached_enter(mr->device);

    if (error < 0) return error;
    if (addr) {
        told.addr = told.iova = (uintptr_t)*addr;
        told.bytes = bytes;
        attached_api()->adopt(*addr, bytes);
    }
    error = attached_ask(mr->device, ATTACH_OP_MR_CHANGE, mr->key, &told, sizeof told, &mr->key);
    attached_leave();
    return error < 0 ? error : 0;
}

int attached_mr_destroy(struct device_mr *mr)
{
    int error = attached_ask_once(mr->device, ATTACH_OP_MR_DESTROY, mr->key, NULL, 0);

    if (error == -EBUSY) return error;
    free(mr);
    return 0;
}

uint32_t attached_mr_key(const struct device_mr *mr)
{
    return mr->key;
}

int attached_mw_create(struct device *device, uint32_t pd, int type, struct device_mw **ret)
{
    struct attach_mr told = {.pd = pd, .access = (uint32_t)type};
    struct device_mw *mw = malloc(sizeof *mw);
    int error = mw ? attached_enter(device) : -ENOMEM;

    if (error < 0) {
        free(mw);
        return error;
    }
    *mw = (struct device_mw){.ops = device->ops, .device = device, .type = type};
    error = attached_ask(device, ATTACH_OP_MW_CREATE, 0, &told, sizeof told, &mw->key);
    attached_leave();
    if (error < 0) {
        free(mw);
        return error;
    }
    mw->made = mw->key;
    *ret = mw;
    return 0;
}

int attached_mw_destroy(struct device_mw *mw)
{
    (void)attached_ask_once(mw->device, ATTACH_OP_MW_DESTROY, mw->made, NULL, 0);
    free(mw);
    return 0;
}

uint32_t attached_mw_key(const struct device_mw *mw)
{
    return mw->key;
}

int attached_bind(const struct device_send *send, struct nic_wr *wr)
{
    const struct device_mw *mw = send->mw;

    if (mw == NULL || (send->mr == NULL && send->mw_bytes)) return -EINVAL;
    return device_bind_request(send, mw->type, mw->key, send->mr ? send->mr->key : 0, wr);
}
