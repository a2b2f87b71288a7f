/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes <-> descriptor: the only door through which frames enter and leave.
 *
 * codec_parse() is total: any bytes give a descriptor (0) or -EBADMSG with the fault named, and
 * reads nothing outside [data, data + captured).  codec_emit() writes a frame that codec_parse()
 * reads back to the same descriptor and cold record; lengths, the IPv4 header checksum and the
 * ICRC are computed, everything else is taken from the record.  codec_rewrite() writes into a frame that
 * was read before what a switch has changed in its descriptor.
 */
#ifndef ROCELAB_PACKET_CODEC_H
#define ROCELAB_PACKET_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/pkt.h"
#include "packet/protocol.h"

enum codec_link {
    CODEC_ETHERNET, /* LINKTYPE_ETHERNET, 1 */
    CODEC_SLL,      /* LINKTYPE_LINUX_SLL, 113: `tcpdump -i any`, older */
    CODEC_SLL2,     /* LINKTYPE_LINUX_SLL2, 276: `tcpdump -i any` */
    CODEC_RAW_IP,   /* LINKTYPE_RAW 101 (12 on some systems), LINKTYPE_IPV4 228, LINKTYPE_IPV6 229 */
};

struct codec_frame {
    const uint8_t *data;
    uint32_t captured; /* bytes at data */
    uint32_t length;   /* bytes the frame had on the wire (>= captured unless the file lies) */
    enum codec_link link;
};

/* Where things are in the frame; valid after a parse that answered 0.  Opaque outside packet/. */
struct codec_layout {
    uint16_t l3_at;      /* IP header or GRH of the innermost frame; 0: none */
    uint16_t udp_at;     /* 0 for v1 */
    uint16_t bth_at;     /* 0 when not RoCE */
    uint16_t payload_at; /* after the extended headers */
    uint16_t icrc_at;    /* 0 when the packet is cut */
    uint16_t tag_at;     /* priority and VLAN id of the innermost tag; 0: untagged */
};

/* Why a packet is malformed: one list yields the codes and the sentences.
 *
 * Only a frame that says it is ours can be malformed: Ethertype 0x8915, UDP port 4791, a PAUSE or
 * PFC opcode in a MAC control frame, or VXLAN around one of these.  A frame that ends before it has
 * said so (a runt, a short IP header), fragments after the first, IPv6 with extension headers, more than two
 * VLAN tags and other MAC control opcodes are PKT_OTHER. */
#define CODEC_FAULT_LIST(X)                                                                                            \
    X(NONE, "no fault")                                                                                                \
    X(CUT_HEADERS, "the capture kept too few bytes to read the headers")                                               \
    X(IP_SHORT, "ends inside the GRH")                                                                                 \
    X(IP_VERSION, "GRH version is not 6")                                                                              \
    X(IP_TOTAL_LENGTH, "IP or GRH length beyond the end of the frame")                                                 \
    X(IP_CHECKSUM, "wrong IPv4 header checksum")                                                                       \
    X(IP_FRAGMENT, "an IP fragment: RoCE is never fragmented")                                                         \
    X(UDP_SHORT, "ends inside the UDP header")                                                                         \
    X(UDP_LENGTH, "UDP length does not agree with the IP length")                                                      \
    X(VXLAN, "VXLAN header without a VNI, or nested deeper than one level")                                            \
    X(BTH_SHORT, "ends inside the BTH")                                                                                \
    X(BTH_VERSION, "BTH transport version is not 0")                                                                   \
    X(GRH_NEXT, "GRH next header is not BTH (0x1b)")                                                                   \
    X(HEADERS_SHORT, "ends inside the extended headers its opcode requires")                                           \
    X(ICRC_SHORT, "no room for the ICRC")                                                                              \
    X(PAD, "pad count larger than what follows the headers")                                                           \
    X(PAYLOAD, "payload on an opcode that has none")                                                                   \
    X(TOO_LONG, "larger than any RoCE packet (4096 bytes of payload): a segmentation-offload aggregate?")              \
    X(PAUSE_SHORT, "ends inside the pause frame")                                                                      \
    X(TELEMETRY, "telemetry header cut short, or of more hops than it has room for")

enum codec_fault {
#define X(id, text) CODEC_FAULT_##id,
    CODEC_FAULT_LIST(X)
#undef X
        CODEC_FAULTS
};

const char *codec_fault_text(enum codec_fault fault);

/* 0: *ret, *ret_cold, *ret_layout are set (PKT_OTHER for frames that are none of ours).
 * -EBADMSG: malformed; -ENODATA: the capture cut the headers off, up to and with the BTH.  Then *ret_fault says why,
 * and *ret_cold holds the addresses as far as they were read; *ret and *ret_layout are untouched.
 * An unknown opcode is no fault: the packet is PKT_ROCE, all after the BTH is payload.
 * Ethernet padding and an FCS behind the IP packet are not part of it: frame_bytes counts from the
 * record's first byte to the ICRC's last (PKT_OTHER: the whole frame).  A cut packet has the
 * payload_bytes its headers tell; its bytes are not there to be read.  A cut inside the extended
 * headers leaves those that are not whole in `missing` of the descriptor, and their fields 0. */
