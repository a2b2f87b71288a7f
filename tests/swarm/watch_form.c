/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet looks like: opcode, length, headers and class, from the request it belongs to.
 *
 * Sizes of headers are written here from the InfiniBand specification (volume 1, chapter 9.2 and annex A17) and not
 * taken from the product's table.
 */
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "packet/opcode.h"
#include "swarm.h"

#define ETH_TO_BTH_BYTES (14u + 20u + 8u + 12u)
#define V1_TO_BTH_BYTES (14u + 40 + 12) /* a GRH, annex A16 */
#define ICRC_BYTES 4u
#define TAG_BYTES 4u
#define TELEMETRY_BYTES 42u
#define CNP_BYTES 16u

/* Extended headers; RETH 16, AETH 4, AtomicETH 28, AtomicAckETH 8, immediate 4, DETH 8.  UC is RC and 0x20. */
static uint32_t extension_of(uint8_t opcode)
{
    static const uint8_t rc[] = {0, 0, 0, 4, 0, 4, 16, 0, 0, 4, 16, 20, 16, 4, 0, 4, 4, 4, 12, 28, 28};

    if (opcode == OPCODE_CNP) return 0;
    if (opcode >= 0x60) return opcode == 0x65 ? 12 : 8;
    return rc[opcode & 0x1f];
}

static uint32_t frame_due(const struct watch *watch, const struct pkt *pkt)
{
    bool answer = pkt->opcode == OPCODE_RC_ACK || pkt->opcode == OPCODE_CNP,
         telemetry = watch->sim->plant.needs.telemetry;
    const struct fabric *fabric = watch->fabric;

    if (watch->plan->bare) return answer ? (telemetry ? 88u : 60u) : (telemetry ? 90u : 48u) + pkt->payload_bytes;
    const struct fabric_port *edge = &fabric->port[fabric->port[fabric->endpoint[pkt->src_node].port].peer];
    bool tagged = fabric->settings[edge->settings].trust == SW_TRUST_PCP;
    return (watch->plan->v1 ? V1_TO_BTH_BYTES : ETH_TO_BTH_BYTES) + ICRC_BYTES + (tagged ? TAG_BYTES : 0) +
           (telemetry ? TELEMETRY_BYTES : 0) + extension_of(pkt->opcode) + (pkt->payload_bytes + 3u) / 4 * 4;
}

static uint8_t request_opcode(const struct request *request, uint8_t transport, bool first, bool last)
{
    bool imm = request->verb == NIC_SEND_IMM || request->verb == NIC_WRITE_IMM;
    uint8_t code;

    switch (request->verb) {
    case NIC_READ:
        return 0x0c;
    case NIC_CAS:
        return 0x13;
    case NIC_FETCH_ADD:
        return 0x14;
    default:
        break;
    }
    if (transport == NIC_UD) return imm ? 0x65 : 0x64;
    if (first && last)
        code = imm ? 5 : 4;
    else
        code = first ? 0 : !last ? 1 : imm ? 3 : 2;
    if (request->verb == NIC_WRITE || request->verb == NIC_WRITE_IMM) code += 6;
    return transport == NIC_UC ? code + 0x20 : code;
}

static uint32_t part_of(const struct pair_watch *pair, const struct request *request, uint32_t psn)
{
    uint64_t left = request->bytes - (uint64_t)(psn - request->first) * pair->mtu;
    return left < pair->mtu ? (uint32_t)left : pair->mtu;
}

static uint64_t requester_timeouts(const struct watch *watch, uint32_t endpoint)
{
    const struct fabric_port *port = &watch->fabric->port[watch->fabric->endpoint[endpoint].port];

    return watch->sim->host[port->node].node.adapter[port->index].nic->counters.local_ack_timeout_err;
}

static void request_form(struct watch *watch, uint32_t index, const struct pkt *pkt, uint32_t psn)
{
    struct pair_watch *pair = &watch->pair[index];
    const struct request *request = request_of(pair, psn);
    const struct workload_connection *from = workload_connection(watch->sim->workload, index);
    const struct fabric_nic *nic = &watch->fabric->nic[watch->fabric->endpoint[from->src].nic];
    bool first = psn == request->first, last = psn + 1 == request->first + request->packets;
    uint64_t left = request->bytes - (uint64_t)(psn - request->first) * pair->mtu;

    HOLDS(pkt->opcode == request_opcode(request, pair->transport, first, last), "a packet has its place's opcode",
          "connection %u PSN %u: %x, verb %u", index, psn, pkt->opcode, request->verb);
    HOLDS(pkt->payload_bytes == (request->verb < NIC_READ ? part_of(pair, request, psn) : 0),
          "a packet has its part of the message", "connection %u PSN %u: %u", index, psn, pkt->payload_bytes);
    if (request->verb == NIC_READ || (first && (request->verb == NIC_WRITE || request->verb == NIC_WRITE_IMM)))
        HOLDS(pkt->rdma.dma_bytes == left, "a request says how much it is about", "connection %u PSN %u: %u of %lu",
              index, psn, pkt->rdma.dma_bytes, (unsigned long)left);
    HOLDS((pkt->tos & PKT_ECN_MASK) == (watch->plan->v1 ? PKT_ECN_NOT_ECT : PKT_ECN_ECT0), "data can be marked",
          "connection %u", index);
    if (pair->transport != NIC_RC || request->verb >= NIC_READ) return;
    bool asks = pkt->flags & PKT_ACK_REQUEST;
    HOLDS(asks || !last, "a message asks for its acknowledgement", "connection %u PSN %u", index, psn);
    uint64_t timeouts = requester_timeouts(watch, from->src);
    if (timeouts != pair->timeouts) pair->since_ask = 0; /* it went back, wherever ACKs have brought it since */
    pair->timeouts = timeouts;
    pair->since_ask = psn == pair->last_psn + 1 ? pair->since_ask + 1 : 1;
    HOLDS(asks || !nic->ack_request_every || pair->since_ask < nic->ack_request_every || watch->selective,
          "every Nth packet asks for an acknowledgement", "connection %u PSN %u: %u", index, psn, pair->since_ask);
    if (asks) pair->since_ask = 0;
    pair->last_psn = psn;
}

