/* SPDX-License-Identifier: Apache-2.0 */
/* What is around a pasted line, taken away. */
#include "evidence/read/shown.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define SURE 3        /* lines with numbers that follow each other, where a sign stands behind them */
#define SURE_BLANK 10 /* where a blank does: a table may begin with a column of them */

/* Where an escape sequence of a terminal ends: colours (ESC [ ... letter), titles (ESC ] ... BEL), others. */
static size_t escape_end(const char *line, size_t at, size_t length)
{
    size_t end = at + 2;

    if (end > length) return length;
    if (line[at + 1] == '[')
        while (end < length && (line[end] < '@' || line[end] > '~'))
            end++;
    else if (line[at + 1] == ']')
        while (end < length && line[end] != '\a' && line[end] != '\033')
            end++;
    else
        return end;
    return end < length ? end + 1 : length;
}

/* As its terminal showed it: without escape sequences, and what a pager took back with \b or \r ("--More--") is written
 * over.  Answers its length. */
static size_t on_terminal(char *line, size_t length)
{
    size_t used = 0, cursor = 0;

    for (size_t at = 0; at < length;)
        switch (line[at]) {
        case '\033':
            at = escape_end(line, at, length);
            if (line[at - 1] == 'K') used = cursor; /* erases to the end of the line */
            break;
        case '\r':
            cursor = 0;
            at++;
            break;
        case '\b':
            cursor -= cursor > 0;
            at++;
            break;
        case 0: /* so that a line is a string */
            line[at] = ' ';
            __attribute__((fallthrough));
        default:
            line[cursor++] = line[at++];
            if (used < cursor) used = cursor;
        }
    return used;
}

/* Blanks of a page (U+00A0, U+2007, U+202F) become blanks, signs without width nothing. */
static size_t plain_blanks(char *line, size_t length)
{
    size_t used = 0;

    for (size_t at = 0; at < length;) {
        const unsigned char *is = (const unsigned char *)line + at;
        size_t left = length - at;
        if (left >= 2 && is[0] == 0xc2 && is[1] == 0xa0) {
            line[used++] = ' ';
            at += 2;
        } else if (left >= 3 && is[0] == 0xe2 && is[1] == 0x80 && (is[2] == 0x87 || is[2] == 0xaf)) {
            line[used++] = ' ';
            at += 3;
        } else if (left >= 3 && ((is[0] == 0xe2 && is[1] == 0x80 && is[2] == 0x8b) ||
                                 (is[0] == 0xef && is[1] == 0xbb && is[2] == 0xbf))) {
            at += 3;
        } else {
            line[used++] = line[at++];
        }
    }
    return used;
}

static size_t plain_entities(char *line, size_t length)
{
    static const struct {
        const char *name;
        char is;
    } names[] = {{"&gt;", '>'},   {"&lt;", '<'},    {"&amp;", '&'},  {"&quot;", '"'},
                 {"&#39;", '\''}, {"&#x27;", '\''}, {"&nbsp;", ' '}, {"&#34;", '"'}};
    size_t used = 0;

    for (size_t at = 0; at < length;) {
        size_t skip = 1;
        char is = line[at];
        for (size_t i = 0; is == '&' && i < sizeof names / sizeof names[0]; i++)
            if (!strncmp(line + at, names[i].name, strlen(names[i].name))) {
                is = names[i].is;
                skip = strlen(names[i].name);
                break;
            }
        line[used++] = is;
        at += skip;
    }
    return used;
}

/* What is left of a pager that did not take it back: "--More--", "---(more 45%)---", "<--- More --->". */
static char *without_pager(char *line)
{
    static const char *const words[] = {"--More--", "<--- More --->", "-- more --", "---(more"};
    char *at = line + strspn(line, " ");

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(at, words[i], length)) continue;
        at += length;
        if (i == 3) at += strcspn(at, ")");
        return i == 3 ? at + strspn(at, ")-") : at;
    }
    return strcmp(at, "(END)") ? line : at + strlen(at);
}

