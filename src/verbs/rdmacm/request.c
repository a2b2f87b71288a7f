/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the connection machine's events to the program's.
 *
 * The RDMA-CM annex (A11) puts 36 bytes before the program's private data in a REQ and a SIDR_REQ: version,
 * IP version, the requester's port, both IP addresses.  Numbers of outstanding READs change sides on the way:
 * what the peer initiates is what we must be able to respond to.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "verbs/rdmacm/rdmacm_int.h"

/* The addresses a request was made with.  False: not a header of RDMA-CM. */
static bool read_header(struct rid *id, const struct cm_msg *msg)
{
    const uint8_t *header = msg->private_data;
    struct rdma_addr *addr = &id->pub.route.addr;
    unsigned version = header[1] >> 4;
    struct pkt_addr from, to;

    if (header[0] >> 4 != 0 || (version != 4 && version != 6)) return false;
    memcpy(from.byte, &header[4], 16);
    memcpy(to.byte, &header[20], 16);
    rdmacm_sockaddr(&addr->dst_storage, &from, version == 6, load_be16(&header[2]));
    rdmacm_sockaddr(&addr->src_storage, &to, version == 6, (uint16_t)msg->service_id);
    return true;
}

static void copy_private(struct revent *event, const struct cm_msg *msg, unsigned skip)
{
    unsigned bytes = cm_private_bytes(msg->mad.attribute);

    if (bytes <= skip) return;
    memcpy(event->private_data, &msg->private_data[skip], bytes - skip);
    event->pub.param.conn.private_data = event->private_data;
    event->pub.param.conn.private_data_len = (uint8_t)(bytes - skip);
}

static void on_request(const struct cm_event *event)
{
    struct rid *listener = event->app, *id = NULL;
    const struct cm_peer *peer = cm_conn_peer(event->conn);
    bool sidr = event->msg.mad.attribute == CM_SIDR_REQ;
    struct revent *told = NULL;

    if (listener->waiting >= listener->backlog) { /* as a kernel does: nothing is said, and the requester asks again */
        cm_ignore(event->conn, rdmacm_now_ns());
        return;
    }
    if (sidr == (listener->pub.qp_type == IBV_QPT_UD))
        id = rdmacm_id_new(listener->pub.channel, listener->pub.context, listener->pub.ps, listener->pub.qp_type);
    if (id != NULL) told = rdmacm_event_new(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
    if (told == NULL || !read_header(id, &event->msg)) {
        free(told);
        if (id != NULL) rdmacm_id_free(id);
        cm_decline(event->conn, rdmacm_now_ns());
        return;
    }
    cm_conn_set_slot(event->conn, device_cm_slot(((struct rdevice *)peer->port)->live));
    rdmacm_attach(id, peer->port, peer->gid_index);
    id->tos = listener->tos ? listener->tos : event->msg.primary.traffic_class;
    id->reuse = listener->reuse;
    id->service_id = event->msg.service_id;
    id->bound = true;
    id->listener = listener;
    listener->waiting++;
    id->conn = event->conn;
    cm_conn_set_app(event->conn, id);
    rdmacm_path(id);
    told->pub.id = &id->pub;
    told->pub.listen_id = &listener->pub;
    copy_private(told, &event->msg, RDMACM_HEADER_BYTES);
    if (!sidr) {
        struct rdma_conn_param *conn = &told->pub.param.conn;
        if (event->msg.mtu >= IBV_MTU_256 && event->msg.mtu < id->mtu) id->mtu = event->msg.mtu; /* the smaller */
        conn->responder_resources = id->responder_resources = event->msg.initiator_depth;
        conn->initiator_depth = id->initiator_depth = event->msg.responder_resources;
        conn->flow_control = event->msg.flow_control;
        conn->retry_count = id->retry_count = event->msg.retry_count;
        conn->rnr_retry_count = id->rnr_retry_count = event->msg.rnr_retry_count;
        conn->srq = event->msg.srq;
        conn->qp_num = event->msg.qpn;
        id->ack_timeout = event->msg.primary.local_ack_timeout;
    }
    rdmacm_event_push(told);
}

static void on_reply(struct rid *id, const struct cm_event *event)
{
    struct revent *told = rdmacm_event_new(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    struct rdma_conn_param *conn;

    if (told == NULL) return;
    conn = &told->pub.param.conn;
    copy_private(told, &event->msg, 0);
    told->reply = true;
    conn->responder_resources = id->responder_resources = event->msg.initiator_depth;
    conn->initiator_depth = id->initiator_depth = event->msg.responder_resources;
    conn->flow_control = event->msg.flow_control;
    conn->rnr_retry_count = id->rnr_retry_count = event->msg.rnr_retry_count;
    conn->srq = event->msg.srq;
    conn->qp_num = event->msg.qpn;
    rdmacm_event_push(told);
}

static void on_sidr_reply(struct rid *id, const struct cm_event *event)
{
    struct revent *told = rdmacm_event_new(id, RDMA_CM_EVENT_ESTABLISHED, 0);

    if (told == NULL) return;
    copy_private(told, &event->msg, 0);
    told->pub.param.ud.private_data = told->pub.param.conn.private_data;
    told->pub.param.ud.private_data_len = told->pub.param.conn.private_data_len;
    told->pub.param.ud.ah_attr = rdmacm_ah(id, &cm_conn_peer(event->conn)->remote);
    told->pub.param.ud.qp_num = event->msg.qpn;
    told->pub.param.ud.qkey = event->msg.qkey;
    rdmacm_event_push(told);
}

/* Packets of the peer's queue pair show that it lives. */
static void on_doubt(struct rid *id, const struct cm_event *event)
{
    uint64_t heard = device_qpn_heard(id->device->live, cm_conn_qpn(event->conn));

    if (event->status > 0 && heard != id->heard) cm_heard(event->conn);
    id->heard = heard;
}

void rdmacm_on_event(const struct cm_event *event)
{
    struct rid *id = event->app;
    struct revent *told;

    if (id == NULL) return;
    switch (event->kind) {
    case CM_EVENT_REQUEST:
        on_request(event);
        return;
    case CM_EVENT_REPLY:
        on_reply(id, event);
        return;
    case CM_EVENT_SIDR_REPLY:
        on_sidr_reply(id, event);
        return;
    case CM_EVENT_ESTABLISHED:
        rdmacm_peer_connected(id);
        rdmacm_queue(id, RDMA_CM_EVENT_ESTABLISHED, 0);
        return;
    case CM_EVENT_REJECTED:
        told = rdmacm_event_new(id, RDMA_CM_EVENT_REJECTED, event->status);
        if (told == NULL) return;
        if (event->msg.mad.attribute == CM_REJ) copy_private(told, &event->msg, 0);
        rdmacm_event_push(told);
        return;
    case CM_EVENT_UNREACHABLE:
        rdmacm_queue(id, RDMA_CM_EVENT_UNREACHABLE, event->status);
        return;
    case CM_EVENT_DISCONNECTED:
        rdmacm_peer_forget(id);
        rdmacm_queue(id, RDMA_CM_EVENT_DISCONNECTED, 0);
        return;
    case CM_EVENT_DOUBTED:
        on_doubt(id, event);
        return;
    case CM_EVENT_TIMEWAIT_EXIT:
        rdmacm_queue(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
        return;
    }
}
