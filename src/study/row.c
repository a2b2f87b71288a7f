/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One simulation: run to its end, summed up, and as a text of lines: because it crosses a pipe (each run is a process,
 * pool.c) and because it is what is kept under --out (cache.c).
 */
#include "study/row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "config/bom.h"
#include "fabric/fabric.h"
#include "report/sim_report.h"
#include "study/small.h"

#define WINDOWS (1u << 16)

const struct measure_info measure_infos[MEASURES] = {
#define MEASURE(id, name, key, kind, shown, help) {name, key, MEASURE_KIND_##kind, shown, help},
#include "study/measures.def"
#undef MEASURE
};

void row_print_line(FILE *to, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < 0x20 ? '?' : *text, to);
    fputc('\n', to);
}

void row_print_error(FILE *to, const struct fabric_errors *errors)
{
    const struct fabric_error *error = &errors->error[0];

    fputs("error ", to);
    if (errors->count == 0) {
        fputs("not enough memory", to);
    } else {
        if (error->at.line) fprintf(to, "%s:%u:%u: ", errors->path, error->at.line, error->at.column);
        fputs(error->text, to); /* has no control characters */
    }
    if (errors->count + errors->more > 1) fprintf(to, " (and %u more)", errors->count + errors->more - 1);
    fputs("\nend\n", to);
}

int row_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

uint64_t row_percentile(const uint64_t *value, uint32_t count, uint32_t point)
{
    if (count == 0) return MEASURE_NOTHING;
    uint64_t rank = ((uint64_t)count * point + 999) / 1000;
    return value[rank ? rank - 1 : 0];
}

static bool sum_flows(const struct sim_result *result, uint64_t *value)
{
    uint64_t *fct = calloc((size_t)result->flows + result->jobs + 1u, sizeof *fct);
    uint64_t *slow = calloc(result->flows + 1u, sizeof *slow);
    uint32_t good = 0, known = 0;

    if (fct && slow) {
        for (uint32_t i = 0; result->flows == 0 && i < result->jobs; i++)
            if (result->job[i].end != PS_NEVER && !result->job[i].failed)
                fct[good++] = result->job[i].end - result->job[i].start;
        for (uint32_t i = 0; i < result->flows; i++) {
            const struct sim_flow *flow = &result->flow[i];
            if (flow->fct_ps == PS_NEVER || flow->failed) continue;
            fct[good++] = flow->fct_ps;
            if (sim_slowdown_milli(flow)) slow[known++] = sim_slowdown_milli(flow);
        }
        qsort(fct, good, sizeof *fct, row_compare);
        qsort(slow, known, sizeof *slow, row_compare);
        value[MEASURE_FCT50] = row_percentile(fct, good, 500);
        value[MEASURE_FCT] = row_percentile(fct, good, 990);
        value[MEASURE_FCT999] = row_percentile(fct, good, 999);
        value[MEASURE_P50] = row_percentile(slow, known, 500);
        value[MEASURE_P95] = row_percentile(slow, known, 950);
        value[MEASURE_P99] = row_percentile(slow, known, 990);
        value[MEASURE_SLOWEST] = row_percentile(slow, known, 1000);
    }
    bool enough = fct && slow;
    free(fct);
    free(slow);
    return enough;
}

/* Ports of a switch follow each other. */
static void sum_buffers(const struct fabric *fabric, const struct sim_result *result, uint64_t *value)
{
    uint64_t held = 0;
    uint32_t node = UINT32_MAX;

    value[MEASURE_BUFFER] = 0;
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        if (port->sw == NULL) continue;
        if (fabric->port[port->port].node != node) held = 0;
        node = fabric->port[port->port].node;
        for (int p = 0; p < FABRIC_PRIOS; p++)
            held += port->sw->prio[p].pg_max_bytes;
        if (held > value[MEASURE_BUFFER]) value[MEASURE_BUFFER] = held;
    }
}

/* Of any transport. */
static uint64_t messages_in(const struct sim_nic *nic)
{
    uint64_t messages = nic->counters ? nic->counters->rx_write_requests + nic->counters->rx_send_requests : 0;

    if (nic->has_tcp) messages += nic->tcp.in_messages;
    if (nic->has_uet) messages += nic->uet.messages_received;
    return messages;
}

