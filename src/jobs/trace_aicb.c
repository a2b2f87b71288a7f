/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AICB's CSV: a communication call a line, in the order in which a rank makes them.
 *
 *     [rank0 ~ rank127]                                    (or a list for each stage: [ pp_stage0: [rank0, ...)
 *     comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count
 *     CommType.all_reduce,CommGroup.tp_group,8,33554432,forward.MegatronRowLinear,None,None,,None,None,None,1
 *
 * Columns are found by their names; older files have no comm_group_size.  Calls of the stage `init` happen once, before
 * the first step, and are left out unless `set-up` asks for them.  The file has no compute: the result is what
 * communication alone takes.
 */
#include <string.h>

#include "jobs/training_int.h"

#define FIELDS 24
#define BYTES_MAX (1ull << 50)
#define STAGES_MAX 1024u
#define BARRIER_BYTES 4

enum column { TYPE, GROUP, GROUP_SIZE, BYTES, STAGE, MORE, COLUMN_COUNT };
static const char *const column_names[COLUMN_COUNT] = {"comm_type", "comm_group", "comm_group_size",
                                                       "msg_size",  "stage",      "additional"};

struct reader {
    struct loader *loader;
    const struct trace *trace;
    struct fabric_training *training;
    uint32_t line;
    int column[COLUMN_COUNT]; /* which field it is; -1: none */
    bool headed;
    struct op_list list[STAGES_MAX];
    uint32_t stages; /* 0: not yet */
    char *field[FIELDS];
    uint32_t at[FIELDS], fields;
};

static const char *field_of(const struct reader *reader, enum column column)
{
    int index = reader->column[column];
    return index < 0 || (uint32_t)index >= reader->fields ? "" : reader->field[index];
}

static uint32_t column_of(const struct reader *reader, enum column column)
{
    int index = reader->column[column];
    return index < 0 || (uint32_t)index >= reader->fields ? 1 : reader->at[index];
}

static bool split(struct reader *reader, char *line)
{
    reader->fields = 0;
    for (char *at = line; at;) {
        if (reader->fields == FIELDS) {
            trace_error(reader->loader, reader->trace, reader->line, (uint32_t)(at - line) + 1, "more than %d columns",
                        FIELDS);
            return false;
        }
        char *end = strchr(at, ',');
        if (end) *end = 0;
        at[strcspn(at, "\r")] = 0;
        reader->field[reader->fields] = at;
        reader->at[reader->fields++] = (uint32_t)(at - line) + 1;
        at = end ? end + 1 : NULL;
    }
    return true;
}

static bool read_head(struct reader *reader)
{
    for (uint32_t c = 0; c < COLUMN_COUNT; c++) {
        reader->column[c] = -1;
        for (uint32_t i = 0; i < reader->fields; i++)
            if (strcmp(reader->field[i], column_names[c]) == 0) reader->column[c] = (int)i;
        if (reader->column[c] >= 0 || c == GROUP_SIZE || c == MORE) continue;
        trace_error(reader->loader, reader->trace, reader->line, 1, "there is no column '%s'", column_names[c]);
        return false;
    }
    reader->headed = true;
    return true;
}

/* "CommType.all_reduce" or "all_reduce". */
static const char *bare(const char *text)
{
    const char *dot = strrchr(text, '.');
    return dot ? dot + 1 : text;
}

struct word {
    const char *name;
    uint8_t value;
};
static const struct word kinds[] = {{"all_reduce", FABRIC_JOB_ALLREDUCE},
                                    {"all_gather", FABRIC_JOB_ALLGATHER},
                                    {"all_gather_into_tensor", FABRIC_JOB_ALLGATHER},
                                    {"reduce_scatter", FABRIC_JOB_REDUCESCATTER},
                                    {"reduce_scatter_tensor", FABRIC_JOB_REDUCESCATTER},
                                    {"all_to_all", FABRIC_JOB_ALLTOALL},
                                    {"all_to_all_single", FABRIC_JOB_ALLTOALL},
                                    {"broadcast", FABRIC_JOB_BROADCAST},
                                    {"reduce", FABRIC_JOB_REDUCE}};
static const struct word groups[] = {
    {"tp_group", FABRIC_GROUP_TP},        {"dp_group", FABRIC_GROUP_DP},     {"pp_group", FABRIC_GROUP_PP},
    {"ep_group", FABRIC_GROUP_EP},        {"ep_dp_group", FABRIC_GROUP_EDP}, {"dp_ep_group", FABRIC_GROUP_EDP},
    {"embedding_group", FABRIC_GROUP_PP}, {"all", FABRIC_GROUP_ALL},         {"cp_group", FABRIC_GROUP_CP}};
static const struct word ways[] = {{"send_next", FABRIC_OP_SEND_NEXT},
                                   {"recv_prev", FABRIC_OP_RECV_PREV},
                                   {"send_prev", FABRIC_OP_SEND_PREV},
                                   {"recv_next", FABRIC_OP_RECV_NEXT}};

static bool find(const struct word *words, uint32_t count, const char *text, uint8_t *ret)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(words[i].name, text) != 0) continue;
        *ret = words[i].value;
        return true;
    }
    return false;
}

