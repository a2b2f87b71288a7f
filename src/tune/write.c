/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the file says of a class and of its adapters, and how a setting is written into it.
 *
 * ECN is written whole, because its values hang together: where ecn.max is varied it is a multiple of ecn.min.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "plant/plant.h"
#include "tune/own.h"
#include "tune/tune_int.h"

#define RATE_100G 100000000000ull
#define PPM 1000000u

/* A switch's port that most traffic of a class leaves by: one to a host. */
static const struct fabric_settings *settings_of(const struct fabric *fabric)
{
    const struct fabric_settings *any = NULL;

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        if (fabric->port[p].peer == FABRIC_NONE) continue;
        const struct fabric_settings *as = &fabric->settings[fabric->port[p].settings];
        if (fabric->port[fabric->port[p].peer].node < fabric->hosts) return as;
        if (any == NULL) any = as;
    }
    return any;
}

uint64_t tune_host_rate(const struct fabric *fabric)
{
    return fabric->endpoints ? fabric->port[0].rate_bps : RATE_100G;
}

/* Whether thresholds grow with the rate of ports; then for which rate `settings` has them. */
static uint64_t scaled_rate(const struct fabric *fabric, unsigned priority)
{
    uint64_t first_rate = 0, first_min = 0;

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        const struct fabric_settings *as = &fabric->settings[fabric->port[p].settings];
        const struct sw_ecn *ecn = &as->queue[as->tc_to_queue[priority]].ecn;
        if (fabric->port[p].peer == FABRIC_NONE || !ecn->on) continue;
        if (first_rate == 0) {
            first_rate = fabric->port[p].rate_bps;
            first_min = ecn->min_bytes;
        } else if (fabric->port[p].rate_bps != first_rate && ecn->min_bytes != first_min) {
            return tune_host_rate(fabric);
        }
    }
    return 0;
}

void tune_read_own(const struct fabric *fabric, uint32_t of_class, struct tune_own *ret)
{
    const struct fabric_settings *as = settings_of(fabric);
    struct fabric_errors errors = {0};

    *ret = (struct tune_own){.pg = NULL};
    if (as && of_class != FABRIC_NONE) {
        unsigned priority = fabric->classes[of_class].priority;
        ret->ecn = as->queue[as->tc_to_queue[priority]].ecn;
        ret->pg = &as->pg[as->tc_to_pg[priority]];
        ret->per_bps = scaled_rate(fabric, priority);
    }
    if (fabric->nics) ret->cc_known = plant_congestion(&fabric->nic[0], &ret->cc, &errors);
}

void tune_class_word(const struct fabric *fabric, uint32_t of_class, char buf[TUNE_TEXT])
{
    const char *name = fabric->classes[of_class].name;

    if (strchr(name, '.') || name[strspn(name, "0123456789")] == '\0' || strlen(name) >= TUNE_TEXT)
        snprintf(buf, TUNE_TEXT, "%u", of_class);
    else
        snprintf(buf, TUNE_TEXT, "%s", name);
}

bool tune_takes_qps(const struct fabric_job *job)
{
    return fabric_job_collective((enum fabric_job_kind)job->kind) || job->kind == FABRIC_JOB_POISSON ||
           fabric_job_trains((enum fabric_job_kind)job->kind);
}

bool tune_has(const struct tune_point *point, uint32_t parameter)
{
    return point && point->set >> parameter & 1;
}

static uint64_t value_of(const struct tune *tune, const struct tune_point *point, uint32_t parameter)
{
    return tune_has(point, parameter) ? point->value[parameter] : tune->parameter[parameter].own;
}

/* The parameter of this kind and class; UINT32_MAX: there is none. */
static uint32_t find(const struct tune *tune, uint32_t kind, uint32_t of_class)
{
    for (uint32_t i = 0; i < tune->parameters; i++)
        if (tune->parameter[i].kind_id == kind && tune->parameter[i].of_class == of_class) return i;
    return UINT32_MAX;
}

static void write_size(char *buf, size_t room, uint64_t bytes)
{
    char text[UNIT_TEXT];
    snprintf(buf, room, "%s", unit_format(UNIT_SIZE, bytes, text));
}

/* In bytes; a multiple of ecn.min where either is set, else what the file has. */
static uint64_t max_bytes(const struct tune *tune, const struct tune_point *point, uint32_t of_class,
                          const struct tune_own *own)
{
    uint32_t min = find(tune, TUNE_ECN_MIN_KIND, of_class), max = find(tune, TUNE_ECN_MAX_KIND, of_class);
    uint64_t kept = own->ecn.on ? own->ecn.max_bytes : 1500000;
    bool follows = tune->parameter[max].varied || point->origin == TUNE_PRESET;

    if (!tune_has(point, max) && !(tune_has(point, min) && follows)) return kept;
    uint64_t bytes = (uint64_t)((double)value_of(tune, point, min) * (double)value_of(tune, point, max) / PPM);
    return point->origin == TUNE_PRESET ? bytes : (bytes + 500) / 1000 * 1000;
}

