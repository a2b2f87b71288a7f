/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time stamp counter of the program's clock: rdtsc and rdtscp trap.
 */
#include "attach/attach_int.h"

void tsc_start(void)
{
}

void tsc_stop(void)
{
}

bool tsc_fault(const void *info, void *context)
{
    (void)info, (void)context;
    return false;
}
