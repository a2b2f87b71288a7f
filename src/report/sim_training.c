/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training jobs: how long a step takes, and where a GPU's time goes.
 *
 * A step's time is compute, plus what the rank waited for, booked under the group it waited in; waiting for the stage
 * before or after is pp's, so the bubble of the pipeline is in it.  `busy` is how long something of the group was
 * under way, hidden behind compute or not.  All are means over ranks and steps, bytes are of the rank that sends
 * most.
 *
 * A job may be run in part, as a slice: then all times and bytes are the slice's, and there is no rate of tokens, for
 * one would be read as the whole job's.
 */
#include <inttypes.h>

#include "fabric/fabric.h"
#include "jobs/training.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"
#include "report/table.h"

#define CELL 48

static const char *share(ps_t part, ps_t whole, char buf[CELL])
{
    uint64_t tenths = whole ? (uint64_t)((double)part / (double)whole * 1000.0 + 0.5) : 0;

    snprintf(buf, CELL, "%" PRIu64 ".%" PRIu64 "%%", tenths / 10, tenths % 10);
    return buf;
}

static const struct fabric_training *made_of(const struct sim_report *report, const struct sim_training *training)
{
    return report->fabric->job[report->result->job[training->job].job].training;
}

const char *sim_slices(const struct fabric *fabric, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (uint32_t j = 0; j < fabric->jobs && used < size; j++) {
        const struct fabric_job *job = &fabric->job[j];
        if (job->training == NULL || job->training->slice == NULL) continue;
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%s: %s", used ? "; " : "", job->name, job->training->slice);
    }
    return buf;
}

void sim_slices_text(FILE *out, const struct text_style *style, const char *const *slices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fputs("Only a slice is run of ", out);
        text_outside(out, style, slices[i]);
        fputc('\n', out);
    }
    if (count) fputs("Times are the slice's, not the whole job's.\n", out);
}

void fabric_slices_text(FILE *out, const struct text_style *style, const struct fabric *fabric)
{
    char words[SIM_SLICES];
    const char *slices = sim_slices(fabric, words, sizeof words);

    sim_slices_text(out, style, &slices, slices[0] != '\0');
}

void fabric_slices_json(struct jout *jout, const struct fabric *fabric)
{
    char words[SIM_SLICES];

    sim_slices(fabric, words, sizeof words);
    jout_text(jout, "slice", words[0] ? words : NULL);
}

static uint64_t tokens_per_s(const struct sim_report *report, const struct sim_training *training)
{
    uint64_t tokens = made_of(report, training)->tokens;

    return training->mean_ps ? (uint64_t)((double)tokens * 1e12 / (double)training->mean_ps) : 0;
}

static void head_lines(FILE *out, const struct sim_report *report, const struct sim_training *training,
                       const struct text_style *style)
{
    const struct sim_job *job = &report->result->job[training->job];
    const struct fabric_training *from = made_of(report, training);
    bool inference = report->fabric->job[job->job].kind == FABRIC_JOB_INFERENCE;
    char step[TEXT_COUNT], idle[CELL], rate[TEXT_COUNT];

    fprintf(out, "  %s: %u ranks, %u of %u %s", job->name, job->ranks, training->steps_ended, training->steps,
            inference ? "tokens" : "steps");
    if (training->mean_ps) {
        fprintf(out, ", %s a %s%s, GPUs idle %s", text_ps(training->mean_ps, step), inference ? "token" : "step",
                from->slice ? " of the slice" : "", share(training->idle_ppm, 1000000, idle));
        if (from->tokens && !from->slice)
            fprintf(out, ", %s tokens/s", text_count(tokens_per_s(report, training), rate));
    }
    fputc('\n', out);
    if (from->slice) {
        char words[SIM_SLICES];
        snprintf(words, sizeof words, "a slice of the job: %s; times and bytes are the slice's, not the whole job's",
                 from->slice);
        fputs("  ", out);
        text_wrap(out, style, 2, 4, words);
    }
    if (from->trace) fprintf(out, "  read from %s\n", from->trace);
}

