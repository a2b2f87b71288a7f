/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics over time; see series.h.
 *
 * A column's bytes are pairs of numbers in base 128, low first: steps since the last change, less one, and the change,
 * zigzag (0, -1, 1, -2 ... as 0, 1, 2, 3 ...).
 */
#include "observe/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct column {
    uint64_t last; /* value of the last step that was put */
    uint8_t *data; /* NULL: all 0 */
    uint32_t used, room;
    uint32_t changed; /* step of the last change, plus one */
};

struct series {
    struct observe_catalogue catalogue;
    struct series_config config;
    uint32_t first_metric[OBSERVE_OBJECTS][OBSERVE_METRICS_MAX]; /* metrics of an object's kind */
    uint32_t metrics[OBSERVE_OBJECTS];
    struct column *column[OBSERVE_METRICS_MAX]; /* by metric: [objects * priorities]; NULL: not sampled */
    ps_t first;
    uint32_t steps;
    uint64_t bytes;
    bool full, broken; /* broken: no memory */
};

#define PAIR_MOST 20 /* bytes of a pair */

int series_create(const struct series_config *config, struct series **ret)
{
    struct series *series = calloc(1, sizeof(*series));

    if (series == NULL) return -ENOMEM;
    series->config = *config;
    series->first = PS_NEVER;
    observe_catalogue(&series->catalogue);
    for (uint32_t m = 0; m < series->catalogue.count; m++) {
        enum observe_object object = series->catalogue.metric[m].object;
        size_t columns = (size_t)config->objects[object] * observe_priorities(object);
        if (columns == 0) continue;
        series->first_metric[object][series->metrics[object]++] = m;
        series->column[m] = calloc(columns, sizeof(struct column));
        if (series->column[m] == NULL) {
            series_free(series);
            return -ENOMEM;
        }
    }
    *ret = series;
    return 0;
}

static size_t columns_of(const struct series *series, uint32_t metric)
{
    enum observe_object object = series->catalogue.metric[metric].object;

    return (size_t)series->config.objects[object] * observe_priorities(object);
}

void series_free(struct series *series)
{
    if (series == NULL) return;
    for (uint32_t m = 0; m < series->catalogue.count; m++) {
        for (size_t i = 0; series->column[m] && i < columns_of(series, m); i++)
            free(series->column[m][i].data);
        free(series->column[m]);
    }
    free(series);
}

static uint32_t write_number(uint8_t *to, uint64_t value)
{
    uint32_t count = 0;

    for (; value >= 128; value >>= 7)
        to[count++] = (uint8_t)(value | 128);
    to[count++] = (uint8_t)value;
    return count;
}

