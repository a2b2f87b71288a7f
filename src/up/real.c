/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real clock: programs run as they like, and fabric time follows the wall clock.
 *
 * Fabric time is the only time that links, pauses, marks and timers know.  Where the machine cannot keep up it stands
 * still, and that is counted and told; so a pause is always in time, retries do not run out because somebody else had
 * the processor, and nothing is lost that a real fabric would not lose.  Programs see a slower fabric instead.
 *
 * Nobody has turns.  A program's posts and requests are looked for between windows, and done in the visit of its host
 * at the fabric's time.  Who waits sleeps in the kernel, for descriptors that the fabric writes.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "up/up_int.h"

#define WINDOWS 64u        /* of the simulation, between looks at programs */
#define BEHIND_NS 50000u   /* fabric time may be so far behind before it stands still */
#define BUSY_NS 200000u    /* after the last thing that happened: looked at without sleep */
#define SLEEP_NS 1000000u  /* at a time: who comes to the socket is seen as late as that */
#define SAY_NS 1000000000u /* between lines about standing still */
#define BELLS 128u         /* that can be waited for at once */

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
struct bell { /* struct futex_waitv of linux/futex.h, which is younger than some headers */
    uint64_t value, address;
    uint32_t flags, reserved;
};
#define BELL_32 2u

static uint64_t ps_of(const struct up *up, uint64_t real_ns)
{
    return real_ns / up->options.dilation * 1000 + real_ns % up->options.dilation * 1000 / up->options.dilation;
}

static uint64_t ns_of(const struct up *up, ps_t fabric)
{
    return fabric / 1000 * up->options.dilation;
}

/* --- what programs ask for --- */

static bool asks(const struct attach_thread *place)
{
    return __atomic_load_n(&place->turn, __ATOMIC_ACQUIRE) == ATTACH_TURN_FABRIC &&
           __atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == ATTACH_LIVES && place->why == ATTACH_REQUEST;
}

static bool has_work(struct up_process *process)
{
    const struct attach_head *head = process->head;

    if (__atomic_load_n(&head->posts.tail, __ATOMIC_ACQUIRE) != process->posts_head) return true;
    for (uint32_t i = 0; i <= process->threads && i < ATTACH_THREADS; i++) {
        uint32_t state = __atomic_load_n(&head->thread[i].state, __ATOMIC_ACQUIRE);
        if (i == process->threads && state != ATTACH_FREE) process->threads++;
        if (asks(&head->thread[i])) return true;
    }
    return false;
}

/* Between windows: hosts whose programs want something are visited now.  False: nobody wants anything. */
static bool look_at_programs(struct up *up, ps_t now)
{
    bool any = false;

    for (uint32_t i = 0; i < up->fabric->hosts; i++) {
        struct up_host *host = &up->host[i];
        bool wants = false;
        if (host->processes == NULL) continue;
        for (struct up_process *process = host->processes; process; process = process->next)
            wants |= !process->gone && has_work(process);
        stream_collect(host, now);
        if (wants) turn_wake(host, now);
        any |= wants || host->next <= now;
    }
    return any;
}

