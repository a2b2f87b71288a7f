/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and values of evidence: tables that grow, found by hashes of what names them.  Tying ports together is in
 * tie.c.
 */
#include "evidence/evidence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "evidence/evidence_int.h"

#define MEMORY (1536u << 20) /* bytes for all of it: a million ports fit, and a hostile file ends in a remark */
#define RESERVE (1u << 20)   /* of the arena, for remarks on what did not fit */
#define REMARKS 200          /* more are counted */
#define VERSIONS_MOST 2048   /* of a device */
#define VERSION_BYTES 200
#define PATH_SHOWN 400

const struct evidence_counter_info evidence_counters[EVIDENCE_COUNTERS] = {
#define COUNTER(id, name, scope, kind, unit, help) {name, EVIDENCE_##scope, EVIDENCE_##kind, unit, help},
#include "evidence/counters.def"
#undef COUNTER
};

bool evidence_init(struct evidence *evidence)
{
    *evidence = (struct evidence){0};
    arena_init(&evidence->arena, MEMORY);
    evidence->tables = ARENA_NEW(&evidence->arena, struct evidence_tables, 1);
    if (!evidence->tables) return false;
    hash_secret_init(&evidence->tables->secret);
    evidence_bound(evidence, MEMORY);
    return true;
}

void evidence_bound(struct evidence *evidence, size_t bytes)
{
    evidence->memory = bytes;
    evidence->arena.limit_bytes = bytes;
}

void evidence_release(struct evidence *evidence)
{
    void *grown[] = {evidence->object,
                     evidence->value,
                     evidence->file,
                     evidence->pause,
                     evidence->circle,
                     evidence->flow,
                     evidence->neighbour,
                     evidence->version,
                     evidence->remark,
                     evidence->tables ? evidence->tables->objects.slot : NULL,
                     evidence->tables ? evidence->tables->values.slot : NULL,
                     evidence->tables ? evidence->tables->name : NULL};

    for (size_t i = 0; i < sizeof grown / sizeof grown[0]; i++)
        free(grown[i]);
    arena_release(&evidence->arena);
    *evidence = (struct evidence){0};
}

static void too_much(struct evidence *evidence)
{
    if (evidence->full) return;
    evidence->full = true;
    evidence->arena.limit_bytes += RESERVE;
    evidence_remark(evidence, EVIDENCE_NONE, 0, "there is too much to keep in memory: the rest was not read");
}

/* Takes bytes from what arrays, tables and the arena have together.  False: there are not so many. */
static bool hold(struct evidence *evidence, size_t bytes)
{
    struct evidence_tables *tables = evidence->tables;
    size_t held = tables->held + evidence->arena.used_bytes;

    if (held > evidence->memory || bytes > evidence->memory - held) return false;
    tables->held += bytes;
    evidence->arena.limit_bytes = evidence->memory - tables->held;
    return true;
}

/* Room for one more of `count` elements; false: there is none, and that was said. */
static bool room(struct evidence *evidence, void *array, uint32_t count, size_t size)
{
    void **at = array;

    if (evidence->full) return false;
    if (count & (count - 1) || (count && count < 16)) return true; /* grown at 0, 16, 32, 64, ... */
    size_t more = count ? 2 * (size_t)count : 16;
    void *grown = hold(evidence, (more - count) * size) ? realloc(*at, more * size) : NULL;
    if (!grown) {
        too_much(evidence);
        return false;
    }
    *at = grown;
    return true;
}
#define ROOM(evidence, array, count) room(evidence, &(array), count, sizeof(array)[0])

static char *kept(struct evidence *evidence, const char *text, size_t length)
{
    char *copy = arena_strndup(&evidence->arena, text, length);

    if (!copy) too_much(evidence);
    return copy;
}

