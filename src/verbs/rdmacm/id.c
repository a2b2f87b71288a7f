/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids: making them, ending them, moving them between channels, options.
 *
 * An id without a channel of the program's is synchronous: it has one of its own, and each call waits for the event
 * that tells its result.  An id is not gone before every event of it that the program took is acknowledged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/check.h"
#include "verbs/rdmacm/rdmacm_int.h"

struct rid *rdmacm_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
                          enum ibv_qp_type type)
{
    struct rid *id = calloc(1, sizeof *id);
    uint32_t random = 0;

    if (id == NULL) return NULL;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) random = (uint32_t)rdmacm_now_ns();
    id->pub.channel = channel;
    id->pub.context = context;
    id->pub.ps = ps;
    id->pub.qp_type = type;
    id->psn = random & 0xffffff;
    id->qkey = type == IBV_QPT_UD ? RDMA_UDP_QKEY : 0;
    id->ack_timeout = RDMACM_ACK_TIMEOUT;
    id->retry_count = id->rnr_retry_count = 7;
    id->link = &rdmacm.ids;
    id->next = rdmacm.ids;
    if (id->next != NULL) id->next->link = &id->next;
    rdmacm.ids = id;
    return id;
}

void rdmacm_id_free(struct rid *id)
{
    rdmacm_events_drop(id);
    for (struct rid *other = rdmacm.ids; id->backlog > 0 && other != NULL; other = other->next)
        if (other->listener == id) other->listener = NULL;
    CHECK(id->listener == NULL || id->listener->waiting > 0);
    if (id->listener != NULL) id->listener->waiting--;
    rdmacm_peer_forget(id);
    if (id->conn != NULL) cm_release(id->conn, rdmacm_now_ns());
    rdmacm_unbind(id);
    *id->link = id->next;
    if (id->next != NULL) id->next->link = id->link;
    free(id->endpoint_attr);
    free(id);
}

static int create(struct rdma_event_channel *channel, struct rdma_cm_id **ret, void *context, enum rdma_port_space ps,
                  enum ibv_qp_type type)
{
    bool own = channel == NULL;
    struct rid *id;
    int error;

    if (own) channel = rdma_create_event_channel();
    if (channel == NULL) return -1;
    pthread_mutex_lock(&rdmacm.lock);
    error = rdmacm_start();
    id = error < 0 ? NULL : rdmacm_id_new(channel, context, ps, type);
    if (id != NULL) id->synchronous = id->own_channel = own;
    pthread_mutex_unlock(&rdmacm.lock);
    if (id == NULL) {
        if (own) rdma_destroy_event_channel(channel);
        return rdmacm_fail(error < 0 ? -error : ENOMEM);
    }
    *ret = &id->pub;
    return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret, void *context, enum rdma_port_space ps)
{
    switch (ps) {
    case RDMA_PS_TCP:
    case RDMA_PS_IB:
        return create(channel, ret, context, ps, IBV_QPT_RC);
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
        return create(channel, ret, context, ps, IBV_QPT_UD);
    }
    return rdmacm_fail(EINVAL);
}

int rdma_destroy_id(struct rdma_cm_id *pub)
{
    struct rid *id = rid_of(pub);
    struct rdma_event_channel *own = id->own_channel ? pub->channel : NULL;

    if (pub->event != NULL) {
        (void)rdma_ack_cm_event(pub->event);
        pub->event = NULL;
    }
    rdmacm_groups_free(id);
    pthread_mutex_lock(&rdmacm.lock);
    rdmacm_unbind(id); /* no new request while we wait */
    rdmacm_events_drop(id);
    while (id->taken != id->acknowledged)
        pthread_cond_wait(&rdmacm.acknowledged, &rdmacm.lock);
    rdmacm_id_free(id);
    rdmacm_flush();
    pthread_mutex_unlock(&rdmacm.lock);
    if (own != NULL) rdma_destroy_event_channel(own);
    return 0;
}

int rdma_migrate_id(struct rdma_cm_id *pub, struct rdma_event_channel *channel)
{
    struct rid *id = rid_of(pub);
    struct rdma_event_channel *old = pub->channel, *own = id->own_channel ? old : NULL;
    bool synchronous = channel == NULL;
    struct revent *moved = NULL, **end = &moved;

    if (synchronous && (channel = rdma_create_event_channel()) == NULL) return -1;
    pthread_mutex_lock(&rdmacm.lock);
    /* Its events wait at the new channel; those that are requests to a listener move with the listener. */
    for (struct revent **link = &rchannel_of(old)->first; *link != NULL;) {
        struct revent *event = *link;
        if (event->counted != id) {
            link = &event->next;
            continue;
        }
        struct revent *copy = malloc(sizeof *copy);
        if (copy == NULL) break;
        *copy = *event;
        copy->next = NULL;
        *end = copy;
        end = &copy->next;
        link = &event->next;
        event->pub.event = RDMA_CM_EVENT_ADDR_CHANGE; /* not a request any more: dropping it frees no one */
    }
    rdmacm_events_drop(id);
    pub->channel = channel;
    id->synchronous = id->own_channel = synchronous;
    while (moved != NULL) {
        struct revent *event = moved;
        moved = event->next;
        if (event->pub.id != pub) event->pub.id->channel = channel;
        rdmacm_event_push(event);
    }
    pthread_mutex_unlock(&rdmacm.lock);
    if (own != NULL) rdma_destroy_event_channel(own);
    return 0;
}

