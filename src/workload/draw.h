/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random draws of a workload, in integers: the same on every machine, compiler and C library.
 */
#ifndef ROCELAB_WORKLOAD_DRAW_H
#define ROCELAB_WORKLOAD_DRAW_H

#include "base/rng.h"
#include "base/time.h"
#include "base/wide.h"

struct fabric_job;

#define DRAW_LOG_BITS 40 /* fraction bits of draw_log() */
#define DRAW_BITS 53     /* a uniform number is x / 2^53, x in 1 .. 2^53 */
#define DRAW_GAP_BITS 16 /* fraction bits of gaps and of the time they add up to, in picoseconds */

/* Uniform in 1 .. 2^DRAW_BITS. */
uint64_t draw_uniform(struct rng *rng);
/* -ln(x / 2^DRAW_BITS), rounded down; off by less than 2^-DRAW_LOG_BITS. */
uint64_t draw_log(uint64_t x);

/* The mean gap between the arrivals that load a line of `rate_bps` as far as the job says. */
u128 draw_mean_gap(const struct fabric_job *job, uint64_t rate_bps);
/* The next gap: exponential. */
u128 draw_gap(u128 mean, struct rng *rng);
/* A size off the job's distribution: straight lines between its points, at least a byte. */
uint64_t draw_size(const struct fabric_job *job, struct rng *rng);

#endif
