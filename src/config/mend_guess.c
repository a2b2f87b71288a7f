/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may mend a drift: what other ports of the device say, another number or word in the line that says what runs,
 * that line gone, and what we would say, in a block that the device has.  Whoever asks tries each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "config/mend.h"

#define MANY 4096 /* guesses for one drift */
#define LINE 8192

struct guess {
    const struct mend_text *text;
    const struct mend_wish *wish;
    struct mend_edits *io;
};

static bool is_block(const struct mend_text *text, uint32_t line)
{
    return mend_says(text->line[line], "interface ") || (line + 1 < text->count && mend_parent(text, line + 1) == line);
}

struct value {
    double shown, base; /* as it is written; in the smallest unit of its kind */
    bool good;
};

static struct value value_of(const char *text)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824},
                 {"KB", 1e3},   {"MB", 1e6},      {"GB", 1e9},
                 {"B", 1},      {"ns", 1e-6},     {"us", 1e-3},
                 {"ms", 1},     {"s", 1e3},       {"G", 1e3},
                 {"M", 1},      {"km", 1e3},      {"m", 1},
                 {"%", 1},      {"", 1}};
    char *end;
    struct value value = {.shown = strtod(text, &end)};

    for (size_t u = 0; end != text && u < sizeof(units) / sizeof(units[0]); u++) {
        size_t length = strlen(units[u].unit); /* `9198 (frames of 9216)` */
        if (strncmp(end, units[u].unit, length) != 0 || !strchr(" ", end[length])) continue;
        value.base = value.shown * units[u].factor;
        value.good = true;
    }
    return value;
}

/* A value that has a number, and is not one of a map. */
static bool is_number(const struct mend_wish *wish)
{
    return value_of(wish->approved).good && strncmp(wish->key, "dscp-map.", 9) != 0;
}

static void offer(const struct guess *guess, uint32_t at, enum mend_how how, const char *line)
{
    struct mend_edits *io = guess->io;

    if (io->count == MANY || (how == MEND_REPLACE && strcmp(guess->text->line[at], line) == 0)) return;
    if (how == MEND_REMOVE && is_number(guess->wish)) return; /* what is silent is not compared */
    if (line && strlen(line) + 1 >= LINE) return;
    if (how != MEND_BEHIND && is_block(guess->text, at)) return; /* never a whole one */
    for (uint32_t e = 0; e < io->count; e++)
        if (io->edit[e].at == at && io->edit[e].how == how &&
            (how == MEND_REMOVE || strcmp(io->edit[e].text, line) == 0))
            return;
    ARENA_ROOM(guess->text->arena, io->edit, io->count, io->room);
    io->edit[io->count++] =
        (struct mend_edit){at, how, how == MEND_REMOVE ? NULL : arena_strndup(guess->text->arena, line, strlen(line))};
}

/* --- which statements have to do with a key --- */

static bool is_about(const char *key, const char *statement)
{
    static const struct {
        const char *part, *words[16];
    } about[] = {
        {"dscp-map",
         {"dscp", "match", "code-point", "classifier", "mapping", "trust", "service-po", "service-pr", "DSCP_TO_TC",
          "PORT_QOS_MAP"}},
        {"trust", {"trust", "dscp", "mapping", "service-pr", "dscp_to_tc_map"}},
        {"ecn",
         {"ecn", "random-detect", "congestion-control", "explicit", "drop-profile", "fill-level", "scheduler-map",
          "service-pr", "service-policy type queuing", "WRED", "wred"}},
        {"share",
         {"bandwidth", "transmit-rate", "bw-percent", "scheduler", "mode", "service-pr", "service-policy type queuing",
          "SCHEDULER/"}},
        {"strict", {"priority", "mode", "scheduler", "service-pr", "service-policy type queuing", "SCHEDULER/"}},
        {"watch", {"watchdog", "watch-dog", "restore", "congestion-notification", "service-pr", "PFC_WD", "pfcwd"}},
        {"mtu", {"mtu"}},
        {"up", {"shutdown", "disable", "link state", "admin_status"}},
        {"rate", {"speed"}},
        {"pfc",
         {"priority-flow-control", "pfc", "pause", "no-loss", "flow-control", "congestion-notification", "service-pr",
          "network-qos", "PORT_QOS_MAP"}},
        {"lossless",
         {"priority-flow-control", "pfc", "pause", "no-loss", "no-drop", "congestion-notification", "service-pr",
          "network-qos", "BUFFER_PG", "PORT_QOS_MAP"}},
        {"", {"pause", "buffer", "cable-length", "pfc", "profile", "pool", "partition", "BUFFER", "CABLE"}},
    };
    size_t k = 0;

    while (!strstr(key, about[k].part))
        k++;
    for (int w = 0; w < 16 && about[k].words[w]; w++)
        if (strstr(statement, about[k].words[w])) return true;
    return false;
}

