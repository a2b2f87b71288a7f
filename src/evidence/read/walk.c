/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INPUT of the command line: a file, or a folder of files (places.h), the oldest look first.
 *
 * Of what cannot be read, a folder or a file, a remark says why, and the evidence is not whole: a look that is missing
 * would acquit whoever stands in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reads.h"
#include "evidence/read/archive.h"
#include "evidence/read/bytes.h"
#include "evidence/read/pack.h"
#include "evidence/read/places.h"
#include "evidence/read/reader.h"
#include "evidence/read/text_name.h"

#define DEPTH 12 /* folders below a device's: a copy of sysfs has eight */
#define PATH 4096

struct entries {
    char **name;
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void entries_free(struct entries *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->name[i]);
    free(list->name);
    *list = (struct entries){0};
}

static bool entry_add(struct entries *list, const char *name)
{
    char **grown = realloc(list->name, (list->count + 1) * sizeof grown[0]), *copy = strdup(name);

    if (grown) list->name = grown;
    if (!grown || !copy) {
        free(copy);
        return false;
    }
    grown[list->count++] = copy;
    return true;
}

/* What is in a folder, hidden things apart, in order.  0, or -errno: the list is empty, or ends where it could not be
 * read any further. */
static int entries_of(const char *path, struct entries *list)
{
    DIR *dir = opendir(path);
    struct dirent *one;
    int error = 0;

    *list = (struct entries){0};
    if (!dir) return -errno;
    while (!error && (errno = 0, one = readdir(dir)))
        if (one->d_name[0] != '.' && !entry_add(list, one->d_name)) error = -ENOMEM;
    if (!error) error = -errno;
    closedir(dir);
    if (list->count) qsort(list->name, list->count, sizeof list->name[0], by_name);
    return error;
}

