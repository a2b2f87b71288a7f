/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training, inference and traces out of the file.
 */
#ifndef ROCELAB_JOBS_TRAINING_INT_H
#define ROCELAB_JOBS_TRAINING_INT_H

#include "fabric/file/read.h"
#include "jobs/jobs.h"
#include "jobs/training.h"

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
    uint32_t schedule, chunks; /* chunks 0: not said */
    uint32_t imbalance_milli;
    uint32_t nvlink;     /* nvlink_choices */
    struct fabric_at at; /* of the model */
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
/* "1, 2, 4 or 8": the divisors of a number, the first few and itself. */
void divisors_text(uint32_t of, char *buf, size_t size);

/* training_pipeline.c: the value of `pipeline`; then, with groups and micro-batches known, whether it can be */
void pipeline_read(struct loader *loader, const struct tree *value, void *into);
bool pipeline_fits(struct loader *loader, const struct tree *value, const struct training_text *text,
                   struct fabric_training *training);

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
/* One graph that every rank runs, or, where the file's name has a *, one a rank. */
void trace_chakra(struct loader *loader, const struct trace *trace, const char *text, size_t length,
                  struct fabric_training *training);
void trace_chakra_ranks(struct loader *loader, const struct trace *trace, struct fabric_training *training);

/* trace_pairs.c: sends and receives of traces that are each one rank's */
struct pair {
    uint32_t src, dst;
    bool receives;
    uint64_t tag, bytes;
    uint64_t node;      /* its id, for errors */
    uint32_t at, other; /* in its rank's list; in the other's */
};
struct pair_list {
    struct pair *pair;
    uint32_t count, capacity;
};
bool pair_add(struct loader *loader, struct pair_list *pairs, const struct pair *pair);
/* Each with its other end, and its lane in `list` [ranks]; false with the sentence. */
bool pairs_match(struct loader *loader, const struct trace *trace, struct pair_list *pairs, struct op_list *list);
__attribute__((format(printf, 5, 6))) void trace_error(struct loader *loader, const struct trace *trace, uint32_t line,
                                                       uint32_t column, const char *format, ...);

#endif
