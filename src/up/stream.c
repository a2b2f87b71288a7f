/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets between programs of the fabric: TCP and UDP as far as programs can tell, with times of the fabric.
 *
 * What a program does to its sockets is seen after its turn (stream_collect) and known to the other side a declared
 * latency later (stream_deliver), the same for any order of visits and number of threads.  There is no bandwidth, no
 * loss and no congestion here: these sockets are how RDMA programs find each other, not what is studied.
 *
 * Addresses and ports are in stream_name.c, listeners in stream_listen.c, datagrams in stream_datagram.c, the pairs
 * themselves in stream_pair.c.
 */
#include "up/stream_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "fabric/fabric.h"

#define EVENTS 64

static struct up_streams *streams_of(struct up_host *host)
{
    struct up_streams *streams = host->streams;

    if (streams) return streams;
    streams = calloc(1, sizeof *streams);
    CHECK(streams != NULL);
    streams->host = host;
    streams->epoll = -1;
    CHECK(getrandom(&streams->salt, sizeof streams->salt, 0) == sizeof streams->salt);
    host->streams = streams;
    return streams;
}

void stream_release(struct up_host *host)
{
    struct up_streams *streams = host->streams;

    if (!streams) return;
    for (uint32_t b = 0; b < STREAM_BUCKETS; b++)
        while (streams->bucket[b])
            stream_free(streams, streams->bucket[b]);
    for (uint32_t i = 0; i < streams->inbox_count; i++)
        free(streams->inbox[i]);
    parcels_drop(&streams->outbox);
    if (streams->epoll >= 0) close(streams->epoll);
    free(streams->inbox);
    free(streams);
    host->streams = NULL;
}

/* --- requests --- */

static int stream_open(struct up_process *process, struct up_streams *streams, struct attach_request *request,
                       uint32_t flags)
{
    struct stream *stream;
    int fd, error = stream_new(streams, (flags & ATTACH_STREAM_DATAGRAM) != 0, &stream, &fd);

    if (error) return error;
    stream->name.flags = flags & (ATTACH_STREAM_IPV4 | ATTACH_STREAM_DATAGRAM);
    error = session_give_fd(process, fd);
    close(fd);
    if (error < 0) {
        stream_free(streams, stream);
        return error;
    }
    request->object = stream->number;
    return 0;
}

static int stream_connect(struct up_streams *streams, struct stream *stream, const struct attach_stream *to, ps_t now)
{
    struct parcel *call;
    int error;

    if (stream->name.flags & ATTACH_STREAM_DATAGRAM) { /* nobody is asked */
        if ((error = stream_route(streams, stream, to)) == 0) stream->name.state = ATTACH_STREAM_OPEN;
        return error;
    }
    switch ((enum attach_stream_state)stream->name.state) {
    case ATTACH_STREAM_OPEN:
        return -EISCONN;
    case ATTACH_STREAM_CONNECTS:
        return -EALREADY;
    case ATTACH_STREAM_LISTENS:
        return -EINVAL;
    case ATTACH_STREAM_NEW:
    case ATTACH_STREAM_BOUND:
    case ATTACH_STREAM_REFUSED:
        break;
    }
    if ((error = stream_route(streams, stream, to)) != 0) return error;
    stream->name.state = ATTACH_STREAM_CONNECTS;
    call = parcel_new(stream, PARCEL_CONNECT, NULL, 0);
    call->name = stream->name;
    parcel_send(streams, stream, call, now);
    return 0;
}

static int datagram_request(struct up_streams *streams, struct stream *stream, struct attach_request *request, ps_t now)
{
    struct attach_stream name;

    memcpy(&name, request->data, sizeof name);
    if (!(stream->name.flags & ATTACH_STREAM_DATAGRAM)) return -EOPNOTSUPP;
    if (request->op == ATTACH_OP_DATAGRAM_TO) return datagram_to(streams, stream, &name, now);
    datagram_from(streams, stream, &name);
    memcpy(request->data, &name, sizeof name);
    return 0;
}

int stream_request(struct up_process *process, struct attach_request *request, ps_t now)
{
    struct up_streams *streams = streams_of(process->host);
    struct attach_stream name;
    struct stream *stream;
    int error = 0;

    memcpy(&name, request->data, sizeof name);
    if (request->op == ATTACH_OP_STREAM_OPEN) return stream_open(process, streams, request, name.flags);
    if ((stream = stream_find(streams, request->object)) == NULL) return -EBADF;
    if (request->op == ATTACH_OP_STREAM_NAME) error = stream_bind(streams, stream, &name);
    if (request->op == ATTACH_OP_DATAGRAM_TO || request->op == ATTACH_OP_DATAGRAM_FROM)
        return datagram_request(streams, stream, request, now);
    if (request->op == ATTACH_OP_STREAM_CONNECT) error = stream_connect(streams, stream, &name, now);
    if (request->op == ATTACH_OP_STREAM_LISTEN) {
        error = stream_listen(streams, stream, name.backlog);
        if (error == 0) stream_watch(streams, stream, EPOLLIN);
        if (error == 0) listener_accepted(streams, stream, 0, now); /* there may be room for more callers */
    }
    memcpy(request->data, &stream->name, sizeof stream->name);
    return error;
}

/* --- after a turn --- */

