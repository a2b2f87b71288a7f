/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a transformer's shape to what a rank computes and sends.
 *
 * Of a layer, with T tokens a rank, h hidden, f feed-forward, k = h x kv heads / heads and s the sequence (the counting
 * of Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021):
 * attention 2T(2h^2 + 2hk) + 4Tsh, feed-forward 2Thf for each of its two or three matrices and for each of the top_k
 * experts a token goes to; all of it over tp.  Backward is twice forward, three times where activations are computed
 * again.
 *
 * Of bytes: an activation is T x h; tensor parallelism sums it after attention and after the feed-forward part,
 * either way (or, with sequence parallelism, gathers before and scatters after); a stage hands on its tp-th part;
 * context parallelism gathers keys and values; experts get T/tp x top_k tokens, there and back.  Gradients of a layer
 * are reduced over dp and cp when it has been gone through backward for the last time.
 *
 * Not counted: embeddings, norms, the router, the optimizer's own time.
 */
#include <stdio.h>
#include <string.h>

#include "base/wide.h"
#include "jobs/training_int.h"

#define BYTES_MAX (1ull << 50) /* of what a rank sends at a time */

const uint32_t dtype_bytes[] = {1, 2, 2, 4}; /* fp8 bf16 fp16 fp32 */

static const struct {
    const char *name;
    struct model model;
} models[] = {
    {"llama3-405b",
     {.layers = 126,
      .hidden = 16384,
      .heads = 128,
      .kv_heads = 8,
      .ffn = 53248,
      .sequence = 8192,
      .vocab = 128256,
      .gated = true}},
    {"llama3-70b",
     {.layers = 80,
      .hidden = 8192,
      .heads = 64,
      .kv_heads = 8,
      .ffn = 28672,
      .sequence = 8192,
      .vocab = 128256,
      .gated = true}},
    {"gpt-175b",
     {.layers = 96, .hidden = 12288, .heads = 96, .kv_heads = 96, .ffn = 49152, .sequence = 2048, .vocab = 50257}},
    {"mixtral-8x7b",
     {.layers = 32,
      .hidden = 4096,
      .heads = 32,
      .kv_heads = 8,
      .ffn = 14336,
      .sequence = 4096,
      .vocab = 32000,
      .experts = 8,
      .top_k = 2,
      .gated = true}},
};

static void read_use(struct loader *loader, const struct tree *value, struct model *model)
{
    const char *text = NULL;
    struct nearest nearest;
    char known[128] = "";
    size_t used = 0;

    if (!read_text(loader, value, &text)) return;
    nearest_init(&nearest, text);
    for (uint32_t i = 0; i < COUNT_OF(models); i++) {
        if (strcmp(models[i].name, text) == 0) {
            *model = models[i].model;
            return;
        }
        nearest_try(&nearest, models[i].name);
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", models[i].name);
    }
    if (nearest.word)
        read_error(loader, value->at, "model: unknown '%s'; did you mean '%s'?", text, nearest.word);
    else
        read_error(loader, value->at, "model: unknown '%s'; known are %s, or write it out as a map", text, known);
}

