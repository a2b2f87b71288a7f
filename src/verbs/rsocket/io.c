/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing rsockets, and memory that the peer may write directly (riomap, riowrite).
 *
 * A blocking write returns when all bytes are in send slots, as a socket's does when they are in its buffer.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket_int.h"

static int not_connected(const struct rs *rs)
{
    return rs->state == RS_NEW || rs->state == RS_BOUND || rs->state == RS_LISTENING;
}

ssize_t rrecv(int fd, void *data, size_t bytes, int flags)
{
    struct rs *rs = rs_of(fd);
    size_t done = 0;
    ssize_t answer;
    bool wait;

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return recv(fd, data, bytes, flags);
    wait = !rs->nonblocking && !(flags & MSG_DONTWAIT);
    pthread_mutex_lock(&rs->lock);
    if (not_connected(rs)) {
        pthread_mutex_unlock(&rs->lock);
        return rs_fail(ENOTCONN);
    }
    errno = EAGAIN;
    do {
        if (!rs_wait(rs, rs_readable, wait ? -1 : 0) || rs->filled_count == 0) break;
        done += rs_pull(rs, (uint8_t *)data + done, bytes - done, flags & MSG_PEEK);
        rs_progress(rs); /* credits go back */
    } while ((flags & MSG_WAITALL) && !(flags & MSG_PEEK) && done < bytes);
    if (done > 0 || bytes == 0 || rs->peer_shut || rs->shut_read)
        answer = (ssize_t)done;
    else if (rs->state == RS_ENDED || rs->state == RS_FAILED)
        answer = rs->error ? rs_fail(rs->error) : 0;
    else
        answer = -1; /* EAGAIN, or what ended the wait */
    if (answer < 0 && errno != EINTR && rs->state == RS_CONNECTED) errno = EAGAIN;
    pthread_mutex_unlock(&rs->lock);
    return answer;
}

ssize_t rsend(int fd, const void *data, size_t bytes, int flags)
{
    struct rs *rs = rs_of(fd);
    size_t done = 0;
    int error = 0;
    bool wait;

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return send(fd, data, bytes, flags);
    wait = !rs->nonblocking && !(flags & MSG_DONTWAIT);
    pthread_mutex_lock(&rs->lock);
    if (not_connected(rs)) error = ENOTCONN;
    while (error == 0 && done < bytes) {
        errno = EAGAIN;
        if (!rs_wait(rs, rs_writable, wait ? -1 : 0)) {
            error = errno == EINTR ? EINTR : EAGAIN;
        } else if (rs->shut_write || rs->state != RS_CONNECTED) {
            error = rs->error ? rs->error : EPIPE;
        } else {
            size_t now = rs_push(rs, (const uint8_t *)data + done, bytes - done);
            done += now;
            if (now == 0) error = EIO;
        }
    }
    pthread_mutex_unlock(&rs->lock);
    return done > 0 || bytes == 0 ? (ssize_t)done : rs_fail(error);
}

ssize_t rread(int fd, void *data, size_t bytes)
{
    return rrecv(fd, data, bytes, 0);
}

ssize_t rwrite(int fd, const void *data, size_t bytes)
{
    return rsend(fd, data, bytes, 0);
}

ssize_t rrecvfrom(int fd, void *data, size_t bytes, int flags, struct sockaddr *address, socklen_t *address_bytes)
{
    struct rs *rs = rs_of(fd);
    ssize_t done;

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return recvfrom(fd, data, bytes, flags, address, address_bytes);
    done = rrecv(fd, data, bytes, flags);
    if (done > 0 && address != NULL) (void)rgetpeername(fd, address, address_bytes);
    return done;
}

ssize_t rsendto(int fd, const void *data, size_t bytes, int flags, const struct sockaddr *address,
                socklen_t address_bytes)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return sendto(fd, data, bytes, flags, address, address_bytes);
    if (address != NULL || address_bytes != 0) return rs_fail(EISCONN);
    return rsend(fd, data, bytes, flags);
}

/* Piece after piece; the first waits, the others take what is there. */
static ssize_t gather(int fd, const struct iovec *iov, int count, int flags, bool sending)
{
    ssize_t total = 0;

    if (count < 0 || count > IOV_MAX) return rs_fail(EINVAL);
    for (int i = 0; i < count; i++) {
        int now = !sending && total > 0 ? flags | MSG_DONTWAIT : flags;
        ssize_t done = iov[i].iov_len == 0 ? 0
                       : sending           ? rsend(fd, iov[i].iov_base, iov[i].iov_len, now)
                                           : rrecv(fd, iov[i].iov_base, iov[i].iov_len, now);
        if (done < 0) return total > 0 ? total : -1;
        total += done;
        if ((size_t)done < iov[i].iov_len) break;
    }
    return total;
}

ssize_t rreadv(int fd, const struct iovec *iov, int count)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    return rs->type == SOCK_DGRAM ? readv(fd, iov, count) : gather(fd, iov, count, 0, false);
}

