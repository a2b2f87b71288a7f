/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of programs: what they ask of regions and windows (device/objects.h), each among its own.
 *
 * What is at a program's address only adopt.c looks at: no byte of it is believed to be there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "up/objects/objects.h"

/* A region of the device, by its key of now. */
struct device_mr *up_mr_find(const struct device *device, uint32_t key)
{
    struct device_mr *mr = region_of(&device->adapter->regions, key);

    return mr && mr->device == device ? mr : NULL;
}

/* A window of the device, by any key it has had. */
struct device_mw *up_mw_find(const struct device *device, uint32_t key)
{
    struct device_mw *mw = window_of(&device->adapter->regions, key);

    return mw && mw->device == device ? mw : NULL;
}

int up_mr_create(struct device *device, struct attach_request *request)
{
    struct attach_mr from;

    memcpy(&from, request->data, sizeof from);
    uint32_t pd = up_device_pd(device, from.pd);
    if (pd == SIM_JOBS_PD) return -EINVAL;
    struct device_mr *mr = malloc(sizeof *mr);
    if (mr == NULL) return -ENOMEM;
    *mr = (struct device_mr){.device = device, .pd = pd, .access = from.access};
    int error = region_enter(&device->adapter->regions, mr, from.addr, from.bytes, from.iova);
    if (error < 0)
        free(mr);
    else
        request->object = mr->key;
    return error;
}

int up_mr_change(struct device *device, struct attach_request *request)
{
    struct device_mr *mr = up_mr_find(device, request->object);
    struct attach_mr to;

    memcpy(&to, request->data, sizeof to);
    const uint32_t pd = up_device_pd(device, to.pd);
    void *const addr = (void *)(uintptr_t)to.addr;
    if (mr == NULL || (to.mask & ATTACH_MR_PD && pd == SIM_JOBS_PD)) return -EINVAL;
    int error = region_change(&device->adapter->regions, mr, to.mask & ATTACH_MR_PD ? &pd : NULL,
                              to.mask & ATTACH_MR_PLACE ? &addr : NULL, to.bytes,
                              to.mask & ATTACH_MR_ACCESS ? &to.access : NULL);
    request->object = mr->key;
    return error;
}

int up_mr_destroy(struct device *device, uint32_t key)
{
    struct device_mr *mr = up_mr_find(device, key);
    int error = mr ? region_remove(&device->adapter->regions, mr) : -EINVAL;

    if (error == 0) free(mr);
    return error;
}

int up_mw_create(struct device *device, struct attach_request *request)
{
    struct attach_mr from;

    memcpy(&from, request->data, sizeof from);
    uint32_t pd = up_device_pd(device, from.pd);
    if (pd == SIM_JOBS_PD || from.access < 1 || from.access > 2) return -EINVAL;
    struct device_mw *mw = malloc(sizeof *mw);
    if (mw == NULL) return -ENOMEM;
    *mw =
        (struct device_mw){.device = device, .home = device->adapter->objects.nic, .pd = pd, .type = (int)from.access};
    int error = window_enter(&device->adapter->regions, mw);
    if (error < 0)
        free(mw);
    else
        request->object = mw->key;
    return error;
}

int up_mw_destroy(struct device *device, uint32_t key)
{
    struct device_mw *mw = up_mw_find(device, key);

    if (mw == NULL) return -EINVAL;
    window_remove(&device->adapter->regions, mw);
    free(mw);
    return 0;
}

int up_mw_key(struct device *device, struct attach_request *request)
{
    const struct device_mw *mw = up_mw_find(device, request->object);

    if (mw == NULL) return -EINVAL;
    request->object = mw->key;
    return 0;
}

void up_memory_close(struct device *device)
{
    const struct regions *regions = &device->adapter->regions;

    for (uint32_t i = 0; i < regions->keys.slots; i++)
        if (regions->slot[i].mw) (void)up_mw_destroy(device, regions->slot[i].mw->key);
    for (uint32_t i = 0; i < regions->keys.slots; i++)
        if (regions->slot[i].mr) (void)up_mr_destroy(device, regions->slot[i].mr->key);
}
