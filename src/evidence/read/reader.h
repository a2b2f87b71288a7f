/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: from texts that operators have to evidence.
 *
 * A text file is read line by line.  A line that some reader knows as the head of its layout makes that reader the
 * current one; it gets the lines after it until another head is seen, or a prompt (lines.h).  So a file may hold the
 * outputs of several commands, of several devices.  Lines that nobody takes are kept (evidence_unknown()); a file in
 * which no reader found anything is a remark.  What plainly is JSON is read as a tree, also among lines: the readers of
 * JSON are asked by what stands at its top.  Before all that the readers of whole files are asked.  Files are hostile:
 * lines are cut at READER_LINE bytes, JSON trees bounded by READER_JSON bytes.
 */
#ifndef ROCELAB_EVIDENCE_READ_READER_H
#define ROCELAB_EVIDENCE_READ_READER_H

#include <string.h>

#include "evidence/evidence.h"
#include "json/json_in.h"

#define READER_LINE (1u << 20)   /* bytes of a line that are looked at (rdma prints everything on one) */
#define READER_JSON (256u << 20) /* bytes of a JSON dump that is read as a tree */
#define READER_FIELDS 64
#define READER_STATE 2048 /* bytes a reader may keep while it reads a layout */
#define READER_ASIDE 512  /* bytes that readers of jobs' logs keep over a whole text */

struct reading {
    struct evidence *evidence;
    struct evidence_source source; /* of the line that is read */
    uint32_t device;               /* the folder's; EVIDENCE_NONE: none (a Prometheus file) */
    const char *by_file;           /* what the device is called where nobody says it; NULL: it is not */
    bool guessed;                  /* the device is what an earlier line or the file's name says: reading_device() */
    bool said;                     /* by a reader that has one thing to say of a file */
    uint32_t unlisted;             /* ranks gone over without a line of their own: bounded */
    double clock_s;                /* what a log's line says of its time, by its own clock; NaN: nothing */
    char hint[64];   /* interface that the file's name ends with ("eth0"), or the last command in it; or "" */
    char called[64]; /* what lines of the text call the folder's device, once one has; or "" */
    _Alignas(16) unsigned char state[READER_STATE]; /* zero when a reader's head is seen */
    _Alignas(16) unsigned char aside[READER_ASIDE]; /* of jobs' logs (gpu/); zero when the text begins */
};

/* A word of a line. */
struct text_field {
    const char *at;
    size_t length;
};

struct text_reader {
    const char *kind; /* as --from has it: "sonic-pfc" */
    const char *what; /* "SONiC: show pfc counters" */
    /* Whether the line is the head of its layout.  Quick: asked of every line before anybody reads it. */
    bool (*head)(const char *line);
    /* The head itself, then every line until another head comes.  Whether it was one of this layout: what is not
     * is told to who asked. */
    bool (*line)(struct reading *in, const char *line);
    /* At the end of the layout or file; may be NULL. */
    void (*end)(struct reading *in);
};
/* Rows that are unmistakable without the head of their table, as `grep` leaves them: asked of lines that nobody else
 * took, and without a state.  The kind is that of the reader of the whole table. */
struct row_reader {
    const char *kind;
    bool (*row)(struct reading *in, const char *line);
};
struct json_reader {
    const char *kind, *what;
    bool (*is)(const struct json *root);
    void (*read)(struct reading *in, const struct json *root);
};
/* Of large files whose form is not lines or a small tree: the simulator's document, Prometheus' text. */
struct whole_reader {
    const char *kind, *what;
    bool (*is)(const char *text, size_t bytes); /* looks at the beginning alone */
    void (*read)(struct reading *in, const char *text, size_t bytes);
};
#define WHOLE_READER(id) extern const struct whole_reader reader_##id;
#define TEXT_READER(id) extern const struct text_reader reader_##id;
#define JSON_READER(id) extern const struct json_reader reader_##id;
#define ROW_READER(id) extern const struct row_reader reader_##id;
#include "evidence/read/readers.def"

/* A text, and what is known of it without it. */
struct text_of {
    const char *device;  /* that it is of; NULL: the text says it, or nobody does */
    const char *called;  /* the device where the text does not say it: the file's name; NULL: it has none then */
    const char *file;    /* for messages */
    const char *command; /* that printed it, as the file's name says; NULL: not said */
    const char *from;    /* a reader's kind; NULL: any */
    double at_s;
    bool timed;   /* somebody says when: all of it is one look */
    bool several; /* one of several that may have a common prompt ("sonic"): that is no device's name then */
};
struct bytes_in;
/* False: no reader knows anything in it; that is a remark too.  What cannot be read of it is said. */
bool evidence_read_bytes(struct evidence *evidence, const struct text_of *of, struct bytes_in *bytes);
/* INPUT of the command line: a folder of dumps, a file.  `from`: a reader's kind or NULL.  False: `why` says what is
 * wrong with the input (and nothing was read that could mislead); what is not understood inside it is a remark. */
bool evidence_read(struct evidence *evidence, const char *path, const char *from, char *why, size_t size);
/* One file's bytes: of a device at a time; NULL: of what the text says, or of one that is called as the file is.
 * False: no reader knows anything in it; that is a remark too. */
bool evidence_read_text(struct evidence *evidence, const char *device, const char *file, double at_s, const char *from,
                        const char *text, size_t bytes);
/* The interface that a file's name ends with: "eth0" of "ethtool_-S_eth0.txt".  Returns buf. */
const char *reader_hint(const char *file, char *buf, size_t size);
/* Kinds that --from takes: name and what it is (`what` may be NULL); NULL ends. */
const char *reader_kind(size_t index, const char **what);