/* Open addressing: the first free slot from where the hash says. */
static void table_put(struct evidence_table *table, uint32_t hash, uint32_t index)
{
    uint32_t at = hash & (table->slots - 1);

    while (table->slot[at].index)
        at = (at + 1) & (table->slots - 1);
    table->slot[at] = (struct evidence_slot){index + 1, hash};
    table->used++;
}

/* Room for one more, before it is three quarters full.  False: there is none, and that was said. */
static bool table_grow(struct evidence *evidence, struct evidence_table *table)
{
    uint32_t slots = table->slots ? 2 * table->slots : 1024;
    struct evidence_table grown = {NULL, slots, 0};

    if (table->used < table->slots / 4 * 3) return true;
    if (hold(evidence, (slots - table->slots) * sizeof grown.slot[0])) grown.slot = calloc(slots, sizeof grown.slot[0]);
    if (!grown.slot) {
        too_much(evidence);
        return false;
    }
    for (uint32_t i = 0; i < table->slots; i++)
        if (table->slot[i].index) table_put(&grown, table->slot[i].hash, table->slot[i].index - 1);
    free(table->slot);
    *table = grown;
    return true;
}

/* Slots that may be meant: each that has this hash, from where it says to the first free one. */
#define TABLE_EACH(table, key, at)                                                                                     \
    for (uint32_t at = (uint32_t)(key) & ((table)->slots - 1); (table)->slots && (table)->slot[at].index;              \
         at = (at + 1) & ((table)->slots - 1))                                                                         \
        if ((table)->slot[at].hash == (uint32_t)(key))

static uint64_t name_hash(const struct evidence *evidence, unsigned scope, uint32_t parent, const char *name,
                          size_t length)
{
    return hash_secret(&evidence->tables->secret, (uint64_t)scope << 32 | parent, name, length);
}

/* The table of names holds indices into names[], which are objects or aliases of them. */
static uint32_t name_find(const struct evidence *evidence, unsigned scope, uint32_t parent, const char *name,
                          size_t length)
{
    const struct evidence_tables *tables = evidence->tables;
    const struct evidence_table *table = &tables->objects;
    uint64_t hash = name_hash(evidence, scope, parent, name, length);

    TABLE_EACH(table, hash, at)
    {
        const struct evidence_name *entry = &tables->name[table->slot[at].index - 1];
        if (entry->hash == hash && entry->scope == scope && entry->parent == parent &&
            !strncmp(entry->text, name, length) && !entry->text[length])
            return entry->object;
    }
    return EVIDENCE_NONE;
}

bool evidence_name_add(struct evidence *evidence, unsigned scope, uint32_t parent, const char *text, uint32_t object)
{
    struct evidence_tables *tables = evidence->tables;
    struct evidence_table *table = &tables->objects;
    uint64_t hash = name_hash(evidence, scope, parent, text, strlen(text));

    if (!ROOM(evidence, tables->name, tables->names) || !table_grow(evidence, table)) return false;
    tables->name[tables->names] = (struct evidence_name){hash, text, object, parent, (uint8_t)scope};
    table_put(table, (uint32_t)hash, tables->names++);
    return true;
}

static uint32_t object_new(struct evidence *evidence, unsigned scope, uint32_t parent, const char *name, size_t length)
{
    const char *text = kept(evidence, name, length);
    uint32_t id = evidence->objects;

    if (!text || !ROOM(evidence, evidence->object, id) || !evidence_name_add(evidence, scope, parent, text, id))
        return EVIDENCE_NONE;
    evidence->object[id] = (struct evidence_object){
        .name = text,
        .local_name = text,
        .parent = parent,
        .peer = EVIDENCE_NONE,
        .fabric = EVIDENCE_NONE,
        .host = EVIDENCE_NONE,
        .next = EVIDENCE_NONE,
        .last = EVIDENCE_NONE,
        .same_as = EVIDENCE_NONE,
        .scope = (uint8_t)scope,
        .role = FABRIC_ROLES,
    };
    evidence->objects++;
    return id;
}

