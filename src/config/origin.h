/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each line of an imported fabric file came from: a configuration's file and line.
 */
#ifndef ROCELAB_CONFIG_ORIGIN_H
#define ROCELAB_CONFIG_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

struct origin { /* source: index of the file, as config_read() answered it; line 0: nowhere */
    uint32_t source, line;
};

struct origin_map {
    const struct origin *at; /* [lines], of the fabric file's line i + 1 */
    uint32_t lines;
    const char *const *path; /* [sources] */
    uint32_t sources;
};

/* The configuration's place that the fabric file's `line` stands for; where that line was made up by the importer
 * (a key that only groups others), the nearest line above that was not.  False: there is none. */
bool origin_find(const struct origin_map *map, uint32_t line, const char **ret_path, uint32_t *ret_line);

#endif