static void answer_form(const struct watch *watch, uint32_t index, const struct pkt *pkt, uint32_t psn)
{
    const struct pair_watch *pair = &watch->pair[index];
    const struct request *request = request_of(pair, psn);
    const struct workload_connection *from = workload_connection(watch->sim->workload, index);
    const struct fabric_nic *nic = &watch->fabric->nic[watch->fabric->endpoint[from->dst].nic];

    if (pkt->opcode == OPCODE_RC_ACK) {
        enum aeth_kind kind = aeth_kind(pkt->ack.syndrome);
        unsigned low = pkt->ack.syndrome & 0x1f;
        HOLDS(pkt->payload_bytes == 0 && kind != AETH_RESERVED, "an acknowledgement is one", "connection %u", index);
        HOLDS(kind != AETH_RNR_NAK || low == nic->min_rnr_timer, "an RNR NAK names the time configured",
              "connection %u: %u", index, low);
        HOLDS(kind != AETH_NAK || low == NAK_PSN_SEQUENCE, "nothing but a gap is wrong here", "connection %u: NAK %u",
              index, low);
        return;
    }
    HOLDS(request && request->verb >= NIC_READ, "only READs and atomics have responses", "connection %u PSN %u", index,
          psn);
    bool last = psn + 1 == request->first + request->packets, read = request->verb == NIC_READ;
    bool fits = !read  ? pkt->opcode == 0x12
                : last ? pkt->opcode == 0x0f || pkt->opcode == 0x10
                       : pkt->opcode == 0x0d || pkt->opcode == 0x0e;
    HOLDS(fits, "a packet has its place's opcode", "connection %u PSN %u: response %x", index, psn, pkt->opcode);
    HOLDS(pkt->payload_bytes == (read ? part_of(pair, request, psn) : 0), "a packet has its part of the message",
          "connection %u PSN %u: response of %u", index, psn, pkt->payload_bytes);
    HOLDS(pkt->opcode == 0x0e || aeth_kind(pkt->ack.syndrome) == AETH_ACK, "a response is an acknowledgement",
          "connection %u PSN %u", index, psn);
}

void check_form(struct watch *watch, uint32_t index, bool to_receiver, const struct pkt *pkt)
{
    const struct pair_watch *pair = &watch->pair[index];
    uint32_t psn = (pkt->psn - pair->base) & PSN_MASK;

    HOLDS(pkt->frame_bytes == frame_due(watch, pkt), "a frame is as long as its headers and payload",
          "connection %u opcode %x: %u, should be %u", index, pkt->opcode, pkt->frame_bytes, frame_due(watch, pkt));
    HOLDS(pkt->pad == (pkt->opcode == OPCODE_CNP ? 0 : (4 - pkt->payload_bytes % 4) % 4), "payload is padded to words",
          "connection %u opcode %x: %u", index, pkt->opcode, pkt->pad);
    HOLDS(pkt->ttl == 64 && pkt->kind == PKT_ROCE, "a packet begins with its whole TTL", "connection %u", index);
    watch->forms++;
    const struct fabric_class *own =
        &watch->fabric->classes[workload_connection(watch->sim->workload, index)->job_class];
    if (pkt->opcode == OPCODE_CNP) {
        HOLDS(pkt->payload_bytes == CNP_BYTES && pkt->tos >> 2 == 48 && pkt->pcp == 6, "a CNP has its own class",
              "connection %u", index);
        return;
    }
    if (pkt->opcode != OPCODE_RC_ACK)
        HOLDS(pkt->tos >> 2 == own->dscp && pkt->pcp == own->priority, "data travels in its job's class",
              "connection %u: DSCP %u, priority %u", index, pkt->tos >> 2, pkt->pcp);
    if (to_receiver)
        request_form(watch, index, pkt, psn);
    else
        answer_form(watch, index, pkt, psn);
}
