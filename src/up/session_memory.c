/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment of a process: made, given out, taken back.
 *
 * It is a file without a name, sealed so that the program cannot make it shorter under us.  What was given back is
 * kept by size, in our own memory: what lies in the segment is the program's to write.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "up/up_int.h"

#define PAGE 4096ULL
#define SIZES 33

struct up_pages {
    struct {
        uint64_t *offset;
        uint32_t count, room;
    } size[SIZES]; /* [n]: of 2^n bytes */
};

static int sealed(const char *name, long long bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0) return -errno;
    if (ftruncate(fd, bytes) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return fd;
    int error = -errno;
    close(fd);
    return error;
}

int segment_create(struct up_process *process)
{
    process->segment_fd = sealed("rocelab-segment", (long long)ATTACH_SEGMENT_BYTES);
    if (process->segment_fd < 0) return process->segment_fd;
    process->given = calloc(1, sizeof *process->given);
    if (process->given == NULL) return -ENOMEM;
    void *at =
        mmap(NULL, ATTACH_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, process->segment_fd, 0);
    if (at == MAP_FAILED) return -errno;
    process->segment = at;
    process->head = at;
    process->segment_used = (sizeof(struct attach_head) + PAGE - 1) & ~(PAGE - 1);
    return 0;
}

void segment_release(struct up_process *process)
{
    for (unsigned i = 0; process->given && i < SIZES; i++)
        free(process->given->size[i].offset);
    free(process->given);
    process->given = NULL;
    if (process->segment) munmap(process->segment, ATTACH_SEGMENT_BYTES);
    process->segment = NULL;
    process->head = NULL;
    if (process->segment_fd >= 0) close(process->segment_fd);
    process->segment_fd = -1;
}

static unsigned size_of(uint64_t bytes)
{
    unsigned size = 12; /* a page */

    while (size < SIZES && (1ULL << size) < bytes)
        size++;
    return size;
}

uint64_t segment_take(struct up_process *process, uint64_t bytes)
{
    unsigned size = size_of(bytes);

    if (size >= SIZES || process->given == NULL) return 0;
    if (process->given->size[size].count) {
        uint64_t offset = process->given->size[size].offset[--process->given->size[size].count];
        if (fallocate(process->segment_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                      (off_t)(1ULL << size)) == 0)
            return offset;
    }
    if ((1ULL << size) > ATTACH_SEGMENT_BYTES - process->segment_used) return 0;
    uint64_t offset = process->segment_used;
    process->segment_used += 1ULL << size;
    return offset;
}

void segment_give(struct up_process *process, uint64_t offset, uint64_t bytes)
{
    unsigned size = size_of(bytes);

    if (size >= SIZES || process->given == NULL || offset == 0) return;
    uint32_t count = process->given->size[size].count, room = process->given->size[size].room;
    if (count == room) {
        uint64_t *more = realloc(process->given->size[size].offset, (room ? 2 * room : 16) * sizeof *more);
        if (more == NULL) return; /* it is not used again */
        process->given->size[size].offset = more;
        process->given->size[size].room = room ? 2 * room : 16;
    }
    process->given->size[size].offset[process->given->size[size].count++] = offset;
}
