/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ties the ports of evidence together: two names of one port, names of the fabric file, cables by the file or by what
 * neighbours say of each other.  After it every port has its canonical name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/audit.h"
#include "config/config.h"
#include "evidence/evidence_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define NAME 128

static const char *keep(struct evidence *evidence, const char *text)
{
    return arena_strndup(&evidence->arena, text, strlen(text));
}

/* --- two names of one port --- */

static uint32_t stands_for(const struct evidence *evidence, uint32_t port)
{
    for (unsigned i = 0; i < 8 && port != EVIDENCE_NONE && evidence->object[port].same_as != EVIDENCE_NONE; i++)
        port = evidence->object[port].same_as;
    return port;
}

/* Values of ports that are another one's second name become that one's; where both have one, a weak one gives way. */
static void merge_values(struct evidence *evidence)
{
    uint32_t values = evidence->values;

    for (uint32_t i = 0; i < values && !evidence->full; i++) {
        struct evidence_value old = evidence->value[i];
        uint32_t port = stands_for(evidence, old.object);
        enum evidence_counter counter = (enum evidence_counter)old.counter;
        if (port == old.object) continue;
        const struct evidence_value *has = evidence_find(evidence, port, old.priority, counter);
        if (has && (old.weak || !has->weak)) continue;
        struct evidence_source source = {old.file, old.line, old.last_s};
        if (!has) evidence_put(evidence, port, old.priority, counter, old.last, old.real, &source, false);
        has = evidence_find(evidence, port, old.priority, counter);
        if (!has) continue;
        struct evidence_value *value = &evidence->value[has - evidence->value];
        *value = old;
        value->object = port;
    }
}

static void merge(struct evidence *evidence)
{
    bool any = false;

    for (uint32_t id = 0; id < evidence->objects; id++)
        any |= evidence->object[id].same_as != EVIDENCE_NONE;
    if (!any) return;
    merge_values(evidence);
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        uint32_t *link = &evidence->object[device].next, last = EVIDENCE_NONE;
        while (*link != EVIDENCE_NONE)
            if (evidence->object[*link].same_as != EVIDENCE_NONE) {
                *link = evidence->object[*link].next;
            } else {
                last = *link;
                link = &evidence->object[*link].next;
            }
        evidence->object[device].last = last;
    }
    for (uint32_t i = 0; i < evidence->neighbours; i++)
        evidence->neighbour[i].port = stands_for(evidence, evidence->neighbour[i].port);
    for (uint32_t i = 0; i < evidence->events; i++)
        evidence->event[i].object = stands_for(evidence, evidence->event[i].object);
}

/* --- the fabric file --- */

/* A port of the device by a name and its usual abbreviations. */
static uint32_t port_by_name(const struct evidence *evidence, uint32_t device, const char *name)
{
    static const char *const short_for[] = {"Eth", "Et", "eth", "Ethernet"};
    uint32_t port = evidence_port_find(evidence, device, name, strlen(name));
    size_t letters = strcspn(name, "0123456789");
    char other[NAME];

    if (port != EVIDENCE_NONE || (strncmp(name, "Eth", 3) && strncmp(name, "Et", 2))) return port;
    for (size_t i = 0; i < sizeof short_for / sizeof short_for[0] && port == EVIDENCE_NONE; i++) {
        int length = snprintf(other, sizeof other, "%s%s", short_for[i], name + letters);
        if (length > 0 && (size_t)length < sizeof other)
            port = evidence_port_find(evidence, device, other, (size_t)length);
    }
    return port;
}

static const struct config_format *format_of(const struct fabric *fabric, uint32_t node, const char *system)
{
    if (system) return config_format_find(system);
    if (fabric->node[node].kind == FABRIC_HOST) return &config_host;
    uint8_t nos = fabric->sw[node - fabric->hosts].nos;
    return nos == FABRIC_NOS_UNSAID ? NULL : config_format_find(fabric_nos_names[nos]);
}

