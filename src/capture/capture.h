/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capture says about RoCE: fed record by record, in one pass and bounded memory.
 *
 * A *direction* is what one end sends to one queue pair of the other: (source, destination,
 * destination QP[, source QP for UD][, VNI]).  A *connection* is one direction and, once found,
 * its reverse.  RC packets do not name their source QP, so the reverse is found by what ties the
 * two: the CM exchange when it was captured, otherwise the first answer (ACK, READ response,
 * ATOMIC ACK) whose PSN one unpaired direction had just asked for.
 *
 * At most max_connections are held; beyond that the one least recently seen is dropped and counted
 * in `evicted`.  Its packets stay in the totals, and what was wrong with it in the verdict.
 */
#ifndef ROCELAB_CAPTURE_CAPTURE_H
#define ROCELAB_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histo.h"
#include "packet/capfile/capfile.h"
#include "packet/codec.h"
#include "packet/mad.h"
#include "packet/opcode.h"
#include "packet/pkt.h"

#define CAPTURE_BINS 64
#define CAPTURE_SIZE_CLASSES 34 /* [0]: empty messages; [n]: 2^(n-1) <= bytes < 2^n */
#define CAPTURE_EVIDENCE 8      /* packet numbers kept for each finding */
#define CAPTURE_UNREAD_TYPES 8  /* distinct link types remembered */
#define CAPTURE_NONE UINT32_MAX
#define CAPTURE_MAX_CONNECTIONS 16384        /* when nothing is said */
#define CAPTURE_CONNECTIONS_LIMIT (1u << 24) /* the most that can be asked for; more is lowered to it */
#define CAPTURE_FINDINGS 40

struct capture_options {
    uint32_t max_connections; /* 0: CAPTURE_MAX_CONNECTIONS */
    uint64_t bin_ns;   /* goodput bins: their first width, or 0: 1 us; doubles when CAPTURE_BINS of them are too few */
    uint64_t link_bps; /* to turn pause quanta into time where the file does not say; 0: 100 Gb/s */
    bool skip_icrc;
};

enum capture_verb { CAPTURE_SEND, CAPTURE_WRITE, CAPTURE_READ, CAPTURE_ATOMIC, CAPTURE_VERBS };

/* Why packets were sent again, by what the other end said since the last new packet. */
enum capture_cause {
    CAPTURE_BY_NAK,     /* a NAK for a PSN sequence error */
    CAPTURE_BY_RNR,     /* an RNR NAK */
    CAPTURE_BY_TIMEOUT, /* nothing: the sender's timer, or no retransmission but a copy (`copies`) */
    CAPTURE_BY_UNKNOWN, /* what it said is not in the capture, or cut off */
    CAPTURE_CAUSES
};

/* What tied a direction to its reverse; docs/capture.md. */
enum capture_paired {
    CAPTURE_UNPAIRED,
    CAPTURE_PAIRED_CM,    /* the set-up was captured */
    CAPTURE_PAIRED_DETH,  /* UD packets name both */
    CAPTURE_PAIRED_PSN,   /* one requester can have asked for the PSN of the first answer */
    CAPTURE_PAIRED_PORT,  /* several can; one of them has the answer's UDP source port */
    CAPTURE_PAIRED_GUESS, /* several can: the one that has waited longest */
    CAPTURE_PAIRED_REST,  /* nothing else was left when the capture ended */
    CAPTURE_PAIREDS
};

/* Messages that this direction asked for; a message is counted at its first transmission's end. READ
 * and ATOMIC: by the requester. */
struct capture_ops {
    uint64_t messages, bytes;
    uint64_t min_bytes, max_bytes;
    uint32_t size_class[CAPTURE_SIZE_CLASSES];
};

/* The first packets that show something. */
struct capture_evidence {
    uint64_t packet[CAPTURE_EVIDENCE]; /* numbers as in Wireshark; the first `kept` */
    uint32_t kept;
};

