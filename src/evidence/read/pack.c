/* SPDX-License-Identifier: Apache-2.0 */
/* Archives: their paths first, then what stands there, look by look. */
#include "evidence/read/pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/archive.h"
#include "evidence/read/places.h"

#define LOOKS_MOST 64           /* of an archive whose entries are not in their order */
#define AGAIN_MOST (8ull << 30) /* bytes that are unpacked for that */
#define GZIPS 3                 /* inside each other */
#define AT 4096

struct pack {
    struct evidence *evidence;
    const struct pack_from *from;
    struct archive_budget budget;
    struct places places;
    const struct place **place; /* by the order in which they stand in the archive; NULL: paths are gathered */
    uint32_t next;              /* the next file's number */
    double look_s;
    bool one_look; /* all looks at once: they are in order */
    unsigned depth, gzips;
    char prefix[ARCHIVE_PATH]; /* the archive inside the archive: "logs.tgz/" */
    char called[TEXT_NAME];
};

static void descend(struct pack *pack, const char *path, struct bytes_in *bytes);

static void path_of(const struct pack *pack, const char *path, char at[AT])
{
    snprintf(at, AT, "%s/%s%s", pack->from->of->file, pack->prefix, path);
}

/* Said once, when paths are gathered. */
static void unread(struct pack *pack, const char *path, const char *why)
{
    char at[AT];

    if (pack->place) return;
    path_of(pack, path, at);
    evidence_unread(pack->evidence, *path || *pack->prefix ? at : pack->from->of->file, why);
}

/* What systems put beside files of people. */
static bool is_hidden(const char *path)
{
    for (const char *at = path; *at;) {
        if (*at == '.' || !strncmp(at, "__MACOSX/", 9)) return true;
        at += strcspn(at, "/");
        at += *at == '/';
    }
    return false;
}

static bool visit(void *with, const struct archive_entry *entry, struct bytes_in *bytes)
{
    struct pack *pack = with;
    char at[AT];

    if (entry->why && !pack->place) {
        path_of(pack, entry->path, at);
        evidence_remark(pack->evidence, evidence_file(pack->evidence, at), 0, "not read: %s", entry->why);
    }
    if (!entry->why && !is_hidden(entry->path)) descend(pack, entry->path, bytes);
    return !pack->evidence->full && !pack->budget.over;
}

static void read_leaf(struct pack *pack, struct bytes_in *bytes)
{
    const struct place *place = pack->next < pack->places.places ? pack->place[pack->next] : NULL;
    const struct text_of *archive = pack->from->of;
    char at[AT], device[AT];
    struct text_name name;
    struct text_of of;

    pack->next++;
    if (!place || place->left_out || (!pack->one_look && place->at_s != pack->look_s)) return;
    place_text(&of, place, pack->called, &name, device, sizeof device);
    if (archive->device) of.device = archive->device, of.called = NULL;
    if (archive->timed) of.at_s = archive->at_s, of.timed = true;
    snprintf(at, sizeof at, "%s/%s", archive->file, place->path);
    of.file = pack->places.places == 1 && !strcmp(place->path, pack->called) ? archive->file : at;
    of.from = archive->from;
    of.several = archive->several || pack->places.places > 1;
    read_placed_text(pack->evidence, &of, bytes);
}

static void gather(struct pack *pack, const char *path)
{
    char below[2 * ARCHIVE_PATH];

    snprintf(below, sizeof below, "%s%s", pack->prefix, path);
    if (!places_add(&pack->places, below)) evidence_unread(pack->evidence, below, strerror(ENOMEM));
}

static void descend_gzip(struct pack *pack, const char *path, struct bytes_in *bytes)
{
    struct bytes_in inside;
    struct archive_gzip *gzip = pack->gzips < GZIPS ? archive_gzip(bytes, &pack->budget, &inside) : NULL;
    char name[ARCHIVE_PATH];

    if (!gzip) {
        unread(pack, path, "compressed too often, or there is no memory");
        return;
    }
    snprintf(name, sizeof name, "%s", path);
    size_t length = strlen(name);
    if (length > 3 && !strcmp(name + length - 3, ".gz")) name[length - 3] = 0;
    if (length > 4 && !strcmp(name + length - 4, ".tgz")) memcpy(name + length - 3, "tar", 4);
    pack->gzips++;
    descend(pack, name, &inside);
    pack->gzips--;
    if (inside.error && !pack->budget.over) unread(pack, path, "it is damaged");
    bytes_release(&inside);
    archive_gzip_end(gzip);
}

