/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the parts of `rocelab init`: what was asked for, what is built of it, and the file's text.
 */
#ifndef ROCELAB_CLI_PLAN_INIT_H
#define ROCELAB_CLI_PLAN_INIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/qos/models.h"
#include "fabric/systems.h"

#define INIT_PRESET "swift/paper"

enum init_shape { INIT_RAIL, INIT_LEAF_SPINE, INIT_FAT_TREE, INIT_PLANES };
#define INIT_SHAPES "rail leaf-spine fat-tree planes"
enum init_job { INIT_ALLREDUCE, INIT_ALLTOALL, INIT_TRAINING, INIT_INFERENCE, INIT_STORAGE, INIT_INCAST };
#define INIT_JOBS "allreduce alltoall training inference storage incast"

struct init_switch {
    const struct switch_model *model;
    char words[24]; /* as it was asked for; "": a product or chip by its name */
    uint32_t ports;
    uint64_t port_bps;
};

struct init_answers {
    uint32_t gpus, per_server; /* each GPU has a NIC */
    uint32_t shape, job;       /* enum init_shape, init_job */
    uint64_t nic_bps;
    struct init_switch sw;
    struct {
        uint32_t num, den;
    } over;             /* what servers send over what spines take */
    uint32_t system;    /* enum fabric_system */
    const char *preset; /* of congestion control */
    struct {            /* false: assumed */
        bool gpus, per_server, shape, job, nic, sw, over, system, preset;
    } given;
};

struct init_plan { /* what is built */
    enum init_shape shape;
    uint32_t servers, gpus;
    uint32_t leaves, spines, cores;
    uint32_t on_leaf;       /* servers, of leaf-spine and fat-tree */
    uint32_t groups;        /* of servers with leaves of their own, of rails */
    uint32_t down, uplinks; /* of a leaf: ports to NICs, to spines */
    uint32_t k;             /* of a fat tree */
    uint32_t radix;         /* ports of a switch at the rate of links */
    uint64_t link_bps;      /* of a NIC's port, and between switches */
    bool far;               /* servers stand further from their switch than copper reaches */
};

static inline uint32_t init_ceil(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

/* False: `why` says what does not fit, and what would. */
#define INIT_WHY 400
bool init_size(const struct init_answers *answers, struct init_plan *ret, char why[INIT_WHY]);
static inline uint32_t init_switches(const struct init_plan *plan)
{
    return (plan->leaves + plan->spines) * (plan->shape == INIT_PLANES ? 2 : 1) + plan->cores;
}
/* The file.  schema: where its JSON Schema is, NULL: nowhere.  name: of the file, for what to try next. */
void init_write(const struct init_answers *answers, const struct init_plan *plan, const char *schema, const char *name,
                FILE *out);
/* What to try next, a command a line, each after `before`. */
void init_next(const struct init_answers *answers, const char *name, const char *before, FILE *out);

#endif
