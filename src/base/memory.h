/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When memory ran out, and what a process then does.
 *
 * Rooms answer NULL or -ENOMEM, and whoever loaded them decides.  The program decides once for all of them
 * (cli/memory.c): it ends.  So memory_ran_out() does not answer there, and no room has to carry the word up.
 */
#ifndef ROCELAB_BASE_MEMORY_H
#define ROCELAB_BASE_MEMORY_H

#define MEMORY_EXIT 2 /* the exit status of a process that ended for want of memory */

extern void (*memory_end)(void); /* ends the process; NULL, as at start: nothing does */
int memory_ran_out(void);        /* -ENOMEM; for what a library does not say with NULL */

#endif
