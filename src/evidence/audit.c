/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of evidence once it is finished, whatever was read: rules follow indices without a look.  Texts of
 * others lead to every table here, so a reader that goes wrong is found where it went wrong, and not where a rule reads
 * what it left.
 */
#include <math.h>
#include <string.h>

#include "base/check.h"
#include "evidence/evidence_int.h"
#include "fabric/fabric.h"

static bool is_line(const struct evidence *evidence, uint32_t file)
{
    return file < evidence->files || file == EVIDENCE_NONE;
}

/* What is said of priorities is said of a port. */
static enum evidence_scope scope_of(enum evidence_counter counter)
{
    enum evidence_scope scope = (enum evidence_scope)evidence_counters[counter].scope;

    return scope == EVIDENCE_PRIORITY ? EVIDENCE_PORT : scope;
}

static void audit_value(const struct evidence *evidence, const struct evidence_value *value)
{
    CHECK(value->object < evidence->objects && value->counter < EVIDENCE_COUNTERS && is_line(evidence, value->file));
    CHECK(evidence->object[value->object].scope == scope_of((enum evidence_counter)value->counter));
    CHECK(value->priority < EVIDENCE_PRIORITIES || value->priority == EVIDENCE_NO_PRIORITY);
    CHECK(evidence_counters[value->counter].scope == EVIDENCE_PRIORITY || value->priority == EVIDENCE_NO_PRIORITY);
    CHECK(value->looks && value->first_s >= evidence->first_s && value->last_s <= evidence->last_s);
    CHECK(isfinite(value->real) && value->real >= 0);
    if (value->looks == 1)
        CHECK(value->first_s == value->last_s && value->first == value->last && value->grown == value->last);
    else
        CHECK(value->first_s <= value->before_s && value->before_s < value->last_s);
    if (evidence_counters[value->counter].kind != EVIDENCE_COUNT)
        CHECK(value->grown == value->last && !value->reset);
    else if (value->looks > 1 && !value->reset)
        CHECK(value->last >= value->first && value->grown == value->last - value->first);
}

/* Each is found by what names it, and so is there once. */
static void audit_values(const struct evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->values; i++) {
        const struct evidence_value *value = &evidence->value[i];
        audit_value(evidence, value);
        CHECK(evidence_find(evidence, value->object, value->priority, (enum evidence_counter)value->counter) == value);
    }
}

static void audit_names(const struct evidence *evidence)
{
    const struct evidence_tables *tables = evidence->tables;

    CHECK(tables->objects.used == tables->names && tables->names >= evidence->objects);
    for (uint32_t i = 0; i < tables->names; i++) {
        const struct evidence_name *name = &tables->name[i];
        CHECK(evidence_is(evidence, name->object, (enum evidence_scope)name->scope));
        CHECK(evidence->object[name->object].parent == name->parent);
    }
}

static void audit_port(const struct evidence *evidence, uint32_t id, const struct evidence_object *port)
{
    const struct fabric *fabric = evidence->fabric;

    CHECK(evidence_is(evidence, port->parent, EVIDENCE_DEVICE) && port->host == EVIDENCE_NONE);
    if (port->peer != EVIDENCE_NONE)
        CHECK(port->peer != id && evidence_is(evidence, port->peer, EVIDENCE_PORT) &&
              evidence->object[port->peer].peer == id);
    if (port->same_as != EVIDENCE_NONE)
        CHECK(port->same_as != id && evidence_is(evidence, port->same_as, EVIDENCE_PORT) &&
              evidence->object[port->same_as].parent == port->parent);
    CHECK(port->fabric == EVIDENCE_NONE || (fabric && port->fabric < fabric->ports));
    for (unsigned i = 0; i < 2; i++)
        CHECK(port->neighbour[i] <= evidence->neighbours);
}

/* The list has each port once, in the order they were met: what is another's second name is left out. */
static uint32_t audit_list(const struct evidence *evidence, uint32_t device)
{
    uint32_t before = EVIDENCE_NONE, ports = 0;

    EVIDENCE_EACH_PORT(evidence, device, id)
    {
        CHECK(evidence_is(evidence, id, EVIDENCE_PORT) && evidence->object[id].parent == device);
        CHECK(evidence->object[id].same_as == EVIDENCE_NONE && (before == EVIDENCE_NONE || id > before));
        before = id;
        ports++;
    }
    CHECK(evidence->object[device].last == before);
    return ports;
}

