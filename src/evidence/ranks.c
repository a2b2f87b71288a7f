/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How late ranks came, where sources say how long each was in its collectives: all leave together, so that who spends
 * less time in them than the others came later.
 */
#include <stdlib.h>

#include "evidence/evidence_int.h"

#define LEAST 3 /* ranks of which a median says something */

static int by_size(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

    return one < two ? -1 : one > two;
}

/* The median over a job's ranks; 0: there are too few. */
static uint64_t median_of(const struct evidence *evidence, const uint32_t *rank, uint32_t count, uint64_t *time)
{
    for (uint32_t i = 0; i < count; i++)
        time[i] = evidence_get(evidence, rank[i], EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_COLLECTIVE_NS);
    qsort(time, count, sizeof time[0], by_size);
    return count < LEAST ? 0 : time[count / 2];
}

static int by_job(const void *a, const void *b)
{
    const struct evidence_object *const *one = a, *const *two = b;

    if ((*one)->parent != (*two)->parent) return (*one)->parent < (*two)->parent ? -1 : 1;
    return *one < *two ? -1 : *one > *two;
}

static void lateness_of(struct evidence *evidence, const uint32_t *rank, uint32_t count, uint64_t *time)
{
    uint64_t median = median_of(evidence, rank, count, time);

    for (uint32_t i = 0; median && i < count; i++) {
        const struct evidence_value *own =
            evidence_find(evidence, rank[i], EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_COLLECTIVE_NS);
        struct evidence_source source = {own->file, own->line, own->last_s};
        uint64_t late = own->grown < median ? median - own->grown : 0;
        if (!evidence_find(evidence, rank[i], EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_LATE_NS))
            evidence_set(evidence, rank[i], EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_LATE_NS, late, &source);
    }
}

void evidence_lateness(struct evidence *evidence)
{
    const struct evidence_object **list = calloc(evidence->objects + 1u, sizeof list[0]);
    uint32_t *rank = calloc(evidence->objects + 1u, sizeof rank[0]), count = 0;
    uint64_t *time = calloc(evidence->objects + 1u, sizeof time[0]);

    for (uint32_t id = 0; list && rank && time && id < evidence->objects; id++)
        if (evidence->object[id].scope == EVIDENCE_RANK &&
            evidence_find(evidence, id, EVIDENCE_NO_PRIORITY, EVIDENCE_RANK_COLLECTIVE_NS))
            list[count++] = &evidence->object[id];
    if (count) qsort(list, count, sizeof list[0], by_job);
    for (uint32_t i = 0; i < count; i++)
        rank[i] = (uint32_t)(list[i] - evidence->object);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && list[end]->parent == list[i]->parent;)
            end++;
        lateness_of(evidence, rank + i, end - i, time);
    }
    free(list);
    free(rank);
    free(time);
}
