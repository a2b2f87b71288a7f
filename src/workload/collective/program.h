/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithms as generators: what a rank does in a step, made from the step's number, never stored.
 *
 * A rank has, in each channel, a seat with ports: pipes to and from other seats of the channel.  Its work is in lanes.
 * A lane's steps happen in order; a step happens when each pipe of its `in` range has a message and each of its
 * `out` range has room; it takes the one and puts the other.  Lanes of a seat do not wait for each other.  Ports are
 * numbered so that whatever a step uses is one range.
 *
 * The runtime (lanes.c, segment.c) moves bytes by it; the checker in the tests moves sums by it.
 */
#ifndef ROCELAB_WORKLOAD_COLLECTIVE_PROGRAM_H
#define ROCELAB_WORKLOAD_COLLECTIVE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_NONE UINT32_MAX
#define PROGRAM_LANES 4

/* Ranks stand host by host: position p of host h is first[h] .. first[h + 1] - 1. */
struct program_shape {
    uint32_t ranks, hosts, channels;
    bool alike;                       /* every host has as many ranks */
    const uint32_t *first;            /* [hosts + 1] */
    const uint32_t *host_of;          /* [position] */
    const uint32_t *rank_of, *pos_of; /* [position], [rank] */
    const uint16_t *head; /* [host * channels + channel] of its positions, the one where the channel enters the host */
};

struct program {
    const struct program_shape *shape;
    uint8_t kind, algorithm; /* enum fabric_job_kind, fabric_algorithm */
    uint32_t root;           /* position */
    uint32_t loops;          /* over the ring, the tree, the rails; of a pair: its chunks */
    uint32_t slices;         /* a chunk is sent in */
};

#define PROGRAM_OWN 1u      /* what goes out has the rank's own contribution in it */
#define PROGRAM_RECEIVED 2u /* what goes out has what came in in it; with OWN: their sum */
#define PROGRAM_KEEP 4u     /* it is final: the rank keeps it */
#define PROGRAM_BY_PEER 8u  /* each port has a block of its own: program_block() */

struct program_step {
    uint32_t in, ins, out, outs; /* ports */
    uint32_t loop, slice;
    uint32_t block; /* of the loop */
    uint8_t does;
};

/* Whether hosts have as many ranks each: for program_shape.alike. */
bool program_alike(uint32_t hosts, const uint32_t *first);
/* Whether the algorithm can do it at all: NULL, or why not. */
const char *program_refuses(const struct program *program);
/* Blocks that a loop has: chunks of the buffer that are worked on at the same time. */
uint32_t program_blocks(const struct program *program);
/* Ports of a seat, either way; the peer's position and which of the pipes between the two it is; false: no pipe. */
uint32_t program_ports(const struct program *program, uint32_t pos, uint32_t channel, bool in);
enum { PROGRAM_BETWEEN, PROGRAM_SCATTER, PROGRAM_COLLECT }; /* tags: for what a pipe is */
struct program_peer {
    uint32_t pos;
    uint32_t tag;
};
bool program_peer(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                  struct program_peer *ret);
/* Steps of a lane in all; 0: the seat has no such lane. */
uint64_t program_steps(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane);
void program_step(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane, uint64_t number,
                  struct program_step *ret);
/* The block that a step moves by a port. */
uint32_t program_block(const struct program *program, uint32_t pos, uint32_t channel, const struct program_step *step,
                       bool in, uint32_t port);
/* Positions that are next to each other in a channel's ring. */
uint32_t program_place(const struct program_shape *shape, uint32_t pos, uint32_t channel);
uint32_t program_at(const struct program_shape *shape, uint32_t place, uint32_t channel);

/* program_tree.c: hosts as a tree */
#define PROGRAM_CHILDREN 3
struct program_tree {
    uint32_t parent; /* position; PROGRAM_NONE: the root */
    uint32_t child[PROGRAM_CHILDREN], children;
};
/* `chains`: ranks of a host hang in a chain on the one where the channel enters; else each hangs with those of its own
 * number in the other hosts. */
void program_tree(const struct program *program, uint32_t pos, uint32_t channel, bool chains, struct program_tree *ret);

/* One algorithm's part of the calls above. */
struct program_algorithm {
    uint32_t (*ports)(const struct program *program, uint32_t pos, uint32_t channel, bool in);
    bool (*peer)(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                 struct program_peer *ret);
    uint32_t (*steps)(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane); /* of a loop */
    void (*step)(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane, uint32_t number,
                 struct program_step *ret);
};
extern const struct program_algorithm program_ring, program_trees, program_rails, program_nvls_tree, program_pairs;

#endif
