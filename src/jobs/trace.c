/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `trace: {file: PATH, format: simai}`: what a rank does, out of a file that others wrote.
 *
 * The formats are those people have: AICB's CSV of communication calls, SimAI's text of layers,
 * Chakra's graphs.  A trace says what
 * is done and with whom, by the name of a group; who that is, the job's ranks and groups say.  What is wrong in a
 * trace is told at the place where the fabric file names it, with the trace's own line and column.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "jobs/training_int.h"

#include "fabric/handle.h"

struct trace_text {
    const char *file;
    uint32_t format, nvlink;
    uint32_t steps, jitter_ppm;
    bool set_up;
};

void trace_error(struct loader *loader, const struct trace *trace, uint32_t line, uint32_t column, const char *format,
                 ...)
{
    char text[200];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (line)
        read_error(loader, trace->at, "trace '%s', line %u, column %u: %s", trace->path, line, column, text);
    else
        read_error(loader, trace->at, "trace '%s': %s", trace->path, text);
}

/* What all stages do together they must come to in the same order, and what one sends the next must receive. */
static uint32_t meeting(const struct fabric_ops *ops, uint32_t *at, uint32_t kind_a, uint32_t kind_b)
{
    for (; *at < ops->count; ++*at) {
        const struct fabric_op *op = &ops->op[*at];
        bool together =
            op->what == FABRIC_OP_COLLECTIVE && (op->group == FABRIC_GROUP_PP || op->group == FABRIC_GROUP_ALL);
        if (kind_a == FABRIC_OP_COLLECTIVE ? together : op->what == kind_a || op->what == kind_b) return (*at)++;
    }
    return FABRIC_NONE;
}

static bool same_meetings(const struct fabric_ops *a, const struct fabric_ops *b, uint32_t kind_a, uint32_t kind_b)
{
    uint32_t i = 0, j = 0;

    for (;;) {
        uint32_t x = meeting(a, &i, kind_a, kind_a), y = meeting(b, &j, kind_b, kind_b);
        if (x == FABRIC_NONE || y == FABRIC_NONE) return x == y;
        const struct fabric_op *p = &a->op[x], *q = &b->op[y];
        if (p->bytes != q->bytes || p->group != q->group || p->collective != q->collective) return false;
    }
}

/* Nobody is before the first stage, nor behind the last. */
static bool ends_agree(struct loader *loader, const struct trace *trace, const struct fabric_ops *ops, uint32_t stage,
                       bool last)
{
    for (uint32_t i = 0; i < ops->count; i++) {
        uint8_t what = ops->op[i].what;
        if (last ? what != FABRIC_OP_SEND_NEXT && what != FABRIC_OP_RECV_NEXT
                 : what != FABRIC_OP_SEND_PREV && what != FABRIC_OP_RECV_PREV)
            continue;
        trace_error(loader, trace, 0, 0, "stage %u is the %s, but %s the one %s", stage, last ? "last" : "first",
                    what == FABRIC_OP_SEND_NEXT || what == FABRIC_OP_SEND_PREV ? "sends to" : "receives from",
                    last ? "behind" : "before");
        return false;
    }
    return true;
}

static bool stages_agree(struct loader *loader, const struct trace *trace, const struct fabric_training *training)
{
    uint32_t stages = training->size[FABRIC_GROUP_PP];

    if (!training->whole || training->by_rank || stages < 2)
        return true; /* of one stage what it would send is left out */
    for (uint32_t s = 0; s + 1 < stages; s++) {
        const struct fabric_ops *a = &training->whole[s], *b = &training->whole[s + 1];
        const char *what = !same_meetings(a, b, FABRIC_OP_SEND_NEXT, FABRIC_OP_RECV_PREV)     ? "what it sends on"
                           : !same_meetings(a, b, FABRIC_OP_RECV_NEXT, FABRIC_OP_SEND_PREV)   ? "what it gets back"
                           : !same_meetings(a, b, FABRIC_OP_COLLECTIVE, FABRIC_OP_COLLECTIVE) ? "what they do together"
                                                                                              : NULL;
        if (!what) continue;
        trace_error(loader, trace, 0, 0, "stages %u and %u do not agree on %s", s, s + 1, what);
        return false;
    }
    return ends_agree(loader, trace, &training->whole[0], 0, false) &&
           ends_agree(loader, trace, &training->whole[stages - 1], stages - 1, true);
}