int codec_parse(const struct codec_frame *frame, struct pkt *ret, struct pkt_cold *ret_cold,
                struct codec_layout *ret_layout, enum codec_fault *ret_fault);

/* What a switch on the way makes of a whole frame.  As codec_parse(), but VXLAN is UDP like any other, and a frame that
 * is malformed behind its IP header is PKT_OTHER: it is not the switch's to judge.  PKT_OTHER has priority, TOS, TTL
 * and the length of the whole frame, so that it can be queued, marked and routed.  -EBADMSG: the IP header is wrong
 * (checksum or length of a UDP packet that says it is ours); routers drop such a frame. */
int codec_parse_transit(const struct codec_frame *frame, struct pkt *ret, struct pkt_cold *ret_cold,
                        struct codec_layout *ret_layout, enum codec_fault *ret_fault);

/* Writes an Ethernet frame (padding to 60 bytes is the wire's affair).  `payload` has
 * pkt->payload_bytes bytes, or is NULL for zeros.  Returns the length, -ENOBUFS when cap is too
 * small, -EINVAL when the record cannot be a frame (kind, net, field wider than its bits, PKT_CUT).
 * PKT_OTHER cannot be emitted: the descriptor does not hold such a frame. */
int codec_emit(const struct pkt *pkt, const struct pkt_cold *cold, const uint8_t *payload, uint8_t *frame, size_t cap);
/* The same, with the telemetry that a packet to port PROTO_PORT_ROCE_TELEMETRY carries (NULL: of no hop), and the
 * layout that codec_rewrite() wants. */
struct pkt_int;
int codec_emit_frame(const struct pkt *pkt, const struct pkt_cold *cold, const struct pkt_int *record,
                     const uint8_t *payload, uint8_t *frame, size_t cap, struct codec_layout *ret_layout);
/* What of a descriptor a frame carries: codec_parse() of what codec_emit() wrote gives this.  Cleared is what is in no
 * header of such a packet: next and the owner's word, src_node, dst_node; PKT_STRAY (a receiver knows its own MAC
 * address); mark (on a wire it is cold.resv7); pcp where there is no tag; ack.held; and every field of an extended
 * header that the opcode does not have, stale or not.  frame_bytes is taken as it is. */
struct pkt codec_carried(const struct pkt *pkt);
/* Length of all headers that codec_emit would write, from the first byte to the payload. */
int codec_header_bytes(const struct pkt *pkt, const struct pkt_cold *cold);

/* Into a frame that was read or written with this layout: what a switch changes in a descriptor.  TOS or traffic class
 * (ECN marks, a class that is raised), TTL or hop limit, the IPv4 header checksum (RFC 1624: by the difference, so a
 * wrong one stays wrong, and one that was left to the adapter stays 0), the priority of the innermost tag.  The ICRC
 * stays right: it takes all of these as ones.  Nothing else changes.  Not for a packet read through its
 * tunnel (PKT_TUNNEL): the descriptor is that of the frame inside, and what switches change is outside. */
void codec_rewrite(uint8_t *frame, const struct codec_layout *layout, const struct pkt *pkt);
/* A routed frame has the MAC addresses of its next link. */
void codec_rewrite_macs(uint8_t *frame, const uint8_t dmac[6], const uint8_t smac[6]);
/* Frames to 01-80-c2-00-00-0x (pause, LLDP, spanning tree) end at the next port: no bridge forwards them (IEEE 802.1Q,
 * 8.6.3). */
bool codec_stays_on_link(const uint8_t dmac[6]);

/* In-band telemetry of HPCC: CODEC_TELEMETRY_BYTES between UDP and BTH of packets to port
 * PROTO_PORT_ROCE_TELEMETRY; docs/internals/packet.md has the bits.  There is room for CODEC_TELEMETRY_HOPS from the
 * start, so no length changes on the way; the ICRC does not cover it.
 * A frame tells times in ns modulo 2^24, bytes sent in units of 128 modulo 2^20, queues in units of 80 up to 65535 of
 * them, and the rate as one of a list.  codec_telemetry_rounded(): what is read back after a record was written.  What
 * was read is as short as the frame tells it: telemetry_before() and telemetry_after() make whole numbers of it. */
