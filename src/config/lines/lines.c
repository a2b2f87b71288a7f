/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader under the NX-OS and EOS importers: lines, words, blocks, ranges.
 *
 * A running configuration shows its blocks by indentation, and that alone decides here: the commands of hundreds of
 * features need not be known to find the end of one.  Scripts made for pasting have no indentation, or too little; the
 * command line itself decides there, by trying a command in the mode it is in first, and the grammar's belongs() does
 * the same.
 *
 * Nothing is recursive and every line costs a bounded amount, so depth and size of a file only cost its own length.
 * The text of a banner is passed over: it may look like anything.  Comments are lines that begin with ! or #, and what
 * follows a # that has white space before it.
 */
#include "config/lines/lines.h"
#include "config/lines/statements.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "config/config.h"
#include "config/words.h"
#include "fabric/errors.h"

#define LINE_MAX_BYTES 65536u

bool line_number(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (!*text || strlen(text) > 18) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *ret = value;
    return true;
}

bool line_decimal(const char *text, uint64_t *ret_nano)
{
    uint64_t value = 0;
    unsigned digits = 0, after = 0;
    bool point = false;

    for (; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9' || digits >= 9 || after >= 9) return false;
        value = value * 10 + (uint64_t)(*text - '0');
        digits++;
        after += point;
    }
    for (; after < 9; after++)
        value *= 10;
    if (digits == 0) return false;
    *ret_nano = value;
    return true;
}

/* Words of the line that the pattern took, from its beginning; -1: it is not so. */
static int matched(const struct line *line, const char *pattern, struct line_match *ret)
{
    struct line_match none;
    uint32_t words = 0, w = 0, numbers = 0;

    if (!ret) ret = &none;
    if (islower((unsigned char)*pattern) && line->words && *line->word[0] != *pattern) return -1; /* most of them */
    for (;; w++) {
        pattern += strspn(pattern, " ");
        size_t length = strcspn(pattern, " ");
        if (length == 0) return (int)w;
        if (length == 3 && memcmp(pattern, "...", 3) == 0) return line->words;
        if (w >= line->words) return -1;
        const char *word = line->word[w];
        if (length == 1 && *pattern == '*') {
            if (words < LINES_CAPTURES) ret->word[words++] = word;
        } else if (length == 1 && *pattern == '#') {
            if (numbers >= LINES_CAPTURES || !line_number(word, &ret->number[numbers++])) return -1;
        } else if (strncmp(word, pattern, length) != 0 || word[length] != 0) {
            return -1;
        }
        pattern += length;
    }
}

bool line_is(const struct line *line, const char *pattern, struct line_match *ret)
{
    return matched(line, pattern, ret) == line->words;
}

bool line_take(struct line *line, const char *pattern, struct line_match *ret)
{
    bool is = line_is(line, pattern, ret);

    if (is) line->known = true;
    return is;
}

bool line_take_part(struct line *line, const char *pattern, struct line_match *ret)
{
    int words = matched(line, pattern, ret);

    if (words <= 0) return false;
    line->known = true;
    line->taken = (uint16_t)(words < line->words ? words : 0);
    return true;
}

/* The text of a line without a comment and the space around it. */
static size_t trim(const char **io_text, size_t length, uint16_t *ret_indent)
{
    const char *text = *io_text;
    size_t indent = 0, end = length;

    while (indent < length && isspace((unsigned char)text[indent]))
        indent++;
    for (size_t i = indent; i < length; i++) {
        if (text[i] != '#' || (i > indent && !isspace((unsigned char)text[i - 1]))) continue;
        end = i;
        break;
    }
    if (indent < length && text[indent] == '!') end = indent;
    while (end > indent && isspace((unsigned char)text[end - 1]))
        end--;
    *io_text = text + indent;
    *ret_indent = (uint16_t)(indent > UINT16_MAX ? UINT16_MAX : indent);
    return end - indent;
}

static void split(struct arena *arena, struct line *line, const char *text, size_t length)
{
    const char *found[LINES_WORDS];
    char *copy = arena_strndup(arena, text, length), *words = arena_strndup(arena, text, length);

    line->text = copy;
    for (char *at = words; *at && line->words < LINES_WORDS;) {
        at += strspn(at, " \t\r\f\v");
        if (!*at) break;
        found[line->words++] = at;
        at += strcspn(at, " \t\r\f\v");
        if (*at) *at++ = 0;
    }
    CHECK(line->words <= LINES_WORDS);
    line->word = ARENA_NEW(arena, const char *, line->words);
    memcpy(line->word, found, line->words * sizeof(found[0]));
}

static bool opens(const struct lines_grammar *grammar, const struct line *line)
{
    return words_have(grammar->opens, line->word[0]);
}

