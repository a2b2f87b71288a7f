/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and values of evidence: tables that grow, found by hashes of what names them.  Tying ports together is in
 * tie.c.
 */
#include "evidence/evidence.h"

#include <math.h>
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
#define UNKNOWNS 1000 /* places; more are counted */
#define UNKNOWN_BYTES 160

const struct evidence_counter_info evidence_counters[EVIDENCE_COUNTERS] = {
#define COUNTER(id, name, scope, kind, unit, help) {name, EVIDENCE_##scope, EVIDENCE_##kind, unit, help},
#include "evidence/counters.def"
#undef COUNTER
};

bool evidence_init(struct evidence *evidence)
{
    *evidence = (struct evidence){0};
    memset(evidence->first, 0xff, sizeof evidence->first);
    evidence->clock_s = NAN;
    arena_init(&evidence->arena, MEMORY);
    evidence->tables = ARENA_NEW(&evidence->arena, struct evidence_tables, 1);
    if (!evidence->tables) return false;
    hash_secret_init(&evidence->tables->secret);
    evidence_values_init(evidence->tables);
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
                     evidence->event,
                     evidence->remark,
                     evidence->unknown,
                     evidence->suspect,
                     evidence->tables ? evidence->tables->objects.slot : NULL,
                     evidence->tables ? evidence->tables->page : NULL,
                     evidence->tables ? evidence->tables->cell : NULL,
                     evidence->tables ? evidence->tables->name : NULL};

    for (size_t i = 0; i < sizeof grown / sizeof grown[0]; i++)
        free(grown[i]);
    arena_release(&evidence->arena);
    *evidence = (struct evidence){0};
}

void evidence_too_much(struct evidence *evidence)
{
    if (evidence->full) return;
    evidence->full = true;
    evidence->arena.limit_bytes += RESERVE;
    evidence_remark(evidence, EVIDENCE_NONE, 0, "there is too much to keep in memory: the rest was not read");
}

bool evidence_hold(struct evidence *evidence, size_t bytes)
{
    struct evidence_tables *tables = evidence->tables;
    size_t held = tables->held + evidence->arena.used_bytes;

    if (held > evidence->memory || bytes > evidence->memory - held) return false;
    tables->held += bytes;
    evidence->arena.limit_bytes = evidence->memory - tables->held;
    return true;
}

bool evidence_room(struct evidence *evidence, void *array, uint32_t count, size_t size)
{
    void **at = array;

    if (evidence->full) return false;
    if (count & (count - 1) || (count && count < 16)) return true; /* grown at 0, 16, 32, 64, ... */
    size_t more = count ? 2 * (size_t)count : 16;
    void *grown = evidence_hold(evidence, (more - count) * size) ? realloc(*at, more * size) : NULL;
    if (!grown) {
        evidence_too_much(evidence);
        return false;
    }
    *at = grown;
    return true;
}

