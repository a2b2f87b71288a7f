/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos statements printed in either form.
 */
#include "config/junos/print.h"

#include <stdarg.h>
#include <string.h>

static unsigned depth_of(const char *blocks)
{
    unsigned depth = *blocks != 0;

    for (; *blocks; blocks++)
        depth += *blocks == '|';
    return depth;
}

static void indent(FILE *to, unsigned depth)
{
    fprintf(to, "%*s", (int)depth * 4, "");
}

/* Bytes of `blocks` that are open already, whole blocks only. */
static size_t in_common(const char *open, const char *blocks)
{
    size_t common = 0;

    for (size_t i = 0;; i++) {
        bool ends = (!open[i] || open[i] == '|') && (!blocks[i] || blocks[i] == '|');
        if (ends) common = i;
        if (open[i] != blocks[i] || !open[i]) return common;
    }
}

static void close_to(struct junos_printer *to, size_t length)
{
    while (strlen(to->open) > length) {
        char *last = strrchr(to->open, '|');
        indent(to->emit->to, depth_of(to->open) - 1);
        fputs("}\n", to->emit->to);
        if (!last || (size_t)(last - to->open) < length) last = to->open + length;
        *last = 0;
    }
}

static void open_blocks(struct junos_printer *to, const char *blocks)
{
    size_t common = in_common(to->open, blocks);

    close_to(to, common);
    for (const char *at = blocks + common; *at;) {
        at += *at == '|';
        size_t length = strcspn(at, "|");
        indent(to->emit->to, depth_of(to->open));
        fprintf(to->emit->to, "%.*s {\n", (int)length, at);
        at += length;
        snprintf(to->open, sizeof(to->open), "%.*s", (int)(at - blocks), blocks);
    }
}

void junos_print(struct junos_printer *to, const char *blocks, const char *format, ...)
{
    FILE *out = to->emit->to;
    va_list args;

    if (to->commands) {
        fputs("set ", out);
        for (const char *c = blocks; *c; c++)
            fputc(*c == '|' ? ' ' : *c, out);
        if (*blocks) fputc(' ', out);
    } else {
        open_blocks(to, blocks);
        indent(out, depth_of(blocks));
    }
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
    fputs(to->commands ? "\n" : ";\n", out);
}

void junos_print_end(struct junos_printer *to)
{
    if (!to->commands) close_to(to, 0);
}

void junos_print_comment(struct junos_printer *to, const char *text)
{
    junos_print_end(to);
    config_comment(to->emit, &config_junos, "%s", text);
}
