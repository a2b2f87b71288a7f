/* SPDX-License-Identifier: Apache-2.0 */
/* Random but valid frames of a wanted shape, and the recorded captures, for the tests of packet/. */
#ifndef ROCELAB_TESTS_PACKET_FRAMES_H
#define ROCELAB_TESTS_PACKET_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "packet/codec.h"

#define FRAME_MAX 4608

struct frame_shape {
    uint8_t kind;   /* enum pkt_kind, not PKT_OTHER */
    uint8_t opcode; /* PKT_ROCE */
    uint8_t net;    /* PKT_ROCE: enum pkt_net */
    uint8_t tags;   /* 0..2 */
    uint8_t tunnel; /* PKT_NET_NONE: plain; else the outer IP */
    uint16_t payload_max;
};

/* Fills every field that such a frame has with random values, frame_bytes included; cold.icrc is 0.
 * payload has 4096 + 32 bytes. */
void frame_random(struct rng *rng, const struct frame_shape *shape, struct pkt *pkt, struct pkt_cold *cold,
                  uint8_t *payload);
/* Emits it and sets cold.icrc from the frame; returns the length or codec_emit()'s error. */
int frame_emit(const struct pkt *pkt, struct pkt_cold *cold, const uint8_t *payload, uint8_t frame[FRAME_MAX]);

/* Calls visit for each packet of each *.pcap under dir, in order of name; returns the number of files. */
typedef void (*captures_visit)(const char *file, unsigned number, const struct codec_frame *frame, void *arg);
unsigned captures_each(const char *dir, captures_visit visit, void *arg);

#endif
