/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON written as it is known, without building the document first.
 *
 * Members appear in the order of the calls, one on a line; jout_open_line() begins a container that
 * stays on one line, so that `grep` finds a connection whole.  Keys are literals of this program and
 * are written as they are; values may be any bytes.
 *
 * What was written waits in the jout until its buffer is full, jout_flush() is called or the
 * outermost container is closed; errors are then those of the stream.
 */
#ifndef ROCELAB_REPORT_JSON_OUT_H
#define ROCELAB_REPORT_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/time.h"

#define JOUT_DEPTH 16
#define JOUT_BUFFER_BYTES (64 * 1024)

struct jout {
    FILE *out;
    size_t used; /* bytes of buffer */
    unsigned depth;
    unsigned line_depth; /* where `line` began */
    bool line;           /* this container is on one line */
    bool filled;         /* and has a member already */
    bool failed;         /* something is not in it */
    char close[JOUT_DEPTH];
    char buffer[JOUT_BUFFER_BYTES];
};

void jout_init(struct jout *jout, FILE *out);
/* A document: the outermost object, with what each begins with; `kind` NULL: it says by itself what it is.  NULL: there
 * is no memory; only the library comes back from that, the program ends (cli/memory.c). */
struct jout *jout_begin(FILE *out, const char *kind);
bool jout_end(struct jout *jout); /* closes and frees it; false: something is not in it */
/* key is NULL inside an array and at the top.  bracket: '{' or '['. */
void jout_open(struct jout *jout, const char *key, char bracket);
void jout_open_line(struct jout *jout, const char *key, char bracket);
void jout_close(struct jout *jout);
void jout_u64(struct jout *jout, const char *key, uint64_t value);
/* value / 10^digits, with all of its digits (1 to JOUT_DIGITS): no floating point, nothing rounded. */
#define JOUT_DIGITS 12
void jout_fixed(struct jout *jout, const char *key, uint64_t value, unsigned digits);
/* With nine digits; what is no number (NAN, infinity) is null. */
void jout_real(struct jout *jout, const char *key, double value);
/* An array of numbers, on one line. */
void jout_list(struct jout *jout, const char *key, const uint64_t *value, size_t count);
void jout_bool(struct jout *jout, const char *key, bool value);
void jout_null(struct jout *jout, const char *key);
void jout_known(struct jout *jout, const char *key, uint64_t value, bool known); /* else null */
void jout_time(struct jout *jout, const char *key, ps_t at);                     /* picoseconds; PS_NEVER: null */
/* NULL is null; bytes that are not UTF-8 become U+FFFD. */
void jout_text(struct jout *jout, const char *key, const char *value);
/* An array of what the statement writes for each i; the second on one line. */
#define JOUT_LIST(jout, key, i, count, statement) JOUT_EACH(jout, jout_open, key, i, count, statement)
#define JOUT_LIST_LINE(jout, key, i, count, statement) JOUT_EACH(jout, jout_open_line, key, i, count, statement)
#define JOUT_EACH(jout, open, key, i, count, statement)                                                                \
    do {                                                                                                               \
        open((jout), (key), '[');                                                                                      \
        for (uint32_t i = 0; i < (count); i++)                                                                         \
            statement;                                                                                                 \
        jout_close(jout);                                                                                              \
    } while (0)
void jout_flush(struct jout *jout);

#endif
