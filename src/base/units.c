/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading quantities: the units of each kind, the number in front, and the sentence when it is wrong.
 *
 * The fraction is multiplied as a person would on paper, from its last digit to the point; what is
 * left of the carry there is whole, and any digit that is not 0 by then is finer than the base unit.
 * So a fraction of any length is exact and no number wider than 64 bits appears.
 *
 * Sentences are literals: a caller may keep the pointer, and reading allocates nothing.  To name the
 * unit that was found, there is one literal for each known unit and kind.
 *
 * Printing is in units_format.c.
 */
#include "base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "base/units_table.h"

#define KILO 1000ULL
#define MEGA 1000000ULL
#define GIGA 1000000000ULL
#define TERA 1000000000000ULL
#define BOTH (UNIT_EXACT | UNIT_SHORT)

static const struct unit time_units[] = {{"ps", 1, BOTH},    {"ns", KILO, BOTH}, {"us", MEGA, BOTH},
                                         {"ms", GIGA, BOTH}, {"s", TERA, BOTH},  {0}};
#define RATE(prefix, scale)                                                                                            \
    {prefix, scale, BOTH}, {prefix "bps", scale, 0}, {prefix "b/s", scale, 0},                                         \
    {                                                                                                                  \
        prefix "bit/s", scale, 0                                                                                       \
    }
static const struct unit rate_units[] = {
    {"bps", 1, BOTH}, {"b/s", 1, 0},   {"bit/s", 1, 0}, RATE("K", KILO),
    RATE("M", MEGA),  RATE("G", GIGA), RATE("T", TERA), {0},
};
static const struct unit size_units[] = {
    {"B", 1, BOTH},
    {"KB", KILO, BOTH},
    {"KiB", 1ULL << 10, UNIT_EXACT},
    {"MB", MEGA, BOTH},
    {"MiB", 1ULL << 20, UNIT_EXACT},
    {"GB", GIGA, BOTH},
    {"GiB", 1ULL << 30, UNIT_EXACT},
    {"TB", TERA, BOTH},
    {"TiB", 1ULL << 40, UNIT_EXACT},
    {0},
};
static const struct unit length_units[] = {
    {"mm", 1, BOTH}, {"cm", 10, UNIT_EXACT}, {"m", KILO, BOTH}, {"km", MEGA, BOTH}, {0}};
static const struct unit share_units[] = {{"%", 10000, BOTH}, {0}};
static const struct unit count_units[] = {{"", 1, BOTH}, {"K", KILO, BOTH}, {"M", MEGA, BOTH}, {"G", GIGA, BOTH}, {0}};

const struct unit *const unit_table[UNIT_KINDS] = {
    [UNIT_TIME] = time_units,     [UNIT_RATE] = rate_units,   [UNIT_SIZE] = size_units,
    [UNIT_LENGTH] = length_units, [UNIT_SHARE] = share_units, [UNIT_COUNT] = count_units,
};

/* What is right, for each kind: the end of most sentences. */
#define USE_TIME "use ps, ns, us, ms or s, as in 2us"
#define USE_RATE "use K, M, G or T (bits a second), as in 400G"
#define USE_SIZE "use B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024), as in 1500KB"
#define USE_LENGTH "use mm, cm, m or km, as in 30m"
#define USE_SHARE "use %, as in 10%"
#define USE_COUNT "use none, K, M or G, as in 64 or 1M"

enum slip {
    SLIP_EMPTY,
    SLIP_BARE,
    SLIP_SPACE,
    SLIP_NEGATIVE,
    SLIP_PLUS,
    SLIP_COMMA,
    SLIP_POINT,
    SLIP_NUMBER,
    SLIP_UNIT,
    SLIP_FINE,
    SLIP_LARGE,
    SLIPS
};

#define SENTENCES(noun, example, half, use, finest, most)                                                              \
    {                                                                                                                  \
        [SLIP_EMPTY] = "nothing here: write a " noun ", as in " example,                                               \
        [SLIP_BARE] = "a bare number: write a unit, as in " example,                                                   \
        [SLIP_SPACE] = "a space in it: write number and unit together, as in " example,                                \
        [SLIP_NEGATIVE] = "a negative " noun ": write one of 0 or more, as in " example,                               \
        [SLIP_PLUS] = "a sign in front: write the number alone, as in " example,                                       \
        [SLIP_COMMA] = "a separator in the number: write plain digits and a decimal point, as in " half,               \
        [SLIP_POINT] = "a decimal point without digits on both sides: write it as in " half,                           \
        [SLIP_NUMBER] = "no number in front: write a " noun " as in " example,                                         \
        [SLIP_UNIT] = "not a unit of " noun ": " use, [SLIP_FINE] = "too fine: a " noun " is a whole number" finest,   \
        [SLIP_LARGE] = "too large: a " noun " is at most " most,                                                       \
    }

