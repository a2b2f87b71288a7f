/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drifts as text and JSON.
 *
 * A line of a configuration that all ports share drifts on each of them: drifts of one device that have key and values
 * alike are one line of text, at the first place, with the names of the other ports.
 */
#include "cli/plan/diff_print.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "cli/cli.h"
#include "fabric/owners.h"
#include "report/fold.h"
#include "report/rows/rows.h"

static const char *kept(struct diff_list *list, const char *text)
{
    return text ? arena_strndup(&list->arena, text, strlen(text)) : NULL;
}

void diff_list_add(void *to, const struct drift *drift)
{
    struct diff_list *list = to;

    GROW(list->drift, list->count, list->room);
    struct drift *as = &list->drift[list->count++];
    *as = *drift;
    as->port = kept(list, drift->port);
    as->key = kept(list, drift->key);
}

bool diff_refused(const struct diff_list *list, const struct drift *drift)
{
    return list->by && !fabric_may_change(list->approved->fabric, drift->key, list->by);
}

uint32_t diff_refusals(const struct diff_list *list)
{
    uint32_t count = 0;

    for (uint32_t d = 0; d < list->count; d++)
        count += diff_refused(list, &list->drift[d]);
    return count;
}

/* Where the running side says it.  What the fabric file holds once for a link, or for all devices, may come from the
 * text of another device: then the place is asked of this one. */
static struct cli_place running_place(const struct diff_list *list, const struct drift *drift)
{
    const struct config_set *set = &list->running->set;
    struct cli_place place = cli_source_place(list->running, drift->running_at);
    uint32_t device = list->running->imported ? config_device_find(set, drift->device) : CONFIG_NONE;

    if (device == CONFIG_NONE || drift->number == FABRIC_NONE || drift->number >= set->device[device].ports)
        return place;
    char own[96];
    snprintf(own, sizeof own, "own.%.80s", drift->key);
    if (config_said(set, device, drift->number, own)) {
        struct origin said = config_said_at(set, device, drift->number, own);
        return (struct cli_place){set->path[said.source], said.line, 0};
    }
    bool link = strcmp(drift->key, "rate") == 0 || strcmp(drift->key, "up") == 0;
    if (!link && strcmp(place.path, set->path[set->device[device].at.source]) == 0) return place;
    struct origin at = config_where(set, drift->device, drift->number, drift->key);
    if (!at.line) at = set->device[device].port[drift->number].at;
    if (!at.line) at = set->device[device].at;
    return at.line ? (struct cli_place){set->path[at.source], at.line, 0} : place;
}

static void place(FILE *out, struct cli_place at)
{
    const struct text_style style = cli_style();

    text_outside(out, &style, at.path);
    fprintf(out, ":%u", at.line);
    if (at.column) fprintf(out, ":%u", at.column);
}

/* Devices by name, keys and values alike; FNV-1a, so that a long list is not compared with itself. */
static uint64_t shape_of(const struct drift *drift)
{
    const char *part[] = {drift->device, drift->key, drift->approved, drift->running, drift->port ? "port" : ""};
    uint64_t hash = HASH_BEGIN;

    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        hash = hash_text(hash_text(hash, part[i]), "\xff");
    return hash;
}

struct cause {
    uint64_t shape;
    uint32_t drift;
};

static int by_shape(const void *x, const void *y)
{
    const struct cause *a = x, *b = y;

    if (a->shape != b->shape) return a->shape < b->shape ? -1 : 1;
    return a->drift < b->drift ? -1 : a->drift > b->drift;
}

static int by_drift(const void *x, const void *y)
{
    const struct cause *a = *(const struct cause *const *)x, *b = *(const struct cause *const *)y;

    return a->drift < b->drift ? -1 : a->drift > b->drift;
}

struct group { /* drifts alike: cause[0..count) */
    const struct cause *cause;
    uint32_t count;
    bool printed;
};

/* Entries of one map, with the same values, on the same ports. */
static bool same_map(const struct diff_list *list, const struct group *a, const struct group *b)
{
    const struct drift *x = &list->drift[a->cause->drift], *y = &list->drift[b->cause->drift];
    size_t map = strcspn(x->key, ".") + 1;
    bool same = strstr(x->key, "-map.") && strncmp(x->key, y->key, map) == 0 && a->count == b->count && !b->printed &&
                strcmp(x->approved, y->approved) == 0 && strcmp(x->running, y->running) == 0;

    for (uint32_t c = 0; same && c < a->count; c++) {
        const char *one = list->drift[a->cause[c].drift].port, *two = list->drift[b->cause[c].drift].port;
        same = one && two && strcmp(one, two) == 0;
    }
    return same;
}

#define KEYS_MAX 64 /* entries of a map */

