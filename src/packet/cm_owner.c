/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several connection managers behind one QP1: whose a message is, and what is said for who is not there.
 *
 * Who the listeners are and which process has which slot, the caller knows.
 */
#include "packet/mad.h"

#define REJ_INVALID_SERVICE_ID 8u
#define SIDR_SERVICE_ID_NOT_SUPPORTED 1u

struct cm_owner cm_owner(const uint8_t payload[MAD_BYTES])
{
    struct cm_msg msg;

    if (cm_parse(payload, MAD_BYTES, &msg) < 0) return (struct cm_owner){.slot = 0};
    switch (msg.mad.attribute) {
    case CM_REQ:
    case CM_SIDR_REQ:
        return (struct cm_owner){.listens = true, .service_id = msg.service_id};
    case CM_SIDR_REP:
        return (struct cm_owner){.slot = msg.local_id >> CM_SLOT_SHIFT};
    default:
        return (struct cm_owner){.slot = msg.remote_id >> CM_SLOT_SHIFT};
    }
}

bool cm_refusal(const uint8_t payload[MAD_BYTES], uint8_t ret[MAD_BYTES])
{
    struct cm_msg msg, answer = {.remote_id = 0};

    if (cm_parse(payload, MAD_BYTES, &msg) < 0) return false;
    answer.mad = msg.mad;
    if (msg.mad.attribute == CM_REQ) {
        answer.mad.attribute = CM_REJ;
        answer.remote_id = msg.local_id;
        answer.reason = REJ_INVALID_SERVICE_ID;
    } else if (msg.mad.attribute == CM_SIDR_REQ) {
        answer.mad.attribute = CM_SIDR_REP;
        answer.local_id = msg.local_id;
        answer.service_id = msg.service_id;
        answer.status = SIDR_SERVICE_ID_NOT_SUPPORTED;
    } else if (msg.mad.attribute == CM_DREQ) { /* whoever leaves need not ask again */
        answer.mad.attribute = CM_DREP;
        answer.local_id = msg.remote_id;
        answer.remote_id = msg.local_id;
    } else {
        return false;
    }
    return cm_emit(&answer, ret) == 0;
}
