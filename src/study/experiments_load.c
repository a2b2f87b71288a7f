/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An experiment's file into structs; docs/experiments.md says what its keys mean.
 *
 * The fabric's reader does the work, so wrong keys and values are complained about as in fabric files.  The fabric
 * texts inside are only kept here: they are read when their parameters are filled in.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/file/read.h"
#include "jobs/jobs.h"
#include "study/experiments.h"

#define DEFAULT_SAMPLE (5 * PS_US)
#define FILE_MEMORY_MAX ((size_t)64 << 20)

/* What the callbacks fill in: the reader passes them the struct that is being read. */
struct reading {
    struct experiment *experiment;
    const char *fabric;
};

static bool read_number(struct loader *loader, const struct tree *value, double *ret)
{
    char *end;
    double got = value->type == TREE_SCALAR && value->text[0] ? strtod(value->text, &end) : NAN;

    if (isfinite(got) && *end == '\0') {
        *ret = got;
        return true;
    }
    read_error(loader, value->at, "%s: a number is expected", value->key ? value->key : "value");
    return false;
}

static void read_least(struct loader *loader, const struct tree *value, void *into)
{
    struct limit *limit = into;
    limit->has_least = read_number(loader, value, &limit->least);
}

static void read_most(struct loader *loader, const struct tree *value, void *into)
{
    struct limit *limit = into;
    limit->has_most = read_number(loader, value, &limit->most);
}

static void read_tolerance(struct loader *loader, const struct tree *value, void *into)
{
    struct limit *limit = into;
    char *end = NULL;

    limit->tolerance = value->type == TREE_SCALAR ? strtod(value->text, &end) : NAN;
    limit->share = end && strcmp(end, "%") == 0;
    limit->has_tolerance = end && end != value->text && (limit->share || *end == '\0') && limit->tolerance >= 0;
    if (limit->share) limit->tolerance /= 100;
    if (!limit->has_tolerance) read_error(loader, value->at, "tolerance: as in 15%%, or 0.02");
}

static void read_measured(struct loader *loader, const struct tree *value, void *into)
{
    struct limit *limit = into;
    limit->published_is_number = read_number(loader, value, &limit->published);
}

static void read_explained(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field limits[] = {F_CALL("measured", read_measured), F_CALL("tolerance", read_tolerance),
                                          F_CALL("at-least", read_least), F_CALL("at-most", read_most)};
    static const struct field texts[] = {F_VALUE("because", FIELD_TEXT, struct experiment_measure, because, 0, 0)};
    struct experiment_measure *measure = into;
    struct field_set sets[] = {{limits, COUNT_OF(limits), &measure->explained}, {texts, COUNT_OF(texts), measure}};

    if (!read_is_map(loader, value, "explained")) return;
    read_map(loader, value, "explained", sets, COUNT_OF(sets));
    const struct limit *limit = &measure->explained;
    bool near = limit->published_is_number && limit->has_tolerance;
    if (!measure->because || (!near && !limit->has_least && !limit->has_most))
        read_error(loader, value->at, "explained: says what was measured, its tolerance, and because of what");
}

static void read_measure(struct loader *loader, const struct tree *item, struct experiment_measure *measure)
{
    static const char *const overs[] = {"mean", "median", "min", "max", NULL};
    static const struct field limits[] = {F_CALL("tolerance", read_tolerance), F_CALL("at-least", read_least),
                                          F_CALL("at-most", read_most)};
    static const struct field fields[] = {
        F_VALUE("what", FIELD_TEXT, struct experiment_measure, what, 0, 0),
        F_VALUE("value", FIELD_TEXT, struct experiment_measure, value, 0, 0),
        F_VALUE("published", FIELD_TEXT, struct experiment_measure, published, 0, 0),
        F_CHOICE("over", struct experiment_measure, over, overs),
        F_CALL("explained", read_explained),
    };
    struct field_set sets[] = {{limits, COUNT_OF(limits), &measure->limit}, {fields, COUNT_OF(fields), measure}};
    struct limit *limit = &measure->limit;
    char *end = NULL;

    measure->at = item->at;
    if (!read_is_map(loader, item, "a measure") || !read_map(loader, item, "a measure", sets, COUNT_OF(sets))) return;
    if (!measure->what || !measure->value || !measure->published) {
        read_error(loader, item->at, "a measure says what, value and published");
        return;
    }
    limit->published = strtod(measure->published, &end);
    limit->published_is_number = end != measure->published && *end == '\0' && isfinite(limit->published);
    if (limit->has_tolerance && !limit->published_is_number)
        read_error(loader, item->at, "a tolerance needs a published number");
    if (!limit->has_tolerance && !limit->has_least && !limit->has_most)
        read_error(loader, item->at, "a measure has a tolerance, at-least or at-most");
}

