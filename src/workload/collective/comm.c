/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators and operations: made at set-up, started and ended rank by rank.
 *
 * A rank has a short queue of operations it has started.  The first of them runs: its lanes in each channel, or, in a
 * ring through several hosts, its place in the host's segments, which begin when the last of the host's ranks has
 * come. When all its parts are over, the rank's program is told and the next in the queue begins.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "workload/collective/coll_int.h"
#include "workload/collective/tuner.h"
#include "workload/workload_int.h"

#define DEPTH 8

static void comm_free(struct comm *comm)
{
    if (comm == NULL) return;
    free(comm->first);
    free(comm->host);
    free(comm->host_of);
    free(comm->rank_of);
    free(comm->pos_of);
    free(comm->gpu);
    free(comm->first_nic);
    free(comm->nic);
    free(comm->waiting);
    free(comm->rank);
    free(comm->start);
    free(comm);
}

int collectives_init(struct workload *workload)
{
    const struct fabric *fabric = workload->fabric;
    struct collectives *coll = &workload->coll;

    coll->gpu_out = calloc(fabric->gpus + 1u, sizeof(ps_t));
    coll->gpu_in = calloc(fabric->gpus + 1u, sizeof(ps_t));
    coll->gpu_rate = rate_of(fabric->gpu_rate_bps);
    coll->nvls_rate = rate_of(fabric->gpu_rate_bps / 1000000 * fabric->gpu_nvls_ppm);
    return coll->gpu_out && coll->gpu_in ? 0 : -ENOMEM;
}

void collectives_free(struct workload *workload)
{
    struct collectives *coll = &workload->coll;

    for (uint32_t i = 0; i < coll->comms; i++)
        comm_free(coll->comm[i]);
    for (uint32_t i = 0; i < coll->graphs; i++)
        graph_free(coll->graph[i]);
    for (uint32_t i = 0; i < coll->segments; i++)
        free(coll->segment[i].link_free);
    free(coll->comm);
    free(coll->graph);
    free(coll->op);
    free(coll->lane);
    free(coll->segment);
    free(coll->out);
    free(coll->in);
    free(coll->part);
    free(coll->gpu_out);
    free(coll->gpu_in);
}

bool coll_part_of(const struct workload *workload, uint32_t coll, uint32_t i, struct coll_part *ret)
{
    const struct comm *comm = workload->coll.comm[workload->coll.op[coll].comm];

    if (i >= comm->hosts) return false;
    *ret = (struct coll_part){.host = comm->host[i], .first = comm->first[i], .end = comm->first[i + 1]};
    return true;
}

size_t collectives_bytes(const struct workload *workload)
{
    const struct collectives *coll = &workload->coll;
    size_t bytes = coll->op_capacity * sizeof(*coll->op) + coll->lane_capacity * sizeof(*coll->lane) +
                   coll->segment_capacity * sizeof(*coll->segment) + coll->out_capacity * sizeof(*coll->out) +
                   coll->in_capacity * sizeof(*coll->in) + coll->part_capacity * sizeof(*coll->part);

    for (uint32_t i = 0; i < coll->graphs; i++)
        bytes += sizeof(*coll->graph[i]) + coll->graph[i]->bytes;
    for (uint32_t i = 0; i < coll->comms; i++) {
        const struct comm *comm = coll->comm[i];
        bytes += sizeof(*comm) + comm->ranks * (5 * sizeof(uint32_t) + sizeof(struct comm_rank) +
                                                comm->config.depth * sizeof(struct comm_start));
    }
    return bytes;
}

