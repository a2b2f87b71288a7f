/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of an object at one moment, beside the counters of the machines: the structs of catalogue.def.
 */
#ifndef ROCELAB_OBSERVE_SAMPLE_H
#define ROCELAB_OBSERVE_SAMPLE_H

#include <stdint.h>

struct observe_port_prio { /* a switch's port and priority */
    uint64_t queue_bytes, headroom_bytes, group_bytes, queue_delay_ps;
};
struct observe_switch {
    uint64_t buffer_bytes;
};
struct observe_link { /* the direction that leaves a port */
    uint64_t frames, line_bytes, lost, flaps;
    uint64_t waiting_bytes; /* in all queues of the port */
    uint64_t paused;        /* bit p */
};
struct observe_job {
    uint64_t bytes_done, runs_done;
};
struct observe_connection {
    uint64_t rate_bps, window_bytes, alpha;
};
struct observe_run {
    uint64_t virtual_ps, packet_hops;
};

#endif
