/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QP1 of the adapters: management datagrams as packets of the fabric (volume 1, 13.5.1; annex A17.4.8).
 *
 * An adapter's QP1 is made when a program of its host has a connection manager, or the host has to say something.  Its
 * sends lie in a ring of buffers beside its send queue; what arrives is read where the packet's bytes lie, so its
 * receives have no memory and are given back at once.  A host that never spoke has none, and is asked all the same:
 * somebody has to refuse.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "fabric/fabric.h"
#include "packet/codec.h"
#include "packet/mad.h"
#include "packet/opcode.h"
#include "up/cm_int.h"

#define SENDS 64u
#define RECEIVES 4u
#define COMPLETIONS 16u

struct cm_qp1 {
    struct nic *nic;
    struct nic_qp *qp;
    struct nic_cq cq;
    struct nic_cqe cqe[COMPLETIONS];
    struct nic_wr wr[SENDS];
    struct nic_recv receive[RECEIVES];
    uint8_t mad[SENDS][DEVICE_MAD_BYTES];
    uint32_t sent;
};

static const struct nic_recv a_receive = {.length = DEVICE_MAD_BYTES + CODEC_GRH_BYTES};

static int make(struct up_host *host, uint32_t adapter, ps_t now, struct node_io *io, struct cm_qp1 **ret)
{
    const struct fabric *fabric = host->up->fabric;
    const uint32_t nic_kind = fabric->endpoint[fabric->first_endpoint[host->number] + adapter].nic;
    struct nic_qp_config config = plant_qp_config(&fabric->nic[nic_kind], &sim_plant(host->up->sim)->cc[nic_kind]);
    struct cm_qp1 *qp1 = calloc(1, sizeof *qp1);

    if (qp1 == NULL) return -ENOMEM;
    nic_cq_init(&qp1->cq, qp1->cqe, COMPLETIONS);
    qp1->nic = host->node->adapter[adapter].nic;
    config.transport = NIC_UD;
    config.recovery = NIC_GO_BACK_N;
    config.reorder_window = 0;
    config.mtu = DEVICE_MAD_BYTES;
    config.qkey = MAD_QKEY;
    config.send_cq = config.recv_cq = &qp1->cq;
    config.sq = qp1->wr;
    config.sq_size = SENDS;
    config.rq = qp1->receive;
    config.rq_size = RECEIVES;
    config.app = qp1; /* not the jobs' */
    int error = nic_qp_create(qp1->nic, MAD_QPN, &config, now, &qp1->qp);
    for (unsigned i = 0; i < RECEIVES && error == 0; i++)
        error = nic_post_recv(qp1->nic, qp1->qp, &a_receive, now, &io->nic);
    if (error < 0) {
        free(qp1);
        return error;
    }
    *ret = qp1;
    return 0;
}

int cm_qp1_open(struct up_host *host, uint32_t adapter, ps_t now, struct node_io *io)
{
    struct up_cm *cm = cm_of(host);

    if (cm == NULL) return -ENOMEM;
    return cm->qp1[adapter] ? 0 : make(host, adapter, now, io, &cm->qp1[adapter]);
}

int cm_qp1_send(struct up_host *host, uint32_t adapter, const struct device_path *path,
                const uint8_t mad[DEVICE_MAD_BYTES], ps_t now, struct node_io *io)
{
    struct up_path to;
    int error = up_path_resolve(host->up->fabric, path, &to);

    if (error == 0) error = cm_qp1_open(host, adapter, now, io);
    if (error < 0) return error;
    struct cm_qp1 *qp1 = host->cm->qp1[adapter];
    if (nic_qp_queued(qp1->qp) >= SENDS) return -EAGAIN;
    uint8_t *copy = qp1->mad[qp1->sent % SENDS];
    const struct nic_wr wr = {.local = (uintptr_t)copy,
                              .length = DEVICE_MAD_BYTES,
                              .dest = to.endpoint,
                              .dest_qp = MAD_QPN,
                              .qkey = MAD_QKEY,
                              .verb = NIC_SEND,
                              .prio = to.prio,
                              .tos = to.tos};
    memcpy(copy, mad, DEVICE_MAD_BYTES);
    error = nic_post_send(qp1->nic, qp1->qp, &wr, now, &io->nic);
    if (error == 0) qp1->sent++;
    return error;
}

bool cm_sends(struct up_host *host, pkt_t id, const struct node_io *io)
{
    memcpy(payload_at(host->up, id), (const void *)(uintptr_t)io->nic.gather.local, io->nic.gather.bytes);
    return true;
}

/* What the adapter did with the packet is undone: the receive is there for the next.  False: it was dropped. */
static bool accepted(struct cm_qp1 *qp1, ps_t now, struct node_io *io)
{
    bool placed = io->nic.place.kind == NIC_PLACE_RECV;

    while (nic_cq_poll(&qp1->cq) != NULL)
        ;
    if (placed) (void)nic_post_recv(qp1->nic, qp1->qp, &a_receive, now, &io->nic);
    return placed;
}

void cm_received(struct up_host *host, uint32_t adapter, const struct sim_arrival *packet, ps_t now, struct node_io *io)
{
    struct cm_qp1 *qp1 = host->cm ? host->cm->qp1[adapter] : NULL;
    const struct fabric *fabric = host->up->fabric;
    const uint32_t self = fabric->first_endpoint[host->number] + adapter;

    if (packet->opcode != OPCODE_UD_SEND_ONLY || packet->payload_bytes != DEVICE_MAD_BYTES) return;
    if (qp1 && !accepted(qp1, now, io)) return;
    struct device_mad mad = {.src = pkt_addr_ipv4(load_be32(fabric->endpoint[packet->src].address)),
                             .dst = pkt_addr_ipv4(load_be32(fabric->endpoint[self].address)),
                             .src_qp = MAD_QPN};
    memcpy(mad.data, payload_at(host->up, packet->id), DEVICE_MAD_BYTES);
    const struct device_path back = {.remote = mad.src, .tos = (uint8_t)(packet->tos & ~PKT_ECN_MASK), .hop_limit = 64};
    cm_deliver(host, adapter, &mad, &back, now, io);
}

void cm_qp1_free(struct up_host *host)
{
    for (uint32_t i = 0; i < host->node->adapters; i++)
        free(host->cm->qp1[i]);
    free(host->cm->qp1);
}
