/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables by which objects and values are found.  Private to src/evidence.
 */
#ifndef ROCELAB_EVIDENCE_EVIDENCE_INT_H
#define ROCELAB_EVIDENCE_EVIDENCE_INT_H

#include "base/hash_secret.h"
#include "evidence/evidence.h"

struct evidence_slot {
    uint32_t index; /* plus one; 0: free */
    uint32_t hash;  /* so that most of what is not meant needs no second look */
};
struct evidence_table {
    struct evidence_slot *slot;
    uint32_t slots, used;
};
struct evidence_name {
    uint64_t hash;
    const char *text;
    uint32_t object, parent;
    uint8_t scope;
};
/* Where the values of an object are: a page for each priority, one for what has none, and one for counters of
 * priorities whose priority nobody said.  Index of the page's first cell; 0: there is none. */
#define EVIDENCE_PAGES (EVIDENCE_PRIORITIES + 2)
struct evidence_pages {
    uint32_t first[EVIDENCE_PAGES];
    uint8_t scope; /* of the object */
};
struct evidence_place {      /* of a counter */
    uint8_t scope;           /* of objects that have it */
    uint8_t column, columns; /* cell in its page, of so many */
    bool by_priority, counts;
};
#define EVIDENCE_PUTS 32
struct evidence_tables {
    struct evidence_table objects;
    struct hash_secret secret;   /* of names: where they stand in the table is never printed */
    struct evidence_pages *page; /* [objects] */
    uint32_t *cell, cells,
        cell_room; /* of pages: index of a value plus one; 0: nobody said it.  The first is nobody's */
    struct evidence_place place[EVIDENCE_COUNTERS];
    uint32_t *event;             /* places of events by what they say: index plus one; NULL: there are none */
    uint64_t put[EVIDENCE_PUTS]; /* what was kept of the line in hand */
    uint32_t puts, block;        /* block: of all lines since one that is not set in */
    uint32_t *suspect;           /* places of suspects by what they are of: index plus one; NULL: there are none */
    bool idle;                   /* the place of lines that nobody took began with one that says nothing */
    size_t held;                 /* bytes of these tables and of all arrays of the evidence */
    struct evidence_name *name;  /* of objects, and aliases */
    uint32_t names;
};

/* EVIDENCE_NONE: there is none. */
uint32_t evidence_device_find(const struct evidence *evidence, const char *name, size_t length);
uint32_t evidence_port_find(const struct evidence *evidence, uint32_t device, const char *name, size_t length);
/* An object of this scope. */
static inline bool evidence_is(const struct evidence *evidence, uint32_t id, enum evidence_scope scope)
{
    return id < evidence->objects && evidence->object[id].scope == scope;
}

/* Takes bytes from what arrays, tables and the arena have together.  False: there are not so many. */
bool evidence_hold(struct evidence *evidence, size_t bytes);
void evidence_too_much(struct evidence *evidence); /* is said, and nothing more is kept */
/* Room for one more of `count` elements; false: there is none, and that was said. */
bool evidence_room(struct evidence *evidence, void *array, uint32_t count, size_t size);
#define ROOM(evidence, array, count) evidence_room(evidence, &(array), count, sizeof(array)[0])

/* values.c */
void evidence_values_init(struct evidence_tables *tables);
void evidence_noticed(struct evidence *evidence, uint32_t object, double at_s);
/* A look: `add` to what the same look has said already, or set it. */
void evidence_put(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t number, double real, const struct evidence_source *source, bool add);
/* ranks.c: RANK_LATE_NS from RANK_COLLECTIVE_NS, where nobody said it */
void evidence_lateness(struct evidence *evidence);

#endif
