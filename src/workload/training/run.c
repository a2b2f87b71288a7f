/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's program, step by step, made from its place in it.
 *
 * The schedules are Megatron-LM's (Narayanan et al., SC 2021).  One forward, one backward: stage s of p goes forward
 * p - 1 - s times, then forward and backward in turn, then backward for what is left; with m micro-batches a stage is
 * idle for p - 1 of m + p - 1 slots.  Interleaved, with v chunks a stage, a slot is a chunk's: micro-batches go in
 * rounds of p, each round through one chunk after the other (backward: the last first), and a stage goes forward
 * 2 (p - 1 - s) + (v - 1) p times first; what is idle is a v-th.  There the receive of the next slot is posted before
 * this one is gone through, as Megatron does with overlapping sends; else a receive is posted when its slot comes.
 *
 * Sends go on beside; a rank waits where it receives, in a collective that is not beside, and where it is told to.
 * What it waits for is what the time is booked under, so waiting for a late stage is pp's.
 *
 * How long a group is busy is counted while any of its operations is under way, not summed over them.
 */
#include "base/check.h"

#include <stddef.h>

#include "fabric/fabric.h"
#include "workload/training/train.h"
#include "workload/workload_int.h"

/* A token of an operation: way, rank, number of a send or receive. */
#define WAY_BITS 8
#define NUMBER_SHIFT (WAY_BITS + TRAIN_RANK_BITS)

static uint32_t slots(const struct train *train)
{
    uint32_t each = train->backward.count || train->gradient.count ? 2 : 1;

    if (train->from->whole || !train->from->layers) return 0;
    return train->from->micro_batches * train->from->chunks * each;
}

/* How many slots a stage goes forward before it goes backward for the first time. */
static uint32_t slots_ahead(const struct train *train, uint32_t stage)
{
    uint32_t all = train->from->micro_batches * train->from->chunks, behind = train->stages - 1 - stage;
    uint64_t ahead = behind;

    if (train->from->schedule == FABRIC_SCHEDULE_GPIPE) return all;
    if (train->from->schedule == FABRIC_SCHEDULE_INTERLEAVED)
        ahead = 2 * (uint64_t)behind + (uint64_t)(train->from->chunks - 1) * train->stages;
    return ahead < all ? (uint32_t)ahead : all;
}

static struct train_slot slot_of(const struct train *train, uint32_t stage, uint32_t number)
{
    uint32_t p = train->stages, v = train->from->chunks, all = train->from->micro_batches * v;
    uint32_t ahead = slots_ahead(train, stage), index = number;
    struct train_slot slot = {0};

    if (slots(train) > all && number >= 2 * all - ahead) {
        slot.backward = true;
        index = number - all;
    } else if (slots(train) > all && number >= ahead) {
        uint32_t turn = number - ahead;
        slot.backward = turn & 1;
        index = slot.backward ? turn / 2 : ahead + turn / 2;
    }
    slot.micro = index / (p * v) * p + index % p;
    slot.chunk = index % (p * v) / p;
    if (slot.backward) slot.chunk = v - 1 - slot.chunk;
    return slot;
}

/* The first part of the model gets nothing from the one before, the last nothing from the one behind. */
static bool at_end(const struct train *train, uint32_t stage, const struct train_slot *slot, bool last)
{
    return last ? stage + 1 == train->stages && slot->chunk + 1 == train->from->chunks : stage == 0 && slot->chunk == 0;
}

static void begin_slot(const struct train *train, struct train_rank *rank)
{
    rank->section = TRAIN_RECEIVE;
    rank->slot = slot_of(train, rank->stage, rank->number);
}

/* Posts receives up to the slot's own, interleaved one more, then waits for its own; false: it has none. */
static bool next_receive(const struct train *train, struct train_rank *rank, struct train_op *ret)
{
    uint32_t upto = rank->number + (train->from->chunks > 1), all = slots(train);
    uint32_t left = 0;

    for (; rank->posted <= upto && rank->posted < all; rank->posted++) {
        struct train_slot slot = slot_of(train, rank->stage, rank->posted);
        if (at_end(train, rank->stage, &slot, slot.backward)) continue;
        *ret = train->receive[slot.backward];
        ret->beside = true;
        rank->posted++;
        return true;
    }
    rank->section = TRAIN_HEAD_FIRST;
    if (at_end(train, rank->stage, &rank->slot, rank->slot.backward)) return false;
    if (upto > rank->number && upto < all) {
        struct train_slot slot = slot_of(train, rank->stage, upto);
        left = slot.backward == rank->slot.backward && !at_end(train, rank->stage, &slot, slot.backward);
    }
    *ret = (struct train_op){.what = FABRIC_OP_WAIT, .way = train->receive[rank->slot.backward].way, .left = left};
    return true;
}