static void read_measures(struct loader *loader, const struct tree *value, void *into)
{
    struct experiment *experiment = ((struct reading *)into)->experiment;

    if (!read_is_list(loader, value, "measures")) return;
    experiment->measure = KEEP_NEW(loader, struct experiment_measure, value->count);
    if (!experiment->measure) return;
    for (const struct tree *item = value->first; item; item = item->next)
        read_measure(loader, item, &experiment->measure[experiment->measures++]);
}

/* A part's text: as it stands, or that of a file beside the experiment's. */
static const char *part_text(struct loader *loader, const struct tree *value, const char *path)
{
    const struct tree *name = value->type == TREE_MAP && value->count == 1 ? value->first : NULL;
    const char *slash = strrchr(path, '/');
    char beside[4096];
    size_t length = 0;

    if (value->type == TREE_SCALAR) return arena_strndup(loader->keep, value->text, strlen(value->text));
    if (name == NULL || strcmp(name->key, "file") != 0 || name->type != TREE_SCALAR) {
        read_error(loader, value->at, "%s: a part is a text, or {file: NAME}", value->key);
        return "";
    }
    bool whole = name->text[0] == '/' || slash == NULL;
    int written = snprintf(beside, sizeof(beside), "%.*s%s", whole ? 0 : (int)(slash - path + 1), path, name->text);
    if (written < 0 || (size_t)written >= sizeof(beside)) {
        read_error(loader, name->at, "%s: the name is too long", value->key);
        return "";
    }
    const char *text = file_read_lines(loader, beside, name->at, &length);
    return text ? arena_strndup(loader->keep, text, length) : "";
}

static void read_parts(struct loader *loader, const struct tree *value, void *into)
{
    struct experiment *experiment = ((struct reading *)into)->experiment;

    if (!read_is_map(loader, value, "parts")) return;
    experiment->part = KEEP_NEW(loader, struct parameter, value->count);
    if (!experiment->part) return;
    for (const struct tree *item = value->first; item; item = item->next) {
        struct parameter *part = &experiment->part[experiment->parts++];
        part->name = arena_strndup(loader->keep, item->key, strlen(item->key));
        part->text = part_text(loader, item, experiment->path);
        if (!part->name || !part->text) loader->no_memory = true;
    }
}

static void read_run(struct loader *loader, const struct tree *item, struct experiment_run *run)
{
    uint64_t seeds = 1;

    if (!read_is_map(loader, item, "a run")) return;
    run->name = arena_strndup(loader->keep, item->key, strlen(item->key));
    run->parameter = KEEP_NEW(loader, struct parameter, item->count);
    if (!run->name || !run->parameter) {
        loader->no_memory = true;
        return;
    }
    for (const struct tree *value = item->first; value; value = value->next) {
        struct parameter *parameter = &run->parameter[run->parameters];
        if (strcmp(value->key, "seeds") == 0) {
            read_unit(loader, value, UNIT_COUNT, 1, EXPERIMENT_SEEDS, &seeds);
        } else if (strcmp(value->key, "fabric") == 0) {
            read_text(loader, value, &run->fabric);
        } else if (value->type != TREE_SCALAR) {
            read_error(loader, value->at, "%s: a parameter is a text: put it in quotes", value->key);
        } else {
            parameter->name = arena_strndup(loader->keep, value->key, strlen(value->key));
            parameter->text = arena_strndup(loader->keep, value->text, strlen(value->text));
            run->parameters++;
        }
    }
    run->seeds = (uint32_t)seeds;
}

