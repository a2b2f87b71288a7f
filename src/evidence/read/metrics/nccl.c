/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of NCCL: Inspector's (NCCL_INSPECTOR_PROM_DUMP) and those of rocelab's plugin.
 *
 * A communicator is a job.  Inspector's labels are named in two ways; where they do not say the rank, what is said is
 * the job's.
 */
#include <string.h>

#include "evidence/read/gpu/gpu.h"
#include "evidence/read/metrics/metrics.h"

/* The first of the labels that is there. */
static struct text_field either(const struct sample *sample, const char *one, const char *two)
{
    const char *value = sample_label(sample, one);

    return field_of(*value ? value : sample_label(sample, two));
}

struct nccl_place {
    uint32_t job, rank; /* rank EVIDENCE_NONE: not said */
};

static struct nccl_place place_of(struct metrics *metrics, const struct sample *sample)
{
    struct text_field comm = either(sample, "comm_id", "comm_name"), number = field_of(sample_label(sample, "rank")),
                      ranks = either(sample, "n_ranks", "nranks");
    struct nccl_place place = {EVIDENCE_NONE, EVIDENCE_NONE};
    uint64_t value;

    if (!comm.length) comm = field_of(sample_label(sample, "comm"));
    place.job = gpu_job(metrics->in, &comm);
    if (place.job == EVIDENCE_NONE) return place;
    if (!ranks.length) ranks = field_of(sample_label(sample, "ranks"));
    if (field_number(&ranks, &value)) gpu_set(metrics->in, place.job, EVIDENCE_RANKS, value);
    if (field_number(&number, &value))
        place.rank = gpu_rank(metrics->in, place.job, value, metrics_host(metrics, sample));
    return place;
}

static void exec_time(struct metrics *metrics, const struct sample *sample)
{
    struct nccl_place place = place_of(metrics, sample);
    struct text_field number = field_of(sample_label(sample, "coll_sn"));
    uint64_t value;

    if (place.job == EVIDENCE_NONE) return;
    metrics_put(metrics, place.job, EVIDENCE_NO_PRIORITY, EVIDENCE_JOB_NS, sample, 1e3);
    if (place.rank == EVIDENCE_NONE) return;
    metrics_put(metrics, place.rank, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_COLLECTIVE_NS, sample, 1e3);
    if (field_number(&number, &value)) gpu_set(metrics->in, place.rank, EVIDENCE_RANK_LAST_OP, value);
}

static void bus_bandwidth(struct metrics *metrics, const struct sample *sample)
{
    struct nccl_place place = place_of(metrics, sample);

    if (place.job != EVIDENCE_NONE) metrics_put(metrics, place.job, EVIDENCE_NO_PRIORITY, EVIDENCE_BUSBW, sample, 1e9);
}

static void plugin_wait(struct metrics *metrics, const struct sample *sample)
{
    static const struct {
        const char *what;
        enum evidence_counter counter;
    } waits[] = {{"gpu", EVIDENCE_RANK_WAIT_GPU_NS},
                 {"peer", EVIDENCE_RANK_WAIT_PEER_NS},
                 {"network", EVIDENCE_RANK_WAIT_NET_NS}};
    struct nccl_place place = place_of(metrics, sample);

    for (size_t i = 0; place.rank != EVIDENCE_NONE && i < sizeof waits / sizeof waits[0]; i++)
        if (!strcmp(sample_label(sample, "for"), waits[i].what))
            metrics_put(metrics, place.rank, EVIDENCE_NO_PRIORITY, waits[i].counter, sample, 1e9);
}

static void plugin_collectives(struct metrics *metrics, const struct sample *sample)
{
    struct nccl_place place = place_of(metrics, sample);

    if (place.rank != EVIDENCE_NONE)
        metrics_put(metrics, place.rank, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_LAST_OP, sample, 1);
}

bool metrics_nccl(struct metrics *metrics, const struct sample *sample)
{
    static const struct {
        const char *name;
        void (*take)(struct metrics *metrics, const struct sample *sample);
    } known[] = {
        {"nccl_collective_exec_time_microseconds", exec_time},
        {"nccl_bus_bandwidth_gbs", bus_bandwidth},
        {"rocelab_nccl_wait_seconds_total", plugin_wait},
        {"rocelab_nccl_collectives_total", plugin_collectives},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!field_is(&sample->name, known[i].name)) continue;
        known[i].take(metrics, sample);
        return true;
    }
    return false;
}
