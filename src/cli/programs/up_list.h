/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab up --list.
 */
#ifndef ROCELAB_CLI_UP_LIST_H
#define ROCELAB_CLI_UP_LIST_H

#include <stdbool.h>
#include <stdio.h>

/* The user's fabrics that are up, by name.  An exit status. */
int up_list(bool json, FILE *out);

#endif
