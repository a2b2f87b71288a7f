/* SPDX-License-Identifier: Apache-2.0 */
/* Device and look of files by their paths. */
#include "evidence/read/places.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME 256

bool places_add(struct places *places, const char *path)
{
    uint32_t count = places->places;

    if (!(count & (count - 1))) { /* grown at 0, 1, 2, 4, … */
        struct place *grown = realloc(places->place, (count ? 2 * (size_t)count : 1) * sizeof grown[0]);
        if (!grown) return false;
        places->place = grown;
    }
    char *copy = strdup(path);
    if (!copy) return false;
    places->place[places->places++] = (struct place){.path = copy, .order = count};
    return true;
}

void places_release(struct places *places)
{
    for (uint32_t i = 0; i < places->places; i++)
        free(places->place[i].path);
    free(places->place);
    *places = (struct places){0};
}

/* The folder that begins at `at` of a path; false: what stands there is the file. */
static bool folder_at(const char *path, uint32_t at, uint32_t *ret_bytes)
{
    const char *slash = strchr(path + at, '/');

    *ret_bytes = slash ? (uint32_t)(slash - path) - at : 0;
    return slash != NULL;
}

static bool is_time(const char *path, uint32_t at, uint32_t bytes, double *at_s)
{
    char name[NAME];

    if (!bytes || bytes >= sizeof name) return false;
    memcpy(name, path + at, bytes);
    name[bytes] = 0;
    return text_name_time(name, at_s);
}

/* Bytes up to the TIME in a path and of it: its first folder, or the second (deeper ones are a device's own, as ports/1
 * of sysfs).  False: it has none. */
static bool find_time(const struct place *place, uint32_t top, uint32_t *ret_at, uint32_t *ret_bytes, double *at_s)
{
    uint32_t at = top, bytes;

    for (int i = 0; i < 2 && folder_at(place->path, at, &bytes); i++, at += bytes + 1) {
        if (!is_time(place->path, at, bytes, at_s)) continue;
        *ret_at = at;
        *ret_bytes = bytes;
        return true;
    }
    return false;
}

/* How much of all paths of an archive is the same and holds the folders of looks; 0 where there are none. */
static uint32_t top_of_looks(const struct places *places)
{
    uint32_t top = 0, at, bytes, folder;
    double at_s;

    while (places->archive) {
        for (uint32_t i = 0; i < places->places; i++)
            if (find_time(&places->place[i], top, &at, &bytes, &at_s)) return top;
        const char *first = places->place[0].path;
        if (!folder_at(first, top, &folder)) break;
        for (uint32_t i = 1; i < places->places; i++)
            if (strncmp(places->place[i].path, first, top + folder + 1) != 0) return 0;
        top += folder + 1;
    }
    return 0;
}

/* TIME/DEVICE/…, or DEVICE/TIME/… */
static void by_time(struct place *place, uint32_t top, uint32_t at, uint32_t bytes)
{
    uint32_t below = at + bytes + 1, device;

    if (folder_at(place->path, below, &device)) {
        place->device = below;
        place->bytes = device;
    } else if (at > top) { /* the folder before */
        uint32_t from = at - 1;
        while (from && place->path[from - 1] != '/')
            from--;
        place->device = from;
        place->bytes = at - 1 - from;
    }
}

/* Of an archive: what all paths begin with, and is its own folder and no device's. */
static uint32_t common_top(const struct places *places, const char *called)
{
    static const char *const systems[] = {"sys", "proc", "etc", "var", "usr"};
    uint32_t top, bytes;
    const char *first = places->place[0].path;
    bool own = false, several = false;

    if (!places->archive || !folder_at(first, 0, &top)) return 0;
    own = strlen(called) == top && !strncmp(first, called, top);
    for (uint32_t i = 0; i < places->places; i++) {
        const char *path = places->place[i].path;
        if (strncmp(path, first, top + 1) != 0) return 0;
        bool deeper = folder_at(path, top + 1, &bytes);
        if (!deeper && !own) return 0;
        for (size_t k = 0; k < sizeof systems / sizeof systems[0]; k++)
            if (strlen(systems[k]) == bytes && !strncmp(path + top + 1, systems[k], bytes)) return 0;
        several |= strncmp(path + top + 1, first + top + 1, bytes + 1) != 0;
    }
    return own || several ? top + 1 : 0;
}

