/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nv set` and `nv unset` lines that lead from what runs to what was approved.
 *
 * A line is a path and a value.  Another value replaces the old one; where a path takes several values (the priorities
 * of PFC) the old ones are unset by name.  The running text is read as the importer reads it, so that YAML and commands
 * are the same.  Of profiles that we write and of interfaces what is not approved is unset; profiles that the device
 * calls otherwise are written anew under our names, and applied, and theirs stay.
 *
 * The lines are pasted into a shell: a word that is not plain is quoted, and one that cannot be is an error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/fix.h"
#include "config/nvue/nvue_int.h"
#include "config/words.h"
#include "fabric/errors.h"

#define SET "nv set "

struct set_line {       /* without `nv set` */
    const char *text;   /* words, quoted where a shell would read more into them */
    const char *path;   /* the same without its value */
    uint32_t line;      /* its number in its text */
    bool many;          /* the path takes several values, one a line */
    bool cut;           /* perhaps longer than what was read of it */
    bool bad_path, bad; /* what no quotes make safe: quotes, control characters */
};

struct set_lines {
    struct set_line *line, *sorted;
    uint32_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct set_line *)a)->text, ((const struct set_line *)b)->text);
}

static bool has(const struct set_lines *lines, const struct set_line *line)
{
    return lines->count && bsearch(line, lines->sorted, lines->count, sizeof(*lines->sorted), by_text);
}

static bool bad_word(const char *word)
{
    for (; *word; word++)
        if ((unsigned char)*word < ' ' || *word == 0x7f || strchr("'\"`\\", *word)) return true;
    return false;
}

/* These words as a shell reads them back; NULL: no memory. */
static const char *quoted(struct arena *arena, const char *const *word, uint32_t words)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+=%@-";
    size_t room = 1, used = 0;

    for (uint32_t w = 0; w < words; w++)
        room += strlen(word[w]) + 3;
    char *text = ARENA_NEW(arena, char, room);
    text[0] = 0;
    for (uint32_t w = 0; w < words; w++) {
        const char *quote = word[w][0] && word[w][strspn(word[w], plain)] == 0 ? "" : "'";
        used += (size_t)snprintf(text + used, room - used, "%s%s%s%s", w ? " " : "", quote, word[w], quote);
    }
    return text;
}

/* Words in front of the value; a description is all that follows. */
static uint32_t path_words(const struct nvue_fact *fact)
{
    for (uint32_t w = 2; w < fact->words; w++)
        if (strcmp(fact->word[w], "description") == 0) return w + 1;
    return fact->words > 1 ? fact->words - 1 : fact->words;
}

static bool takes_many(const struct nvue_fact *fact)
{
    bool priority = false;

    if (!nvue_says(fact, "qos * * *") || !words_have("pfc link-pause traffic-pool", fact->word[1])) return false;
    for (uint32_t w = 2; w + 1 < fact->words; w++)
        priority = priority || strcmp(fact->word[w], "switch-priority") == 0;
    return priority;
}

static void read_line(const struct nvue_fact *fact, struct arena *arena, struct set_line *ret)
{
    uint32_t path = path_words(fact);

    *ret = (struct set_line){.text = quoted(arena, fact->word, fact->words),
                             .path = quoted(arena, fact->word, path),
                             .line = fact->line,
                             .many = takes_many(fact),
                             .cut = fact->words == NVUE_WORDS};
    for (uint32_t w = 0; w < fact->words; w++) {
        ret->bad = ret->bad || bad_word(fact->word[w]);
        if (w < path) ret->bad_path = ret->bad;
    }
}

static int read_lines(const char *text, struct arena *arena, struct set_lines *ret)
{
    struct config_set set;
    struct fabric_errors errors = {0};
    struct config_text in = {.path = "-", .text = text, .length = strlen(text), .errors = &errors};
    struct nvue_facts facts = {0};

    config_set_init(&set);
    int result = nvue_facts_read(&set, &in, arena, &facts);
    ret->line = result == 0 ? ARENA_NEW(arena, struct set_line, facts.count + 1u) : NULL;
    ret->sorted = ARENA_NEW(arena, struct set_line, facts.count + 1u);
    for (uint32_t f = 0; result == 0 && f < facts.count; f++)
        read_line(&facts.fact[f], arena, &ret->line[ret->count++]);
    if (result == 0 && ret->count) {
        memcpy(ret->sorted, ret->line, ret->count * sizeof(*ret->line));
        qsort(ret->sorted, ret->count, sizeof(*ret->sorted), by_text);
    }
    config_set_release(&set);
    return result;
}

