/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast groups: on Ethernet a group is its IP address; there is no one to ask for leave.
 *
 * The GID of an IPv4 group is the mapped address, as the kernel has it for RoCE v2.  Joining through IGMP or MLD is
 * src/live's when the queue pair is attached, which happens as the program takes the event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/rdmacm/rdmacm_int.h"

#define QPN_MULTICAST 0xffffffu

static bool same_group(const struct rgroup *group, const struct sockaddr *address)
{
    struct pkt_addr wanted = rdmacm_address(address);

    return group->address.ss_family == address->sa_family && memcmp(group->gid.raw, wanted.byte, 16) == 0;
}

static int join(struct rdma_cm_id *pub, const struct sockaddr *address, void *context, bool send_only)
{
    struct rid *id = rid_of(pub);
    struct rgroup *group;
    struct revent *event;
    struct pkt_addr gid;

    if (id->device == NULL || rdmacm_sockaddr_bytes(address) == 0) return rdmacm_fail(EINVAL);
    gid = rdmacm_address(address);
    group = calloc(1, sizeof *group);
    event = group == NULL ? NULL : rdmacm_event_new(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
    if (event == NULL) {
        free(group);
        return rdmacm_fail(ENOMEM);
    }
    memcpy(&group->address, address, rdmacm_sockaddr_bytes(address));
    memcpy(group->gid.raw, gid.byte, 16);
    group->context = context;
    group->send_only = send_only;
    event->group = group;
    event->pub.param.ud.private_data = context;
    event->pub.param.ud.ah_attr = rdmacm_ah(id, &gid);
    event->pub.param.ud.ah_attr.grh.hop_limit = 1;
    event->pub.param.ud.qp_num = QPN_MULTICAST;
    event->pub.param.ud.qkey = id->qkey ? id->qkey : RDMA_UDP_QKEY;
    pthread_mutex_lock(&rdmacm.lock);
    group->next = id->groups;
    id->groups = group;
    rdmacm_event_push(event);
    pthread_mutex_unlock(&rdmacm.lock);
    return rdmacm_complete(id);
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *address, void *context)
{
    return join(id, address, context, false);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
    if (attr->comp_mask & ~(uint32_t)(RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS))
        return rdmacm_fail(EINVAL);
    if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS) || !(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) ||
        attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
        return rdmacm_fail(EINVAL);
    return join(id, attr->addr, context, attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
}

void rdmacm_group_joined(struct rid *id, struct revent *event)
{
    struct rgroup *group = event->group;
    int error;

    if (id->pub.qp == NULL || group->send_only) return;
    error = ibv_attach_mcast(id->pub.qp, &group->gid, 0);
    if (error == 0) {
        group->attached = true;
        return;
    }
    event->pub.event = RDMA_CM_EVENT_MULTICAST_ERROR;
    event->pub.status = error > 0 ? -error : -errno;
}

/* The event that tells of it may not have been taken. */
static void forget(struct rid *id, struct rgroup *group)
{
    struct rchannel *channel = rchannel_of(id->pub.channel);

    for (struct revent *event = channel->first; event != NULL; event = event->next)
        if (event->group == group) {
            event->pub.event = RDMA_CM_EVENT_MULTICAST_ERROR;
            event->pub.status = -ECANCELED;
            event->group = NULL;
        }
}

int rdma_leave_multicast(struct rdma_cm_id *pub, struct sockaddr *address)
{
    struct rid *id = rid_of(pub);
    struct rgroup **link, *group;

    if (rdmacm_sockaddr_bytes(address) == 0) return rdmacm_fail(EINVAL);
    pthread_mutex_lock(&rdmacm.lock);
    for (link = &id->groups; (group = *link) != NULL && !same_group(group, address); link = &group->next)
        ;
    if (group != NULL) {
        *link = group->next;
        forget(id, group);
    }
    pthread_mutex_unlock(&rdmacm.lock);
    if (group == NULL) return rdmacm_fail(EADDRNOTAVAIL);
    if (group->attached && pub->qp != NULL) (void)ibv_detach_mcast(pub->qp, &group->gid, 0);
    free(group);
    return 0;
}

void rdmacm_groups_free(struct rid *id)
{
    while (id->groups != NULL) {
        struct rgroup *group = id->groups;
        id->groups = group->next;
        if (group->attached && id->pub.qp != NULL) (void)ibv_detach_mcast(id->pub.qp, &group->gid, 0);
        free(group);
    }
}
