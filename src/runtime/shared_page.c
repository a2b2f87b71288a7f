/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of shared memory; see shared_page.h.
 *
 * A page is a file in the user's own folder (runtime.c).  Who lives holds a lock on its file, which the kernel lets go
 * of however the process ends; a file that nobody holds is removed by whoever finds it.  Process numbers would not do:
 * containers that share the folder have numbers of their own, so that one process may be nobody there, and two have the
 * same.
 *
 * The room is taken before it is mapped: where the folder is full a write into the mapping would be a bus error.
 */
#include "runtime/shared_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quiet.h"
#include "runtime/runtime.h"

#define NAME_BYTES (RUNTIME_PATH + 264)
#define SAME_NUMBER_MAX 64 /* files of processes that have the same number, each in a namespace of its own */

static struct flock life_lock(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
}

static bool lives(int file)
{
    struct flock lock = life_lock(F_RDLCK);
    return fcntl(file, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* Makes the file.  Whoever had its name before and is gone makes room.  -EEXIST: somebody who lives has it, or is
 * making it: the lock is taken before the magic number is written. */
static int file_make(const char *name, uint64_t magic)
{
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    uint64_t found = 0;

    int old = open(name, O_RDONLY | flags);
    if (old >= 0) {
        if (read(old, &found, sizeof found) == (ssize_t)sizeof found && found == magic && !lives(old)) unlink(name);
        close(old);
    }
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
    return fd < 0 ? -errno : fd;
}

/* A new file with room for the page, and held; -1: none. */
static int file_new(const char *prefix, unsigned number, uint64_t magic, size_t bytes, char name[NAME_BYTES])
{
    char folder[RUNTIME_PATH];
    struct flock lock = life_lock(F_WRLCK);
    struct quiet quiet;

    for (unsigned n = 0;; n++) {
        int rc = runtime_folder(n, true, folder), fd = -EEXIST;
        if (rc == -ENOENT) return -1;
        if (rc < 0) continue;
        for (unsigned i = 0; fd == -EEXIST && i < SAME_NUMBER_MAX; i++) {
            snprintf(name, NAME_BYTES, "%s/%s%u-%u.%u", folder, prefix, (unsigned)getpid(), number, i);
            fd = file_make(name, magic);
        }
        if (fd < 0) continue;
        quiet_begin(&quiet);
        bool made = fcntl(fd, F_OFD_SETLK, &lock) == 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0;
        quiet_end(&quiet);
        if (made) return fd;
        unlink(name);
        close(fd);
    }
}

void shared_page_open(struct shared_page *ret, const char *prefix, unsigned number, uint64_t magic, size_t bytes)
{
    char name[NAME_BYTES];
    int fd = file_new(prefix, number, magic, bytes, name);

    *ret = (struct shared_page){.fd = -1};
    if (fd < 0) return;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *kept = at == MAP_FAILED ? NULL : strdup(name);
    if (kept == NULL) {
        if (at != MAP_FAILED) munmap(at, bytes);
        unlink(name);
        close(fd);
        return;
    }
    *ret = (struct shared_page){.at = at, .bytes = bytes, .name = kept, .fd = fd};
}

void shared_page_publish(struct shared_page *page, uint64_t magic)
{
    struct shared_page_head *head = page->at;

    head->bytes = page->bytes;
    __atomic_store_n(&head->magic, magic, __ATOMIC_RELEASE);
}

void shared_page_close(struct shared_page *page)
{
    if (page->at == NULL) return;
    unlink(page->name);
    munmap(page->at, page->bytes);
    close(page->fd);
    free(page->name);
    page->at = NULL;
}

/* The lock is held by whoever has the file open, and a mapping has it open too. */
void shared_page_fork(struct shared_page *page)
{
    if (page->at == NULL) return;
    munmap(page->at, page->bytes);
    close(page->fd);
    page->at = NULL;
}

void shared_page_program(char *ret, size_t bytes)
{
    FILE *file = fopen("/proc/self/comm", "r");

    ret[0] = 0;
    if (file == NULL) return;
    if (fgets(ret, (int)bytes, file)) ret[strcspn(ret, "\n")] = 0;
    fclose(file);
}

struct walk {
    uint64_t magic;
    size_t bytes;
    void *copy;
    shared_page_visit *visit;
    void *context;
};

/* What is not one of ours, or of a process that is gone, is passed over. */
static int visit_one(const struct walk *walk, const char *folder, const char *entry)
{
    const struct shared_page_head *head = walk->copy;
    struct stat is;
    char name[NAME_BYTES];
    int answer = 0;

    snprintf(name, sizeof name, "%s/%s", folder, entry);
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
    bool file = fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid();
    bool whole = file && read(fd, walk->copy, walk->bytes) == (ssize_t)walk->bytes;
    bool ours = whole && head->magic == walk->magic && head->bytes == walk->bytes, alive = lives(fd);
    if (ours && alive) answer = walk->visit(walk->context, walk->copy, fd);
    close(fd);
    if (ours && !alive) unlink(name);
    return answer;
}

static int visit_folder(const struct walk *walk, const char *name, const char *prefix)
{
    DIR *folder = opendir(name);
    const struct dirent *entry;
    int answer = 0;

    if (folder == NULL) return errno == ENOENT ? 0 : -errno; /* whoever writes into it may be ending it */
    while (answer == 0 && (errno = 0, entry = readdir(folder)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) answer = visit_one(walk, name, entry->d_name);
    if (answer == 0 && errno) answer = -errno;
    closedir(folder);
    return answer;
}

int shared_page_walk(const char *prefix, uint64_t magic, size_t bytes, shared_page_visit *visit, void *context)
{
    struct walk walk = {.magic = magic, .bytes = bytes, .visit = visit, .context = context, .copy = malloc(bytes)};
    char folder[RUNTIME_PATH];
    int rc, answer = walk.copy ? 0 : -ENOMEM;

    for (unsigned n = 0; answer == 0 && (rc = runtime_folder(n, false, folder)) != -ENOENT; n++)
        if (rc == 0) answer = visit_folder(&walk, folder, prefix);
    free(walk.copy);
    return answer;
}
