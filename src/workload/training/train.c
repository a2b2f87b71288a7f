/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training jobs at set-up: groups become communicators, operations become collectives.
 *
 * Operations of the program that are alike (group, kind, bytes) are one form; a form has a collective in each group
 * of its kind.  Groups of one rank do nothing, and what they would do is left out.  A stage sends to the next by a
 * communicator of two, one for either way, since a communicator runs its operations one after the other.
 *
 * A group within one host sends no packet.  Unless `nvlink: exact` asks for each message, its operations take what
 * NCCL's cost model says: most calls of a step are of that kind, and would be most of the work.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "workload/collective/tuner.h"
#include "workload/training/train.h"
#include "workload/workload_int.h"

#define DEPTH_LEAST 8
#define STREAM_TRAIN 0x40000000000ULL

static void train_free(struct train *train)
{
    if (train == NULL) return;
    for (uint32_t i = 0; i < train->forms; i++)
        free(train->form[i].coll);
    for (uint32_t s = 0; train->whole && s < train->lists; s++)
        free(train->whole[s].op);
    train_pairs_free(train);
    for (uint32_t w = 0; w < TRAIN_WAYS; w++) {
        for (uint32_t g = 0; train->inside[w] && g < train->ranks; g++)
            free(train->inside[w][g].arrived);
        free(train->inside[w]);
        free(train->member[w]);
    }
    free(train->whole);
    free(train->form);
    free(train->rank);
    free(train->by_host);
    free(train->before.op);
    free(train->forward.op);
    free(train->backward.op);
    free(train->gradient.op);
    free(train->finish.op);
    free(train->after.op);
    free(train->step_end);
    free(train->wait_ps);
    free(train);
}

void trains_free(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->trains.count; i++)
        train_free(workload->trains.train[i]);
    free(workload->trains.train);
}

uint32_t train_stage_layers(const struct fabric_training *from, uint32_t stage)
{
    uint32_t stages = from->size[FABRIC_GROUP_PP], sum = 0;

    for (uint32_t part = stage; from->layers && part < stages * from->chunks; part += stages)
        sum += from->layers[part];
    return sum;
}

static uint32_t coordinate(const struct train *train, uint32_t rank, uint32_t dimension)
{
    return rank / train->stride[dimension] % train->from->size[dimension];
}

uint32_t train_group_size(const struct fabric_training *from, uint32_t way)
{
    if (way == FABRIC_GROUP_P2P) return 2;
    if (way == FABRIC_GROUP_DP || way == FABRIC_GROUP_EDP) return from->size[way] * from->size[FABRIC_GROUP_CP];
    return way < FABRIC_GROUPS ? from->size[way] : from->size[FABRIC_GROUP_PP] > 1 ? 2 : 1;
}

void train_place(const struct train *train, uint32_t way, uint32_t rank, uint32_t *ret_group, uint32_t *ret_index)
{
    const uint32_t *size = train->from->size;
    uint32_t tp = coordinate(train, rank, FABRIC_GROUP_TP), cp = coordinate(train, rank, FABRIC_GROUP_CP);
    uint32_t dp = coordinate(train, rank, FABRIC_GROUP_DP), pp = coordinate(train, rank, FABRIC_GROUP_PP);
    uint32_t ep = size[FABRIC_GROUP_EP], stride = train->stride[FABRIC_GROUP_PP];

    switch (way) {
    case FABRIC_GROUP_TP:
        *ret_group = (pp * size[FABRIC_GROUP_DP] + dp) * size[FABRIC_GROUP_CP] + cp;
        *ret_index = tp;
        break;
    case FABRIC_GROUP_CP:
        *ret_group = (pp * size[FABRIC_GROUP_DP] + dp) * size[FABRIC_GROUP_TP] + tp;
        *ret_index = cp;
        break;
    case FABRIC_GROUP_DP: /* parameters are the same along cp */
        *ret_group = pp * size[FABRIC_GROUP_TP] + tp;
        *ret_index = dp * size[FABRIC_GROUP_CP] + cp;
        break;
    case FABRIC_GROUP_PP:
        *ret_group = (dp * size[FABRIC_GROUP_CP] + cp) * size[FABRIC_GROUP_TP] + tp;
        *ret_index = pp;
        break;
    case FABRIC_GROUP_EP:
        *ret_group =
            ((pp * (size[FABRIC_GROUP_DP] / ep) + dp / ep) * size[FABRIC_GROUP_CP] + cp) * size[FABRIC_GROUP_TP] + tp;
        *ret_index = dp % ep;
        break;
    case FABRIC_GROUP_EDP:
        *ret_group = (pp * ep + dp % ep) * size[FABRIC_GROUP_TP] + tp;
        *ret_index = dp / ep * size[FABRIC_GROUP_CP] + cp;
        break;
    case TRAIN_TO_NEXT: /* by the sender's rank */
    case TRAIN_TO_PREV:
        *ret_group = rank;
        *ret_index = 0;
        break;
    case TRAIN_FROM_PREV:
        *ret_group = pp ? rank - stride : rank + (size[FABRIC_GROUP_PP] - 1) * stride;
        *ret_index = 1;
        break;
    case TRAIN_FROM_NEXT:
        *ret_group = pp + 1 < size[FABRIC_GROUP_PP] ? rank + stride : rank - pp * stride;
        *ret_index = 1;
        break;
    default:
        *ret_group = 0;
        *ret_index = rank;
        break;
    }
}

