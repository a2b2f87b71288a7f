/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communication management: the nine messages that set up, refuse and end a connection
 * (InfiniBand 1.x vol. 1, 12.6; RDMA-CM service ids: annex A11).
 *
 * One list says where each field lies; reading, writing and the check that a value fits its bits are three
 * loops over it, so they cannot disagree.  Not for speed: a connection has five of these.
 * Reserved bits are dropped.  Not here: LAP, APR and SAP (path migration), which RoCE does not use.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "packet/mad.h"

#define CM_DATA_BYTES (MAD_BYTES - MAD_HEADER_BYTES)
#define CM_BASE_VERSION 1
#define CM_CLASS_VERSION 2

/* message, first byte of the MAD's data, first bit in it (0 is the highest), width in bits, member */
#define CM_FIELD_LIST(X)                                                                                               \
    X(REQ, 0, 0, 32, local_id)                                                                                         \
    X(REQ, 8, 0, 64, service_id)                                                                                       \
    X(REQ, 16, 0, 64, ca_guid)                                                                                         \
    X(REQ, 28, 0, 32, qkey)                                                                                            \
    X(REQ, 32, 0, 24, qpn)                                                                                             \
    X(REQ, 35, 0, 8, responder_resources)                                                                              \
    X(REQ, 36, 0, 24, eecn)                                                                                            \
    X(REQ, 39, 0, 8, initiator_depth)                                                                                  \
    X(REQ, 40, 0, 24, remote_eecn)                                                                                     \
    X(REQ, 43, 0, 5, remote_cm_timeout)                                                                                \
    X(REQ, 43, 5, 2, transport)                                                                                        \
    X(REQ, 43, 7, 1, flow_control)                                                                                     \
    X(REQ, 44, 0, 24, starting_psn)                                                                                    \
    X(REQ, 47, 0, 5, local_cm_timeout)                                                                                 \
    X(REQ, 47, 5, 3, retry_count)                                                                                      \
    X(REQ, 48, 0, 16, pkey)                                                                                            \
    X(REQ, 50, 0, 4, mtu)                                                                                              \
    X(REQ, 50, 4, 1, rdc_exists)                                                                                       \
    X(REQ, 50, 5, 3, rnr_retry_count)                                                                                  \
    X(REQ, 51, 0, 4, max_cm_retries)                                                                                   \
    X(REQ, 51, 4, 1, srq)                                                                                              \
    X(REQ, 51, 5, 3, extended_transport)                                                                               \
    CM_PATH_LIST(X, 52, primary)                                                                                       \
    CM_PATH_LIST(X, 96, alternate)                                                                                     \
    X(MRA, 0, 0, 32, local_id)                                                                                         \
    X(MRA, 4, 0, 32, remote_id)                                                                                        \
    X(MRA, 8, 0, 2, message)                                                                                           \
    X(MRA, 9, 0, 5, service_timeout)                                                                                   \
    X(REJ, 0, 0, 32, local_id)                                                                                         \
    X(REJ, 4, 0, 32, remote_id)                                                                                        \
    X(REJ, 8, 0, 2, message)                                                                                           \
    X(REJ, 9, 0, 7, info_bytes)                                                                                        \
    X(REJ, 10, 0, 16, reason)                                                                                          \
    X(REJ, 12, 0, 576, info)                                                                                           \
    X(REP, 0, 0, 32, local_id)                                                                                         \
    X(REP, 4, 0, 32, remote_id)                                                                                        \
    X(REP, 8, 0, 32, qkey)                                                                                             \
    X(REP, 12, 0, 24, qpn)                                                                                             \
    X(REP, 16, 0, 24, eecn)                                                                                            \
    X(REP, 20, 0, 24, starting_psn)                                                                                    \
    X(REP, 24, 0, 8, responder_resources)                                                                              \
    X(REP, 25, 0, 8, initiator_depth)                                                                                  \
    X(REP, 26, 0, 5, target_ack_delay)                                                                                 \
    X(REP, 26, 5, 2, failover_accepted)                                                                                \
    X(REP, 26, 7, 1, flow_control)                                                                                     \
    X(REP, 27, 0, 3, rnr_retry_count)                                                                                  \
    X(REP, 27, 3, 1, srq)                                                                                              \
    X(REP, 28, 0, 64, ca_guid)                                                                                         \
    X(RTU, 0, 0, 32, local_id)                                                                                         \
    X(RTU, 4, 0, 32, remote_id)                                                                                        \
    X(DREQ, 0, 0, 32, local_id)                                                                                        \
    X(DREQ, 4, 0, 32, remote_id)                                                                                       \
    X(DREQ, 8, 0, 24, qpn)                                                                                             \
    X(DREP, 0, 0, 32, local_id)                                                                                        \
    X(DREP, 4, 0, 32, remote_id)                                                                                       \
    X(SIDR_REQ, 0, 0, 32, local_id)                                                                                    \
    X(SIDR_REQ, 4, 0, 16, pkey)                                                                                        \
    X(SIDR_REQ, 8, 0, 64, service_id)                                                                                  \
    X(SIDR_REP, 0, 0, 32, local_id)                                                                                    \
    X(SIDR_REP, 4, 0, 8, status)                                                                                       \
    X(SIDR_REP, 5, 0, 8, info_bytes)                                                                                   \
    X(SIDR_REP, 8, 0, 24, qpn)                                                                                         \
    X(SIDR_REP, 12, 0, 64, service_id)                                                                                 \
    X(SIDR_REP, 20, 0, 32, qkey)                                                                                       \
    X(SIDR_REP, 24, 0, 576, info)

