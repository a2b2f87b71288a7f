/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training, inference and traces out of the file.  Private to src/fabric.
 */
#ifndef ROCELAB_FABRIC_TRAINING_INT_H
#define ROCELAB_FABRIC_TRAINING_INT_H

#include "fabric/jobs.h"
#include "fabric/read.h"
#include "fabric/training.h"

struct model { /* a transformer */
    uint32_t layers, hidden, heads, kv_heads, ffn, sequence, vocab;
    uint32_t experts, top_k; /* experts 0: dense */
    bool gated;              /* three matrices in the feed-forward part, not two */
};

struct training_text { /* what the file says, before it is worked out */
    struct model model;
    uint32_t micro_batch, micro_batches;
    uint64_t global_batch;
    uint32_t dtype, gradients; /* indices of dtype_bytes */
    uint32_t optimizer;
    uint32_t tflops;
    ps_t forward_ps, backward_ps;
    bool overlap, recompute, sequence_parallel;
    uint32_t slice_layers, slice_dp, slice_pp, slice_micro_batches; /* 0: all */
    uint32_t context;                                               /* inference: tokens in the cache */
    uint32_t steps, jitter_ppm;
    uint32_t imbalance_milli;
    uint32_t nvlink; /* nvlink_choices */
};
extern const char *const nvlink_choices[];
extern const uint32_t dtype_bytes[];
enum { OPTIMIZER_DISTRIBUTED, OPTIMIZER_REPLICATED, OPTIMIZER_SHARDED };

/* The values of `training`, `inference` and `trace`; job->training, or an error. */
void training_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
void inference_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
void trace_read(struct loader *loader, const struct tree *value, struct fabric_job *job);

/* Such a job is not repeated as others are: true with the sentence. */
bool repeats(struct loader *loader, const struct tree *value, const struct fabric_job *job);

/* training_groups.c: {tp: 8, pp: 4}; what is not named is 1, and dp is what is left of the ranks.  `at`: where nothing
 * is said.  False with the sentence. */
bool groups_read(struct loader *loader, const struct tree *value, struct fabric_at at, uint32_t ranks,
                 uint32_t slice_dp, uint32_t slice_pp, struct fabric_training *training);
bool groups_fit(struct loader *loader, struct fabric_at at, uint32_t ranks, struct fabric_training *training);
void groups_default(struct fabric_training *training);

/* training_checkpoint.c: false with the sentence */
bool checkpoint_read(struct loader *loader, const struct tree *value, const struct fabric_job *job,
                     struct fabric_training *training);

/* training_model.c: the lists, from the model's arithmetic */
bool model_read(struct loader *loader, const struct tree *value, struct model *model);
bool model_training(struct loader *loader, const struct training_text *text, struct fabric_training *training);
bool model_inference(struct loader *loader, const struct training_text *text, struct fabric_training *training);

/* A list that grows, in scratch; kept when it is done. */
struct op_list {
    struct fabric_op *op;
    uint32_t count, capacity;
};
void op_add(struct loader *loader, struct op_list *list, struct fabric_op op);
struct fabric_ops ops_keep(struct loader *loader, const struct op_list *list);
const char *keep_text(struct loader *loader, const char *text);

/* trace_simai.c, trace_aicb.c, trace_chakra.c: the text of the file; errors are at `at`, with the trace's own line
 * and column */
struct trace {
    const char *path;
    struct fabric_at at; /* where the fabric file names it */
    uint32_t ranks;
    bool set_up; /* what the trace does before the first step is run too */
};
void trace_simai(struct loader *loader, const struct trace *trace, char *text, struct fabric_training *training);
void trace_aicb(struct loader *loader, const struct trace *trace, char *text, struct fabric_training *training);
void trace_chakra(struct loader *loader, const struct trace *trace, const char *text, size_t length,
                  struct fabric_training *training);
__attribute__((format(printf, 5, 6))) void trace_error(struct loader *loader, const struct trace *trace, uint32_t line,
                                                       uint32_t column, const char *format, ...);

#endif