static void group_rows(FILE *out, const struct sim_training *training, const struct text_style *style)
{
    char time[TEXT_COUNT], part[CELL];
    struct table table;

    TABLE_BEGIN(&table, LEFT("", .min_width = 8), RIGHT("ranks"), RIGHT("calls", .drop = 1), RIGHT("bytes"),
                RIGHT("busy"), RIGHT("waited"), RIGHT("of step"), RIGHT("worst rank", .drop = 2));
    const char *compute[] = {"compute",
                             "",
                             "",
                             "",
                             text_ps(training->compute_ps, time),
                             "",
                             share(training->compute_ps, training->mean_ps, part),
                             ""};
    table_row(&table, compute);
    for (uint32_t g = 0; g < FABRIC_GROUPS; g++) {
        const struct sim_training_group *group = &training->group[g];
        char ranks[CELL], calls[TEXT_COUNT], bytes[TEXT_COUNT], busy[TEXT_COUNT], waited[TEXT_COUNT], most[TEXT_COUNT];
        if (group->operations == 0 && group->busy_ps == 0) continue;
        snprintf(ranks, sizeof(ranks), "%u", group->size);
        TABLE_ROW(&table, fabric_group_names[g], ranks, text_count(group->operations, calls),
                  text_bytes(group->bytes, bytes), text_ps(group->busy_ps, busy), text_ps(group->exposed_ps, waited),
                  share(group->exposed_ps, training->mean_ps, part), text_ps(group->exposed_most_ps, most));
    }
    table_end(&table, out, style, 2);
}

void sim_training_text(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    const struct sim_result *result = report->result;

    for (uint32_t i = 0; i < result->trainings; i++) {
        if (options->rows && i == options->rows) {
            fprintf(out, "  and %u more\n", result->trainings - i);
            return;
        }
        text_in(out, &options->style, TEXT_BOLD, "%s", i ? "\n" : "\nSTEPS (mean per step and rank)\n");
        head_lines(out, report, &result->training[i], &options->style);
        group_rows(out, &result->training[i], &options->style);
    }
}

/* The rank's place among those that differ in this dimension alone, and how far apart they are. */
static uint32_t place_in(const struct fabric_training *from, uint32_t rank, unsigned dimension, uint32_t *ret_stride)
{
    uint32_t stride = 1;

    for (unsigned i = 0; i < FABRIC_DIMENSIONS && from->order[i] != dimension; i++)
        stride *= from->size[from->order[i]];
    *ret_stride = stride;
    return from->size[dimension] ? rank / stride % from->size[dimension] : 0;
}

uint32_t sim_training_stage(const struct fabric_training *from, uint32_t rank)
{
    uint32_t stride;

    return place_in(from, rank, FABRIC_GROUP_PP, &stride);
}

bool sim_training_inside(const struct fabric *fabric, const struct fabric_job *job, unsigned group)
{
    const struct fabric_training *from = job->training;
    unsigned dimension = group == FABRIC_GROUP_EP ? FABRIC_GROUP_DP : group;

    if (dimension >= FABRIC_DIMENSIONS || from->whole) return false; /* of a trace anybody may send to anybody */
    for (uint32_t rank = 0; rank < job->ranks; rank++) {
        uint32_t stride, place = place_in(from, rank, dimension, &stride);
        if (group == FABRIC_GROUP_EP) place %= from->size[group] ? from->size[group] : 1;
        if (fabric->gpu_host[job->rank[rank]] != fabric->gpu_host[job->rank[rank - place * stride]]) return false;
    }
    return true;
}

static void json_groups(struct jout *jout, const struct fabric *fabric, const struct fabric_job *job,
                        const struct sim_training *training)
{
    jout_open(jout, "groups", '[');
    for (uint32_t g = 0; g < FABRIC_GROUPS; g++) {
        const struct sim_training_group *group = &training->group[g];
        if (group->operations == 0 && group->busy_ps == 0) continue;
        jout_open_line(jout, NULL, '{');
#include "report/rows/training_group.def"
        jout_close(jout);
    }
    jout_close(jout);
}

/* Where ranks are: host and number of the GPU there. */
static void json_gpus(struct jout *jout, const struct sim_report *report, const struct sim_training *training)
{
    const struct fabric *fabric = report->fabric;
    const struct fabric_job *job = &fabric->job[report->result->job[training->job].job];
    char name[FABRIC_NAME + 16];

    jout_open_line(jout, "rank_gpus", '[');
    for (uint32_t i = 0; i < training->listed; i++) {
        uint32_t gpu = job->rank[training->rank ? training->rank[i] : i], host = fabric->gpu_host[gpu];
        snprintf(name, sizeof name, "%s:%u", fabric->node[host].name, gpu - fabric->first_gpu[host]);
        jout_text(jout, NULL, name);
    }
    jout_close(jout);
}

static void json_listed(struct jout *jout, const struct sim_training *training)
{
    if (training->rank == NULL) {
        jout_null(jout, "ranks_listed");
        return;
    }
    JOUT_LIST_LINE(jout, "ranks_listed", i, training->listed, jout_u64(jout, NULL, training->rank[i]));
}

void sim_training_json(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;

    jout_open(jout, "training", '[');
    for (uint32_t i = 0; i < result->trainings; i++) {
        const struct sim_training *training = &result->training[i];
        const struct sim_job *job = &result->job[training->job];
        const struct fabric_training *from = made_of(report, training);
        jout_open(jout, NULL, '{');
#include "report/rows/training.def"
        jout_close(jout);
    }
    jout_close(jout);
}
