/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees over hosts.
 *
 * The double binary tree of Sanders, Speck and Träff ("Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", 2009) in NCCL's shape: hosts carry labels; the parent of a label is found by its lowest bit, so that odd
 * labels are leaves and 0, the root, has one child.  The second tree's labels are the first's mirrored (an even number
 * of hosts) or shifted by one (odd), so that whoever is inside one tree is a leaf of the other.  The first
 * half of the channels runs on the first tree.  Within a host the ranks are a chain that hangs on the rank where
 * the channel enters, which has the host's parent and children.
 *
 * NCCL's trees have roots of their own.  For Broadcast and Reduce, which it does with rings alone, the labels are
 * turned so that the root's host is label 0 of both.
 */
#include "base/check.h"
#include "fabric/work.h"
#include "workload/collective/program.h"

static bool rooted(const struct program *program)
{
    return program->kind == FABRIC_JOB_BROADCAST || program->kind == FABRIC_JOB_REDUCE;
}

static bool second_tree(const struct program *program, uint32_t channel)
{
    return channel * 2 >= program->shape->channels && program->shape->channels > 1;
}

static uint32_t label_of(const struct program *program, uint32_t channel, uint32_t host)
{
    uint32_t n = program->shape->hosts;

    if (!rooted(program)) {
        if (!second_tree(program, channel)) return host;
        return n % 2 ? (host + n - 1) % n : n - 1 - host;
    }
    uint32_t from_root = (host + n - program->shape->host_of[program->root]) % n;
    if (!second_tree(program, channel) || from_root == 0) return from_root;
    return n % 2 ? n - from_root : 1 + from_root % (n - 1);
}

static uint32_t host_of_label(const struct program *program, uint32_t channel, uint32_t label)
{
    uint32_t n = program->shape->hosts;

    if (!rooted(program)) {
        if (!second_tree(program, channel)) return label;
        return n % 2 ? (label + 1) % n : n - 1 - label;
    }
    uint32_t from_root = label;
    if (second_tree(program, channel) && label) from_root = n % 2 ? n - label : label == 1 ? n - 1 : label - 1;
    return (from_root + program->shape->host_of[program->root]) % n;
}

static uint32_t parent_label(uint32_t label, uint32_t hosts)
{
    uint32_t bit = label & -label, up = (label ^ bit) | bit << 1;

    return up < hosts ? up : label ^ bit;
}

/* Both children stand half of the label's lowest bit away; where that is beyond the last, nearer. */
static uint32_t child_labels(uint32_t label, uint32_t hosts, uint32_t child[2])
{
    uint32_t count = 0, half;

    if (label == 0) {
        for (half = 1; half * 2 < hosts; half *= 2) {
        }
        child[0] = half;
        return hosts > 1;
    }
    half = (label & -label) / 2;
    if (half) child[count++] = label - half;
    while (half && label + half >= hosts)
        half /= 2;
    if (half) child[count++] = label + half;
    return count;
}

/* Of a host's ranks, the one its parent and children are connected to. */
static uint32_t head_of(const struct program *program, uint32_t host, uint32_t channel)
{
    const struct program_shape *shape = program->shape;

    if (rooted(program) && shape->host_of[program->root] == host) return program->root;
    return shape->first[host] + shape->head[host * shape->channels + channel];
}

void program_tree(const struct program *program, uint32_t pos, uint32_t channel, bool chains, struct program_tree *ret)
{
    const struct program_shape *shape = program->shape;
    uint32_t host = shape->host_of[pos], first = shape->first[host], count = shape->first[host + 1] - first;
    uint32_t head = chains ? head_of(program, host, channel) : pos, place = (pos - head + count) % count;
    uint32_t child[2] = {0, 0};

    *ret = (struct program_tree){.parent = PROGRAM_NONE};
    if (chains && place + 1 < count) ret->child[ret->children++] = first + (pos - first + 1) % count;
    if (place > 0) {
        ret->parent = first + (pos - first + count - 1) % count;
        return;
    }
    uint32_t label = label_of(program, channel, host), children = child_labels(label, shape->hosts, child);
    for (uint32_t i = 0; i < children; i++) {
        uint32_t other = host_of_label(program, channel, child[i]);
        ret->child[ret->children++] = chains ? head_of(program, other, channel) : shape->first[other] + (pos - first);
    }
    if (label == 0) return;
    uint32_t other = host_of_label(program, channel, parent_label(label, shape->hosts));
    ret->parent = chains ? head_of(program, other, channel) : shape->first[other] + (pos - first);
}

/* Port 0: the parent; then the children. */
static uint32_t tree_ports(const struct program *program, uint32_t pos, uint32_t channel, bool in)
{
    struct program_tree tree;

    (void)in;
    program_tree(program, pos, channel, true, &tree);
    return 1 + tree.children;
}

/* Which way data goes: up in AllReduce and Reduce, down in AllReduce and Broadcast. */
static bool tree_peer(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                      struct program_peer *ret)
{
    struct program_tree tree;

    program_tree(program, pos, channel, true, &tree);
    bool up = in == (port > 0); /* from a child, or to the parent */
    if (port == 0 && tree.parent == PROGRAM_NONE) return false;
    if (up ? program->kind == FABRIC_JOB_BROADCAST : program->kind == FABRIC_JOB_REDUCE) return false;
    *ret = (struct program_peer){.pos = port ? tree.child[port - 1] : tree.parent};
    return true;
}

/* Lane 0 goes up and, at the root, down again; lane 1 goes down. */
static uint32_t tree_steps(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane)
{
    struct program_tree tree;

    if (lane > 1) return 0;
    if (program->kind != FABRIC_JOB_ALLREDUCE) return lane == (program->kind == FABRIC_JOB_BROADCAST);
    if (lane == 0) return 1;
    program_tree(program, pos, channel, true, &tree);
    return tree.parent != PROGRAM_NONE;
}

static void tree_step(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane, uint32_t number,
                      struct program_step *ret)
{
    struct program_tree tree;

    (void)number;
    program_tree(program, pos, channel, true, &tree);
    bool root = tree.parent == PROGRAM_NONE;
    ret->in = ret->out = 1;
    if (lane == 0) {
        ret->ins = tree.children;
        ret->does = PROGRAM_OWN | (tree.children ? PROGRAM_RECEIVED : 0) | (root ? PROGRAM_KEEP : 0);
        ret->out = root;
        ret->outs = root ? program->kind == FABRIC_JOB_ALLREDUCE ? tree.children : 0 : 1;
        return;
    }
    ret->in = 0;
    ret->ins = !root;
    ret->outs = tree.children;
    ret->does = (root ? PROGRAM_OWN : PROGRAM_RECEIVED) | PROGRAM_KEEP;
}

const struct program_algorithm program_trees = {tree_ports, tree_peer, tree_steps, tree_step};
