/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text and its device at the beginning, and what is left of a configuration when an importer is done with it.
 *
 * Nothing that could matter to RoCE may be lost without a word, and a running configuration is mostly about other
 * things.  So commands known to have no say (addresses, routing, users) are passed over, a block of a feature that
 * is not known is one note, and a line with a word of RoCE's in it is always a note of its own.
 */
#include "config/lines/importing.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "config/words.h"
#include "fabric/errors.h"

#define UNKNOWN_LEAST 4u /* lines: of fewer nothing follows */

bool lines_about_roce(const char *text)
{
    static const char *const words[32][4] = {
        /* by their first letter: a text is searched once, and most of it begins none of them */
        [' ' & 31] = {" mmu"},
        ['c' & 31] = {"congestion", "class-of-service"},
        ['d' & 31] = {"dscp", "dcbx"},
        ['e' & 31] = {"ecn"},
        ['f' & 31] = {"flow-control", "flowcontrol"},
        ['h' & 31] = {"headroom"},
        ['l' & 31] = {"lossless", "load-sharing"},
        ['n' & 31] = {"no-drop", "no-loss"},
        ['p' & 31] = {"pfc", "pause"},
        ['q' & 31] = {"qos", "queu"},
        ['r' & 31] = {"roce", "random-detect"},
        ['t' & 31] = {"traffic-class"},
        ['w' & 31] = {"watch-dog", "watchdog", "wred"},
    };

    for (; *text; text++)
        for (const char *const *word = words[*text & 31]; *word; word++)
            if ((text[1] | 32) == (*word)[1] && strncasecmp(text, *word, strlen(*word)) == 0) return true;
    return false;
}

/* Rules that rest on what a line with such a word would have said. */
static const struct {
    const char *word, *rules;
} rests[] = {{"watchdog", "WD001"},
             {"watch-dog", "WD001"},
             {"random-detect", "ECN001"},
             {"tx-queue", "ECN001 SCH001 MAP005"},
             {"queuing", "ECN001 SCH001 MAP005"},
             {" ecn", "ECN001"},
             {"no-drop", "PFC002"},
             {"pause", "PFC002"},
             {"dscp", "MAP001 MAP002"},
             {"service-policy", "MAP001"}};

/* Of a line that nobody understood nothing follows, nor that it is not there.  */
static void not_judged(struct lines_import *in, const struct line *line)
{
    static const char aside[] = "logging snmp-server hardware platform event-handler";

    if (line_command(line, aside) || strcmp(line->word[0], "no") == 0) return;
    for (size_t r = 0; r < sizeof(rests) / sizeof(rests[0]); r++)
        if (strstr(line->text, rests[r].word))
            UNJUDGED(in, line->number, rests[r].rules, CONFIG_NONE, "this line was not understood: %.80s", line->text);
}

bool lines_speak_of(const struct lines_import *in, const char *word)
{
    for (uint32_t i = 0; i < in->lines.count; i++)
        if (strstr(in->lines.line[i].text, word)) return true;
    return false;
}

void lines_judge_part(struct lines_import *in, const struct lines_part *parts, size_t count)
{
    for (size_t p = 0; p < count && !in->whole; p++)
        if (!lines_speak_of(in, parts[p].word))
            UNJUDGED(in, 1, parts[p].rules, CONFIG_NONE, "the text is a part of a configuration, without a word of %s",
                     parts[p].what);
}

void lines_foreign(struct lines_import *in, const struct lines_foreign *list)
{
    for (uint32_t i = 0; i < in->lines.count; i++) {
        struct line *line = &in->lines.line[i];
        const struct lines_foreign *foreign = list;
        while (foreign->pattern && !line_take(line, foreign->pattern, NULL))
            foreign++;
        line->foreign = foreign->pattern != NULL;
        if (line->foreign) NOTE(in, line->number, "SYN001", CONFIG_NONE, "'%.100s': %s", line->text, foreign->instead);
    }
}

static bool is_aside(const struct line *line, const char *aside)
{
    return words_have(aside, line->word[strcmp(line->word[0], "no") == 0 && line->words > 1]);
}

static void note_rest(struct lines_import *in, const char *aside)
{
    uint32_t inside = 0; /* lines before this one are of a block that was noted or put aside */

    for (uint32_t i = 0; i < in->lines.count; i++) {
        const struct line *line = &in->lines.line[i];
        if (line->known && line->taken)
            NOTE(in, line->number, NULL, CONFIG_NONE, "'%.40s' at the end of: %.80s", line->word[line->taken],
                 line->text);
        if (line->known) continue;
        bool about = lines_about_roce(line->text), free_text = strcmp(line->word[0], "description") == 0;
        if (free_text || (is_aside(line, aside) && !about)) {
            if (line->end > inside && !free_text) inside = line->end;
            continue;
        }
        if (i < inside && !about) continue;
        NOTE(in, line->number, NULL, CONFIG_NONE, "%.120s", line->text);
        if (about) not_judged(in, line);
        if (line->end > inside) inside = line->end;
    }
}

