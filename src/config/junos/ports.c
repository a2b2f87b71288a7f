/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos interfaces: frames, rates, breakouts, descriptions, members of aggregates.
 *
 * A port that is broken out (`number-of-sub-ports`) is none of its own: its channels are ports, with the speed that
 * stands at it.  A port without address, VLAN, description and size of frames is there because somebody wrote its unit
 * down; nothing is on it, and it is taken as down.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/junos/junos_int.h"
#include "config/lines/lines.h"

#define PORT_NAME 64u /* bytes; et-0/0/0:0 has ten */

static bool is_port(const char *name)
{
    static const char *const kinds[] = {"et-", "xe-", "ge-", "mge-"};

    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i]);
        if (strncmp(name, kinds[i], length) == 0)
            return name[length] >= '0' && name[length] <= '9' && !junos_has_wildcard(name) && !strchr(name, '.') &&
                   strlen(name) < PORT_NAME;
    }
    return false;
}

/* `400g`, `100G`. */
static uint32_t gbps_of(const char *text)
{
    uint32_t rate = 0;

    for (; *text >= '0' && *text <= '9' && rate < 10000; text++)
        rate = rate * 10 + (uint32_t)(*text - '0');
    return (*text == 'g' || *text == 'G') && !text[1] && rate <= 1600 ? rate : 0;
}

static void read_speed(struct junos *in, struct junos_port *as, struct junos_node *speed)
{
    if (!speed) return;
    uint32_t gbps = gbps_of(speed->word);
    if (!gbps && strcmp(speed->word, "auto") != 0)
        NOTE(in, speed->line, NULL, CONFIG_NONE, "speed %.20s is not understood", speed->word);
    if (!gbps) return;
    as->rate_gbps = gbps;
    as->rate_line = speed->line;
}

static void read_ether_options(struct junos *in, struct junos_port *as, struct junos_node *options)
{
    struct junos_node *lag = junos_get(&in->tree, options, "802.3ad"), *fec = junos_value(&in->tree, options, "fec");
    struct junos_node *pause = junos_get(&in->tree, options, "flow-control");

    if (lag && lag->first) {
        junos_known_all(lag);
        as->lag = lag->first->word;
        as->lag_line = lag->first->line;
    }
    if (pause) as->pause_line = pause->line;
    read_speed(in, as, junos_value(&in->tree, options, "speed"));
    if (!fec) return;
    as->fec_line = fec->line;
    as->fec = strcmp(fec->word, "none") == 0                                        ? "none"
              : strcmp(fec->word, "fec74") == 0                                     ? "fc"
              : strcmp(fec->word, "fec91") == 0 || strcmp(fec->word, "fec119") == 0 ? "rs"
                                                                                    : NULL;
    if (!as->fec) fec->known = false;
}

static void read_unit(struct junos *in, struct junos_port *as, struct junos_node *unit)
{
    unit->known = true;
    for (struct junos_node *at = junos_first(&in->tree, unit, "family"); at; at = at->next) {
        struct junos_node *mtu = junos_value(&in->tree, at, "mtu"), *address = junos_get(&in->tree, at, "address");
        bool inet = strcmp(at->word, "inet") == 0 || strcmp(at->word, "inet6") == 0;
        at->known = true;
        as->routed = as->routed || inet;
        as->bridged = as->bridged || strcmp(at->word, "ethernet-switching") == 0;
        as->in_use = as->in_use || (inet ? address != NULL : at->first != NULL);
        for (struct junos_node *one = address ? address->first : NULL; one; one = one->next)
            junos_known_all(one);
        for (struct junos_node *one = inet && address ? address->first : NULL; one && as->addresses < JUNOS_ADDRESSES;
             one = one->next)
            as->address[as->addresses++] = one;
        uint32_t bytes;
        if (!inet || !mtu || !junos_number(in, mtu, 68, 65535, &bytes)) continue;
        if (as->inet_mtu && as->inet_mtu <= bytes) continue;
        as->inet_mtu = bytes;
        as->inet_line = mtu->line;
    }
}

