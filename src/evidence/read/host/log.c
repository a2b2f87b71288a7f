/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs: syslog, journalctl and dmesg of hosts, the logs of switches.  What their lines say becomes events.
 *
 * log_time.c takes the time and the writer from a line's beginning; log.def lists what the rest may say.  One machine
 * says the same thing through several programs (the driver, the bond above it, the agent of a switch): within SAME_S
 * seconds the second of them is not counted.  Of lines that no pattern fits, those are left as not understood that come
 * from an adapter's or a GPU's driver, or have a word that tells of trouble; the others are a log's everyday.
 *
 * A log has millions of lines: which three letters stand in one is noted once, and words are looked for where their
 * first three do.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence/read/host/log.h"

#define SAME_S 3.0 /* between two programs' words for one event */
#define RECENT 12u /* events that are remembered for that */
#define BOOT_S 180 /* by a kernel's clock, which begins at 0 */
#define NOTHING (-1)

/* A source, and behind it what it says. */
struct pattern {
    const char *words;  /* of a source: "a|b"; of a pattern: what begins the detail, or NULL */
    const char *text;   /* the pattern; of a source NULL */
    const char *system; /* of a source */
    int event;          /* enum evidence_event_kind; NOTHING */
};
/* clang-format off */
#define SOURCE(id, words, system) {words, NULL, system, NOTHING},
#define SAYS(id, pattern, event, words) {words, pattern, NULL, EVIDENCE_EVENT_##event},
#define PLAIN(id, pattern) {NULL, pattern, NULL, NOTHING},
static const struct pattern patterns[] = {
#include "evidence/read/host/log.def"
};
/* clang-format on */
#define PATTERNS (sizeof patterns / sizeof patterns[0])

/* --- words --- */

/* Which three letters follow each other somewhere in a line, by a hash. */
struct letters {
    uint64_t bits[64];
};

static unsigned letters_hash(const char *at)
{
    unsigned value = (unsigned char)at[0] | (unsigned)(unsigned char)at[1] << 8 | (unsigned)(unsigned char)at[2] << 16;

    return value * 2654435761u >> 20;
}

static void letters_note(struct letters *letters, const char *line)
{
    *letters = (struct letters){0};
    for (size_t i = 0; line[i] && line[i + 1] && line[i + 2]; i++)
        letters->bits[letters_hash(line + i) >> 6] |= 1ull << (letters_hash(line + i) & 63);
}

static bool letters_have(const struct letters *letters, unsigned hash)
{
    return letters->bits[hash >> 6] >> (hash & 63) & 1;
}

/* Whether one of "a|b|c", each of three letters or more, is in the line. */
static bool has_word(const struct letters *letters, const char *line, const char *words)
{
    for (;;) {
        unsigned hash = letters_hash(words);
        size_t length = 3;
        while (words[length] && words[length] != '|')
            length++;
        if (letters_have(letters, hash) && memmem(line, strlen(line), words, length)) return true;
        if (!words[length]) return false;
        words += length + 1;
    }
}

/* --- patterns --- */

enum part { PART_PORT, PART_PRIORITY, PART_FROM, PART_TO, PART_OF, PART_DETAIL, PART_ANY, PARTS };

/* The placeholder that a text begins with; PARTS: it begins with none. */
static enum part placeholder(const char *text, size_t *length)
{
    static const char *const names[PARTS] = {"{port}", "{p}", "{from}", "{to}", "{of}", "{detail}", "{}"};

    for (unsigned i = 0; *text == '{' && i < PARTS; i++)
        if (!strncmp(text, names[i], *length = strlen(names[i]))) return (enum part)i;
    return PARTS;
}

/* What stands for a placeholder, without the marks around a word; false: a name has no blanks. */
static bool take_part(enum part kind, const char *begin, const char *end, struct text_field *part)
{
    while (begin < end && strchr(" \t(['\"<", *begin))
        begin++;
    while (begin < end && strchr(" \t.,:;)]'\">", end[-1]))
        end--;
    *part = (struct text_field){begin, (size_t)(end - begin)};
    if (kind >= PART_DETAIL) return true;
    return begin < end && !memchr(begin, ' ', part->length);
}

/* The end of a text that has no more marks. */
static size_t plain_length(const char *pattern)
{
    size_t length = 0, ignored;

    while (pattern[length] && (pattern[length] != '{' || placeholder(pattern + length, &ignored) == PARTS))
        length++;
    return length;
}

/* Three letters of the longest text between a pattern's marks: what a line must have; a bit more than any hash: it may
 * have none. */
