/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets between programs of the fabric: made, named, connected, accepted.
 *
 * A socket is one end of a pair from the beginning; the fabric has the other and carries what is written.  So reading,
 * writing, polling, dup, fork, exec and close are the kernel's own and need nothing from here, and there is no table:
 * the kernel's name of the end says which socket it is.  connect() returns when the answer is there, whether the socket
 * may wait or not: a listener answers without its program, so that is a round trip at most.
 *
 * There is no way out: addresses that are not of the fabric are not reachable.  The name that stands beside a datagram
 * goes to the fabric by itself, before what is written and after what is read.
 */
#include "attach/streams.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "attach/waits/waits.h"
#include "packet/codec.h"

#define REAL_LOOK_NS 50000 /* real clock: between two looks whether a connection is there */

void socket_start(void)
{
}

static uint32_t opening; /* real clock: the descriptor that comes is the one that we asked for */

static uint32_t naming; /* the same, from telling where a datagram goes until it is written */

void socket_forked(void)
{
    opening = naming = 0; /* another thread may have had it */
}

/* --- who it is --- */

bool stream_number(int fd, uint32_t *ret)
{
    struct sockaddr_un name;
    socklen_t length = sizeof name;
    unsigned salt, host, number;
    char text[sizeof name.sun_path + 1];

    if (!streams_managed()) return false;
    if (RAW(SYS_getsockname, fd, &name, &length, 0, 0, 0) < 0) return false;
    if (length <= offsetof(struct sockaddr_un, sun_path) + 1 || length > sizeof name) return false;
    if (name.sun_family != AF_UNIX || name.sun_path[0] != '\0') return false;
    length -= (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
    memcpy(text, name.sun_path + 1, length);
    text[length] = '\0';
    if (sscanf(text, ATTACH_STREAM_NAME, &salt, &host, &number) != 3 || host != attached.head->host) return false;
    *ret = number;
    return true;
}

int stream_ask(uint32_t op, uint32_t number, struct attach_stream *stream)
{
    struct attach_request request = {.op = op, .object = number};
    int result;

    if (turn_enter() < 0) return -EIO;
    memcpy(request.data, stream, sizeof *stream);
    result = session_request(&request, NULL, 0);
    memcpy(stream, request.data, sizeof *stream);
    turn_leave();
    return result;
}

int address_read(const struct sockaddr *from, socklen_t length, struct pkt_addr *ret, uint16_t *ret_port)
{
    if (from == NULL) return -EFAULT;
    if (length < sizeof(sa_family_t)) return -EINVAL;
    if (from->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *four = (const void *)from;

        *ret = pkt_addr_ipv4(ntohl(four->sin_addr.s_addr));
        *ret_port = ntohs(four->sin_port);
        return 0;
    }
    if (from->sa_family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
        const struct sockaddr_in6 *six = (const void *)from;

        memcpy(ret, &six->sin6_addr, sizeof *ret);
        *ret_port = ntohs(six->sin6_port);
        return 0;
    }
    return from->sa_family == AF_INET || from->sa_family == AF_INET6 ? -EINVAL : -EAFNOSUPPORT;
}

void address_write(const struct pkt_addr *from, uint16_t port, bool ipv4, struct sockaddr *to, socklen_t *length)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const void *name = ipv4 ? (const void *)&four : (const void *)&six;
    socklen_t whole = ipv4 ? sizeof four : sizeof six;

    if (to == NULL || length == NULL) return;
    memcpy(&four.sin_addr, from->byte + 12, sizeof four.sin_addr);
    memcpy(&six.sin6_addr, from, sizeof six.sin6_addr);
    memcpy(to, name, *length < whole ? *length : whole);
    *length = whole;
}

/* --- socket --- */

/* Flags of a descriptor as socket() and accept4() are asked for them; it comes with CLOEXEC. */
static void set_flags(int fd, int flags)
{
    if (!(flags & SOCK_CLOEXEC)) RAW(SYS_fcntl, fd, F_SETFD, 0, 0, 0, 0);
    if (flags & SOCK_NONBLOCK) RAW(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK, 0, 0, 0);
}

