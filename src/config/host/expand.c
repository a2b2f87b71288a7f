/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a script, and texts with their variables put in: $NAME, ${NAME}, arrays by number or by word, what the
 * shell cuts off (${NAME%%:*}) or takes instead (${NAME:-other}), and whole numbers that it works out ($((26 << 2))).
 *
 * What is not known stays as it stands; the caller sees a $ that is left.
 */
#include <stdlib.h>
#include <string.h>

#include "config/host/host_int.h"

#define NESTED_MOST 4 /* ${A[${B}]}, and brackets of a sum */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t host_name_length(const char *text)
{
    size_t length = 0;

    while (name_char(text[length]))
        length++;
    return length;
}

/* Its number + 1; 0: there is none. */
static uint32_t find(const struct host_variables *all, const char *name, size_t length)
{
    for (uint32_t v = length < HOST_VARIABLE ? all->count : 0; v > 0; v--)
        if (strncmp(all->of[v - 1].name, name, length) == 0 && !all->of[v - 1].name[length]) return v;
    return 0;
}

const char *host_variable(const struct host_variables *all, const char *name, size_t length)
{
    uint32_t v = find(all, name, length);

    return v ? all->of[v - 1].value : NULL;
}

void host_variable_set(struct host_variables *all, const char *name, size_t length, const char *value)
{
    uint32_t v = find(all, name, length);

    if (!v && all->count < HOST_VARIABLES && length < HOST_VARIABLE) {
        v = ++all->count;
        memcpy(all->of[v - 1].name, name, length);
        all->of[v - 1].name[length] = 0;
    }
    if (v) all->of[v - 1].value = value;
}

/* --- whole numbers --- */

struct sum {
    const struct host_variables *all;
    const char *at;
    unsigned depth;
    bool good;
};

static int64_t sum_of(struct sum *sum, unsigned level);

static int64_t one_number(struct sum *sum)
{
    sum->at += strspn(sum->at, " \t$");
    bool brace = *sum->at == '{';
    sum->at += brace;
    if (*sum->at == '(' && sum->depth < NESTED_MOST) {
        sum->at++;
        sum->depth++;
        int64_t inner = sum_of(sum, 0);
        sum->depth--;
        sum->good = sum->good && *sum->at == ')';
        sum->at += *sum->at == ')';
        return inner;
    }
    size_t length = host_name_length(sum->at);
    bool digit = length && sum->at[0] >= '0' && sum->at[0] <= '9';
    const char *text = digit ? sum->at : length ? host_variable(sum->all, sum->at, length) : NULL;
    char *end = NULL;
    long long got = text ? strtoll(text, &end, 0) : 0;
    sum->good = sum->good && text && end != text && (digit || !*end) && got >= 0 && got <= INT32_MAX;
    sum->at += digit && end ? (size_t)(end - sum->at) : length;
    if (brace && *sum->at == '}') sum->at++;
    return sum->good ? got : 0;
}

/* Operators from those that bind least. */
static int64_t sum_of(struct sum *sum, unsigned level)
{
    static const char *const operators[] = {"|", "&", "<<>>", "+-", "*/"};

    if (level == sizeof(operators) / sizeof(operators[0])) return one_number(sum);
    int64_t left = sum_of(sum, level + 1);
    for (;;) {
        sum->at += strspn(sum->at, " \t");
        char c = *sum->at;
        bool shift = level == 2;
        if (!sum->good || !c || !strchr(operators[level], c) || (shift && sum->at[1] != c)) return left;
        sum->at += 1 + shift;
        int64_t right = sum_of(sum, level + 1);
        switch (c) {
        case '|':
            left |= right;
            break;
        case '&':
            left &= right;
            break;
        case '<':
            sum->good = sum->good && left >= 0 && right >= 0 && right < 32;
            left = sum->good ? left << right : 0;
            break;
        case '>':
            sum->good = sum->good && left >= 0 && right >= 0 && right < 32;
            left = sum->good ? left >> right : 0;
            break;
        case '+':
            left += right;
            break;
        case '-':
            left -= right;
            break;
        case '*':
            left *= right;
            break;
        default:
            sum->good = sum->good && right;
            left = right ? left / right : 0;
        }
        sum->good = sum->good && left >= INT32_MIN && left <= INT32_MAX;
    }
}

/* $((...)): its length, 0 where it is not known; the number is printed. */
static size_t worked_out(const struct host_variables *all, const char *text, char buf[24])
{
    struct sum sum = {all, text + 3, 0, true};
    int64_t got = sum_of(&sum, 0);

    sum.at += strspn(sum.at, " \t");
    if (!sum.good || strncmp(sum.at, "))", 2) != 0) return 0;
    snprintf(buf, 24, "%lld", (long long)got);
    return (size_t)(sum.at + 2 - text);
}

/* --- ${...} --- */

/* `%%:*` and its like on a value: where what is left begins, and its length.  A pattern is plain letters with a star at
 * one end. */
