/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rsockets from beginning to end: making, binding, listening, connecting, shutting down, closing.
 *
 * The number of an rsocket is its event channel's descriptor, so it is unique in the process and a real one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket_int.h"
#include "wire/system.h"

#define CLOSE_MS 10000 /* how long closing waits for what was sent */

static _Atomic(struct rs *) table[RS_SOCKETS_MAX];

int rs_fail(int error)
{
    errno = error;
    return -1;
}

struct rs *rs_of(int fd)
{
    struct rs *rs = fd < 0 || fd >= RS_SOCKETS_MAX ? NULL : atomic_load(&table[fd]);

    if (rs == NULL) errno = EBADF;
    return rs;
}

struct rs *rs_new(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
    struct rs *rs;

    if (channel->fd >= RS_SOCKETS_MAX || (rs = calloc(1, sizeof *rs)) == NULL) {
        errno = channel->fd >= RS_SOCKETS_MAX ? EMFILE : ENOMEM;
        return NULL;
    }
    rs->fd = channel->fd;
    rs->type = SOCK_STREAM;
    rs->channel = channel;
    rs->id = id;
    rs->send_bytes = rs->recv_bytes = (int)(RS_SLOTS * RS_SLOT_BYTES);
    rs->map_limit = RS_MAPS_MAX;
    pthread_mutex_init(&rs->lock, NULL);
    (void)fcntl(channel->fd, F_SETFL, O_NONBLOCK);
    atomic_store(&table[rs->fd], rs);
    return rs;
}

static int datagram(int domain, int type, int protocol)
{
    struct rs *rs;
    int fd = system_socket(domain, type, protocol);

    if (fd < 0) return -1;
    rs = fd < RS_SOCKETS_MAX ? calloc(1, sizeof *rs) : NULL;
    if (rs == NULL) {
        close(fd);
        return rs_fail(ENOMEM);
    }
    rs->fd = fd;
    rs->type = SOCK_DGRAM;
    pthread_mutex_init(&rs->lock, NULL);
    atomic_store(&table[fd], rs);
    return fd;
}

int rsocket(int domain, int type, int protocol)
{
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id = NULL;
    struct rs *rs = NULL;
    int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (domain != AF_INET && domain != AF_INET6) return rs_fail(EAFNOSUPPORT);
    if (kind == SOCK_DGRAM) return datagram(domain, type, protocol);
    if (kind != SOCK_STREAM || (protocol != 0 && protocol != IPPROTO_TCP)) return rs_fail(EPROTONOSUPPORT);
    channel = rdma_create_event_channel();
    if (channel == NULL) return -1;
    if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0) rs = rs_new(id, channel);
    if (rs == NULL) {
        int kept = errno;
        if (id != NULL) (void)rdma_destroy_id(id);
        rdma_destroy_event_channel(channel);
        return rs_fail(kept);
    }
    rs->nonblocking = type & SOCK_NONBLOCK;
    return rs->fd;
}

void rs_free(struct rs *rs)
{
    atomic_store(&table[rs->fd], NULL);
    if (rs->id != NULL && rs->id->qp != NULL) rdma_destroy_qp(rs->id);
    for (unsigned i = 0; i < rs->maps; i++)
        (void)ibv_dereg_mr(rs->map[i].mr);
    if (rs->mr != NULL) (void)ibv_dereg_mr(rs->mr);
    if (rs->cq != NULL) (void)ibv_destroy_cq(rs->cq);
    if (rs->completions != NULL) (void)ibv_destroy_comp_channel(rs->completions);
    if (rs->id != NULL) (void)rdma_destroy_id(rs->id);
    if (rs->channel != NULL) rdma_destroy_event_channel(rs->channel);
    if (rs->type == SOCK_DGRAM) close(rs->fd);
    pthread_mutex_destroy(&rs->lock);
    free(rs->memory);
    free(rs);
}

int rbind(int fd, const struct sockaddr *address, socklen_t bytes)
{
    struct rs *rs = rs_of(fd);
    struct sockaddr_storage copy = {.ss_family = AF_UNSPEC};

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return bind(fd, address, bytes);
    if (bytes > sizeof copy || rs->state != RS_NEW) return rs_fail(EINVAL);
    memcpy(&copy, address, bytes);
    if (rs->reuse)
        (void)rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &rs->reuse, sizeof rs->reuse);
    if (rdma_bind_addr(rs->id, (struct sockaddr *)&copy) != 0) return -1;
    rs->state = RS_BOUND;
    return 0;
}

int rlisten(int fd, int backlog)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return rs_fail(EOPNOTSUPP);
    if (rs->state == RS_LISTENING) return 0;
    if (rs->state != RS_NEW && rs->state != RS_BOUND) return rs_fail(EINVAL);
    if (rdma_listen(rs->id, backlog) != 0) return -1;
    rs->state = RS_LISTENING;
    return 0;
}

/* A request becomes a socket; NULL: it did not, errno says why. */
static struct rs *accept_request(struct rdma_cm_event *event)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id = event->id;
    struct rdma_conn_param param = {
        .responder_resources = RDMA_MAX_RESP_RES, .initiator_depth = RDMA_MAX_INIT_DEPTH, .rnr_retry_count = 7};
    struct rs_greeting greeting;
    struct rs *rs = NULL;
    bool fits = rs_greeting_fits(event->param.conn.private_data, event->param.conn.private_data_len);

    rs_greet(&greeting);
    param.private_data = &greeting;
    param.private_data_len = sizeof greeting;
    (void)rdma_ack_cm_event(event);
    if (channel != NULL && fits && rdma_migrate_id(id, channel) == 0) rs = rs_new(id, channel);
    if (rs == NULL) {
        (void)rdma_reject(id, NULL, 0);
        (void)rdma_destroy_id(id);
        if (channel != NULL) rdma_destroy_event_channel(channel);
        errno = ECONNABORTED;
        return NULL;
    }
    rs->state = RS_ACCEPTED;
    if (rs_prepare(rs) != 0 || rdma_accept(id, &param) != 0) {
        int kept = errno;
        (void)rdma_reject(id, NULL, 0);
        rs_free(rs);
        errno = kept;
        return NULL;
    }
    return rs;
}

