/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one pool for many simulations.
 *
 * Processes and not threads: a point that meets a CHECK, or that the kernel ends because it takes all memory, is a row
 * with a sentence and not the end of the others.  A child sees what its parent had loaded when it was forked, and pays
 * for no copy of it.  What it has to say comes through a pipe and is taken by the number of its point, so that no table
 * depends on who was first.  The parent only waits; it has no other threads when it forks.
 *
 * Where a point is refused memory, all others are run and kept, and the whole fails: with fewer at once there may be
 * enough, and a table without that row would look like one of a point that cannot be run.
 *
 * When the caller is told to stop, children are ended and what they were at is lost; rows that were taken are not.
 */
#include "study/pool.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/draft.h"
#include "base/memory.h"
#include "plugin/plugin.h"
#include "report/text.h"
#include "study/clock.h"

#define LOOK_MS 200

struct slot { /* a process */
    pid_t pid;
    int from;
    uint32_t point;
    char *bytes;
    size_t used, size;
};

struct pool {
    const struct pool_work *work;
    struct slot *slot;
    struct pollfd *wait;
    uint32_t slots, busy, next, no_memory;
    struct pool_done done;
    uint64_t begun_ns;
    bool drawn;
};

static _Noreturn void be_child(const struct pool_work *work, uint32_t point, int to, pid_t parent)
{
    signal(SIGINT, draft_ended_by);
    signal(SIGTERM, draft_ended_by);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    FILE *file = getppid() == parent ? fdopen(to, "w") : NULL;
    if (file == NULL) _exit(1);
    work->run(work->context, point, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0) failed = true;
    _exit(failed); /* not exit(): the parent's buffers are not ours to write */
}

static bool start(struct pool *pool)
{
    struct slot *slot = &pool->slot[pool->busy];
    pid_t parent = getpid();
    int ends[2];

    if (pipe(ends) != 0) return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_child(pool->work, pool->next, ends[1], parent);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *slot = (struct slot){.pid = pid, .from = ends[0], .point = pool->next++};
    pool->busy++;
    return true;
}

/* Reads what there is; false: that was all, or all that is taken of a row. */
static bool read_some(struct slot *slot)
{
    if (slot->size - slot->used < 4096) {
        size_t size = slot->size ? slot->size * 2 : 8192;
        char *grown = size <= 2 * POOL_ROW_MAX ? realloc(slot->bytes, size) : NULL;
        if (grown == NULL) return false;
        slot->bytes = grown;
        slot->size = size;
    }
    ssize_t got = read(slot->from, slot->bytes + slot->used, slot->size - slot->used - 1);
    if (got < 0) return errno == EINTR;
    slot->used += (size_t)got;
    slot->bytes[slot->used] = '\0';
    return got > 0;
}

static void finish(struct pool *pool, uint32_t index)
{
    struct slot *slot = &pool->slot[index];
    const struct pool_work *work = pool->work;
    char why[128] = "";
    int status = 0;

    close(slot->from);
    while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "the run was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == MEMORY_EXIT)
        snprintf(why, sizeof why, "memory ran out");
    else if (WEXITSTATUS(status) == PLUGIN_EXIT)
        snprintf(why, sizeof why, "its congestion control, a plug-in, brought it down, as standard error says");
    else if (status != 0 || slot->used == 0 || slot->used > POOL_ROW_MAX)
        snprintf(why, sizeof why, "the run ended without a result");
    /* A run that was ended because the caller stops says nothing of its point. */
    if (WIFEXITED(status) && WEXITSTATUS(status) == MEMORY_EXIT) pool->no_memory++;
    if (why[0] == '\0' || !*work->stopped) {
        const struct pool_row row = {slot->bytes, slot->used, why[0] ? why : NULL};
        pool->done.reused += work->take(work->context, slot->point, &row);
        pool->done.done++;
    }
    free(slot->bytes);
    *slot = pool->slot[--pool->busy];
}

static void draw(struct pool *pool)
{
    const struct pool_work *work = pool->work;
    const struct pool_done *done = &pool->done;
    uint32_t ran = done->done - done->reused, left = work->points - done->done;
    char text[TEXT_COUNT];

    if (work->quiet || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r%u of %u %s", done->done, work->points, work->noun);
    if (done->reused) fprintf(stderr, ", %u kept from before", done->reused);
    if (ran && left) fprintf(stderr, ", about %s left", text_ns((clock_now_ns() - pool->begun_ns) / ran * left, text));
    fputs("\033[K", stderr);
    pool->drawn = true;
}

static void wait_some(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->busy; i++)
        pool->wait[i] = (struct pollfd){.fd = pool->slot[i].from, .events = POLLIN};
    int ready = poll(pool->wait, pool->busy, LOOK_MS);
    for (uint32_t i = pool->busy; ready > 0 && i-- > 0;)
        if (pool->wait[i].revents && !read_some(&pool->slot[i])) finish(pool, i); /* the last takes its place */
}

static bool run_all(struct pool *pool)
{
    const struct pool_work *work = pool->work;
    bool started = true, good = true;

    while (!*work->stopped && (pool->busy || pool->next < work->points)) {
        while (pool->busy < pool->slots && pool->next < work->points && (started = start(pool)))
            ;
        if (!started && pool->busy == 0) {
            good = study_fail(work->error, "a process could not be started: %s", strerror(errno));
            break;
        }
        wait_some(pool);
        draw(pool);
    }
    /* SIGKILL: one that was forked just now may still have its parent's handler, and would only count the signal */
    for (uint32_t i = 0; i < pool->busy; i++)
        kill(pool->slot[i].pid, SIGKILL);
    while (pool->busy)
        finish(pool, pool->busy - 1);
    if (pool->drawn) fputs("\r\033[K", stderr);
    if (good && pool->no_memory)
        good = study_fail(work->error, "memory ran out in %u of %u %s; fewer at once (--jobs) need less",
                          pool->no_memory, work->points, work->noun);
    return good && !*work->stopped;
}

static uint32_t slots_for(const struct pool_work *work)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t slots = work->at_once ? work->at_once : processors > 0 ? (uint32_t)processors : 1;

    return slots < work->points ? slots : work->points;
}

bool pool_run(const struct pool_work *work, struct pool_done *ret)
{
    struct pool pool = {.work = work, .slots = slots_for(work), .begun_ns = clock_now_ns()};
    bool good = false;

    CHECK(work->run && work->take && work->stopped && work->error);
    fflush(NULL);
    pool.slot = calloc(pool.slots + 1u, sizeof *pool.slot);
    pool.wait = calloc(pool.slots + 1u, sizeof *pool.wait);
    if (pool.slot && pool.wait)
        good = run_all(&pool);
    else
        study_fail(work->error, "not enough memory");
    free(pool.slot);
    free(pool.wait);
    *ret = pool.done;
    return good;
}