static int open_stream(uint32_t flags)
{
    struct attach_request request = {.op = ATTACH_OP_STREAM_OPEN};
    struct attach_stream wish = {.flags = flags};
    int result;

    if (turn_enter() < 0) return -EIO;
    memcpy(request.data, &wish, sizeof wish);
    while (__atomic_exchange_n(&opening, 1, __ATOMIC_ACQUIRE))
        RAW(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    result = session_request(&request, NULL, 0);
    if (result >= 0) result = session_take_fd();
    __atomic_store_n(&opening, 0, __ATOMIC_RELEASE);
    turn_leave();
    return result;
}

EXPORT int socket(int domain, int type, int protocol)
{
    int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), fd;
    bool stream = kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP);
    bool datagram = kind == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP);

    if (!streams_managed() || (domain != AF_INET && domain != AF_INET6))
        return (int)as_libc(RAW(SYS_socket, domain, type, protocol, 0, 0, 0));
    if (!stream && !datagram) { /* raw sockets, SCTP */
        attached.head->counters.real_socket++;
        errno = EPROTONOSUPPORT;
        return -1;
    }
    fd = open_stream((domain == AF_INET ? ATTACH_STREAM_IPV4 : 0) | (datagram ? ATTACH_STREAM_DATAGRAM : 0));
    if (fd < 0) return (int)as_libc(fd);
    set_flags(fd, type);
    options_forget(fd);
    return fd;
}

/* --- names --- */

EXPORT int bind(int fd, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    const struct sockaddr *address = to.__sockaddr__;
    struct attach_stream name = {0};
    int reuse = 0, error;
    socklen_t bytes = sizeof reuse;
    uint32_t number;

    if (!stream_number(fd, &number)) return (int)as_libc(RAW(SYS_bind, fd, address, length, 0, 0, 0));
    if ((error = address_read(address, length, &name.self, &name.self_port)) < 0) return (int)as_libc(error);
    RAW(SYS_getsockopt, fd, SOL_SOCKET, SO_REUSEADDR, &reuse, &bytes, 0);
    if (reuse) name.flags |= ATTACH_STREAM_REUSE;
    if (options_v6only(fd)) name.flags |= ATTACH_STREAM_V6ONLY;
    return (int)as_libc(stream_ask(ATTACH_OP_STREAM_NAME, number, &name));
}

EXPORT int listen(int fd, int backlog)
{
    struct attach_stream name = {.backlog = backlog < 0 ? UINT32_MAX : (uint32_t)backlog};
    uint32_t number;

    if (!stream_number(fd, &number)) return (int)as_libc(RAW(SYS_listen, fd, backlog, 0, 0, 0, 0));
    return (int)as_libc(stream_ask(ATTACH_OP_STREAM_LISTEN, number, &name));
}

EXPORT int getsockname(int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
    struct attach_stream name;
    uint32_t number;
    int error;

    if (!stream_number(fd, &number))
        return (int)as_libc(RAW(SYS_getsockname, fd, address.__sockaddr__, length, 0, 0, 0));
    if ((error = stream_state(number, &name)) < 0) return (int)as_libc(error);
    address_write(&name.self, name.self_port, name.flags & ATTACH_STREAM_IPV4, address.__sockaddr__, length);
    return 0;
}

EXPORT int getpeername(int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
    struct attach_stream name;
    uint32_t number;
    int error;

    if (!stream_number(fd, &number))
        return (int)as_libc(RAW(SYS_getpeername, fd, address.__sockaddr__, length, 0, 0, 0));
    error = stream_state(number, &name);
    if (error >= 0 && name.state != ATTACH_STREAM_OPEN) error = -ENOTCONN;
    if (error < 0) return (int)as_libc(error);
    address_write(&name.peer, name.peer_port, name.flags & ATTACH_STREAM_IPV4, address.__sockaddr__, length);
    return 0;
}

/* --- connect --- */

