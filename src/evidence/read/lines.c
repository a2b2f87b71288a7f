/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a text, one by one. */
#include "evidence/read/lines.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/evidence_int.h"
#include "evidence/read/json_text.h"
#include "evidence/read/session.h"
#include "evidence/read/shown.h"
#include "evidence/read/suspect.h"

#define STREAMS 4096 /* devices of a text that are read side by side */
#define SLOTS (2 * STREAMS)
#define SEEN 65536   /* commands and beginnings of outputs that are known again, of a text */
#define ORDER_S 1e-3 /* between looks of which nobody says when: they are in order, and no more */
#define NAME 64
#define AHEAD 4096 /* bytes behind a line, by which JSON is known */

struct seen {
    uint64_t key; /* 0: free */
    uint32_t look;
    uint64_t row; /* the first below it */
};

/* What is read of one device. */
struct stream {
    struct reading in;
    uint32_t device;                          /* EVIDENCE_NONE: nobody has said it yet */
    const struct text_reader *current, *last; /* last: of the last line that counts */
    const struct text_reader *pending;        /* whom the command says, where no head comes */
    const char *pending_head;
    bool unknown; /* the last line that counts was one that nobody took */
    bool quiet;   /* the command prints no counters */
    uint32_t look;
    uint64_t command; /* its first words; 0: none */
    uint64_t head;    /* whose first row is waited for; 0: none */
    bool read;        /* something was */
    bool in_order;    /* nobody says when its look is */
    struct stream *next;
};

struct text {
    struct evidence *evidence;
    const struct text_of *of;
    uint32_t file, line;
    struct shown shown;
    struct stream *first, *now, **slot;
    uint32_t streams;
    struct seen *seen;
    uint32_t seens;
    uint32_t given;       /* the device that was said with the text; EVIDENCE_NONE */
    char bound[NAME + 1]; /* what the prompt calls it; or, where none was said, the first prompt's device */
    double time_s;        /* of the last date; NaN: none */
    bool prefixed;        /* each line has its host in front */
    bool rule;            /* the line before is a rule of dashes */
    bool known;
    uint32_t no_json; /* lines up to this one are none */
    struct json_text json;
};

/* --- streams --- */

static struct stream *stream_new(struct text *text, uint32_t device)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        evidence_too_much(text->evidence);
        return text->now;
    }
    stream->in.evidence = text->evidence;
    stream->in.clock_s = NAN;
    stream->device = stream->in.device = device;
    stream->in.source = (struct evidence_source){.file = text->file, .line = text->line, .at_s = text->of->at_s};
    reader_hint(text->of->file, stream->in.hint, sizeof stream->in.hint);
    stream->next = text->first;
    text->first = stream;
    text->streams++;
    return stream;
}

/* The slot of a device's stream, or the free one where it would be. */
static struct stream **slot_of(struct text *text, uint32_t device)
{
    size_t at = (device * 2654435761u) % SLOTS;

    while (text->slot[at] && text->slot[at]->device != device)
        at = (at + 1) % SLOTS;
    return &text->slot[at];
}

static void end_layout(struct stream *stream)
{
    stream->in.evidence->in_order = stream->in_order;
    if (stream->current && stream->current->end) stream->current->end(&stream->in);
    stream->current = NULL;
    stream->head = 0;
}

static void select_device(struct text *text, uint32_t device)
{
    if (device == EVIDENCE_NONE || text->now->device == device) return;
    struct stream **slot = slot_of(text, device);
    if (!*slot && text->streams >= STREAMS) { /* its looks are not kept apart from now on */
        end_layout(text->now);
        text->now->device = text->now->in.device = device;
        return;
    }
    if (!*slot) *slot = stream_new(text, device);
    text->now = *slot;
    text->now->in.source.line = text->line;
}

/* The device becomes known that the stream at hand is of. */
static void name_device(struct text *text, uint32_t device)
{
    if (device == EVIDENCE_NONE) return;
    text->now->device = text->now->in.device = device;
    struct stream **slot = slot_of(text, device);
    if (!*slot && text->streams < STREAMS) *slot = text->now;
}

