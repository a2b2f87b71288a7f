/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is registered is moved into memory that the fabric sees too: payload is one copy, and no system call.
 *
 * Pages keep their addresses and contents: their bytes are written to the file that the fabric made, which is then
 * mapped over them.  That is done while no other thread can write: with the virtual clock all others stand, with the
 * real clock only while there is no other.  Private anonymous pages alone can be moved; stacks, files, shared memory
 * and heaps that libc may trim and believe to be zero stay where they are, and the fabric reaches them otherwise.
 *
 * libc unmaps and moves memory from inside itself, unseen.  So what the kernel says (/proc/self/maps) is taken for true
 * at every registration, and before anything is taken back: what is no longer there is released, and its place in the
 * file given back; at its address may be something else by then.  A region that is not registered is of no interest in
 * between.  Only growing in place must be prevented, since a file's mapping would grow into what belongs to others:
 * realloc() and mremap() of moved memory take it back first.
 */
#include "attach/attach_int.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE 4096ULL
#define HEAP_ALIGN (64ULL << 20) /* of libc's heaps beside the first */
#define RANGES 1024u
#define PARTS 64u
#define COPY_PAGES 512u

struct range {
    uint64_t addr, bytes, offset;
};

struct mapping {
    struct range at;
    uint64_t inode;
    bool writable, private, none; /* none: no access at all */
    bool stack;
};

static struct range range[RANGES]; /* what the fabric knows */
static uint32_t ranges;
static uint64_t used;             /* of the file */
static struct range hole[RANGES]; /* given back */
static uint32_t holes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* real clock: of all of it */

/* True: it is to be unlocked. */
static bool adopt_lock(void)
{
    return !attached.is_virtual && REAL(pthread_mutex_lock)(&lock) == 0;
}

static void adopt_unlock(bool locked)
{
    if (locked) REAL(pthread_mutex_unlock)(&lock);
}

/* --- what the kernel says --- */

struct reader {
    long fd;
    size_t at, filled;
    char data[8192];
};

/* One line without its end; false: there is none. */
static bool read_line(struct reader *from, char *ret, size_t room)
{
    size_t length = 0;

    for (;;) {
        if (from->at == from->filled) {
            long got = RAW(SYS_read, from->fd, from->data, sizeof from->data, 0, 0, 0);

            if (got <= 0) return false;
            from->at = 0;
            from->filled = (size_t)got;
        }
        char byte = from->data[from->at++];
        if (byte == '\n') break;
        if (length < room - 1) ret[length++] = byte;
    }
    ret[length] = 0;
    return true;
}

/* start-end rwxp offset major:minor inode name */
static bool parse(const char *line, struct mapping *ret)
{
    char *at;
    uint64_t end;

    *ret = (struct mapping){.at.addr = strtoull(line, &at, 16)};
    if (*at != '-') return false;
    end = strtoull(at + 1, &at, 16);
    ret->at.bytes = end - ret->at.addr;
    if (strlen(at) < 6) return false;
    ret->writable = at[1] == 'r' && at[2] == 'w' && at[3] == '-';
    ret->none = at[1] == '-' && at[2] == '-';
    ret->private = at[4] == 'p';
    ret->at.offset = strtoull(at + 5, &at, 16);
    at = strchr(at + 1, ' ');
    if (!at) return false;
    ret->inode = strtoull(at, &at, 10);
    ret->stack = strstr(at, "[stack") != NULL;
    return true;
}

static uint64_t our_inode(void)
{
    struct stat is;

    return fstat(attached.adopted_fd, &is) == 0 ? is.st_ino : 0;
}

/* --- what the fabric knows --- */

static int tell(uint32_t op, struct range what)
{
    struct attach_request request = {.op = op};
    struct attach_adopt body = {.addr = what.addr, .bytes = what.bytes, .offset = what.offset};

    memcpy(request.data, &body, sizeof body);
    return session_request(&request, NULL, 0);
}

static void punch(uint64_t offset, uint64_t bytes)
{
    RAW(SYS_fallocate, attached.adopted_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes, 0, 0);
}

/* A part of the file that is no longer in use. */
static void give_back(uint64_t offset, uint64_t bytes)
{
    punch(offset, bytes);
    if (bytes && holes < RANGES) hole[holes++] = (struct range){.offset = offset, .bytes = bytes};
}

