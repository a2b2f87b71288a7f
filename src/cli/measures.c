/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures for people and for programs.  JSON and CSV have whole numbers or exact fractions; a mean has as many
 * decimals as measure_scale() keeps.
 */
#include "cli/measures.h"

#include <inttypes.h>
#include <string.h>

const char *const state_names[] = {
    [SIM_RUNNING] = "running", [SIM_DONE] = "done",         [SIM_UNTIL] = "until",
    [SIM_STUCK] = "stuck",     [SIM_DEADLOCK] = "deadlock", [SIM_FAILED] = "failed",
};

const char *measure_text(uint64_t value, enum measure_kind kind, char buf[TEXT_COUNT])
{
    if (value == MEASURE_NOTHING) return "-";
    switch (kind) {
    case MEASURE_KIND_TIME:
        return text_ps(value, buf);
    case MEASURE_KIND_GBPS:
        return text_fixed(value, 1000000, 2, buf);
    case MEASURE_KIND_MILLI:
        return text_fixed(value, 1000, 2, buf);
    case MEASURE_KIND_BYTES:
        return text_bytes(value, buf);
    case MEASURE_KIND_SHARE:
        return text_share(value, 1000000, buf);
    case MEASURE_KIND_WHOLE:
        return text_count_short((value + 500) / 1000, buf);
    case MEASURE_KIND_COUNT:
        break;
    }
    return text_count_short(value, buf);
}

/* Decimals of a value, or of a mean. */
static unsigned digits_of(enum measure_kind kind, bool mean)
{
    switch (kind) {
    case MEASURE_KIND_GBPS:
    case MEASURE_KIND_SHARE:
        return 6;
    case MEASURE_KIND_WHOLE:
        return 3;
    case MEASURE_KIND_MILLI:
        return mean ? 6 : 3;
    case MEASURE_KIND_COUNT:
        return mean ? 3 : 0;
    case MEASURE_KIND_TIME:
    case MEASURE_KIND_BYTES:
        break;
    }
    return 0;
}

static void json_number(struct jout *jout, const char *key, uint64_t value, unsigned digits)
{
    if (value == MEASURE_NOTHING)
        jout_null(jout, key);
    else if (digits)
        jout_fixed(jout, key, value, digits);
    else
        jout_u64(jout, key, value);
}

void measure_json(struct jout *jout, const char *key, uint64_t value, enum measure_kind kind)
{
    json_number(jout, key, value, digits_of(kind, false));
}

static void number(FILE *out, uint64_t value, unsigned digits)
{
    uint64_t unit = 1;

    for (unsigned i = 0; i < digits; i++)
        unit *= 10;
    fprintf(out, "%" PRIu64, value / unit);
    if (digits) fprintf(out, ".%0*" PRIu64, (int)digits, value % unit);
}

static void csv_number(FILE *out, uint64_t value, unsigned digits)
{
    fputc(',', out);
    if (value != MEASURE_NOTHING) number(out, value, digits);
}

void summary_number(FILE *out, uint64_t part, enum measure_kind kind)
{
    number(out, part, digits_of(kind, true));
}

void measure_csv(FILE *out, uint64_t value, enum measure_kind kind)
{
    csv_number(out, value, digits_of(kind, false));
}

const char *summary_part_text(uint64_t part, enum measure_kind kind, char buf[TEXT_COUNT])
{
    uint32_t scale = measure_scale(kind);

    if (part == SUMMARY_NOTHING) return "-";
    if (part == 0) return "0";
    if (kind == MEASURE_KIND_MILLI) return text_fixed(part, (uint64_t)scale * 1000, 2, buf);
    /* a few of something have a fraction, many do not need one */
    if (kind == MEASURE_KIND_COUNT && part % scale && part < (uint64_t)scale * 1000)
        return text_fixed(part, scale, part < (uint64_t)scale * 10 ? 2 : 1, buf);
    return measure_text((part + scale / 2) / scale, kind, buf);
}

const char *summary_text(const struct summary *summary, enum measure_kind kind, char buf[MEASURE_TEXT])
{
    char mean[TEXT_COUNT], half[TEXT_COUNT];

    if (summary->half == SUMMARY_NOTHING || (summary->half == 0 && summary->mean == 0))
        snprintf(buf, MEASURE_TEXT, "%s", summary_part_text(summary->mean, kind, mean));
    else
        snprintf(buf, MEASURE_TEXT, "%s +-%s", summary_part_text(summary->mean, kind, mean),
                 summary_part_text(summary->half, kind, half));
    return buf;
}

void summary_json(struct jout *jout, const char *key, const struct summary *summary, enum measure_kind kind)
{
    char half[64];

    snprintf(half, sizeof half, "%s_ci95", key);
    json_number(jout, key, summary->mean, digits_of(kind, true));
    json_number(jout, half, summary->half, digits_of(kind, true));
}

void summary_csv(FILE *out, const struct summary *summary, enum measure_kind kind)
{
    csv_number(out, summary->mean, digits_of(kind, true));
    csv_number(out, summary->half, digits_of(kind, true));
}

void csv_text(FILE *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}
