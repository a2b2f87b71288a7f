/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab sim` says about a run: tables for people, JSON, CSV files, and counters for Prometheus.  Prints
 * sim/sim_result.h with the names and rates of the fabric; the only arithmetic is sums, ratios and percentiles.
 */
#ifndef ROCELAB_REPORT_SIM_REPORT_H
#define ROCELAB_REPORT_SIM_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/work.h"
#include "observe/series.h"
#include "record/event.h"
#include "report/json_out.h"
#include "report/text.h"
#include "sim/sim_result.h"
#include "up/up.h"

struct fabric;
struct fabric_job;

struct sim_report {
    const struct fabric *fabric;
    const struct sim_result *result;
    uint64_t seed;
    uint32_t threads;
    uint64_t setup_us, wall_us;                            /* by the clock of whoever ran it */
    const struct series *series;                           /* what was seen while it ran; NULL: nobody looked */
    const struct record_log *events;                       /* likewise */
    const struct sim_connection_sample *series_connection; /* [its connections] */
    const bool *flow_chosen;                               /* [flows] that are in the JSON; NULL: all */
    const bool *series_port;                               /* [ports] whose columns are in the JSON; NULL: all */
    const struct up_program *program;                      /* of a fabric that was up; NULL: a simulation alone */
    uint32_t programs;
    const struct up_flow_result *program_flow; /* queue pairs of programs */
    uint32_t program_flows;
    const struct up_port_result *foreign_port; /* ports that are interfaces */
    uint32_t foreign_ports;
    struct sim_verdict **verdict;     /* what was judged, once, for all that print it; NULL: each judges by itself */
    bool real;                        /* clock of the programs: then fabric time may have stood still ... */
    uint64_t stood_still_ns, real_ns; /* ... for so long, of so long */
};

struct sim_text_options {
    struct text_style style;
    uint32_t rows; /* of the tables of jobs and ports; 0: all */
    bool quiet;    /* jobs only */
};

void sim_text(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
bool sim_json_write(FILE *out, const struct sim_report *report); /* false: not all of it could be written */

/* sim_trouble.c: deadlocks, the first failure, the watchdog, pauses and their causes. */
void sim_text_trouble(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
void sim_json_trouble(struct jout *jout, const struct sim_report *report);
/* Why the first work request failed, in a few words; "" where none did. */
#define SIM_REASON 512
void sim_failure_reason(const struct sim_report *report, char buf[SIM_REASON]);

/* Parts of the two above: collectives, a row a size, as nccl-tests prints them. */
void sim_collectives_text(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
void sim_collectives_json(struct jout *jout, const struct sim_report *report);
/* Training and inference: steps, and where their time goes. */
void sim_training_text(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
#define SIM_SLICES 512
/* Of which training jobs only a slice is run, in words; "": of none. */
const char *sim_slices(const struct fabric *fabric, char *buf, size_t size);
/* What that means for the times beside it; nothing where there is none. */
void sim_slices_text(FILE *out, const struct text_style *style, const char *const *slices, uint32_t count);
/* Both of a fabric: under what was measured with it; as the member "slice" of an open object. */
void fabric_slices_text(FILE *out, const struct text_style *style, const struct fabric *fabric);
void fabric_slices_json(struct jout *jout, const struct fabric *fabric);
/* Whether GPUs wait for each other in the job: a collective, training.  Else it is transfers on their own. */
static inline bool sim_job_coupled(const struct fabric_job *job)
{
    enum fabric_job_kind kind = (enum fabric_job_kind)job->kind;
    return fabric_job_collective(kind) || fabric_job_trains(kind);
}
/* A rank's stage of the pipeline; whether all groups of the kind have their ranks in one host each. */
uint32_t sim_training_stage(const struct fabric_training *from, uint32_t rank);
bool sim_training_inside(const struct fabric *fabric, const struct fabric_job *job, unsigned group);
void sim_training_json(struct jout *jout, const struct sim_report *report);

/* sim_programs.c: programs and their queue pairs; nothing where a simulation ran alone. */
void sim_text_programs(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
void sim_json_programs(struct jout *jout, const struct sim_report *report);

/* diagnosis/sim_verdict.c: what became of the run, and what is found in its evidence. */
void sim_text_verdict(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
void sim_json_verdict(struct jout *jout, const struct sim_report *report);
void sim_verdict_free(struct sim_verdict *judged);       /* of `verdict` above */
bool sim_verdict_warns(const struct sim_report *report); /* it has more than remarks */
/* Each line of it, in order: what became of the run, then causes (rows/finding.def).  False: memory ran out. */
struct sim_names {
    const char *const *name;
    uint32_t count;
};
#define SIM_FINDING_NONE UINT64_MAX
struct sim_finding {
    const char *id, *alias, *severity, *job, *title, *what; /* alias, job: NULL where it has none */
    bool caused;                                            /* a cause, which alone has what follows but objects */
    const char *why, *advice, *confidence;
    struct sim_names objects, victims;
    uint64_t consequence_of; /* the line that explains it; SIM_FINDING_NONE */
};
typedef void sim_finding_call(void *context, const struct sim_finding *finding);
bool sim_findings(const struct sim_report *report, sim_finding_call *call, void *context);

/* sim_balance.c: how evenly parallel links were used, where that was worked out. */
void sim_text_balance(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
void sim_json_balance(struct jout *jout, const struct sim_report *report);

/* sim_json_events.c: faults, and routes that followed. */
void sim_json_faults(struct jout *jout, const struct sim_report *report);
/* sim_json_latency.c: histograms of times. */
void sim_json_latency(struct jout *jout, const struct sim_report *report);
/* sim_json_fabric.c: what ran: nodes, links, classes, thresholds; nothing of what happened there. */
void sim_json_fabric(struct jout *jout, const struct sim_report *report);

/* Every metric, as Prometheus reads them: a series' last step (sim_observe() once is enough), or all of it, in slow
 * motion: a second takes `stretch` seconds.  False: no memory. */
struct series;
bool sim_prometheus(FILE *out, const struct fabric *fabric, const struct series *series);
bool sim_openmetrics(FILE *out, const struct fabric *fabric, const struct series *series, double stretch);

/* sim_counters.c: every counter of a port, of all ports of a node, or (which NULL) of all, by its own name.  Answers
 * how many ports there were. */
uint32_t sim_counters_text(FILE *out, const struct sim_report *report, const char *which, bool quiet);
uint32_t sim_counters_json(struct jout *jout, const struct sim_report *report, const char *which);

enum sim_csv { SIM_CSV_JOBS, SIM_CSV_FLOWS, SIM_CSV_PORTS, SIM_CSV_NICS, SIM_CSVS };
extern const char *const sim_csv_names[SIM_CSVS]; /* "jobs.csv" ... */
void sim_csv(FILE *out, const struct sim_report *report, enum sim_csv which);
/* Of the adapter at an endpoint. */
const char *sim_endpoint_name(const struct fabric *fabric, uint32_t endpoint, char buf[FABRIC_NAME]);
void sim_csv_text(FILE *out, const char *text);                                /* in quotes */
void sim_csv_port_name(FILE *out, const struct fabric *fabric, uint32_t port); /* quoted where it must be */
/* sim_series.c: metrics over time, where the run was watched: every column as JSON, and ports as a table (a row where
 * a port sent, held or was kept from sending something in a step). */
void sim_json_series(struct jout *jout, const struct sim_report *report);
void sim_csv_series(FILE *out, const struct sim_report *report);
/* The rows of that table one by one, by time, then port (rows/port_step.def); what is counted is what came in the step.
 * NULL: no memory.  False: there are no more. */
struct sim_port_step {
    ps_t at; /* its end */
    uint32_t port;
    uint64_t queue_bytes, line_bytes, rate_bps, ecn_marked, drops, lost;
    ps_t paused_ps; /* summed over priorities */
    uint64_t paused;
};
/* What is called so in JSON's series, of objects of a kind. */
uint32_t sim_series_metric(const struct series *series, enum observe_object object, const char *name);
struct sim_port_steps;
struct sim_port_steps *sim_port_steps_new(const struct sim_report *report);
bool sim_port_steps_next(struct sim_port_steps *steps, struct sim_port_step *ret);
void sim_port_steps_free(struct sim_port_steps *steps);

/* sim_slowdowns.c: of flows that arrive at random, by size, and what of it is waiting for the own queue pair. */
void sim_slowdowns_print(FILE *out, const struct sim_report *report, const struct sim_text_options *options);
void sim_slowdowns_json(struct jout *jout, const struct sim_report *report);
/* sim_json_events.c: what happened, and pauses from their beginning to their end, where the run was watched; every
 * event as a table. */
void sim_json_events(struct jout *jout, const struct sim_report *report);
void sim_csv_events(FILE *out, const struct fabric *fabric, const struct record_log *log);

/* The job's bytes over its time, in kilobytes a second; `bus`: times its bus factor.  0: it has not ended. */
uint64_t sim_bandwidth_kBps(const struct sim_job *job, bool bus);
/* Of the time it took, what the job would have needed at least, in thousandths, rounded down; 0: not known. */
uint32_t sim_ideal_milli(const struct sim_job *job);
/* Whether it did not end, and nothing is left that could end it. */
bool sim_job_is_stuck(const struct sim_result *result, const struct sim_job *job);
const char *sim_state_name(enum sim_state state);
const char *sim_job_state(const struct sim_result *result, const struct sim_job *job); /* in one word */
/* Whether an interface of this machine stands for the adapter. */
bool sim_nic_is_outside(const struct sim_report *report, const struct sim_nic *nic);
/* Whether the congestion control of an adapter goes by CNPs. */
uint64_t sim_nic_cores_idle(const struct sim_nic *nic);
const char *sim_state_name(enum sim_state state);
bool sim_nic_wants_cnps(const struct sim_report *report, const struct sim_nic *nic);
/* What a port dropped, by reason: of sw_drop_name where it is a switch's, else of nic_drop_name. */
const uint64_t *sim_port_drops(const struct sim_report *report, const struct sim_port *port);
/* Completion time over the time alone, in thousandths, rounded down; 0: either is not known. */
uint64_t sim_slowdown_milli(const struct sim_flow *flow);

#endif
