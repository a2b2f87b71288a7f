/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of configurations share: how many round trips, a text imported, its notes and settings asked.
 */
#ifndef ROCELAB_TESTS_CONFIG_TESTING_H
#define ROCELAB_TESTS_CONFIG_TESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "fabric/fabric.h"

/* 200, or CONFIG_TRIPS of the environment (the soak: 1000). */
uint64_t trips(void);

struct imported {
    struct config_set set;
    struct origin_map map;
    const char *yaml;
    struct fabric *fabric;
};

/* Reads one text under this name, writes and loads it; fails the test where that fails. */
void import_text(struct imported *got, const struct config_format *format, const char *path, const char *text);
void import_release(struct imported *got);
/* The number of notes of this rule (NULL: not understood); at `line` when it is not 0. */
unsigned notes_of(const struct imported *got, const char *rule, uint32_t line);
const struct fabric_settings *settings_at(const struct imported *got, const char *device, unsigned port);
/* The text with the first `from` replaced; the caller frees it. */
char *edited(const char *text, const char *from, const char *to);
/* The text without the white space that its lines begin with; the caller frees it. */
char *flattened(const char *text);
struct wrong_line { /* an edit of a good text, and what is noted of which line then */
    const char *from, *to, *rule;
    uint32_t line;
};
void wrong_lines(const struct config_format *format, const char *path, const char *good, const struct wrong_line *cases,
                 size_t count);
/* A word too many in a line: the rest of the line counts, the line is listed, and `rule` finds nothing. */
void odd_lines(const struct config_format *format, const char *path, const char *good, const struct wrong_line *cases,
               size_t count);
/* The text is refused with an error that has `part` in it. */
void refused(const struct config_format *format, const char *text, size_t length, const char *part);

#endif