static uint32_t object_of(struct evidence *evidence, unsigned scope, uint32_t parent, const char *name, size_t length)
{
    uint32_t found = name_find(evidence, scope, parent, name, length);

    return found != EVIDENCE_NONE ? found : object_new(evidence, scope, parent, name, length);
}

uint32_t evidence_device(struct evidence *evidence, const char *name, size_t length)
{
    return object_of(evidence, EVIDENCE_DEVICE, EVIDENCE_NONE, name, length);
}

/* Ports of a device are a list in the order they were met, so that answers have the same order. */
uint32_t evidence_port(struct evidence *evidence, uint32_t device, const char *name, size_t length)
{
    uint32_t port, *last;

    if (device == EVIDENCE_NONE || !length) return EVIDENCE_NONE;
    port = name_find(evidence, EVIDENCE_PORT, device, name, length);
    if (port != EVIDENCE_NONE) return port;
    port = object_new(evidence, EVIDENCE_PORT, device, name, length);
    if (port == EVIDENCE_NONE) return port;
    last = &evidence->object[device].last;
    if (*last == EVIDENCE_NONE)
        evidence->object[device].next = port;
    else
        evidence->object[*last].next = port;
    *last = port;
    return port;
}

uint32_t evidence_port_find(const struct evidence *evidence, uint32_t device, const char *name, size_t length)
{
    return name_find(evidence, EVIDENCE_PORT, device, name, length);
}

uint32_t evidence_device_find(const struct evidence *evidence, const char *name, size_t length)
{
    return name_find(evidence, EVIDENCE_DEVICE, EVIDENCE_NONE, name, length);
}

uint32_t evidence_job(struct evidence *evidence, const char *name, size_t length)
{
    return object_of(evidence, EVIDENCE_JOB, EVIDENCE_NONE, name, length);
}

uint32_t evidence_rank(struct evidence *evidence, uint32_t job, uint32_t rank)
{
    char name[24];
    int length = snprintf(name, sizeof name, "rank %u", rank);

    return job == EVIDENCE_NONE ? EVIDENCE_NONE : object_of(evidence, EVIDENCE_RANK, job, name, (size_t)length);
}

uint32_t evidence_file(struct evidence *evidence, const char *name)
{
    const char *text;

    if (evidence->files && !strcmp(evidence->file[evidence->files - 1], name)) return evidence->files - 1;
    text = kept(evidence, name, strlen(name));
    if (!text || !ROOM(evidence, evidence->file, evidence->files)) return EVIDENCE_NONE;
    evidence->file[evidence->files] = text;
    return evidence->files++;
}

void evidence_alias(struct evidence *evidence, uint32_t port, const char *name, size_t length)
{
    const char *text;

    if (port == EVIDENCE_NONE || !length) return;
    uint32_t device = evidence->object[port].parent;
    uint32_t other = name_find(evidence, EVIDENCE_PORT, device, name, length);
    for (int i = 0; i < 8 && evidence->object[port].same_as != EVIDENCE_NONE; i++) /* no two stand for each other */
        port = evidence->object[port].same_as;
    if (other == port) return;
    if (other != EVIDENCE_NONE)
        evidence->object[other].same_as = port;
    else if ((text = kept(evidence, name, length)))
        evidence_name_add(evidence, EVIDENCE_PORT, device, text, port);
}

static uint64_t value_key(const struct evidence *evidence, uint32_t object, unsigned priority, unsigned counter)
{
    uint64_t key = ((uint64_t)object << 16 | priority << 8 | counter) ^ evidence->tables->secret.word[0];

    key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9u; /* mixes low bits, which choose the slot, with all others */
    return key ^ key >> 32;
}

