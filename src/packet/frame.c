/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames in a pool with bytes; see frame.h.  Offsets are the codec's: here is only what belongs to which packet.
 */
#include "packet/frame.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "packet/opcode.h"
#include "packet/protocol.h"
#include "packet/telemetry.h"

int frame_in(struct pktpool *pool, pkt_t id, const uint8_t *data, uint32_t bytes, enum codec_fault *ret_fault)
{
    struct pkt_frame *frame = &pool->frame[id];
    struct codec_frame whole = {.data = frame_data(pool, id), .captured = bytes, .length = bytes};

    *ret_fault = CODEC_FAULT_NONE;
    frame->bytes = 0;
    if (bytes > pool->bytes_each || bytes > UINT16_MAX) return -EMSGSIZE;
    memcpy(frame_data(pool, id), data, bytes);
    int error = codec_parse_transit(&whole, &pool->hot[id], &pool->cold[id], &frame->layout, ret_fault);
    if (error) return error;
    frame->bytes = (uint16_t)bytes;
    if (pool->telemetry == NULL) return 0;
    pool->telemetry[id] = (struct pkt_int){.hops = 0};
    if (codec_has_telemetry(&frame->layout)) codec_telemetry_read(whole.data, &frame->layout, &pool->telemetry[id]);
    return 0;
}

void frame_patch(const struct pktpool *pool, pkt_t id)
{
    const struct pkt_frame *frame = &pool->frame[id];
    uint8_t *bytes = frame_data(pool, id);

    CHECK(frame->bytes != 0);
    codec_rewrite(bytes, &frame->layout, &pool->hot[id]);
    if (pool->telemetry && codec_has_telemetry(&frame->layout))
        codec_telemetry_write(bytes, &frame->layout, &pool->telemetry[id]);
}

void frame_address(const struct frame_path *path, const struct pkt *pkt, struct pkt_cold *cold)
{
    static const uint8_t mac_control[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
    bool pause = pkt->kind == PKT_PFC || pkt->kind == PKT_PAUSE;
    bool atomic = pkt->kind == PKT_ROCE && opcode_info(pkt->opcode)->flags & OP_ATOMICETH;
    uint64_t swap = atomic ? cold->swap : 0, compare = atomic ? cold->compare : 0;

    memset(cold, 0, sizeof *cold); /* padding too: records are compared as bytes */
    memcpy(cold->dmac, pause ? mac_control : path->dmac, 6);
    memcpy(cold->smac, path->smac, 6);
    if (pkt->flags & PKT_TAGGED) {
        cold->vlan[0].tpid = PROTO_ETHERTYPE_VLAN;
        cold->vlan[0].tci = (uint16_t)(pkt->pcp << 13 | (path->vlan_id & 0xfff));
    }
    if (pkt->kind != PKT_ROCE) return;
    cold->src = path->src;
    cold->dst = path->dst;
    if (pkt->net == PKT_NET_IPV4)
        cold->ip_frag = PROTO_IPV4_DF;
    else
        cold->flow_label = path->flow_label;
    if (pkt->net != PKT_NET_V1) cold->dport = path->telemetry ? PROTO_PORT_ROCE_TELEMETRY : PROTO_PORT_ROCE;
    cold->pkey = PROTO_PKEY_DEFAULT;
    cold->resv7 = pkt->mark;
    cold->swap = swap;
    cold->compare = compare;
}

int frame_build(const struct pktpool *pool, pkt_t id, const uint8_t *payload)
{
    struct pkt_frame *frame = &pool->frame[id];
    const struct pkt_int *record = pool->telemetry ? &pool->telemetry[id] : NULL;
    struct pkt pkt = pool->hot[id];

    if (!(pkt.flags & PKT_TAGGED)) pkt.pcp = 0; /* the adapter's own note of the priority: no tag carries it */
    int bytes = codec_emit_frame(&pkt, &pool->cold[id], record, payload, frame_data(pool, id), pool->bytes_each,
                                 &frame->layout);
    frame->bytes = bytes < 0 ? 0 : (uint16_t)bytes;
    return bytes;
}

struct pkt frame_pfc(uint8_t enable, const uint16_t quanta[8])
{
    struct pkt pkt = {.kind = PKT_PFC, .pfc_enable = enable};

    for (unsigned priority = 0; priority < 8; priority++)
        pkt.quanta[priority] = enable >> priority & 1 ? quanta[priority] : 0;
    return pkt;
}

struct pkt frame_pause(uint16_t quanta)
{
    struct pkt pkt = {.kind = PKT_PAUSE};

    pkt.quanta[0] = quanta;
    return pkt;
}

bool frame_pauses(const struct pkt *pkt, uint8_t *ret_enable, uint16_t ret_quanta[8])
{
    bool all = pkt->kind == PKT_PAUSE;

    if (!all && pkt->kind != PKT_PFC) return false;
    *ret_enable = all ? UINT8_MAX : pkt->pfc_enable;
    for (unsigned priority = 0; priority < 8; priority++)
        ret_quanta[priority] = pkt->quanta[all ? 0 : priority];
    return true;
}
