/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: one map each, of which one key is the kind and its value the main parameter.
 *
 *     - {allreduce: ring, size: 256MB}
 *     - {incast: 32, size: 1MB, at: 1ms, repeat: 10}
 */
#include "jobs/jobs.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/qos/settings.h"
#include "fabric/routing.h"
#include "fabric/topology/topology.h"
#include "jobs/training_int.h"

#define NEAREST_MOST 4096              /* of a long list's names that a wrong one is held against */
#define BURSTS_PS_MAX (3600000 * PS_S) /* times are 64 bits of picoseconds: five times that */

const char *const fabric_job_names[FABRIC_JOB_KINDS] = {
#define X(id, name, form) name,
    FABRIC_JOB_LIST(X)
#undef X
};

uint32_t endpoint_read(struct loader *loader, const char *name, struct fabric_at at)
{
    const struct fabric *fabric = loader->fabric;
    uint32_t endpoint = loader->blind ? FABRIC_NONE : fabric_find_endpoint(fabric, name);
    size_t length = strcspn(name, ":");

    if (endpoint != FABRIC_NONE || loader->blind) return endpoint;
    char *host = arena_strndup(&loader->scratch, name, length);
    uint32_t node = host ? fabric_find_node(fabric, host) : FABRIC_NONE;
    if (node != FABRIC_NONE && node < fabric->hosts && fabric->node[node].ports == 0)
        read_error(loader, at, "'%s': host '%s' is not cabled", name, host);
    else if (node != FABRIC_NONE && node < fabric->hosts)
        read_error(loader, at, "'%s': host '%s' has NIC ports 0 to %u", name, host, fabric->node[node].ports - 1u);
    else if (node != FABRIC_NONE)
        read_error(loader, at, "'%s' is a switch; a host or a NIC port, as in h0 or h0:2, is expected", name);
    else
        read_error(loader, at, "no host is named '%s'; hosts are '%s' to '%s'", name, fabric->node[0].name,
                   fabric->node[fabric->hosts - 1].name);
    return FABRIC_NONE;
}

static void read_ranks(struct loader *loader, const struct tree *value, void *into)
{
    ranks_read(loader, value, into);
}

static void read_to(struct loader *loader, const struct tree *value, void *into)
{
    const char *name = NULL;
    if (read_text(loader, value, &name)) ((struct fabric_job *)into)->to = endpoint_read(loader, name, value->at);
}

static void read_class(struct loader *loader, const struct tree *value, void *into)
{
    uint32_t found = class_find(loader, value);
    if (found != FABRIC_NONE) ((struct fabric_job *)into)->job_class = found;
}

/* The slot of a job of this name, or the free one where it belongs. */
static uint32_t *find_job(const struct loader *loader, const char *name)
{
    uint32_t mask = loader->job_slots - 1, at = names_hash(name, strlen(name)) & mask;

    while (loader->job_slot[at] && strcmp(loader->fabric->job[loader->job_slot[at] - 1].name, name) != 0)
        at = (at + 1) & mask;
    return &loader->job_slot[at];
}

/* Only jobs above can be waited for, so there is no circle. */
static void read_after(struct loader *loader, const struct tree *value, void *into)
{
    const struct fabric *fabric = loader->fabric;
    struct fabric_job *job = into;
    struct nearest nearest;
    const char *name = NULL;

    if (!read_text(loader, value, &name)) return;
    uint32_t above = *find_job(loader, name);
    if (above) {
        job->after = above - 1;
        return;
    }
    nearest_init(&nearest, name);
    for (uint32_t j = 0; j < fabric->jobs && j < NEAREST_MOST; j++)
        nearest_try(&nearest, fabric->job[j].name);
    if (strcmp(name, "previous") == 0 && fabric->jobs)
        job->after = fabric->jobs - 1;
    else if (loader->jobs_wrong)
        return;
    else if (nearest.word)
        read_error(loader, value->at, "after: no job above is named '%s'; did you mean '%s'?", name, nearest.word);
    else
        read_error(loader, value->at, "after: no job above is named '%s'", name);
}

