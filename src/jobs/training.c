/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `training:` and `inference:` out of the file.
 *
 *     - training:
 *         model: llama3-405b
 *         groups: {tp: 8, pp: 16, dp: 128}
 *         global-batch: 2048
 *         compute: {tflops: 400}
 *         slice: {layers: 16, dp: 1, micro-batches: 16}
 *         steps: 1
 *
 * Only this file and its neighbours know the model; the workload sees lists of operations (training.h).  A slice is
 * what is run of a job that is too large: the groups are those of the whole, and the result says what was left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jobs/training_int.h"

static void read_compute(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("tflops", FIELD_COUNT, struct training_text, tflops, 1, 10000000),
        F_VALUE("forward", FIELD_TIME, struct training_text, forward_ps, 1, PS_S * 1000),
        F_VALUE("backward", FIELD_TIME, struct training_text, backward_ps, 1, PS_S * 1000),
    };
    struct field_set set = {fields, COUNT_OF(fields), into};
    struct training_text *text = into;

    if (!read_map(loader, value, "compute", &set, 1)) return;
    if (text->tflops && text->forward_ps)
        read_error(loader, value->at, "compute: tflops or forward and backward, not both");
}

static void read_slice(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("layers", FIELD_COUNT, struct training_text, slice_layers, 1, 100000),
        F_VALUE("dp", FIELD_COUNT, struct training_text, slice_dp, 1, 1 << 20),
        F_VALUE("pp", FIELD_COUNT, struct training_text, slice_pp, 1, 1 << 20),
        F_VALUE("micro-batches", FIELD_COUNT, struct training_text, slice_micro_batches, 1, 1 << 20),
    };
    struct field_set set = {fields, COUNT_OF(fields), into};

    read_map(loader, value, "slice", &set, 1);
}

static void read_imbalance(struct loader *loader, const struct tree *value, void *into)
{
    uint32_t num = 0, den = 0;

    if (!read_fraction(loader, value, &num, &den)) return;
    uint64_t milli = (uint64_t)num * 1000 / den;
    if (milli < 1000 || milli > 1000000)
        read_error(loader, value->at, "imbalance: the most loaded over the mean, 1 to 1000, is expected");
    else
        ((struct training_text *)into)->imbalance_milli = (uint32_t)milli;
}

const char *const nvlink_choices[] = {"model", "exact", NULL};
static const char *const dtypes[] = {"fp8", "bf16", "fp16", "fp32", NULL};
static const char *const optimizers[] = {"distributed", "replicated", "sharded", NULL};
static const struct field common[] = {
    F_IGNORE("model"),
    F_IGNORE("groups"),
    F_CALL("compute", read_compute),
    F_CALL("slice", read_slice),
    F_CALL("imbalance", read_imbalance),
    F_CHOICE("dtype", struct training_text, dtype, dtypes),
    F_VALUE("sequence-parallel", FIELD_BOOL, struct training_text, sequence_parallel, 0, 0),
    F_CHOICE("nvlink", struct training_text, nvlink, nvlink_choices),
    F_VALUE("jitter", FIELD_SHARE, struct training_text, jitter_ppm, 0, 1000000),
};
static const struct field training_only[] = {
    F_IGNORE("checkpoint"),
    F_VALUE("steps", FIELD_COUNT, struct training_text, steps, 1, FABRIC_STEPS_MAX),
    F_VALUE("micro-batch", FIELD_COUNT, struct training_text, micro_batch, 1, 1 << 20),
    F_VALUE("micro-batches", FIELD_COUNT, struct training_text, micro_batches, 1, 1 << 20),
    F_VALUE("global-batch", FIELD_COUNT, struct training_text, global_batch, 1, 1 << 30),
    F_CHOICE("gradients", struct training_text, gradients, dtypes),
    F_CHOICE("optimizer", struct training_text, optimizer, optimizers),
    F_CALL("pipeline", pipeline_read),
    F_VALUE("overlap", FIELD_BOOL, struct training_text, overlap, 0, 0),
    F_VALUE("recompute", FIELD_BOOL, struct training_text, recompute, 0, 0),
};
static const struct field inference_only[] = {
    F_VALUE("tokens", FIELD_COUNT, struct training_text, steps, 1, FABRIC_STEPS_MAX),
    F_VALUE("batch", FIELD_COUNT, struct training_text, micro_batch, 1, 1 << 20),
    F_VALUE("context", FIELD_COUNT, struct training_text, context, 1, 1 << 26),
};

