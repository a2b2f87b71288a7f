/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All points of a sweep, so many at once, each in a process of its own.
 *
 * Processes and not threads: a point that takes all memory, or meets a CHECK, is a row with a sentence and not the end
 * of the sweep.  What a point has to say comes through a pipe and is put in its row by number, so that the table does
 * not depend on who was first.  The parent only waits; it has no other threads when it forks.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "report/text.h"
#include "study/sweep.h"

#define LOOK_MS 200
#define ROW_BYTES_MAX (1 << 20)
#define NS 1000000000ULL

struct slot { /* a process */
    pid_t pid;
    int from;
    uint32_t point;
    char *text;
    size_t used, size;
};

struct pool {
    struct sweep *sweep;
    struct slot *slot;
    struct pollfd *wait;
    uint32_t busy;
    uint32_t next, done, kept, failed;
    uint64_t begun_ns;
    bool drawn;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

static _Noreturn void be_child(const struct sweep *sweep, uint32_t point, int to, pid_t parent)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    FILE *file = getppid() == parent ? fdopen(to, "w") : NULL;
    if (file == NULL) _exit(1);
    sweep_point(sweep, point, file);
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
        be_child(pool->sweep, pool->next, ends[1], parent);
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

/* Reads what there is; false: that was all. */
static bool read_some(struct slot *slot)
{
    if (slot->size - slot->used < 4096) {
        size_t size = slot->size ? slot->size * 2 : 8192;
        char *grown = size <= ROW_BYTES_MAX ? realloc(slot->text, size) : NULL;
        if (grown == NULL) return false;
        slot->text = grown;
        slot->size = size;
    }
    ssize_t got = read(slot->from, slot->text + slot->used, slot->size - slot->used - 1);
    if (got < 0) return errno == EINTR;
    slot->used += (size_t)got;
    slot->text[slot->used] = '\0';
    return got > 0;
}

static void finish(struct pool *pool, uint32_t index)
{
    struct slot *slot = &pool->slot[index];
    struct sweep_row *row = &pool->sweep->row[slot->point];
    char why[128];
    int status = 0;

    close(slot->from);
    while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR)
        ;
    bool parsed = slot->text && sweep_row_parse(slot->text, row);
    if (!parsed && !*pool->sweep->stopped) {
        if (WIFSIGNALED(status))
            snprintf(why, sizeof why, "the run was ended by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
        else
            snprintf(why, sizeof why, "the run ended without a result");
        *row = (struct sweep_row){.there = true, .error = strdup(why)};
    }
    if (row->there) {
        pool->done++;
        pool->kept += row->kept;
    }
    free(slot->text);
    *slot = pool->slot[--pool->busy];
}

static void draw(struct pool *pool)
{
    const struct sweep *sweep = pool->sweep;
    uint32_t ran = pool->done - pool->kept;
    char text[TEXT_COUNT];

    if (sweep->quiet || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r%u of %u points", pool->done, sweep->points);
    if (pool->kept) fprintf(stderr, ", %u kept from before", pool->kept);
    if (ran && pool->done < sweep->points)
        fprintf(stderr, ", about %s left",
                text_ns((now_ns() - pool->begun_ns) / ran * (sweep->points - pool->done), text));
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
    const struct sweep *sweep = pool->sweep;
    bool started = true;

    while (!*pool->sweep->stopped && (pool->busy || pool->next < sweep->points)) {
        while (pool->busy < sweep->jobs && pool->next < sweep->points && (started = start(pool)))
            ;
        if (!started && pool->busy == 0) {
            study_fail(sweep->error, "a process could not be started: %s", strerror(errno));
            return false;
        }
        wait_some(pool);
        draw(pool);
    }
    for (uint32_t i = 0; i < pool->busy; i++)
        kill(pool->slot[i].pid, SIGTERM);
    while (pool->busy)
        finish(pool, pool->busy - 1);
    if (pool->drawn) fputs("\r\033[K", stderr);
    if (!*pool->sweep->stopped) return true;
    if (sweep->out)
        study_fail(sweep->error,
                   "interrupted: %u of %u points are done and kept in %s; the same command goes on from there",
                   pool->done, sweep->points, sweep->out);
    else
        study_fail(sweep->error, "interrupted: %u of %u points were done; with --out they would have been kept",
                   pool->done, sweep->points);
    return false;
}

bool sweep_run(struct sweep *sweep)
{
    struct pool pool = {.sweep = sweep,
                        .slot = calloc(sweep->jobs, sizeof *pool.slot),
                        .wait = calloc(sweep->jobs, sizeof *pool.wait),
                        .begun_ns = now_ns()};
    bool good = false;

    CHECK(sweep->jobs > 0);
    fflush(NULL);
    if (pool.slot && pool.wait)
        good = run_all(&pool);
    else
        study_fail(sweep->error, "not enough memory");
    free(pool.slot);
    free(pool.wait);
    return good;
}
