/* SPDX-License-Identifier: Apache-2.0 */
/* nccl-tests, as text and as JSON (-J): of the largest size the time and the bus bandwidth; of all sizes the values
 * that were wrong; where ranks run. */
#include <ctype.h>
#include <string.h>

#include "evidence/read/gpu/gpu.h"

#define COLUMNS 32

struct tests_state {
    const char *program;
    uint32_t job;              /* plus one */
    bool titled;               /* which NCCL, which sizes: one of the two was seen */
    uint8_t size, time, busbw; /* columns; time 0: the titles were not seen */
    uint8_t wrong[2];          /* columns: out of place, in place; 0: there is none */
    uint64_t largest;
    uint64_t wrongs; /* of all sizes */
};

/* The collective in "all_reduce_perf", "alltoall-64.txt", as jobs of a fabric file are called; NULL: none is named. */
static const char *collective_in(const char *text)
{
    static const char *const names[] = {"allreduce", "allgather", "reducescatter", "alltoall", "broadcast",
                                        "sendrecv",  "gather",    "scatter",       "reduce"};
    char plain[256];
    size_t length = 0;

    for (; *text && length + 1 < sizeof plain; text++)
        if (*text != '_' && *text != '-') plain[length++] = (char)tolower((unsigned char)*text);
    plain[length] = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(plain, names[i])) return names[i];
    return NULL;
}

/* Where the output does not say it the file's name may. */
static const char *collective_of_file(const struct reading *in)
{
    const char *path = in->source.file < in->evidence->files ? in->evidence->file[in->source.file] : "";
    const char *slash = strrchr(path, '/');

    return collective_in(slash ? slash + 1 : path);
}

static uint32_t tests_job(struct reading *in)
{
    struct tests_state *state = (struct tests_state *)in->state;

    if (state->job) return state->job - 1;
    uint32_t job = gpu_test(in, "nccl-tests", state->program ? state->program : collective_of_file(in));
    if (job != EVIDENCE_NONE) state->job = job + 1;
    return job;
}

static void tests_rank(struct reading *in, uint64_t number, const struct text_field *host)
{
    uint32_t job = tests_job(in);

    if (number >= UINT32_MAX || gpu_rank(in, job, number, gpu_host_named(in, host)) == EVIDENCE_NONE) return;
    if (evidence_get(in->evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_RANKS) < number + 1)
        gpu_set(in, job, EVIDENCE_RANKS, number + 1);
}

static void tests_result(struct reading *in, uint64_t size, double time_us, double busbw_gbs)
{
    uint32_t job = tests_job(in);

    if (time_us > 0) gpu_set_real(in, job, EVIDENCE_JOB_NS, time_us * 1e3);
    if (busbw_gbs > 0) gpu_set_real(in, job, EVIDENCE_BUSBW, busbw_gbs * 1e9);
    if (busbw_gbs > 0) gpu_set(in, job, EVIDENCE_MESSAGE_BYTES, size);
}

/* Of one size, one way; it counts where it was checked. */
static void tests_wrong(struct reading *in, struct tests_state *state, double wrong)
{
    uint32_t job = tests_job(in);
    uint64_t more = wrong > 0 && wrong < 1e18 ? (uint64_t)wrong : 0;

    state->wrongs += more;
    if (more || !evidence_find(in->evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_WRONG_VALUES))
        gpu_set(in, job, EVIDENCE_WRONG_VALUES, state->wrongs); /* its line is the last one with some */
}

/* --- text --- */

static bool is_titles(const char *line)
{
    return line_has(line, "algbw") && line_has(line, "busbw") && line_has(line, "size");
}

/* Lines that an output begins with, in this order; older versions have the second alone. */
static bool is_begin(const char *line)
{
    return line_begins(line, "#") &&
           (line_has(line, "nccl-tests version") || (line_has(line, "nThread") && line_has(line, "minBytes")));
}

static bool tests_head(const char *line)
{
    return is_begin(line) || (line_begins(line, "#") && is_titles(line));
}

/* Another output after one that is at its end, or has results. */
static void tests_begin(struct tests_state *state, const char *line)
{
    if (state->titled && (state->job || line_has(line, "nccl-tests version"))) *state = (struct tests_state){0};
    state->titled = true;
}

/* The first of each title is out of place; in place comes behind. */
static void tests_titles(struct tests_state *state, const char *line)
{
    struct text_field field[COLUMNS];
    size_t count = field_split(line, field, COLUMNS), first = 0;

    state->size = state->time = state->busbw = state->wrong[0] = state->wrong[1] = 0;
    if (count && field_is(&field[0], "#")) first = 1;
    for (size_t i = first; i < count && i < COLUMNS; i++) {
        uint8_t at = (uint8_t)(i - first);
        if (field_is(&field[i], "size") || field_is(&field[i], "#size")) state->size = at;
        if (field_is(&field[i], "time") && !state->time) state->time = at;
        if (field_is(&field[i], "busbw") && !state->busbw) state->busbw = at;
        if (field_is(&field[i], "#wrong")) state->wrong[state->wrong[0] != 0] = at;
    }
}