static void enter(struct train_rank *rank, enum train_section section)
{
    rank->section = (uint8_t)section;
    rank->at = rank->layer = 0;
}

/* The next of a list that is gone through once a layer; false: it is over. */
static bool next_in(const struct train_ops *ops, uint32_t layers, struct train_rank *rank, struct train_op *ret)
{
    if (rank->at == ops->count) {
        rank->at = 0;
        rank->layer++;
    }
    if (ops->count == 0 || rank->layer >= layers) return false;
    *ret = ops->op[rank->at++];
    return true;
}

/* Gradients are reduced layer by layer: their list stands behind each time through the backward one. */
static bool next_backward(const struct train *train, uint32_t layers, struct train_rank *rank, struct train_op *ret)
{
    bool last = rank->slot.micro + 1 == train->from->micro_batches;
    uint32_t own = train->backward.count, all = own + (last ? train->gradient.count : 0);

    if (rank->at == all) {
        rank->at = 0;
        rank->layer++;
    }
    if (all == 0 || rank->layer >= layers) return false;
    *ret = rank->at < own ? train->backward.op[rank->at] : train->gradient.op[rank->at - own];
    rank->at++;
    return true;
}

static bool next_of_slot(const struct train *train, struct train_rank *rank, struct train_op *ret)
{
    uint32_t layers = train->from->layers[rank->slot.chunk * train->stages + rank->stage];

    return rank->slot.backward ? next_backward(train, layers, rank, ret) : next_in(&train->forward, layers, rank, ret);
}

static bool head(const struct train *train, const struct train_rank *rank, bool backward, struct train_op *ret)
{
    ps_t time = backward ? train->from->head_backward_ps : train->from->head_forward_ps;

    if (rank->slot.backward != backward || !at_end(train, rank->stage, &rank->slot, true) || time == 0) return false;
    *ret = (struct train_op){.what = FABRIC_OP_COMPUTE, .time_ps = time};
    return true;
}

static void end_slot(const struct train *train, struct train_rank *rank)
{
    if (++rank->number < slots(train)) {
        begin_slot(train, rank);
        return;
    }
    enter(rank, TRAIN_FINISH);
}

/* False: the step is over. */
static bool next_op(const struct train *train, struct train_rank *rank, struct train_op *ret)
{
    const struct train_ops *before = &train->before;

    if (train->whole) before = &train->whole[train->from->by_rank ? (uint32_t)(rank - train->rank) : rank->stage];

    for (;;) {
        switch ((enum train_section)rank->section) {
        case TRAIN_BEFORE:
            if (next_in(before, 1, rank, ret)) return true;
            enter(rank, TRAIN_FINISH);
            if (slots(train)) begin_slot(train, rank);
            break;
        case TRAIN_RECEIVE:
            if (next_receive(train, rank, ret)) return true;
            break;
        case TRAIN_HEAD_FIRST:
            enter(rank, TRAIN_BODY);
            if (head(train, rank, true, ret)) return true;
            break;
        case TRAIN_BODY:
            if (next_of_slot(train, rank, ret)) return true;
            enter(rank, TRAIN_HEAD_LAST);
            break;
        case TRAIN_HEAD_LAST:
            enter(rank, TRAIN_SEND);
            if (head(train, rank, false, ret)) return true;
            break;
        case TRAIN_SEND: {
            struct train_slot slot = rank->slot;
            end_slot(train, rank);
            *ret = train->send[slot.backward];
            if (!at_end(train, rank->stage, &slot, !slot.backward)) return true;
            break;
        }
        case TRAIN_FINISH:
            if (next_in(&train->finish, train_stage_layers(train->from, rank->stage), rank, ret)) return true;
            enter(rank, TRAIN_AFTER);
            break;
        case TRAIN_AFTER:
            return next_in(&train->after, 1, rank, ret);
        }
    }
}

/* How many times as long a slow GPU takes, in thousandths: of the faults that hold now the last. */
static uint64_t slow_milli(const struct workload *workload, const struct train *train, uint32_t number, ps_t now)
{
    const struct fabric *fabric = workload->fabric;
    uint32_t gpu = fabric->job[workload->instance[train->instance].job].rank[number];
    uint64_t milli = 1000;
    ps_t begun = 0;

    for (uint32_t i = 0; fabric->slow_gpus && i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (fault->kind != FABRIC_FAULT_SLOW_GPU || gpu - fault->gpu >= fault->gpus || fault->at < begun) continue;
        if (fault->at > now || now >= ps_add(fault->at, fault->lasts_ps)) continue;
        milli = fault->factor_milli;
        begun = fault->at;
    }
    return milli;
}

