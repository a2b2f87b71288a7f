/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the files are that stand for a kernel's.
 */
#ifndef ROCELAB_VERBS_IBVERBS_SYSFS_H
#define ROCELAB_VERBS_IBVERBS_SYSFS_H

#include <limits.h>
#include <stddef.h>

/* For a path under /sys/class/infiniband*, /sys/class/misc/rdma_cm or /dev/infiniband: the path to use, in `buffer`, or
 * `path` itself. */
const char *sysfs_path(const char *path, char buffer[PATH_MAX]);

/* sysfs_counters.c: the name of a counter's file below its port, by index; NULL: there are no more. */
const char *sysfs_counter_file(unsigned index, char *ret, size_t bytes);
struct device_info;
/* Writes what the counters are now.  `port`: the port's folder; `wanted`: below it, a counter's file or its folder. */
void sysfs_counters_refresh(const char *port, const char *wanted, const struct device_info *device);

#endif
