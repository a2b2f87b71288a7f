/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs of an id: creating them, and the attributes of their transitions.
 *
 * The transitions are the kernel's: INIT when created; rights, peer, MTU and PSNs from the two messages when
 * the connection is made; remote WRITE is always allowed, READ and atomics when the peer may have some
 * outstanding.  Unconnected queue pairs can send at once.  The RNR timer is the kernel's default too (655 ms): a
 * shorter one would make a finite number of retries end sooner than it does elsewhere.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "verbs/rdmacm/rdmacm_int.h"

#define INLINE_BYTES 64u

struct ibv_ah_attr rdmacm_ah(const struct rid *id, const struct pkt_addr *remote)
{
    struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};

    memcpy(ah.grh.dgid.raw, remote->byte, 16);
    ah.grh.sgid_index = id->gid_index;
    ah.grh.hop_limit = 64;
    ah.grh.traffic_class = id->tos;
    return ah;
}

int rdmacm_limits(struct rid *id, uint8_t *ret_responder, uint8_t *ret_initiator)
{
    struct ibv_device_attr attr;

    if (ibv_query_device(id->pub.verbs, &attr) != 0) return -EINVAL;
    *ret_responder = (uint8_t)(attr.max_qp_rd_atom < 255 ? attr.max_qp_rd_atom : 254);
    *ret_initiator = (uint8_t)(attr.max_qp_init_rd_atom < 255 ? attr.max_qp_init_rd_atom : 254);
    return 0;
}

static int init_attr(const struct rid *id, struct ibv_qp_attr *attr)
{
    attr->pkey_index = 0;
    attr->port_num = 1;
    if (id->pub.qp_type == IBV_QPT_UD) {
        attr->qkey = id->qkey;
        return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    }
    attr->qp_access_flags = 0;
    if (id->conn != NULL) {
        attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        if (id->responder_resources > 0) attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    }
    return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

/* What the peer said of its queue pair. */
static const struct cm_msg *peer_of(const struct rid *id)
{
    return id->active ? cm_conn_reply(id->conn) : cm_conn_request(id->conn);
}

/* The starting PSN of a REQ or REP is the one its receiver has to begin sending with (volume 1, 12.7.22): what we
 * named is what we expect, what the peer named is what we send. */
static int rtr_attr(const struct rid *id, struct ibv_qp_attr *attr)
{

    if (id->pub.qp_type == IBV_QPT_UD) return IBV_QP_STATE;
    if (id->conn == NULL) return -EINVAL;
    attr->ah_attr = rdmacm_ah(id, &cm_conn_peer(id->conn)->remote);
    attr->path_mtu = (enum ibv_mtu)id->mtu;
    attr->dest_qp_num = peer_of(id)->qpn;
    attr->rq_psn = id->psn;
    if (id->pub.qp_type == IBV_QPT_UC)
        return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    attr->max_dest_rd_atomic = id->responder_resources;
    /* 10 ms.  A kernel says 0, which is 655 ms: adapters that answer within a microsecond seldom need it; here a reply
     * can overtake the receive it is meant for by a scheduler's whim. */
    attr->min_rnr_timer = 20;
    return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
           IBV_QP_MIN_RNR_TIMER;
}

static int rts_attr(const struct rid *id, struct ibv_qp_attr *attr)
{
    attr->sq_psn = id->psn;
    if (id->pub.qp_type == IBV_QPT_UD) return IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (id->conn == NULL) return -EINVAL;
    attr->sq_psn = peer_of(id)->starting_psn;
    if (id->pub.qp_type != IBV_QPT_RC) return IBV_QP_STATE | IBV_QP_SQ_PSN;
    attr->timeout = id->ack_timeout;
    attr->retry_cnt = id->retry_count;
    attr->rnr_retry = id->rnr_retry_count;
    attr->max_rd_atomic = id->initiator_depth;
    return IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
           IBV_QP_MAX_QP_RD_ATOMIC;
}

/* The attributes of a transition to attr->qp_state; the mask, or -errno. */
static int attributes(struct rid *id, struct ibv_qp_attr *attr)
{
    int mask = -EINVAL;

    pthread_mutex_lock(&rdmacm.lock);
    if (attr->qp_state == IBV_QPS_INIT) mask = init_attr(id, attr);
    if (attr->qp_state == IBV_QPS_RTR) mask = rtr_attr(id, attr);
    if (attr->qp_state == IBV_QPS_RTS) mask = rts_attr(id, attr);
    pthread_mutex_unlock(&rdmacm.lock);
    return mask;
}

int rdma_init_qp_attr(struct rdma_cm_id *pub, struct ibv_qp_attr *attr, int *ret_mask)
{
    int mask;

    if (pub->verbs == NULL) return rdmacm_fail(EINVAL);
    mask = attributes(rid_of(pub), attr);
    if (mask < 0) return rdmacm_fail(-mask);
    *ret_mask = mask;
    return 0;
}

static int move(struct rid *id, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask = attributes(id, &attr), error;

    if (mask < 0) return mask;
    error = ibv_modify_qp(id->pub.qp, &attr, mask);
    return error > 0 ? -error : error < 0 ? -errno : 0;
}

int rdmacm_qp_ready(struct rid *id)
{
    int error = move(id, IBV_QPS_INIT); /* once more, with the rights the connection gives */

    if (error == 0) error = move(id, IBV_QPS_RTR);
    if (error == 0) error = move(id, IBV_QPS_RTS);
    return error;
}

void rdmacm_qp_error(struct rid *id)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    if (id->pub.qp != NULL && id->pub.qp_type != IBV_QPT_UD) (void)ibv_modify_qp(id->pub.qp, &attr, IBV_QP_STATE);
}