static void read_interface(struct junos *in, struct junos_port *as, struct junos_node *node)
{
    struct junos_node *mtu = junos_value(&in->tree, node, "mtu");
    struct junos_node *down = junos_get(&in->tree, node, "disable");
    struct junos_node *text = junos_value(&in->tree, node, "description");
    struct junos_node *channels = junos_value(&in->tree, node, "number-of-sub-ports");
    static const char *const options[] = {"gigether-options", "ether-options"};

    *as = (struct junos_port){.name = node->word, .line = node->line};
    junos_known(node);
    if (mtu && junos_number(in, mtu, JUNOS_MTU_LEAST, 16000, &as->mtu)) as->mtu_line = mtu->line;
    as->down = down != NULL;
    as->down_line = down ? down->line : 0;
    if (text) {
        as->described = text->word;
        as->described_line = text->line;
    }
    if (channels) junos_number(in, channels, 1, 8, &as->channels);
    read_speed(in, as, junos_value(&in->tree, node, "speed"));
    for (unsigned i = 0; i < 2; i++) {
        struct junos_node *of = junos_get(&in->tree, node, options[i]);
        if (of) read_ether_options(in, as, of);
    }
    for (struct junos_node *at = junos_first(&in->tree, node, "unit"); at; at = at->next)
        read_unit(in, as, at);
    as->in_use = as->in_use || as->described || as->mtu || as->lag;
}

/* The port that a channel is of: et-0/0/5 for et-0/0/5:0; NULL: it is none, or that is not written. */
static const struct junos_port *cage_of(const struct junos *in, const struct junos_port *channel)
{
    const char *colon = strchr(channel->name, ':');

    for (uint32_t p = 0; colon && p < in->ports; p++)
        if (strncmp(in->port[p].name, channel->name, (size_t)(colon - channel->name)) == 0 &&
            in->port[p].name[colon - channel->name] == 0)
            return &in->port[p];
    return NULL;
}

struct place { /* of a port: fpc, pic and port in one number */
    uint64_t at;
    uint32_t port;
};

struct places { /* in order */
    struct place *place;
    uint32_t count;
};

struct cage { /* chassis fpc F pic P port N */
    uint64_t at;
    uint32_t gbps, line;
};

static uint64_t place_at(uint64_t fpc, uint64_t pic, uint64_t port)
{
    return fpc << 40 | pic << 20 | port;
}

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->port > y->port) - (x->port < y->port);
}

/* All ports by their places; those whose names have none are left out. */
static void find_places(struct junos *in, struct places *ret)
{
    *ret = (struct places){ARENA_NEW(in->arena, struct place, in->ports + 1), 0};
    for (uint32_t p = 0; p < in->ports; p++) {
        unsigned fpc, pic, port;
        const char *dash = strchr(in->port[p].name, '-');
        if (!dash || sscanf(dash, "-%4u/%4u/%4u", &fpc, &pic, &port) < 3) continue;
        ret->place[ret->count++] = (struct place){place_at(fpc, pic, port), p};
    }
    qsort(ret->place, ret->count, sizeof(*ret->place), by_place);
}

static void apply_cage(struct junos *in, const struct places *places, const struct cage *cage)
{
    uint32_t low = 0, high = places->count;

    while (low < high) { /* the first place that is not before the cage */
        uint32_t mid = low + (high - low) / 2;
        if (places->place[mid].at < cage->at)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < places->count && places->place[low].at == cage->at; low++) {
        struct junos_port *port = &in->port[places->place[low].port];
        if (port->rate_gbps) continue;
        port->rate_gbps = cage->gbps;
        port->rate_line = cage->line;
    }
}

static void read_cage(struct junos *in, const struct places *places, struct cage *cage, struct junos_node *node)
{
    struct junos_node *speed = junos_value(&in->tree, node, "speed");
    struct junos_node *channel = junos_value(&in->tree, node, "channel-speed");

    junos_known(node);
    junos_value(&in->tree, node, "number-of-sub-ports");
    if (!speed) speed = channel;
    if (!speed) return;
    cage->gbps = gbps_of(speed->word);
    cage->line = speed->line;
    if (cage->gbps) apply_cage(in, places, cage);
}

