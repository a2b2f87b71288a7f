/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of real programs, for the verbs that run them.
 */
#ifndef ROCELAB_CLI_UP_SCRIPT_H
#define ROCELAB_CLI_UP_SCRIPT_H

#include <stdbool.h>

#include "up/up.h"

struct fabric;

/* With a fabric its hosts are looked for there, and its faults become the fabric's.  False after messages: all that is
 * wrong at once.  Released with up_script_free() either way. */
bool cli_script_read(const char *path, struct fabric *fabric, struct up_script *ret);

#endif
