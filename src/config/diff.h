/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drift: what a running fabric says otherwise than the approved one.
 */
#ifndef ROCELAB_CONFIG_DIFF_H
#define ROCELAB_CONFIG_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "fabric/words.h"

struct fabric;

#define DIFF_VALUE 64
struct drift {
    const char *device;
    const char *port;  /* as the approved fabric calls it, or the running one if it alone has it; NULL: the device */
    const char *name;  /* the port as the running system calls it; NULL: it has no name of its own */
    const char *key;   /* `classes.rdma.ecn.min` */
    const char *owner; /* NULL: nobody is named */
    uint32_t number;   /* of the port in the running device; FABRIC_NONE: the device, or the port is not there */
    char approved[DIFF_VALUE], running[DIFF_VALUE];
    struct fabric_at approved_at, running_at; /* in the texts of the two fabrics */
};

struct diff_side {
    const struct fabric *fabric;
    const struct fabric_places *places;
    bool imported;                /* from configurations, which are silent about much */
    const struct config_set *set; /* what they say, where imported */
};

struct diff {
    struct diff_side approved, running;
    void (*each)(void *to, const struct drift *drift);
    void *to;
    uint64_t drifts, ports, devices; /* found; compared */
    uint64_t rounded; /* thresholds of marking that the running system cannot have as they are approved */
    char first_rounded[256];
};

/* Compares every device of both. */
void diff_run(struct diff *diff);
/* Are the ports of this device the same by number, as nothing about their names agrees?  Nodes of the two fabrics. */
bool diff_by_number(const struct fabric *one, const struct fabric *two, uint32_t approved, uint32_t running);
/* The running port that an approved one is; FABRIC_NONE: missing. */
uint32_t diff_same_port(const struct fabric *one, const struct fabric *two, uint32_t running, uint32_t port,
                        bool by_number);

#endif
