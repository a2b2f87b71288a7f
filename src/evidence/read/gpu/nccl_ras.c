/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL RAS (ncclras, or VERBOSE STATUS by TCP): which ranks have launched fewer collectives than the others, which
 * processes do not answer; as text and as JSON.
 *
 * Ranks that agree with most are not listed: they get the number that most have.  A report is of one moment: ranks
 * that run are one operation apart, so that a few that are ahead of all others are no fault.
 */
#include <stdio.h>
#include <string.h>

#include "evidence/read/gpu/gpu.h"

#define UNLISTED 262144    /* ranks of a file that no line names: a line would else stand for any number of them */
#define RANKS_MOST 1048576 /* in a communicator: a larger number is no rank */
#define GROUPS 16

struct ras_state {
    uint32_t job;
    uint32_t ranks[GROUPS];  /* of a communicator, by group */
    uint32_t of;             /* ranks of the communicator at hand */
    uint64_t operation;      /* of the ranks that follow */
    uint64_t most, most_ops; /* how many ranks agree, on what */
    uint32_t ahead, behind;  /* ranks that are listed */
    uint32_t missing;        /* processes that were listed as such */
    bool open;               /* a communicator is at hand */
    bool absent;             /* what follows is missing */
    bool dead;
    char collective[24], first[96]; /* what is counted; the first ranks that are ahead */
};
_Static_assert(sizeof(struct ras_state) <= READER_STATE, "a reader's state");

static bool ras_head(const char *line)
{
    return line_begins(line, "Communicators...") || line_has(line, "launched up to operation") ||
           (line_begins(line, "#") && (line_has(line, "MISMATCH") || line_has(line, ") INCOMPLETE"))) ||
           line_begins(line, "Job summary") || line_begins(line, "CUDA runtime version ") ||
           line_begins(line, "Missing communicator data from ");
}

/* A few ranks have begun what all others have not. */
static void ras_ahead(struct reading *in)
{
    struct ras_state *state = (struct ras_state *)in->state;
    char detail[200];

    if (!state->ahead || state->behind || !state->most) return;
    int length = snprintf(detail, sizeof detail, "%u rank%s (%s) began %s %llu, and %llu others %llu", state->ahead,
                          state->ahead == 1 ? "" : "s", state->first,
                          *state->collective ? state->collective : "operation", (unsigned long long)state->operation,
                          (unsigned long long)state->most, (unsigned long long)state->most_ops);
    struct text_field text = {detail, length > 0 ? strlen(detail) : 0};
    reading_event(in, EVIDENCE_EVENT_RANK_BEHIND, state->job, EVIDENCE_NO_PRIORITY, NULL, NULL, &text);
}

/* Ranks that nobody listed have launched what most have. */
static void ras_close(struct reading *in)
{
    struct ras_state *state = (struct ras_state *)in->state;

    if (state->open) ras_ahead(in);
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
    state->most = state->ahead = state->behind = 0;
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
    state->absent = count > 2 && field_is(&field[2], "INCOMPLETE");
    if (state->open && state->of) gpu_set(in, state->job, EVIDENCE_RANKS, state->of);
    return true;
}

static void ras_missing(struct reading *in, uint32_t object, const char *detail)
{
    struct text_field text = field_of(detail);

    reading_event(in, EVIDENCE_EVENT_RANK_MISSING, object, EVIDENCE_NO_PRIORITY, NULL, NULL, &text);
}

/* "Process 60004 on node 10.4.109.13 managing GPU 0" */
static bool ras_process(struct reading *in, const struct text_field *field, size_t count)
{
    struct ras_state *state = (struct ras_state *)in->state;
    uint64_t number;
    char detail[64];

    if (count < 5 || !field_is(&field[0], "Process") || !field_number(&field[1], &number)) return false;
    if (!field_is(&field[3], "node")) return false;
    snprintf(detail, sizeof detail, "process %llu%s", (unsigned long long)number,
             state->dead ? ", considered dead" : " does not answer");
    ras_missing(in, gpu_host_named(in, &field[4]), detail);
    state->missing++;
    return true;
}