static bool cut(const char *value, char kind, bool longest, const char *pattern, size_t length, const char **ret,
                size_t *ret_length)
{
    bool star_first = length && pattern[0] == '*', star_last = length && pattern[length - 1] == '*';
    const char *plain = pattern + star_first;
    size_t size = length - star_first - (star_last && !star_first), whole = strlen(value);
    const char *best = NULL;

    if (!size || memchr(plain, '*', size) || memchr(plain, '?', size) || memchr(plain, '[', size)) return false;
    if (kind == '#' ? star_last && !star_first : star_first) return false;
    for (const char *at = value; (size_t)(at - value) + size <= whole; at++) {
        if (strncmp(at, plain, size) != 0) continue;
        if (kind == '#' && !star_first && at != value) break;
        if (kind == '%' && !star_last && at[size]) continue;
        best = at;
        if ((kind == '#') != longest) break; /* the first for # and %%, the last for ## and % */
    }
    *ret = !best || kind == '%' ? value : best + size;
    *ret_length = !best ? whole : kind == '%' ? (size_t)(best - value) : strlen(best + size);
    return true;
}

struct piece {
    const char *text; /* NULL: not known */
    size_t length;    /* of it */
    size_t used;      /* of what was read */
};

/* The end of a ${, with what is in it in braces; 0: there is none. */
static size_t braced(const char *text)
{
    unsigned depth = 0;

    for (size_t i = 1; text[i]; i++) {
        if (text[i] == '{') depth++;
        if (text[i] == '}' && --depth == 0) return i + 1;
    }
    return 0;
}

/* NAME[key], the key with its own variables put in, as it is kept; false: it is too long. */
static bool element(const struct host_variables *all, const char *name, size_t length, const char *key, size_t size,
                    char buf[HOST_VARIABLE])
{
    char raw[HOST_VARIABLE], put[HOST_VARIABLE];

    if (size >= sizeof(raw)) return false;
    memcpy(raw, key, size);
    raw[size] = 0;
    return host_expand(all, raw, put, sizeof(put)) &&
           snprintf(buf, HOST_VARIABLE, "%.*s[%s]", (int)length, name, put) < HOST_VARIABLE;
}

static struct piece in_braces(const struct host_variables *all, const char *text)
{
    struct piece ret = {NULL, 0, braced(text)};
    bool keys = ret.used && text[2] == '!';
    const char *name = text + 2 + keys, *end = ret.used ? text + ret.used - 1 : text;
    size_t length = host_name_length(name);
    const char *rest = name + length;
    char buf[HOST_VARIABLE];

    if (!ret.used || !length) return ret;
    const char *value = host_variable(all, name, length);
    if (keys && *rest == '[') {
        snprintf(buf, sizeof(buf), "!%.*s", (int)(length < 40 ? length : 40), name);
        value = host_variable(all, buf, strlen(buf));
    }
    if (begins(rest, "[@]") || begins(rest, "[*]")) {
        rest += 3;
    } else if (*rest == '[') {
        const char *close = memchr(rest, ']', (size_t)(end - rest));
        if (!close || !element(all, name, length, rest + 1, (size_t)(close - rest - 1), buf)) return ret;
        value = host_variable(all, buf, strlen(buf));
        rest = close + 1;
    }
    bool colon = *rest == ':';
    if (rest == end || (strchr("-=", rest[colon]) && rest + colon < end)) {
        if (!value && rest != end)
            value = rest + colon + 1, ret.length = (size_t)(end - value);
        else if (value)
            ret.length = strlen(value);
        ret.text = value;
    } else if (value && (*rest == '#' || *rest == '%')) {
        bool two = rest[1] == rest[0];
        const char *pattern = rest + 1 + two, *left = NULL;
        if (cut(value, *rest, two, pattern, (size_t)(end - pattern), &left, &ret.length)) ret.text = left;
    }
    return ret;
}

bool host_expand(const struct host_variables *all, const char *text, char *to, size_t size)
{
    size_t used = 0;
    bool single = false;
    char number[24];

    for (const char *at = text; *at;) {
        struct piece got = {at, 1, 1};
        if (*at == '\'') single = !single;
        if (*at == '$' && !single && at[1] == '{') {
            got = in_braces(all, at);
        } else if (*at == '$' && !single && begins(at, "$((")) {
            got.used = worked_out(all, at, number);
            got.text = got.used ? number : NULL;
            got.length = strlen(number) * (got.used != 0);
        } else if (*at == '$' && !single && name_char(at[1])) {
            bool digit = at[1] >= '0' && at[1] <= '9';
            got.used = 1 + (digit ? 1 : host_name_length(at + 1));
            got.text = host_variable(all, at + 1, got.used - 1);
            got.length = got.text ? strlen(got.text) : 0;
        }
        if (!got.text) got = (struct piece){at, 1, 1};
        if (used + got.length + 1 >= size) return false;
        memcpy(to + used, got.text, got.length);
        used += got.length;
        at += got.used;
    }
    if (used >= size) return false;
    to[used] = 0;
    return true;
}
