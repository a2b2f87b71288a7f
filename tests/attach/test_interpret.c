/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions as interpret.c understands them against the processor itself: random operands in random registers and
 * in memory, run for real and followed, must leave the same registers, flags and bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "attach/interpret.h"
#include "base/rng.h"

#define ROUNDS 40000
#define MEMORY 64

static uint8_t *code; /* a page that can be run */
static struct rng rng;

/* rax, rcx, rdx, rbx, rsi, r8 to r11 are given out; rdi has the address of the memory. */
static const uint8_t given[] = {0, 1, 2, 3, 6, 8, 9, 10, 11};

struct run {
    uint64_t reg[16], flags;
    _Alignas(16) uint8_t memory[MEMORY];
};

static uint8_t a_register(void)
{
    return given[rng_below(&rng, sizeof given)];
}

/* Prefixes, an opcode of one or two bytes and an operand: a register, or memory with a displacement. */
static uint8_t *emit(uint8_t *at, unsigned bytes, bool second_map, uint8_t opcode, uint8_t middle, bool memory)
{
    uint8_t other = memory ? 7 : a_register();

    if (bytes == 2) *at++ = 0x66;
    *at++ = (uint8_t)(0x40 | (bytes == 8) << 3 | (middle >> 3) << 2 | other >> 3);
    if (second_map) *at++ = 0x0f;
    *at++ = opcode;
    *at++ = (uint8_t)((memory ? 0x40 : 0xc0) | (middle & 7) << 3 | (other & 7));
    if (memory) *at++ = (uint8_t)rng_below(&rng, MEMORY - 8);
    return at;
}

static uint8_t *emit_immediate(uint8_t *at, unsigned bytes)
{
    while (bytes--)
        *at++ = (uint8_t)(rng_below(&rng, 3) ? rng_u32(&rng) : rng_below(&rng, 2) ? 0 : 0xff);
    return at;
}

/* One instruction of a kind that is understood. */
static uint8_t *emit_any(uint8_t *at)
{
    static const unsigned sizes[] = {1, 2, 4, 8};
    unsigned bytes = sizes[rng_below(&rng, 4)], wide = bytes > 1;
    unsigned whole = wide ? bytes : 4; /* where there is no form for bytes */
    bool memory = rng_below(&rng, 2);
    uint8_t reg = a_register(), number = (uint8_t)rng_below(&rng, 8);

    switch (rng_below(&rng, 17)) {
    case 0: /* arithmetic */
        return emit(at, bytes, false, (uint8_t)(number << 3 | rng_below(&rng, 2) << 1 | wide), reg, memory);
    case 1:
        at = emit(at, bytes, false, (uint8_t)(0x80 | wide), number, memory);
        return emit_immediate(at, bytes == 8 ? 4 : bytes);
    case 2:
        at = emit(at, whole, false, 0x83, number, memory);
        return emit_immediate(at, 1);
    case 3: /* test, xchg, mov */
        return emit(at, bytes, false, (uint8_t)((uint8_t[]){0x84, 0x86, 0x88, 0x8a}[number & 3] | wide), reg, memory);
    case 4:
        at = emit(at, bytes, false, (uint8_t)(0xc6 | wide), 0, memory);
        return emit_immediate(at, bytes == 8 ? 4 : bytes);
    case 5:
        at = emit(at, bytes, false, (uint8_t)(0xf6 | wide), 0, memory);
        return emit_immediate(at, bytes == 8 ? 4 : bytes);
    case 6: /* not, neg */
        return emit(at, bytes, false, (uint8_t)(0xf6 | wide), 2 + (number & 1), memory);
    case 7: /* inc, dec */
        return emit(at, bytes, false, (uint8_t)(0xfe | wide), number & 1, memory);
    case 8: /* shifts by one: the overflow of others is not defined */
        return emit(at, bytes, false, (uint8_t)(0xd0 | wide), (uint8_t[]){4, 5, 7}[number % 3], memory);
    case 9: /* cmov, setcc */
        return emit(at, whole, true, (uint8_t)(0x40 + rng_below(&rng, 16)), reg, memory);
    case 10:
        return emit(at, 1, true, (uint8_t)(0x90 + rng_below(&rng, 16)), 0, memory);
    case 11: /* movzx, movsx, movsxd */
        return emit(at, whole, true, (uint8_t[]){0xb6, 0xb7, 0xbe, 0xbf}[number & 3], reg, memory);
    case 12:
        return emit(at, 8, false, 0x63, reg, memory);
    case 13: /* cmpxchg, xadd */
        return emit(at, bytes, true, (uint8_t)((number & 1 ? 0xb0 : 0xc0) | wide), reg, number & 1 || memory);
    case 14: /* lea */
        return emit(at, bytes == 8 ? 8 : 4, false, 0x8d, reg, true);
    case 15: /* a push, and a pop to another register */
        *at++ = (uint8_t)(0x50 | given[rng_below(&rng, 5)]);
        *at++ = (uint8_t)(0x58 | given[rng_below(&rng, 5)]);
        return at;
    default: /* a jump over an instruction, or not */
        *at++ = (uint8_t)(0x70 | rng_below(&rng, 16));
        *at++ = 2;
        *at++ = 0x89; /* mov %ecx, %eax */
        *at++ = 0xc8;
        return at;
    }
}