/* Room in the file; UINT64_MAX: none. */
static uint64_t take_room(uint64_t bytes)
{
    struct stat is;
    uint64_t offset;

    for (uint32_t i = 0; i < holes; i++) {
        if (hole[i].bytes < bytes) continue;
        offset = hole[i].offset;
        hole[i].offset += bytes;
        hole[i].bytes -= bytes;
        if (hole[i].bytes == 0) hole[i] = hole[--holes];
        return offset;
    }
    if (fstat(attached.adopted_fd, &is) < 0 || used + bytes > (uint64_t)is.st_size) return UINT64_MAX;
    offset = used;
    used += bytes;
    return offset;
}

/* --- moving --- */

/* Bytes of the pages that were ever touched; others are zero in the file as they are. */
static bool copy_out(const struct range *to, long pages_fd)
{
    uint64_t flags[COPY_PAGES];

    for (uint64_t done = 0; done < to->bytes;) {
        uint64_t count = (to->bytes - done) / PAGE < COPY_PAGES ? (to->bytes - done) / PAGE : COPY_PAGES;
        long got = RAW(SYS_pread64, pages_fd, flags, count * 8, (to->addr + done) / PAGE * 8, 0, 0);

        for (uint64_t i = 0; i < count; i++) {
            uint64_t at = done + i * PAGE;

            /* the two highest bits: in memory, swapped out */
            if (got == (long)(count * 8) && !(flags[i] >> 62)) continue;
            if (RAW(SYS_pwrite64, attached.adopted_fd, to->addr + at, PAGE, to->offset + at, 0, 0) != (long)PAGE)
                return false;
        }
        done += count * PAGE;
    }
    return true;
}

static void move(uint64_t addr, uint64_t bytes, long pages_fd)
{
    struct range to = {.addr = addr, .bytes = bytes, .offset = take_room(bytes)};

    if (to.offset == UINT64_MAX || ranges == RANGES) return;
    if (!copy_out(&to, pages_fd) || RAW(SYS_mmap, addr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                        attached.adopted_fd, to.offset) < 0) {
        punch(to.offset, bytes);
        return;
    }
    range[ranges++] = to;
    tell(ATTACH_OP_ADOPT, to);
}

