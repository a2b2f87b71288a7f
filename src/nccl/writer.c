/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes; see writer.h.
 *
 * NCCL does not say when a collective is over: its kernels end, and its operations, each by itself, and an operation
 * may begin after the kernel has ended.  So a collective is written when all its kernels have ended, nothing of it
 * goes on and nothing came for a while.  One that goes on for long has a line that says so, for those who look into a
 * program that stands still; another follows if it ends.
 *
 * The lock is for the beginning and the end of communicators, which the thread must not meet; no event takes it.
 */
#include "nccl/writer.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nccl/clock.h"
#include "nccl/lines.h"

#define MS 1000000ull
#define TICK_NS (100 * MS)
#define QUIET_NS (100 * MS)       /* all kernels have ended, and nothing came for so long: it is over */
#define FORGOTTEN_NS (10000 * MS) /* the same where kernels are missing */
#define LONG_NS (10000 * MS)      /* goes on for so long: a line says so */
#define STACK_BYTES (256u << 10)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool running, stop;
    unsigned comms;
    pid_t pid;
    int api;
    nccl_logger log;
    FILE *out; /* NULL: none is asked for, or it cannot be written */
    char path[PATH_MAX];
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void warn(const char *what, const char *why)
{
    if (writer.log)
        writer.log(NCCL_LOG_WARN, NCCL_LOG_INIT, __FILE__, __LINE__, "rocelab: %s: %s: no lines are written", what,
                   why);
}

static uint64_t wall_of(uint64_t monotonic_ns)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), past = now > monotonic_ns ? now - monotonic_ns : 0;

    return clock_ns(CLOCK_REALTIME) - past;
}

/* --- the file --- */

static void file_close(void)
{
    if (writer.out) fclose(writer.out);
    writer.out = NULL;
}

static void file_begin(void)
{
    writer.out = fopen(writer.path, "ae");
    if (writer.out == NULL) {
        warn(writer.path, strerror(errno));
        return;
    }
    lines_header(writer.out, writer.api, clock_ns(CLOCK_REALTIME));
}

static void file_open(int rank)
{
    const char *pattern = getenv("ROCELAB_NCCL_FILE");

    if (pattern == NULL || pattern[0] == 0) return;
    if (lines_name(pattern, rank, writer.path, sizeof writer.path))
        file_begin();
    else
        warn("ROCELAB_NCCL_FILE", "the name is too long");
}

/* What was written reaches the file; a file that is full makes room. */
static void file_settle(void)
{
    char old[PATH_MAX + 2];

    if (writer.out == NULL) return;
    if (fflush(writer.out) != 0 || ferror(writer.out)) {
        warn(writer.path, strerror(errno));
        file_close();
        return;
    }
    long at = ftell(writer.out);
    if (at < 0 || (uint64_t)at < LINES_BYTES_MAX) return;
    file_close();
    snprintf(old, sizeof old, "%s.1", writer.path);
    if (rename(writer.path, old) < 0) {
        warn(old, strerror(errno));
        return;
    }
    file_begin();
    for (unsigned i = 0; writer.out && i < RECORDER_COMMS; i++)
        if (recorder_comm(i)) lines_comm(writer.out, recorder_comm(i), clock_ns(CLOCK_REALTIME));
}

/* --- what is over --- */

static bool is_over(const struct recorder_coll *coll, uint64_t next, uint64_t now)
{
    uint64_t quiet = now > coll->last_ns ? now - coll->last_ns : 0;
    bool any = coll->kernels || coll->ops;

    if (!coll->stopped) return false;
    if (coll->channels && coll->kernels >= coll->channels) return quiet >= QUIET_NS;
    if (coll->channels == 0 && any && quiet >= 2 * QUIET_NS) return true;
    return quiet >= FORGOTTEN_NS && (any || next - coll->number > RECORDER_COLLS / 2);
}

static bool is_done(const struct recorder_coll *coll)
{
    return coll->stopped && coll->open == 0 && (coll->kernels || coll->ops) && coll->kernels >= coll->channels;
}

static void write_coll(const struct recorder_comm *comm, const struct recorder_coll *coll, bool done)
{
    if (writer.out) lines_coll(writer.out, comm, coll, done, wall_of(coll->begun_ns));
}

