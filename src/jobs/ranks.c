/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes part in a job, and in which order.
 *
 * Ranks of a collective (or of a training job) are GPUs, those of bare transfers are endpoints.  `ranks` says who;
 * `placement` says which hosts a scheduler would have given: jobs get whole hosts, so it is hosts that are packed,
 * spread over the leaves or drawn, and the GPUs of a host follow each other.  `order: topology` numbers the ranks by
 * where they hang, so that neighbours in rank are neighbours in the fabric.
 *
 * The result is a plain list in order of rank; nobody else needs to know how it came about.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "fabric/fabric.h"
#include "jobs/jobs.h"

#define STREAM_PLACEMENT ((uint64_t)1 << 60) /* of the seed, apart from what the workload draws */

struct who { /* what can be a rank: endpoints or GPUs */
    uint32_t count;
    const uint32_t *first; /* [hosts + 1] */
    bool gpus;
};

static struct who who_of(const struct fabric *fabric, const struct fabric_job *job)
{
    if (job_on_gpus(job)) return (struct who){fabric->gpus, fabric->first_gpu, true};
    return (struct who){fabric->endpoints, fabric->first_endpoint, false};
}

struct list {
    uint32_t *rank, count;
    uint8_t *seen;
    const char *what; /* the key, for messages */
};

static bool list_init(struct loader *loader, const struct who *who, const char *what, struct list *ret)
{
    *ret = (struct list){
        .rank = KEEP_NEW(loader, uint32_t, who->count), .seen = SCRATCH_NEW(loader, uint8_t, who->count), .what = what};
    return ret->rank && ret->seen;
}

/* A name: an endpoint or a GPU, or a host for all of its own. */
static bool list_add(struct loader *loader, const struct who *who, struct list *list, const char *name,
                     struct fabric_at at)
{
    const struct fabric *fabric = loader->fabric;
    uint32_t many = 1, first = who->gpus ? gpu_read(loader, name, at, &many) : endpoint_read(loader, name, at);

    if (first == FABRIC_NONE) return false;
    if (!who->gpus && !strchr(name, ':')) many = fabric->node[fabric->endpoint[first].host].ports;
    for (uint32_t e = first; e < first + many; e++) {
        if (list->seen[e]) {
            read_error(loader, at, "%s: '%s' is there twice", list->what, name);
            return false;
        }
        list->seen[e] = 1;
        list->rank[list->count++] = e;
    }
    return true;
}

static void list_take(struct loader *loader, const struct list *list, struct fabric_at at, struct fabric_job *job)
{
    if (list->count == 0) {
        read_error(loader, at, "%s: an empty list", list->what);
        return;
    }
    job->rank = list->rank;
    job->ranks = list->count;
}

static bool list_every(struct loader *loader, const struct who *who, bool storage, struct list *list)
{
    const struct fabric *fabric = loader->fabric;

    if (!list_init(loader, who, "ranks", list)) return false;
    for (uint32_t h = 0; h < fabric->hosts; h++) {
        for (uint32_t e = who->first[h]; e < who->first[h + 1]; e++) {
            bool of_storage = !who->gpus && (e - who->first[h] >= fabric->node[h].gpu_ports || !fabric->node[h].gpus);
            if (fabric->storage_hosts && of_storage != storage) continue;
            list->rank[list->count++] = e;
        }
    }
    return true;
}

void ranks_read(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    struct who who = who_of(loader->fabric, job);
    struct list list;
    uint64_t count = 0;

    if (loader->blind) return;
    if (value->type != TREE_LIST) {
        bool storage = value->type == TREE_SCALAR && strcmp(value->text, "storage") == 0;
        if (storage && (who.gpus || !loader->fabric->storage_hosts)) {
            read_error(loader, value->at,
                       who.gpus ? "ranks: a collective runs on GPUs, storage has none"
                                : "ranks: there is no storage network in topology");
            return;
        }
        if (!list_every(loader, &who, storage, &list)) return;
        if (!storage && !read_unit(loader, value, UNIT_COUNT, 1, list.count, &count)) return;
        if (!storage) list.count = (uint32_t)count;
        list_take(loader, &list, value->at, job);
        return;
    }
    if (!list_init(loader, &who, "ranks", &list)) return;
    for (const struct tree *item = value->first; item; item = item->next) {
        const char *name = NULL;
        if (!read_text(loader, item, &name) || !list_add(loader, &who, &list, name, item->at)) return;
    }
    list_take(loader, &list, value->at, job);
}

