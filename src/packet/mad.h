/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Management datagrams and the communication-management messages (InfiniBand 1.x vol. 1,
 * chapters 13.4 and 12; RDMA-CM private data: annex A11).
 *
 * A MAD is the 256-byte payload of a UD SEND to QP1.  mad_parse() and cm_parse() are total;
 * cm_emit() writes what cm_parse() reads back.
 */
#ifndef ROCELAB_PACKET_MAD_H
#define ROCELAB_PACKET_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/pkt.h"

#define MAD_BYTES 256
#define MAD_HEADER_BYTES 24
#define MAD_CLASS_CM 0x07
#define MAD_QPN 1u /* QP1, of every port, and its key */
#define MAD_QKEY 0x80010000u

struct mad {
    uint8_t base_version, mgmt_class, class_version, method;
    uint16_t status, class_specific;
    uint64_t tid;
    uint16_t attribute, reserved;
    uint32_t modifier;
};

/*    id        attribute  private-data bytes  name */
#define CM_LIST(X)                                                                                                     \
    X(REQ, 0x0010, 92, "REQ")                                                                                          \
    X(MRA, 0x0011, 222, "MRA")                                                                                         \
    X(REJ, 0x0012, 148, "REJ")                                                                                         \
    X(REP, 0x0013, 196, "REP")                                                                                         \
    X(RTU, 0x0014, 224, "RTU")                                                                                         \
    X(DREQ, 0x0015, 220, "DREQ")                                                                                       \
    X(DREP, 0x0016, 224, "DREP")                                                                                       \
    X(SIDR_REQ, 0x0017, 216, "SIDR_REQ")                                                                               \
    X(SIDR_REP, 0x0018, 136, "SIDR_REP")

enum cm_attribute {
#define X(id, attribute, private_bytes, name) CM_##id = attribute,
    CM_LIST(X)
#undef X
};

#define CM_PRIVATE_MAX 224

struct cm_path {
    uint16_t local_lid, remote_lid;
    struct pkt_addr local_gid, remote_gid;
    uint32_t flow_label; /* 20 bits */
    uint8_t packet_rate; /* 6 bits */
    uint8_t traffic_class, hop_limit;
    uint8_t sl;                /* 4 bits */
    uint8_t subnet_local;      /* 1 bit */
    uint8_t local_ack_timeout; /* 5 bits */
};

/* One record for all nine messages; a message has the fields its specification gives it, the
 * others are 0. */
struct cm_msg {
    struct mad mad;                               /* mad.attribute is the enum cm_attribute */
    uint32_t local_id;                            /* Local Communication ID; SIDR: Request ID */
    uint32_t remote_id;                           /* Remote Communication ID */
    uint64_t service_id;                          /* REQ, SIDR_REQ, SIDR_REP */
    uint64_t ca_guid;                             /* REQ, REP: local CA GUID */
    uint32_t qpn;                                 /* REQ, REP: local QPN; DREQ: remote QPN; SIDR_REP: QPN */
    uint32_t qkey;                                /* REQ, REP: local Q_Key; SIDR_REP */
    uint32_t eecn;                                /* REQ, REP: local EECN */
    uint32_t remote_eecn;                         /* REQ */
    uint32_t starting_psn;                        /* REQ, REP */
    uint16_t pkey;                                /* REQ, SIDR_REQ */
    uint8_t responder_resources, initiator_depth; /* REQ, REP */
    uint8_t remote_cm_timeout, local_cm_timeout;  /* REQ, 5 bits */
    uint8_t transport;                            /* REQ: service type, 0 RC, 1 UC, 2 RD, 3 extended */
    uint8_t flow_control;                         /* REQ, REP: end-to-end flow control */
    uint8_t retry_count, rnr_retry_count;         /* REQ, 3 bits; REP: rnr */
    uint8_t mtu;                                  /* REQ: path packet payload MTU code, 1..5 = 256..4096 */
    uint8_t rdc_exists;                           /* REQ */
    uint8_t max_cm_retries;                       /* REQ, 4 bits */
    uint8_t srq;                                  /* REQ, REP */
    uint8_t extended_transport;                   /* REQ, 3 bits */
    struct cm_path primary, alternate;            /* REQ */
    uint8_t target_ack_delay;                     /* REP, 5 bits */
    uint8_t failover_accepted;                    /* REP, 2 bits */
    uint8_t message;                              /* MRA, REJ: message being answered: 0 REQ, 1 REP, 2 other */
    uint8_t service_timeout;                      /* MRA, 5 bits */
    uint16_t reason;                              /* REJ */
    uint8_t status;                               /* SIDR_REP */
    uint8_t info_bytes;                   /* REJ: length of ARI (7 bits); SIDR_REP: additional information length */
    uint8_t info[72];                     /* REJ: ARI; SIDR_REP: additional information */
    uint8_t private_data[CM_PRIVATE_MAX]; /* as many bytes as CM_LIST says */
};

int mad_parse(const uint8_t *payload, size_t length, struct mad *ret); /* 0; -EBADMSG: shorter than 256 bytes */
void mad_emit(const struct mad *mad, uint8_t header[MAD_HEADER_BYTES]);
/* 0; -EBADMSG: shorter than 256 bytes; -ENOMSG: not a CM message (class version 2) of CM_LIST. */
int cm_parse(const uint8_t *payload, size_t length, struct cm_msg *ret);
/* 0; -EINVAL: not a message of CM_LIST, or a value wider than its field.  Fields that the message
 * does not have are ignored. */
int cm_emit(const struct cm_msg *msg, uint8_t payload[MAD_BYTES]);
const char *cm_name(uint16_t attribute);       /* "REQ" ...; NULL when not in the list */
const char *cm_reject_text(uint16_t reason);   /* "consumer reject" ...; "unknown reason" */
unsigned cm_private_bytes(uint16_t attribute); /* 0 when not in the list */

/* Where several processes are behind one QP1, the top ten bits of a communication id say whose it is: the slot. */
#define CM_SLOT_SHIFT 22
struct cm_owner {
    bool listens;        /* whoever listens for ... */
    uint64_t service_id; /* ... this; else: */
    uint32_t slot;       /* who has it; 0: nobody can be told from the message */
};
struct cm_owner cm_owner(const uint8_t payload[MAD_BYTES]);
/* What a machine answers for whom it does not have: requests are refused, a goodbye is confirmed; false: nothing. */
bool cm_refusal(const uint8_t payload[MAD_BYTES], uint8_t ret[MAD_BYTES]);

/* Annex A11: an RDMA-CM service id holds a port space and a port; 0 when it does not. */
uint16_t cm_service_port(uint64_t service_id);

#endif
