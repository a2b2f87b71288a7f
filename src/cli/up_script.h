/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of real programs, for the verbs that run them.
 */
#ifndef ROCELAB_CLI_UP_SCRIPT_H
#define ROCELAB_CLI_UP_SCRIPT_H

#include <stdbool.h>

#include "fabric/fabric.h"
#include "up/up.h"

/* Both: false after a message.  What was read is released with up_script_free(). */
bool cli_script_read(const char *path, struct up_script *ret);
/* Its faults become the fabric's. */
bool cli_script_faults(const char *path, const struct up_script *script, struct fabric *fabric);

#endif