static uint64_t read_number(const uint8_t **at)
{
    uint64_t value = 0;

    for (uint32_t shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

static void change(struct series *series, struct column *column, uint64_t value)
{
    if (column->room - column->used < PAIR_MOST) {
        uint32_t room = column->room ? column->room * 2 : 32;
        uint8_t *data = realloc(column->data, room);
        if (data == NULL) {
            series->broken = true;
            return;
        }
        series->bytes += room - column->room;
        column->data = data;
        column->room = room;
    }
    uint64_t by = value - column->last;
    column->used += write_number(column->data + column->used, series->steps - column->changed - 1);
    column->used += write_number(column->data + column->used, by << 1 ^ (uint64_t) - (int64_t)(by >> 63));
    column->changed = series->steps;
    column->last = value;
}

static void load(struct series_cursor *cursor)
{
    bool more = cursor->at < cursor->end;

    cursor->unchanged = more ? read_number(&cursor->at) : UINT64_MAX;
    cursor->by = more ? read_number(&cursor->at) : 0;
}

static struct series_cursor cursor_of(const struct column *column)
{
    struct series_cursor cursor = {.at = NULL};

    if (column && column->data) {
        cursor.at = column->data;
        cursor.end = column->data + column->used;
    }
    load(&cursor);
    return cursor;
}

uint64_t series_cursor_next(struct series_cursor *cursor)
{
    if (cursor->unchanged-- > 0) return cursor->value;
    cursor->value += cursor->by >> 1 ^ (uint64_t) - (int64_t)(cursor->by & 1);
    load(cursor);
    return cursor->value;
}

static void decode(const struct column *column, uint32_t steps, uint64_t *ret)
{
    struct series_cursor cursor = cursor_of(column);

    for (uint32_t i = 0; i < steps; i++)
        ret[i] = series_cursor_next(&cursor);
}

/* Of each two steps the second is kept: counters go on growing, gauges are as they were then. */
static void coarsen(struct series *series, struct column *column, uint64_t *values)
{
    uint32_t steps = series->steps;

    if (column->data == NULL) return;
    decode(column, steps, values);
    column->used = column->changed = 0;
    column->last = 0;
    for (uint32_t i = 1; i < steps; i += 2) {
        series->steps = i / 2 + 1;
        if (values[i] != column->last) change(series, column, values[i]);
    }
    series->steps = steps;
}

static void coarsen_all(struct series *series)
{
    uint64_t *values = calloc(series->steps, sizeof(*values));

    CHECK(series->steps % 2 == 0);
    if (values == NULL) {
        series->broken = true;
        return;
    }
    for (uint32_t m = 0; m < series->catalogue.count; m++)
        for (size_t i = 0; series->column[m] && i < columns_of(series, m); i++)
            coarsen(series, &series->column[m][i], values);
    free(values);
    series->first += series->config.step;
    series->config.step *= 2;
    series->steps /= 2;
}

ps_t series_next(struct series *series)
{
    if (series->config.steps_most && series->steps == series->config.steps_most) coarsen_all(series);
    if (series->bytes > series->config.most_bytes || series->broken) series->full = true;
    if (series->full) return PS_NEVER;
    return series->steps ? series->first + series->steps * series->config.step : series->config.step;
}

bool series_begin(struct series *series, ps_t at)
{
    if (series->bytes > series->config.most_bytes || series->broken) series->full = true;
    if (series->full) return false;
    CHECK(series->config.steps_most == 0 || series->steps < series->config.steps_most);
    if (series->steps == 0) series->first = at;
    series->steps++;
    return true;
}

void series_put(struct series *series, enum observe_object object, uint32_t number, const void *from, size_t stride)
{
    uint32_t priorities = observe_priorities(object);

    CHECK(number < series->config.objects[object] && series->steps > 0);
    for (uint32_t i = 0; i < series->metrics[object]; i++) {
        uint32_t metric = series->first_metric[object][i];
        const uint8_t *at = (const uint8_t *)from + series->catalogue.metric[metric].offset;
        struct column *column = &series->column[metric][(size_t)number * priorities];
        for (uint32_t p = 0; p < priorities; p++) {
            uint64_t value;
            memcpy(&value, at + p * stride, sizeof value);
            if (value != column[p].last) change(series, &column[p], value);
        }
    }
}

const struct observe_catalogue *series_catalogue(const struct series *series)
{
    return &series->catalogue;
}

ps_t series_step(const struct series *series)
{
    return series->config.step;
}

ps_t series_first(const struct series *series)
{
    return series->first;
}

uint32_t series_steps(const struct series *series)
{
    return series->steps;
}

uint32_t series_objects(const struct series *series, enum observe_object object)
{
    return series->config.objects[object];
}

bool series_full(const struct series *series)
{
    return series->full;
}

uint64_t series_bytes(const struct series *series)
{
    return series->bytes;
}

static const struct column *column_of(const struct series *series, uint32_t metric, uint32_t number, uint32_t priority)
{
    CHECK(metric < series->catalogue.count);
    enum observe_object object = series->catalogue.metric[metric].object;
    uint32_t priorities = observe_priorities(object);

    if (series->column[metric] == NULL || number >= series->config.objects[object] || priority >= priorities)
        return NULL;
    return &series->column[metric][(size_t)number * priorities + priority];
}

bool series_has(const struct series *series, uint32_t metric, uint32_t number, uint32_t priority)
{
    const struct column *column = column_of(series, metric, number, priority);

    return column && column->data;
}

struct series_cursor series_cursor(const struct series *series, uint32_t metric, uint32_t number, uint32_t priority)
{
    return cursor_of(column_of(series, metric, number, priority));
}

bool series_read(const struct series *series, uint32_t metric, uint32_t number, uint32_t priority, uint64_t *ret)
{
    const struct column *column = column_of(series, metric, number, priority);

    if (column == NULL || column->data == NULL) {
        memset(ret, 0, series->steps * sizeof(*ret));
        return false;
    }
    decode(column, series->steps, ret);
    return true;
}
