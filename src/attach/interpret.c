/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a piece of an x86-64 program would do, without doing it.
 *
 * For spin.c: a loop that waits for memory is followed in this copy of the machine until it is where it was.  That is
 * quicker by far than single steps.  Stores go to words kept aside, loads see them.  The instructions are those that
 * compilers make such loops of: moves, arithmetic, comparisons, jumps, calls, and the atomic ones; for all others the
 * answer is that it is not known.  It changes nothing in the program, so a wrong guess costs nothing.
 */
#include "attach/interpret.h"

#if defined(__x86_64__)

#include <string.h>

#include "attach/x86.h"

#define CARRY 0x1u
#define PARITY 0x4u
#define ZERO 0x40u
#define SIGN 0x80u
#define OVERFLOW 0x800u

enum { ADD, OR, ADC, SBB, AND, SUB, XOR, COMPARE };

struct place { /* an operand */
    bool memory;
    uint8_t reg;
    uint32_t bytes;
    uint64_t addr;
};

/* --- memory --- */

/* The eight bytes at a multiple of eight. */
static uint64_t load_word(const struct machine *machine, uint64_t addr)
{
    for (uint32_t i = 0; i < machine->words; i++)
        if (machine->word[i].addr == addr) return machine->word[i].value;
    return *(const volatile uint64_t *)addr;
}

static bool store_word(struct machine *machine, uint64_t addr, uint64_t value)
{
    uint32_t i = 0;

    while (i < machine->words && machine->word[i].addr != addr)
        i++;
    if (i == INTERPRET_WORDS) return false;
    if (i == machine->words) machine->words++;
    machine->word[i].addr = addr;
    machine->word[i].value = value;
    return true;
}

static uint64_t mask_of(uint32_t bytes)
{
    return bytes == 8 ? ~0ULL : (1ULL << 8 * bytes) - 1;
}

static uint64_t load(const struct machine *machine, uint64_t addr, uint32_t bytes)
{
    uint64_t at = addr & ~7ULL, value;
    uint32_t shift = (uint32_t)(addr & 7) * 8;

    value = load_word(machine, at) >> shift;
    if (shift / 8 + bytes > 8) value |= load_word(machine, at + 8) << (64 - shift);
    return value & mask_of(bytes);
}

static bool store(struct machine *machine, uint64_t addr, uint32_t bytes, uint64_t value)
{
    uint64_t at = addr & ~7ULL, mask = mask_of(bytes), word = load_word(machine, at);
    uint32_t shift = (uint32_t)(addr & 7) * 8;

    value &= mask;
    if (!store_word(machine, at, (word & ~(mask << shift)) | value << shift)) return false;
    if (shift / 8 + bytes <= 8) return true;
    word = load_word(machine, at + 8);
    return store_word(machine, at + 8, (word & ~(mask >> (64 - shift))) | value >> (64 - shift));
}

bool interpret_changes_nothing(struct machine *machine)
{
    for (uint32_t i = 0; i < machine->words; i++)
        if (*(const volatile uint64_t *)machine->word[i].addr != machine->word[i].value) return false;
    return true;
}

/* --- operands --- */

/* The operand that was read, and the register beside it. */
static struct place operand(const struct instruction *in, uint32_t bytes, uint32_t immediate)
{
    if (in->mod == 3) return (struct place){.reg = in->low | (uint8_t)((in->rex & 1) << 3), .bytes = bytes};
    return (struct place){.memory = true, .addr = operand_addr(in, immediate), .bytes = bytes};
}

static struct place register_of(const struct instruction *in, uint32_t bytes)
{
    return (struct place){.reg = in->number | (uint8_t)((in->rex & 4) << 1), .bytes = bytes};
}

/* Without a REX prefix four numbers of byte registers mean the second byte of others: not followed. */
static bool is_second_byte(const struct instruction *in, const struct place *place)
{
    return !place->memory && place->bytes == 1 && !in->has_rex && place->reg >= 4;
}

