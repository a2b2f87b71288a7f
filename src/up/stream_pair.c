/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of a host and their pairs: what a program has written is taken, what has come for it is given.
 *
 * The kernel says the rest: a pair whose other end was closed, by whoever held it last and in whatever way, reads as
 * ended; closed with bytes unread it reads as reset.  So nothing has to be told when a process forks, passes a
 * descriptor on, or is killed.
 */
#include "up/stream_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"

#define NAME_TRIES 8u

struct stream *stream_find(struct up_streams *streams, uint32_t number)
{
    struct stream *stream = streams->bucket[number % STREAM_BUCKETS];

    while (stream && stream->number != number)
        stream = stream->next;
    return stream;
}

/* What the program's end is called: attach/protocol.h.  Everybody in the network namespace sees these names, and can
 * take the next ones: then names begin with another number. */
static int name_end(struct up_streams *streams, uint32_t number, int fd)
{
    for (unsigned tries = NAME_TRIES;; tries--) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, ATTACH_STREAM_NAME, streams->salt,
                              streams->host->number, number);
        socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
        if (bind(fd, (struct sockaddr *)&address, bytes) == 0) return 0;
        if (errno != EADDRINUSE || tries == 0) return -1;
        if (getrandom(&streams->salt, sizeof streams->salt, 0) != sizeof streams->salt) return -1;
    }
}

static int make_pair(struct up_streams *streams, uint32_t number, bool datagrams, int pair[2])
{
    const int room = STREAM_PAIR_BYTES;

    if (socketpair(AF_UNIX, (datagrams ? SOCK_SEQPACKET : SOCK_STREAM) | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
    if (name_end(streams, number, pair[1]) == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 &&
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0 &&
        setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) == 0)
        return 0;
    int error = -errno;
    close(pair[0]);
    close(pair[1]);
    return error;
}

int stream_new(struct up_streams *streams, bool datagrams, struct stream **ret, int *ret_fd)
{
    int pair[2], error;

    if (streams->epoll < 0) streams->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (streams->epoll < 0) return -errno;
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream) return -ENOMEM;
    stream->number = streams->numbers + 1;
    if ((error = make_pair(streams, stream->number, datagrams, pair)) != 0) {
        free(stream);
        return error;
    }
    streams->numbers++;
    streams->alive++;
    stream->fd = pair[0];
    stream->unsent_fd = -1;
    stream->watched = STREAM_UNWATCHED;
    stream->next = streams->bucket[stream->number % STREAM_BUCKETS];
    streams->bucket[stream->number % STREAM_BUCKETS] = stream;
    stream_watch(streams, stream, datagrams ? EPOLLIN : 0);
    *ret = stream;
    *ret_fd = pair[1];
    return 0;
}

static void unlink_stream(struct up_streams *streams, struct stream *stream)
{
    struct stream **at = &streams->bucket[stream->number % STREAM_BUCKETS];

    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    for (at = &streams->stalled; stream->stalled && *at; at = &(*at)->stalled_next)
        if (*at == stream) {
            *at = stream->stalled_next;
            break;
        }
}

void stream_free(struct up_streams *streams, struct stream *stream)
{
    unlink_stream(streams, stream);
    parcels_drop(&stream->unread);
    parcels_drop(&stream->callers);
    close(stream->fd); /* which takes it out of the set */
    if (stream->unsent_fd >= 0) listener_withdraw(stream);
    /* Of those that a listener was handed and did not accept the kernel says that they are over; of these we do. */
    for (struct stream *caller = stream->unsent; caller; caller = caller->unsent_next) {
        close(caller->unsent_fd);
        caller->unsent_fd = -1;
    }
    streams->alive--;
    free(stream);
}

void stream_watch(struct up_streams *streams, struct stream *stream, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = stream->number};
    int op = EPOLL_CTL_MOD;

    if (stream->watched == events) return;
    if (stream->watched == STREAM_UNWATCHED) op = EPOLL_CTL_ADD;
    if (events == STREAM_UNWATCHED) op = EPOLL_CTL_DEL;
    CHECK(epoll_ctl(streams->epoll, op, stream->fd, &event) == 0);
    stream->watched = events;
}