#define JOB(name, kind, member, min, max) F_VALUE(name, kind, struct fabric_job, member, min, max)
static const struct field common_fields[] = {
    JOB("name", FIELD_TEXT, name, 0, 0),
    JOB("at", FIELD_TIME, at, 0, 0),
    F_CALL("after", read_after),
    JOB("repeat", FIELD_COUNT, repeat, 1, 1000000000),
    JOB("gap", FIELD_TIME, gap_ps, 0, 0),
    F_CALL("class", read_class),
    JOB("qps", FIELD_COUNT, qps, 1, FABRIC_QPS_MAX),
};
static const struct field sized_fields[] = {
    JOB("size", FIELD_SIZE, size_bytes, 1, (uint64_t)1 << 50),
    F_CALL("ranks", read_ranks),
};
static const struct field gpu_fields[] = {F_IGNORE("placement"), F_IGNORE("order")}; /* ranks_place() */
static const struct field incast_fields[] = {
    F_CALL("to", read_to),
    JOB("bursts", FIELD_COUNT, bursts, 1, 1000000),
    JOB("every", FIELD_TIME, every_ps, 1, 0),
};
static const struct field ranks_fields[] = {F_CALL("ranks", read_ranks)};

static void read_sizes(struct loader *loader, const struct tree *value, void *into)
{
    sizes_read(loader, value, into);
}

static void read_from(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_job *job = into;

    ranks_endpoints(loader, value, &job->from, &job->froms);
}

static void read_receivers(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_job *job = into;

    ranks_endpoints(loader, value, &job->receiver, &job->receivers);
}

/* Who takes part where senders or receivers are named: these, and all where one of the two is not. */
static void poisson_ranks(struct loader *loader, const struct tree *value, const struct tree *ranks,
                          struct fabric_job *job)
{
    const struct fabric *fabric = loader->fabric;

    if (!job->from && !job->receiver) return;
    if (ranks) read_error(loader, ranks->key_at, "ranks: from and to of poisson say who takes part");
    uint8_t *seen = SCRATCH_NEW(loader, uint8_t, fabric->endpoints);
    uint32_t *rank = KEEP_NEW(loader, uint32_t, fabric->endpoints), count = 0;
    if (!seen || !rank) return;
    if (!job->from) {
        job->from = job->rank;
        job->froms = job->ranks;
    }
    if (!job->receiver) {
        job->receiver = job->rank;
        job->receivers = job->ranks;
    }
    for (uint32_t i = 0; i < job->froms; i++)
        seen[job->from[i]] = 1;
    for (uint32_t i = 0; i < job->receivers; i++)
        seen[job->receiver[i]] = 1;
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        if (seen[e]) rank[count++] = e;
    for (uint32_t i = 0; job->receivers == 1 && i < job->froms; i++)
        if (job->from[i] == job->receiver[0])
            read_error(loader, value->at, "poisson: the only receiver is among the senders, and would send to itself");
    job->rank = rank;
    job->ranks = count;
}

static void read_poisson(struct loader *loader, const struct tree *value, const struct tree *ranks,
                         struct fabric_job *job)
{
    static const struct field fields[] = {
        F_CALL("sizes", read_sizes),           JOB("load", FIELD_SHARE, load_ppm, 1, 1000000),
        JOB("until", FIELD_TIME, until, 1, 0), F_CALL("from", read_from),
        F_CALL("to", read_receivers),
    };
    struct field_set set = {fields, COUNT_OF(fields), job};

    if (!read_map(loader, value, "poisson", &set, 1)) return;
    if (!loader->blind) poisson_ranks(loader, value, ranks, job);
    if (!job->cdf || !job->load_ppm || !job->until)
        read_error(loader, value->at,
                   "poisson needs sizes, load and until, as in {sizes: websearch, load: 50%%, until: "
                   "10ms}");
}

