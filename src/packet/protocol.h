/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that are on the wire: Ethertypes, ports, header lengths.  They stand here alone; who needs one beside packet/
 * (a socket's port, a filter of the kernel's) takes it from here.  Where a field is in a header is the codec's.
 */
#ifndef ROCELAB_PACKET_PROTOCOL_H
#define ROCELAB_PACKET_PROTOCOL_H

#define PROTO_ETHERTYPE_IPV4 0x0800u
#define PROTO_ETHERTYPE_ARP 0x0806u
#define PROTO_ETHERTYPE_VLAN 0x8100u
#define PROTO_ETHERTYPE_IPV6 0x86ddu
#define PROTO_ETHERTYPE_MAC_CONTROL 0x8808u
#define PROTO_ETHERTYPE_QINQ 0x88a8u
#define PROTO_ETHERTYPE_QINQ_OLD 0x9100u /* stacked tags before 802.1ad */
#define PROTO_ETHERTYPE_ROCE_V1 0x8915u

#define PROTO_IP_TCP 6u
#define PROTO_IP_UDP 17u
#define PROTO_GRH_NEXT_BTH 0x1bu
#define PROTO_PORT_VXLAN 4789u
#define PROTO_PORT_ROCE 4791u
#define PROTO_PORT_ROCE_TELEMETRY                                                                                      \
    53943u /* RoCEv2 with telemetry in front of the BTH: 4791 in the range for private use */

#define PROTO_MAC_CONTROL_PAUSE 0x0001u
#define PROTO_MAC_CONTROL_PFC 0x0101u

#define PROTO_ETHERNET_BYTES 14u
#define PROTO_VLAN_BYTES 4u
#define PROTO_IPV4_BYTES 20u
#define PROTO_IPV6_BYTES 40u /* and GRH */
#define PROTO_UDP_BYTES 8u
#define PROTO_VXLAN_BYTES 8u
#define PROTO_BTH_BYTES 12u
#define PROTO_ICRC_BYTES 4u
#define PROTO_PAUSE_BYTES 4u /* opcode, quanta */
#define PROTO_PFC_BYTES 20u  /* opcode, enable vector, eight quanta */

#define PROTO_VXLAN_FLAG_VNI 0x08u
#define PROTO_FRAG_MASK 0x3fffu /* more fragments, offset */
#define PROTO_IPV4_DF 0x4000u   /* do not fragment: what RoCE adapters set */
#define PROTO_PKEY_DEFAULT 0xffffu

#define PROTO_PAYLOAD_MAX 4096u
/* An opcode we do not dissect has its extended headers counted as payload: RDETH, DETH, RETH, ImmDt. */
#define PROTO_UNKNOWN_PAYLOAD_MAX (PROTO_PAYLOAD_MAX + 32u)

#endif
