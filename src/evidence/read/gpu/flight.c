/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's flight recorder, the JSON form of its dump: what a process has asked of NCCL, by process group.
 *
 * A file is of one rank, which its name ends with ("nccl_trace_rank_3"); a "rank" in the file goes before it.  The rank
 * whose last collective has the lowest number has not come to the next one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/gpu/gpu.h"

struct flight {
    struct reading *in;
    const struct json *root;
    struct json_index groups; /* of pg_config */
    uint32_t *job;            /* of each of them, plus one; 0: nobody asked yet */
    uint64_t rank;
};

static bool is_flight(const struct json *root)
{
    const struct json *entries = json_get(root, "entries");

    if (json_get(root, "pg_status") && (json_get(root, "pg_config") || entries)) return true;
    return entries && entries->type == JSON_ARRAY && json_get(entries->child, "collective_seq_id");
}

/* Digits at the end of the file's name. */
static bool rank_of_name(const char *hint, uint64_t *rank)
{
    size_t end = strlen(hint), begin = end;

    while (begin && hint[begin - 1] >= '0' && hint[begin - 1] <= '9')
        begin--;
    struct text_field digits = {hint + begin, end - begin};
    return field_number(&digits, rank);
}

/* How many ranks "[0, 1, 2]" has. */
static uint64_t ranks_in(const char *list)
{
    uint64_t count = 0;

    for (bool digit = false; list && *list; list++) {
        bool now = *list >= '0' && *list <= '9';
        count += now && !digit;
        digit = now;
    }
    return count;
}

static uint32_t configured_job(struct reading *in, const struct json *config)
{
    const char *text = json_string(json_get(config, "desc"));
    uint64_t ranks = ranks_in(json_string(json_get(config, "ranks")));

    if (!text || !*text) text = config->name;
    uint32_t job = evidence_job(in->evidence, text, strlen(text));
    if (job != EVIDENCE_NONE && ranks) gpu_set(in, job, EVIDENCE_RANKS, ranks);
    return job;
}

/* The job of a process group: its description, or its name.  A group is looked at once, however many entries it has. */
static uint32_t group_job(struct flight *flight, const char *name)
{
    uint32_t at = json_index_find(&flight->groups, name);

    if (at == flight->groups.count) return evidence_job(flight->in->evidence, name, strlen(name));
    if (!flight->job[at]) flight->job[at] = configured_job(flight->in, flight->groups.member[at]) + 1;
    return flight->job[at] - 1;
}

/* "process_group": ["0", "default_pg"], or a name alone; older ones have "pg_id". */
static uint32_t entry_job(struct flight *flight, const struct json *entry)
{
    const struct json *group = json_get(entry, "process_group");
    const char *name = json_string(group);

    if (group && group->type == JSON_ARRAY) name = json_string(group->child);
    if (!name) name = json_get(entry, "pg_id") ? json_get(entry, "pg_id")->text : NULL;
    return group_job(flight, name ? name : "process group");
}

/* What was begun last and has not ended, as "all_reduce [[1024]]": ranks of one number should agree. */
static void waits_in(struct reading *in, uint32_t rank, const struct json *entry)
{
    const char *state = json_string(json_get(entry, "state")), *name = json_string(json_get(entry, "profiling_name"));
    const struct json *sizes = json_get(entry, "input_sizes"), *size = sizes ? sizes->child : NULL;
    char detail[120];

    if (rank == EVIDENCE_NONE || !state || !name || !strcmp(state, "completed")) return;
    int length = snprintf(detail, sizeof detail, "%.60s", !strncmp(name, "nccl:", 5) ? name + 5 : name);
    for (const struct json *one = size ? size->child : NULL; one && length > 0 && length < 100; one = one->next)
        length += snprintf(detail + length, sizeof detail - (size_t)length, "%s%.16s",
                           one == size->child ? " of " : "x", one->text ? one->text : "?");
    struct text_field operation = field_of(detail);
    reading_event(in, EVIDENCE_EVENT_RANK_WAITS, rank, EVIDENCE_NO_PRIORITY, NULL, NULL, &operation);
}

static void read_entries(struct collective_sums *collectives, struct flight *flight)
{
    struct reading *in = collectives->in;
    const struct json *entries = json_get(flight->root, "entries");
    uint64_t latest = 0;

    for (const struct json *entry = entries ? entries->child : NULL; entry; entry = entry->next)
        if (member_u64(entry, "collective_seq_id") > latest) latest = member_u64(entry, "collective_seq_id");
    for (const struct json *entry = entries ? entries->child : NULL; entry; entry = entry->next) {
        const struct json *pair = json_get(entry, "is_p2p");
        struct collective one = {.seq = member_u64(entry, "collective_seq_id"),
                                 .exec_ns = member_real(entry, "duration_ms") * 1e6};
        if (!one.seq || (pair && pair->type == JSON_TRUE)) continue;
        in->source.line = entry->line;
        one.rank = gpu_rank(in, entry_job(flight, entry), flight->rank, in->device);
        collectives_add(collectives, &one);
        if (one.seq >= latest) waits_in(in, one.rank, entry);
    }
}

/* Numbers of groups are those of pg_config where there is one group alone; else entries say enough. */
static void read_status(struct flight *flight)
{
    const struct json *status = json_get(flight->root, "pg_status");
    const struct json_index *groups = &flight->groups;
    struct reading *in = flight->in;

    if (!status || status->type != JSON_OBJECT) return; /* members have names, elements have none */
    for (const struct json *group = status->child; group; group = group->next) {
        const char *name = json_index_find(groups, group->name) < groups->count ? group->name : NULL;
        uint64_t last = member_u64(group, "last_enqueued_collective");
        if (!name && status->count == 1 && groups->count == 1) name = groups->member[0]->name;
        if (!name || !last) continue;
        uint32_t object = gpu_rank(in, group_job(flight, name), flight->rank, in->device);
        in->source.line = group->line;
        if (object != EVIDENCE_NONE &&
            evidence_get(in->evidence, object, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_LAST_OP) < last)
            gpu_set(in, object, EVIDENCE_RANK_LAST_OP, last);
    }
}

static void read_flight(struct reading *in, const struct json *root)
{
    struct collective_sums collectives = {.in = in};
    struct flight flight = {.in = in, .root = root};

    if (!json_u64(json_get(root, "rank"), &flight.rank) && !rank_of_name(in->hint, &flight.rank)) {
        evidence_remark(
            in->evidence, in->source.file, 0,
            "which rank it is of is not known: the file's name should end with it, as in trace_rank_3.json");
        return;
    }
    json_index_init(&flight.groups, json_get(root, "pg_config"));
    flight.job = calloc(flight.groups.count + 1u, sizeof flight.job[0]);
    if (flight.job) {
        read_entries(&collectives, &flight);
        collectives_finish(&collectives);
        read_status(&flight);
    }
    free(flight.job);
    json_index_release(&flight.groups);
}

const struct json_reader reader_flight_recorder = {"flight-recorder", "PyTorch: flight recorder, JSON form", is_flight,
                                                   read_flight};
