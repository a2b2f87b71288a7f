/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perftest (ib_write_bw, ib_send_lat and others): bandwidth or latency of the largest message, and of a test without a
 * result the GIDs that it used.  Its errors are those of all programs (job_log.c).
 */
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
    bool begun;    /* a title was seen */
    bool ethernet; /* its adapters have GIDs */
    uint8_t gids;  /* lines of GIDs: the local one comes first */
    bool link_local, none;
    char device[32], index[8], gid[2][56]; /* as they are printed */
    uint64_t largest;
};
_Static_assert(sizeof(struct perftest_state) <= READER_STATE, "a reader's state");

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

/* --- what it printed before --- */

/* "GID: 254:128:00:...": bytes, of older versions as decimal numbers. */
static void note_gid(struct perftest_state *state, const char *bytes)
{
    size_t length = strcspn(bytes, " \t");
    bool local = !strncmp(bytes, "254:128:", 8) || !strncasecmp(bytes, "fe:80:", 6);

    if (state->gids < 2 && length < sizeof state->gid[0]) memcpy(state->gid[state->gids], bytes, length);
    state->gids++;
    state->link_local |= local;
    state->none |= strspn(bytes, "0:") == length;
}

static void note_word(char *to, size_t size, const char *line, const char *title)
{
    const char *at = strstr(line, title);

    if (!at) return;
    at += strcspn(at, ":");
    at += strspn(at, ": \t");
    size_t length = strcspn(at, " \t");
    if (length >= size) return;
    memcpy(to, at, length);
    to[length] = 0;
}

/* Lines above the table, and of the end: settings, addresses, what follows from an error. */
static bool perftest_setting(struct perftest_state *state, const char *line)
{
    static const char *const begins[] = {"Dual-port",
                                         "Number of qps",
                                         "Connection type",
                                         "CQ Moderation",
                                         "Mtu",
                                         "Max inline data",
                                         "rdma_cm QPs",
                                         "Data ex. method",
                                         "TX depth",
                                         "RX depth",
                                         "Post List",
                                         "PCIe relax",
                                         "ibv_wr*",
                                         "Using ",
                                         "Device ",
                                         "CQE",
                                         "Inline",
                                         "local address",
                                         "remote addr",
                                         "WARNING",
                                         "Conflicting CPU",
                                         "scnt=",
                                         "Failed to compl",
                                         "Completion with error",
                                         "Unable to Co",
                                         "Unable to in",
                                         "* Waiting for cl",
                                         "Waiting for",
                                         "initializing",
                                         "Send Post List",
                                         "Outstand r",
                                         "Lock-free",
                                         "Recv Post List",
                                         "TOS",
                                         "Requested mtu",
                                         NULL};

    line += strspn(line, " \t");
    note_word(state->device, sizeof state->device, line, "Device  ");
    if (line_begins(line, "Link type")) return state->ethernet = line_has(line, "Ethernet"), true;
    if (line_begins(line, "GID index")) return note_word(state->index, sizeof state->index, line, "GID index"), true;
    if (line_begins(line, "GID: ")) return note_gid(state, line + 5 + strspn(line + 5, " ")), true;
    for (size_t i = 0; begins[i]; i++)
        if (line_begins(line, begins[i])) return true;
    return strspn(line, "*-= ") == strlen(line);
}

/* A test that has no result: its GIDs may be why. */
static void perftest_end(struct reading *in)
{
    struct perftest_state *state = (struct perftest_state *)in->state;
    struct text_field from = field_of(state->gid[0]), to = field_of(state->gid[1]), device = field_of(state->device);
    uint32_t port = in->device;
    char detail[64];

    if (!state->begun || state->largest) return;
    state->begun = false;
    evidence_remark(in->evidence, in->source.file, in->source.line,
                    "the output of a test ends without a result: it failed, hangs, or was cut off");
    if (!state->ethernet || !state->gids || !(state->link_local || state->none)) return;
    if (port != EVIDENCE_NONE && device.length) port = evidence_port(in->evidence, port, device.at, device.length);
    snprintf(detail, sizeof detail, "%s%s%s", *state->index ? "GID index " : "", state->index,
             state->none     ? (*state->index ? ", empty" : "empty")
             : *state->index ? ", link-local"
                             : "link-local");
    struct text_field text = field_of(detail);
    reading_event(in, EVIDENCE_EVENT_GID_WRONG, port, EVIDENCE_NO_PRIORITY, from.length ? &from : NULL,
                  to.length ? &to : NULL, &text);
}

/* --- the table --- */

/* Titles have blanks in them: columns are counted by what ends a title. */
static void perftest_titles(struct perftest_state *state, const char *line)
{
    const char *unit = strstr(line, "BW average["), *typical = strstr(line, "t_typical[");
    const char *latency = typical ? typical : strstr(line, "t_avg["); /* of -D there is no median */
    struct text_field field[COLUMNS];
    size_t count, at = 0;

    state->job = 0;
    state->scale = 0;
    state->known = false;
    state->largest = 0;
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
        perftest_end(in);
        *state = (struct perftest_state){.program = title_of(line), .begun = true};
        return true;
    }
    if (perftest_setting(state, line)) return true;
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
                                            .line = perftest_line,
                                            .end = perftest_end};
