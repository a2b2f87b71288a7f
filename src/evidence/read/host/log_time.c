/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a log's line: when, and who writes.
 *
 * Forms: RFC 3164 ("Nov 19 10:57:07 leaf1 …", of SONiC with a year before and a level behind, of NX-OS with a year),
 * RFC 5424 and journalctl's ISO times, the kernel's ("[ 1234.567890] …", "[Thu Nov 19 10:57:07 2026] …"), and a
 * relay's, which has a second time behind the first.  Where the year is not said it is 1972, a leap year: times of one
 * log are compared with each other alone.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "evidence/read/host/log.h"

#define YEAR_UNSAID 1972
#define HOST_MOST 64u

/* So many digits and no more; moves on. */
static bool digits(const char **at, unsigned least, unsigned most, int *value)
{
    unsigned count = 0;
    int sum = 0;

    while (count < most && isdigit((unsigned char)(*at)[count]))
        sum = 10 * sum + (*at)[count++] - '0';
    if (count < least) return false;
    *at += count;
    *value = sum;
    return true;
}

static bool letter(const char **at, char wanted)
{
    if (**at != wanted) return false;
    ++*at;
    return true;
}

/* ".123456", ",123"; nothing is right too. */
static double fraction(const char **at)
{
    double value = 0, scale = 0.1;

    if ((**at != '.' && **at != ',') || !isdigit((unsigned char)(*at)[1])) return 0;
    for (++*at; isdigit((unsigned char)**at); ++*at, scale /= 10)
        value += scale * (**at - '0');
    return value;
}

/* "10:57:07.123" */
static bool time_of_day(const char **at, struct tm *tm, double *part)
{
    if (!digits(at, 1, 2, &tm->tm_hour) || !letter(at, ':') || !digits(at, 2, 2, &tm->tm_min) || !letter(at, ':') ||
        !digits(at, 2, 2, &tm->tm_sec))
        return false;
    *part = fraction(at);
    return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec <= 60;
}

static double seconds(struct tm *tm, double part)
{
    return (double)timegm(tm) + part;
}

/* "Nov 19", "Nov  9" */
static bool month_and_day(const char **at, struct tm *tm)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    if (**at < 'A' || **at > 'S') return false;
    for (tm->tm_mon = 0; tm->tm_mon < 12; tm->tm_mon++)
        if (**at == names[3 * tm->tm_mon] && !strncmp(*at, names + 3 * tm->tm_mon, 3)) break;
    if (tm->tm_mon == 12 || (*at)[3] != ' ') return false;
    *at += 3;
    *at += strspn(*at, " ");
    return digits(at, 1, 2, &tm->tm_mday) && tm->tm_mday >= 1 && tm->tm_mday <= 31;
}

/* A year that may stand there; 1972 where it does not. */
static void year(const char **at, struct tm *tm)
{
    const char *next = *at;
    int value;

    tm->tm_year = YEAR_UNSAID - 1900;
    if (!digits(&next, 4, 4, &value) || *next != ' ' || value < 1970 || value > 2199) return;
    tm->tm_year = value - 1900;
    *at = next + strspn(next, " ");
}

/* "Thu " */
static const char *behind_weekday(const char *at)
{
    static const char names[] = "Mon Tue Wed Thu Fri Sat Sun ";

    for (size_t i = 0; i < sizeof names - 1; i += 4)
        if (*at == names[i] && !strncmp(at, names + i, 4)) return at + 4;
    return at;
}

/* "[Thu ][2026 ]Nov 19 [2026 ]10:57:07[.123][ 2026]" */
static bool bsd_time(const char **at, double *clock_s)
{
    struct tm tm = {0};
    const char *next = behind_weekday(*at);
    bool weekday = next != *at;
    double part;

    year(&next, &tm);
    int said = tm.tm_year;
    if (!month_and_day(&next, &tm) || !letter(&next, ' ')) return false;
    next += strspn(next, " ");
    year(&next, &tm);
    if (tm.tm_year == YEAR_UNSAID - 1900) tm.tm_year = said;
    if (!time_of_day(&next, &tm, &part)) return false;
    if (weekday && *next == ' ') { /* as logread has it */
        const char *behind = next + 1;
        year(&behind, &tm);
        if (behind == next + 1) tm.tm_year = said;
        next = behind > next + 1 ? behind - 1 : next;
    }
    *clock_s = seconds(&tm, part);
    *at = next;
    return true;
}

