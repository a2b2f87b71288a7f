/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the head, the program headers and the dynamic section of an ELF file, as far as `rocelab run` needs them.
 *
 * A preload does not reach static programs, other C libraries, and programs that the kernel starts in secure mode:
 * set-user-id, set-group-id, or with file capabilities (then the dynamic linker ignores LD_PRELOAD).  The runtime of
 * AddressSanitizer, where it is a library, refuses to start unless it is first; those of the others want to be.
 *
 * Scripts are not followed.  Nothing found in the file is trusted: reads past its end find nothing.
 */
#include "cli/programs/run_elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DYNAMIC_MOST 4096u /* entries looked at */

static bool read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool part_read(int fd, const Elf64_Ehdr *header, unsigned i, Elf64_Phdr *ret)
{
    return i < header->e_phnum && read_at(fd, ret, sizeof *ret, header->e_phoff + (uint64_t)i * header->e_phentsize);
}

static bool part_find(int fd, const Elf64_Ehdr *header, uint32_t type, Elf64_Phdr *ret)
{
    for (unsigned i = 0; part_read(fd, header, i, ret); i++)
        if (ret->p_type == type) return true;
    return false;
}

/* Where in the file an address of the loaded program lies; 0: nowhere. */
static uint64_t file_offset(int fd, const Elf64_Ehdr *header, uint64_t address)
{
    Elf64_Phdr part;

    for (unsigned i = 0; part_read(fd, header, i, &part); i++)
        if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
            return address - part.p_vaddr + part.p_offset;
    return 0;
}

static const char *elf_obstacle(int fd, const Elf64_Ehdr *header)
{
    char interpreter[256] = "";
    Elf64_Phdr part;

    if (header->e_ident[EI_CLASS] != ELFCLASS64) return "it is a 32-bit program, and the library has 64";
    if (!part_find(fd, header, PT_INTERP, &part) ||
        pread(fd, interpreter, sizeof interpreter - 1, (off_t)part.p_offset) <= 0)
        return "it is statically linked: a library cannot be put before it";
    return strstr(interpreter, "ld-linux") ? NULL : "it uses another C library than glibc";
}

static bool is_sanitizer(const char *name)
{
    static const char *const begins[] = {"libasan.so", "libtsan.so", "liblsan.so", "libclang_rt.asan",
                                         "libclang_rt.tsan"};

    for (unsigned i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

static void find_sanitizer(int fd, const Elf64_Ehdr *header, struct run_elf *ret)
{
    Elf64_Phdr dynamic;
    Elf64_Dyn entry;
    uint64_t strings = 0;

    if (!part_find(fd, header, PT_DYNAMIC, &dynamic)) return;
    for (unsigned i = 0; i < DYNAMIC_MOST && strings == 0; i++) {
        if (!read_at(fd, &entry, sizeof entry, dynamic.p_offset + i * sizeof entry) || entry.d_tag == DT_NULL) return;
        if (entry.d_tag == DT_STRTAB) strings = file_offset(fd, header, entry.d_un.d_ptr);
    }
    for (unsigned i = 0; i < DYNAMIC_MOST; i++) {
        char name[sizeof ret->sanitizer] = "";

        if (!read_at(fd, &entry, sizeof entry, dynamic.p_offset + i * sizeof entry) || entry.d_tag == DT_NULL) return;
        if (entry.d_tag != DT_NEEDED) continue;
        if (pread(fd, name, sizeof name - 1, (off_t)(strings + entry.d_un.d_val)) <= 0 || !is_sanitizer(name)) continue;
        snprintf(ret->sanitizer, sizeof ret->sanitizer, "%s", name);
        return;
    }
}

/* What the kernel starts in secure mode. */
static const char *privileged(int fd, const struct stat *is)
{
    struct statvfs system;

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return NULL; /* then the file's marks mean nothing */
    if (fstatvfs(fd, &system) == 0 && system.f_flag & ST_NOSUID) return NULL;
    if (((is->st_mode & S_ISUID) && is->st_uid != getuid()) || ((is->st_mode & S_ISGID) && is->st_gid != getgid()))
        return "it is set-user-id or set-group-id: a library cannot be put before it";
    if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "it has file capabilities: a library cannot be put before it; run a copy (cp leaves them behind)";
    return NULL;
}

void run_elf_read(const char *path, struct run_elf *ret)
{
    Elf64_Ehdr header;
    struct stat is;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *ret = (struct run_elf){0};
    if (fd < 0) return;
    if (fstat(fd, &is) == 0) ret->obstacle = privileged(fd, &is);
    if (ret->obstacle == NULL && read_at(fd, &header, sizeof header, 0) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
        ret->obstacle = elf_obstacle(fd, &header);
        if (ret->obstacle == NULL) find_sanitizer(fd, &header, ret);
    }
    close(fd);
}