bool line_command(const struct line *line, const char *words)
{
    bool undone = strcmp(line->word[0], "no") == 0 || strcmp(line->word[0], "default") == 0;

    return words_have(words, line->word[undone && line->words > 1 ? 1 : 0]);
}

/* Is `line`, which is not indented below the block, of it all the same?  `io_exits`: modes that were left before it. */
static bool stays(const struct lines *lines, const struct lines_grammar *grammar, uint32_t block,
                  const struct line *line, bool flat, uint32_t *io_exits)
{
    const struct line *top = &lines->line[block];

    if (!opens(grammar, top)) return false;
    bool indented = lines->line[block + 1].indent > top->indent;
    bool of = grammar->belongs && !indented && grammar->belongs(top, line, flat);
    if (*io_exits == 0) return of;
    --*io_exits;
    return false;
}

/* Blocks by indentation; `block` is the stack of those that are open. */
static void find_blocks(struct lines *lines, const struct lines_grammar *grammar, bool flat)
{
    uint32_t block[LINES_DEEP], deep = 0;

    for (uint32_t i = 0; i < lines->count; i++) {
        struct line *line = &lines->line[i];
        uint32_t exits = line->exits;
        while (deep) {
            if (line->indent > lines->line[block[deep - 1]].indent) break;
            if (stays(lines, grammar, block[deep - 1], line, flat, &exits)) break;
            lines->line[block[--deep]].end = i;
        }
        line->parent = deep ? block[deep - 1] : LINES_NONE;
        line->end = lines->count;
        if (deep < LINES_DEEP)
            block[deep++] = i;
        else
            line->end = i + 1;
    }
    for (uint32_t i = 0; i < lines->count; i++) { /* blocks are within blocks */
        const struct line *line = &lines->line[i];
        CHECK(line->end > i && line->end <= lines->count);
        if (line->parent == LINES_NONE) continue;
        CHECK(line->parent < i && lines->line[line->parent].end >= line->end);
    }
}

static void line_error(struct fabric_errors *errors, uint32_t number, const char *text)
{
    fabric_errors_add(errors, (struct fabric_at){number, 1}, "%s", text);
}

static bool is_prompt(const struct line *line)
{
    static const char words[] = "exit end conf configure enable copy write";

    if (line->words > 2 || line->indent > LINES_DEEP * 4 || !words_have(words, line->word[0])) return false;
    return line->words == 1 || strcmp(line->word[1], "terminal") == 0;
}

struct banners { /* ends that were looked for and are not in the rest of the text */
    bool absent[256], absent_eof;
};

/* The first byte after a banner, whose text is no configuration whatever it looks like; NULL: the line is no banner, or
 * nothing ends it.  NX-OS ends it with the character after `motd`, EOS with a line EOF. */
static const char *after_banner(struct banners *banners, const char *at, const char *last)
{
    static const char *const starts[] = {"banner motd", "banner login", "banner exec"};
    size_t length = 0, room = (size_t)(last - at);

    for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]) && !length; i++)
        if (room > strlen(starts[i]) && memcmp(at, starts[i], strlen(starts[i])) == 0) length = strlen(starts[i]);
    if (!length) return NULL;
    const char *from = at + length;
    while (from < last && (*from == ' ' || *from == '\t' || *from == '\r'))
        from++;
    if (from >= last) return NULL;
    if (*from != '\n') {
        const char *end =
            banners->absent[(unsigned char)*from] ? NULL : memchr(from + 1, *from, (size_t)(last - from - 1));
        if (!end) {
            banners->absent[(unsigned char)*from] = true;
            return NULL;
        }
        end = memchr(end, '\n', (size_t)(last - end));
        return end ? end + 1 : last;
    }
    const char *end = banners->absent_eof ? NULL : memmem(from, (size_t)(last - from), "\nEOF", 4);
    if (!end) {
        banners->absent_eof = true;
        return NULL;
    }
    end = memchr(end + 1, '\n', (size_t)(last - end - 1));
    return end ? end + 1 : last;
}

/* Is there no indented line after any command that opens a block? */
static bool is_flat(const struct lines *lines, const struct lines_grammar *grammar)
{
    for (uint32_t i = 0; i + 1 < lines->count; i++)
        if (strcmp(lines->line[i].word[0], "interface") == 0 && opens(grammar, &lines->line[i]) &&
            lines->line[i + 1].indent > lines->line[i].indent)
            return false;
    return true;
}

int lines_read(const char *text, size_t length, const struct lines_grammar *grammar, struct arena *arena,
               struct lines *ret, struct fabric_errors *errors)
{
    struct lines lines = {0};
    struct banners banners = {0};
    uint32_t number = 0, total = 1, exits = 0;

