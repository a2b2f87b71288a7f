/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One point of a sweep: load, run, sum up, keep.
 *
 * A point is a text of lines, because it crosses a pipe (each point is a process, sweep_run.c) and because it is what
 * is kept under --out: points/KEY, where KEY is a hash of everything the file says after the values were replaced, of
 * the files it names, and of this very program.  So a result is found again only if nothing that made it has changed.
 * It is written beside and renamed, so that an interrupt leaves it whole or not there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "fabric/override.h"
#include "report/sim_report.h"
#include "sim/sim.h"
#include "study/sweep.h"

#define HEAD "rocelab-sweep 1"
#define WINDOWS (1u << 16)
#define KEPT_BYTES_MAX (1 << 20)

static const char *const columns[SWEEP_COLUMNS] = {
#define COLUMN(id, name, key, kind, shown, help) name,
#include "study/sweep_columns.def"
#undef COLUMN
};

int sweep_load(const struct sweep *sweep, uint32_t point, struct fabric **ret, struct fabric_errors *errors)
{
    return sweep_load_other(sweep, point, 0, NULL, ret, errors);
}

int sweep_load_other(const struct sweep *sweep, uint32_t point, uint32_t axis, const char *value, struct fabric **ret,
                     struct fabric_errors *errors)
{
    struct fabric_override override[SWEEP_AXES];

    for (uint32_t i = 0; i < sweep->grid.axes; i++)
        override[i] = (struct fabric_override){sweep->grid.axis[i].path, sweep_value(&sweep->grid, i, point)};
    if (value) override[axis].value = value;
    const struct fabric_with with = {override, sweep->grid.axes, sim_judge_nic};
    return fabric_load_with(sweep->path, sweep->text, &with, ret, errors);
}

static void print_line(FILE *to, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < 0x20 ? '?' : *text, to);
    fputc('\n', to);
}

static void print_error(FILE *to, const struct fabric_errors *errors)
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

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Nearest rank, of sorted values; `point` is of 1000. */
static uint64_t percentile(const uint64_t *value, uint32_t count, uint32_t point)
{
    if (count == 0) return SWEEP_NOTHING;
    uint64_t rank = ((uint64_t)count * point + 999) / 1000;
    return value[rank ? rank - 1 : 0];
}

static bool sum_flows(const struct sim_result *result, uint64_t *value)
{
    uint64_t *fct = calloc(result->flows + 1u, sizeof *fct), *slow = calloc(result->flows + 1u, sizeof *slow);
    uint32_t good = 0, known = 0;

    if (fct && slow) {
        for (uint32_t i = 0; i < result->flows; i++) {
            const struct sim_flow *flow = &result->flow[i];
            if (flow->fct_ps == PS_NEVER || flow->failed) continue;
            fct[good++] = flow->fct_ps;
            if (sim_slowdown_milli(flow)) slow[known++] = sim_slowdown_milli(flow);
        }
        qsort(fct, good, sizeof *fct, compare_u64);
        qsort(slow, known, sizeof *slow, compare_u64);
        value[SWEEP_FCT] = percentile(fct, good, 990);
        value[SWEEP_P50] = percentile(slow, known, 500);
        value[SWEEP_P95] = percentile(slow, known, 950);
        value[SWEEP_P99] = percentile(slow, known, 990);
        value[SWEEP_SLOWEST] = percentile(slow, known, 1000);
    }
    bool enough = fct && slow;
    free(fct);
    free(slow);
    return enough;
}

