/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tap hears, kept until somebody takes it out.  It does not know what a capture file is.
 */
#include "engine/tap.h"

#include <stdlib.h>

#include "packet/frame.h"

#define FIRST_RECORDS 1024

static struct pkt *tap_next(struct tap *tap, ps_t at)
{
    if (tap->count == tap->capacity) {
        uint32_t capacity = tap->capacity ? tap->capacity * 2 : FIRST_RECORDS;
        struct tap_record *record = realloc(tap->record, capacity * sizeof(*record));
        if (record == NULL) {
            tap->forgotten++;
            return NULL;
        }
        tap->record = record;
        tap->capacity = capacity;
    }
    tap->record[tap->count].at = at + tap->behind;
    return &tap->record[tap->count++].pkt;
}

void tap_packet(struct tap *tap, const struct pkt *pkt, ps_t sent, bool lost)
{
    struct pkt *to = lost && tap->receives ? NULL : tap_next(tap, sent);

    if (to) *to = *pkt;
}

void tap_pause(struct tap *tap, uint8_t enable, uint16_t quanta, ps_t sent)
{
    struct pkt *to = tap_next(tap, sent);

    if (to == NULL) return;
    const uint16_t each[8] = {quanta, quanta, quanta, quanta, quanta, quanta, quanta, quanta};
    *to = frame_pfc(enable, each);
}