static struct ibv_pd *default_pd(struct rid *id)
{
    struct ibv_pd *pd;

    pthread_mutex_lock(&rdmacm.lock);
    if (id->device->pd == NULL) id->device->pd = ibv_alloc_pd(id->pub.verbs);
    pd = id->device->pd;
    pthread_mutex_unlock(&rdmacm.lock);
    return pd;
}

static void destroy_cqs(struct rid *id)
{
    if (id->own_recv_cq && id->pub.recv_cq != NULL) (void)ibv_destroy_cq(id->pub.recv_cq);
    if (id->own_recv_cq && id->pub.recv_cq_channel != NULL) (void)ibv_destroy_comp_channel(id->pub.recv_cq_channel);
    if (id->own_send_cq && id->pub.send_cq != NULL) (void)ibv_destroy_cq(id->pub.send_cq);
    if (id->own_send_cq && id->pub.send_cq_channel != NULL) (void)ibv_destroy_comp_channel(id->pub.send_cq_channel);
    if (id->own_recv_cq) id->pub.recv_cq = NULL, id->pub.recv_cq_channel = NULL;
    if (id->own_send_cq) id->pub.send_cq = NULL, id->pub.send_cq_channel = NULL;
    id->own_recv_cq = id->own_send_cq = false;
}

static int create_cq(struct rid *id, uint32_t entries, struct ibv_comp_channel **ret_channel, struct ibv_cq **ret)
{
    *ret_channel = ibv_create_comp_channel(id->pub.verbs);
    if (*ret_channel == NULL) return -1;
    *ret = ibv_create_cq(id->pub.verbs, (int)(entries > 0 ? entries : 1), id, *ret_channel, 0);
    return *ret == NULL ? -1 : 0;
}

/* Queues the program did not bring. */
static int create_cqs(struct rid *id, struct ibv_qp_init_attr_ex *attr)
{
    int error = 0;

    if (attr->recv_cq == NULL) {
        id->own_recv_cq = true;
        error = create_cq(id, attr->cap.max_recv_wr, &id->pub.recv_cq_channel, &id->pub.recv_cq);
        attr->recv_cq = id->pub.recv_cq;
    }
    if (error == 0 && attr->send_cq == NULL) {
        id->own_send_cq = true;
        error = create_cq(id, attr->cap.max_send_wr, &id->pub.send_cq_channel, &id->pub.send_cq);
        attr->send_cq = id->pub.send_cq;
    }
    return error;
}

