/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: which thread of a host's programs runs, from when, and until when it waits.
 *
 * A turn is given when it is due, in order of time, process and thread, and the fabric stands still until the thread
 * yields.  The clock of a thread that has worked is ahead of the fabric's; what it waits for then finds it later.
 *
 * The fabric never waits for a dead thread: it looks at the process from time to time.  It sends a signal to a thread
 * that keeps its turn and calls nobody; whether it only waits for memory to change is for the library to prove, so
 * when the signal comes cannot be seen in the result.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "up/up_int.h"

#define SPINS 2000     /* looks at the turn word before the fabric sleeps: some microseconds */
#define FIRST_NS 40000 /* a turn is usually shorter */
#define QUIET_CPU_NS 20000
#define LONGEST_NS 5000000        /* between looks at who was in a loop on memory before; ... */
#define LONGEST_CALM_NS 80000000  /* ... and at who was not: it computes */
#define CLOCK_MOST (PS_NEVER / 4) /* no clock of a program is believed beyond */

uint64_t turn_real_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- what is due --- */

static ps_t earlier(ps_t a, ps_t b)
{
    return a < b ? a : b;
}

static ps_t turn_due(const struct up_thread *thread)
{
    return earlier(thread->due, thread->look);
}

ps_t turn_next(const struct up_host *host)
{
    ps_t next = stream_next(host);

    if (host->launch && host->up->begun) next = earlier(next, host->launch->command->at);
    for (const struct up_process *process = host->processes; process; process = process->next) {
        if (process->gone) continue;
        next = earlier(next, post_next(process));
        for (uint32_t i = 0; i < process->threads && !host->up->options.real; i++) /* there nobody has turns */
            if (process->thread[i]) next = earlier(next, turn_due(process->thread[i]));
    }
    return next;
}

void turn_wake(struct up_host *host, ps_t at)
{
    if (at >= host->next) return;
    host->next = at;
    if (host->up->between && host->up->begun) sim_programs_wake(host->up->sim, host->number, at);
}

static void due_at(struct up_thread *thread, ps_t at)
{
    if (at < thread->clock) at = thread->clock;
    if (at >= thread->due) return;
    thread->due = at;
    turn_wake(thread->process->host, at);
}

/* The poll that would have seen it: they come one after another from the thread's clock on. */
static ps_t poll_after(const struct up_thread *thread, ps_t at)
{
    ps_t step = thread->process->cost.poll;

    if (at <= thread->clock || step == 0) return at;
    return thread->clock + (at - thread->clock + step - 1) / step * step;
}

void turn_event(struct up_process *process, bool readable, ps_t now)
{
    if (process->up->options.real) return; /* they look for themselves */
    for (uint32_t i = 0; i < process->threads; i++) {
        struct up_thread *thread = process->thread[i];
        if (thread == NULL) continue;
        if (thread->state == UP_POLLS || thread->state == UP_SPINS)
            due_at(thread, poll_after(thread, now));
        else if (readable && thread->state == UP_WAITS && thread->waits_event)
            due_at(thread, now);
        thread->news = true;
    }
}

static void touch(struct up_process *process, bool polls, ps_t now)
{
    for (uint32_t i = 0; i < process->threads; i++) {
        struct up_thread *thread = process->thread[i];
        if (thread == NULL) continue;
        if (thread->state == UP_WAITS) {
            /* A look at the outside before then, in the same instant, would see what is not yet. */
            thread->look = PS_NEVER;
            due_at(thread, ps_add(now, process->hop));
        } else if (thread->state == UP_SPINS || (polls && thread->state == UP_POLLS))
            due_at(thread, poll_after(thread, now));
    }
}

void turn_touched(struct up_host *host, const struct up_process *process, ps_t now)
{
    if (host->up->options.real) return;
    for (struct up_process *at = host->processes; at; at = at->next)
        if (!at->gone && (process == NULL || at == process)) touch(at, process == NULL, now);
}

void turn_debuggers(struct up_host *host, ps_t now)
{
    for (struct up_process *at = host->processes; at; at = at->next)
        if (!at->gone && at->thread[0] && at->thread[0]->state == UP_DEBUGS) due_at(at->thread[0], now);
}

