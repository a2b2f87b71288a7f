/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that polls while nobody else has anything to do.
 *
 * Each empty poll is a turn: the fabric goes on to the time that the poll has waited for, finds nothing, and gives the
 * turn back.  Two changes of process cost more than all else of it.  Where the fabric knows that nothing can happen
 * before some time, it says so with the turn, and the thread polls up to then by itself: its clock shows what it would
 * have shown, and whatever it does instead of polling ends that (turn_alone_no_more()).
 *
 * Known is what the engine has in its tables between windows, and that the host did nothing since.  Sockets are left
 * out: libc's streams write to them unseen, and what was written has the time of the turn's end.  So is a host with a
 * thread in a loop on memory, which looks after each turn of others.
 */
#include "up/up_int.h"

#include "fabric/fabric.h"

#define WINDOWS_PASSED 16 /* nobody was alone: so many windows before that is asked again */

void alone_polled(struct up_thread *thread)
{
    __atomic_store_n(&thread->process->up->polled, thread->process->host, __ATOMIC_RELAXED);
}

/* Of the host's own: the earliest thing beside its threads' turns. */
static bool has_more(const struct up_host *host)
{
    if (host->launch || stream_any(host)) return true;
    for (const struct up_process *at = host->processes; at; at = at->next)
        if (!at->gone && post_next(at) != PS_NEVER) return true;
    return false;
}

void alone_look(struct up *up)
{
    struct up_host *host = up->polled;

    up->polled = NULL;
    if (host == NULL) return;
    if (up->polls_passed) {
        up->polls_passed--;
        return;
    }
    ps_t until = has_more(host) ? 0 : sim_programs_alone(up->sim, host->number);
    if (until > host->next)
        host->alone = until;
    else
        up->polls_passed = WINDOWS_PASSED;
}

void alone_forget(struct up *up)
{
    ps_t latest = 0;

    for (uint32_t i = 0; i < up->fabric->hosts; i++) {
        up->host[i].alone = 0;
        if (up->host[i].latest > latest) latest = up->host[i].latest;
    }
    sim_programs_pass(up->sim, latest);
}

ps_t alone_take(const struct up_thread *thread)
{
    struct up_host *host = thread->process->host;
    ps_t until = host->alone;

    host->alone = 0;
    if (until == 0 || thread->state != UP_POLLS) return 0;
    for (const struct up_process *at = host->processes; at; at = at->next)
        for (uint32_t i = 0; !at->gone && i < at->threads; i++) {
            const struct up_thread *other = at->thread[i];
            if (other == NULL || other == thread) continue;
            if (other->state == UP_SPINS) return 0;
            if (other->due < until) until = other->due;
            if (other->look < until) until = other->look;
        }
    return until;
}
