/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the wire that the parser and the writer of frames share.  Private to packet/.
 */
#ifndef ROCELAB_PACKET_WIRE_H
#define ROCELAB_PACKET_WIRE_H

#define WIRE_ETHERTYPE_IPV4 0x0800u
#define WIRE_ETHERTYPE_VLAN 0x8100u
#define WIRE_ETHERTYPE_IPV6 0x86ddu
#define WIRE_ETHERTYPE_MAC_CONTROL 0x8808u
#define WIRE_ETHERTYPE_QINQ 0x88a8u
#define WIRE_ETHERTYPE_QINQ_OLD 0x9100u /* stacked tags before 802.1ad */
#define WIRE_ETHERTYPE_ROCE_V1 0x8915u

#define WIRE_PROTO_UDP 17u
#define WIRE_GRH_NEXT_BTH 0x1bu
#define WIRE_PORT_VXLAN 4789u
#define WIRE_PORT_ROCE 4791u
#define WIRE_PORT_ROCE_TELEMETRY                                                                                       \
    53943u /* RoCEv2 with telemetry in front of the BTH: 4791 in the range for private use */

#define WIRE_MAC_CONTROL_PAUSE 0x0001u
#define WIRE_MAC_CONTROL_PFC 0x0101u

#define WIRE_ETHERNET_BYTES 14u
#define WIRE_VLAN_BYTES 4u
#define WIRE_IPV4_BYTES 20u
#define WIRE_IPV6_BYTES 40u /* and GRH */
#define WIRE_UDP_BYTES 8u
#define WIRE_VXLAN_BYTES 8u
#define WIRE_BTH_BYTES 12u
#define WIRE_ICRC_BYTES 4u
#define WIRE_PAUSE_BYTES 4u /* opcode, quanta */
#define WIRE_PFC_BYTES 20u  /* opcode, enable vector, eight quanta */

#define WIRE_VXLAN_FLAG_VNI 0x08u
#define WIRE_FRAG_MASK 0x3fffu /* more fragments, offset */
#define WIRE_IPV4_DF 0x4000u   /* do not fragment: what RoCE adapters set */
#define WIRE_PKEY_DEFAULT 0xffffu

#define WIRE_PAYLOAD_MAX 4096u
/* An opcode we do not dissect has its extended headers counted as payload: RDETH, DETH, RETH, ImmDt. */
#define WIRE_UNKNOWN_PAYLOAD_MAX (WIRE_PAYLOAD_MAX + 32u)

#endif