/* Hosts in order of their first rank, the ranks of each in order of their GPUs. */
static int comm_places(const struct fabric *fabric, struct comm *comm, const uint32_t *gpu)
{
    uint32_t n = comm->ranks, *place = malloc((fabric->hosts + 1u) * sizeof(*place));
    uint32_t *count = calloc(fabric->hosts + 1u, sizeof(*count));

    if (place == NULL || count == NULL) {
        free(place);
        free(count);
        return -ENOMEM;
    }
    for (uint32_t r = 0; r < n; r++) {
        uint32_t host = fabric->gpu_host[gpu[r]];
        if (count[host]++ == 0) {
            place[host] = comm->hosts;
            comm->host[comm->hosts++] = host;
        }
        if (count[host] > comm->most) comm->most = count[host];
    }
    for (uint32_t h = 0; h < comm->hosts; h++) {
        comm->first[h + 1] = comm->first[h] + count[comm->host[h]];
        count[comm->host[h]] = 0;
    }
    for (uint32_t r = 0; r < n; r++) {
        uint32_t host = fabric->gpu_host[gpu[r]], h = place[host], at = comm->first[h] + count[host]++;
        while (at > comm->first[h] && comm->gpu[at - 1] > gpu[r]) {
            comm->gpu[at] = comm->gpu[at - 1];
            comm->rank_of[at] = comm->rank_of[at - 1];
            at--;
        }
        comm->gpu[at] = gpu[r];
        comm->rank_of[at] = r;
    }
    for (uint32_t h = 0; h < comm->hosts; h++) {
        for (uint32_t p = comm->first[h]; p < comm->first[h + 1]; p++) {
            comm->pos_of[comm->rank_of[p]] = p;
            comm->host_of[p] = h;
        }
    }
    free(place);
    free(count);
    return 0;
}

/* The adapters next to each host's ranks, in order. */
static int comm_nics(const struct fabric *fabric, struct comm *comm)
{
    uint32_t total = 0;

    for (uint32_t h = 0; h < comm->hosts; h++)
        total += fabric->node[comm->host[h]].gpu_ports;
    comm->nic = calloc(total + 1u, sizeof(*comm->nic));
    if (comm->nic == NULL) return -ENOMEM;
    for (uint32_t h = 0, at = 0; h < comm->hosts; h++) {
        for (uint32_t p = comm->first[h]; p < comm->first[h + 1]; p++) {
            uint32_t first = fabric->gpu_nic[comm->gpu[p]], many = fabric_gpu_nics(fabric, comm->gpu[p]);
            for (uint32_t i = 0; i < many; i++)
                if (at == comm->first_nic[h] || comm->nic[at - 1] < first + i) comm->nic[at++] = first + i;
        }
        comm->first_nic[h + 1] = at;
        if (at - comm->first_nic[h] > comm->most_nics) comm->most_nics = at - comm->first_nic[h];
    }
    return 0;
}

static uint64_t config_hash(const struct comm_config *config)
{
    uint64_t hash = ((uint64_t)config->ranks << 32 ^ (uint64_t)config->channels << 16 ^ config->qps) +
                    config->chunk_bytes * 31 + config->job_class * 7 + config->depth * 3 + config->owner * 0x10000001 +
                    config->clear_to_send * 2 + config->pxn + (uintptr_t)config->program;

    for (uint32_t r = 0; r < config->ranks; r++)
        hash = (hash ^ config->gpu[r]) * 0x9e3779b97f4a7c15ULL ^ hash >> 29;
    return hash;
}

static bool same_comm(const struct comm *comm, uint64_t hash, const struct comm_config *config)
{
    const struct comm_config *own = &comm->config;

    if (comm->hash != hash || own->ranks != config->ranks || own->job_class != config->job_class ||
        own->channels != config->channels || own->qps != config->qps || own->chunk_bytes != config->chunk_bytes ||
        own->depth != config->depth || own->clear_to_send != config->clear_to_send || own->pxn != config->pxn ||
        own->program != config->program || own->owner != config->owner)
        return false;
    for (uint32_t r = 0; r < config->ranks; r++)
        if (comm->gpu[comm->pos_of[r]] != config->gpu[r]) return false;
    return true;
}

static int comm_check(const struct fabric *fabric, const struct comm *comm, struct fabric_errors *errors)
{
    for (uint32_t h = 0; h < comm->hosts && comm->hosts > 1; h++) {
        if (comm->first_nic[h + 1] > comm->first_nic[h]) continue;
        fabric_errors_add(errors, comm->config.where, "host '%s' has ranks but no adapter to reach the others by",
                          fabric->node[comm->host[h]].name);
        return -EINVAL;
    }
    for (uint32_t p = 1; p < comm->ranks; p++) {
        if (comm->gpu[p] != comm->gpu[p - 1]) continue;
        fabric_errors_add(errors, comm->config.where, "GPU %u of host '%s' is there twice",
                          comm->gpu[p] - fabric->first_gpu[fabric->gpu_host[comm->gpu[p]]],
                          fabric->node[fabric->gpu_host[comm->gpu[p]]].name);
        return -EINVAL;
    }
    return 0;
}