static struct evidence_value *value_find(const struct evidence *evidence, uint32_t object, unsigned priority,
                                         unsigned counter)
{
    const struct evidence_table *table = &evidence->tables->values;
    uint64_t key = value_key(evidence, object, priority, counter);

    TABLE_EACH(table, key, at)
    {
        struct evidence_value *value = &evidence->value[table->slot[at].index - 1];
        if (value->object == object && value->priority == priority && value->counter == counter) return value;
    }
    return NULL;
}

static struct evidence_value *value_new(struct evidence *evidence, uint32_t object, unsigned priority, unsigned counter)
{
    struct evidence_table *table = &evidence->tables->values;

    if (!ROOM(evidence, evidence->value, evidence->values) || !table_grow(evidence, table)) return NULL;
    table_put(table, (uint32_t)value_key(evidence, object, priority, counter), evidence->values);
    struct evidence_value *value = &evidence->value[evidence->values++];
    *value = (struct evidence_value){.object = object, .priority = (uint8_t)priority, .counter = (uint8_t)counter};
    return value;
}

static void noticed(struct evidence *evidence, uint32_t object, double at_s)
{
    struct evidence_object *of = &evidence->object[object];

    if (of->scope == EVIDENCE_PORT) of = &evidence->object[of->parent];
    of->looked_at = true;
    if (at_s > of->seen_s) of->seen_s = at_s;
    if (evidence->looks && at_s >= evidence->first_s && at_s <= evidence->last_s) return;
    if (!evidence->looks || at_s < evidence->first_s) evidence->first_s = at_s;
    if (!evidence->looks || at_s > evidence->last_s) evidence->last_s = at_s;
    evidence->looks++;
}

/* What a counter says now, when it said `before` at the look before. */
static void grow(struct evidence_value *value, uint64_t before, uint64_t now)
{
    if (evidence_counters[value->counter].kind != EVIDENCE_COUNT) {
        value->grown = now;
    } else if (now >= before) {
        value->grown += now - before;
    } else {
        value->reset = true;
        value->grown += now;
    }
}

void evidence_put(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t number, double real, const struct evidence_source *source, bool add)
{
    struct evidence_value *value;

    if (object == EVIDENCE_NONE || object >= evidence->objects) return;
    if (priority != EVIDENCE_NO_PRIORITY && priority >= EVIDENCE_PRIORITIES) return;
    value = value_find(evidence, object, priority, counter);
    if (!value && !(value = value_new(evidence, object, priority, counter))) return;
    noticed(evidence, object, source->at_s);
    if (!value->looks) {
        value->looks = 1;
        value->first = number;
        value->first_s = source->at_s;
        value->grown = number;
    } else if (source->at_s > value->last_s) {
        if (value->looks == 1 && evidence_counters[counter].kind == EVIDENCE_COUNT) value->grown = 0;
        value->looks++;
        value->before = value->last;
        value->before_s = value->last_s;
        value->grown_before = value->grown;
        value->reset_before = value->reset;
        grow(value, value->before, number);
    } else {
        if (add && __builtin_add_overflow(number, value->last, &number)) number = UINT64_MAX;
        if (!add && evidence_counters[counter].kind == EVIDENCE_PEAK && number < value->last) return;
        if (value->looks == 1) {
            value->first = value->grown = number;
        } else {
            value->grown = value->grown_before;
            value->reset = value->reset_before;
            grow(value, value->before, number);
        }
    }
    value->last = number;
    value->weak = false;
    value->real = real >= 0 || real < 0 ? real : (double)number;
    value->last_s = source->at_s > value->last_s || value->looks == 1 ? source->at_s : value->last_s;
    value->file = source->file;
    value->line = source->line;
}

void evidence_set(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t value, const struct evidence_source *source)
{
    evidence_put(evidence, object, priority, counter, value, (double)value, source, false);
}