/* The first two cache lines are what every packet touches. */
struct capture_direction {
    struct pkt_addr src, dst;
    uint32_t dst_qp;
    uint32_t src_qp;   /* UD: from DETH; else from the pair or CM; CAPTURE_NONE while unknown */
    uint32_t vni;      /* when tunnelled, else 0 */
    uint32_t mtu;      /* payload of the largest First/Middle packet; 0 unknown */
    uint8_t transport; /* enum op_transport; OP_CNP_KIND: nothing but CNPs and opcodes not known */
    uint8_t net;       /* enum pkt_net */
    uint16_t sport;    /* UDP source port of its latest packet */
    bool tunnelled;    /* in VXLAN, whose VNI may be 0 */
    uint64_t packets;

    uint64_t bytes, payload_bytes; /* bytes: frames as on the wire */
    uint64_t last_ns;
    uint64_t requests;
    uint64_t goodput_bytes; /* payload of request packets and of READ responses, each the first time it is sent */
    uint64_t ecn_capable, ecn_marked; /* ECT or CE; CE */
    uint64_t acks;

    uint64_t first_ns, first_packet;
    uint64_t first_request_packet; /* 0: none */

    /* what it sent as a requester */
    uint64_t retransmitted;                    /* request packets whose PSN had been seen in this direction */
    uint64_t retransmitted_by[CAPTURE_CAUSES]; /* their sum is `retransmitted` */
    uint64_t retransmitted_first_packet;
    uint64_t copies; /* of retransmitted_by[CAPTURE_BY_TIMEOUT], those that the capture holds twice: not sent again */
    uint64_t filled; /* request packets below the highest PSN, not seen before: lost ahead of the capture point and sent
                         * again, or overtaken */
    uint64_t reordered;     /* of those, not part of a retransmission: overtaken */
    uint64_t gaps, missing; /* times a PSN was skipped; packets skipped then (some are `filled` later) */
    uint64_t resets;        /* the QP number was used again: PSN jumped too far for a gap, CM or the MSN said so */
    uint64_t psn_wraps;
    uint64_t odd_sizes; /* First and Middle packets whose payload is not the MTU of those before */
    struct capture_ops ops[CAPTURE_VERBS];
    uint64_t bin[CAPTURE_BINS]; /* of goodput_bytes, by capture time; width in capture_totals.bin_ns */

    /* what it sent as a responder */
    uint64_t duplicate_acks;  /* same PSN and MSN as the ACK before */
    uint64_t naks[NAK_CODES]; /* by code */
    uint64_t naks_reserved;   /* codes past the list, and reserved syndromes */
    uint64_t fatal_packet;    /* the first NAK that ends a connection (all but sequence errors); 0: none */
    uint64_t rnr_naks;
    uint64_t rnr_first_packet;
    uint64_t rnr_min_ns, rnr_max_ns; /* timers the RNR NAKs asked for */
    uint64_t read_responses, atomic_responses;
    uint64_t cnps; /* CNPs sent in this direction */

    uint64_t icrc_errors;
    uint64_t icrc_first_packet;

    uint64_t holes_forgotten; /* gaps given up because there were too many at a time: `missing`, `filled` and
                               * `retransmitted` are approximate */
    uint64_t answers_cut;     /* ACK packets whose syndrome the capture cut off: ACK or NAK, nobody knows */
    uint32_t latency_one_in;  /* one request in so many is watched for its latency, by now; a power of two */
    uint8_t paired_by;        /* enum capture_paired */

    struct histo *cnp_gap; /* ns; NULL when fewer than two */
    /* latencies of this direction's requests; NULL when no sample */
    struct histo *ack_latency; /* ns from a request packet that asks for an ACK to the ACK that covers it; retransmitted
                                * ones excluded */
    struct histo *read_latency; /* ns from a READ or ATOMIC request to its last response */
};

struct capture_connection {
    const struct capture_direction *forward; /* the one that sent the first request; never NULL */
    const struct capture_direction *reverse; /* NULL: nothing seen, or not paired */
    bool cm;                                 /* its set-up was captured */
};

struct capture_cm { /* a connection set up, or tried, through CM */
    struct pkt_addr initiator, acceptor;
    uint32_t initiator_id, acceptor_id;
    uint32_t initiator_qp, acceptor_qp; /* CAPTURE_NONE while unknown */
    uint64_t service_id;
    uint64_t req_ns, rep_ns, rtu_ns, rej_ns, dreq_ns, drep_ns; /* 0: not seen */
    uint64_t req_packet;                                       /* number of the first message */
    uint64_t rej_packet;
    uint32_t repeats; /* messages sent again */
    uint32_t mras;
    uint16_t reject_reason;
    uint8_t mtu, retry_count, rnr_retry_count, transport;
    bool sidr; /* SIDR_REQ / SIDR_REP: req and rep times, acceptor_qp, status in reject_reason */
};