bool model_read(struct loader *loader, const struct tree *value, struct model *model)
{
#define MODEL_FIELD(name, member, max) F_VALUE(name, FIELD_COUNT, struct model, member, 1, max)
    static const struct field fields[] = {
        F_IGNORE("use"),
        MODEL_FIELD("layers", layers, 100000),
        MODEL_FIELD("hidden", hidden, 1 << 24),
        MODEL_FIELD("heads", heads, 1 << 20),
        MODEL_FIELD("kv-heads", kv_heads, 1 << 20),
        MODEL_FIELD("ffn", ffn, 1 << 26),
        MODEL_FIELD("sequence", sequence, 1 << 26),
        MODEL_FIELD("vocab", vocab, 1 << 26),
        MODEL_FIELD("experts", experts, 1 << 16),
        MODEL_FIELD("top-k", top_k, 1 << 16),
        F_VALUE("gated", FIELD_BOOL, struct model, gated, 0, 0),
    };
    struct field_set set = {fields, COUNT_OF(fields), model};
    const struct tree *use = value->type == TREE_MAP ? tree_get(value, "use") : value;
    uint32_t before = loader->errors->count + loader->errors->more;

    if (use && use->type == TREE_SCALAR) read_use(loader, use, model);
    if (use != value && !read_map(loader, value, "model", &set, 1)) return false;
    if (loader->errors->count + loader->errors->more != before) return false;
    if (!model->layers || !model->hidden || !model->sequence) {
        read_error(loader, value->at, "model needs layers, hidden and sequence, or the name of a known one");
        return false;
    }
    if (!model->heads) model->heads = model->hidden < 128 ? 1 : model->hidden / 128;
    if (!model->kv_heads) model->kv_heads = model->heads;
    if (model->heads % model->kv_heads != 0) {
        const struct tree *said = use == value ? NULL : tree_get(value, "kv-heads");
        read_error(loader, said ? said->at : value->at, "model: %u kv-heads do not divide its %u heads",
                   model->kv_heads, model->heads);
        return false;
    }
    if (!model->ffn) model->ffn = 4 * model->hidden;
    if (model->experts && !model->top_k) model->top_k = 1;
    if (model->top_k > model->experts) {
        read_error(loader, value->at, "model: a token cannot go to %u of %u experts", model->top_k, model->experts);
        return false;
    }
    return true;
}

void op_add(struct loader *loader, struct op_list *list, struct fabric_op op)
{
    if (list->count == list->capacity) {
        uint32_t wanted = list->capacity ? 2 * list->capacity : 32;
        struct fabric_op *larger = SCRATCH_NEW(loader, struct fabric_op, wanted);
        if (!larger) return;
        if (list->count) memcpy(larger, list->op, list->count * sizeof(op));
        list->op = larger;
        list->capacity = wanted;
    }
    list->op[list->count++] = op;
}

struct fabric_ops ops_keep(struct loader *loader, const struct op_list *list)
{
    struct fabric_op *op = KEEP_NEW(loader, struct fabric_op, (size_t)list->count + 1);

    if (!op) return (struct fabric_ops){0};
    if (list->count) memcpy(op, list->op, list->count * sizeof(*op));
    return (struct fabric_ops){.op = op, .count = list->count};
}

const char *keep_text(struct loader *loader, const char *text)
{
    const char *kept = arena_strndup(loader->keep, text, strlen(text));

    if (!kept) loader->no_memory = true;
    return kept;
}

struct shape { /* the sums */
    u128 attention_flops, ffn_flops, head_flops;
    uint64_t tokens; /* a rank's, of a micro-batch */
    uint64_t activation_bytes, kv_bytes, expert_bytes;
    uint64_t dense_params, expert_params; /* a rank's, of a layer */
};

static struct shape shape_of(const struct training_text *text, const struct fabric_training *training,
                             uint64_t new_tokens, uint64_t seen)
{
    const struct model *m = &text->model;
    u128 h = m->hidden, k = (u128)m->hidden * m->kv_heads / m->heads, tp = training->size[FABRIC_GROUP_TP];
    u128 matrices = m->gated ? 3 : 2, tokens = new_tokens / training->size[FABRIC_GROUP_CP];
    u128 width = dtype_bytes[text->dtype], spread = m->experts ? m->top_k : 1;
    u128 attention = 2 * h * h + 2 * h * k, ffn = h * m->ffn * matrices;
    uint64_t ep = training->size[FABRIC_GROUP_EP];

    return (struct shape){
        .attention_flops = (2 * tokens * attention + 4 * tokens * seen * h) / tp,
        .ffn_flops = 2 * tokens * ffn * spread / tp,
        .head_flops = 2 * tokens * h * m->vocab / tp,
        .tokens = (uint64_t)tokens,
        .activation_bytes = (uint64_t)(tokens * h * width),
        .kv_bytes = (uint64_t)((u128)new_tokens * 2 * k * width / tp),
        .expert_bytes = (uint64_t)(tokens * h * width * spread / tp),
        .dense_params = (uint64_t)((attention + (m->experts ? 0 : ffn)) / tp),
        .expert_params = m->experts ? (uint64_t)(ffn * m->experts / ep / tp) : 0,
    };
}