static void sum_ports(const struct sim_result *result, uint64_t *value)
{
    static const uint8_t sums[] = {MEASURE_PAUSES,  MEASURE_PAUSED,  MEASURE_DROPS, MEASURE_LOST, MEASURE_MARKS,
                                   MEASURE_QUEUE,   MEASURE_CNPS,    MEASURE_AGAIN, MEASURE_HELD, MEASURE_TIMEOUTS,
                                   MEASURE_TRIMMED, MEASURE_PAYLOAD, MEASURE_LINE,  MEASURE_CPU,  MEASURE_CREDITS,
                                   MEASURE_CPU_RX,  MEASURE_MESSAGES};

    for (size_t i = 0; i < sizeof sums; i++)
        value[sums[i]] = 0;
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        value[MEASURE_PAUSES] += port->pauses_sent;
        value[MEASURE_CREDITS] += port->credits_sent;
        value[MEASURE_PAUSED] += port->paused_ps;
        value[MEASURE_DROPS] += port->drops;
        value[MEASURE_LOST] += port->lost;
        value[MEASURE_MARKS] += port->ecn_marked;
        if (port->sw == NULL) value[MEASURE_LINE] += port->line_bytes;
        if (port->queue_max_bytes > value[MEASURE_QUEUE]) value[MEASURE_QUEUE] = port->queue_max_bytes;
    }
    for (uint32_t i = 0; i < result->nics; i++) {
        const struct sim_nic *nic = &result->nic[i];
        if (nic->counters) value[MEASURE_CNPS] += nic->counters->np_cnp_sent;
        value[MEASURE_AGAIN] += nic->common.retransmitted_packets;
        value[MEASURE_TIMEOUTS] += nic->common.timeouts;
        value[MEASURE_PAYLOAD] += nic->common.rx_payload_bytes;
        value[MEASURE_TRIMMED] += nic->common.trimmed;
        value[MEASURE_HELD] += nic->common.held_ps;
        uint64_t messages = messages_in(nic);
        if (messages > value[MEASURE_MESSAGES]) value[MEASURE_MESSAGES] = messages;
        if (!nic->has_tcp) continue;
        value[MEASURE_CPU] += nic->tcp.cpu_wait_ps;
        if (nic->tcp.cpu_receive_wait_ps > value[MEASURE_CPU_RX]) value[MEASURE_CPU_RX] = nic->tcp.cpu_receive_wait_ps;
    }
    if (value[MEASURE_LINE] >= value[MEASURE_PAYLOAD] && value[MEASURE_LINE] > 0)
        value[MEASURE_OVERHEAD] =
            (uint64_t)((u128)(value[MEASURE_LINE] - value[MEASURE_PAYLOAD]) * 1000000 / value[MEASURE_LINE]);
}

static void sum_sharp(const struct sim_result *result, uint64_t *value)
{
    uint64_t sum = 0, count = 0;

    for (uint32_t i = 0; i < result->jobs; i++) {
        if (result->job[i].sharp_ps == PS_NEVER) continue;
        sum += result->job[i].sharp_ps;
        count++;
    }
    if (count) value[MEASURE_SHARP] = sum / count;
}

/* Time of all, and bandwidth: of collectives, or of all where there is none. */
static void sum_jobs(const struct sim_result *result, uint64_t *value)
{
    uint64_t sum[2] = {0, 0}, count[2] = {0, 0};
    ps_t start = PS_NEVER, end = 0;

    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (job->start < start) start = job->start;
        if (job->end > end) end = job->end; /* PS_NEVER is the largest */
        if (job->end == PS_NEVER) continue;
        sum[job->collective] += sim_bandwidth_kBps(job, true);
        count[job->collective]++;
    }
    if (end != PS_NEVER && start != PS_NEVER) value[MEASURE_TIME] = end - start;
    sum_sharp(result, value);
    bool collective = count[1] > 0;
    if (count[collective]) value[MEASURE_BUSBW] = sum[collective] / count[collective];
    for (uint32_t i = 0; i < result->trainings && value[MEASURE_STEP] == MEASURE_NOTHING; i++) {
        if (result->training[i].mean_ps == 0) continue;
        value[MEASURE_STEP] = result->training[i].mean_ps;
        value[MEASURE_EXPOSED] = result->training[i].exposed_ps;
        value[MEASURE_IDLE] = result->training[i].idle_ppm;
    }
}