static void by_name(struct place *place, struct evidence *evidence)
{
    struct text_name name;

    text_name(&name, place->path);
    if (!name.timed) return;
    if (isnan(evidence->clock_s)) evidence->clock_s = name.at_s;
    place->timed = true;
    place->at_s = name.at_s - evidence->clock_s;
}

static int in_order(const void *a, const void *b)
{
    const struct place *one = a, *two = b;

    if (one->at_s != two->at_s) return one->at_s < two->at_s ? -1 : 1;
    return one->order < two->order ? -1 : one->order > two->order;
}

/* Two folders of one time beside each other: as one look, nothing would have grown between the two. */
static void drop_twins(struct places *places, struct evidence *evidence, const char *root)
{
    char at[4096];
    const struct place *said = NULL;

    for (uint32_t i = 1; i < places->places; i++) {
        const struct place *before = &places->place[i - 1];
        struct place *place = &places->place[i];
        uint32_t one, two, one_bytes, two_bytes;
        double at_s;
        if (!find_time(place, places->top, &two, &two_bytes, &at_s) ||
            !find_time(before, places->top, &one, &one_bytes, &at_s))
            continue;
        if (before->at_s != place->at_s || one != two || strncmp(before->path, place->path, one) != 0) continue;
        if (one_bytes == two_bytes && !strncmp(before->path + one, place->path + two, one_bytes)) {
            place->left_out = before->left_out;
            continue;
        }
        place->left_out = true;
        if (said && !strncmp(said->path, place->path, two + two_bytes + 1)) continue;
        said = place;
        snprintf(at, sizeof at, "%s/%.*s", root, (int)(two + two_bytes), place->path);
        evidence_unread(evidence, at, "the folder before it has the same time");
    }
}

void places_arrange(struct places *places, struct evidence *evidence, const char *root, const char *called)
{
    bool timed = false, unread = false;
    double last_s = 0, at_s;
    uint32_t at, bytes;

    if (!places->places) return;
    places->top = top_of_looks(places);
    for (uint32_t i = 0; i < places->places; i++) {
        struct place *place = &places->place[i];
        if (!find_time(place, places->top, &at, &bytes, &at_s)) continue;
        by_time(place, places->top, at, bytes);
        place->timed = timed = true;
        place->at_s = at_s;
        if (at_s > last_s) last_s = at_s;
    }
    uint32_t top = timed ? 0 : common_top(places, called);
    for (uint32_t i = 0; i < places->places; i++) {
        struct place *place = &places->place[i];
        if (place->timed) continue;
        bool folder = folder_at(place->path, timed ? places->top : top, &bytes);
        if (!timed) {
            place->device = top;
            place->bytes = folder ? bytes : 0;
            by_name(place, evidence);
        } else if (folder) {
            place->left_out = unread = true;
        } else { /* a file beside the looks: of the last */
            place->timed = true;
            place->at_s = last_s;
        }
    }
    qsort(places->place, places->places, sizeof places->place[0], in_order);
    if (timed) drop_twins(places, evidence, root);
    if (unread)
        evidence_remark(evidence, evidence_file(evidence, root), 0,
                        "folders in it whose names are no time were not read: TIME is as 2026-11-15T10:00:00Z or "
                        "seconds");
}

void place_text(struct text_of *of, const struct place *place, const char *called, struct text_name *name, char *device,
                size_t size)
{
    text_name(name, place->path);
    *of = (struct text_of){.at_s = place->at_s, .timed = place->timed, .command = name->command};
    if (place->bytes) {
        snprintf(device, size, "%.*s", (int)place->bytes, place->path + place->device);
        of->device = device;
    } else {
        of->called = name->commands ? called : name->device;
    }
}