void evidence_grew(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                   uint64_t value, const struct evidence_source *first, const struct evidence_source *last)
{
    bool fresh = object < evidence->objects && (priority < EVIDENCE_PRIORITIES || priority == EVIDENCE_NO_PRIORITY) &&
                 first->at_s < last->at_s && evidence_counters[counter].kind == EVIDENCE_COUNT &&
                 !value_find(evidence, object, priority, counter);
    struct evidence_value *new = fresh ? value_new(evidence, object, priority, counter) : NULL;

    if (!new) {
        evidence_set(evidence, object, priority, counter, 0, first);
        evidence_set(evidence, object, priority, counter, value, last);
        return;
    }
    noticed(evidence, object, first->at_s);
    noticed(evidence, object, last->at_s);
    new->looks = 2;
    new->first_s = new->before_s = first->at_s;
    new->last_s = last->at_s;
    new->last = new->grown = value;
    new->real = (double)value;
    new->file = last->file;
    new->line = last->line;
}

void evidence_sum(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t value, const struct evidence_source *source)
{
    evidence_put(evidence, object, priority, counter, value, (double)value, source, true);
}

void evidence_offer(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                    uint64_t value, const struct evidence_source *source)
{
    struct evidence_value *has;

    if (object >= evidence->objects) return;
    has = value_find(evidence, object, priority, counter);
    if (has && source->at_s <= has->last_s) return;
    evidence_set(evidence, object, priority, counter, value, source);
    has = value_find(evidence, object, priority, counter);
    if (has) has->weak = true;
}

void evidence_set_real(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                       double value, const struct evidence_source *source)
{
    if (!(value >= 0 && value < 1.8e19)) return; /* no counter is below 0, or larger; NaN is none */
    evidence_put(evidence, object, priority, counter, (uint64_t)value, value, source, false);
}

const struct evidence_value *evidence_find(const struct evidence *evidence, uint32_t object, unsigned priority,
                                           enum evidence_counter counter)
{
    return object < evidence->objects ? value_find(evidence, object, priority, counter) : NULL;
}

uint32_t evidence_next(const struct evidence *evidence, enum evidence_scope scope, uint32_t after)
{
    for (uint32_t id = after == EVIDENCE_NONE ? 0 : after + 1; id < evidence->objects; id++)
        if (evidence->object[id].scope == scope) return id;
    return EVIDENCE_NONE;
}

void evidence_add_pause(struct evidence *evidence, const struct evidence_pause *pause)
{
    if (ROOM(evidence, evidence->pause, evidence->pauses)) evidence->pause[evidence->pauses++] = *pause;
}

void evidence_add_flow(struct evidence *evidence, const struct evidence_flow *flow)
{
    if (ROOM(evidence, evidence->flow, evidence->flows)) evidence->flow[evidence->flows++] = *flow;
}

void evidence_add_circle(struct evidence *evidence, const uint32_t *port, const uint8_t *priority, uint32_t count,
                         bool ended)
{
    uint32_t *ports = ARENA_NEW(&evidence->arena, uint32_t, count);
    uint8_t *priorities = ARENA_NEW(&evidence->arena, uint8_t, count);

    if (!ports || !priorities || !ROOM(evidence, evidence->circle, evidence->circles)) return;
    memcpy(ports, port, count * sizeof ports[0]);
    memcpy(priorities, priority, count * sizeof priorities[0]);
    evidence->circle[evidence->circles++] = (struct evidence_circle){count, ports, priorities, ended};
}

static void add_neighbour(struct evidence *evidence, uint32_t port, const char *device, const char *port_name,
                          const struct evidence_source *source, bool described)
{
    if (port == EVIDENCE_NONE) return;
    uint32_t said = evidence->object[port].neighbour[described];
    struct evidence_neighbour *before = said ? &evidence->neighbour[said - 1] : NULL;
    if (before && !strcmp(before->device, device) && !strcmp(before->port_name, port_name))
        return; /* at another look */
    const char *on = kept(evidence, device, strlen(device)), *at = kept(evidence, port_name, strlen(port_name));
    if (!on || !at || !ROOM(evidence, evidence->neighbour, evidence->neighbours)) return;
    evidence->neighbour[evidence->neighbours++] =
        (struct evidence_neighbour){port, on, at, source->file, source->line, described};
    evidence->object[port].neighbour[described] = evidence->neighbours;
}

