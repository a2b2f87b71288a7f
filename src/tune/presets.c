/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published settings as points.  A preset of ECN is for every class that marks.
 */
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "tune/tune_int.h"

const struct tune_preset tune_presets[] = {
#define PRESET(name, source, values) {name, source, values},
#include "tune/presets.def"
#undef PRESET
};
const uint32_t tune_preset_count = sizeof tune_presets / sizeof tune_presets[0];

/* The text behind `key=` in a preset, as a number of its unit; false: it does not say it. */
static bool says(const char *values, const char *key, enum unit_kind unit, uint64_t *ret)
{
    size_t length = strlen(key);

    for (const char *at = values; *at;) {
        size_t word = strcspn(at, " ");
        if (word > length && strncmp(at, key, length) == 0 && at[length] == '=') {
            char text[TUNE_TEXT];
            snprintf(text, sizeof text, "%.*s", (int)(word - length - 1), at + length + 1);
            CHECK(unit_parse(unit, text, ret, NULL) == 0); /* the table is ours */
            return true;
        }
        at += word + (at[word] == ' ');
    }
    return false;
}

static bool value_of(const struct tune *tune, const char *values, const struct tune_parameter *parameter, uint64_t *ret)
{
    static const enum unit_kind units[] = {
        [TUNE_SIZE] = UNIT_SIZE,   [TUNE_TIME] = UNIT_TIME,  [TUNE_RATE] = UNIT_RATE,  [TUNE_SHARE] = UNIT_SHARE,
        [TUNE_COUNT] = UNIT_COUNT, [TUNE_RATIO] = UNIT_SIZE, [TUNE_ALPHA] = UNIT_COUNT};
    uint64_t per = 0, min = 0, rate = tune->fabric->endpoints ? tune->fabric->port[0].rate_bps : 0;
    enum tune_unit unit = parameter->kind->unit;

    if (!says(values, parameter->kind->name, units[unit], ret)) return false;
    if (unit == TUNE_RATIO) {
        if (!says(values, "ecn.min", UNIT_SIZE, &min) || min == 0) return false;
        *ret = (*ret * 1000000 + min - 1) / min;
    } else if (unit == TUNE_SIZE && says(values, "per", UNIT_RATE, &per)) {
        *ret = (uint64_t)((double)*ret * (double)rate / (double)per);
    }
    return true;
}

bool preset_point(const struct tune *tune, uint32_t preset, struct tune_point *ret)
{
    *ret = (struct tune_point){.origin = TUNE_PRESET, .preset = preset};
    for (uint32_t i = 0; i < tune->parameters; i++) {
        uint64_t value;
        if (value_of(tune, tune_presets[preset].values, &tune->parameter[i], &value)) point_set(tune, ret, i, value);
    }
    return ret->set != 0;
}

bool preset_searched(const struct tune *tune, const struct tune_point *point)
{
    for (uint32_t i = 0; i < tune->parameters; i++)
        if (tune_has(point, i) && !tune->parameter[i].varied) return false;
    return true;
}
