/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that wait for memory to change and call nobody: proved to wait, then the turn is given back.
 *
 * A thread that does not come back is sent a signal by the fabric.  What it would do is then followed, in a copy of its
 * registers (interpret.c), until it is at the same instruction with the same registers and flags, and memory would be
 * as it is.  From an equal state the same follows: the loop cannot end by itself, and only what others do to memory can
 * end it.  So it does not matter for the result when the signal came.  A loop that counts, in a register or in memory,
 * is never equal; one that calls the library is not looked at.  When the turn comes back the loop is followed again
 * before the program runs: if it still waits, so does the thread.
 *
 * Where an instruction is not known to interpret.c the thread itself runs one instruction at a time, and each store is
 * told by stores.c before it is done: the bytes there are kept, and compared when the loop closes.  What that does not
 * know either is not judged.  A loop may come to rest only after some rounds, so the state that is compared with is
 * taken anew twice.  A handler of the program that runs in between ends the attempt: it may have changed what the loop
 * waits for.
 */
#include "attach/attach_int.h"

#if defined(__x86_64__)

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "attach/interpret.h"
#include "attach/stores.h"

#define TRAP_FLAG 0x100
#define FLAGS 0xcd5u /* carry, parity, adjust, zero, sign, direction, overflow */
#define STEPS_MAX 256u
#define WATCH_FIRST_NS 30000
#define WATCH_LAST_NS 4000000
#define FOLLOWED_MAX 4096u /* instructions, some tens of nanoseconds each */
#define SHADOWS 48u        /* stores that are followed in one round */
#define VECTOR_BYTES 2816u /* of the kernel's record of other registers that is compared: up to AVX-512's end */
#define VECTOR_KERNELS 464u
#define VECTOR_USED 512u /* its own words are between these two */

static const unsigned anchors[] = {32, 96}; /* steps at which the state is taken anew */

struct shadow { /* bytes as they were before the loop stored there */
    uint64_t addr;
    uint32_t bytes;
    uint8_t was[32];
};

static PER_THREAD struct {
    bool on;
    bool busy;   /* our own code runs for it */
    bool vector; /* the loop uses other registers */
    uint32_t steps;
    uint32_t shadows;
    uint32_t handled;
    uint64_t calls;
    greg_t reg[17]; /* r8 to rip */
    uint64_t flags;
    uint32_t vector_bytes;
    uint8_t vector_was[VECTOR_BYTES];
    struct shadow shadow[SHADOWS];
} proof;

static uint32_t vector_record(const ucontext_t *context)
{
    const uint8_t *record = (const uint8_t *)context->uc_mcontext.fpregs;
    uint32_t magic, bytes;

    if (!record) return 0;
    memcpy(&magic, record + VECTOR_KERNELS, sizeof magic);
    memcpy(&bytes, record + VECTOR_KERNELS + 4, sizeof bytes);
    return magic != 0x46505853u ? 512 : bytes; /* "FPXS": the record is longer than the old one */
}

static void take_state(const ucontext_t *context)
{
    const greg_t *reg = context->uc_mcontext.gregs;

    memcpy(proof.reg, reg, sizeof proof.reg);
    proof.flags = (uint64_t)reg[REG_EFL] & FLAGS;
    proof.shadows = 0;
    proof.vector = false;
    proof.vector_bytes = vector_record(context);
    if (proof.vector_bytes <= VECTOR_BYTES) memcpy(proof.vector_was, context->uc_mcontext.fpregs, proof.vector_bytes);
}

static bool same_vectors(const ucontext_t *context)
{
    const uint8_t *now = (const uint8_t *)context->uc_mcontext.fpregs;
    uint32_t bytes = proof.vector_bytes;

    if (!proof.vector) return true;
    if (bytes > VECTOR_BYTES || bytes != vector_record(context)) return false;
    return memcmp(now, proof.vector_was, VECTOR_KERNELS) == 0 &&
           memcmp(now + VECTOR_USED, proof.vector_was + VECTOR_USED, bytes - VECTOR_USED) == 0;
}

static bool same_state(const ucontext_t *context)
{
    const greg_t *reg = context->uc_mcontext.gregs;

    if (memcmp(proof.reg, reg, sizeof proof.reg) != 0 || ((uint64_t)reg[REG_EFL] & FLAGS) != proof.flags) return false;
    for (uint32_t i = 0; i < proof.shadows; i++)
        if (memcmp((const void *)proof.shadow[i].addr, proof.shadow[i].was, proof.shadow[i].bytes) != 0) return false;
    return same_vectors(context);
}

