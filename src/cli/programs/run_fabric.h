/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is to run on a host of a fabric that is up.
 */
#ifndef ROCELAB_CLI_RUN_FABRIC_H
#define ROCELAB_CLI_RUN_FABRIC_H

#include <stdbool.h>

struct run_fabric {
    bool on;
    const char *fabric; /* NULL: the only one that is up */
    const char *host;   /* NULL: not said */
};

/* Sets what the program's environment needs; false after a message. */
bool run_fabric_prepare(const struct run_fabric *fabric, const char *folder);

/* Whether we are a program of a fabric ourselves and another host of it is meant: then the program is started there,
 * and its exit status (or why it could not be) is in ret. */
bool run_fabric_elsewhere(const struct run_fabric *fabric, char **argv, int *ret);

#endif