static bool wrong(const struct reader *reader, enum column column, const char *what)
{
    trace_error(reader->loader, reader->trace, reader->line, column_of(reader, column), "%s '%.40s'", what,
                field_of(reader, column));
    return false;
}

/* Tensor-parallel groups tell their size. */
static void note_size(struct reader *reader, uint8_t group)
{
    uint64_t size = 0;

    if (group != FABRIC_GROUP_TP && group != FABRIC_GROUP_EP) return;
    if (read_decimal(field_of(reader, GROUP_SIZE), &size) && size >= 1 && size <= 1 << 20)
        reader->training->size[group] = (uint32_t)size;
}

static bool read_call(struct reader *reader)
{
    const char *type = bare(field_of(reader, TYPE)), *group = bare(field_of(reader, GROUP));
    struct fabric_op op = {.what = FABRIC_OP_COLLECTIVE};
    uint64_t bytes = 0;

    if (strcmp(type, "epoch_end") == 0 || strcmp(type, "computation") == 0) return true;
    if (!reader->trace->set_up && strncmp(field_of(reader, STAGE), "init", 4) == 0) return true;
    if (!read_decimal(field_of(reader, BYTES), &bytes) || bytes > BYTES_MAX)
        return wrong(reader, BYTES, "no number of bytes:");
    op.bytes = bytes;
    if (strcmp(type, "isend") == 0 || strcmp(type, "irecv") == 0) {
        if (!find(ways, COUNT_OF(ways), field_of(reader, MORE), &op.what))
            return wrong(reader, MORE, "send_next, send_prev, recv_next or recv_prev is expected, not");
        op.beside = type[1] == 's';
        if (op.beside != (op.what == FABRIC_OP_SEND_NEXT || op.what == FABRIC_OP_SEND_PREV))
            return wrong(reader, MORE, "the call goes the other way than");
    } else if (strcmp(type, "barrier") == 0) {
        op = (struct fabric_op){.what = FABRIC_OP_COLLECTIVE,
                                .group = FABRIC_GROUP_ALL,
                                .collective = FABRIC_JOB_ALLREDUCE,
                                .bytes = BARRIER_BYTES};
    } else {
        if (!find(kinds, COUNT_OF(kinds), type, &op.collective)) return wrong(reader, TYPE, "unknown call");
        if (!find(groups, COUNT_OF(groups), group, &op.group)) return wrong(reader, GROUP, "unknown group");
        note_size(reader, op.group);
    }
    if (op.bytes) op_add(reader->loader, &reader->list[reader->stages - 1], op);
    return true;
}

static bool read_line(struct reader *reader, char *line)
{
    if (line[strspn(line, " \t\r")] == 0) return true;
    if (line[0] == '[') { /* whose calls follow */
        bool staged = strstr(line, "pp_stage") != NULL;
        if (reader->stages && !staged) return true;
        if (reader->stages == STAGES_MAX) {
            trace_error(reader->loader, reader->trace, reader->line, 1, "more than %u stages", STAGES_MAX);
            return false;
        }
        reader->stages++;
        reader->headed = false;
        return true;
    }
    if (!split(reader, line)) return false;
    if (!reader->headed) {
        if (reader->stages == 0) reader->stages = 1;
        return read_head(reader);
    }
    return read_call(reader);
}

void trace_aicb(struct loader *loader, const struct trace *trace, char *text, struct fabric_training *training)
{
    struct reader *reader = SCRATCH_NEW(loader, struct reader, 1);
    uint32_t calls = 0;

    if (!reader) return;
    reader->loader = loader;
    reader->trace = trace;
    reader->training = training;
    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end) *end = 0;
        reader->line++;
        if (!read_line(reader, line)) return;
    }
    for (uint32_t s = 0; s < reader->stages; s++)
        calls += reader->list[s].count;
    if (calls == 0) {
        trace_error(loader, trace, 0, 0, "there are no calls in it");
        return;
    }
    struct fabric_ops *whole = KEEP_NEW(loader, struct fabric_ops, reader->stages);
    if (!whole) return;
    for (uint32_t s = 0; s < reader->stages; s++)
        whole[s] = ops_keep(loader, &reader->list[s]);
    training->size[FABRIC_GROUP_PP] = reader->stages;
    training->whole = whole;
}
