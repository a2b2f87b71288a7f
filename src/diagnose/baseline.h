/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What good runs took, kept to hold others against: step time, share of it that waits for communication, bus bandwidth,
 * by job, number of ranks and size of the message, with the digest of the fabric file that they were measured on; and
 * what single programs (perftest, UCX, nccl-tests) reached on a cluster's hosts, or on the machine that wrote it.
 */
#ifndef ROCELAB_DIAGNOSE_BASELINE_H
#define ROCELAB_DIAGNOSE_BASELINE_H

#include "diagnose/diagnose.h"

struct diagnose_baseline_job {
    const char *job;
    uint64_t ranks;         /* 0: not known */
    double step_ns;         /* 0: it has no steps */
    double exposed;         /* share of a step, below 0: not known */
    double busbw;           /* bytes a second; 0: not known */
    uint64_t message_bytes; /* that the bus bandwidth is of; 0: not known */
};
struct diagnose_baseline_program {
    const char *program;    /* "ib_write_lat" */
    const char *host;       /* whose output it is; NULL: of no host, or of this machine */
    uint64_t message_bytes; /* 0: not known */
    double rate_bps;        /* bits a second; 0: it is a latency */
    double latency_ns;      /* 0: it is a rate */
};
struct baseline_machine {     /* that live programs ran on: figures of another say nothing */
    const char *cpu, *kernel; /* NULL: no live program was measured */
    uint64_t processors;
};
struct diagnose_baseline {
    uint64_t digest;        /* of the fabric file; 0: there was none */
    uint64_t program;       /* of the program that measured; 0: not known */
    uint64_t content;       /* of the file it was read from */
    const char *by, *level; /* who signed it; of `validate`.  NULL: not known */
    const char *owner;      /* of `baseline` in the fabric file: written, not read */
    const struct diagnose_baseline_job *job;
    uint32_t jobs;
    struct baseline_machine machine;
    const struct diagnose_baseline_program *live, *measured; /* of that machine; of a cluster's outputs */
    uint32_t lives, measureds;
};
/* The job of this name, so many ranks and messages of this size; NULL: there is none. */
const struct diagnose_baseline_job *baseline_find(const struct diagnose_baseline *baseline,
                                                  const struct evidence *evidence, uint32_t job);
/* What a baseline keeps of a job; false: nothing. */
bool baseline_of(const struct evidence *evidence, uint32_t job, struct diagnose_baseline_job *ret);

#endif