/* Runs the code: registers from `run`, and back to it. */
static void run_for_real(struct run *run)
{
    register void *to __asm__("r13") = code;

    /* below what the compiler may keep under the stack's end */
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "push %%rbp\n\t"
                     "mov %%rdi, %%rbp\n\t"
                     "push %%rbp\n\t"
                     "pushq 128(%%rbp)\n\t"
                     "mov 0(%%rbp), %%rax\n\t"
                     "mov 8(%%rbp), %%rcx\n\t"
                     "mov 16(%%rbp), %%rdx\n\t"
                     "mov 24(%%rbp), %%rbx\n\t"
                     "mov 48(%%rbp), %%rsi\n\t"
                     "mov 56(%%rbp), %%rdi\n\t"
                     "mov 64(%%rbp), %%r8\n\t"
                     "mov 72(%%rbp), %%r9\n\t"
                     "mov 80(%%rbp), %%r10\n\t"
                     "mov 88(%%rbp), %%r11\n\t"
                     "popfq\n\t"
                     "call *%%r13\n\t"
                     "pushfq\n\t"
                     "mov 8(%%rsp), %%rbp\n\t"
                     "popq 128(%%rbp)\n\t"
                     "mov %%rax, 0(%%rbp)\n\t"
                     "mov %%rcx, 8(%%rbp)\n\t"
                     "mov %%rdx, 16(%%rbp)\n\t"
                     "mov %%rbx, 24(%%rbp)\n\t"
                     "mov %%rsi, 48(%%rbp)\n\t"
                     "mov %%rdi, 56(%%rbp)\n\t"
                     "mov %%r8, 64(%%rbp)\n\t"
                     "mov %%r9, 72(%%rbp)\n\t"
                     "mov %%r10, 80(%%rbp)\n\t"
                     "mov %%r11, 88(%%rbp)\n\t"
                     "pop %%rbp\n\t"
                     "pop %%rbp\n\t"
                     "lea 128(%%rsp), %%rsp\n\t"
                     : "+D"(run), "+r"(to)
                     :
                     : "rax", "rcx", "rdx", "rbx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

static void prepare(struct run *run)
{
    memset(run, 0, sizeof *run);
    for (unsigned i = 0; i < 16; i++)
        run->reg[i] = rng_below(&rng, 4) ? rng_u64(&rng) : rng_below(&rng, 3) - 1;
    for (unsigned i = 0; i < MEMORY; i++)
        run->memory[i] = (uint8_t)(rng_below(&rng, 3) ? rng_u32(&rng) : 0);
    run->flags = (rng_u64(&rng) & INTERPRET_FLAGS) | 2;
    run->reg[7] = (uintptr_t)run->memory;
}

static void bytes_of(const struct machine *machine, const uint8_t *from, uint8_t ret[MEMORY])
{
    memcpy(ret, from, MEMORY);
    for (uint32_t i = 0; i < machine->words; i++) {
        uint64_t at = machine->word[i].addr - (uintptr_t)from;

        if (at < MEMORY) memcpy(ret + at, &machine->word[i].value, 8);
    }
}

static void what_is_followed_is_what_the_processor_does(void **state)
{
    (void)state;
    rng_init(&rng, 1, 0);
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t stack[32] = {0};
        struct machine machine = {0};
        struct run real;
        uint8_t *end = emit_any(code), bytes[MEMORY];

        *end = 0xc3;
        prepare(&real);
        memcpy(machine.reg, real.reg, sizeof machine.reg);
        machine.reg[4] = (uintptr_t)&stack[31]; /* which has what it returns to */
        stack[31] = 1;
        machine.flags = real.flags & INTERPRET_FLAGS;
        machine.rip = (uintptr_t)code;
        while (machine.rip != 1) {
            if (interpret_step(&machine)) continue;
            print_error("%02x %02x %02x %02x is not understood\n", code[0], code[1], code[2], code[3]);
            fail();
        }
        bytes_of(&machine, real.memory, bytes);
        run_for_real(&real);
        for (unsigned i = 0; i < sizeof given; i++)
            if (machine.reg[given[i]] != real.reg[given[i]] || machine.flags != (real.flags & INTERPRET_FLAGS) ||
                memcmp(bytes, real.memory, MEMORY) != 0) {
                print_error("%02x %02x %02x %02x %02x: register %u is %llx, not %llx; flags %llx, not %llx\n", code[0],
                            code[1], code[2], code[3], code[4], given[i], (unsigned long long)machine.reg[given[i]],
                            (unsigned long long)real.reg[given[i]], (unsigned long long)machine.flags,
                            (unsigned long long)real.flags & INTERPRET_FLAGS);
                fail();
            }
    }
    munmap(code, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_followed_is_what_the_processor_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
