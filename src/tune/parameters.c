/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a fabric can be tuned, and in which range.
 *
 * A key is tuned where the file's top level decides about it and a run sees it: the fabric is loaded with the least and
 * with the greatest value, and where the same would be simulated, the key is left out.  What a role or a device says
 * itself stays, as the inner layer of the file always wins.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "plant/plant.h"
#include "tune/own.h"
#include "tune/tune_int.h"

#define RATE_100G 100000000000ull
#define PPM 1000000u

const struct tune_kind tune_kinds[TUNE_KINDS] = {
#define PARAMETER(id, name, group, place, key, scale, unit, least, most, step, per, help)                              \
    {name, group, key, help, TUNE_AT_##place, TUNE_##scale, TUNE_##unit, least, most, step, per},
#include "tune/parameters.def"
#undef PARAMETER
};

uint64_t parameter_round(const struct tune_parameter *parameter, uint64_t value)
{
    uint64_t step = parameter->kind->step, power = 1;

    if (value < parameter->least) value = parameter->least;
    if (value > parameter->most) value = parameter->most;
    if (parameter->kind->scale == TUNE_DOUBLING) {
        while (power * 2 <= value)
            power *= 2;
        return power;
    }
    for (; parameter->kind->scale == TUNE_LOG && step > 1 && value / (power * step) >= 1000;)
        power *= 10; /* three digits are enough */
    step *= power;
    value = (value + step / 2) / step * step;
    return value ? value : step;
}

uint64_t parameter_at(const struct tune_parameter *parameter, double where)
{
    double least = (double)parameter->least, most = (double)parameter->most;
    double value =
        parameter->kind->scale == TUNE_LINEAR ? least + (most - least) * where : least * pow(most / least, where);
    if (parameter->kind->scale == TUNE_DOUBLING) value = exp2(floor(log2(least) + (log2(most / least) + 1) * where));
    if (parameter->kind->unit == TUNE_ALPHA || parameter->kind->unit == TUNE_COUNT) value = floor(value + 0.5);
    return parameter_round(parameter, (uint64_t)value);
}

double parameter_where(const struct tune_parameter *parameter, uint64_t value)
{
    double least = (double)parameter->least, most = (double)parameter->most, at = (double)value;

    if (at <= least || most <= least) return 0;
    if (at >= most) return 1;
    return parameter->kind->scale == TUNE_LINEAR ? (at - least) / (most - least) : log(at / least) / log(most / least);
}

void point_set(const struct tune *tune, struct tune_point *point, uint32_t parameter, uint64_t value)
{
    point->value[parameter] = value;
    if (value == tune->parameter[parameter].own)
        point->set &= ~(1u << parameter);
    else
        point->set |= 1u << parameter;
}

bool point_same(const struct tune *tune, const struct tune_point *a, const struct tune_point *b)
{
    if (a->set != b->set) return false;
    for (uint32_t i = 0; i < tune->parameters; i++)
        if (tune_has(a, i) && a->value[i] != b->value[i]) return false;
    return true;
}

/* --- what the file has --- */

/* The number of 2^(n - 8) nearest to a fraction. */
static uint64_t alpha_number(uint32_t num, uint32_t den)
{
    double n = num && den ? log2((double)num / den) + 8 : 0;
    return n < 0.5 ? 0 : (uint64_t)(n + 0.5);
}

static uint64_t cc_value(const struct cc_config *cc, const char *name)
{
    const struct cc_param *param;

    for (size_t i = 0; (param = cc_param(i)) != NULL; i++)
        if (strcmp(param->name, name) == 0) return *(const uint64_t *)((const char *)cc + param->offset);
    return 0;
}

static uint64_t own_of(const struct tune *tune, const struct tune_parameter *parameter, const struct tune_own *own)
{
    const struct fabric *fabric = tune->fabric;
    uint64_t min = own->ecn.on ? own->ecn.min_bytes : 150000, max = own->ecn.on ? own->ecn.max_bytes : 1500000;

    switch (parameter->kind_id) {
    case TUNE_ECN_MIN_KIND:
        return min;
    case TUNE_ECN_MAX_KIND:
        return min ? (max * PPM + min - 1) / min : PPM; /* rounded up: the bytes come out of it again */
    case TUNE_ECN_PROBABILITY_KIND:
        return own->ecn.on ? own->ecn.probability_ppm : PPM;
    case TUNE_ALPHA_KIND:
        return alpha_number(own->pg->alpha_num, own->pg->alpha_den);
    case TUNE_XOFF_KIND:
        return own->pg->static_bytes;
    case TUNE_SHARE_KIND:
        return fabric->classes[parameter->of_class].share_ppm;
    case TUNE_QPS_KIND:
        for (uint32_t j = 0; j < fabric->jobs; j++)
            if (fabric->job[j].qps > 1) return fabric->job[j].qps;
        return 1;
    default:
        return cc_value(&own->cc, parameter->kind->key);
    }
}

/* --- which there are --- */

static bool class_used(const struct fabric *fabric, uint32_t of_class)
{
    for (uint32_t j = 0; j < fabric->jobs; j++)
        if (fabric->job[j].job_class == of_class) return true;
    return false;
}

static uint32_t sharing(const struct fabric *fabric)
{
    uint32_t classes = 0;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        classes += fabric->classes[c].share_ppm > 0 && class_used(fabric, c);
    return classes;
}

/* Has the fabric a place for it? */
static bool applies(const struct tune *tune, uint32_t kind, uint32_t of_class, const struct tune_own *own)
{
    const struct fabric *fabric = tune->fabric;
    const struct fabric_class *as = of_class == FABRIC_NONE ? NULL : &fabric->classes[of_class];
    uint32_t takers = 0;
    bool marks = own->cc_known && (cc_needs(&own->cc)->cnp || cc_needs(&own->cc)->echo);

    switch (tune_kinds[kind].place) {
    case TUNE_AT_ECN:
        return as && class_used(fabric, of_class) && (own->ecn.on || (as->lossless && marks));
    case TUNE_AT_CLASS:
        return as && own->pg && class_used(fabric, of_class) && as->lossless &&
               fabric_system(fabric)->link == FABRIC_LINK_PFC && own->pg->dynamic == (kind == TUNE_ALPHA_KIND);
    case TUNE_AT_NICS:
        return of_class == FABRIC_NONE && own->cc_known && own->cc.kind == CC_DCQCN;
    case TUNE_AT_SHARES: /* of the first that shares: the others follow */
        for (uint32_t c = 0; as && c < of_class; c++)
            if (fabric->classes[c].share_ppm > 0 && class_used(fabric, c)) return false;
        return as && as->share_ppm > 0 && class_used(fabric, of_class) && sharing(fabric) > 1;
    case TUNE_AT_JOBS:
        for (uint32_t j = 0; of_class == FABRIC_NONE && j < fabric->jobs; j++)
            takers += tune_takes_qps(&fabric->job[j]);
        return takers > 0 && takers <= TUNE_PARAMETERS; /* more have no room among the values that are replaced */
    }
    return false;
}

static void name_path(const struct tune *tune, struct tune_parameter *parameter)
{
    char word[TUNE_TEXT] = "";

    if (parameter->of_class != FABRIC_NONE) tune_class_word(tune->fabric, parameter->of_class, word);
    switch (parameter->kind->place) {
    case TUNE_AT_ECN:
        snprintf(parameter->path, TUNE_PATH, "classes.%s.ecn.%s", word, parameter->kind->key);
        break;
    case TUNE_AT_CLASS:
    case TUNE_AT_SHARES:
        snprintf(parameter->path, TUNE_PATH, "classes.%s.%s", word, parameter->kind->key);
        break;
    case TUNE_AT_NICS:
        snprintf(parameter->path, TUNE_PATH, "nics.congestion.%s", parameter->kind->key);
        break;
    case TUNE_AT_JOBS:
        snprintf(parameter->path, TUNE_PATH, "jobs.%s", parameter->kind->key);
        break;
    }
}

static void add_parameter(struct tune *tune, uint32_t kind, uint32_t of_class)
{
    const struct tune_kind *as = &tune_kinds[kind];
    struct tune_parameter *parameter = &tune->parameter[tune->parameters];
    uint64_t rate = as->per_rate ? tune_host_rate(tune->fabric) : RATE_100G;
    struct tune_own own;

    tune_read_own(tune->fabric, of_class, &own);
    if (tune->parameters == TUNE_PARAMETERS || !applies(tune, kind, of_class, &own)) return;
    *parameter = (struct tune_parameter){.kind = as, .kind_id = kind, .of_class = of_class};
    parameter->least = as->unit == TUNE_RATE ? as->least : (uint64_t)((double)as->least * (double)rate / RATE_100G);
    parameter->most = (uint64_t)((double)as->most * (double)rate / RATE_100G);
    if (as->per_rate && parameter->least < as->step) parameter->least = as->step;
    parameter->own = own_of(tune, parameter, &own);
    if (kind == TUNE_SHARE_KIND) parameter->most = PPM - 10000ull * (sharing(tune->fabric) - 1) - 40000;
    name_path(tune, parameter);
    tune->parameters++;
}

/* --- choosing --- */

static uint64_t hash_with(const struct tune *tune, uint32_t parameter, uint64_t value)
{
    struct tune_point point = {.set = 1u << parameter};
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    uint64_t hash = 0;

    point.value[parameter] = value;
    if (tune_load(tune, &point, &fabric, &errors) == 0) hash = fabric->run_hash;
    fabric_free(fabric);
    return hash;
}

/* A run sees it: the same is not simulated with the least and with the greatest value. */
static bool seen(const struct tune *tune, uint32_t i)
{
    const struct tune_parameter *parameter = &tune->parameter[i];
    uint64_t least = hash_with(tune, i, parameter_at(parameter, 0));
    uint64_t most = hash_with(tune, i, parameter_at(parameter, 1));

    return (least || most) && least != most;
}

static void leave_out(struct tune *tune, const char *path, const char *why)
{
    if (tune->left_outs < TUNE_PARAMETERS)
        snprintf(tune->left_out[tune->left_outs++], TUNE_SENTENCE, "%s: %s", path, why);
}

static bool matches(const struct tune_parameter *parameter, const char *key, size_t length)
{
    const char *const names[] = {parameter->kind->name, parameter->kind->group, parameter->path};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == length && strncmp(names[i], key, length) == 0) return true;
    return false;
}