/* With jitter, between 1 - j and 1 + j times as long; of the experts' compute one rank of the group, drawn anew each
 * time from what all of them know, has more. */
static ps_t compute_time(struct train *train, uint32_t number, struct train_rank *rank, const struct train_op *op)
{
    uint32_t jitter = train->from->jitter_ppm, group, index;
    uint64_t ppm = 1000000;

    if (jitter) ppm = ppm - jitter + rng_below(&rank->rng, 2 * (uint64_t)jitter + 1);
    if (op->uneven && train->from->imbalance_ppm && train->from->size[FABRIC_GROUP_EP] > 1) {
        struct rng shared;
        train_place(train, FABRIC_GROUP_EP, number, &group, &index);
        rng_init(&shared, (uint64_t)rank->step << 32 | rank->number, (uint64_t)group << 32 | rank->layer);
        if (rng_below(&shared, train->from->size[FABRIC_GROUP_EP]) == index)
            ppm = ppm * (1000000 + train->from->imbalance_ppm) / 1000000;
    }
    return ppm == 1000000 ? op->time_ps : (ps_t)((u128)op->time_ps * ppm / 1000000);
}

static void wait_for(struct train_rank *rank, uint32_t way, uint32_t room, ps_t now)
{
    rank->waits = (uint8_t)way;
    rank->room = room;
    rank->since = now;
}

/* An operation within one host is over so long after the last of its ranks has come, and after the one before it. */
static void start_inside(struct workload *workload, struct train *train, uint32_t group, const struct train_op *op,
                         uint64_t number, ps_t now)
{
    uint32_t way = train->form[op->form].way, size = train_group_size(train->from, way);
    struct train_inside *inside = &train->inside[way][group];
    uint32_t *arrived = &inside->arrived[number % train->depth[way]];

    if (++*arrived < size) return;
    *arrived = 0;
    inside->free_at = (inside->free_at > now ? inside->free_at : now) + train->form[op->form].inside_ps;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t rank = train->member[way][group * size + i];
        uint32_t own = i == 0 || way < FABRIC_GROUPS ? way : way == TRAIN_TO_NEXT ? TRAIN_FROM_PREV : TRAIN_FROM_NEXT;
        coll_alarm(workload, train->rank[rank].host, &train_program,
                   (own + 1) << TRAIN_RANK_BITS | (train->first_rank + rank), inside->free_at);
    }
}

static uint64_t token_of(const struct train *train, uint32_t rank, uint32_t way, uint32_t number)
{
    return (uint64_t)number << NUMBER_SHIFT | (uint64_t)(train->first_rank + rank) << WAY_BITS | way;
}

/* True: the rank goes on at once. */
static bool start_op(struct workload *workload, struct train *train, uint32_t number, const struct train_op *op,
                     ps_t now, struct app_out *out)
{
    struct train_rank *rank = &train->rank[number];
    uint32_t group, index, way = op->way;

    if (rank->under_way[way] == train->depth[way]) {
        rank->retry = *op;
        rank->retries = true;
        wait_for(rank, way, train->depth[way], now);
        return false;
    }
    if (rank->under_way[way]++ == 0) rank->busy_since[way] = now;
    if (way == FABRIC_GROUP_P2P) {
        bool receives = op->what == FABRIC_OP_RECV;
        if (!receives) rank->now.bytes[way] += op->bytes;
        if (!receives) rank->now.operations[way]++;
        coll_start(workload, train->pair[op->form].coll, receives, token_of(train, number, way, op->number), now, out);
        return true;
    }
    train_place(train, way, number, &group, &index);
    rank->now.bytes[way] += op->bytes;
    rank->now.operations[way]++;
    if (train->inside[train->form[op->form].way][group].is)
        start_inside(workload, train, group, op, rank->started[way], now);
    else
        coll_start(workload, train->form[op->form].coll[group], index, token_of(train, number, way, 0), now, out);
    rank->started[way]++;
    if (op->beside) return true;
    wait_for(rank, way, 1, now);
    return false;
}

static ps_t waited(const struct train_books *books)
{
    ps_t sum = 0;

    for (uint32_t w = 0; w < TRAIN_WAYS; w++)
        sum += books->exposed_ps[w];
    return sum;
}

