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
struct observe_infiniband { /* a port of a host or switch */
#define IB(field, name, metric, per, help) uint64_t field;
#include "observe/infiniband.def"
#undef IB
};
struct observe_switch {
    uint64_t buffer_bytes;
};
struct observe_link { /* the direction that leaves a port */
    uint64_t frames, line_bytes, lost, flaps;
    uint64_t busy_ps;    /* that line_bytes take at the full rate */
    uint64_t up;         /* 1, or 0 */
    uint64_t speed_ppm;  /* rate over full rate */
    uint64_t crc_errors; /* of what arrived here */
    uint64_t celsius, pre_fec_ber;
    uint64_t waiting_bytes; /* in all queues of the port */
    uint64_t paused;        /* bit p */
};
struct observe_job {
    uint64_t bytes_done, runs_done;
    uint64_t bus_bytes_s; /* bus bandwidth of the last run that ended */
    uint64_t steps_done, step_ps;
};
struct observe_limits { /* of a switch's port and priority */
    uint64_t headroom_bytes, ecn_min_bytes, ecn_max_bytes, pause_bytes;
};
struct observe_cable {
    uint64_t is; /* 1 */
};
struct observe_class {
    uint64_t lossless, planned; /* 1, or 0 */
};
struct observe_rank { /* in the last step that it ended */
    uint64_t compute_ps, wait_ps;
};
struct observe_tier {
    uint64_t uneven_ppm, expected_ppm;
};
struct observe_communicator {    /* of NCCL, as one rank has it */
    uint64_t collectives, bytes; /* begun; a send or a receive is one too */
    uint64_t sent_bytes;         /* over the network */
    uint64_t operations, operation_ns;
    uint64_t wait_gpu_ns, wait_peer_ns, wait_network_ns, wait_data_ns, wait_other_ns; /* together: operation_ns */
    uint64_t lost;
};
struct observe_connection {
    uint64_t rate_bps, window_bytes, alpha;
};
struct observe_run {
    uint64_t virtual_ps, packet_hops;
};

#endif