static bool job_sized(const struct fabric_job *job)
{
    return job->kind != FABRIC_JOB_FLOWS && job->kind != FABRIC_JOB_POISSON &&
           !fabric_job_trains((enum fabric_job_kind)job->kind);
}

/* What is written for transfers. */
static void read_transfers(struct loader *loader, const struct tree *item, const struct tree *value,
                           struct fabric_job *job)
{
    static const char *const shuffles[] = {"random", NULL};
    static const char *const exchanges[] = {"at-once", "pairwise", NULL};
    uint64_t count = 0;

    switch (job->kind) {
    case FABRIC_JOB_FLOWS:
        flows_read(loader, value, job);
        break;
    case FABRIC_JOB_PERMUTATION:
        if (value->type == TREE_SCALAR && read_decimal(value->text, &count)) {
            if (read_unit(loader, value, UNIT_COUNT, 1, UINT32_MAX - 1, &count)) job->degree = (uint32_t)count;
        } else if (value->type == TREE_SCALAR && strpbrk(value->text, "0123456789")) {
            read_error(loader, value->at, "permutation: '%s' is no shift; write a whole number of 1 or more, or random",
                       value->text);
        } else {
            read_choice(loader, value, shuffles, &job->degree);
        }
        break;
    case FABRIC_JOB_ALL_TO_ALL:
        read_choice(loader, value, exchanges, &job->degree);
        break;
    case FABRIC_JOB_INCAST:
    case FABRIC_JOB_RANDOM:
        if (read_unit(loader, value, UNIT_COUNT, 1, 100000000, &count)) job->degree = (uint32_t)count;
        break;
    case FABRIC_JOB_POISSON:
        read_poisson(loader, value, tree_get(item, "ranks"), job);
        break;
    default:
        CHECK(false);
    }
}

/* The kind's own value. */
static void read_kind(struct loader *loader, const struct tree *item, const struct tree *value, struct fabric_job *job)
{
    enum fabric_job_form form = fabric_job_form((enum fabric_job_kind)job->kind);

    if (loader->blind && (job->kind == FABRIC_JOB_FLOWS || form == FABRIC_FORM_PROGRAM)) return;
    switch (form) {
    case FABRIC_FORM_ALGORITHM:
    case FABRIC_FORM_PAIRS:
        algorithm_read(loader, value, job);
        break;
    case FABRIC_FORM_TRANSFERS:
        read_transfers(loader, item, value, job);
        break;
    case FABRIC_FORM_PROGRAM:
        if (job->kind == FABRIC_JOB_TRAINING) training_read(loader, value, job);
        if (job->kind == FABRIC_JOB_INFERENCE) inference_read(loader, value, job);
        if (job->kind == FABRIC_JOB_TRACE) trace_read(loader, value, job);
        break;
    }
}

static const struct tree *find_kind(struct loader *loader, const struct tree *item, uint8_t *ret_kind)
{
    const struct tree *found = NULL;
    struct nearest nearest = {.word = NULL};

    for (const struct tree *value = item->first; value; value = value->next) {
        for (uint32_t k = 0; k < FABRIC_JOB_KINDS; k++) {
            if (strcmp(value->key, fabric_job_names[k]) != 0) continue;
            if (found) {
                read_error(loader, value->key_at, "a job is of one kind: '%s' or '%s'", found->key, value->key);
                return NULL;
            }
            found = value;
            *ret_kind = (uint8_t)k;
        }
    }
    if (found) return found;
    if (item->first) {
        nearest_init(&nearest, item->first->key);
        for (uint32_t k = 0; k < FABRIC_JOB_KINDS; k++)
            nearest_try(&nearest, fabric_job_names[k]);
    }
    if (nearest.word)
        read_error(loader, item->first->key_at, "unknown job '%s'; did you mean '%s'?", item->first->key, nearest.word);
    else
        read_error(loader, item->at,
                   "a job says what it is, as in {allreduce: ring, size: 1MB}: allreduce, reducescatter, allgather, "
                   "broadcast, reduce, alltoall, gather, sendrecv, training, inference, trace, flows, permutation, "
                   "incast, all-to-all, random or poisson");
    return NULL;
}