/* Why a key or group that there is has no place in this fabric. */
static const char *const nothing_of[] = {
    [TUNE_AT_ECN] = "no class that jobs use marks, or is lossless under an algorithm that goes by marks",
    [TUNE_AT_CLASS] = "no lossless class that jobs use has it: 'alpha' is of dynamic thresholds, 'xoff' of fixed ones",
    [TUNE_AT_NICS] = "adapters do not run DCQCN",
    [TUNE_AT_SHARES] = "no two classes with a 'share' carry jobs",
    [TUNE_AT_JOBS] = "no job has queue pairs to choose, as collectives, 'poisson' and training have",
};

static bool no_such(struct tune *tune, const char *key, size_t length)
{
    char list[TUNE_SENTENCE] = "", word[TUNE_TEXT];
    struct nearest nearest;

    if (length == 0) return study_fail(tune->error, "--vary '%s': a key is missing at a comma", tune->vary);
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), key);
    for (char *at = word; *at; at++)
        if ((unsigned char)*at < 0x20) *at = '?';
    nearest_init(&nearest, word);
    for (uint32_t k = 0; k < TUNE_KINDS; k++) {
        const struct tune_kind *kind = &tune_kinds[k];
        nearest_try(&nearest, kind->name);
        if (strcmp(kind->name, word) != 0 && strcmp(kind->group, word) != 0) continue;
        return study_fail(tune->error, "--vary %s: nothing to tune in %s: %s; or a role or device says it itself", word,
                          tune->path, nothing_of[kind->place]);
    }
    for (uint32_t i = 0; i < tune->parameters; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", tune->parameter[i].kind->name);
    return study_fail(tune->error, "--vary %s: not a key that can be tuned%s%s%s; of this fabric: %s", word,
                      nearest.word ? "; did you mean '" : "", nearest.word ? nearest.word : "",
                      nearest.word ? "'?" : "", list);
}

