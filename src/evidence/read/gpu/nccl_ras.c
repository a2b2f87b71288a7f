/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL RAS (ncclras, or VERBOSE STATUS by TCP): which ranks have launched fewer collectives than the others.
 *
 * Ranks that agree with most are not listed: they get the number that most have.
 */
#include <string.h>

#include "evidence/read/gpu/gpu.h"

#define UNLISTED 262144 /* ranks of a file that no line names: a line would else stand for any number of them */
#define GROUPS 16

struct ras_state {
    uint32_t job;
    uint32_t ranks[GROUPS];  /* of a communicator, by group */
    uint32_t of;             /* ranks of the communicator at hand */
    uint64_t operation;      /* of the ranks that follow */
    uint64_t most, most_ops; /* how many ranks agree, on what */
    bool open;               /* a communicator is at hand */
};

static bool ras_head(const char *line)
{
    return line_begins(line, "Communicators...") || line_has(line, "launched up to operation") ||
           (line_begins(line, "#") && line_has(line, "MISMATCH")) || line_begins(line, "Job summary");
}

/* Ranks that nobody listed have launched what most have. */
static void ras_close(struct reading *in)
{
    struct ras_state *state = (struct ras_state *)in->state;

    for (uint32_t r = 0; state->open && state->most && r < state->of; r++) {
        uint32_t rank = in->unlisted++ < UNLISTED ? evidence_rank(in->evidence, state->job, r) : EVIDENCE_NONE;
        if (rank == EVIDENCE_NONE) break;
        if (!evidence_find(in->evidence, rank, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_LAST_OP))
            gpu_set(in, rank, EVIDENCE_RANK_LAST_OP, state->most_ops);
    }
    if (in->unlisted == UNLISTED + 1 && in->unlisted++) /* once a file */
        evidence_remark(in->evidence, in->source.file, in->source.line,
                        "more than %u ranks that are not listed: the rest of them was left out", UNLISTED);
    state->open = false;
    state->most = 0;
}

/* "#0-0 (27a079b828ff1a75) MISMATCH" */
static bool ras_communicator(struct reading *in, const struct text_field *field, size_t count)
{
    struct ras_state *state = (struct ras_state *)in->state;
    uint64_t group;

    if (count < 2 || field[0].at[0] != '#' || field[1].at[0] != '(' || field[1].length < 3) return false;
    struct text_field number = {field[0].at + 1, strcspn(field[0].at + 1, "- ")};
    struct text_field hash = {field[1].at + 1, field[1].length - 2};
    ras_close(in);
    state->job = gpu_job(in, &hash);
    state->of = field_number(&number, &group) && group < GROUPS ? state->ranks[group] : 0;
    state->open = state->job != EVIDENCE_NONE;
    if (state->open && state->of) gpu_set(in, state->job, EVIDENCE_RANKS, state->of);
    return true;
}

/* "Rank 7 [has launched up to operation 60] -- GPU 3 managed by process 1650386 on node node1" */
static bool ras_rank(struct reading *in, const struct text_field *field, size_t count, uint64_t operation)
{
    struct ras_state *state = (struct ras_state *)in->state;
    uint32_t host = EVIDENCE_NONE;
    uint64_t number;

    if (count < 2 || !field_is(&field[0], "Rank") || !field_number(&field[1], &number)) return false;
    for (size_t i = 2; i + 1 < count; i++)
        if (field_is(&field[i], "node")) host = gpu_host_named(in, &field[i + 1]);
    uint32_t rank = state->open ? gpu_rank(in, state->job, number, host) : EVIDENCE_NONE;
    if (rank != EVIDENCE_NONE) gpu_set(in, rank, EVIDENCE_RANK_LAST_OP, operation);
    return true;
}

/* "26 ranks have launched up to operation 6650", "3 ranks have not launched any operations" */
static bool ras_count(struct reading *in, const struct text_field *field, size_t count)
{
    struct ras_state *state = (struct ras_state *)in->state;
    uint64_t ranks;

    if (count < 5 || !field_is(&field[1], "ranks") || !field_is(&field[2], "have") || !field_number(&field[0], &ranks))
        return false;
    state->operation = 0;
    for (size_t i = 3; i + 1 < count; i++)
        if (field_is(&field[i], "operation")) field_number(&field[i + 1], &state->operation);
    if (ranks > state->most) {
        state->most = ranks;
        state->most_ops = state->operation;
    }
    return true;
}

/* "0  1  4  8  32  32  RUNNING  MISMATCH": of group 0, the fifth number is the ranks of a communicator. */
static void ras_group(struct reading *in, const struct text_field *field, size_t count)
{
    struct ras_state *state = (struct ras_state *)in->state;
    uint64_t number[5];

    if (count < 8) return;
    for (size_t i = 0; i < 5; i++)
        if (!field_number(&field[i], &number[i])) return;
    if (number[0] < GROUPS && number[4] < UINT32_MAX) state->ranks[number[0]] = (uint32_t)number[4];
}

static bool ras_line(struct reading *in, const char *line)
{
    struct ras_state *state = (struct ras_state *)in->state;
    struct text_field field[24];
    size_t count = field_split(line, field, 24);

    if (count > 24) count = 24;
    if (ras_communicator(in, field, count) || ras_count(in, field, count)) return true;
    if (line_has(line, "considered dead"))
        evidence_remark(in->evidence, in->source.file, in->source.line, "NCCL RAS: a process of the job is dead");
    if (count > 3 && field_is(&field[2], "has")) { /* one rank alone: its number stands in the line */
        uint64_t operation = 0;
        for (size_t i = 3; i + 1 < count; i++)
            if (field_is(&field[i], "operation")) field_number(&field[i + 1], &operation);
        return ras_rank(in, field, count, operation);
    }
    if (ras_rank(in, field, count, state->operation)) return true;
    ras_group(in, field, count);
    return true;
}

const struct text_reader reader_nccl_ras = {
    .kind = "nccl-ras", .what = "NCCL RAS: status", .head = ras_head, .line = ras_line, .end = ras_close};