struct whole { /* sizes of the job that a slice is of */
    uint32_t dp, pp, micro;
};

/* What is simulated of what, in words; NULL: all of it. */
static const char *slice_words(struct loader *loader, const struct training_text *text, const struct whole *whole)
{
    char words[160] = "";
    size_t used = 0;

    if (text->slice_layers && text->slice_layers < text->model.layers)
        used += (size_t)snprintf(words + used, sizeof(words) - used, "%u of %u layers", text->slice_layers,
                                 text->model.layers);
    if (text->slice_pp && text->slice_pp < whole->pp)
        used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%u of %u stages", used ? ", " : "",
                                 text->slice_pp, whole->pp);
    if (text->slice_dp && text->slice_dp < whole->dp)
        used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%u of %u in dp", used ? ", " : "",
                                 text->slice_dp, whole->dp);
    if (text->slice_micro_batches && text->slice_micro_batches < whole->micro)
        used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%u of %u micro-batches", used ? ", " : "",
                                 text->slice_micro_batches, whole->micro);
    return used ? keep_text(loader, words) : NULL;
}

/* Micro-batches a step: as said, or what the global batch leaves each of dp. */
static bool count_micro_batches(struct loader *loader, const struct tree *value, const struct training_text *text,
                                uint32_t whole_dp, uint32_t *ret)
{
    uint64_t each = (uint64_t)text->micro_batch * whole_dp;
    const struct tree *global = tree_get(value, "global-batch");

    *ret = text->micro_batches;
    if (!global) return true;
    if (text->micro_batches) {
        read_error(loader, global->key_at, "global-batch or micro-batches, not both");
        return false;
    }
    if (text->global_batch % each != 0 || text->global_batch / each > 1 << 20) {
        read_error(loader, global->at,
                   "global-batch: %" PRIu64 " is no multiple of micro-batch %u x dp %u = %" PRIu64 "; %" PRIu64
                   " would be",
                   text->global_batch, text->micro_batch, whole_dp, each, (text->global_batch / each + 1) * each);
        return false;
    }
    *ret = (uint32_t)(text->global_batch / each);
    return true;
}

static uint32_t whole_size(const struct tree *groups, const struct fabric_training *training, uint32_t group)
{
    const struct tree *said = groups ? tree_get(groups, fabric_group_names[group]) : NULL;
    uint64_t whole = 0;

    return said && read_decimal(said->text, &whole) ? (uint32_t)whole : training->size[group];
}

/* Each rank of a tensor-parallel group has as many heads of attention. */
static bool heads_fit(struct loader *loader, const struct tree *model, const struct tree *groups,
                      const struct training_text *text, const struct fabric_training *training)
{
    const struct tree *heads = model->type == TREE_MAP ? tree_get(model, "heads") : NULL;
    const struct tree *said = groups ? tree_get(groups, "tp") : NULL;
    uint32_t tp = training->size[FABRIC_GROUP_TP];
    bool known = heads || model->type != TREE_MAP || tree_get(model, "use");
    char list[96];

    if (!known || !said || text->model.heads % tp == 0) return true;
    divisors_text(text->model.heads, list, sizeof(list));
    read_error(loader, said->at, "groups: tp %u does not divide the model's %u heads; %s would", tp, text->model.heads,
               list);
    return false;
}

/* What both have: the model, the groups, what cannot be. */
static bool read_parts(struct loader *loader, const struct tree *value, const struct fabric_job *job,
                       struct training_text *text, struct fabric_training *training, struct whole *ret_whole)
{
    const struct tree *model = tree_get(value, "model"), *groups = tree_get(value, "groups");
    const struct tree *slice = tree_get(value, "slice");

