/* SPDX-License-Identifier: Apache-2.0 */
/* A pointer and not a flag: the room that ends processes is not below this one. */
#include "base/memory.h"

#include <errno.h>
#include <stddef.h>

void (*memory_end)(void);

int memory_ran_out(void)
{
    if (memory_end != NULL) memory_end();
    return -ENOMEM;
}
