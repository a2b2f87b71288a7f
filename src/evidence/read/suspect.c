/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that no reader knows and whose names speak of faults: of a new driver, of a later release.
 *
 * A reader passes over names that it does not know, of which a text has hundreds.  Where a line has a number above 0
 * and a word such as "overrun" with it, and nothing of that number was kept, it is a suspect: nobody is blamed for it,
 * and nothing is clear while it grows, or was read once.
 */
#include "evidence/read/suspect.h"

#include <ctype.h>
#include <string.h>

#include "evidence/evidence_int.h"

#define LABEL 80
#define START_S 10

/* Begins of words, in lower case, by their first letter. */
static const char *const faults[] = {"abort",    "bad",     "crc",      "discard", "drop",  "err",   "exceed",
                                     "fail",     "fault",   "jabber",   "loss",    "lost",  "miss",  "nak",
                                     "overflow", "overrun", "pause",    "retr",    "stall", "stomp", "timeout",
                                     "trim",     "truncat", "underrun", "violat",  "xoff"};
/* In names of what every host counts all day. */
static const char *const usual[] = {"corrected",    "err_lane", "lossless",    "no-loss",
                                    "steer_missed", "xdp",      "no_buffer_mc"};

/* Kinds whose lines are names and numbers. */
static const char *const kinds[] = {"ethtool-s", "hw-counters", "rdma-statistic", "nxos-interface", "junos",
                                    "nvue",      "nvue-roce",   "onyx",           "perfquery",      "nxos-queuing"};

static bool begins(const char *at, const char *end, const char *word)
{
    for (; *word; word++, at++)
        if (at == end || tolower((unsigned char)*at) != *word) return false;
    return true;
}

static bool has_word(const char *at, const char *end, const char *const *words, size_t count, bool at_begin)
{
    char before = ' ';

    for (; at < end; before = *at++) {
        bool begin = !isalpha((unsigned char)before) || (isupper((unsigned char)*at) && islower((unsigned char)before));
        int letter = tolower((unsigned char)*at);
        if ((at_begin && !begin) || !isalpha(letter)) continue;
        for (size_t i = 0; i < count; i++)
            if (words[i][0] == letter && begins(at, end, words[i])) return true;
    }
    return false;
}

static bool speaks_of_fault(const char *at, const char *end)
{
    return has_word(at, end, faults, sizeof faults / sizeof faults[0], true) &&
           !has_word(at, end, usual, sizeof usual / sizeof usual[0], false);
}

/* A number alone, above 0; thousands may have commas.  *end is behind it. */
static bool number_at(const char *at, const char **end, uint64_t *number)
{
    struct text_field field = {at, strspn(at, "0123456789,")};

    *end = at + field.length;
    if (**end && !isspace((unsigned char)**end) && **end != ';') return false;
    while (field.length && field.at[field.length - 1] == ',')
        field.length--;
    return field.length && field_number(&field, number);
}

struct found {
    uint64_t number;
    const char *label, *end;
};
#define FOUND_MOST 16

/* The numbers of a line, each with the words before it ("name: 5", "name 5") or behind it ("5 input errors"). */
static size_t find_numbers(const char *line, struct found found[FOUND_MOST])
{
    const char *at = line + strspn(line, " \t"), *words = at, *end;
    size_t count = 0;
    bool behind = isdigit((unsigned char)*at);

    while (*at && count < FOUND_MOST) {
        uint64_t number;
        bool begin = at == line || isspace((unsigned char)at[-1]);
        if (!begin || !isdigit((unsigned char)*at) || !number_at(at, &end, &number)) {
            at++;
            continue;
        }
        bool named = at > words && memchr(words, ':', (size_t)(at - words)) != NULL;
        if (count && behind) found[count - 1].end = at;
        found[count++] = named || !behind ? (struct found){number, words, at} : (struct found){number, end, end};
        words = at = end;
    }
    if (count && behind && found[count - 1].end == found[count - 1].label) found[count - 1].end = line + strlen(line);
    return count;
}

static bool is_kept(const struct evidence *evidence, uint64_t number, bool alone)
{
    const struct evidence_tables *tables = evidence->tables;

    if (alone && tables->puts) return true;
    for (uint32_t i = 0; i < tables->puts && i < EVIDENCE_PUTS; i++)
        if (tables->put[i] == number) return true;
    return tables->puts > EVIDENCE_PUTS;
}

/* In outputs that have a block of lines for each interface: of one that is passed over (a bundle, a port of management)
 * nothing is kept. */
static bool is_passed_over(const struct evidence *evidence, const char *kind)
{
    return (!strcmp(kind, "nxos-interface") || !strcmp(kind, "junos")) && !evidence->tables->block;
}

static bool is_of_names(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kinds[i], kind)) return true;
    return false;
}

void suspect_number(struct reading *in, uint64_t number, const char *label, size_t length)
{
    if (!number || in->device == EVIDENCE_NONE || !speaks_of_fault(label, label + length)) return;
    while (length && !isalnum((unsigned char)*label)) {
        label++;
        length--;
    }
    while (length && !isalnum((unsigned char)label[length - 1]))
        length--;
    evidence_suspect(in->evidence, in->device, label, length < LABEL ? length : LABEL, number, &in->source);
}

/* Junos counts the seconds in which the line's coding had errors: a link that comes up has some. */
static bool is_start_of_link(const char *kind, const struct found *found)
{
    return !strcmp(kind, "junos") && found->number <= START_S &&
           (line_words(found->label, "Bit errors") || line_words(found->label, "Errored blocks"));
}

void suspect_line(struct reading *in, const char *kind, const char *line)
{
    struct found found[FOUND_MOST];
    size_t count;

    if (!isspace((unsigned char)*line)) in->evidence->tables->block = 0;
    in->evidence->tables->block += in->evidence->tables->puts;
    if (in->device == EVIDENCE_NONE || !line[strcspn(line, "123456789")]) return;
    if (!speaks_of_fault(line, line + strlen(line)) || !is_of_names(kind)) return;
    if (is_passed_over(in->evidence, kind)) return;
    count = find_numbers(line, found);
    for (size_t i = 0; i < count; i++)
        if (!is_kept(in->evidence, found[i].number, count == 1) && !is_start_of_link(kind, &found[i]))
            suspect_number(in, found[i].number, found[i].label, (size_t)(found[i].end - found[i].label));
}
