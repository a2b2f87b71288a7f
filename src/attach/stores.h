/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an instruction of an x86-64 program would do to memory: stores.c.
 */
#ifndef ROCELAB_ATTACH_STORES_H
#define ROCELAB_ATTACH_STORES_H

#include <stdbool.h>
#include <stdint.h>

enum stores_kind {
    STORES_UNKNOWN, /* not known, or it leaves the program: a system call, a counter, random bits */
    STORES_NOTHING, /* registers and flags alone */
    STORES_MEMORY,  /* `bytes` at `addr` */
};

struct stores {
    enum stores_kind kind;
    bool vector; /* registers beyond the sixteen are read or written */
    uint64_t addr;
    uint32_t bytes;
};

/* The instruction at `at`, with these registers: in the order of instructions (rax, rcx, rdx, rbx, rsp, ...). */
struct stores stores_decode(const uint8_t *at, const uint64_t reg[16], uint64_t thread_base);

#endif
