/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rdma-core's libibverbs has beyond version 44, by the names and layouts of its version 65.
 *
 * A program built against a newer rdma-core does not start where one of its symbols is missing.  Registering
 * by attributes, buffers and the port's speed have a meaning here.  The rest answers EOPNOTSUPP, which such programs
 * meet on most adapters.  The headers this is compiled with do not know these types: they are declared here,
 * and verbs.h is not included so that newer headers do no harm.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#pragma GCC visibility push(default)

struct ibv_context;
struct ibv_pd;
struct ibv_mr;

enum { MASK_IOVA = 1, MASK_ADDR = 2, MASK_FD = 4, MASK_BUF = 32 };

struct ibv_buf {
    void *addr;
    size_t bytes;
};

struct ibv_mr_init_attr {
    size_t length;
    int access;
    uint64_t comp_mask;
    uint64_t iova;
    void *addr;
    int fd;
    uint64_t fd_offset;
    void *dmah;
    struct ibv_buf *buf;
};

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access);
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access);
int verbs_port_speed(struct ibv_context *context, uint32_t port, uint64_t *ret); /* query.c */

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
    if (attr->comp_mask & MASK_FD)
        return ibv_reg_dmabuf_mr(pd, attr->fd_offset, attr->length, attr->iova, attr->fd, attr->access);
    if (attr->comp_mask & ~(uint64_t)(MASK_IOVA | MASK_ADDR | MASK_BUF)) {
        errno = EOPNOTSUPP; /* hints for caches */
        return NULL;
    }
    if (!(attr->comp_mask & MASK_ADDR)) {
        errno = EINVAL;
        return NULL;
    }
    return ibv_reg_mr_iova2(pd, attr->addr, attr->length,
                            attr->comp_mask & MASK_IOVA ? attr->iova : (uintptr_t)attr->addr, (unsigned)attr->access);
}

void *ibv_alloc_buf(struct ibv_pd *pd, size_t bytes, struct ibv_buf **ret);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t bytes, struct ibv_buf **ret)
{
    struct ibv_buf *buf = bytes > 0 && ret != NULL ? calloc(1, sizeof *buf) : NULL;

    (void)pd;
    if (buf == NULL || posix_memalign(&buf->addr, (size_t)sysconf(_SC_PAGESIZE), bytes) != 0) {
        errno = bytes > 0 && ret != NULL ? ENOMEM : EINVAL;
        free(buf);
        return NULL;
    }
    buf->bytes = bytes;
    *ret = buf;
    return buf->addr;
}

void ibv_free_buf(struct ibv_buf *buf);
void ibv_free_buf(struct ibv_buf *buf)
{
    if (buf != NULL) free(buf->addr);
    free(buf);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t bytes, int access);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t bytes, int access)
{
    struct ibv_mr_init_attr attr = {.length = bytes, .access = access, .comp_mask = MASK_ADDR, .addr = addr};

    if (buf == NULL || (uintptr_t)addr < (uintptr_t)buf->addr || bytes > buf->bytes ||
        (uintptr_t)addr - (uintptr_t)buf->addr > buf->bytes - bytes) {
        errno = EINVAL;
        return NULL;
    }
    return ibv_reg_mr_ex(pd, &attr);
}

/* In units of 100 Mb/s. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *ret);
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *ret)
{
    return verbs_port_speed(context, port, ret);
}

/* -1 and errno, for those that answer a descriptor. */
#define X(name, error)                                                                                                 \
    int name(void);                                                                                                    \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        errno = error;                                                                                                 \
        return -1;                                                                                                     \
    }
X(ibv_dm_export_dmabuf_fd, EOPNOTSUPP)
X(ibv_export_buf_dmabuf_fd, ENODATA)
#undef X

#define X(name)                                                                                                        \
    void *name(void);                                                                                                  \
    void *name(void)                                                                                                   \
    {                                                                                                                  \
        errno = EOPNOTSUPP;                                                                                            \
        return NULL;                                                                                                   \
    }
X(ibv_alloc_dmah)
X(ibv_create_comp_cntr)
#undef X

#define X(name)                                                                                                        \
    int name(void);                                                                                                    \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        errno = EOPNOTSUPP;                                                                                            \
        return EOPNOTSUPP;                                                                                             \
    }
X(_ibv_query_comp_cntr_caps)
X(ibv_dealloc_dmah)
X(ibv_destroy_comp_cntr)
X(ibv_inc_comp_cntr)
X(ibv_inc_err_comp_cntr)
X(ibv_qp_attach_comp_cntr)
X(ibv_read_comp_cntr)
X(ibv_read_err_comp_cntr)
X(ibv_set_comp_cntr)
X(ibv_set_err_comp_cntr)
#undef X

#pragma GCC visibility pop