static void answer_one(struct up_process *process, uint32_t number, ps_t now, struct node_io *io)
{
    struct attach_thread *place = &process->head->thread[number];
    struct up_thread *thread = process->thread[number];

    if (!asks(place)) return;
    if (thread == NULL || thread->state == UP_ENDED) thread = turn_thread(process, number, now);
    if (thread == NULL) return;
    thread->state = UP_RUNS;
    thread->due = PS_NEVER;
    request_run(thread, now, io);
    __atomic_store_n(&place->turn, ATTACH_TURN_PROGRAM, __ATOMIC_RELEASE);
    syscall(SYS_futex, &place->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void real_run(struct up_host *host, ps_t now, struct node_io *io)
{
    host->now = now;
    turn_deaths(host, now, io);
    if (stream_next(host) <= now) stream_deliver(host, now);
    launch_due(host, now);
    for (struct up_process *process = host->processes; process; process = process->next) {
        if (process->gone) continue;
        post_collect(process); /* what was posted before a request is done before it */
        if (post_next(process) <= now) post_run(process, now, io);
        for (uint32_t i = 0; i < process->threads && !process->gone; i++)
            answer_one(process, i, now, io);
    }
    host->next = turn_next(host);
}

/* --- time --- */

static void stand_still(struct up *up, uint64_t real_ns, uint64_t behind_ns)
{
    up->real.stood_ns += behind_ns;
    if (real_ns - up->real.said_ns < SAY_NS) return;
    up->real.said_ns = real_ns;
    if (up->options.say == NULL || up->real.stood_ns - up->real.told_ns < SAY_NS / 100) return;
    char text[160];
    snprintf(text, sizeof text, "fabric time has stood still for %llu ms of %llu ms: this machine cannot keep up",
             (unsigned long long)(up->real.stood_ns / 1000000),
             (unsigned long long)((real_ns - up->real.begun_ns) / 1000000));
    up->real.told_ns = up->real.stood_ns;
    up->options.say(text);
}

/* Until a program posts or asks, the simulation has something to do, or a moment has passed. */
static void sleep_for_bells(struct up *up, uint64_t ns)
{
    struct bell bell[BELLS];
    uint32_t count = 0;
    struct timespec until;

    for (uint32_t i = 0; i < up->fabric->hosts; i++)
        for (struct up_process *process = up->host[i].processes; process; process = process->next) {
            if (process->gone || count == BELLS) continue;
            uint32_t value = __atomic_load_n(&process->head->bell, __ATOMIC_ACQUIRE);
            if (has_work(process)) return;
            bell[count++] = (struct bell){.value = value, .address = (uintptr_t)&process->head->bell, .flags = BELL_32};
        }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (count && syscall(SYS_futex_waitv, bell, count, 0, &until, CLOCK_MONOTONIC) >= 0) return;
    if (count && errno != ENOSYS) return;
    const struct timespec some = {0, (long)(ns < BEHIND_NS ? ns : BEHIND_NS)};
    nanosleep(&some, NULL);
}

/* Nothing happens before `target`: time has come there, and there may be time to sleep. */
static void rest(struct up *up, uint64_t real_ns, ps_t target)
{
    struct engine *engine = sim_engine(up->sim);
    ps_t next = engine_next(engine);

    if (next > target) engine_pass_to(engine, target);
    if (real_ns - up->real.busy_ns < BUSY_NS) {
        if (!up->spins) sched_yield();
        return;
    }
    uint64_t ns = SLEEP_NS;
    if (next != PS_NEVER && next > target && ns_of(up, next - target) < ns) ns = ns_of(up, next - target);
    if (ns > 1000) sleep_for_bells(up, ns);
}

enum sim_state real_advance(struct up *up)
{
    uint64_t real_ns = turn_real_ns();

    if (up->real.begun_ns == 0) up->real.begun_ns = up->real.said_ns = up->real.busy_ns = real_ns;
    ps_t target = ps_of(up, real_ns - up->real.begun_ns - up->real.stood_ns);
    ps_t before = engine_now(sim_engine(up->sim));
    up_between(up, before);
    if (up_all_done(up)) return sim_advance(up->sim, WINDOWS, PS_NEVER); /* to the end of the jobs, or at once */
    up->between = true;
    if (look_at_programs(up, before)) up->real.busy_ns = real_ns;
    up->between = false;
    enum sim_state state = target > before ? sim_advance(up->sim, WINDOWS, target) : SIM_RUNNING;
    if (state != SIM_RUNNING && state != SIM_UNTIL) return state;
    ps_t now = engine_now(sim_engine(up->sim));
    if (engine_next(sim_engine(up->sim)) > target) {
        rest(up, real_ns, target);
    } else if (target > now && ns_of(up, target - now) > BEHIND_NS) {
        stand_still(up, real_ns, ns_of(up, target - now) - BEHIND_NS);
        up->real.busy_ns = real_ns;
    }
    return SIM_RUNNING;
}

void up_stood_still(const struct up *up, uint64_t *ret_stood_ns, uint64_t *ret_ns)
{
    *ret_stood_ns = up->real.stood_ns;
    *ret_ns = up->real.begun_ns ? turn_real_ns() - up->real.begun_ns : 0;
}