/* The object of a port of the fabric: by the file's name of it, its system's, its number; made where nobody met it. */
static uint32_t port_of(struct evidence *evidence, const struct fabric *fabric, uint32_t device, uint32_t p)
{
    const char *const *names = (const char *const *)fabric->operations.port_name;
    uint32_t node = fabric->port[p].node, port = EVIDENCE_NONE;
    const struct config_format *format = format_of(fabric, node, evidence->object[device].system);
    char name[NAME];

    if (names && names[p]) port = port_by_name(evidence, device, names[p]);
    if (port == EVIDENCE_NONE && format && format->port_name) {
        format->port_name(fabric, p, name, sizeof name);
        port = port_by_name(evidence, device, name);
    }
    int length = snprintf(name, sizeof name, "%u", fabric->port[p].index);
    if (port == EVIDENCE_NONE) port = evidence_port(evidence, device, name, (size_t)length);
    return stands_for(evidence, port); /* a second name leads to the port that has the counters */
}

static void tie_by_fabric(struct evidence *evidence, const struct fabric *fabric)
{
    uint32_t *object = calloc(fabric->ports ? fabric->ports : 1, sizeof object[0]);
    char name[FABRIC_NAME];

    for (uint32_t n = 0; object && n < fabric->nodes; n++) {
        const struct fabric_node *node = &fabric->node[n];
        uint32_t device = evidence_device(evidence, node->name, strlen(node->name));
        if (device == EVIDENCE_NONE) break;
        evidence->object[device].fabric = n;
        evidence->object[device].role = node->role;
        for (uint32_t i = 0; i < node->ports; i++) {
            uint32_t p = node->first_port + i, port = port_of(evidence, fabric, device, p);
            if (port == EVIDENCE_NONE) break;
            object[p] = port + 1;
            const char *canonical = keep(evidence, fabric_port_name(fabric, p, name));
            evidence->object[port].fabric = p;
            if (canonical) evidence->object[port].name = canonical;
        }
    }
    for (uint32_t p = 0; object && p < fabric->ports; p++)
        if (object[p] && fabric->port[p].peer != FABRIC_NONE && object[fabric->port[p].peer])
            evidence_tie(evidence, object[p] - 1, object[fabric->port[p].peer] - 1);
    free(object);
    evidence->tied = true;
}

static void say_what_is_missing(struct evidence *evidence)
{
    uint32_t devices = 0, missing = 0, unknown = 0, first = EVIDENCE_NONE, stranger = EVIDENCE_NONE;

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        const struct evidence_object *of = &evidence->object[device];
        if (of->fabric == EVIDENCE_NONE) {
            if (!unknown++) stranger = device;
            continue;
        }
        devices++;
        if (of->looked_at) continue;
        if (!missing++) first = device;
    }
    if (missing)
        evidence_remark(evidence, EVIDENCE_NONE, 0, "nothing was read of %u of %u devices of the fabric: %s%s", missing,
                        devices, evidence->object[first].name, missing > 1 ? " and others" : "");
    if (unknown)
        evidence_remark(evidence, EVIDENCE_NONE, 0, "%u device%s not in the fabric file: %s%s", unknown,
                        unknown == 1 ? " is" : "s are", evidence->object[stranger].name,
                        unknown > 1 ? " and others" : "");
}

/* Devices that somebody looked at before, and not at the last look; counters that went down between looks. */
static void say_what_changed(struct evidence *evidence)
{
    uint32_t *resets = calloc(evidence->objects ? evidence->objects : 1, sizeof resets[0]);

    for (uint32_t i = 0; resets && i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        if (!value->reset) continue;
        uint32_t device = evidence_device_of(evidence, value->object); /* a job has none */
        if (device < evidence->objects && evidence->object[value->object].same_as == EVIDENCE_NONE) resets[device]++;
    }
    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device)
    {
        const struct evidence_object *of = &evidence->object[device];
        if (of->looked_at && of->seen_s >= 0 && of->seen_s < evidence->last_s)
            evidence_remark(evidence, EVIDENCE_NONE, 0,
                            "%s was not looked at the last time: what it counted ends %.6g s before the others",
                            of->name, evidence->last_s - of->seen_s);
        if (resets && resets[device])
            evidence_remark(evidence, EVIDENCE_NONE, 0,
                            "%u counter%s of %s went down between two looks, so they were reset or wrapped: "
                            "what they count is since then",
                            resets[device], resets[device] == 1 ? "" : "s", of->name);
    }
    free(resets);
}