static uint64_t get(const struct machine *machine, const struct place *from)
{
    if (from->memory) return load(machine, from->addr, from->bytes);
    return machine->reg[from->reg] & mask_of(from->bytes);
}

static bool put(struct machine *machine, const struct place *to, uint64_t value)
{
    uint64_t mask = mask_of(to->bytes);

    if (to->memory) return store(machine, to->addr, to->bytes, value);
    if (to->bytes >= 4) /* the upper half of a register is cleared */
        machine->reg[to->reg] = value & mask;
    else
        machine->reg[to->reg] = (machine->reg[to->reg] & ~mask) | (value & mask);
    return true;
}

static uint64_t extend(uint64_t value, uint32_t bytes)
{
    uint32_t shift = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

static uint64_t immediate(struct instruction *in, uint32_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, in->at, bytes);
    in->at += bytes;
    return extend(value, bytes);
}

static uint32_t immediate_bytes(const struct instruction *in)
{
    return in->narrow ? 2 : 4;
}

/* --- arithmetic --- */

static void result_flags(struct machine *machine, uint64_t value, uint32_t bytes, uint64_t others)
{
    machine->flags = others;
    if ((value & mask_of(bytes)) == 0) machine->flags |= ZERO;
    if (value >> (8 * bytes - 1) & 1) machine->flags |= SIGN;
    if (__builtin_parity((unsigned)(value & 0xff)) == 0) machine->flags |= PARITY;
}

static uint64_t arithmetic(struct machine *machine, unsigned what, uint64_t a, uint64_t b, uint32_t bytes)
{
    uint64_t mask = mask_of(bytes), carry = (what == ADC || what == SBB) && machine->flags & CARRY, value, flags = 0;

    a &= mask;
    b &= mask;
    if (what == ADD || what == ADC) {
        value = (a + b + carry) & mask;
        if (carry ? value <= a : value < a) flags |= CARRY;
        if (((a ^ value) & (b ^ value)) >> (8 * bytes - 1) & 1) flags |= OVERFLOW;
    } else if (what == OR || what == AND || what == XOR) {
        value = what == OR ? a | b : what == AND ? a & b : a ^ b;
    } else {
        value = (a - b - carry) & mask;
        if (carry ? a <= b : a < b) flags |= CARRY;
        if (((a ^ b) & (a ^ value)) >> (8 * bytes - 1) & 1) flags |= OVERFLOW;
    }
    result_flags(machine, value, bytes, flags);
    return value;
}

static bool condition(const struct machine *machine, unsigned number)
{
    uint64_t flags = machine->flags;
    bool sign = flags & SIGN, overflow = flags & OVERFLOW, answer;

    switch (number >> 1) {
    case 0:
        answer = overflow;
        break;
    case 1:
        answer = flags & CARRY;
        break;
    case 2:
        answer = flags & ZERO;
        break;
    case 3:
        answer = flags & (CARRY | ZERO);
        break;
    case 4:
        answer = sign;
        break;
    case 5:
        answer = flags & PARITY;
        break;
    case 6:
        answer = sign != overflow;
        break;
    default:
        answer = sign != overflow || flags & ZERO;
        break;
    }
    return answer != (number & 1);
}

/* to = to (what) value, or only its flags. */
static bool combine(struct machine *machine, unsigned what, const struct place *to, uint64_t value)
{
    uint64_t result = arithmetic(machine, what, get(machine, to), value, to->bytes);

    return what == COMPARE || put(machine, to, result);
}

static bool test(struct machine *machine, const struct place *a, uint64_t b)
{
    arithmetic(machine, AND, get(machine, a), b, a->bytes);
    return true;
}

/* inc and dec leave the carry alone. */
static bool count(struct machine *machine, unsigned what, const struct place *to)
{
    uint64_t carry = machine->flags & CARRY;

    if (!combine(machine, what, to, 1)) return false;
    machine->flags = (machine->flags & ~(uint64_t)CARRY) | carry;
    return true;
}

