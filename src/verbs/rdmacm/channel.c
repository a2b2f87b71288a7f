/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event channels: queues of events behind a descriptor.
 *
 * The descriptor is an eventfd that is readable exactly while the queue is not empty, so that poll() and
 * O_NONBLOCK mean what programs expect, and events that are withdrawn leave no trace.
 *
 * A connection is completed when its event is taken, in the program's thread: the REP of the peer becomes ESTABLISHED
 * after the queue pair is ready to send and the RTU is out; a joined group's QP is attached.  That is rdma-core's
 * behaviour, and it keeps queue pairs out of our thread.
 *
 * Programs (rping) destroy a channel that another of their threads waits at, and end.  With a kernel that thread sleeps
 * until the process is gone; so it does here, and the last channels destroyed keep their memory for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/rdmacm/rdmacm_int.h"

#define KEPT 64u

static struct rchannel *kept[KEPT]; /* guarded by the lock */
static unsigned kept_next;

struct rdma_event_channel *rdma_create_event_channel(void)
{
    struct rchannel *channel = calloc(1, sizeof *channel);

    if (channel == NULL) return NULL;
    channel->pub.fd = eventfd(0, EFD_CLOEXEC);
    if (channel->pub.fd < 0) {
        free(channel);
        return NULL;
    }
    channel->end = &channel->first;
    return &channel->pub;
}

void rdma_destroy_event_channel(struct rdma_event_channel *pub)
{
    struct rchannel *channel = rchannel_of(pub);

    pthread_mutex_lock(&rdmacm.lock);
    while (channel->first != NULL) {
        struct revent *event = channel->first;
        channel->first = event->next;
        free(event);
    }
    channel->end = &channel->first;
    channel->destroyed = true;
    close(pub->fd);
    free(kept[kept_next % KEPT]);
    kept[kept_next++ % KEPT] = channel;
    pthread_mutex_unlock(&rdmacm.lock);
}

struct revent *rdmacm_event_new(struct rid *id, enum rdma_cm_event_type type, int status)
{
    struct revent *event = calloc(1, sizeof *event);

    if (event == NULL) return NULL;
    event->pub.id = &id->pub;
    event->pub.event = type;
    event->pub.status = status;
    event->counted = id;
    return event;
}

void rdmacm_event_push(struct revent *event)
{
    struct rchannel *channel = rchannel_of(event->counted->pub.channel);

    if (!channel->readable) (void)eventfd_write(channel->pub.fd, 1);
    channel->readable = true;
    *channel->end = event;
    channel->end = &event->next;
    event->next = NULL;
}

void rdmacm_queue(struct rid *id, enum rdma_cm_event_type type, int status)
{
    struct revent *event = rdmacm_event_new(id, type, status);

    if (event != NULL) rdmacm_event_push(event);
}

/* The queue became empty: the descriptor stops being readable.  Its count is not 0, so this does not block. */
static void settle(struct rchannel *channel)
{
    eventfd_t value;

    if (channel->first != NULL) return;
    channel->end = &channel->first;
    if (!channel->readable) return;
    channel->readable = false;
    (void)eventfd_read(channel->pub.fd, &value);
}

void rdmacm_events_drop(struct rid *id)
{
    struct rchannel *channel = rchannel_of(id->pub.channel);

    for (struct revent **link = &channel->first; *link != NULL;) {
        struct revent *event = *link;
        if (event->counted != id && rid_of(event->pub.id) != id) {
            link = &event->next;
            continue;
        }
        *link = event->next;
        if (*link == NULL) channel->end = link;
        if (event->pub.event == RDMA_CM_EVENT_CONNECT_REQUEST && rid_of(event->pub.id) != id)
            rdmacm_id_free(rid_of(event->pub.id)); /* a request nobody will see */
        free(event);
    }
    settle(channel);
}

