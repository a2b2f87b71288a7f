/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: numbers, wrapped sentences, bar lines.
 *
 * Lengths and times are formatted by base/units.h, the one place that knows units; here they only
 * get the rounding a reader wants.  Nothing here asks what the terminal can do: that is in the
 * style, which the program fills in once.
 */
#include "report/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/check.h"
#include "base/time.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/wide.h"

_Static_assert(TEXT_COUNT >= UNIT_TEXT, "buffers are shared with base/units.h");

void text_colour(FILE *out, const struct text_style *style, enum text_colour colour)
{
    static const char *const code[] = {"0", "1", "31;1", "33;1", "32;1", "2"};

    CHECK(colour < sizeof code / sizeof code[0]);
    if (style->colour) fprintf(out, "\033[%sm", code[colour]);
}

void text_in(FILE *out, const struct text_style *style, enum text_colour colour, const char *format, ...)
{
    va_list arguments;

    text_colour(out, style, colour);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    text_colour(out, style, TEXT_PLAIN);
}

void text_heading(FILE *out, const struct text_style *style, const char *title)
{
    text_in(out, style, TEXT_BOLD, "\n%s\n", title);
}

const char *text_count(uint64_t value, char buf[TEXT_COUNT])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *at = buf;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    CHECK(at - buf < TEXT_COUNT);
    return buf;
}

const char *text_count_short(uint64_t value, char buf[TEXT_COUNT])
{
    if (value < 10000000) return text_count(value, buf);
    return unit_format_short(UNIT_COUNT, value, 4, buf);
}

const char *text_share(uint64_t part, uint64_t whole, char buf[TEXT_COUNT])
{
    unsigned tenths = whole == 0 ? 0 : (unsigned)(((u128)part * 1000 + whole / 2) / whole);

    if (part == 0 || whole == 0)
        snprintf(buf, TEXT_COUNT, "0%%");
    else if (tenths == 0)
        snprintf(buf, TEXT_COUNT, "<0.1%%");
    else
        snprintf(buf, TEXT_COUNT, "%u.%u%%", tenths / 10, tenths % 10);
    return buf;
}

const char *text_fixed(uint64_t value, uint64_t unit, unsigned decimals, char buf[TEXT_COUNT])
{
    uint64_t scale = 1;

    CHECK(unit > 0 && decimals >= 1 && decimals <= 6);
    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    u128 shown = ((u128)value * scale * 2 + unit) / ((u128)unit * 2);
    snprintf(buf, TEXT_COUNT, "%" PRIu64 ".%0*" PRIu64, (uint64_t)(shown / scale), (int)decimals,
             (uint64_t)(shown % scale));
    return buf;
}

const char *text_ps(uint64_t value_ps, char buf[TEXT_COUNT])
{
    return unit_format_short(UNIT_TIME, value_ps, 3, buf);
}

const char *text_ns(uint64_t value_ns, char buf[TEXT_COUNT])
{
    uint64_t value_ps = value_ns > UINT64_MAX / PS_NS ? UINT64_MAX : value_ns * PS_NS;
    return unit_format_short(UNIT_TIME, value_ps, 3, buf);
}

const char *text_rate(uint64_t bytes, uint64_t span_ns, char buf[TEXT_COUNT])
{
    uint64_t span_ps = span_ns > UINT64_MAX / PS_NS ? UINT64_MAX : span_ns * PS_NS;

    if (span_ns == 0)
        snprintf(buf, TEXT_COUNT, "-");
    else
        unit_format_short(UNIT_RATE, rate_measure(bytes, span_ps), 3, buf);
    return buf;
}

const char *text_rate_long(uint64_t bytes, uint64_t span_ns, char buf[TEXT_COUNT])
{
    size_t length = strlen(text_rate(bytes, span_ns, buf));

    if (span_ns > 0 && buf[length - 1] != 's') snprintf(buf + length, TEXT_COUNT - length, "bps");
    return buf;
}

const char *text_bytes(uint64_t bytes, char buf[TEXT_COUNT])
{
    return unit_format_short(UNIT_SIZE, bytes, 3, buf);
}

static void write_outside(FILE *out, const struct text_style *style, const char *text, bool lines)
{
    while (*text != '\0') {
        unsigned control = utf8_control(text), length = control ? control : utf8_length(text, 4);

        if (lines && *text == '\n')
            fputc('\n', out);
        else if (length == 0 || control || (length > 1 && !style->utf8))
            fputc('?', out);
        else
            fwrite(text, 1, length, out);
        text += length == 0 ? 1 : length;
    }
}

void text_outside(FILE *out, const struct text_style *style, const char *text)
{
    write_outside(out, style, text, false);
}

void text_outside_lines(FILE *out, const struct text_style *style, const char *text)
{
    write_outside(out, style, text, true);
}

void text_wrap(FILE *out, const struct text_style *style, unsigned at, unsigned indent, const char *text)
{
    bool line_empty = true;

    while (*text != '\0') {
        size_t word = strcspn(text, " ");

        if (!line_empty && at + 1 + word > style->width) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
            line_empty = true;
        }
        if (!line_empty) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, word, out);
        at += (unsigned)word;
        line_empty = false;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void text_bars(FILE *out, const struct text_style *style, const uint64_t *value, size_t count)
{
    static const char *const block[] = {" ",
                                        "\xe2\x96\x81",
                                        "\xe2\x96\x82",
                                        "\xe2\x96\x83",
                                        "\xe2\x96\x84",
                                        "\xe2\x96\x85",
                                        "\xe2\x96\x86",
                                        "\xe2\x96\x87",
                                        "\xe2\x96\x88"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    const char *const *level = style->utf8 ? block : ascii;
    uint64_t most = 0;

    for (size_t i = 0; i < count; i++) {
        if (value[i] > most) most = value[i];
    }
    for (size_t i = 0; i < count; i++) {
        /* Something is never drawn as nothing: the lowest step begins at 1. */
        unsigned step = value[i] == 0 ? 0 : 1 + (unsigned)((u128)(value[i] - 1) * 8 / most);
        CHECK(step <= 8);
        fputs(level[step], out);
    }
}

void text_xml(FILE *out, const char *text)
{
    while (*text) {
        unsigned control = utf8_control(text), length = control ? control : utf8_length(text, 4);

        if (control || length == 0)
            fputc('?', out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fwrite(text, 1, length, out);
        text += length == 0 ? 1 : length;
    }
}
