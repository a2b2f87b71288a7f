/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fabric file and prints what came out, a line a fact: drive FILE [seed=N] [threads=N] [until=PS] [no_tiles=1]
 * [flows=1] [ports=1] [events=1].  For the tests that look at whole runs, and for timing the engine without the command
 * line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabric/fabric.h"
#include "load/load.h"
#include "record/event.h"
#include "sim/sim.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t option(int argc, char **argv, const char *name, uint64_t otherwise)
{
    size_t length = strlen(name);

    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
            return strtoull(argv[i] + length + 1, NULL, 10);
    return otherwise;
}

/* Who paused whom, and who waits for ever. */
static void print_pauses(const struct fabric *fabric, const struct sim_result *result)
{
    char name[FABRIC_NAME], cause[FABRIC_NAME];

    for (uint32_t i = 0; i < result->pauses; i++) {
        const struct sim_pause *pause = &result->pause[i];
        printf("pause %s priority %u cause %s count %" PRIu64 " time %" PRIu64 " passed_on %" PRIu64 "\n",
               fabric_port_name(fabric, pause->port, name), pause->priority,
               pause->cause == UINT32_MAX ? "itself" : fabric_port_name(fabric, pause->cause, cause), pause->count,
               pause->time_ps, pause->passed_on_ps);
    }
    for (uint32_t i = 0; i < result->deadlocks; i++) {
        const struct sim_deadlock *deadlock = &result->deadlock[i];
        printf("deadlock closed %" PRIu64 " seen %" PRIu64 " ended %" PRIu64 " stuck %u:", deadlock->closed,
               deadlock->seen, deadlock->ended, deadlock->stuck);
        for (uint32_t w = 0; w < deadlock->waits; w++)
            printf(" %s/%u", fabric_port_name(fabric, deadlock->wait[w].port, name), deadlock->wait[w].priority);
        printf("\n");
    }
    if (result->failure.at != PS_NEVER)
        printf("failure at %" PRIu64 " %u to %u qp %u retries %d reachable %d\n", result->failure.at,
               result->failure.src, result->failure.dst, result->failure.qpn, result->failure.retries,
               result->failure.reachable);
}

static void print_result(const struct fabric *fabric, const struct sim_result *result, bool flows, bool ports)
{
    static const char *const states[] = {"running", "done", "until", "stuck", "deadlock"};
    uint64_t drops = 0, pauses = 0, marks = 0, cnps = 0, again = 0, timeouts = 0, naks = 0;
    char name[FABRIC_NAME];

    for (uint32_t i = 0; i < result->ports; i++) {
        drops += result->port[i].drops;
        pauses += result->port[i].pauses_sent;
        marks += result->port[i].ecn_marked;
    }
    for (uint32_t i = 0; i < result->nics; i++) {
        if (result->nic[i].counters) cnps += result->nic[i].counters->np_cnp_sent;
        again += result->nic[i].common.retransmitted_packets;
        timeouts += result->nic[i].common.timeouts;
        naks += result->nic[i].common.nacks;
    }
    printf("state %s\nvirtual_ps %" PRIu64 "\npacket_hops %" PRIu64 "\ndigest %016" PRIx64 "\nwindows %" PRIu64
           "\nwindow_ps %" PRIu64 "\ngreat_window_ps %" PRIu64 "\n",
           states[result->state], result->virtual_ps, result->packet_hops, result->digest, result->windows,
           result->window_ps, result->great_window_ps);
    printf("live %" PRIu64 "\non_wire %" PRIu64 "\npeak %" PRIu64 "\ndrops %" PRIu64 "\npauses %" PRIu64
           "\nmarks %" PRIu64 "\ncnps %" PRIu64 "\nretransmitted %" PRIu64 "\ntimeouts %" PRIu64 "\nnaks %" PRIu64
           "\nfailed %" PRIu64 "\n",
           result->packets_live, result->packets_on_links, result->packets_peak, drops, pauses, marks, cnps, again,
           timeouts, naks, result->work_failed);
    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (i < 20 || flows)
            printf("job %s %u ranks %u bytes %" PRIu64 " start %" PRIu64 " end %" PRIu64 "\n", job->name,
                   job->repetition, job->ranks, job->bytes, job->start, job->end);
    }
    for (uint32_t i = 0; flows && i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        printf("flow %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", flow->id, flow->src, flow->dst,
               flow->bytes, flow->start, flow->fct_ps, flow->ideal_ps);
    }
    for (uint32_t i = 0; ports && i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        printf("port %s util %u frames %" PRIu64 " pauses %" PRIu64 " %" PRIu64 " paused_ps %" PRIu64 " marks %" PRIu64
               " queue %" PRIu64 " drops %" PRIu64 " lost %" PRIu64 "\n",
               fabric_port_name(fabric, port->port, name), port->utilisation_ppm, port->frames, port->pauses_sent,
               port->pauses_received, port->paused_ps, port->ecn_marked, port->queue_max_bytes, port->drops,
               port->lost);
    }
    print_pauses(fabric, result);
}

/* All of them in their order, in one number. */
static void print_events(const struct record_log *log)
{
    uint64_t digest = 0;

    for (uint64_t i = 0; i < log->count; i++) {
        uint64_t word[sizeof(log->event[i]) / sizeof(uint64_t)];
        memcpy(word, &log->event[i], sizeof(word));
        for (size_t w = 0; w < sizeof(word) / sizeof(word[0]); w++)
            digest = (digest ^ word[w]) * UINT64_C(0x9e3779b97f4a7c15) + (digest >> 29);
    }
    printf("events %" PRIu64 " lost %" PRIu64 " digest %016" PRIx64 "\n", log->count, log->lost, digest);
}

int main(int argc, char **argv)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    struct sim *sim = NULL;
    struct sim_result result;
    struct record_log log = {.most = UINT64_MAX};

    if (argc < 2) return 2;
    double begin = seconds();
    if (fabric_load(argv[1], NULL, &fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        return 2;
    }
    struct sim_options options = {.seed = option(argc, argv, "seed", 1),
                                  .threads = (uint32_t)option(argc, argv, "threads", 1),
                                  .until = option(argc, argv, "until", PS_NEVER),
                                  .no_tiles = option(argc, argv, "no_tiles", 0) != 0,
                                  .keep_going = option(argc, argv, "keep_going", 0) != 0};
    if (option(argc, argv, "events", 0)) {
        options.events = &log;
        options.event_kinds = UINT32_MAX;
    }
    errors.path = argv[1];
    if (sim_create(fabric, &options, &sim, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fabric_free(fabric);
        return 2;
    }
    double start = seconds();
    while (sim_advance(sim, 1000000, PS_NEVER) == SIM_RUNNING) {
    }
    double end = seconds();
    int error = sim_result(sim, &result);
    if (error == 0) {
        print_result(fabric, &result, option(argc, argv, "flows", 0) != 0, option(argc, argv, "ports", 0) != 0);
        if (options.events) print_events(&log);
        sim_audit(sim);
        fprintf(stderr, "setup %.3f s, run %.3f s, %.2f M hops/s, memory %.0f MB\n", start - begin, end - start,
                (double)result.packet_hops / (end - start) / 1e6, (double)sim_memory_bytes(sim) / 1e6);
        sim_result_free(&result);
    }
    sim_free(sim);
    record_log_free(&log);
    fabric_free(fabric);
    return error ? 2 : 0;
}