static bool shift(struct machine *machine, unsigned what, const struct place *to, unsigned by)
{
    uint64_t value = get(machine, to), result, flags = 0;

    by &= to->bytes == 8 ? 63 : 31;
    if (by == 0) return true;
    if (by >= 8 * to->bytes) return false;
    if (what == 4) {
        result = value << by & mask_of(to->bytes);
        if (value >> (8 * to->bytes - by) & 1) flags |= CARRY;
        if ((result >> (8 * to->bytes - 1) & 1) != (flags & CARRY)) flags |= OVERFLOW;
    } else if (what == 5 || what == 7) {
        result = what == 5 ? value >> by : (uint64_t)((int64_t)extend(value, to->bytes) >> by) & mask_of(to->bytes);
        if (value >> (by - 1) & 1) flags |= CARRY;
        if (what == 5 && value >> (8 * to->bytes - 1) & 1) flags |= OVERFLOW;
    } else {
        return false;
    }
    result_flags(machine, result, to->bytes, flags);
    return put(machine, to, result);
}

/* --- the stack, and where it goes on --- */

static bool push(struct machine *machine, uint64_t value)
{
    if (!store(machine, machine->reg[4] - 8, 8, value)) return false;
    machine->reg[4] -= 8;
    return true;
}

static bool pop(struct machine *machine, uint64_t *ret)
{
    uint64_t value = load(machine, machine->reg[4], 8);

    machine->reg[4] += 8;
    *ret = value;
    return true;
}

static bool jump(struct machine *machine, struct instruction *in, uint32_t bytes, bool taken)
{
    uint64_t by = immediate(in, bytes);

    machine->rip = (uintptr_t)in->at + (taken ? by : 0);
    return true;
}

static bool call(struct machine *machine, const struct instruction *in, uint64_t to)
{
    if (!push(machine, (uintptr_t)in->at)) return false;
    machine->rip = to;
    return true;
}

/* --- instructions --- */

/* Arithmetic in its six forms. */
static bool six_forms(struct machine *machine, struct instruction *in)
{
    unsigned what = in->opcode >> 3 & 7, form = in->opcode & 7;
    uint32_t bytes = form & 1 ? operand_bytes(in) : 1;
    struct place a, b;

    if (form > 5) return false;
    if (form > 3) {
        a = (struct place){.bytes = bytes};
        return combine(machine, what, &a, immediate(in, form == 4 ? 1 : immediate_bytes(in)));
    }
    read_operand(in);
    a = operand(in, bytes, 0);
    b = register_of(in, bytes);
    if (is_second_byte(in, &a) || is_second_byte(in, &b)) return false;
    if (form < 2) return combine(machine, what, &a, get(machine, &b));
    return combine(machine, what, &b, get(machine, &a));
}

/* Opcodes whose middle field says what they do. */
static bool group(struct machine *machine, struct instruction *in)
{
    uint8_t op = in->opcode;
    uint32_t bytes = op & 1 ? operand_bytes(in) : 1, after = 0;
    struct place to;
    uint64_t value;

    if (op == 0x80 || op == 0x83 || op == 0xc0 || op == 0xc1 || op == 0xc6) after = 1;
    if (op == 0x81 || op == 0xc7) after = immediate_bytes(in);
    read_operand(in);
    if ((op == 0xf6 || op == 0xf7) && in->number == 0) after = op == 0xf6 ? 1 : immediate_bytes(in);
    if (op == 0xff && (in->number == 2 || in->number == 4 || in->number == 6)) bytes = 8;
    to = operand(in, bytes, after);
    if (is_second_byte(in, &to)) return false;
    if (op <= 0x83) return combine(machine, in->number, &to, immediate(in, after));
    if (op == 0xc0 || op == 0xc1) return shift(machine, in->number, &to, (unsigned)immediate(in, 1));
    if (op == 0xd0 || op == 0xd1) return shift(machine, in->number, &to, 1);
    if (op == 0xc6 || op == 0xc7) return in->number == 0 && put(machine, &to, immediate(in, after));
    if (op == 0xf6 || op == 0xf7) {
        if (in->number == 0) return test(machine, &to, immediate(in, after));
        value = get(machine, &to);
        if (in->number == 2) return put(machine, &to, ~value);
        return in->number == 3 && put(machine, &to, arithmetic(machine, SUB, 0, value, bytes));
    }
    if (in->number < 2) return count(machine, in->number ? SUB : ADD, &to);
    if (op != 0xff || (in->number != 2 && in->number != 4 && in->number != 6)) return false;
    value = get(machine, &to);
    if (in->number == 6) return push(machine, value);
    if (in->number == 2) return call(machine, in, value);
    machine->rip = value;
    return true;
}