static void check_ranks(struct loader *loader, const struct tree *value, const struct fabric_job *job)
{
    uint32_t to_inside = 0;

    if (job->kind == FABRIC_JOB_FLOWS) return;
    if (job->ranks < 2) {
        read_error(loader, value->at, "%s: %u %s not enough, two are expected", value->key, job->ranks,
                   job_on_gpus(job) ? "GPU is" : "endpoint is");
        return;
    }
    if (job->kind == FABRIC_JOB_PERMUTATION && job->degree && job->degree % job->ranks == 0)
        read_error(loader, value->at, "permutation: a shift by %u sends each of %u endpoints to itself", job->degree,
                   job->ranks);
    if (job->kind != FABRIC_JOB_INCAST) return;
    if ((job->bursts > 1) != (job->every_ps > 0))
        read_error(loader, value->at, "incast: bursts and every go together, as in {bursts: 20, every: 100us}");
    if (job->bursts > 1 && job->every_ps > BURSTS_PS_MAX / job->bursts)
        read_error(loader, value->at, "incast: the last of %u bursts would begin after more than 1000 hours",
                   job->bursts);
    for (uint32_t r = 0; r < job->ranks; r++)
        to_inside |= job->to == FABRIC_NONE || job->rank[r] == job->to;
    if (job->degree > job->ranks - to_inside)
        read_error(loader, value->at, "incast: %u senders, but there are %u other endpoints", job->degree,
                   job->ranks - to_inside);
}

/* Endpoints of a collective may lie on rails of their own; what others send must have a way. */
static void check_reach(struct loader *loader, const struct tree *value, const struct fabric_job *job)
{
    const struct fabric *fabric = loader->fabric;

    if (job_on_gpus(job) || job->kind == FABRIC_JOB_FLOWS) return;
    for (uint32_t r = 1; r < job->ranks; r++) {
        char a[FABRIC_NAME], b[FABRIC_NAME];
        if (fabric_reaches(fabric, job->rank[0], job->rank[r])) continue;
        read_error(loader, value->at, "%s: no route from %s to %s", value->key,
                   fabric_port_name(fabric, fabric->endpoint[job->rank[0]].port, a),
                   fabric_port_name(fabric, fabric->endpoint[job->rank[r]].port, b));
        return;
    }
}

/* The keys that a job of its kind has. */
static uint32_t field_sets(struct fabric_job *job, const struct field *kind_field, struct field_set sets[8])
{
    enum fabric_job_kind kind = (enum fabric_job_kind)job->kind;
    uint32_t count = 0;

    sets[count++] = (struct field_set){kind_field, 1, job};
    sets[count++] = (struct field_set){common_fields, COUNT_OF(common_fields), job};
    if (job_sized(job)) sets[count++] = (struct field_set){sized_fields, COUNT_OF(sized_fields), job};
    if (job_on_gpus(job)) sets[count++] = (struct field_set){gpu_fields, COUNT_OF(gpu_fields), job};
    if (fabric_job_collective(kind)) sets[count++] = (struct field_set){collective_fields, collective_field_count, job};
    if (fabric_job_rooted(kind)) sets[count++] = (struct field_set){rooted_fields, rooted_field_count, job};
    if (fabric_job_pairs(kind)) sets[count++] = (struct field_set){pair_fields, pair_field_count, job};
    if (kind == FABRIC_JOB_INCAST) sets[count++] = (struct field_set){incast_fields, COUNT_OF(incast_fields), job};
    if (kind == FABRIC_JOB_POISSON || fabric_job_trains(kind))
        sets[count++] = (struct field_set){ranks_fields, COUNT_OF(ranks_fields), job};
    return count;
}

/* What is left to the end: ranks, placement, a name. */
static void finish_job(struct loader *loader, const struct tree *item, const struct tree *kind, uint32_t index,
                       struct fabric_job *job)
{
    char made[64];

