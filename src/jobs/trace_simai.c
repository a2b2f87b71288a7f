/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SimAI's workload text, as AICB writes it: a head, the number of layers, and a layer a line with twelve columns.
 *
 *     HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 ...
 *     1
 *     attention_layer -1 539986 ALLREDUCE 16777216 592000 ALLREDUCE 16777216 592000 NONE 0 100
 *
 * name, dependency (unused), then three times compute in nanoseconds, collective and bytes: forward, gradient of the
 * input, gradient of the weights; last the time of the update.  Layers go forward in order and backward in
 * reverse.  The first two collectives are of the tensor-parallel group, the third of the data-parallel one and beside
 * the compute; a suffix _EP or _DP_EP names the experts' groups.  A head MICRO has the whole job in one group.
 *
 * The file lists the work of one pipeline stage with its micro-batches one after the other; what stages send each other
 * is not in it, so `pp` of the head is not run.
 */
#include <string.h>

#include "jobs/training_int.h"

#define COLUMNS 12
#define LAYERS_MAX 1000000u
#define NS_MAX (1000ull * 1000000000ull)
#define BYTES_MAX (1ull << 50)

struct words {
    char *word[COLUMNS + 1];
    uint32_t column[COLUMNS + 1];
    uint32_t count; /* at most one more than there are columns */
};

static void split(char *line, struct words *ret)
{
    ret->count = 0;
    for (char *at = line; *at && ret->count <= COLUMNS;) {
        at += strspn(at, " \t\r");
        if (!*at) break;
        ret->word[ret->count] = at;
        ret->column[ret->count++] = (uint32_t)(at - line) + 1;
        at += strcspn(at, " \t\r");
        if (*at) *at++ = 0;
    }
}

/* Cuts the next line off; NULL at the end. */
static char *next_line(char **text, uint32_t *line)
{
    char *found = *text, *end;

    if (!found || !*found) return NULL;
    end = strchr(found, '\n');
    if (end) *end = 0;
    *text = end ? end + 1 : NULL;
    ++*line;
    return found;
}

static bool read_number(struct loader *loader, const struct trace *trace, uint32_t line, const struct words *words,
                        uint32_t column, uint64_t most, uint64_t *ret)
{
    if (read_decimal(words->word[column], ret) && *ret <= most) return true;
    trace_error(loader, trace, line, words->column[column], "'%.40s' is no number up to %llu", words->word[column],
                (unsigned long long)most);
    return false;
}

/* The head's `NAME: NUMBER` pairs; those we do not know are somebody else's. */
static bool read_head(struct loader *loader, const struct trace *trace, char *line, struct fabric_training *training,
                      bool *ret_micro)
{
    static const struct {
        const char *name;
        uint8_t group;
    } known[] = {{"model_parallel_NPU_group", FABRIC_GROUP_TP}, {"ep", FABRIC_GROUP_EP}};
    char *word = line + strspn(line, " \t"), *end = word + strcspn(word, " \t\r");

    *ret_micro = end - word == 5 && memcmp(word, "MICRO", 5) == 0;
    if (!*ret_micro && (end - word != 31 || memcmp(word, "HYBRID_TRANSFORMER_FWD_IN_BCKWD", 31) != 0)) {
        trace_error(loader, trace, 1, (uint32_t)(word - line) + 1,
                    "HYBRID_TRANSFORMER_FWD_IN_BCKWD or MICRO is expected, as SimAI's files begin");
        return false;
    }
    for (uint32_t i = 0; i < COUNT_OF(known); i++) {
        size_t length = strlen(known[i].name);
        for (char *at = strstr(end, known[i].name); at; at = strstr(at + 1, known[i].name)) {
            if ((at[-1] != ' ' && at[-1] != '\t') || at[length] != ':') continue;
            char *number = at + length + 1 + strspn(at + length + 1, " \t"), kept;
            uint64_t value = 0;
            kept = number[strcspn(number, " \t\r")];
            number[strcspn(number, " \t\r")] = 0;
            bool good = read_decimal(number, &value) && value >= 1 && value <= 1 << 20;
            if (!good)
                trace_error(loader, trace, 1, (uint32_t)(number - line) + 1, "%s: '%.20s' is no size of a group",
                            known[i].name, number);
            number[strlen(number)] = kept;
            if (!good) return false;
            training->size[known[i].group] = (uint32_t)value;
            break;
        }
    }
    return true;
}