static uint16_t longest_of(const char *pattern)
{
    const char *best = "";
    size_t most = 0, length;

    for (; *pattern; pattern += length) {
        if (placeholder(pattern, &length) != PARTS) continue;
        length = plain_length(pattern);
        if (length > most) most = length, best = pattern;
    }
    return most >= 3 ? (uint16_t)letters_hash(best) : UINT16_MAX;
}

/* Where a word that ends here begins. */
static const char *word_before(const char *text, const char *end)
{
    while (end > text && !isspace((unsigned char)end[-1]))
        end--;
    return end;
}

static bool fits(const char *text, const char *pattern, struct text_field part[PARTS])
{
    const char *at = text;
    enum part open = PARTS;
    bool first = true;

    for (unsigned i = 0; i < PARTS; i++)
        part[i] = (struct text_field){NULL, 0};
    while (*pattern) {
        size_t length;
        enum part kind = placeholder(pattern, &length);
        if (kind != PARTS) {
            open = kind;
            pattern += length;
            continue;
        }
        length = plain_length(pattern);
        const char *found = memmem(at, strlen(at), pattern, length);
        if (!found) return false;
        const char *begin = first && open < PART_DETAIL ? word_before(text, found) : at;
        if (open != PARTS && !take_part(open, begin, found, &part[open])) return false;
        open = PARTS;
        first = false;
        at = found + length;
        pattern += length;
    }
    if (open == PARTS) return true;
    return take_part(open, at, at + (open < PART_DETAIL ? strcspn(at, " \t") : strlen(at)), &part[open]);
}

/* --- events --- */

struct log_state {
    bool ready;
    uint16_t letters[PATTERNS]; /* longest_of() each */
    /* One event by two programs. */
    struct log_recent {
        double clock_s;
        uint32_t object;
        uint16_t pattern; /* plus one; 0: none */
        uint8_t event, priority;
    } recent[RECENT];
    uint32_t next;
};
_Static_assert(sizeof(struct log_state) <= READER_STATE, "a reader's state");

/* What several programs notice.  An adapter says several things of one failure, and each is worth telling. */
static bool is_said_twice(int event)
{
    return event == EVIDENCE_EVENT_LINK_WENT_DOWN || event == EVIDENCE_EVENT_LINK_CAME_UP ||
           event == EVIDENCE_EVENT_STORM_BEGAN || event == EVIDENCE_EVENT_STORM_ENDED;
}

static bool said_before(struct reading *in, uint32_t object, unsigned priority, const struct pattern *pattern)
{
    struct log_state *state = (struct log_state *)in->state;
    uint16_t number = (uint16_t)(pattern - patterns + 1);

    for (unsigned i = 0; i < RECENT; i++) {
        const struct log_recent *one = &state->recent[i];
        if (one->pattern && one->pattern != number && one->object == object && one->event == pattern->event &&
            one->priority == priority && fabs(one->clock_s - in->clock_s) <= SAME_S)
            return true;
    }
    state->recent[state->next++ % RECENT] =
        (struct log_recent){in->clock_s, object, number, (uint8_t)pattern->event, (uint8_t)priority};
    return false;
}

/* Events of adapters, where what they are of may be an interface. */
static bool is_of_adapter(int event)
{
    return event == EVIDENCE_EVENT_ADAPTER_FAILED || event == EVIDENCE_EVENT_DRIVER_FAILED ||
           event == EVIDENCE_EVENT_BUS_ERROR || event == EVIDENCE_EVENT_OPTIC_ALARM ||
           event == EVIDENCE_EVENT_LINE_FAULT;
}

/* "WORDS DETAIL (OF)", of what there is. */
static struct text_field detail_of(char *buf, size_t size, const char *words, const struct text_field *detail,
                                   const struct text_field *of)
{
    int length = snprintf(buf, size, "%s%s%.*s", words ? words : "", words && detail->length ? " " : "",
                          detail->length < 160 ? (int)detail->length : 160, detail->length ? detail->at : "");

    if (of->length && of->length < 64 && length >= 0 && (size_t)length + 70 < size)
        snprintf(buf + length, size - (size_t)length, "%s%.*s%s", length ? " (" : "", (int)of->length, of->at,
                 length ? ")" : "");
    return field_of(buf);
}

/* Links come up, and go down once more, while a machine boots. */
static bool is_booting(const struct reading *in, int event)
{
    return in->clock_s < BOOT_S && (event == EVIDENCE_EVENT_LINK_CAME_UP || event == EVIDENCE_EVENT_LINK_WENT_DOWN);
}

