/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing quantities: the exact form, which unit_parse() reads back, and the short one for tables.
 *
 * Every scale is a product of twos and fives, so a value has a finite decimal fraction in every unit of
 * its kind and the exact form just tries them all.  The short form rounds the decimal digits of the
 * value and then only moves the point; it never adds to the value itself, which could be UINT64_MAX.
 */
#include "base/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/units_table.h"

/* Value in this unit, exactly; its length, or 0 where it is below one or does not fit. */
static size_t form_in(const struct unit *unit, bool below_one, uint64_t value, char ret[UNIT_TEXT])
{
    uint64_t whole = value / unit->scale;
    uint64_t rest = value % unit->scale;
    size_t tail = strlen(unit->suffix);

    if (whole == 0 && !below_one) return 0;
    size_t length = (size_t)snprintf(ret, UNIT_TEXT, "%" PRIu64, whole);
    if (rest) ret[length++] = '.';
    while (rest) {
        if (length + 1 + tail >= UNIT_TEXT) return 0;
        rest *= 10;
        ret[length++] = (char)('0' + rest / unit->scale);
        rest %= unit->scale;
    }
    CHECK(length + tail < UNIT_TEXT);
    memcpy(ret + length, unit->suffix, tail + 1);
    return length + tail;
}

const char *unit_format(enum unit_kind kind, uint64_t value, char buf[UNIT_TEXT])
{
    size_t best = 0;

    CHECK((unsigned)kind < UNIT_KINDS);
    if (value == 0) return memcpy(buf, "0", 2);
    for (const struct unit *unit = unit_table[kind]; unit->suffix; unit++) {
        char text[UNIT_TEXT];
        if (!(unit->print & UNIT_EXACT)) continue;
        size_t length = form_in(unit, kind == UNIT_SHARE, value, text);
        if (length == 0) continue;
        /* Ascending: of two as good the later, larger unit stays. */
        if (best && length > best) continue;
        memcpy(buf, text, length + 1);
        best = length;
    }
    CHECK(best > 0);
    return buf;
}

/* digits x 10^zeros, without zeros at the end */
struct decimal {
    char digit[24];
    int count;
    int zeros;
};

static struct decimal decimal_round(uint64_t value, int digits)
{
    struct decimal decimal = {.zeros = 0};
    uint64_t unit = 1;

    for (uint64_t left = value; left >= 10; left /= 10)
        decimal.zeros++;
    decimal.zeros = decimal.zeros + 1 > digits ? decimal.zeros + 1 - digits : 0;
    for (int i = 0; i < decimal.zeros; i++)
        unit *= 10;
    uint64_t rest = value % unit;
    value = value / unit + (rest > 0 && rest >= unit - rest);
    while (value && value % 10 == 0) {
        value /= 10;
        decimal.zeros++;
    }
    decimal.count = snprintf(decimal.digit, sizeof(decimal.digit), "%" PRIu64, value);
    return decimal;
}

static int log10_of(uint64_t scale)
{
    int power = 0;
    for (; scale > 1; scale /= 10) {
        CHECK(scale % 10 == 0);
        power++;
    }
    return power;
}

const char *unit_format_short(enum unit_kind kind, uint64_t value, int digits, char buf[UNIT_TEXT])
{
    const struct unit *best = NULL;
    size_t at = 0;

    CHECK((unsigned)kind < UNIT_KINDS);
    CHECK(digits >= 3 && digits <= 6);
    if (value == 0) return memcpy(buf, "0", 2);
    struct decimal decimal = decimal_round(value, digits);
    int before = 0; /* digits before the point */
    for (const struct unit *unit = unit_table[kind]; unit->suffix; unit++) {
        if (!(unit->print & UNIT_SHORT)) continue;
        int places = decimal.count + decimal.zeros - log10_of(unit->scale);
        if (best && places < 1) break;
        best = unit;
        before = places;
    }
    CHECK(best != NULL);

    if (before <= 0) buf[at++] = '0';
    for (int i = before < 0 ? before : 0; i < before || i < decimal.count; i++) {
        if (i == before) buf[at++] = '.';
        buf[at++] = i >= 0 && i < decimal.count ? decimal.digit[i] : '0';
    }
    size_t tail = strlen(best->suffix);
    CHECK(at + tail < UNIT_TEXT);
    memcpy(buf + at, best->suffix, tail + 1);
    return buf;
}
