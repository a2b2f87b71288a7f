/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rocelab suggest`: the values that the rules ask for, by their own formulas, for each kind of port.
 *
 * A row is one value of one kind of port (role, rate, cable, class): its range, the value that is suggested, what the
 * file has, the rule and the formula with the numbers filled in.  A line is a value to be put into the fabric file, by
 * its path.  Nothing is searched, nothing is simulated; loading the file with the lines is the caller's work.
 */
#ifndef ROCELAB_CHECK_SUGGEST_H
#define ROCELAB_CHECK_SUGGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/units.h"

struct fabric;

/* X(ID, "word", what it is about) */
#define SUGGEST_TOPIC_LIST(X)                                                                                          \
    X(ECN, "ecn", "marking: Kmin, Kmax, probability")                                                                  \
    X(HEADROOM, "headroom", "room for what arrives after a pause")                                                     \
    X(BUFFERS, "buffers", "pause thresholds, reserve, resuming")                                                       \
    X(WATCHDOG, "watchdog", "times of the PFC watchdog")
enum suggest_topic {
#define X(id, word, about) SUGGEST_##id,
    SUGGEST_TOPIC_LIST(X)
#undef X
        SUGGEST_TOPICS
};
extern const char *const suggest_topic_words[SUGGEST_TOPICS + 1];

enum suggest_unit {
    SUGGEST_SIZE,
    SUGGEST_TIME,
    SUGGEST_SHARE,
    SUGGEST_LENGTH,
    SUGGEST_COUNT,
    SUGGEST_FRACTION,
    SUGGEST_PRIORITIES
};
/* UINT64_MAX: no bound, or the file says nothing. */
#define SUGGEST_NO_VALUE UINT64_MAX

struct suggest_row {
    uint8_t topic, unit; /* enum suggest_topic, suggest_unit: SUGGEST_FRACTION counts millionths, SUGGEST_PRIORITIES
                                * has a bit for each */
    uint8_t role_id, priority;                  /* enum fabric_role; of the class */
    bool possible;                              /* false: no value satisfies the rules, and `formula` says why */
    bool inside;                                /* what the file has is in the range */
    bool assumed;                               /* the file has none: `today` is what the rules take */
    const char *key;                            /* `ecn.min` */
    const char *rules;                          /* "ECN003, ECN005" */
    const char *role, *to, *model, *class_name; /* to: "hosts" or "switches"; NULL: of the whole device */
    uint64_t rate_bps, cable_mm;                /* 0: of the whole device */
    uint32_t ports;                             /* of this kind; of switches where it is of the whole device */
    const char *example;                        /* the first of them */
    uint64_t least, most, value, today;
    const char *formula;
};

struct suggest_line { /* for the fabric file */
    const char *path, *value;
};

struct suggest {
    const struct fabric *fabric;
    const struct fabric_places *places; /* NULL: no inner layer of the file says anything */
    struct suggest_row *row;
    uint32_t rows, row_room;
    struct suggest_line *line;
    uint32_t lines, line_room;
    uint32_t left_out; /* kinds of ports beyond the first SUGGEST_KINDS */
    struct arena arena;
};
#define SUGGEST_KINDS 256
#define SUGGEST_LINES 20000

void suggest_init(struct suggest *suggest, const struct fabric *fabric, const struct fabric_places *places);
void suggest_release(struct suggest *suggest);
/* The rows and lines of a topic, after those that are there; 0, -EOPNOTSUPP where the fabric's system has no
 * such thing, -ENODATA where no class is lossless. */
int suggest_add(struct suggest *suggest, enum suggest_topic topic);
/* "320KB", "1/8", "none".  Returns buf. */
const char *suggest_text(const struct suggest_row *row, uint64_t value, char buf[UNIT_TEXT]);
/* The same with four digits: for the ends of a range. */
const char *suggest_short(const struct suggest_row *row, uint64_t value, char buf[UNIT_TEXT]);

#endif
