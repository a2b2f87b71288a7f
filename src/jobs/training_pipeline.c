/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `pipeline: {schedule: interleaved, chunks: 2}` of a training job: in which order a stage goes through its
 * micro-batches.
 *
 * The schedules are Megatron-LM's (Narayanan et al., SC 2021, section 2.2).  gpipe goes forward with all, then backward
 * with all; 1f1b takes turns and leaves as much idle, with fewer activations held; interleaved divides a stage's
 * layers into chunks that are far from each other in the model, so that a stage waits for a chunk's time, not for a
 * stage's.  It deals micro-batches out in rounds of as many as there are stages, so their number is a multiple of that.
 */
#include <string.h>

#include "jobs/training_int.h"

static const char *const schedules[] = {"1f1b", "gpipe", "interleaved", NULL};

void pipeline_read(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_CHOICE("schedule", struct training_text, schedule, schedules),
        F_VALUE("chunks", FIELD_COUNT, struct training_text, chunks, 1, FABRIC_CHUNKS_MAX),
    };
    struct field_set set = {fields, COUNT_OF(fields), into};
    struct training_text *text = into;

    if (value->type == TREE_SCALAR)
        read_choice(loader, value, schedules, &text->schedule);
    else
        read_map(loader, value, "pipeline", &set, 1);
}

bool pipeline_fits(struct loader *loader, const struct tree *value, const struct training_text *text,
                   struct fabric_training *training)
{
    uint32_t stages = training->size[FABRIC_GROUP_PP], micro = training->micro_batches;
    uint32_t layers = text->slice_layers ? text->slice_layers : text->model.layers;

    training->schedule = (uint8_t)text->schedule;
    if (text->schedule != FABRIC_SCHEDULE_INTERLEAVED) {
        if (text->chunks <= 1) return true;
        read_error(loader, value->at, "pipeline: %s has one chunk a stage; schedule: interleaved has several",
                   schedules[text->schedule]);
        return false;
    }
    uint32_t chunks = text->chunks ? text->chunks : 2;
    if (stages < 2 || chunks < 2)
        read_error(loader, value->at, "pipeline: %u chunk%s in %u stage%s; interleaved needs two or more of each",
                   chunks, chunks == 1 ? "" : "s", stages, stages == 1 ? "" : "s");
    else if ((uint64_t)stages * chunks > layers)
        read_error(loader, value->at, "pipeline: %u stages of %u chunks, but %u layers: each chunk has one or more",
                   stages, chunks, layers);
    else if (micro % stages != 0)
        read_error(loader, value->at,
                   "pipeline: interleaved takes micro-batches in rounds of one a stage: %u are no multiple of %u; "
                   "%u would be",
                   micro, stages, (micro / stages + 1) * stages);
    else
        training->chunks = chunks;
    return training->chunks == chunks;
}
