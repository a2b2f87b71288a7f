/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of the simulator leaves behind, as plain data: filled in by src/sim, printed by src/report.
 */
#ifndef ROCELAB_TELEMETRY_SIM_RESULT_H
#define ROCELAB_TELEMETRY_SIM_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "nic/counters.h"
#include "switch/counters.h"

enum sim_state {
    SIM_RUNNING,
    SIM_DONE,  /* every job has ended */
    SIM_UNTIL, /* the time asked for was reached */
    SIM_STUCK, /* jobs are unfinished and nothing will ever happen */
};
struct sim_job {
    const char *name;
    uint32_t job, repetition, ranks;
    uint64_t bytes;
    ps_t start, end; /* PS_NEVER: not reached */
    uint64_t bus_num, bus_den;
};

struct sim_flow {
    uint32_t id, src, dst; /* endpoints */
    uint32_t job;
    uint64_t bytes;
    ps_t start, fct_ps; /* PS_NEVER: not reached */
    ps_t ideal_ps;      /* alone in the fabric */
    bool failed;
};

struct sim_port { /* of switches and hosts, by the fabric's numbers */
    uint32_t port;
    uint64_t line_bytes; /* sent, gaps included */
    uint32_t utilisation_ppm;
    uint64_t frames;      /* sent, pauses included */
    uint64_t pauses_sent; /* PFC frames */
    uint64_t
        pauses_received; /* of a switch's port frames; of a host's a frame counts once for each priority it names */
    ps_t paused_ps;      /* sum over priorities */
    uint64_t ecn_marked; /* switch ports */
    uint64_t queue_max_bytes;          /* longest queue; switch ports */
    uint64_t drops;                    /* all reasons; a host's are its adapter's */
    uint64_t lost;                     /* on the wire: sent and corrupted or dropped, or arrived when it was down */
    const struct sw_port_counters *sw; /* NULL: a host's */
};

struct sim_nic {
    uint32_t endpoint;
    const struct nic_counters *counters;
};

struct sim_result {
    enum sim_state state;
    ps_t virtual_ps;
    uint64_t packet_hops, digest, windows;
    uint64_t packets_live, packets_on_wire, packets_peak;
    ps_t window_ps, great_window_ps;
    uint32_t jobs, flows, ports, nics;
    struct sim_job *job;
    struct sim_flow *flow;
    struct sim_port *port;
    struct sim_nic *nic;
    uint64_t work_failed; /* work requests completed with an error */
};
/* For time series: what a port holds and has sent by now. */
struct sim_sample {
    uint64_t queue_bytes, line_bytes;
    ps_t paused_ps;
    uint8_t paused; /* bit p */
};
struct sim_connection_sample {
    uint32_t src, dst; /* endpoints */
    uint64_t acked_bytes;
};

#endif
