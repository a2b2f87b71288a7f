/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of files by device and inode, twice as large as what is in it; see reads.h.
 */
#include "base/reads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

struct read {
    dev_t device;
    ino_t inode;
    char *path; /* NULL: nothing is here */
};

static struct {
    struct read *at;
    size_t room, count; /* room: a power of two */
    bool kept, lost;
} reads;

void reads_keep(void)
{
    reads.kept = true;
}

/* Its place in the table, or where it would be. */
static struct read *place_of(struct read *table, size_t room, dev_t device, ino_t inode)
{
    const uint64_t key[2] = {(uint64_t)device, (uint64_t)inode};
    size_t at = (size_t)hash_bytes(HASH_BEGIN, key, sizeof key) & (room - 1);

    while (table[at].path && (table[at].device != device || table[at].inode != inode))
        at = (at + 1) & (room - 1);
    return &table[at];
}

static bool grow(void)
{
    size_t room = reads.room ? reads.room * 2 : 64;
    struct read *table = calloc(room, sizeof *table);

    if (!table) return false;
    for (size_t i = 0; i < reads.room; i++)
        if (reads.at[i].path) *place_of(table, room, reads.at[i].device, reads.at[i].inode) = reads.at[i];
    free(reads.at);
    reads.at = table;
    reads.room = room;
    return true;
}

static void note(const struct stat *about, const char *path)
{
    if (!S_ISREG(about->st_mode)) return;
    reads.lost |= reads.count * 2 >= reads.room && !grow();
    if (reads.lost) return;
    struct read *one = place_of(reads.at, reads.room, about->st_dev, about->st_ino);
    if (one->path) return;
    *one = (struct read){about->st_dev, about->st_ino, strdup(path)};
    reads.lost = one->path == NULL;
    reads.count++;
}

void reads_note(int fd, const char *path)
{
    struct stat about;

    if (reads.kept && fstat(fd, &about) == 0) note(&about, path);
}

void reads_note_path(const char *path)
{
    struct stat about;
    bool in = strcmp(path, "-") == 0;

    if (reads.kept && (in ? fstat(STDIN_FILENO, &about) : stat(path, &about)) == 0) note(&about, path);
}

const char *reads_find(const struct stat *about)
{
    if (reads.lost) return "memory ran out; it may have been read";
    return reads.room ? place_of(reads.at, reads.room, about->st_dev, about->st_ino)->path : NULL;
}
