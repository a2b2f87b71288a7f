/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source map of an import, asked line by line.
 *
 * The map is an array and not a search tree: a fabric file has as many entries as lines, and findings are few.
 */
#include "config/origin.h"

bool origin_find(const struct origin_map *map, uint32_t line, const char **ret_path, uint32_t *ret_line)
{
    if (line > map->lines) line = map->lines;
    for (; line > 0; line--) {
        const struct origin *at = &map->at[line - 1];
        if (at->line == 0 || at->source >= map->sources) continue;
        *ret_path = map->path[at->source];
        *ret_line = at->line;
        return true;
    }
    return false;
}
