/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the fabric's sockets: what programs ask of TCP, answered by a pair of AF_UNIX.
 *
 * What changes nothing that can be seen is taken and forgotten; sizes of buffers too, since a pair has the same room
 * on every machine.  What is asked for is answered as an open connection without trouble would.
 */
#include "attach/streams.h"

#include <netinet/tcp.h>
#include <string.h>

#define V6ONLY_MAX 65536
static uint8_t v6only[V6ONLY_MAX / 8]; /* by descriptor, until it is bound */

void options_forget(int fd)
{
    if (fd >= 0 && fd < V6ONLY_MAX) v6only[fd / 8] &= (uint8_t) ~(1u << fd % 8);
}

bool options_v6only(int fd)
{
    return fd >= 0 && fd < V6ONLY_MAX && v6only[fd / 8] >> fd % 8 & 1;
}

static int answer(const void *value, size_t bytes, void *to, socklen_t *length)
{
    if (to == NULL || length == NULL) return (int)as_libc(-EFAULT);
    if (*length < bytes) bytes = *length;
    memcpy(to, value, bytes);
    *length = (socklen_t)bytes;
    return 0;
}

static int answer_int(int value, void *to, socklen_t *length)
{
    return answer(&value, sizeof value, to, length);
}

static int get_tcp(int name, const struct attach_stream *stream, void *value, socklen_t *length)
{
    struct tcp_info info = {.tcpi_snd_mss = 1448, .tcpi_rcv_mss = 1448, .tcpi_snd_cwnd = 10, .tcpi_pmtu = 1500};

    switch (name) {
    case TCP_NODELAY:
        return answer_int(1, value, length);
    case TCP_MAXSEG:
        return answer_int(1448, value, length);
    case TCP_CONGESTION:
        return answer("cubic", 6, value, length);
    case TCP_KEEPIDLE:
        return answer_int(7200, value, length);
    case TCP_KEEPINTVL:
        return answer_int(75, value, length);
    case TCP_KEEPCNT:
        return answer_int(9, value, length);
    case TCP_INFO:
        info.tcpi_state = stream->state == ATTACH_STREAM_OPEN      ? TCP_ESTABLISHED
                          : stream->state == ATTACH_STREAM_LISTENS ? TCP_LISTEN
                                                                   : TCP_CLOSE;
        return answer(&info, sizeof info, value, length);
    default:
        return answer_int(0, value, length);
    }
}

EXPORT int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict length)
{
    struct attach_stream stream;
    uint32_t number;
    int error;

    if (!stream_number(fd, &number)) return (int)as_libc(RAW(SYS_getsockopt, fd, level, name, value, length, 0));
    if ((error = stream_state(number, &stream)) < 0) return (int)as_libc(error);
    bool datagram = stream.flags & ATTACH_STREAM_DATAGRAM;
    if (level == IPPROTO_TCP) return get_tcp(name, &stream, value, length);
    if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY)
        return answer_int(options_v6only(fd) || stream.flags & ATTACH_STREAM_V6ONLY, value, length);
    if (level == IPPROTO_IP || level == IPPROTO_IPV6) return answer_int(0, value, length);
    if (level != SOL_SOCKET) return (int)as_libc(-ENOPROTOOPT);
    switch (name) {
    case SO_DOMAIN:
        return answer_int(stream.flags & ATTACH_STREAM_IPV4 ? AF_INET : AF_INET6, value, length);
    case SO_PROTOCOL:
        return answer_int(datagram ? IPPROTO_UDP : IPPROTO_TCP, value, length);
    case SO_TYPE:
        return answer_int(datagram ? SOCK_DGRAM : SOCK_STREAM, value, length);
    case SO_ACCEPTCONN:
        return answer_int(stream.state == ATTACH_STREAM_LISTENS, value, length);
    case SO_BINDTODEVICE:
        return answer("", 0, value, length);
    default:
        return (int)as_libc(RAW(SYS_getsockopt, fd, level, name, value, length, 0));
    }
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    uint32_t number;
    int on = 0;

    if (!stream_number(fd, &number)) return (int)as_libc(RAW(SYS_setsockopt, fd, level, name, value, length, 0));
    if (value && length >= sizeof on) memcpy(&on, value, sizeof on);
    if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
        options_forget(fd);
        if (on && fd < V6ONLY_MAX) v6only[fd / 8] |= (uint8_t)(1u << fd % 8);
    }
    if (level != SOL_SOCKET) return 0;
    switch (name) {
    case SO_REUSEADDR:
    case SO_KEEPALIVE:
    case SO_LINGER:
    case SO_RCVTIMEO:
    case SO_SNDTIMEO:
    case SO_RCVLOWAT:
    case SO_PRIORITY:
        return (int)as_libc(RAW(SYS_setsockopt, fd, level, name, value, length, 0));
    default:
        return 0;
    }
}
