/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counters --watch shows: a fabric that is up, or live programs.
 */
#ifndef ROCELAB_CLI_TOP_SOURCES_H
#define ROCELAB_CLI_TOP_SOURCES_H

#include "cli/programs/top.h"
#include "live/counters.h"

struct top_from {
    const char *fabric; /* NULL: programs under `rocelab run` */
    const char *which;  /* NULL: all */
    bool (*wanted)(const struct device_counter_set *set, const char *which);
    uint64_t begun_ns; /* private, from here */
    bool any;
};
/* top_source's; the context is a top_from. */
int top_of_fabric(void *context, struct top_sample *ret);
int top_of_programs(void *context, struct top_sample *ret);

#endif