ssize_t rwritev(int fd, const struct iovec *iov, int count)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    return rs->type == SOCK_DGRAM ? writev(fd, iov, count) : gather(fd, iov, count, 0, true);
}

ssize_t rrecvmsg(int fd, struct msghdr *msg, int flags)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return recvmsg(fd, msg, flags);
    if (msg->msg_control != NULL && msg->msg_controllen > 0) return rs_fail(EOPNOTSUPP);
    return gather(fd, msg->msg_iov, (int)msg->msg_iovlen, flags, false);
}

ssize_t rsendmsg(int fd, const struct msghdr *msg, int flags)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return sendmsg(fd, msg, flags);
    if (msg->msg_control != NULL && msg->msg_controllen > 0) return rs_fail(EOPNOTSUPP);
    return gather(fd, msg->msg_iov, (int)msg->msg_iovlen, flags, true);
}

off_t riomap(int fd, void *data, size_t bytes, int prot, int flags, off_t offset)
{
    struct rs *rs = rs_of(fd);
    struct rs_map map;
    struct ibv_mr *mr = NULL;
    int error = 0;

    if (rs == NULL) return -1;
    if (rs->type != SOCK_STREAM || rs->id == NULL || rs->id->pd == NULL) return rs_fail(ENOTCONN);
    if (flags != 0 || !(prot & PROT_WRITE)) return rs_fail(EINVAL);
    pthread_mutex_lock(&rs->lock);
    if (rs->maps >= RS_MAPS_MAX || (int)rs->maps >= rs->map_limit) error = ENOMEM;
    if (error == 0) {
        mr = ibv_reg_mr(rs->id->pd, data, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        if (mr == NULL) error = errno;
    }
    if (error == 0) {
        if (offset == -1) offset = (off_t)(uintptr_t)data;
        map = (struct rs_map){.offset = (uint64_t)offset, .address = (uintptr_t)data, .length = bytes, .key = mr->rkey};
        if (!rs_wait(rs, rs_control_fits, -1) || rs_control(rs, RS_MAP, &map) < 0) error = ENOTCONN;
    }
    if (error == 0) {
        rs->map[rs->maps].mr = mr;
        rs->map[rs->maps++].offset = (uint64_t)offset;
    } else if (mr != NULL) {
        (void)ibv_dereg_mr(mr);
    }
    pthread_mutex_unlock(&rs->lock);
    return error ? rs_fail(error) : offset;
}

int riounmap(int fd, void *data, size_t bytes)
{
    struct rs *rs = rs_of(fd);
    int error = EINVAL;

    if (rs == NULL) return -1;
    pthread_mutex_lock(&rs->lock);
    for (unsigned i = 0; i < rs->maps; i++) {
        struct rs_map map = {.offset = rs->map[i].offset};
        if (rs->map[i].mr->addr != data || rs->map[i].mr->length != bytes) continue;
        (void)rs_control(rs, RS_UNMAP, &map); /* the key is void either way */
        (void)ibv_dereg_mr(rs->map[i].mr);
        rs->map[i] = rs->map[--rs->maps];
        error = 0;
        break;
    }
    pthread_mutex_unlock(&rs->lock);
    return error ? rs_fail(error) : 0;
}

static const struct rs_map *find_map(const struct rs *rs, uint64_t offset)
{
    for (unsigned i = 0; i < rs->peer_maps; i++)
        if (offset >= rs->peer_map[i].offset && offset - rs->peer_map[i].offset < rs->peer_map[i].length)
            return &rs->peer_map[i];
    return NULL;
}

static bool slot_free(const struct rs *rs)
{
    return rs->state == RS_ENDED || rs->state == RS_FAILED ||
           (rs->state == RS_CONNECTED && rs->sent - rs->sent_done < RS_SLOTS);
}

size_t riowrite(int fd, const void *data, size_t bytes, off_t offset, int flags)
{
    struct rs *rs = rs_of(fd);
    size_t done = 0;

    if (rs == NULL) return (size_t)-1;
    if (rs->type != SOCK_STREAM) return (size_t)rs_fail(EOPNOTSUPP);
    pthread_mutex_lock(&rs->lock);
    errno = EAGAIN;
    while (done < bytes && rs_wait(rs, slot_free, rs->nonblocking || (flags & MSG_DONTWAIT) ? 0 : -1)) {
        const struct rs_map *map = find_map(rs, (uint64_t)offset + done);
        uint64_t into = map == NULL ? 0 : (uint64_t)offset + done - map->offset;
        size_t now = bytes - done < RS_SLOT_BYTES ? bytes - done : RS_SLOT_BYTES;

        errno = EINVAL;
        if (map == NULL) break;
        if (now > map->length - into) now = (size_t)(map->length - into);
        errno = ENOTCONN;
        if (rs_write(rs, (const uint8_t *)data + done, (uint32_t)now, map->address + into, map->key) < 0) break;
        done += now;
        errno = EAGAIN;
    }
    pthread_mutex_unlock(&rs->lock);
    return done > 0 || bytes == 0 ? done : (size_t)-1;
}
