/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices and contexts: the list programs choose from, opening and closing.
 *
 * A device is an interface of this machine (src/live finds them).  The paths in struct ibv_device look
 * like the kernel's, because programs open files beneath them: sysfs.c answers those.  A context that is
 * closed with objects left keeps the adapter open, as a kernel would until the process ends.
 */
#include "verbs/ibverbs/behind.h"
#include "verbs/ibverbs/verbs_int.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct vdevice *device_new(const struct device_info *live, int index)
{
    struct vdevice *device = calloc(1, sizeof *device);

    if (device == NULL) return NULL;
    device->live = *live;
    device->index = index;
    atomic_store(&device->refs, 1);
    device->ibv.node_type = IBV_NODE_CA;
    device->ibv.transport_type = IBV_TRANSPORT_IB;
    snprintf(device->ibv.name, sizeof device->ibv.name, "%s", live->name);
    snprintf(device->ibv.dev_name, sizeof device->ibv.dev_name, "uverbs%d", index);
    snprintf(device->ibv.dev_path, sizeof device->ibv.dev_path, "/sys/class/infiniband_verbs/uverbs%d", index);
    snprintf(device->ibv.ibdev_path, sizeof device->ibv.ibdev_path, "/sys/class/infiniband/%s", live->name);
    return device;
}

static void device_put(struct vdevice *device)
{
    if (atomic_fetch_sub(&device->refs, 1) == 1) free(device);
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    struct device_info *found = NULL;
    unsigned count = 0;
    int error = device_list(&found, &count);
    struct ibv_device **list = error ? NULL : calloc(count + 1, sizeof(struct ibv_device *));

    if (num_devices != NULL) *num_devices = 0;
    for (unsigned i = 0; list != NULL && i < count; i++) {
        struct vdevice *device = device_new(&found[i], (int)i);

        if (device == NULL) {
            ibv_free_device_list(list);
            list = NULL;
            break;
        }
        list[i] = &device->ibv;
    }
    free(found);
    if (list == NULL)
        errno = error ? -error : ENOMEM;
    else if (num_devices != NULL)
        *num_devices = (int)count;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    if (list == NULL) return;
    for (unsigned i = 0; list[i] != NULL; i++)
        device_put(vdevice_of(list[i]));
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
    return vdevice_of(device)->index;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    return htobe64(vdevice_of(device)->live.guid);
}

static void context_ops(struct vcontext *context)
{
    struct verbs_context *v = &context->v;

    v->context.ops.alloc_mw = verbs_alloc_mw;
    v->context.ops.bind_mw = verbs_bind_mw;
    v->context.ops.dealloc_mw = verbs_dealloc_mw;
    v->context.ops.poll_cq = verbs_poll_cq;
    v->context.ops.req_notify_cq = verbs_req_notify_cq;
    v->context.ops.post_srq_recv = verbs_post_srq_recv;
    v->context.ops.post_send = verbs_post_send;
    v->context.ops.post_recv = verbs_post_recv;
    v->query_port = verbs_query_port;
    v->advise_mr = verbs_advise_mr;
    v->alloc_null_mr = verbs_alloc_null_mr;
    v->reg_dm_mr = verbs_reg_dm_mr;
    v->alloc_dm = verbs_alloc_dm;
    v->free_dm = verbs_free_dm;
    v->alloc_parent_domain = verbs_alloc_parent_domain;
    v->dealloc_td = verbs_dealloc_td;
    v->alloc_td = verbs_alloc_td;
    v->modify_cq = verbs_modify_cq;
    v->query_rt_values = verbs_query_rt_values;
    v->create_cq_ex = verbs_create_cq_ex;
    v->query_device_ex = verbs_query_device_ex;
    v->create_qp_ex = verbs_create_qp_ex;
    v->get_srq_num = verbs_get_srq_num;
    v->open_xrcd = verbs_open_xrcd;
    v->create_srq_ex = verbs_create_srq_ex;
    v->sz = sizeof *v;
    v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

struct ibv_context *ibv_open_device(struct ibv_device *ibv)
{
    struct vdevice *device = vdevice_of(ibv);
    struct vcontext *context = calloc(1, sizeof *context);
    char why[256] = "";
    struct stat is;
    int error = context == NULL ? -ENOMEM : device_open(&device->live, &context->live, why, sizeof why);

    if (error == 0) {
        error = device_watch_create(context->live, &context->watch);
        if (error) device_close(context->live);
    }
    if (error) {
        if (why[0]) fprintf(stderr, "rocelab: %s: %s\n", ibv->name, why);
        free(context);
        errno = -error;
        return NULL;
    }
    atomic_fetch_add(&device->refs, 1);
    context->device = device;
    context->v.context.device = ibv;
    context->v.context.cmd_fd = memfd_create("rocelab", MFD_CLOEXEC); /* a file of its own: ibv_import_device() */
    context->v.context.async_fd = device_watch_fd(context->watch);
    context->v.context.num_comp_vectors = LIMIT_COMP_VECTORS;
    pthread_mutex_init(&context->v.context.mutex, NULL);
    context_ops(context);
    verbs_events_init(context);
    if (fstat(context->v.context.cmd_fd, &is) == 0) verbs_share(&context->share, SHARE_CONTEXT, NULL, is.st_ino);
    return &context->v.context;
}

int ibv_close_device(struct ibv_context *ibv)
{
    struct vcontext *context = vcontext_of(ibv);

    verbs_unshare(&context->share);
    if (atomic_load(&context->refs) > 0) return 0;
    if (ibv->cmd_fd >= 0) close(ibv->cmd_fd);
    device_watch_destroy(context->watch);
    device_close(context->live);
    pthread_mutex_destroy(&ibv->mutex);
    device_put(context->device);
    free(context);
    return 0;
}

int ibv_fork_init(void)
{
    return 0; /* copies, never pins: a fork cannot take pages away */
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

struct device *device_behind(const struct ibv_context *context)
{
    return live_of(context);
}

const struct device_info *device_info_behind(const struct ibv_device *device)
{
    return &vdevice_of(device)->live;
}
