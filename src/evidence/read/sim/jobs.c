/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's document: jobs and how long they took, steps and ranks of training, who sends to whom. */
#include <stdlib.h>
#include <string.h>

#include "evidence/read/sim/document.h"

#define RANKS_MOST (1u << 22) /* of one job */

static uint32_t job_named(struct document *document, const char *name)
{
    return *name ? evidence_job(document->evidence, name, strlen(name)) : EVIDENCE_NONE;
}

static void job_level(struct document *document, uint32_t job, enum evidence_counter counter, uint64_t value)
{
    document_level(document, job, EVIDENCE_NO_PRIORITY, counter, value);
}

/* --- jobs --- */

/* Repetitions of one job stand together. */
struct job_sum {
    uint32_t job;
    uint64_t runs, ended, time_ns, unfinished_ns;
    uint64_t begin_ns, end_ns;    /* of all */
    uint64_t largest, of_largest; /* bytes; runs of so many that ended */
    double busbw;                 /* of these */
};

static void job_close(struct document *document, const struct job_sum *sum)
{
    if (sum->job == EVIDENCE_NONE) return;
    job_level(document, sum->job, EVIDENCE_JOB_DONE, sum->ended == sum->runs);
    if (sum->begin_ns <= sum->end_ns) {
        job_level(document, sum->job, EVIDENCE_JOB_BEGIN_NS, sum->begin_ns);
        job_level(document, sum->job, EVIDENCE_JOB_END_NS, sum->end_ns);
    }
    if (sum->ended)
        job_level(document, sum->job, EVIDENCE_JOB_NS, sum->time_ns / sum->ended);
    else if (sum->unfinished_ns)
        job_level(document, sum->job, EVIDENCE_JOB_NS, sum->unfinished_ns);
    if (!(sum->busbw > 0)) return;
    evidence_set_real(document->evidence, sum->job, EVIDENCE_NO_PRIORITY, EVIDENCE_BUSBW,
                      sum->busbw * 1e9 / (double)sum->of_largest, &document->in->source);
    if (sum->largest) job_level(document, sum->job, EVIDENCE_MESSAGE_BYTES, sum->largest);
}

/* Behind "from": the adapters; each is a rank's where there are as many as ranks. */
static void read_ends(struct document *document, struct document_list *ends)
{

    while (document_value(document)) {
        uint32_t port = document_port(document);
        uint32_t *end = ends && ends->count < RANKS_MOST ? document_more(ends, sizeof *end) : NULL;
        if (end) *end = port;
    }
}

static void name_ranks(struct document *document, uint32_t job, const struct document_list *ends)
{
    const uint32_t *port = ends->at;

    for (uint32_t i = 0; i < ends->count; i++) {
        uint32_t rank = evidence_rank(document->evidence, job, i);
        if (rank == EVIDENCE_NONE) return;
        document->evidence->object[rank].host = port[i];
    }
}

struct job_read {
    uint64_t ranks, bytes, start_ps, time_ns, ideal_ns, inside_ns, priority;
    double busbw;
    bool started, timed, failed, ideal, stuck, inside, coupled, kind, has_priority;
    struct document_list from, to;
};

static void job_members(struct document *document, struct job_read *read)
{
    struct json_in *json = &document->json;
    enum json_token token;

    while (document_member(document, &token)) {
        if (token == JSON_BEGIN && json_key_is(json, "from")) {
            read_ends(document, &read->from);
        } else if (token == JSON_BEGIN && json_key_is(json, "to")) {
            read_ends(document, &read->to);
        } else {
            document_pass(document, token);
        }
        if (token != JSON_VALUE) continue;
        document_u64(document, "ranks", &read->ranks);
        document_u64(document, "bytes", &read->bytes);
        if (document_u64(document, "start_ps", &read->start_ps)) read->started = true;
        if (document_ps(document, "time_ps", &read->time_ns)) read->timed = true;
        if (document_ps(document, "ideal_ps", &read->ideal_ns)) read->ideal = true;
        if (document_ps(document, "inside_ps", &read->inside_ns)) read->inside = true;
        if (document_u64(document, "priority", &read->priority)) read->has_priority = true;
        if (json_key_is(json, "coupled")) read->kind = true, read->coupled = json->type == JSON_TRUE;
        if (json_key_is(json, "failed_ps")) read->failed = json->type == JSON_NUMBER;
        if (json_key_is(json, "stuck")) read->stuck = json->type == JSON_TRUE;
        document_real(document, "busbw_GBps", &read->busbw);
    }
}

static void add_bandwidth(struct job_sum *sum, const struct job_read *read)
{
    if (read->bytes < sum->largest) return;
    if (read->bytes > sum->largest) sum->of_largest = 0, sum->busbw = 0;
    sum->largest = read->bytes;
    sum->of_largest++;
    sum->busbw += read->busbw;
}

