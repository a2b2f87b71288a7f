/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet: the hot descriptor every machine reads, and the cold record few need.
 *
 * In the simulator a packet is an index (pkt_t) into a pool of hot descriptors, one cache line
 * each.  The cold record lives in a parallel array that is not allocated unless a feature asks
 * for it (captures, live wires).  Payload is in neither: the NIC says what to copy, live copies
 * it, the simulator does not.  Byte offsets are known to codec_*.c and their neighbours alone.
 *
 * Fields that a frame does not have are 0 after codec_parse().  A RoCE packet has the extended
 * headers that its opcode says (opcode.h); the fields of others are 0.
 */
#ifndef ROCELAB_PACKET_PKT_H
#define ROCELAB_PACKET_PKT_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t pkt_t;
#define PKT_NONE UINT32_MAX

enum pkt_kind {
    PKT_OTHER, /* any frame that is none of the below */
    PKT_ROCE,  /* a BTH, in RoCEv1 or RoCEv2; CNPs and MADs too */
    PKT_PFC,   /* 802.1Qbb */
    PKT_PAUSE, /* 802.3x */
    PKT_UET,   /* Ultra Ethernet transport; the simulator's alone */
    PKT_TCP,   /* TCP, with or without iWARP; the simulator's alone */
};

enum pkt_uet { PKT_UET_DATA, PKT_UET_ACK, PKT_UET_NACK, PKT_UET_PULL, PKT_UET_RTS, PKT_UET_PROBE, PKT_UET_PROBE_ACK };

enum pkt_net { PKT_NET_NONE, PKT_NET_V1, PKT_NET_IPV4, PKT_NET_IPV6 }; /* v1: Ethertype 0x8915, GRH */

/* BTH bits */
#define PKT_SOLICITED 0x01u
#define PKT_MIGRATED 0x02u
#define PKT_ACK_REQUEST 0x04u
#define PKT_FECN 0x08u
#define PKT_BECN 0x10u
/* set by codec_parse() */
#define PKT_TAGGED 0x20u /* has an 802.1Q tag; pcp is its priority */
#define PKT_TUNNEL 0x40u /* was inside VXLAN; cold.outer is set */
#define PKT_CUT 0x80u    /* the capture kept only the packet's beginning: no payload, no ICRC */
/* set by a switch, in every kind */
#define PKT_STRAY 0x100u   /* it floods: the address is not that of whom it reaches, who drops it */
#define PKT_TRIMMED 0x200u /* it had no room for the payload, which is gone */
/* PKT_UET, instead of BTH bits */
#define PKT_UET_ACK_REQUEST 0x01u
#define PKT_UET_AGAIN 0x02u    /* not for the first time; echoed in ACKs */
#define PKT_UET_LAST 0x04u     /* of its message */
#define PKT_UET_MARKED 0x08u   /* ACK, NACK: the packet came with CE */
#define PKT_UET_LAST_HOP 0x10u /* NACK: the last switch trimmed it */

/* PKT_TCP: opcode and flags; sequence or acknowledgement number in psn, a message's word in imm */
enum pkt_tcp_type { PKT_TCP_DATA, PKT_TCP_ACK, PKT_TCP_SYN, PKT_TCP_SYN_ACK };
#define PKT_TCP_END 0x01u       /* data: a message ends with it */
#define PKT_TCP_BURST_END 0x02u /* data: the last of what an adapter cut at once; in no header */
#define PKT_TCP_ECE 0x04u       /* ACK: CE is echoed */
#define PKT_TCP_SACK 0x08u      /* ACK: imm and tcp.block are a piece that arrived after a gap */
#define PKT_TCP_SACK2 0x10u     /* ACK: tcp.second is another */
#define PKT_TCP_DSACK 0x20u     /* ACK: the first piece had arrived before */
#define PKT_TCP_TICK_PS 4096u   /* the unit of tcp.stamp: it wraps after 17 s */

#define PKT_ECN_MASK 0x03u
#define PKT_ECN_NOT_ECT 0u
#define PKT_ECN_ECT1 1u
#define PKT_ECN_ECT0 2u
#define PKT_ECN_CE 3u

struct pkt {
    uint8_t kind; /* enum pkt_kind */
    union {
        uint8_t opcode;     /* PKT_ROCE: BTH opcode; PKT_UET: enum pkt_uet */
        uint8_t pfc_enable; /* PKT_PFC: bit p set when quanta[p] counts */
    };
    uint8_t pad;    /* BTH pad count, 0..3 */
    uint8_t tos;    /* DSCP << 2 | ECN: IPv4 TOS, IPv6 and GRH traffic class */
    uint16_t flags; /* PKT_SOLICITED ... */
    uint8_t pcp;    /* 802.1Q priority (innermost tag), 0 when untagged */
    uint8_t ttl;    /* TTL or hop limit */

    uint32_t dest_qp; /* 24 bits */
    uint32_t psn;     /* 24 bits */

    uint16_t payload_bytes; /* without pad and ICRC */
    uint16_t frame_bytes;   /* from the (outermost) destination MAC, without padding to 60 bytes and FCS */
    uint16_t sport;         /* UDP source port: the entropy of ECMP */
    uint8_t net;            /* enum pkt_net */
    uint8_t mark;           /* what an adapter tells its like; on a wire cold.resv7, which the codec knows alone */

    uint32_t src_node, dst_node; /* the simulator's; 0 when parsed */