static int unreachable(const struct attach_stream *to)
{
    static struct pkt_addr said;
    char text[PKT_ADDR_TEXT], line[256];
    int length;

    attached.head->counters.real_socket++;
    if (memcmp(&said, &to->peer, sizeof said) == 0) return -ENETUNREACH;
    said = to->peer;
    length = snprintf(line, sizeof line, "rocelab: %s port %u is outside of the fabric and not reachable from it\n",
                      pkt_addr_format(&to->peer, text), to->peer_port);
    RAW(SYS_write, 2, line, length, 0, 0, 0);
    return -ENETUNREACH;
}

static int await_answer(uint32_t number)
{
    const struct timespec moment = {0, REAL_LOOK_NS};
    struct attach_stream now;
    int error;

    while ((error = stream_state(number, &now)) >= 0 && now.state == ATTACH_STREAM_CONNECTS) {
        if (!attached.is_virtual)
            RAW(SYS_nanosleep, &moment, NULL, 0, 0, 0, 0);
        else if (wait_turn(UINT64_MAX, "an answer to connect") == WAIT_INTERRUPTED && !turn_restarts())
            return -EINTR;
    }
    return error < 0 ? error : now.state == ATTACH_STREAM_OPEN ? 0 : -ECONNREFUSED;
}

/* Of another family.  The kernel's own, but nobody waits in it: a listener of AF_UNIX may be busy. */
static long connect_other(int fd, const struct sockaddr *address, socklen_t length)
{
    long flags = RAW(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0), result;

    if (!managed() || flags < 0 || flags & O_NONBLOCK || address == NULL || address->sa_family != AF_UNIX) {
        result = RAW(SYS_connect, fd, address, length, 0, 0, 0);
    } else {
        RAW(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK, 0, 0, 0);
        while ((result = RAW(SYS_connect, fd, address, length, 0, 0, 0)) == -EAGAIN)
            if (wait_turn(UINT64_MAX, "an answer to connect") == WAIT_GONE) break;
        RAW(SYS_fcntl, fd, F_SETFL, flags, 0, 0, 0);
    }
    turn_touched(ATTACH_TOUCHED_HOST);
    return result;
}

EXPORT int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    const struct sockaddr *address = to.__sockaddr__;
    struct attach_stream name = {0};
    uint32_t number;
    int error;

    if (!stream_number(fd, &number)) return (int)as_libc(connect_other(fd, address, length));
    if (address && length >= sizeof(sa_family_t) && address->sa_family == AF_UNSPEC) return 0;
    if ((error = address_read(address, length, &name.peer, &name.peer_port)) < 0) return (int)as_libc(error);
    struct attach_stream answer = name;
    error = stream_ask(ATTACH_OP_STREAM_CONNECT, number, &answer);
    if (error == -ENETUNREACH) error = unreachable(&name);
    if (error == 0) error = await_answer(number);
    return (int)as_libc(error);
}

/* --- names of datagrams --- */

void datagram_sent(int named)
{
    if (named == DATAGRAM_TOLD && !attached.is_virtual) __atomic_store_n(&naming, 0, __ATOMIC_RELEASE);
}