static void print_slices(FILE *to, const struct fabric *fabric)
{
    char slices[SIM_SLICES];

    if (sim_slices(fabric, slices, sizeof slices)[0] == '\0') return;
    fputs("slices ", to);
    row_print_line(to, slices);
}

/* A line a job of the file; its repetitions follow each other in the result or not. */
static void print_jobs(FILE *to, const struct fabric *fabric, const struct sim_result *result)
{
    for (uint32_t j = 0; j < fabric->jobs; j++) {
        uint64_t time = 0, rate = 0;
        uint32_t runs = 0, ended = 0;
        const char *name = NULL;
        for (uint32_t i = 0; i < result->jobs; i++) {
            const struct sim_job *job = &result->job[i];
            if (job->job != j) continue;
            name = job->name;
            runs++;
            if (job->end == PS_NEVER) continue;
            ended++;
            time += job->end - job->start;
            rate += sim_bandwidth_kBps(job, true);
        }
        if (runs == 0) continue;
        fprintf(to, "job %" PRIu64 " %" PRIu64 " %u %u ", ended ? time / ended : 0, ended ? rate / ended : 0, runs,
                ended);
        row_print_line(to, name);
    }
}

static bool sum_parts(const struct fabric *fabric, uint64_t *value)
{
    struct bom bom;

    if (bom_make(fabric, &bom) != 0) return false;
    value[MEASURE_WATTS] = bom.watt_milli;
    value[MEASURE_USD] = bom.usd_milli;
    bom_release(&bom);
    return true;
}

bool row_print(FILE *to, const struct fabric *fabric, const struct sim_result *result)
{
    uint64_t value[MEASURES];

    memset(value, 0xff, sizeof value); /* MEASURE_NOTHING */
    if (!sum_flows(result, value) || !sum_parts(fabric, value)) return false;
    sum_ports(result, value);
    sum_buffers(fabric, result, value);
    sum_jobs(result, value);
    value[MEASURE_HOPS] = result->packet_hops;
    for (uint32_t i = 0; i < result->tiers; i++)
        if (value[MEASURE_IMBALANCE] == MEASURE_NOTHING || result->tier[i].mean_milli > value[MEASURE_IMBALANCE])
            value[MEASURE_IMBALANCE] = result->tier[i].mean_milli;
    fprintf(to, "state %d\nfailed %" PRIu64 "\n", (int)result->state, result->work_failed);
    for (int i = 0; i < MEASURES; i++)
        if (value[i] != MEASURE_NOTHING) fprintf(to, "value %s %" PRIu64 "\n", measure_infos[i].name, value[i]);
    print_slices(to, fabric);
    print_jobs(to, fabric, result);
    return row_print_classes(to, fabric, result);
}

bool row_print_result(FILE *to, const struct fabric *fabric, struct sim *sim)
{
    struct sim_result result;

    if (sim_result(sim, &result) != 0) return false;
    bool good = sim_imbalance(sim, &result) == 0 && row_print(to, fabric, &result);
    sim_result_free(&result);
    return good;
}

static void print_small(const struct fabric *fabric, const struct sim_options *options, FILE *to)
{
    ps_t small, small4k;

    if (!small_messages(fabric, options, &small, &small4k)) return;
    fprintf(to, "value %s %" PRIu64 "\nvalue %s %" PRIu64 "\n", measure_infos[MEASURE_SMALL].name, small,
            measure_infos[MEASURE_SMALL4K].name, small4k);
}