/* --- numbers and words of a line --- */

/* The line with other letters from `from` to `to`. */
static void offer_other(const struct guess *guess, uint32_t at, size_t from, size_t to, const char *other)
{
    char line[LINE];
    const char *was = guess->text->line[at];

    if ((size_t)snprintf(line, sizeof(line), "%.*s%s%s", (int)from, was, other, was + to) < sizeof(line))
        offer(guess, at, MEND_REPLACE, line);
}

static void offer_number(const struct guess *guess, uint32_t at, size_t from, size_t to, double number)
{
    const char *point = memchr(guess->text->line[at] + from, '.', to - from);
    int decimals = point ? (int)(guess->text->line[at] + to - point - 1) : 0;
    char other[64];

    if (!isfinite(number) || number < 0 || number > 1e15) return;
    snprintf(other, sizeof(other), "%.*f", decimals, number);
    offer_other(guess, at, from, to, other);
}

/* Other numbers in place of one: in the same ratio, as far apart, as it is approved, as a part of what others have. */
static void offer_numbers(const struct guess *guess, uint32_t at, size_t from, size_t to)
{
    struct value approved = value_of(guess->wish->approved), running = value_of(guess->wish->running);
    double number = strtod(guess->text->line[at] + from, NULL);

    if (!approved.good) return;
    if (strstr(guess->wish->key, "share")) offer_number(guess, at, from, to, approved.shown);
    if (running.good && strstr(guess->wish->key, "share") && running.base > 0 && running.base < 100 &&
        approved.base < 100)
        offer_number(guess, at, from, to,
                     number * (approved.base / (100 - approved.base)) / (running.base / (100 - running.base)));
    if (running.good && !strstr(guess->wish->key, "ecn"))
        offer_number(guess, at, from, to, number + approved.base - running.base);
    if (running.good && running.base > 0) offer_number(guess, at, from, to, number * approved.base / running.base);
    offer_number(guess, at, from, to, approved.shown);
    offer_number(guess, at, from, to, approved.base);
}

static void offer_words(const struct guess *guess, uint32_t at, size_t from, size_t to)
{
    static const char *const pairs[][2] = {{"on", "off"},       {"enabled", "disabled"}, {"enable", "disable"},
                                           {"up", "down"},      {"dscp", "cos"},         {"l3", "l2"},
                                           {"drop", "no-drop"}, {"lossless", "lossy"},   {"dwrr", "strict"}};
    const char *word = guess->text->line[at] + from;

    for (size_t p = 0;
         guess->text->form != MEND_SET && !guess->text->line[at][to] && p < 2 * sizeof(pairs) / sizeof(pairs[0]); p++)
        if (strlen(pairs[p / 2][p % 2]) == to - from && strncmp(word, pairs[p / 2][p % 2], to - from) == 0)
            offer_other(guess, at, from, to, pairs[p / 2][!(p % 2)]);
}

/* A code point, `011010`. */
static bool is_point(const char *word, size_t length)
{
    return (length == 6 || length == 3) && strspn(word, "01") >= length;
}

static void offer_line(const struct guess *guess, uint32_t at)
{
    const char *line = guess->text->line[at];

    for (size_t from = mend_indent(line); line[from];) {
        size_t to = from + strcspn(line + from, " "), digits = from;
        if (line[from] >= '0' && line[from] <= '9' && !is_point(line + from, to - from)) {
            digits += strspn(line + from, "0123456789.");
            offer_numbers(guess, at, from, digits);
        } else {
            offer_words(guess, at, from, to);
        }
        from = to + strspn(line + to, " ");
    }
    offer(guess, at, MEND_REMOVE, NULL);
}

