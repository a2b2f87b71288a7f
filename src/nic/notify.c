/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notification point: a packet marked CE makes a CNP to whoever sent it (annex A17), at most one in
 * cnp_min_gap_ps for each QP, or for the whole adapter where that is configured.
 *
 * A CNP is a BTH with opcode 0x81 and sixteen reserved bytes; it goes to the QP that sent the marked packet.
 * In models that echo marks in ACKs no CNP exists, and the responder sets BECN itself.
 */
#include "nic/nic_int.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

#define CNP_PAYLOAD_BYTES 16u

void notify_marked(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io)
{
    ps_t *next = nic->config.cnp_per_nic ? &nic->cnp_next : &qp->cnp_next;
    bool ud = qp->transport == NIC_UD;

    nic->counters.np_ecn_marked_roce_packets++;
    if (nic->config.cnp_off || now < *next) return;
    pkt_t id = pktpool_get(io->pool);
    if (id == PKT_NONE) {
        nic->counters.drop[NIC_DROP_no_packet]++;
        return;
    }
    *next = now + nic->config.cnp_min_gap_ps;
    struct pkt *cnp = &io->pool->hot[id];
    packet_begin(nic, cnp, OPCODE_CNP, p->src_node, ud ? p->src_qp : qp->remote_qp);
    cnp->flags |= PKT_BECN;
    cnp->tos = nic->config.cnp_tos;
    cnp->pcp = nic->config.cnp_prio;
    cnp->sport = qp->sport;
    cnp->payload_bytes = CNP_PAYLOAD_BYTES;
    cnp->frame_bytes =
        nic->config.ack_frame_bytes ? nic->config.ack_frame_bytes : frame_of(nic, OPCODE_CNP, CNP_PAYLOAD_BYTES, 0);
    if (nic->config.telemetry) io->pool->telemetry[id] = (struct pkt_int){.echo = true};
    nic->counters.np_cnp_sent++;
    control_push(nic, id, nic->config.cnp_prio, io);
}
