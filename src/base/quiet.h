/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are written in threads of a program of others: what goes wrong is an error, and no signal of the program.
 *
 * A pipe whose reader left sends SIGPIPE, a file that outgrows `ulimit -f` SIGXFSZ, to the thread that writes; both end
 * a program that never heard of our file.  How it takes its signals is its own: none is let into this thread, and one
 * that came is taken out again, unless the program had one waiting itself.
 */
#ifndef ROCELAB_BASE_QUIET_H
#define ROCELAB_BASE_QUIET_H

#include <signal.h>

struct quiet {
    sigset_t ours, before;
};

void quiet_begin(struct quiet *quiet);
void quiet_end(struct quiet *quiet); /* errno stays */

#endif