void evidence_add_neighbour(struct evidence *evidence, uint32_t port, const char *device, const char *port_name,
                            const struct evidence_source *source)
{
    add_neighbour(evidence, port, device, port_name, source, false);
}

void evidence_add_description(struct evidence *evidence, uint32_t port, const char *device, const char *port_name,
                              const struct evidence_source *source)
{
    add_neighbour(evidence, port, device, port_name, source, true);
}

/* Of so many parts of a device: a host has a dozen adapters, a switch hundreds of optics. */
void evidence_set_version(struct evidence *evidence, uint32_t device, enum fabric_part part, const char *where,
                          const char *text, size_t length, const struct evidence_source *source)
{
    unsigned seen = 0;

    if (device == EVIDENCE_NONE || !length || length > VERSION_BYTES) return;
    uint32_t at = evidence->object[device].version;
    for (; at && seen < VERSIONS_MOST; at = evidence->version[at - 1].next, seen++)
        if (evidence->version[at - 1].part == part && !strcmp(evidence->version[at - 1].where, where)) break;
    const char *name = at ? evidence->version[at - 1].where : kept(evidence, where, strlen(where));
    const char *copy = kept(evidence, text, length);
    if (seen == VERSIONS_MOST || !name || !copy) return;
    if (!at) {
        if (!ROOM(evidence, evidence->version, evidence->versions)) return;
        at = ++evidence->versions;
        evidence->version[at - 1].next = evidence->object[device].version;
        evidence->object[device].version = at;
    }
    noticed(evidence, device, source->at_s);
    evidence->version[at - 1] = (struct evidence_version){(uint8_t)part, name,         copy,
                                                          source->file,  source->line, evidence->version[at - 1].next};
}

void evidence_remark(struct evidence *evidence, uint32_t file, uint32_t line, const char *format, ...)
{
    char text[512];
    struct evidence_remark *grown;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; file != EVIDENCE_NONE && i < evidence->remarks; i++)
        if (evidence->remark[i].file != EVIDENCE_NONE && !strcmp(evidence->remark[i].text, text)) {
            evidence->remark[i].alike++;
            return;
        }
    if (evidence->remarks == REMARKS) {
        evidence->remarks_left_out++;
        return;
    }
    grown = realloc(evidence->remark, (evidence->remarks + 1) * sizeof grown[0]);
    char *copy = arena_strndup(&evidence->arena, text, strlen(text));
    if (grown) evidence->remark = grown;
    if (!grown || !copy) return;
    grown[evidence->remarks++] = (struct evidence_remark){file, line, copy, 0};
}

void evidence_unread(struct evidence *evidence, const char *path, const char *why)
{
    char text[PATH_SHOWN + 128];

    evidence_remark(evidence, evidence_file(evidence, path), 0, "%s", why);
    if (evidence->unread++) return;
    snprintf(text, sizeof text, "%.*s: %s", PATH_SHOWN, path, why);
    evidence->first_unread = kept(evidence, text, strlen(text));
}

void evidence_tie(struct evidence *evidence, uint32_t a, uint32_t b)
{
    struct evidence_object *object = evidence->object;

    if (a >= evidence->objects || b >= evidence->objects || a == b) return;
    /* Texts may tie one port to several; the last word counts, and a peer's peer is always the port itself. */
    if (object[a].peer != EVIDENCE_NONE) object[object[a].peer].peer = EVIDENCE_NONE;
    if (object[b].peer != EVIDENCE_NONE) object[object[b].peer].peer = EVIDENCE_NONE;
    object[a].peer = b;
    object[b].peer = a;
}
