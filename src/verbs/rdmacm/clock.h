/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of librdmacm: monotonic nanoseconds.
 */
#ifndef ROCELAB_VERBS_RDMACM_CLOCK_H
#define ROCELAB_VERBS_RDMACM_CLOCK_H

#include <stdint.h>

uint64_t rdmacm_now_ns(void);

#endif
