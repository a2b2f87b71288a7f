/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure with several seeds, summed up.  Slowdowns are of pairs: each run over the one without a failure that has
 * its seed, so what differs from seed to seed alike in both is no part of the interval.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/wide.h"
#include "study/each.h"

static uint64_t over_base(ps_t time, ps_t base)
{
    if (time == PS_NEVER || base == PS_NEVER || base == 0) return MEASURE_NOTHING;
    return (uint64_t)((u128)time * 1000 / base);
}

static uint64_t value_of(const struct each_one *one, const struct each_one *base, enum each_value value)
{
    switch (value) {
    case EACH_TIME:
        return one->time_ps; /* PS_NEVER is MEASURE_NOTHING */
    case EACH_SLOWDOWN:
        return over_base(one->time_ps, base->time_ps);
    case EACH_EXPLAINED_TIME:
        return one->predicted_ps;
    case EACH_EXPLAINED:
        return over_base(one->predicted_ps, base->time_ps);
    case EACH_RECOVERED:
        return one->completed ? one->recover_ps : MEASURE_NOTHING;
    case EACH_LOST_PACKETS:
        return one->lost_packets;
    case EACH_LOST_BYTES:
        return one->lost_bytes;
    case EACH_AGAIN_PACKETS:
        return one->again_packets;
    case EACH_AGAIN_BYTES:
        return one->again_bytes;
    case EACH_TIMEOUTS:
        return one->timeouts;
    case EACH_DELIVERED:
        return one->delivered_bytes;
    case EACH_VALUES:
        break;
    }
    CHECK(false);
}

const struct each_value_info each_values[EACH_VALUES] = {
    [EACH_TIME] = {"time_ps", MEASURE_KIND_TIME},
    [EACH_SLOWDOWN] = {"slowdown", MEASURE_KIND_MILLI},
    [EACH_EXPLAINED_TIME] = {"explained_ps", MEASURE_KIND_TIME},
    [EACH_EXPLAINED] = {"explained", MEASURE_KIND_MILLI},
    [EACH_RECOVERED] = {"recovered_ps", MEASURE_KIND_TIME},
    [EACH_LOST_PACKETS] = {"lost_packets", MEASURE_KIND_COUNT},
    [EACH_LOST_BYTES] = {"lost_bytes", MEASURE_KIND_BYTES},
    [EACH_AGAIN_PACKETS] = {"retransmitted_packets", MEASURE_KIND_COUNT},
    [EACH_AGAIN_BYTES] = {"retransmitted_bytes", MEASURE_KIND_BYTES},
    [EACH_TIMEOUTS] = {"timeouts", MEASURE_KIND_COUNT},
    [EACH_DELIVERED] = {"delivered_bytes", MEASURE_KIND_BYTES},
};

bool each_summarise(const struct each *each, uint32_t target, struct each_summary *ret)
{
    const struct each_one *one = &each->one[target * each->seeds];
    uint64_t *value = calloc(each->seeds, sizeof *value);

    *ret = (struct each_summary){.name = one->name, .runs = each->seeds};
    for (uint32_t k = 0; k < each->seeds; k++) {
        ret->ran += one[k].ran;
        ret->completed += one[k].completed;
        ret->predictable += one[k].predictable;
        ret->cut_off |= one[k].cut_off;
        if (one[k].why[0] == '\0') continue;
        ret->whys++;
        if (ret->why == NULL) ret->why = one[k].why;
    }
    for (int v = 0; v < EACH_VALUES; v++) {
        uint32_t count = 0;
        bool missing = false;
        for (uint32_t k = 0; k < each->seeds; k++) {
            if (!one[k].ran) continue;
            value[count] = value_of(&one[k], &each->one[k], (enum each_value)v);
            missing |= value[count++] == MEASURE_NOTHING;
        }
        ret->value[v] = summary_of(value, missing ? 0 : count, measure_scale(each_values[v].kind));
    }
    free(value);
    return true;
}