static ps_t time_of(u128 flops, uint32_t tflops)
{
    u128 ps = flops / (tflops ? tflops : 1);

    return ps > PS_S * 1000 ? PS_S * 1000 : (ps_t)ps;
}

static struct fabric_op compute(ps_t time, bool uneven)
{
    return (struct fabric_op){.what = FABRIC_OP_COMPUTE, .group = FABRIC_GROUP_EP, .time_ps = time, .uneven = uneven};
}

static struct fabric_op collective(enum fabric_group_kind group, enum fabric_job_kind kind, uint64_t bytes, bool beside)
{
    return (struct fabric_op){.what = FABRIC_OP_COLLECTIVE,
                              .group = (uint8_t)group,
                              .collective = (uint8_t)kind,
                              .bytes = bytes,
                              .beside = beside};
}

struct times {
    ps_t attention, ffn; /* of a layer */
};

/* One half of a layer: what comes before it, its compute, what comes after. */
static void half(struct loader *loader, struct op_list *list, const struct training_text *text,
                 const struct shape *shape, ps_t time, bool experts)
{
    uint64_t bytes = shape->activation_bytes;

    if (text->sequence_parallel) op_add(loader, list, collective(FABRIC_GROUP_TP, FABRIC_JOB_ALLGATHER, bytes, false));
    if (experts) op_add(loader, list, collective(FABRIC_GROUP_EP, FABRIC_JOB_ALLTOALL, shape->expert_bytes, false));
    op_add(loader, list, compute(time, experts));
    if (experts) op_add(loader, list, collective(FABRIC_GROUP_EP, FABRIC_JOB_ALLTOALL, shape->expert_bytes, false));
    op_add(loader, list,
           collective(FABRIC_GROUP_TP, text->sequence_parallel ? FABRIC_JOB_REDUCESCATTER : FABRIC_JOB_ALLREDUCE, bytes,
                      false));
}

/* Parameters that are sharded are gathered a layer ahead, and waited for. */
static void gather_ahead(struct loader *loader, struct op_list *list, const struct training_text *text,
                         const struct shape *shape, uint8_t left)
{
    if (text->optimizer != OPTIMIZER_SHARDED) return;
    op_add(loader, list, (struct fabric_op){.what = FABRIC_OP_WAIT, .group = FABRIC_GROUP_DP, .left = left});
    op_add(loader, list,
           collective(FABRIC_GROUP_DP, FABRIC_JOB_ALLGATHER, shape->dense_params * dtype_bytes[text->dtype], true));
}

static struct fabric_ops forward_ops(struct loader *loader, const struct training_text *text, const struct shape *shape,
                                     const struct times *times)
{
    struct op_list list = {0};

    gather_ahead(loader, &list, text, shape, 0);
    op_add(loader, &list, collective(FABRIC_GROUP_CP, FABRIC_JOB_ALLGATHER, shape->kv_bytes, false));
    half(loader, &list, text, shape, times->attention, false);
    half(loader, &list, text, shape, times->ffn, text->model.experts > 0);
    return ops_keep(loader, &list);
}