/* The way a send's receiver knows it by. */
static uint32_t sender_way(uint32_t way)
{
    return way == TRAIN_FROM_PREV ? TRAIN_TO_NEXT : way == TRAIN_FROM_NEXT ? TRAIN_TO_PREV : way;
}

static int find_form(struct train *train, uint32_t way, uint32_t kind, uint64_t bytes, uint32_t *ret)
{
    bool failed = false;

    for (uint32_t i = 0; i < train->forms; i++) {
        const struct train_form *form = &train->form[i];
        if (form->way != way || form->kind != kind || form->bytes != bytes) continue;
        *ret = i;
        return 0;
    }
    train->form = workload_grow(train->form, train->forms, &train->form_capacity, sizeof(*train->form), &failed);
    if (failed) return -ENOMEM;
    uint32_t *coll = malloc((train->ranks + 1u) * sizeof(*coll));
    if (coll == NULL) return -ENOMEM;
    memset(coll, 0xff, (train->ranks + 1u) * sizeof(*coll));
    train->form[train->forms] =
        (struct train_form){.way = (uint8_t)way, .kind = (uint8_t)kind, .bytes = bytes, .coll = coll};
    *ret = train->forms++;
    return 0;
}

static int make_op(struct train *train, uint32_t list, const struct fabric_op *from, struct train_op *ret)
{
    static const uint8_t ways[] = {[FABRIC_OP_SEND_NEXT] = TRAIN_TO_NEXT,
                                   [FABRIC_OP_RECV_PREV] = TRAIN_FROM_PREV,
                                   [FABRIC_OP_SEND_PREV] = TRAIN_TO_PREV,
                                   [FABRIC_OP_RECV_NEXT] = TRAIN_FROM_NEXT};
    bool sends = from->what >= FABRIC_OP_SEND_NEXT && from->what <= FABRIC_OP_RECV_NEXT;

    *ret = (struct train_op){.what = from->what,
                             .way = sends ? ways[from->what] : from->group,
                             .left = from->left,
                             .number = from->number,
                             .beside = from->beside,
                             .uneven = from->uneven,
                             .bytes = from->bytes,
                             .time_ps = from->time_ps};
    if (from->what == FABRIC_OP_COMPUTE || from->what == FABRIC_OP_WAIT || from->what == FABRIC_OP_WAIT_FOR) return 0;
    if (from->what == FABRIC_OP_SEND || from->what == FABRIC_OP_RECV)
        return train_pair_find(train, list, from, &ret->form);
    return find_form(train, sender_way(ret->way), sends ? FABRIC_JOB_SENDRECV : from->collective, from->bytes,
                     &ret->form);
}

