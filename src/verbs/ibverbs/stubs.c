/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols that must exist so that others load beside us.
 *
 * Drivers (libmlx5, libefa ...) are linked against rdma-core's private symbols and resolve them when they
 * are loaded: here they find functions that register nothing and answer EOPNOTSUPP.  Programs linked
 * before 2007 (IBVERBS_1.0) know other structures: they find no devices.  Structures of the kernel's ABI
 * are copied for rdma-core's own librdmacm alone, which does not work without a kernel.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs/ibverbs/stubs.h"

#pragma GCC visibility push(default)

#define X(name)                                                                                                        \
    int name(void);                                                                                                    \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        return EOPNOTSUPP;                                                                                             \
    }
PRIVATE_INT(X)
#undef X

#define X(name)                                                                                                        \
    void *name(void);                                                                                                  \
    void *name(void)                                                                                                   \
    {                                                                                                                  \
        errno = EOPNOTSUPP;                                                                                            \
        return NULL;                                                                                                   \
    }
PRIVATE_NULL(X)
#undef X

#define X(name)                                                                                                        \
    void name(void);                                                                                                   \
    void name(void)                                                                                                    \
    {                                                                                                                  \
    }
PRIVATE_VOID(X)
X(verbs_register_driver_34)
X(ibv_copy_ah_attr_from_kern)
X(ibv_copy_path_rec_from_kern)
X(ibv_copy_path_rec_to_kern)
X(ibv_copy_qp_attr_from_kern)
#undef X

unsigned __ioctl_final_num_attrs(unsigned attrs, void *link);
unsigned __ioctl_final_num_attrs(unsigned attrs, void *link)
{
    (void)link;
    return attrs;
}

extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy = false;

/* Memory is never pinned: ranges may be forked as they are. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dontfork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}
int ibv_dofork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}

/* The oldest interface: name, and what its callers get. */
#define OLD(name, version) __asm__(".symver verbs_old_" #name ", " #name "@" version)
#define OLD_NULL(name)                                                                                                 \
    void *verbs_old_##name(void);                                                                                      \
    void *verbs_old_##name(void)                                                                                       \
    {                                                                                                                  \
        errno = EOPNOTSUPP;                                                                                            \
        return NULL;                                                                                                   \
    }                                                                                                                  \
    OLD(name, "IBVERBS_1.0")
#define OLD_INT(name)                                                                                                  \
    int verbs_old_##name(void);                                                                                        \
    int verbs_old_##name(void)                                                                                         \
    {                                                                                                                  \
        return EOPNOTSUPP;                                                                                             \
    }                                                                                                                  \
    OLD(name, "IBVERBS_1.0")

OLD_INT(ibv_ack_async_event);
OLD_INT(ibv_ack_cq_events);
OLD_NULL(ibv_alloc_pd);
OLD_INT(ibv_attach_mcast);
OLD_INT(ibv_close_device);
OLD_NULL(ibv_create_ah);
OLD_NULL(ibv_create_cq);
OLD_NULL(ibv_create_qp);
OLD_NULL(ibv_create_srq);
OLD_INT(ibv_dealloc_pd);
OLD_INT(ibv_dereg_mr);
OLD_INT(ibv_destroy_ah);
OLD_INT(ibv_destroy_cq);
OLD_INT(ibv_destroy_qp);
OLD_INT(ibv_destroy_srq);
OLD_INT(ibv_detach_mcast);
OLD_INT(ibv_free_device_list);
OLD_INT(ibv_get_async_event);
OLD_INT(ibv_get_cq_event);
OLD_INT(ibv_get_device_guid);
OLD_NULL(ibv_get_device_list);
OLD_NULL(ibv_get_device_name);
OLD_INT(ibv_modify_qp);
OLD_INT(ibv_modify_srq);
OLD_NULL(ibv_open_device);
OLD_INT(ibv_query_device);
OLD_INT(ibv_query_gid);
OLD_INT(ibv_query_pkey);
OLD_INT(ibv_query_port);
OLD_INT(ibv_query_qp);
OLD_INT(ibv_query_srq);
OLD_NULL(ibv_reg_mr);
OLD_INT(ibv_resize_cq);

void verbs_old_ibv_register_driver(void);
void verbs_old_ibv_register_driver(void)
{
}
OLD(ibv_register_driver, "IBVERBS_1.1");

#pragma GCC visibility pop
