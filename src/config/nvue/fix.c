/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nv set` and `nv unset` lines that lead from what runs to what was approved.
 *
 * A line is a path and a value.  Another value replaces the old one; where a path takes several values (the priorities
 * of PFC) the old ones are unset by name.  The running text is read as the importer reads it, so that YAML and commands
 * are the same.  Of profiles that we write and of interfaces what is not approved is unset; profiles that the device
 * calls otherwise are written anew under our names, and applied, and theirs stay.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/fix.h"
#include "config/nvue/nvue_int.h"

#define SET "nv set "
#define LINE_BYTES 512

struct set_lines {
    const char **line; /* without `nv set` */
    uint32_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has(const struct set_lines *lines, const char *text)
{
    return lines->count && bsearch(&text, lines->line, lines->count, sizeof(*lines->line), by_text);
}

static int read_lines(const char *text, struct arena *arena, struct set_lines *ret, struct set_lines *ret_sorted)
{
    uint32_t lines = 1;

    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    ret->line = ARENA_NEW(arena, const char *, lines);
    ret_sorted->line = ARENA_NEW(arena, const char *, lines);
    if (!ret->line || !ret_sorted->line) return -ENOMEM;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        if (strncmp(at, SET, strlen(SET)) == 0) {
            const char *copy = arena_strndup(arena, at + strlen(SET), length - strlen(SET));
            if (!copy) return -ENOMEM;
            ret->line[ret->count++] = copy;
        }
        at += length + (at[length] == '\n');
    }
    if (ret->count) memcpy(ret_sorted->line, ret->line, ret->count * sizeof(*ret->line));
    ret_sorted->count = ret->count;
    if (ret->count) qsort(ret_sorted->line, ret->count, sizeof(*ret->line), by_text);
    return 0;
}

static int read_running(const char *text, struct arena *arena, struct set_lines *ret)
{
    struct config_set set;
    struct fabric_errors errors = {0};
    struct config_text in = {.path = "-", .text = text, .length = strlen(text), .errors = &errors};
    struct nvue_facts facts = {0};

    config_set_init(&set);
    int result = nvue_facts_read(&set, &in, arena, &facts);
    ret->line = result == 0 ? ARENA_NEW(arena, const char *, facts.count + 1u) : NULL;
    if (result == 0 && !ret->line) result = -ENOMEM;
    for (uint32_t f = 0; result == 0 && f < facts.count; f++) {
        char line[LINE_BYTES] = "";
        size_t used = 0;
        for (uint32_t w = 0; w < facts.fact[f].words && used < sizeof(line); w++)
            used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", w ? " " : "", facts.fact[f].word[w]);
        const char *copy = arena_strndup(arena, line, strlen(line));
        if (copy)
            ret->line[ret->count++] = copy;
        else
            result = -ENOMEM;
    }
    if (result == 0 && ret->count) qsort(ret->line, ret->count, sizeof(*ret->line), by_text);
    config_set_release(&set);
    return result;
}

/* The path without its last word. */
static size_t path_length(const char *line)
{
    const char *last = strrchr(line, ' ');

    return last ? (size_t)(last - line) : strlen(line);
}

/* Takes several values, one a line. */
static bool takes_many(const char *line)
{
    bool pfc = strncmp(line, "qos pfc ", 8) == 0 || strncmp(line, "qos link-pause ", 15) == 0 ||
               strncmp(line, "qos traffic-pool ", 17) == 0;

    return pfc && strstr(line, " switch-priority ") != NULL;
}

static bool set_again(const struct set_lines *lines, const char *line)
{
    size_t length = path_length(line);

    if (takes_many(line)) return false;
    for (uint32_t l = 0; l < lines->count; l++)
        if (path_length(lines->line[l]) == length && strncmp(lines->line[l], line, length) == 0) return true;
    return false;
}

static bool concerned(const struct fix *fix, const char *line)
{
    unsigned families = fix_families_of(line);

    return (!families && strncmp(line, "qos ", 4) == 0) || families & fix->families;
}

/* The object that a line is about: `qos pfc roce0 `, `interface swp1 `. */
static size_t object_length(const char *line)
{
    size_t words = strncmp(line, "interface ", 10) == 0 ? 2 : 3, end = 0;

    for (; line[end] && words; end++)
        words -= line[end] == ' ';
    return words ? 0 : end;
}

static bool speaks_of(const struct set_lines *lines, const char *line)
{
    size_t length = object_length(line);

    for (uint32_t l = 0; length && l < lines->count; l++)
        if (strncmp(lines->line[l], line, length) == 0) return true;
    return strncmp(line, "qos roce", 8) == 0; /* a form of its own, which would go on to set what is set here */
}

int fix_sets(const struct fix *fix)
{
    struct set_lines approved = {0}, wanted = {0}, running = {0};
    struct arena arena;

    arena_init(&arena, (size_t)1 << 30);
    int result = read_lines(fix->approved, &arena, &approved, &wanted);
    if (result == 0) result = read_running(fix->running, &arena, &running);
    for (uint32_t l = 0; result == 0 && l < running.count; l++) {
        const char *line = running.line[l];
        if (has(&wanted, line) || set_again(&approved, line) || !concerned(fix, line) || !speaks_of(&approved, line))
            continue;
        fprintf(fix->to, "nv unset %.*s\n", takes_many(line) ? (int)strlen(line) : (int)path_length(line), line);
    }
    for (uint32_t l = 0; result == 0 && l < approved.count; l++)
        if (!has(&running, approved.line[l]) && concerned(fix, approved.line[l]))
            fprintf(fix->to, SET "%s\n", approved.line[l]);
    arena_release(&arena);
    return result;
}
