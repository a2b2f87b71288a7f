/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INPUT of the command line: a file, or a folder of dumps DIR/TIME/DEVICE/file.  TIME is a time of day in UTC
 * (2026-11-15T10:00:00Z) or seconds; the oldest is read first.  DIR/DEVICE/file is one look.
 *
 * Of what cannot be read, a folder or a file, a remark says why, and the evidence is not whole: a look that is missing
 * would acquit whoever stands in it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/reads.h"
#include "evidence/read/reader.h"

#define DEPTH 12 /* folders below a device's: a copy of sysfs has eight */
#define PATH 4096

const char *reader_hint(const char *file, char *buf, size_t size)
{
    const char *name = strrchr(file, '/');
    size_t end, begin;

    name = name ? name + 1 : file;
    const char *suffix = strrchr(name, '.');
    end = suffix && (!strcmp(suffix, ".txt") || !strcmp(suffix, ".json") || !strcmp(suffix, ".log"))
              ? (size_t)(suffix - name)
              : strlen(name);
    for (begin = end; begin && (isalnum((unsigned char)name[begin - 1]) || name[begin - 1] == '.');)
        begin--;
    if (end - begin >= size) end = begin + size - 1;
    memcpy(buf, name + begin, end - begin);
    buf[end - begin] = 0;
    return buf;
}

/* Seconds of a TIME; false: it is none. */
static bool time_of(const char *name, double *at_s)
{
    struct tm tm = {0};
    const char *rest = strptime(name, "%Y-%m-%dT%H:%M:%S", &tm);

    if (rest && (!*rest || !strcmp(rest, "Z"))) {
        *at_s = (double)timegm(&tm);
        return true;
    }
    return json_text_real(name, strlen(name), at_s) && *at_s >= 0;
}

struct entry {
    char *name;
    double at_s;
    bool is_time;
};
struct entries {
    struct entry *entry;
    size_t count;
};

static int by_time(const void *a, const void *b)
{
    const struct entry *one = a, *two = b;

    if (one->is_time != two->is_time) return one->is_time ? -1 : 1;
    if (one->is_time && one->at_s != two->at_s) return one->at_s < two->at_s ? -1 : 1;
    return strcmp(one->name, two->name);
}

static void entries_free(struct entries *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->entry[i].name);
    free(list->entry);
    *list = (struct entries){0};
}

static bool entry_add(struct entries *list, const char *name)
{
    struct entry *grown = realloc(list->entry, (list->count + 1) * sizeof grown[0]);
    char *copy = strdup(name);

    if (grown) list->entry = grown;
    if (!grown || !copy) {
        free(copy);
        return false;
    }
    grown[list->count].name = copy;
    grown[list->count].is_time = time_of(copy, &grown[list->count].at_s);
    list->count++;
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
    if (list->count) qsort(list->entry, list->count, sizeof list->entry[0], by_time);
    return error;
}

static const char *why_unread(int error)
{
    return error == -EINVAL ? "not a file" : strerror(-error);
}

/* The entries of a folder of the input; what cannot be listed is said. */
static void entries_or_said(struct evidence *evidence, const char *path, struct entries *list)
{
    int error = entries_of(path, list);

    if (error) evidence_unread(evidence, path, strerror(-error));
}

/* PATH/NAME; false: it is too long for any call, and that was said. */
static bool join(struct evidence *evidence, const char *path, const char *name, char at[PATH])
{
    if (snprintf(at, PATH, "%s/%s", path, name) < PATH) return true;
    evidence_unread(evidence, path, strerror(ENAMETOOLONG));
    return false;
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

/* What is there of `size` bytes.  Not a map: that ends the program by a signal where somebody cuts the file meanwhile
 * or its disk fails, and who looks twice may see two texts. */
static int read_bytes(int fd, size_t size, char **ret, size_t *ret_bytes)
{
    char *bytes = malloc(size);
    size_t used = 0;
    ssize_t got = 1;

    if (!bytes) return -ENOMEM;
    while (used < size && got != 0) {
        got = read(fd, bytes + used, size - used);
        if (got > 0) used += (size_t)got;
        if (got >= 0 || errno == EINTR) continue;
        int error = -errno;
        free(bytes);
        return error;
    }
    *ret = bytes;
    *ret_bytes = used;
    return 0;
}

/* 0, or -errno: it cannot be read; -EINVAL: it is no file. */
static int read_one(struct evidence *evidence, const char *device, const char *path, double at_s, const char *from)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint32_t before = evidence->values;
    int error = 0;
    char *bytes = NULL;
    size_t used = 0;
    struct stat info;

    if (fd < 0) return -errno;
    if (fstat(fd, &info))
        error = -errno;
    else if (!S_ISREG(info.st_mode))
        error = -EINVAL;
    else if (info.st_size)
        error = read_bytes(fd, (size_t)info.st_size, &bytes, &used);
    if (used) {
        if (!read_sysfs(evidence, device, path, at_s, bytes, used))
            evidence_read_text(evidence, device, path, at_s, from, bytes, used);
        if (device || evidence->values > before) reads_note(fd, path); /* a page beside dumps may be made again */
    }
    free(bytes);
    close(fd);
    return error;
}

/* Reads a file of a folder.  What is no file, or leads nowhere, holds no counter: a remark is enough. */
static bool read_or_said(struct evidence *evidence, const char *device, const char *path, double at_s, const char *from)
{
    int error = read_one(evidence, device, path, at_s, from);

    if (error == -EINVAL || (error == -ENOENT && leads_nowhere(path)))
        evidence_remark(evidence, evidence_file(evidence, path), 0, "%s", why_unread(error));
    else if (error)
        evidence_unread(evidence, path, strerror(-error));
    return !error;
}

