/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a fabric, and what it holds.
 */
#include "fabric/fabric.h"

#include <stdlib.h>

void fabric_free(struct fabric *fabric)
{
    if (!fabric) return;
    arena_release(&fabric->arena);
    free(fabric);
}

size_t fabric_memory_bytes(const struct fabric *fabric)
{
    return sizeof(*fabric) + fabric->arena.used_bytes;
}
