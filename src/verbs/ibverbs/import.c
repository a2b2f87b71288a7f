/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import: a second handle on a context, domain, region or piece of device memory of this process.
 *
 * rdma-core shares such objects between processes, through a descriptor and numbers that the kernel knows.
 * Our adapter lives in one process, so what is imported must have been made here; a descriptor of another
 * process's context is refused (EOPNOTSUPP).  Objects that can be imported stand in lists, newest first: making
 * one costs a lock, finding one a walk.  The original of a region or of device memory must outlive its imports; a
 * domain is a number, and an import as good as the original.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct vshare *lists[SHARE_KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child must not find the lists in the hands of a thread it does not have. */
static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void give(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(take, give, give);
}

void verbs_share(struct vshare *share, enum vshare_kind kind, struct device *live, uint64_t handle)
{
    share->live = live;
    share->handle = handle;
    pthread_mutex_lock(&lock);
    share->link = &lists[kind];
    share->next = lists[kind];
    if (share->next != NULL) share->next->link = &share->next;
    lists[kind] = share;
    pthread_mutex_unlock(&lock);
}

void verbs_unshare(struct vshare *share)
{
    if (share->link == NULL) return; /* an import: it is not offered again */
    pthread_mutex_lock(&lock);
    *share->link = share->next;
    if (share->next != NULL) share->next->link = share->link;
    share->link = NULL;
    pthread_mutex_unlock(&lock);
}

/* The shared part of the object with this number; NULL and ENOENT: none.  A context is of no adapter. */
static struct vshare *find(enum vshare_kind kind, const struct device *live, uint64_t handle)
{
    struct vshare *share;

    pthread_mutex_lock(&lock);
    for (share = lists[kind]; share != NULL; share = share->next) {
        if (share->live == live && share->handle == handle) break;
    }
    pthread_mutex_unlock(&lock);
    if (share == NULL) errno = ENOENT;
    return share;
}

#define OF(type, share) ((struct type *)(void *)((char *)(share)-offsetof(struct type, share)))

/* The descriptor's file is the context's own, so its number stands for the context, also in a copy of it. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
    struct ibv_context *context;
    struct vshare *share;
    struct stat is, was;

    if (fstat(cmd_fd, &is) != 0) return NULL;
    share = find(SHARE_CONTEXT, NULL, is.st_ino);
    if (share == NULL || fstat(OF(vcontext, share)->v.context.cmd_fd, &was) != 0 || was.st_dev != is.st_dev) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    context = ibv_open_device(&OF(vcontext, share)->device->ibv);
    if (context == NULL) return NULL;
    verbs_unshare(&vcontext_of(context)->share);
    close(context->cmd_fd);
    context->cmd_fd = cmd_fd;
    return context;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
    struct vshare *share = find(SHARE_PD, live_of(context), handle);

    return share == NULL ? NULL : verbs_import_pd(context, OF(vpd, share));
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
    (void)ibv_dealloc_pd(pd); /* with objects left in it, it stays as they do */
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
    struct vshare *share = find(SHARE_MR, live_of(pd->context), handle);
    struct vmr *mr = NULL;

    if (share != NULL) mr = calloc(1, sizeof *mr);
    if (mr == NULL) return NULL;
    mr->live = OF(vmr, share)->live;
    mr->access = OF(vmr, share)->access;
    mr->imported = true;
    mr->ibv = OF(vmr, share)->ibv;
    mr->ibv.context = pd->context;
    mr->ibv.pd = pd;
    mr->ibv.addr = NULL; /* whose memory it is, the importer may not know */
    (void)verbs_pd_number(pd);
    return &mr->ibv;
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
    (void)ibv_dereg_mr(mr);
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
    struct vshare *share = find(SHARE_DM, live_of(context), handle);
    struct vdm *dm = NULL;

    if (share != NULL) dm = calloc(1, sizeof *dm);
    if (dm == NULL) return NULL;
    dm->ibv = OF(vdm, share)->ibv;
    dm->ibv.context = context;
    dm->data = OF(vdm, share)->data;
    dm->length = OF(vdm, share)->length;
    dm->imported = true;
    return &dm->ibv;
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
    (void)verbs_free_dm(dm);
}
