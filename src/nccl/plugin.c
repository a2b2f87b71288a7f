/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librocelab-nccl-profiler.so: what NCCL finds when NCCL_PROFILER_PLUGIN names it.
 *
 * The tables of functions for each version of the interface (api.h).  Events go to the recorder, in the thread that
 * they come from; communicators begin and end here, and with them the writer.  Nothing that goes wrong here is an error
 * for NCCL: the program goes on, with less recorded.
 */
#include "nccl/api.h"
#include "nccl/clock.h"
#include "nccl/recorder.h"
#include "nccl/writer.h"

#define EXPORT __attribute__((visibility("default")))

static int begin(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
                 nccl_logger log, int api)
{
    const struct recorder_about about = {.id = id, .name = name, .nodes = nodes, .ranks = ranks, .rank = rank};

    *context = NULL;
    if (writer_begin(&about, api, log, context))
        __atomic_fetch_or(mask, NCCL_EVENTS, __ATOMIC_RELAXED); /* one word of NCCL's for all communicators */
    else if (log)
        log(NCCL_LOG_WARN, NCCL_LOG_INIT, __FILE__, __LINE__, "rocelab: no room for one more communicator");
    return NCCL_DONE;
}

static int init_v4(void **context, int *mask, const char *name, uint64_t id, int nodes, int ranks, int rank,
                   nccl_logger log)
{
    return begin(context, id, mask, name, nodes, ranks, rank, log, 4);
}

static int init_v5(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
                   nccl_logger log)
{
    return begin(context, id, mask, name, nodes, ranks, rank, log, 5);
}

static int init_v6(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
                   nccl_logger log)
{
    return begin(context, id, mask, name, nodes, ranks, rank, log, 6);
}

static int start_v4(void *context, void **ret_event, struct nccl_event *event)
{
    *ret_event = recorder_start(context, event->type_v4, event, clock_ns(CLOCK_MONOTONIC));
    return NCCL_DONE;
}

static int start_v5(void *context, void **ret_event, struct nccl_event *event)
{
    *ret_event = recorder_start(context, event->type, event, clock_ns(CLOCK_MONOTONIC));
    return NCCL_DONE;
}

static int stop(void *event)
{
    if (event) recorder_stop(event, clock_ns(CLOCK_MONOTONIC));
    return NCCL_DONE;
}

static int state(void *event, int state, union nccl_state_args *args)
{
    if (event) recorder_state(event, state, args, clock_ns(CLOCK_MONOTONIC));
    return NCCL_DONE;
}

static int finalize(void *context)
{
    struct recorder_comm *comm = recorder_find(context);

    if (comm) writer_end(comm);
    return NCCL_DONE;
}

/* A program may end without closing its communicators, and NCCL unloads who has none left. */
__attribute__((destructor)) static void leave(void)
{
    if (writer_leave()) recorder_release();
}

EXPORT extern const struct nccl_profiler ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6;
const struct nccl_profiler ncclProfiler_v4 = {"rocelab", {.v4 = init_v4}, start_v4, stop, state, finalize};
const struct nccl_profiler ncclProfiler_v5 = {"rocelab", {.v5 = init_v5}, start_v5, stop, state, finalize};
const struct nccl_profiler ncclProfiler_v6 = {"rocelab", {.v5 = init_v6}, start_v5, stop, state, finalize};