static uint32_t device_called(struct text *text, const char *name)
{
    return name && *name ? evidence_device(text->evidence, name, strlen(name)) : EVIDENCE_NONE;
}

/* One of them is the other without its first one or two signs: the beginning was lost when it was marked. */
static bool is_cut(const char *a, const char *b, size_t length)
{
    size_t whole = strlen(a);

    return length >= 3 && whole > length && whole - length <= 2 && !memcmp(a + whole - length, b, length);
}

static bool is_same(const char *name, const struct text_field *other)
{
    return (strlen(name) == other->length && !memcmp(name, other->at, other->length)) ||
           is_cut(name, other->at, other->length);
}

/* Names that machines have before somebody gives them one. */
static bool is_generic(const struct text_field *name)
{
    static const char *const names[] = {"sonic", "cumulus", "localhost", "switch", "router", "host", NULL};
    size_t i = 0;

    while (names[i] && !field_is(name, names[i]))
        i++;
    return names[i] != NULL;
}

/* The device that a prompt or a head names.  What the text was said to be of has the first name that a prompt has. */
static void select_named(struct text *text, const struct text_field *name, bool bind)
{
    struct evidence *evidence = text->evidence;

    if (!name->length || name->length > NAME) return;
    if (text->given != EVIDENCE_NONE) {
        bool same = is_same(evidence->object[text->given].name, name) || (*text->bound && is_same(text->bound, name));
        if (same || (bind && !*text->bound)) {
            if (!same) {
                memcpy(text->bound, name->at, name->length);
                text->bound[name->length] = 0;
            }
            select_device(text, text->given);
            return;
        }
    } else if (text->of->several && is_generic(name)) {
        return;
    } else if (*text->bound && is_same(text->bound, name)) {
        select_device(text, device_called(text, text->bound));
        return;
    } else if (!*text->bound) {
        memcpy(text->bound, name->at, name->length);
        text->bound[name->length] = 0;
    }
    uint32_t device = evidence_device(evidence, name->at, name->length);
    if (text->now->device == EVIDENCE_NONE && !text->now->read)
        name_device(text, device);
    else
        select_device(text, device);
}

/* --- looks --- */

static uint64_t hash_of(const struct text *text, uint64_t first, const char *at, size_t length)
{
    uint64_t hash = hash_secret(&text->evidence->tables->secret, first, at, length);

    return hash ? hash : 1;
}

static void look_again(struct stream *stream)
{
    stream->look++;
    stream->in.source.at_s += ORDER_S;
    stream->in_order = true;
}

/* A date in the text: the stream at hand is looked at then. */
static void take_time(struct text *text)
{
    struct stream *stream = text->now;
    double at_s = text->time_s;

    if (text->of->timed || isnan(at_s)) return;
    text->time_s = NAN;
    if (isnan(text->evidence->clock_s)) text->evidence->clock_s = at_s;
    at_s += text->of->at_s - text->evidence->clock_s;
    if (at_s > stream->in.source.at_s || !stream->read) {
        stream->look++;
        stream->in.source.at_s = at_s;
        stream->in_order = false;
    } else if (at_s < stream->in.source.at_s) {
        look_again(stream);
    }
}

/* What is known by this key of the device at hand; NULL: no more is kept. */
static struct seen *seen_find(struct text *text, uint64_t key)
{
    size_t at = key % (2 * SEEN);

    if (!text->seen && !(text->seen = calloc(2 * SEEN, sizeof text->seen[0]))) {
        evidence_too_much(text->evidence);
        return NULL;
    }
    while (text->seen[at].key && text->seen[at].key != key)
        at = (at + 1) % (2 * SEEN);
    if (!text->seen[at].key) {
        if (text->seens == SEEN) return NULL;
        text->seens++;
        text->seen[at] = (struct seen){.key = key, .look = UINT32_MAX};
    }
    return &text->seen[at];
}