/* A number that no communicator has: the report is damaged. */
static bool is_no_rank(struct reading *in, uint64_t number)
{
    const struct ras_state *state = (const struct ras_state *)in->state;

    if (number < RANKS_MOST && (!state->of || number < state->of)) return false;
    evidence_remark(in->evidence, in->source.file, in->source.line,
                    "there is no rank %llu in a communicator of %u: the report is damaged", (unsigned long long)number,
                    state->of);
    return true;
}

static void note_ahead(struct ras_state *state, uint64_t number, uint64_t operation)
{
    size_t used = strlen(state->first);

    if (operation > state->most_ops && state->most > 1) {
        if (!state->ahead++) used = 0, *state->first = 0;
        if (used + 16 < sizeof state->first)
            snprintf(state->first + used, sizeof state->first - used, "%s%llu", used ? ", " : "",
                     (unsigned long long)number);
    } else if (operation < state->most_ops) {
        state->behind++;
    }
}

/* "Rank 7 [has launched up to operation 60] -- GPU 3 managed by process 1650386 on node node1" */
static bool ras_rank(struct reading *in, const struct text_field *field, size_t count, uint64_t operation)
{
    struct ras_state *state = (struct ras_state *)in->state;
    uint32_t host = EVIDENCE_NONE;
    uint64_t number;

    if (count < 2 || !field_is(&field[0], "Rank") || !field_number(&field[1], &number)) return false;
    if (is_no_rank(in, number)) return true;
    for (size_t i = 2; i + 1 < count; i++)
        if (field_is(&field[i], "node")) host = gpu_host_named(in, &field[i + 1]);
    uint32_t rank = state->open ? gpu_rank(in, state->job, number, host) : EVIDENCE_NONE;
    if (rank == EVIDENCE_NONE) return true;
    if (state->absent) {
        if (!state->missing) ras_missing(in, rank, "its process does not answer");
    } else if (count > 4 && field_is(&field[3], "status")) {
        struct text_field status = {field[3].at, (size_t)(field[4].at + field[4].length - field[3].at)};
        reading_event(in, EVIDENCE_EVENT_RANKS_DIFFER, rank, EVIDENCE_NO_PRIORITY, NULL, NULL, &status);
    } else {
        gpu_set(in, rank, EVIDENCE_RANK_LAST_OP, operation);
        note_ahead(state, number, operation);
    }
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
    state->absent = false;
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

/* Titles and rules, counts of nodes, what the collecting took: nothing to judge by. */
static bool ras_plain(const char *line)
{
    static const char *const begins[] = {"Nodes",
                                         "(total)",
                                         "per node",
                                         "Group",
                                         "Job summary",
                                         "Communicators",
                                         "Errors",
                                         "Warnings",
                                         "TIMEOUT",
                                         "Encountered",
                                         "Missing",
                                         "The outlier",
                                         "Node ",
                                         "Gathering",
                                         "obtained",
                                         "Collected",
                                         "Travel",
                                         "Minimum",
                                         "per pro",
                                         "Processes",
                                         "No communic",
                                         "[could not",
                                         "CUDA runtime",
                                         "NCCL version",
                                         "#",
                                         "Asynchronous",
                                         "Initialization",
                                         "Warning:",
                                         "Communicator ranks",
                                         NULL};

    line += strspn(line, " \t");
    for (size_t i = 0; begins[i]; i++)
        if (line_begins(line, begins[i])) return true;
    return strspn(line, "0123456789-=. \t") == strlen(line) || (*line >= '0' && *line <= '9');
}

/* What the lines that follow are of. */
static bool ras_section(struct ras_state *state, const char *line, const struct text_field *field, size_t count)
{
    bool incomplete = count == 1 && field_is(&field[0], "INCOMPLETE"), dead = count == 1 && field_is(&field[0], "DEAD");

    if (incomplete || dead) {
        state->absent = true;
        state->dead = dead;
        return true;
    }
    if (count > 5 && line_has(line, "operation counts")) { /* "ranks have different AllGather operation counts" */
        size_t length = field[4].length < sizeof state->collective ? field[4].length : 0;
        memcpy(state->collective, field[4].at, length);
        state->collective[length] = 0;
        if (!strcmp(state->collective, "collective")) *state->collective = 0;
        state->absent = false;
    }
    return false;
}

static bool ras_line(struct reading *in, const char *line)
{
    struct ras_state *state = (struct ras_state *)in->state;
    struct text_field field[24];
    size_t count = field_split(line, field, 24);

    if (count > 24) count = 24;
    if (ras_communicator(in, field, count) || ras_count(in, field, count)) return true;
    if (ras_section(state, line, field, count)) return true;
    if (line_has(line, "considered dead")) return true;
    if (state->absent && ras_process(in, field, count)) return true;
    if (count > 3 && field_is(&field[2], "has") && !field_is(&field[3], "status")) { /* one rank alone */
        uint64_t operation = 0;
        for (size_t i = 3; i + 1 < count; i++)
            if (field_is(&field[i], "operation")) field_number(&field[i + 1], &operation);
        return ras_rank(in, field, count, operation);
    }
    if (ras_rank(in, field, count, state->operation)) return true;
    ras_group(in, field, count);
    return ras_plain(line) || !count;
}

const struct text_reader reader_nccl_ras = {
    .kind = "nccl-ras", .what = "NCCL RAS: status", .head = ras_head, .line = ras_line, .end = ras_close};

/* --- JSON --- */

static bool is_ras_json(const struct json *root)
{
    const struct json *comms = json_get(root, "communicators");

    return comms && comms->type == JSON_ARRAY && json_get(root, "nccl_version") &&
           (json_get(root, "ras") || json_get(comms->child, "ranks"));
}

static uint32_t ras_json_rank(struct reading *in, uint32_t job, const struct json *one, uint64_t ranks)
{
    struct text_field host = member_text(one, "host");
    uint64_t number;

    in->source.line = one->line;
    if (!json_u64(json_get(one, "rank"), &number)) return EVIDENCE_NONE;
    if (number >= RANKS_MOST || (ranks && number >= ranks)) {
        evidence_remark(in->evidence, in->source.file, one->line,
                        "there is no rank %llu in a communicator of %llu: the report is damaged",
                        (unsigned long long)number, (unsigned long long)ranks);
        return EVIDENCE_NONE;
    }
    return gpu_rank(in, job, number, host.length ? gpu_host_named(in, &host) : EVIDENCE_NONE);
}

static void ras_json_communicator(struct reading *in, const struct json *comm)
{
    struct text_field hash = member_text(comm, "hash");
    uint64_t ranks = member_u64(comm, "size");
    uint32_t job = gpu_job(in, &hash);

    if (job == EVIDENCE_NONE) return;
    if (ranks && ranks < RANKS_MOST) gpu_set(in, job, EVIDENCE_RANKS, ranks);
    const struct json *list = json_get(comm, "ranks"), *missing = json_get(comm, "missing_ranks");
    for (const struct json *one = list ? list->child : NULL; one; one = one->next) {
        const struct json *counts = json_get(one, "collective_counts");
        uint64_t operations = 0, some;
        uint32_t rank = ras_json_rank(in, job, one, ranks);
        for (const struct json *count = counts ? counts->child : NULL; count; count = count->next)
            if (json_u64(count, &some)) operations += some;
        if (rank != EVIDENCE_NONE && counts) gpu_set(in, rank, EVIDENCE_RANK_LAST_OP, operations);
    }
    for (const struct json *one = missing ? missing->child : NULL; one; one = one->next) {
        const struct json *dead = json_path(one, "status/considered_dead");
        uint32_t rank = ras_json_rank(in, job, one, ranks);
        if (rank != EVIDENCE_NONE)
            ras_missing(in, rank, dead && dead->type == JSON_TRUE ? "considered dead" : "its process does not answer");
    }
}

static void read_ras_json(struct reading *in, const struct json *root)
{
    const struct json *comms = json_get(root, "communicators");

    for (const struct json *comm = comms->child; comm && !in->evidence->full; comm = comm->next)
        ras_json_communicator(in, comm);
}

const struct json_reader reader_nccl_ras_json = {"nccl-ras-json", "NCCL RAS: ncclras -f json", is_ras_json,
                                                 read_ras_json};
