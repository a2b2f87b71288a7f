/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's memory, as the fabric reaches it.
 *
 * Where the library has moved pages of a program into the memory that the fabric has made for it, they are mapped here
 * too and a copy is a memcpy.  All other memory is reached through the kernel, which says what is not there.  The
 * memory is a file that cannot become shorter, so what is mapped stays: a program can only fill it with what it likes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/grow.h"
#include "up/objects/objects.h"

#define ADOPTED_BYTES (1ULL << 36) /* of address space, for a process: pages that nobody touches cost nothing */
#define RANGES_MAX 65536u
#define PAGE_MASK 4095u

struct up_range {
    uint64_t addr, bytes, offset;
};

struct up_adopted {
    uint8_t *base;
    struct up_range *range; /* by address, apart from each other */
    uint32_t count, room;
    uint32_t last; /* the one found last */
};

static int make_memory(void)
{
    int fd = memfd_create("rocelab-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0) return -errno;
    if (ftruncate(fd, (off_t)ADOPTED_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    int error = -errno;
    close(fd);
    return error;
}

int adopt_init(struct up_process *process)
{
    struct up_adopted *adopted = calloc(1, sizeof *adopted);

    process->adopted_fd = -1;
    if (adopted == NULL) return -ENOMEM;
    int fd = make_memory();
    void *base =
        fd < 0 ? MAP_FAILED : mmap(NULL, ADOPTED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        int error = fd < 0 ? fd : -errno;
        if (fd >= 0) close(fd);
        free(adopted);
        return error;
    }
    adopted->base = base;
    process->adopted_fd = fd;
    process->adopted = adopted;
    return 0;
}

void adopt_release(struct up_process *process)
{
    struct up_adopted *adopted = process->adopted;

    if (process->adopted_fd >= 0) close(process->adopted_fd);
    process->adopted_fd = -1;
    process->adopted = NULL;
    if (adopted == NULL) return;
    munmap(adopted->base, ADOPTED_BYTES);
    free(adopted->range);
    free(adopted);
}

/* The first range that ends behind the address; count: none. */
static uint32_t find(const struct up_adopted *adopted, uint64_t addr)
{
    uint32_t low = 0, high = adopted->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct up_range *range = &adopted->range[middle];
        if (range->addr + range->bytes <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert(struct up_adopted *adopted, uint32_t at, struct up_range range)
{
    if (adopted->count >= RANGES_MAX || !GROW(adopted->range, adopted->count, adopted->room)) return -ENOMEM;
    memmove(adopted->range + at + 1, adopted->range + at, (adopted->count - at) * sizeof *adopted->range);
    adopted->range[at] = range;
    adopted->count++;
    return 0;
}

/* [addr, end) is no longer adopted. */
static int cut(struct up_adopted *adopted, uint64_t addr, uint64_t end)
{
    uint32_t at = find(adopted, addr);

    while (at < adopted->count && adopted->range[at].addr < end) {
        struct up_range range = adopted->range[at];
        uint64_t range_end = range.addr + range.bytes;
        if (range_end > end) { /* what is behind stays */
            const struct up_range rest = {end, range_end - end, range.offset + (end - range.addr)};
            if (range.addr >= addr) {
                adopted->range[at] = rest;
                return 0;
            }
            int error = insert(adopted, at + 1, rest);
            if (error < 0) return error;
        }
        if (range.addr < addr) {
            adopted->range[at++].bytes = addr - range.addr;
            continue;
        }
        memmove(adopted->range + at, adopted->range + at + 1, (adopted->count - at - 1) * sizeof *adopted->range);
        adopted->count--;
    }
    return 0;
}

int adopt_request(struct up_process *process, struct attach_request *request)
{
    struct up_adopted *adopted = process->adopted;
    struct attach_adopt asked;

    memcpy(&asked, request->data, sizeof asked);
    if (adopted == NULL) return -EOPNOTSUPP;
    if ((asked.addr | asked.bytes | asked.offset) & PAGE_MASK || asked.bytes == 0) return -EINVAL;
    if (asked.addr + asked.bytes < asked.addr) return -EINVAL;
    int error = cut(adopted, asked.addr, asked.addr + asked.bytes);
    if (error < 0 || request->op == ATTACH_OP_RELEASE) return error;
    if (!range_within(asked.offset, asked.bytes, 0, ADOPTED_BYTES)) return -EINVAL;
    return insert(adopted, find(adopted, asked.addr), (struct up_range){asked.addr, asked.bytes, asked.offset});
}

/* Where the address is mapped here, and for how many bytes it is so or is not; NULL: it is not. */
static uint8_t *mapped(const struct up_process *process, uint64_t addr, uint64_t *bytes)
{
    struct up_adopted *adopted = process->adopted;

    if (adopted == NULL || adopted->count == 0) return NULL;
    uint32_t at = adopted->last;
    if (at >= adopted->count || addr - adopted->range[at].addr >= adopted->range[at].bytes)
        at = adopted->last = find(adopted, addr);
    if (at == adopted->count) return NULL;
    const struct up_range *range = &adopted->range[at];
    if (addr < range->addr) {
        if (range->addr - addr < *bytes) *bytes = range->addr - addr;
        return NULL;
    }
    uint64_t left = range->bytes - (addr - range->addr);
    if (left < *bytes) *bytes = left;
    return adopted->base + range->offset + (addr - range->addr);
}

static bool through_kernel(const struct up_process *process, uint64_t addr, void *own, uint64_t bytes, bool writes)
{
    const struct iovec local = {.iov_base = own, .iov_len = bytes};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
    ssize_t moved = writes ? process_vm_writev(process->pid, &local, 1, &remote, 1, 0)
                           : process_vm_readv(process->pid, &local, 1, &remote, 1, 0);

    return moved >= 0 && (uint64_t)moved == bytes;
}

bool up_memory_read(struct device *device, uint64_t addr, void *to, uint64_t bytes)
{
    const struct up_process *process = device->process;
    uint8_t *own = to;

    while (bytes) {
        uint64_t part = bytes;
        const uint8_t *at = mapped(process, addr, &part);
        if (at)
            memcpy(own, at, part);
        else if (!through_kernel(process, addr, own, part, false))
            return false;
        addr += part;
        own += part;
        bytes -= part;
    }
    return true;
}

bool up_memory_write(struct device *device, uint64_t addr, const void *from, uint64_t bytes)
{
    const struct up_process *process = device->process;
    const uint8_t *own = from;

    while (bytes) {
        uint64_t part = bytes;
        uint8_t *at = mapped(process, addr, &part);
        if (at)
            memcpy(at, own, part);
        else if (!through_kernel(process, addr, (void *)(uintptr_t)own, part, true))
            return false;
        addr += part;
        own += part;
        bytes -= part;
    }
    return true;
}

/* With the virtual clock the program stands.  With the real one it runs: then the bytes are changed in one piece where
 * they are mapped, and elsewhere only as well as that can be done from outside. */
bool up_memory_atomic(struct device *device, uint64_t addr, uint8_t verb, uint64_t compare, uint64_t swap,
                      uint64_t *ret_original)
{
    uint64_t bytes = 8, original = compare;
    void *at = mapped(device->process, addr, &bytes);

    if (at && bytes == 8 && ((uintptr_t)at & 7) == 0) {
        uint64_t *word = at;
        if (verb == NIC_CAS)
            __atomic_compare_exchange_n(word, &original, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        else
            original = __atomic_fetch_add(word, swap, __ATOMIC_SEQ_CST);
        *ret_original = original;
        return true;
    }
    if (!up_memory_read(device, addr, &original, 8)) return false;
    *ret_original = original;
    if (verb == NIC_CAS && original != compare) return true;
    uint64_t changed = verb == NIC_CAS ? swap : original + swap;
    return up_memory_write(device, addr, &changed, 8);
}