/* A collective's name with its group. */
static bool read_collective(struct loader *loader, const struct trace *trace, uint32_t line, const struct words *words,
                            uint32_t column, uint8_t usual, struct fabric_op *ret)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } known[] = {{"ALLREDUCE", FABRIC_JOB_ALLREDUCE},
                 {"ALLGATHER", FABRIC_JOB_ALLGATHER},
                 {"REDUCESCATTER", FABRIC_JOB_REDUCESCATTER},
                 {"ALLTOALL", FABRIC_JOB_ALLTOALL},
                 {"BROADCAST", FABRIC_JOB_BROADCAST}};
    const char *text = words->word[column];

    for (uint32_t i = 0; i < COUNT_OF(known); i++) {
        size_t length = strlen(known[i].name);
        if (strncmp(text, known[i].name, length) != 0) continue;
        const char *rest = text + length;
        uint8_t group = *rest == 0                    ? usual
                        : strcmp(rest, "_EP") == 0    ? FABRIC_GROUP_EP
                        : strcmp(rest, "_DP_EP") == 0 ? FABRIC_GROUP_EDP
                        : strcmp(rest, "_DP") == 0    ? FABRIC_GROUP_DP
                                                      : FABRIC_GROUPS;
        if (group == FABRIC_GROUPS) break;
        *ret = (struct fabric_op){.what = FABRIC_OP_COLLECTIVE, .group = group, .collective = known[i].kind};
        return true;
    }
    *ret = (struct fabric_op){.what = FABRIC_OP_WAIT};
    if (strcmp(text, "NONE") == 0) return true;
    trace_error(
        loader, trace, line, words->column[column],
        "unknown collective '%.40s'; NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, with _EP "
        "or _DP_EP, is expected",
        text);
    return false;
}

/* Compute, then what is sent; nothing of either where it is 0. */
static bool read_third(struct loader *loader, const struct trace *trace, uint32_t line, const struct words *words,
                       uint32_t from, uint8_t usual, bool beside, struct op_list *list)
{
    uint64_t ns = 0, bytes = 0;
    struct fabric_op op;

    if (!read_number(loader, trace, line, words, from, NS_MAX, &ns) ||
        !read_collective(loader, trace, line, words, from + 1, usual, &op) ||
        !read_number(loader, trace, line, words, from + 2, BYTES_MAX, &bytes))
        return false;
    if (ns) op_add(loader, list, (struct fabric_op){.what = FABRIC_OP_COMPUTE, .time_ps = ns * PS_NS});
    if (op.what != FABRIC_OP_COLLECTIVE || bytes == 0) return true;
    op.bytes = bytes;
    op.beside = beside;
    op_add(loader, list, op);
    return true;
}

struct layer_ops { /* where a layer's operations stand in the lists */
    uint32_t first, count;
};

static bool read_layers(struct loader *loader, const struct trace *trace, char *text, uint32_t layers, bool micro,
                        struct op_list *forward, struct op_list *backward, struct layer_ops *layer)
{
    uint8_t inner = micro ? FABRIC_GROUP_ALL : FABRIC_GROUP_TP, outer = micro ? FABRIC_GROUP_ALL : FABRIC_GROUP_DP;
    uint32_t line = 2, found = 0;
    uint64_t update = 0;
    struct words words;
    char *at;

    while ((at = next_line(&text, &line)) != NULL) {
        split(at, &words);
        if (words.count == 0) continue;
        if (found == layers) {
            trace_error(loader, trace, line, 1, "more layers than the %u that line 2 says", layers);
            return false;
        }
        if (words.count != COLUMNS) {
            trace_error(loader, trace, line, words.column[words.count - 1], "a layer has %d columns, here %s %u",
                        COLUMNS, words.count > COLUMNS ? "are more than" : "are",
                        words.count > COLUMNS ? COLUMNS : words.count);
            return false;
        }
        layer[found].first = backward->count;
        if (!read_third(loader, trace, line, &words, 2, inner, false, forward) ||
            !read_third(loader, trace, line, &words, 5, inner, false, backward) ||
            !read_third(loader, trace, line, &words, 8, outer, !micro, backward) ||
            !read_number(loader, trace, line, &words, 11, NS_MAX, &update))
            return false;
        layer[found].count = backward->count - layer[found].first;
        found++;
    }
    if (found == layers) return true;
    trace_error(loader, trace, line, 1, "the file ends after %u layers, line 2 says %u", found, layers);
    return false;
}

void trace_simai(struct loader *loader, const struct trace *trace, char *text, struct fabric_training *training)
{
    struct op_list forward = {0}, backward = {0}, step = {0};
    struct words words = {.count = 0};
    uint32_t line = 0;
    uint64_t layers = 0;
    bool micro = false;
    char *head = next_line(&text, &line), *count = NULL;

    if (!head) trace_error(loader, trace, 0, 0, "the file is empty");
    if (!head || !read_head(loader, trace, head, training, &micro)) return;
    count = next_line(&text, &line);
    if (count) split(count, &words);
    if (words.count != 1) {
        trace_error(loader, trace, 2, 1, "the number of layers is expected");
        return;
    }
    if (!read_number(loader, trace, 2, &words, 0, LAYERS_MAX, &layers)) return;
    struct layer_ops *layer = SCRATCH_NEW(loader, struct layer_ops, layers + 1);
    if (!layer || !read_layers(loader, trace, text, (uint32_t)layers, micro, &forward, &backward, layer)) return;
    for (uint32_t i = 0; i < forward.count; i++)
        op_add(loader, &step, forward.op[i]);
    for (uint64_t l = layers; l-- > 0;)
        for (uint32_t i = 0; i < layer[l].count; i++)
            op_add(loader, &step, backward.op[layer[l].first + i]);
    static const uint8_t outer[] = {FABRIC_GROUP_DP, FABRIC_GROUP_EDP, FABRIC_GROUP_EP};
    for (uint32_t i = 0; i < COUNT_OF(outer); i++)
        op_add(loader, &step, (struct fabric_op){.what = FABRIC_OP_WAIT, .group = outer[i]});
    training->before = ops_keep(loader, &step);
}
