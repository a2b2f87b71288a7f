/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes: fork, exec, spawn, wait and exit of a program in the fabric.
 */
#include "attach/attach_int.h"

_Static_assert(SESSION_VARIABLES > 0, "exec needs the session's variables");