static void collect_listener(struct up_streams *streams, struct stream *listener, bool over, ps_t now)
{
    uint8_t bytes[EVENTS];
    ssize_t got;

    while ((got = recv(listener->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        listener_accepted(streams, listener, (uint32_t)got, now);
    if (over) listener_close(streams, listener, now);
}

/* True: somebody on the host may have waited for it. */
static bool collect_stream(struct up_streams *streams, struct stream *stream, bool over, ps_t now)
{
    bool news;

    if (stream->name.state == ATTACH_STREAM_LISTENS) {
        collect_listener(streams, stream, over, now);
        return false;
    }
    if (stream->name.flags & ATTACH_STREAM_DATAGRAM) {
        datagram_take(streams, stream, now);
        if (over) stream_free(streams, stream);
        return false;
    }
    news = stream_take(streams, stream, now);
    if (!over || (stream->peer != 0 && !stream->ended)) return news;
    /* Nobody can read or write any more.  What had no room will never be read. */
    if (stream->unread.first) parcel_send(streams, stream, parcel_new(stream, PARCEL_RESET, NULL, 0), now);
    stream_free(streams, stream);
    return news;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = ((const struct epoll_event *)a)->data.u32, y = ((const struct epoll_event *)b)->data.u32;

    return (x > y) - (x < y);
}

static bool give_stalled(struct up_streams *streams, ps_t now)
{
    struct stream *stream = streams->stalled, *next;
    bool news = false;

    streams->stalled = NULL;
    for (; stream; stream = next) {
        next = stream->stalled_next;
        stream->stalled = false;
        news |= stream_give(streams, stream, now);
    }
    return news;
}

void stream_collect(struct up_host *host, ps_t now)
{
    struct up_streams *streams = host->streams;
    struct epoll_event event[EVENTS];
    bool news = false;
    int count;

    if (!streams || streams->alive == 0) return;
    do {
        count = epoll_wait(streams->epoll, event, EVENTS, 0);
        if (count > 1) qsort(event, (size_t)count, sizeof *event, by_number);
        for (int i = 0; i < count; i++) {
            struct stream *stream = stream_find(streams, event[i].data.u32);
            bool over = (event[i].events & (EPOLLHUP | EPOLLERR)) != 0;

            if (stream) news |= collect_stream(streams, stream, over, now);
        }
    } while (count == EVENTS);
    news |= give_stalled(streams, now);
    if (news) turn_touched(host, NULL, now);
}

void stream_forget(struct up_process *process, ps_t now)
{
    stream_collect(process->host, now);
}

/* --- what has come --- */

static bool deliver_answer(struct up_streams *streams, struct stream *stream, const struct parcel *parcel, ps_t now)
{
    if (parcel->kind == PARCEL_ACCEPTED) {
        stream->peer = parcel->from;
        stream->credit = STREAM_WINDOW;
        stream->name.state = ATTACH_STREAM_OPEN;
        stream_watch(streams, stream, EPOLLIN);
        stream_take(streams, stream, now);
    } else {
        stream->name.state = ATTACH_STREAM_REFUSED;
    }
    return true;
}

/* For a stream that is connected.  Takes the parcel; true: there is something to look at. */
static bool deliver_to(struct up_streams *streams, struct stream *stream, struct parcel *parcel, ps_t now)
{
    if (parcel->kind == PARCEL_CREDIT) {
        bool waited = stream->credit == 0;

        stream->credit += parcel->bytes;
        free(parcel);
        return waited && !stream->ended && stream_take(streams, stream, now);
    }
    parcels_append(&stream->unread, parcel);
    return !stream->stalled && stream_give(streams, stream, now);
}

static bool deliver(struct up_streams *streams, struct parcel *parcel, ps_t now)
{
    struct stream *stream = stream_find(streams, parcel->to);
    bool news = false;

    if (parcel->kind == PARCEL_CONNECT) {
        listener_call(streams, parcel, now);
        return true;
    }
    if (parcel->kind == PARCEL_DATAGRAM) return datagram_deliver(streams, parcel);
    if (stream && stream->name.state == ATTACH_STREAM_CONNECTS) {
        news = deliver_answer(streams, stream, parcel, now);
    } else if (stream && stream->name.state == ATTACH_STREAM_OPEN) {
        return deliver_to(streams, stream, parcel, now);
    } else if (parcel->kind == PARCEL_BYTES || parcel->kind == PARCEL_ACCEPTED) {
        parcel_answer(streams, parcel, PARCEL_RESET, now);
    }
    free(parcel);
    return news;
}

ps_t stream_next(const struct up_host *host)
{
    const struct up_streams *streams = host->streams;

    return streams && streams->inbox_count ? streams->inbox[0]->due : PS_NEVER;
}

bool stream_any(const struct up_host *host)
{
    return host->streams && (host->streams->alive || host->streams->inbox_count);
}

void stream_deliver(struct up_host *host, ps_t now)
{
    struct up_streams *streams = host->streams;
    bool news = false;

    if (!streams) return;
    for (struct parcel *parcel; (parcel = inbox_pop(streams, now)) != NULL;)
        news |= deliver(streams, parcel, now);
    if (news) turn_touched(host, NULL, now);
}

void stream_carry(struct up *up, ps_t now)
{
    for (uint32_t h = 0; h < up->fabric->hosts; h++) {
        struct up_streams *streams = up->host[h].streams;

        if (!streams) continue;
        for (struct parcel *parcel; (parcel = parcels_take(&streams->outbox)) != NULL;) {
            if (parcel->due < now) parcel->due = now;
            inbox_push(streams_of(&up->host[parcel->to_host]), parcel);
            turn_wake(&up->host[parcel->to_host], parcel->due);
        }
    }
}
