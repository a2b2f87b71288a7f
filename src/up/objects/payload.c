/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of packets between programs: gathered where they are sent, placed where they arrive.
 *
 * A packet's bytes lie by its number, one page each, in memory that is there in whole and costs nothing where no packet
 * has been.  They stay as long as the number is the packet's: on links, in queues, and where selective repeat keeps it
 * for those before it.  So a copy is made when the adapter sends and one when the other judges, and nothing on the way
 * knows of bytes.
 *
 * Work requests are not read ahead: what a program writes before its packet leaves is sent.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/check.h"
#include "fabric/fabric.h"
#include "packet/codec.h"
#include "packet/mad.h"
#include "packet/opcode.h"
#include "up/objects/objects.h"

#define PACKETS_MAX (1u << 25) /* where the options do not say: as the simulation */
#define BTH_ICRC_BYTES (12u + 4u)

static uint64_t payload_bytes(const struct up *up)
{
    uint64_t packets = up->options.sim.packets_max ? up->options.sim.packets_max : PACKETS_MAX;

    return packets * UP_PAYLOAD_BYTES;
}

int payload_init(struct up *up)
{
    void *at =
        mmap(NULL, payload_bytes(up), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) return -errno;
    up->payload = at;
    return 0;
}

void payload_free(struct up *up)
{
    if (up->payload) munmap(up->payload, payload_bytes(up));
    up->payload = NULL;
}

uint8_t *payload_at(const struct up *up, pkt_t id)
{
    return up->payload + (uint64_t)id * UP_PAYLOAD_BYTES;
}

static struct device_qp *qp_of(const struct up_adapter *adapter, uint32_t qpn)
{
    const struct nic_qp *nic = nic_qp_find(adapter->nic, qpn);

    return nic ? nic_qp_app(nic) : NULL;
}

bool payload_sends(struct up_host *host, uint32_t adapter_number, pkt_t id, ps_t now, struct node_io *io)
{
    if (io->nic.gather.qpn == MAD_QPN) return cm_sends(host, id, io);
    const struct up_adapter *adapter = &host->adapters[adapter_number];
    const struct device_qp *qp = qp_of(adapter, io->nic.gather.qpn);

    (void)now;
    if (qp == NULL || io->nic.gather.bytes > UP_PAYLOAD_BYTES) return false;
    return bytes_send(&adapter->objects, qp->device, &io->nic, payload_at(host->up, id));
}

/* What a datagram's receiver reads of who sent it. */
static struct pkt_envelope envelope_of(const struct up_host *host, const struct up_adapter *adapter,
                                       const struct sim_arrival *packet)
{
    const struct fabric *fabric = host->up->fabric;

    return (struct pkt_envelope){.src = pkt_addr_ipv4(load_be32(fabric->endpoint[packet->src].address)),
                                 .dst = pkt_addr_ipv4(load_be32(fabric->endpoint[adapter->endpoint].address)),
                                 .net = PKT_NET_IPV4,
                                 .tos = packet->tos,
                                 .ttl = packet->ttl};
}

/* A number that outlives its packet is nobody's business: selective repeat keeps the packet, and so its bytes. */
void payload_received(struct up_host *host, uint32_t adapter_number, const struct sim_arrival *packet, ps_t now,
                      struct node_io *io)
{
    if (packet->dest_qp == MAD_QPN) {
        cm_received(host, adapter_number, packet, now, io);
        return;
    }
    struct up_adapter *adapter = host->adapters ? &host->adapters[adapter_number] : NULL;
    struct device_qp *qp = adapter ? qp_of(adapter, packet->dest_qp) : NULL;
    if (qp == NULL) return;
    bool placed = io->nic.place.kind != NIC_PLACE_NONE, atomic = io->nic.atomic.verb != 0;
    const struct pkt_envelope envelope = envelope_of(host, adapter, packet);
    const uint32_t bytes = BTH_ICRC_BYTES + opcode_info(packet->opcode)->header_bytes + packet->payload_bytes;
    const struct arrival arrival = {.psn = packet->psn,
                                    .rkey = packet->rkey,
                                    .opcode = packet->opcode,
                                    .bth_bytes = bytes + (-packet->payload_bytes & 3),
                                    .envelope = &envelope,
                                    .payload = payload_at(host->up, packet->id)};
    (void)bytes_arrive(&adapter->objects, qp->device, qp->qpn, &arrival, now, &io->nic);
    bool last = placed && opcode_info(packet->opcode)->flags & OP_LAST;
    bool message = io->nic.place.kind == NIC_PLACE_RECV || io->nic.place.kind == NIC_PLACE_MEMORY;
    if (last && message) up_message_arrived(qp, now);
    if (atomic || last) turn_event(qp->device->process, false, now);
    up_publish_events(adapter, now);
}
