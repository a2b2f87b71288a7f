/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UDP between programs: datagrams with times of the fabric.
 *
 * The pair of such a socket keeps boundaries.  Where the next datagram that is written goes is told before it, unless
 * the socket is connected.  A few of those that have come lie in the pair.  The kernel says how much room they take, so
 * it is known which was read last, and its reader can be told who sent it.  Nothing is lost on the way; a reader that
 * is slow loses what is beyond its room, and what is sent to nobody is gone.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "packet/codec.h"
#include "up/stream_int.h"

#define DATAGRAM_MOST 65507u /* of UDP over IPv4 */
#define UNREAD_MOST 212992u  /* bytes that wait for a reader, as a kernel has it */

static void send_one(struct up_streams *streams, struct stream *stream, const uint8_t *data, uint32_t bytes, ps_t now)
{
    bool told = stream->to_told;

    stream->to_told = false;
    if (bytes > DATAGRAM_MOST || (!told && stream->name.state != ATTACH_STREAM_OPEN)) return;
    struct parcel *parcel = parcel_new(NULL, PARCEL_DATAGRAM, data, bytes);
    parcel->to_host = told ? stream->to_host : stream->peer_host;
    parcel->name = told ? stream->to : stream->name;
    parcel_send(streams, NULL, parcel, now); /* of no stream: datagrams may overtake each other */
}

static bool is_over(int fd)
{
    struct pollfd at = {.fd = fd, .events = POLLRDHUP};

    return poll(&at, 1, 0) > 0 && at.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

void datagram_take(struct up_streams *streams, struct stream *stream, ps_t now)
{
    static _Thread_local uint8_t buffer[STREAM_READ_BYTES];

    for (;;) {
        ssize_t got = recv(stream->fd, buffer, sizeof buffer, MSG_DONTWAIT | MSG_TRUNC);

        if (got < 0 && errno == EINTR) continue;
        if (got < 0 || (got == 0 && is_over(stream->fd))) return;
        send_one(streams, stream, buffer, (uint32_t)got, now);
    }
}

int datagram_to(struct up_streams *streams, struct stream *stream, const struct attach_stream *to, ps_t now)
{
    struct stream way = *stream;

    if (to->peer_port == 0) return -EINVAL;
    datagram_take(streams, stream, now); /* what was written before goes where it was to */
    int error = stream_route(streams, &way, to);
    if (error) return error;
    if (stream->name.state == ATTACH_STREAM_NEW) stream->name.state = ATTACH_STREAM_BOUND;
    stream->name.self_port = way.name.self_port;
    stream->to = way.name;
    stream->to_host = way.peer_host;
    stream->to_told = true;
    return 0;
}

/* --- what has come --- */

static uint32_t room_taken(const struct stream *stream)
{
    int bytes = 0; /* with what the kernel needs itself: an empty datagram takes room, too */

    return ioctl(stream->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (uint32_t)bytes : 0;
}

/* How many lie in the pair: the last ones. */
static uint32_t lie_unread(const struct stream *stream)
{
    uint32_t taken = room_taken(stream), count = 0;

    while (taken > 0 && count < GIVEN_MOST && count < stream->givens) {
        uint32_t room = stream->given[(stream->givens - ++count) % (GIVEN_MOST + 1)].room;
        taken -= room < taken ? room : taken;
    }
    return count;
}

bool datagram_give(struct up_streams *streams, struct stream *stream)
{
    /* With the real clock a reader may come between: then the room that one took is known of one alone. */
    const uint32_t most = streams->host->up->options.real ? 1 : GIVEN_MOST;
    bool news = false;

    for (struct parcel *parcel; (parcel = stream->unread.first) != NULL;) {
        uint32_t before = room_taken(stream);
        bool full = lie_unread(stream) >= most;
        ssize_t sent = full ? -1 : send(stream->fd, parcel->data, parcel->bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (full || (sent < 0 && errno == EAGAIN)) {
            stream_stall(streams, stream);
            return news;
        }
        if (sent >= 0) {
            uint32_t after = room_taken(stream);
            stream->given[stream->givens++ % (GIVEN_MOST + 1)] =
                (struct given){parcel->name.self, parcel->name.self_port, parcel->bytes,
                               most > 1 && after > before ? after - before : UINT32_MAX};
            news = true;
        }
        stream->unread_bytes -= parcel->bytes;
        free(parcels_take(&stream->unread));
    }
    return news;
}

void datagram_from(struct up_streams *streams, struct stream *stream, struct attach_stream *ret)
{
    uint32_t unread = lie_unread(stream), next = stream->givens - unread;
    bool peeked = ret->flags & ATTACH_STREAM_PEEKED && unread > 0;
    const struct given *last = &stream->given[(peeked || next == 0 ? next : next - 1) % (GIVEN_MOST + 1)];

    *ret = stream->name;
    ret->peer = last->from;
    ret->peer_port = last->port;
    datagram_give(streams, stream);
}

/* How well a socket fits; -1: not at all. */
static int fits(const struct stream *stream, const struct attach_stream *from)
{
    const struct attach_stream *name = &stream->name;
    bool four = pkt_addr_is_ipv4(&from->peer);

    if (!(name->flags & ATTACH_STREAM_DATAGRAM) || name->self_port != from->peer_port) return -1;
    if (name->state == ATTACH_STREAM_OPEN &&
        (name->peer_port != from->self_port || memcmp(&name->peer, &from->self, sizeof name->peer) != 0))
        return -1;
    int connected = name->state == ATTACH_STREAM_OPEN ? 2 : 0;
    if (memcmp(&name->self, &from->peer, sizeof name->self) == 0) return 1 + connected;
    if (!stream_is_any(&name->self)) return -1;
    return name->flags & (four ? ATTACH_STREAM_V6ONLY : ATTACH_STREAM_IPV4) ? -1 : connected;
}

/* Of several that fit as well the one made first. */
static struct stream *receiver(const struct up_streams *streams, const struct attach_stream *from)
{
    struct stream *best = NULL;
    int how = -1;

    for (uint32_t b = 0; b < STREAM_BUCKETS; b++)
        for (struct stream *at = streams->bucket[b]; at; at = at->next) {
            int fit = fits(at, from);
            if (fit < 0 || fit < how || (fit == how && at->number > best->number)) continue;
            best = at;
            how = fit;
        }
    return best;
}

/* How much is not read: the same whatever the kernel keeps in a pair. */
static uint32_t bytes_waiting(const struct stream *stream)
{
    uint32_t bytes = stream->unread_bytes;

    for (uint32_t i = lie_unread(stream); i > 0; i--)
        bytes += stream->given[(stream->givens - i) % (GIVEN_MOST + 1)].bytes;
    return bytes;
}

bool datagram_deliver(struct up_streams *streams, struct parcel *parcel)
{
    struct stream *stream = receiver(streams, &parcel->name);
    uint32_t waiting = stream ? bytes_waiting(stream) : 0;

    if (stream == NULL || (waiting > 0 && waiting + parcel->bytes > UNREAD_MOST)) {
        free(parcel);
        return false;
    }
    stream->unread_bytes += parcel->bytes;
    parcels_append(&stream->unread, parcel);
    return !stream->stalled && datagram_give(streams, stream);
}
