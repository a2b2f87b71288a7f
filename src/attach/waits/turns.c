/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a thread of the program waits: one look, one turn; and lists of those who wait for somebody's word.
 *
 * One thread of a process runs at a time, so the lists have no lock.
 */
#include "attach/waits/waits.h"

uint32_t wait_count;
static struct parked *first_parked;
static PER_THREAD uint64_t synced; /* our clock when we last had the turn from here */

static enum wait_end give_turn(uint64_t until, uint32_t events, const char *what)
{
    bool handled;

    if (turn_now() >= until) return WAIT_LATE;
    if (turn_enter() < 0) return WAIT_GONE;
    self->waits_event = events;
    for (size_t i = 0; i < sizeof self->what && (self->what[i] = what[i]); i++)
        ;
    wait_count++;
    handled = turn_yield(ATTACH_WAIT, until);
    wait_count--;
    turn_leave();
    synced = turn_now();
    if (!attached.is_virtual) return WAIT_GONE;
    return handled ? WAIT_INTERRUPTED : WAIT_AGAIN;
}

enum wait_end wait_turn(uint64_t until, const char *what)
{
    return give_turn(until, 0, what);
}

enum wait_end wait_turn_event(uint64_t until, const char *what)
{
    return give_turn(until, 1, what);
}

void wait_sync(void)
{
    if (self->now == synced || turn_enter() < 0) return;
    turn_sync();
    turn_leave();
    synced = turn_now();
}

void wait_moment(void)
{
    turn_charge(attached.head->cost.yield);
    wait_sync();
}

void park(struct parked *parked, const void *on, uint32_t bits)
{
    struct parked **at = &first_parked;

    while (*at != NULL)
        at = &(*at)->next;
    *parked = (struct parked){.on = on, .bits = bits};
    *at = parked;
}

void unpark(struct parked *parked)
{
    struct parked **at = &first_parked;

    while (*at != NULL && *at != parked)
        at = &(*at)->next;
    if (*at != NULL) *at = parked->next;
}

unsigned park_wake(const void *on, unsigned most, uint32_t bits)
{
    unsigned woken = 0;

    for (struct parked *parked = first_parked; parked != NULL && woken < most; parked = parked->next) {
        if (parked->on != on || parked->woken || (parked->bits & bits) == 0) continue;
        parked->woken = true;
        woken++;
    }
    if (woken > 0) turn_touched(ATTACH_TOUCHED_PROCESS);
    return woken;
}

unsigned park_move(const void *on, unsigned most, const void *to)
{
    unsigned moved = 0;

    for (struct parked *parked = first_parked; parked != NULL && moved < most; parked = parked->next) {
        if (parked->on != on || parked->woken) continue;
        parked->on = to;
        moved++;
    }
    return moved;
}

void wait_forked(void)
{
    wait_count = 0;
    first_parked = NULL;
}
