/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads `reliability:`: failure rates of parts, and how a job lives with failures.
 *
 * Rates are a share of the parts that fails in a year, as vendors and fleets give it; more than 100 % is a part that
 * fails more than once.  Nothing here is seen by a run: src/validate joins it with runs.
 */
#include "fabric/reliability.h"

#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/file/read.h"

#define FAILURES_MOST_PPM UINT64_C(1000000000) /* a thousand times a year */
#define REPAIR_MOST_PS (7 * 86400 * PS_S)

const char *const rate_basis_names[] = {"published", "derived", "assumed"};
const struct rate_info rate_infos[RATE_PARTS] = {
#define RATE(id, name, failures_ppm, repair_s, basis, source) {name, failures_ppm, repair_s, RATE_##basis, source},
#include "fabric/rates.def"
#undef RATE
};

static void read_rate(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("failures", FIELD_SHARE, struct fabric_rate, failures_ppm, 0, FAILURES_MOST_PPM),
        F_VALUE("repair", FIELD_TIME, struct fabric_rate, repair_ps, 0, REPAIR_MOST_PS),
    };
    struct fabric_reliability *reliability = into;
    uint32_t part = 0;

    while (strcmp(rate_infos[part].name, value->key) != 0)
        CHECK(++part < RATE_PARTS);
    struct field_set set = {fields, COUNT_OF(fields), &reliability->rate[part]};
    if (read_map(loader, value, value->key, &set, 1)) reliability->rate[part].at = value->at;
}

void reliability_load(struct loader *loader)
{
    static const struct field fields[] = {
        F_VALUE("checkpoint", FIELD_TIME, struct fabric_reliability, checkpoint_ps, PS_S, REPAIR_MOST_PS),
        F_VALUE("checkpoint-write", FIELD_TIME, struct fabric_reliability, write_ps, 0, REPAIR_MOST_PS),
        F_VALUE("restart", FIELD_TIME, struct fabric_reliability, restart_ps, 0, REPAIR_MOST_PS),
        F_VALUE("spares", FIELD_BOOL, struct fabric_reliability, spares, 0, 0),
#define RATE(id, name, failures_ppm, repair_s, basis, source) F_CALL(name, read_rate),
#include "fabric/rates.def"
#undef RATE
    };
    const struct tree *map = loader->part[PART_RELIABILITY];
    struct fabric_reliability *reliability = &loader->fabric->operations.reliability;

    *reliability = (struct fabric_reliability){
        .checkpoint_ps = 1800 * PS_S, .write_ps = 5 * PS_S, .restart_ps = 600 * PS_S, .spares = true};
    for (uint32_t p = 0; p < RATE_PARTS; p++)
        reliability->rate[p] = (struct fabric_rate){.failures_ppm = rate_infos[p].failures_ppm,
                                                    .repair_ps = rate_infos[p].repair_s * PS_S};
    struct field_set set = {fields, COUNT_OF(fields), reliability};
    if (!map || !read_map(loader, map, "reliability", &set, 1)) return;
    if (reliability->write_ps >= reliability->checkpoint_ps)
        read_error(loader, map->at,
                   "reliability: a checkpoint that takes as long to write as it is to the next leaves "
                   "no time to compute; 'checkpoint-write' is less than 'checkpoint'");
}
