/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rdma-core's librdmacm has beyond version 44, by the names of its version 65: so that programs built against it
 * start.  Names are not resolved by a subnet manager here, and rsockets cannot be in an epoll set.
 */
#include <errno.h>

#pragma GCC visibility push(default)

#define X(name)                                                                                                        \
    int name(void);                                                                                                    \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        errno = EOPNOTSUPP;                                                                                            \
        return -1;                                                                                                     \
    }
X(rdma_query_addrinfo)
X(rdma_resolve_addrinfo)
X(rdma_write_cm_event)
X(repoll_create)
X(repoll_ctl)
X(repoll_wait)
#undef X

#pragma GCC visibility pop