/* Runs in the program's thread, without the lock. */
static void complete_connection(struct revent *event)
{
    struct rid *id = rid_of(event->pub.id);
    int error;

    if (id->pub.qp == NULL) return; /* CONNECT_RESPONSE: the program does it itself, then rdma_establish() */
    error = rdmacm_qp_ready(id);
    pthread_mutex_lock(&rdmacm.lock);
    if (error == 0) error = id->conn == NULL ? -EINVAL : cm_establish(id->conn, rdmacm_now_ns());
    if (error == 0) rdmacm_peer_connected(id);
    if (error == 0) rdmacm_be_patient(id);
    if (error < 0 && id->conn != NULL) (void)cm_reject(id->conn, CM_REJECT_CONSUMER, NULL, 0, rdmacm_now_ns());
    rdmacm_flush();
    pthread_mutex_unlock(&rdmacm.lock);
    if (error < 0) rdmacm_qp_error(id);
    event->pub.event = error < 0 ? RDMA_CM_EVENT_CONNECT_ERROR : RDMA_CM_EVENT_ESTABLISHED;
    event->pub.status = error;
}

static void process(struct revent *event)
{
    struct rid *id = rid_of(event->pub.id);

    switch (event->pub.event) {
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        if (event->reply) complete_connection(event);
        return;
    case RDMA_CM_EVENT_REJECTED:
        rdmacm_qp_error(id);
        return;
    case RDMA_CM_EVENT_MULTICAST_JOIN:
        rdmacm_group_joined(id, event);
        return;
    default:
        return;
    }
}

int rdma_get_cm_event(struct rdma_event_channel *pub, struct rdma_cm_event **ret)
{
    struct rchannel *channel = rchannel_of(pub);
    struct revent *event;
    struct rid *request;

    if (channel == NULL || ret == NULL) return rdmacm_fail(EINVAL);
    for (;;) {
        struct pollfd fd = {.fd = pub->fd, .events = POLLIN};
        bool destroyed;

        pthread_mutex_lock(&rdmacm.lock);
        event = channel->first;
        if (event != NULL) break;
        destroyed = channel->destroyed;
        pthread_mutex_unlock(&rdmacm.lock);
        while (destroyed)
            pause();
        if (fcntl(pub->fd, F_GETFL) & O_NONBLOCK) return rdmacm_fail(EAGAIN);
        if (poll(&fd, 1, -1) < 0) return -1; /* EINTR is the program's to see */
    }
    channel->first = event->next;
    settle(channel);
    event->counted->taken++;
    pthread_mutex_unlock(&rdmacm.lock);
    process(event);
    request = rid_of(event->pub.id);
    if (event->pub.event == RDMA_CM_EVENT_CONNECT_REQUEST && request->listener && request->listener->synchronous)
        (void)rdma_migrate_id(&request->pub, NULL);
    *ret = &event->pub;
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *pub)
{
    struct revent *event = (struct revent *)(void *)pub;

    if (event == NULL) return rdmacm_fail(EINVAL);
    pthread_mutex_lock(&rdmacm.lock);
    event->counted->acknowledged++;
    pthread_cond_broadcast(&rdmacm.acknowledged);
    pthread_mutex_unlock(&rdmacm.lock);
    free(event);
    return 0;
}

int rdmacm_complete(struct rid *id)
{
    if (!id->synchronous) return 0;
    if (id->pub.event != NULL) {
        (void)rdma_ack_cm_event(id->pub.event);
        id->pub.event = NULL;
    }
    do {
        if (rdma_get_cm_event(id->pub.channel, &id->pub.event) == 0) break;
        if (errno != EINTR) return -1;
    } while (true);
    if (id->pub.event->status == 0) return 0;
    if (id->pub.event->event == RDMA_CM_EVENT_REJECTED) return rdmacm_fail(ECONNREFUSED);
    return rdmacm_fail(id->pub.event->status < 0 ? -id->pub.event->status : id->pub.event->status);
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
    static const char *const name[] = {
        [RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
        [RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
        [RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
        [RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
        [RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
        [RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
        [RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
        [RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
        [RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
        [RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
        [RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
        [RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
        [RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
        [RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
        [RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
        [RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
    };

    if ((unsigned)event >= sizeof name / sizeof name[0]) return "UNKNOWN EVENT";
    return name[event];
}