bool row_simulate(const struct fabric *fabric, const struct sim_options *options, bool small, FILE *to)
{
    struct fabric_errors errors = {.path = fabric->path};
    struct sim *sim = NULL;

    if (sim_create(fabric, options, &sim, &errors) != 0) {
        row_print_error(to, &errors);
        return false;
    }
    while (sim_advance(sim, WINDOWS, PS_NEVER) == SIM_RUNNING)
        ;
    fprintf(to, "seed %" PRIu64 "\n", options->seed);
    bool good = row_print_result(to, fabric, sim);
    if (good && small) print_small(fabric, options, to);
    fputs(good ? "end\n" : "error not enough memory for the results\nend\n", to);
    sim_free(sim);
    return good;
}

static bool add_job(struct row *row, struct row_job job, const char *name)
{
    snprintf(job.name, sizeof job.name, "%s", name);
    struct row_job *grown = realloc(row->job, (row->jobs + 1) * sizeof *grown);
    if (grown == NULL) return false;
    row->job = grown;
    row->job[row->jobs++] = job;
    return true;
}

static bool parse_job(const char *line, struct row *row)
{
    struct row_job job = {.exit = -1};
    int length = 0;

    if (sscanf(line, "job %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %n", &job.time_ps, &job.busbw_kBps, &job.runs,
               &job.ended, &length) != 4 ||
        length == 0)
        return false;
    return add_job(row, job, line + length);
}

static bool parse_program(const char *line, struct row *row)
{
    struct row_job job = {.program = true, .runs = 1};
    int length = 0;

    if (sscanf(line, "program %" SCNu64 " %" SCNu32 " %d %n", &job.time_ps, &job.ended, &job.exit, &length) != 3 ||
        length == 0)
        return false;
    return add_job(row, job, line + length);
}

static bool parse_value(const char *line, struct row *row)
{
    char name[32];
    uint64_t value;

    if (sscanf(line, "value %31s %" SCNu64, name, &value) != 2) return false;
    for (int i = 0; i < MEASURES; i++) {
        if (strcmp(measure_infos[i].name, name) != 0) continue;
        row->value[i] = value;
        return true;
    }
    return false;
}

/* 1: that was the last; 0: go on; -1: not understood. */
static int parse_line(char *line, struct row *row)
{
    if (strcmp(line, "end") == 0) return 1;
    if (strncmp(line, "set ", 4) == 0) return 0;
    if (strncmp(line, "error ", 6) == 0) {
        if (row->error == NULL) row->error = strdup(line + 6);
        return row->error ? 0 : -1;
    }
    if (strncmp(line, "slices ", 7) == 0) {
        if (row->slices == NULL) row->slices = strdup(line + 7);
        return row->slices ? 0 : -1;
    }
    if (strncmp(line, "job ", 4) == 0) return parse_job(line, row) ? 0 : -1;
    if (strncmp(line, "class ", 6) == 0) return row_parse_class(line, row) ? 0 : -1;
    if (strncmp(line, "program ", 8) == 0) return parse_program(line, row) ? 0 : -1;
    if (strncmp(line, "value ", 6) == 0) return parse_value(line, row) ? 0 : -1;
    if (sscanf(line, "seed %" SCNu64, &row->seed) == 1) return 0;
    if (sscanf(line, "state %" SCNu32, &row->state) == 1) return 0;
    return sscanf(line, "failed %" SCNu64, &row->failed) == 1 ? 0 : -1;
}

bool row_parse(const char *text, struct row *ret)
{
    struct row row = {.there = true};
    char line[1024];
    int last = 0;

    memset(row.value, 0xff, sizeof row.value); /* MEASURE_NOTHING */
    while (last == 0 && *text) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        last = text[length] == '\0' ? -1 : parse_line(line, &row);
        text += length + (text[length] != '\0');
    }
    if (last != 1) {
        row_release(&row);
        return false;
    }
    *ret = row;
    return true;
}

void row_release(struct row *row)
{
    free(row->error);
    free(row->slices);
    free(row->job);
    free(row->of_class);
    *row = (struct row){0};
}

bool row_ended(const struct row *row)
{
    for (uint32_t i = 0; i < row->jobs; i++)
        if (row->job[i].program && (row->job[i].ended == 0 || row->job[i].exit > 0)) return false;
    return !row->error && row->failed == 0 && (row->state == SIM_DONE || row->state == SIM_UNTIL);
}
