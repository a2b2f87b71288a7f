/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the program is, and what it draws at random: from the seed.
 */
#include "attach/attach_int.h"

void identity_start(void)
{
}

void identity_bytes(void *ret, size_t bytes)
{
    (void)ret, (void)bytes;
}

pid_t identity_pid(void)
{
    return getpid();
}

pid_t identity_tid(void)
{
    return gettid();
}