static void sum_ports(const struct sim_result *result, uint64_t *value)
{
    static const uint8_t sums[] = {SWEEP_PAUSES, SWEEP_PAUSED, SWEEP_DROPS, SWEEP_LOST,    SWEEP_MARKS,
                                   SWEEP_QUEUE,  SWEEP_CNPS,   SWEEP_AGAIN, SWEEP_TIMEOUTS};

    for (size_t i = 0; i < sizeof sums; i++)
        value[sums[i]] = 0;
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        value[SWEEP_PAUSES] += port->pauses_sent;
        value[SWEEP_PAUSED] += port->paused_ps;
        value[SWEEP_DROPS] += port->drops;
        value[SWEEP_LOST] += port->lost;
        value[SWEEP_MARKS] += port->ecn_marked;
        if (port->queue_max_bytes > value[SWEEP_QUEUE]) value[SWEEP_QUEUE] = port->queue_max_bytes;
    }
    for (uint32_t i = 0; i < result->nics; i++) {
        const struct nic_counters *counters = result->nic[i].counters;
        value[SWEEP_CNPS] += counters->np_cnp_sent;
        value[SWEEP_AGAIN] += counters->retransmitted_packets;
        value[SWEEP_TIMEOUTS] += counters->local_ack_timeout_err;
    }
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
    if (end != PS_NEVER && start != PS_NEVER) value[SWEEP_TIME] = end - start;
    bool collective = count[1] > 0;
    if (count[collective]) value[SWEEP_BUSBW] = sum[collective] / count[collective];
    for (uint32_t i = 0; i < result->trainings && value[SWEEP_STEP] == SWEEP_NOTHING; i++) {
        if (result->training[i].mean_ps == 0) continue;
        value[SWEEP_STEP] = result->training[i].mean_ps;
        value[SWEEP_EXPOSED] = result->training[i].exposed_ps;
    }
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
        print_line(to, name);
    }
}

static bool print_result(FILE *to, const struct fabric *fabric, struct sim *sim)
{
    uint64_t value[SWEEP_COLUMNS];
    struct sim_result result;

    memset(value, 0xff, sizeof value); /* SWEEP_NOTHING */
    if (sim_result(sim, &result) != 0) return false;
    bool good = sim_imbalance(sim, &result) == 0 && sum_flows(&result, value);
    if (good) {
        sum_ports(&result, value);
        sum_jobs(&result, value);
        value[SWEEP_HOPS] = result.packet_hops;
        for (uint32_t i = 0; i < result.tiers; i++)
            if (value[SWEEP_IMBALANCE] == SWEEP_NOTHING || result.tier[i].mean_milli > value[SWEEP_IMBALANCE])
                value[SWEEP_IMBALANCE] = result.tier[i].mean_milli;
        fprintf(to, "state %d\nfailed %" PRIu64 "\n", (int)result.state, result.work_failed);
        for (int i = 0; i < SWEEP_COLUMNS; i++)
            if (value[i] != SWEEP_NOTHING) fprintf(to, "value %s %" PRIu64 "\n", columns[i], value[i]);
        print_jobs(to, fabric, &result);
        fputs("end\n", to);
    }
    sim_result_free(&result);
    return good;
}

/* False: it is not worth keeping. */
static bool simulate(const struct fabric *fabric, FILE *to)
{
    const struct sim_options options = {.seed = fabric->seed, .until = PS_NEVER};
    struct fabric_errors errors = {.path = fabric->path};
    struct sim *sim = NULL;

    if (sim_create(fabric, &options, &sim, &errors) != 0) {
        print_error(to, &errors);
        return false;
    }
    while (sim_advance(sim, WINDOWS, PS_NEVER) == SIM_RUNNING)
        ;
    bool good = print_result(to, fabric, sim);
    if (!good) fputs("error not enough memory for the results\nend\n", to);
    sim_free(sim);
    return good;
}

uint64_t sweep_program_hash(void)
{
    static const char version[] = ROCELAB_VERSION;
    uint64_t hash = hash_bytes(HASH_BEGIN, version, sizeof version);
    FILE *file = fopen("/proc/self/exe", "rb");
    char part[1 << 14];
    size_t got;

    while (file && (got = fread(part, 1, sizeof part, file)) > 0)
        hash = hash_bytes(hash, part, got);
    if (file) fclose(file);
    return hash;
}

static bool kept_name(const struct sweep *sweep, uint64_t key, const char *more, char buf[4096])
{
    return sweep->out && snprintf(buf, 4096, "%s/points/%016" PRIx64 "%s", sweep->out, key, more) < 4096;
}

static char *read_kept(const char *name)
{
    FILE *file = fopen(name, "r");
    char *text = file ? calloc(1, KEPT_BYTES_MAX) : NULL;

    if (text) text[fread(text, 1, KEPT_BYTES_MAX - 1, file)] = '\0';
    if (file) fclose(file);
    return text;
}

static void keep(const struct sweep *sweep, uint64_t key, const char *text)
{
    char name[4096], beside[4096], more[32];

    snprintf(more, sizeof more, ".%ld", (long)getpid());
    if (!kept_name(sweep, key, "", name) || !kept_name(sweep, key, more, beside)) return;
    FILE *file = fopen(beside, "w");
    if (file == NULL) return;
    fputs(text, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0) failed = true;
    if (failed || rename(beside, name) != 0) unlink(beside);
}

