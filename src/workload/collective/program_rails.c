/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithms that share the work out within a host first: rank number l of each host is in charge of part l of the
 * buffer.
 *
 * Hierarchical: the ranks of a host give each other their parts (scatter), those in charge of the same part go around
 * a ring of the hosts, which is a rail of its own, and what is final is given back to the host's other ranks
 * (collect). The lanes overlap: a block is scattered in the order the ring asks for it.  NVLS is the same within one
 * host, where the switches add and copy (what that saves on the links is the runtime's: COLL_PIPE_*).  NVLS-tree has a
 * double binary tree over the hosts instead of the ring.
 *
 * Ports, either way: scatter 0 .. g-2, then the ring (or the tree's children), then collect, then the tree's parent;
 * the i-th of the g-1 local ports is the i-th other rank of the host after this one.
 */
#include "base/check.h"
#include "fabric/work.h"
#include "workload/collective/program.h"

enum { LANE_SCATTER, LANE_MAIN, LANE_COLLECT, LANE_DOWN };

struct seat {
    uint32_t host, hosts, number, count; /* count: ranks a host has */
};

static struct seat seat_of(const struct program *program, uint32_t pos)
{
    const struct program_shape *shape = program->shape;
    uint32_t host = shape->host_of[pos];

    return (struct seat){.host = host,
                         .hosts = shape->hosts,
                         .number = pos - shape->first[host],
                         .count = shape->first[host + 1] - shape->first[host]};
}

static bool reduces(const struct program *program)
{
    return program->kind != FABRIC_JOB_ALLGATHER;
}

static bool collects(const struct program *program)
{
    return program->kind != FABRIC_JOB_REDUCESCATTER;
}

/* The i-th other rank of the host; from whom the i-th port receives is whose i-th port sends here. */
static uint32_t local_peer(const struct program *program, uint32_t pos, bool in, uint32_t i)
{
    struct seat seat = seat_of(program, pos);
    uint32_t by = i + 1;

    return program->shape->first[seat.host] + (seat.number + (in ? seat.count - by : by)) % seat.count;
}

static uint32_t rails_ports(const struct program *program, uint32_t pos, uint32_t channel, bool in)
{
    (void)channel;
    (void)in;
    return 2 * seat_of(program, pos).count - 1;
}

static bool rails_peer(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                       struct program_peer *ret)
{
    struct seat seat = seat_of(program, pos);
    uint32_t locals = seat.count - 1;

    (void)channel;
    if (port == locals) {
        if (seat.hosts == 1) return false;
        uint32_t host = (seat.host + (in ? seat.hosts - 1 : 1)) % seat.hosts;
        *ret = (struct program_peer){.pos = program->shape->first[host] + seat.number, .tag = PROGRAM_BETWEEN};
        return true;
    }
    bool scatter = port < locals;
    if (scatter ? !reduces(program) : !collects(program)) return false;
    *ret = (struct program_peer){.pos = local_peer(program, pos, in, scatter ? port : port - locals - 1),
                                 .tag = scatter ? PROGRAM_SCATTER : PROGRAM_COLLECT};
    return true;
}

static uint32_t rails_steps(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane)
{
    struct seat seat = seat_of(program, pos);

    (void)channel;
    switch (lane) {
    case LANE_SCATTER:
        return reduces(program) && seat.count > 1 ? seat.hosts : 0;
    case LANE_MAIN:
        return program->kind == FABRIC_JOB_ALLREDUCE ? 2 * seat.hosts - 1 : seat.hosts;
    case LANE_COLLECT:
        return collects(program) && seat.count > 1 ? seat.hosts : 0;
    default:
        return 0;
    }
}

/* Of the ring's step: in the reducing half scattered pieces are added, in the other half what comes is final. */
static void rails_main(const struct program *program, const struct seat *seat, uint32_t number,
                       struct program_step *ret)
{
    uint32_t hosts = seat->hosts, locals = seat->count - 1, last = hosts - 1;
    uint32_t shift = program->kind == FABRIC_JOB_REDUCESCATTER;
    bool adds = reduces(program) && number < hosts, final = collects(program);

    if (program->kind == FABRIC_JOB_ALLREDUCE) {
        final = number >= hosts - 1;
        last = 2 * hosts - 2;
    }
    bool from_ring = number > 0, to_ring = number < last;
    uint32_t block = (seat->host + 2 * hosts - shift - number % hosts) % hosts;
    ret->block = seat->number * hosts + block;
    ret->in = adds ? 0 : locals;
    ret->ins = (adds ? locals : 0) + from_ring;
    ret->out = to_ring ? locals : locals + 1;
    ret->outs = to_ring + (final ? locals : 0);
    ret->does = adds || number == 0 ? PROGRAM_OWN : 0;
    if (ret->ins) ret->does |= PROGRAM_RECEIVED;
    if (final || (program->kind == FABRIC_JOB_REDUCESCATTER && number == last)) ret->does |= PROGRAM_KEEP;
}

static void rails_step(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane, uint32_t number,
                       struct program_step *ret)
{
    struct seat seat = seat_of(program, pos);
    uint32_t locals = seat.count - 1, shift = program->kind == FABRIC_JOB_REDUCESCATTER;

    (void)channel;
    switch (lane) {
    case LANE_SCATTER: /* in the order in which the ring takes them */
        ret->outs = locals;
        ret->block = (seat.host + 2 * seat.hosts - shift - number) % seat.hosts;
        ret->does = PROGRAM_OWN | PROGRAM_BY_PEER;
        break;
    case LANE_MAIN:
        rails_main(program, &seat, number, ret);
        break;
    case LANE_COLLECT: /* in the order in which the ring makes them final */
        if (program->kind == FABRIC_JOB_ALLREDUCE) number += seat.hosts - 1;
        ret->in = locals + 1;
        ret->ins = locals;
        ret->block = (seat.host + 2 * seat.hosts - number % seat.hosts) % seat.hosts;
        ret->does = PROGRAM_RECEIVED | PROGRAM_KEEP | PROGRAM_BY_PEER;
        break;
    }
}

const struct program_algorithm program_rails = {rails_ports, rails_peer, rails_steps, rails_step};

static uint32_t nvls_tree_ports(const struct program *program, uint32_t pos, uint32_t channel, bool in)
{
    struct program_tree tree;

    (void)in;
    program_tree(program, pos, channel, false, &tree);
    return 2 * (seat_of(program, pos).count - 1) + tree.children + 1;
}

static bool nvls_tree_peer(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                           struct program_peer *ret)
{
    struct program_tree tree;
    uint32_t locals = seat_of(program, pos).count - 1;

    program_tree(program, pos, channel, false, &tree);
    if (port < locals) {
        *ret = (struct program_peer){.pos = local_peer(program, pos, in, port), .tag = PROGRAM_SCATTER};
    } else if (port < locals + tree.children) {
        *ret = (struct program_peer){.pos = tree.child[port - locals], .tag = PROGRAM_BETWEEN};
    } else if (port < 2 * locals + tree.children) {
        *ret = (struct program_peer){.pos = local_peer(program, pos, in, port - locals - tree.children),
                                     .tag = PROGRAM_COLLECT};
    } else {
        if (tree.parent == PROGRAM_NONE) return false;
        *ret = (struct program_peer){.pos = tree.parent, .tag = PROGRAM_BETWEEN};
    }
    return true;
}

static uint32_t nvls_tree_steps(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane)
{
    struct program_tree tree;

    switch (lane) {
    case LANE_MAIN:
        return 1;
    case LANE_DOWN:
        program_tree(program, pos, channel, false, &tree);
        return tree.parent != PROGRAM_NONE;
    default:
        return seat_of(program, pos).count > 1;
    }
}

static void nvls_tree_step(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane,
                           uint32_t number, struct program_step *ret)
{
    struct program_tree tree;
    struct seat seat = seat_of(program, pos);
    uint32_t locals = seat.count - 1;

    (void)number;
    program_tree(program, pos, channel, false, &tree);
    uint32_t parent = 2 * locals + tree.children;
    bool root = tree.parent == PROGRAM_NONE;
    ret->block = seat.number;
    switch (lane) {
    case LANE_SCATTER:
        ret->outs = locals;
        ret->block = 0;
        ret->does = PROGRAM_OWN | PROGRAM_BY_PEER;
        break;
    case LANE_MAIN:
        ret->ins = locals + tree.children;
        ret->out = root ? locals : parent;
        ret->outs = root ? tree.children + locals : 1;
        ret->does = PROGRAM_OWN | (ret->ins ? PROGRAM_RECEIVED : 0) | (root ? PROGRAM_KEEP : 0);
        break;
    case LANE_DOWN:
        ret->in = parent;
        ret->ins = 1;
        ret->out = locals;
        ret->outs = tree.children + locals;
        ret->does = PROGRAM_RECEIVED | PROGRAM_KEEP;
        break;
    default:
        ret->in = locals + tree.children;
        ret->ins = locals;
        ret->block = 0;
        ret->does = PROGRAM_RECEIVED | PROGRAM_KEEP | PROGRAM_BY_PEER;
        break;
    }
}

const struct program_algorithm program_nvls_tree = {nvls_tree_ports, nvls_tree_peer, nvls_tree_steps, nvls_tree_step};