/* Marks those that --vary names; false after an error. */
static bool choose(struct tune *tune)
{
    if (tune->vary && tune->vary[0] == '\0') return study_fail(tune->error, "--vary: which keys? --list prints them");
    for (const char *at = tune->vary; at && *at;) {
        size_t length = strcspn(at, ",");
        bool found = false;
        for (uint32_t i = 0; i < tune->parameters; i++) {
            if (!matches(&tune->parameter[i], at, length)) continue;
            const char *why = nos_refuses(tune, tune->parameter[i].kind);
            if (why) return study_fail(tune->error, "--vary %s: %s", tune->parameter[i].kind->name, why);
            found = tune->parameter[i].varied = true;
        }
        if (!found) return no_such(tune, at, length);
        at += length + (at[length] == ',');
    }
    for (uint32_t i = 0; tune->vary == NULL && i < tune->parameters; i++) {
        const char *why = nos_refuses(tune, tune->parameter[i].kind);
        tune->parameter[i].varied = why == NULL;
        if (why) leave_out(tune, tune->parameter[i].path, why);
    }
    for (uint32_t i = 0; i < tune->parameters; i++)
        tune->varied += tune->parameter[i].varied;
    return tune->varied > 0 || study_fail(tune->error,
                                          "nothing of %s can be tuned: it has no ECN, no pauses, no DCQCN, "
                                          "no shares and no queue pairs that a run would see",
                                          tune->path);
}

