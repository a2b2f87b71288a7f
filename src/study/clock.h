/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's clock, for those who show progress and say how long something took.  No result depends on it.
 */
#ifndef ROCELAB_STUDY_CLOCK_H
#define ROCELAB_STUDY_CLOCK_H

#include <stdint.h>

uint64_t clock_now_ns(void); /* monotonic */

#endif
