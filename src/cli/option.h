/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of which a row of VERB_options.def is made.  A row says what is given, what help says, and then what the
 * option sets in the verb's `struct settings`, within which limits; options.c does it, and has the messages.
 *
 *     OPTION("threads", "N", "threads to run on (default 1)", COUNT(sim.threads), FROM(1), TO(1024))
 */
#ifndef ROCELAB_CLI_OPTION_H
#define ROCELAB_CLI_OPTION_H

#include "base/time.h"
#include "cli/cli.h"

#define OPTION(name, argument, help, ...) {name, argument, help, __VA_ARGS__},

#define OPTION_AT(field) .at = offsetof(struct settings, field), .bytes = sizeof(((struct settings *)NULL)->field)
/* An error of the compiler where the field has another type. */
#define OPTION_TYPED(type, field)                                                                                      \
    .at = offsetof(struct settings, field) + 0 * sizeof((type *)NULL == &((struct settings *)NULL)->field)

#define FLAG(field) .value = OPTION_CONSTANT, .least = 1, .bytes = sizeof(bool), OPTION_TYPED(bool, field)
#define UNSET(field) .value = OPTION_CONSTANT, .least = 0, .bytes = sizeof(bool), OPTION_TYPED(bool, field)
#define CONSTANT(field, constant) .value = OPTION_CONSTANT, .least = (constant), OPTION_AT(field)
#define TEXT(field) .value = OPTION_TEXT, OPTION_TYPED(const char *, field)

#define QUANTITY(kind, field) .value = OPTION_QUANTITY, .unit = (kind), .per = 1, OPTION_AT(field)
#define COUNT(field) QUANTITY(UNIT_COUNT, field)
#define TIME(field) QUANTITY(UNIT_TIME, field)
#define SIZE(field) QUANTITY(UNIT_SIZE, field)
#define SPEED(field) QUANTITY(UNIT_RATE, field)
#define TIME_NS(field) .value = OPTION_QUANTITY, .unit = UNIT_TIME, .per = PS_NS, OPTION_AT(field)
#define FROM(limit) .least = (limit) /* in the unit of base/units.h; 1 of other than a count is "more than 0" */
#define TO(limit) .most = (limit)

/* One of these, separated by blanks; the field is an enum, and `first` the value of the first. */
#define WORD(field, first, list) .value = OPTION_WORD, .words = (list), .least = (first), OPTION_AT(field)
#define WORDS(list) .words = (list)     /* beside TEXT: one of these */
#define OFFERED(list) .offered = (list) /* to who completes a line; {read} and {written} are systems */

#define INPUT .input = true /* beside TEXT or CALL: a file that is read */

#define ENVIRONMENT(name) .value = OPTION_ENVIRONMENT, .variable = (name)
/* bool function(TYPE *field, const char *argument), false after a message; HAND: of all the settings. */
#define CALL(function, field) .value = OPTION_CALL, .call = (function), OPTION_AT(field)
#define HAND(function) .value = OPTION_CALL, .call = (function)

#define ALSO(field) .also = 1 + offsetof(struct settings, field) /* a bool that becomes true */

#endif
