/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting, accepting, rejecting, disconnecting: the program's wishes as messages.
 *
 * The values of a REQ are the kernel's for RoCE: permissive LIDs, GIDs that are the IP addresses, hop limit
 * 64, fifteen retries and 2^20 units of time for either manager, the port's MTU.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/protocol.h"
#include "verbs/rdmacm/rdmacm_int.h"

#define CM_RESPONSE_TIMEOUT 20
#define CM_RETRIES 15
#define LID_PERMISSIVE 0xffff
#define RATE_100G 16 /* IBV_RATE_100_GBPS */
#define ACK_DELAY 15
#define RNR_PATIENCE_NS 500000000u

static uint64_t guid_of(const struct rid *id)
{
    return device_info_of(id->device->live)->guid;
}

static void write_header(const struct rid *id, uint8_t header[RDMACM_HEADER_BYTES])
{
    const struct rdma_addr *addr = &id->pub.route.addr;
    bool v6 = addr->src_addr.sa_family == AF_INET6;
    struct pkt_addr local = rdmacm_address(&addr->src_addr), remote = rdmacm_address(&addr->dst_addr);

    memset(header, 0, RDMACM_HEADER_BYTES);
    header[1] = v6 ? 0x60 : 0x40;
    store_be16(&header[2], rdmacm_port(&addr->src_addr));
    memcpy(v6 ? &header[4] : &header[16], v6 ? &local.byte[0] : &local.byte[12], v6 ? 16 : 4);
    memcpy(v6 ? &header[20] : &header[32], v6 ? &remote.byte[0] : &remote.byte[12], v6 ? 16 : 4);
}

static struct cm_peer peer_of(const struct rid *id)
{
    return (struct cm_peer){.port = id->device,
                            .gid_index = id->gid_index,
                            .tos = id->tos,
                            .local = rdmacm_address(&id->pub.route.addr.src_addr),
                            .remote = rdmacm_address(&id->pub.route.addr.dst_addr)};
}

static void fill_request(struct rid *id, const struct rdma_conn_param *param, struct cm_msg *msg)
{
    struct cm_peer peer = peer_of(id);

    msg->mad.attribute = CM_REQ;
    msg->service_id = rdmacm_service(id, rdmacm_port(&id->pub.route.addr.dst_addr));
    msg->ca_guid = guid_of(id);
    msg->qpn = id->pub.qp != NULL ? id->pub.qp->qp_num : param->qp_num;
    msg->srq = id->pub.qp != NULL ? id->pub.qp->srq != NULL : param->srq != 0;
    msg->starting_psn = id->psn;
    msg->pkey = PROTO_PKEY_DEFAULT;
    msg->responder_resources = id->responder_resources;
    msg->initiator_depth = id->initiator_depth;
    msg->remote_cm_timeout = msg->local_cm_timeout = CM_RESPONSE_TIMEOUT;
    msg->max_cm_retries = CM_RETRIES;
    msg->transport = id->pub.qp_type == IBV_QPT_UC ? 1 : 0;
    msg->flow_control = param->flow_control != 0;
    msg->retry_count = id->retry_count;
    msg->rnr_retry_count = id->rnr_retry_count;
    msg->mtu = id->mtu;
    msg->primary = (struct cm_path){.local_lid = LID_PERMISSIVE,
                                    .remote_lid = LID_PERMISSIVE,
                                    .local_gid = peer.local,
                                    .remote_gid = peer.remote,
                                    .packet_rate = RATE_100G,
                                    .traffic_class = id->tos,
                                    .hop_limit = 64,
                                    .local_ack_timeout = id->ack_timeout};
}

/* Outstanding READs either way: what the program asks for, or all the device can. */
static int fill_depths(struct rid *id, const struct rdma_conn_param *param, bool accepting)
{
    uint8_t responder = 0, initiator = 0;
    int error = rdmacm_limits(id, &responder, &initiator);

    if (error < 0) return error;
    if (accepting) { /* no more than the requester offered */
        if (id->responder_resources < responder) responder = id->responder_resources;
        if (id->initiator_depth < initiator) initiator = id->initiator_depth;
    }
    if (param != NULL && param->responder_resources != RDMA_MAX_RESP_RES) {
        if (!accepting && param->responder_resources > responder) return -EINVAL;
        if (param->responder_resources < responder || !accepting) responder = param->responder_resources;
    }
    if (param != NULL && param->initiator_depth != RDMA_MAX_INIT_DEPTH) {
        if (!accepting && param->initiator_depth > initiator) return -EINVAL;
        if (param->initiator_depth < initiator || !accepting) initiator = param->initiator_depth;
    }
    id->responder_resources = responder;
    id->initiator_depth = initiator;
    return 0;
}

