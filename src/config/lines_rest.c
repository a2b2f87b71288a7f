/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a configuration when an importer is done with it.
 *
 * Nothing that could matter to RoCE may be lost without a word, and a running configuration is mostly about other
 * things.  So commands known to have no say (addresses, routing, users) are passed over, a block of a feature that
 * is not known is one note, and a line with a word of RoCE's in it is always a note of its own.
 */
#include "config/lines_rest.h"

#include <ctype.h>
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
    const char *word, *rule;
} rests[] = {{"watchdog", "WD001"},  {"watch-dog", "WD001"}, {"random-detect", "ECN001"}, {"tx-queue", "ECN001"},
             {"tx-queue", "SCH001"}, {"tx-queue", "MAP005"}, {"queuing", "ECN001"},       {"queuing", "SCH001"},
             {"queuing", "MAP005"},  {" ecn", "ECN001"},     {"no-drop", "PFC002"},       {"pause", "PFC002"},
             {"dscp", "MAP001"},     {"dscp", "MAP002"},     {"service-policy", "MAP001"}};

/* Of a line that nobody understood nothing follows, nor that it is not there.  */
static void not_judged(struct config_set *set, struct origin at, const struct line *line, uint32_t device)
{
    static const char aside[] = "logging snmp-server hardware platform event-handler";

    if (line_command(line, aside) || strcmp(line->word[0], "no") == 0) return;
    for (size_t r = 0; r < sizeof(rests) / sizeof(rests[0]); r++)
        if (strstr(line->text, rests[r].word))
            config_unjudged(set, at, rests[r].rule, device, CONFIG_NONE, "this line was not understood: %.80s",
                            line->text);
}

void lines_foreign(struct config_set *set, const struct config_text *text, struct lines *lines, uint32_t device,
                   const struct lines_foreign *list)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        for (const struct lines_foreign *foreign = list; foreign->pattern; foreign++) {
            if (!line_take(&lines->line[i], foreign->pattern, NULL)) continue;
            lines->line[i].foreign = true;
            config_note(set, CONFIG_AT(text, lines->line[i].number), "SYN001", device, CONFIG_NONE, "'%.100s': %s",
                        lines->line[i].text, foreign->instead);
            break;
        }
    }
}

static bool is_aside(const struct line *line, const char *aside)
{
    return words_have(aside, line->word[strcmp(line->word[0], "no") == 0 && line->words > 1]);
}

void lines_rest(struct config_set *set, const struct config_text *text, const struct lines *lines, uint32_t device,
                const char *aside)
{
    uint32_t inside = 0; /* lines before this one are of a block that was noted or put aside */

    for (uint32_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];
        if (line->known && line->taken)
            config_note(set, CONFIG_AT(text, line->number), NULL, device, CONFIG_NONE, "'%.40s' at the end of: %.80s",
                        line->word[line->taken], line->text);
        if (line->known) continue;
        bool about = lines_about_roce(line->text), free_text = strcmp(line->word[0], "description") == 0;
        if (free_text || (is_aside(line, aside) && !about)) {
            if (line->end > inside && !free_text) inside = line->end;
            continue;
        }
        if (i < inside && !about) continue;
        config_note(set, CONFIG_AT(text, line->number), NULL, device, CONFIG_NONE, "%.120s", line->text);
        if (about) not_judged(set, CONFIG_AT(text, line->number), line, device);
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
bool lines_too_little(const struct config_text *text, const struct lines *lines, const struct config_format *own,
                      const char *system)
{
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

/* The value of `hostname`, NULL: none. */
static const char *hostname(struct lines *lines, uint32_t *ret_number)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        struct line *line = &lines->line[i];
        if (line->indent != 0 || !(line_take(line, "hostname *", NULL) || line_take(line, "switchname *", NULL)))
            continue;
        *ret_number = line->number;
        return line->word[1];
    }
    return NULL;
}

int lines_begin(struct config_set *set, const struct config_text *text, const struct lines_grammar *grammar,
                const char *nos, struct lines *ret_lines, uint32_t *ret_device)
{
    uint32_t at = 1;
    int result = lines_read(text->text, text->length, grammar, &set->arena, ret_lines, text->errors);

    if (result != 0) return result;
    const char *name = hostname(ret_lines, &at);
    if (text->device || !name) name = config_device_name(set, text);
    *ret_device = config_device(set, CONFIG_AT(text, at), name, nos, false);
    return 0;
}

unsigned lines_begin_with(const char *text, size_t length, const char *const *word)
{
    const char *at = text, *last = text + length;
    uint64_t found = 0; /* words, a bit each */

    while (at < last) {
        while (at < last && (*at == ' ' || *at == '\t'))
            at++;
        for (unsigned w = 0; at < last && word[w]; w++) {
            CHECK(w < 64);
            if (*at != word[w][0] || found >> w & 1) continue;
            size_t letters = strlen(word[w]);
            if ((size_t)(last - at) >= letters && memcmp(at, word[w], letters) == 0) found |= (uint64_t)1 << w;
        }
        const char *newline = memchr(at, '\n', (size_t)(last - at));
        at = newline ? newline + 1 : last;
    }
    return (unsigned)__builtin_popcountll(found);
}

int lines_guess(const char *text, size_t length, const char *const *own, const char *const *others)
{
    unsigned points = lines_begin_with(text, length, own), against = lines_begin_with(text, length, others);

    if (points == 0 || against >= points) return 0;
    return points == 1 ? 40 : points == 2 ? 60 : 90;
}
