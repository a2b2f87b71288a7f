/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces of NX-OS and EOS, and what they apply: ranges that name ports many at once, blocks that open an interface
 * again, definitions by name.
 */
#include <string.h>

#include "config/lines/importing.h"

/* --- interfaces --- */

void lines_ports_init(struct lines_ports *ports, struct lines_import *in, size_t size)
{
    *ports = (struct lines_ports){.in = in, .size = size};
    ports->member = ARENA_NEW(&in->set->arena, uint32_t, CONFIG_PORTS_MAX + 1);
}

static struct lines_port *port_at(const struct lines_ports *ports, uint32_t index)
{
    return (struct lines_port *)((char *)ports->port + index * ports->size);
}

static void add_port(void *to, const char *name)
{
    struct lines_ports *ports = to;
    struct lines_import *in = ports->in;
    uint32_t line = in->lines.line[ports->block].number;

    for (uint32_t p = 0; p < ports->count; p++) {
        if (strcmp(port_at(ports, p)->name, name) != 0) continue;
        ports->member[ports->members++] = p;
        return;
    }
    if (ports->count >= CONFIG_PORTS_MAX || ports->members >= CONFIG_PORTS_MAX) {
        NOTE(in, line, NULL, CONFIG_NONE, "more than %u ports: the rest is left out", CONFIG_PORTS_MAX);
        return;
    }
    ports->port = arena_more(&in->set->arena, ports->port, ports->count + 1, &ports->room, ports->size);
    struct lines_port *port = port_at(ports, ports->count);
    port->name = arena_strndup(&in->set->arena, name, strlen(name));
    port->line = line;
    ports->member[ports->members++] = ports->count++;
}

/* VLANs, loopbacks, management: no fabric port. */
static void pass_over(struct lines_import *in, const struct line *line)
{
    for (struct line *inner = &in->lines.line[line - in->lines.line + 1]; inner < in->lines.line + line->end; inner++)
        if (!lines_about_roce(inner->text)) inner->known = true;
}

void lines_ports_read(struct lines_ports *ports, uint32_t index, const char *channel,
                      void (*each)(struct lines_import *in, uint32_t index, struct line *line, void *port))
{
    struct lines_import *in = ports->in;
    struct line *line = &in->lines.line[index];
    const char *name = lines_interface_name(&in->set->arena, line, channel);

    line->known = true;
    if (!name) {
        pass_over(in, line);
        return;
    }
    ports->block = index;
    ports->members = 0;
    line->known = ports->work <= LINES_WORK && lines_interfaces(name, add_port, ports);
    if (!line->known) return;
    ports->work += (uint64_t)ports->members * (line->end - index + 100);
    line->known = ports->work <= LINES_WORK;
    for (uint32_t m = 0; m < ports->members && line->known; m++)
        config_blocks_add(in->set, &port_at(ports, ports->member[m])->blocks, line->number,
                          in->lines.line[line->end - 1].number, index);
    for (uint32_t i = index + 1; i < line->end && line->known; i++)
        for (uint32_t m = 0; m < ports->members; m++)
            each(in, index, &in->lines.line[i], port_at(ports, ports->member[m]));
}

bool lines_port_address(struct lines_port *port, const struct line *line, const struct line_match *match)
{
    bool six = line->word[0][2] == 'v';

    if (strcmp(line->word[line->words - 1], "secondary") == 0) return false;
    port->address[six] = match->word[0];
    port->address_line[six] = line->number;
    return true;
}

uint32_t lines_port_say(struct lines_import *in, const struct lines_port *as, uint32_t by, const char *channel)
{
    uint32_t port = config_port(in->set, CONFIG_AT(in->text, as->line), in->device, as->name);
    char name[32];

    if (port == CONFIG_NONE) return port;
    config_block(in->set, CONFIG_AT(in->text, by), &as->blocks, in->device, port);
    snprintf(name, sizeof(name), "%s%u", channel, as->channel);
    if (as->channel) config_lag(in->set, CONFIG_AT(in->text, as->channel_line), in->device, port, name);
    if (as->described)
        config_described(in->set, CONFIG_AT(in->text, as->described_line), in->device, port, as->described);
    for (int i = 0; i < 2; i++)
        if (as->address[i])
            config_address(in->set, CONFIG_AT(in->text, as->address_line[i]), in->device, port, as->address[i]);
    if (as->fec) SAY(in, as->fec_line, port, "fec", "%s", as->fec);
    return port;
}

/* --- definitions --- */

void *lines_find(void *list, int kind, const char *name)
{
    struct lines_named *named = list;

    while (named && (named->kind != kind || strcmp(named->name, name) != 0))
        named = named->next;
    return named;
}

void *lines_define(struct lines_import *in, void *list, int kind, const char *name, uint32_t line, size_t size)
{
    struct lines_named *named = lines_find(list, kind, name);

    if (named) return named;
    named = arena_alloc(&in->set->arena, 1, size, _Alignof(max_align_t));
    *named = (struct lines_named){.name = name, .kind = kind, .line = line, .next = list};
    return named;
}

void lines_unused(struct lines_import *in, const void *list, unsigned kinds, const char *what, const char *where)
{
    for (const struct lines_named *named = list; named; named = named->next)
        if (!named->used && kinds >> named->kind & 1)
            HINT(in, named->line, "MAP007", CONFIG_NONE, "%s %.60s is defined and %s", what, named->name, where);
}
