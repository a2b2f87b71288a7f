/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of evidence: what logs say.  A log says the same thing many times, so each is found by a hash of all that it
 * says but its times.
 */
#include <math.h>
#include <string.h>

#include "base/check.h"
#include "evidence/evidence_int.h"

#define EVENTS_MOST 8192 /* different ones: more are counted, and nobody reads so many */
#define PLACES (2 * EVENTS_MOST)
#define TEXT_MOST 200 /* bytes of an end or a detail that are kept */

const struct evidence_event_info evidence_events[EVIDENCE_EVENTS] = {
#define EVENT(id, name, what) {name, what},
#include "evidence/events.def"
#undef EVENT
};

static uint64_t add_text(const struct evidence *evidence, uint64_t hash, const char *text)
{
    return hash_secret(&evidence->tables->secret, hash + (text != NULL), text ? text : "",
                       text ? strnlen(text, TEXT_MOST) : 0);
}

static uint64_t hash_of(const struct evidence *evidence, const struct evidence_event *event)
{
    uint64_t hash = (uint64_t)event->object << 16 | (uint64_t)event->kind << 8 | event->priority;

    return add_text(evidence, add_text(evidence, add_text(evidence, hash, event->from), event->to), event->detail);
}

/* A kept text may have been cut. */
static bool same_text(const char *kept, const char *text)
{
    if (!kept || !text) return !kept && !text;
    return !strncmp(kept, text, TEXT_MOST);
}

static bool same(const struct evidence_event *a, const struct evidence_event *b)
{
    return a->kind == b->kind && a->priority == b->priority && a->object == b->object && same_text(a->from, b->from) &&
           same_text(a->to, b->to) && same_text(a->detail, b->detail);
}

static const char *kept(struct evidence *evidence, const char *text)
{
    const char *copy = text ? arena_strndup(&evidence->arena, text, strnlen(text, TEXT_MOST)) : NULL;

    if (text && !copy) evidence_too_much(evidence);
    return copy;
}

static void count(struct evidence_event *event, const struct evidence_event *again)
{
    event->count += again->count ? again->count : 1;
    if (!(event->first_s <= again->first_s)) event->first_s = isnan(again->first_s) ? event->first_s : again->first_s;
    if (!(event->last_s >= again->last_s)) event->last_s = isnan(again->last_s) ? event->last_s : again->last_s;
}

void evidence_add_event(struct evidence *evidence, const struct evidence_event *event)
{
    uint32_t **places = &evidence->tables->event, at, object = event->object;

    CHECK(event->kind < EVIDENCE_EVENTS && (object == EVIDENCE_NONE || object < evidence->objects));
    CHECK(event->priority < EVIDENCE_PRIORITIES || event->priority == EVIDENCE_NO_PRIORITY);
    if (!*places && !(*places = ARENA_NEW(&evidence->arena, uint32_t, PLACES))) {
        evidence_too_much(evidence);
        return;
    }
    for (at = (uint32_t)hash_of(evidence, event) % PLACES; (*places)[at]; at = (at + 1) % PLACES)
        if (same(&evidence->event[(*places)[at] - 1], event)) {
            count(&evidence->event[(*places)[at] - 1], event);
            return;
        }
    if (evidence->events == EVENTS_MOST) {
        evidence->events_left_out++;
        return;
    }
    if (!ROOM(evidence, evidence->event, evidence->events)) return;
    struct evidence_event *new = &evidence->event[evidence->events];
    *new = *event;
    new->from = kept(evidence, event->from);
    new->to = kept(evidence, event->to);
    new->detail = kept(evidence, event->detail);
    new->count = event->count ? event->count : 1;
    if (evidence->full) return;
    (*places)[at] = ++evidence->events;
    if (object == EVIDENCE_NONE) return;
    struct evidence_object *of = &evidence->object[object];
    if (of->scope == EVIDENCE_PORT) of = &evidence->object[of->parent];
    if (of->scope != EVIDENCE_DEVICE || of->looked_at) return;
    of->looked_at = true;
    of->seen_s = -1; /* before every look: an event has no time of ours */
}