int raccept(int fd, struct sockaddr *address, socklen_t *bytes)
{
    struct rs *rs = rs_of(fd), *accepted = NULL;
    struct rdma_cm_event *event = NULL;

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM || rs->state != RS_LISTENING) return rs_fail(EINVAL);
    while (accepted == NULL) {
        pthread_mutex_lock(&rs->lock);
        bool ready = rs_wait(rs, rs_request_waits, rs->nonblocking ? 0 : -1);
        pthread_mutex_unlock(&rs->lock);
        if (!ready) return rs->nonblocking ? rs_fail(EAGAIN) : -1;
        if (rdma_get_cm_event(rs->channel, &event) != 0) {
            if (rs->nonblocking) return -1;
            continue; /* another thread was first */
        }
        if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
            (void)rdma_ack_cm_event(event);
            continue;
        }
        accepted = accept_request(event);
        if (accepted == NULL && errno != ECONNABORTED) return -1;
    }
    if (address != NULL) (void)rgetpeername(accepted->fd, address, bytes);
    return accepted->fd;
}

static bool connect_decided(const struct rs *rs)
{
    return rs->state != RS_CONNECTING;
}

static int take_event(struct rs *rs, enum rdma_cm_event_type wanted)
{
    struct rdma_cm_event *event;
    int error = 0;

    if (rdma_get_cm_event(rs->channel, &event) != 0) return errno;
    if (event->event != wanted) error = event->status < 0 ? -event->status : EHOSTUNREACH;
    (void)rdma_ack_cm_event(event);
    return error;
}

int rconnect(int fd, const struct sockaddr *address, socklen_t bytes)
{
    struct rs *rs = rs_of(fd);
    struct rdma_conn_param param = {.responder_resources = RDMA_MAX_RESP_RES,
                                    .initiator_depth = RDMA_MAX_INIT_DEPTH,
                                    .retry_count = 7,
                                    .rnr_retry_count = 7};
    struct sockaddr_storage copy = {.ss_family = AF_UNSPEC};
    struct rs_greeting greeting;
    int error = 0;

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return connect(fd, address, bytes);
    if (rs->state == RS_CONNECTING) return rs_fail(EALREADY);
    if (rs->state != RS_NEW && rs->state != RS_BOUND) return rs_fail(rs->state == RS_CONNECTED ? EISCONN : EINVAL);
    if (bytes > sizeof copy) return rs_fail(EINVAL);
    memcpy(&copy, address, bytes);
    rs_greet(&greeting);
    param.private_data = &greeting;
    param.private_data_len = sizeof greeting;
    pthread_mutex_lock(&rs->lock);
    if (rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)&copy, 2000) != 0) error = errno;
    if (error == 0) error = take_event(rs, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (error == 0 && rdma_resolve_route(rs->id, 2000) != 0) error = errno;
    if (error == 0) error = take_event(rs, RDMA_CM_EVENT_ROUTE_RESOLVED);
    if (error == 0 && rs_prepare(rs) != 0) error = errno;
    if (error == 0) {
        rs->state = RS_CONNECTING;
        if (rdma_connect(rs->id, &param) != 0) error = errno;
    }
    if (error == 0 && rs->nonblocking && !rs_wait(rs, connect_decided, 0)) {
        error = EINPROGRESS;
    } else if (error == 0) {
        if (!rs_wait(rs, connect_decided, -1)) error = errno;
        if (rs->state == RS_FAILED) error = rs->error ? rs->error : ECONNREFUSED;
    } else {
        rs->state = RS_FAILED;
        rs->error = error;
    }
    pthread_mutex_unlock(&rs->lock);
    return error ? rs_fail(error) : 0;
}

static bool all_sent(const struct rs *rs)
{
    return (rs->sent == rs->sent_done && rs->controls == 0) || rs->state != RS_CONNECTED;
}

/* With the lock held.  Before the requester's RTU nothing can be sent: a blocking socket waits for it; should it take
 * longer, rs_progress() tells the peer when it came. */
static void shut_write(struct rs *rs)
{
    if (rs->shut_write) return;
    rs->shut_write = true;
    if (rs->state == RS_ACCEPTED || rs->state == RS_CONNECTED)
        (void)rs_wait(rs, rs_control_fits, rs->nonblocking && rs->state == RS_ACCEPTED ? 0 : CLOSE_MS);
    rs_progress(rs);
}

int rshutdown(int fd, int how)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_DGRAM) return shutdown(fd, how);
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return rs_fail(EINVAL);
    pthread_mutex_lock(&rs->lock);
    if (how != SHUT_WR) rs->shut_read = true;
    if (how != SHUT_RD) {
        shut_write(rs);
        (void)rs_wait(rs, all_sent, CLOSE_MS);
    }
    if (how == SHUT_RDWR && rs->state == RS_CONNECTED) {
        (void)rdma_disconnect(rs->id);
        rs->state = RS_ENDED;
    }
    pthread_mutex_unlock(&rs->lock);
    return 0;
}

int rclose(int fd)
{
    struct rs *rs = rs_of(fd);

    if (rs == NULL) return -1;
    if (rs->type == SOCK_STREAM && (rs->state == RS_CONNECTED || rs->state == RS_ACCEPTED))
        (void)rshutdown(fd, SHUT_RDWR);
    rs_free(rs);
    return 0;
}
