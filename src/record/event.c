/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events put together: names, and one log of all nodes' rings.
 */
#include "record/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct record_event_name record_event_names[RECORD_EVENTS] = {
#define EVENT(id, name, a, b, help) {name, a, b, help},
#include "record/events.def"
#undef EVENT
};

static int by_time(const void *a, const void *b)
{
    const struct record_event *one = a, *other = b;

    if (one->at != other->at) return one->at < other->at ? -1 : 1;
    if (one->node != other->node) return one->node < other->node ? -1 : 1;
    return one->sequence < other->sequence ? -1 : one->sequence > other->sequence;
}

static int make_room(struct record_log *log, uint64_t more)
{
    uint64_t room = log->room ? log->room : 1024;

    if (log->count + more <= log->room) return 0;
    while (room < log->count + more)
        room *= 2;
    struct record_event *event = realloc(log->event, room * sizeof(*event));
    if (event == NULL) return -ENOMEM;
    log->event = event;
    log->room = room;
    return 0;
}

int record_log_take(struct record_log *log, struct record_ring *const *ring, uint32_t rings)
{
    uint64_t first = log->count, more = 0;

    for (uint32_t i = 0; i < rings; i++)
        more += ring[i]->count;
    if (make_room(log, more) != 0) return -ENOMEM;
    for (uint32_t i = 0; i < rings; i++) {
        log->lost += ring[i]->lost;
        ring[i]->lost = 0;
        if (ring[i]->count == 0) continue;
        memcpy(&log->event[log->count], ring[i]->event, ring[i]->count * sizeof(*log->event));
        log->count += ring[i]->count;
        ring[i]->count = 0;
    }
    if (log->count > first) qsort(&log->event[first], log->count - first, sizeof(*log->event), by_time);
    if (log->count > log->most) {
        log->lost += log->count - log->most;
        log->count = log->most;
    }
    return 0;
}

void record_log_free(struct record_log *log)
{
    free(log->event);
    *log = (struct record_log){0};
}