/* "> " and "> > " of mails and issues. */
static char *without_quote(char *line)
{
    while (line[0] == '>' && (line[1] == ' ' || line[1] == '\t' || line[1] == '>' || !line[1]))
        line += line[1] == ' ' || line[1] == '\t' ? 2 : 1;
    return line;
}

/* Behind a number and its sign; NULL: there is none. */
static const char *behind_number(const char *line, const char *end, char after, uint64_t *number)
{
    const char *at = line;
    unsigned digits = 0;

    while (at < end && *at == ' ')
        at++;
    for (*number = 0; at < end && isdigit((unsigned char)*at) && digits < 8; at++, digits++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    if (!digits) return NULL;
    if (at == end || *at == '\n' || *at == '\r') return after == ' ' ? at : NULL;
    if (*at != after) return NULL;
    if (after == ':' && end - at > 3 && isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) && at[3] == ':')
        return NULL; /* a time of day */
    return at + 1;
}

static char *without_number(const struct shown *shown, char *line)
{
    uint64_t number;
    const char *rest = shown->numbered ? behind_number(line, line + strlen(line), shown->after, &number) : NULL;

    return rest ? line + (rest - line) : line;
}

/* Whether lines that say something all begin with numbers, each larger than the one before. */
static bool are_numbered(const char *text, const char *end, char after)
{
    uint64_t last = 0, number;
    unsigned lines = 0;
    bool follow = true;

    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        const char *first = text;
        while (first < stop && isspace((unsigned char)*first))
            first++;
        if (first < stop) {
            if (!behind_number(text, stop, after, &number) || (lines && number <= last)) return false;
            if (lines && number != last + 1) follow = false;
            last = number;
            lines++;
        }
        text = stop < end ? stop + 1 : end;
    }
    return after == ' ' ? follow && lines >= SURE_BLANK : lines >= SURE && (follow || after == ':');
}

static unsigned indent_of(const char *text, const char *end)
{
    unsigned least = 64;

    while (text < end && least) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        unsigned blanks = 0;
        while (text + blanks < stop && blanks < least && text[blanks] == ' ')
            blanks++;
        const char *first = text + blanks;
        bool fence = stop - first >= 3 && !memcmp(first, "```", 3);
        if (first < stop && *first != '\r' && blanks < least && !fence) least = blanks;
        text = stop < end ? stop + 1 : end;
    }
    return least < 64 ? least : 0;
}

void shown_begin(struct shown *shown, const char *text, size_t bytes)
{
    static const char signs[] = {':', '|', '\t', ' '};
    const char *end = text + bytes;

    *shown = (struct shown){0};
    shown->indent = indent_of(text, end);
    for (size_t i = 0; i < sizeof signs && !shown->numbered; i++) {
        shown->numbered = are_numbered(text, end, signs[i]);
        shown->after = signs[i];
    }
    if (shown->numbered) shown->indent = 0;
    shown->entities = memmem(text, bytes, "&gt;", 4) || memmem(text, bytes, "&lt;", 4) ||
                      memmem(text, bytes, "&quot;", 6) || memmem(text, bytes, "&nbsp;", 6);
}

char *shown_line(const struct shown *shown, char *line, size_t length)
{
    bool plain = true, high = false, entity = false;

    for (size_t i = 0; i < length; i++) {
        unsigned char is = (unsigned char)line[i];
        plain &= is >= 32 || is == '\t';
        high |= is >= 0x80;
        entity |= is == '&';
    }
    if (!plain) length = on_terminal(line, length);
    if (high) length = plain_blanks(line, length);
    line[length] = 0;
    if (entity && shown->entities) length = plain_entities(line, length);
    line[length] = 0;
    for (unsigned i = 0; i < shown->indent && *line == ' '; i++)
        line++;
    line = without_number(shown, line);
    if (*line == '>') line = without_quote(line);
    return *line == '-' || *line == '<' || *line == ' ' || *line == '(' ? without_pager(line) : line;
}
