/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the file says of a regular topology, for the builders.  Private to src/fabric.
 */
#ifndef ROCELAB_FABRIC_TOPOLOGY_BUILDERS_H
#define ROCELAB_FABRIC_TOPOLOGY_BUILDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/topology/topology.h"

#define NICS_MAX 256
#define COUNT_MAX 1000000000000ull

struct shape { /* NOT_GIVEN where the file says nothing */
    uint64_t hosts, left, right, leaves, spines, gpus, nics, uplinks, links, k;
    uint64_t planes, sites, ways; /* planes and sites are 1 where nothing is said */
    uint64_t site_links, distance_mm;
    uint32_t over_num, over_den; /* 0: not given */
    struct fabric_at over_at;
};

static inline uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t got;
    return __builtin_mul_overflow(a, b, &got) ? UINT64_MAX : got;
}

static inline uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t got;
    return __builtin_add_overflow(a, b, &got) ? UINT64_MAX : got;
}

#define SHAPE(name, member, min, max) F_VALUE(name, FIELD_COUNT, struct shape, member, min, max)
#define HOST_FIELDS                                                                                                    \
    SHAPE("hosts", hosts, 1, COUNT_MAX), SHAPE("gpus", gpus, 1, NICS_MAX), SHAPE("nics", nics, 1, NICS_MAX)

/* Reads a builder's map; gpus and nics are what the other is where only one is given, and 1 where none is. */
bool shape_read(struct loader *loader, const struct tree *map, const char *what, const struct field *field,
                uint32_t count, struct shape *shape);
/* A value that must be given; `more` is said behind its key.  Nothing is said where the map has a key that may be it,
 * mistyped. */
bool shape_needs(struct loader *loader, const struct tree *map, const char *what, uint64_t value, const char *key,
                 const char *more);

/* clos.c */
void read_oversubscription(struct loader *loader, const struct tree *value, void *into); /* into a struct shape */
/* Uplinks of a leaf and spines, from what is given of uplinks, spines and oversubscription; `down` links a leaf. */
bool shape_uplinks(struct loader *loader, const struct tree *map, const char *what, struct shape *shape,
                   const struct plan *plan, const struct link_class *host, uint64_t down);

#endif
