/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose are abstract sockets?  The kernel tells without a connection (unix_diag), so also of those that take none.
 */
#ifndef ROCELAB_WIRE_NAMES_H
#define ROCELAB_WIRE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ret[i]: another user listens at the abstract name PREFIXi, i below `count`.  0, or -errno: this kernel does not
 * tell. */
int names_of_others(const char *prefix, uint32_t count, bool *ret);
/* The process that listens at an abstract name, if it is one whose files we may see in /proc; else 0. */
pid_t names_holder(const char *name);

#endif
