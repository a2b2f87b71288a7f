/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running windows: tiles, threads, and what happens between windows.
 *
 * A tile is run by one thread, its nodes in order, in windows of the tile's own smallest latency, until the great
 * window ends; events inside a tile therefore need no synchronisation at all.  What is sent to another tile
 * arrives after the great window, and is announced in far_next[], which the receiving tile reads in the next one; two
 * of them take turns, so that nobody reads what another thread is writing.
 *
 * Nothing due, nothing done: next[] holds each node's earliest event, a window begins at the earliest of all, and
 * a node whose time has not come is not touched.
 *
 * Threads meet once a window.  The last to come is alone while the others wait: it lets the coordinator act and
 * chooses the next window, whichever thread it is.  Who waits spins for some microseconds (windows of equal work end
 * about together), then yields, then sleeps; where there are more threads than processors it does not spin.
 */
#include "engine/engine.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/check.h"
#include "engine/engine_int.h"
#include "engine/run_int.h"

#define YIELDS 50

static bool engine_between(struct engine *engine);

static void barrier_sleep(struct barrier *barrier, uint32_t turn)
{
    /* Counted before the kernel compares `turn`: whoever changes it afterwards sees the sleeper. */
    __atomic_add_fetch(&barrier->sleepers, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &barrier->turn, FUTEX_WAIT_PRIVATE, turn, NULL, NULL, 0);
    __atomic_sub_fetch(&barrier->sleepers, 1, __ATOMIC_SEQ_CST);
}