static void descend_archive(struct pack *pack, const char *path, struct bytes_in *bytes, enum archive_kind kind)
{
    size_t before = strlen(pack->prefix), length = strlen(path);
    bool top = !pack->depth;

    if (pack->depth == ARCHIVE_DEPTH || before + length + 2 > sizeof pack->prefix) {
        unread(pack, path, "more archives inside each other than are read");
        return;
    }
    pack->depth++;
    if (!top)
        snprintf(pack->prefix + before, sizeof pack->prefix - before, "%.*s/", (int)(length - text_name_packed(path)),
                 path);
    const char *why = archive_each(bytes, kind, &pack->budget, visit, pack);
    if (why && !pack->budget.over) unread(pack, "", why);
    pack->prefix[before] = 0;
    pack->depth--;
}

static void descend(struct pack *pack, const char *path, struct bytes_in *bytes)
{
    enum archive_kind kind = archive_kind(bytes);

    if (kind == ARCHIVE_GZIP)
        descend_gzip(pack, path, bytes);
    else if (kind == ARCHIVE_TAR || kind == ARCHIVE_ZIP)
        descend_archive(pack, path, bytes, kind);
    else if (kind == ARCHIVE_OTHER)
        unread(pack, path, "compressed in a way that is not read: unpack it first (gzip, tar and zip are read)");
    else if (pack->place)
        read_leaf(pack, bytes);
    else
        gather(pack, path);
}

/* Through the whole of it, from its beginning. */
static void go_through(struct pack *pack)
{
    struct bytes_in bytes;

    bytes_of(&bytes, "", 0);
    pack->budget = (struct archive_budget){.packed = pack->from->size};
    pack->next = 0;
    pack->from->again(pack->from->at, &bytes);
    descend(pack, pack->called, &bytes);
    bytes_release(&bytes);
}

static bool are_in_order(const struct places *places)
{
    for (uint32_t i = 1; i < places->places; i++)
        if (places->place[i].order < places->place[i - 1].order) return false;
    return true;
}

static void read_looks(struct pack *pack)
{
    const struct places *places = &pack->places;
    uint32_t looks = 1;

    pack->one_look = are_in_order(places);
    for (uint32_t i = 1; i < places->places; i++)
        looks += places->place[i].at_s != places->place[i - 1].at_s;
    pack->one_look |= looks == 1;
    if (!pack->one_look && (looks > LOOKS_MOST || looks * pack->budget.unpacked > AGAIN_MOST)) {
        evidence_unread(pack->evidence, pack->from->of->file,
                        "its looks are not in order, and too many to go through it for each: unpack it first");
        return;
    }
    for (uint32_t i = 0; i < places->places; i++) {
        if (i && (pack->one_look || places->place[i].at_s == places->place[i - 1].at_s)) continue;
        pack->look_s = places->place[i].at_s;
        go_through(pack);
    }
}

void pack_read(struct evidence *evidence, const struct pack_from *from)
{
    struct pack *pack = calloc(1, sizeof *pack);
    const char *slash = strrchr(from->of->file, '/'), *name = slash ? slash + 1 : from->of->file;

    if (!pack) {
        evidence_unread(evidence, from->of->file, strerror(ENOMEM));
        return;
    }
    pack->evidence = evidence;
    pack->from = from;
    pack->places.archive = true;
    snprintf(pack->called, sizeof pack->called, "%.*s", (int)(strlen(name) - text_name_packed(name)), name);
    go_through(pack);
    if (pack->budget.over) unread(pack, "", pack->budget.over);
    places_arrange(&pack->places, evidence, from->of->file, pack->called);
    const struct place **place = calloc(pack->places.places + 1, sizeof place[0]);
    for (uint32_t i = 0; place && i < pack->places.places; i++)
        place[pack->places.place[i].order] = &pack->places.place[i];
    pack->place = place;
    if (place)
        read_looks(pack);
    else
        evidence_unread(evidence, from->of->file, strerror(ENOMEM));
    places_release(&pack->places);
    free(place);
    free(pack);
}
