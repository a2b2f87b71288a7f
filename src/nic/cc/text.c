/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control as people write it: presets by name, parameters by name and value.  Fabric files and environment
 * variables are read by the same rules and refused with the same words; whoever reads says where it stood.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "nic/cc/algorithm.h"
#include "nic/cc/cc.h"

/* Those that can be had, one after the other; *at is moved on. */
static const char *next_preset(size_t *at, bool telemetry)
{
    struct cc_config config;
    const char *name;

    while ((name = cc_preset_name((*at)++)) != NULL)
        if (cc_preset(name, &config) == 0 && (telemetry || !cc_needs(&config)->telemetry)) return name;
    return NULL;
}

int cc_read_preset(const char *name, bool telemetry, struct cc_config *ret, char *why, size_t why_bytes)
{
    struct nearest nearest;
    const char *known;
    size_t at = 0, used;

    if (cc_preset(name, ret) == 0) {
        if (telemetry || !cc_needs(ret)->telemetry) return 0;
        snprintf(why, why_bytes, "%s goes by in-band telemetry of switches, which no wire carries: simulator only",
                 name);
        return -EINVAL;
    }
    nearest_init(&nearest, name);
    while ((known = next_preset(&at, telemetry)) != NULL)
        nearest_try(&nearest, known);
    used = (size_t)snprintf(why, why_bytes, "no congestion control is called '%s'; ", name);
    if (used >= why_bytes) return -EINVAL;
    if (nearest.word) {
        snprintf(why + used, why_bytes - used, "did you mean '%s'?", nearest.word);
        return -EINVAL;
    }
    at = 0;
    for (const char *between = "known are "; used < why_bytes && (known = next_preset(&at, telemetry)); between = ", ")
        used += (size_t)snprintf(why + used, why_bytes - used, "%s%s", between, known);
    return -EINVAL;
}

/* `true`, `on` and the like; else a count. */
static int read_flag(const char *text, uint64_t *ret, const char **ret_why)
{
    static const char *const words[2][3] = {{"false", "no", "off"}, {"true", "yes", "on"}};

    for (int i = 0; i < 6; i++) {
        if (strcmp(text, words[i / 3][i % 3]) != 0) continue;
        *ret = (uint64_t)i / 3;
        return 0;
    }
    if (unit_parse(UNIT_COUNT, text, ret, NULL) == 0 && *ret <= 1) return 0;
    *ret_why = "write true or false";
    return -EINVAL;
}

int cc_read_param(struct cc_config *config, const char *name, const char *value, char *why, size_t why_bytes)
{
    static const enum unit_kind kinds[] = {[CC_UNIT_TIME] = UNIT_TIME,
                                           [CC_UNIT_RATE] = UNIT_RATE,
                                           [CC_UNIT_BYTES] = UNIT_SIZE,
                                           [CC_UNIT_COUNT] = UNIT_COUNT,
                                           [CC_UNIT_SHARE] = UNIT_SHARE};
    const struct cc_param *param;
    const char *reason = "not a value for it";
    struct nearest nearest;
    uint64_t number = 0;

    param = cc_param_of(config, name);
    if (param == NULL) {
        nearest_init(&nearest, name);
        for (param = config->outside ? config->outside->param : NULL; param && param->name; param++)
            nearest_try(&nearest, param->name);
        for (size_t i = 0; (param = cc_param(i)) != NULL; i++)
            nearest_try(&nearest, param->name);
        snprintf(why, why_bytes, "congestion control has no parameter '%s'%s%s%s", name,
                 nearest.word ? "; did you mean '" : "", nearest.word ? nearest.word : "", nearest.word ? "'?" : "");
        return -EINVAL;
    }
    int error = param->unit == CC_UNIT_FLAG ? read_flag(value, &number, &reason)
                                            : unit_parse(kinds[param->unit], value, &number, &reason);
    if (error) {
        snprintf(why, why_bytes, "%s: %s", name, reason);
        return -EINVAL;
    }
    return cc_set(config, name, number);
}
