/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading from and writing to descriptors that can keep somebody waiting.
 *
 * A read waits until there is something, then reads.  A write is cut into what there is room for, since a kernel that
 * waits for room would keep the turn and nobody could make any.  Files never wait and go straight to libc.
 *
 * What was written to a socket is taken by the fabric when it gets the turn: that happens at once, so that it leaves
 * by the clock of who wrote it.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "attach/streams.h"
#include "attach/waits/waits.h"

#define PARTS 1024u            /* of a vector, as the kernel has it */
#define ROOM_LOOK_PS 10000000u /* who reads from a socket does not say so */

/* When a call on this socket gives up; UINT64_MAX: never, or it is no socket. */
static uint64_t socket_deadline(int fd, int option)
{
    struct timeval timeout = {0, 0};
    socklen_t bytes = sizeof timeout;
    struct timespec span;

    if (RAW(SYS_getsockopt, fd, SOL_SOCKET, option, &timeout, &bytes, 0) < 0) return UINT64_MAX;
    if (timeout.tv_sec == 0 && timeout.tv_usec == 0) return UINT64_MAX;
    span = (struct timespec){timeout.tv_sec, timeout.tv_usec * 1000};
    return clock_after(&span);
}

static bool is_ready(int fd, short events)
{
    struct pollfd wanted = {fd, events, 0};
    struct timespec none = {0, 0};

    return RAW_LOOK(SYS_ppoll, &wanted, 1, &none, NULL, 8, 0) > 0;
}

/* 0: the call may be made and does not wait (or is not to); -errno is its answer. */
static int await(int fd, short events, bool waits, uint64_t until)
{
    int error;

    if (!waits) {
        if (is_ready(fd, events))
            wait_found();
        else
            wait_found_nothing();
        return 0;
    }
    do
        error = wait_ready(fd, events, until);
    while (error == -EINTR && turn_restarts());
    if (error == -EIO) return 0;
    return error == -ETIMEDOUT ? -EAGAIN : error;
}

static int await_input(int fd, int flags)
{
    bool waits = !(flags & MSG_DONTWAIT) && wait_would_block(fd);

    return await(fd, POLLIN, waits, waits ? socket_deadline(fd, SO_RCVTIMEO) : 0);
}

static bool waitable(int fd)
{
    return managed() && wait_is_waitable(fd);
}

static bool is_pipe(int fd)
{
    struct stat about;

    return RAW(SYS_newfstatat, fd, "", &about, AT_EMPTY_PATH, 0, 0) == 0 && S_ISFIFO(about.st_mode);
}

/* What was read has made room; who waits for that in a pipe looks again. */
static ssize_t has_read(int fd, ssize_t bytes)
{
    int before = errno;

    if (bytes > 0 && is_pipe(fd)) turn_touched(ATTACH_TOUCHED_HOST);
    errno = before;
    return bytes;
}

/* --- reading --- */

EXPORT ssize_t read(int fd, void *to, size_t bytes)
{
    int error;

    if (!waitable(fd) || bytes == 0) return REAL(read)(fd, to, bytes);
    error = await_input(fd, 0);
    return error < 0 ? as_libc(error) : has_read(fd, REAL(read)(fd, to, bytes));
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
    int error;

    if (!waitable(fd)) return REAL(readv)(fd, parts, count);
    error = await_input(fd, 0);
    return error < 0 ? as_libc(error) : has_read(fd, REAL(readv)(fd, parts, count));
}

static ssize_t receive_named(int fd, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *room)
{
    struct iovec part = {to, bytes};
    struct msghdr message = {.msg_name = from, .msg_namelen = *room, .msg_iov = &part, .msg_iovlen = 1};
    ssize_t got = recvmsg(fd, &message, flags);

    if (got >= 0) *room = message.msg_namelen;
    return got;
}

EXPORT ssize_t recvfrom(int fd, void *restrict to, size_t bytes, int flags, __SOCKADDR_ARG from,
                        socklen_t *restrict room)
{
    bool all = flags & MSG_WAITALL && !(flags & (MSG_DONTWAIT | MSG_PEEK));
    size_t done = 0;
    ssize_t got;

    if (from.__sockaddr__ != NULL && room != NULL) return receive_named(fd, to, bytes, flags, from.__sockaddr__, room);
    if (!waitable(fd)) return REAL(recvfrom)(fd, to, bytes, flags, from, room);
    do {
        int error = await_input(fd, flags);

        got = error < 0 ? as_libc(error)
                        : REAL(recvfrom)(fd, (uint8_t *)to + done, bytes - done, flags & ~MSG_WAITALL, from, room);
        if (got > 0) done += (size_t)got;
    } while (all && got > 0 && done < bytes && wait_would_block(fd));
    return done > 0 ? (ssize_t)done : got;
}

EXPORT ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    return waitable(fd) ? recvfrom(fd, to, bytes, flags, NULL, NULL) : REAL(recv)(fd, to, bytes, flags);
}

