/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements of a system's configuration as lists: what is understood of a line, what it sets, what it means.
 *
 *     STATEMENT(PART, "priority-flow-control mode off", "no PFC", SAYS(pfc, PFC_OFF), ON_LINE(pfc_line))
 *
 * A list is a .def of the system's folder; OBJECT there is the struct that it sets.  The first statement that a line
 * says is done.  `rocelab help statements` prints the lists; a meaning of "" joins the statement before.
 */
#ifndef ROCELAB_CONFIG_LINES_STATEMENTS_H
#define ROCELAB_CONFIG_LINES_STATEMENTS_H

#include <stddef.h>

#include "config/lines/lines.h"

enum statement_how {
    STATEMENT_WHOLE, /* line_take() */
    STATEMENT_PART,  /* line_take_part(): words that nobody knows may follow */
    STATEMENT_LOOK,  /* line_is(): whether the line is known is not said */
};

struct statement_said {    /* a line that says a statement */
    void *system, *object; /* the importer; what the list sets */
    struct line *line;
    const struct line_match *match;
};

struct statement {
    const char *pattern;
    enum statement_how how;
    enum {
        STATEMENT_NOTHING,
        STATEMENT_CONSTANT,
        STATEMENT_NUMBER,
        STATEMENT_TEXT,
        STATEMENT_REST,
        STATEMENT_CALL
    } kind;
    size_t at, bytes;    /* of what is set */
    size_t line_at;      /* 1 + of the number of its line; 0: not kept */
    size_t also, clears; /* 1 + of a bool that becomes true, or false; 0: none */
    uint64_t least, most;
    const char *text;
    /* False: it is not this statement after all. */
    bool (*call)(const struct statement_said *said);
};

#define STATEMENT(how_, pattern_, means, ...) {.pattern = pattern_, .how = STATEMENT_##how_, __VA_ARGS__},
#define STATEMENT_AT(field) .at = offsetof(OBJECT, field), .bytes = sizeof(((OBJECT *)NULL)->field)
#define SAYS(field, constant) .kind = STATEMENT_CONSTANT, .least = (uint64_t)(constant), STATEMENT_AT(field)
#define SAYS_TEXT(field, words) .kind = STATEMENT_TEXT, .text = (words), STATEMENT_AT(field)
#define NUMBER(field, from, to) .kind = STATEMENT_NUMBER, .least = (from), .most = (to), STATEMENT_AT(field)
#define REST(field) .kind = STATEMENT_REST, STATEMENT_AT(field) /* behind the first word, where there is more */
#define CALL(function) .kind = STATEMENT_CALL, .call = (function)
#define NOTHING .kind = STATEMENT_NOTHING
#define ON_LINE(field) .line_at = 1 + offsetof(OBJECT, field)
#define CLEARS(field) .clears = 1 + offsetof(OBJECT, field)
#define ALSO(field) .also = 1 + offsetof(OBJECT, field)

/* False: the line says none of the list. */
bool statements_read(const struct statement *list, size_t count, void *system, void *object, struct line *line);
#define STATEMENTS_READ(list, system, object, line)                                                                    \
    statements_read(list, sizeof(list) / sizeof((list)[0]), system, object, line)

#endif