static char *kept(struct evidence *evidence, const char *text, size_t length)
{
    char *copy = arena_strndup(&evidence->arena, text, length);

    if (!copy) evidence_too_much(evidence);
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
    if (evidence_hold(evidence, (slots - table->slots) * sizeof grown.slot[0]))
        grown.slot = calloc(slots, sizeof grown.slot[0]);
    if (!grown.slot) {
        evidence_too_much(evidence);
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
static uint32_t name_find_by(const struct evidence *evidence, uint64_t hash, unsigned scope, uint32_t parent,
                             const char *name, size_t length)
{
    const struct evidence_tables *tables = evidence->tables;
    const struct evidence_table *table = &tables->objects;

    TABLE_EACH(table, hash, at)
    {
        const struct evidence_name *entry = &tables->name[table->slot[at].index - 1];
        if (entry->hash == hash && entry->scope == scope && entry->parent == parent &&
            !strncmp(entry->text, name, length) && !entry->text[length])
            return entry->object;
    }
    return EVIDENCE_NONE;
}

static uint32_t name_find(const struct evidence *evidence, unsigned scope, uint32_t parent, const char *name,
                          size_t length)
{
    return name_find_by(evidence, name_hash(evidence, scope, parent, name, length), scope, parent, name, length);
}

static bool name_add(struct evidence *evidence, uint64_t hash, unsigned scope, uint32_t parent, const char *text,
                     uint32_t object)
{
    struct evidence_tables *tables = evidence->tables;
    struct evidence_table *table = &tables->objects;

    if (!ROOM(evidence, tables->name, tables->names) || !table_grow(evidence, table)) return false;
    tables->name[tables->names] = (struct evidence_name){hash, text, object, parent, (uint8_t)scope};
    table_put(table, (uint32_t)hash, tables->names++);
    return true;
}

static uint32_t object_new(struct evidence *evidence, uint64_t hash, unsigned scope, uint32_t parent, const char *name,
                           size_t length)
{
    const char *text = kept(evidence, name, length);
    uint32_t id = evidence->objects;

    if (!text || !ROOM(evidence, evidence->object, id) || !ROOM(evidence, evidence->tables->page, id) ||
        !name_add(evidence, hash, scope, parent, text, id))
        return EVIDENCE_NONE;
    evidence->tables->page[id] = (struct evidence_pages){.scope = (uint8_t)scope};
    evidence->object[id] = (struct evidence_object){
        .name = text,
        .local_name = text,
        .parent = parent,
        .peer = EVIDENCE_NONE,
        .fabric = EVIDENCE_NONE,
        .host = EVIDENCE_NONE,
        .next = EVIDENCE_NONE,
        .last = EVIDENCE_NONE,
        .follows = EVIDENCE_NONE,
        .same_as = EVIDENCE_NONE,
        .scope = (uint8_t)scope,
        .role = FABRIC_ROLES,
    };
    evidence->objects++;
    uint32_t *link = evidence->first[scope] == EVIDENCE_NONE ? &evidence->first[scope]
                                                             : &evidence->object[evidence->latest[scope]].follows;
    *link = evidence->latest[scope] = id;
    return id;
}

static uint32_t object_of(struct evidence *evidence, unsigned scope, uint32_t parent, const char *name, size_t length)
{
    uint64_t hash = name_hash(evidence, scope, parent, name, length);
    uint32_t found = name_find_by(evidence, hash, scope, parent, name, length);

    return found != EVIDENCE_NONE ? found : object_new(evidence, hash, scope, parent, name, length);
}

uint32_t evidence_device(struct evidence *evidence, const char *name, size_t length)
{
    return object_of(evidence, EVIDENCE_DEVICE, EVIDENCE_NONE, name, length);
}

/* Ports of a device are a list in the order they were met, so that answers have the same order. */
uint32_t evidence_port(struct evidence *evidence, uint32_t device, const char *name, size_t length)
{
    uint32_t objects = evidence->objects, port, *last;

    if (device == EVIDENCE_NONE || !length) return EVIDENCE_NONE;
    CHECK(evidence_is(evidence, device, EVIDENCE_DEVICE));
    port = object_of(evidence, EVIDENCE_PORT, device, name, length);
    if (port == EVIDENCE_NONE || port < objects) return port;
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

    CHECK(job == EVIDENCE_NONE || evidence_is(evidence, job, EVIDENCE_JOB));
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
    CHECK(evidence_is(evidence, port, EVIDENCE_PORT));
    uint32_t device = evidence->object[port].parent;
    uint32_t other = name_find(evidence, EVIDENCE_PORT, device, name, length);
    for (int i = 0; i < 8 && evidence->object[port].same_as != EVIDENCE_NONE; i++) /* no two stand for each other */
        port = evidence->object[port].same_as;
    if (other == port) return;
    if (other != EVIDENCE_NONE)
        evidence->object[other].same_as = port;
    else if ((text = kept(evidence, name, length)))
        name_add(evidence, name_hash(evidence, EVIDENCE_PORT, device, text, strlen(text)), EVIDENCE_PORT, device, text,
                 port);
}

void evidence_add_pause(struct evidence *evidence, const struct evidence_pause *pause)
{
    CHECK(evidence_is(evidence, pause->port, EVIDENCE_PORT) && evidence_is(evidence, pause->paused, EVIDENCE_PORT));
    CHECK(pause->cause == EVIDENCE_NONE || evidence_is(evidence, pause->cause, EVIDENCE_PORT));
    CHECK(pause->priority < EVIDENCE_PRIORITIES);
    if (ROOM(evidence, evidence->pause, evidence->pauses)) evidence->pause[evidence->pauses++] = *pause;
}

void evidence_add_flow(struct evidence *evidence, const struct evidence_flow *flow)
{
    CHECK(flow->job == EVIDENCE_NONE || evidence_is(evidence, flow->job, EVIDENCE_JOB));
    CHECK(evidence_is(evidence, flow->from, EVIDENCE_PORT) && evidence_is(evidence, flow->to, EVIDENCE_PORT));
    if (ROOM(evidence, evidence->flow, evidence->flows)) evidence->flow[evidence->flows++] = *flow;
}

void evidence_add_circle(struct evidence *evidence, const uint32_t *port, const uint8_t *priority, uint32_t count,
                         bool ended)
{
    uint32_t *ports = ARENA_NEW(&evidence->arena, uint32_t, count);
    uint8_t *priorities = ARENA_NEW(&evidence->arena, uint8_t, count);

    for (uint32_t i = 0; i < count; i++)
        CHECK(evidence_is(evidence, port[i], EVIDENCE_PORT) && priority[i] < EVIDENCE_PRIORITIES);
    if (!ports || !priorities || !ROOM(evidence, evidence->circle, evidence->circles)) return;
    memcpy(ports, port, count * sizeof ports[0]);
    memcpy(priorities, priority, count * sizeof priorities[0]);
    evidence->circle[evidence->circles++] = (struct evidence_circle){count, ports, priorities, ended};
}

static void add_neighbour(struct evidence *evidence, uint32_t port, const char *device, const char *port_name,
                          const struct evidence_source *source, bool described)
{
    if (port == EVIDENCE_NONE) return;
    CHECK(evidence_is(evidence, port, EVIDENCE_PORT));
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
    CHECK(evidence_is(evidence, device, EVIDENCE_DEVICE));
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
    evidence_noticed(evidence, device, source->at_s);
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

/* Of `length` bytes as many as are kept, and no half of a character. */
static size_t cut(const char *text, size_t length, size_t most)
{
    if (length <= most) return length;
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

static bool is_idle(const char *line)
{
    static const char *const begins[] = {
#define IDLE(text) text,
#include "evidence/idle.def"
#undef IDLE
    };

    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (!strncmp(line, begins[i], strlen(begins[i]))) return true;
    return false;
}

void evidence_unknown(struct evidence *evidence, const struct evidence_source *source, const char *reader,
                      const char *text, bool more)
{
    struct evidence_unknown *last = evidence->unknowns ? &evidence->unknown[evidence->unknowns - 1] : NULL;

    text += strspn(text, " \t");
    if (is_idle(text)) {
        evidence->tables->idle |= !more;
        return;
    }
    more &= !evidence->tables->idle;
    evidence->tables->idle = false;
    evidence->lines_unknown++;
    if (more) { /* where its first line was left out, so is it */
        if (last && !evidence->unknowns_left_out && last->file == source->file) last->lines++;
        return;
    }
    if (evidence->unknowns == UNKNOWNS) {
        evidence->unknowns_left_out++;
        return;
    }
    text = kept(evidence, text, cut(text, strnlen(text, UNKNOWN_BYTES + 1), UNKNOWN_BYTES));
    if (!text || !ROOM(evidence, evidence->unknown, evidence->unknowns)) return;
    evidence->unknown[evidence->unknowns++] = (struct evidence_unknown){source->file, source->line, 1, text, reader};
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

    if (a == EVIDENCE_NONE || b == EVIDENCE_NONE || a == b) return;
    CHECK(evidence_is(evidence, a, EVIDENCE_PORT) && evidence_is(evidence, b, EVIDENCE_PORT));
    /* Texts may tie one port to several; the last word counts, and a peer's peer is always the port itself. */
    if (object[a].peer != EVIDENCE_NONE) object[object[a].peer].peer = EVIDENCE_NONE;
    if (object[b].peer != EVIDENCE_NONE) object[object[b].peer].peer = EVIDENCE_NONE;
    object[a].peer = b;
    object[b].peer = a;
}