static void read_chassis(struct junos *in)
{
    struct places places;

    find_places(in, &places);
    for (struct junos_node *fpc = junos_first(&in->tree, &in->tree.root, "chassis fpc"); fpc; fpc = fpc->next) {
        for (struct junos_node *pic = junos_first(&in->tree, fpc, "pic"); pic; pic = pic->next) {
            struct junos_node *ports = junos_first(&in->tree, pic, "port");
            uint64_t f, i, n;
            if (!line_number(fpc->word, &f) || !line_number(pic->word, &i) || f > 9999 || i > 9999) continue;
            for (struct junos_node *port = ports; port; port = port->next) {
                if (!line_number(port->word, &n) || n > 9999) continue;
                struct cage cage = {.at = place_at(f, i, n)};
                read_cage(in, &places, &cage, port);
            }
        }
    }
}

static bool is_read(const char *name)
{
    return is_port(name) ||
           (strncmp(name, "ae", 2) == 0 && name[2] >= '0' && name[2] <= '9' && strlen(name) < PORT_NAME);
}

/* Ports that class of service speaks of and nothing else; where there are none, what stands for them (`et-*`). */
static void add_unwritten(struct junos *in, struct junos_node *entries, const struct junos_node *written, uint32_t room)
{
    for (int pass = 0; pass < 2 && entries; pass++) {
        for (struct junos_node *at = entries->first; at && in->ports < room; at = at->next) {
            bool is = pass == 0 ? is_port(at->word) : in->ports == 0 && junos_has_wildcard(at->word);
            if (!is || (pass == 0 && written && junos_child(&in->tree, written, at->word))) continue;
            in->port[in->ports++] =
                (struct junos_port){.name = at->word, .line = at->line, .in_use = true, .unwritten = true};
        }
    }
}

static uint32_t children(const struct junos_node *of)
{
    uint32_t count = 0;

    for (const struct junos_node *at = of ? of->first : NULL; at; at = at->next)
        count++;
    return count;
}

/* A member of an aggregate takes the frames that the aggregate does. */
static void inherit_frames(struct junos *in)
{
    for (uint32_t p = 0; p < in->ports; p++) {
        struct junos_port *as = &in->port[p];
        for (uint32_t a = 0; as->lag && a < in->ports; a++) {
            const struct junos_port *of = &in->port[a];
            if (strcmp(of->name, as->lag) != 0) continue;
            if (of->mtu) as->mtu = of->mtu, as->mtu_line = of->mtu_line;
            if (of->inet_mtu) as->inet_mtu = of->inet_mtu, as->inet_line = of->inet_line;
            as->routed = as->routed || of->routed;
            as->bridged = as->bridged || of->bridged;
        }
    }
}

void junos_ports(struct junos *in, struct junos_node *cos)
{
    struct junos_node *interfaces = junos_get(&in->tree, &in->tree.root, "interfaces");
    struct junos_node *entries = junos_cos_interfaces(in, cos);
    uint32_t room = children(interfaces) + children(entries);

    if (room > CONFIG_PORTS_MAX) {
        NOTE(in, 1, NULL, CONFIG_NONE, "more than %u interfaces: the rest is left out", CONFIG_PORTS_MAX);
        room = CONFIG_PORTS_MAX;
    }
    in->port = ARENA_NEW(in->arena, struct junos_port, room + 1);
    for (struct junos_node *at = interfaces ? interfaces->first : NULL; at && in->ports < room; at = at->next)
        if (is_read(at->word) && entries != interfaces) read_interface(in, &in->port[in->ports++], at);
    add_unwritten(in, entries, entries != interfaces ? interfaces : NULL, room);
    read_chassis(in);
    inherit_frames(in);
    for (uint32_t p = 0; p < in->ports; p++) {
        struct junos_port *as = &in->port[p];
        const struct junos_port *cage = cage_of(in, as);
        if (!cage || as->rate_gbps || !cage->rate_gbps) continue;
        as->rate_gbps = cage->rate_gbps;
        as->rate_line = cage->rate_line;
    }
}