/* The kept text of this point, if it is whole. */
static char *find_kept(const struct sweep *sweep, uint64_t key)
{
    struct sweep_row row = {0};
    char name[4096];
    char *text = kept_name(sweep, key, "", name) ? read_kept(name) : NULL;
    bool whole = text && sweep_row_parse(text, &row);

    if (whole) sweep_row_release(&row);
    if (!whole) {
        free(text);
        return NULL;
    }
    return text;
}

void sweep_point(const struct sweep *sweep, uint32_t point, FILE *to)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    char *text = NULL;
    size_t length = 0;

    if (sweep_load(sweep, point, &fabric, &errors) != 0) {
        fputs(HEAD "\n", to);
        print_error(to, &errors);
        return;
    }
    uint64_t key = (fabric->source_hash ^ sweep->program_hash) * 1099511628211u;
    char *kept = find_kept(sweep, key);
    FILE *memory = kept ? NULL : open_memstream(&text, &length);
    if (kept) {
        fprintf(to, "kept\n%s", kept);
    } else if (memory == NULL) {
        fputs(HEAD "\nerror not enough memory\nend\n", to);
    } else {
        fputs(HEAD "\n", memory);
        for (uint32_t i = 0; i < sweep->grid.axes; i++) {
            fprintf(memory, "set %s=", sweep->grid.axis[i].path);
            print_line(memory, sweep_value(&sweep->grid, i, point));
        }
        bool worth = simulate(fabric, memory);
        fclose(memory);
        if (worth) keep(sweep, key, text);
        fputs(text, to);
    }
    free(text);
    free(kept);
    fabric_free(fabric);
}

static bool parse_job(const char *line, struct sweep_row *row)
{
    struct sweep_job job = {0};
    int length = 0;

    if (sscanf(line, "job %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %n", &job.time_ps, &job.busbw_kBps, &job.runs,
               &job.ended, &length) != 4 ||
        length == 0)
        return false;
    snprintf(job.name, sizeof job.name, "%s", line + length);
    struct sweep_job *grown = realloc(row->job, (row->jobs + 1) * sizeof *grown);
    if (grown == NULL) return false;
    row->job = grown;
    row->job[row->jobs++] = job;
    return true;
}

static bool parse_value(const char *line, struct sweep_row *row)
{
    char name[32];
    uint64_t value;

    if (sscanf(line, "value %31s %" SCNu64, name, &value) != 2) return false;
    for (int i = 0; i < SWEEP_COLUMNS; i++) {
        if (strcmp(columns[i], name) != 0) continue;
        row->value[i] = value;
        return true;
    }
    return false;
}

/* 1: that was the last; 0: go on; -1: not understood. */
static int parse_line(char *line, struct sweep_row *row)
{
    if (strcmp(line, "end") == 0) return 1;
    if (strcmp(line, "kept") == 0) row->kept = true;
    if (strcmp(line, "kept") == 0 || strcmp(line, HEAD) == 0 || strncmp(line, "set ", 4) == 0) return 0;
    if (strncmp(line, "error ", 6) == 0) {
        if (row->error == NULL) row->error = strdup(line + 6);
        return row->error ? 0 : -1;
    }
    if (strncmp(line, "job ", 4) == 0) return parse_job(line, row) ? 0 : -1;
    if (strncmp(line, "value ", 6) == 0) return parse_value(line, row) ? 0 : -1;
    if (sscanf(line, "state %" SCNu32, &row->state) == 1) return 0;
    return sscanf(line, "failed %" SCNu64, &row->failed) == 1 ? 0 : -1;
}

bool sweep_row_parse(const char *text, struct sweep_row *ret)
{
    struct sweep_row row = {.there = true};
    char line[1024];
    int last = 0;

    memset(row.value, 0xff, sizeof row.value); /* SWEEP_NOTHING */
    while (last == 0 && *text) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        last = text[length] == '\0' ? -1 : parse_line(line, &row);
        text += length + (text[length] != '\0');
    }
    if (last != 1) {
        sweep_row_release(&row);
        return false;
    }
    *ret = row;
    return true;
}

void sweep_row_release(struct sweep_row *row)
{
    free(row->error);
    free(row->job);
    *row = (struct sweep_row){0};
}
