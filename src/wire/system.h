/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of our own, past whoever stands before libc.
 *
 * A program may have a library preloaded that makes rsockets of its sockets (rdma-core's librspreload), and rsockets
 * are made of ours.  A socket that was made by the kernel itself is none that such a library knows, so it leaves all
 * calls on it to libc.
 */
#ifndef ROCELAB_WIRE_SYSTEM_H
#define ROCELAB_WIRE_SYSTEM_H

#include <sys/syscall.h>
#include <unistd.h>

static inline int system_socket(int family, int type, int protocol)
{
    return (int)syscall(SYS_socket, family, type, protocol);
}

#endif