/* "#  Rank  0 Group  0 Pid   6899 on node-1 device  0 [0000:04:00] NVIDIA ..." */
static bool tests_devices(struct reading *in, const char *line)
{
    struct text_field field[COLUMNS];
    size_t count = field_split(line, field, COLUMNS), at = 0;
    uint64_t rank;

    while (at < count && at < COLUMNS && !field_is(&field[at], "Rank"))
        at++;
    if (at + 1 >= count || at + 1 >= COLUMNS || !field_number(&field[at + 1], &rank)) return false;
    for (at += 2; at + 1 < count && at + 1 < COLUMNS; at++) {
        if (!field_is(&field[at], "on")) continue;
        tests_rank(in, rank, &field[at + 1]);
        return true;
    }
    return false;
}

/* "# Out of bounds values : 3 FAILED": where the columns do not say which. */
static bool tests_bounds(struct reading *in, struct tests_state *state, const char *line)
{
    const char *at = line + strcspn(line, ":");
    struct text_field number;
    double wrong;

    if (!state->wrongs && line_has(line, "FAILED") && field_split(at + (*at == ':'), &number, 1) &&
        field_real(&number, &wrong))
        tests_wrong(in, state, wrong);
    return true;
}

static bool tests_line(struct reading *in, const char *line)
{
    struct tests_state *state = (struct tests_state *)in->state;
    struct text_field field[COLUMNS];
    uint64_t size;
    double time = 0, busbw = 0, wrong;

    if (is_titles(line)) {
        tests_titles(state, line);
        return true;
    }
    if (is_begin(line)) {
        tests_begin(state, line);
        return true;
    }
    if (line_begins(line, "#") && line_has(line, "Collective test starting")) {
        state->program = collective_in(line + strcspn(line, ":"));
        return true;
    }
    if (line_begins(line, "# Out of bounds values") && state->job) return tests_bounds(in, state, line);
    if (line_begins(line, "#")) return tests_devices(in, line);
    size_t count = field_split(line, field, COLUMNS);
    if (!state->time || !state->busbw) return false;
    if (count <= state->size || count <= state->busbw || count <= state->time) return false;
    if (!field_number(&field[state->size], &size) || !field_real(&field[state->busbw], &busbw)) return false;
    for (size_t i = 0; i < 2; i++) /* "N/A": not checked */
        if (state->wrong[i] && count > state->wrong[i] && field_real(&field[state->wrong[i]], &wrong))
            tests_wrong(in, state, wrong);
    if (size < state->largest) return false;
    field_real(&field[state->time], &time);
    state->largest = size;
    tests_result(in, size, time, busbw);
    return true;
}

const struct text_reader reader_nccl_tests = {
    .kind = "nccl-tests", .what = "nccl-tests", .head = tests_head, .line = tests_line};

/* --- JSON --- */

static bool is_tests_json(const struct json *root)
{
    const struct json *results = json_get(root, "results");

    return results && results->type == JSON_ARRAY &&
           (json_get(results->child, "out_of_place") || json_get(results->child, "in_place"));
}

static void read_tests_json(struct reading *in, const struct json *root)
{
    const struct json *results = json_get(root, "results"), *devices = json_get(root, "devices");
    struct tests_state *state = (struct tests_state *)in->state;
    uint64_t largest = 0, number = 0;

    for (const struct json *device = devices ? devices->child : NULL; device; device = device->next, number++) {
        struct text_field host = member_text(device, "hostname");
        uint64_t rank = number;
        json_u64(json_get(device, "rank"), &rank);
        if (host.length) tests_rank(in, rank, &host);
    }
    for (const struct json *result = results->child; result; result = result->next) {
        uint64_t size = member_u64(result, "size");
        const struct json *run = json_get(result, "out_of_place");
        if (!run || run->type != JSON_OBJECT) run = json_get(result, "in_place");
        in->source.line = result->line;
        for (size_t i = 0; i < 2; i++) {
            double wrong;
            if (json_real(json_get(json_get(result, i ? "in_place" : "out_of_place"), "nwrong"), &wrong))
                tests_wrong(in, state, wrong);
        }
        if (size < largest || !(member_real(run, "bus_bw") > 0)) continue;
        largest = size;
        tests_result(in, size, member_real(run, "time"), member_real(run, "bus_bw"));
    }
}

const struct json_reader reader_nccl_tests_json = {"nccl-tests-json", "nccl-tests -J", is_tests_json, read_tests_json};
