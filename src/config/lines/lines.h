/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration of commands and indented blocks (NX-OS, EOS), as lines that know their words and their block.
 */
#ifndef ROCELAB_CONFIG_LINES_LINES_H
#define ROCELAB_CONFIG_LINES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct fabric_errors;

#define LINES_WORDS 96 /* of a line; what comes after them is not split */
#define LINES_DEEP 32
#define LINES_NONE UINT32_MAX
#define LINES_WORK 4000000u /* lines of interfaces, each counted for every interface of its range; more is no switch */

struct line {
    const char *text;  /* without the space around it and without a comment */
    const char **word; /* [words] */
    uint32_t number;   /* in the file */
    uint32_t parent;   /* into lines, LINES_NONE: none */
    uint32_t end;      /* the first line after its block */
    uint16_t words;
    uint16_t indent;
    uint16_t exits; /* `exit`s between it and the line before */
    uint16_t taken; /* words that were understood, where more follow; 0: all, or none */
    bool known;     /* an importer has dealt with it */
    bool foreign;   /* by saying that it is of another system */
};

struct lines {
    struct line *line; /* without empty lines, comments, and prompts such as `exit` and `end` */
    uint32_t count;
};

/* Cuts `text` up.  `opens` names the commands (first words) that open a block in the system's grammar.
 * A block whose first line is indented is found by indentation.  For any other, as in scripts that are pasted into a
 * terminal, `belongs` says whether a line is of the block, as the command line would take it; `flat`: no interface of
 * the file has indented lines.  0; -EINVAL with an error. */
struct lines_grammar {
    const char *opens;                                                             /* words.h */
    bool (*belongs)(const struct line *block, const struct line *line, bool flat); /* NULL: indentation alone */
};
int lines_read(const char *text, size_t length, const struct lines_grammar *grammar, struct arena *arena,
               struct lines *ret, struct fabric_errors *errors);

/* Does the line say this?  `pattern` is words: `*` any one word (the next of word[]), `#` a number (the next of
 * number[], below 2^63), `...` at the end: anything may follow.  They hold as many as the pattern asks for and are
 * changed on false too. */
#define LINES_CAPTURES 8
struct line_match {
    const char *word[LINES_CAPTURES];
    uint64_t number[LINES_CAPTURES];
};
bool line_is(const struct line *line, const char *pattern, struct line_match *ret);
/* Marks the line known where it is. */
bool line_take(struct line *line, const char *pattern, struct line_match *ret);
/* The same where words that nobody knows may follow: the line counts, and lines_end() lists what was left of it. */
bool line_take_part(struct line *line, const char *pattern, struct line_match *ret);
/* Is the first word, or the one after `no` or `default`, one of these (words.h)? */
bool line_command(const struct line *line, const char *words);
/* Decimal, all of `text`. */
bool line_number(const char *text, uint64_t *ret);
/* `0.20` with at most nine digits after the point, times 10^9. */
bool line_decimal(const char *text, uint64_t *ret_nano);

/* What `interface ...` names, without white space and with its kind in full: Ethernet1/1-4 for `eth 1/1-4`, and for
 * `po5` the system's word for it (`channel`: port-channel or Port-Channel) with its number.  NULL: another kind, or no
 * memory. */
const char *lines_interface_name(struct arena *arena, const struct line *line, const char *channel);
/* Calls `each` for every interface of `Ethernet1/1-64,1/70` or `Et1-4`, at most 4096; false: not such a list. */
bool lines_interfaces(const char *text, void (*each)(void *to, const char *name), void *to);
/* Bits of DSCPs, as above or by name: ef, cs3, af31, default; false where one is not a DSCP. */
bool lines_dscps(const char *text, uint64_t *io_bits);
/* Bits of `8 9 10`, `24-31` or `3,4`; false where one is not below `below` (at most 64). */
bool lines_bits(const char *text, unsigned below, uint64_t *io_bits);

#endif
