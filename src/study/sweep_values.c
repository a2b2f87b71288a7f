/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is varied: `PATH=VALUES`, and the grid that several of them make.
 *
 * Values are divided by commas outside of brackets and quotes, because a value may be YAML.  `A..B` is a range of
 * quantities of one kind: doubling where nothing is said, times N with `xN`, N in all and evenly with `/N`, one STEP
 * after the other with `+STEP`.  Both ends belong to it.  Exact, in integers of the base unit.  A value may have a name
 * before it, `NAME=VALUE`, which tables show instead: a whole topology fits no column.
 */
#include "study/sweep.h"

#include <string.h>

#include "base/units.h"
#include "base/wide.h"

#define VALUES 10000u
#define WORD 4096

static bool push(struct sweep_grid *grid, struct sweep_axis *axis, const char *text, size_t length)
{
    if (axis->values == VALUES) return study_fail(grid->error, "--vary %s: more than %u values", axis->path, VALUES);
    char *copy = arena_strndup(&grid->arena, text, length);
    axis->value[axis->values++] = copy;
    return true;
}

/* Letters, digits and what stands between them, up to an equals sign; 0: there is no name. */
static size_t name_length(const char *item)
{
    size_t length = strspn(item, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/+-");

    return item[length] == '=' ? length : 0;
}

static bool push_named(struct sweep_grid *grid, struct sweep_axis *axis, const char *item, size_t name)
{
    const char *value = item + name + 1;

    if (value[0] == '\0')
        return study_fail(grid->error, "--vary %s: '%s': a value is missing behind its name", axis->path, item);
    if (!push(grid, axis, value, strlen(value))) return false;
    const char *copy = arena_strndup(&grid->arena, item, name);
    for (uint32_t i = 0; i + 1 < axis->values; i++)
        if (axis->name[i] && strcmp(axis->name[i], copy) == 0)
            return study_fail(grid->error, "--vary %s: two values are named '%s'", axis->path, copy);
    axis->name[axis->values - 1] = copy;
    return true;
}

/* The kind of quantity that both are; false: of none. */
static bool same_kind(const char *a, const char *b, enum unit_kind *ret_kind, uint64_t *ret_a, uint64_t *ret_b)
{
    static const enum unit_kind kinds[] = {UNIT_COUNT, UNIT_SIZE, UNIT_TIME, UNIT_RATE, UNIT_LENGTH, UNIT_SHARE};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t from, to;
        if (unit_parse(kinds[i], a, &from, NULL) != 0 || unit_parse(kinds[i], b, &to, NULL) != 0) continue;
        *ret_kind = kinds[i];
        *ret_a = from;
        *ret_b = to;
        return true;
    }
    return false;
}

struct range {
    enum unit_kind kind;
    uint64_t from, to;
    uint64_t times, count, step; /* one of them is not 0 */
};

static uint64_t after(const struct range *range, uint64_t value, uint64_t index)
{
    u128 next = range->count   ? range->from + (u128)(range->to - range->from) * index / (range->count - 1)
                : range->times ? (u128)value * range->times
                               : (u128)value + range->step;
    return next > range->to ? range->to : (uint64_t)next;
}

static bool push_range(struct sweep_grid *grid, struct sweep_axis *axis, const struct range *range)
{
    uint64_t value = range->from;

    for (uint64_t index = 1;; index++) {
        char text[UNIT_TEXT];
        unit_format(range->kind, value, text);
        if (!push(grid, axis, text, strlen(text))) return false;
        if (value == range->to) return true;
        uint64_t before = value;
        while (value == before) /* closer together than the unit */
            value = after(range, before, index++);
        index--;
    }
}

/* What stands behind the range: `x2`, `/5`, `+10KB` or nothing. */
static bool read_how(const char *how, struct range *range)
{
    if (how[0] == '\0') {
        range->times = 2;
    } else if (how[0] == 'x') {
        if (unit_parse(UNIT_COUNT, how + 1, &range->times, NULL) != 0 || range->times < 2) return false;
    } else if (how[0] == '/') {
        if (unit_parse(UNIT_COUNT, how + 1, &range->count, NULL) != 0 || range->count < 2) return false;
    } else if (unit_parse(range->kind, how + 1, &range->step, NULL) != 0 || range->step == 0) {
        return false;
    }
    return true;
}

