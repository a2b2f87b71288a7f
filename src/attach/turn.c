/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: exactly one side runs, the fabric or the thread that has the turn.
 */
#include "attach/attach_int.h"

PER_THREAD struct attach_thread *self;

int turn_enter(void)
{
    return -EIO;
}

void turn_leave(void)
{
}

void turn_charge(uint64_t ps)
{
    (void)ps;
}

uint64_t turn_now(void)
{
    return 0;
}

bool turn_yield(enum attach_why why, uint64_t until)
{
    (void)why, (void)until;
    return false;
}

void turn_touched(uint32_t what)
{
    (void)what;
}

void turn_sync(void)
{
}

struct attach_thread *turn_place(void)
{
    return NULL;
}

void turn_begin(struct attach_thread *place)
{
    (void)place;
}

void turn_end(void)
{
}

void turn_poll_empty(void)
{
}

void turn_poll_found(void)
{
}
