/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a piece of an x86-64 program would do, without doing it: interpret.c.
 */
#ifndef ROCELAB_ATTACH_INTERPRET_H
#define ROCELAB_ATTACH_INTERPRET_H

#include <stdbool.h>
#include <stdint.h>

#define INTERPRET_WORDS 64u /* of memory that may be stored to */

/* Flags that are followed: carry, parity, zero, sign, overflow. */
#define INTERPRET_FLAGS 0x8c5u

struct machine {
    uint64_t reg[16]; /* in the order of instructions: rax, rcx, rdx, rbx, rsp, ... */
    uint64_t rip, flags, thread_base;
    struct {
        uint64_t addr, value; /* a word of eight bytes; as it would be */
    } word[INTERPRET_WORDS];
    uint32_t words;
};

/* One instruction.  False: it is not one that is understood.  Loads are real: who calls catches faults. */
bool interpret_step(struct machine *machine);
/* Whether memory would be as it is. */
bool interpret_changes_nothing(struct machine *machine);

#endif
