/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unreliable responders.
 *
 * UC (volume 1, 9.8.2): no acknowledgements.  A gap in the PSNs, a missing receive or a refused packet
 * loses the message in progress; packets are dropped until one begins a message, and the sequence
 * goes on from its PSN.  A receive that was taken for a lost message serves the next.
 *
 * UD (9.8.3): each packet is a message.  The Q_Key must match and a receive must be posted, else the packet is gone.
 * A receive that does not hold the payload behind the 40 bytes kept for a GRH is taken all the same, and
 * completes with NIC_LOC_LEN_ERR: its owner learns that messages are longer than it thought.  The QP goes on.
 */
#include "nic/nic_int.h"
#include "packet/opcode.h"

void uc_rx(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    const struct opcode_info *info = opcode_info(p->opcode);
    uint32_t psn = psn_wide(p->psn, qp->epsn);

    if (psn != qp->epsn) {
        nic->counters.out_of_sequence++;
        qp->rx_verb = RX_NONE;
        qp->drop_message = true;
    }
    if (info->flags & OP_FIRST) {
        qp->rx_verb = RX_NONE; /* a message that was not finished is lost */
        qp->drop_message = false;
    }
    qp->epsn = psn;
    enum verdict verdict = qp->drop_message ? REFUSED_INVALID : responder_execute(nic, qp, id, now, io);
    if (verdict != DONE) {
        nic->counters.out_of_buffer += verdict == REFUSED_RNR;
        nic->counters.resp_remote_access_errors += verdict == REFUSED_ACCESS;
        nic->counters.resp_local_length_error += verdict == REFUSED_LENGTH;
        qp->epsn = psn + 1;
        qp->rx_verb = RX_NONE;
        qp->drop_message = true;
        io->place.kind = NIC_PLACE_NONE;
        drop(nic, id, NIC_DROP_unreliable, io);
        return;
    }
    pktpool_put(io->pool, id);
}

/* Each datagram has the priority of its address, so a queue pair has that of the one at its head. */
void ud_prio(struct nic *nic, struct nic_qp *qp)
{
    bool ready = qp->sched == QP_READY;

    if (ready) ready_remove(nic, qp);
    qp->prio = wr_at(qp, qp->sq_head)->prio;
    if (ready) ready_push(nic, qp);
}

void ud_rx(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];

    (void)now;
    if (p->ud.qkey != qp->qkey) {
        drop(nic, id, NIC_DROP_qkey, io);
        return;
    }
    if (!recv_take(nic, qp)) {
        nic->counters.out_of_buffer++;
        drop(nic, id, NIC_DROP_unreliable, io);
        return;
    }
    qp->recv_held = false;
    struct nic_cqe cqe = {.wr_id = qp->recv.wr_id,
                          .bytes = p->payload_bytes + UD_GRH_BYTES,
                          .net = p->net,
                          .src = p->src_node,
                          .src_qp = p->src_qp,
                          .imm = p->imm,
                          .verb = p->opcode == OPCODE_UD_SEND_ONLY_IMM ? NIC_SEND_IMM : NIC_SEND,
                          .has_imm = p->opcode == OPCODE_UD_SEND_ONLY_IMM,
                          .solicited = p->flags & PKT_SOLICITED};
    if (qp->recv.length < cqe.bytes) {
        nic->counters.resp_local_length_error++;
        cqe.status = NIC_LOC_LEN_ERR;
    } else {
        nic->counters.rx_send_requests++;
        nic->counters.rx_payload_bytes += p->payload_bytes;
        io->place.local = qp->recv.local;
        io->place.offset = UD_GRH_BYTES;
        io->place.bytes = p->payload_bytes;
        io->place.kind = NIC_PLACE_RECV;
    }
    complete_recv(nic, qp, &cqe, io);
    if (cqe.status == NIC_SUCCESS)
        pktpool_put(io->pool, id);
    else
        drop(nic, id, NIC_DROP_unreliable, io);
}