static void read_runs(struct loader *loader, const struct tree *value, void *into)
{
    struct experiment *experiment = ((struct reading *)into)->experiment;

    if (!read_is_map(loader, value, "runs")) return;
    experiment->run = KEEP_NEW(loader, struct experiment_run, value->count);
    if (!experiment->run) return;
    for (const struct tree *item = value->first; item; item = item->next)
        read_run(loader, item, &experiment->run[experiment->runs++]);
}

static void check_all(struct loader *loader, struct reading *reading)
{
    struct experiment *experiment = reading->experiment;
    const char *why = NULL;

    if (!experiment->id || !experiment->title || !experiment->source || !experiment->measures)
        read_error(loader, loader->root->at, "an experiment says experiment (its id), title, source and measures");
    for (uint32_t i = 0; i < experiment->runs; i++) {
        struct experiment_run *run = &experiment->run[i];
        if (!run->fabric) run->fabric = reading->fabric;
        if (!run->fabric) read_error(loader, loader->root->at, "run '%s' has no fabric", run->name);
    }
    if (loader->errors->count) return;
    for (uint32_t i = 0; i < experiment->measures; i++) {
        const struct experiment_measure *measure = &experiment->measure[i];
        if (value_plan(experiment, measure->value, &why) != 0)
            read_error(loader, measure->at, "value '%s': %s", measure->value, why);
    }
}

static void read_all(struct loader *loader, struct experiment *experiment)
{
    static const struct field fields[] = {
        F_VALUE("experiment", FIELD_TEXT, struct experiment, id, 0, 0),
        F_VALUE("title", FIELD_TEXT, struct experiment, title, 0, 0),
        F_VALUE("source", FIELD_TEXT, struct experiment, source, 0, 0),
        F_VALUE("notes", FIELD_TEXT, struct experiment, notes, 0, 0),
        F_VALUE("quick", FIELD_BOOL, struct experiment, quick, 0, 0),
        F_VALUE("sample", FIELD_TIME, struct experiment, sample, PS_NS, 0),
    };
    static const struct field parts[] = {
        F_VALUE("fabric", FIELD_TEXT, struct reading, fabric, 0, 0),
        F_CALL("parts", read_parts),
        F_CALL("runs", read_runs),
        F_CALL("measures", read_measures),
    };
    struct reading reading = {.experiment = experiment};
    struct field_set sets[] = {{fields, COUNT_OF(fields), experiment}, {parts, COUNT_OF(parts), &reading}};

    if (!read_is_map(loader, loader->root, "an experiment")) return;
    read_map(loader, loader->root, "an experiment", sets, COUNT_OF(sets));
    if (loader->errors->count == 0 && !loader->no_memory) check_all(loader, &reading);
}

int experiment_load(const char *path, struct experiment **ret, struct study_error *error)
{
    struct experiment *experiment = calloc(1, sizeof(*experiment));
    struct fabric_errors *errors = &error->loader;
    struct loader loader = {.errors = errors};
    struct tree *root = NULL;
    size_t length = 0;

    *errors = (struct fabric_errors){.path = path};
    arena_init_or_end(&experiment->arena, FILE_MEMORY_MAX);
    arena_init(&loader.scratch, FILE_MEMORY_MAX);
    loader.keep = &experiment->arena;
    experiment->sample = DEFAULT_SAMPLE;
    experiment->path = arena_strndup(loader.keep, path, strlen(path));
    const char *text = file_read(&loader, path, (struct fabric_at){0}, &length);
    if (text && tree_parse(text, length, &loader.scratch, &root, errors) == 0) {
        loader.root = root;
        read_all(&loader, experiment);
    }
    if (errors->count == 0 && (loader.no_memory || !root))
        fabric_errors_add(errors, (struct fabric_at){0}, "no memory");
    arena_release(&loader.scratch);
    if (errors->count) {
        experiment_free(experiment);
        return -EINVAL;
    }
    *ret = experiment;
    return 0;
}

void experiment_free(struct experiment *experiment)
{
    if (experiment == NULL) return;
    arena_release(&experiment->arena);
    free(experiment->probe);
    free(experiment);
}