/* All threads come; the last one starts a run, or ends the window. */
static void engine_meet(struct engine *engine)
{
    struct barrier *barrier = &engine->barrier;
    uint32_t turn = __atomic_load_n(&barrier->turn, __ATOMIC_ACQUIRE);

    if (__atomic_add_fetch(&barrier->waiting, 1, __ATOMIC_ACQ_REL) == barrier->threads) {
        /* Only here, where all have come: a thread may still be on its way out of the meeting before. */
        engine->quit = engine->ending;
        engine->going = engine->going ? engine_between(engine) : !engine->quit;
        __atomic_store_n(&barrier->waiting, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&barrier->turn, turn + 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&barrier->sleepers, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &barrier->turn, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
        return;
    }
    for (uint32_t i = 0; __atomic_load_n(&barrier->turn, __ATOMIC_ACQUIRE) == turn; i++) {
        if (i < barrier->spins)
            cpu_relax();
        else if (i < barrier->spins + YIELDS)
            sched_yield();
        else
            barrier_sleep(barrier, turn);
    }
}

static ps_t earliest(const ps_t *next, uint32_t count)
{
    ps_t least = PS_NEVER;

    for (uint32_t i = 0; i < count; i++)
        least = next[i] < least ? next[i] : least;
    return least;
}

/* What other tiles announced in the last window. */
static void tile_hear(struct engine *engine, const struct tile *tile)
{
    ps_t *far = engine->far_next[(engine->windows & 1) ^ 1];
    const uint32_t *boundary = engine->boundary + tile->boundary_first;

    for (uint32_t i = 0; i < tile->boundary_count; i++) {
        uint32_t node = boundary[i];
        ps_t at = __atomic_load_n(&far[node], __ATOMIC_RELAXED);
        if (at == PS_NEVER) continue;
        if (at < engine->next[node]) engine->next[node] = at;
        __atomic_store_n(&far[node], PS_NEVER, __ATOMIC_RELAXED);
    }
}

/* The next node: what its visit begins with, while this one runs (see node_bring_near() in visit.h). */
static inline void node_bring_near_whole(const struct node *node)
{
    for (uint32_t p = 0; p < node->ports && p < 8; p++)
        __builtin_prefetch(&node->in[p], 1);
    __builtin_prefetch(node->port, 1);
    __builtin_prefetch(node->tree, 1);
    __builtin_prefetch(node->machine, 1);
}

static void tile_run(struct worker *worker, struct tile *tile)
{
    struct engine *engine = worker->engine;
    ps_t *next = engine->next + tile->first;
    struct node *node = engine->node + tile->first;

    tile_hear(engine, tile);
    ps_t first = earliest(next, tile->count);
    while (first < engine->end) {
        ps_t end = first + tile->window < engine->end ? first + tile->window : engine->end;
        worker->from = first;
        for (uint32_t i = 0; i < tile->count; i++) {
            if (next[i] >= end) continue;
            if (i + 1 < tile->count && next[i + 1] < end) node_bring_near_whole(&node[i + 1]);
            if (node[i].allocates && worker->pool.free_count < engine->burst)
                reserve_packets(&engine->reserve, &worker->pool, engine->burst);
            node[i].visit(worker, &node[i], end);
        }
        reserve_give_back(&engine->reserve, &worker->pool, 8 * engine->burst);
        first = earliest(next, tile->count);
    }
    tile->next = first;
}

static void worker_window(struct worker *worker)
{
    worker->far_min = worker->next = PS_NEVER;
    for (uint32_t i = 0; i < worker->tiles; i++) {
        struct tile *tile = &worker->engine->tile[worker->tile[i]];
        tile_run(worker, tile);
        if (tile->next < worker->next) worker->next = tile->next;
    }
    if (worker->far_min < worker->next) worker->next = worker->far_min;
}

void *engine_thread(void *context)
{
    struct worker *worker = context;
    struct engine *engine = worker->engine;

    for (;;) {
        engine_meet(engine);
        if (engine->quit) return NULL;
        if (engine->going) worker_window(worker);
    }
}

void engine_stop_threads(struct engine *engine)
{
    if (engine->started == 0) return;
    engine->ending = true;
    engine_meet(engine);
    for (uint32_t i = 1; i <= engine->started; i++)
        pthread_join(engine->thread[i], NULL);
    engine->started = 0;
}

/* The window that begins with the earliest event of all; false: there is none before `until`. */
static bool engine_choose(struct engine *engine)
{
    ps_t next = engine->wake_min;

    for (uint32_t i = 0; i < engine->threads; i++)
        if (engine->worker[i].next < next) next = engine->worker[i].next;
    if (next == PS_NEVER) {
        engine->state = ENGINE_IDLE;
        return false;
    }
    if (next >= engine->until) {
        if (engine->now < engine->until) engine->now = engine->until;
        engine->state = ENGINE_UNTIL;
        return false;
    }
    engine->start = next;
    engine->end = engine->until - next < engine->window ? engine->until : next + engine->window;
    engine->wake_min = PS_NEVER;
    return true;
}

/* After a window, by one thread alone; false: the run ends here. */
static bool engine_between(struct engine *engine)
{
    engine->windows++;
    engine->now = engine->end;
    if (engine->coordinate && engine->coordinate(engine->context, engine->now)) {
        engine->state = ENGINE_STOPPED;
        return false;
    }
    if (--engine->budget == 0) {
        engine->state = ENGINE_RUNNING;
        return false;
    }
    return engine_choose(engine);
}

enum engine_state engine_run(struct engine *engine, uint64_t windows, ps_t until, coordinate_fn coordinate,
                             void *context)
{
    if (windows == 0) return ENGINE_RUNNING;
    engine->budget = windows;
    engine->until = until > NODE_TIME_MAX ? NODE_TIME_MAX : until;
    engine->coordinate = coordinate;
    engine->context = context;
    if (!engine_choose(engine)) return engine->state;
    if (engine->threads == 1) {
        do
            worker_window(&engine->worker[0]);
        while (engine_between(engine));
        return engine->state;
    }
    for (engine_meet(engine); engine->going; engine_meet(engine))
        worker_window(&engine->worker[0]);
    return engine->state;
}

void engine_wake(struct engine *engine, uint32_t id, ps_t at)
{
    uint32_t index = engine->index_of[id];

    CHECK(at >= engine->now);
    if (at < engine->next[index]) engine->next[index] = at;
    if (at < engine->wake_min) engine->wake_min = at;
}

ps_t engine_now(const struct engine *engine)
{
    return engine->now;
}

uint64_t engine_windows(const struct engine *engine)
{
    return engine->windows;
}

ps_t engine_next(const struct engine *engine)
{
    ps_t next = engine->wake_min;

    for (uint32_t i = 0; i < engine->threads; i++)
        if (engine->worker[i].next < next) next = engine->worker[i].next;
    return next;
}

static bool fifo_has(const struct fifo *fifo)
{
    const struct link_entry *written = fifo_written(fifo);

    return written && written != fifo->read;
}

ps_t engine_next_beside(const struct engine *engine, uint32_t id)
{
    const uint32_t index = engine->index_of[id];
    const struct node *node = &engine->node[index];
    ps_t next = node->line_at, port = event_time(node->tree[1]);

    if (port < next) next = port;
    for (uint32_t p = 0; p < node->ports; p++)
        if (fifo_has(&node->in[p].data) || fifo_has(&node->in[p].control)) return engine->now;
    for (uint32_t i = 0; i < engine->threads; i++)
        if (engine->worker[i].far_min < next) next = engine->worker[i].far_min;
    for (uint32_t i = 0; i < engine->nodes; i++)
        if (i != index && engine->next[i] < next) next = engine->next[i];
    return next;
}

void engine_pass_to(struct engine *engine, ps_t at)
{
    CHECK(at >= engine->now && at <= engine_next(engine));
    engine->now = at;
}

const struct line_model *engine_model(const struct engine *engine)
{
    return &engine->model;
}