/* "Z", "+01:00", "+0100"; nothing is right too. */
static int zone_s(const char **at)
{
    const char *next = *at;
    int hours, minutes = 0, sign = *next == '-' ? -1 : 1;

    if (letter(at, 'Z') || (*next != '+' && *next != '-')) return 0;
    next++;
    if (!digits(&next, 2, 2, &hours)) return 0;
    letter(&next, ':');
    if (!digits(&next, 2, 2, &minutes)) return 0;
    *at = next;
    return sign * (60 * hours + minutes) * 60;
}

/* "2026-11-19T10:57:07.123+01:00", "2026-11-19 10:57:07,123" */
static bool iso_time(const char **at, double *clock_s)
{
    struct tm tm = {0};
    const char *next = *at;
    double part;

    if (!digits(&next, 4, 4, &tm.tm_year) || (*next != '-' && *next != '/')) return false;
    char between = *next++;
    if (!digits(&next, 2, 2, &tm.tm_mon) || !letter(&next, between) || !digits(&next, 2, 2, &tm.tm_mday)) return false;
    if (!letter(&next, 'T') && !letter(&next, ' ')) return false;
    if (!time_of_day(&next, &tm, &part) || tm.tm_mon < 1 || tm.tm_mon > 12) return false;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    *clock_s = seconds(&tm, part);
    *clock_s -= zone_s(&next);
    *at = next;
    return true;
}

/* "[ 1234.567890] ", "[Thu Nov 19 10:57:07 2026] ", "[2026-11-19T10:57:07,123456+00:00] ": the kernel's own. */
static bool kernel_time(const char **at, double *clock_s)
{
    struct tm tm = {0};
    const char *next = *at;
    double part;
    int whole;

    if (!letter(&next, '[')) return false;
    next += strspn(next, " ");
    if (digits(&next, 1, 9, &whole) && *next == '.') {
        part = fraction(&next);
        if (*next == ']') {
            *clock_s = whole + part;
            *at = next + 1;
            return true;
        }
        return false;
    }
    next = *at + 1;
    if (iso_time(&next, clock_s) && *next == ']') {
        *at = next + 1;
        return true;
    }
    next = *at + 1;
    if (!isalpha((unsigned char)*next) || strcspn(next, " ") != 3) return false;
    next += 4;
    if (!month_and_day(&next, &tm) || !letter(&next, ' ') || !time_of_day(&next, &tm, &part) || !letter(&next, ' '))
        return false;
    if (!digits(&next, 4, 4, &tm.tm_year) || *next != ']') return false;
    tm.tm_year -= 1900;
    *clock_s = seconds(&tm, part);
    *at = next + 1;
    return true;
}

/* "4,9921,9370042162,-;": of /dev/kmsg, in microseconds. */
static bool kmsg_time(const char **at, double *clock_s)
{
    const char *next = *at;
    int value;
    double us = 0;

    if (!digits(&next, 1, 4, &value) || !letter(&next, ',') || !digits(&next, 1, 9, &value) || !letter(&next, ','))
        return false;
    for (const char *begin = next; isdigit((unsigned char)*next) && next < begin + 16; next++)
        us = 10 * us + (*next - '0');
    if (*next != ',' || strcspn(next, ";") > 32 || next[strcspn(next, ";")] != ';') return false;
    *clock_s = us / 1e6;
    *at = next + strcspn(next, ";") + 1;
    return true;
}

/* "<165>1 ", "<6>", "kern  :warn  : ": a priority before the time. */
static const char *priority(const char *at, bool *is_new)
{
    const char *next = at;
    int value;

    *is_new = false;
    if (letter(&next, '<') && digits(&next, 1, 3, &value) && letter(&next, '>')) {
        *is_new = next[0] == '1' && next[1] == ' ';
        return next + (*is_new ? 2 : 0);
    }
    size_t first = strcspn(at, " :[");
    if (first >= 3 && first <= 8 && at[first + strspn(at + first, " ")] == ':') {
        next = at + first + strspn(at + first, " ") + 1;
        size_t second = strcspn(next, " :[");
        const char *end = next + second + strspn(next + second, " ");
        if (second >= 3 && second <= 7 && end[0] == ':' && end[1] == ' ' &&
            strchr("[23", end[2 + strspn(end + 2, " ")]))
            return end + 1 + strspn(end + 1, " ");
    }
    return at;
}

