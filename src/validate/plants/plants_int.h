/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How plants are written down: for plants.c and the files that have a kind of them each.
 */
#ifndef ROCELAB_VALIDATE_PLANTS_PLANTS_INT_H
#define ROCELAB_VALIDATE_PLANTS_PLANTS_INT_H

#include "validate/plants/plants.h"

struct planting {
    const struct validate_case *of;
    const struct fabric *fabric;
    const struct failures *failures;
    struct planted *plant;
    uint32_t count;
    uint32_t class;        /* of the data */
    uint32_t host;         /* port of the second rank */
    unsigned long long at; /* of faults, in nanoseconds */
};

/* plants.c */
struct planted *plant_add(struct planting *planting, const char *name, const char *rules, const char *alerts,
                          enum plant_effect effect);
/* The culprit is a port, or the other end of its cable.  Answers its name. */
const char *blame_port(const struct fabric *fabric, struct plant_cause *cause, uint32_t port);
/* It is this queue and no other. */
void blame_queue(const struct fabric *fabric, struct plant_cause *cause, uint32_t port);
/* It is a device, or a port of it. */
void blame_node(const struct fabric *fabric, struct plant_cause *cause, uint32_t node);
/* A value of the file is replaced. */
__attribute__((format(printf, 3, 4))) void plant_set(struct planted *plant, const char *value, const char *path, ...);
void plant_flow(struct planted *plant, uint32_t from, uint32_t to);
/* The switch that an endpoint hangs on; FABRIC_NONE: it hangs on a host. */
uint32_t leaf_of(const struct fabric *fabric, uint32_t endpoint);

void plants_of_hosts(struct planting *planting);    /* hosts.c */
void plants_of_gpus(struct planting *planting);     /* hosts.c */
void plants_of_links(struct planting *planting);    /* links.c */
void plants_of_switches(struct planting *planting); /* links.c */
void plants_of_settings(struct planting *planting); /* settings.c */
void plants_of_incasts(struct planting *planting);  /* incasts.c */
void plants_of_cnps(struct planting *planting);     /* incasts.c */
void plants_of_a_spine(struct planting *planting);  /* ways.c */
void plants_of_a_circle(struct planting *planting); /* ways.c */
void plants_of_hashes(struct planting *planting);   /* hashes.c */

#endif