#define CM_PATH_LIST(X, at, path)                                                                                      \
    X(REQ, at, 0, 16, path.local_lid)                                                                                  \
    X(REQ, at + 2, 0, 16, path.remote_lid)                                                                             \
    X(REQ, at + 4, 0, 128, path.local_gid)                                                                             \
    X(REQ, at + 20, 0, 128, path.remote_gid)                                                                           \
    X(REQ, at + 36, 0, 20, path.flow_label)                                                                            \
    X(REQ, at + 39, 2, 6, path.packet_rate)                                                                            \
    X(REQ, at + 40, 0, 8, path.traffic_class)                                                                          \
    X(REQ, at + 41, 0, 8, path.hop_limit)                                                                              \
    X(REQ, at + 42, 0, 4, path.sl)                                                                                     \
    X(REQ, at + 42, 4, 1, path.subnet_local)                                                                           \
    X(REQ, at + 43, 0, 5, path.local_ack_timeout)

struct cm_field {
    uint16_t attribute, width_bits;
    uint16_t member_at;   /* in struct cm_msg */
    uint8_t member_bytes; /* 1, 2, 4, 8; wider fields are copied as bytes */
    uint8_t byte_at, bit_at;
};

static const struct cm_field fields[] = {
#define X(id, byte, bit, width, member)                                                                                \
    {CM_##id, width, offsetof(struct cm_msg, member), sizeof(((struct cm_msg *)0)->member), byte, bit},
    CM_FIELD_LIST(X)
#undef X
};

#define FIELDS (sizeof fields / sizeof fields[0])

/* Fields of at most 64 bits never reach into a ninth byte. */
static unsigned field_bytes(const struct cm_field *field)
{
    return (field->bit_at + field->width_bits + 7u) / 8;
}

static unsigned field_shift(const struct cm_field *field)
{
    return field_bytes(field) * 8 - field->bit_at - field->width_bits;
}

static uint64_t field_mask(const struct cm_field *field)
{
    return field->width_bits == 64 ? UINT64_MAX : (1ULL << field->width_bits) - 1;
}

static uint64_t member_get(const struct cm_field *field, const struct cm_msg *msg)
{
    const uint8_t *member = (const uint8_t *)msg + field->member_at;
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    switch (field->member_bytes) {
    case 1:
        return *member;
    case 2:
        memcpy(&half, member, 2);
        return half;
    case 4:
        memcpy(&word, member, 4);
        return word;
    default:
        CHECK(field->member_bytes == 8);
        memcpy(&wide, member, 8);
        return wide;
    }
}

static void member_set(const struct cm_field *field, struct cm_msg *msg, uint64_t value)
{
    uint8_t *member = (uint8_t *)msg + field->member_at;
    uint32_t word = (uint32_t)value;
    uint16_t half = (uint16_t)value;
    switch (field->member_bytes) {
    case 1:
        *member = (uint8_t)value;
        break;
    case 2:
        memcpy(member, &half, 2);
        break;
    case 4:
        memcpy(member, &word, 4);
        break;
    default:
        CHECK(field->member_bytes == 8);
        memcpy(member, &value, 8);
    }
}

static void field_read(const struct cm_field *field, const uint8_t *data, struct cm_msg *msg)
{
    const uint8_t *at = data + field->byte_at;
    if (field->width_bits > 64) {
        memcpy((uint8_t *)msg + field->member_at, at, field->width_bits / 8);
        return;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < field_bytes(field); i++)
        value = value << 8 | at[i];
    member_set(field, msg, value >> field_shift(field) & field_mask(field));
}

static void field_write(const struct cm_field *field, const struct cm_msg *msg, uint8_t *data)
{
    uint8_t *at = data + field->byte_at;
    if (field->width_bits > 64) {
        memcpy(at, (const uint8_t *)msg + field->member_at, field->width_bits / 8);
        return;
    }
    uint64_t value = member_get(field, msg) << field_shift(field);
    for (unsigned i = field_bytes(field); i-- > 0; value >>= 8)
        at[i] |= (uint8_t)value;
}

int cm_parse(const uint8_t *payload, size_t length, struct cm_msg *ret)
{
    struct mad mad;
    int error = mad_parse(payload, length, &mad);
    if (error) return error;
    if (mad.base_version != CM_BASE_VERSION || mad.mgmt_class != MAD_CLASS_CM || mad.class_version != CM_CLASS_VERSION)
        return -ENOMSG;
    unsigned private_bytes = cm_private_bytes(mad.attribute);
    if (!private_bytes) return -ENOMSG;

    const uint8_t *data = payload + MAD_HEADER_BYTES;
    memset(ret, 0, sizeof *ret);
    ret->mad = mad;
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].attribute == mad.attribute) field_read(&fields[i], data, ret);
    memcpy(ret->private_data, data + CM_DATA_BYTES - private_bytes, private_bytes);
    return 0;
}

