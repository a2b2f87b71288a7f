/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protection domains, parent domains and thread domains.
 *
 * A domain is a number that devices compare.  A parent domain shares the number of the domain it stands
 * for; a thread domain promises that one thread uses what is made in it, which devices do not need to
 * know.  The program's allocator, where a parent domain has one, gives the memory of the queue
 * pairs, completion queues and shared receive queues made in it; their rings are the adapter's.  A domain
 * in use cannot be freed: EBUSY, as from a kernel.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint last_number;

static struct vpd *pd_new(struct ibv_context *context, uint32_t number)
{
    struct vpd *pd = calloc(1, sizeof *pd);

    if (pd == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    pd->ibv.context = context;
    pd->ibv.handle = pd->number = number;
    atomic_fetch_add(&vcontext_of(context)->refs, 1);
    return pd;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct vpd *pd = pd_new(context, atomic_fetch_add(&last_number, 1) + 1);

    if (pd == NULL) return NULL;
    verbs_share(&pd->share, SHARE_PD, live_of(context), pd->number);
    return &pd->ibv;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
    struct vpd *pd = vpd_of(ibv);

    if (atomic_load(&pd->refs) > 0) return EBUSY;
    verbs_unshare(&pd->share);
    if (pd->parent != NULL) verbs_unref(&pd->parent->refs);
    if (pd->td != NULL) verbs_unref(&pd->td->refs);
    verbs_unref(&vcontext_of(ibv->context)->refs);
    free(pd);
    return 0;
}

uint32_t verbs_pd_number(struct ibv_pd *ibv)
{
    atomic_fetch_add(&vpd_of(ibv)->refs, 1);
    return vpd_of(ibv)->number;
}

void verbs_pd_put(struct ibv_pd *ibv)
{
    verbs_unref(&vpd_of(ibv)->refs);
}

struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
    struct vtd *td;

    if (attr != NULL && attr->comp_mask != 0) {
        errno = EINVAL;
        return NULL;
    }
    td = calloc(1, sizeof *td);
    if (td == NULL) return NULL;
    td->ibv.context = context;
    atomic_fetch_add(&vcontext_of(context)->refs, 1);
    return &td->ibv;
}

int verbs_dealloc_td(struct ibv_td *ibv)
{
    struct vtd *td = (struct vtd *)ibv;

    if (atomic_load(&td->refs) > 0) return EBUSY;
    verbs_unref(&vcontext_of(ibv->context)->refs);
    free(td);
    return 0;
}

struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
    const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    struct vpd *pd;

    if (attr->pd == NULL || (attr->comp_mask & ~known)) {
        errno = EINVAL;
        return NULL;
    }
    if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) && (attr->alloc == NULL || attr->free == NULL)) {
        errno = EINVAL;
        return NULL;
    }
    pd = pd_new(context, vpd_of(attr->pd)->number);
    if (pd == NULL) return NULL;
    if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
        pd->alloc = attr->alloc;
        pd->free = attr->free;
    }
    if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) pd->app = attr->pd_context;
    pd->parent = vpd_of(attr->pd);
    atomic_fetch_add(&pd->parent->refs, 1);
    if (attr->td != NULL) {
        pd->td = (struct vtd *)attr->td;
        atomic_fetch_add(&pd->td->refs, 1);
    }
    return &pd->ibv;
}

struct ibv_pd *verbs_import_pd(struct ibv_context *context, struct vpd *original)
{
    struct vpd *pd = pd_new(context, original->number);

    return pd == NULL ? NULL : &pd->ibv;
}

enum { OBJECT_ALIGN = 64, OBJECT_TYPE = 1 }; /* upper half of the type: the driver, "unknown" */

void *verbs_object_new(struct ibv_pd *ibv, size_t bytes, bool *ret_theirs)
{
    const struct vpd *pd = vpd_of(ibv);
    void *object;

    *ret_theirs = false;
    if (pd == NULL || pd->alloc == NULL) return calloc(1, bytes);
    object = pd->alloc(ibv, pd->app, bytes, OBJECT_ALIGN, OBJECT_TYPE);
    if (object == IBV_ALLOCATOR_USE_DEFAULT) return calloc(1, bytes);
    *ret_theirs = object != NULL;
    return object == NULL ? NULL : memset(object, 0, bytes);
}

void verbs_object_free(struct ibv_pd *ibv, void *object, bool theirs)
{
    const struct vpd *pd = vpd_of(ibv);

    if (theirs)
        pd->free(ibv, pd->app, object, OBJECT_TYPE);
    else
        free(object);
}