#define CODEC_TELEMETRY_BYTES 42u
#define CODEC_TELEMETRY_HOPS 5u
static inline bool codec_has_telemetry(const struct codec_layout *layout)
{
    return layout->udp_at && layout->bth_at == layout->udp_at + 8u + CODEC_TELEMETRY_BYTES;
}
void codec_telemetry_read(const uint8_t *frame, const struct codec_layout *layout, struct pkt_int *ret);
void codec_telemetry_write(uint8_t *frame, const struct codec_layout *layout, const struct pkt_int *record);
struct pkt_int codec_telemetry_rounded(const struct pkt_int *record);

/* The same two for what lies behind the UDP header, where sockets and rings between processes begin: BTH .. ICRC.
 *
 * codec_parse_bth(): `data` is whole (no captures here), so the answer is 0 or -EBADMSG with the fault.  Written are
 * *ret (flags, net, tos, ttl, pcp, sport are the caller's to complete; frame_bytes is `bytes`) and of *ret_cold only
 * what a BTH and its extended headers tell: pkey, tver, resv8a, resv7, icrc, and swap and compare of an AtomicETH.
 *
 * codec_emit_bth(): BTH and extended headers alone; the caller puts payload, pad and ICRC behind them.  Answers their
 * length, -ENOBUFS, or -EINVAL for what no BTH can hold; addresses and ports are not looked at. */
int codec_parse_bth(const uint8_t *data, uint32_t bytes, struct pkt *ret, struct pkt_cold *ret_cold,
                    uint32_t *ret_payload_at, enum codec_fault *ret_fault);
int codec_emit_bth(const struct pkt *pkt, const struct pkt_cold *cold, uint8_t *out, size_t cap);
/* What lies in front of a BTH: Ethernet with its tags, IP or GRH, UDP, for `bytes` from the BTH to the ICRC's last.
 * Answers the length, -ENOBUFS, or -EINVAL for addresses and tags that no frame can have; the BTH's fields are not
 * looked at.  CODEC_OUTER_MAX is always enough. */
int codec_emit_outer(const struct pkt *pkt, const struct pkt_cold *cold, uint32_t bytes, uint8_t *out, size_t cap);
/* The way in: reads a frame up to its BTH and no further, so the packet behind may be of any size (a row of segments
 * that the kernel has not cut yet).  0: *ret->kind tells; PKT_ROCE: BTH .. ICRC are the *ret_bytes at *ret_bth_at; the
 * BTH's own fields are 0.  -EBADMSG, -ENODATA as codec_parse(). */
int codec_parse_outer(const struct codec_frame *frame, struct pkt *ret, struct pkt_cold *ret_cold, uint32_t *ret_bth_at,
                      uint32_t *ret_bytes, enum codec_fault *ret_fault);
#define CODEC_OUTER_MAX 70u /* 14 + two tags + IPv6 + UDP */
#define CODEC_BTH_MAX 44u   /* BTH with the longest extended headers: AtomicETH is 28, DETH and ImmDt 12 */

/* The destination QP of a packet from its BTH on, for who only wants to know whose it is. */
static inline uint32_t codec_dest_qp(const uint8_t *bth)
{
    return (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7];
}

/* The 40 bytes in front of every UD payload (volume 1, 11.4.1.2; annex A17.4.5.2): the GRH of a v1 packet, the IPv6
 * header, or 20 bytes that mean nothing and the IPv4 header.  Parsing is total: programs may hand in anything. */
#define CODEC_GRH_BYTES 40u
/* `bytes` of the packet, BTH to ICRC. */
void codec_grh_emit(const struct pkt_envelope *envelope, uint32_t bytes, uint8_t out[CODEC_GRH_BYTES]);
void codec_grh_parse(const uint8_t in[CODEC_GRH_BYTES], struct pkt_envelope *ret);

/* The payload's first byte; NULL when the packet was cut or is not RoCE. */
const uint8_t *codec_payload(const struct codec_frame *frame, const struct codec_layout *layout);

/* "10.0.0.1", "2001:db8::1", "fe80::1"; IPv4-mapped as IPv4. */
#define PKT_ADDR_TEXT 46
const char *pkt_addr_format(const struct pkt_addr *addr, char buf[PKT_ADDR_TEXT]);
struct pkt_addr pkt_addr_ipv4(uint32_t host_order);
static inline bool pkt_addr_is_ipv4(const struct pkt_addr *addr)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return __builtin_memcmp(addr->byte, prefix, sizeof prefix) == 0;
}
static inline bool pkt_addr_is_multicast(const struct pkt_addr *addr)
{
    return pkt_addr_is_ipv4(addr) ? addr->byte[12] >> 4 == 14 : addr->byte[0] == 0xff;
}
/* What a listener's address stands for.  NULL: every address; 0.0.0.0 and ::, every one of their family. */
#define PKT_FAMILY_IPV4 1u
#define PKT_FAMILY_IPV6 2u
unsigned pkt_addr_families(const struct pkt_addr *addr);
bool pkt_addr_unspecified(const struct pkt_addr *addr);

#endif