/* The words of a line up to its first number, at most three. */
static size_t key_length(const char *line)
{
    struct text_field word[3];
    size_t words = field_split(line, word, 3);
    const char *end = line;

    for (size_t i = 0; i < words && i < 3; i++) {
        bool number = isdigit((unsigned char)*word[i].at) || strchr("+-", *word[i].at);
        if (i && (number || field_is(&word[i], "up") || field_is(&word[i], "down"))) break;
        end = word[i].at + word[i].length;
    }
    return (size_t)(end - line);
}

static uint64_t key_of(const struct text *text, const void *of, const char *line)
{
    const char *colon = *line == '/' ? strrchr(line, ':') : NULL; /* a file of sysfs */
    uint64_t first = (uint64_t)(uintptr_t)of ^ (uint64_t)text->now->device << 32;

    first = hash_of(text, first, text->now->in.hint, strlen(text->now->in.hint));
    return hash_of(text, first, line, colon ? (size_t)(colon - line) : key_length(line));
}

/* An output begins that is known: where its head says of whom it is, this is another look, else its first row tells. */
static void notice_head(struct text *text, const char *line)
{
    struct stream *stream = text->now;
    bool heads;

    stream->head = 0;
    if (text->of->timed || !reader_repeats(stream->current, &heads)) return;
    uint64_t key = key_of(text, stream->current, line);
    struct seen *seen = seen_find(text, key);
    if (!seen) return;
    if (!heads) {
        stream->head = key;
        return;
    }
    if (seen->look == stream->look) look_again(stream);
    seen->look = stream->look;
}

static void notice_row(struct text *text, const char *line)
{
    struct stream *stream = text->now;
    struct seen *seen =
        stream->head && isalpha((unsigned char)line[strspn(line, " ")]) ? seen_find(text, stream->head) : NULL;

    if (!seen) return;
    stream->head = 0;
    uint64_t row = hash_of(text, 0, line, key_length(line));
    if (seen->look == stream->look && seen->row == row) look_again(stream);
    seen->look = stream->look;
    seen->row = row;
}

/* --- commands --- */

/* Without what stands before the command itself; "ssh leaf1 show …" names a device. */
static const char *plain_command(const char *command, struct text_field *device)
{
    struct text_field word[3];

    for (int i = 0; i < 3; i++) {
        size_t words = field_split(command, word, 3);
        if (words > 1 && (field_is(&word[0], "sudo") || field_is(&word[0], "time"))) {
            command = word[1].at;
        } else if (words > 2 && field_is(&word[0], "ssh") && *word[1].at != '-') {
            const char *at = memrchr(word[1].at, '@', word[1].length);
            *device = word[1];
            if (at) *device = (struct text_field){at + 1, (size_t)(word[1].at + word[1].length - at - 1)};
            command = word[2].at + strspn(word[2].at, "'\"");
        } else {
            break;
        }
    }
    return command;
}

/* "grep pause sos_commands/networking/ethtool_-S_eth1": what the file's name says. */
static const char *command_of_file(const char *command, char *buf, size_t size)
{
    static const char *const words[] = {"cat", "egrep", "grep", "head", "less", "more", "tail", "zcat", "zgrep", NULL};
    struct text_field word;
    size_t i = 0;

    field_split(command, &word, 1);
    while (words[i] && !field_is(&word, words[i]))
        i++;
    if (!words[i] || strlen(command) >= size) return command;
    for (i = 0; command[i]; i++)
        buf[i] = command[i] == '_' ? ' ' : command[i];
    buf[i] = 0;
    return buf;
}