static void say(struct reading *in, const struct pattern *pattern, const struct text_field part[PARTS])
{
    struct text_field of = part[PART_OF], port = part[PART_PORT];
    uint32_t object = reading_own_device(in);
    uint64_t priority = EVIDENCE_NO_PRIORITY;
    char buf[256];

    if ((port.length && !field_is_port(&port)) || is_booting(in, pattern->event)) return;
    if (field_is(&of, "mlx5_core") || field_is(&of, "mlx4_core")) of = field_of(""); /* nobody says which */
    if (!port.length && is_of_adapter(pattern->event) && field_is_port(&of)) port = of, of = field_of("");
    if (port.length && (object = reading_port(in, &port)) == EVIDENCE_NONE) return;
    if (part[PART_PRIORITY].length &&
        (!field_number(&part[PART_PRIORITY], &priority) || priority >= EVIDENCE_PRIORITIES))
        priority = EVIDENCE_NO_PRIORITY;
    if (is_said_twice(pattern->event) && said_before(in, object, (unsigned)priority, pattern)) return;
    struct text_field detail = detail_of(buf, sizeof buf, pattern->words, &part[PART_DETAIL], &of);
    reading_event(in, (enum evidence_event_kind)pattern->event, object, (unsigned)priority,
                  part[PART_FROM].length ? &part[PART_FROM] : NULL, part[PART_TO].length ? &part[PART_TO] : NULL,
                  detail.length ? &detail : NULL);
}

static void say_system(struct reading *in, const char *system)
{
    if (*system && in->device != EVIDENCE_NONE)
        reading_system(in, system, strcmp(system, "host") ? FABRIC_ROLE_SWITCH : FABRIC_ROLE_HOST);
}

/* Whether some pattern fits; *ret_known: whether it is of a source that is listed. */
static bool message(struct reading *in, const struct letters *letters, const char *text, bool *ret_known)
{
    struct text_field part[PARTS];
    bool here = false;
    const char *system = "";
    struct log_state *state = (struct log_state *)in->state;

    for (size_t i = 0; !state->ready && i < PATTERNS; i++)
        state->letters[i] = patterns[i].text ? longest_of(patterns[i].text) : UINT16_MAX;
    state->ready = true;
    *ret_known = false;
    for (size_t i = 0; i < PATTERNS; i++) {
        if (!patterns[i].text) {
            here = has_word(letters, text, patterns[i].words);
            system = patterns[i].system;
            *ret_known |= here && !strcmp(system, "host");
            if (here && strcmp(system, "host") != 0) say_system(in, system);
        } else if (here && (state->letters[i] == UINT16_MAX || letters_have(letters, state->letters[i])) &&
                   fits(text, patterns[i].text, part)) {
            say_system(in, system);
            if (patterns[i].event != NOTHING) say(in, &patterns[i], part);
            return true;
        }
    }
    return false;
}

/* --- the reader --- */

static bool tells_of_trouble(const struct letters *letters, const char *line)
{
    return has_word(letters, line, "rror|RROR|ail|AIL|atal|FATAL|arn|WARN|down|Down|DOWN|ERR|CRIT|imeo|storm|orrupt");
}

/* What a kernel's line begins with where somebody left its time out. */
static bool bare(const char *line)
{
    static const char *const begins[] = {
        "kernel: ", "mlx5_core ", "mlx5_core: ", "NVRM: ", "bnxt_en ", "ice 0000:", "pcieport ", NULL};

    for (size_t i = 0; begins[i]; i++)
        if (*line == *begins[i] && !strncmp(line, begins[i], strlen(begins[i]))) return true;
    return (*line == 'N' && !strncmp(line, "NOTICE ", 7)) ||
           (*line == 'E' && !strncmp(line, "ERR ", 4) && strchr(line, '#'));
}

static bool log_head(const char *line)
{
    struct log_line parts;

    line += strspn(line, " \t");
    if (!isalnum((unsigned char)*line) && !strchr("[<*", *line)) return false;
    return bare(line) || log_begins(line, &parts) || strstr(line, "NVRM: Xid (");
}

static bool log_line(struct reading *in, const char *line)
{
    struct letters letters;
    struct log_line parts;
    bool known;

    line += strspn(line, " \t");
    in->clock_s = NAN;
    if (log_begins(line, &parts)) {
        in->clock_s = parts.clock_s;
        reading_device(in, &parts.host);
        line = parts.rest;
    } else if (!bare(line) && !strstr(line, "NVRM: Xid (")) { /* which health checks quote */
        return !strncmp(line, "-- ", 3);                      /* of journalctl, about itself */
    }
    letters_note(&letters, line);
    bool taken = message(in, &letters, line, &known);
    in->clock_s = NAN;
    return taken || (!known && !tells_of_trouble(&letters, line));
}
const struct text_reader reader_log = {"log", "logs: syslog, journalctl, dmesg; show logging of switches", log_head,
                                       log_line, NULL};
