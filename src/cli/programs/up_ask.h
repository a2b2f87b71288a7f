/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of the verbs to a fabric that is up.
 */
#ifndef ROCELAB_CLI_UP_ASK_H
#define ROCELAB_CLI_UP_ASK_H

#include <stdio.h>

#include "up/up.h"

/* Asks the fabric of that name (NULL: the only one that is up); its answer goes to `out`, and its socket's path to
 * `ret_path`.  CLI_DONE; CLI_PROBLEMS: it says no, in `out`; CLI_WRONG after a message in the name of `verb`. */
int up_ask(const char *verb, const char *name, const char *words, char ret_path[UP_PATH], FILE *out);

#endif