static const char *const sentences[UNIT_KINDS][SLIPS] = {
    [UNIT_TIME] = SENTENCES("time", "2us", "0.5us", USE_TIME, " of picoseconds", "18446744s (213 days)"),
    [UNIT_RATE] = SENTENCES("rate", "400G", "25.78125G", USE_RATE, " of bits a second", "18446744T"),
    [UNIT_SIZE] = SENTENCES("size", "1500KB", "1.5MB", USE_SIZE, " of bytes", "18446744TB"),
    [UNIT_LENGTH] = SENTENCES("length", "30m", "0.5m", USE_LENGTH, " of millimetres", "18446744073709km"),
    [UNIT_SHARE] = SENTENCES("share", "10%", "0.1%", USE_SHARE, " of parts per million (0.0001%)", "1844674407370955%"),
    [UNIT_COUNT] = SENTENCES("count", "64", "1.5M", USE_COUNT, "", "18446744073G"),
};

/* A unit, but of another kind. */
#define FOREIGN(suffix)                                                                                                \
    {                                                                                                                  \
        suffix,                                                                                                        \
        {                                                                                                              \
            [UNIT_TIME] = suffix " is not a time: " USE_TIME, [UNIT_RATE] = suffix " is not a rate: " USE_RATE,        \
            [UNIT_SIZE] = suffix " is not a size: " USE_SIZE, [UNIT_LENGTH] = suffix " is not a length: " USE_LENGTH,  \
            [UNIT_SHARE] = suffix " is not a share: " USE_SHARE, [UNIT_COUNT] = suffix " is not a count: " USE_COUNT,  \
        }                                                                                                              \
    }

static const struct {
    const char *suffix;
    const char *why[UNIT_KINDS];
} foreign[] = {
    FOREIGN("ps"),   FOREIGN("ns"),    FOREIGN("us"),     FOREIGN("ms"),     FOREIGN("s"),      FOREIGN("bps"),
    FOREIGN("b/s"),  FOREIGN("bit/s"), FOREIGN("K"),      FOREIGN("M"),      FOREIGN("G"),      FOREIGN("T"),
    FOREIGN("Kbps"), FOREIGN("Mbps"),  FOREIGN("Gbps"),   FOREIGN("Tbps"),   FOREIGN("Kb/s"),   FOREIGN("Mb/s"),
    FOREIGN("Gb/s"), FOREIGN("Tb/s"),  FOREIGN("Kbit/s"), FOREIGN("Mbit/s"), FOREIGN("Gbit/s"), FOREIGN("Tbit/s"),
    FOREIGN("B"),    FOREIGN("KB"),    FOREIGN("MB"),     FOREIGN("GB"),     FOREIGN("TB"),     FOREIGN("KiB"),
    FOREIGN("MiB"),  FOREIGN("GiB"),   FOREIGN("TiB"),    FOREIGN("Ki"),     FOREIGN("Mi"),     FOREIGN("Gi"),
    FOREIGN("Ti"),   FOREIGN("mm"),    FOREIGN("cm"),     FOREIGN("m"),      FOREIGN("km"),     FOREIGN("%"),
};

