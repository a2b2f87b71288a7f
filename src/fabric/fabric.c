/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric as a whole: handle.h.
 */
#include "fabric/fabric.h"

#include <stdlib.h>

void fabric_free(struct fabric *fabric)
{
    if (!fabric) return;
    arena_release(&fabric->arena);
    free(fabric);
}

const char *fabric_name(const struct fabric *fabric)
{
    return fabric->name;
}

const char *fabric_path(const struct fabric *fabric)
{
    return fabric->path;
}

uint64_t fabric_source_hash(const struct fabric *fabric)
{
    return fabric->source_hash;
}

uint64_t fabric_run_hash(const struct fabric *fabric)
{
    return fabric->run_hash;
}

size_t fabric_memory_bytes(const struct fabric *fabric)
{
    return sizeof(*fabric) + fabric->arena.used_bytes;
}
