/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs out of the file: what the files of this room tell each other, and the loader.
 */
#ifndef ROCELAB_JOBS_JOBS_H
#define ROCELAB_JOBS_JOBS_H

#include <stdbool.h>

#include "fabric/file/read.h"
#include "fabric/topology/topology.h"
#include "fabric/work.h"

bool jobs_load(struct loader *loader);
/* The value of `flows`: a list of maps, or lines of text. */
void flows_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
/* The value of `sizes`: a name, {file: PATH}, or points. */
void sizes_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
/* ranks.c: whose ranks are GPUs. */
static inline bool job_on_gpus(const struct fabric_job *job)
{
    return fabric_job_collective((enum fabric_job_kind)job->kind) || fabric_job_trains((enum fabric_job_kind)job->kind);
}
/* The value of `ranks`: a number, names, or `storage`. */
void ranks_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
/* Endpoints by name, a host for all of its own; nothing is answered where one is wrong. */
void ranks_endpoints(struct loader *loader, const struct tree *value, const uint32_t **ret, uint32_t *ret_count);
/* Everybody: all GPUs, or all endpoints but those of a storage network. */
void ranks_default(struct loader *loader, struct fabric_job *job);
/* `placement` and `order` of the job's map, after its ranks. */
void ranks_place(struct loader *loader, const struct tree *item, struct fabric_job *job);

/* collective.c */
extern const struct field collective_fields[], rooted_fields[], pair_fields[]; /* of struct fabric_job */
extern const uint32_t collective_field_count, rooted_field_count, pair_field_count;
/* The kind's value: the algorithm. */
void algorithm_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
void collective_sizes_finish(struct loader *loader, const struct tree *item, struct fabric_job *job);
/* What cannot be, of ranks and algorithm together. */
void collective_check(struct loader *loader, const struct tree *item, const struct tree *kind,
                      const struct fabric_job *job);

/* An endpoint by name; FABRIC_NONE with the sentence. */
uint32_t endpoint_read(struct loader *loader, const char *name, struct fabric_at at);

#endif