static void take_command(struct text *text, struct session_said *said)
{
    const char *command = plain_command(said->command, &said->device);
    char buf[256];

    end_layout(text->now);
    select_named(text, &said->device, *command && !line_words(command, "ssh"));
    struct stream *stream = text->now;
    take_time(text);
    stream->unknown = false;
    stream->pending = NULL;
    if (!*command) return;
    stream->quiet = session_says_nothing(command);
    command = command_of_file(command, buf, sizeof buf);
    session_interface(command, stream->in.hint, sizeof stream->in.hint);
    if (stream->quiet) return;
    uint64_t key = hash_of(text, (uint64_t)stream->device << 1 | 1, command, strcspn(command, "\n"));
    struct seen *seen = text->of->timed ? NULL : seen_find(text, key);
    if (seen && seen->look == stream->look) look_again(stream);
    if (seen) seen->look = stream->look;
    stream->pending = reader_of_command(text->of->from, command, &stream->pending_head);
}

/* A command on a line of its own, without a prompt. */
static bool is_bare_command(const char *line)
{
    static const char *const begins[] = {
        "sudo ",          "show ",       "ib_write_",  "ib_read_",       "ib_send_",  "mpirun ",
        "torchrun ",      "srun ",       "ethtool -",  "rdma statistic", "rdma link", "nv show ",
        "show interface", "show pfc",    "show queue", "show priority",  "show lldp", "pfcwd show",
        "ibstat",         "ibv_devinfo", "mlnx_qos -", "show_counters ", "show_gids", "perfquery "};

    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (!strncmp(line, begins[i], strlen(begins[i]))) return true;
    return false;
}

/* --- what stands between outputs --- */

/* A rule of dashes alone, as around dshbak's hosts. */
static bool is_rule(const char *line)
{
    size_t dashes = strspn(line, "-");

    return dashes >= 8 && !line[dashes];
}

static bool is_host_alone(const struct text *text, const char *line)
{
    if (!text->rule) return false;
    struct text_field name = {line, strcspn(line, " \t")};
    return !line[name.length] && session_is_device(&name) && !session_is_interface(&name);
}

/* Whether the line was one of those. */
static bool between(struct text *text, const char *line)
{
    struct session_said said;
    enum session_kind kind = session_line(line, &said);
    uint64_t number;

    if (kind == SESSION_PROMPT &&
        evidence_device_find(text->evidence, said.device.at, said.device.length) == EVIDENCE_NONE &&
        !(*text->bound && is_same(text->bound, &said.device))) {
        if (said.device.length >= 4) end_layout(text->now); /* whatever it is, no row follows it */
        return said.device.length >= 4;
    }
    if (kind == SESSION_TEXT && is_host_alone(text, line)) {
        kind = SESSION_DEVICE;
        said.device = field_of(line);
    }
    struct text_field word = field_of(text->now->quiet ? line : "");
    if (kind == SESSION_TEXT && word.length == 10 && field_number(&word, &number) &&
        number > 1000000000) { /* date +%s */
        kind = SESSION_TIME;
        said.at_s = (double)number;
    }
    switch (kind) {
    case SESSION_TEXT:
        return false;
    case SESSION_NOTHING:
        return true;
    case SESSION_COMMAND:
    case SESSION_PROMPT:
    case SESSION_DEVICE:
        take_command(text, &said);
        return true;
    case SESSION_FILE:
        end_layout(text->now);
        reader_hint(line, text->now->in.hint, sizeof text->now->in.hint);
        return true;
    case SESSION_PORT:
        if (said.device.length < sizeof text->now->in.hint) {
            memcpy(text->now->in.hint, said.device.at, said.device.length);
            text->now->in.hint[said.device.length] = 0;
        }
        return true;
    case SESSION_TIME:
        text->time_s = said.at_s;
        end_layout(text->now);
        take_time(text);
        return true;
    case SESSION_LOOK:
        end_layout(text->now);
        if (text->now->read && !text->of->timed) look_again(text->now);
        return true;
    }
    return false;
}

/* --- lines --- */

