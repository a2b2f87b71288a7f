/* SPDX-License-Identifier: Apache-2.0 */
/* See messages.h.  Widths are written out here again, from the specification and not from cm.c. */
#include "messages.h"

#include <string.h>

static uint32_t bits(struct rng *rng, unsigned width)
{
    return rng_u32(rng) >> (32 - width);
}

static void random_path(struct rng *rng, struct cm_path *path)
{
    path->local_lid = (uint16_t)bits(rng, 16);
    path->remote_lid = (uint16_t)bits(rng, 16);
    for (int i = 0; i < 16; i++) {
        path->local_gid.byte[i] = (uint8_t)bits(rng, 8);
        path->remote_gid.byte[i] = (uint8_t)bits(rng, 8);
    }
    path->flow_label = bits(rng, 20);
    path->packet_rate = (uint8_t)bits(rng, 6);
    path->traffic_class = (uint8_t)bits(rng, 8);
    path->hop_limit = (uint8_t)bits(rng, 8);
    path->sl = (uint8_t)bits(rng, 4);
    path->subnet_local = (uint8_t)bits(rng, 1);
    path->local_ack_timeout = (uint8_t)bits(rng, 5);
}

static void random_req(struct rng *rng, struct cm_msg *msg)
{
    msg->service_id = rng_u64(rng);
    msg->ca_guid = rng_u64(rng);
    msg->qkey = rng_u32(rng);
    msg->qpn = bits(rng, 24);
    msg->responder_resources = (uint8_t)bits(rng, 8);
    msg->eecn = bits(rng, 24);
    msg->initiator_depth = (uint8_t)bits(rng, 8);
    msg->remote_eecn = bits(rng, 24);
    msg->remote_cm_timeout = (uint8_t)bits(rng, 5);
    msg->transport = (uint8_t)bits(rng, 2);
    msg->flow_control = (uint8_t)bits(rng, 1);
    msg->starting_psn = bits(rng, 24);
    msg->local_cm_timeout = (uint8_t)bits(rng, 5);
    msg->retry_count = (uint8_t)bits(rng, 3);
    msg->pkey = (uint16_t)bits(rng, 16);
    msg->mtu = (uint8_t)bits(rng, 4);
    msg->rdc_exists = (uint8_t)bits(rng, 1);
    msg->rnr_retry_count = (uint8_t)bits(rng, 3);
    msg->max_cm_retries = (uint8_t)bits(rng, 4);
    msg->srq = (uint8_t)bits(rng, 1);
    msg->extended_transport = (uint8_t)bits(rng, 3);
    random_path(rng, &msg->primary);
    random_path(rng, &msg->alternate);
}

static void random_rep(struct rng *rng, struct cm_msg *msg)
{
    msg->qkey = rng_u32(rng);
    msg->qpn = bits(rng, 24);
    msg->eecn = bits(rng, 24);
    msg->starting_psn = bits(rng, 24);
    msg->responder_resources = (uint8_t)bits(rng, 8);
    msg->initiator_depth = (uint8_t)bits(rng, 8);
    msg->target_ack_delay = (uint8_t)bits(rng, 5);
    msg->failover_accepted = (uint8_t)bits(rng, 2);
    msg->flow_control = (uint8_t)bits(rng, 1);
    msg->rnr_retry_count = (uint8_t)bits(rng, 3);
    msg->srq = (uint8_t)bits(rng, 1);
    msg->ca_guid = rng_u64(rng);
}

static void random_info(struct rng *rng, struct cm_msg *msg)
{
    msg->info_bytes = (uint8_t)bits(rng, msg->mad.attribute == CM_REJ ? 7 : 8);
    for (size_t i = 0; i < sizeof msg->info; i++)
        msg->info[i] = (uint8_t)bits(rng, 8);
}

void message_random(struct rng *rng, uint16_t attribute, struct cm_msg *msg)
{
    memset(msg, 0, sizeof *msg);
    msg->mad = (struct mad){.base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .method = 3};
    msg->mad.status = (uint16_t)bits(rng, 16);
    msg->mad.class_specific = (uint16_t)bits(rng, 16);
    msg->mad.tid = rng_u64(rng);
    msg->mad.attribute = attribute;
    msg->mad.reserved = (uint16_t)bits(rng, 16);
    msg->mad.modifier = rng_u32(rng);
    msg->local_id = rng_u32(rng);
    if (attribute != CM_REQ && attribute != CM_SIDR_REQ && attribute != CM_SIDR_REP) msg->remote_id = rng_u32(rng);
    if (attribute == CM_REQ) random_req(rng, msg);
    if (attribute == CM_REP) random_rep(rng, msg);
    if (attribute == CM_MRA || attribute == CM_REJ) msg->message = (uint8_t)bits(rng, 2);
    if (attribute == CM_MRA) msg->service_timeout = (uint8_t)bits(rng, 5);
    if (attribute == CM_REJ) msg->reason = (uint16_t)bits(rng, 16);
    if (attribute == CM_DREQ || attribute == CM_SIDR_REP) msg->qpn = bits(rng, 24);
    if (attribute == CM_SIDR_REQ) msg->pkey = (uint16_t)bits(rng, 16);
    if (attribute == CM_SIDR_REQ || attribute == CM_SIDR_REP) msg->service_id = rng_u64(rng);
    if (attribute == CM_SIDR_REP) {
        msg->status = (uint8_t)bits(rng, 8);
        msg->qkey = rng_u32(rng);
    }
    if (attribute == CM_REJ || attribute == CM_SIDR_REP) random_info(rng, msg);
    for (unsigned i = 0; i < cm_private_bytes(attribute); i++)
        msg->private_data[i] = (uint8_t)bits(rng, 8);
}
