/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random irregular fabrics, and a search for circles of waits that knows nothing of the one in src/check.
 *
 * The oracle computes all waits from scratch: distances by relaxation, packets walked hop by hop, circles by removing
 * what waits for nothing.  It shares no code with the proof.
 */
#ifndef ROCELAB_TESTS_CHECK_IRREGULAR_H
#define ROCELAB_TESTS_CHECK_IRREGULAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/rng.h"
#include "check/deadlock.h"

#define ORACLE_NODES 12
#define ORACLE_LEVELS 3
#define ORACLE_FAR 1000
#define IRREGULAR_TEXT 16384

struct oracle {
    int leaves, spines, nodes;             /* switches, numbered as the fabric's */
    int links[ORACLE_NODES][ORACLE_NODES]; /* parallel ones count, and are the same as one for waits */
    bool host[ORACLE_NODES];
    int first_host[ORACLE_NODES];
    int levels;                /* lossless classes that packets are raised through; 1: none */
    bool raises[ORACLE_NODES]; /* where they turn from down to up */
    /* What came from a to b in a level waits to go to c; by oracle_circle(). */
    bool wait[ORACLE_NODES][ORACLE_NODES][ORACLE_LEVELS][ORACLE_NODES];
};

/* A connected fabric of switches of all roles, about half of them with `hosts` hosts each: the file's topology and
 * links, to which more may be appended. */
void irregular_fabric(struct rng *rng, int hosts, struct oracle *ret, char text[IRREGULAR_TEXT]);

/* The same of switches without a role: a ring in random order with a few chords.  Ways are long and turn often. */
void irregular_ring(struct rng *rng, struct oracle *ret, char text[IRREGULAR_TEXT]);
const char *irregular_name(const struct oracle *oracle, int n, char name[32]);

/* Hops from every switch to one; ORACLE_FAR: no way. */
void oracle_distances(const struct oracle *oracle, int to, int *ret);
bool oracle_circle(struct oracle *oracle);
/* Takes what failed out of it. */
void oracle_fail(struct oracle *oracle, const struct fabric *fabric, const struct deadlock_failure *failed);

#endif