/* --- neighbours --- */

/* A device by the name a neighbour gave: also without its domain. */
static uint32_t device_by_name(const struct evidence *evidence, const char *name)
{
    uint32_t device = evidence_device_find(evidence, name, strlen(name));

    return device != EVIDENCE_NONE ? device : evidence_device_find(evidence, name, strcspn(name, "."));
}

uint32_t evidence_neighbour_port(const struct evidence *evidence, const struct evidence_neighbour *said)
{
    uint32_t device = device_by_name(evidence, said->device);

    return device == EVIDENCE_NONE ? device : stands_for(evidence, port_by_name(evidence, device, said->port_name));
}

static void tie_by_neighbours(struct evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->neighbours; i++) {
        const struct evidence_neighbour *said = &evidence->neighbour[i];
        if (evidence->object[said->port].peer != EVIDENCE_NONE) continue;
        uint32_t peer = evidence_neighbour_port(evidence, said);
        if (peer == EVIDENCE_NONE || peer == said->port || evidence->object[peer].peer != EVIDENCE_NONE) continue;
        evidence_tie(evidence, said->port, peer);
        evidence->tied = true;
    }
}

/* Neighbours that LLDP names and nothing was read of. */
static void say_who_is_missing(struct evidence *evidence)
{
    uint32_t missing = 0;
    const char *first = NULL;

    for (uint32_t i = 0; i < evidence->neighbours; i++) {
        const struct evidence_neighbour *said = &evidence->neighbour[i];
        uint32_t device = device_by_name(evidence, said->device);
        if (said->described || (device != EVIDENCE_NONE && evidence->object[device].looked_at)) continue;
        if (!first) first = said->device;
        missing++;
    }
    if (missing)
        evidence_remark(evidence, EVIDENCE_NONE, 0, "nothing was read of what is behind %u port%s by LLDP: %s%s",
                        missing, missing == 1 ? "" : "s", first, missing > 1 ? " and others" : "");
}

static void name_ports(struct evidence *evidence)
{
    for (uint32_t id = 0; id < evidence->objects; id++) {
        struct evidence_object *port = &evidence->object[id];
        if (port->scope != EVIDENCE_PORT || port->fabric != EVIDENCE_NONE) continue;
        const char *device = evidence->object[port->parent].name;
        size_t before = strlen(device), after = strlen(port->local_name);
        char *text = arena_alloc(&evidence->arena, before + after + 2, 1, 1);
        if (!text) return;
        memcpy(text, device, before);
        text[before] = ':';
        memcpy(text + before + 1, port->local_name, after);
        port->name = text;
    }
}

/* The same said of many files is one remark. */
static void count_remarks(struct evidence *evidence)
{
    char text[640];

    for (uint32_t i = 0; i < evidence->remarks; i++) {
        struct evidence_remark *remark = &evidence->remark[i];
        if (!remark->alike) continue;
        snprintf(text, sizeof text, "%s; and %u more alike", remark->text, remark->alike);
        const char *kept = keep(evidence, text);
        if (kept) remark->text = kept;
        remark->alike = 0;
    }
}

void evidence_finish(struct evidence *evidence, const struct fabric *fabric)
{
    evidence->fabric = fabric;
    merge(evidence);
    if (fabric) tie_by_fabric(evidence, fabric);
    tie_by_neighbours(evidence);
    name_ports(evidence);
    evidence_lateness(evidence);
    if (fabric)
        say_what_is_missing(evidence);
    else
        say_who_is_missing(evidence);
    say_what_changed(evidence);
    count_remarks(evidence);
    if (!evidence->tied && evidence->objects)
        evidence_remark(evidence, EVIDENCE_NONE, 0,
                        "which ports are cabled to each other is not known: each device is judged alone "
                        "(give --fabric FILE, or dumps of LLDP)");
    AUDIT(evidence_audit(evidence));
}