    for (size_t i = 0; i < length; i++)
        total += text[i] == '\n';
    lines.line = ARENA_NEW(arena, struct line, total);
    for (const char *at = text, *last = text + length; at < last;) {
        const char *newline = memchr(at, '\n', (size_t)(last - at)), *start = at;
        size_t bytes = newline ? (size_t)(newline - at) : (size_t)(last - at);
        struct line *line = &lines.line[lines.count];
        const char *after = after_banner(&banners, at, last);

        if (after) {
            for (; at < after; at++)
                number += *at == '\n';
            continue;
        }
        number++;
        at += bytes + 1;
        if (bytes > LINE_MAX_BYTES) {
            line_error(errors, number, "a line of more than 65536 bytes: this is no configuration");
            return -EINVAL;
        }
        bytes = trim(&start, bytes, &line->indent);
        if (bytes == 0) continue;
        line->number = number;
        split(arena, line, start, bytes);
        if (line->words == 0 || is_prompt(line)) {
            exits += line->words && strcmp(line->word[0], "exit") == 0;
            *line = (struct line){0};
            continue;
        }
        line->exits = (uint16_t)(exits < LINES_DEEP ? exits : LINES_DEEP);
        exits = 0;
        lines.count++;
        CHECK(lines.count <= total && line->words > 0 && line->number == number);
    }
    find_blocks(&lines, grammar, is_flat(&lines, grammar));
    *ret = lines;
    return 0;
}

bool lines_bits(const char *text, unsigned below, uint64_t *io_bits)
{
    uint64_t bits = *io_bits;

    while (*text) {
        char part[8];
        size_t length = strcspn(text, ", ");
        uint64_t first, last;

        if (length == 0 || length >= sizeof(part)) return false;
        memcpy(part, text, length);
        part[length] = 0;
        char *dash = strchr(part, '-');
        if (dash) *dash = 0;
        if (!line_number(part, &first) || !line_number(dash ? dash + 1 : part, &last)) return false;
        if (first > last || last >= below) return false;
        for (; first <= last; first++)
            bits |= UINT64_C(1) << first;
        text += length;
        if (*text) text++;
    }
    *io_bits = bits;
    return true;
}

/* Names of RFC 2474, 2597, 3246 and 5865. */
static bool dscp_named(const char *text, size_t length, uint64_t *ret)
{
    char name[8];

    if (length == 0 || length >= sizeof(name)) return false;
    for (size_t i = 0; i < length; i++)
        name[i] = (char)tolower((unsigned char)text[i]);
    name[length] = 0;
    if (strcmp(name, "ef") == 0)
        *ret = 46;
    else if (strcmp(name, "va") == 0)
        *ret = 44;
    else if (strcmp(name, "default") == 0)
        *ret = 0;
    else if (length == 3 && strncmp(name, "cs", 2) == 0 && name[2] >= '0' && name[2] <= '7')
        *ret = (uint64_t)(name[2] - '0') * 8;
    else if (length == 4 && strncmp(name, "af", 2) == 0 && name[2] >= '1' && name[2] <= '4' && name[3] >= '1' &&
             name[3] <= '3')
        *ret = (uint64_t)((name[2] - '0') * 8 + (name[3] - '0') * 2);
    else
        return false;
    return true;
}

bool lines_dscps(const char *text, uint64_t *io_bits)
{
    uint64_t bits = *io_bits, one;

    while (*text) {
        size_t length = strcspn(text, ", ");
        char part[16];
        if (dscp_named(text, length, &one)) {
            bits |= UINT64_C(1) << one;
        } else {
            if (length == 0 || length >= sizeof(part)) return false;
            memcpy(part, text, length);
            part[length] = 0;
            if (!lines_bits(part, 64, &bits)) return false;
        }
        text += length;
        if (*text) text++;
    }
    *io_bits = bits;
    return true;
}

/* One of the comma's parts: `1/1-64` after the word that the first part has. */
static bool interface_part(const char *prefix, const char *part, size_t length, uint32_t *io_count,
                           void (*each)(void *to, const char *name), void *to)
{
    char text[64], name[128];
    uint64_t first, last;

    if (length == 0 || length >= sizeof(text)) return false;
    memcpy(text, part, length);
    text[length] = 0;
    char *dash = strchr(text, '-');
    if (dash) *dash = 0;
    char *slash = strrchr(text, '/'), *number = slash ? slash + 1 : text;
    if (!line_number(number, &first)) return false;
    char *end = dash ? dash + 1 : number;
    if (dash && strchr(end, '/')) end = strrchr(end, '/') + 1; /* Ethernet1/1-1/4 */
    if (!line_number(end, &last) || last < first || last - first >= CONFIG_PORTS_MAX) return false;
    *io_count += (uint32_t)(last - first) + 1;
    if (*io_count > CONFIG_PORTS_MAX) return false;
    for (; first <= last; first++) {
        snprintf(name, sizeof(name), "%s%.*s%llu", prefix, (int)(number - text), text, (unsigned long long)first);
        each(to, name);
    }
    return true;
}

