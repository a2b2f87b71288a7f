/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair's connection as a flow, and its messages where they are recorded.
 */
#ifndef ROCELAB_UP_OBJECTS_FLOW_H
#define ROCELAB_UP_OBJECTS_FLOW_H

#include "up/objects/objects.h"

struct up_message {
    ps_t at;
    uint64_t bytes;
    uint32_t peer; /* endpoint */
    uint8_t verb;
    struct up_cause cause; /* flow NULL: nothing was seen before */
    uint32_t line;         /* record.c: of the trace; UINT32_MAX: it has none */
    uint32_t arrives;      /* record.c: the message that arrives as this number */
};

struct up_flow {
    struct up_flow *next; /* made before it, of the same host */
    const struct up_process *process;
    struct up_flow_result sum;
    struct up_message *message; /* recorded */
    uint32_t noted, room;
    uint32_t arrived; /* messages from the peer */
    uint32_t one_way; /* record.c: of its messages */
    uint32_t id;      /* of the host's, in order */
};

#endif
