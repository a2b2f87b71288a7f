/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's profiler interface, versions 4 (NCCL 2.27), 5 (2.28) and 6 (2.29, 2.30), as far as this plugin uses it.
 *
 * NCCL looks for a table of functions by the name ncclProfiler_vN, the highest it knows first.  The three differ in the
 * order of init's arguments and in the width of an event's type; what an event says of a collective, a proxy operation
 * or a step lies at the same places in all of them, so one declaration serves.  tests/nccl holds the places against
 * NCCL's.
 */
#ifndef ROCELAB_NCCL_API_H
#define ROCELAB_NCCL_API_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NCCL_DONE = 0 }; /* ncclSuccess: no error of a profiler may stop a program */

enum nccl_event_type { /* bits: the same in the mask that init() answers */
                       NCCL_COLLECTIVE = 1 << 1,
                       NCCL_P2P = 1 << 2,
                       NCCL_PROXY_OP = 1 << 3,
                       NCCL_PROXY_STEP = 1 << 4,
                       NCCL_KERNEL_CHANNEL = 1 << 6,
};
#define NCCL_EVENTS (NCCL_COLLECTIVE | NCCL_P2P | NCCL_PROXY_OP | NCCL_PROXY_STEP | NCCL_KERNEL_CHANNEL)

enum nccl_event_state {
    NCCL_SEND_GPU_WAIT = 8,
    NCCL_SEND_WAIT = 9,
    NCCL_RECV_WAIT = 10,
    NCCL_RECV_FLUSH_WAIT = 11,
    NCCL_RECV_GPU_WAIT = 12,
    NCCL_OP_IN_PROGRESS = 19,
    NCCL_SEND_PEER_WAIT = 20,
    NCCL_KERNEL_STOP = 22,
};

#define NCCL_STEPS_OPEN 8u /* steps of one proxy operation that are under way at a time, at most */

struct nccl_event {
    union {
        uint64_t type;
        uint8_t type_v4;
    };
    void *parent; /* what startEvent() answered for the event that this one belongs to; NULL: nothing */
    int rank;
    union {
        struct {
            uint64_t seq; /* of this function in this communicator */
            const char *func;
            const void *from;
            void *to;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels, warps;
            const char *algo, *proto;
        } coll;
        struct {
            const char *func;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
        } p2p;
        struct {
            pid_t pid; /* of the process whose operation it is: another's proxy may do it (PXN) */
            uint8_t channel;
            int peer, steps, chunk_bytes, is_send;
        } op;
        struct {
            int step;
        } step;
        struct {
            uint8_t channel;
            uint64_t gpu_ns; /* the GPU's clock */
        } kernel;
        uint8_t rest[88]; /* what other kinds of events have here */
    };
};

union nccl_state_args {
    size_t step_bytes;
    uint64_t gpu_ns;
    void *rest;
};

typedef void (*nccl_logger)(int level, unsigned long subsystems, const char *file, int line, const char *format, ...);
enum { NCCL_LOG_WARN = 2, NCCL_LOG_INFO = 3, NCCL_LOG_INIT = 1 };

typedef int nccl_init_v4(void **context, int *mask, const char *name, uint64_t id, int nodes, int ranks, int rank,
                         nccl_logger log);
typedef int nccl_init_v5(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
                         nccl_logger log);

struct nccl_profiler { /* of a version: `init` is nccl_init_v4 or nccl_init_v5 */
    const char *name;
    union {
        nccl_init_v4 *v4;
        nccl_init_v5 *v5;
    } init;
    int (*start)(void *context, void **ret_event, struct nccl_event *event);
    int (*stop)(void *event);
    int (*state)(void *event, int state, union nccl_state_args *args);
    int (*finalize)(void *context);
};

#endif