static struct comm *comm_make(const struct fabric *fabric, const struct comm_config *config, uint64_t hash)
{
    struct comm *comm = calloc(1, sizeof(*comm));
    uint32_t n = config->ranks;

    if (comm == NULL) return NULL;
    comm->config = *config;
    comm->config.gpu = NULL;
    comm->ranks = n;
    comm->hash = hash;
    comm->first_graph = comm->first_op = WORKLOAD_NONE;
    comm->first = calloc(n + 2u, sizeof(uint32_t));
    comm->host = calloc(n + 1u, sizeof(uint32_t));
    comm->host_of = calloc(n + 1u, sizeof(uint32_t));
    comm->rank_of = calloc(n + 1u, sizeof(uint32_t));
    comm->pos_of = calloc(n + 1u, sizeof(uint32_t));
    comm->gpu = calloc(n + 1u, sizeof(uint32_t));
    comm->first_nic = calloc(n + 2u, sizeof(uint32_t));
    comm->waiting = calloc(n + 1u, sizeof(uint32_t));
    comm->rank = calloc(n + 1u, sizeof(*comm->rank));
    comm->start = calloc((size_t)n * config->depth + 1, sizeof(*comm->start));
    if (!comm->first || !comm->host || !comm->host_of || !comm->rank_of || !comm->pos_of || !comm->gpu ||
        !comm->first_nic || !comm->waiting || !comm->rank || !comm->start ||
        comm_places(fabric, comm, config->gpu) != 0 || comm_nics(fabric, comm) != 0) {
        comm_free(comm);
        return NULL;
    }
    return comm;
}

int comm_create(struct workload *workload, const struct comm_config *given, uint32_t *ret_comm,
                struct fabric_errors *errors)
{
    struct collectives *coll = &workload->coll;
    struct comm_config config = *given;

    if (config.ranks < 2) {
        fabric_errors_add(errors, config.where, "a collective needs two ranks or more, this one has %u", config.ranks);
        return -EINVAL;
    }
    coll_register(workload, config.program);
    if (config.qps == 0) config.qps = 1;
    if (config.depth == 0) config.depth = DEPTH;
    uint64_t hash = config_hash(&config);
    for (uint32_t i = 0; i < coll->comms; i++) {
        if (!same_comm(coll->comm[i], hash, &config)) continue;
        *ret_comm = i;
        return 0;
    }
    coll->comm = workload_grow(coll->comm, coll->comms, &coll->comm_capacity, sizeof(*coll->comm), &workload->failed);
    struct comm *comm = workload->failed ? NULL : comm_make(workload->fabric, &config, hash);
    if (comm == NULL) return -ENOMEM;
    coll->comm[coll->comms] = comm;
    *ret_comm = coll->comms++;
    return comm_check(workload->fabric, comm, errors);
}

static int tune(struct workload *workload, const struct comm *comm, struct coll_config *config)
{
    struct tuner_group group;
    struct tuner_choice choice;

    if (config->algorithm != FABRIC_ALGORITHM_AUTO && config->protocol != FABRIC_PROTOCOL_AUTO) return 0;
    if (!tuner_group_of(workload->fabric, comm->gpu, comm->ranks, &group)) return -ENOMEM;
    tuner_choose(&group, (enum fabric_job_kind)config->kind, (enum fabric_algorithm)config->algorithm,
                 (enum fabric_protocol)config->protocol, config->bytes, &choice);
    config->algorithm = choice.algorithm;
    config->protocol = choice.protocol;
    return 0;
}

/* Whoever passes a message on in a segment has an equal share of its GPU's link with the other channels. */
static void op_hops(const struct workload *workload, const struct coll_graph *graph, struct coll_op *op)
{
    const struct rate share = rate_of(workload->fabric->gpu_rate_bps / graph->shape.channels);

    uint64_t steps = program_steps(&op->program, 0, 0, 0), pieces = (uint64_t)op->plan.loops * op->plan.slices;

    op->messages = steps - pieces; /* the last step of a loop sends nothing */
    op->a_loop = op->messages / op->plan.loops;
    for (int last = 0; last < 2; last++) {
        for (uint32_t s = 0; s < op->plan.slices; s++) {
            struct rate rate = share;
            op->hop_ps[last][s] = rate_take(&rate, op->plan.wire_bytes[last][s]) + op->plan.gpu_ps;
        }
    }
}

