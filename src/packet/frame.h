/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames with bytes: the way of a real frame through a pool, for whoever moves real frames (a port that is an
 * interface, a loop over bytes).
 *
 *   in:          frame_in() copies the bytes to a packet of the pool and fills descriptor and cold record from them.
 *   through:     machines read and change the descriptor (TTL, CE, class) and the telemetry.
 *   out:         frame_patch() writes what they changed into the bytes; everything else leaves as it came.
 *   from nobody: a packet that a machine made itself (data, ACK, CNP, pause) has no bytes yet: frame_address() fills
 *                its cold record, frame_build() writes the frame.
 *
 * The pool must have cold records and bytes; telemetry only where frames carry it.  Nothing here allocates.
 */
#ifndef ROCELAB_PACKET_FRAME_H
#define ROCELAB_PACKET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/codec.h"
#include "packet/pktpool.h"

#define FRAME_BYTES_MAX 9216u /* room that holds every frame of a line with jumbo frames, its tags included */

/* Beside each packet of a pool with bytes. */
struct pkt_frame {
    uint16_t bytes; /* of the frame, from the destination MAC, without FCS; 0: it has none yet */
    struct codec_layout layout;
};

static inline uint8_t *frame_data(const struct pktpool *pool, pkt_t id)
{
    return pool->bytes + (size_t)id * pool->bytes_each;
}

/* What frames from one port to another are addressed with. */
struct frame_path {
    uint8_t dmac[6], smac[6]; /* of this link; routers change them (codec_rewrite_macs) */
    struct pkt_addr src, dst; /* the two ends */
    uint32_t flow_label;      /* IPv6, RoCEv1 */
    uint16_t vlan_id;         /* of packets with PKT_TAGGED; 0: the tag tells a priority alone */
    bool telemetry;           /* packets carry in-band telemetry (HPCC) */
};

/* An Ethernet frame that came in by a line, `bytes` long without its FCS: copies it to packet `id`, which is the
 * caller's, and reads it as codec_parse_transit() does.  in-band telemetry goes to the pool's, where it has room for
 * it.  src_node and dst_node are 0: directory_resolve() knows them.
 * 0; -EMSGSIZE: longer than the pool's room; -EBADMSG, -ENODATA: a router would drop it.  Then `id` has no bytes, and
 * *ret_fault says why. */
int frame_in(struct pktpool *pool, pkt_t id, const uint8_t *data, uint32_t bytes, enum codec_fault *ret_fault);

/* Writes into the bytes what machines changed since they were read or built (codec_rewrite, codec_telemetry_write). */
void frame_patch(const struct pktpool *pool, pkt_t id);

/* Fills the cold record of a packet that a machine made: addresses, the tag of PKT_TAGGED, defaults.  Operands of an
 * atomic stay what they are.  A pause goes to the address of MAC control. */
void frame_address(const struct frame_path *path, const struct pkt *pkt, struct pkt_cold *cold);

/* Writes the frame of descriptor and cold record (codec_emit_frame), with the pool's telemetry where cold.dport says
 * so.  `payload`: NULL for zeros.  Answers its length, or codec_emit()'s error; then it has no bytes. */
int frame_build(const struct pktpool *pool, pkt_t id, const uint8_t *payload);

/* The packet that tells the other end of a line to pause: PFC, the quanta of each priority that `enable` names (0: go
 * on), or an 802.3x frame, which knows no priorities. */
struct pkt frame_pfc(uint8_t enable, const uint16_t quanta[8]);
struct pkt frame_pause(uint16_t quanta);
/* What either of them tells: an 802.3x frame is for all priorities.  False: `pkt` is no pause. */
bool frame_pauses(const struct pkt *pkt, uint8_t *ret_enable, uint16_t ret_quanta[8]);

#endif
