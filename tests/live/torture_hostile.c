/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds what torture_hostile.h describes.
 */
#include "torture_hostile.h"

#include <string.h>

#include "base/check.h"
#include "packet/codec.h"
#include "packet/icrc.h"
#include "packet/opcode.h"

uint32_t hostile_build(const struct hostile *h, uint8_t *out, uint32_t cap)
{
    const struct opcode_info *info = opcode_info(h->opcode);
    struct pkt p = {.kind = PKT_ROCE,
                    .opcode = h->opcode,
                    .flags = (uint8_t)(h->flags | PKT_MIGRATED),
                    .dest_qp = h->dest_qp & 0xffffff,
                    .psn = h->psn & 0xffffff,
                    .payload_bytes = (uint16_t)h->payload_bytes,
                    .pad = (uint8_t)(-h->payload_bytes & 3),
                    .imm = h->imm,
                    .src_qp = h->src_qp & 0xffffff};
    struct pkt_cold cold = {.pkey = h->pkey ? h->pkey : 0xffff, .swap = h->swap, .compare = h->compare};

    if (info->flags & (OP_RETH | OP_ATOMICETH)) {
        p.rdma.va = h->va;
        p.rdma.rkey = h->rkey;
        p.rdma.dma_bytes = info->flags & OP_RETH ? h->dma_bytes : 0;
    }
    if (info->flags & OP_DETH) p.ud.qkey = h->qkey;
    if (info->flags & OP_AETH) {
        p.ack.syndrome = h->syndrome;
        p.ack.msn = h->msn & 0xffffff;
        if (h->opcode == OPCODE_RC_ATOMIC_ACK) p.ack.original = h->swap;
    }
    int header = codec_emit_bth(&p, &cold, out, cap);
    if (header < 0) return 0;
    uint32_t at = (uint32_t)header + h->payload_bytes + p.pad;
    CHECK(at + 4 <= cap);
    memset(out + header, h->payload, at - (uint32_t)header);
    struct pkt_envelope envelope = {.src = h->src, .dst = h->dst, .net = PKT_NET_IPV4, .sport = h->sport};
    uint32_t icrc = icrc_detached(&envelope, PROTO_IPV4_DF, out, at + 4);
    if (h->wrong_icrc) icrc ^= 0x80000001u;
    for (int i = 0; i < 4; i++)
        out[at + (uint32_t)i] = (uint8_t)(icrc >> 8 * i);
    return at + 4;
}