static void audit_device(const struct evidence *evidence, const struct evidence_object *device)
{
    CHECK(device->parent == EVIDENCE_NONE && device->role <= FABRIC_ROLES && device->version <= evidence->versions);
    CHECK(device->fabric == EVIDENCE_NONE ||
          (evidence->fabric && device->fabric < evidence->fabric->nodes && device->role < FABRIC_ROLES));
    CHECK(!device->looked_at || device->seen_s <= evidence->last_s);
    for (uint32_t at = device->version; at; at = evidence->version[at - 1].next) {
        const struct evidence_version *version = &evidence->version[at - 1];
        CHECK(version->next < at && version->part < FABRIC_PARTS && version->where && version->text);
        CHECK(is_line(evidence, version->file));
    }
}

static void audit_objects(const struct evidence *evidence)
{
    uint32_t ports = 0, listed = 0;

    for (uint32_t id = 0; id < evidence->objects; id++) {
        const struct evidence_object *object = &evidence->object[id];
        CHECK(object->name && object->local_name && object->scope <= EVIDENCE_RANK);
        if (object->scope == EVIDENCE_DEVICE) {
            audit_device(evidence, object);
            listed += audit_list(evidence, id);
        } else if (object->scope == EVIDENCE_PORT) {
            audit_port(evidence, id, object);
            ports += object->same_as == EVIDENCE_NONE;
        } else {
            CHECK(object->scope == EVIDENCE_JOB ? object->parent == EVIDENCE_NONE
                                                : evidence_is(evidence, object->parent, EVIDENCE_JOB));
            CHECK(object->host == EVIDENCE_NONE || evidence_is(evidence, object->host, EVIDENCE_PORT) ||
                  evidence_is(evidence, object->host, EVIDENCE_DEVICE));
        }
    }
    CHECK(ports == listed);
}

/* What a simulation's document says of who made whom wait. */
static void audit_exact(const struct evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->pauses; i++) {
        const struct evidence_pause *pause = &evidence->pause[i];
        CHECK(evidence_is(evidence, pause->port, EVIDENCE_PORT) && evidence_is(evidence, pause->paused, EVIDENCE_PORT));
        CHECK(pause->priority < EVIDENCE_PRIORITIES);
        CHECK(pause->cause == EVIDENCE_NONE ||
              (evidence_is(evidence, pause->cause, EVIDENCE_PORT) &&
               evidence->object[pause->cause].parent == evidence->object[pause->port].parent));
    }
    for (uint32_t i = 0; i < evidence->circles; i++)
        for (uint32_t k = 0; k < evidence->circle[i].count; k++)
            CHECK(evidence_is(evidence, evidence->circle[i].port[k], EVIDENCE_PORT) &&
                  evidence->circle[i].priority[k] < EVIDENCE_PRIORITIES);
    for (uint32_t i = 0; i < evidence->flows; i++) {
        const struct evidence_flow *flow = &evidence->flow[i];
        CHECK(flow->job == EVIDENCE_NONE || evidence_is(evidence, flow->job, EVIDENCE_JOB));
        CHECK(evidence_is(evidence, flow->from, EVIDENCE_PORT) && evidence_is(evidence, flow->to, EVIDENCE_PORT));
    }
}

static void audit_event(const struct evidence *evidence, const struct evidence_event *event)
{
    CHECK(event->kind < EVIDENCE_EVENTS && event->count && is_line(evidence, event->file));
    CHECK(event->priority < EVIDENCE_PRIORITIES || event->priority == EVIDENCE_NO_PRIORITY);
    CHECK(event->object == EVIDENCE_NONE ||
          (event->object < evidence->objects && evidence->object[event->object].same_as == EVIDENCE_NONE));
    CHECK(isnan(event->first_s) == isnan(event->last_s) && !(event->first_s > event->last_s));
}

void evidence_audit(const struct evidence *evidence)
{
    CHECK(!evidence->looks || evidence->first_s <= evidence->last_s);
    CHECK(evidence->remarks || !evidence->full);
    audit_values(evidence);
    audit_names(evidence);
    audit_objects(evidence);
    audit_exact(evidence);
    for (uint32_t i = 0; i < evidence->neighbours; i++) {
        const struct evidence_neighbour *said = &evidence->neighbour[i];
        CHECK(evidence_is(evidence, said->port, EVIDENCE_PORT) && is_line(evidence, said->file));
        CHECK(evidence->object[said->port].same_as == EVIDENCE_NONE && said->device && said->port_name);
    }
    for (uint32_t i = 0; i < evidence->events; i++)
        audit_event(evidence, &evidence->event[i]);
    for (uint32_t i = 0; i < evidence->remarks; i++)
        CHECK(is_line(evidence, evidence->remark[i].file) && evidence->remark[i].text && !evidence->remark[i].alike);
}