/* What a system has for its own chips is its own, however little of it is understood. */
static bool of_platform(const struct lines *lines, const struct line *line)
{
    while (line->parent != LINES_NONE)
        line = &lines->line[line->parent];
    return line_command(line, "platform hardware logging");
}

/* Is the line about RoCE, and in the system's words? */
static bool counts(const struct lines *lines, const struct line *line)
{
    return lines_about_roce(line->text) && strcmp(line->word[0], "description") != 0 && !of_platform(lines, line);
}

/* Commands of two systems have words in common: where the text has no word that only this one has, and is plainly of
 * another, few lines are enough, and those that are told to be foreign are among them. */
static bool too_little(const struct lines_import *in, const struct config_format *own, const char *system)
{
    const struct lines *lines = &in->lines;
    const struct config_text *text = in->text;
    uint32_t about = 0, unknown[2] = {0}; /* with, and without those that other systems have too */
    const struct line *first[2] = {NULL, NULL};

    for (uint32_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];
        if ((line->known && !line->foreign) || !counts(lines, line)) continue;
        for (int with = 0; with < 2; with++) {
            if (line->known && !(with && line->foreign)) continue;
            if (!unknown[with]++) first[with] = line;
        }
    }
    if (unknown[1] < UNKNOWN_LEAST) return false;
    for (uint32_t i = 0; i < lines->count; i++)
        about += counts(lines, &lines->line[i]);
    /* a guess reads the text for every system: only where there is something to tell */
    const struct config_format *looks = config_format_guess(text->text, text->length);
    bool other = looks && looks != own && own->guess(text->text, text->length) == 0;
    if (unknown[other] < UNKNOWN_LEAST || (!other && unknown[0] * 2 <= about)) return false;
    fabric_errors_add(text->errors, (struct fabric_at){first[other]->number, 1},
                      "%u of the %u lines with a word of RoCE are no %s, of them the first '%.60s'; %s%s",
                      unknown[other], about, system, first[other]->text,
                      other ? "it looks like " : "name the right system with --from", other ? looks->name : "");
    return true;
}

/* The line of `hostname`, NULL: there is none. */
static const struct line *hostname(struct lines *lines)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        struct line *line = &lines->line[i];
        if (line->indent == 0 && (line_take(line, "hostname *", NULL) || line_take(line, "switchname *", NULL)))
            return line;
    }
    return NULL;
}

int lines_begin(struct lines_import *in, const struct lines_grammar *grammar, const char *nos)
{
    int result = lines_read(in->text->text, in->text->length, grammar, &in->set->arena, &in->lines, in->text->errors);

    if (result != 0) return result;
    const struct line *line = hostname(&in->lines);
    const char *name = line && !in->text->device ? line->word[1] : config_device_name(in->set, in->text);
    in->device = config_device(in->set, CONFIG_AT(in->text, line ? line->number : 1), name, nos, false);
    return 0;
}

int lines_end(struct lines_import *in, const char *aside, const struct config_format *own, const char *system)
{
    lines_routes(in);
    lines_svis(in);
    note_rest(in, aside);
    return too_little(in, own, system) ? -EINVAL : 0;
}

#define BEGINNINGS_MAX 64

unsigned lines_begin_with(const char *text, size_t length, const char *beginnings)
{
    const char *word[BEGINNINGS_MAX], *last = text + length;
    size_t letters[BEGINNINGS_MAX];
    unsigned words = 0, found = 0;

    for (const char *at = beginnings; *at; at += letters[words] + (at[letters[words]] == '|'), words++) {
        CHECK(words < BEGINNINGS_MAX);
        word[words] = at;
        letters[words] = strcspn(at, "|");
    }
    for (const char *at = text; at < last && words;) {
        while (at < last && (*at == ' ' || *at == '\t'))
            at++;
        for (unsigned w = 0; w < words && at < last; w++) {
            if (*at != *word[w] || (size_t)(last - at) < letters[w] || memcmp(at, word[w], letters[w]) != 0) continue;
            found++;
            words--; /* it counts once: the last takes its place, and its turn */
            word[w] = word[words];
            letters[w--] = letters[words];
        }
        const char *newline = memchr(at, '\n', (size_t)(last - at));
        at = newline ? newline + 1 : last;
    }
    return found;
}

int lines_guess(const char *text, size_t length, const char *own, const char *others)
{
    unsigned points = lines_begin_with(text, length, own), against = lines_begin_with(text, length, others);

    if (points == 0 || against >= points) return 0;
    return points == 1 ? 40 : points == 2 ? 60 : 90;
}