    if (!model) {
        read_error(loader, value->at, "%s needs a model, as in {model: gpt-175b, groups: {tp: 8}, ...}", value->key);
        return false;
    }
    text->at = model->at;
    if (!model_read(loader, model, &text->model)) return false;
    if (!text->tflops && !text->forward_ps) {
        read_error(loader, value->at, "%s needs compute, as in {tflops: 400} or {forward: 3ms, backward: 6ms}",
                   value->key);
        return false;
    }
    groups_default(training);
    if (!groups_read(loader, groups, value->at, job->ranks, text->slice_dp, text->slice_pp, training)) return false;
    if (!heads_fit(loader, model, groups, text, training)) return false;
    *ret_whole = (struct whole){.dp = whole_size(groups, training, FABRIC_GROUP_DP),
                                .pp = whole_size(groups, training, FABRIC_GROUP_PP)};
    if (text->slice_pp && !text->slice_layers)
        text->slice_layers = (uint32_t)((uint64_t)text->model.layers * text->slice_pp / ret_whole->pp);
    uint32_t layers = text->slice_layers ? text->slice_layers : text->model.layers,
             pp = training->size[FABRIC_GROUP_PP];
    if (layers < pp || layers > text->model.layers) {
        read_error(loader, slice ? slice->at : model->at,
                   "%u layers of %u in %u stages cannot be: each has one or more", layers, text->model.layers, pp);
        return false;
    }
    uint32_t ep = training->size[FABRIC_GROUP_EP];
    if (ep > 1 && (text->model.experts == 0 || text->model.experts % ep != 0)) {
        read_error(loader, groups ? groups->at : value->at, "groups: ep %u, but the model has %u experts", ep,
                   text->model.experts);
        return false;
    }
    return true;
}

bool repeats(struct loader *loader, const struct tree *value, const struct fabric_job *job)
{
    if (job->repeat > 1)
        read_error(loader, value->at, "%s: it is repeated by its own steps, not by repeat", value->key);
    return job->repeat > 1;
}

static struct fabric_training *begin(struct loader *loader, const struct training_text *text)
{
    struct fabric_training *training = KEEP_NEW(loader, struct fabric_training, 1);

    if (!training) return NULL;
    training->steps = text->steps;
    training->jitter_ppm = text->jitter_ppm;
    training->exact = text->nvlink == 1;
    training->chunks = 1;
    return training;
}

void training_read(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    struct training_text text = {
        .micro_batch = 1, .dtype = 1, .gradients = UINT32_MAX, .overlap = true, .steps = 1, .imbalance_milli = 1000};
    struct field_set sets[] = {{common, COUNT_OF(common), &text}, {training_only, COUNT_OF(training_only), &text}};
    struct whole whole = {0};

    if (repeats(loader, value, job) || !read_map(loader, value, "training", sets, COUNT_OF(sets))) return;
    if (text.gradients == UINT32_MAX) text.gradients = text.dtype;
    if (text.forward_ps && !text.backward_ps) text.backward_ps = (text.recompute ? 3 : 2) * text.forward_ps;
    struct fabric_training *training = begin(loader, &text);
    if (!training || !read_parts(loader, value, job, &text, training, &whole)) return;
    if (!count_micro_batches(loader, value, &text, whole.dp, &whole.micro)) return;
    if (whole.micro == 0) whole.micro = whole.pp;
    if (text.slice_micro_batches > whole.micro) {
        read_error(loader, tree_get(value, "slice")->at, "slice: %u micro-batches of %u", text.slice_micro_batches,
                   whole.micro);
        return;
    }
    if (text.optimizer == OPTIMIZER_SHARDED && text.model.experts) {
        read_error(loader, tree_get(value, "optimizer")->at, "optimizer: sharded is for models without experts");
        return;
    }
    const struct tree *checkpoint = tree_get(value, "checkpoint");
    if (checkpoint && !checkpoint_read(loader, checkpoint, job, training)) return;
    training->micro_batches = text.slice_micro_batches ? text.slice_micro_batches : whole.micro;
    training->imbalance_ppm = (text.imbalance_milli - 1000) * 1000;
    training->slice = slice_words(loader, &text, &whole);
    if (!pipeline_fits(loader, tree_get(value, "pipeline"), &text, training)) return;
    if (model_training(loader, &text, training)) job->training = training;
}

void inference_read(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    struct training_text text = {.micro_batch = 1, .dtype = 1, .steps = 16, .imbalance_milli = 1000};
    struct field_set sets[] = {{common, COUNT_OF(common), &text}, {inference_only, COUNT_OF(inference_only), &text}};
    struct whole whole = {0};

    if (repeats(loader, value, job) || !read_map(loader, value, "inference", sets, COUNT_OF(sets))) return;
    struct fabric_training *training = begin(loader, &text);
    if (!training || !read_parts(loader, value, job, &text, training, &whole)) return;
    if (!text.context) text.context = text.model.sequence;
    if (text.slice_micro_batches) {
        read_error(loader, tree_get(value, "slice")->at, "slice: inference has no micro-batches");
        return;
    }
    training->micro_batches = 1;
    training->imbalance_ppm = (text.imbalance_milli - 1000) * 1000;
    training->slice = slice_words(loader, &text, &whole);
    if (model_inference(loader, &text, training)) job->training = training;
}