/* Without what groups of one would do.  `list`: the rank's number where each has a list of its own. */
static int make_ops(struct train *train, uint32_t list, const struct fabric_ops *from, uint32_t times,
                    struct train_ops *ret)
{
    uint32_t beside[TRAIN_WAYS] = {0};
    int error = 0;

    ret->op = calloc(from->count + 1u, sizeof(*ret->op));
    if (ret->op == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < from->count && !error; i++) {
        const struct fabric_op *op = &from->op[i];
        struct train_op *made = &ret->op[ret->count];
        if (op->what == FABRIC_OP_COMPUTE && op->time_ps == 0) continue;
        if (op->what == FABRIC_OP_COLLECTIVE && (op->bytes == 0 || train_group_size(train->from, op->group) < 2))
            continue;
        if (op->what >= FABRIC_OP_SEND_NEXT && op->what <= FABRIC_OP_RECV_NEXT && train->stages < 2) continue;
        error = make_op(train, list, op, made);
        if (error) break;
        if (made->beside) beside[made->way]++;
        ret->count++;
    }
    for (uint32_t w = 0; w < TRAIN_WAYS; w++) { /* a list is repeated, and none of it may have ended */
        uint64_t most = (uint64_t)beside[w] * times + 1;
        if (most > 1024) most = 1024;
        if (most > train->depth[w]) train->depth[w] = (uint32_t)most;
    }
    return error;
}

static int make_stage_ops(struct train *train)
{
    const struct fabric_training *from = train->from;
    struct fabric_op receive[2] = {{.what = FABRIC_OP_RECV_PREV, .bytes = from->stage_bytes},
                                   {.what = FABRIC_OP_RECV_NEXT, .bytes = from->stage_bytes}};
    struct fabric_op send[2] = {{.what = FABRIC_OP_SEND_NEXT, .bytes = from->stage_bytes, .beside = true},
                                {.what = FABRIC_OP_SEND_PREV, .bytes = from->stage_bytes, .beside = true}};
    uint32_t ahead = 2 * train->stages < from->micro_batches ? 2 * train->stages : from->micro_batches;
    uint32_t depth = ahead * from->chunks + 2; /* no schedule goes on for longer before it needs something back */
    int error = 0;

    if (train->stages < 2 || from->whole) return 0;
    for (int i = 0; i < 2 && !error; i++) {
        if (i == 1 && from->backward.count == 0) break;
        error = make_op(train, 0, &receive[i], &train->receive[i]);
        if (!error) error = make_op(train, 0, &send[i], &train->send[i]);
    }
    for (uint32_t w = TRAIN_TO_NEXT; w < TRAIN_WAYS; w++)
        if (depth > train->depth[w]) train->depth[w] = depth;
    return error;
}

static int make_program(struct train *train)
{
    const struct fabric_training *from = train->from;
    uint32_t most = 1;

    for (uint32_t s = 0; s < train->stages; s++)
        if (train_stage_layers(from, s) > most) most = train_stage_layers(from, s);
    for (uint32_t w = 0; w < TRAIN_WAYS; w++)
        train->depth[w] = DEPTH_LEAST;
    int error = make_ops(train, 0, &from->before, 1, &train->before);
    if (!error) error = make_ops(train, 0, &from->forward, most, &train->forward);
    if (!error) error = make_ops(train, 0, &from->backward, most, &train->backward);
    if (!error) error = make_ops(train, 0, &from->gradient, most, &train->gradient);
    if (!error) error = make_ops(train, 0, &from->finish, most, &train->finish);
    if (!error) error = make_ops(train, 0, &from->after, 1, &train->after);
    if (!error) error = make_stage_ops(train);
    if (error || !from->whole) return error;
    train->lists = from->by_rank ? train->ranks : train->stages;
    train->whole = calloc(train->lists + 1u, sizeof(*train->whole));
    if (train->whole == NULL) return -ENOMEM;
    for (uint32_t s = 0; s < train->lists && !error; s++)
        error = make_ops(train, s, &from->whole[s], 1, &train->whole[s]);
    return error;
}

