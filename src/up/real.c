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
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "up/stream_int.h"

#define WINDOWS 64u           /* of the simulation, between looks at programs */
#define ROUNDS 1024u          /* before the caller is asked */
#define BEHIND_NS 50000u      /* fabric time may be so far behind before it stands still */
#define BUSY_NS 50000u        /* after the last thing that happened: no sleep, a wake-up costs as much */
#define LOOK_NS 50000u        /* between looks at sockets and processes */
#define STALLED_NS 1000000u   /* the same for what is not told: a reader that has made room */
#define SLEEP_NS 100000000u   /* at a time */
#define EARLY_NS 60000u       /* the kernel wakes late by as much: the rest is waited for awake */
#define SAY_NS 1000000000u    /* between lines about standing still */
#define OTHERS_NS 5000000000u /* for programs on other hosts to end behind who started them */

static uint64_t ps_of(const struct up *up, uint64_t real_ns)
{
    return real_ns / up->options.dilation * 1000 + real_ns % up->options.dilation * 1000 / up->options.dilation;
}

static uint64_t ns_of(const struct up *up, ps_t fabric)
{
    return fabric / 1000 * up->options.dilation;
}

ps_t real_time(const struct up *up)
{
    return ps_of(up, turn_real_ns() - up->real.begun_ns - up->real.stood_ns);
}

/* --- who is there --- */

void real_joined(struct up_host *host)
{
    struct up_real *real = &host->up->real;

    if (host->processes->next) return; /* not the first */
    if (real->host == NULL) real->host = calloc(host->up->fabric->hosts, sizeof(struct up_host *));
    CHECK(real->host != NULL);
    real->host[real->hosts++] = host;
}

void real_release(struct up *up)
{
    free(up->real.host);
    up->real.host = NULL;
    up->real.hosts = 0;
}

static bool rang(struct up_process *process)
{
    uint32_t bell = __atomic_load_n(&process->head->bell, __ATOMIC_SEQ_CST);

    if (bell == process->bell_heard) return false;
    process->bell_heard = bell;
    return true;
}

/* Between windows: hosts whose programs have posted or asked are visited now. */
static bool hear_programs(struct up *up, ps_t now)
{
    bool any = false;

    up->between = true;
    for (uint32_t i = 0; i < up->real.hosts; i++) {
        bool wants = false;
        for (struct up_process *process = up->real.host[i]->processes; process; process = process->next)
            wants |= !process->gone && rang(process);
        if (wants) turn_wake(up->real.host[i], now);
        any |= wants;
    }
    up->between = false;
    return any;
}

/* --- what programs ask for --- */

static bool asks(const struct attach_thread *place)
{
    return __atomic_load_n(&place->turn, __ATOMIC_ACQUIRE) == ATTACH_TURN_FABRIC &&
           __atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == ATTACH_LIVES && place->why == ATTACH_REQUEST;
}