int datagram_to(int fd, const struct sockaddr *to, socklen_t length)
{
    struct attach_stream name;
    uint32_t number;
    int error;

    if (!stream_number(fd, &number) || stream_state(number, &name) < 0) return DATAGRAM_KERNELS;
    if (!(name.flags & ATTACH_STREAM_DATAGRAM))
        return name.state == ATTACH_STREAM_OPEN ? DATAGRAM_LEFT_OUT : DATAGRAM_KERNELS;
    while (!attached.is_virtual && __atomic_exchange_n(&naming, 1, __ATOMIC_ACQUIRE))
        RAW(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    name = (struct attach_stream){0};
    error = address_read(to, length, &name.peer, &name.peer_port);
    struct attach_stream told = name;
    if (error == 0) error = stream_ask(ATTACH_OP_DATAGRAM_TO, number, &told);
    if (error == -ENETUNREACH) error = unreachable(&name);
    if (error < 0) datagram_sent(DATAGRAM_TOLD);
    return error < 0 ? error : DATAGRAM_TOLD;
}

bool datagram_from(int fd, int flags, struct sockaddr *ret, socklen_t *length)
{
    struct attach_stream name;
    uint32_t number;

    if (ret == NULL || length == NULL || !stream_number(fd, &number) || stream_state(number, &name) < 0) return false;
    if (!(name.flags & ATTACH_STREAM_DATAGRAM)) return false;
    name = (struct attach_stream){.flags = flags & MSG_PEEK ? ATTACH_STREAM_PEEKED : 0};
    if (stream_ask(ATTACH_OP_DATAGRAM_FROM, number, &name) < 0) return false;
    address_write(&name.peer, name.peer_port, name.flags & ATTACH_STREAM_IPV4, ret, length);
    return true;
}

/* --- accept --- */

static long take_connection(int fd, struct attach_accept *ret, int flags)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {ret, sizeof *ret};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    long got = RAW(SYS_recvmsg, fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, 0, 0, 0);
    int made;

    if (got < 0) return got;
    if (got != sizeof *ret || CMSG_FIRSTHDR(&message) == NULL) return -EINVAL; /* it was shut */
    memcpy(&made, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof made);
    RAW(SYS_sendto, fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    set_flags(made, flags);
    options_forget(made);
    return made;
}

/* When a call on this socket gives up: SO_RCVTIMEO. */
static uint64_t receives_until(int fd)
{
    struct timeval limit = {0};
    socklen_t bytes = sizeof limit;

    if (RAW(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &bytes, 0) < 0 || (!limit.tv_sec && !limit.tv_usec))
        return UINT64_MAX;
    struct timespec span = {limit.tv_sec, limit.tv_usec * 1000};
    return clock_after(&span);
}

/* Nobody has called: 0, look again; -errno. */
static int await_caller(int fd, uint64_t until)
{
    struct pollfd real = {.fd = fd, .events = POLLIN};
    int error;

    if (!attached.is_virtual) return (int)RAW(SYS_ppoll, &real, 1, NULL, NULL, 0, 0) < 0 ? -EINTR : 0;
    error = wait_ready(fd, POLLIN, until);
    if (error == -EINTR && turn_restarts()) return 0;
    return error == -ETIMEDOUT ? -EAGAIN : error;
}

static long accept_other(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    int error = 0;
    long made;

    if (managed() && wait_would_block(fd)) error = await_caller(fd, receives_until(fd));
    if (error < 0) return error;
    made = RAW(SYS_accept4, fd, address, length, flags, 0, 0);
    turn_touched(ATTACH_TOUCHED_HOST);
    return made;
}

static long accept_any(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    struct attach_accept record;
    uint32_t number;
    uint64_t until;
    long made;

    if (!stream_number(fd, &number)) return accept_other(fd, address, length, flags);
    until = attached.is_virtual ? receives_until(fd) : UINT64_MAX;
    while ((made = take_connection(fd, &record, flags)) == -EAGAIN) {
        struct attach_stream name;
        int error = stream_state(number, &name);

        if (error >= 0 && name.state != ATTACH_STREAM_LISTENS) error = -EINVAL;
        if (error >= 0) error = wait_would_block(fd) ? await_caller(fd, until) : -EAGAIN;
        if (error == -EAGAIN && attached.is_virtual && !wait_would_block(fd)) wait_found_nothing();
        if (error < 0) return error;
    }
    if (made >= 0) address_write(&record.peer, record.peer_port, record.flags & ATTACH_STREAM_IPV4, address, length);
    return made;
}

EXPORT int accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
    return (int)as_libc(accept_any(fd, address.__sockaddr__, length, 0));
}

EXPORT int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict length, int flags)
{
    if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) return (int)as_libc(-EINVAL);
    return (int)as_libc(accept_any(fd, address.__sockaddr__, length, flags));
}

EXPORT int shutdown(int fd, int how)
{
    long result = RAW(SYS_shutdown, fd, how, 0, 0, 0, 0);

    if (result == 0 && managed() && turn_enter() == 0) {
        turn_touched(ATTACH_TOUCHED_HOST);
        turn_sync();
        turn_leave();
    }
    return (int)as_libc(result);
}