/* Near misses that deserve a word of their own. */
#define BITS " is bits: a size is in bytes, as in 1500KB"
#define BYTES_A_SECOND " is bytes a second: a rate is in bits a second, as in 400G"
static const struct {
    enum unit_kind kind;
    const char *suffix;
    const char *why;
} spelling[] = {
    {UNIT_TIME, "\xc2\xb5s", "the micro sign is written u, as in 2us"},
    {UNIT_TIME, "\xce\xbcs", "the micro sign is written u, as in 2us"},
    {UNIT_TIME, "sec", "sec is written s, as in 2s"},
    {UNIT_TIME, "min", "minutes are written in seconds, as in 60s"},
    {UNIT_RATE, "k", "k is written K, as in 100K"},
    {UNIT_RATE, "kbps", "kbps is written Kbps, as in 100Kbps"},
    {UNIT_RATE, "kb/s", "kb/s is written Kb/s, as in 100Kb/s"},
    {UNIT_RATE, "kbit/s", "kbit/s is written Kbit/s, as in 100Kbit/s"},
    {UNIT_RATE, "KB/s", "KB/s" BYTES_A_SECOND},
    {UNIT_RATE, "MB/s", "MB/s" BYTES_A_SECOND},
    {UNIT_RATE, "GB/s", "GB/s" BYTES_A_SECOND},
    {UNIT_SIZE, "k", "k is not a size: write KB (1000 bytes) or KiB (1024 bytes)"},
    {UNIT_SIZE, "kB", "kB is written KB (1000 bytes), as in 1500KB"},
    {UNIT_SIZE, "Kb", "Kb" BITS},
    {UNIT_SIZE, "Mb", "Mb" BITS},
    {UNIT_SIZE, "Gb", "Gb" BITS},
    {UNIT_LENGTH, "Km", "Km is written km, as in 2km"},
    {UNIT_COUNT, "k", "k is written K, as in 100K"},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct number {
    const char *whole; /* digits */
    const char *whole_end;
    const char *part; /* digits after the point; empty where there is none */
    const char *part_end;
};

/* Marks the number at the front of text; SLIPS when it is one, else what it is instead. */
static enum slip number_find(const char *text, struct number *ret)
{
    const char *at = text;

    if (!*at) return SLIP_EMPTY;
    if (*at == '-') return SLIP_NEGATIVE;
    if (*at == '+') return SLIP_PLUS;
    ret->whole = at;
    while (is_digit(*at))
        at++;
    ret->whole_end = ret->part = ret->part_end = at;
    if (*at == '.') {
        ret->part = ++at;
        while (is_digit(*at))
            at++;
        ret->part_end = at;
        if (ret->whole == ret->whole_end || ret->part == at) return SLIP_POINT;
    }
    if (*at == ',' || *at == '_' || *at == '\'') return at == text ? SLIP_NUMBER : SLIP_COMMA;
    return ret->whole == ret->whole_end ? SLIP_NUMBER : SLIPS;
}

/* The number times scale; SLIPS and *ret, or why there is none. */
static enum slip number_scale(const struct number *number, uint64_t scale, uint64_t *ret)
{
    uint64_t value = 0;
    uint64_t carry = 0;
    bool fine = false;

    for (const char *at = number->whole; at < number->whole_end; at++) {
        if (__builtin_mul_overflow(value, 10, &value)) return SLIP_LARGE;
        if (__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) return SLIP_LARGE;
    }
    if (__builtin_mul_overflow(value, scale, &value)) return SLIP_LARGE;
    /* The carry stays below scale, and scale below 2^41: no overflow. */
    for (const char *at = number->part_end; at > number->part; at--) {
        carry += (uint64_t)(at[-1] - '0') * scale;
        fine |= carry % 10 != 0;
        carry /= 10;
    }
    if (__builtin_add_overflow(value, carry, &value)) return SLIP_LARGE;
    if (fine) return SLIP_FINE;
    *ret = value;
    return SLIPS;
}

static const char *why_not_unit(enum unit_kind kind, const char *suffix)
{
    for (size_t i = 0; i < sizeof(spelling) / sizeof(spelling[0]); i++)
        if (spelling[i].kind == kind && strcmp(suffix, spelling[i].suffix) == 0) return spelling[i].why;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (strcmp(suffix, foreign[i].suffix) == 0) return foreign[i].why[kind];
    return sentences[kind][SLIP_UNIT];
}

static bool has_space(const char *text)
{
    while (*text)
        if (is_space(*text++)) return true;
    return false;
}

static int refuse(const char **why, const char *sentence, int error)
{
    if (why) *why = sentence;
    return error;
}

int unit_parse(enum unit_kind kind, const char *text, uint64_t *ret, const char **why)
{
    struct number number;
    uint64_t value = 0;

    CHECK((unsigned)kind < UNIT_KINDS);
    CHECK(text && ret);
    if (has_space(text)) return refuse(why, sentences[kind][SLIP_SPACE], -EINVAL);
    enum slip slip = number_find(text, &number);
    if (slip != SLIPS) return refuse(why, sentences[kind][slip], -EINVAL);

    const char *suffix = number.part_end;
    const struct unit *unit = unit_table[kind];
    while (unit->suffix && strcmp(suffix, unit->suffix) != 0)
        unit++;
    if (unit->suffix) {
        slip = number_scale(&number, unit->scale, &value);
        if (slip != SLIPS) return refuse(why, sentences[kind][slip], -ERANGE);
    } else if (*suffix) {
        return refuse(why, why_not_unit(kind, suffix), -EINVAL);
    } else if (number_scale(&number, TERA, &value) != SLIPS || value != 0) {
        /* Nothing of anything is 0, whatever the unit. */
        return refuse(why, sentences[kind][SLIP_BARE], -EINVAL);
    }
    *ret = value;
    return 0;
}