static bool is_level(const struct text_field *word)
{
    static const char *const levels[] = {"EMERG",  "ALERT", "CRIT",  "ERR",   "ERROR",    "WARNING", "WARN",
                                         "NOTICE", "INFO",  "DEBUG", "TRACE", "CRITICAL", "FATAL",   NULL};

    for (size_t i = 0; levels[i]; i++)
        if (field_is(word, levels[i])) return true;
    return false;
}

/* "kernel:", "rpd[123]:", "pmon#xcvrd[31]:": what writes. */
static bool is_tag(const struct text_field *word)
{
    return word->length > 1 && word->at[word->length - 1] == ':';
}

static bool is_host(const struct text_field *word)
{
    bool alnum = false;

    if (!word->length || word->length > HOST_MOST || is_level(word)) return false;
    for (size_t i = 0; i < word->length; i++) {
        if (!isalnum((unsigned char)word->at[i]) && !strchr("-._:", word->at[i])) return false;
        alnum |= isalnum((unsigned char)word->at[i]) != 0;
    }
    return alnum;
}

/* Who writes, behind the time; moves to what is behind. */
static void take_host(struct log_line *line)
{
    struct text_field word[2];

    line->rest += strspn(line->rest, " \t");
    size_t words = field_split(line->rest, word, 2);
    if (words > 1 && is_tag(&word[1]) && word[0].length > 5 &&
        (!strncmp(word[0].at, "kern.", 5) || !strncmp(word[0].at, "daemon.", 7) || !strncmp(word[0].at, "user.", 5))) {
        line->rest = word[1].at; /* "kern.info kernel: …": it says no host */
        return;
    }
    if (!words || *line->rest == '%' || is_tag(&word[0]) || !is_host(&word[0])) return;
    line->host = word[0];
    line->rest = word[0].at + word[0].length;
    line->rest += strspn(line->rest, " \t");
}

/* What a relay puts in between, and the kernel's own time behind syslog's. */
static void take_between(struct log_line *line)
{
    struct text_field word[1];
    double again;

    if (line->rest[0] == ':' && line->rest[1] == ' ') { /* NX-OS through a relay: "sw : 2026 Nov 19 10:57:07 UTC: %…" */
        const char *next = line->rest + 2 + strspn(line->rest + 2, " ");
        if (bsd_time(&next, &again)) {
            const char *colon = strstr(next, ": ");
            line->clock_s = again;
            line->rest = colon && colon - next < 12 ? colon + 2 : next;
        }
    }
    if (field_split(line->rest, word, 1) && is_level(&word[0])) line->rest = word[0].at + word[0].length;
    line->rest += strspn(line->rest, " \t");
    if (!strncmp(line->rest, "kernel: ", 8)) {
        line->rest += 8 + strspn(line->rest + 8, " ");
        line->is_kernel = true;
        kernel_time(&line->rest, &again);
        line->rest += strspn(line->rest, " \t");
    }
}

bool log_begins(const char *text, struct log_line *line)
{
    bool is_new;
    struct text_field word[2];

    *line = (struct log_line){.clock_s = NAN};
    text += strspn(text, " \t*");
    const char *at = priority(text, &is_new);
    if (kernel_time(&at, &line->clock_s)) {
        if (*at == '[') at += strcspn(at, "]") + (at[strcspn(at, "]")] == ']'); /* "[    C0]": the processor, or task */
        line->rest = at + strspn(at, " \t");
        line->is_kernel = true;
        return *line->rest != 0 && (line->rest != at || *at == 0);
    }
    if (kmsg_time(&at, &line->clock_s)) {
        line->rest = at;
        line->is_kernel = true;
        return *at != 0;
    }
    bool is_iso = false;
    if (at != text && at[0] == ':' && at[1] == ' ') at += 2; /* "<189>: 2026 Nov 19 10:57:07 UTC: %…" */
    if (!bsd_time(&at, &line->clock_s) && !(is_iso = iso_time(&at, &line->clock_s))) return false;
    const char *percent = strstr(at, ": %");
    if (percent && percent - at <= 7 && *at == ' ') at = percent + 1; /* "Nov 19 10:57:07 UTC: %LINK-3-UPDOWN: …" */
    if (*at == ':') at++;
    if (*at != ' ' && *at != '\t') return false;
    line->rest = at;
    take_host(line);
    if (is_new) return line->host.length > 0;
    take_between(line);
    /* A program's own log begins with such a time too: here somebody writes whose name ends with a colon. */
    size_t words = field_split(line->rest, word, 2);
    return words && (!is_iso || *line->rest == '%' || line->is_kernel || is_tag(&word[0])) && (words > 1 || !is_iso);
}