void ranks_endpoints(struct loader *loader, const struct tree *value, const uint32_t **ret, uint32_t *ret_count)
{
    struct who who = {loader->fabric->endpoints, loader->fabric->first_endpoint, false};
    struct list list;

    if (!read_is_list(loader, value, value->key) || loader->blind) return;
    if (!list_init(loader, &who, value->key, &list)) return;
    for (const struct tree *item = value->first; item; item = item->next) {
        const char *name = NULL;
        if (!read_text(loader, item, &name) || !list_add(loader, &who, &list, name, item->at)) return;
    }
    if (list.count == 0) read_error(loader, value->at, "%s: an empty list", value->key);
    *ret = list.rank;
    *ret_count = list.count;
}

void ranks_default(struct loader *loader, struct fabric_job *job)
{
    struct who who = who_of(loader->fabric, job);
    struct list list;

    if (!list_every(loader, &who, false, &list)) return;
    job->rank = list.rank;
    job->ranks = list.count;
}

/* Names, one a line or several, in order of rank; # begins a comment. */
static void placement_from_file(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    struct who who = who_of(loader->fabric, job);
    struct list list;
    const char *path = NULL;
    size_t length;
    uint32_t line = 0;

    if (!read_text(loader, value, &path) || !list_init(loader, &who, "placement", &list)) return;
    char *text = file_read_lines(loader, path, value->at, &length);
    if (!text) return;
    for (char *at = text, *end; at && *at; at = end ? end + 1 : NULL) {
        end = strchr(at, '\n');
        if (end) *end = 0;
        line++;
        at[strcspn(at, "#")] = 0;
        for (char *word = at + strspn(at, " \t\r,"); *word;) {
            size_t letters = strcspn(word, " \t\r,");
            const char *name = arena_strndup(&loader->scratch, word, letters);
            uint32_t before = loader->errors->count + loader->errors->more;
            if (!name) loader->no_memory = true;
            if (!name) return;
            if (!list_add(loader, &who, &list, name, value->at)) {
                if (loader->errors->count + loader->errors->more != before)
                    read_error(loader, value->at, "placement: so says line %u of '%s'", line, path);
                return;
            }
            word += letters;
            word += strspn(word, " \t\r,");
        }
    }
    list_take(loader, &list, value->at, job);
}

static uint32_t host_of(const struct fabric *fabric, const struct fabric_job *job, uint32_t rank)
{
    return job_on_gpus(job) ? fabric->gpu_host[rank] : fabric->endpoint[rank].host;
}

/* The edge a host hangs on with its first adapter; hosts of a group of rails share it. */
static uint32_t edge_of(const struct fabric *fabric, uint32_t host)
{
    return fabric->node[host].ports ? fabric->edge_of[fabric->first_endpoint[host]] : FABRIC_NONE;
}

/* Hosts in another order: from each edge one in turn. */
static bool spread_hosts(struct loader *loader, uint32_t *host, uint32_t hosts)
{
    const struct fabric *fabric = loader->fabric;
    uint32_t *turn = SCRATCH_NEW(loader, uint32_t, (size_t)fabric->edges + 1);
    uint32_t *round = SCRATCH_NEW(loader, uint32_t, (size_t)hosts + 1), *out = SCRATCH_NEW(loader, uint32_t, hosts);
    uint32_t *number = SCRATCH_NEW(loader, uint32_t, hosts);

    if (!turn || !round || !out || !number) return false;
    for (uint32_t i = 0; i < hosts; i++) { /* number: within its edge, which is the round it goes in */
        uint32_t edge = edge_of(fabric, host[i]);
        number[i] = turn[edge == FABRIC_NONE ? fabric->edges : edge]++;
        round[number[i] + 1]++;
    }
    for (uint32_t i = 0; i < hosts; i++)
        round[i + 1] += round[i];
    for (uint32_t i = 0; i < hosts; i++)
        out[round[number[i]]++] = host[i];
    if (hosts) memcpy(host, out, hosts * sizeof(*host));
    return true;
}

static void shuffle_hosts(const struct fabric *fabric, uint32_t *host, uint32_t hosts)
{
    struct rng rng;

    rng_init(&rng, fabric->seed, STREAM_PLACEMENT | fabric->jobs);
    for (uint32_t i = hosts; i > 1; i--) {
        uint32_t j = (uint32_t)rng_below(&rng, i), swap = host[j];
        host[j] = host[i - 1];
        host[i - 1] = swap;
    }
}