    if (fabric_job_collective((enum fabric_job_kind)job->kind)) collective_sizes_finish(loader, item, job);
    if (job_sized(job) && !job->size_bytes && !tree_get(item, "size") && !tree_get(item, "sizes"))
        read_error(loader, item->at, "%s needs a size, as in {%s: ..., size: 1MB}", kind->key, kind->key);
    if (!job->rank && job->kind != FABRIC_JOB_FLOWS && !tree_get(item, "ranks") && !loader->blind)
        ranks_default(loader, job);
    if (job_on_gpus(job)) ranks_place(loader, item, job);
    const struct tree *qps = tree_get(item, "qps");
    if (qps && !job_on_gpus(job) && job->kind != FABRIC_JOB_POISSON)
        read_error(loader, qps->key_at, "qps means nothing to %s: each of its flows has a queue pair of its own",
                   kind->key);
    if (tree_get(item, "gap") && !tree_get(item, "repeat") && !tree_get(item, "iterations"))
        read_error(loader, tree_get(item, "gap")->key_at, "gap is between repetitions; write repeat, as in repeat: 10");
    if (job->name) return;
    snprintf(made, sizeof(made), "%s%u", kind->key, index);
    job->name = arena_strndup(loader->keep, made, strlen(made));
    if (!job->name) loader->no_memory = true;
}

static bool read_job(struct loader *loader, const struct tree *item, uint32_t index, struct fabric_job *job)
{
    const struct fabric *fabric = loader->fabric;
    uint32_t before = loader->errors->count + loader->errors->more;
    struct field_set sets[8];

    if (!read_is_map(loader, item, "job")) return false;
    *job = (struct fabric_job){.after = FABRIC_NONE,
                               .to = FABRIC_NONE,
                               .repeat = 1,
                               .qps = 1,
                               .pxn = true,
                               .clear_to_send = true,
                               .where = item->at};
    for (uint32_t c = fabric->class_count; c-- > 0;)
        if (fabric->classes[c].lossless) job->job_class = c;
    const struct tree *kind = find_kind(loader, item, &job->kind);
    if (!kind) return false;
    struct field kind_field[] = {F_IGNORE(kind->key)};
    read_map(loader, item, kind->key, sets, field_sets(job, kind_field, sets));
    finish_job(loader, item, kind, index, job);
    read_kind(loader, item, kind, job);
    if (loader->errors->count + loader->errors->more != before || loader->no_memory) return false;
    if (loader->blind) return true;
    check_ranks(loader, kind, job);
    check_reach(loader, kind, job);
    if (job->ranks >= 2 && fabric_job_collective((enum fabric_job_kind)job->kind))
        collective_check(loader, item, kind, job);
    return loader->errors->count + loader->errors->more == before;
}

bool jobs_load(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    const struct tree *list = loader->part[PART_JOBS];
    bool good = true;

    if (!list) return true;
    if (!read_is_list(loader, list, "jobs")) return false;
    struct fabric_job *job = KEEP_NEW(loader, struct fabric_job, list->count);
    for (loader->job_slots = 16; loader->job_slots < list->count * 2u; loader->job_slots *= 2)
        continue;
    loader->job_slot = SCRATCH_NEW(loader, uint32_t, loader->job_slots);
    if (!job || !loader->job_slot) return false;
    fabric->job = job;
    for (const struct tree *item = list->first; item; item = item->next) {
        struct fabric_job *next = &job[fabric->jobs];
        if (!read_job(loader, item, fabric->jobs, next)) {
            loader->jobs_wrong = true;
            good = false;
            continue;
        }
        uint32_t *slot = find_job(loader, next->name);
        if (*slot && good) {
            read_error(loader, item->at, "two jobs are named '%s', the first in line %u", next->name,
                       job[*slot - 1].where.line);
            good = false;
        }
        if (!*slot) *slot = fabric->jobs + 1;
        fabric->jobs++;
    }
    return good && !loader->no_memory;
}