static void end_step(struct workload *workload, struct train *train, uint32_t number, ps_t now)
{
    struct train_rank *rank = &train->rank[number];
    ps_t *end = &train->step_end[rank->step], seen = __atomic_load_n(end, __ATOMIC_RELAXED);

    while (now > seen && !__atomic_compare_exchange_n(end, &seen, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    if (rank->step < train->wait_steps)
        train->wait_ps[(size_t)number * train->wait_steps + rank->step] = waited(&rank->now) - waited(&rank->closed);
    rank->step++;
    rank->last_compute_ps = rank->now.compute_ps - rank->closed.compute_ps;
    rank->last_wait_ps = 0;
    for (uint32_t w = 0; w < TRAIN_WAYS; w++)
        rank->last_wait_ps += rank->now.exposed_ps[w] - rank->closed.exposed_ps[w];
    rank->closed = rank->now;
    rank->number = rank->posted = 0;
    train_pairs_step(train, number);
    enter(rank, TRAIN_BEFORE);
    train_checkpoint_due(workload, train, number, now);
}

/* Goes on until there is something to wait for. */
static void advance(struct workload *workload, struct train *train, uint32_t number, ps_t now, struct app_out *out)
{
    struct train_rank *rank = &train->rank[number];
    struct train_op op;

    for (;;) {
        if (rank->retries) {
            rank->retries = false;
            op = rank->retry;
        } else if (!next_op(train, rank, &op)) {
            end_step(workload, train, number, now);
            if (rank->step < train->from->steps) continue;
            instance_part_done(workload, train->instance, now);
            return;
        }
        if (op.what == FABRIC_OP_COMPUTE) {
            ps_t time = compute_time(train, number, rank, &op);
            uint64_t milli = slow_milli(workload, train, number, now);
            if (milli != 1000) time = (ps_t)((u128)time * milli / 1000);
            rank->now.compute_ps += time;
            coll_alarm(workload, rank->host, &train_program, train->first_rank + number, ps_add(now, time));
            return;
        }
        if (op.what == FABRIC_OP_WAIT_FOR) {
            if (train_pair_over(train, number, op.number)) continue;
            rank->wanted = op.number;
            wait_for(rank, FABRIC_GROUP_P2P, 0, now);
            return;
        }
        if (op.what == FABRIC_OP_WAIT) {
            if (rank->under_way[op.way] <= op.left) continue;
            wait_for(rank, op.way, op.left + 1u, now);
            return;
        }
        if (!start_op(workload, train, number, &op, now, out)) return;
    }
}

static struct train *train_of(const struct workload *workload, uint32_t rank)
{
    const struct trains *trains = &workload->trains;
    uint32_t low = 0, high = trains->count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (trains->train[middle]->first_rank <= rank)
            low = middle;
        else
            high = middle;
    }
    return trains->train[low];
}

static void train_done(struct workload *workload, uint32_t host, uint64_t token, ps_t now, struct app_out *out)
{
    uint32_t all = (uint32_t)(token >> WAY_BITS) & ((1u << TRAIN_RANK_BITS) - 1), way = token & ((1u << WAY_BITS) - 1);
    struct train *train = train_of(workload, all);
    uint32_t number = all - train->first_rank, pair = (uint32_t)(token >> NUMBER_SHIFT);
    struct train_rank *rank = &train->rank[number];

    CHECK(rank->host == host && rank->under_way[way] > 0);
    if (--rank->under_way[way] == 0) rank->now.busy_ps[way] += now - rank->busy_since[way];
    if (way == FABRIC_GROUP_P2P) train_pair_ends(train, number, pair);
    if (rank->waits != way || (rank->room ? rank->under_way[way] >= rank->room : rank->wanted != pair)) return;
    rank->waits = TRAIN_RUNS;
    rank->now.exposed_ps[way] += now - rank->since;
    advance(workload, train, number, now, out);
}

static void train_alarm(struct workload *workload, uint32_t host, uint32_t token, ps_t now, struct app_out *out)
{
    uint32_t number = token & ((1u << TRAIN_RANK_BITS) - 1), way = token >> TRAIN_RANK_BITS;
    struct train *train = train_of(workload, number);

    CHECK(train->rank[number - train->first_rank].host == host);
    if (way == TRAIN_WRITES)
        train_checkpoint_write(workload, train, number - train->first_rank, now, out);
    else if (way)
        train_done(workload, host, (uint64_t)number << WAY_BITS | (way - 1), now, out);
    else
        advance(workload, train, number - train->first_rank, now, out);
}

const struct coll_program train_program = {.done = train_done, .alarm = train_alarm};

void train_start(struct workload *workload, uint32_t index, uint32_t at, ps_t now, struct app_out *out)
{
    struct train *train = workload->trains.train[index];

    advance(workload, train, train->by_host[at], now, out);
}

/* The group a way is booked under. */
static uint32_t group_of(uint32_t way)
{
    return way < FABRIC_GROUPS ? way : FABRIC_GROUP_PP;
}

static ps_t rank_compute(const struct train_rank *rank)
{
    return rank->step ? rank->closed.compute_ps / rank->step : rank->now.compute_ps;
}

/* A rank's part in the sums. */
static void add_books(const struct train *train, uint32_t number, struct workload_training *sum)
{
    const struct train_rank *rank = &train->rank[number];
    const struct train_books *books = rank->step ? &rank->closed : &rank->now;
    uint32_t steps = rank->step ? rank->step : 1;
    uint64_t bytes[FABRIC_GROUPS] = {0}, operations[FABRIC_GROUPS] = {0};
    ps_t exposed[FABRIC_GROUPS] = {0};

    if (rank->step < sum->steps_ended) sum->steps_ended = rank->step;
    sum->compute_ps += rank_compute(rank);
    if (rank_compute(rank) > sum->compute_most_ps) {
        sum->compute_most_ps = rank_compute(rank);
        sum->slowest = number;
    }
    for (uint32_t w = 0; w < TRAIN_WAYS; w++) {
        uint32_t g = group_of(w);
        bool receives = w == TRAIN_FROM_PREV || w == TRAIN_FROM_NEXT;
        bytes[g] += receives ? 0 : books->bytes[w] / steps;
        operations[g] += receives ? 0 : books->operations[w] / steps;
        exposed[g] += books->exposed_ps[w] / steps;
        sum->group[g].busy_ps += books->busy_ps[w] / steps;
    }
    for (uint32_t g = 0; g < FABRIC_GROUPS; g++) {
        sum->group[g].exposed_ps += exposed[g];
        if (bytes[g] > sum->group[g].bytes) sum->group[g].bytes = bytes[g];
        if (operations[g] > sum->group[g].operations) sum->group[g].operations = operations[g];
        if (exposed[g] > sum->group[g].exposed_most_ps) sum->group[g].exposed_most_ps = exposed[g];
    }
}

bool workload_step_ended(const struct workload *workload, uint32_t index, uint32_t step, uint32_t *rank, ps_t *ret_end)
{
    const struct train *train = workload->trains.train[workload->instance[index].train];

    while (*rank < train->ranks && train->rank[*rank].step > step)
        ++*rank;
    if (*rank < train->ranks || step == train->from->steps) return false;
    *ret_end = train->step_end[step];
    return true;
}

bool workload_training(const struct workload *workload, uint32_t index, struct workload_training *ret)
{
    if (workload->instance[index].train == WORKLOAD_NONE) return false;
    const struct train *train = workload->trains.train[workload->instance[index].train];
    uint32_t steps = train->from->steps;
    struct workload_training sum = {.ranks = train->ranks,
                                    .steps = steps,
                                    .steps_ended = steps,
                                    .step_end = train->step_end,
                                    .wait_ps = train->wait_ps,
                                    .wait_steps = train->wait_steps};

    for (uint32_t g = 0; g < FABRIC_GROUPS; g++)
        sum.group[g].size = g == FABRIC_GROUP_PP ? train->stages : train_group_size(train->from, g);
    for (uint32_t r = 0; r < train->ranks; r++)
        add_books(train, r, &sum);
    *ret = sum;
    return true;
}

ps_t workload_rank_compute(const struct workload *workload, uint32_t instance, uint32_t rank)
{
    return rank_compute(&workload->trains.train[workload->instance[instance].train]->rank[rank]);
}

void workload_last_step(const struct workload *workload, uint32_t instance, uint64_t *ret_steps, ps_t *ret_ps)
{
    const struct train *train = workload->trains.train[workload->instance[instance].train];
    uint32_t steps = train->from->steps;

    for (uint32_t r = 0; r < train->ranks; r++)
        if (train->rank[r].step < steps) steps = train->rank[r].step;
    *ret_steps = steps;
    *ret_ps = 0;
    if (steps == 0) return;
    ps_t before = steps > 1 ? train->step_end[steps - 2] : workload->instance[instance].start;
    *ret_ps = train->step_end[steps - 1] - before;
}

uint32_t workload_ranks(const struct workload *workload)
{
    return workload->trains.ranks;
}

void workload_rank(const struct workload *workload, uint32_t number, ps_t *ret_compute, ps_t *ret_wait)
{
    const struct train *train = train_of(workload, number);
    const struct train_rank *rank = &train->rank[number - train->first_rank];

    *ret_compute = rank->last_compute_ps;
    *ret_wait = rank->last_wait_ps;
}