    uint32_t next; /* the owner's: link in its queue */
    union {        /* the owner's word: who holds the packet notes there what it likes, and reads nobody else's note */
        struct {   /* a switch */
            uint16_t in_port; /* where it came in */
            uint8_t tc;       /* traffic class */
            bool deep;        /* it lies in deep memory */
        };
        uint32_t
            answers; /* an adapter, of an answer that waits: the QP (its number) that may still change it; 0: none */
        uint32_t missing; /* codec_parse(), PKT_CUT: OP_DETH ... OP_IETH (opcode.h) that were cut off; fields 0 */
    };
    uint32_t src_qp; /* DETH; 24 bits */
    uint32_t imm;    /* ImmDt as a host-order number, or the R_Key of IETH */

    union {
        struct {
            uint64_t va;        /* RETH, AtomicETH */
            uint32_t rkey;      /* RETH, AtomicETH */
            uint32_t dma_bytes; /* RETH */
        } rdma;
        struct {
            union {
                uint64_t original; /* AtomicAckETH */
                uint16_t held;     /* of an ACK: what the receiver holds will take it so many PKT_HELD_PS; in no header,
                                    * so 0 on a wire */
            };
            uint32_t msn;     /* AETH, 24 bits */
            uint8_t syndrome; /* AETH */
        } ack;
        struct {
            uint32_t qkey; /* DETH */
        } ud;
        struct {              /* ACK of PKT_UET: psn is that of the packet that asked for it, imm the next awaited */
            uint64_t map;     /* bit i: base + i is here; a cleared bit says nothing */
            uint32_t bytes;   /* received so far, in a unit both ends know */
            uint16_t base;    /* of the map, after imm */
            uint16_t waiting; /* packets that are here before ones that are not */
        } uet;
        struct {
            uint32_t second, second_end; /* ACK with PKT_TCP_SACK2 */
            uint32_t stamp;              /* when the data was sent; of an ACK: of the segment it answers */
            uint32_t block;              /* ACK with PKT_TCP_SACK: where the piece begins; imm is its end */
        } tcp;
        uint16_t quanta[8]; /* PKT_PFC, by priority; PKT_PAUSE: [0] */
    };
};

#define PKT_HELD_PS 65536u /* the unit of ack.held: up to 4.3 ms */
_Static_assert(sizeof(struct pkt) == 64, "a hot descriptor is one cache line");

/* Addresses are 16 bytes in every case; IPv4 is mapped (::ffff:a.b.c.d), which is also its GID. */
struct pkt_addr {
    uint8_t byte[16];
};

/*
 * What stands in front of a BTH, as far as it matters to those who get it apart from the bytes: sockets, rings between
 * processes, the ICRC, the header before a UD payload.  A list, so that a struct of theirs can have the fields by
 * themselves and as one.
 */
#define PKT_ENVELOPE_FIELDS                                                                                            \
    struct pkt_addr src, dst;                                                                                          \
    uint32_t flow_label; /* IPv6 and GRH, 20 bits */                                                                   \
    uint16_t sport;      /* UDP; the destination port is that of RoCEv2 */                                             \
    uint16_t ip_id;      /* IPv4 */                                                                                    \
    uint8_t net;         /* enum pkt_net */                                                                            \
    uint8_t tos, ttl, pcp;

struct pkt_envelope {
    PKT_ENVELOPE_FIELDS
};

struct pkt_vlan {
    uint16_t tpid; /* 0x8100, or 0x88a8 or 0x9100 for an outer service tag */
    uint16_t tci;  /* PCP, DEI, VLAN id */
};

/* The encapsulation around a tunnelled frame: Ethernet, IP, UDP 4789, VXLAN. */
struct pkt_outer {
    uint8_t dmac[6], smac[6];
    struct pkt_addr src, dst;
    uint32_t flow_label;     /* IPv6 */
    uint32_t vni;            /* 24 bits */
    struct pkt_vlan vlan[2]; /* outermost first; tpid 0: none */
    uint16_t ip_id;          /* IPv4 */
    uint16_t ip_frag;        /* IPv4 flags and fragment offset, as on the wire */
    uint16_t sport;
    uint16_t udp_checksum;
    uint8_t net; /* PKT_NET_IPV4 or PKT_NET_IPV6 */
    uint8_t tos, ttl;
};

struct pkt_cold {
    uint8_t dmac[6], smac[6];
    struct pkt_addr src, dst; /* IP addresses, or the GIDs of a v1 GRH */
    uint32_t flow_label;      /* IPv6 and GRH, 20 bits */
    uint32_t icrc;            /* as stored, little-endian; 0 when cut off */
    uint64_t swap, compare;   /* AtomicETH operands (swap or add) */
    struct pkt_vlan vlan[2];  /* outermost first; tpid 0: none */
    uint16_t ethertype;       /* PKT_OTHER: the innermost Ethertype */
    uint16_t ip_id;           /* IPv4 */
    uint16_t ip_frag;         /* IPv4 flags and fragment offset, as on the wire */
    uint16_t dport;           /* UDP; 4791 for RoCEv2 */
    uint16_t udp_checksum;
    uint16_t pkey;
    uint8_t tver;           /* BTH transport header version, 0 */
    uint8_t resv8a;         /* BTH: the six reserved bits beside FECN and BECN */
    uint8_t resv7;          /* BTH: the seven reserved bits beside the ACK request */
    uint8_t ip_proto;       /* PKT_OTHER over IP: protocol or next header */
    struct pkt_outer outer; /* with PKT_TUNNEL */
};

#endif