static int connect_locked(struct rid *id, const struct rdma_conn_param *param, struct cm_msg *msg)
{
    struct cm_peer peer = peer_of(id);

    if (id->conn != NULL) return -EINVAL;
    id->active = true;
    id->conn = cm_connect(rdmacm.engine, device_cm_slot(id->device->live), &peer, msg, id, rdmacm_now_ns());
    (void)param;
    if (id->conn == NULL) return -ENOMEM;
    rdmacm_flush();
    return 0;
}

int rdma_connect(struct rdma_cm_id *pub, struct rdma_conn_param *given)
{
    static const struct rdma_conn_param none = {.responder_resources = RDMA_MAX_RESP_RES,
                                                .initiator_depth = RDMA_MAX_INIT_DEPTH,
                                                .retry_count = 7,
                                                .rnr_retry_count = 7};
    const struct rdma_conn_param *param = given != NULL ? given : &none;
    struct rid *id = rid_of(pub);
    struct cm_msg msg = {.reason = 0};
    bool sidr = pub->qp_type == IBV_QPT_UD;
    unsigned room = cm_private_bytes(sidr ? CM_SIDR_REQ : CM_REQ) - RDMACM_HEADER_BYTES;
    int error = 0;

    if (id->device == NULL || pub->route.addr.dst_addr.sa_family == 0) return rdmacm_fail(EINVAL);
    if (param->private_data_len > room) return rdmacm_fail(EINVAL);
    write_header(id, msg.private_data);
    if (param->private_data_len > 0)
        memcpy(&msg.private_data[RDMACM_HEADER_BYTES], param->private_data, param->private_data_len);
    if (sidr) {
        msg.mad.attribute = CM_SIDR_REQ;
        msg.service_id = rdmacm_service(id, rdmacm_port(&id->pub.route.addr.dst_addr));
        msg.pkey = PROTO_PKEY_DEFAULT;
    } else {
        error = fill_depths(id, param, false);
        id->retry_count = param->retry_count < 7 ? param->retry_count : 7;
        id->rnr_retry_count = param->rnr_retry_count < 7 ? param->rnr_retry_count : 7;
        if (error == 0) fill_request(id, param, &msg);
    }
    if (error < 0) return rdmacm_fail(-error);
    pthread_mutex_lock(&rdmacm.lock);
    error = connect_locked(id, param, &msg);
    pthread_mutex_unlock(&rdmacm.lock);
    return error < 0 ? rdmacm_fail(-error) : rdmacm_complete(id);
}

static void fill_reply(const struct rid *id, const struct rdma_conn_param *param, struct cm_msg *msg)
{
    msg->qpn = id->pub.qp != NULL ? id->pub.qp->qp_num : param != NULL ? param->qp_num : 0;
    if (id->pub.qp_type == IBV_QPT_UD) {
        msg->service_id = id->service_id;
        msg->qkey = id->qkey;
        msg->status = CM_SIDR_SUCCESS;
        return;
    }
    msg->ca_guid = guid_of(id);
    msg->srq = id->pub.qp != NULL ? id->pub.qp->srq != NULL : param != NULL && param->srq != 0;
    msg->starting_psn = id->psn;
    msg->responder_resources = id->responder_resources;
    msg->initiator_depth = id->initiator_depth;
    msg->target_ack_delay = ACK_DELAY;
    msg->flow_control = param != NULL && param->flow_control != 0;
    msg->rnr_retry_count = param == NULL || param->rnr_retry_count > 7 ? 7 : param->rnr_retry_count;
}

/* What we tell the peer is how often its queue pair may be refused for want of a receive.  Where that is never, the
 * first refusal ends the connection: receives may come late then, by as much as a busy machine makes them. */
void rdmacm_be_patient(const struct rid *id)
{
    const struct cm_msg *told = id->active ? cm_conn_request(id->conn) : cm_conn_reply(id->conn);

    if (id->pub.qp_type != IBV_QPT_RC || told->rnr_retry_count > 0) return;
    device_qpn_be_patient(id->device->live, cm_conn_qpn(id->conn), RNR_PATIENCE_NS);
}

static void leave_backlog(struct rid *id)
{
    CHECK(id->listener == NULL || id->listener->waiting > 0);
    if (id->listener != NULL) id->listener->waiting--;
    id->listener = NULL;
}

