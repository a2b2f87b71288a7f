/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program's file says about running it with a library put before it.
 */
#ifndef ROCELAB_CLI_RUN_ELF_H
#define ROCELAB_CLI_RUN_ELF_H

struct run_elf {
    const char *obstacle; /* why the dynamic linker would not load our library; NULL: it will */
    char sanitizer[128];  /* the library that wants to be before all others; "": none */
};

/* A file that cannot be read, or is no ELF file, has no obstacle: the kernel may know better. */
void run_elf_read(const char *path, struct run_elf *ret);

#endif