int rdma_create_qp_ex(struct rdma_cm_id *pub, struct ibv_qp_init_attr_ex *attr)
{
    struct rid *id = rid_of(pub);
    struct ibv_qp *qp = NULL;
    int error;

    if (pub->qp != NULL || pub->verbs == NULL) return rdmacm_fail(EINVAL);
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
        attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
        attr->pd = pub->pd != NULL ? pub->pd : default_pd(id);
    }
    if (attr->pd == NULL) return rdmacm_fail(ENOMEM);
    if (attr->pd->context != pub->verbs) return rdmacm_fail(EINVAL);
    if (attr->srq == NULL) attr->srq = pub->srq;
    /* Adapters give what fits in an entry anyway, and programs have come to rely on it. */
    if (attr->cap.max_inline_data < INLINE_BYTES) attr->cap.max_inline_data = INLINE_BYTES;
    error = create_cqs(id, attr);
    if (error == 0) {
        qp = ibv_create_qp_ex(pub->verbs, attr);
        if (qp == NULL) error = -1;
    }
    if (error == 0) {
        pub->qp = qp;
        pub->pd = attr->pd;
        pub->qp_type = attr->qp_type;
        error = move(id, IBV_QPS_INIT);
        if (error == 0 && attr->qp_type == IBV_QPT_UD) error = move(id, IBV_QPS_RTR);
        if (error == 0 && attr->qp_type == IBV_QPT_UD) error = move(id, IBV_QPS_RTS);
        if (error < 0) errno = -error;
    }
    if (error < 0) {
        int kept = errno;
        if (qp != NULL) (void)ibv_destroy_qp(qp);
        pub->qp = NULL;
        destroy_cqs(id);
        return rdmacm_fail(kept);
    }
    if (!id->own_recv_cq) pub->recv_cq = attr->recv_cq;
    if (!id->own_send_cq) pub->send_cq = attr->send_cq;
    return 0;
}

int rdma_create_qp(struct rdma_cm_id *pub, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp_init_attr_ex ex = {.comp_mask = pd != NULL ? IBV_QP_INIT_ATTR_PD : 0, .pd = pd};
    const size_t common_bytes = offsetof(struct ibv_qp_init_attr_ex, comp_mask);
    int error;

    /* The plain structure is the beginning of the extended one, but for the padding at its end. */
    memcpy(&ex, attr, common_bytes);
    error = rdma_create_qp_ex(pub, &ex);
    if (error == 0) memcpy(attr, &ex, common_bytes);
    return error;
}

void rdma_destroy_qp(struct rdma_cm_id *pub)
{
    if (pub->qp == NULL) return;
    (void)ibv_destroy_qp(pub->qp);
    pub->qp = NULL;
    destroy_cqs(rid_of(pub));
    pub->send_cq = pub->recv_cq = NULL;
}

int rdma_create_srq_ex(struct rdma_cm_id *pub, struct ibv_srq_init_attr_ex *attr)
{
    struct ibv_srq *srq;

    if (pub->srq != NULL || pub->verbs == NULL) return rdmacm_fail(EINVAL);
    if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || attr->pd == NULL) {
        attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
        attr->pd = pub->pd != NULL ? pub->pd : default_pd(rid_of(pub));
    }
    if (attr->pd == NULL) return rdmacm_fail(ENOMEM);
    srq = ibv_create_srq_ex(pub->verbs, attr);
    if (srq == NULL) return -1;
    if (pub->pd == NULL) pub->pd = attr->pd;
    pub->srq = srq;
    return 0;
}

int rdma_create_srq(struct rdma_cm_id *pub, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    struct ibv_srq_init_attr_ex ex = {.srq_context = attr->srq_context,
                                      .attr = attr->attr,
                                      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                                      .srq_type = IBV_SRQT_BASIC,
                                      .pd = pd};
    int error = rdma_create_srq_ex(pub, &ex);

    if (error == 0) attr->attr = ex.attr;
    return error;
}

void rdma_destroy_srq(struct rdma_cm_id *pub)
{
    if (pub->srq == NULL) return;
    (void)ibv_destroy_srq(pub->srq);
    pub->srq = NULL;
}