/* The line that says what runs; curves of Junos are said where they are applied. */
static void offer_said(const struct guess *guess)
{
    const struct mend_text *text = guess->text;
    bool curve = strstr(guess->wish->key, "ecn") && text->form == MEND_SET;

    for (uint32_t l = 0; l < text->count; l++)
        if ((guess->wish->number && text->number[l] == guess->wish->number) ||
            (curve && strstr(text->line[l], " interpolate ")))
            offer_line(guess, l);
}

/* --- DSCPs --- */

/* Is this code point in the classifier of a line, up to `length`? */
static bool has_point(const struct mend_text *text, const char *of, size_t length, const char *bits)
{
    for (uint32_t l = 0; l < text->count; l++) {
        const char *point = strstr(text->line[l], " code-points ");
        if (point && strncmp(text->line[l], of, length) == 0 && strcmp(point + 13, bits) == 0) return true;
    }
    return false;
}

/* A code point for each class that this classifier, or the scheduler, has; one that is there goes first. */
static void offer_point(const struct guess *guess, uint32_t at, const char *bits)
{
    const struct mend_text *text = guess->text;
    const char *was = text->line[at], *place = strstr(was, " forwarding-class ");
    char line[LINE];

    if (!place || has_point(text, was, (size_t)(place - was) + 1, bits)) return;
    for (uint32_t l = 0; l < text->count; l++) {
        const char *class = strstr(text->line[l], " forwarding-class ");
        if (!class) continue;
        class += 18;
        snprintf(line, sizeof(line), "%.*s forwarding-class %.*s loss-priority low code-points %s", (int)(place - was),
                 was, (int)strcspn(class, " "), class, bits);
        offer(guess, at, MEND_BEHIND, line);
    }
}

static void offer_dscp(const struct guess *guess)
{
    const struct mend_text *text = guess->text;
    unsigned dscp = guess->wish->key[0] ? (unsigned)strtoul(strrchr(guess->wish->key, '.') + 1, NULL, 10) & 63 : 0;
    char line[LINE], list[MEND_LIST], bits[7];

    for (int b = 0; b < 6; b++)
        bits[b] = dscp >> (5 - b) & 1 ? '1' : '0';
    bits[6] = 0;
    for (uint32_t l = 0; l < text->count; l++) {
        const char *was = text->line[l], *point = strstr(was, " code-points ");
        size_t about = strcspn(was, "0123456789");
        if (mend_says(was, "match dscp ")) {
            uint64_t other = mend_numbers(was + about) ^ 1ull << dscp;
            snprintf(line, sizeof(line), "%.*s%s", (int)about, was, mend_list(other, ",", list));
            offer(guess, l, other ? MEND_REPLACE : MEND_REMOVE, line);
        } else if (mend_says(was, "class-map ") && mend_parent(text, l) == UINT32_MAX) {
            snprintf(line, sizeof(line), "  match dscp %u", dscp);
            offer(guess, l, MEND_BEHIND, line);
        } else if (mend_says(was, "qos map dscp ")) {
            snprintf(line, sizeof(line), "qos map dscp %u to traffic-class %s", dscp, guess->wish->approved);
            offer(guess, l, MEND_BEHIND, line);
        } else if (point && strcmp(point + 13, bits) == 0) {
            offer(guess, l, MEND_REMOVE, NULL);
        } else if (point) {
            offer_point(guess, l, bits);
        } else if (mend_says(was, "nv set qos mapping ") && strstr(was, " dscp ")) {
            snprintf(line, sizeof(line), "%.*s dscp %u switch-priority %s", (int)(strstr(was, " dscp ") - was), was,
                     dscp, guess->wish->approved);
            offer(guess, l, MEND_BEHIND, line);
        }
    }
}

/* --- what other ports say --- */