/* Bytes that are about to be stored to, as they are.  The kernel copies: a loop may be about to fault. */
static bool keep_shadow(const struct stores *stores)
{
    struct shadow *shadow = &proof.shadow[proof.shadows];
    struct iovec here = {shadow->was, stores->bytes}, there = {(void *)stores->addr, stores->bytes};

    for (uint32_t i = 0; i < proof.shadows; i++)
        if (proof.shadow[i].addr == stores->addr && proof.shadow[i].bytes == stores->bytes) return true;
    if (proof.shadows == SHADOWS || stores->bytes > sizeof shadow->was) return false;
    if (RAW(SYS_process_vm_readv, RAW(SYS_getpid, 0, 0, 0, 0, 0, 0), &here, 1, &there, 1, 0) != stores->bytes)
        return false;
    shadow->addr = stores->addr;
    shadow->bytes = stores->bytes;
    proof.shadows++;
    return true;
}

/* Registers in the order of instructions. */
static void order_registers(const ucontext_t *context, uint64_t ret[16])
{
    static const uint8_t order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

    for (unsigned i = 0; i < 16; i++)
        ret[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

/* Whether the next instruction may be run: what it stores is known. */
static bool look_ahead(const ucontext_t *context)
{
    const greg_t *reg = context->uc_mcontext.gregs;
    uint64_t ordered[16];
    struct stores stores;

    order_registers(context, ordered);
    stores = stores_decode((const uint8_t *)reg[REG_RIP], ordered, (uintptr_t)__builtin_thread_pointer());
    if (stores.vector) proof.vector = true;
    return stores.kind == STORES_NOTHING || (stores.kind == STORES_MEMORY && keep_shadow(&stores));
}

static void stop(ucontext_t *context)
{
    proof.on = false;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static void not_proved(ucontext_t *context)
{
    stop(context);
    attached.head->counters.not_spins++;
}

static void proved(ucontext_t *context)
{
    stop(context);
    attached.head->counters.spins++;
    proof.busy = false; /* a handler of the program may leave the wait for good */
    self->in_library++;
    turn_yield(ATTACH_SPIN, UINT64_MAX);
    turn_leave();
}

/* A step that was not asked for, or not any more, is no end of the program: it runs on without.  Nor is it for a
 * handler that the program has: with the flag still set each of its instructions would trap. */
static bool stray(int code, ucontext_t *context)
{
    bool stepped = context->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG;

    if (code != TRAP_TRACE && code != TRAP_BRKPT && code != TRAP_HWBKPT) return false;
    if (!stepped && signals_program_handles(SIGTRAP)) return false;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    return true;
}

/* --- a clock of one's own: the fabric, too, must have a processor before it can ask --- */

static PER_THREAD struct {
    const struct attach_head *of; /* timers do not survive a fork */
    int timer;
    long ns; /* until it asks */
} watch;

static void arm(long ns)
{
    struct itimerspec at = {.it_value = {0, ns}};

    watch.ns = ns;
    RAW(SYS_timer_settime, watch.timer, 0, &at, NULL, 0, 0);
}

/* From now on the thread asks itself, a moment after each turn has begun. */
static void watch_self(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = ATTACH_SPIN_SIGNAL};

    if (watch.of == attached.head || signals_program_handles(ATTACH_SPIN_SIGNAL)) return;
    event._sigev_un._tid = self->tid;
    if (RAW(SYS_timer_create, CLOCK_MONOTONIC, &event, &watch.timer, 0, 0, 0) == 0) watch.of = attached.head;
}

void spin_turn_begins(void)
{
    if (watch.of && watch.of == attached.head) arm(WATCH_FIRST_NS);
}

/* It goes on: it is asked again, later each time. */
static void watch_on(void)
{
    if (watch.of && watch.of == attached.head && watch.ns < WATCH_LAST_NS) arm(2 * watch.ns);
}

enum verdict { NOT_KNOWN, GOES_ON, WAITS };

struct state {
    uint64_t reg[16], rip, flags;
};

static struct state state_of(const struct machine *machine)
{
    struct state state = {.rip = machine->rip, .flags = machine->flags};

    memcpy(state.reg, machine->reg, sizeof state.reg);
    return state;
}

/* Follows the thread from where it was interrupted.  The state that is compared with may be a later one, as long as
 * nothing in memory is changed on the way to it. */
static enum verdict follow_unguarded(const ucontext_t *context)
{
    static PER_THREAD struct machine machine;
    const greg_t *reg = context->uc_mcontext.gregs;
    struct state anchor;

    machine.words = 0;
    machine.rip = (uint64_t)reg[REG_RIP];
    machine.flags = (uint64_t)reg[REG_EFL] & INTERPRET_FLAGS;
    machine.thread_base = (uintptr_t)__builtin_thread_pointer();
    order_registers(context, machine.reg);
    anchor = state_of(&machine);
    for (unsigned steps = 1; steps < FOLLOWED_MAX; steps++) {
        bool anew = steps >= 16 && (steps & (steps - 1)) == 0;

        attached.head->counters.steps++;
        if (!interpret_step(&machine)) return NOT_KNOWN;
        if (!anew && machine.rip != anchor.rip) continue;
        struct state now = state_of(&machine);
        bool same = memcmp(&now, &anchor, sizeof now) == 0;
        if ((same || anew) && interpret_changes_nothing(&machine)) {
            if (same) return WAITS;
            anchor = now;
        }
    }
    return GOES_ON;
}

static PER_THREAD sigjmp_buf *guard;

bool spin_fault(void)
{
    if (guard) siglongjmp(*guard, 1);
    return false;
}

/* The same; a load that would fault makes it not known. */
static enum verdict follow(const ucontext_t *context)
{
    volatile enum verdict verdict = NOT_KNOWN;
    sigjmp_buf here;

    if (sigsetjmp(here, 0) == 0) {
        guard = &here;
        verdict = follow_unguarded(context);
    }
    guard = NULL;
    return verdict;
}

/* The turn is given back until the loop would end.  What the program stored before it came to the loop, without a call,
 * others may wait for: they are told once. */
static void wait_in_loop(const ucontext_t *context)
{
    self->in_library++;
    self->touched |= ATTACH_TOUCHED_MEMORY;
    watch_self();
    do {
        attached.head->counters.spins++;
        turn_yield(ATTACH_SPIN, UINT64_MAX);
    } while (attached.is_virtual && follow(context) == WAITS);
    turn_leave();
}

static void begin_steps(ucontext_t *context)
{
    proof.busy = proof.on = true;
    proof.steps = 0;
    proof.handled = signals_handled();
    proof.calls = self->calls;
    take_state(context);
    if (look_ahead(context))
        context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    else
        not_proved(context);
    proof.busy = false;
}

/* The fabric may have asked several times before the thread had a processor: one answer is for all. */
static void forget_others(void)
{
    const struct timespec none = {0, 0};
    uint64_t set = 1ULL << (ATTACH_SPIN_SIGNAL - 1);

    while (RAW(SYS_rt_sigtimedwait, &set, NULL, &none, 8, 0, 0) > 0)
        continue;
}

bool spin_signal(const void *sent, void *there)
{
    const siginfo_t *info = sent;
    ucontext_t *context = there;
    enum verdict verdict;

    if (!attached.head || (info->si_pid != attached.head->fabric_pid && signals_program_handles(ATTACH_SPIN_SIGNAL)))
        return false;
    if (!signals_program_handles(ATTACH_SPIN_SIGNAL)) forget_others();
    if (!managed() || !attached.head->spin_proof || proof.busy || signals_handling()) return true;
    /* steps that are under way go on; where the flag is lost (a handler that does not return) it begins anew */
    if (proof.on && context->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG) return true;
    verdict = follow(context);
    if (verdict == WAITS)
        wait_in_loop(context);
    else if (verdict == GOES_ON || debugger_traces())
        attached.head->counters.not_spins++;
    else
        begin_steps(context);
    if (verdict != WAITS) watch_on();
    return true;
}

static void step(ucontext_t *context)
{
    proof.steps++;
    attached.head->counters.steps++;
    if (!managed() || proof.handled != signals_handled() || proof.calls != self->calls || proof.steps == STEPS_MAX) {
        not_proved(context);
        return;
    }
    if (same_state(context)) {
        proved(context);
        return;
    }
    for (unsigned i = 0; i < sizeof anchors / sizeof *anchors; i++)
        if (proof.steps == anchors[i]) take_state(context);
    if (!look_ahead(context)) not_proved(context);
}

bool spin_trap(const void *trap, void *there)
{
    int code = ((const siginfo_t *)trap)->si_code;

    /* a virtual machine under load forgets now and then to say that it was a step */
    if (!proof.on || (code != TRAP_TRACE && code != TRAP_BRKPT)) return stray(code, there);
    proof.busy = true;
    step(there);
    proof.busy = false;
    return true;
}

#else

void spin_turn_begins(void)
{
}

bool spin_fault(void)
{
    return false;
}

bool spin_signal(const void *sent, void *there)
{
    (void)sent, (void)there;
    return true;
}

bool spin_trap(const void *trap, void *there)
{
    (void)trap, (void)there;
    return false;
}

#endif
