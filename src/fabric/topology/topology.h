/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the file's topology to nodes, ports, endpoints and routes.
 *
 * A builder states how many nodes of each role there are and then names the links; numbering of
 * ports, names, addresses and routes are the same for all builders.
 */
#ifndef ROCELAB_FABRIC_TOPOLOGY_TOPOLOGY_H
#define ROCELAB_FABRIC_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/file/read.h"
#include "fabric/words.h"

struct fabric;

/* The arrays' bytes a file may ask for; what goes beyond is refused with the estimate. */
#ifndef FABRIC_MEMORY_MAX /* less for a fuzzer */
#define FABRIC_MEMORY_MAX ((uint64_t)2 << 30)
#endif

#define NODE_PORTS_MAX 65534u

#define ERRORS_NOT_GIVEN UINT32_MAX
struct link_class { /* how links of one kind are made; NOT_GIVEN where the file says nothing */
    uint64_t rate_bps, cable_mm, delay_ps;
    uint32_t error_ppm; /* or ERRORS_NOT_GIVEN */
    bool said;          /* the file says how long they are */
    uint8_t llr;        /* truth, or LLR_NOT_GIVEN */
};
#define LLR_NOT_GIVEN 2
#define LINK_NOT_GIVEN                                                                                                 \
    {                                                                                                                  \
        NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, ERRORS_NOT_GIVEN, false, LLR_NOT_GIVEN                                        \
    }

struct plan_link {
    uint32_t a, b;           /* nodes */
    uint32_t a_port, b_port; /* FABRIC_NONE: the next free one */
    struct link_class as;
    struct fabric_at at;
};

struct plan_node {
    const char *name; /* NULL: by role and number */
    uint32_t pod;
    uint16_t gpus;      /* 0: as many as ports; PLAN_NO_GPUS: none */
    uint16_t gpu_ports; /* the first so many of its ports are the GPUs'; 0: all */
};
#define PLAN_NO_GPUS UINT16_MAX

struct plan {
    struct fabric_at at;          /* the builder's, for messages */
    const char *kind;             /* its name */
    uint64_t count[FABRIC_ROLES]; /* nodes of each role */
    uint64_t links;               /* stated before memory is taken */
    struct plan_node *node;       /* in order of roles */
    struct plan_link *link;
    uint64_t linked; /* links named so far */
    struct link_class host, fabric, core, site, storage_link;
    uint32_t planes;         /* ports of one NIC that lie side by side; 0 is 1 */
    bool rates_known;        /* else those of links stand for what could not be read */
    bool oversubscribed;     /* without the key: what it has says so */
    bool site_length_given;  /* links.site has a cable or a delay */
    struct storage *storage; /* NULL: no storage network */
    const struct tree *storage_map;
    uint64_t storage_hosts;
};

static inline uint32_t plan_first(const struct plan *plan, enum fabric_role role)
{
    uint64_t first = 0;
    for (int r = 0; r < (int)role; r++)
        first += plan->count[r];
    return (uint32_t)first;
}

/* Refuses what would not fit and takes memory for nodes and links; false with the error. */
bool plan_allocate(struct loader *loader, struct plan *plan);
void plan_link(struct plan *plan, uint32_t a, uint32_t b, const struct link_class *as);
static inline uint32_t plan_node(const struct plan *plan, enum fabric_role role, uint64_t number)
{
    return plan_first(plan, role) + (uint32_t)number;
}

/* The builders (builders.c, clos.c, explicit.c): from the map under the builder's name. */
bool build_single(struct loader *loader, const struct tree *map, struct plan *plan);
bool build_dumbbell(struct loader *loader, const struct tree *map, struct plan *plan);
bool build_leaf_spine(struct loader *loader, const struct tree *map, struct plan *plan);
bool build_rail(struct loader *loader, const struct tree *map, struct plan *plan);
bool build_fat_tree(struct loader *loader, const struct tree *map, struct plan *plan);
bool build_explicit(struct loader *loader, const struct tree *map, struct plan *plan);

/* A storage network beside (storage.c): its map, then what it adds to the counts, then its links. */
bool storage_read(struct loader *loader, const struct tree *map, struct plan *plan);
bool storage_count(struct loader *loader, struct plan *plan);
bool storage_build(struct loader *loader, struct plan *plan);

/* hosts.c: links between GPUs, `h100` or {use: h100, rate, delay}. */
void gpu_links_default(struct fabric *fabric);
void gpu_links_read(struct loader *loader, const struct tree *value);

/* Link keys of a map: rate, cable, delay, errors, llr. */
extern const struct field link_fields[];
extern const uint32_t link_field_count;
/* Says so when both cable and delay are given. */
bool link_check(struct loader *loader, const struct link_class *as, struct fabric_at at);
/* A link's class with what is not given taken from `base`. */
struct link_class link_over(const struct link_class *base, const struct link_class *over);
/* Propagation, and the length it stands for. */
ps_t link_propagation_ps(const struct link_class *as);
uint64_t link_cable_mm(const struct link_class *as);

/* Reads topology and links, fills nodes, ports, endpoints (without settings); false with errors. */
bool topology_load(struct loader *loader);
/* After ports are known to be up or down. */
bool routes_build(struct loader *loader);
/* tiers.c: tiers and rails, from how nodes are cabled. */
bool tiers_find(struct loader *loader, const struct plan *plan);
/* name -> node; false when a name is there twice. */
bool names_build(struct loader *loader);
uint32_t names_hash(const char *name, size_t length);
/* A GPU by name, or a host for all of its GPUs; FABRIC_NONE with the sentence. */
uint32_t gpu_read(struct loader *loader, const char *name, struct fabric_at at, uint32_t *ret_many);

#endif