static const char *why_unread(int error)
{
    return error == -EINVAL ? "not a file" : strerror(-error);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* A link to nothing, which a copy of sysfs is full of: there is nothing behind it to be read. */
static bool leads_nowhere(const char *path)
{
    struct stat info;
    return !lstat(path, &info) && S_ISLNK(info.st_mode) && stat(path, &info) && errno == ENOENT;
}

/* A file of a copy of sysfs holds its value alone: its path says what it is. */
static bool read_sysfs(struct evidence *evidence, const char *device, const char *path, double at_s, const char *value,
                       size_t bytes)
{
    const char *ports = strstr(path, "/ports/");
    char line[PATH + 128];

    if (!device || !ports || bytes > 100) return false;
    if (!strstr(ports, "/counters/") && !strstr(ports, "/hw_counters/") && !strstr(ports, "/gid_attrs/ndevs/0") &&
        strcmp(ports + strcspn(ports + 7, "/") + 7, "/state") && strcmp(ports + strcspn(ports + 7, "/") + 7, "/rate"))
        return false;
    int length = snprintf(line, sizeof line, "%s:%.*s\n", path, (int)bytes, value);
    if (length > 0 && (size_t)length < sizeof line)
        evidence_read_text(evidence, device, path, at_s, "sysfs", line, (size_t)length);
    return true;
}

/* --- a file --- */

/* Not a map: that ends the program by a signal where somebody cuts the file meanwhile or its disk fails, and who looks
 * twice may see two texts. */
static ssize_t more_of(void *of, char *to, size_t room)
{
    ssize_t got = read(*(const int *)of, to, room);

    return got < 0 ? -errno : got;
}

void read_placed_text(struct evidence *evidence, const struct text_of *of, struct bytes_in *bytes)
{
    bytes_fill(bytes, 128);
    bool alone = bytes->ended && !bytes->error && of->device;
    if (alone && read_sysfs(evidence, of->device, of->file, of->at_s, bytes_at(bytes), bytes_left(bytes))) return;
    evidence_read_bytes(evidence, of, bytes);
}

/* Begins again, for an archive whose looks are not in order. */
static void again(void *of, struct bytes_in *bytes)
{
    if (lseek(*(const int *)of, 0, SEEK_SET) == 0) bytes_from(bytes, more_of, of);
}

static void again_in_memory(void *of, struct bytes_in *bytes)
{
    const struct bytes_in *all = of;
    bytes_of(bytes, bytes_at(all), bytes_left(all));
}

/* `size`: of the file; 0: it is a pipe. */
static int read_open(struct evidence *evidence, const struct text_of *of, int fd, size_t size)
{
    struct pack_from from = {of, size, again, &fd};
    struct bytes_in bytes;

    bytes_from(&bytes, more_of, &fd);
    bytes.expected = size;
    bool packed = archive_kind(&bytes) != ARCHIVE_NONE;
    if (packed && !size) {
        bytes_fill(&bytes, (size_t)READER_JSON + 1);
        from = (struct pack_from){of, bytes_left(&bytes), again_in_memory, &bytes};
    }
    if (packed && from.size > READER_JSON && !size)
        evidence_unread(evidence, of->file, "an archive of more than 256 MB through a pipe: write it to a file first");
    else if (packed)
        pack_read(evidence, &from);
    else
        read_placed_text(evidence, of, &bytes);
    int error = bytes.used || !bytes.error ? 0 : bytes.error; /* said already where a part of it was read */
    bytes_release(&bytes);
    return error;
}

/* 0, or -errno: it cannot be opened; -EINVAL: it is no file. */
static int read_one(struct evidence *evidence, const struct text_of *of)
{
    int fd = open(of->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error = 0;
    uint32_t before = evidence->values;
    struct stat info;

    if (fd < 0) return -errno;
    if (fstat(fd, &info))
        error = -errno;
    else if (!S_ISREG(info.st_mode))
        error = -EINVAL;
    if (!error && info.st_size) {
        error = read_open(evidence, of, fd, (size_t)info.st_size);
        if (of->device || evidence->values > before) reads_note(fd, of->file); /* a page beside may be made again */
    }
    close(fd);
    return error;
}

/* Reads a file of a folder.  What is no file, or leads nowhere, holds no counter: a remark is enough. */
static void read_or_said(struct evidence *evidence, const struct text_of *of)
{
    int error = read_one(evidence, of);

    if (error == -EINVAL || (error == -ENOENT && leads_nowhere(of->file)))
        evidence_remark(evidence, evidence_file(evidence, of->file), 0, "%s", why_unread(error));
    else if (error)
        evidence_unread(evidence, of->file, strerror(-error));
}

/* --- a folder --- */

struct folder {
    struct evidence *evidence;
    struct places places;
    const char *root;
};

/* All files below a folder, `path` below the root.  Links to folders are followed where they stand for a look or a
 * device, and no deeper: a few that lead back to theirs have no end. */
static int gather(struct folder *folder, const char *path, unsigned depth, bool look)
{
    struct evidence *evidence = folder->evidence;
    struct entries list;
    struct stat info;
    char at[PATH], below[PATH];
    double at_s;

    snprintf(at, sizeof at, "%s%s%s", folder->root, *path ? "/" : "", path);
    int error = entries_of(at, &list);
    if (error && depth) evidence_unread(evidence, at, strerror(-error));
    for (size_t i = 0; i < list.count && !evidence->full; i++) {
        const char *name = list.name[i];
        if (snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", name) >= (int)sizeof below ||
            snprintf(at, sizeof at, "%s/%s", folder->root, below) >= (int)sizeof at) {
            evidence_unread(evidence, path, strerror(ENAMETOOLONG));
            continue;
        }
        bool follow = !depth || (depth == 1 && look);
        bool inside = !(follow ? stat : lstat)(at, &info) && S_ISDIR(info.st_mode);
        if (inside && depth < DEPTH)
            gather(folder, below, depth + 1, !depth && text_name_time(name, &at_s));
        else if (inside)
            evidence_unread(evidence, at, "more folders inside each other than are followed");
        else if (!places_add(&folder->places, below))
            evidence_unread(evidence, at, strerror(ENOMEM));
    }
    entries_free(&list);
    return error;
}

/* The name of a folder or file as its owner calls it, also of "." */
static void name_of_root(const char *path, char *buf, size_t size)
{
    char *whole = realpath(path, NULL);
    const char *slash = whole ? strrchr(whole, '/') : NULL;

    snprintf(buf, size, "%s", slash && slash[1] ? slash + 1 : path);
    buf[strlen(buf) - text_name_packed(buf)] = 0;
    free(whole);
}

static void read_places(struct folder *folder, const char *from, const char *called)
{
    struct places *places = &folder->places;
    char at[PATH], device[PATH];
    struct text_name name;
    struct text_of of;

    places_arrange(places, folder->evidence, folder->root, called);
    for (uint32_t i = 0; i < places->places && !folder->evidence->full; i++) {
        if (places->place[i].left_out) continue;
        place_text(&of, &places->place[i], called, &name, device, sizeof device);
        snprintf(at, sizeof at, "%s/%s", folder->root, places->place[i].path);
        of.file = at;
        of.from = from;
        of.several = places->places > 1;
        read_or_said(folder->evidence, &of);
    }
}

static bool read_folder(struct evidence *evidence, const char *path, const char *from, char *why, size_t size)
{
    struct folder folder = {.evidence = evidence, .root = path};
    char called[PATH];

    name_of_root(path, called, sizeof called);
    int error = gather(&folder, "", 0, false);
    if (error) {
        snprintf(why, size, "%s", strerror(-error));
    } else if (folder.places.places) {
        read_places(&folder, from, called);
    } else if (evidence->unread) {
        snprintf(why, size, "%s", evidence->first_unread);
        error = -EIO;
    } else {
        snprintf(why, size,
                 "no dumps in it: DIR/TIME/DEVICE/*.txt is looked for, TIME as 2026-11-15T10:00:00Z or seconds");
        error = -ENOENT;
    }
    places_release(&folder.places);
    return !error;
}

static bool is_stream(const char *path)
{
    struct stat info;
    return !strcmp(path, "-") || (!stat(path, &info) && S_ISFIFO(info.st_mode));
}

/* What comes through a pipe: `curl … | rocelab diagnose -`. */
static bool read_stream(struct evidence *evidence, const char *path, const char *from, char *why, size_t size)
{
    bool standard = !strcmp(path, "-");
    int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    struct text_of of = {.file = standard ? "standard input" : path, .called = "standard input", .from = from};

    if (fd >= 0) {
        int error = read_open(evidence, &of, fd, 0);
        close(fd);
        if (!error) return true;
        errno = -error;
    }
    snprintf(why, size, "%s", strerror(errno));
    return false;
}

bool evidence_read(struct evidence *evidence, const char *path, const char *from, char *why, size_t size)
{
    struct text_name name;

    if (is_folder(path)) return read_folder(evidence, path, from, why, size);
    if (is_stream(path)) return read_stream(evidence, path, from, why, size);
    text_name(&name, path);
    struct text_of of = {.file = path, .called = name.device, .command = name.command, .from = from};
    int error = read_one(evidence, &of);
    reads_note_path(path);
    if (error) snprintf(why, size, "%s", why_unread(error));
    return !error;
}