static struct fabric_ops backward_ops(struct loader *loader, const struct training_text *text,
                                      const struct shape *shape, const struct times *times)
{
    struct op_list list = {0};

    gather_ahead(loader, &list, text, shape, 1); /* the gradients of the layer behind may still go */
    half(loader, &list, text, shape, times->ffn, text->model.experts > 0);
    op_add(loader, &list, collective(FABRIC_GROUP_CP, FABRIC_JOB_ALLGATHER, shape->kv_bytes, false));
    half(loader, &list, text, shape, times->attention, false);
    op_add(loader, &list, collective(FABRIC_GROUP_CP, FABRIC_JOB_REDUCESCATTER, shape->kv_bytes, false));
    if (text->optimizer == OPTIMIZER_SHARDED) /* nobody has room to add up the whole of them */
        op_add(loader, &list,
               collective(FABRIC_GROUP_DP, FABRIC_JOB_REDUCESCATTER, shape->dense_params * dtype_bytes[text->gradients],
                          text->overlap));
    return ops_keep(loader, &list);
}

static void gradient_lists(struct loader *loader, const struct training_text *text, const struct shape *shape,
                           struct fabric_training *training)
{
    bool shards = text->optimizer == OPTIMIZER_DISTRIBUTED; /* the optimizer, not the parameters */
    uint64_t wide = dtype_bytes[text->gradients], narrow = dtype_bytes[text->dtype];
    enum fabric_job_kind kind = shards ? FABRIC_JOB_REDUCESCATTER : FABRIC_JOB_ALLREDUCE;
    struct op_list gradient = {0}, finish = {0}, before = {0};
    struct fabric_op wait = {.what = FABRIC_OP_WAIT, .group = FABRIC_GROUP_DP};

    if (text->optimizer != OPTIMIZER_SHARDED)
        op_add(loader, &gradient, collective(FABRIC_GROUP_DP, kind, shape->dense_params * wide, text->overlap));
    if (shape->expert_params)
        op_add(loader, &gradient, collective(FABRIC_GROUP_EDP, kind, shape->expert_params * wide, text->overlap));
    op_add(loader, &finish, wait); /* the gradients' */
    wait.group = FABRIC_GROUP_EDP;
    if (shape->expert_params) op_add(loader, &finish, wait);
    if (shards) {
        op_add(loader, &finish, collective(FABRIC_GROUP_DP, FABRIC_JOB_ALLGATHER, shape->dense_params * narrow, false));
        if (shape->expert_params)
            op_add(loader, &finish,
                   collective(FABRIC_GROUP_EDP, FABRIC_JOB_ALLGATHER, shape->expert_params * narrow, false));
    }
    training->gradient = ops_keep(loader, &gradient);
    training->finish = ops_keep(loader, &finish);
    if (text->optimizer == OPTIMIZER_SHARDED) /* the first layer's */
        op_add(loader, &before, collective(FABRIC_GROUP_DP, FABRIC_JOB_ALLGATHER, shape->dense_params * narrow, true));
    training->before = ops_keep(loader, &before);
}

/* As even as can be; where it is not, the first and the last parts, which have other things to do, have one less. */
static const uint32_t *part_layers(struct loader *loader, uint32_t layers, uint32_t parts)
{
    uint32_t *list = KEEP_NEW(loader, uint32_t, parts), fewer = layers % parts ? parts - layers % parts : 0;

    for (uint32_t s = 0; list && s < parts; s++)
        list[s] = (layers + parts - 1) / parts - (s < fewer - fewer / 2 || s >= parts - fewer / 2);
    return list;
}

/* The layers of all parts, and how many the stage has that has most. */
static uint32_t share_layers(struct loader *loader, const struct training_text *text, struct fabric_training *training)
{
    uint32_t stages = training->size[FABRIC_GROUP_PP], parts = stages * training->chunks, most = 1;
    uint32_t layers = text->slice_layers ? text->slice_layers : text->model.layers;

    training->layers = part_layers(loader, layers, parts);
    for (uint32_t s = 0; training->layers && s < stages; s++) {
        uint32_t own = 0;
        for (uint32_t part = s; part < parts; part += stages)
            own += training->layers[part];
        if (own > most) most = own;
    }
    return most;
}

