/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What small messages take in a fabric where nothing else is under way.
 */
#ifndef ROCELAB_STUDY_SMALL_H
#define ROCELAB_STUDY_SMALL_H

#include <stdbool.h>

#include "base/time.h"
#include "sim/sim.h"

struct fabric;

/* One way of 8 and of 4096 bytes, half of to and fro, over the longest path of the first endpoint.  The file's jobs and
 * faults are left out.  False: there is no such path, or the run does not end. */
bool small_messages(const struct fabric *fabric, const struct sim_options *options, ps_t *ret_8, ps_t *ret_4k);

#endif
