/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory: a few hundred kilobytes that hardware has beside its ports.
 *
 * Here it is memory of the process like any other, with hardware's manners: a fixed amount for all, reached
 * through copies whose offset and length are multiples of four bytes, registered zero-based.  A program that
 * keeps its counters or doorbells there runs; it runs no faster for it.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DM_GRAIN 4u

static atomic_size_t used_bytes;
static atomic_uint last_handle;

static bool inside(const struct vdm *dm, uint64_t offset, size_t length)
{
    return offset <= dm->length && length <= dm->length - offset && offset % DM_GRAIN == 0 && length % DM_GRAIN == 0;
}

static int copy_to(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
    struct vdm *dm = vdm_of(ibv);

    if (!inside(dm, offset, length)) return EINVAL;
    memcpy(dm->data + offset, from, length);
    return 0;
}

static int copy_from(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
    struct vdm *dm = vdm_of(ibv);

    if (!inside(dm, offset, length)) return EINVAL;
    memcpy(to, dm->data + offset, length);
    return 0;
}

static bool reserve(size_t bytes)
{
    size_t used = atomic_load(&used_bytes);

    do {
        if (bytes > LIMIT_DM_BYTES - used) return false;
    } while (!atomic_compare_exchange_weak(&used_bytes, &used, used + bytes));
    return true;
}

struct ibv_dm *verbs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
    const size_t align = (size_t)1 << (attr->log_align_req < 12 ? attr->log_align_req : 12);
    struct vdm *dm = NULL;
    void *data = NULL;
    int error = 0;

    if (attr->comp_mask != 0 || attr->length == 0 || attr->log_align_req > 12)
        error = EINVAL;
    else if (attr->length > LIMIT_DM_BYTES || !reserve(attr->length))
        error = ENOMEM;
    if (error) {
        errno = error;
        return NULL;
    }
    dm = calloc(1, sizeof *dm);
    if (dm == NULL || posix_memalign(&data, align < 64 ? 64 : align, attr->length) != 0) {
        atomic_fetch_sub(&used_bytes, attr->length);
        free(dm);
        errno = ENOMEM;
        return NULL;
    }
    memset(data, 0, attr->length);
    dm->data = data;
    dm->length = attr->length;
    dm->ibv.context = context;
    dm->ibv.memcpy_to_dm = copy_to;
    dm->ibv.memcpy_from_dm = copy_from;
    dm->ibv.handle = atomic_fetch_add(&last_handle, 1) + 1;
    atomic_fetch_add(&vcontext_of(context)->refs, 1);
    verbs_share(&dm->share, SHARE_DM, live_of(context), dm->ibv.handle);
    return &dm->ibv;
}

int verbs_free_dm(struct ibv_dm *ibv)
{
    struct vdm *dm = vdm_of(ibv);

    if (atomic_load(&dm->refs) > 0) return EBUSY;
    if (!dm->imported) {
        verbs_unshare(&dm->share);
        CHECK(atomic_fetch_sub(&used_bytes, dm->length) >= dm->length);
        verbs_unref(&vcontext_of(ibv->context)->refs);
        free(dm->data);
    }
    free(dm);
    return 0;
}

struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset, size_t length, unsigned access)
{
    struct vdm *dm = vdm_of(ibv);
    struct ibv_mr *mr;

    if (!(access & IBV_ACCESS_ZERO_BASED) || length > dm->length || offset > dm->length - length) {
        errno = EINVAL;
        return NULL;
    }
    mr = verbs_reg_mr(pd, dm->data + offset, length, 0, access);
    if (mr == NULL) return NULL;
    mr->addr = NULL;
    vmr_of(mr)->dm = dm;
    atomic_fetch_add(&dm->refs, 1);
    return mr;
}
