/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: what a terminal can show, numbers with separators, wrapped sentences, small bar lines.
 */
#ifndef ROCELAB_REPORT_TEXT_H
#define ROCELAB_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_WIDTH 100 /* where nobody says how wide a line may be */
struct text_style {
    unsigned width; /* columns a line may use */
    bool utf8;      /* the reader's locale shows UTF-8 */
    bool colour;
};

enum text_colour { TEXT_PLAIN, TEXT_BOLD, TEXT_RED, TEXT_YELLOW, TEXT_GREEN, TEXT_DIM };

/* Nothing is written unless the style has colour; every text_colour ends with TEXT_PLAIN. */
void text_colour(FILE *out, const struct text_style *style, enum text_colour colour);
__attribute__((format(printf, 4, 5))) void text_in(FILE *out, const struct text_style *style, enum text_colour colour,
                                                   const char *format, ...);
void text_heading(FILE *out, const struct text_style *style, const char *title); /* bold, a line before it */

/* "1,234,567".  Returns buf. */
#define TEXT_COUNT 32
const char *text_count(uint64_t value, char buf[TEXT_COUNT]);
/* The `s` of a word that counts: "1 error", "2 errors". */
static inline const char *text_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
/* As text_count() up to 9,999,999; four digits and a letter beyond: for columns. */
const char *text_count_short(uint64_t value, char buf[TEXT_COUNT]);
/* part of whole as "44.7%"; "0%" when whole is 0; never "0.0%" when part is not 0 ("<0.1%"). */
const char *text_share(uint64_t part, uint64_t whole, char buf[TEXT_COUNT]);
/* value / unit with so many decimals, rounded half up as all that is shown to people: text_fixed(4538799, 1000000, 2)
 * is "4.54". */
const char *text_fixed(uint64_t value, uint64_t unit, unsigned decimals, char buf[TEXT_COUNT]);
/* Picoseconds with three digits and a unit: "1.23us". */
const char *text_ps(uint64_t value_ps, char buf[TEXT_COUNT]);
/* Nanoseconds with three digits and a unit: "1.23us". */
const char *text_ns(uint64_t value_ns, char buf[TEXT_COUNT]);
/* bytes over a span as a rate: "93.1G"; "-" when the span is 0. */
const char *text_rate(uint64_t bytes, uint64_t span_ns, char buf[TEXT_COUNT]);
/* The same with its unit spelled out, for sentences: "93.1Gbps". */
const char *text_rate_long(uint64_t bytes, uint64_t span_ns, char buf[TEXT_COUNT]);
/* "1.5MB". */
const char *text_bytes(uint64_t bytes, char buf[TEXT_COUNT]);

/* What came from outside (a file's name): control characters and bytes that are not UTF-8 become '?'. */
void text_outside(FILE *out, const struct text_style *style, const char *text);
void text_outside_lines(FILE *out, const struct text_style *style, const char *text); /* the ends of lines stay */
/* For XML, which has no way to write control characters and bytes that are not UTF-8 at all: they become question
 * marks. */
void text_xml(FILE *out, const char *text);

/* Words of `text` in lines of style->width columns; the first line begins at column `at`, the
 * others are indented by `indent`.  Ends with a newline. */
void text_wrap(FILE *out, const struct text_style *style, unsigned at, unsigned indent, const char *text);

/* One character for each value, as high as its share of the largest. */
void text_bars(FILE *out, const struct text_style *style, const uint64_t *value, size_t count);

#endif