/* Leaves out of a vector what was transferred; how many parts are left. */
static size_t advance(struct iovec *parts, size_t count, size_t bytes)
{
    size_t first = 0;

    while (first < count && bytes >= parts[first].iov_len)
        bytes -= parts[first++].iov_len;
    if (first < count) {
        parts[first].iov_base = (uint8_t *)parts[first].iov_base + bytes;
        parts[first].iov_len -= bytes;
    }
    memmove(parts, parts + first, (count - first) * sizeof *parts);
    return count - first;
}

/* The rest of a message that was to come whole; its head and control data have come with the first of it. */
static ssize_t receive_rest(int fd, const struct msghdr *message, size_t done, int flags)
{
    struct iovec parts[PARTS];
    struct msghdr rest = {.msg_iov = parts};

    if (message->msg_iovlen > PARTS) return (ssize_t)done;
    memcpy(parts, message->msg_iov, message->msg_iovlen * sizeof *parts);
    rest.msg_iovlen = advance(parts, message->msg_iovlen, done);
    while (rest.msg_iovlen > 0 && await_input(fd, flags) == 0) {
        ssize_t got = REAL(recvmsg)(fd, &rest, flags);

        if (got <= 0) break;
        done += (size_t)got;
        rest.msg_iovlen = advance(parts, rest.msg_iovlen, (size_t)got);
    }
    return (ssize_t)done;
}

static ssize_t receive_message(int fd, struct msghdr *message, int flags)
{
    bool all = flags & MSG_WAITALL && !(flags & (MSG_DONTWAIT | MSG_PEEK));
    ssize_t got;
    int error;

    if (!waitable(fd)) return REAL(recvmsg)(fd, message, flags);
    error = await_input(fd, flags);
    if (error < 0) return as_libc(error);
    got = REAL(recvmsg)(fd, message, flags & ~MSG_WAITALL);
    if (!all || got <= 0 || !wait_would_block(fd)) return got;
    return receive_rest(fd, message, (size_t)got, flags & ~MSG_WAITALL);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    socklen_t room = message->msg_namelen;
    ssize_t got = receive_message(fd, message, flags);
    int before = errno;

    if (got >= 0 && message->msg_name != NULL && datagram_from(fd, flags, message->msg_name, &room))
        message->msg_namelen = room;
    errno = before;
    return got;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    uint32_t number;
    int error;

    if (!waitable(fd)) return REAL(recvmmsg)(fd, messages, count, flags, timeout);
    if (count > 0 && messages[0].msg_hdr.msg_name != NULL && stream_number(fd, &number)) { /* its sender is asked for */
        ssize_t got = recvmsg(fd, &messages[0].msg_hdr, flags);

        if (got >= 0) messages[0].msg_len = (unsigned)got;
        return got < 0 ? -1 : 1;
    }
    error = flags & MSG_DONTWAIT || !wait_would_block(fd) ? await(fd, POLLIN, false, 0)
                                                          : await(fd, POLLIN, true, clock_after(timeout));
    return error < 0 ? (int)as_libc(error) : REAL(recvmmsg)(fd, messages, count, flags | MSG_DONTWAIT, NULL);
}

extern EXPORT ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room)
{
    if (bytes > room) abort();
    return read(fd, to, bytes);
}

extern EXPORT ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags)
{
    if (bytes > room) abort();
    return recv(fd, to, bytes, flags);
}

extern EXPORT ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags, struct sockaddr *from,
                                     socklen_t *from_room);
ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags, struct sockaddr *from,
                       socklen_t *from_room)
{
    if (bytes > room) abort();
    return recvfrom(fd, to, bytes, flags, from, from_room);
}

/* --- writing --- */

