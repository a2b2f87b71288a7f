/* SPDX-License-Identifier: Apache-2.0 */
/* perftest (ib_write_bw, ib_send_lat and others): bandwidth or latency of the largest message. */
#include <stdio.h>
#include <string.h>

#include "evidence/read/gpu/gpu.h"

#define COLUMNS 16

struct perftest_state {
    double scale; /* of the bandwidth, to bytes a second; 0: it is a latency */
    uint8_t at;   /* column of the average */
    bool known;
    uint64_t largest;
};

static bool perftest_head(const char *line)
{
    return line_begins(line, "#bytes") && line_has(line, "#iterations");
}

/* Titles have blanks in them: columns are counted by what ends a title. */
static void perftest_titles(struct perftest_state *state, const char *line)
{
    const char *unit = strstr(line, "BW average["), *average = strstr(line, "t_avg[");
    struct field field[COLUMNS];
    size_t count, at = 0;

    *state = (struct perftest_state){.largest = 0};
    if (unit) { /* #bytes #iterations BW peak[] BW average[] MsgRate[] */
        unit += strlen("BW average[");
        state->scale = !strncmp(unit, "Gb/sec", 6)    ? 1e9 / 8
                       : !strncmp(unit, "MiB/sec", 7) ? 1048576.0
                       : !strncmp(unit, "MB/sec", 6)  ? 1e6
                                                      : 0;
        state->at = 3;
        state->known = state->scale > 0;
        return;
    }
    if (!average) return;
    count = field_split(line, field, COLUMNS);
    for (size_t i = 0; i < count && i < COLUMNS; i++, at++)
        if (field[i].at == average) state->at = (uint8_t)at, state->known = true;
}

static uint32_t perftest_job(struct reading *in)
{
    char name[160];
    int length = in->device == EVIDENCE_NONE
                     ? snprintf(name, sizeof name, "perftest")
                     : snprintf(name, sizeof name, "perftest on %s", in->evidence->object[in->device].name);

    if (length <= 0) return EVIDENCE_NONE;
    return evidence_job(in->evidence, name, (size_t)length < sizeof name ? (size_t)length : sizeof name - 1);
}

static bool perftest_line(struct reading *in, const char *line)
{
    struct perftest_state *state = (struct perftest_state *)in->state;
    struct field field[COLUMNS];
    uint64_t bytes;
    double value;

    if (perftest_head(line)) {
        perftest_titles(state, line);
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