static bool exchange(struct machine *machine, const struct place *a, const struct place *b)
{
    uint64_t first = get(machine, a), second = get(machine, b);

    return put(machine, a, second) && put(machine, b, first);
}

/* mov, xchg, test and lea with an operand. */
static bool with_operand(struct machine *machine, struct instruction *in)
{
    uint8_t op = in->opcode;
    uint32_t bytes = op & 1 || op == 0x63 ? operand_bytes(in) : 1;
    struct place a, b;

    read_operand(in);
    a = operand(in, op == 0x63 ? 4 : bytes, 0);
    b = register_of(in, bytes);
    if (is_second_byte(in, &a) || is_second_byte(in, &b)) return false;
    switch (op) {
    case 0x63:
        return put(machine, &b, extend(get(machine, &a), 4));
    case 0x84:
    case 0x85:
        return test(machine, &a, get(machine, &b));
    case 0x86:
    case 0x87:
        return exchange(machine, &a, &b);
    case 0x88:
    case 0x89:
        return put(machine, &a, get(machine, &b));
    case 0x8a:
    case 0x8b:
        return put(machine, &b, get(machine, &a));
    case 0x8d:
        return a.memory && !in->thread && put(machine, &b, a.addr);
    default:
        return false;
    }
}

static bool one_byte(struct machine *machine, struct instruction *in)
{
    uint8_t op = in->opcode, low = (op & 7) | (uint8_t)((in->rex & 1) << 3);
    struct place place = {.reg = low, .bytes = op & 8 ? operand_bytes(in) : 1};
    uint64_t value;

    if (op < 0x40) return six_forms(machine, in);
    if (op >= 0x50 && op <= 0x57) return !in->narrow && push(machine, machine->reg[low]);
    if (op >= 0x58 && op <= 0x5f) return !in->narrow && pop(machine, &value) && (machine->reg[low] = value, true);
    if (op == 0x68 || op == 0x6a) return !in->narrow && push(machine, immediate(in, op == 0x68 ? 4 : 1));
    if (op >= 0x70 && op <= 0x7f) return jump(machine, in, 1, condition(machine, op & 15));
    if (op == 0x80 || op == 0x81 || op == 0x83 || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || op == 0xd0 ||
        op == 0xd1 || op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff)
        return group(machine, in);
    if (op == 0x63 || (op >= 0x84 && op <= 0x8b) || op == 0x8d) return with_operand(machine, in);
    if (op == 0x90) return !(in->rex & 1); /* also pause */
    if (op == 0x98 && !in->narrow) {
        machine->reg[0] = in->wide ? extend(machine->reg[0], 4) : extend(machine->reg[0], 2) & 0xffffffffu;
        return true;
    }
    if (op == 0xa8 || op == 0xa9) {
        place = (struct place){.bytes = op & 1 ? operand_bytes(in) : 1};
        return test(machine, &place, immediate(in, op & 1 ? immediate_bytes(in) : 1));
    }
    if (op >= 0xb0 && op <= 0xbf) {
        uint32_t bytes = !(op & 8) ? 1 : in->wide ? 8 : immediate_bytes(in);

        return !is_second_byte(in, &place) && put(machine, &place, immediate(in, bytes));
    }
    if (op == 0xc3) return pop(machine, &machine->rip);
    if (op == 0xc9) {
        machine->reg[4] = machine->reg[5];
        return pop(machine, &machine->reg[5]);
    }
    if (op == 0xe9 || op == 0xeb) return jump(machine, in, op == 0xe9 ? 4 : 1, true);
    if (op == 0xe8) {
        value = immediate(in, 4);
        return call(machine, in, (uintptr_t)in->at + value);
    }
    return false;
}

