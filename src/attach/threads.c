/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the program: each has a place in the segment and turns of its own.
 */
#include "attach/attach_int.h"

void threads_start(void)
{
}

void threads_forked(void)
{
}
