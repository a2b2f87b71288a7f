/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the program's own files are: examples, experiments, pages, the libraries that it gives to programs.
 */
#ifndef ROCELAB_CLI_PLACE_H
#define ROCELAB_CLI_PLACE_H

#include <limits.h>
#include <stdbool.h>

/* The folder that the program is in. */
bool cli_place_program(char ret[PATH_MAX]);
/* The file or folder `name` of what is installed under share/rocelab, or of the tree where the program is in a build
 * folder of it.  False when there is none; `ret` is then where it would be installed. */
bool cli_share(const char *name, char ret[PATH_MAX]);

#endif