static size_t total(const struct iovec *parts, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

/* The fabric takes what was written, and others look again. */
static void has_written(void)
{
    int before = errno;

    turn_touched(ATTACH_TOUCHED_HOST);
    if (turn_enter() == 0) {
        turn_sync();
        turn_leave();
    }
    errno = before;
}

/* Until there is room.  The fabric makes some when it takes what is there, a reader some day. */
static int await_room(int fd, uint64_t until)
{
    int error;

    do {
        uint64_t look = turn_now() + ROOM_LOOK_PS;

        error = wait_ready(fd, POLLOUT, look < until ? look : until);
    } while ((error == -ETIMEDOUT && turn_now() < until) || (error == -EINTR && turn_restarts()));
    return error == -ETIMEDOUT ? -EAGAIN : error == -EIO ? 0 : error;
}

/* A result, or -errno if nothing was sent. */
static ssize_t send_parts(int fd, struct msghdr *message, int flags)
{
    bool waits = !(flags & MSG_DONTWAIT) && wait_would_block(fd);
    size_t left = total(message->msg_iov, message->msg_iovlen), done = 0;
    uint64_t until = UINT64_MAX;

    if (waits) until = socket_deadline(fd, SO_SNDTIMEO);
    for (;;) {
        long sent = RAW(SYS_sendmsg, fd, message, flags | MSG_DONTWAIT, 0, 0, 0);

        if (sent >= 0) {
            done += (size_t)sent;
            if (done >= left || !waits) break;
            message->msg_iovlen = advance(message->msg_iov, message->msg_iovlen, (size_t)sent);
            message->msg_control = NULL;
            message->msg_controllen = 0;
        } else if (sent == -EAGAIN && waits) {
            int error;

            has_written(); /* the fabric empties it */
            error = is_ready(fd, POLLOUT) ? 0 : await_room(fd, until);
            if (error < 0) return done > 0 ? (ssize_t)done : error;
        } else if (sent == -EAGAIN) {
            wait_found_nothing();
            return done > 0 ? (ssize_t)done : sent;
        } else {
            return done > 0 ? (ssize_t)done : sent;
        }
    }
    wait_found();
    has_written();
    return (ssize_t)done;
}

static bool is_socket(int fd)
{
    struct stat about;

    return RAW(SYS_newfstatat, fd, "", &about, AT_EMPTY_PATH, 0, 0) == 0 && S_ISSOCK(about.st_mode);
}

/* A copy of the vector, which send_parts() uses up. */
static ssize_t send_vector(int fd, const struct msghdr *given, int flags)
{
    struct iovec parts[PARTS];
    struct msghdr message = *given;

    if (given->msg_iovlen > PARTS) return as_libc(-EMSGSIZE);
    memcpy(parts, given->msg_iov, given->msg_iovlen * sizeof *parts);
    message.msg_iov = parts;
    return as_libc(send_parts(fd, &message, flags));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct msghdr unnamed = *message;
    int named = DATAGRAM_KERNELS;

    if (message->msg_name != NULL && message->msg_namelen > 0)
        named = datagram_to(fd, message->msg_name, message->msg_namelen);
    if (named < 0) return as_libc(named);
    if (named != DATAGRAM_KERNELS) {
        unnamed.msg_name = NULL;
        unnamed.msg_namelen = 0;
    }
    ssize_t sent = waitable(fd) ? send_vector(fd, &unnamed, flags) : REAL(sendmsg)(fd, &unnamed, flags);
    datagram_sent(named);
    return sent;
}

EXPORT ssize_t sendto(int fd, const void *from, size_t bytes, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_bytes)
{
    struct iovec part = {(void *)(uintptr_t)from, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (to.__sockaddr__ != NULL && to_bytes > 0) {
        message.msg_name = (void *)(uintptr_t)to.__sockaddr__;
        message.msg_namelen = to_bytes;
        return sendmsg(fd, &message, flags);
    }
    if (!waitable(fd)) return REAL(sendto)(fd, from, bytes, flags, to, to_bytes);
    return as_libc(send_parts(fd, &message, flags));
}

EXPORT ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    return waitable(fd) ? sendto(fd, from, bytes, flags, NULL, 0) : REAL(send)(fd, from, bytes, flags);
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    unsigned done = 0;

    if (!waitable(fd)) return REAL(sendmmsg)(fd, messages, count, flags);
    for (; done < count; done++) {
        ssize_t sent = sendmsg(fd, &messages[done].msg_hdr, flags);

        if (sent < 0) break;
        messages[done].msg_len = (unsigned)sent;
    }
    return done > 0 || count == 0 ? (int)done : -1;
}

/* A pipe that poll() finds writable has room for this much, and takes that much whole. */
static ssize_t write_pieces(int fd, const uint8_t *from, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        size_t piece = bytes - done < PIPE_BUF ? bytes - done : PIPE_BUF;
        int error = await_room(fd, UINT64_MAX);
        long wrote = error < 0 ? error : RAW(SYS_write, fd, from + done, piece, 0, 0, 0);

        if (wrote < 0) return done > 0 ? (ssize_t)done : wrote;
        done += (size_t)wrote;
        turn_touched(ATTACH_TOUCHED_HOST);
    }
    return (ssize_t)done;
}

EXPORT ssize_t write(int fd, const void *from, size_t bytes)
{
    ssize_t wrote;

    if (!waitable(fd) || bytes == 0) return REAL(write)(fd, from, bytes);
    if (is_socket(fd)) return sendto(fd, from, bytes, 0, NULL, 0);
    wait_sync();
    if (wait_would_block(fd)) return as_libc(write_pieces(fd, from, bytes));
    wrote = REAL(write)(fd, from, bytes);
    if (wrote > 0) turn_touched(ATTACH_TOUCHED_HOST);
    return wrote;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)count};
    ssize_t done = 0;

    if (!waitable(fd) || count < 0) return REAL(writev)(fd, parts, count);
    if (is_socket(fd)) return send_vector(fd, &message, 0);
    wait_sync();
    if (!wait_would_block(fd) || total(parts, (size_t)count) <= PIPE_BUF) {
        int error = wait_would_block(fd) ? await_room(fd, UINT64_MAX) : 0;

        done = error < 0 ? as_libc(error) : REAL(writev)(fd, parts, count);
        if (done > 0) turn_touched(ATTACH_TOUCHED_HOST);
        return done;
    }
    for (int i = 0; i < count; i++) {
        ssize_t wrote = write_pieces(fd, parts[i].iov_base, parts[i].iov_len);

        if (wrote < 0) return done > 0 ? done : as_libc(wrote);
        done += wrote;
        if ((size_t)wrote < parts[i].iov_len) break;
    }
    return done;
}
