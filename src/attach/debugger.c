/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debuggers: programs that trace others, and what differs in a program that is traced.
 *
 * A debugger talks with the kernel about its program in pids and waits of the kernel's own, and at any time: virtual
 * ones would make the two wait for each other.  So it takes no turns.  The fabric holds its time until the debugger
 * has a program that attaches, and again when that has ended; one that is stopped has kept its turn, and fabric time
 * stands still.  What a debugger starts for itself (gdb asks iconv for its character sets, `shell`) is not traced, and
 * does not attach: it would wait for a turn that the stopped program has.  perf imports ptrace() and traces nobody:
 * what it starts attaches if it is linked with verbs.
 *
 * A debugger is known before it has done anything by what it calls: its executable imports ptrace().  One of which a
 * library calls it, or that is linked statically, is not known.
 *
 * In a traced program the kernel stops the debugger's user at each SIGTRAP and SIGSEGV, so loops are not stepped and
 * the time stamp counter does not trap.
 */
#include "attach/attach_int.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct dynamic { /* of the program's executable; addresses */
    ElfW(Addr) symbols, strings, plt, rela;
    size_t plt_bytes, rela_bytes;
};

static void read_dynamic(const ElfW(Dyn) * at, struct dynamic *ret)
{
    for (; at->d_tag != DT_NULL; at++)
        switch (at->d_tag) {
        case DT_SYMTAB:
            ret->symbols = at->d_un.d_ptr;
            break;
        case DT_STRTAB:
            ret->strings = at->d_un.d_ptr;
            break;
        case DT_JMPREL:
            ret->plt = at->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            ret->plt_bytes = at->d_un.d_val;
            break;
        case DT_RELA:
            ret->rela = at->d_un.d_ptr;
            break;
        case DT_RELASZ:
            ret->rela_bytes = at->d_un.d_val;
            break;
        default:
            break;
        }
}

static bool names_ptrace(const struct dynamic *of, ElfW(Addr) table, size_t bytes)
{
    const ElfW(Rela) *at = (const ElfW(Rela) *)table;
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)of->symbols;

    for (size_t i = 0; at && i < bytes / sizeof *at; i++)
        if (strcmp((const char *)of->strings + symbols[at[i].r_info >> 32].st_name, "ptrace") == 0) return true;
    return false;
}

struct executable {
    bool traces; /* imports ptrace() */
    bool verbs;  /* is linked with a library of verbs */
};

static bool needs_verbs(const struct dynamic *of, const ElfW(Dyn) * at)
{
    for (; at->d_tag != DT_NULL; at++) {
        const char *name = (const char *)of->strings + at->d_un.d_val;

        if (at->d_tag == DT_NEEDED && (strstr(name, "libibverbs.so") || strstr(name, "librdmacm.so"))) return true;
    }
    return false;
}

/* The first object is the executable. */
static int look_at_first(struct dl_phdr_info *info, size_t bytes, void *there)
{
    struct executable *ret = there;

    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Dyn) *at = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        struct dynamic dynamic = {0};

        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        read_dynamic(at, &dynamic);
        if (!dynamic.symbols || !dynamic.strings) continue;
        ret->traces = names_ptrace(&dynamic, dynamic.plt, dynamic.plt_bytes) ||
                      names_ptrace(&dynamic, dynamic.rela, dynamic.rela_bytes);
        ret->verbs = needs_verbs(&dynamic, at);
    }
    return 1;
}

static struct executable executable(void)
{
    struct executable found = {0};

    if (sizeof(ElfW(Addr)) == 8) dl_iterate_phdr(look_at_first, &found);
    return found;
}

bool debugger_is(void)
{
    return executable().traces;
}

bool debugger_wants_it(void)
{
    return debugger_traces() || executable().verbs;
}

/* As if the fabric were no more, but for its own children. */
void debugger_leaves(void)
{
    tsc_stop(); /* what it was before exec() may have made it trap */
    self->why = ATTACH_DEBUGS;
    turn_hand_over();
    attached.is_virtual = false;
    attached.gone = true;
}

bool debugger_traces(void)
{
    static const char name[] = "\nTracerPid:\t";
    char text[1024];
    const char *at;
    long fd = RAW(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0), bytes;

    if (fd < 0) return false;
    bytes = RAW(SYS_read, fd, text, sizeof text - 1, 0, 0, 0);
    RAW(SYS_close, fd, 0, 0, 0, 0, 0);
    if (bytes <= 0) return false;
    text[bytes] = '\0';
    at = strstr(text, name);
    return at && at[sizeof name - 1] != '0';
}
