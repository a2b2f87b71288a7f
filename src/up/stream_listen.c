/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections before a program has accepted them.
 *
 * A call that finds a listener is a connection at once, as in life: the caller may write while nobody has called
 * accept() yet.  Of those a listener has at most its backlog and one; later callers wait for their answer.
 */
#include "up/stream_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* The record of a connection, with its descriptor; false: no room. */
static bool hand_over(const struct stream *listener, const struct stream *stream)
{
    struct attach_accept record = {.self = stream->name.self,
                                   .peer = stream->name.peer,
                                   .self_port = stream->name.self_port,
                                   .peer_port = stream->name.peer_port,
                                   .flags = stream->name.flags,
                                   .number = stream->number};
    struct iovec vector = {.iov_base = &record, .iov_len = sizeof record};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};

    memcpy(CMSG_DATA(&control.head), &stream->unsent_fd, sizeof(int));
    return sendmsg(listener->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof record;
}

static void hand_over_all(struct stream *listener)
{
    for (struct stream *stream; (stream = listener->unsent) != NULL;) {
        if (!hand_over(listener, stream)) return;
        listener->unsent = stream->unsent_next;
        close(stream->unsent_fd);
        stream->unsent_fd = -1;
    }
}

void listener_withdraw(struct stream *stream)
{
    struct stream **at = &stream->listener->unsent;

    while (*at != stream)
        at = &(*at)->unsent_next;
    *at = stream->unsent_next;
    stream->listener->waiting--;
    close(stream->unsent_fd);
    stream->unsent_fd = -1;
}

static void establish(struct up_streams *streams, struct stream *listener, const struct parcel *call, ps_t now)
{
    struct stream *stream, **last = &listener->unsent;
    int fd;

    if (stream_new(streams, false, &stream, &fd) != 0) {
        parcel_answer(streams, call, PARCEL_REFUSED, now);
        return;
    }
    stream->accepted = true;
    stream->name = (struct attach_stream){.self = call->name.peer,
                                          .peer = call->name.self,
                                          .self_port = call->name.peer_port,
                                          .peer_port = call->name.self_port,
                                          .flags = listener->name.flags,
                                          .state = ATTACH_STREAM_OPEN};
    stream->peer_host = call->from_host;
    stream->peer = call->from;
    stream->credit = STREAM_WINDOW;
    stream_watch(streams, stream, EPOLLIN);
    stream->unsent_fd = fd;
    stream->listener = listener;
    while (*last)
        last = &(*last)->unsent_next;
    *last = stream;
    listener->waiting++;
    hand_over_all(listener);
    parcel_send(streams, stream, parcel_new(stream, PARCEL_ACCEPTED, NULL, 0), now);
}

void listener_call(struct up_streams *streams, struct parcel *call, ps_t now)
{
    struct stream *listener = stream_listener(streams, &call->name.peer, call->name.peer_port);

    if (listener && listener->waiting > listener->name.backlog) {
        parcels_append(&listener->callers, call);
        return;
    }
    if (listener)
        establish(streams, listener, call, now);
    else
        parcel_answer(streams, call, PARCEL_REFUSED, now);
    free(call);
}

void listener_accepted(struct up_streams *streams, struct stream *listener, uint32_t count, ps_t now)
{
    listener->waiting -= count < listener->waiting ? count : listener->waiting;
    hand_over_all(listener);
    while (listener->waiting <= listener->name.backlog && listener->callers.first) {
        struct parcel *call = parcels_take(&listener->callers);

        establish(streams, listener, call, now);
        free(call);
    }
}

void listener_close(struct up_streams *streams, struct stream *listener, ps_t now)
{
    for (struct parcel *call; (call = parcels_take(&listener->callers)) != NULL; free(call))
        parcel_answer(streams, call, PARCEL_REFUSED, now);
    stream_free(streams, listener);
}