static bool set_again(const struct set_lines *lines, const struct set_line *line)
{
    if (line->many) return false;
    for (uint32_t l = 0; l < lines->count; l++)
        if (strcmp(lines->line[l].path, line->path) == 0) return true;
    return false;
}

/* Of an interface by what follows its name. */
static unsigned families_of(const char *path)
{
    static const struct fix_word words[] = {
        {"qos pfc-watchdog", FIX_WATCHDOG},
        {"qos pfc", FIX_PFC | FIX_BUFFERS | FIX_CABLING},
        {"qos link-pause", FIX_PFC},
        {"qos congestion-control", FIX_ECN},
        {"qos egress-scheduler", FIX_SHARES},
        {"qos traffic-pool", FIX_BUFFERS},
        {"qos mapping", FIX_MAPS},
        {"qos egress-queue-mapping", FIX_MAPS},
        {"link mtu", FIX_MTU},
        {"link speed", FIX_RATE},
        {"link state", FIX_UP},
        {"description", FIX_CABLING},
        {NULL, 0},
    };

    for (int word = 0; word < 2 && (word || strncmp(path, "interface ", 10) == 0); word++) {
        path += strcspn(path, " ");
        path += *path == ' ';
    }
    return fix_families_by(words, path);
}

static bool concerned(const struct fix *fix, const struct set_line *line)
{
    unsigned families = families_of(line->path);

    return (!families && strncmp(line->text, "qos ", 4) == 0) || families & fix->families;
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
        if (strncmp(lines->line[l].text, line, length) == 0) return true;
    return strncmp(line, "qos roce", 8) == 0; /* a form of its own, which would go on to set what is set here */
}

#define NOT_WRITTEN "quotation marks, backslashes and control characters are not written into a command; "

/* What is to go, and then what is to be set; -EINVAL where a word of it cannot be written. */
static int print_lines(const struct fix *fix, const struct set_lines *approved, const struct set_lines *running,
                       FILE *to)
{
    for (uint32_t l = 0; l < running->count; l++) {
        const struct set_line *line = &running->sorted[l];
        if (has(approved, line) || line->cut || set_again(approved, line) || !concerned(fix, line) ||
            !speaks_of(approved, line->text))
            continue;
        const char *gone = line->many ? line->text : line->path;
        if (line->many ? line->bad : line->bad_path)
            return fix_refuse(fix, line->line,
                              "'%.120s' would have to be unset: " NOT_WRITTEN "remove the line by hand", gone);
        fprintf(to, "nv unset %s\n", gone);
    }
    for (uint32_t l = 0; l < approved->count; l++) {
        const struct set_line *line = &approved->line[l];
        if (has(running, line) || !concerned(fix, line)) continue;
        if (line->bad)
            return fix_refuse(fix, 0, "'%.120s' would have to be set: " NOT_WRITTEN "approve it without them",
                              line->text);
        fprintf(to, SET "%s\n", line->text);
    }
    return 0;
}

int nvue_fix(const struct fix *fix)
{
    struct set_lines approved = {0}, running = {0};
    struct arena arena;
    char *text = NULL;
    size_t length = 0;

    arena_init_or_end(&arena, (size_t)1 << 30);
    FILE *to = open_memstream(&text, &length);
    int result = read_lines(fix->approved, &arena, &approved);
    if (result == 0) result = read_lines(fix->running, &arena, &running);
    if (result == 0) result = print_lines(fix, &approved, &running, to);
    fclose(to);
    if (result == 0) fwrite(text, 1, length, fix->to);
    free(text);
    arena_release(&arena);
    return result;
}
