/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole terminal for a while: entered, written, asked for keys, and left as it was, however the program ends.
 */
#ifndef ROCELAB_CLI_SCREEN_H
#define ROCELAB_CLI_SCREEN_H

#include <stdbool.h>

/* False: standard output is no terminal, or one that cannot. */
bool screen_enter(void);
void screen_leave(void);
/* As it is now. */
void screen_size(unsigned *ret_columns, unsigned *ret_rows);
/* A key within this time; 0: none, or the size has changed, or it is to end.  A stop by the terminal (Ctrl-Z) is
 * carried out here. */
char screen_key(int most_ms);

#endif
