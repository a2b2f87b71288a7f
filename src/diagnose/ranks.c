/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of a job as numbers: medians, and who is far from them. */
#include "diagnose/ranks_int.h"

#include <stdlib.h>
#include <string.h>

struct numbers ranks_of(struct diagnose *diagnose, uint32_t job, enum evidence_counter counter)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers numbers = {0};
    uint32_t ranks = 0;

    EVIDENCE_EACH(evidence, EVIDENCE_RANK, rank) ranks += evidence->object[rank].parent == job;
    numbers.object = ARENA_NEW(&diagnose->arena, uint32_t, ranks ? ranks : 1);
    numbers.value = ARENA_NEW(&diagnose->arena, double, ranks ? ranks : 1);
    if (!numbers.object || !numbers.value) {
        diagnose->full = true;
        return (struct numbers){0};
    }
    EVIDENCE_EACH(evidence, EVIDENCE_RANK, rank)
    {
        const struct evidence_value *value = evidence_find(evidence, rank, EVIDENCE_NO_PRIORITY, counter);
        if (evidence->object[rank].parent != job || !value) continue;
        numbers.object[numbers.count] = rank;
        numbers.value[numbers.count++] = value->real;
    }
    numbers_settle(diagnose, &numbers);
    return numbers;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, uint32_t count)
{
    qsort(values, count, sizeof values[0], by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void numbers_settle(struct diagnose *diagnose, struct numbers *numbers)
{
    double *sorted = ARENA_NEW(&diagnose->arena, double, numbers->count ? numbers->count : 1);

    if (!sorted) diagnose->full = true;
    if (!numbers->count || !sorted) return;
    memcpy(sorted, numbers->value, numbers->count * sizeof sorted[0]);
    numbers->median = median_of(sorted, numbers->count);
    for (uint32_t i = 0; i < numbers->count; i++) {
        double far = numbers->value[i] - numbers->median;
        sorted[i] = far < 0 ? -far : far;
    }
    numbers->deviation = 1.4826 * median_of(sorted, numbers->count);
}

uint32_t numbers_most(const struct numbers *numbers, bool smallest)
{
    uint32_t most = 0;

    for (uint32_t i = 1; i < numbers->count; i++)
        if (smallest ? numbers->value[i] < numbers->value[most] : numbers->value[i] > numbers->value[most]) most = i;
    return numbers->count ? most : numbers->count;
}

bool finding_is_network(const struct diagnose_finding *finding)
{
    return finding->severity >= DIAGNOSE_WARNING && finding->rule != DIAGNOSE_D17 && finding->rule != DIAGNOSE_D20;
}

double step_ns(const struct diagnose *diagnose, uint32_t job)
{
    return (double)evidence_get(diagnose->evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_STEP_NS);
}
