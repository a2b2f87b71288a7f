/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall(): calls by number go where the same call by name goes.
 */
#include "attach/attach_int.h"

long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    long was = errno, result = syscall(number, a, b, c, d, e, f);

    if (result == -1) result = -errno;
    errno = (int)was;
    return result;
}
