/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities as people write them, exactly: `400G`, `30m`, `1500KB`, `4MiB`, `2us`, `10%`.
 *
 * K M G T are powers of 1000, Ki Mi Gi Ti of 1024; a decimal fraction is allowed where
 * the result is whole in the base unit (`0.5us`, `25.78125G`).  A bare number where a
 * unit is due is an error (except 0).  No floating point anywhere; overflow is an error.
 * No sign, no space, no exponent, no separators; units are spelled as here, case included.
 *
 *   kind     base unit         accepts                          examples
 *   time     picoseconds       ps ns us ms s                    2us  0.5ms
 *   rate     bits a second     K M G T, each alone or with      400G  25.78125G  100Gbps
 *                              `bps` `b/s` `bit/s`; bps alone
 *   size     bytes             B KB MB GB TB KiB MiB GiB TiB    1500KB  4MiB  64B
 *   length   millimetres       mm cm m km                       3m  2km  0.5m
 *   share    parts per million %                                10%  0.1%
 *   count    one               (none), K M G                    64  1M
 */
#ifndef ROCELAB_BASE_UNITS_H
#define ROCELAB_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

enum unit_kind { UNIT_TIME, UNIT_RATE, UNIT_SIZE, UNIT_LENGTH, UNIT_SHARE, UNIT_COUNT };
#define UNIT_KINDS (UNIT_COUNT + 1)

/* Parses all of `text`.  0 and *ret, or -EINVAL (not a quantity of this kind), -ERANGE (too large,
 * or finer than the base unit); then *ret is untouched and `why` (if not NULL) points to a static
 * sentence that says what is wrong and what would be right. */
int unit_parse(enum unit_kind kind, const char *text, uint64_t *ret, const char **why);

/* Shortest exact form with a number of at least one (`100ms`, not `0.1s`), of two as short the one in the
 * larger unit (`25.78125G`, not `25781250K`); 0 is `0`.  What it prints, unit_parse() reads back to the same
 * value, for every value.  Returns buf. */
#define UNIT_TEXT 32
const char *unit_format(enum unit_kind kind, uint64_t value, char buf[UNIT_TEXT]);
/* For tables: at most `digits` significant digits (3..6, CHECKed), rounded half up, zeros after the
 * point left out; powers of 1000 only.  Not exact. */
const char *unit_format_short(enum unit_kind kind, uint64_t value, int digits, char buf[UNIT_TEXT]);

#endif
