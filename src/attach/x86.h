/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of an x86-64 instruction: prefixes, and where its operand is.  For stores.c and interpret.c.
 *
 * Bytes are read only as far as those before them say that there are more.
 */
#ifndef ROCELAB_ATTACH_X86_H
#define ROCELAB_ATTACH_X86_H

#include <stdbool.h>
#include <stdint.h>

struct instruction {
    const uint8_t *at; /* the byte that is read next */
    const uint64_t *reg;
    uint64_t thread_base;
    bool wide, narrow;      /* REX.W; the prefix 66 */
    bool repeats, repeats2; /* the prefixes f3, f2 */
    bool thread, foreign;   /* segments fs; gs */
    bool vex, vex_256;
    bool has_rex;
    uint8_t rex; /* R, X, B as bits 2, 1, 0 */
    uint8_t opcode;
    /* of the ModRM byte */
    uint8_t mod, low;
    uint8_t number; /* number: the middle field, an opcode's extension or a register */
    bool relative;  /* to the next instruction */
    uint64_t addr;
};

static inline int32_t read_i32(const uint8_t *at)
{
    return (int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

/* The ModRM byte, a SIB byte and a displacement, where they are. */
static inline void read_operand(struct instruction *in)
{
    uint8_t modrm = *in->at++, low = modrm & 7;
    uint64_t base;

    in->mod = modrm >> 6;
    in->number = modrm >> 3 & 7;
    in->low = low;
    if (in->mod == 3) return;
    if (low == 4) {
        uint8_t sib = *in->at++, index = (uint8_t)((sib >> 3 & 7) | (in->rex & 2) << 2);

        low = sib & 7;
        base = low == 5 && in->mod == 0 ? (uint64_t)(int64_t)read_i32(in->at) : in->reg[low | (in->rex & 1) << 3];
        if (low == 5 && in->mod == 0) in->at += 4;
        if (index != 4) base += in->reg[index] << (sib >> 6);
    } else if (low == 5 && in->mod == 0) {
        base = (uint64_t)(int64_t)read_i32(in->at);
        in->at += 4;
        in->relative = true;
    } else {
        base = in->reg[low | (in->rex & 1) << 3];
    }
    if (in->mod == 1) base += (uint64_t)(int64_t)(int8_t)*in->at++;
    if (in->mod == 2) {
        base += (uint64_t)(int64_t)read_i32(in->at);
        in->at += 4;
    }
    in->addr = base + (in->thread ? in->thread_base : 0);
}

static inline uint32_t operand_bytes(const struct instruction *in)
{
    return in->wide ? 8 : in->narrow ? 2 : 4;
}

/* Its address, where it is in memory; `immediate` bytes follow what was read. */
static inline uint64_t operand_addr(const struct instruction *in, uint32_t immediate)
{
    return in->addr + (in->relative ? (uintptr_t)in->at + immediate : 0);
}

/* Prefixes, up to the opcode's first byte.  False: one that changes addresses in a way that is not followed. */
static inline bool read_prefixes(struct instruction *in)
{
    for (unsigned i = 0; i < 14; i++, in->at++) {
        switch (*in->at) {
        case 0x66:
            in->narrow = true;
            continue;
        case 0xf2:
            in->repeats2 = true;
            continue;
        case 0xf3:
            in->repeats = true;
            continue;
        case 0x64:
            in->thread = true;
            continue;
        case 0x65:
            in->foreign = true;
            continue;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0xf0:
            continue;
        case 0x67:
            return false;
        default:
            break;
        }
        if ((*in->at & 0xf0) != 0x40) return true;
        in->has_rex = true;
        in->rex = *in->at & 7;
        in->wide = *in->at & 8;
        in->at++;
        return true;
    }
    return false;
}

#endif