/* A copy that is the process's own, at the same address. */
static void take_back(const struct range *from)
{
    void *copy = mmap(NULL, from->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (copy == MAP_FAILED) return;
    for (uint64_t at = 0; at < from->bytes;) {
        long data = RAW(SYS_lseek, attached.adopted_fd, from->offset + at, SEEK_DATA, 0, 0, 0), got;

        if (data < 0 || (uint64_t)data >= from->offset + from->bytes) break;
        at = (uint64_t)data - from->offset;
        got = RAW(SYS_pread64, attached.adopted_fd, (uint8_t *)copy + at,
                  from->bytes - at < COPY_PAGES * PAGE ? from->bytes - at : COPY_PAGES * PAGE, data, 0, 0);
        if (got <= 0) break;
        at += (uint64_t)got;
    }
    RAW(SYS_mremap, copy, from->bytes, from->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, from->addr, 0);
}

/* --- at a registration --- */

static bool contains(const struct range *range_, uint64_t addr)
{
    return addr >= range_->addr && addr < range_->addr + range_->bytes;
}

struct survey {
    struct range part[PARTS]; /* that can be moved */
    uint32_t parts;
    struct range mapped[RANGES]; /* of the file, by address */
    uint32_t mappeds;
    bool whole; /* all that is mapped of it is there */
};

/* What is still mapped as it was, from `at` on; bytes 0: nothing. */
static struct range still_mapped(const struct survey *survey, const struct range *known, uint64_t at)
{
    for (uint32_t i = 0; i < survey->mappeds; i++) {
        const struct range *mapped = &survey->mapped[i];
        uint64_t from = mapped->addr > at ? mapped->addr : at;
        uint64_t end = mapped->addr + mapped->bytes, end_known = known->addr + known->bytes;

        if (end > end_known) end = end_known;
        if (from < end && mapped->offset - mapped->addr == known->offset - known->addr)
            return (struct range){.addr = from, .bytes = end - from, .offset = known->offset + (from - known->addr)};
    }
    return (struct range){0};
}

/* Whether a part of the file is mapped at some other address. */
static bool is_mapped(const struct survey *survey, uint64_t offset, uint64_t bytes)
{
    for (uint32_t i = 0; i < survey->mappeds; i++)
        if (survey->mapped[i].offset < offset + bytes && offset < survey->mapped[i].offset + survey->mapped[i].bytes)
            return true;
    return false;
}

/* A range of which a part is gone: what is left of it is known from now on. */
static void shrink(const struct survey *survey, uint32_t index)
{
    struct range known = range[index];
    uint64_t at = known.addr, end = known.addr + known.bytes;

    range[index] = range[--ranges];
    tell(ATTACH_OP_RELEASE, known);
    while (at < end) {
        struct range left = still_mapped(survey, &known, at);
        uint64_t until = left.bytes ? left.addr : end, offset = known.offset + (at - known.addr);

        if (until > at && !is_mapped(survey, offset, until - at)) give_back(offset, until - at);
        if (left.bytes && ranges < RANGES) {
            range[ranges++] = left;
            tell(ATTACH_OP_ADOPT, left);
        }
        at = until + left.bytes;
    }
}

static void reconcile(const struct survey *survey)
{
    for (uint32_t i = ranges; survey->whole && i-- > 0;)
        if (still_mapped(survey, &range[i], range[i].addr).bytes != range[i].bytes) shrink(survey, i);
}

static void consider(struct survey *survey, const struct mapping *mapping, uint64_t from, uint64_t end)
{
    uint64_t here = (uintptr_t)&mapping; /* on our stack, which cannot be moved under us */

    if (mapping->inode || !mapping->private || !mapping->writable || mapping->stack || contains(&mapping->at, here))
        return;
    if (mapping->at.addr > from) from = mapping->at.addr;
    if (mapping->at.addr + mapping->at.bytes < end) end = mapping->at.addr + mapping->at.bytes;
    if (from < end && survey->parts < PARTS)
        survey->part[survey->parts++] = (struct range){.addr = from, .bytes = end - from};
}

/* Reads the kernel's list once: which ranges are still what they were, and what of [from, end) can be moved. */
static bool look(struct survey *survey, uint64_t from, uint64_t end)
{
    static struct reader reader;
    struct mapping last = {0}, mapping;
    uint64_t inode = our_inode();
    char line[256];
    bool has_last = false;

    survey->parts = survey->mappeds = 0;
    survey->whole = true;
    reader = (struct reader){.fd = RAW(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0)};
    if (reader.fd < 0 || !inode) return false;
    while (read_line(&reader, line, sizeof line)) {
        if (!parse(line, &mapping)) continue;
        if (mapping.inode == inode && survey->mappeds == RANGES) survey->whole = false;
        if (mapping.inode == inode && survey->mappeds < RANGES) survey->mapped[survey->mappeds++] = mapping.at;
        /* a heap of libc beside the first: aligned, with a part behind it that is not yet in use */
        bool heap = has_last && last.at.addr % HEAP_ALIGN == 0 && mapping.none &&
                    mapping.at.addr == last.at.addr + last.at.bytes;
        if (has_last && !heap) consider(survey, &last, from, end);
        last = mapping;
        has_last = true;
    }
    if (has_last) consider(survey, &last, from, end);
    RAW(SYS_close, reader.fd, 0, 0, 0, 0, 0);
    return true;
}

static bool alone(void)
{
    struct stat is;

    /* a folder for each thread, and two names of folders; our own thread does not write */
    return attached.is_virtual || (stat("/proc/self/task", &is) == 0 && is.st_nlink == 3u + attached.watched);
}

static struct survey survey;

static void move_all(void)
{
    long pages_fd;

    if (survey.parts == 0) return;
    pages_fd = RAW(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0, 0, 0);
    for (uint32_t i = 0; i < survey.parts; i++)
        move(survey.part[i].addr, survey.part[i].bytes, pages_fd);
    if (pages_fd >= 0) RAW(SYS_close, pages_fd, 0, 0, 0, 0, 0);
}

void adopt_memory(void *addr, uint64_t bytes)
{
    uint64_t from = (uintptr_t)addr & ~(PAGE - 1), end = ((uintptr_t)addr + bytes + PAGE - 1) & ~(PAGE - 1);
    bool moves = alone(), locked;

    if (attached.adopted_fd < 0 || bytes == 0 || end <= from || (!moves && ranges == 0)) return;
    locked = adopt_lock();
    if (look(&survey, from, end)) {
        reconcile(&survey); /* also where nothing can be moved: the fabric must not take it for what it was */
        if (moves) move_all();
    }
    adopt_unlock(locked);
}

/* What is still there of a range is taken back. */
static void take_back_mapped(const struct range *known)
{
    uint64_t at = known->addr;
    struct range left;

    if (!survey.whole) { /* not all can be known */
        take_back(known);
        return;
    }
    while ((left = still_mapped(&survey, known, at)).bytes > 0) {
        take_back(&left);
        at = left.addr + left.bytes;
    }
}

/* In a child, before the parent goes on: what they would share becomes the child's own. */
void adopt_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread may have had it */
    if (ranges && look(&survey, 0, 0))
        for (uint32_t i = 0; i < ranges; i++)
            take_back_mapped(&range[i]);
    ranges = holes = 0;
    used = 0;
}