static void drain_one(struct recorder_comm *comm, uint32_t index, bool all, uint64_t now)
{
    struct recorder_coll *coll = &comm->coll[index], seen, taken;

    if (!recorder_look(comm, index, now, &seen)) return;
    bool done = is_done(&seen), over = is_over(&seen, __atomic_load_n(&comm->next_coll, __ATOMIC_ACQUIRE), now);
    if ((all || over) && recorder_take(coll, all, &taken)) {
        write_coll(comm, all ? &seen : &taken, done);
    } else if (!seen.told && now > seen.begun_ns && now - seen.begun_ns >= LONG_NS) {
        coll->told = true;
        write_coll(comm, &seen, false);
    }
}

static void drain(struct recorder_comm *comm, bool all, uint64_t now)
{
    uint64_t next = __atomic_load_n(&comm->next_coll, __ATOMIC_ACQUIRE);

    for (uint64_t n = next > RECORDER_COLLS ? next - RECORDER_COLLS : 0; n < next; n++)
        drain_one(comm, (uint32_t)(n % RECORDER_COLLS), all, now);
}

static void tick(void)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    for (unsigned i = 0; i < RECORDER_COMMS; i++)
        if (recorder_comm(i)) drain(recorder_comm(i), false, now);
    file_settle();
}

static void *run(void *unused)
{
    struct timespec until;

    pthread_mutex_lock(&writer.lock);
    while (!writer.stop) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        uint64_t ns = (uint64_t)until.tv_nsec + TICK_NS;
        until.tv_sec += (time_t)(ns / (1000 * MS));
        until.tv_nsec = (long)(ns % (1000 * MS));
        if (pthread_cond_timedwait(&writer.wake, &writer.lock, &until) == ETIMEDOUT) tick();
    }
    pthread_mutex_unlock(&writer.lock);
    return unused;
}

/* --- its life --- */

/* Without a thread everything is written at the end. */
static void thread_start(void)
{
    pthread_condattr_t clock;
    pthread_attr_t small;
    sigset_t all, before;

    sigfillset(&all);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&writer.wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    writer.stop = false;
    writer.running = pthread_create(&writer.thread, &small, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
}

static void thread_end(void)
{
    if (!writer.running) return;
    writer.stop = true;
    writer.running = false;
    pthread_cond_signal(&writer.wake);
    pthread_mutex_unlock(&writer.lock);
    pthread_join(writer.thread, NULL);
    pthread_mutex_lock(&writer.lock);
    pthread_cond_destroy(&writer.wake);
}

void writer_begin(struct recorder_comm *comm, int api, nccl_logger log)
{
    pthread_mutex_lock(&writer.lock);
    if (writer.comms++ == 0) {
        writer.pid = getpid();
        writer.api = api;
        writer.log = log;
        file_open(comm->rank);
        thread_start();
    }
    if (writer.out) lines_comm(writer.out, comm, clock_ns(CLOCK_REALTIME));
    file_settle();
    pthread_mutex_unlock(&writer.lock);
}

static void write_rest(struct recorder_comm *comm)
{
    struct recorder_totals totals;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    drain(comm, true, now);
    recorder_totals(comm, now, &totals);
    if (writer.out) lines_total(writer.out, comm, &totals, clock_ns(CLOCK_REALTIME));
}

void writer_end(struct recorder_comm *comm)
{
    pthread_mutex_lock(&writer.lock);
    bool ours = writer.pid == getpid();
    if (ours) write_rest(comm);
    recorder_close(comm);
    if (--writer.comms == 0 && ours) {
        thread_end();
        file_settle();
        file_close();
    }
    pthread_mutex_unlock(&writer.lock);
}

bool writer_leave(void)
{
    if (writer.comms == 0) return true;
    if (writer.pid != getpid()) return false;
    pthread_mutex_lock(&writer.lock);
    thread_end();
    for (unsigned i = 0; i < RECORDER_COMMS; i++)
        if (recorder_comm(i)) write_rest(recorder_comm(i));
    file_settle();
    file_close();
    writer.comms = 0;
    pthread_mutex_unlock(&writer.lock);
    return false;
}