static bool cm_valid(const struct cm_msg *msg)
{
    const struct mad *mad = &msg->mad;
    if (mad->base_version != CM_BASE_VERSION || mad->class_version != CM_CLASS_VERSION) return false;
    if (mad->mgmt_class != MAD_CLASS_CM || !cm_private_bytes(mad->attribute)) return false;
    for (size_t i = 0; i < FIELDS; i++) {
        if (fields[i].attribute != mad->attribute || fields[i].width_bits > 64) continue;
        if (member_get(&fields[i], msg) > field_mask(&fields[i])) return false;
    }
    return true;
}

int cm_emit(const struct cm_msg *msg, uint8_t payload[MAD_BYTES])
{
    if (!cm_valid(msg)) return -EINVAL;
    unsigned private_bytes = cm_private_bytes(msg->mad.attribute);
    uint8_t *data = payload + MAD_HEADER_BYTES;
    memset(payload, 0, MAD_BYTES);
    mad_emit(&msg->mad, payload);
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].attribute == msg->mad.attribute) field_write(&fields[i], msg, data);
    memcpy(data + CM_DATA_BYTES - private_bytes, msg->private_data, private_bytes);
    return 0;
}

const char *cm_name(uint16_t attribute)
{
    switch (attribute) {
#define X(id, number, private_bytes, name)                                                                             \
    case number:                                                                                                       \
        return name;
        CM_LIST(X)
#undef X
    default:
        return NULL;
    }
}

unsigned cm_private_bytes(uint16_t attribute)
{
    switch (attribute) {
#define X(id, number, private_bytes, name)                                                                             \
    case number:                                                                                                       \
        return private_bytes;
        CM_LIST(X)
#undef X
    default:
        return 0;
    }
}

const char *cm_reject_text(uint16_t reason)
{
    static const char *const texts[] = {
        [1] = "no QP available",
        [2] = "no EE context available",
        [3] = "no resources available",
        [4] = "timeout",
        [5] = "unsupported request",
        [6] = "invalid communication id",
        [7] = "invalid communication instance",
        [8] = "invalid service id: nobody listens",
        [9] = "invalid transport service type",
        [10] = "stale connection",
        [11] = "reliable datagram channel does not exist",
        [12] = "primary remote GID rejected",
        [13] = "primary remote LID rejected",
        [14] = "invalid primary service level",
        [15] = "invalid primary traffic class",
        [16] = "invalid primary hop limit",
        [17] = "invalid primary packet rate",
        [18] = "alternate remote GID rejected",
        [19] = "alternate remote LID rejected",
        [20] = "invalid alternate service level",
        [21] = "invalid alternate traffic class",
        [22] = "invalid alternate hop limit",
        [23] = "invalid alternate packet rate",
        [24] = "redirected to another port and CM",
        [25] = "redirected to another port",
        [26] = "invalid path MTU",
        [27] = "insufficient responder resources",
        [28] = "consumer reject",
        [29] = "RNR retry count rejected",
        [30] = "duplicate local communication id",
        [31] = "unsupported class version",
        [32] = "invalid primary flow label",
        [33] = "invalid alternate flow label",
    };
    const char *text = reason < sizeof texts / sizeof texts[0] ? texts[reason] : NULL;
    return text ? text : "unknown reason";
}

uint16_t cm_service_port(uint64_t service_id)
{
    return service_id >> 24 == 1 ? (uint16_t)service_id : 0;
}
