/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tap listens to one direction of a link, at its sending end.  A capture of a port is made of two, its own and
 * its peer's.  Only the sending node's visit writes to a tap, so two threads never meet in one; between windows,
 * when no node runs, the capture takes out what is complete.
 */
#ifndef ROCELAB_ENGINE_TAP_H
#define ROCELAB_ENGINE_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "packet/pkt.h"

struct tap_record {
    ps_t at; /* the last bit at the captured port */
    struct pkt pkt;
    uint8_t *payload; /* pkt.payload_bytes of them; NULL: not known.  Whoever takes the record out frees it */
};

/* The payload of a packet that is on its way; NULL: so many bytes are not kept. */
typedef const uint8_t *tap_payload(void *owner, pkt_t id, uint32_t bytes);

struct tap {
    struct tap_record *record; /* in order of time: a line carries one frame after the other */
    uint32_t count, capacity, taken;
    ps_t behind;          /* propagation, when the captured port is the receiving end */
    bool receives;        /* it is: what is lost on the line never gets there */
    uint32_t from, to;    /* ports of the fabric */
    uint64_t forgotten;   /* records there was no memory for */
    tap_payload *payload; /* NULL: packets have none */
    void *payload_owner;
};

/* `sent`: when the last bit left. */
void tap_packet(struct tap *tap, const struct pkt *pkt, pkt_t id, ps_t sent, bool lost);
void tap_pause(struct tap *tap, uint8_t enable, uint16_t quanta, ps_t sent);

#endif