/* The key, or the entries of a map that the groups after this one are of. */
static void print_keys(const struct diff_list *list, struct group *group, uint32_t groups, FILE *out)
{
    const struct drift *first = &list->drift[group->cause->drift];
    const struct text_style style = cli_style();
    const char *key[KEYS_MAX] = {first->key};
    uint32_t keys = 1;

    for (uint32_t g = 1; g < groups && keys < KEYS_MAX; g++) {
        const struct drift *drift = &list->drift[group[g].cause->drift];
        if (strcmp(drift->device, first->device) != 0) break;
        if (!same_map(list, group, &group[g])) continue;
        key[keys++] = drift->key;
        group[g].printed = true;
    }
    fold_names(out, &style, key, keys);
}

static void print_cause(const struct diff_list *list, struct group *group, uint32_t groups, FILE *out)
{
    const struct cause *cause = group->cause;
    uint32_t count = group->count;
    const struct drift *drift = &list->drift[cause->drift];
    const struct text_style style = cli_style();
    const char **name = count > 1 ? malloc(count * sizeof(*name)) : NULL;
    uint32_t names = 0;

    text_colour(out, &style, TEXT_BOLD);
    place(out, running_place(list, drift));
    fputc(':', out);
    text_colour(out, &style, TEXT_PLAIN);
    if (drift->name) {
        fprintf(out, " %s ", drift->device);
        text_outside(out, &style, drift->name);
    } else {
        fprintf(out, " %s", drift->port ? drift->port : drift->device);
    }
    for (uint32_t c = 1; c < count; c++) {
        const struct drift *other = &list->drift[cause[c].drift];
        name[names++] = other->name ? other->name : other->port;
    }
    if (count > 1) fprintf(out, " (and %u more: ", count - 1);
    fold_names(out, &style, name, names);
    fputs(count > 1 ? "): " : ": ", out);
    print_keys(list, group, groups, out);
    fputs(" is ", out);
    text_outside(out, &style, drift->running);
    fputs(", approved is ", out);
    text_outside(out, &style, drift->approved);
    fputs(" (", out);
    place(out, cli_source_place(list->approved, drift->approved_at));
    fprintf(out, ")%s", drift->owner ? "; owner: " : "");
    if (drift->owner) text_outside(out, &style, drift->owner);
    if (diff_refused(list, drift)) {
        fputs("; ", out);
        text_outside(out, &style, list->by);
        fputs(drift->owner ? " may not change it" : " may not change it: nobody owns it", out);
    }
    fputc('\n', out);
    free(name);
}

/* Groups in the order of the first drift of each.  To be freed. */
static struct group *groups_of(struct cause *cause, uint32_t count, uint32_t *ret_groups)
{
    const struct cause **first = calloc(count + 1u, sizeof(const struct cause *));
    struct group *group = calloc(count + 1u, sizeof(*group));
    uint32_t groups = 0;

    if (count) qsort(cause, count, sizeof(*cause), by_shape);
    for (uint32_t c = 0; c < count; c++)
        if (!c || cause[c].shape != cause[c - 1].shape) first[groups++] = &cause[c];
    if (groups) qsort(first, groups, sizeof(*first), by_drift);
    for (uint32_t g = 0; g < groups; g++) {
        group[g] = (struct group){.cause = first[g], .count = 1};
        while (first[g] + group[g].count < cause + count && first[g][group[g].count].shape == first[g]->shape)
            group[g].count++;
    }
    free(first);
    *ret_groups = groups;
    return group;
}

uint32_t diff_print_text(const struct diff_list *list, bool all, FILE *out)
{
    struct cause *cause = calloc(list->count + 1u, sizeof(*cause));
    uint32_t groups = 0, lines = 0;

    for (uint32_t d = 0; d < list->count; d++)
        cause[d] = (struct cause){all ? d : shape_of(&list->drift[d]), d};
    struct group *group = groups_of(cause, list->count, &groups);
    for (uint32_t g = 0; g < groups; g++) {
        if (group[g].printed) continue;
        print_cause(list, &group[g], all ? 1 : groups - g, out);
        lines++;
    }
    free(cause);
    free(group);
    return lines;
}

static void json_place(struct jout *jout, const char *key, const char *value, struct cli_place at)
{
    jout_open_line(jout, key, '{');
    jout_text(jout, "value", value);
    jout_text(jout, "file", at.path);
    jout_u64(jout, "line", at.line);
    jout_u64(jout, "column", at.column);
    jout_close(jout);
}

void diff_print_json(const struct diff_list *list, struct jout *jout)
{
    jout_open(jout, "drifts", '[');
    for (uint32_t d = 0; d < list->count; d++) {
        const struct drift *drift = &list->drift[d];
        jout_open(jout, NULL, '{');
#include "report/rows/drift.def"
        jout_close(jout);
    }
    jout_close(jout);
}