/* A class's three values of ECN stay or go together: they are written as one. */
static bool ecn_seen(const struct tune *tune, uint32_t of_class, const bool *is_seen)
{
    for (uint32_t i = 0; i < tune->parameters; i++)
        if (tune->parameter[i].kind->place == TUNE_AT_ECN && tune->parameter[i].of_class == of_class && is_seen[i])
            return true;
    return false;
}

bool parameters_find(struct tune *tune)
{
    bool is_seen[TUNE_PARAMETERS], stays[TUNE_PARAMETERS];
    uint32_t kept = 0;

    for (uint32_t kind = 0; kind < TUNE_KINDS; kind++) {
        add_parameter(tune, kind, FABRIC_NONE);
        for (uint32_t c = 0; c < tune->fabric->class_count; c++)
            add_parameter(tune, kind, c);
    }
    for (uint32_t i = 0; i < tune->parameters; i++)
        tune->parameter[i].varied = true; /* so that ecn.max follows ecn.min while we look */
    for (uint32_t i = 0; i < tune->parameters; i++)
        is_seen[i] = seen(tune, i);
    for (uint32_t i = 0; i < tune->parameters; i++)
        stays[i] = tune->parameter[i].kind->place == TUNE_AT_ECN ? ecn_seen(tune, tune->parameter[i].of_class, is_seen)
                                                                 : is_seen[i];
    for (uint32_t i = 0; i < tune->parameters; i++) {
        if (!stays[i]) continue;
        tune->parameter[kept] = tune->parameter[i];
        tune->parameter[kept++].varied = false;
    }
    tune->parameters = kept;
    return choose(tune);
}