struct capture_pause { /* one sender of pause frames, one priority */
    uint8_t smac[6];
    bool global; /* 802.3x: priority means nothing */
    uint8_t priority;
    uint64_t xoff, xon;  /* frames that pause (quanta > 0), that resume */
    uint64_t paused_ns;  /* time the receiver of these frames could not send: union of quanta, ended early by xon */
    uint64_t longest_ns; /* longest stretch without a break */
    struct capture_evidence evidence;
};

struct capture_totals {
    uint64_t packets, bytes, roce_packets, other_packets;
    uint64_t roce_bytes;
    uint64_t unread; /* records of link types that cannot be read */
    struct {
        uint32_t link_type;
        uint64_t records;
    } unread_type[CAPTURE_UNREAD_TYPES]; /* the first ones met; records 0: no more */
    uint64_t cut;                        /* RoCE packets whose end the capture did not keep: no ICRC check */
    uint64_t cut_headers;                /* records cut before the end of the BTH, or of what says that one follows */
    uint64_t cut_extended;               /* of `cut`, those cut inside the extended headers: their fields count as 0 */
    uint64_t icrc_errors, icrc_checked;
    uint64_t malformed, malformed_by[CODEC_FAULTS];
    uint64_t unknown_opcodes;
    uint64_t requests, retransmitted, retransmitted_by[CAPTURE_CAUSES], filled, reordered, gaps, missing, resets;
    uint64_t holes_forgotten, answers_cut;
    uint64_t copies;
    uint64_t naks, rnr_naks, duplicate_acks, cnps, ecn_capable, ecn_marked, psn_wraps;
    uint64_t goodput_bytes;
    uint64_t pfc_frames, pause_frames; /* 802.1Qbb; 802.3x */
    uint64_t tunnelled;
    uint64_t first_ns, last_ns;
    uint64_t time_backwards; /* records older than their predecessor */
    uint64_t bin_ns;         /* width of the goodput bins, which begin at first_ns */
    uint64_t bin[CAPTURE_BINS];
    uint64_t connections; /* ever seen; one that comes back after it was dropped counts again */
    uint64_t evicted;     /* of those, dropped to keep the memory bound */
    uint64_t cm_evicted, pause_evicted;
};

enum capture_severity { CAPTURE_INFO, CAPTURE_WARNING, CAPTURE_ERROR };

struct capture_finding {
    const char *id; /* "CAP001" */
    enum capture_severity severity;
    const char *title;   /* "packets lost and sent again" */
    char what[512];      /* "244 of 546 request packets (44.6%) ...; worst: 10.77.0.2 -> 10.77.0.1 QP 0x63: ..." */
    const char *advice;  /* what it means and what to look at; valid as long as the capture */
    uint32_t connection; /* index of the worst, or CAPTURE_NONE: none, or dropped since */
    struct capture_evidence evidence;
};

struct capture;

/* NULL: not enough memory. */
struct capture *capture_new(const struct capture_options *options);
void capture_record(struct capture *capture, const struct capfile_record *record);
/* Bytes this analysis can grow to, for the options given: what --help states. */
uint64_t capture_memory_bytes(const struct capture_options *options);

/* Any time, also while records still come (the follow mode); what connections are told by may then be a few
 * packets behind. */
const struct capture_totals *capture_totals(const struct capture *capture);

/* Closes what is open (pauses, bins), pairs what is left and writes the verdict; then only reading is allowed. */
void capture_finish(struct capture *capture);
size_t capture_connections(const struct capture *capture); /* in order of first packet */
struct capture_connection capture_connection(const struct capture *capture, size_t index);
size_t capture_cms(const struct capture *capture);
const struct capture_cm *capture_cm(const struct capture *capture, size_t index);
size_t capture_pauses(const struct capture *capture);
const struct capture_pause *capture_pause(const struct capture *capture, size_t index);
size_t capture_findings(const struct capture *capture); /* most severe first */
const struct capture_finding *capture_finding(const struct capture *capture, size_t index);
void capture_free(struct capture *capture);

#endif
