/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where files of a folder, or of an archive, stand: which device and which look each is of.
 *
 * TIME/DEVICE/…, DEVICE/TIME/…, DEVICE/…, or files alone, which say it by their names.  TIME is a time of day in UTC
 * (2026-11-15T10:00:00Z) or seconds.
 */
#ifndef ROCELAB_EVIDENCE_READ_PLACES_H
#define ROCELAB_EVIDENCE_READ_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evidence/read/reader.h"
#include "evidence/read/text_name.h"

struct place {
    char *path;             /* below the root, as "0/leaf1/pfc.txt" */
    uint32_t order;         /* in which it was found */
    uint32_t device, bytes; /* of the path, where the device's name stands; bytes 0: no folder says it */
    bool left_out;          /* its folder is of no look */
    bool timed;
    double at_s;
};
struct places {
    struct place *place;
    uint32_t places;
    uint32_t top; /* bytes of each path before the folders of looks */
    bool archive; /* its top folder may be the archive's own */
};
/* False: there is no memory. */
bool places_add(struct places *places, const char *path);
/* Finds device and time of each, and puts them in the order in which they are read.  `root`: what is said in remarks;
 * `called`: the root's own name. */
void places_arrange(struct places *places, struct evidence *evidence, const char *root, const char *called);
/* What is known of a text by where it stands; `name` and `device` hold what `of` points to. */
void place_text(struct text_of *of, const struct place *place, const char *called, struct text_name *name, char *device,
                size_t size);
void places_release(struct places *places);

#endif