static void read_job(struct document *document, struct job_sum *sum)
{
    uint32_t job = job_named(document, document_peek(document, "name"));
    struct job_read read = {0};

    job_members(document, &read);
    if (job != EVIDENCE_NONE) {
        if (job != sum->job) {
            job_close(document, sum);
            *sum = (struct job_sum){.job = job, .begin_ns = UINT64_MAX};
        }
        sum->runs++;
        if (read.started) {
            uint64_t begin = read.start_ps / 1000;
            uint64_t end = read.timed ? begin + read.time_ns : document->end_ps / 1000;
            sum->begin_ns = begin < sum->begin_ns ? begin : sum->begin_ns;
            sum->end_ns = end > sum->end_ns ? end : sum->end_ns;
        }
        if (read.timed && !read.failed) {
            sum->ended++;
            sum->time_ns += read.time_ns;
            add_bandwidth(sum, &read);
        } else if (read.started && document->end_ps > read.start_ps) {
            sum->unfinished_ns = (document->end_ps - read.start_ps) / 1000;
        }
        job_level(document, job, EVIDENCE_RANKS, read.ranks);
        job_level(document, job, EVIDENCE_JOB_STUCK, read.stuck);
        if (read.ideal) job_level(document, job, EVIDENCE_JOB_IDEAL_NS, read.ideal_ns);
        if (read.inside) job_level(document, job, EVIDENCE_JOB_INSIDE_NS, read.inside_ns);
        if (read.has_priority) job_level(document, job, EVIDENCE_JOB_PRIORITY, read.priority);
        if (read.kind) job_level(document, job, EVIDENCE_JOB_COUPLED, read.coupled);
        if (!read.to.count && read.from.count == read.ranks) name_ranks(document, job, &read.from);
    }
    free(read.from.at);
    free(read.to.at);
}

void document_jobs(struct document *document)
{
    struct job_sum sum = {.job = EVIDENCE_NONE};

    while (document_object(document))
        read_job(document, &sum);
    job_close(document, &sum);
}

/* --- training --- */

/* Of the ranks that the lists have. */
struct training_read {
    struct document_list waits;   /* uint64_t: sums over steps */
    struct document_list compute; /* uint64_t */
    struct document_list hosts;   /* uint32_t: devices */
    struct document_list ranks;   /* uint64_t: which; none: all, in order */
    struct document_list stages;  /* uint64_t */
    uint64_t steps, wait_steps, inside_ns;
    bool grouped;
};

static bool number_at(const struct document *document, uint64_t *value)
{
    const struct json_in *json = &document->json;

    return json->type == JSON_NUMBER && json_text_u64(json->text, json->length, value);
}

static void read_numbers(struct document *document, struct document_list *list)
{
    uint64_t value;

    while (document_value(document)) {
        if (!number_at(document, &value)) value = 0;
        uint64_t *one = list->count < RANKS_MOST ? document_more(list, sizeof *one) : NULL;
        if (one) *one = value;
    }
}

static void read_waits(struct document *document, struct training_read *read)
{
    enum json_token token;
    uint64_t value;

    while (document_member(document, &token)) {
        if (token != JSON_BEGIN) continue;
        for (uint32_t i = 0; document_value(document); i++) {
            if (!number_at(document, &value) || i >= RANKS_MOST) continue;
            while (read->waits.count <= i) {
                uint64_t *one = document_more(&read->waits, sizeof *one);
                if (!one) return;
                *one = 0;
            }
            ((uint64_t *)read->waits.at)[i] += value / 1000;
        }
        read->wait_steps++;
    }
}

/* "h0:3", the fourth GPU of h0: its host. */
static void read_gpus(struct document *document, struct document_list *hosts)
{

    while (document_value(document)) {
        const char *name = document_text(document), *colon = strrchr(name, ':');
        uint32_t *host = hosts->count < RANKS_MOST ? document_more(hosts, sizeof *host) : NULL;
        if (!host) continue;
        *host =
            colon && colon > name ? evidence_device(document->evidence, name, (size_t)(colon - name)) : EVIDENCE_NONE;
    }
}

static void put_ranks(struct document *document, uint32_t job, const struct training_read *read)
{
    uint32_t most = read->waits.count > read->compute.count ? read->waits.count : read->compute.count;

    for (uint32_t i = 0; i < most; i++) {
        uint64_t number = i < read->ranks.count ? ((const uint64_t *)read->ranks.at)[i] : i;
        if (number > UINT32_MAX) continue;
        uint32_t rank = evidence_rank(document->evidence, job, (uint32_t)number);
        if (rank == EVIDENCE_NONE) return;
        if (i < read->hosts.count && document->evidence->object[rank].host == EVIDENCE_NONE)
            document->evidence->object[rank].host = ((const uint32_t *)read->hosts.at)[i];
        if (i < read->waits.count && read->wait_steps)
            job_level(document, rank, EVIDENCE_RANK_WAIT_NS, ((const uint64_t *)read->waits.at)[i] / read->wait_steps);
        if (i < read->stages.count)
            job_level(document, rank, EVIDENCE_RANK_STAGE, ((const uint64_t *)read->stages.at)[i]);
        if (i < read->compute.count)
            job_level(document, rank, EVIDENCE_RANK_COMPUTE_NS, ((const uint64_t *)read->compute.at)[i] / 1000);
    }
}

