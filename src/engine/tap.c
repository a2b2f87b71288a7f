/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tap hears, kept until somebody takes it out.  It does not know what a capture file is.
 */
#include "engine/tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "packet/frame.h"

static struct tap_record *tap_next(struct tap *tap, ps_t at)
{
    if (!GROW(tap->record, tap->count, tap->capacity)) {
        tap->forgotten++;
        return NULL;
    }
    struct tap_record *next = &tap->record[tap->count++];
    next->at = at + tap->behind;
    next->payload = NULL;
    return next;
}

/* Now: behind this link the packet's number may soon be another's. */
static void keep_payload(struct tap *tap, struct tap_record *record, pkt_t id)
{
    const uint8_t *from = tap->payload(tap->payload_owner, id, record->pkt.payload_bytes);

    if (from == NULL) return;
    record->payload = malloc(record->pkt.payload_bytes);
    if (record->payload)
        memcpy(record->payload, from, record->pkt.payload_bytes);
    else
        tap->forgotten++;
}

void tap_packet(struct tap *tap, const struct pkt *pkt, pkt_t id, ps_t sent, bool lost)
{
    struct tap_record *to = lost && tap->receives ? NULL : tap_next(tap, sent);

    if (to == NULL) return;
    to->pkt = *pkt;
    if (tap->payload && pkt->kind == PKT_ROCE && pkt->payload_bytes) keep_payload(tap, to, id);
}

void tap_pause(struct tap *tap, uint8_t enable, uint16_t quanta, ps_t sent)
{
    struct tap_record *to = tap_next(tap, sent);

    if (to == NULL) return;
    const uint16_t each[8] = {quanta, quanta, quanta, quanta, quanta, quanta, quanta, quanta};
    to->pkt = frame_pfc(enable, each);
}