/* The collective of a form in one group. */
static int make_collective(struct workload *workload, const struct train *train, const struct train_form *form,
                           const uint32_t *gpu, uint32_t ranks, uint32_t *ret, struct fabric_errors *errors)
{
    const struct fabric_job *job = &workload->fabric->job[workload->instance[train->instance].job];
    struct comm_config config = {.gpu = gpu,
                                 .ranks = ranks,
                                 .job_class = job->job_class,
                                 .qps = job->qps,
                                 .depth = train->depth[form->way],
                                 .owner = train_owner(workload->instance[train->instance].job, form->way, 0),
                                 .job = workload->instance[train->instance].job,
                                 .clear_to_send = job->clear_to_send,
                                 .pxn = job->pxn,
                                 .program = &train_program,
                                 .where = job->where};
    struct coll_config what = {.kind = form->kind, .bytes = form->bytes};
    uint32_t comm;

    int error = comm_create(workload, &config, &comm, errors);
    return error ? error : coll_create(workload, comm, &what, ret, errors);
}

/*
 * What a collective within one host takes, by NCCL's own cost model (tuner.h); what goes between pairs takes its
 * bytes on a GPU's link, and the link's latency.
 */
static int inside_time(const struct workload *workload, const uint32_t *gpu, uint32_t ranks, struct train_form *form)
{
    const struct fabric *fabric = workload->fabric;
    struct tuner_choice choice;
    struct tuner_group group;
    struct rate rate = rate_of(fabric->gpu_rate_bps);

    if (!tuner_group_of(fabric, gpu, ranks, &group)) return -ENOMEM;
    tuner_choose(&group, (enum fabric_job_kind)form->kind, FABRIC_ALGORITHM_AUTO, FABRIC_PROTOCOL_AUTO, form->bytes,
                 &choice);
    form->inside_ps = choice.time_ns * PS_NS;
    if (choice.time_ns == 0)
        form->inside_ps =
            fabric->gpu_latency_ps +
            rate_take(&rate, form->kind == FABRIC_JOB_ALLTOALL ? form->bytes / ranks * (ranks - 1) : form->bytes);
    return 0;
}

/* The way's groups: who is in them, and which are within one host. */
static int make_way(struct train *train, uint32_t way)
{
    uint32_t size = train_group_size(train->from, way), stride = train->stride[FABRIC_GROUP_PP], group, index;

    if (train->member[way]) return 0;
    train->member[way] = malloc((size_t)train->ranks * (way < FABRIC_GROUPS ? 1 : 2) * sizeof(uint32_t));
    train->inside[way] = calloc(train->ranks, sizeof(*train->inside[way]));
    if (train->member[way] == NULL || train->inside[way] == NULL) return -ENOMEM;
    uint32_t *member = train->member[way], groups = way < FABRIC_GROUPS ? train->ranks / size : train->ranks;
    for (uint32_t r = 0; r < train->ranks; r++) {
        train_place(train, way, r, &group, &index);
        member[group * size + index] = r;
        if (way < FABRIC_GROUPS) continue;
        uint32_t stage = train->rank[r].stage, stages = train->stages;
        bool sends = train->from->chunks > 1 || (way == TRAIN_TO_NEXT ? stage + 1 < stages : stage > 0);
        uint32_t to = (stage + (way == TRAIN_TO_NEXT ? 1 : stages - 1)) % stages;
        member[2 * r + 1] = sends ? r - stage * stride + to * stride : WORKLOAD_NONE;
    }
    for (uint32_t g = 0; g < groups; g++) {
        struct train_inside *inside = &train->inside[way][g];
        if (member[g * size + size - 1] == WORKLOAD_NONE) continue;
        inside->is = !train->from->exact;
        for (uint32_t i = 1; i < size; i++)
            inside->is &= train->rank[member[g * size]].host == train->rank[member[g * size + i]].host;
        if (!inside->is) continue;
        inside->arrived = calloc(train->depth[way], sizeof(*inside->arrived));
        if (inside->arrived == NULL) return -ENOMEM;
    }
    return 0;
}