/* What groups whose ranks are in one host each are waited for. */
static void read_groups(struct document *document, struct training_read *read)
{
    read->grouped = true;
    while (document_object(document)) {
        uint64_t exposed_ns = 0;
        bool inside = false;
        while (document_value(document)) {
            document_ps(document, "exposed_ps", &exposed_ns);
            if (json_key_is(&document->json, "inside")) inside = document->json.type == JSON_TRUE;
        }
        if (inside) read->inside_ns += exposed_ns;
    }
}

static void training_list(struct document *document, struct training_read *read)
{
    struct json_in *json = &document->json;
    struct document_list steps = {0};

    if (json_key_is(json, "rank_waits_ps")) {
        read_waits(document, read);
    } else if (json_key_is(json, "rank_compute_ps")) {
        read_numbers(document, &read->compute);
    } else if (json_key_is(json, "rank_stages")) {
        read_numbers(document, &read->stages);
    } else if (json_key_is(json, "groups")) {
        read_groups(document, read);
    } else if (json_key_is(json, "rank_gpus")) {
        read_gpus(document, &read->hosts);
    } else if (json_key_is(json, "ranks_listed")) {
        read_numbers(document, &read->ranks);
    } else if (json_key_is(json, "each_step_ps")) {
        read_numbers(document, &steps);
        read->steps = steps.count;
        free(steps.at);
    } else {
        json_skip(json);
    }
}

static void read_training(struct document *document)
{
    uint32_t job = job_named(document, document_peek(document, "job"));
    struct training_read read = {0};
    enum json_token token;
    uint64_t ns;

    while (document_member(document, &token)) {
        if (token == JSON_BEGIN) {
            training_list(document, &read);
            continue;
        }
        if (document_ps(document, "step_ps", &ns) && ns) job_level(document, job, EVIDENCE_STEP_NS, ns);
        if (document_ps(document, "compute_ps", &ns)) job_level(document, job, EVIDENCE_STEP_COMPUTE_NS, ns);
        if (document_ps(document, "exposed_ps", &ns)) job_level(document, job, EVIDENCE_STEP_EXPOSED_NS, ns);
    }
    job_level(document, job, EVIDENCE_STEPS, read.steps);
    if (read.grouped) job_level(document, job, EVIDENCE_STEP_INSIDE_NS, read.inside_ns);
    put_ranks(document, job, &read);
    free(read.waits.at);
    free(read.compute.at);
    free(read.hosts.at);
    free(read.ranks.at);
    free(read.stages.at);
}

void document_training(struct document *document)
{
    while (document_object(document))
        read_training(document);
}

/* --- who sends to whom --- */

static void add_flow(struct document *document, const struct evidence_flow *flow)
{
    if (flow->job != EVIDENCE_NONE && flow->from != EVIDENCE_NONE && flow->to != EVIDENCE_NONE)
        evidence_add_flow(document->evidence, flow);
}

static void read_flow(struct document *document)
{
    struct evidence_flow flow = {.job = job_named(document, document_peek(document, "job")),
                                 .from = document_peek_port(document, "src"),
                                 .to = document_peek_port(document, "dst")};

    while (document_value(document)) {
        document_u64(document, "bytes", &flow.bytes);
        document_ps(document, "start_ps", &flow.start_ns);
        document_ps(document, "fct_ps", &flow.time_ns);
        document_ps(document, "ideal_ps", &flow.ideal_ns);
    }
    add_flow(document, &flow);
}

void document_flows(struct document *document)
{
    while (document_object(document))
        read_flow(document);
}

/* Of programs under `up`: a program is a job. */
static void read_queue_pair(struct document *document)
{
    struct evidence_flow flow = {.job = job_named(document, document_peek(document, "program")),
                                 .from = document_peek_port(document, "host"),
                                 .to = document_peek_port(document, "peer")};
    uint64_t first = 0, last = 0;

    while (document_value(document)) {
        document_u64(document, "bytes", &flow.bytes);
        document_ps(document, "first_post_ps", &first);
        document_ps(document, "last_completion_ps", &last);
    }
    flow.start_ns = first;
    if (last > first) flow.time_ns = last - first;
    add_flow(document, &flow);
}

void document_queue_pairs(struct document *document)
{
    while (document_object(document))
        read_queue_pair(document);
}