int coll_create(struct workload *workload, uint32_t comm_index, const struct coll_config *given, uint32_t *ret_coll,
                struct fabric_errors *errors)
{
    struct collectives *coll = &workload->coll;
    struct comm *comm = coll->comm[comm_index];
    struct coll_op op = {.comm = comm_index, .config = *given};

    int error = tune(workload, comm, &op.config);
    if (error) return error;
    for (uint32_t i = comm->first_op; i != WORKLOAD_NONE; i = coll->op[i].next) {
        const struct coll_config *own = &coll->op[i].config;
        if (own->kind != op.config.kind || own->bytes != op.config.bytes || own->root != op.config.root ||
            own->algorithm != op.config.algorithm || own->protocol != op.config.protocol)
            continue;
        *ret_coll = i;
        return 0;
    }
    uint32_t channels = coll_plan_channels(comm, &op.config, workload->fabric);
    struct program_shape shape = {.ranks = comm->ranks,
                                  .hosts = comm->hosts,
                                  .channels = channels,
                                  .alike = program_alike(comm->hosts, comm->first),
                                  .first = comm->first,
                                  .host_of = comm->host_of,
                                  .rank_of = comm->rank_of,
                                  .pos_of = comm->pos_of};
    op.program = (struct program){.shape = &shape,
                                  .kind = op.config.kind,
                                  .algorithm = op.config.algorithm,
                                  .root = comm->pos_of[op.config.root < comm->ranks ? op.config.root : 0]};
    const char *why =
        op.config.root < comm->ranks ? program_refuses(&op.program) : "there is no rank of the root's number";
    if (why) {
        fabric_errors_add(errors, comm->config.where, "%s of %u ranks in %u hosts: %s",
                          fabric_job_names[op.config.kind], comm->ranks, comm->hosts, why);
        return -EINVAL;
    }
    coll_plan_make(&op.program, comm, &op.config, workload->fabric, &op.plan);
    uint64_t most = op.plan.loops * op.plan.slices, steps = 2 * (uint64_t)comm->ranks;
    if (most > COLL_MESSAGES_MAX || most * steps > COLL_MESSAGES_MAX) {
        fabric_errors_add(errors, comm->config.where,
                          "%s: in %" PRIu64 " loops a rank would send too many messages; more than %u are not counted: "
                          "write a larger chunk",
                          fabric_job_names[op.config.kind], op.plan.loops, COLL_MESSAGES_MAX);
        return -EINVAL;
    }
    error = graph_find(workload, comm_index, &op.program, channels, &op.graph);
    if (error) return error;
    op.program.shape = &coll->graph[op.graph]->shape;
    op.program.loops = (uint32_t)op.plan.loops;
    op.program.slices = op.plan.slices;
    if (coll->graph[op.graph]->folded) op_hops(workload, coll->graph[op.graph], &op);
    coll->op = workload_grow(coll->op, coll->ops, &coll->op_capacity, sizeof(*coll->op), &workload->failed);
    if (workload->failed) return -ENOMEM;
    op.next = comm->first_op;
    coll->op[coll->ops] = op;
    comm->first_op = *ret_coll = coll->ops++;
    return 0;
}

uint32_t comm_host(const struct workload *workload, uint32_t index, uint32_t rank)
{
    const struct comm *comm = workload->coll.comm[index];

    return comm->host[comm->host_of[comm->pos_of[rank]]];
}

struct coll_config coll_config(const struct workload *workload, uint32_t coll)
{
    return workload->coll.op[coll].config;
}