/* Words of a line, separated by blanks; returns how many there are, at most `most` are filled in. */
size_t field_split(const char *line, struct text_field *field, size_t most);
bool field_is(const struct text_field *field, const char *text);
/* A number with or without thousands commas.  "N/A", "-" and what is no number, or too large: false. */
bool field_number(const struct text_field *field, uint64_t *value);
bool field_real(const struct text_field *field, double *value);
/* "PFC3", "UC5", "prio3": the number behind the letters, where the letters are `prefix`; -1: it is not. */
int field_suffix(const struct text_field *field, const char *prefix);
/* Whether it is a text in which '#' stands for a number: "PFC#", "rx_prio#_pause".  Without '#' *number is
 * EVIDENCE_NO_PRIORITY. */
bool field_like_all(const struct text_field *field, const char *pattern, unsigned *number);
static inline bool field_like(const struct text_field *field, const char *pattern, unsigned *number)
{
    size_t i = 0;

    *number = EVIDENCE_NO_PRIORITY; /* most names differ before the '#': lists of a hundred are asked of every line */
    while (i < field->length && pattern[i] == field->at[i])
        i++;
    return (pattern[i] == '#' || (!pattern[i] && i == field->length)) && field_like_all(field, pattern, number);
}
/* Bits a second of 400G, 100Gb/s, 25000Mb/s, 100 Gb/sec, 40000 (Mb/s). */
bool field_rate(const struct text_field *field, uint64_t *bps);
/* "153.00 KB", "0 Bytes", "16.02 MB", "4096"; KB is 1024. */
bool field_bytes(const struct text_field *field, uint64_t *bytes);
/* 1 of up, U, connected; 0 of down and its like. */
bool field_state(const struct text_field *field, uint64_t *up);
/* A name that a port of a device can have, and not one of a LAG, a VLAN or a management port. */
bool field_is_port(const struct text_field *field);
/* That, or the name of a LAG, a VLAN, a management port. */
bool field_is_interface(const struct text_field *field);
/* Heads ask this of every line, dozens of them: most differ in the first letter. */
static inline const char *line_text(const char *line)
{
    while (*line == ' ' || (*line >= '\t' && *line <= '\r'))
        line++;
    return line;
}
bool line_words_all(const char *line, const char *words);
/* Whether a line's first words are these; blanks do not count. */
static inline bool line_words(const char *line, const char *words)
{
    line = line_text(line);
    return *line == *words && line_words_all(line, words);
}
/* Whether a line begins with, or holds, a text; blanks at its beginning do not count. */
static inline bool line_begins(const char *line, const char *text)
{
    line = line_text(line);
    return *line == *text && !strncmp(line, text, strlen(text));
}
bool line_has(const char *line, const char *text);

/* What the device runs ("sonic", "nxos", "eos", "nvue", "host": a name of config_format_find(), a string that stays)
 * and is
 * (FABRIC_ROLE_SWITCH or FABRIC_ROLE_HOST).  Each reader of one system says it. */
void reading_system(struct reading *in, const char *system, enum fabric_role role);
/* The device that a line itself names, of a text of several: it is the reading's from there on, unless the text lies in
 * a device's folder. */
void reading_device(struct reading *in, const struct text_field *name);
/* The reading's device; where nobody says it one that is called as the file is; EVIDENCE_NONE: there is none. */
uint32_t reading_own_device(struct reading *in);
/* The port of the reading's device by this name; EVIDENCE_NONE where there is no device.  Et1/1, Eth1/1
 * and eth1/1 are Ethernet1/1. */
uint32_t reading_port(struct reading *in, const struct text_field *name);
/* Sets a counter of a port from a field; what is no number is passed over. */
void reading_set(struct reading *in, uint32_t port, unsigned priority, enum evidence_counter counter,
                 const struct text_field *value);
/* An event of the line in hand.  Ends and detail are fields; NULL: not said.  `object` EVIDENCE_NONE: the reading's
 * device, if there is one. */
void reading_event(struct reading *in, enum evidence_event_kind kind, uint32_t object, unsigned priority,
                   const struct text_field *from, const struct text_field *to, const struct text_field *detail);
/* Whether the link of a port works, and an event where the system or somebody disabled it.  False: no such word. */
bool reading_state(struct reading *in, uint32_t port, const struct text_field *state);
/* Seconds of "3w2d", "29week(s) 1day(s)", "21 minutes, 40 seconds", "00:03:55", "5d06h"; false: it says no time. */
bool field_duration(const char *text, uint64_t *seconds);
void reading_alias(struct reading *in, uint32_t port, const struct text_field *name);
/* "spine0:Ethernet4", "to spine0 Ethernet4", "spine0_Ethernet4": the neighbour that a description names, if it does. */
void reading_description(struct reading *in, uint32_t port, const struct text_field *text);
/* What LLDP says of a port's neighbour.  A port's id that is a MAC address gives way to its description. */
void reading_neighbour(struct reading *in, uint32_t port, const struct text_field *device,
                       const struct text_field *port_id, const struct text_field *port_description);

/* What a system calls its counters; '#' is the priority.  Ends with pattern NULL. */
struct counter_name {
    const char *pattern;
    uint8_t counter; /* enum evidence_counter */
    uint16_t scale;  /* 0: 1 */
    bool weak;       /* another source of the same look knows it better */
};
/* Sets the counter of that name; of `priority` where the name has none.  False: the list does not have it. */
bool reading_named(struct reading *in, const struct counter_name *list, uint32_t object, unsigned priority,
                   const struct text_field *name, const struct text_field *value);
/* A field of a terminated text ("" of NULL). */
struct text_field field_of(const char *text);

#endif
