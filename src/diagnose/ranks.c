/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of a job as numbers: medians, and who is far from them. */
#include "diagnose/ranks_int.h"

#include <stdlib.h>
#include <string.h>

/* Lists of the ranks of each job, made once: a fabric has tens of thousands of ranks and may have as many jobs. */
static bool listed(struct diagnose *diagnose)
{
    const struct evidence *evidence = diagnose->evidence;

    if (diagnose->rank_of) return true;
    uint32_t *first = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects + 1);
    uint32_t *after = DIAGNOSE_NEW(diagnose, uint32_t, evidence->objects + 1);
    if (!first || !after) return false;
    for (uint32_t id = evidence->objects; id-- > 0;) {
        const struct evidence_object *object = &evidence->object[id];
        if (object->scope != EVIDENCE_RANK || object->parent >= evidence->objects) continue;
        after[id] = first[object->parent];
        first[object->parent] = id + 1;
    }
    diagnose->rank_of = first;
    diagnose->rank_after = after;
    return true;
}

uint32_t rank_next(struct diagnose *diagnose, uint32_t job, uint32_t after)
{
    if (!listed(diagnose)) return EVIDENCE_NONE;
    return (after == EVIDENCE_NONE ? diagnose->rank_of[job] : diagnose->rank_after[after]) - 1;
}

struct numbers ranks_of(struct diagnose *diagnose, uint32_t job, enum evidence_counter counter)
{
    const struct evidence *evidence = diagnose->evidence;
    struct numbers numbers = {0};
    uint32_t ranks = 0;

    RANKS_EACH(diagnose, job, rank) ranks += evidence_find(evidence, rank, EVIDENCE_NO_PRIORITY, counter) != NULL;
    if (!ranks) return numbers;
    numbers.object = DIAGNOSE_NEW(diagnose, uint32_t, ranks);
    numbers.value = DIAGNOSE_NEW(diagnose, double, ranks);
    if (!numbers.object || !numbers.value) return (struct numbers){0};
    RANKS_EACH(diagnose, job, rank)
    {
        const struct evidence_value *value = evidence_find(evidence, rank, EVIDENCE_NO_PRIORITY, counter);
        if (!value) continue;
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
    double *sorted = DIAGNOSE_NEW(diagnose, double, numbers->count ? numbers->count : 1);

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
    switch (finding->rule) {
    case DIAGNOSE_D17:
    case DIAGNOSE_D20:
    case DIAGNOSE_D27:
    case DIAGNOSE_D28:
    case DIAGNOSE_D29:
    case DIAGNOSE_D32:
    case DIAGNOSE_D33:
    case DIAGNOSE_D35:
    case DIAGNOSE_D36:
        return false; /* inside of hosts */
    default:
        return finding->severity >= DIAGNOSE_WARNING;
    }
}

bool network_found(const struct diagnose *diagnose)
{
    for (uint32_t i = 0; i < diagnose->findings; i++)
        if (finding_is_network(&diagnose->finding[i])) return true;
    return false;
}

double step_ns(const struct diagnose *diagnose, uint32_t job)
{
    return (double)evidence_get(diagnose->evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_STEP_NS);
}

uint32_t ranks_host(struct diagnose *diagnose, uint32_t job, uint64_t *ret_count)
{
    const struct evidence *evidence = diagnose->evidence;
    uint32_t host = EVIDENCE_NONE;

    *ret_count = 0;
    RANKS_EACH(diagnose, job, rank)
    {
        uint32_t at = evidence->object[rank].host;
        if (at == EVIDENCE_NONE) continue;
        uint32_t device = evidence_device_of(evidence, at);
        if (host != EVIDENCE_NONE && device != host) return EVIDENCE_NONE;
        host = device;
        ++*ret_count;
    }
    return host;
}