static void answer_one(struct up_process *process, uint32_t number, ps_t now, struct node_io *io)
{
    struct attach_thread *place = &process->head->thread[number];
    struct up_thread *thread = process->thread[number];

    if (!asks(place)) return;
    if (thread == NULL) thread = turn_thread(process, number, now);
    if (thread == NULL) return;
    thread->state = UP_RUNS;
    request_run(thread, now, io);
    __atomic_store_n(&place->turn, ATTACH_TURN_PROGRAM, __ATOMIC_RELEASE);
    syscall(SYS_futex, &place->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void serve(struct up_process *process, ps_t now, struct node_io *io)
{
    post_collect(process, now); /* what was posted before a request is done before it */
    if (post_next(process) <= now) post_run(process, now, io);
    for (uint32_t i = 0; i < ATTACH_THREADS; i++) {
        uint32_t state = __atomic_load_n(&process->head->thread[i].state, __ATOMIC_ACQUIRE);
        if (i >= process->threads && state == ATTACH_FREE) break; /* places are taken from the first on */
        if (i >= process->threads) process->threads = i + 1;
        answer_one(process, i, now, io);
    }
}

void real_run(struct up_host *host, ps_t now, struct node_io *io)
{
    host->now = now;
    turn_deaths(host, now, io);
    if (stream_next(host) <= now) stream_deliver(host, now);
    launch_due(host, now);
    bool images = host->images;
    host->images = false;
    for (struct up_process *process = host->processes; process; process = process->next) {
        if (!process->gone && images) session_replaced(process, now, now, io);
        if (!process->gone && process->head) serve(process, now, io);
    }
    host->next = turn_next(host);
}

/* --- the outside --- */

static void collect_sockets(struct up *up, ps_t now)
{
    up->between = true;
    for (uint32_t i = 0; i < up->real.hosts; i++) {
        struct up_host *host = up->real.host[i];
        stream_collect(host, now);
        if (stream_next(host) != PS_NEVER) turn_wake(host, stream_next(host)); /* to itself */
    }
    stream_carry(up, now);
    up->between = false;
}

/* Sockets that came to be since: an epoll set in ours. */
static void watch_sockets(struct up *up)
{
    for (uint32_t i = 0; i < up->real.hosts; i++) {
        struct up_host *host = up->real.host[i];
        if (host->streams == NULL || host->streams->epoll < 0 || host->sockets.fd > 0) continue;
        host->sockets = (struct up_watch){UP_WATCH_SOCKETS, host->streams->epoll};
        session_watch(up, &host->sockets);
        up->real.sockets = true;
    }
}

static bool any_stalled(const struct up *up)
{
    for (uint32_t i = 0; i < up->real.hosts; i++)
        if (up->real.host[i]->streams && up->real.host[i]->streams->stalled) return true;
    return false;
}

/* Who comes and goes, and what was written to sockets. */
static void look_outside(struct up *up, uint64_t real_ns, ps_t now)
{
    up->real.looked_ns = real_ns;
    watch_sockets(up);
    up_between(up, now);
    up->real.unattached = launch_look(up, now);
    if (!up->real.sockets && (real_ns - up->real.stalled_ns < STALLED_NS || !any_stalled(up))) return;
    up->real.stalled_ns = real_ns;
    up->real.sockets = false;
    collect_sockets(up, now);
}

/* A launcher ends when it has told its daemons to; with this clock they are not done yet then. */
bool real_waits(struct up *up)
{
    const struct up_launch *at = start_next(up, NULL);

    while (at && at->end != PS_NEVER)
        at = start_next(up, at);
    if (at == NULL) return false;
    if (up->real.over_ns == 0) up->real.over_ns = turn_real_ns();
    return turn_real_ns() - up->real.over_ns < OTHERS_NS;
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

/* From now on a program that posts or asks wakes us. */
static void tell_sleep(const struct up *up, uint32_t sleeps)
{
    for (uint32_t i = 0; i < up->real.hosts; i++)
        for (struct up_process *process = up->real.host[i]->processes; process; process = process->next)
            if (!process->gone) __atomic_store_n(&process->head->sleeps, sleeps, __ATOMIC_SEQ_CST);
}

/* Nothing happens before `target`, which is now: there may be time to sleep. */
static void rest(struct up *up, uint64_t real_ns, ps_t target)
{
    const struct engine *engine = sim_engine(up->sim);

    if (up->spins && real_ns - up->real.busy_ns < BUSY_NS) {
        sched_yield(); /* where nobody else wants the processor this costs little */
        return;
    }
    look_outside(up, real_ns, target);
    ps_t next = engine_next(engine);
    uint64_t ns = any_stalled(up) || up->real.unattached ? STALLED_NS : SLEEP_NS;
    if (next <= target) return;
    if (next != PS_NEVER && ns_of(up, next - target) < ns) ns = ns_of(up, next - target);
    if (ns <= EARLY_NS) return;
    tell_sleep(up, 1);
    bool heard = hear_programs(up, target) || (up->foreign && foreign_look(up, real_ns, target));
    if (!heard) session_sleep_ns(up, ns - EARLY_NS);
    tell_sleep(up, 0);
    up->real.looked_ns = 0;
    up->real.slept = true;
}

static enum sim_state round_of(struct up *up)
{
    struct engine *engine = sim_engine(up->sim);
    enum sim_state state = SIM_RUNNING;
    uint64_t real_ns = turn_real_ns();
    ps_t target = ps_of(up, real_ns - up->real.begun_ns - up->real.stood_ns);

    if (target > up->options.sim.until) target = up->options.sim.until;
    if (engine_next(engine) <= target)
        state = sim_advance(up->sim, WINDOWS, target);
    else if (target > engine_now(engine))
        engine_pass_to(engine, target);
    ps_t now = engine_now(engine);
    if (now >= up->options.sim.until) return SIM_UNTIL; /* also where nothing was left to run */
    if (state != SIM_RUNNING && state != SIM_UNTIL) return state;
    bool busy = hear_programs(up, now);
    if (up->foreign) busy |= foreign_look(up, real_ns, now);
    if (real_ns - up->real.looked_ns >= LOOK_NS) look_outside(up, real_ns, now);
    busy |= engine_next(engine) <= target;
    if (busy) up->real.busy_ns = real_ns;
    if (!busy)
        rest(up, real_ns, target);
    else if (target > now && ns_of(up, target - now) > BEHIND_NS)
        stand_still(up, real_ns, ns_of(up, target - now) - BEHIND_NS);
    return SIM_RUNNING;
}

enum sim_state real_advance(struct up *up)
{
    enum sim_state state = SIM_RUNNING;

    if (up->real.begun_ns == 0) {
        up->real.begun_ns = up->real.said_ns = up->real.busy_ns = turn_real_ns();
        up->real.stood_ns = 0;
    }
    up->real.slept = false;
    for (uint32_t i = 0; i < ROUNDS && state == SIM_RUNNING && !up->asked && !up->real.slept; i++) {
        if (up_all_done(up)) return sim_advance(up->sim, WINDOWS, PS_NEVER); /* to the end of the jobs, or at once */
        state = round_of(up);
    }
    return state;
}

void up_stood_still(const struct up *up, uint64_t *ret_stood_ns, uint64_t *ret_ns)
{
    *ret_stood_ns = up->real.stood_ns;
    *ret_ns = up->real.begun_ns ? turn_real_ns() - up->real.begun_ns : 0;
}