int rdma_accept(struct rdma_cm_id *pub, struct rdma_conn_param *param)
{
    struct rid *id = rid_of(pub);
    bool sidr = pub->qp_type == IBV_QPT_UD;
    struct cm_msg msg = {.reason = 0};
    int error = 0;

    if (id->conn == NULL || id->active) return rdmacm_fail(EINVAL);
    if (param != NULL && param->private_data_len > cm_private_bytes(sidr ? CM_SIDR_REP : CM_REP))
        return rdmacm_fail(EINVAL);
    if (param != NULL && param->private_data_len > 0)
        memcpy(msg.private_data, param->private_data, param->private_data_len);
    if (!sidr) error = fill_depths(id, param, true);
    if (error == 0 && !sidr && pub->qp != NULL) error = rdmacm_qp_ready(id);
    if (error < 0) return rdmacm_fail(-error);
    fill_reply(id, param, &msg);
    pthread_mutex_lock(&rdmacm.lock);
    leave_backlog(id);
    error = cm_accept(id->conn, &msg, rdmacm_now_ns());
    if (error == 0 && !sidr) rdmacm_be_patient(id); /* before the REP leaves */
    rdmacm_flush();
    pthread_mutex_unlock(&rdmacm.lock);
    if (error < 0) {
        rdmacm_qp_error(id);
        return rdmacm_fail(-error);
    }
    return sidr ? 0 : rdmacm_complete(id);
}

static int reject(struct rdma_cm_id *pub, uint16_t reason, const void *private_data, uint8_t bytes)
{
    struct rid *id = rid_of(pub);
    int error;

    if (id->conn == NULL) return rdmacm_fail(EINVAL);
    if (bytes > cm_private_bytes(pub->qp_type == IBV_QPT_UD ? CM_SIDR_REP : CM_REJ)) return rdmacm_fail(EINVAL);
    pthread_mutex_lock(&rdmacm.lock);
    leave_backlog(id);
    error = cm_reject(id->conn, reason, private_data, bytes, rdmacm_now_ns());
    rdmacm_flush();
    pthread_mutex_unlock(&rdmacm.lock);
    return error < 0 ? rdmacm_fail(-error) : 0;
}

int rdma_reject(struct rdma_cm_id *pub, const void *private_data, uint8_t bytes)
{
    return reject(pub, CM_REJECT_CONSUMER, private_data, bytes);
}

int rdma_reject_ece(struct rdma_cm_id *pub, const void *private_data, uint8_t bytes)
{
    return reject(pub, 35 /* vendor option not supported */, private_data, bytes);
}

int rdma_establish(struct rdma_cm_id *pub)
{
    struct rid *id = rid_of(pub);
    int error;

    if (pub->qp != NULL) return rdmacm_fail(EINVAL); /* done by us */
    pthread_mutex_lock(&rdmacm.lock);
    error = id->conn == NULL ? -EINVAL : cm_establish(id->conn, rdmacm_now_ns());
    if (error == 0) rdmacm_peer_connected(id);
    if (error == 0) rdmacm_be_patient(id);
    if (error == 0) rdmacm_flush();
    pthread_mutex_unlock(&rdmacm.lock);
    return error < 0 ? rdmacm_fail(-error) : 0;
}

int rdma_notify(struct rdma_cm_id *pub, enum ibv_event_type event)
{
    struct rid *id = rid_of(pub);

    if (event != IBV_EVENT_COMM_EST) return event == IBV_EVENT_PATH_MIG ? 0 : rdmacm_fail(EINVAL);
    pthread_mutex_lock(&rdmacm.lock);
    if (id->conn != NULL) (void)cm_notice(id->conn, rdmacm_now_ns());
    if (rdmacm.engine != NULL) rdmacm_flush();
    pthread_mutex_unlock(&rdmacm.lock);
    return 0;
}

int rdma_disconnect(struct rdma_cm_id *pub)
{
    struct rid *id = rid_of(pub);
    int error;

    if (id->conn == NULL) return rdmacm_fail(EINVAL);
    rdmacm_qp_error(id);
    pthread_mutex_lock(&rdmacm.lock);
    error = cm_disconnect(id->conn, rdmacm_now_ns());
    rdmacm_flush();
    pthread_mutex_unlock(&rdmacm.lock);
    /* The peer was first: its DREQ is answered, and a synchronous id has the event waiting. */
    if (error < 0 && !id->synchronous) return 0;
    return rdmacm_complete(id);
}