/* The ranks of `from`, host by host in the order of `host`; those of a host as they come. */
static bool by_host(struct loader *loader, const struct fabric_job *job, const struct list *from, const uint32_t *host,
                    uint32_t hosts, uint32_t *out)
{
    const struct fabric *fabric = loader->fabric;
    uint32_t *first = SCRATCH_NEW(loader, uint32_t, fabric->hosts), at = 0; /* counts, then where a host begins */

    if (!first) return false;
    for (uint32_t i = 0; i < from->count; i++)
        first[host_of(fabric, job, from->rank[i])]++;
    for (uint32_t i = 0; i < hosts; i++) {
        uint32_t many = first[host[i]];
        first[host[i]] = at;
        at += many;
    }
    for (uint32_t i = 0; i < from->count; i++)
        out[first[host_of(fabric, job, from->rank[i])]++] = from->rank[i];
    return true;
}

/* Hosts of a list, each once, in order of appearance. */
static uint32_t *hosts_in(struct loader *loader, const struct fabric_job *job, const struct list *from, uint32_t *ret)
{
    const struct fabric *fabric = loader->fabric;
    uint8_t *seen = SCRATCH_NEW(loader, uint8_t, fabric->hosts);
    uint32_t *host = SCRATCH_NEW(loader, uint32_t, fabric->hosts), hosts = 0;

    if (!seen || !host) return NULL;
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t h = host_of(fabric, job, from->rank[i]);
        if (!seen[h]) host[hosts++] = h;
        seen[h] = 1;
    }
    *ret = hosts;
    return host;
}

enum { PACKED, SPREAD, RANDOM };

/* With a number of ranks all hosts are to be had; a list of ranks keeps to its own. */
static void place(struct loader *loader, struct fabric_job *job, uint32_t how, bool listed)
{
    struct who who = who_of(loader->fabric, job);
    struct list all = {.rank = (uint32_t *)(uintptr_t)job->rank, .count = job->ranks};
    uint32_t hosts = 0;

    if (how == PACKED) return;
    if (!listed && !list_every(loader, &who, false, &all)) return;
    uint32_t *host = hosts_in(loader, job, &all, &hosts), *out = KEEP_NEW(loader, uint32_t, all.count);
    if (!host || !out) return;
    if (how == SPREAD && !spread_hosts(loader, host, hosts)) return;
    if (how == RANDOM) shuffle_hosts(loader->fabric, host, hosts);
    if (by_host(loader, job, &all, host, hosts, out)) job->rank = out;
}

struct spot { /* where a rank hangs; sorted */
    uint32_t pod, edge, host, rank;
};

static int compare_spots(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;

    if (x->pod != y->pod) return x->pod < y->pod ? -1 : 1;
    if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
    if (x->host != y->host) return x->host < y->host ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void order_by_topology(struct loader *loader, struct fabric_job *job)
{
    const struct fabric *fabric = loader->fabric;
    struct spot *spot = SCRATCH_NEW(loader, struct spot, job->ranks);
    uint32_t *out = KEEP_NEW(loader, uint32_t, job->ranks);

    if (!spot || !out) return;
    for (uint32_t i = 0; i < job->ranks; i++) {
        uint32_t host = host_of(fabric, job, job->rank[i]);
        spot[i] = (struct spot){fabric->node[host].pod, edge_of(fabric, host), host, job->rank[i]};
    }
    if (job->ranks) qsort(spot, job->ranks, sizeof(*spot), compare_spots);
    for (uint32_t i = 0; i < job->ranks; i++)
        out[i] = spot[i].rank;
    job->rank = out;
}

void ranks_place(struct loader *loader, const struct tree *item, struct fabric_job *job)
{
    static const char *const words[] = {"packed", "spread", "random", NULL};
    static const char *const orders[] = {"given", "topology", NULL};
    const struct tree *placement = tree_get(item, "placement"), *order = tree_get(item, "order");
    const struct tree *ranks = tree_get(item, "ranks");
    uint32_t how = PACKED, by = 0;

    if (placement && placement->type == TREE_MAP) {
        const struct tree *file = tree_get(placement, "file");
        if (!file || placement->count != 1)
            read_error(loader, placement->at, "placement: packed, spread, random or {file: PATH} is expected");
        else if (ranks)
            read_error(loader, ranks->key_at, "ranks: the placement's file says who takes part");
        else if (!loader->blind)
            placement_from_file(loader, file, job);
    } else if (placement && read_choice(loader, placement, words, &how) && job->rank) {
        place(loader, job, how, ranks && ranks->type == TREE_LIST);
    }
    if (order && read_choice(loader, order, orders, &by) && by && job->rank) order_by_topology(loader, job);
}