/* Whether somebody who reads the text would miss the line: not one that is blank, a comment or a rule. */
static bool counts(const char *line)
{
    bool word = false;

    line += strspn(line, " \t");
    if (*line == '#' || !strncmp(line, "//", 2) || strstr(line, "Last cached time was ")) return false;
    for (; *line && !word; line++)
        word = isalnum((unsigned char)*line) || (unsigned char)*line >= 0x80;
    return word;
}

/* Whose the lines of a reader are that come now. */
static void set_device(struct text *text, const struct text_reader *reader)
{
    struct stream *stream = text->now;

    stream->in.device = stream->device;
    stream->in.guessed = stream->device != text->given;
    stream->in.by_file = reader_is_of_jobs(reader) ? NULL : text->of->called;
    if (reader_is_of_jobs(reader)) {
        if (stream->in.guessed) stream->in.device = EVIDENCE_NONE;
    } else if (stream->device == EVIDENCE_NONE && !reader_is_nameless(reader)) {
        name_device(text, device_called(text, text->of->called));
    }
}

static void begin_layout(struct text *text, const struct text_reader *reader)
{
    struct stream *stream = text->now;

    end_layout(stream);
    memset(stream->in.state, 0, sizeof stream->in.state);
    stream->current = reader;
    stream->read = text->known = true;
    set_device(text, reader);
}

/* Whether one took it whose lines stand alone. */
static bool take_aside(struct text *text, const struct text_reader *reader, const char *line)
{
    struct stream *stream = text->now;
    uint32_t device = stream->in.device;

    set_device(text, reader);
    bool taken = reader->line(&stream->in, line);
    stream->in.device = stream->current ? device : stream->device;
    text->known |= taken;
    return taken;
}

static bool take_row(struct text *text, const char *line)
{
    struct stream *stream = text->now;

    uint32_t device = stream->in.device;

    stream->in.device = stream->device;
    stream->in.guessed = stream->device != text->given;
    stream->in.by_file = text->of->called;
    if (!readers_row(&stream->in, text->of->from, line)) {
        stream->in.device = device;
        return false;
    }
    if (stream->in.device != stream->device) name_device(text, stream->in.device);
    return stream->read = text->known = true;
}

static void count_line(struct text *text, const struct text_reader *reader, const char *line, bool taken)
{
    struct stream *stream = text->now;

    if (!taken && !counts(line)) return;
    if (!taken && is_bare_command(line)) {
        struct session_said said = {.command = line};
        take_command(text, &said);
        return;
    }
    if (taken)
        text->evidence->lines_taken++;
    else if (!stream->quiet)
        evidence_unknown(text->evidence, &stream->in.source, reader ? reader->kind : NULL, line,
                         stream->unknown && stream->last == reader);
    stream->unknown = !taken;
    stream->last = reader;
}

static void take(struct text *text, const char *line)
{
    struct stream *stream = text->now;
    const struct text_reader *reader, *aside = NULL;
    bool taken = false;
    size_t after = 0;

    text->evidence->in_order = stream->in_order;
    while ((reader = reader_of_head(text->of->from, line, &after)) && reader_is_aside(reader)) {
        aside = reader;
        if (!take_aside(text, reader, line)) continue; /* another may know it */
        count_line(text, aside, line, true);
        return;
    }
    if (reader && !(reader == stream->current && reader_keeps(reader))) {
        taken = true;
        begin_layout(text, reader);
        notice_head(text, line);
    } else if (!reader && !aside && !stream->current && stream->pending && counts(line)) {
        begin_layout(text, stream->pending);
        stream->pending = NULL;
        stream->current->line(&stream->in, stream->pending_head);
    }
    if (!reader) notice_row(text, line);
    text->evidence->in_order = stream->in_order;
    text->evidence->tables->puts = 0;
    if (stream->current && stream->current->line(&stream->in, line)) {
        taken = true;
        suspect_line(&stream->in, stream->current->kind, line);
    }
    if (!taken) taken = take_row(text, line);
    count_line(text, aside && !taken ? aside : stream->current, line, taken);
}

/* --- JSON among the lines --- */