/* --- what the program does with its memory --- */

static bool overlaps(const struct range *moved, uint64_t from, uint64_t bytes)
{
    return moved->addr < from + bytes && from < moved->addr + moved->bytes;
}

/* Makes what is moved of [addr, addr + bytes) the process's own again. */
static void release(const void *addr, uint64_t bytes)
{
    uint64_t from = (uintptr_t)addr;
    bool any = false, locked;

    for (uint32_t i = 0; i < ranges; i++)
        any |= overlaps(&range[i], from, bytes);
    if (!any || turn_enter() < 0) return;
    locked = adopt_lock();
    bool looked = look(&survey, 0, 0);
    for (uint32_t i = ranges; looked && i-- > 0;) {
        if (!overlaps(&range[i], from, bytes)) continue;
        struct range back = range[i];
        take_back_mapped(&back);
        range[i] = range[--ranges];
        tell(ATTACH_OP_RELEASE, back);
        give_back(back.offset, back.bytes);
    }
    adopt_unlock(locked);
    turn_leave();
}

/* Pages that the program does not need any more are zero from now on. */
static void empty(const void *addr, uint64_t bytes)
{
    uint64_t from = (uintptr_t)addr, end = (from + bytes + PAGE - 1) & ~(PAGE - 1);

    if (from % PAGE) return; /* the kernel refuses it */
    for (uint32_t i = 0; i < ranges; i++) {
        uint64_t first = range[i].addr > from ? range[i].addr : from;
        uint64_t last = range[i].addr + range[i].bytes < end ? range[i].addr + range[i].bytes : end;

        if (first < last) punch(range[i].offset + (first - range[i].addr), last - first);
    }
}

static bool is_moved(const void *at)
{
    for (uint32_t i = 0; i < ranges; i++)
        if (contains(&range[i], (uintptr_t)at)) return true;
    return false;
}

EXPORT void *realloc(void *block, size_t bytes)
{
    size_t had;
    void *copy;

    if (ranges == 0 || !block || bytes == 0 || !is_moved(block)) return REAL(realloc)(block, bytes);
    had = malloc_usable_size(block);
    copy = malloc(bytes);
    if (!copy) return NULL;
    memcpy(copy, block, had < bytes ? had : bytes);
    free(block);
    return copy;
}

EXPORT void *mremap(void *addr, size_t bytes, size_t new_bytes, int flags, ...)
{
    va_list list;
    void *to;

    va_start(list, flags);
    to = va_arg(list, void *);
    va_end(list);
    if (ranges) release(addr, bytes);
    return (void *)as_libc(RAW(SYS_mremap, addr, bytes, new_bytes, flags, to, 0));
}

EXPORT int madvise(void *addr, size_t bytes, int advice)
{
    if (ranges && advice == MADV_DONTNEED) empty(addr, bytes);
    if (ranges && advice == MADV_FREE && is_moved(addr)) return 0; /* nobody is promised when */
    return (int)as_libc(RAW(SYS_madvise, addr, bytes, advice, 0, 0, 0));
}
