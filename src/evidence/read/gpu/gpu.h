/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of what GPUs' side says: hosts, communicators, and what ranks spent in collectives.
 */
#ifndef ROCELAB_EVIDENCE_READ_GPU_GPU_H
#define ROCELAB_EVIDENCE_READ_GPU_GPU_H

#include "evidence/read/reader.h"

/* The host of this name, with or without its domain, in a text that a process of it wrote: the first that nobody knows
 * is the folder's device, another is a new one. */
uint32_t gpu_host(struct reading *in, const struct text_field *name);
/* The same in a text about all hosts: one that nobody knows is new. */
uint32_t gpu_host_named(struct reading *in, const struct text_field *name);
/* The job of a communicator: "comm 9f1c2a77" of "0x000000009f1c2a77", whoever wrote it. */
uint32_t gpu_job(struct reading *in, const struct text_field *comm);
/* A rank and its host (EVIDENCE_NONE: not known). */
uint32_t gpu_rank(struct reading *in, uint32_t job, uint64_t number, uint32_t host);
/* The job of a test's output: `name`; where this look has another output of that name, or one of another program,
 * "name program", then "name program, 2" and so on.  `program` stays. */
uint32_t gpu_test(struct reading *in, const char *name, const char *program);
void gpu_set(struct reading *in, uint32_t object, enum evidence_counter counter, uint64_t value);
void gpu_set_real(struct reading *in, uint32_t object, enum evidence_counter counter, double value);

/* What many lines say of collectives, summed by rank. */
struct collective {
    uint32_t rank;                      /* object */
    uint64_t seq, bytes;                /* seq 0: not numbered as the other ranks' */
    double exec_ns, bus_bytes_s;        /* 0: not known */
    bool waits;                         /* the next three are known */
    double gpu_ns, peer_ns, network_ns; /* of a proxy operation */
};
struct collective_sum {
    uint64_t count, timed, waited, last;
    double exec_ns, gpu_ns, peer_ns, network_ns;
    uint64_t largest, largest_count; /* of the largest message: what nccl-tests would print */
    double largest_ns, largest_bus;
};
struct collective_sums {
    struct reading *in;
    struct collective_sum *sum; /* by object */
    uint32_t sums;
};
void collectives_add(struct collective_sums *collectives, const struct collective *one);
/* Sets what was summed, and releases. */
void collectives_finish(struct collective_sums *collectives);

/* JSON objects one after another, each on a line or on several: the next one's tree on the arena.  A broken one is
 * passed over.  NULL: there is none left. */
struct json_objects {
    const char *at, *end;
    uint32_t line;
    struct arena arena; /* of the object at hand */
};
void objects_init(struct json_objects *objects, const char *text, size_t bytes);
const struct json *objects_next(struct json_objects *objects);
void objects_release(struct json_objects *objects);

/* Of a member; 0 and "" where there is none. */
uint64_t member_u64(const struct json *object, const char *path);
double member_real(const struct json *object, const char *path);
struct text_field member_text(const struct json *object, const char *path);

#endif
