/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that has the NCCL profiler plugin loaded, for who looks at its counters from outside.
 *
 * usage: nccl_program PLUGIN: one AllReduce of 4 MiB is over, another waits for its peer until standard input ends.
 * NCCL's communicator is called what the variable NAME says.  With CHILD there is a child of it that ends with standard
 * input too.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nccl/api.h"

static const struct nccl_profiler *table;
static void *context;

static void *start(struct nccl_event event)
{
    void *handle;

    table->start(context, &handle, &event);
    return handle;
}

/* An operation that sent 1,000 bytes, or stands before that. */
static void *operation(void *parent, bool ends)
{
    union nccl_state_args args = {.step_bytes = 1000};
    void *op = start((struct nccl_event){
        .type = NCCL_PROXY_OP, .parent = parent, .op = {.pid = getpid(), .steps = 1, .is_send = 1}});

    table->state(op, NCCL_OP_IN_PROGRESS, &args);
    void *step = start((struct nccl_event){.type = NCCL_PROXY_STEP, .parent = op});
    table->state(step, NCCL_SEND_GPU_WAIT, &args);
    table->state(step, NCCL_SEND_PEER_WAIT, &args);
    if (!ends) return op;
    table->state(step, NCCL_SEND_WAIT, &args);
    table->stop(step);
    table->stop(op);
    return NULL;
}

static void *collective(uint64_t seq)
{
    void *coll = start((struct nccl_event){.type = NCCL_COLLECTIVE,
                                           .coll = {.seq = seq,
                                                    .func = "AllReduce",
                                                    .count = 1 << 20,
                                                    .datatype = "ncclFloat32",
                                                    .channels = 1,
                                                    .algo = "RING",
                                                    .proto = "SIMPLE"}});
    table->stop(coll);
    return coll;
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int mask = 0;

    table = library ? dlsym(library, "ncclProfiler_v5") : NULL;
    if (table == NULL) return 2;
    table->init.v5(&context, 0xabcdef, &mask, getenv("NAME"), 2, 8, 3, NULL);
    operation(collective(0), true);
    void *left = operation(collective(1), false);
    bool child = getenv("CHILD") && fork() == 0;
    if (!child) {
        puts("ready");
        fflush(stdout);
    }
    while (getchar() != EOF)
        continue;
    if (child) exit(0);
    table->stop(left);
    table->finalize(context);
    dlclose(library);
    return 0;
}