/* All lanes of the rank.  They are all set before any moves: one that ends at once must not end the whole. */
static void begin_lanes(struct workload *workload, const struct coll_op *op, uint32_t coll_index, uint32_t pos,
                        ps_t now, struct app_out *out)
{
    const struct coll_graph *graph = workload->coll.graph[op->graph];
    struct comm *comm = workload->coll.comm[op->comm];
    uint32_t channels = graph->shape.channels, first = graph->first_lane + pos * channels * graph->lanes;
    uint32_t host = comm->host[comm->host_of[pos]], comm_index = op->comm;

    comm->rank[pos].parts = 1;
    for (uint32_t i = 0; i < channels * graph->lanes; i++) {
        uint64_t steps = program_steps(&op->program, pos, i / graph->lanes, i % graph->lanes);
        if (steps == 0) continue;
        comm->rank[pos].parts++;
        lane_begin(workload, first + i, coll_index, steps);
    }
    for (uint32_t i = 0; i < channels * graph->lanes; i++)
        lane_advance(workload, host, first + i, now, out);
    comm_part_done(workload, comm_index, pos, now, out);
}

static void begin_segments(struct workload *workload, const struct coll_op *op, uint32_t coll_index, uint32_t pos,
                           ps_t now, struct app_out *out)
{
    const struct coll_graph *graph = workload->coll.graph[op->graph];
    struct comm *comm = workload->coll.comm[op->comm];
    uint32_t h = comm->host_of[pos], channels = graph->shape.channels;

    comm->rank[pos].parts = channels;
    if (++comm->waiting[h] < comm->first[h + 1] - comm->first[h]) return;
    comm->waiting[h] = 0;
    for (uint32_t c = 0; c < channels; c++)
        segment_begin(workload, graph->first_segment + h * channels + c, coll_index, now, out);
}

static void rank_begin(struct workload *workload, uint32_t comm_index, uint32_t pos, ps_t now, struct app_out *out)
{
    const struct comm *comm = workload->coll.comm[comm_index];
    uint32_t coll = comm->start[pos * comm->config.depth + comm->rank[pos].head % comm->config.depth].coll;
    const struct coll_op *op = &workload->coll.op[coll];

    if (workload->coll.graph[op->graph]->folded)
        begin_segments(workload, op, coll, pos, now, out);
    else
        begin_lanes(workload, op, coll, pos, now, out);
}

void comm_part_done(struct workload *workload, uint32_t comm_index, uint32_t pos, ps_t now, struct app_out *out)
{
    struct comm *comm = workload->coll.comm[comm_index];
    struct comm_rank *rank = &comm->rank[pos];

    CHECK(rank->parts > 0);
    if (--rank->parts) return;
    const struct comm_start *start = &comm->start[pos * comm->config.depth + rank->head % comm->config.depth];
    host_tell(workload, comm->host[comm->host_of[pos]], comm->config.program, start->token);
    rank->head++;
    if (rank->head != rank->tail) rank_begin(workload, comm_index, pos, now, out);
}

void comm_start_at(struct workload *workload, uint32_t coll, uint32_t pos, uint64_t token, ps_t now,
                   struct app_out *out)
{
    uint32_t comm_index = workload->coll.op[coll].comm;
    struct comm *comm = workload->coll.comm[comm_index];
    struct comm_rank *rank = &comm->rank[pos];

    CHECK(rank->tail - rank->head < comm->config.depth);
    comm->start[pos * comm->config.depth + rank->tail % comm->config.depth] =
        (struct comm_start){.coll = coll, .token = token};
    if (rank->tail++ == rank->head) rank_begin(workload, comm_index, pos, now, out);
}

void coll_start(struct workload *workload, uint32_t coll, uint32_t rank, uint64_t token, ps_t now, struct app_out *out)
{
    comm_start_at(workload, coll, workload->coll.comm[workload->coll.op[coll].comm]->pos_of[rank], token, now, out);
}

void coll_register(struct workload *workload, const struct coll_program *program)
{
    struct collectives *coll = &workload->coll;

    for (uint32_t i = 0; i < coll->programs; i++)
        if (coll->program[i] == program) return;
    CHECK(coll->programs < sizeof(coll->program) / sizeof(coll->program[0]));
    coll->program[coll->programs++] = program;
}

void coll_alarm(struct workload *workload, uint32_t host, const struct coll_program *program, uint32_t token, ps_t at)
{
    const struct collectives *coll = &workload->coll;
    uint32_t index = 0;

    while (index < coll->programs && coll->program[index] != program)
        index++;
    CHECK(index < coll->programs);
    host_event(workload, host, at, EVENT_ID(EVENT_ALARM, index, token));
}
