/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is on its way between two sockets: parcels, a host's inbox and outbox.
 *
 * An inbox is a heap by (time, sending host, stream, serial): that order is the same whichever host was visited first
 * and however many threads did it.
 */
#include "up/stream_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct parcel *parcel_new(const struct stream *from, enum parcel_kind kind, const void *data, uint32_t bytes)
{
    struct parcel *parcel = calloc(1, sizeof(*parcel) + (data ? bytes : 0));

    CHECK(parcel != NULL);
    parcel->kind = kind;
    parcel->bytes = bytes;
    if (data) memcpy(parcel->data, data, bytes);
    if (from) {
        parcel->to_host = from->peer_host;
        parcel->to = from->peer;
    }
    return parcel;
}

void parcels_append(struct parcels *to, struct parcel *parcel)
{
    parcel->next = NULL;
    if (to->first)
        to->last->next = parcel;
    else
        to->first = parcel;
    to->last = parcel;
}

struct parcel *parcels_take(struct parcels *from)
{
    struct parcel *parcel = from->first;

    if (parcel) from->first = parcel->next;
    return parcel;
}

void parcels_drop(struct parcels *list)
{
    for (struct parcel *parcel; (parcel = parcels_take(list)) != NULL;)
        free(parcel);
}

static bool before(const struct parcel *a, const struct parcel *b)
{
    if (a->due != b->due) return a->due < b->due;
    if (a->from_host != b->from_host) return a->from_host < b->from_host;
    if (a->from != b->from) return a->from < b->from;
    return a->serial < b->serial;
}

void inbox_push(struct up_streams *streams, struct parcel *parcel)
{
    uint32_t at = streams->inbox_count++;

    if (streams->inbox_count > streams->inbox_room) {
        streams->inbox_room = streams->inbox_room ? 2 * streams->inbox_room : 64;
        streams->inbox = realloc(streams->inbox, streams->inbox_room * sizeof(struct parcel *));
        CHECK(streams->inbox != NULL);
    }
    while (at > 0 && before(parcel, streams->inbox[(at - 1) / 2])) {
        streams->inbox[at] = streams->inbox[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    streams->inbox[at] = parcel;
}

struct parcel *inbox_pop(struct up_streams *streams, ps_t now)
{
    struct parcel **heap = streams->inbox, *first, *last;
    uint32_t at = 0;

    if (streams->inbox_count == 0 || heap[0]->due > now) return NULL;
    first = heap[0];
    last = heap[--streams->inbox_count];
    for (uint32_t child; (child = 2 * at + 1) < streams->inbox_count; at = child) {
        if (child + 1 < streams->inbox_count && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], last)) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

void parcel_send(struct up_streams *streams, struct stream *from, struct parcel *parcel, ps_t now)
{
    const struct up *up = streams->host->up;
    bool local = parcel->to_host == streams->host->number;
    ps_t latency = up->options.real ? 0 : local ? up->cost.local : up->cost.stream;

    parcel->due = ps_add(now, latency);
    parcel->from_host = streams->host->number;
    parcel->serial = streams->serial++;
    if (from) {
        parcel->from = from->number;
        /* Another thread of the host may have written first with a clock that is further on. */
        if (parcel->due < from->last_due) parcel->due = from->last_due;
        from->last_due = parcel->due;
    }
    if (local)
        inbox_push(streams, parcel);
    else
        parcels_append(&streams->outbox, parcel);
}

void parcel_answer(struct up_streams *streams, const struct parcel *to, enum parcel_kind kind, ps_t now)
{
    struct parcel *answer = parcel_new(NULL, kind, NULL, 0);

    answer->to_host = to->from_host;
    answer->to = to->from;
    parcel_send(streams, NULL, answer, now);
}