/* The program has written its last, or reset what it had. */
static void take_end(struct up_streams *streams, struct stream *stream, bool reset, ps_t now)
{
    if (reset)
        parcel_send(streams, stream, parcel_new(stream, PARCEL_RESET, NULL, 0), now);
    else if (!stream->ended)
        parcel_send(streams, stream, parcel_new(stream, PARCEL_END, NULL, 0), now);
    stream->ended = true;
    stream_watch(streams, stream, 0); /* that nobody holds the other end is said in any case */
}

bool stream_take(struct up_streams *streams, struct stream *stream, ps_t now)
{
    static _Thread_local uint8_t buffer[STREAM_READ_BYTES];
    uint32_t taken = 0;

    while (stream->credit > 0 && !stream->ended) {
        size_t most = stream->credit < sizeof buffer ? stream->credit : sizeof buffer;
        ssize_t got = recv(stream->fd, buffer, most, MSG_DONTWAIT);

        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (got <= 0) {
            take_end(streams, stream, got < 0, now);
            return taken > 0;
        }
        parcel_send(streams, stream, parcel_new(stream, PARCEL_BYTES, buffer, (uint32_t)got), now);
        stream->credit -= (uint32_t)got;
        taken += (uint32_t)got;
    }
    if (!stream->ended) stream_watch(streams, stream, stream->credit > 0 ? EPOLLIN : STREAM_UNWATCHED);
    /* Who writes little is never in the way of himself: each send() ends a turn, and then the pair is empty. */
    return taken >= STREAM_PAIR_BYTES / 16;
}

static void give_back(struct up_streams *streams, struct stream *stream, uint32_t bytes, ps_t now)
{
    stream->owed += bytes;
    if (stream->owed < STREAM_WINDOW / 4) return;
    parcel_send(streams, stream, parcel_new(stream, PARCEL_CREDIT, NULL, stream->owed), now);
    stream->owed = 0;
}

void stream_stall(struct up_streams *streams, struct stream *stream)
{
    struct stream **at = &streams->stalled;

    if (stream->stalled) return;
    while (*at && (*at)->number < stream->number)
        at = &(*at)->stalled_next;
    stream->stalled = true;
    stream->stalled_next = *at;
    *at = stream;
}

/* True: all of it is in the pair, or nobody will ever read it (shut by the program, or closed: collecting finds it). */
static bool put_bytes(struct up_streams *streams, struct stream *stream, struct parcel *parcel, ps_t now)
{
    while (parcel->done < parcel->bytes) {
        uint32_t rest = parcel->bytes - parcel->done;
        ssize_t put = send(stream->fd, parcel->data + parcel->done, rest, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno != EPIPE && errno != ECONNRESET) return false;
        if (put < 0) put = (ssize_t)rest;
        parcel->done += (uint32_t)put;
        give_back(streams, stream, (uint32_t)put, now);
    }
    return true;
}

bool stream_give(struct up_streams *streams, struct stream *stream, ps_t now)
{
    bool news = false;

    if (stream->name.flags & ATTACH_STREAM_DATAGRAM) return datagram_give(streams, stream);
    for (struct parcel *parcel; (parcel = stream->unread.first) != NULL; news = true) {
        uint32_t done = parcel->done;

        if (parcel->kind == PARCEL_BYTES && !put_bytes(streams, stream, parcel, now)) {
            stream_stall(streams, stream);
            return news || parcel->done > done;
        }
        if (parcel->kind == PARCEL_END) shutdown(stream->fd, SHUT_WR);
        if (parcel->kind == PARCEL_RESET) {
            stream->ended = true;
            shutdown(stream->fd, SHUT_RDWR); /* and collecting finds it over */
            stream_watch(streams, stream, 0);
        }
        free(parcels_take(&stream->unread));
    }
    return news;
}
