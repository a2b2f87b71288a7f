/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at what was recorded ten times a second, and writes what is over.
 *
 * A thread of its own, so that NCCL's threads never wait for a disk.  It takes no signal of the program's.
 */
#ifndef ROCELAB_NCCL_WRITER_H
#define ROCELAB_NCCL_WRITER_H

#include <stdbool.h>

#include "nccl/recorder.h"

/* A communicator begins, maybe while others do; with the first the file is opened and the thread started.  What cannot
 * be is said by `log`.  False: there is no room for it. */
bool writer_begin(const struct recorder_about *about, int api, nccl_logger log, void **ret_context);
/* It ends: what is left of it is written, and its totals.  With the last the thread ends and the file is closed. */
void writer_end(struct recorder_comm *comm);
/* The plugin is unloaded, or the program ends.  False: communicators are open, and their events may still come. */
bool writer_leave(void);

#endif
