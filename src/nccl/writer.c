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
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/quiet.h"
#include "nccl/clock.h"
#include "nccl/lines.h"
#include "nccl/page.h"

#define MS 1000000ull
#define TICK_MS 100
#define QUIET_NS (100 * MS)       /* all kernels have ended, and nothing came for so long: it is over */
#define FORGOTTEN_NS (10000 * MS) /* the same where kernels are missing */
#define LONG_NS (10000 * MS)      /* goes on for so long: a line says so */
#define STACK_BYTES (256u << 10)

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    bool running;
    int stop; /* an eventfd: the thread ends; of the thread that runs */
    unsigned comms;
    pid_t pid;
    int api;
    nccl_logger log;
    FILE *out; /* NULL: none is asked for, or it cannot be written */
    char path[2 * PATH_MAX];
    struct shared_page page[RECORDER_COMMS];
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

/* A program never waits here: a pipe that nobody reads is an error.  Nor does it write where somebody else's link in a
 * folder of everybody's leads. */
static void file_begin(void)
{
    int fd = open(writer.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0600);

    writer.out = fd < 0 ? NULL : fdopen(fd, "a");
    if (writer.out == NULL) {
        warn(writer.path, strerror(errno));
        if (fd >= 0) close(fd);
        return;
    }
    lines_header(writer.out, writer.api, clock_ns(CLOCK_REALTIME));
}

/* The program may go to another folder, and the file may have to be made again. */
static void file_open(int rank)
{
    const char *pattern = getenv("ROCELAB_NCCL_FILE");
    char name[PATH_MAX], folder[PATH_MAX];

    if (pattern == NULL || pattern[0] == 0) return;
    if (!lines_name(pattern, rank, name, sizeof name) || (name[0] != '/' && getcwd(folder, sizeof folder) == NULL)) {
        warn("ROCELAB_NCCL_FILE", "the name is too long");
        return;
    }
    snprintf(writer.path, sizeof writer.path, "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/", name);
    file_begin();
}