static void take_json(struct text *text)
{
    struct json_text *json = &text->json;
    const char *why = NULL;
    uint32_t line = json->line;
    struct arena arena;

    arena_init(&arena, (size_t)8 * READER_JSON);
    const struct json *root = json_text_tree(json, &arena, &why, &line);
    struct stream *stream = text->now;
    uint32_t at = text->line;
    if (root) {
        end_layout(stream);
        memset(stream->in.state, 0, sizeof stream->in.state);
        stream->in.source.line = json->line;
        uint32_t device = stream->in.device = stream->device;
        text->evidence->in_order = stream->in_order;
        bool known = reader_tree(&stream->in, text->of, root);
        if (stream->in.device != device) name_device(text, stream->in.device);
        text->known |= known;
        stream->read |= known;
        stream->in.source.line = json->line;
        if (known)
            text->evidence->lines_taken += at - json->line + 1;
        else
            evidence_unknown(text->evidence, &stream->in.source, NULL, json->text, false);
    }
    if (why)
        evidence_remark(text->evidence, text->file, line,
                        root ? "JSON that is cut, read up to here: %s" : "broken JSON: %s", why);
    arena_release(&arena);
    if (!root) { /* its lines may be of another kind */
        char *again = json->text, *stop;
        size_t left = json->used;
        uint32_t first = json->line;
        text->no_json = at;
        json->text = NULL;
        json->used = json->room = 0;
        for (char *one = again; left; one = stop + 1) {
            stop = memchr(one, '\n', left);
            if (!stop) break;
            *stop = 0;
            left -= (size_t)(stop + 1 - one);
            text->now->in.source.line = first++;
            if (!between(text, one)) take(text, one);
        }
        free(again);
    }
    json_text_release(json);
    text->now->in.source.line = text->line = at;
}

/* Whether the line is part of a document; `after`: raw bytes behind it. */
static bool in_json(struct text *text, const char *line, const char *after, size_t bytes)
{
    struct json_text *json = &text->json;

    if (!json->line) {
        const char *at = line + strspn(line, " \t");
        if ((*at != '{' && *at != '[') || text->line <= text->no_json || text->prefixed) return false;
        if (!json_text_begins(at, strlen(at), after, bytes)) return false;
        struct session_said said;
        if (*at == '[' && session_line(line, &said) != SESSION_TEXT) return false;
        json_text_begin(json, text->line);
    } else if (isalpha((unsigned char)*line) || *line == '[') {
        struct session_said said;
        if (session_line(line, &said) == SESSION_COMMAND) { /* it was cut before the next command */
            text->line--;
            take_json(text);
            text->now->in.source.line = ++text->line;
            return false;
        }
    }
    if (json_text_add(json, line)) take_json(text);
    return true;
}

/* --- hosts in front of lines --- */

/* "h0: rest"; NULL: no name stands in front. */
static const char *behind_host(const char *line, struct text_field *name)
{
    size_t length = 0;

    while (isalnum((unsigned char)line[length]) || (length && line[length] && strchr("._-", line[length])))
        length++;
    *name = (struct text_field){line, length};
    if (!length || length > NAME || line[length] != ':' || (line[length + 1] && line[length + 1] != ' ')) return NULL;
    if (session_is_interface(name) || !isalpha((unsigned char)*line)) return NULL;
    return line + length + 1 + (line[length + 1] == ' ');
}

#define HOSTS_FIRST 64 /* hosts among the first lines */

