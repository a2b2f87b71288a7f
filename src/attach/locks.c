/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, conditions, read-write locks, barriers, semaphores and futexes: whoever would wait gives its turn back.
 */
#include "attach/attach_int.h"

long locks_futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout, uint32_t *word2,
                 uint32_t value3)
{
    return RAW(SYS_futex, word, op, value, timeout, word2, value3);
}