const char *tune_value_text(const struct tune *tune, const struct tune_point *point, uint32_t i, char buf[TUNE_TEXT])
{
    static const enum unit_kind units[] = {[TUNE_SIZE] = UNIT_SIZE,
                                           [TUNE_TIME] = UNIT_TIME,
                                           [TUNE_RATE] = UNIT_RATE,
                                           [TUNE_SHARE] = UNIT_SHARE,
                                           [TUNE_COUNT] = UNIT_COUNT};
    const struct tune_parameter *parameter = &tune->parameter[i];
    const struct tune_point *at = point ? point : tune->point ? tune->point[0] : &(struct tune_point){.set = 0};
    uint64_t value = value_of(tune, at, i);
    char text[UNIT_TEXT];
    struct tune_own own;

    if (parameter->kind->unit == TUNE_ALPHA) {
        if (value < 8)
            snprintf(buf, TUNE_TEXT, "1/%u", 1u << (8 - value));
        else
            snprintf(buf, TUNE_TEXT, "%u", 1u << (value - 8));
    } else if (parameter->kind->unit == TUNE_RATIO) {
        tune_read_own(tune->fabric, parameter->of_class, &own);
        write_size(buf, TUNE_TEXT, max_bytes(tune, at, parameter->of_class, &own));
    } else {
        snprintf(buf, TUNE_TEXT, "%s", unit_format(units[parameter->kind->unit], value, text));
    }
    return buf;
}

__attribute__((format(printf, 3, 4))) static char *push(struct tune_overrides *to, const char *value,
                                                        const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(to->path[to->count], TUNE_PATH, format, args);
    va_end(args);
    snprintf(to->value[to->count], TUNE_PATH, "%s", value);
    to->override[to->count] = (struct fabric_override){to->path[to->count], to->value[to->count]};
    return to->value[to->count++];
}

static void write_ecn(const struct tune *tune, const struct tune_point *point, uint32_t of_class,
                      struct tune_overrides *to)
{
    char word[TUNE_TEXT], value[TUNE_PATH], min[UNIT_TEXT], max[UNIT_TEXT], part[UNIT_TEXT], per[UNIT_TEXT];
    uint32_t first = find(tune, TUNE_ECN_MIN_KIND, of_class);
    uint32_t probability = find(tune, TUNE_ECN_PROBABILITY_KIND, of_class);
    struct tune_own own;

    tune_read_own(tune->fabric, of_class, &own);
    tune_class_word(tune->fabric, of_class, word);
    int used = snprintf(value, sizeof value, "{min: %s, max: %s, probability: %s",
                        unit_format(UNIT_SIZE, value_of(tune, point, first), min),
                        unit_format(UNIT_SIZE, max_bytes(tune, point, of_class, &own), max),
                        unit_format(UNIT_SHARE, value_of(tune, point, probability), part));
    if (own.per_bps)
        used +=
            snprintf(value + used, sizeof value - (size_t)used, ", per: %s", unit_format(UNIT_RATE, own.per_bps, per));
    snprintf(value + used, sizeof value - (size_t)used, "}");
    push(to, value, "classes.%s.ecn", word);
}

/* The class has this share, and what is left goes to the others in the proportion that they have. */
static void write_shares(const struct tune *tune, uint32_t of_class, uint64_t share, struct tune_overrides *to)
{
    const struct fabric *fabric = tune->fabric;
    uint64_t others = 0, left = (PPM - share) / 10000;
    char word[TUNE_TEXT], text[UNIT_TEXT];
    uint32_t last = FABRIC_NONE;

    for (uint32_t c = 0; c < fabric->class_count; c++) {
        if (c == of_class || fabric->classes[c].share_ppm == 0) continue;
        others += fabric->classes[c].share_ppm;
        last = c;
    }
    tune_class_word(fabric, of_class, word);
    push(to, unit_format(UNIT_SHARE, share, text), "classes.%s.share", word);
    for (uint32_t c = 0; others && c < fabric->class_count; c++) {
        if (c == of_class || fabric->classes[c].share_ppm == 0) continue;
        uint64_t part = c == last ? left : (PPM - share) / 10000 * fabric->classes[c].share_ppm / others;
        if (part == 0) part = 1;
        left -= part < left ? part : left;
        tune_class_word(fabric, c, word);
        push(to, unit_format(UNIT_SHARE, part * 10000, text), "classes.%s.share", word);
    }
}

void tune_overrides(const struct tune *tune, const struct tune_point *point, struct tune_overrides *ret)
{
    uint64_t written = 0; /* classes whose ECN is */
    char text[TUNE_TEXT];

    ret->count = 0;
    for (uint32_t i = 0; i < tune->parameters; i++) {
        const struct tune_parameter *parameter = &tune->parameter[i];
        if (!tune_has(point, i)) continue;
        if (parameter->kind->place == TUNE_AT_ECN) {
            if (!(written >> parameter->of_class & 1)) write_ecn(tune, point, parameter->of_class, ret);
            written |= 1ull << parameter->of_class;
        } else if (parameter->kind->place == TUNE_AT_SHARES) {
            write_shares(tune, parameter->of_class, point->value[i], ret);
        } else if (parameter->kind->place == TUNE_AT_JOBS) {
            for (uint32_t j = 0; j < tune->fabric->jobs; j++)
                if (tune_takes_qps(&tune->fabric->job[j]))
                    push(ret, tune_value_text(tune, point, i, text), "jobs.%u.%s", j, parameter->kind->key);
        } else {
            push(ret, tune_value_text(tune, point, i, text), "%s", parameter->path);
        }
    }
}

int tune_load(const struct tune *tune, const struct tune_point *point, struct fabric **ret,
              struct fabric_errors *errors)
{
    struct tune_overrides with;

    tune_overrides(tune, point, &with);
    const struct fabric_with as = {.override = with.override, .overrides = with.count, .judge = plant_judge_nic};
    return fabric_load_with(tune->path, tune->text, &as, ret, errors);
}