void turn_look(struct up_host *host, ps_t now)
{
    ps_t at = host->latest > now ? host->latest : now;

    for (struct up_process *process = host->processes; process; process = process->next) {
        for (uint32_t i = 0; !process->gone && i < process->threads; i++) {
            struct up_thread *thread = process->thread[i];
            if (thread == NULL || thread->due <= at || thread->state == UP_ENDED || thread->look != PS_NEVER) continue;
            bool signalled = __atomic_load_n(&thread->shared->signalled, __ATOMIC_ACQUIRE);
            /* One that was told something looks when that has happened, which may be later than now. */
            if (!signalled && (thread->state != UP_WAITS || thread->due < thread->shared->until)) continue;
            thread->look = at;
            turn_wake(host, at);
        }
    }
}

bool turn_waits_outside(const struct up_host *host)
{
    for (const struct up_process *process = host->processes; process; process = process->next)
        for (uint32_t i = 0; !process->gone && i < process->threads; i++)
            if (process->thread[i] && process->thread[i]->state == UP_WAITS && !process->thread[i]->shared->inside)
                return true;
    return false;
}

void turn_say_waits(const struct up_host *host)
{
    for (const struct up_process *process = host->processes; process; process = process->next)
        for (uint32_t i = 0; !process->gone && i < process->threads; i++) {
            const struct up_thread *thread = process->thread[i];
            char what[sizeof thread->shared->what + 1] = "", since[UNIT_TEXT];
            if (thread == NULL || thread->state != UP_WAITS) continue;
            memcpy(what, thread->shared->what, sizeof thread->shared->what);
            for (char *at = what; *at; at++)
                if (*at < ' ' || *at > '~') *at = '?';
            session_say(host, process->command, "(pid %d, thread %u) waits for %s since %s; nothing will end it",
                        process->pid, i, what[0] ? what : "something outside",
                        unit_format_short(UNIT_TIME, thread->clock, 6, since));
        }
}

/* --- one turn --- */

struct up_thread *turn_thread(struct up_process *process, uint32_t number, ps_t at)
{
    struct up_thread *thread = process->thread[number];

    if (thread == NULL) thread = calloc(1, sizeof *thread);
    if (thread == NULL) return NULL;
    *thread = (struct up_thread){.process = process,
                                 .shared = &process->head->thread[number],
                                 .state = UP_STARTS,
                                 .clock = at,
                                 .due = at,
                                 .look = PS_NEVER};
    thread->shared->number = number;
    process->thread[number] = thread;
    if (number >= process->threads) process->threads = number + 1;
    return thread;
}

/* Threads that this turn has started: each takes the lowest place that is free. */
static void take_new(struct up_process *process, ps_t clock)
{
    for (uint32_t i = 0; i < ATTACH_THREADS && i <= process->threads; i++) {
        const struct up_thread *thread = process->thread[i];
        if (thread && thread->state != UP_ENDED) continue;
        uint32_t state = __atomic_load_n(&process->head->thread[i].state, __ATOMIC_ACQUIRE);
        if (state == ATTACH_STARTS || state == ATTACH_LIVES) turn_thread(process, i, clock);
    }
}

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *limit)
{
    return syscall(SYS_futex, word, op, value, limit, NULL, 0);
}

static uint32_t turn_of(const struct up_thread *thread)
{
    return __atomic_load_n(&thread->shared->turn, __ATOMIC_ACQUIRE);
}

enum outcome { YIELDED, DEAD, REPLACED, VANISHED /* the thread alone */ };

struct silence { /* of who has the turn, as of the last look */
    uint64_t calls, cpu_ns;
    bool measured;
};