/* In place of what is about the same, else behind: a line that a block is to have. */
static void offer_in_block(const struct guess *guess, uint32_t block, const char *statement)
{
    const struct mend_text *text = guess->text;
    uint32_t indent = mend_indent(text->line[block]), inner = indent + 3;
    char line[LINE];
    bool any = false;

    for (uint32_t l = block + 1; l < text->count && (mend_indent(text->line[l]) > indent ||
                                                     *mend_words(text->line[l]) == '!' || !*mend_words(text->line[l]));
         l++) {
        if (mend_parent(text, l) != block) continue;
        inner = mend_indent(text->line[l]);
        if (strcmp(mend_words(text->line[l]), statement) == 0) return;
        snprintf(line, sizeof(line), "%*s%s", (int)inner, "", statement);
        if (!mend_alike(text->line[l], statement)) continue;
        offer(guess, l, MEND_REPLACE, line);
        any = true;
    }
    snprintf(line, sizeof(line), "%*s%s", (int)inner, "", statement);
    if (!any) offer(guess, block, MEND_BEHIND, line);
}

static void offer_siblings(const struct guess *guess)
{
    const struct mend_text *text = guess->text;
    uint32_t block = UINT32_MAX;
    char name[LINE];

    snprintf(name, sizeof(name), "interface %s", guess->wish->port);
    for (uint32_t l = 0; l < text->count; l++)
        if (strcmp(text->line[l], name) == 0) block = l;
    size_t kind = 10 + strspn(guess->wish->port, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (uint32_t l = 0; block != UINT32_MAX && l < text->count; l++) {
        uint32_t over = mend_parent(text, l);
        if (over == UINT32_MAX || strncmp(text->line[over], name, kind) != 0 ||
            !is_about(guess->wish->key, text->line[l]))
            continue;
        if (over == block)
            offer(guess, l, MEND_REMOVE, NULL);
        else
            offer_in_block(guess, block, mend_words(text->line[l]));
    }
}

/* Where a word stands in a line by itself; NULL: nowhere. */
static const char *word_in(const char *line, const char *word, size_t length)
{
    for (const char *at = line; (at = strstr(at, word)); at++)
        if (at > line && at[-1] == ' ' && (at[length] == ' ' || !at[length])) return at;
    return NULL;
}

/* In place of the one line with the same path, else behind `near`. */
static void offer_path(const struct guess *guess, uint32_t near, const char *line)
{
    const struct mend_text *text = guess->text;
    const char *last = strrchr(line, ' ');
    uint32_t same = 0, at = 0;

    for (uint32_t l = 0; last && l < text->count; l++) {
        if (strcmp(text->line[l], line) == 0) return;
        if (strncmp(text->line[l], line, (size_t)(last - line) + 1) != 0 ||
            strchr(text->line[l] + (last - line) + 1, ' '))
            continue;
        same++;
        at = l;
    }
    if (same == 1) offer(guess, at, MEND_REPLACE, line);
    offer(guess, near, MEND_BEHIND, line);
}

/* Lines of other ports with this one's name in them. */
static void offer_named(const struct guess *guess)
{
    const struct mend_text *text = guess->text;
    const char *port = guess->wish->port;
    size_t length = strlen(port), kind = strcspn(port, "0123456789");
    char line[LINE];

    for (uint32_t l = 0; l < text->count; l++) {
        const char *was = text->line[l], *place = strstr(was, text->form == MEND_NV ? "interface " : "interfaces ");
        if (!place || !is_about(guess->wish->key, was)) continue;
        place = strchr(place, ' ') + 1;
        size_t other = strcspn(place, " ");
        if (word_in(was, port, length)) {
            offer(guess, l, MEND_REMOVE, NULL);
        } else if (strncmp(place, port, kind) == 0) {
            snprintf(line, sizeof(line), "%.*s%s%s", (int)(place - was), was, port, place + other);
            offer_path(guess, l, line);
        }
    }
}

/* --- what we would say --- */

/* Are two blocks the same but for a name that somebody gave? */
static bool same_kind(const char *one, const char *other)
{
    static const char *const named[] = {"policy-map ", "qos profile ", "class type network-qos ", NULL};

    if (strcmp(one, other) == 0) return true;
    for (int n = 0; named[n]; n++) {
        const char *a = strrchr(one, ' '), *b = strrchr(other, ' ');
        if (strncmp(one, named[n], strlen(named[n])) == 0 && a && b && a - one == b - other &&
            strncmp(one, other, (size_t)(a - one)) == 0)
            return true;
    }
    return false;
}

static bool same_blocks(const struct mend_text *ours, uint32_t a, const struct mend_text *text, uint32_t b)
{
    if (a == UINT32_MAX || b == UINT32_MAX) return a == b;
    const char *one = mend_words(ours->line[a]), *other = mend_words(text->line[b]);
    bool queue = strstr(one, "tx-queue ") && strstr(other, "tx-queue ");
    if (!same_kind(one, other) && !(queue && strcmp(strrchr(one, ' '), strrchr(other, ' ')) == 0)) return false;
    return same_blocks(ours, mend_parent(ours, a), text, mend_parent(text, b));
}

static void offer_ours_in_blocks(const struct guess *guess, const struct mend_text *ours)
{
    const struct mend_text *text = guess->text;

    for (uint32_t o = 0; o < ours->count; o++) {
        const char *statement = mend_words(ours->line[o]);
        uint32_t over = mend_parent(ours, o);
        if (!*statement || *statement == '!' || !is_about(guess->wish->key, statement)) continue;
        for (uint32_t l = 0; over != UINT32_MAX && l < text->count; l++)
            if (same_blocks(ours, over, text, l)) offer_in_block(guess, l, statement);
        for (uint32_t l = 0; over == UINT32_MAX && l < text->count; l++)
            if (mend_parent(text, l) == UINT32_MAX && mend_alike(text->line[l], statement))
                offer(guess, l, MEND_REPLACE, statement);
        if (over == UINT32_MAX && (o + 1 == ours->count || mend_parent(ours, o + 1) != o))
            for (uint32_t l = 0; l < text->count; l++)
                if (mend_says(text->line[l], "hostname ")) offer(guess, l, MEND_BEHIND, statement);
    }
}

/* Our lines with each name that the device has in the place of ours. */
static void offer_ours_named(const struct guess *guess, const struct mend_text *ours)
{
    const struct mend_text *text = guess->text;
    char line[LINE];

    for (uint32_t o = 0; o < ours->count; o++) {
        const char *own = ours->line[o], *kind = strstr(own, text->form == MEND_NV ? "qos " : "class-of-service ");
        if (!kind || !is_about(guess->wish->key, own)) continue;
        kind = strchr(kind, ' ') + 1; /* of objects */
        const char *name = kind + strcspn(kind, " ");
        if (strncmp(name, " class ", 7) == 0) name += 6;
        if (!*name) continue;
        size_t length = strcspn(name + 1, " ");
        for (uint32_t l = 0; l < text->count; l++) {
            const char *was = text->line[l];
            if (strncmp(was, own, (size_t)(name + 1 - own)) != 0) continue;
            size_t head = (size_t)(name - own) + 1;
            head += strcspn(was + head, " ");
            const char *rest = name + 1 + length, *more = strstr(rest, " pfc mru ");
            snprintf(line, sizeof(line), "%.*s%.*s", (int)head, was,
                     (int)(more ? more + 4 - rest : (ptrdiff_t)strlen(rest)), rest);
            offer_path(guess, l, line);
        }
    }
}

/* --- rows --- */

/* The config updater lets no other fields of buffers be changed. */
static bool may_change(const char *line)
{
    if (strncmp(line, "/BUFFER_POOL/", 13) == 0) return false;
    return strncmp(line, "/BUFFER_PROFILE/", 16) != 0 || strstr(line, "/xoff ") || strstr(line, "/dynamic_th ");
}

static void offer_value(const struct guess *guess, uint32_t at, const char *value)
{
    const char *was = guess->text->line[at];
    char line[LINE];

    if ((size_t)snprintf(line, sizeof(line), "%.*s \"%s\"", (int)strcspn(was, " "), was, value) < sizeof(line))
        offer(guess, at, MEND_REPLACE, line);
}

/* Another value of a field: a number, a word, the approved list. */
static void offer_field(const struct guess *guess, uint32_t at)
{
    static const char *const pairs[][2] = {
        {"true", "false"}, {"up", "down"}, {"ecn_all", "ecn_none"}, {"DWRR", "STRICT"}};
    const char *was = guess->text->line[at], *value = strchr(was, ' ') + 1;
    char text[64], *to = text;

    if (*value != '"' || !may_change(was)) return;
    if (strspn(value + 1, "0123456789") + 1 == strlen(value) - 1)
        offer_numbers(guess, at, (size_t)(value - was) + 1, strlen(was) - 1);
    for (size_t p = 0; p < 2 * sizeof(pairs) / sizeof(pairs[0]); p++) {
        size_t length = strlen(pairs[p / 2][p % 2]);
        if (strncmp(value + 1, pairs[p / 2][p % 2], length) == 0 && value[length + 1] == '"')
            offer_value(guess, at, pairs[p / 2][!(p % 2)]);
    }
    for (const char *c = guess->wish->approved; *c && to < text + sizeof(text) - 1; c++)
        if (!strchr("[] ", *c)) *to++ = *c;
    *to = 0;
    if (guess->wish->approved[0] == '[') offer_value(guess, at, text);
    for (int th = -8; th < 8 && strstr(was, "/dynamic_th "); th++) {
        snprintf(text, sizeof(text), "%d", th);
        offer_value(guess, at, text);
    }
}

/* A row of another port with this one's name, as far as it is not there; `at`: its first line. */
static void offer_row(const struct guess *guess, uint32_t at, size_t table, size_t port)
{
    const struct mend_text *text = guess->text;
    size_t row = mend_row(text->line[at]);
    char key[LINE], line[LINE], whole[4 * LINE] = "";
    size_t used = 0;
    uint32_t last = UINT32_MAX, end = at;

    snprintf(key, sizeof(key), "%.*s/%s%.*s", (int)table, text->line[at], guess->wish->port, (int)(row - port),
             text->line[at] + port);
    for (uint32_t l = 0; l < text->count; l++)
        if (strncmp(text->line[l], key, strlen(key)) == 0 && strchr("/ ", text->line[l][strlen(key)])) last = l;
    for (;
         end < text->count && strncmp(text->line[end], text->line[at], row) == 0 && strchr("/ ", text->line[end][row]);
         end++) {
        const char *rest = text->line[end] + row;
        bool there = false;
        snprintf(line, sizeof(line), "%s%s", key, rest);
        for (uint32_t l = 0; l < text->count; l++) {
            size_t path = strcspn(line, " ") + 1;
            if (strncmp(text->line[l], line, path) != 0) continue;
            there = true;
            if (is_about(guess->wish->key, line)) offer(guess, l, MEND_REPLACE, line);
        }
        if (!there && last != UINT32_MAX && is_about(guess->wish->key, line)) offer(guess, last, MEND_BEHIND, line);
        if (used + strlen(line) + 2 < sizeof(whole))
            used += (size_t)snprintf(whole + used, sizeof(whole) - used, "%s%s", used ? "\n" : "", line);
    }
    if (last == UINT32_MAX && is_about(guess->wish->key, whole)) offer(guess, end - 1, MEND_BEHIND, whole);
}

static void offer_rows(const struct guess *guess)
{
    const struct mend_text *text = guess->text;
    const char *name = guess->wish->port ? guess->wish->port : "";
    size_t kind = strcspn(name, "0123456789"), length = strlen(name);

    for (uint32_t l = 0; *name && l < text->count; l++) {
        const char *line = text->line[l];
        size_t table = 1 + strcspn(line + 1, "/ "),
               port = table + 1 + strcspn(line + table + (line[table] != 0), "|/ ,");
        bool first = l == 0 || strncmp(text->line[l - 1], line, mend_row(line)) != 0;
        if (line[table] != '/' || strncmp(line + table + 1, name, kind) != 0) continue;
        if (first && (port - table - 1 != length || strncmp(line + table + 1, name, length) != 0))
            offer_row(guess, l, table, port);
    }
    for (uint32_t l = 0; l < text->count; l++)
        if (guess->wish->number && text->number[l] == guess->wish->number) offer_field(guess, l);
    for (uint32_t l = 0; l < text->count; l++) {
        const char *line = text->line[l], *field = line + mend_row(line);
        bool map = strncmp(line, "/DSCP_TO_TC_MAP/", 16) == 0 && strncmp(guess->wish->key, "dscp-map.", 9) == 0;
        size_t digits = strcspn(field + (*field == '/'), " ");
        if (map && *field == '/' && strlen(guess->wish->key + 9) == digits &&
            strncmp(field + 1, guess->wish->key + 9, digits) == 0)
            offer_value(guess, l, guess->wish->approved);
        else if (!map && !strstr(line, "Ethernet") && is_about(guess->wish->key, line))
            offer_field(guess, l);
    }
}

/* --- scripts --- */

/* A command as it was given before, with what its variables may stand for in their place; `digit` after `_`. */
static void put_in(char line[LINE], const char *command, const char *name, int digit)
{
    size_t used = 0;

    for (const char *c = command; *c && used + strlen(name) + 2 < LINE;) {
        if (*c != '$') {
            line[used++] = *c++;
            continue;
        }
        bool number = used && line[used - 1] == '_';
        used += (size_t)(number ? snprintf(line + used, LINE - used, "%d", digit)
                                : snprintf(line + used, LINE - used, "%s", name));
        c += 1 + (c[1] == '{');
        c += strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        c += *c == '}';
    }
    line[used] = 0;
}

static bool is_command(const char *line)
{
    static const char *const commands[] = {"mlnx_qos ", "ip ",   "echo ",   "cma_roce_tos ", "mlxconfig ", "dcb ",
                                           "ethtool ",  "sudo ", "sysctl ", "ifconfig ",     NULL};

    for (int c = 0; commands[c]; c++)
        if (mend_says(line, commands[c])) return true;
    return false;
}

/* Behind the last line: its commands again, and ours. */
static void offer_commands(const struct guess *guess)
{
    const struct mend_text *text = guess->text;
    const char *port = guess->wish->port ? guess->wish->port : "";
    struct mend_text ours;
    char line[LINE];

    for (uint32_t l = 0; l < text->count; l++)
        for (int digit = 0; digit < 16 && is_command(text->line[l]); digit++) {
            put_in(line, mend_words(text->line[l]), port, digit);
            offer(guess, text->count - 1, MEND_BEHIND, line);
        }
    if (strncmp(guess->wish->key, "dscp-map.", 9) == 0) {
        snprintf(line, sizeof(line), "mlnx_qos -i %s --dscp2prio set,%s,%s", port, guess->wish->key + 9,
                 guess->wish->approved);
        offer(guess, text->count - 1, MEND_BEHIND, line);
    }
    if (!mend_read(&ours, MEND_BLOCKS, guess->wish->ours, text->arena)) return;
    for (uint32_t o = 0; o < ours.count; o++)
        if (is_command(ours.line[o]) && strstr(ours.line[o], port) && !strstr(ours.line[o], " -d os "))
            offer(guess, text->count - 1, MEND_BEHIND, mend_words(ours.line[o]));
}

void mend_guess(const struct mend_text *text, const struct mend_wish *wish, struct mend_edits *io)
{
    struct guess guess = {text, wish, io};
    struct mend_text ours;

    if (text->form == MEND_ROWS) offer_rows(&guess);
    if (text->form == MEND_SCRIPT && text->count) offer_commands(&guess);
    if (text->form == MEND_ROWS || text->form == MEND_SCRIPT) return;
    if (wish->port && text->form == MEND_BLOCKS) offer_siblings(&guess);
    if (wish->port && text->form != MEND_BLOCKS) offer_named(&guess);
    if (strncmp(wish->key, "dscp-map.", 9) == 0) offer_dscp(&guess); /* one of them, not where its whole class goes */
    offer_said(&guess);
    if (!mend_read(&ours, text->form, wish->ours, text->arena)) return;
    if (text->form == MEND_BLOCKS)
        offer_ours_in_blocks(&guess, &ours);
    else
        offer_ours_named(&guess, &ours);
}
