/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notification point: a packet marked CE makes a CNP to whoever sent it (annex A17), at most one in
 * cnp_min_gap_ps for each QP, or for the whole adapter where that is configured.  With cnp_remember a mark that
 * comes within that time makes its CNP at the end of it (DCQCN's notification point as published, SIGCOMM 2015);
 * without, it makes none.  Where a CNP's receiver is not the QP's own peer (UD), or the time is the adapter's, no
 * mark is remembered.
 *
 * A CNP is a BTH with opcode 0x81 and sixteen reserved bytes; it goes to the QP that sent the marked packet.
 * In models that echo marks in ACKs no CNP exists, and the responder sets BECN itself.
 */
#include <errno.h>

#include "nic/nic_int.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

#define CNP_PAYLOAD_BYTES 16u

/* One CNP to a QP of a node; -ENOBUFS when the pool is empty. */
static int cnp_send(struct nic *nic, const struct nic_qp *qp, uint32_t node, uint32_t remote_qp, struct nic_io *io)
{
    pkt_t id = pktpool_get(io->pool);
    if (id == PKT_NONE) {
        nic->counters.drop[NIC_DROP_no_packet]++;
        return -ENOBUFS;
    }
    struct pkt *cnp = &io->pool->hot[id];
    packet_begin(nic, cnp, OPCODE_CNP, node, remote_qp);
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
    return 0;
}

void notify_marked(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io)
{
    ps_t *next = nic->config.cnp_per_nic ? &nic->cnp_next : &qp->cnp_next;
    bool ud = qp->transport == NIC_UD;

    nic->counters.np_ecn_marked_roce_packets++;
    if (nic->config.cnp_off) return;
    if (now < *next) {
        if (!nic->config.cnp_remember || nic->config.cnp_per_nic || ud || qp->cnp_due != PS_NEVER) return;
        qp->cnp_due = *next;
        timer_arm(nic, qp, qp->cnp_due);
        return;
    }
    qp->cnp_due = PS_NEVER; /* one CNP does for a mark remembered until this very moment */
    if (cnp_send(nic, qp, p->src_node, ud ? p->src_qp : qp->remote_qp, io) == 0)
        *next = now + nic->config.cnp_min_gap_ps;
}

void notify_due(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    qp->cnp_due = PS_NEVER;
    if (cnp_send(nic, qp, qp->remote, qp->remote_qp, io) == 0) qp->cnp_next = now + nic->config.cnp_min_gap_ps;
}
