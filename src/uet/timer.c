/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines of sources: a binary heap that knows each source's place, so a deadline can be moved forward.
 *
 * A deadline that moves back stays where it is: when it fires, whoever takes it out looks again and asks for the right
 * one.  So an ACK costs nothing here.  Equal times leave by the number of the end.
 */
#include "uet/uet_int.h"

static bool earlier(const struct uet *uet, uint32_t a, uint32_t b)
{
    ps_t at_a = uet->source[a]->timer, at_b = uet->source[b]->timer;

    return at_a < at_b || (at_a == at_b && a < b);
}

static void put(struct uet *uet, uint32_t place, uint32_t index)
{
    uet->heap[place] = index;
    uet->source[index]->heap_at = place;
}

static void rise(struct uet *uet, uint32_t place, uint32_t index)
{
    while (place > 0 && earlier(uet, index, uet->heap[(place - 1) / 2])) {
        put(uet, place, uet->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(uet, place, index);
}

static void sink_down(struct uet *uet, uint32_t place, uint32_t index)
{
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= uet->heap_count) break;
        if (child + 1 < uet->heap_count && earlier(uet, uet->heap[child + 1], uet->heap[child])) child++;
        if (!earlier(uet, uet->heap[child], index)) break;
        put(uet, place, uet->heap[child]);
        place = child;
    }
    put(uet, place, index);
}

void timer_want(struct uet *uet, struct uet_source *source, ps_t at)
{
    if (at == PS_NEVER || (source->heap_at != UET_NONE && source->timer <= at)) return;
    source->timer = at;
    if (source->heap_at == UET_NONE) source->heap_at = uet->heap_count++;
    rise(uet, source->heap_at, source->index);
}

struct uet_source *timer_due(struct uet *uet, ps_t now)
{
    if (timer_next(uet) > now) return NULL;
    struct uet_source *source = uet->source[uet->heap[0]];
    uint32_t last = uet->heap[--uet->heap_count];

    source->heap_at = UET_NONE;
    if (uet->heap_count > 0) sink_down(uet, 0, last);
    return source;
}
