/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: what happened at one moment at a port, a queue pair or a job, in 32 bytes.
 *
 * A machine notes events into a ring that its driver gave it; without one (the usual case) nothing is done but a test
 * of the pointer, in branches that are rare already.  A ring belongs to a node and is written by that node's calls
 * alone; between calls the driver takes the events out.  A ring that is full asks its driver for more room; what finds
 * none is counted, never waited for.
 */
#ifndef ROCELAB_RECORD_EVENT_H
#define ROCELAB_RECORD_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

enum record_event_kind {
#define EVENT(id, name, a, b, help) RECORD_##id,
#include "record/events.def"
#undef EVENT
    RECORD_EVENTS
};
_Static_assert(RECORD_EVENTS <= 32, "record_ring.kinds has a bit for each");

#define RECORD_NO_PRIORITY 0xff
#define RECORD_NO_PORT 0xffff

struct record_event {
    ps_t at;
    uint64_t a;
    uint32_t b;
    uint32_t node;     /* as the fabric numbers nodes; of jobs UINT32_MAX */
    uint32_t sequence; /* of the node: orders what happened at one moment */
    uint16_t port;     /* the node's; RECORD_NO_PORT: of the whole node */
    uint8_t priority;  /* RECORD_NO_PRIORITY: none */
    uint8_t kind;      /* enum record_event_kind */
};
_Static_assert(sizeof(struct record_event) == 32, "events are kept by the million");

struct record_ring {
    struct record_event *event; /* [room] */
    uint32_t room, count;
    uint32_t kinds; /* bit k: events of kind k are wanted */
    uint32_t node, sequence;
    uint64_t lost; /* events that found no room */
    /* The driver's: there is room again (more of it, or what was there was taken out), or false.  NULL: never. */
    bool (*grow)(struct record_ring *ring);
};

#define RECORD_KIND(kind) (1u << (kind))
/* What is rare enough to be kept of every run that is watched; the others are counted in samples. */
#define RECORD_RARE                                                                                                    \
    (~(RECORD_KIND(RECORD_MARK) | RECORD_KIND(RECORD_CNP) | RECORD_KIND(RECORD_DROP) | RECORD_KIND(RECORD_NAK)))

static __attribute__((noinline, cold, unused)) void record_note_wanted(struct record_ring *ring,
                                                                       struct record_event event)
{
    if (!(ring->kinds & RECORD_KIND(event.kind))) return;
    event.node = ring->node;
    event.sequence = ring->sequence++;
    if (ring->count == ring->room && (ring->grow == NULL || !ring->grow(ring)))
        ring->lost++;
    else
        ring->event[ring->count++] = event;
}

static inline void record_note(struct record_ring *ring, struct record_event event)
{
    if (__builtin_expect(ring != NULL, 0)) record_note_wanted(ring, event);
}

/* Names and words of kinds. */
struct record_event_name {
    const char *name, *a, *b, *help; /* a, b: NULL: unused */
};
extern const struct record_event_name record_event_names[RECORD_EVENTS];

/* All events of a run in order of time, then node, then sequence: whatever windows and threads it ran in. */
struct record_log {
    struct record_event *event;
    uint64_t count, room;
    uint64_t most; /* more than that are counted as lost */
    uint64_t lost;
};
/* Empties the rings, when no node runs: nobody will note anything earlier than what they hold.  0, -ENOMEM. */
int record_log_take(struct record_log *log, struct record_ring *const *ring, uint32_t rings);
void record_log_free(struct record_log *log);

#endif
