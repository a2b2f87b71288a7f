/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way a system is brought back, and what statements a drift concerns.
 *
 * Hosts get the whole approved script: it sets everything it speaks of, whatever was there.
 */
#include "config/fix.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

struct word {
    const char *word;
    unsigned families;
};

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

unsigned fix_family(const char *key)
{
    static const struct word words[] = {
        {"dscp-map", FIX_MAPS},
        {"pcp-map", FIX_MAPS},
        {"trust", FIX_MAPS},
        {"queue-map", FIX_MAPS},
        {"group-map", FIX_MAPS},
        {"pfc", FIX_PFC | FIX_WATCHDOG},
        {"pfc-mode", FIX_PFC},
        {"headroom-cable", FIX_PFC | FIX_BUFFERS},
        {"pfc-queue", FIX_PFC},
        {"pfc-priority", FIX_PFC | FIX_MAPS},
        {"class-mtu", FIX_MTU},
        {"pause", FIX_PFC},
        {"lossless", FIX_PFC | FIX_BUFFERS},
        {"ecn", FIX_ECN},
        {"share", FIX_SHARES},
        {"strict", FIX_SHARES},
        {"xoff", FIX_BUFFERS},
        {"xon", FIX_BUFFERS},
        {"headroom", FIX_BUFFERS},
        {"alpha", FIX_BUFFERS},
        {"reserved", FIX_BUFFERS},
        {"limit", FIX_BUFFERS},
        {"watchdog", FIX_WATCHDOG},
        {"watched", FIX_WATCHDOG},
        {"mtu", FIX_MTU},
        {"rate", FIX_RATE},
        {"up", FIX_UP},
        {"cable", FIX_CABLING},
        {"peer", FIX_CABLING},
    };

    for (const char *at = key; *at; at += strspn(at, ".")) {
        size_t length = strcspn(at, ".");
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
            if (is_word(at, length, words[w].word)) return words[w].families;
        at += length;
    }
    return FIX_ALL;
}

/* Whole words at the beginning: `ip ospf mtu-ignore` is not about the MTU. */
static bool begins(const char *statement, const char *words)
{
    size_t length = strlen(words);

    return strncmp(statement, words, length) == 0 && (statement[length] == 0 || statement[length] == ' ');
}

/* Past `no`, and past the name of an interface that leads a line of Cumulus. */
static const char *what_it_says(const char *statement)
{
    if (strncmp(statement, "no ", 3) == 0) statement += 3;
    if (!begins(statement, "interface")) return statement;
    for (int word = 0; word < 2; word++) {
        statement += strcspn(statement, " ");
        statement += *statement == ' ';
    }
    return statement;
}

unsigned fix_families_of(const char *statement)
{
    static const struct word words[] = {
        {"priority-flow-control watch-dog", FIX_WATCHDOG},
        {"priority-flow-control watch-dog-interval", FIX_WATCHDOG},
        {"priority-flow-control pause watchdog", FIX_WATCHDOG},
        {"priority-flow-control auto-restore", FIX_WATCHDOG},
        {"priority-flow-control fixed-restore", FIX_WATCHDOG},
        {"priority-flow-control", FIX_PFC},
        {"flowcontrol", FIX_PFC},
        {"random-detect", FIX_ECN},
        {"congestion-control", FIX_ECN},
        {"bandwidth percent", FIX_SHARES},
        {"bandwidth remaining", FIX_SHARES},
        {"bandwidth guaranteed", FIX_SHARES},
        {"priority", FIX_SHARES},
        {"pause buffer-size", FIX_BUFFERS},
        {"pause pfc-cos", FIX_PFC | FIX_BUFFERS},
        {"match", FIX_MAPS},
        {"set qos-group", FIX_MAPS},
        {"qos map", FIX_MAPS},
        {"qos trust", FIX_MAPS},
        {"mtu", FIX_MTU},
        {"speed", FIX_RATE},
        {"shutdown", FIX_UP},
        {"description", FIX_CABLING},
        /* Cumulus */
        {"qos pfc-watchdog", FIX_WATCHDOG},
        {"qos pfc", FIX_PFC | FIX_BUFFERS | FIX_CABLING},
        {"qos link-pause", FIX_PFC},
        {"qos congestion-control", FIX_ECN},
        {"qos egress-scheduler", FIX_SHARES},
        {"qos traffic-pool", FIX_BUFFERS},
        {"qos mapping", FIX_MAPS},
        {"qos egress-queue-mapping", FIX_MAPS},
        {"link mtu", FIX_MTU},
        {"link speed", FIX_RATE},
        {"link state", FIX_UP},
    };

    statement = what_it_says(statement);
    for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
        if (begins(statement, words[w].word)) return words[w].families;
    return 0;
}

int fix_refuse(const struct fix *fix, uint32_t line, const char *format, ...)
{
    va_list list;

    if (!fix->refused || fix->refused->message[0]) return -EINVAL;
    va_start(list, format);
    vsnprintf(fix->refused->message, sizeof(fix->refused->message), format, list);
    va_end(list);
    fix->refused->line = line;
    return -EINVAL;
}

static int write_script(const struct fix *fix)
{
    return fputs(fix->approved, fix->to) < 0 ? -EIO : 0;
}

static const struct way {
    const char *name;
    int (*write)(const struct fix *fix);
    const char *how;
} ways[] = {
    {"nxos", fix_lines, "in `configure terminal`"},
    {"eos", fix_lines, "in `configure session`"},
    {"sonic", fix_tables, "with `config apply-patch`"},
    {"nvue", fix_sets, "then `nv config apply`"},
    {"junos", fix_junos, "with `load set terminal`, then `commit`"},
    {"host", write_script, "as root; it sets all it speaks of"},
};

static const struct way *way_of(const struct config_format *format)
{
    for (size_t w = 0; format && w < sizeof(ways) / sizeof(ways[0]); w++)
        if (strcmp(ways[w].name, format->name) == 0) return &ways[w];
    return NULL;
}

bool fix_can(const struct config_format *format)
{
    return way_of(format) != NULL;
}

const char *fix_how(const struct config_format *format)
{
    return way_of(format) ? way_of(format)->how : "";
}

int fix_write(const struct fix *fix)
{
    const struct way *way = way_of(fix->format);

    return way ? way->write(fix) : -EINVAL;
}
