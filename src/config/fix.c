/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What statements a drift concerns, and what all who write commands (the fix() of a system) have in common.
 */
#include "config/fix.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

unsigned fix_family(const char *key)
{
    static const struct fix_word words[] = {
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
            if (is_word(at, length, words[w].words)) return words[w].families;
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

unsigned fix_families_by(const struct fix_word *words, const char *statement)
{
    for (; words->words; words++)
        if (begins(statement, words->words)) return words->families;
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

int fix_whole(const struct fix *fix)
{
    return fputs(fix->approved, fix->to) < 0 ? -EIO : 0;
}
