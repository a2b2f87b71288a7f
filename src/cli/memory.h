/* SPDX-License-Identifier: Apache-2.0 */
/* What the program does when there is no memory: memory.c. */
#ifndef ROCELAB_CLI_MEMORY_H
#define ROCELAB_CLI_MEMORY_H

#include <stdbool.h>

/* An allocation that fails ends the program (false, said first of all), or is a matter of who asked for it (true).
 * memory_ran_out() ends it always. */
void cli_memory_may_fail(bool may);

#endif