/* A form's collective in each group. */
static int make_groups(struct workload *workload, struct train *train, struct train_form *form,
                       struct fabric_errors *errors)
{
    const uint32_t *rank_gpu = workload->fabric->job[workload->instance[train->instance].job].rank;
    uint32_t size = train_group_size(train->from, form->way);
    uint32_t groups = form->way < FABRIC_GROUPS ? train->ranks / size : train->ranks;
    uint32_t *gpu = calloc(size + 1u, sizeof(*gpu));
    int error = gpu ? make_way(train, form->way) : -ENOMEM;

    for (uint32_t g = 0; g < groups && !error; g++) {
        const uint32_t *member = &train->member[form->way][g * size];
        if (member[size - 1] == WORKLOAD_NONE) continue;
        for (uint32_t i = 0; i < size; i++)
            gpu[i] = rank_gpu[member[i]];
        if (!train->inside[form->way][g].is)
            error = make_collective(workload, train, form, gpu, size, &form->coll[g], errors);
        else if (form->inside_ps == 0)
            error = inside_time(workload, gpu, size, form);
    }
    free(gpu);
    return error;
}

static int make_ranks(struct workload *workload, struct train *train, const struct fabric_job *job)
{
    const struct fabric *fabric = workload->fabric;
    uint32_t *first = calloc(fabric->hosts + 2u, sizeof(*first));

    train->rank = calloc(train->ranks + 1u, sizeof(*train->rank));
    train->by_host = calloc(train->ranks + 1u, sizeof(*train->by_host));
    train->step_end = calloc(train->from->steps + 1u, sizeof(*train->step_end));
    train->wait_steps = TRAIN_WAITS_MOST / (train->ranks + 1u);
    if (train->wait_steps > train->from->steps) train->wait_steps = train->from->steps;
    train->wait_ps = calloc((size_t)train->ranks * train->wait_steps + 1, sizeof(*train->wait_ps));
    if (!first || !train->rank || !train->by_host || !train->step_end || !train->wait_ps) {
        free(first);
        return -ENOMEM;
    }
    for (uint32_t r = 0; r < train->ranks; r++) {
        struct train_rank *rank = &train->rank[r];
        rank->host = fabric->gpu_host[job->rank[r]];
        rank->stage = coordinate(train, r, FABRIC_GROUP_PP);
        rank->waits = TRAIN_RUNS;
        rng_init(&rank->rng, workload->options.seed, STREAM_TRAIN | (uint64_t)(train->first_rank + r));
        first[rank->host + 1]++;
    }
    for (uint32_t h = 0; h < fabric->hosts; h++)
        first[h + 1] += first[h];
    for (uint32_t r = 0; r < train->ranks; r++)
        train->by_host[first[train->rank[r].host]++] = r;
    free(first);
    return 0;
}

int train_build(struct workload *workload, uint32_t index, struct fabric_errors *errors)
{
    struct workload_instance *instance = &workload->instance[index];
    const struct fabric_job *job = &workload->fabric->job[instance->job];
    struct trains *trains = &workload->trains;
    uint32_t stride = 1;
    bool failed = false;

    trains->train = workload_grow(trains->train, trains->count, &trains->capacity, sizeof(*trains->train), &failed);
    struct train *train = failed ? NULL : calloc(1, sizeof(*train));
    if (train == NULL) return -ENOMEM;
    trains->train[trains->count] = train;
    instance->train = trains->count++;
    instance->remaining = job->ranks;
    train->from = job->training;
    train->instance = index;
    train->ranks = job->ranks;
    train->stages = job->training->size[FABRIC_GROUP_PP];
    train->first_rank = trains->ranks;
    trains->ranks += job->ranks;
    for (uint32_t d = 0; d < FABRIC_DIMENSIONS; d++) {
        train->stride[job->training->order[d]] = stride;
        stride *= job->training->size[job->training->order[d]];
    }
    CHECK(stride == job->ranks);
    coll_register(workload, &train_program);
    int error = make_ranks(workload, train, job);
    if (!error) error = train_checkpoint_build(workload, train);
    if (!error) error = make_program(train);
    for (uint32_t i = 0; i < train->forms && !error; i++)
        error = make_groups(workload, train, &train->form[i], errors);
    return error ? error : train_pairs_build(workload, train, errors);
}