/* As the fabric file stands: paths are relative to it. */
static const char *trace_path(struct loader *loader, const char *name)
{
    const char *base = fabric_path(loader->fabric), *slash = strrchr(base, '/');
    size_t folder = slash && name[0] != '/' ? (size_t)(slash - base) + 1 : 0, length = strlen(name);
    char *path = SCRATCH_NEW(loader, char, folder + length + 1);

    if (!path) return NULL;
    memcpy(path, base, folder);
    memcpy(path + folder, name, length);
    return path;
}

static bool trace_groups(struct loader *loader, const struct tree *value, const struct trace *trace,
                         struct fabric_training *training)
{
    const struct tree *groups = tree_get(value, "groups");
    uint32_t stages = training->size[FABRIC_GROUP_PP];

    if (!groups) {
        training->size[FABRIC_GROUP_DP] = 0;
        return groups_fit(loader, trace->at, trace->ranks, training);
    }
    for (uint32_t g = 0; g < FABRIC_GROUPS; g++)
        training->size[g] = 1;
    if (!groups_read(loader, groups, trace->at, trace->ranks, 0, 0, training)) return false;
    if (training->by_rank || training->size[FABRIC_GROUP_PP] == stages) return true;
    read_error(loader, groups->at, "groups: pp %u, but the trace has %u stage%s", training->size[FABRIC_GROUP_PP],
               stages, stages == 1 ? "" : "s");
    return false;
}

void trace_read(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    static const char *const formats[] = {"simai", "aicb", "chakra", NULL};
    static const struct field fields[] = {
        F_VALUE("file", FIELD_TEXT, struct trace_text, file, 0, 0),
        F_CHOICE("format", struct trace_text, format, formats),
        F_VALUE("steps", FIELD_COUNT, struct trace_text, steps, 1, FABRIC_STEPS_MAX),
        F_VALUE("jitter", FIELD_SHARE, struct trace_text, jitter_ppm, 0, 1000000),
        F_VALUE("set-up", FIELD_BOOL, struct trace_text, set_up, 0, 0),
        F_CHOICE("nvlink", struct trace_text, nvlink, nvlink_choices),
        F_IGNORE("groups"),
    };
    struct trace_text text = {.format = UINT32_MAX, .steps = 1};
    struct field_set set = {fields, COUNT_OF(fields), &text};
    uint32_t before = loader->errors->count + loader->errors->more;
    size_t length;

    if (repeats(loader, value, job) || !read_map(loader, value, "trace", &set, 1)) return;
    if (!text.file || text.format == UINT32_MAX) {
        read_error(loader, value->at, "trace needs file and format, as in {file: step.txt, format: simai}");
        return;
    }
    struct fabric_at at = tree_get(value, "file")->at;
    struct trace trace = {.path = trace_path(loader, text.file), .at = at, .ranks = job->ranks, .set_up = text.set_up};
    struct fabric_training *training = KEEP_NEW(loader, struct fabric_training, 1);
    if (!trace.path || !training) return;
    bool by_rank = text.format == 2 && strchr(text.file, '*');
    char *body = by_rank ? NULL : file_read(loader, trace.path, at, &length);
    if (!body && !by_rank) return;
    if (text.format < 2 && strlen(body) != length) {
        trace_error(loader, &trace, 0, 0, "byte %zu is nothing: this is no text", strlen(body));
        return;
    }
    groups_default(training);
    training->steps = text.steps;
    training->jitter_ppm = text.jitter_ppm;
    training->exact = text.nvlink == 1;
    training->micro_batches = training->chunks = 1;
    training->trace = keep_text(loader, text.file);
    if (text.format == 0)
        trace_simai(loader, &trace, body, training);
    else if (text.format == 1)
        trace_aicb(loader, &trace, body, training);
    else if (by_rank)
        trace_chakra_ranks(loader, &trace, training);
    else
        trace_chakra(loader, &trace, body, length, training);
    if (loader->errors->count + loader->errors->more != before || loader->no_memory) return;
    if (trace_groups(loader, value, &trace, training) && stages_agree(loader, &trace, training))
        job->training = training;
}