static ps_t part_of(ps_t whole, u128 part, u128 all)
{
    return all ? (ps_t)((u128)whole * part / all) : 0;
}

/* Shapes that nobody has, whose bytes or times could not be counted. */
static bool shape_fits(struct loader *loader, const struct training_text *text, uint64_t tokens)
{
    const struct model *m = &text->model;
    u128 activation = (u128)tokens * m->hidden * 4 * (m->top_k ? m->top_k : 1);
    u128 layer = (u128)m->hidden * (4 * (uint64_t)m->hidden + 3 * (uint64_t)m->ffn) * 4 * (m->experts ? m->experts : 1);

    if (activation < BYTES_MAX && layer < BYTES_MAX) return true;
    read_error(loader, text->at, "model: a layer has more than %llu bytes of %s", BYTES_MAX,
               activation < BYTES_MAX ? "parameters" : "activations");
    return false;
}

bool model_training(struct loader *loader, const struct training_text *text, struct fabric_training *training)
{
    uint64_t tokens = (uint64_t)text->micro_batch * text->model.sequence;
    if (!shape_fits(loader, text, tokens)) return false;
    struct shape shape = shape_of(text, training, tokens, text->model.sequence);
    u128 flops = shape.attention_flops + shape.ffn_flops;
    uint32_t most = share_layers(loader, text, training), times = text->recompute ? 3 : 2;
    struct times forward, backward;

    if (text->forward_ps) { /* of a stage */
        forward.attention = part_of(text->forward_ps / most, shape.attention_flops, flops);
        forward.ffn = text->forward_ps / most - forward.attention;
        backward.attention = part_of(text->backward_ps / most, shape.attention_flops, flops);
        backward.ffn = text->backward_ps / most - backward.attention;
    } else {
        forward = (struct times){time_of(shape.attention_flops, text->tflops), time_of(shape.ffn_flops, text->tflops)};
        backward = (struct times){time_of(shape.attention_flops * times, text->tflops),
                                  time_of(shape.ffn_flops * times, text->tflops)};
        training->head_forward_ps = time_of(shape.head_flops, text->tflops);
        training->head_backward_ps = time_of(shape.head_flops * 2, text->tflops);
    }
    training->forward = forward_ops(loader, text, &shape, &forward);
    training->backward = backward_ops(loader, text, &shape, &backward);
    gradient_lists(loader, text, &shape, training);
    training->stage_bytes = shape.activation_bytes / training->size[FABRIC_GROUP_TP];
    training->tokens =
        (uint64_t)text->micro_batch * text->model.sequence * training->micro_batches * training->size[FABRIC_GROUP_DP];
    return !loader->no_memory;
}

/* A token at a time: each layer reads the cache and its weights, and sums twice. */
bool model_inference(struct loader *loader, const struct training_text *text, struct fabric_training *training)
{
    if (!shape_fits(loader, text, text->micro_batch)) return false;
    struct shape shape = shape_of(text, training, text->micro_batch, text->context);
    uint32_t most = share_layers(loader, text, training);
    struct times forward;

    if (text->forward_ps) {
        forward.attention = part_of(text->forward_ps / most, 1, 2);
        forward.ffn = text->forward_ps / most - forward.attention;
    } else {
        forward = (struct times){time_of(shape.attention_flops, text->tflops), time_of(shape.ffn_flops, text->tflops)};
        training->head_forward_ps = time_of(shape.head_flops, text->tflops);
    }
    training->forward = forward_ops(loader, text, &shape, &forward);
    training->stage_bytes = shape.activation_bytes / training->size[FABRIC_GROUP_TP];
    training->tokens = (uint64_t)text->micro_batch * training->size[FABRIC_GROUP_DP];
    return !loader->no_memory;
}