static int set_id_option(struct rid *id, int name, const void *value, size_t bytes)
{
    int number = 0;
    uint8_t byte = 0;

    if (bytes == sizeof number) memcpy(&number, value, sizeof number);
    if (bytes == sizeof byte) memcpy(&byte, value, sizeof byte);
    switch (name) {
    case RDMA_OPTION_ID_TOS:
        if (bytes != sizeof byte) return EINVAL;
        id->tos = byte;
        return 0;
    case RDMA_OPTION_ID_REUSEADDR:
        if (bytes != sizeof number) return EINVAL;
        id->reuse = number != 0;
        return 0;
    case RDMA_OPTION_ID_AFONLY:
        if (bytes != sizeof number) return EINVAL;
        id->v6_only = number != 0;
        id->v6_only_set = true;
        return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
        if (bytes != sizeof byte || byte > 31) return EINVAL;
        id->ack_timeout = byte;
        return 0;
    default:
        return ENOSYS;
    }
}

int rdma_set_option(struct rdma_cm_id *pub, int level, int name, void *value, size_t bytes)
{
    int error = ENOSYS;

    if (value == NULL) return rdmacm_fail(EINVAL);
    pthread_mutex_lock(&rdmacm.lock);
    if (level == RDMA_OPTION_ID) error = set_id_option(rid_of(pub), name, value, bytes);
    if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH) {
        error = rid_of(pub)->device == NULL ? EINVAL : 0; /* the path between two addresses is the only one */
        if (error == 0) rdmacm_path(rid_of(pub));
        if (error == 0) rdmacm_queue(rid_of(pub), RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    }
    pthread_mutex_unlock(&rdmacm.lock);
    if (error) return rdmacm_fail(error);
    return level == RDMA_OPTION_IB ? rdmacm_complete(rid_of(pub)) : 0;
}

/* Enhanced connection establishment is for vendors' options.  There are none here: nothing is sent, nothing read. */
int rdma_set_local_ece(struct rdma_cm_id *pub, struct ibv_ece *ece)
{
    if (pub == NULL || ece == NULL || pub->qp != NULL || ece->comp_mask != 0) return rdmacm_fail(EINVAL);
    return 0;
}

int rdma_get_remote_ece(struct rdma_cm_id *pub, struct ibv_ece *ece)
{
    if (pub == NULL || ece == NULL || pub->qp != NULL) return rdmacm_fail(EINVAL);
    *ece = (struct ibv_ece){.vendor_id = 0};
    return 0;
}

static int create_passive(struct rid *id, const struct rdma_addrinfo *info, struct ibv_pd *pd,
                          const struct ibv_qp_init_attr *attr)
{
    if (rdma_bind_addr(&id->pub, info->ai_src_addr) != 0) return -1;
    if (attr == NULL) return 0;
    id->endpoint_attr = malloc(sizeof *attr);
    if (id->endpoint_attr == NULL) return rdmacm_fail(ENOMEM);
    *id->endpoint_attr = *attr;
    id->endpoint_attr->qp_type = (enum ibv_qp_type)info->ai_qp_type;
    id->endpoint_pd = pd;
    return 0;
}

int rdma_create_ep(struct rdma_cm_id **ret, struct rdma_addrinfo *info, struct ibv_pd *pd,
                   struct ibv_qp_init_attr *attr)
{
    struct rdma_cm_id *id = NULL;
    int error;

    if (create(NULL, &id, NULL, (enum rdma_port_space)info->ai_port_space, (enum ibv_qp_type)info->ai_qp_type) != 0)
        return -1;
    if (info->ai_flags & RAI_PASSIVE) {
        error = create_passive(rid_of(id), info, pd, attr);
    } else {
        error = rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr, 2000);
        if (error == 0) error = rdma_resolve_route(id, 2000);
        if (error == 0 && attr != NULL) {
            attr->qp_type = (enum ibv_qp_type)info->ai_qp_type;
            error = rdma_create_qp(id, pd, attr);
        }
    }
    if (error != 0) {
        int kept = errno;
        rdma_destroy_ep(id);
        return rdmacm_fail(kept);
    }
    *ret = id;
    return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
    if (id->qp != NULL) rdma_destroy_qp(id);
    if (id->srq != NULL) rdma_destroy_srq(id);
    (void)rdma_destroy_id(id);
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **ret)
{
    struct rid *listener = rid_of(listen);
    struct rdma_cm_event *event = NULL;

    if (!listener->synchronous) return rdmacm_fail(EINVAL);
    if (listen->event != NULL) {
        (void)rdma_ack_cm_event(listen->event);
        listen->event = NULL;
    }
    if (rdma_get_cm_event(listen->channel, &event) != 0) return -1;
    if (event->status != 0 || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
        int error = event->status < 0 ? -event->status : EINVAL;
        (void)rdma_ack_cm_event(event);
        return rdmacm_fail(error);
    }
    if (listener->endpoint_attr != NULL) {
        struct ibv_qp_init_attr attr = *listener->endpoint_attr;
        if (rdma_create_qp(event->id, listener->endpoint_pd, &attr) != 0) {
            struct rdma_cm_id *id = event->id;
            int kept = errno;
            (void)rdma_reject(id, NULL, 0);
            (void)rdma_ack_cm_event(event);
            rdma_destroy_ep(id);
            return rdmacm_fail(kept);
        }
    }
    *ret = event->id;
    event->id->event = event; /* acknowledged with the next call on the new id */
    return 0;
}
