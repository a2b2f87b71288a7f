/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory regions and windows.
 *
 * Registering copies nothing and pins nothing: the device remembers the range and looks at it when bytes
 * move.  That memory is there at registration is checked all the same, since programs count on EFAULT.
 * On-demand paging is what every region has here, yet programs that ask for it expect the faults to be
 * reported: refused.  dma-buf: EOPNOTSUPP.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ACCESS_OPTIONAL 0x3ff00000u /* may be ignored: relaxed ordering and its kin */
#define ACCESS_KNOWN                                                                                                   \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |            \
     IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB)

uint32_t verbs_live_access(unsigned access)
{
    return (access & IBV_ACCESS_REMOTE_WRITE ? NIC_REMOTE_WRITE : 0) |
           (access & IBV_ACCESS_REMOTE_READ ? NIC_REMOTE_READ : 0) |
           (access & IBV_ACCESS_REMOTE_ATOMIC ? NIC_REMOTE_ATOMIC : 0) |
           (access & IBV_ACCESS_LOCAL_WRITE ? DEVICE_LOCAL_WRITE : 0) |
           (access & IBV_ACCESS_MW_BIND ? DEVICE_MW_BIND : 0) |
           (access & IBV_ACCESS_ZERO_BASED ? DEVICE_ZERO_BASED : 0);
}

static int access_check(unsigned access)
{
    access &= ~ACCESS_OPTIONAL;
    if (access & ~(unsigned)ACCESS_KNOWN) return EINVAL;
    if (access & IBV_ACCESS_ON_DEMAND) return verbs_missing(MISSING_PAGING);
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    return 0;
}

/* EFAULT where a page of the range is not mapped.  Very long ranges: their ends only, for the sake of time. */
static int range_check(const void *addr, size_t length)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)addr & ~(page - 1), to = ((uintptr_t)addr + length + page - 1) & ~(page - 1);
    unsigned char in_core[4096];

    if (length == 0 || length > LIMIT_MR_BYTES || (uintptr_t)addr + length < (uintptr_t)addr || to < from)
        return EINVAL;
    while (from < to) {
        uintptr_t bytes = to - from < sizeof in_core * page ? to - from : sizeof in_core * page;

        if (mincore((void *)from, bytes, in_core) != 0) return errno == ENOMEM ? EFAULT : errno;
        from += bytes;
        if (length > 1u << 30 && from < to - page) from = to - page;
    }
    return 0;
}

struct ibv_mr *verbs_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
    struct vmr *mr = NULL;
    int error = access_check(access);

    if (error == 0 && (mr = calloc(1, sizeof *mr)) == NULL) error = ENOMEM;
    if (error == 0) {
        if (access & IBV_ACCESS_ZERO_BASED) iova = 0;
        error = -device_mr_create(live_of(pd->context), verbs_pd_number(pd), addr, length, iova,
                                  verbs_live_access(access), &mr->live);
        if (error) verbs_pd_put(pd);
    }
    if (error) {
        free(mr);
        errno = error;
        return NULL;
    }
    mr->access = access;
    mr->ibv.context = pd->context;
    mr->ibv.pd = pd;
    mr->ibv.addr = addr;
    mr->ibv.length = length;
    mr->ibv.lkey = mr->ibv.rkey = mr->ibv.handle = device_mr_key(mr->live);
    verbs_share(&mr->share, SHARE_MR, live_of(pd->context), mr->ibv.handle);
    return &mr->ibv;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
    int error = access_check(access);

    if (error == 0) error = range_check(addr, length);
    if (error == 0) return verbs_reg_mr(pd, addr, length, iova, access);
    errno = error;
    return NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return reg_mr(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
    return reg_mr(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
    return reg_mr(pd, addr, length, iova, access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
    (void)pd, (void)offset, (void)length, (void)iova, (void)access;
    errno = fd < 0 ? EOPNOTSUPP : verbs_missing(MISSING_DMABUF);
    return NULL;
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
    struct vmr *mr = vmr_of(ibv);
    const bool move = flags & IBV_REREG_MR_CHANGE_TRANSLATION, domain = flags & IBV_REREG_MR_CHANGE_PD,
               rights = flags & IBV_REREG_MR_CHANGE_ACCESS;
    uint32_t number, live_access = verbs_live_access((unsigned)access);
    int error = 0;

    if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) || (domain && pd == NULL) ||
        (move && (addr == NULL || length == 0)))
        error = EINVAL;
    else if (mr->imported || mr->dm != NULL)
        error = EOPNOTSUPP;
    if (error == 0 && rights) error = access_check((unsigned)access);
    if (error == 0 && move) error = range_check(addr, length);
    if (error) {
        errno = error;
        return IBV_REREG_MR_ERR_INPUT;
    }
    number = domain ? verbs_pd_number(pd) : 0;
    error =
        -device_mr_change(mr->live, domain ? &number : NULL, move ? &addr : NULL, length, rights ? &live_access : NULL);
    if (error) {
        if (domain) verbs_pd_put(pd);
        errno = error;
        return error == EINVAL || error == EBUSY ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD;
    }
    if (domain) {
        verbs_pd_put(ibv->pd);
        ibv->pd = pd;
    }
    if (move) {
        ibv->addr = addr;
        ibv->length = length;
    }
    if (rights) mr->access = (unsigned)access;
    ibv->lkey = ibv->rkey = device_mr_key(mr->live);
    return 0;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
    struct vmr *mr = vmr_of(ibv);

    int error = mr->imported ? 0 : -device_mr_destroy(mr->live);

    if (error) {
        errno = error;
        return error;
    }
    verbs_unshare(&mr->share);
    if (mr->dm != NULL) verbs_unref(&mr->dm->refs);
    verbs_pd_put(ibv->pd);
    free(mr);
    return 0;
}

int verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sge,
                    uint32_t sges)
{
    (void)pd, (void)advice, (void)flags, (void)sge, (void)sges;
    return EOPNOTSUPP; /* advice is for on-demand paging */
}

struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct vmw *mw = NULL;
    int error = type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2 ? 0 : EINVAL;

    if (error == 0 && (mw = calloc(1, sizeof *mw)) == NULL) error = ENOMEM;
    if (error == 0) {
        error = -device_mw_create(live_of(pd->context), verbs_pd_number(pd), (int)type, &mw->live);
        if (error) verbs_pd_put(pd);
    }
    if (error) {
        free(mw);
        errno = error;
        return NULL;
    }
    mw->ibv.context = pd->context;
    mw->ibv.pd = pd;
    mw->ibv.rkey = mw->ibv.handle = device_mw_key(mw->live);
    mw->ibv.type = type;
    return &mw->ibv;
}

int verbs_dealloc_mw(struct ibv_mw *ibv)
{
    int error = -device_mw_destroy(vmw_of(ibv)->live);

    if (error) return error;
    verbs_pd_put(ibv->pd);
    free(vmw_of(ibv));
    return 0;
}
