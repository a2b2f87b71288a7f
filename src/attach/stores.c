/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one instruction of an x86-64 program would store: where, and how many bytes.
 *
 * For spin.c, which must know of every store in a loop.  It is not a disassembler: lengths are needed only where an
 * address is relative to the next instruction.  The rule is caution: what is not in the tables, has a form that
 * compilers do not emit in loops (string stores, stores by bit number, EVEX), leaves the program or has an answer of
 * its own (system calls, counters, random bits) is unknown, and a loop with it is not judged.
 *
 * Tables after the opcode maps of Intel's manual, volume 2, appendix A.
 */
#include "attach/stores.h"

#if defined(__x86_64__)

#include "attach/x86.h"

static const struct stores unknown = {.kind = STORES_UNKNOWN};
static const struct stores nothing = {.kind = STORES_NOTHING};
static const struct stores vector_nothing = {.kind = STORES_NOTHING, .vector = true};

/* A store to the operand that was read; `immediate` bytes follow it. */
static struct stores store(const struct instruction *in, uint32_t bytes, uint32_t immediate)
{
    struct stores stores = {.kind = STORES_MEMORY, .bytes = bytes};

    if (in->mod == 3) return nothing;
    if (in->foreign) return unknown;
    stores.addr = operand_addr(in, immediate);
    return stores;
}

static struct stores push(const struct instruction *in)
{
    if (in->narrow) return unknown;
    return (struct stores){.kind = STORES_MEMORY, .addr = in->reg[4] - 8, .bytes = 8};
}

static uint32_t immediate_bytes(const struct instruction *in)
{
    return in->narrow ? 2 : 4;
}

/* Opcodes of one byte whose middle field says what they do. */
static struct stores group(struct instruction *in)
{
    uint32_t bytes = in->opcode & 1 ? operand_bytes(in) : 1;

    read_operand(in);
    switch (in->opcode) {
    case 0x80:
    case 0x81:
    case 0x83: /* arithmetic with an immediate; 7 compares */
        return in->number == 7 ? nothing : store(in, bytes, in->opcode == 0x81 ? immediate_bytes(in) : 1);
    case 0xc0:
    case 0xc1:
        return store(in, bytes, 1);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return store(in, bytes, 0);
    case 0xc6:
    case 0xc7:
        return in->number ? unknown : store(in, bytes, in->opcode == 0xc6 ? 1 : immediate_bytes(in));
    case 0xf6:
    case 0xf7: /* not, neg */
        return in->number == 2 || in->number == 3 ? store(in, bytes, 0) : nothing;
    case 0xfe:
        return in->number < 2 ? store(in, 1, 0) : unknown;
    default: /* 0xff */
        if (in->number < 2) return store(in, bytes, 0);
        if (in->number == 2 || in->number == 6) return push(in);
        return in->number == 4 ? nothing : unknown;
    }
}

static struct stores one_byte(struct instruction *in)
{
    uint8_t op = in->opcode;

    if (op < 0x40) { /* arithmetic: to the operand, from it, with an immediate */
        if ((op & 7) > 5) return unknown;
        if ((op & 7) > 1 || op >= 0x38) return nothing;
        read_operand(in);
        return store(in, op & 1 ? operand_bytes(in) : 1, 0);
    }
    if (op >= 0x50 && op <= 0x57) return push(in);
    if (op == 0x68 || op == 0x6a || op == 0xe8) return push(in);
    if (op >= 0x80 && op <= 0x83 && op != 0x82) return group(in);
    if (op == 0x86 || op == 0x87 || op == 0x88 || op == 0x89) { /* xchg, mov */
        read_operand(in);
        return store(in, op & 1 ? operand_bytes(in) : 1, 0);
    }
    if ((op >= 0xd0 && op <= 0xd3) || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || op == 0xf6 ||
        op == 0xf7 || op == 0xfe || op == 0xff)
        return group(in);
    if ((op >= 0x58 && op <= 0x5f) || op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x70 && op <= 0x7f))
        return nothing;
    if (op == 0x84 || op == 0x85 || op == 0x8a || op == 0x8b || op == 0x8d) return nothing;
    if ((op >= 0x90 && op <= 0x99) || op == 0x9e || op == 0x9f || op == 0xa0 || op == 0xa1) return nothing;
    if (op == 0xa6 || op == 0xa7 || op == 0xa8 || op == 0xa9 || (op >= 0xac && op <= 0xbf)) return nothing;
    if (op == 0xc2 || op == 0xc3 || op == 0xc9 || op == 0xd7 || (op >= 0xe0 && op <= 0xe3)) return nothing;
    if (op == 0xe9 || op == 0xeb || op == 0xf5 || op == 0xf8 || op == 0xf9 || op == 0xfc || op == 0xfd) return nothing;
    return unknown;
}

/* Stores of vector registers, with or without VEX; 0: `op` is none. */
static uint32_t vector_store_bytes(const struct instruction *in, uint8_t op)
{
    uint32_t whole = in->vex_256 ? 32 : 16;

    switch (op) {
    case 0x11:
        return in->repeats ? 4 : in->repeats2 ? 8 : whole;
    case 0x13:
    case 0x17:
        return 8;
    case 0x29:
    case 0x2b:
    case 0xe7:
        return whole;
    case 0x7e:
        return in->repeats ? 0 : in->wide ? 8 : 4;
    case 0x7f:
        return whole;
    case 0xd6:
        return 8;
    default:
        return 0;
    }
}