bool lines_interfaces(const char *text, void (*each)(void *to, const char *name), void *to)
{
    char prefix[32];
    uint32_t count = 0;
    size_t letters = 0;

    while (isalpha((unsigned char)text[letters]) || (text[letters] == '-' && isalpha((unsigned char)text[letters + 1])))
        letters++;
    if (letters == 0 || letters >= sizeof(prefix)) return false;
    memcpy(prefix, text, letters);
    prefix[letters] = 0;
    text += letters;
    text += strspn(text, " ");
    while (*text) {
        size_t length = strcspn(text, ",");
        const char *part = text + strspn(text, " ");
        if ((size_t)(part - text) > length) return false;
        size_t rest = length - (size_t)(part - text);
        /* the word may be repeated after the comma */
        if (strncmp(part, prefix, letters) == 0 && rest > letters) {
            part += letters;
            rest -= letters;
        }
        if (!interface_part(prefix, part, rest, &count, each, to)) return false;
        text += length;
        if (*text) text++;
    }
    return count > 0;
}

const char *lines_interface_name(struct arena *arena, const struct line *line, const char *channel)
{
    static const char ethernet[] = "Ethernet";
    size_t length = strlen(line->text), letters = 0;
    char *name = arena_alloc(arena, length + 16, 1, 1), *to = name;
    const char *from = line->text + strcspn(line->text, " \t"), *kind = NULL;

    from += strspn(from, " \t");
    while (isalpha((unsigned char)from[letters]) || (from[letters] == '-' && isalpha((unsigned char)from[letters + 1])))
        letters++;
    if (letters > 0 && letters < sizeof(ethernet) && strncasecmp(from, ethernet, letters) == 0)
        kind = ethernet;
    else if (letters > 1 && letters <= strlen(channel) && strncasecmp(from, channel, letters) == 0)
        kind = channel;
    from += letters;
    if (!kind || !isdigit((unsigned char)from[strspn(from, " \t")])) return NULL;
    to = stpcpy(to, kind);
    for (; *from; from++)
        if (!isspace((unsigned char)*from)) *to++ = *from;
    *to = 0;
    return name;
}

/* --- lists of statements --- */

static bool says(const struct statement *as, struct line *line, struct line_match *ret)
{
    switch (as->how) {
    case STATEMENT_WHOLE:
        return line_take(line, as->pattern, ret);
    case STATEMENT_PART:
        return line_take_part(line, as->pattern, ret);
    case STATEMENT_LOOK:
        return line_is(line, as->pattern, ret);
    }
    CHECK(false);
}

static void put(void *to, size_t bytes, uint64_t value)
{
    uint32_t half = (uint32_t)value;
    uint8_t byte = (uint8_t)value;

    CHECK(bytes == sizeof value || bytes == sizeof half || bytes == sizeof byte);
    memcpy(to,
           bytes == sizeof value  ? (const void *)&value
           : bytes == sizeof half ? (const void *)&half
                                  : &byte,
           bytes);
}

static bool done(const struct statement *as, const struct statement_said *said)
{
    char *object = said->object, *to = object + as->at;
    const struct line *line = said->line;

    if (as->kind == STATEMENT_NUMBER && (said->match->number[0] < as->least || said->match->number[0] > as->most))
        return false;
    if (as->kind == STATEMENT_REST && line->words == 1) return true;
    if (as->kind == STATEMENT_CALL && !as->call(said)) return false;
    if (as->kind == STATEMENT_CONSTANT) put(to, as->bytes, as->least);
    if (as->kind == STATEMENT_NUMBER) put(to, as->bytes, said->match->number[0]);
    if (as->kind == STATEMENT_TEXT) memcpy(to, &as->text, sizeof as->text);
    if (as->kind == STATEMENT_REST) {
        const char *rest = line->text + strcspn(line->text, " \t") + 1;
        memcpy(to, &rest, sizeof rest);
    }
    if (as->clears != 0) *(bool *)(object + (as->clears - 1)) = false;
    if (as->line_at != 0) put(object + (as->line_at - 1), sizeof line->number, line->number);
    if (as->also != 0) *(bool *)(object + (as->also - 1)) = true;
    return true;
}

bool statements_read(const struct statement *list, size_t count, void *system, void *object, struct line *line)
{
    for (size_t i = 0; i < count; i++) {
        struct line before = *line;
        struct line_match match;
        const struct statement_said said = {system, object, line, &match};
        if (says(&list[i], line, &match) && done(&list[i], &said)) return true;
        *line = before; /* what turns out to be another statement leaves no mark */
    }
    return false;
}
