/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric in virtual time: the seam of src/sim.
 *
 * sim_create() makes machines of what the fabric file says and queue pairs of what its jobs need;
 * sim_advance() runs some windows, so that the caller can show progress; sim_result() reads the counters out. No
 * clock is read here.
 */
#ifndef ROCELAB_SIM_SIM_H
#define ROCELAB_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "sim/sim_result.h"

struct fabric;
struct fabric_errors;

struct series;            /* observe/series.h */
struct observe_port_prio; /* observe/sample.h, as the next */
struct observe_rank;
struct record_log;   /* record/event.h */
struct sim_programs; /* sim/programs.h */

struct sim_options {
    uint64_t seed;
    uint32_t threads;                    /* 0: 1 */
    ps_t until;                          /* PS_NEVER: until the jobs are done, or what the fabric says */
    bool rtt;                            /* count round-trip times: sim_nic.rtt_ns */
    bool keep_going;                     /* after a deadlock: run on, as the hosts would */
    bool no_tiles;                       /* windows of the smallest latency everywhere: for comparison */
    uint32_t packets_max;                /* at once; 0: SIM_PACKETS_MAX.  More than that ends the program */
    uint64_t memory_max_bytes;           /* refuse what needs more; 0: no limit */
    struct record_log *events;           /* where events go, in order of time; NULL: nothing is noted */
    uint32_t event_kinds;                /* which: RECORD_KIND() of each */
    const struct sim_programs *programs; /* on hosts, beside the jobs; NULL: none.  It outlives the simulation */
};

struct sim;

/* 0, -EINVAL with errors, -ENOMEM (with an error that says how much is needed when memory_max_bytes is exceeded).
 * The fabric outlives the simulation. */
int sim_create(const struct fabric *fabric, const struct sim_options *options, struct sim **ret,
               struct fabric_errors *errors);
void sim_free(struct sim *sim);

/* Runs `windows` windows at most, and no event at or after `until` (PS_NEVER: the options' end). */
enum sim_state sim_advance(struct sim *sim, uint64_t windows, ps_t until);

/* Between calls of sim_advance(): a fault, in the words of the file (`down leaf0:3 for 5ms`), now or at the time that
 * it says.  `fabric` is the simulation's, which gets the fault.  0, -EINVAL with errors; after -ENOMEM the simulation
 * is to be freed. */
int sim_fault(struct sim *sim, struct fabric *fabric, const char *text, struct fabric_errors *errors);

struct sim_progress {
    ps_t now;
    uint64_t packet_hops;
    uint32_t jobs, jobs_done; /* repetitions counted */
    bool idle;                /* nothing happens unless a program has something new to do */
};
struct sim_progress sim_progress(const struct sim *sim);
uint64_t sim_digest(const struct sim *sim); /* over every delivery so far */

/* As of now; the caller's to free with sim_result_free(), before or after the simulation. */
int sim_result(struct sim *sim, struct sim_result *ret);
void sim_result_free(struct sim_result *result);
/* Adds how evenly parallel links were used (expected/imbalance.c).  0 or -ENOMEM. */
int sim_imbalance(struct sim *sim, struct sim_result *result);
/* Packets lost, dropped or sent again so far. */
uint64_t sim_losses(const struct sim *sim);
/* CHECKs every machine's own books; that no packet is missing is seen in packets_live when a run is over. */
void sim_audit(struct sim *sim);
size_t sim_memory_bytes(const struct sim *sim);
/* What it would take with every buffer full: an estimate of sim_create()'s, which refuses nothing. */
uint64_t sim_memory_most_bytes(const struct sim *sim);

/* Captures what crosses a port from now on, both ways, as nanosecond pcap.  0, -EBUSY (this port or its peer is
 * captured already), -EMSGSIZE (an adapter's MTU is above 4096), -EPROTONOSUPPORT (no frame of this system can be
 * written), -errno of opening the file.  Captures are numbered from 0 in the order of the calls. */
struct capwriter_name; /* packet/capfile/capfile.h */
int sim_capture(struct sim *sim, uint32_t port, const struct capwriter_name *file);
/* The file has its name and is whole after this; without it there is none, and an old one stays.  0, or -errno of what
 * failed first; and how many packets the file's limit has kept out. */
int sim_capture_close(struct sim *sim, uint32_t index, uint64_t *ret_left_out);

/* Series of every metric (observe/series.h).  Once a simulation is watched, sim_advance() looks at the end of each
 * step; what is left of a last step that does not end is not in it.  The caller frees the series, after the simulation
 * or after watching NULL. */
struct sim_series_options {
    ps_t step;
    uint32_t steps_most;  /* with more, steps become twice as long; even; 0: never */
    uint64_t most_bytes;  /* of the columns together: then no more steps are taken */
    uint32_t connections; /* queue pairs whose rate, window and alpha are kept: the first so many of the jobs' */
};
int sim_series_create(const struct sim *sim, const struct sim_series_options *options, struct series **ret);
void sim_watch(struct sim *sim, struct series *series);
int sim_observe(struct sim *sim, struct series *series); /* a look now; 0, -ENOSPC: it is full; -ENOMEM */
/* How even tiers of links were (sim_imbalance()): into the last step. */
void sim_observe_tiers(const struct sim_result *result, struct series *series);

void sim_sample_port(struct sim *sim, uint32_t port, struct sim_sample *ret);
/* The same as a look has them: queues and groups of a switch's port, [8]; a rank of the training jobs, which are
 * numbered job by job. */
void sim_sample_queues(const struct sim *sim, uint32_t port, struct observe_port_prio *ret);
uint32_t sim_ranks(const struct sim *sim);
void sim_sample_rank(const struct sim *sim, uint32_t number, struct observe_rank *ret);
uint32_t sim_connections(const struct sim *sim);
void sim_sample_connection(const struct sim *sim, uint32_t connection, struct sim_connection_sample *ret);

#endif