/* Whether nearly all lines have a host in front, of few hosts, and what is behind it is known and with it is not. */
static bool has_hosts(const struct text *text, const char *at, size_t bytes)
{
    struct text_field host[HOSTS_FIRST];
    const char *end = at + bytes;
    size_t hosts = 0, lines = 0, with = 0, heads = 0;
    char line[512];

    for (; at < end && lines < 500; at++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at), i = 0;
        struct text_field name;
        if (length >= sizeof line) length = sizeof line - 1;
        memcpy(line, at, length);
        line[length] = 0;
        while (length && line[length - 1] == '\r')
            line[--length] = 0;
        const char *rest = behind_host(line, &name);
        lines += length > 0;
        with += rest != NULL;
        size_t one = 0, other = 0;
        if (rest && reader_of_head(text->of->from, rest, &one) && !reader_of_head(text->of->from, line, &other))
            heads++;
        name.at = at;
        while (rest && i < hosts && !(host[i].length == name.length && !memcmp(host[i].at, name.at, name.length)))
            i++;
        if (rest && i == hosts) {
            if (hosts == HOSTS_FIRST) return false;
            host[hosts++] = name;
        }
        if (!stop) break;
        at = stop;
    }
    return heads && with * 10 >= lines * 9 && hosts * 2 <= lines;
}

static const char *select_host(struct text *text, const char *line)
{
    struct text_field name;
    const char *rest = behind_host(line, &name);

    if (!rest) return line;
    uint32_t device = evidence_device(text->evidence, name.at, name.length);
    if (text->now->device == EVIDENCE_NONE && !text->now->read)
        name_device(text, device);
    else
        select_device(text, device);
    return rest;
}

/* --- the text --- */

static void take_line(struct text *text, char *line, const char *after, size_t bytes)
{
    const char *at = text->prefixed ? select_host(text, line) : line;

    text->now->in.source.line = text->line;
    if (!in_json(text, at, after, bytes) && !between(text, at)) take(text, at);
    text->rule = is_rule(at);
}

static void begin(struct text *text, struct bytes_in *bytes)
{
    size_t length = bytes_left(bytes) < BYTES_LOOK ? bytes_left(bytes) : BYTES_LOOK;
    const char *from = bytes_at(bytes), *cut = bytes_left(bytes) > length ? memrchr(from, '\n', length) : NULL;

    if (cut) length = (size_t)(cut + 1 - from);
    shown_begin(&text->shown, from, length);
    text->prefixed = has_hosts(text, from, length);
    text->given =
        text->of->device ? evidence_device(text->evidence, text->of->device, strlen(text->of->device)) : EVIDENCE_NONE;
    text->now = stream_new(text, EVIDENCE_NONE);
    if (!text->now) return;
    name_device(text, text->given);
    text->now->pending = text->of->command && !text->prefixed
                             ? reader_of_command(text->of->from, text->of->command, &text->now->pending_head)
                             : NULL;
}

static void finish(struct text *text)
{
    if (text->json.line) take_json(text);
    json_text_release(&text->json);
    while (text->first) {
        struct stream *stream = text->first;
        text->first = stream->next;
        text->evidence->in_order = stream->in_order;
        end_layout(stream);
        stream->in.device = stream->device;
        readers_aside_end(&stream->in);
        free(stream);
    }
    text->evidence->in_order = false;
    free(text->seen);
    free(text->slot);
}

bool text_lines(struct evidence *evidence, const struct text_of *of, uint32_t file, struct bytes_in *bytes)
{
    struct text text = {.evidence = evidence, .of = of, .file = file, .time_s = NAN};
    const char *line;
    size_t length, room = 0;
    char *copy = NULL;

    text.slot = calloc(SLOTS, sizeof text.slot[0]);
    if (text.slot)
        begin(&text, bytes);
    else
        evidence_too_much(evidence);
    while (text.now && !evidence->full && (line = bytes_line(bytes, READER_LINE, &length))) {
        if (length + 1 > room) {
            char *grown = realloc(copy, room = length + 256);
            if (!grown) {
                evidence_too_much(evidence);
                break;
            }
            copy = grown;
        }
        memcpy(copy, line, length);
        text.line++;
        if (*copy == '{' || *copy == '[' || *copy == ' ') bytes_fill(bytes, AHEAD); /* it may be JSON's beginning */
        take_line(&text, shown_line(&text.shown, copy, length), bytes_at(bytes), bytes_left(bytes));
    }
    finish(&text);
    free(copy);
    return text.known;
}
