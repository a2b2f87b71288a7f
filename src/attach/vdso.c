/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks that the kernel maps into every program (vDSO): their first bytes become jumps to ours.
 *
 * libc reads clocks through them from inside itself, and some libraries find them without libc, so to stand before
 * clock_gettime() is not enough.  With the time stamp counter trapped they would also answer the kernel's last tick,
 * in real time.  The pages are the process's own copy once they are written.
 *
 * Whoever comes this way may hold a lock of libc: no turn is given back here.
 */
#include "attach/attach_int.h"

#if defined(__x86_64__)

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>

#define PAGE 4096u
#define JUMP_BYTES 12u

static bool is_virtual_here(void)
{
    if (managed()) return true;
    if (attached.is_virtual && !self) attached.head->counters.real_clock++;
    return false;
}

static int clock_of_vdso(clockid_t clock, struct timespec *ret)
{
    if (is_virtual_here()) return clock_virtual_get(clock, ret, false);
    return (int)RAW(SYS_clock_gettime, clock, ret, 0, 0, 0, 0);
}

static int day_of_vdso(struct timeval *ret, struct timezone *zone)
{
    struct timespec at;

    if (zone) *zone = (struct timezone){0};
    clock_of_vdso(CLOCK_REALTIME, &at);
    if (ret) *ret = (struct timeval){.tv_sec = at.tv_sec, .tv_usec = at.tv_nsec / 1000};
    return 0;
}

static time_t time_of_vdso(time_t *ret)
{
    struct timespec at;

    clock_of_vdso(CLOCK_REALTIME, &at);
    if (ret) *ret = at.tv_sec;
    return at.tv_sec;
}

static int cpu_of_vdso(unsigned *cpu, unsigned *node, void *unused)
{
    if (!attached.is_virtual) return (int)RAW(SYS_getcpu, cpu, node, unused, 0, 0, 0);
    if (cpu) *cpu = 0;
    if (node) *node = 0;
    return 0;
}

/* What the kernel says of the memory it wants for its generator, when asked with a length of -1. */
struct random_wants {
    uint32_t bytes, prot, flags, reserved[13];
};

static ssize_t random_of_vdso(void *ret, size_t bytes, unsigned flags, void *state, size_t state_bytes)
{
    if (state_bytes == SIZE_MAX) {
        *(struct random_wants *)state =
            (struct random_wants){.bytes = 256, .prot = PROT_READ | PROT_WRITE, .flags = MAP_PRIVATE | MAP_ANONYMOUS};
        return 0;
    }
    if (!managed()) return RAW(SYS_getrandom, ret, bytes, flags, 0, 0, 0);
    identity_bytes(ret, bytes);
    return (ssize_t)bytes;
}

static const struct {
    const char *name;
    any_function function;
} replaced[] = {
    {"__vdso_clock_gettime", (any_function)clock_of_vdso}, {"__vdso_gettimeofday", (any_function)day_of_vdso},
    {"__vdso_time", (any_function)time_of_vdso},           {"__vdso_clock_getres", (any_function)clock_getres},
    {"__vdso_getcpu", (any_function)cpu_of_vdso},          {"__vdso_getrandom", (any_function)random_of_vdso},
};

struct vdso {
    const uint8_t *base;
    size_t bytes;
    const ElfW(Sym) * symbol;
    const char *name;
    uint32_t symbols;
};

static void read_dynamic(struct vdso *vdso, const ElfW(Dyn) * at)
{
    for (; at->d_tag != DT_NULL; at++) {
        const uint8_t *there = vdso->base + at->d_un.d_ptr;

        if (at->d_tag == DT_SYMTAB) vdso->symbol = (const void *)there;
        if (at->d_tag == DT_STRTAB) vdso->name = (const void *)there;
        if (at->d_tag == DT_HASH) vdso->symbols = ((const uint32_t *)(const void *)there)[1];
        if (at->d_tag == DT_GNU_HASH && vdso->symbols == 0)
            vdso->symbols = 64; /* it does not say: names end the search */
    }
}

static bool find(struct vdso *vdso)
{
    const ElfW(Ehdr) *head = (const void *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Phdr) * part;
    const ElfW(Dyn) *dynamic = NULL;

    if (!head) return false;
    *vdso = (struct vdso){.base = (const void *)head};
    part = (const void *)(vdso->base + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (part[i].p_type == PT_LOAD) vdso->bytes = part[i].p_offset + part[i].p_memsz;
        if (part[i].p_type == PT_DYNAMIC) dynamic = (const void *)(vdso->base + part[i].p_offset);
    }
    if (dynamic) read_dynamic(vdso, dynamic);
    return vdso->symbol && vdso->name && vdso->symbols;
}

static void write_jump(uint8_t *at, any_function function)
{
    uint64_t to = (uintptr_t)function;

    at[0] = 0x48, at[1] = 0xb8; /* movabs to, %rax */
    memcpy(at + 2, &to, sizeof to);
    at[10] = 0xff, at[11] = 0xe0; /* jmp *%rax */
}

static unsigned replace(const struct vdso *vdso)
{
    unsigned done = 0;

    for (uint32_t i = 0; i < vdso->symbols; i++) {
        const ElfW(Sym) *symbol = &vdso->symbol[i];

        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_value + JUMP_BYTES > vdso->bytes) continue;
        for (size_t k = 0; k < sizeof replaced / sizeof *replaced; k++)
            if (strcmp(vdso->name + symbol->st_name, replaced[k].name) == 0) {
                write_jump((uint8_t *)(uintptr_t)(vdso->base + symbol->st_value), replaced[k].function);
                done++;
            }
    }
    return done;
}

void clock_start(void)
{
    struct vdso vdso;
    void *page;
    size_t bytes;

    if (!find(&vdso)) return;
    page = (void *)(uintptr_t)vdso.base;
    bytes = (vdso.bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (RAW(SYS_mprotect, page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0) < 0 || replace(&vdso) == 0)
        session_not_virtual(
            "the kernel's own clock functions (vDSO) cannot be replaced: libc reads real time inside itself");
    RAW(SYS_mprotect, page, bytes, PROT_READ | PROT_EXEC, 0, 0, 0);
}

#else

void clock_start(void)
{
}

#endif