static struct stores vector(struct instruction *in)
{
    uint32_t bytes = vector_store_bytes(in, in->opcode);
    struct stores stores;

    if (in->opcode == 0xf7) return unknown; /* a masked store */
    if (bytes == 0) return vector_nothing;
    read_operand(in);
    stores = store(in, bytes, 0);
    stores.vector = true;
    return stores;
}

static bool is_vector(uint8_t op)
{
    return (op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f) || (op >= 0x50 && op <= 0x77) ||
           (op >= 0x7c && op <= 0x7f) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6) || op >= 0xd0;
}

/* Opcodes after 0f that lock words of memory and count bits. */
static struct stores two_bytes_with_operand(struct instruction *in)
{
    uint8_t op = in->opcode;

    read_operand(in);
    if (op >= 0x90 && op <= 0x9f) return store(in, 1, 0); /* set on a condition */
    switch (op) {
    case 0xa4:
    case 0xac:
        return store(in, operand_bytes(in), 1);
    case 0xa5:
    case 0xad:
    case 0xb1:
    case 0xc1:
    case 0xc3:
        return store(in, operand_bytes(in), 0);
    case 0xb0:
    case 0xc0:
        return store(in, 1, 0);
    case 0xba:
        return in->number == 4 ? nothing : store(in, operand_bytes(in), 1);
    case 0xae: /* fences, and to throw a line out */
        return in->mod == 3 ? (in->repeats || in->repeats2 || in->number < 5 ? unknown : nothing)
                            : (in->number == 7 ? nothing : unknown);
    case 0xc7: /* cmpxchg8b, cmpxchg16b; registers: random bits */
        return in->mod != 3 && in->number == 1 ? store(in, in->wide ? 16 : 8, 0) : unknown;
    case 0xab:
    case 0xb3:
    case 0xbb: /* by bit number: in memory it may be far from the address */
        return in->mod == 3 ? nothing : unknown;
    default:
        return unknown;
    }
}

static struct stores two_bytes(struct instruction *in)
{
    uint8_t op = in->opcode;

    if (is_vector(op)) return vector(in);
    if (op == 0x0d || (op >= 0x18 && op <= 0x1f) || (op >= 0x40 && op <= 0x4f) || (op >= 0x80 && op <= 0x8f))
        return nothing;
    if (op == 0x2a || op == 0xa3 || op == 0xaf || (op >= 0xb6 && op <= 0xb8) || (op >= 0xbc && op <= 0xbf))
        return nothing;
    if (op >= 0xc8 && op <= 0xcf) return nothing;
    return two_bytes_with_operand(in);
}

/* Maps 0f38 and 0f3a: vectors, and a few that store. */
static struct stores three_bytes(struct instruction *in, unsigned map)
{
    uint8_t op = in->opcode;

    if (map == 2) {
        if (op == 0xf0 && !in->vex) return nothing;
        if (op == 0xf1 || op == 0x2e || op == 0x2f || op == 0x8e || (op >= 0x80 && op <= 0x83) || op == 0xf8 ||
            op == 0xf9)
            return unknown;
        return vector_nothing;
    }
    if ((op >= 0x14 && op <= 0x17) || op == 0x19 || op == 0x39 || op == 0x1d) {
        read_operand(in);
        return in->mod == 3 ? vector_nothing : unknown;
    }
    return vector_nothing;
}

/* Two or three bytes with the prefixes, the map and the vector length in them. */
static struct stores vex(struct instruction *in, bool three)
{
    uint8_t first = *in->at++, last = three ? *in->at++ : first, prefix = last & 3;
    unsigned map = three ? first & 31u : 1;

    in->rex = (uint8_t)(~first >> 5 & (three ? 7 : 4));
    in->wide = three && last & 0x80;
    in->vex = true;
    in->vex_256 = last & 4;
    in->narrow = prefix == 1;
    in->repeats = prefix == 2;
    in->repeats2 = prefix == 3;
    in->opcode = *in->at++;
    if (map == 1) return is_vector(in->opcode) ? vector(in) : unknown;
    return map == 2 || map == 3 ? three_bytes(in, map) : unknown;
}

struct stores stores_decode(const uint8_t *at, const uint64_t reg[16], uint64_t thread_base)
{
    struct instruction in = {.at = at, .reg = reg, .thread_base = thread_base};

    if (!read_prefixes(&in)) return unknown;
    in.opcode = *in.at++;
    if (in.opcode == 0xc4 || in.opcode == 0xc5) return vex(&in, in.opcode == 0xc4);
    if (in.opcode != 0x0f) return one_byte(&in);
    in.opcode = *in.at++;
    if (in.opcode == 0x38 || in.opcode == 0x3a) {
        unsigned map = in.opcode == 0x38 ? 2 : 3;

        in.opcode = *in.at++;
        return three_bytes(&in, map);
    }
    return two_bytes(&in);
}

#endif