/* All files of a device's folder.  Links to folders are not followed: a few that lead back to theirs have no end. */
static void read_device(struct evidence *evidence, const char *device, const char *path, double at_s, const char *from,
                        unsigned depth)
{
    struct entries list;
    struct stat info;
    char at[PATH];

    entries_or_said(evidence, path, &list);
    for (size_t i = 0; i < list.count && !evidence->full; i++) {
        if (!join(evidence, path, list.entry[i].name, at)) continue;
        if (lstat(at, &info) || !S_ISDIR(info.st_mode))
            read_or_said(evidence, device, at, at_s, from);
        else if (depth < DEPTH)
            read_device(evidence, device, at, at_s, from, depth + 1);
        else
            evidence_unread(evidence, at, "more folders inside each other than are followed");
    }
    entries_free(&list);
}

/* A file beside the devices' folders: outputs of jobs say themselves whose they are (nccl-tests, metrics); of others
 * nobody knows the device.  Whether anything in it counts. */
static bool read_loose(struct evidence *evidence, const char *path, double at_s, const char *from)
{
    uint32_t before = evidence->values;

    if (read_or_said(evidence, NULL, path, at_s, from) && evidence->values == before)
        evidence_remark(evidence, evidence_file(evidence, path), 0,
                        "not read: it is in no device's folder; dumps are DIR/TIME/DEVICE/*.txt");
    return evidence->values > before;
}

/* DIR/DEVICE/...: every folder in it is a device.  Answers how many, files beside them that count included. */
static uint32_t read_look(struct evidence *evidence, const char *path, double at_s, const char *from)
{
    struct entries list;
    uint32_t devices = 0;
    char at[PATH];

    entries_or_said(evidence, path, &list);
    for (size_t i = 0; i < list.count; i++) {
        if (!join(evidence, path, list.entry[i].name, at)) continue;
        if (!is_folder(at)) {
            devices += read_loose(evidence, at, at_s, from);
            continue;
        }
        read_device(evidence, list.entry[i].name, at, at_s, from, 0);
        devices++;
    }
    entries_free(&list);
    return devices;
}

static bool read_folder(struct evidence *evidence, const char *path, const char *from, char *why, size_t size)
{
    struct entries list;
    uint32_t times = 0, devices = 0;
    bool unread = false;
    double last_s = 0;
    char at[PATH];

    int error = entries_of(path, &list);
    if (error) {
        entries_free(&list);
        snprintf(why, size, "%s", strerror(-error));
        return false;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (!join(evidence, path, list.entry[i].name, at) || !is_folder(at)) continue;
        if (!list.entry[i].is_time) {
            unread = true;
            continue;
        }
        if (times && list.entry[i].at_s == last_s) { /* as one look, nothing would have grown between the two */
            evidence_unread(evidence, at, "the folder before it has the same time");
            continue;
        }
        devices += read_look(evidence, at, last_s = list.entry[i].at_s, from);
        times++;
    }
    for (size_t i = 0; times && i < list.count; i++)
        if (snprintf(at, sizeof at, "%s/%s", path, list.entry[i].name) < (int)sizeof at && !is_folder(at))
            read_loose(evidence, at, last_s, from);
    entries_free(&list);
    if (times && unread)
        evidence_remark(evidence, evidence_file(evidence, path), 0,
                        "folders in it whose names are no time were not read: TIME is as 2026-11-15T10:00:00Z or "
                        "seconds");
    if (!times) devices = read_look(evidence, path, 0, from);
    if (!devices && evidence->unread) {
        snprintf(why, size, "%s", evidence->first_unread);
        return false;
    }
    if (!devices) {
        snprintf(why, size,
                 "no dumps in it: DIR/TIME/DEVICE/*.txt is looked for, TIME as 2026-11-15T10:00:00Z or seconds");
        return false;
    }
    return true;
}

/* What comes through a pipe: `curl … | rocelab diagnose -`.  It ends or is too much. */
static bool read_stream(struct evidence *evidence, int fd, const char *name, const char *from, char *why, size_t size)
{
    size_t used = 0, room = 0;
    ssize_t got = 1;
    char *bytes = NULL;

    while (used <= READER_JSON) {
        if (used == room) {
            char *grown = realloc(bytes, room = room ? 2 * room : 1u << 16);
            if (!grown) break;
            bytes = grown;
        }
        got = read(fd, bytes + used, room - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += (size_t)got;
    }
    if (got < 0)
        snprintf(why, size, "%s", strerror(errno));
    else if (got > 0)
        snprintf(why, size, "more than %u MB through a pipe; write it to a file first", READER_JSON >> 20);
    else
        evidence_read_text(evidence, NULL, name, 0, from, bytes, used);
    free(bytes);
    return got == 0;
}

static bool is_stream(const char *path)
{
    struct stat info;
    return !strcmp(path, "-") || (!stat(path, &info) && S_ISFIFO(info.st_mode));
}

bool evidence_read(struct evidence *evidence, const char *path, const char *from, char *why, size_t size)
{
    if (is_folder(path)) return read_folder(evidence, path, from, why, size);
    if (is_stream(path)) {
        int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
        bool done = fd >= 0 && read_stream(evidence, fd, strcmp(path, "-") ? path : "standard input", from, why, size);
        if (fd < 0) snprintf(why, size, "%s", strerror(errno));
        if (fd >= 0) close(fd);
        return done;
    }
    int error = read_one(evidence, NULL, path, 0, from);
    reads_note_path(path);
    if (error) snprintf(why, size, "%s", why_unread(error));
    return !error;
}