static bool compare_and_exchange(struct machine *machine, const struct place *to, const struct place *from)
{
    struct place expected = {.bytes = to->bytes};
    uint64_t was = get(machine, to), wanted = get(machine, &expected);

    arithmetic(machine, COMPARE, wanted, was, to->bytes);
    if (was == wanted) return put(machine, to, get(machine, from));
    return put(machine, to, was) && put(machine, &expected, was);
}

static bool add_and_exchange(struct machine *machine, const struct place *to, const struct place *with)
{
    uint64_t was = get(machine, to), value = get(machine, with);

    return put(machine, with, was) && put(machine, to, arithmetic(machine, ADD, was, value, to->bytes));
}

/* After 0f: what has an operand. */
static bool two_bytes_with_operand(struct machine *machine, struct instruction *in)
{
    uint8_t op = in->opcode;
    uint32_t bytes = operand_bytes(in);
    struct place a, b;

    read_operand(in);
    b = register_of(in, bytes);
    if (op >= 0x40 && op <= 0x4f) {
        a = operand(in, bytes, 0);
        /* where the condition does not hold the upper half is cleared all the same */
        return put(machine, &b, get(machine, condition(machine, op & 15) ? &a : &b));
    }
    if (op >= 0x90 && op <= 0x9f) {
        a = operand(in, 1, 0);
        return !is_second_byte(in, &a) && put(machine, &a, condition(machine, op & 15));
    }
    if (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf) {
        uint32_t from = op & 1 ? 2 : 1;

        a = operand(in, from, 0);
        if (is_second_byte(in, &a)) return false;
        return put(machine, &b, op >= 0xbe ? extend(get(machine, &a), from) : get(machine, &a));
    }
    if (op == 0xb0 || op == 0xb1 || op == 0xc0 || op == 0xc1) {
        a = operand(in, op & 1 ? bytes : 1, 0);
        b.bytes = a.bytes;
        if (is_second_byte(in, &a) || is_second_byte(in, &b)) return false;
        if (op < 0xc0 && !a.memory) return false; /* processors differ in the upper half of the register */
        return op < 0xc0 ? compare_and_exchange(machine, &a, &b) : add_and_exchange(machine, &a, &b);
    }
    if (op == 0xae) return in->mod == 3 && in->number >= 5 && !in->repeats && !in->repeats2 && !in->narrow; /* fences */
    return op == 0x1e || op == 0x1f || op == 0x18 || op == 0x0d;                                            /* hints */
}

static bool two_bytes(struct machine *machine, struct instruction *in)
{
    if (in->opcode >= 0x80 && in->opcode <= 0x8f) return jump(machine, in, 4, condition(machine, in->opcode & 15));
    return two_bytes_with_operand(machine, in);
}

bool interpret_step(struct machine *machine)
{
    const uint64_t start = machine->rip;
    struct instruction in = {.at = (const uint8_t *)start, .reg = machine->reg, .thread_base = machine->thread_base};
    bool known;

    machine->rip = 0; /* a jump says where it goes on */
    if (!read_prefixes(&in) || in.foreign) return false;
    in.opcode = *in.at++;
    if (in.opcode == 0x0f) {
        in.opcode = *in.at++;
        known = two_bytes(machine, &in);
    } else {
        known = one_byte(machine, &in);
    }
    if (known && machine->rip == 0) machine->rip = (uintptr_t)in.at;
    return known;
}

#endif