/* What was written reaches the file; a file that is full makes room. */
static void file_settle(void)
{
    char old[sizeof writer.path + 2];

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

/* --- what other processes see --- */

static void page_open(const struct recorder_comm *comm)
{
    struct shared_page *file = &writer.page[comm->index];

    shared_page_open(file, NCCL_PAGE_PREFIX, comm->index, NCCL_PAGE_MAGIC, sizeof(struct nccl_page));
    struct nccl_page *page = file->at;
    if (page == NULL) return;
    page->pid = (uint32_t)getpid();
    page->rank = comm->rank;
    page->ranks = comm->ranks;
    page->nodes = comm->nodes;
    page->id = comm->id;
    snprintf(page->name, sizeof page->name, "%s", comm->name);
    shared_page_program(page->program, sizeof page->program);
    shared_page_publish(file, NCCL_PAGE_MAGIC);
}

static struct observe_communicator counters_of(const struct recorder_totals *totals)
{
    struct wait_times sum = totals->times[0];

    wait_times_add(&sum, &totals->times[1]);
    return (struct observe_communicator){
        .collectives = totals->collectives,
        .bytes = totals->bytes,
        .sent_bytes = totals->times[1].bytes,
        .operations = sum.ops,
        .operation_ns = sum.time_ns,
        .wait_gpu_ns = sum.wait_ns[WAIT_GPU] + sum.wait_ns[WAIT_FLUSH],
        .wait_peer_ns = sum.wait_ns[WAIT_PEER],
        .wait_network_ns = sum.wait_ns[WAIT_NETWORK],
        .wait_data_ns = sum.wait_ns[WAIT_DATA],
        .wait_other_ns = sum.wait_ns[WAIT_OTHER],
        .lost = totals->lost_collectives + totals->lost_ops,
    };
}

/* An operation that was being changed is missing for once: counters do not go back for it. */
static void page_renew(struct recorder_comm *comm, uint64_t now)
{
    struct nccl_page *page = writer.page[comm->index].at;
    struct recorder_totals totals;

    if (page == NULL) return;
    recorder_totals(comm, now, &totals);
    struct observe_communicator fresh = counters_of(&totals);
    const uint64_t *from = (const uint64_t *)&fresh;
    uint64_t *to = (uint64_t *)&page->counters;
    for (size_t i = 0; i < sizeof fresh / sizeof *from; i++)
        if (from[i] > to[i]) __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

static void tick(void)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    for (unsigned i = 0; i < RECORDER_COMMS; i++) {
        struct recorder_comm *comm = recorder_comm(i);
        if (comm == NULL) continue;
        drain(comm, false, now);
        page_renew(comm, now);
    }
    file_settle();
}

/* Its own eventfd, not the writer's: that may be the next thread's already. */
static void *run(void *eventfd)
{
    struct pollfd stop = {.fd = (int)(intptr_t)eventfd, .events = POLLIN};

    while (poll(&stop, 1, TICK_MS) <= 0) {
        pthread_mutex_lock(&writer.lock);
        tick();
        pthread_mutex_unlock(&writer.lock);
    }
    return NULL;
}

/* --- its life --- */

static void enter(struct quiet *quiet)
{
    quiet_begin(quiet);
    pthread_mutex_lock(&writer.lock);
}

static void leave(struct quiet *quiet)
{
    pthread_mutex_unlock(&writer.lock);
    quiet_end(quiet);
}

/* A child has no thread of ours and no communicator; its copy of the lock and of the lines is in order all the same. */
static void fork_prepare(void)
{
    pthread_mutex_lock(&writer.lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&writer.lock);
}

static void fork_child(void)
{
    for (unsigned i = 0; i < RECORDER_COMMS; i++)
        shared_page_fork(&writer.page[i]);
    pthread_mutex_unlock(&writer.lock);
}

/* Without a thread everything is written at the end. */
static void thread_start(void)
{
    pthread_attr_t small;
    sigset_t all, before;

    writer.stop = eventfd(0, EFD_CLOEXEC);
    if (writer.stop < 0) return;
    sigfillset(&all);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* NOLINTNEXTLINE: a number, handed over as an address */
    writer.running = pthread_create(&writer.thread, &small, run, (void *)(intptr_t)writer.stop) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    if (!writer.running) close(writer.stop);
}

/* A thread that has been told to end, and its eventfd. */
struct ending {
    pthread_t thread;
    bool running;
    int stop;
};

/* With the lock: from here on the next communicator may begin, with a thread of its own. */
static struct ending thread_stop(void)
{
    struct ending ending = {.thread = writer.thread, .running = writer.running, .stop = writer.stop};
    const uint64_t now = 1;

    if (writer.running && write(writer.stop, &now, sizeof now) < 0) warn("eventfd", strerror(errno));
    writer.running = false;
    return ending;
}

/* Without the lock, for which the thread may be waiting. */
static void thread_join(const struct ending *ending)
{
    if (!ending->running) return;
    pthread_join(ending->thread, NULL);
    close(ending->stop);
}

static void begin(struct recorder_comm *comm, int api, nccl_logger log)
{
    if (writer.comms++ == 0) {
        writer.pid = getpid();
        writer.api = api;
        writer.log = log;
        file_open(comm->rank);
        thread_start();
    }
    if (writer.out) lines_comm(writer.out, comm, clock_ns(CLOCK_REALTIME));
    page_open(comm);
    file_settle();
}

bool writer_begin(const struct recorder_about *about, int api, nccl_logger log, void **ret_context)
{
    static bool watched;
    struct quiet quiet;

    enter(&quiet);
    if (!watched) watched = pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
    struct recorder_comm *comm = recorder_open(about, ret_context);
    if (comm) begin(comm, api, log);
    leave(&quiet);
    return comm != NULL;
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
    struct ending ending = {.running = false};
    struct quiet quiet;

    if (writer.pid != getpid()) return;
    enter(&quiet);
    write_rest(comm);
    shared_page_close(&writer.page[comm->index]);
    recorder_close(comm);
    if (--writer.comms == 0) {
        file_settle();
        file_close();
        ending = thread_stop();
    }
    leave(&quiet);
    thread_join(&ending);
}

bool writer_leave(void)
{
    struct quiet quiet;

    if (writer.comms == 0) return true;
    if (writer.pid != getpid()) return false;
    enter(&quiet);
    writer.log = NULL; /* NCCL may be gone */
    struct ending ending = thread_stop();
    for (unsigned i = 0; i < RECORDER_COMMS; i++)
        if (recorder_comm(i)) write_rest(recorder_comm(i));
    for (unsigned i = 0; i < RECORDER_COMMS; i++)
        shared_page_close(&writer.page[i]);
    file_settle();
    file_close();
    writer.comms = 0;
    leave(&quiet);
    thread_join(&ending);
    return false;
}
