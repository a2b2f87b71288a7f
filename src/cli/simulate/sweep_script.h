/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A point of a sweep with real programs.  Private to the verb sweep.
 */
#ifndef ROCELAB_CLI_SWEEP_SCRIPT_H
#define ROCELAB_CLI_SWEEP_SCRIPT_H

#include "study/sweep.h"
#include "up/up.h"

struct sweep_script {
    const char *path;
    struct up_script script;
    char runner[4096]; /* our own path */
};

/* The sweep runs these programs; false after a message. */
bool sweep_script_begin(struct sweep_script *script, struct sweep *sweep);
void sweep_script_end(struct sweep_script *script);

#endif
