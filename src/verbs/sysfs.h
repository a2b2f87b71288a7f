/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the files are that stand for a kernel's.
 */
#ifndef ROCELAB_VERBS_SYSFS_H
#define ROCELAB_VERBS_SYSFS_H

#include <limits.h>

/* For a path under /sys/class/infiniband* or /dev/infiniband: the path to use, in `buffer`, or `path` itself. */
const char *sysfs_path(const char *path, char buffer[PATH_MAX]);

#endif
