/* SPDX-License-Identifier: Apache-2.0 */
/* perftest (ib_write_bw, ib_send_lat and others): bandwidth or latency of the largest message. */
#include <stdio.h>
#include <string.h>

#include "evidence/read/gpu/gpu.h"

#define COLUMNS 16

struct perftest_state {
    const char *program;
    uint32_t job; /* plus one */
    double scale; /* of the bandwidth, to bytes a second; 0: it is a latency */
    uint8_t at;   /* column of the average; of a latency of the median, which one late message does not move */
    bool known;
    uint64_t largest;
};

static bool is_table(const char *line)
{
    return line_begins(line, "#bytes") && line_has(line, "#iterations");
}

/* "RDMA_Write BW Test", "Send Latency Test", "RDMA_Write Bidirectional BW Test": the program; NULL: no title. */
static const char *title_of(const char *line)
{
    static const struct {
        const char *words, *bandwidth, *both, *latency;
    } titles[] = {{"RDMA_Write", "ib_write_bw", "ib_write_bw both ways", "ib_write_lat"},
                  {"RDMA_Read", "ib_read_bw", "ib_read_bw both ways", "ib_read_lat"},
                  {"Send", "ib_send_bw", "ib_send_bw both ways", "ib_send_lat"},
                  {"Atomic", "ib_atomic_bw", "ib_atomic_bw both ways", "ib_atomic_lat"}};

    if (!line_has(line, " Test")) return NULL;
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (!line_begins(line, titles[i].words)) continue;
        if (line_has(line, " Latency ")) return titles[i].latency;
        if (line_has(line, " BW ")) return line_has(line, "Bidirectional") ? titles[i].both : titles[i].bandwidth;
    }
    return NULL;
}

static bool perftest_head(const char *line)
{
    return is_table(line) || title_of(line);
}

/* Titles have blanks in them: columns are counted by what ends a title. */
static void perftest_titles(struct perftest_state *state, const char *line)
{
    const char *unit = strstr(line, "BW average["), *typical = strstr(line, "t_typical[");
    const char *latency = typical ? typical : strstr(line, "t_avg["); /* of -D there is no median */
    struct text_field field[COLUMNS];
    size_t count, at = 0;

    *state = (struct perftest_state){.program = state->program};
    if (unit) { /* #bytes (of QoS: #sl) #iterations BW peak[] BW average[] MsgRate[] */
        unit += strlen("BW average[");
        state->scale = !strncmp(unit, "Gb/sec", 6)    ? 1e9 / 8
                       : !strncmp(unit, "MiB/sec", 7) ? 1048576.0
                       : !strncmp(unit, "MB/sec", 6)  ? 1e6
                                                      : 0;
        state->at = strstr(line, "#sl") ? 4 : 3;
        state->known = state->scale > 0;
        return;
    }
    if (!latency) return;
    count = field_split(line, field, COLUMNS);
    for (size_t i = 0; i < count && i < COLUMNS; i++, at++)
        if (field[i].at == latency) state->at = (uint8_t)at, state->known = true;
}

static uint32_t perftest_job(struct reading *in)
{
    struct perftest_state *state = (struct perftest_state *)in->state;
    char name[160] = "perftest";

    if (state->job) return state->job - 1;
    if (in->device != EVIDENCE_NONE)
        snprintf(name, sizeof name, "perftest on %s", in->evidence->object[in->device].name);
    uint32_t job = gpu_test(in, name, state->program);
    if (job == EVIDENCE_NONE) return job;
    in->evidence->object[job].host = in->device;
    state->job = job + 1;
    return job;
}

static bool perftest_line(struct reading *in, const char *line)
{
    struct perftest_state *state = (struct perftest_state *)in->state;
    struct text_field field[COLUMNS];
    uint64_t bytes;
    double value;

    if (is_table(line)) {
        perftest_titles(state, line);
        return true;
    }
    if (title_of(line)) {
        *state = (struct perftest_state){.program = title_of(line)};
        return true;
    }
    size_t count = field_split(line, field, COLUMNS);
    if (!state->known || count <= state->at || state->at >= COLUMNS || !field_number(&field[0], &bytes)) return false;
    if (bytes < state->largest || !field_real(&field[state->at], &value) || !(value > 0)) return false;
    state->largest = bytes;
    uint32_t job = perftest_job(in);
    if (state->scale > 0)
        gpu_set_real(in, job, EVIDENCE_BUSBW, value * state->scale);
    else
        gpu_set_real(in, job, EVIDENCE_JOB_NS, value * 1e3);
    gpu_set(in, job, EVIDENCE_MESSAGE_BYTES, bytes);
    return true;
}

const struct text_reader reader_perftest = {.kind = "perftest",
                                            .what = "perftest: ib_write_bw, ib_send_lat, ...",
                                            .head = perftest_head,
                                            .line = perftest_line};
