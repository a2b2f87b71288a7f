/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of a set of configurations once it is judged, whatever was read: writers, rules and `diff` follow its
 * numbers without a look, and texts of others lead to all of them.
 */
#include <string.h>

#include "base/check.h"
#include "config/said.h"

/* Its text is one of those read, or there is none and no line. */
static bool is_place(const struct config_set *set, struct origin at)
{
    return at.source < set->sources || at.line == 0;
}

static bool is_port(const struct config_set *set, uint32_t device, uint32_t port)
{
    return device < set->devices && port < set->device[device].ports;
}

/* What it said is in its order, each path once, and found under it. */
static void audit_said(const struct config_set *set, const struct config_port *of)
{
    CHECK(of->count <= of->room && (!of->count || (of->order && of->count <= of->order->count)));
    for (uint32_t i = 0; i < of->count; i++) {
        const struct config_said *said = &of->said[i];
        CHECK(said->path[0] && strlen(said->path) < CONFIG_PATH && said->value && is_place(set, said->at));
        CHECK(strcmp(of->order->at[i].path, said->path) == 0 && config_said_of(of, said->path) == said);
    }
}

static void audit_port(const struct config_set *set, uint32_t device, uint32_t number)
{
    const struct config_port *port = &set->device[device].port[number];

    CHECK(port->name && config_port_find(set, device, port->name) == number);
    CHECK(is_place(set, port->at) && is_place(set, port->lag_at) && is_place(set, port->block));
    CHECK(port->link <= set->links);
    if (port->link) {
        const struct config_link *link = &set->link[port->link - 1];
        CHECK((link->a == device && link->a_port == number) || (link->b == device && link->b_port == number));
    }
    for (const struct config_block *block = port->blocks.head; block; block = block->next)
        CHECK(block->first && block->end >= block->first);
    audit_said(set, port);
}

static void audit_device(const struct config_set *set, uint32_t number)
{
    const struct config_device *device = &set->device[number];

    CHECK(device->name && config_device_find(set, device->name) == number && is_place(set, device->at));
    CHECK(!device->nos || config_format_find(device->nos));
    CHECK(device->cnp_dscp < 64 && device->ports <= CONFIG_PORTS_MAX && is_place(set, device->paths_at));
    audit_said(set, &device->all);
    for (uint32_t p = 0; p < device->ports; p++)
        audit_port(set, number, p);
}

static void audit_links(const struct config_set *set)
{
    for (uint32_t l = 0; l < set->links; l++) {
        const struct config_link *link = &set->link[l];
        CHECK(is_port(set, link->a, link->a_port) && is_port(set, link->b, link->b_port) && link->a != link->b);
        CHECK(set->device[link->a].port[link->a_port].link == l + 1);
        CHECK(set->device[link->b].port[link->b_port].link == l + 1 && is_place(set, link->at));
    }
    for (uint32_t i = 0; i < set->neighbours; i++) {
        const struct config_neighbour *said = &set->neighbour[i];
        CHECK(is_port(set, said->device, said->port) && said->name && said->port_name && is_place(set, said->at));
    }
    for (uint32_t i = 0; i < set->addresses; i++) {
        const struct config_address *address = &set->address[i];
        CHECK(is_port(set, address->device, address->port) && address->prefix <= 128 && is_place(set, address->at));
    }
    for (uint32_t i = 0; i < set->descriptions; i++) {
        const struct config_description *said = &set->description[i];
        CHECK(is_port(set, said->device, said->port) && said->text && is_place(set, said->at));
    }
}

/* A rule's note stands at a line that somebody can look at. */
static void audit_notes(const struct config_set *set)
{
    for (uint32_t i = 0; i < set->notes; i++) {
        const struct config_note *note = &set->note[i];
        uint32_t device = note->device ? config_device_find(set, note->device) : CONFIG_NONE;
        CHECK(note->message && note->most <= CONFIG_INFO && is_place(set, note->at));
        CHECK(!note->device || device != CONFIG_NONE);
        CHECK(note->number == CONFIG_NONE || is_port(set, device, note->number));
    }
    for (uint32_t i = 0; i < set->unjudgeds; i++) {
        const struct config_unjudged *of = &set->unjudged[i];
        CHECK(of->rule && of->message && of->device < set->devices && is_place(set, of->at));
        CHECK(of->port == CONFIG_NONE || is_port(set, of->device, of->port));
    }
}

void config_audit(const struct config_set *set)
{
    for (uint32_t s = 0; s < set->sources; s++)
        CHECK(set->path[s]);
    for (uint32_t d = 0; d < set->devices; d++)
        audit_device(set, d);
    audit_links(set);
    audit_notes(set);
    CHECK(set->cnp_dscp < 64);
}