/* Processor time of a process, by the kernel's numbering of clocks. */
static uint64_t cpu_ns(pid_t pid)
{
    struct timespec used = {0};

    clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* It has called nobody since the last look, though it ran: on a busy machine most who are silent wait for a processor.
 * Who was in such a loop before is believed to be again. */
static bool runs_silently(const struct up_thread *thread, struct silence *silence)
{
    uint64_t calls = __atomic_load_n(&thread->shared->calls, __ATOMIC_RELAXED);
    bool quiet = calls == silence->calls && __atomic_load_n(&thread->shared->in_library, __ATOMIC_RELAXED) == 0;

    silence->calls = calls;
    if (!quiet || thread->spun) return quiet;
    uint64_t cpu = cpu_ns(thread->process->pid), before = silence->cpu_ns;
    bool measured = silence->measured;
    silence->cpu_ns = cpu;
    silence->measured = true;
    return measured && cpu - before >= QUIET_CPU_NS;
}

/* The holder is silent: dead, another program by now, or in a loop that calls nobody. */
static enum outcome look_after(struct up_thread *thread, struct silence *silence, ps_t now, struct node_io *io)
{
    struct up_process *process = thread->process;
    struct pollfd at[2] = {{.fd = process->pidfd.fd, .events = POLLIN}, {.fd = process->socket}};

    if (poll(at, 2, 0) > 0) {
        if (at[0].revents) return DEAD;
        ps_t clock = thread->shared->now < CLOCK_MOST ? thread->shared->now : thread->clock;
        if ((at[1].revents & POLLHUP) && session_replaced(process, clock, now, io)) return REPLACED;
        return YIELDED; /* between two programs */
    }
    int tid = thread->shared->tid;
    if (process->head->spin_proof && tid > 0 && runs_silently(thread, silence) &&
        !task_signal(process, tid, ATTACH_SPIN_SIGNAL))
        return VANISHED;
    return YIELDED;
}

static void say_kept(const struct up_thread *thread)
{
    const struct up_process *process = thread->process;
    struct pollfd at = {.fd = process->socket};
    int tracer = task_tracer(process->pid);

    if (poll(&at, 1, 0) > 0 && (at.revents & POLLHUP))
        session_say(process->host, process->command,
                    "(pid %d) has become a program that does not attach to the fabric; fabric time stands still until "
                    "it ends. Is it linked statically, or set-user-id? Only dynamically linked programs attach",
                    process->pid);
    else if (tracer)
        session_say(process->host, process->command,
                    "(pid %d) has kept its turn for %u s of real time, and is debugged (by pid %d): fabric time stands "
                    "still while it is stopped",
                    process->pid, process->up->options.turn_limit_s, tracer);
    else
        session_say(process->host, process->command,
                    "(pid %d) has kept its turn for %u s of real time: it computes, waits for something outside, or "
                    "hangs; fabric time stands still. gdb -p %d tells",
                    process->pid, process->up->options.turn_limit_s, process->pid);
}

static enum outcome wait_yield(struct up_thread *thread, ps_t now, struct node_io *io)
{
    const struct up *up = thread->process->up;
    struct silence silence = {.calls = thread->shared->calls};
    uint64_t limit_ns = FIRST_NS, begun = 0;
    bool told = up->options.turn_limit_s == 0;

    for (unsigned i = 0; up->spins && i < SPINS; i++) {
        if (turn_of(thread) != ATTACH_TURN_PROGRAM) return YIELDED;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    while (turn_of(thread) == ATTACH_TURN_PROGRAM) {
        struct timespec limit = {0, (long)limit_ns};
        if (futex(&thread->shared->turn, FUTEX_WAIT, ATTACH_TURN_PROGRAM, &limit) == 0 || errno != ETIMEDOUT) continue;
        enum outcome outcome = look_after(thread, &silence, now, io);
        if (outcome != YIELDED) return outcome;
        if (up_stopped(up)) return DEAD;
        if (limit_ns < (thread->spun ? LONGEST_NS : LONGEST_CALM_NS)) limit_ns *= 2;
        if (told) continue;
        uint64_t real = turn_real_ns();
        if (begun == 0) begun = real;
        if (real - begun < up->options.turn_limit_s * 1000000000ull) continue;
        told = true;
        say_kept(thread);
    }
    return YIELDED;
}

static enum outcome hand_over(struct up_thread *thread, ps_t now, struct node_io *io)
{
    struct attach_thread *shared = thread->shared;

    shared->why = ATTACH_RUNS;
    shared->touched = 0;
    shared->news = thread->news;
    thread->news = false;
    shared->now = thread->clock;
    shared->alone = thread->alone;
    thread->alone = 0;
    thread->state = UP_RUNS;
    __atomic_store_n(&shared->turn, ATTACH_TURN_PROGRAM, __ATOMIC_RELEASE);
    futex(&shared->turn, FUTEX_WAKE, 1, NULL);
    return wait_yield(thread, now, io);
}

/* Requests that are bookkeeping: answered whatever the thread's clock. */
static bool needs_no_sync(uint32_t op)
{
    switch (op) {
    case ATTACH_OP_MR_CREATE:
    case ATTACH_OP_PATH_GET:
    case ATTACH_OP_PATH_PUT:
    case ATTACH_OP_HOST:
    case ATTACH_OP_ADOPT:
    case ATTACH_OP_RELEASE:
    case ATTACH_OP_CM_SLOT:
    case ATTACH_OP_STREAM_OPEN:
    case ATTACH_OP_STREAM_STATE:
    case ATTACH_OP_DATAGRAM_FROM:
    case ATTACH_OP_FORK:
    case ATTACH_OP_FORKED:
    case ATTACH_OP_PID:
    case ATTACH_OP_NOT_VIRTUAL:
        return true;
    default:
        return false;
    }
}

/* The process says that it ends: others run when the kernel knows it too, so that a parent finds it. */
static void wait_dead(struct up_process *process)
{
    struct pollfd at = {.fd = process->pidfd.fd, .events = POLLIN};
    uint64_t begun = turn_real_ns();
    bool told = process->up->options.turn_limit_s == 0;

    while (poll(&at, 1, 100) <= 0 && !up_stopped(process->up)) {
        if (told || turn_real_ns() - begun < process->up->options.turn_limit_s * 1000000000ull) continue;
        told = true;
        session_say(process->host, process->command,
                    "(pid %d) ends, and takes its time; fabric time stands still until it has", process->pid);
    }
}

/* What the thread waits for from now on. */
static void settle(struct up_thread *thread, ps_t now, struct node_io *io)
{
    const struct attach_thread *shared = thread->shared;
    uint64_t until = shared->until;

    if (until < thread->clock) until = thread->clock;
    thread->due = until;
    switch (shared->why) {
    case ATTACH_REQUEST:
        thread->state = UP_ASKS;
        thread->due = thread->clock;
        break;
    case ATTACH_POLL:
        thread->state = UP_POLLS;
        alone_polled(thread);
        break;
    case ATTACH_SPIN:
        thread->state = UP_SPINS;
        thread->spun = true;
        break;
    case ATTACH_WAIT:
        thread->state = UP_WAITS;
        thread->waits_event = shared->waits_event != 0;
        break;
    case ATTACH_THREAD_ENDS:
        thread->state = UP_ENDED;
        thread->due = PS_NEVER;
        __atomic_store_n(&thread->shared->state, ATTACH_FREE, __ATOMIC_RELEASE);
        break;
    case ATTACH_PROCESS_ENDS:
        wait_dead(thread->process);
        session_end(thread->process, thread->clock > now ? thread->clock : now, io);
        break;
    case ATTACH_DEBUGS:
        thread->state = UP_DEBUGS;
        thread->due = thread->clock;
        break;
    default: /* ATTACH_SLEEP */
        thread->state = UP_SLEEPS;
        break;
    }
}

/* What the turn has done that others wait for.  A loop on memory may end with any turn that was not such a loop. */
static void tell_others(struct up_thread *thread)
{
    struct up_process *process = thread->process;
    uint32_t touched = thread->shared->touched;

    if (touched & ATTACH_TOUCHED_HOST)
        turn_touched(process->host, NULL, thread->clock);
    else if (touched & ATTACH_TOUCHED_PROCESS)
        turn_touched(process->host, process, thread->clock);
    if (thread->shared->why == ATTACH_SPIN && !(touched & ATTACH_TOUCHED_MEMORY)) return;
    for (struct up_process *other = process->host->processes; other; other = other->next)
        for (uint32_t i = 0; !other->gone && i < other->threads; i++)
            if (other->thread[i] && other->thread[i] != thread && other->thread[i]->state == UP_SPINS)
                due_at(other->thread[i], poll_after(other->thread[i], thread->clock));
}

/* It looked whether the outside has changed, and it has not: as if it had not looked. */
static bool looked_in_vain(const struct up_thread *thread, uint32_t posts)
{
    const struct attach_thread *shared = thread->shared;

    return shared->why == ATTACH_WAIT && shared->touched == 0 &&
           __atomic_load_n(&thread->process->head->posts.tail, __ATOMIC_ACQUIRE) == posts;
}

static void lost(struct up_thread *thread, enum outcome outcome, ps_t now, struct node_io *io)
{
    if (outcome == DEAD)
        session_end(thread->process, now, io);
    else if (outcome == VANISHED) {
        thread->state = UP_ENDED;
        thread->due = PS_NEVER;
    } /* REPLACED: the thread is no more */
}

/* It is to look, and nothing of the fabric's is why.  What the kernel shows may be of a later time than now: what a
 * thread of the host has done whose clock is ahead.  Then it looks at that time. */
static bool looks_later(struct up_thread *thread, ps_t now)
{
    const struct up_host *host = thread->process->host;

    if (thread->due <= now || host->latest <= now) return false;
    thread->look = host->latest;
    return true;
}

static bool has_program(const struct up_process *debugger)
{
    for (const struct up_process *at = debugger->host->processes; at; at = at->next)
        if (!at->gone && task_is_below(at->pid, debugger->pid)) return true;
    return false;
}

/* A debugger that has no program: fabric time stands still until it has one, or has ended. */
static void debug(struct up_thread *thread, ps_t now, struct node_io *io)
{
    struct up_process *process = thread->process, *program;
    const struct up_expected expected = {.host = process->host,
                                         .number = UINT32_MAX,
                                         .tracer = process->pid,
                                         .pidfd = process->pidfd.fd,
                                         .limit_ms = -1,
                                         .child = true,
                                         .what = process->command};

    thread->due = PS_NEVER;
    if (has_program(process)) return;
    if (thread->clock < now) thread->clock = now;
    program = session_await(&expected, now);
    if (program == NULL)
        session_end(process, now, io);
    else if (process->owned)
        session_own(program);
}

static void turn_give(struct up_thread *thread, ps_t now, struct node_io *io)
{
    struct up_process *process = thread->process;
    struct up_host *host = process->host;
    bool looks = thread->due > now && thread->state == UP_WAITS, asks = thread->state == UP_ASKS;
    ps_t clock_before = thread->clock;
    uint32_t posts = process->head->posts.tail, touched = 0;

    if (looks_later(thread, now)) return;
    thread->look = PS_NEVER;
    if (thread->clock < now) thread->clock = now;
    thread->alone = alone_take(thread);
    for (;;) {
        if (asks) {
            looks &= needs_no_sync(thread->shared->request.op);
            request_run(thread, now, io);
        }
        /* One that asks again and again, or for turns at the same time, never keeps one for long. */
        enum outcome outcome = up_stopped(process->up) ? DEAD : hand_over(thread, now, io);
        if (outcome != YIELDED) {
            lost(thread, outcome, now, io);
            stream_collect(host, now);
            return;
        }
        touched |= thread->shared->touched; /* before a request too */
        ps_t clock = thread->shared->now;
        if (clock > thread->clock && clock < CLOCK_MOST) thread->clock = clock;
        take_new(process, thread->clock);
        post_collect(process, now);
        asks = thread->shared->why == ATTACH_REQUEST;
        if (!asks || (thread->clock > now && !needs_no_sync(thread->shared->request.op))) break;
    }
    thread->shared->touched = touched;
    if (looks && looked_in_vain(thread, posts)) {
        thread->clock = clock_before;
        thread->state = UP_WAITS;
        due_at(thread, thread->shared->until);
        return;
    }
    if (thread->clock > host->latest) host->latest = thread->clock;
    tell_others(thread);
    ps_t clock = thread->clock;
    settle(thread, now, io); /* the thread may be no more */
    stream_collect(host, clock);
}

/* --- the host's turn --- */

static struct up_thread *first_due(const struct up_host *host, ps_t now)
{
    struct up_thread *first = NULL;

    for (const struct up_process *process = host->processes; process; process = process->next)
        for (uint32_t i = 0; !process->gone && i < process->threads; i++) {
            struct up_thread *thread = process->thread[i];
            if (thread && turn_due(thread) <= now && (first == NULL || turn_due(thread) < turn_due(first)))
                first = thread;
        }
    return first;
}

static void run_posts(struct up_host *host, ps_t now, struct node_io *io)
{
    for (struct up_process *process = host->processes; process; process = process->next)
        if (!process->gone && post_next(process) <= now) post_run(process, now, io);
}

/* Processes that died without the turn, or have become other programs. */
void turn_deaths(struct up_host *host, ps_t now, struct node_io *io)
{
    if (!__atomic_exchange_n(&host->deaths, false, __ATOMIC_ACQ_REL)) return;
    for (struct up_process *process = host->processes; process; process = process->next)
        if (!process->gone && __atomic_load_n(&process->dead, __ATOMIC_ACQUIRE)) session_end(process, now, io);
}

void turn_run(struct up_host *host, ps_t now, struct node_io *io)
{
    struct up_thread *thread;

    host->now = now;
    turn_deaths(host, now, io);
    run_posts(host, now, io);
    if (stream_next(host) <= now) stream_deliver(host, now);
    launch_due(host, now);
    while ((thread = first_due(host, now)) != NULL) {
        if (thread->state == UP_DEBUGS)
            debug(thread, now, io);
        else
            turn_give(thread, now, io);
        run_posts(host, now, io);
    }
    host->next = turn_next(host);
}
