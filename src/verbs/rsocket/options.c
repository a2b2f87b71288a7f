/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and options of rsockets.
 *
 * Sizes of buffers and queues are accepted and remembered, but the slots are fixed: programs set them for speed, not
 * for meaning.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>

#include "verbs/rsocket/rsocket_int.h"

static int copy_name(const struct sockaddr *from, struct sockaddr *address, socklen_t *bytes)
{
    socklen_t have = from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    memcpy(address, from, *bytes < have ? *bytes : have);
    *bytes = have;
    return 0;
}

int rgetpeername(int fd, struct sockaddr *address, socklen_t *bytes)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return getpeername(fd, address, bytes);
    if (rs->state < RS_CONNECTING) return rs_fail(ENOTCONN);
    return copy_name(rdma_get_peer_addr(rs->id), address, bytes);
}

int rgetsockname(int fd, struct sockaddr *address, socklen_t *bytes)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return getsockname(fd, address, bytes);
    return copy_name(rdma_get_local_addr(rs->id), address, bytes);
}

/* Where an option's number is kept; NULL: not an option of ours. */
static int *edge_of(struct rs *rs, int level, int name)
{
    if (level == SOL_SOCKET && name == SO_REUSEADDR) return &rs->reuse;
    if (level == SOL_SOCKET && name == SO_KEEPALIVE) return &rs->keep_alive;
    if (level == SOL_SOCKET && name == SO_SNDBUF) return &rs->send_bytes;
    if (level == SOL_SOCKET && name == SO_RCVBUF) return &rs->recv_bytes;
    if (level == IPPROTO_TCP && name == TCP_NODELAY) return &rs->no_delay;
    if (level == SOL_RDMA && name == RDMA_SQSIZE) return &rs->sq_entries;
    if (level == SOL_RDMA && name == RDMA_RQSIZE) return &rs->rq_entries;
    if (level == SOL_RDMA && name == RDMA_INLINE) return &rs->inline_bytes;
    if (level == SOL_RDMA && name == RDMA_IOMAPSIZE) return &rs->map_limit;
    return NULL;
}

int rsetsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    struct rs *rs = rs_of(fd);
    int *place, number;

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return level == SOL_RDMA ? 0 : setsockopt(fd, level, name, value, bytes);
    if (level == SOL_SOCKET && name == SO_LINGER) return 0;
    if ((level == IPPROTO_TCP && (name == TCP_MAXSEG || name == TCP_KEEPIDLE)) ||
        (level == IPPROTO_IPV6 && name == IPV6_V6ONLY)) {
        if (level == IPPROTO_IPV6 && bytes == sizeof number) {
            memcpy(&number, value, sizeof number);
            return rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &number, sizeof number);
        }
        return 0;
    }
    place = edge_of(rs, level, name);
    if (place == NULL) return rs_fail(ENOPROTOOPT);
    if (bytes < sizeof number || value == NULL) return rs_fail(EINVAL);
    memcpy(&number, value, sizeof number);
    if (number < 0) return rs_fail(EINVAL);
    *place = number;
    return 0;
}

int rgetsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
    struct rs *rs = rs_of(fd);
    int *place, number;

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return getsockopt(fd, level, name, value, bytes);
    place = edge_of(rs, level, name);
    if (level == SOL_SOCKET && name == SO_ERROR) {
        pthread_mutex_lock(&rs->lock);
        rs_progress(rs);
        number = rs->error;
        rs->error = 0;
        pthread_mutex_unlock(&rs->lock);
    } else if (level == SOL_SOCKET && name == SO_TYPE) {
        number = rs->type;
    } else if (place != NULL) {
        number = *place;
    } else {
        return rs_fail(ENOPROTOOPT);
    }
    if (*bytes < sizeof number) return rs_fail(EINVAL);
    memcpy(value, &number, sizeof number);
    *bytes = sizeof number;
    return 0;
}

int rfcntl(int fd, int command, ...)
{
    struct rs *rs = rs_of(fd);
    va_list args;
    int argument;

    if (rs == NULL) return -1;
    va_start(args, command);
    argument = va_arg(args, int);
    va_end(args);
    if (rs->type == SOCK_DGRAM) return fcntl(fd, command, argument);
    switch (command) {
    case F_GETFL:
        return O_RDWR | (rs->nonblocking ? O_NONBLOCK : 0);
    case F_SETFL:
        rs->nonblocking = argument & O_NONBLOCK;
        return 0;
    case F_GETFD:
    case F_SETFD:
        return fcntl(fd, command, argument);
    default:
        return rs_fail(EINVAL);
    }
}
