/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that wait for memory to change and call nobody: proved by single steps, then the turn is given back.
 */
#include "attach/attach_int.h"

bool spin_signal(const void *info, void *context)
{
    (void)info, (void)context;
    return false;
}

bool spin_trap(const void *info, void *context)
{
    (void)info, (void)context;
    return false;
}