/* 1: it was a range, and is pushed; 0: it is none; -1 after an error. */
static int try_range(struct sweep_grid *grid, struct sweep_axis *axis, const char *item)
{
    const char *dots = strstr(item, "..");
    char from[WORD], to[WORD];
    struct range range = {0};
    enum unit_kind kind;
    uint64_t a, b;

    if (dots == NULL || dots == item) return 0;
    snprintf(from, sizeof from, "%.*s", (int)(dots - item), item);
    if (!same_kind(from, from, &kind, &a, &b)) return 0; /* a file name, say */
    size_t length = strcspn(dots + 2, "x/+");
    snprintf(to, sizeof to, "%.*s", (int)length, dots + 2);
    if (!same_kind(from, to, &range.kind, &range.from, &range.to))
        study_fail(grid->error,
                   "--vary %s: '%s': a range goes from a quantity to one of the same kind, as in 100KB..2MB",
                   axis->path, item);
    else if (range.to < range.from)
        study_fail(grid->error, "--vary %s: '%s': a range goes upwards", axis->path, item);
    else if (!read_how(dots + 2 + length, &range))
        study_fail(grid->error, "--vary %s: '%s': after a range x2 multiplies, /5 divides into five, and +10KB adds",
                   axis->path, item);
    else if (range.times && range.from == 0 && range.to > 0)
        study_fail(grid->error, "--vary %s: '%s': 0 cannot be multiplied; say /5 or +10KB", axis->path, item);
    else
        return push_range(grid, axis, &range) ? 1 : -1;
    return -1;
}

/* Up to the next comma that is in no bracket and no quotes. */
static size_t item_length(const char *text)
{
    char quote = 0;
    int depth = 0;
    size_t at = 0;

    for (; text[at] && (quote || depth > 0 || text[at] != ','); at++) {
        char c = text[at];
        if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return at;
}

static bool read_values(struct sweep_grid *grid, struct sweep_axis *axis, const char *text)
{
    for (;;) {
        size_t length = item_length(text);
        char item[WORD];
        if (length == 0 || length >= sizeof item)
            return study_fail(grid->error, "--vary %s: %s", axis->path,
                              length ? "a value is too long" : "a value is missing");
        snprintf(item, sizeof item, "%.*s", (int)length, text);
        size_t name = name_length(item);
        int range = name ? 0 : try_range(grid, axis, item);
        if (range < 0) return false;
        if (range == 0 && !(name ? push_named(grid, axis, item, name) : push(grid, axis, item, length))) return false;
        if (text[length] == '\0') return true;
        text += length + 1;
    }
}

bool sweep_vary(struct sweep_grid *grid, const char *argument, bool with)
{
    const char *equals = strchr(argument, '=');
    struct sweep_axis *axis = &grid->axis[grid->axes];

    if (equals == NULL || equals == argument || equals[1] == '\0')
        return study_fail(grid->error, "--%s '%s': a path and its values, as in classes.rdma.ecn.min=100KB..2MB",
                          with ? "with" : "vary", argument);
    if (grid->axes == SWEEP_AXES) return study_fail(grid->error, "--vary: at most %d values at once", SWEEP_AXES);
    if (with && grid->axes == 0) return study_fail(grid->error, "--with stands behind the --vary that it goes with");
    *axis = (struct sweep_axis){.path = arena_strndup(&grid->arena, argument, (size_t)(equals - argument)),
                                .value = ARENA_NEW(&grid->arena, const char *, VALUES),
                                .name = ARENA_NEW(&grid->arena, const char *, VALUES),
                                .with = with};
    if (axis->path == NULL || axis->value == NULL || axis->name == NULL)
        return study_fail(grid->error, "not enough memory");
    for (uint32_t i = 0; i < grid->axes; i++) {
        if (strcmp(grid->axis[i].path, axis->path) != 0) continue;
        return study_fail(grid->error, "--vary %s: given twice", axis->path);
    }
    if (!read_values(grid, axis, equals + 1)) return false;
    if (with && axis->values != axis[-1].values)
        return study_fail(grid->error, "--with %s: %u values, but %s before it has %u", axis->path, axis->values,
                          axis[-1].path, axis[-1].values);
    grid->axes++;
    return true;
}

uint64_t sweep_points(const struct sweep_grid *grid)
{
    uint64_t points = 1;

    for (uint32_t i = 0; i < grid->axes && points <= SWEEP_POINTS; i++)
        if (!grid->axis[i].with) points *= grid->axis[i].values;
    return points;
}

static uint32_t value_index(const struct sweep_grid *grid, uint32_t axis, uint32_t point)
{
    for (uint32_t i = grid->axes - 1; i > axis; i--)
        if (!grid->axis[i].with) point /= grid->axis[i].values;
    return point % grid->axis[axis].values;
}

const char *sweep_value(const struct sweep_grid *grid, uint32_t axis, uint32_t point)
{
    return grid->axis[axis].value[value_index(grid, axis, point)];
}

const char *sweep_label(const struct sweep_grid *grid, uint32_t axis, uint32_t point)
{
    uint32_t index = value_index(grid, axis, point);

    return grid->axis[axis].name[index] ? grid->axis[axis].name[index] : grid->axis[axis].value[index];
}
