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
struct evidence_tables {
    struct evidence_table objects, values;
    struct hash_secret secret;  /* of both: where things stand in them is never printed */
    size_t held;                /* bytes of these tables and of all arrays of the evidence */
    struct evidence_name *name; /* of objects, and aliases */
    uint32_t names;
};

/* EVIDENCE_NONE: there is none. */
uint32_t evidence_device_find(const struct evidence *evidence, const char *name, size_t length);
uint32_t evidence_port_find(const struct evidence *evidence, uint32_t device, const char *name, size_t length);
bool evidence_name_add(struct evidence *evidence, unsigned scope, uint32_t parent, const char *text, uint32_t object);
/* A look: `add` to what the same look has said already, or set it. */
void evidence_put(struct evidence *evidence, uint32_t object, unsigned priority, enum evidence_counter counter,
                  uint64_t number, double real, const struct evidence_source *source, bool add);
/* ranks.c: RANK_LATE_NS from RANK_COLLECTIVE_NS, where nobody said it */
void evidence_lateness(struct evidence *evidence);

#endif
